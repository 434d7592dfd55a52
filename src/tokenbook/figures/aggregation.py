"""Six aggregation rules (聚合规则): weight of a token, share of a response."""

from functools import cache
from itertools import pairwise

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    bars,
    caption,
    number,
    option,
    scene,
    side,
    stack,
    tile,
)
from tokencredit import aggregate_loss
from tokencredit.weight.aggregate import AGGREGATIONS

SHORT = [1, 2, 4, 8]
LONG = [8, 16, 32, 88, 128, 256, 512]
OTHERS = [1, 3, 7, 15]
LIMIT = 512  # C of "seq-mean-token-sum-norm"
RULES = {
    "seq-mean-token-mean": "1/(S·nᵢ) · GRPO",
    "token-mean": "1/N · DAPO",
    "seq-mean-token-sum-norm": "1/(S·C) · Dr. GRPO",
    "seq-mean-token-sum": "1/S · REINFORCE",
    "seq-sum-token-mean": "1/nᵢ",
    "token-sum": "1",
}


@cache
def token_weights(short, long, others, rule):
    """Weight of a token (词元的权重) of a short and of the long response.

    The derivative of the aggregated loss with respect to the loss of one token.

    Args:
        short: tokens in each of the short responses.
        long: tokens in the long response.
        others: how many short responses there are besides the long one.
        rule: the name of an aggregation.

    Returns:
        two numbers: a token of a short response, a token of the long one.
    """
    lengths = torch.tensor([short] * others + [long])
    mask = torch.arange(max(short, long)) < lengths[:, None]
    loss = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    constant = LIMIT if AGGREGATIONS[rule].per_row == "max_length" else None
    aggregate_loss(loss, mask, rule, max_length=constant).backward()
    return loss.grad[0, 0].item(), loss.grad[-1, 0].item()


def share(short, long, others, rule):
    """The part of all weight that the long response has (份额)."""
    one, other = token_weights(short, long, others, rule)
    return other * long / (other * long + one * short * others)


def fraction(weight):
    """A weight as a student writes it: 1/90."""
    return "1" if weight == 1 else f"1/{round(1 / weight)}"


def draw(L, rule, short, long, others):
    names = [*RULES]
    one, other = token_weights(short, long, others, names[rule])
    top, total = max(one, other), others * short + long
    plot = Plot(
        x=(0, total),
        y=(-0.1 * top, 1.25 * top),
        x_name=L(
            "一格一个词元，一段一条回答", "a cell is a token, a stretch a response"
        ),
        y_name=L("一个词元的权重；面积是份额", "weight of a token; area is the share"),
        height=180,
    )
    ends = [min(k, others) * short for k in range(max(OTHERS) + 1)]
    plot.area(0, ends[-1], 0, one, "ink", cells=ends[-1])
    plot.area(ends[-1], total, 0, other, "old", cells=long)
    for k, (left, right) in enumerate(pairwise(ends)):
        plot.area(left, right, -0.1 * top, -0.02 * top, "ink gap", show=k < others)
    plot.area(ends[-1], total, -0.1 * top, -0.02 * top, "old gap")
    words = L(f"短：每个 {fraction(one)}", f"short: {fraction(one)} each")
    plot.text(0.02 * total, one, words, "strong above", align="left")
    words = L(f"长：每个 {fraction(other)}", f"long: {fraction(other)} each")
    plot.text(total, other, words, "strong above old", align="right")
    rows = []
    for k, (name, formula) in enumerate(RULES.items()):
        part = share(short, long, others, name)
        parts = bars((1 - part, "ink"), (part, "old"))
        rows.append(
            option(
                name,
                parts,
                number(100 * part, 0) + "%",
                sub=formula,
                pick=("rule", k),
                pressed=k == rule,
            )
        )
    part = share(short, long, others, names[rule])
    times = one / other
    who = L("份额：短 | 长（%）", "share of the weight: short | long (%)")
    return scene(
        side(plot, stack(caption(who), *rows), shares=(1, 1.15)),
        tiles=[
            tile(
                L("权重：短 ÷ 长", "short ÷ long"),
                number(times, 0) + "×",
            ),
            tile(L("长：占权重", "long: of weight"), number(100 * part, 1) + "%"),
            tile(
                L("长：占词元", "long: of tokens"), number(100 * long / total, 1) + "%"
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("rule", range(6), 0, ("规则", "rule"), kind="hidden"),
        Dial("short", SHORT, 2, ("短回答的词元", "tokens, short"), "n₁"),
        Dial("long", LONG, 88, ("长回答的词元", "tokens, long"), "n₂"),
        Dial(
            "others",
            OTHERS,
            1,
            ("短回答的条数", "short responses"),
            "S − 1",
        ),
    ],
    title=(
        "六种规则，两种形状：要么词元等权，要么回答等份",
        "Six rules have two shapes: equal tokens or equal responses",
    ),
    alt=(
        "上图每格一个词元：宽是词元数，高是一个词元的权重，面积是份额，黑是短回答，"
        "灰是长回答。下面六行是六种规则，横条是短回答与长回答各占多少。",
        "Above one cell per token: width is tokens, height the weight of one, area the "
        "share; black the short responses, grey the long one. Below six rules, each "
        "with a bar of who gets how much.",
    ),
    presets=[
        Preset(("2 对 88", "2 against 88"), short=2, long=88, others=1),
        Preset(("一样长", "equal lengths"), short=8, long=8, others=1),
        Preset(
            ("15 条短，1 条 512", "15 short, one of 512"), short=2, long=512, others=15
        ),
    ],
    wide=True,
)
