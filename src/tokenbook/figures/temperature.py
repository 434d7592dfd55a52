"""Sampling temperature and top-p (采样温度): samples, entropy, first ratio."""

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
    side,
    stack,
    tile,
)
from tokencredit import entropy, task, token_log_probs
from tokencredit.world.starts import warm_start
from tokencredit.world.text import encode

PREFIXES = ("9□5□7=11?9", "9□5□7=11?9+5-7=7", "9□5□7=11?9+5-7=7✗")
PLACES = (
    ("填符号", "the sign"),
    ("打标记", "the mark"),
    ("再试还是放弃", "go on or stop"),
)
TAUS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
TAUS += [1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0]
NUCLEI = [0.6, 0.9, 1.0]
SHOWN = 4  # bars


@cache
def logits(place):
    """Logits of the stored warm start after one of the prefixes."""
    ids = torch.tensor([encode(PREFIXES[place], task("signs").vocabulary)])
    with torch.no_grad():
        return warm_start("signs", seed=0)(ids)[0][0, -1].double()


def sampler(place, tau, top_p):
    """Probabilities that tokens are drawn with (采样分布).

    The logits are divided by the temperature; then the most likely tokens are kept, as
    few as reach `top_p` together, and the rest gets probability 0.

    Args:
        place: which prefix.
        tau: temperature, > 0.
        top_p: mass to keep, in (0, 1]; 1 keeps every token.

    Returns:
        one probability per token, and the mass that was kept.
    """
    z = logits(place)
    every = torch.arange(len(z))
    p = token_log_probs(z.expand(len(z), -1), every, temperature=tau).exp()
    high = p.sort(descending=True, stable=True)
    before = high.values.cumsum(0) - high.values
    live = torch.zeros(len(p), dtype=torch.bool)
    live[high.indices] = (before < top_p) | (top_p == 1)
    kept = p.where(live, 0.0)
    return kept / kept.sum(), kept.sum().item()


def nats(p):
    """Entropy (熵) of a distribution with possible zeros."""
    return entropy(p.log()).item()


@cache
def curve(place, top_p):
    """The entropy at each temperature of the dial."""
    return [(tau, nats(sampler(place, tau, top_p)[0])) for tau in TAUS]


def draw(L, place, tau, top_p):
    place = int(place)
    words = task("signs").vocabulary
    plain, _ = sampler(place, 1.0, 1.0)
    p, mass = sampler(place, tau, top_p)
    order = plain.argsort(descending=True, stable=True)[:SHOWN].tolist()
    chart = Plot(
        x=(-0.6, SHOWN - 0.4),
        y=(0, 1.15),
        x_name=L("下一个词元", "next token"),
        y_name=L("概率", "probability"),
        x_ticks={k: words[token] for k, token in enumerate(order)},
        y_ticks=[0, 0.5, 1],
        height=200,
    )
    for k, token in enumerate(order):
        now, before = p[token].item(), plain[token].item()
        chart.area(k - 0.34, k + 0.34, 0, now, "ink")
        chart.line([(k - 0.44, before), (k + 0.44, before)], "sel")
        chart.text(k, max(now, before) + 0.08, number(now, 3), "strong")
    over = Plot(
        x=(0, 3),
        y=(0, 2.2),
        x_name=L("温度 τ", "temperature τ"),
        y_name=L("熵（nat）", "entropy (nats)"),
        x_ticks=[0, 1, 2, 3],
        y_ticks=[0, 1, 2],
        height=200,
    )
    over.rule(x=1, look="dashed")
    over.line(curve(place, top_p))
    over.dot(tau, nats(p), "sel")
    over.drag(x=("tau", TAUS))
    first = order[0]
    ratio = (plain[first] / p[first]).item()
    return scene(
        side(
            stack(
                chart,
                legend(
                    ("ink", L("采样用的概率", "as it is sampled")),
                    ("sel line", L("温度 1 的策略", "the policy at temperature 1")),
                ),
            ),
            over,
            shares=(1.2, 1),
        ),
        tiles=[
            tile(L("熵", "entropy"), number(nats(p)), L("nat", "nats")),
            tile(
                L("还能抽到", "can be drawn"),
                str(int((p > 0).sum())),
                L(f"共 {len(words)} 个词元", f"of {len(words)} tokens"),
            ),
            tile(L("留下的概率", "mass kept"), number(mass, 3), ""),
            tile(
                L("第一步的比率", "first ratio"),
                number(ratio, 3),
                L("若按 τ = 1 训练", "if trained at τ = 1"),
                look="" if abs(ratio - 1) < 5e-4 else "down",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "place",
            [0, 1, 2],
            2,
            ("在哪里选", "where it chooses"),
            kind="choice",
            options=PLACES,
        ),
        Dial("tau", TAUS, 1.0, ("采样温度", "temperature"), "τ", fine=False),
        Dial("top_p", NUCLEI, 1.0, ("保留的概率", "mass to keep"), "top-p", fine=False),
    ],
    title=(
        "温度改变采样用的分布，却没有改变策略本身",
        "Temperature changes what is sampled, not the policy itself",
    ),
    alt=(
        "左边四根柱子是采样概率，横线是温度 1 时的概率；右边是熵随温度的变化。",
        "Left, four bars of sampling probabilities with a line at the probability of "
        "temperature 1; right, the entropy over the temperature.",
    ),
    presets=[
        Preset(("温度 1", "temperature 1"), place=2, tau=1.0, top_p=1.0),
        Preset(("0.3：更果断", "0.3: more decisive"), tau=0.3, top_p=1.0),
        Preset(("2：更随意", "2: more random"), tau=2.0, top_p=1.0),
        Preset(("top-p 0.6", "top-p 0.6"), tau=1.0, top_p=0.6),
    ],
    wide=True,
)
