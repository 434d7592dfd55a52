"""Importance sampling (重要性采样) between two walkers: weights and their variance."""

import math
from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, number, scene, side, tile
from tokencredit import token_log_ratio

CHANCES = [0.01, *(round(0.05 * i, 2) for i in range(1, 20)), 0.99]
WALKS = 100  # the size of the record, as in the example of chapter 6


@cache
def weights(old, new):
    """Ratio (重要性采样比率) of going left and of going right.

    Args:
        old: probability of going right under the policy that walked.
        new: the same under the policy to be judged.

    Returns:
        rho = pi / pi_old, left and right.
    """
    now, then = (torch.tensor([[1 - p, p]], dtype=torch.float64) for p in (new, old))
    every = torch.ones_like(now, dtype=torch.bool)
    return tuple(token_log_ratio(now.log(), then.log(), every).exp()[0].tolist())


@cache
def effective_share(old, new):
    """Effective sample size (有效样本量) as a share of n: 1 / E_old[rho^2].

    Args:
        old: probability of going right under the policy that walked.
        new: the same under the policy to be judged.

    Returns:
        a share, at most 1.
    """
    left, right = weights(old, new)
    return 1 / ((1 - old) * left**2 + old * right**2)


def records(L, old, new):
    """The hundred walkers as cells, the same as wide as they count, and fresh ones."""
    plot = Plot(x=(0, 1), y=(0, 6), axes=False, height=210)
    went = max(1, round(WALKS * old))  # to the right
    fresh = max(1, round(WALKS * effective_share(old, new)))
    rows = (
        (
            4.35,
            old,
            WALKS - went,
            went,
            L("旧策略走了 100 次", "100 walks of the old policy"),
        ),
        (
            2.35,
            new,
            WALKS - went,
            went,
            L("同样 100 次，宽度是权重", "the same, as wide as they count"),
        ),
        (
            0.35,
            new,
            max(1, round(fresh * (1 - new))),
            max(1, round(fresh * new)),
            L("有效样本量", "effective sample size"),
        ),
    )
    for k, (y, chance, left, right, words) in enumerate(rows):
        look = "old" if k == 0 else "ink"
        plot.area(0, 1 - chance, y, y + 0.85, "old pale", cells=max(left, 2))
        plot.area(1 - chance, 1, y, y + 0.85, look, cells=max(right, 2))
        plot.text(0, y + 1.2, words, "strong", align="left")
        said = f"{fresh}" if k == 2 else f"{left} ← → {right}"
        plot.text(1, y + 1.2, said, align="right")
    return plot


def draw(L, old, new):
    left, right = weights(old, new)
    kept = effective_share(old, new)
    worth = WALKS * kept
    spread = old * right**2 - new**2  # variance of rho R, where R = 1 on the right
    curve = Plot(
        x=(0, 1),
        y=(0, 1.08),
        x_name=L("新策略向右的概率 π(→)", "new policy goes right, π(→)"),
        y_name=L("还值几成", "share that is left"),
        x_ticks=[0, 0.5, 1],
        y_ticks=[0, 0.5, 1],
        height=190,
    )
    curve.line([(p, effective_share(old, p)) for p in CHANCES], "ink")
    curve.rule(x=old, look="dashed")
    inwards = "left" if old < 0.2 else "right" if old > 0.8 else "center"
    curve.text(old, 0.1, L("旧策略", "old policy"), "boxed old", align=inwards)
    curve.dot(new, kept, "sel")
    curve.drag(x=("new", CHANCES))
    return scene(
        side(records(L, old, new), curve, shares=(1.1, 1)),
        tiles=[
            tile(
                L("向左的一条", "a walk left"), number(left), L("算几条", "counts as")
            ),
            tile(
                L("向右的一条", "a walk right"),
                number(right),
                L("算几条", "counts as"),
            ),
            tile(
                L("有效样本量", "effective sample size"),
                f"{worth:.0f}" if worth >= 10 else f"{worth:.1f}",
                L("只看权重", "weights only"),
            ),
            tile(
                L("平均值的误差", "error of the mean"),
                f"{math.sqrt(spread / WALKS):.3f}",
                L("新采样：", "fresh: ") + f"{math.sqrt(new * (1 - new) / WALKS):.3f}",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("old", CHANCES, 0.1, ("旧策略向右", "old goes right"), "π_old"),
        Dial("new", CHANCES, 0.9, ("新策略向右", "new goes right"), "π"),
    ],
    title=(
        "新旧策略离得越远，同样多的旧记录就越不值钱",
        "The further apart the two policies, the less old records are worth",
    ),
    alt=(
        "左边三排格子：旧策略的一百次，一格一次；同样的一百次，宽度是各自的权重；"
        "有效的条数。右边一条曲线：有效样本的占比随新策略变化，在旧策略处等于 1。",
        "Left, three rows of cells: a hundred walks of the old policy; the same, each "
        "as wide as it counts; and the effective sample size. Right, a curve: the "
        "effective share over the new policy, equal to 1 at the old policy.",
    ),
    presets=[
        Preset(("正文的例子", "the example"), old=0.1, new=0.9),
        Preset(("一小步", "a small step"), old=0.1, new=0.15),
        Preset(("旧策略左右各半", "old walks both ways"), old=0.5, new=0.95),
        Preset(("几乎没走过的路", "a road hardly taken"), old=0.01, new=0.5),
    ],
    wide=True,
)
