"""Dynamic sampling (动态采样): dead groups, and what a live one costs."""

from functools import cache

import torch

from explorer import (
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
from tokencredit import dynamic_sampling

CHANCES = [0.02, *(round(0.05 * i, 2) for i in range(1, 20)), 0.98]
SIZES = [2, 4, 8, 16]
GROUPS = 32
SAMPLES = 4


def dead_share(p, size):
    """Chance that all responses of a group agree (死组): p^G + (1-p)^G."""
    return p**size + (1 - p) ** size


@cache
def counted_share(p, size):
    """The same by going through every number of right responses and the filter."""
    right = torch.arange(size + 1)
    rewards = (torch.arange(size) < right[:, None]).double()
    groups = right[:, None].expand_as(rewards)
    kept = dynamic_sampling(rewards.flatten(), groups.flatten())[::size]
    count = torch.distributions.Binomial(size, torch.tensor(p, dtype=torch.float64))
    return count.log_prob(right.double()).exp()[~kept].sum().item()


@cache
def draws(sample):
    """Uniform numbers, one per response; it is right where the number is below p."""
    generator = torch.Generator().manual_seed(sample)
    return torch.rand(GROUPS, max(SIZES), generator=generator, dtype=torch.float64)


@cache
def batch(p, size, sample):
    """How many are right in each group, and which groups the filter keeps."""
    right = draws(sample)[:, :size] < p
    groups = torch.arange(GROUPS).repeat_interleave(size)
    kept = dynamic_sampling(right.double().flatten(), groups)[::size]
    return right.sum(1).tolist(), kept.tolist()


def draw(L, p, size, sample):
    right, kept = batch(p, size, sample)
    drawn = [
        dots(k, size, look="" if live else "off")
        for k, live in zip(right, kept, strict=True)
    ]
    share = counted_share(p, size)
    curve = Plot(
        x=(0, 1),
        y=(0, 1),
        x_name=L("一条回答答对的概率 p", "chance p that a response is right"),
        y_name=L("死组的份额", "share of dead groups"),
        x_ticks=[0, 0.5, 1],
        y_ticks={0: "0%", 0.5: "50%", 1: "100%"},
        height=150,
    )
    curve.line([(x / 50, dead_share(x / 50, size)) for x in range(51)])
    curve.drag(x=("p", CHANCES))
    curve.grip((p, share), x=("p", CHANCES))
    dead = GROUPS - sum(kept)
    keys = legend(
        ("up dot", L("对", "right")),
        ("down dot hollow", L("错", "wrong")),
        ("gone dot", L("死组：全一样", "dead group: all alike")),
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
                f"{dead}/{GROUPS}",
                look="down" if dead else "",
            ),
            tile(L("平均白采", "wasted on average"), number(100 * share, 0) + "%"),
            tile(
                L("一个活组要采", "responses per live group"),
                number(size / (1 - share), 0),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("p", CHANCES, 0.9, ("答对的概率", "chance to be right"), "p"),
        Dial(
            "size",
            SIZES,
            8,
            ("组大小", "group size"),
            "G",
            kind="choice",
            options=[(str(g),) * 2 for g in SIZES],
        ),
        Dial("sample", range(1, SAMPLES + 1), 1, ("样本", "sample"), kind="hidden"),
    ],
    title=(
        "题太易或太难，一组回答全一样，这一组就白采了",
        "When all responses of a group agree, it was sampled for nothing",
    ),
    alt=(
        "三十二组回答的点阵，死组画成灰色；旁边是死组的份额随答对概率的变化，"
        "两端高，中间低。",
        "Thirty-two groups of responses as dots, dead groups grey; beside them the "
        "share of dead groups over the chance to be right, high at both ends.",
    ),
    presets=[
        Preset(("九成答对", "nine in ten right"), p=0.9, size=8),
        Preset(("一半答对", "half right"), p=0.5, size=8),
        Preset(("很难的题", "a very hard one"), p=0.02, size=8),
        Preset(("组加大到 16", "groups of 16"), p=0.9, size=16),
    ],
    wide=True,
)
