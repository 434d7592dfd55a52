"""How often a batch is used (一批用几遍): stored runs on signs, seven ways."""

from functools import cache

import numpy as np

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    bars,
    option,
    scene,
    side,
    stack,
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


NAMES = (  # in the plot, the list and the presets
    ("小步，K = 1", "small, K = 1"),
    ("小步，K = 4", "small, K = 4"),
    ("大步，K = 1", "large, K = 1"),
    ("−A log π", "−A log π"),
    ("ρA，不裁剪", "ρA, no clip"),
    ("只裁剪", "clip alone"),
    ("大步，K = 8", "large, K = 8"),
)


def details(arm):
    """Its learning rate, and what the name leaves out."""
    lr, epochs, loss = ARMS[arm]
    rate = f"η = {lr:.0e}".replace("e-0", "e−")
    return f"PPO, {rate}" if loss == "min" else f"K = {epochs}, {rate}"


def draw(L, arm):
    arm = round(arm)
    batches = np.arange(2, 2 * curves(0, "success").shape[1] + 1, 2).tolist()
    plot = Plot(
        x=(0, batches[-1] + 8),
        y=(0, 1),
        x_name=L("采了几批", "batches sampled"),
        y_name=L("答对的比例", "share of correct responses"),
        x_ticks=[0, 4, 8, 12, 16],
        y_ticks=[0, 0.5, 1],
        height=270,
    )
    chosen = curves(arm, "success")
    low, high = chosen.min(0).tolist(), chosen.max(0).tolist()
    up = list(zip(batches, high, strict=True))
    plot.fill(up + list(zip(batches, low, strict=True))[::-1], "old")
    for k in range(len(ARMS)):
        middle = np.median(curves(k, "success"), 0).tolist()
        plot.line(list(zip(batches, middle, strict=True)), "old thin")
    middle = np.median(chosen, 0).tolist()
    plot.line(list(zip(batches, middle, strict=True)), "ink")
    plot.dot(batches[-1], middle[-1], "sel")
    named = []
    for k in range(len(ARMS)):
        end = float(np.median(curves(k, "success"), 0)[-1])
        named.append((end, L(NAMES[k]), "strong" if k == arm else "old"))
    plot.names(batches[-1] + 1.2, named, lead=batches[-1] + 0.2)
    options = []
    for k in range(len(ARMS)):
        end = float(np.median(ends(k, "success")))
        drawn = bars((end, "ink"), (1 - end, "old pale"))
        options.append(
            option(
                L(NAMES[k]),
                drawn,
                f"{end:.2f}",
                sub=details(k),
                pick=("arm", k),
                pressed=k == arm,
            )
        )
    success = ends(arm, "success")
    return scene(
        side(plot, stack(*options), shares=(1.25, 1)),
        tiles=[
            tile(
                L("最后答对", "correct at the end"),
                f"{np.median(success):.2f}",
                L(
                    f"五个种子：{success.min():.2f} 到 {success.max():.2f}",
                    f"five seeds: {success.min():.2f} to {success.max():.2f}",
                ),
            ),
            tile(
                L("回答的长度", "length"),
                f"{np.median(ends(arm, 'length')):.0f}",
                L("个词元，上限 40", "tokens, at most 40"),
            ),
            tile(
                L("打勾却不对", "ticked, but incorrect"),
                f"{np.median(ends(arm, 'lies')):.2f}",
                L("占全部回答", "of all responses"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "arm",
            [*range(len(ARMS))],
            1,
            ("哪一种", "which run"),
            "",
            kind="hidden",
        )
    ],
    title=(
        "步子小，多用几遍省数据；步子大，多用几遍反而有害",
        "With small steps reuse saves data; with large steps it does harm",
    ),
    alt=(
        "左边是七种训练的答对比例随批数的变化，选中的一种画成粗线，阴影是五个种子的"
        "范围。右边是七种训练的名字和最后的答对比例。",
        "Left, the share of correct responses over the batches sampled for seven kinds "
        "of training; the chosen one is bold, with the range of five seeds. Right, "
        "their names and their last shares.",
    ),
    presets=[
        Preset(NAMES[1], arm=1),
        Preset(NAMES[0], arm=0),
        Preset(NAMES[2], arm=2),
        Preset(NAMES[3], arm=3),
        Preset(NAMES[6], arm=6),
    ],
    wide=True,
)
