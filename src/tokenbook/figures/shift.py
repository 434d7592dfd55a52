"""The shift by one (错开一位): the token that a logit predicts, and two mistakes."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Preset,
    caption,
    chip,
    legend,
    number,
    row,
    scene,
    tile,
)
from tokencredit import task, token_log_probs
from tokencredit.world.starts import warm_start
from tokencredit.world.text import encode

PROMPT, RESPONSE = "9□5□7=11?", "9-5+7=11✓$"
TEXT = PROMPT + RESPONSE + "0"  # one column of padding
END = len(PROMPT + RESPONSE)
PAIRINGS = ("right", "same", "late")


@cache
def scored(pairing):
    """The token that each column scores, its log-probability, and the mask.

    Args:
        pairing: "right"; "same", logits against the token that was just read; "late",
            the mask of the inputs used for the targets.

    Returns:
        three lists of one entry per column: the index of the token scored (-1: none),
        its log-probability, whether it is counted.
    """
    ids = torch.tensor(encode(TEXT, task("signs").vocabulary))
    with torch.no_grad():
        logits = warm_start("signs", seed=0)(ids[None])[0][0].double()
    mask = [len(PROMPT) <= j < END for j in range(len(TEXT))]
    if pairing == "same":
        return [*range(len(TEXT))], token_log_probs(logits, ids).tolist(), mask
    shifted = [0.0, *token_log_probs(logits[:-1], ids[1:]).tolist()]
    if pairing == "late":
        mask = [False, *mask[:-1]]
    return [-1, *range(1, len(TEXT))], shifted, mask


def draw(L, pairing):
    pairing = PAIRINGS[int(pairing)]
    tokens, log_p, counted = scored(pairing)
    words = [*TEXT[:END], "∅"]
    who = ["prompt" if j < len(PROMPT) else "model" for j in range(len(TEXT))]
    read = [
        chip(word, trained=False, look="plain", who=side)
        for word, side in zip(words, who, strict=True)
    ]
    ahead = [chip(word, trained=False, look="plain") for word in [*words[1:], "…"]]
    same = [
        chip(
            "" if token < 0 else words[token],
            credit=(1.0 if x > -3 else -1.0) * live,
            trained=live,
            look="" if live else "plain",
        )
        for token, x, live in zip(tokens, log_p, counted, strict=True)
    ]
    total = sum(x for x, live in zip(log_p, counted, strict=True) if live)
    rare = any(x <= -3 for x, live in zip(log_p, counted, strict=True) if live)
    missing = len(PROMPT) if pairing == "late" else None
    says = {
        "right": L(
            "每列的对数概率说的都是这一列的词元，计入的正好是整条回答。",
            "Every column speaks of its own token, and exactly the response counts.",
        ),
        "same": L(
            "用读完这个词元之后的 logits 给它自己打分：问的是“再写一遍它”的概率。",
            "The logits after a token score that same token: the chance to repeat it.",
        ),
        "late": L(
            "掩码晚了一列：漏掉回答的第一个词元，却把末尾的填充算了进去。",
            "The mask is one column late: the first token is lost, padding is counted.",
        ),
    }
    return scene(
        row(
            L("读入", "read"),
            read,
            sub=L("提示，回答，填充", "prompt, response, padding"),
            look="heads",
        ),
        row(
            L("logits 预测", "logits predict"),
            ahead,
            sub=L("总是下一个词元", "always the next token"),
            look="heads",
        ),
        row(
            L("计入损失", "counted"),
            same,
            number(total),
            sub=L("这一列给哪个词元打分", "the token scored here"),
            end_sub=L("对数概率", "log-prob"),
            look="heads",
        ),
        caption(says[pairing]),
        legend(
            ("up chip", L("计入，概率不低", "counted, likely")),
            ("", L("∅ 填充", "∅ padding")),
            ("down chip", L("计入，概率极低", "counted, very unlikely"), rare),
        ),
        tiles=[
            tile(L("计入的词元", "tokens counted"), str(sum(counted)), ""),
            tile(
                L("漏掉的词元", "token lost"),
                L("无", "none") if missing is None else words[missing],
                "",
                look="" if missing is None else "down",
            ),
            tile(
                L("算出的概率", "probability found"),
                number(torch.tensor(total).exp().item(), 3),
                "",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "pairing",
            [0, 1, 2],
            0,
            ("怎样对齐", "how it is aligned"),
            kind="hidden",
        )
    ],
    title=(
        "读完第 j 个词元得到的 logits，预测的是第 j + 1 个",
        "The logits after token j predict token j\u00a0+\u00a01",
    ),
    alt=(
        "三行格子：读入的词元，每列的 logits 预测的词元，计入损失的词元。",
        "Three rows of cells: the tokens read, the token that each column's logits "
        "predict, and the tokens that count in the loss.",
    ),
    presets=[
        Preset(("正确", "right"), pairing=0),
        Preset(("没有错开", "no shift"), pairing=1),
        Preset(("掩码错一列", "mask of the inputs"), pairing=2),
    ],
    wide=True,
)
