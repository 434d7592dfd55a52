"""Reuse of a batch (一批用几遍): stored runs on signs with seven settings."""

from functools import cache

import numpy as np

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    grid,
    scene,
    tile,
)
from tokenbook.lab import per_seed, results

ARMS = (  # learning rate, epochs, loss; as stored
    (1e-4, 1, "min"),
    (1e-4, 4, "min"),
    (5e-4, 1, "min"),
    (5e-4, 8, "none"),
    (5e-4, 8, "ratio"),
    (5e-4, 8, "clip alone"),
    (5e-4, 8, "min"),
)
LAST = 3  # stored rows at the end that are averaged, two iterations each


@cache
def curves(arm, column):
    """A column of an arm (曲线), ``[seeds, rows]``."""
    lr, epochs, loss = ARMS[arm]
    rows = results("signs-epochs")
    return per_seed(rows, column, lr=lr, epochs=epochs, loss=loss)


def ends(arm, column):
    """Its mean over the last rows, one number per seed."""
    return curves(arm, column)[:, -LAST:].mean(1)


BOARDS = (  # the runs of a board, and their names
    (
        (0, ("小步，用一遍", "small steps, one pass")),
        (1, ("小步，用四遍", "small steps, four passes")),
        (2, ("大步，用一遍", "large steps, one pass")),
        (6, ("大步，用八遍", "large steps, eight passes")),
    ),
    (
        (3, ("−A log π", "−A log π")),
        (4, ("ρA，不裁剪", "ρA, no clip")),
        (5, ("只裁剪", "clip alone")),
        (6, ("PPO：取 min", "PPO: clip and min")),
    ),
)
MARKS = [0.6, 0.7, 0.8, 0.9]


def reached(arm, mark):
    """The first number of batches at which the median seed is at the mark, or None."""
    middle = np.median(curves(arm, "success"), 0)
    found = np.flatnonzero(middle >= mark)
    return 2 * (int(found[0]) + 1) if len(found) else None


def panel(L, arm, name, mark):
    """One run: five seeds, their median, and a flag where it reaches the mark."""
    seeds = curves(arm, "success")
    batches = np.arange(2, 2 * seeds.shape[1] + 1, 2).tolist()
    plot = Plot(
        x=(0, 17),
        y=(0, 1.05),
        x_name=L("采了几批", "batches sampled"),
        y_name=L(name),
        x_ticks=[0, 8, 16],
        y_ticks=[0, 0.5, 1],
        height=130,
    )
    for seed in seeds:
        plot.line(list(zip(batches, seed.tolist(), strict=True)), "old thin")
    plot.line(list(zip(batches, np.median(seeds, 0).tolist(), strict=True)), "ink")
    plot.line([(0, mark), (17, mark)], "sel thin dashed")
    at = reached(arm, mark)
    plot.line([(at or 8, 0), (at or 8, mark)], "sel", show=at is not None)
    plot.dot(at or 8, mark, "sel", show=at is not None)
    never = L("没有到过", "never")
    words = L(f"{at} 批", f"{at} batches") if at else never
    plot.text(16.6, 0.14, words, "boxed strong", align="right")
    return plot


def draw(L, board, mark):
    shown = BOARDS[round(board)]
    panels = [panel(L, arm, name, mark) for arm, name in shown]

    def tell(arm, name):
        success = ends(arm, "success")
        return tile(
            L(name),
            f"{np.median(success):.2f}",
            L(
                f"{success.min():.2f} 到 {success.max():.2f}",
                f"{success.min():.2f} to {success.max():.2f}",
            ),
        )

    return scene(
        grid(*panels, columns=2),
        caption(
            L(
                "细线是五个种子，粗线是中位数，每点是两批的平均；旗子：中位数第一次到达虚线时用了几批。"
                "下面是最后答对的比例。",
                "Thin: five seeds; thick: their median; a point is the mean of two "
                "batches; flag: batches until the median first reaches the dashed "
                "line. Below: correct at the end.",
            )
        ),
        tiles=[tell(arm, name) for arm, name in shown],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "board",
            [0, 1],
            0,
            ("比什么", "compared"),
            kind="choice",
            options=[
                ("步子与遍数", "steps and passes"),
                ("裁剪救了什么", "what the clip saves"),
            ],
        ),
        Dial("mark", MARKS, 0.8, ("旗子插在", "flag at"), kind="choice"),
    ],
    title=(
        "PPO 步子小，多用几遍省数据；步子大，多用几遍更差",
        "PPO with small steps gains from reuse; with large steps it loses",
    ),
    alt=(
        "四幅小图，同样的坐标：答对的比例随批数的变化，旗子插在中位数到达虚线的地方。",
        "Four small plots with the same axes, the share correct over the batches "
        "sampled, and a flag where the median reaches a dashed line.",
    ),
    presets=[
        Preset(("步子与遍数", "steps and passes"), board=0, mark=0.8),
        Preset(("裁剪救了什么", "what the clip saves"), board=1, mark=0.6),
    ],
    wide=True,
)
