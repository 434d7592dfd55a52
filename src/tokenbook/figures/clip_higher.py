"""Clip-higher (上侧放宽): one token, batch by batch, under two bounds."""

import math
from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, tile
from tokencredit import ppo_clip_loss

HIGHS = [0.1, 0.2, 0.28, 0.4, 0.6, 1.0]
CHANCES = [0.001, 0.003, 0.01, 0.03, 0.1]
USUAL = 0.2
STEPS = 36
GOAL = 0.5


@cache
def reach(old, high):
    """The largest probability (可达概率) at which a good token is still pushed up.

    Args:
        old: its probability when the batch was sampled.
        high: distance of the upper bound from 1.

    Returns:
        a probability, at most 1.

    Raises:
        ValueError: the gradient of the course's loss does not end there.
    """
    edge = torch.tensor([1 - 1e-9, 1 + 1e-9], dtype=torch.float64) * (1 + high)
    log_ratio = edge.log().requires_grad_()
    loss = ppo_clip_loss(log_ratio, log_ratio, torch.ones(2), clip_high=high)
    (slope,) = torch.autograd.grad(loss.sum(), log_ratio)
    if slope[0] == 0 or slope[1] != 0:
        raise ValueError(f"the gradient does not end at a ratio of {1 + high}")
    return min(old * (1 + high), 1.0)


def batches(old, high):
    """Batches (批数) to grow from `old` to `GOAL` when each ends at the edge."""
    return max(0, math.ceil(math.log(GOAL / old) / math.log(1 + high) - 1e-12))


@cache
def climb(old, high):
    """The probability after each batch, at most `GOAL`."""
    path = [old]
    for _ in range(STEPS):
        path.append(min(reach(path[-1], high), GOAL))
    return path


def stairs(old, high):
    """The corners of the staircase, level from the goal on."""
    path, corners = climb(old, high), [(0, old)]
    for k in range(1, STEPS + 1):
        corners += [(k, path[k - 1]), (k, path[k])]
    return corners


def draw(L, step, clip_high, old):
    plot = Plot(
        x=(0, STEPS),
        y=(0.0007, 4),
        x_name=L("第几批", "batch"),
        y_name=L(
            "一个好词元的概率（对数轴）", "probability of a good token (log axis)"
        ),
        x_ticks=range(0, STEPS + 1, 6),
        y_ticks={0.001: "0.1%", 0.01: "1%", 0.1: "10%", 0.5: "50%"},
        height=260,
        log="y",
    )
    plot.rule(y=GOAL, look="dashed")
    plot.rule(x=step, look="dotted")
    tiles = [tile(L("第几批之后", "after batch"), str(step), "")]
    for high, look in ((USUAL, "old"), (clip_high, "ink")):
        plot.line(stairs(old, high), look)
        count, now = batches(old, high), climb(old, high)[step]
        words = f"ε_high = {high:g}\n" + L(f"{count} 批到一半", f"{count} batches")
        end = min(count, STEPS)
        if (clip_high > USUAL) == (look == "ink"):  # the taller stairs: above their end
            place, align = (end, 1.55), "center" if end < STEPS - 4 else "right"
        else:  # below the stairs
            middle = round(0.7 * end)
            place, align = (middle + 1, climb(old, high)[middle] / 2.6), "left"
        plot.text(
            *place,
            words,
            f"strong boxed {'old' if look == 'old' else ''}",
            align=align,
            show=look == "ink" or clip_high != USUAL,
        )
        tiles.append(
            tile(
                f"ε_high = {high:g}",
                number(100 * now, 1) + "%",
                L(f"到一半要 {count} 批", f"half in {count}"),
                look="old" if look == "old" else "",
            )
        )
        plot.dot(step, now, "old" if look == "old" else "sel")
    plot.drag(x=("step", range(STEPS + 1)))
    plot.grip((step, 0.00105), x=("step", range(STEPS + 1)))
    return scene(plot, tiles=tiles)


FIGURE = Figure(
    draw,
    dials=[
        Dial("step", range(STEPS + 1), 8, ("批次", "batch"), kind="time"),
        Dial(
            "clip_high",
            HIGHS,
            0.28,
            ("上侧裁剪范围", "range above"),
            "ε_high",
            fine=False,
        ),
        Dial(
            "old",
            CHANCES,
            0.01,
            ("起点概率", "at the start"),
            "π₀",
            fine=False,
        ),
    ],
    title=(
        "罕见的好词元每批只能爬一级，台阶多高由上界定",
        "A rare token climbs one step a batch, and the upper bound sets its height",
    ),
    alt=(
        "两条阶梯：同一个词元的概率逐批上升，灰色是上界 1.2，黑色是所选的上界。",
        "Two staircases: the probability of one token, batch by batch, grey with an "
        "upper bound of 1.2, black with the chosen one.",
    ),
    presets=[
        Preset(("DAPO：0.28", "DAPO: 0.28"), step=8, clip_high=0.28, old=0.01),
        Preset(("原来的 0.2", "the usual 0.2"), clip_high=0.2, old=0.01),
        Preset(("更罕见", "a rarer token"), clip_high=0.28, old=0.001),
        Preset(("不那么罕见", "a likelier one"), clip_high=0.28, old=0.1),
        Preset(("放到 2 倍", "a bound of 2"), clip_high=1.0, old=0.01),
    ],
    note=(
        "这是最好的情形：每一批都正好推到上界。",
        "The best case: every batch ends exactly at its bound.",
    ),
    wide=True,
)
