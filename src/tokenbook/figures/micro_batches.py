"""Micro-batches (微批): eight responses, any cuts; the divisor decides the weights."""

from functools import cache
from itertools import pairwise

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    card,
    grid,
    h,
    number,
    scene,
    stack,
    tile,
)
from tokencredit import aggregate_loss

LENGTHS = (10, 36, 10, 19, 10, 9, 10, 10)  # a group of signs
PLACES = range(1, len(LENGTHS))  # possible cuts, by the number of responses before them
RANKS = 2  # devices, whose gradients are averaged
OWN, STEP, FORGOTTEN = range(3)  # divisors of a micro-batch
TOP, UNDER = 3.4, -0.65  # of the axis; height below the bars


def parts(cuts):
    """The micro-batches (微批): rows between one cut and the next.

    Args:
        cuts: behind how many responses, in rising order.
    """
    return [range(a, b) for a, b in pairwise((0, *cuts, len(LENGTHS)))]


@cache
def split_weights(cuts, counting):
    """Weight of a token (词元的权重) of each response, times N: 1 is correct.

    Args:
        cuts: a tuple, as for `parts`.
        counting: OWN divides a micro-batch by its own tokens and averages; STEP divides
            by those of the optimizer step and adds; FORGOTTEN leaves out that the ranks
            average once more.

    Returns:
        eight numbers, one per response.
    """
    lengths = torch.tensor(LENGTHS)
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    loss = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    total, pieces = int(lengths.sum()), parts(cuts)
    for rows in pieces:
        some, live = loss[[*rows]], mask[[*rows]]
        if counting == OWN:
            mine = aggregate_loss(some, live, "token-mean") / len(pieces)
        else:
            mine = aggregate_loss(some, live, "token-mean", denominator=total)
            mine = mine / (RANKS if counting == FORGOTTEN else 1)
        mine.backward()  # adds up
    return (loss.grad[:, 0] * total).tolist()


def compared(weights):
    """Cosine (余弦) of the weights of all tokens and the correct ones; their norms."""
    pairs = [*zip(weights, LENGTHS, strict=True)]
    along, squares = (sum(w**k * n for w, n in pairs) for k in (1, 2))
    return along / (squares * sum(LENGTHS)) ** 0.5, (squares / sum(LENGTHS)) ** 0.5


def draw(L, counting, c1, c2, c3, c4, c5, c6, c7):
    here = (c1, c2, c3, c4, c5, c6, c7)
    cuts = tuple(k for k, cut in zip(PLACES, here, strict=True) if cut)
    weights = split_weights(cuts, counting)
    plot = Plot(x=(0, len(LENGTHS)), y=(UNDER, TOP), axes=False, height=230)
    for k, weight in enumerate(weights):
        over = weight > 1.05
        looks = ("ink", not over), ("alt", over)  # a bar keeps its colour
        for look, shown in looks:
            plot.area(k + 0.1, k + 0.9, 0, min(weight, TOP), look, show=shown)
        plot.text(
            k + 0.5, max(min(weight, 2.9), 1.05), number(weight, 1), "above strong"
        )
    plot.line([(0, 1), (len(LENGTHS), 1)], "dashed ink")
    pieces = parts(cuts)
    for k in range(len(LENGTHS)):
        rows = pieces[min(k, len(pieces) - 1)]
        box = (rows[0] + 0.04, rows[-1] + 0.96, UNDER + 0.15, -0.2)
        plot.area(*box, "old", show=k < len(pieces))
    plot.line([(0, 0), (len(LENGTHS), 0)], "ink thin")
    scissors = [
        card(
            f"{n}",
            flip=f"c{k}",
            pressed=k in cuts,
            mark="✂" if k in cuts else "·",
            says=L(f"第 {k} 条之后剪开", f"cut behind response {k}"),
        )
        for k, n in enumerate(LENGTHS[:-1], 1)
    ]
    last = h("div", h("span", f"{LENGTHS[-1]}"), cls="ex-card")
    cosine, norm = compared(weights)
    return scene(
        caption(
            L(
                "柱：一个词元的权重 ÷ 应有的权重。虚线是 1。",
                "Bars: weight of a token ÷ what it should be. Dashed: 1.",
            )
        ),
        stack(
            plot,
            grid(*scissors, last, columns=len(LENGTHS)),
            caption(
                L(
                    "八条回答各有几个词元；点一下，在它后面剪开或接上。灰条是微批。",
                    "Tokens of eight responses; click one to cut behind it, or join. "
                    "Grey: micro-batches.",
                )
            ),
        ),
        tiles=[
            tile(
                L("最重 ÷ 最轻", "heaviest ÷ lightest"),
                number(max(weights) / min(weights), 1) + "×",
            ),
            tile(L("权重的余弦", "cosine of weights"), number(cosine)),
            tile(L("权重的模之比", "ratio of their norms"), number(norm)),
        ],
    )


ALL = {f"c{k}": 1 for k in PLACES}
NONE = {f"c{k}": 0 for k in PLACES}
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
                ("各自的词元", "own tokens"),
                ("整步的词元", "tokens of the step"),
                ("两张卡，忘了乘 2", "two ranks, no × 2"),
            ],
        ),
        *(
            Dial(
                f"c{k}",
                [0, 1],
                1,
                (f"第 {k} 条后剪开", f"cut behind {k}"),
                kind="hidden",
            )
            for k in PLACES
        ),
    ],
    title=(
        "微批分母各算各的词元，权重就随切法而变；按整步来数，怎么切都一样",
        "Own counts make weights depend on the cut; counts of the whole step do not",
    ),
    alt=(
        "八条回答各一根柱，高度是它的词元的权重与应有权重之比；下面的灰条是微批，"
        "可以在任何两条之间剪开。",
        "A bar for each of eight responses, as high as the weight of its tokens over "
        "what it should be. Grey bars below are micro-batches; they can be cut between "
        "any two responses.",
    ),
    presets=[
        Preset(("每个微批一条", "one per micro-batch"), counting=OWN, **ALL),
        Preset(
            ("每个微批四条", "four per micro-batch"), counting=OWN, **NONE | {"c4": 1}
        ),
        Preset(
            ("长的单独一批", "the long one alone"),
            counting=OWN,
            **NONE | {"c1": 1, "c2": 1},
        ),
        Preset(("数整步", "count the step"), counting=STEP, **ALL),
        Preset(("忘了乘卡数", "ranks forgotten"), counting=FORGOTTEN, **ALL),
    ],
    wide=True,
)
