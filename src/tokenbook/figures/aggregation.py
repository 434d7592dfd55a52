"""Six aggregation rules (聚合规则): weight of a token, share of a response."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    card,
    h,
    line,
    number,
    scene,
    stack,
    tile,
)
from tokencredit import aggregate_loss
from tokencredit.weight.aggregate import AGGREGATIONS

SHORT = [1, 2, 4, 8]
LONG = [8, 16, 32, 88, 128, 256, 512]
OTHERS = [1, 3, 7, 15]
LIMIT = 512  # C of "seq-mean-token-sum-norm"
RULES = {  # the weight of a token, and whose rule it is
    "seq-mean-token-mean": ("1/(S·nᵢ)", "GRPO"),
    "token-mean": ("1/N", "DAPO"),
    "seq-mean-token-sum-norm": ("1/(S·C)", "Dr. GRPO"),
    "seq-mean-token-sum": ("1/S", ""),
    "seq-sum-token-mean": ("1/nᵢ", ""),
    "token-sum": ("1", ""),
}
EQUAL_RESPONSES = ["seq-mean-token-mean", "seq-sum-token-mean"]  # the others: tokens


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


def shape(L, short, long, others, rule, chosen):
    """All tokens of the batch in one bar: a cell is as wide as its token weighs."""
    part = share(short, long, others, rule)
    plot = Plot(x=(0, 1), y=(0, 1.6), axes=False, height=92)
    plot.area(0, 1 - part, 0.1, 1, "ink", cells=others * short)
    plot.area(1 - part, 1, 0.1, 1, "old", cells=long)
    plot.area(0, 1, 0, 0.06, "sel", show=chosen)
    one = (
        L("一条短的", "one short")
        if others == 1
        else L(f"{others} 条短的", f"{others} short")
    )
    words = f"{one} {number(100 * (1 - part), 1)}%"
    plot.text(0, 1.3, words, "strong", align="left")
    words = L("长的", "long") + f" {number(100 * part, 1)}%"
    plot.text(1, 1.3, words, "strong old", align="right")
    return plot


def draw(L, rule, short, long, others):
    names = [*RULES]
    chosen = names[round(rule)]
    one, other = token_weights(short, long, others, chosen)
    weight = RULES[chosen][0]
    total, equal = others * short + long, EQUAL_RESPONSES
    alike = [name for name in names if name not in equal]
    drawn = []
    tokens = L("词元等重：格子一样宽", "equal tokens: all cells alike")
    responses = L("回答等份：每条一样宽", "equal responses: all shares alike")
    for title, group in ((tokens, alike), (responses, equal)):
        cards = [
            card(
                h("b", name),
                *filter(None, [RULES[name][1]]),
                pick=("rule", names.index(name)),
                pressed=name == chosen,
            )
            for name in group
        ]
        bar = shape(L, short, long, others, group[0], chosen in group)
        drawn.append(stack(caption(title), bar, line(*cards)))
    part = share(short, long, others, chosen)
    return scene(
        *drawn,
        caption(
            L(
                f"一个词元重 {weight}：短的 {fraction(one)}，长的 {fraction(other)}",
                f"a token weighs {weight}: {fraction(one)} if short, "
                f"{fraction(other)} if long",
            )
        ),
        tiles=[
            tile(
                L("权重：短 ÷ 长", "short ÷ long"),
                number(one / other, 0) + "×",
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
        "六种规则，两种形状：要么词元等重，要么回答等份",
        "Six rules have two shapes: equal tokens or equal responses",
    ),
    alt=(
        "两条横条，一格一个词元，宽度是它的权重，黑的属于短回答，灰的属于长回答。"
        "一条是词元等重，一条是回答等份；六种规则各归其一，点一个看它的数。",
        "Two bars with a cell per token, as wide as it weighs, black for the short "
        "responses and grey for the long one: one for equal tokens, one for equal "
        "responses. Six rules belong to one or the other; click one for its numbers.",
    ),
    presets=[
        Preset(
            ("2 对 88，GRPO", "2 against 88, GRPO"), rule=0, short=2, long=88, others=1
        ),
        Preset(
            ("2 对 88，DAPO", "2 against 88, DAPO"),
            rule=1,
            short=2,
            long=88,
            others=1,
        ),
        Preset(("一样长", "equal lengths"), rule=0, short=8, long=8, others=1),
        Preset(
            ("15 条短，1 条 512", "15 short, one of 512"),
            rule=1,
            short=2,
            long=512,
            others=15,
        ),
    ],
    wide=True,
)
