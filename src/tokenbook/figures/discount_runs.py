"""Training with one reward at the end (奖励只在结尾): four discounts, five seeds."""

from functools import cache

import numpy as np

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, tile
from tokenbook.lab import final, per_seed, results
from tokenbook.languages.glossary import terms

GAMMAS = [0.0, 0.5, 0.9, 1.0]
EVERY = 5  # iterations between two evaluations
STEPS = 5  # from the first of six tokens to the last


@cache
def runs(gamma):
    """Success (正确率) per evaluation: median, smallest and largest of the seeds."""
    curves = per_seed(results("gamma-sweep"), "success", gamma=gamma)
    return [f(curves, axis=0).tolist() for f in (np.median, np.min, np.max)]


@cache
def ends(gamma, column):
    """Mean of each seed's last three evaluations: median, smallest, largest."""
    seeds = final(results("gamma-sweep"), column, last=3, gamma=gamma)
    return [float(f(seeds)) for f in (np.median, np.min, np.max)]


def draw(L, gamma):
    plot = Plot(
        x=(0, 76),
        y=(0, 1),
        x_name=L("迭代次数", "iterations"),
        y_name=L(
            "正确率（五个种子的中位数与范围）",
            "success: median and range of five seeds",
        ),
        x_ticks=[0, 20, 40, 60],
        y_ticks=[0, 0.5, 1],
        height=250,
    )
    middle, low, high = runs(gamma)
    places = [EVERY * (k + 1) for k in range(len(middle))]
    band = [*zip(places, low, strict=True), *zip(places[::-1], high[::-1], strict=True)]
    plot.fill(band, "old")
    for other in GAMMAS:
        line = list(zip(places, runs(other)[0], strict=True))
        plot.line(line, "ink" if other == gamma else "old thin")
    looks = {other: "strong" if other == gamma else "quiet" for other in GAMMAS}
    ends_at = [(runs(g)[0][-1], f"γ = {g:g}", look) for g, look in looks.items()]
    plot.names(63, ends_at, lead=places[-1])

    def told(label, column):
        median, least, most = ends(gamma, column)
        to = L("到", "to")
        return tile(label, number(median), f"{number(least)} {to} {number(most)}")

    return scene(
        plot,
        tiles=[
            told(L("最后的正确率", "success at the end"), "success"),
            told(L("写出部分和的比例", "writes partial sums"), "reasons"),
            tile(
                L("第一个词元的功劳", "the first token's credit"),
                number(gamma**STEPS),
                L("奖励 1 在五步以外", "reward 1, five steps away"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "gamma",
            GAMMAS,
            0.5,
            terms("discount"),
            "γ",
            kind="hidden",
        )
    ],
    title=(
        "奖励只在结尾时，打折越狠，前面的步骤越学不会",
        "With a reward at the end only, a strong discount starves the early steps",
    ),
    alt=(
        "四种折扣因子的正确率随迭代次数变化的曲线，选中的一条带五个种子的范围。",
        "Success over iterations for four discounts; the chosen one with the range of "
        "its five seeds.",
    ),
    presets=[
        Preset(("γ = 0.5，看运气", "γ = 0.5: luck"), gamma=0.5),
        Preset(("γ = 0，学不会", "γ = 0: never"), gamma=0.0),
        Preset(("γ = 0.9，回答太短看不出", "γ = 0.9: too short to show"), gamma=0.9),
        Preset(("γ = 1", "γ = 1"), gamma=1.0),
    ],
)
