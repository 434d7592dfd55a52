"""StarPO-S (轨迹过滤): the groups that the filter keeps, and the signal in them."""

import functools

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    legend,
    number,
    scene,
    side,
    stack,
    tile,
)
from tokencredit import dynamic_sampling, group_relative, top_variance

GROUPS, SIZE = 20, 8  # prompts in the batch, responses to each
SHARES = [round(0.05 * k, 2) for k in range(1, GROUPS + 1)]
CHANCES = [0.1, 0.3, 0.5, 0.7, 0.9]
SPREADS = [0, 1, 2, 3, 4, 6]
SHELF, RISE = 0.8, 0.25  # where the row of dots has its 0, and how far up its 1
IDS = torch.arange(GROUPS).repeat_interleave(SIZE)
LUCK = torch.rand(
    GROUPS, SIZE, generator=torch.Generator().manual_seed(0), dtype=torch.float64
)


@functools.cache
def batch(chance, spread):
    """Rewards 0 or 1 of a batch (一批奖励), from the hardest prompt to the easiest.

    Args:
        chance: success of a prompt of middling difficulty.
        spread: how far the log-odds of the hardest and easiest prompt lie from it.

    Returns:
        `[GROUPS * SIZE]`, one reward for each response; luck is the same throughout.
    """
    middle = torch.logit(torch.tensor(chance, dtype=torch.float64))
    odds = middle + spread * torch.linspace(-1, 1, GROUPS, dtype=torch.float64)
    return (odds.sigmoid()[:, None] > LUCK).double().flatten()


@functools.cache
def kept_groups(chance, spread, p):
    """Which groups the filter keeps, and which have any signal, one bool per group."""
    rewards = batch(chance, spread)
    filters = (top_variance(rewards, IDS, keep=p), dynamic_sampling(rewards, IDS))
    return [kept.view(GROUPS, SIZE)[:, 0].tolist() for kept in filters]


def signal_kept(rewards, kept, scale):
    """Share of the squared advantages (留下的信号) that the kept responses hold.

    Args:
        rewards: one for each response.
        kept: which responses the filter keeps.
        scale: of normalised advantages, else of centred ones.

    Returns:
        a number in [0, 1]; 0 if no group has a signal.
    """
    power = group_relative(rewards, IDS, scale=scale).square()
    return (power[kept].sum() / power.sum().clamp(min=1e-12)).item()


@functools.cache
def curves(chance, spread):
    """The signal kept for every share of the groups, centred and normalised."""
    rewards = batch(chance, spread)
    kept = [top_variance(rewards, IDS, keep=p) for p in SHARES]
    return [[signal_kept(rewards, k, scale) for k in kept] for scale in (False, True)]


def draw(L, p, spread, chance):
    rewards = batch(chance, spread)
    stds = rewards.view(GROUPS, SIZE).std(1).tolist()
    means = rewards.view(GROUPS, SIZE).mean(1).tolist()
    kept, mixed = kept_groups(chance, spread, p)
    now = signal_kept(rewards, top_variance(rewards, IDS, keep=p), False)
    groups = Plot(
        x=(0, GROUPS),
        y=(0, 1.1),
        x_name=L("二十个提示，由难到易", "twenty prompts, from hard to easy"),
        y_name=L("每组答对的比例", "share correct of each group"),
        x_ticks=[0, 5, 10, 15, 20],
        y_ticks={0: "0", 0.25: "0.25", 0.5: "0.5", SHELF: "0", SHELF + RISE: "1"},
        height=228,
    )
    below = L("组内奖励的标准差", "std of the group's rewards")
    groups.text(0.1, 0.66, below, "boxed", align="left")
    for k, (std, mean, chosen) in enumerate(zip(stds, means, kept, strict=True)):
        groups.area(k + 0.12, k + 0.88, 0, std, "ink" if chosen else "old")
        groups.dot(k + 0.5, SHELF + RISE * mean, "off")
    for y in (SHELF, SHELF + RISE):
        groups.rule(y=y, look="old")
    share = Plot(
        x=(0, 1),
        y=(0, 1.05),
        x_name=L("保留的组的比例", "share of the groups kept"),
        y_name=L("留下的信号（%）", "signal kept (%)"),
        x_ticks=[0, 0.5, 1],
        y_ticks={0: "0", 0.5: "50", 1: "100"},
        height=170,
    )
    share.line([(0, 0), (1, 1)], "old dashed")
    share.line([(0, 0), *zip(SHARES, curves(chance, spread)[0], strict=True)])
    share.text(0.62, 0.4, L("随机保留", "at random"), "old", align="left")
    share.dot(p, now, "sel")
    share.drag(x=("p", SHARES))
    share.grip((p, now), x=("p", SHARES))
    low = min(std for std, chosen in zip(stds, kept, strict=True) if chosen)
    return scene(
        side(
            stack(
                groups,
                legend(
                    ("ink", L("留下的组", "kept")),
                    ("old", L("丢掉的组", "dropped")),
                ),
            ),
            share,
            shares=(1.5, 1),
        ),
        tiles=[
            tile(
                L("留下的组", "groups kept"),
                f"{sum(kept)}/{GROUPS}",
                L("标准差不低于 ", "std at least ") + number(low),
            ),
            tile(
                L("留下的信号", "signal kept"),
                number(100 * now, 0) + "%",
                L("优势平方的份额", "of squared advantages"),
                look="ink",
            ),
            tile(
                L("零方差组", "zero-variance groups"),
                f"{GROUPS - sum(mixed)}/{GROUPS}",
                L("奖励全相等", "all rewards equal"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("p", SHARES, 0.25, ("保留的比例", "share kept"), fine=False),
        Dial(
            "spread",
            SPREADS,
            4,
            ("难度的散布（对数几率）", "spread of the log\u2011odds"),
            fine=False,
        ),
        Dial(
            "chance",
            CHANCES,
            0.5,
            ("中等难度的成功率", "success of a medium prompt"),
            fine=False,
        ),
    ],
    title=(
        "奖励最分散的组留下的信号，不少于它们所占的比例",
        "The groups of largest variance hold at least their share of the signal",
    ),
    alt=(
        "左图：二十组由难到易，柱高是组内奖励的标准差，留下的是黑柱，丢掉的是灰柱，"
        "上面一排空心圆点的高低是每组答对的比例。右图：留下的信号随保留比例的变化，虚线是随机保留。",
        "Left: twenty groups from hard to easy, with bars as high as the std of their "
        "rewards, black if kept and grey if dropped; a row of hollow dots above shows "
        "how many are correct. "
        "Right: the signal kept over the share of groups kept, and a dashed line for "
        "keeping at random.",
    ),
    presets=[
        Preset(("论文的 25%", "the paper's 25%"), p=0.25, spread=4, chance=0.5),
        Preset(("难易悬殊", "unequal prompts"), p=0.5, spread=6, chance=0.5),
        Preset(("一样难", "equal prompts"), p=0.25, spread=0, chance=0.5),
        Preset(("很少答对", "rarely correct"), p=0.25, spread=1, chance=0.1),
    ],
    wide=True,
)
