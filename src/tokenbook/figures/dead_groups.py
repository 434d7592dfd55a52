"""Dynamic sampling (动态采样): zero-variance groups, and the cost of a mixed one."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    card,
    dots,
    grid,
    legend,
    line,
    number,
    scene,
    side,
    stack,
    tile,
)
from tokenbook.languages.glossary import terms
from tokencredit import dynamic_sampling

CHANCES = [0.02, *(round(0.05 * i, 2) for i in range(1, 20)), 0.98]
SIZES = [2, 3, 4, 8, 16]
GROUPS = 32
SAMPLES = 4


def alike(q, size):
    """Chance that a group is all correct or all incorrect (零方差组): q^G + (1-q)^G."""
    return q**size + (1 - q) ** size


@cache
def counted_share(q, size):
    """The same by going through every number of correct responses and the filter."""
    right = torch.arange(size + 1)
    rewards = (torch.arange(size) < right[:, None]).double()
    groups = right[:, None].expand_as(rewards)
    kept = dynamic_sampling(rewards.flatten(), groups.flatten())[::size]
    count = torch.distributions.Binomial(size, torch.tensor(q, dtype=torch.float64))
    return count.log_prob(right.double()).exp()[~kept].sum().item()


@cache
def draws(sample):
    """Uniform numbers, one per response; it is correct where the number is below q."""
    generator = torch.Generator().manual_seed(sample)
    return torch.rand(GROUPS, max(SIZES), generator=generator, dtype=torch.float64)


@cache
def batch(q, size, sample):
    """Number of correct responses in each group, and the groups that are kept."""
    right = draws(sample)[:, :size] < q
    groups = torch.arange(GROUPS).repeat_interleave(size)
    kept = dynamic_sampling(right.double().flatten(), groups)[::size]
    return right.sum(1).tolist(), kept.tolist()


def draw(L, q, size, sample):
    right, kept = batch(q, size, sample)
    drawn = [
        dots(k, size, look="" if mixed else "off")
        for k, mixed in zip(right, kept, strict=True)
    ]
    share = counted_share(q, size)
    curve = Plot(
        x=(0, 1),
        y=(-0.14, 1),  # room for the grip above the ticks
        x_name=L("一条回答答对的概率 q", "chance q that a response is correct"),
        y_name=L("零方差组的份额（%）", "zero-variance groups (%)"),
        x_ticks=[0, 0.5, 1],
        y_ticks={0: "0", 0.5: "50", 1: "100"},
        height=150,
    )
    curve.rule(y=0)
    curve.line([(x / 50, alike(x / 50, size)) for x in range(51)])
    curve.drag(x=("q", CHANCES))
    curve.grip((q, share), x=("q", CHANCES))
    wasted = GROUPS - sum(kept)
    keys = legend(
        ("up dot", L("对", "correct")),
        ("down dot hollow", L("错", "incorrect")),
        ("gone dot", L("零方差组：全一样", "zero variance")),
    )
    again = card(L("再采一批", "sample again"), flip="sample", pressed=False)
    return scene(
        side(
            stack(line(keys, again), grid(*drawn, columns=4)),
            curve,
            shares=(1.5, 1),
        ),
        tiles=[
            tile(
                L("这一批白采的组", "wasted in this batch"),
                f"{wasted}/{GROUPS}",
                look="down" if wasted else "",
            ),
            tile(L("平均白采", "wasted on average"), number(100 * share, 0) + "%"),
            tile(
                L("每个有用的组要采几条回答", "responses per useful group"),
                number(size / (1 - share), 0),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("q", CHANCES, 0.9, ("答对的概率", "success rate"), "q"),
        Dial(
            "size",
            SIZES,
            8,
            terms("group_size"),
            "G",
            kind="choice",
            options=[(str(g),) * 2 for g in SIZES],
        ),
        Dial("sample", range(1, SAMPLES + 1), 1, ("样本", "sample"), kind="hidden"),
    ],
    title=(
        "一组回答全对或全错，这一组就白采了",
        "A group that is all correct or all incorrect was sampled for nothing",
    ),
    alt=(
        "三十二组回答的点阵，零方差组画成灰色；旁边是它们的份额随答对概率的变化，"
        "两端高，中间低。",
        "Thirty-two groups of responses as dots, groups of zero variance grey; beside "
        "them their share over the chance to be correct, high at both ends.",
    ),
    presets=[
        Preset(("九成答对", "nine in ten"), q=0.9, size=8),
        Preset(("一半答对", "one half"), q=0.5, size=8),
        Preset(("很难的题", "very hard"), q=0.02, size=8),
        Preset(("组加大到 16", "groups of 16"), q=0.9, size=16),
    ],
    wide=True,
)
