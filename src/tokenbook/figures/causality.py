"""One response, rewards on the way (因果性): a token is credited with later ones."""

from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, tile
from tokenbook.languages.glossary import terms
from tokencredit import discounted_return
from tokencredit.world.tasks.signs import PER_TRUE_TRY, outcome, tries

PROMPT = "9□5□7=11?"
RESPONSE = "9+5+7=21✗9-5+7=11✓$"  # sampled from the stored warm start
COUNT = len(RESPONSE)
GAMMAS = [0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0]
PAID = ["end", "way"]  # at the end only, or for every true equation as well
BASE, TOKENS, ARROW, FLOOR = 0.3, 0.0, -0.42, -2.05  # heights in the drawing
TALL = 0.85  # height of a reward of 1


@cache
def rewards(paid):
    """Reward (奖励) of every token of the response: a list.

    Args:
        paid: "end", the outcome on the last token; "way", also 0.2 on the mark of each
            true equation.
    """
    found = [0.0] * COUNT
    marks = [t for t, word in enumerate(RESPONSE) if word in "✗✓"]
    for t, one in zip(marks, tries(PROMPT, RESPONSE), strict=True):
        found[t] = PER_TRUE_TRY * one.true * (paid == "way")
    found[-1] += outcome(PROMPT, RESPONSE)
    return found


@cache
def returns(paid, gamma):
    """Return (回报) of every token of the response: a list."""
    one_row = torch.tensor([rewards(paid)], dtype=torch.float64)
    return discounted_return(one_row, gamma=gamma)[0].tolist()


def draw(L, t, gamma, paid):
    t = int(t)
    earned, credit = rewards(paid), returns(paid, gamma)
    before, after = sum(earned[:t]), sum(earned[t:])
    plot = Plot(x=(0, COUNT + 0.7), y=(-2.45, 1.75), height=290, axes=False)
    plot.area(0, t, BASE, 1.5, "off", show=t > 0)
    plot.area(t + 0.1, t + 0.9, TOKENS - 0.24, TOKENS - 0.17, "sel")
    for k, word in enumerate(RESPONSE):
        past = k < t
        look = "quiet" if past else "strong"
        plot.text(k + 0.5, TOKENS, word, look)
        height = TALL * earned[k]
        plot.area(
            k + 0.14,
            k + 0.86,
            BASE,
            BASE + height,
            "old" if past else "up",
            show=height > 0,
        )
        words = f"+{earned[k]:g}"
        beside = (k + 0.9, "right") if earned[k] < 1 else (k + 0.5, "center")
        plot.text(
            beside[0],
            BASE + height + 0.16,
            words,
            "old boxed" if past else "up strong",
            align=beside[1],
            show=height > 0,
        )
        here = " sel" if k == t else ""
        bar = FLOOR + max(TALL * credit[k], 0.012)
        plot.area(k + 0.14, k + 0.86, FLOOR, bar, "up" if here else "up pale")
    plot.rule(y=FLOOR)
    far = gamma > 0
    plot.arrow(t + 0.5, ARROW, COUNT + 0.1, ARROW, "ink thin", show=far)
    counts = L("算在它头上", "counts for it")
    if gamma < 1:
        counts = L("越远，算得越少", "the further, the less it counts")
    place = (COUNT, -0.7) if t < 11 else (t - 0.3, ARROW)  # clear of the grip
    plot.text(*place, counts, "quiet", align="right", show=far)
    mine = L("已经到手，不算", "already earned")
    plot.text(0.3, 1.25, mine, "quiet boxed", align="left", show=t >= 8)
    plot.text(0.1, 1.66, L("奖励", "rewards"), "quiet", align="left")
    plot.text(
        0.1,
        -2.28,
        L("每个词元的回报 G", "return G of every token"),
        "quiet",
        align="left",
    )
    places = ("t", [k + 0.5 for k in range(COUNT)])
    plot.drag(x=places)
    plot.grip((t + 0.5, ARROW), x=places)
    return scene(
        plot,
        tiles=[
            tile(
                L("之前的奖励", "rewards before"),
                number(before, 1),
                L("不计入", "do not count"),
                look="off",
            ),
            tile(
                L("之后的奖励", "from here on"),
                number(after, 1),
                L("计入", "count") if far else L("只计当下", "own only"),
                look="up" if far else "off",
            ),
            tile(
                L("回报 G", "return G"),
                number(credit[t]),
                L("打折以后", "discounted")
                if gamma < 1
                else L("不打折", "undiscounted"),
                look="up",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("t", list(range(COUNT)), 10, ("看哪个词元", "which token"), "t"),
        Dial("gamma", GAMMAS, 1.0, terms("discount"), "γ"),
        Dial(
            "paid",
            PAID,
            "way",
            ("奖励发在哪里", "where rewards are paid"),
            fmt="",
            kind="choice",
            options=[("只在结尾", "end only"), ("路上也发", "marks too")],
        ),
    ],
    title=(
        "一个词元只分到自己和之后的奖励，越远的打折越多",
        "A token is credited with its own and later rewards, far ones discounted",
    ),
    alt=(
        "一条回答的 19 个词元排成一行。上面的柱是奖励，选中词元之前的画成斜线，不计入；"
        "下面的柱是每个词元的回报。",
        "The 19 tokens of a response in a row. Bars above are rewards; those before "
        "the chosen token are hatched and do not count. Bars below are the returns.",
    ),
    presets=[
        Preset(
            ("第二次尝试的减号", "the second try's minus"), t=10, gamma=1.0, paid="way"
        ),
        Preset(("第一个词元", "the first token"), t=0, gamma=1.0),
        Preset(("打折：γ = 0.9", "discounted: γ = 0.9"), t=0, gamma=0.9),
        Preset(("奖励只在结尾", "paid at the end only"), t=10, gamma=1.0, paid="end"),
        Preset(("只看眼前：γ = 0", "blind to the future: γ = 0"), t=10, gamma=0.0),
    ],
    wide=True,
)
