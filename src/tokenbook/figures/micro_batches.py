"""Micro-batches and ranks (微批与显卡): own token means against counts of the step."""

from functools import cache
from itertools import groupby

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    number,
    scene,
    stack,
    tile,
)
from tokencredit import aggregate_loss

LENGTHS = (10, None, 10, 19, 10, 9, 10, 10)  # a group of signs; the second is a dial
LONG = [10, 19, 27, 36, 64, 128]
SIZES = [1, 2, 4]
RANKS = [1, 2]
OWN, STEP, FORGOTTEN = range(3)  # what a micro-batch divides by
TOPS = {2.2: [0, 0.5, 1, 1.5], 3.6: [0, 1, 2, 3]}  # of the axis -> its ticks
ROOM = 0.075  # of the plot that a number takes on a phone


def parts(size, ranks):
    """The micro-batches of every rank: rank -> a list of lists of rows."""
    rows = torch.arange(len(LENGTHS)).chunk(ranks)
    return [[part.tolist() for part in of_rank.split(size)] for of_rank in rows]


@cache
def split_weights(long, size, ranks, counting):
    """Weight of a token (词元的权重) of each response, times N: 1 is correct.

    Args:
        long: tokens of the second response.
        size: responses per micro-batch.
        ranks: devices, whose gradients are averaged.
        counting: OWN divides a micro-batch by its own tokens and averages; STEP divides
            by those of the optimizer step and multiplies by the ranks; FORGOTTEN leaves
            out the ranks.

    Returns:
        eight numbers, one per response.
    """
    lengths = torch.tensor([n or long for n in LENGTHS])
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    loss = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    total = int(lengths.sum())
    for micro in parts(size, ranks):
        for rows in micro:
            live = mask[rows]
            if counting == OWN:
                mine = aggregate_loss(loss[rows], live, "token-mean") / len(micro)
            else:
                mine = aggregate_loss(loss[rows], live, "token-mean", denominator=total)
                mine = mine * (ranks if counting == STEP else 1)
            (mine / ranks).backward()  # communication averages over the ranks
    return (loss.grad[:, 0] * total).tolist()


def cosine(weights, lengths):
    """Cosine between the weights of all tokens and the correct ones (余弦)."""
    along = sum(w * n for w, n in zip(weights, lengths, strict=True))
    size = sum(w * w * n for w, n in zip(weights, lengths, strict=True)) ** 0.5
    return along / (size * sum(lengths) ** 0.5)


def spread(middles, weights):
    """Which numbers a phone has room for 放得下的数: the extreme ones first."""
    chosen = []
    for k in sorted(
        middles, key=lambda k: weights[k] not in (max(weights), min(weights))
    ):
        if all(abs(middles[k] - middles[j]) >= ROOM for j in chosen):
            chosen.append(k)
    return chosen


def draw(L, long, size, ranks, counting):
    lengths = [n or long for n in LENGTHS]
    total = sum(lengths)
    weights = split_weights(long, size, ranks, counting)
    top = next(end for end in TOPS if max(weights) < 0.85 * end)
    unit = top / 3.6  # what lies below keeps its place
    plot = Plot(
        x=(0, total),
        y=(-1.5 * unit, top),
        x_name=L("一格一个词元，一段一条回答", "a cell is a token, a block a response"),
        y_name=L(
            "一个词元的权重 ÷ 应有的权重", "weight of a token ÷ what it should be"
        ),
        y_ticks=TOPS[top],
        height=250,
    )
    ends = [sum(lengths[:k]) for k in range(len(lengths) + 1)]
    for k, (n, weight) in enumerate(zip(lengths, weights, strict=True)):
        look = "ink" if k % 2 == 0 else "old"
        plot.area(ends[k], ends[k + 1], 0, weight, look, cells=n)
    written = [number(weight, 1) for weight in weights]
    middles = {}  # of the blocks that share a number, by the first of them
    for _, run in groupby(range(len(weights)), written.__getitem__):
        first, *_ = run = [*run]
        middle = (ends[first] + ends[run[-1] + 1]) / 2 / total
        middles[first] = max(middle, 0.45 * ROOM)
    free = spread(middles, weights)
    for k, said in enumerate(written):
        look = "above strong" + " wide-only" * (k in middles and k not in free)
        x, y = middles.get(k, 0) * total, max(weights[k], 1.05)
        plot.text(x, y, said, look, show=k in middles)
    plot.line([(0, 1), (total, 1)], "dashed sel")
    boxes = [rows for micro in parts(size, ranks) for rows in micro]
    for k in range(len(LENGTHS)):
        rows = boxes[k] if k < len(boxes) else boxes[-1]
        left, right = ends[rows[0]], ends[rows[-1] + 1]
        plot.area(
            left, right, -0.45 * unit, -0.18 * unit, "old gap", show=k < len(boxes)
        )
    cards = parts(size, ranks)
    for k in range(max(RANKS)):
        rows = cards[k] if k < len(cards) else cards[-1]
        left, right = ends[rows[0][0]], ends[rows[-1][-1] + 1]
        shown = k < len(cards)
        plot.area(left, right, -1.38 * unit, -0.65 * unit, "ink gap", show=shown)
        words = L(f"卡 {k + 1}", f"rank {k + 1}")
        plot.text((left + right) / 2, -1.02 * unit, words, "boxed strong", show=shown)
    says = L(
        "细条是微批，粗条是显卡。虚线是 1，即整批的词元平均。",
        "Thin bars: micro-batches; thick ones: ranks. Dashed: the token mean of all.",
    )
    size_of = sum(w * w * n for w, n in zip(weights, lengths, strict=True)) / total
    return scene(
        stack(plot, caption(says)),
        tiles=[
            tile(
                L("最重 ÷ 最轻", "heaviest ÷ lightest"),
                number(max(weights) / min(weights), 1) + "×",
            ),
            tile(
                L("权重的余弦", "cosine of weights"), number(cosine(weights, lengths))
            ),
            tile(L("权重的模之比", "ratio of their norms"), number(size_of**0.5)),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "counting",
            [OWN, STEP, FORGOTTEN],
            OWN,
            ("分母", "denominator"),
            kind="choice",
            options=[
                ("各自", "own"),
                ("整步", "the step"),
                ("漏乘 W", "no × W"),
            ],
        ),
        Dial("size", SIZES, 1, ("每个微批几条", "per micro-batch"), "b", fine=False),
        Dial("ranks", RANKS, 2, ("几张卡", "ranks"), "W", fine=False),
        Dial("long", LONG, 36, ("第二条有多长", "tokens of 2nd"), "n₂", fine=False),
    ],
    title=(
        "微批分母各算各的词元，权重就随切法而变；按整步来数，怎么切都一样",
        "Own counts make weights depend on the cut; counts of the whole step do not",
    ),
    alt=(
        "八条回答并排，每格一个词元，高度是词元的权重与应有权重之比。下面的细条是微批，"
        "粗条是显卡。",
        "Eight responses side by side, one cell per token; the height is the weight of "
        "a token over what it should be. Thin bars below are micro-batches, thick ones "
        "ranks.",
    ),
    presets=[
        Preset(("每个微批一条", "one per micro-batch"), counting=OWN, size=1),
        Preset(("每个微批四条", "four per micro-batch"), counting=OWN, size=4),
        Preset(("有一条特别长", "a very long one"), counting=OWN, size=2, long=128),
        Preset(("数整步", "count the step"), counting=STEP, size=1),
        Preset(("忘了乘卡数", "ranks forgotten"), counting=FORGOTTEN, size=1),
    ],
    wide=True,
)
