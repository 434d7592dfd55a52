"""Two responses, three rules (两条回答，三种规则): the weight of one token in each."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Preset,
    chip,
    legend,
    number,
    row,
    scene,
    tile,
)
from tokencredit import aggregate_loss

PROMPT = "9□5□7=11?"
SHORT = "9-5+7=11✓$"
LONG = {  # by verdict, then by the number of tries
    1: {1: SHORT, 2: "9+5+7=21✗9-5+7=11✓$", 3: "9+5+7=21✗9+5-7=7✗9-5+7=11✓$"},
    0: {
        1: "9+5+7=21✗$",
        2: "9+5+7=21✗9+5-7=7✗$",
        3: "9+5+7=21✗9+5-7=7✗9-5-7=-3✗$",
    },
}
LIMIT = 40  # C: the longest response that the task allows
RULES = {
    "GRPO": "seq-mean-token-mean",
    "DAPO": "token-mean",
    "Dr. GRPO": "seq-mean-token-sum-norm",
}
COLUMNS = max(len(words) for told in LONG.values() for words in told.values())


@cache
def weights(lengths, rule):
    """Weight of a token (词元的权重) of each response of a batch.

    Args:
        lengths: tokens of the responses, a tuple.
        rule: the name of an aggregation.

    Returns:
        for each the derivative of the loss with respect to the loss of one token.
    """
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    loss = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    constant = LIMIT if rule.endswith("norm") else None
    aggregate_loss(loss, mask, rule, max_length=constant).backward()
    return loss.grad[:, 0].tolist()


HEAVIEST = weights((len(SHORT), len(SHORT)), RULES["GRPO"])[0]


def draw(L, rule, tries, verdict):
    responses = SHORT, LONG[verdict][tries]
    lengths = tuple(map(len, responses))
    each = weights(lengths, list(RULES.values())[rule])
    whole = sum(w * n for w, n in zip(each, lengths, strict=True))
    drawn, shares = [], []
    for name, words, weight, right in zip(
        "AB", responses, each, (1, verdict), strict=True
    ):
        sign = 1 if right else -1
        size = sign * min(1.0, weight / HEAVIEST)
        chips = [chip(word, credit=sign * 0.5, push=size) for word in words]
        empty = chip("\u00a0", trained=False, look="plain")
        chips += [empty] * (COLUMNS - len(words))
        shares.append(weight * len(words) / whole)
        what = L("答对", "correct") if right else L("答错", "incorrect")
        sub = L(f"{len(words)} 个词元，{what}", f"{len(words)} tokens, {what}")
        end = number(100 * shares[-1], 0) + "%"
        one = L("的权重", "of weight")
        look = "tall long" + " short" * (name == "A")  # two lines or one on a phone
        drawn.append(row(name, chips, end, sub=sub, end_sub=one, look=look))
    return scene(
        *drawn,
        legend(
            ("up chip", L("优势为正", "advantage > 0")),
            ("old bar", L("柱：词元的权重，两行同一刻度", "bar: weight, one scale")),
            ("down chip", L("优势为负", "advantage < 0"), not verdict),
        ),
        tiles=[
            tile(L("A 的一个词元", "a token of A"), f"1/{round(1 / each[0])}"),
            tile(L("B 的一个词元", "a token of B"), f"1/{round(1 / each[1])}"),
            tile(L("A ÷ B", "A ÷ B"), number(each[0] / each[1], 1) + "×"),
            tile(
                L("B 占词元", "B, of the tokens"),
                number(100 * lengths[1] / sum(lengths), 0) + "%",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "rule",
            [0, 1, 2],
            0,
            ("规则", "rule"),
            kind="choice",
            options=[(name, name) for name in RULES],
        ),
        Dial("tries", [1, 2, 3], 3, ("B 试了几次", "tries of B")),
        Dial(
            "verdict",
            [1, 0],
            1,
            ("B 的判分", "verdict on B"),
            kind="choice",
            options=[("对", "correct"), ("错", "incorrect")],
        ),
    ],
    title=(
        "除以什么，决定了一个词元有多重",
        "What you divide by decides how much one token weighs",
    ),
    alt=(
        "同一个提示的两条回答，各排成一行词元，A 短，B 长。每个词元的柱子是它的权重，"
        "答对的向上，答错的向下。",
        "Two responses to one prompt, a row of tokens each, A short and B long. The "
        "bar of a token is its weight, upwards in a correct response and downwards in "
        "an incorrect one.",
    ),
    presets=[
        Preset(
            ("GRPO：每条回答等份", "GRPO: equal responses"), rule=0, tries=3, verdict=1
        ),
        Preset(
            ("DAPO：每个词元等重", "DAPO: equal tokens"), rule=1, tries=3, verdict=1
        ),
        Preset(
            ("Dr. GRPO：除以常数", "Dr. GRPO: a constant"), rule=2, tries=3, verdict=1
        ),
        Preset(("长的答错了", "the long one incorrect"), rule=0, tries=3, verdict=0),
        Preset(("一样长", "equal lengths"), rule=0, tries=1, verdict=1),
    ],
    wide=True,
)
