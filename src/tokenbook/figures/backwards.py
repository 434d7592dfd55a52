"""Bootstrapping (自举): values of the small world fill backwards, fit by fit."""

from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Plot, Preset, legend, number, scene, tile
from tokenbook.figures.gae import LENGTH, exact_values, world
from tokencredit import gae

LAMS = [0.0, 0.5, 0.95, 1.0]
FITS = [*range(LENGTH + 1)]
GOOD = 0.6  # of `world`


@cache
def fitted(lam, fits):
    """Values of all states after some fits (拟合几次), from a critic of value 0.

    A fit takes labels A + V from the frozen values, and then their mean in every state.

    Args:
        lam: of GAE.
        fits: how many.

    Returns:
        as `exact_values`, a value per state.
    """
    if not fits:
        return torch.zeros_like(exact_values(GOOD, 1.0))
    _, prob, rewards, state = world()
    old = fitted(lam, fits - 1)
    labels = gae(rewards, old[state], lam=lam) + old[state]
    total, chance = torch.zeros_like(old), torch.zeros_like(old)
    every = prob[:, None].expand_as(labels)
    total.index_add_(0, state.flatten(), (every * labels).flatten())
    chance.index_add_(0, state.flatten(), every.flatten())
    return total / chance.clamp(min=1e-12)


@cache
def errors(lam, fits):
    """Mean distance from the true value at each place (各位置的误差), and overall."""
    _, prob, _, state = world()
    off = (fitted(lam, fits) - exact_values(GOOD, 1.0)).abs()[state]
    each = prob @ off
    return each.tolist(), each.mean().item(), off.max().item()


def draw(L, lam, fits):
    fits = round(fits)
    truth, now = exact_values(GOOD, 1.0).tolist(), fitted(lam, fits).tolist()
    each, overall, most = errors(lam, fits)
    plot = Plot(
        x=(-0.5, LENGTH - 0.5),
        y=(-0.06, 1.12),
        x_name=L("写了几个词元", "tokens written"),
        y_name=L("价值", "value"),
        x_ticks=[*range(LENGTH)],
        y_ticks=[0, 0.5, 1],
        height=230,
    )
    exact = 0
    for t in range(LENGTH):
        done = each[t] < 5e-4
        exact += done
        plot.area(t - 0.47, t + 0.47, -0.06, 1.12, "up pale", show=done)
        for k in range(t + 1):
            x = t + 0.13 * (k - t / 2)
            state = t * (LENGTH + 1) + k
            plot.line([(x, now[state]), (x, truth[state])], "down thin")
            plot.dot(x, truth[state], "off")
            plot.dot(x, now[state], "ink small")
    return scene(
        plot,
        legend(
            ("ink dot", L("价值网络现在说的", "what the critic says")),
            ("down line", L("误差", "the error"), exact < LENGTH),
            ("old hollow dot", L("真值", "the truth")),
            ("up pale", L("整列都对了", "the whole column is right"), exact > 0),
        ),
        tiles=[
            tile(L("拟合了几次", "fits so far"), f"{fits}"),
            tile(L("对了的列", "columns that are right"), f"{exact}/{LENGTH}"),
            tile(L("平均误差", "mean error"), number(overall, 3)),
            tile(L("最大误差", "largest error"), number(most, 3)),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("fits", FITS, 3, ("拟合几次", "fits"), kind="time", pace=800),
        Dial(
            "lam", LAMS, 0.0, ("标签看多远", "how far labels look"), "λ", kind="choice"
        ),
    ],
    title=(
        "真实的奖励从末尾往回传：每拟合一次，至少多对一列",
        "The reward travels back from the end; each fit puts a column right, or more",
    ),
    alt=(
        "横轴是写了几个词元，每列是这时的各个状态：空心点是真值，黑点是 critic 说的，"
        "中间的线是误差。全对的列有底色。",
        "Tokens written across; in each column the states at that time, hollow dots "
        "for the truth and black ones for the critic, a line for the error. A column "
        "that is right throughout is shaded.",
    ),
    presets=[
        Preset(("λ = 0，三次", "λ = 0, three fits"), lam=0.0, fits=3),
        Preset(("λ = 0，七次", "λ = 0, seven fits"), lam=0.0, fits=7),
        Preset(("λ = 0.95，三次", "λ = 0.95, three fits"), lam=0.95, fits=3),
        Preset(("λ = 1，一次", "λ = 1, one fit"), lam=1.0, fits=1),
    ],
)
