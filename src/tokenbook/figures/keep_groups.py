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
    tile,
)
from tokencredit import dynamic_sampling, group_relative, top_variance

GROUPS, SIZE = 20, 8  # prompts in the batch, responses to each
SHARES = [round(0.05 * k, 2) for k in range(1, GROUPS + 1)]
CHANCES = [0.1, 0.3, 0.5, 0.7, 0.9]
SPREADS = [0, 1, 2, 3, 4, 6]
FULL = 2.3  # of the axis; eight rewards, half of them 1, have 8/4
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
    """Masks of the groups that the filter keeps, and of those with any signal."""
    rewards = batch(chance, spread)
    filters = (top_variance(rewards, IDS, keep=p), dynamic_sampling(rewards, IDS))
    return [kept.view(GROUPS, SIZE)[:, 0].tolist() for kept in filters]


def signal_kept(rewards, kept, scale):
    """Share of the squared advantages (留下的信号) in the kept responses.

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
    groups = rewards.view(GROUPS, SIZE)
    stds, right = groups.std(1).tolist(), groups.sum(1).int().tolist()
    kept, mixed = kept_groups(chance, spread, p)
    now = signal_kept(rewards, top_variance(rewards, IDS, keep=p), False)
    order = sorted(range(GROUPS), key=lambda k: (-round(stds[k], 9), not kept[k], k))
    jars = Plot(
        x=(0, GROUPS),
        y=(0, FULL),
        x_name=L("二十组，按奖励的方差排", "twenty groups, by the variance of rewards"),
        y_name=L("信号：组内优势的平方和", "signal: sum of squared advantages"),
        x_ticks=[0, 5, 10, 15, 20],
        y_ticks=[0, 1, 2],
        height=210,
    )
    for n, k in enumerate(order):
        fill = (SIZE - 1) * stds[k] ** 2
        jars.area(n + 0.1, n + 0.9, 0, SIZE / 4, "old pale")
        jars.area(n + 0.1, n + 0.9, 0, fill, "ink", show=kept[k])
        jars.area(n + 0.1, n + 0.9, 0, fill, "old", show=not kept[k])
        jars.text(n + 0.5, 2.15, f"{right[k]}", "quiet wide-only")
    cut = GROUPS * p
    jars.line([(cut, 0), (cut, FULL)], "sel")
    places = [GROUPS * share for share in SHARES]
    jars.drag(x=("p", places))
    jars.grip((cut, 1.2), x=("p", places))
    level = Plot(x=(0, 1), y=(0, 2), axes=False, height=74)
    for y, share, look, words in (
        (1.1, sum(kept) / GROUPS, "old", L("留下的组", "groups kept")),
        (0.1, now, "ink", L("留下的信号", "signal kept")),
    ):
        level.area(0, 1, y, y + 0.75, "old pale")
        level.area(0, share, y, y + 0.75, look)
        said = f"{words} {number(100 * share, 0)}%"
        level.text(0.99, y + 0.38, said, "boxed", align="right")
    low = min(std for std, chosen in zip(stds, kept, strict=True) if chosen)
    return scene(
        jars,
        legend(
            ("ink", L("留下的组", "kept")),
            ("old", L("丢掉的组", "dropped")),
            ("", L("上面的数：八条里对了几条", "above: correct of eight")),
        ),
        level,
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
        "二十根柱子是二十组，高度是组内优势的平方和，从大到小排；竖线左边的留下，是黑柱，"
        "右边的丢掉，是灰柱。下面两条横条：留下的组占多少，留下的信号占多少。",
        "Twenty bars, as high as the squared advantages of a group, from the largest "
        "down. Left of a line they are kept and black, right of it dropped and grey. "
        "Two bars below: the share of groups kept, and of the signal.",
    ),
    presets=[
        Preset(("论文的 25%", "the paper's 25%"), p=0.25, spread=4, chance=0.5),
        Preset(("难易悬殊", "unequal prompts"), p=0.5, spread=6, chance=0.5),
        Preset(("一样难", "equal prompts"), p=0.25, spread=0, chance=0.5),
        Preset(("很少答对", "rarely correct"), p=0.25, spread=1, chance=0.1),
    ],
    wide=True,
)
