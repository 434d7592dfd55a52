"""A short and a long response under three rules (三种规则): what one token weighs."""

import torch

from tokenbook.explorer import Figure, caption, chip, legend, number, row, scene
from tokenbook.figures.token_weights import RULES, weights
from tokencredit import group_relative

SHORT, LONG = "9-5+7=11✓$", "9+5+7=21✗9-5-7=-1✗9+5-7=7✗9-5+7=11✓$"
HEAD, TAIL = 5, 4  # tokens of the long one that are drawn
LENGTHS = (10, 36, 10, 19, 10, 9, 10, 10)  # of eight responses to one prompt
REWARDS = (1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)


def short_long(name):
    """Weights of a token of the short and of the long response (一短一长的权重)."""
    return weights(LENGTHS, RULES[name])[:2]


def advantage():
    """The advantage of both (优势), which are correct: GRPO's."""
    groups = torch.zeros(len(REWARDS), dtype=torch.long)
    return group_relative(torch.tensor(REWARDS), groups)[0].item()


def draw(L):
    most = max(w for name in RULES for w in short_long(name))
    rows = []
    for name in RULES:
        short, long = short_long(name)
        gap = chip("\u00a0", trained=False, look="plain")
        chips = [chip(word, credit=0.5, push=short / most) for word in SHORT]
        ends = [
            chip(word, credit=0.5, push=long / most)
            for word in LONG[:HEAD] + LONG[-TAIL:]
        ]
        cut = chip("…", trained=False, look="plain")
        chips += [gap, *ends[:HEAD], cut, *ends[HEAD:]]
        each = L(
            f"短 1/{round(1 / short)}，长 1/{round(1 / long)}",
            f"short 1/{round(1 / short)}, long 1/{round(1 / long)}",
        )
        ratio = f"{number(short / long, 1).removesuffix('.0')} : 1"
        rows.append(
            row(
                name,
                chips,
                ratio,
                sub=each,
                end_sub=L("短 : 长", "short : long"),
                look="up tall",
            )
        )
    gained = number(advantage(), sign=True)
    rest = len(LONG) - HEAD - TAIL
    return scene(
        caption(
            L(
                f"左边是 10 个词元的回答，右边是 36 个词元的，中间 {rest} 个没有画",
                f"Left, the response of 10 tokens; right, that of 36, without {rest}",
            )
        ),
        *rows,
        legend(
            ("up chip", L(f"优势都是 {gained}", f"advantages, all {gained}")),
            (
                "up bar",
                L(
                    "柱：权重乘优势，三行同一刻度",
                    "bar: weight times advantage, one scale",
                ),
            ),
        ),
    )


FIGURE = Figure(
    draw,
    dials=[],
    title=(
        "按 GRPO，短回答的词元重 3.6 倍；另两种规则下一样重",
        "Under GRPO a token of the short response weighs 3.6 times as much",
    ),
    alt=(
        "三行词元，一种规则一行，每行先是 10 个词元的回答，再是 36 个词元的回答的头尾。"
        "GRPO 的短回答柱子高，长回答的矮；DAPO 的处处一样高；Dr. GRPO 的处处一样矮。",
        "Three rows of tokens, one per rule: the response of 10 tokens, then the ends "
        "of the one of 36. Under GRPO the bars of the short one are tall and those of "
        "the long one low; under DAPO all are equal; under Dr. GRPO all are equal and "
        "low.",
    ),
    wide=True,
)
