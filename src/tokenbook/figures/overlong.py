"""DAPO's soft overlong penalty (软超长惩罚), and the reward with it."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    legend,
    number,
    scene,
    stack,
    tile,
)
from tokencredit import soft_overlong

ROOM = 20480  # tokens that the engine may write
EDGE = 22528  # of the drawing
LIMITS = [16384, 20480]
CACHES = [1024, 2048, 4096, 8192]
LENGTHS = [4096, *range(8192, ROOM + 1, 1024)]
GRID = list(range(0, ROOM + 1, 512))
PAYS = [(1.0, -1.0), (1.0, 0.0)]  # correct, incorrect


@cache
def penalty(length, limit, ramp):
    """The penalty (惩罚) at a length, by the course's function."""
    lengths = torch.tensor([length], dtype=torch.float64)
    return soft_overlong(lengths, max_length=limit, cache=ramp).item()


def draw(L, limit, cache, length, pays):
    good, bad = PAYS[pays]
    begin, here = limit - cache, penalty(length, limit, cache)
    plot = Plot(
        x=(0, EDGE),
        y=(-2.2, 1.5),
        x_name=L("回答的词元数", "tokens of the response"),
        y_name=L("判分加上惩罚", "verdict plus penalty"),
        x_ticks={0: "0", 8192: "8192", 16384: "16384", 20480: "20480"},
        y_ticks=[-2, -1, 0, 1],
        height=230,
    )
    plot.area(begin, limit, -2.2, 1.5, "old pale")
    plot.area(ROOM, EDGE, -2.2, 1.5, "off")
    plot.rule(y=0)
    for base, look in ((good, "up"), (bad, "down")):
        plot.line([(n, base + penalty(n, limit, cache)) for n in GRID], look)
        plot.dot(length, base + penalty(length, limit, cache), look)
    plot.rule(x=length, look="dotted")
    plot.text(400, good + 0.22, L("答对", "correct"), "up", align="left")
    plot.text(400, bad + 0.22, L("答错", "incorrect"), "down", align="left")
    ends = {"x": ("length", LENGTHS)}
    plot.drag(**ends)
    plot.grip((length, -2.2), **ends)
    keys = legend(
        ("old pale", L("斜坡：惩罚从 0 到 −1", "the ramp, from 0 to −1")),
        ("off", L("超出生成上限", "beyond the generation limit")),
    )
    return scene(
        stack(plot, keys),
        tiles=[
            tile(L("惩罚从这里开始", "the penalty begins at"), str(begin)),
            tile(L("这里的惩罚", "penalty here"), number(here)),
            tile(L("答对得", "if correct"), number(good + here), look="up"),
            tile(L("答错得", "if incorrect"), number(bad + here), look="down"),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "length",
            LENGTHS,
            18432,
            ("这条回答的长度", "its length"),
            "n",
            fine=False,
        ),
        Dial("cache", CACHES, 4096, ("斜坡的宽度", "width of the ramp"), fine=False),
        Dial(
            "limit",
            LIMITS,
            20480,
            ("惩罚扣满的长度", "length of the full penalty"),
            kind="choice",
            options=[(str(n),) * 2 for n in LIMITS],
        ),
        Dial(
            "pays",
            [0, 1],
            0,
            ("判分", "verdict"),
            kind="choice",
            options=[("+1 和 −1", "+1 and −1"), ("1 和 0", "1 and 0")],
        ),
    ],
    title=(
        "软超长惩罚从上限之前一个斜坡处开始，到上限扣满 1",
        "The soft overlong penalty starts one ramp before the limit and ends at −1",
    ),
    alt=(
        "横轴是回答的词元数，纵轴是判分加惩罚。蓝线是答对，橙线是答错，"
        "两条都在灰色的斜坡里下降 1。",
        "Verdict plus penalty over the tokens of a response. Blue is correct and "
        "orange incorrect; both fall by 1 within the grey ramp.",
    ),
    presets=[
        Preset(
            ("论文的设置", "the paper's setting"),
            length=18432,
            cache=4096,
            limit=20480,
            pays=0,
        ),
        Preset(
            ("上限填成 16384", "16384 as the limit"),
            length=20480,
            cache=4096,
            limit=16384,
            pays=0,
        ),
        Preset(
            ("判分 1 和 0，写满", "1 and 0, at the limit"),
            length=20480,
            cache=4096,
            limit=20480,
            pays=1,
        ),
        Preset(("斜坡很陡", "a steep ramp"), cache=1024, limit=20480, pays=0),
    ],
    wide=True,
)
