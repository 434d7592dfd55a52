"""A response as decisions (一条回答就是一串决策): the next token's probabilities."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    chip,
    number,
    scene,
    stack,
    strip,
    tile,
)
from tokencredit import entropy, task, token_log_probs
from tokencredit.world.starts import warm_start
from tokencredit.world.text import encode

PROMPT = "9□5□7=11?"
RESPONSE = "9+5+7=21✗9-5+7=11✓$"  # the first of the eight of chapter 0
SHOWN = 5  # bars
CLEAR = 0.05  # nats; below it the token is no decision


@cache
def distributions():
    """Distributions of the stored warm start before each token (概率分布).

    Returns:
        probabilities, one row per token of the response; the log-probability of the
        token taken; the entropy in nats.
    """
    words = task("signs").vocabulary
    ids = torch.tensor(encode(PROMPT + RESPONSE, words))
    with torch.no_grad():
        logits, _ = warm_start("signs", seed=0)(ids[None, :-1])
    logits = logits[0, len(PROMPT) - 1 :].double()
    taken = token_log_probs(logits, ids[len(PROMPT) :])
    return logits.softmax(-1), taken, entropy(logits)


def percent(p):
    """A probability for a reader."""
    return number(100 * p, 1 if p > 0.0005 else 2) + "%"


def draw(L, t):
    words = task("signs").vocabulary
    p, taken, nats = distributions()
    chips = [chip(word, trained=False, who="prompt") for word in PROMPT]
    for k, word in enumerate(RESPONSE):
        known = k <= t
        look = "sel" if k == t else "plain"
        chips.append(chip(word if known else "·", trained=False, look=look))
    order = p[t].argsort(descending=True, stable=True)[:SHOWN].tolist()
    plot = Plot(
        x=(-0.6, SHOWN - 0.4),
        y=(0, 1.12),
        x_name=L("下一个词元", "next token"),
        y_name=L("概率", "probability"),
        x_ticks={k: words[token] for k, token in enumerate(order)},
        y_ticks=[0, 0.5, 1],
        height=190,
    )
    for k, token in enumerate(order):
        chance = p[t, token].item()
        chosen = words[token] == RESPONSE[t]
        plot.area(k - 0.36, k + 0.36, 0, chance, "sel" if chosen else "old")
        plot.text(k, chance + 0.07, percent(chance), "strong" if chosen else "quiet")
    open_ = nats[t].item() > CLEAR
    return scene(
        stack(strip(*chips, ways=""), plot),
        tiles=[
            tile(
                L("写下的词元", "token written"),
                RESPONSE[t],
                L("概率 ", "p = ") + percent(taken[t].exp().item()),
            ),
            tile(
                L("熵", "entropy"),
                number(nats[t].item()),
                L("真要选", "a real choice")
                if open_
                else L("几乎不用选", "hardly a choice"),
                look="" if open_ else "off",
            ),
            tile(
                L("到此为止的概率", "probability so far"),
                percent(taken[: t + 1].sum().exp().item()),
                L("对数 ", "log ") + number(taken[: t + 1].sum().item()),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "t",
            range(len(RESPONSE)),
            1,
            ("第几个词元", "which token"),
            "t",
            kind="time",
            pace=400,
        )
    ],
    title=(
        "写一条回答，就是一个接一个地选下一个词元",
        "Writing a response means choosing one next token after another",
    ),
    alt=(
        "上面是提示和已写出的词元，下面的柱子是下一个词元的概率，写下的那个标成琥珀色。",
        "Above, the prompt and the tokens written so far; below, bars for the "
        "probabilities of the next token, the one written in amber.",
    ),
    presets=[
        Preset(("填哪个符号", "which sign"), t=1),
        Preset(("抄一个数字", "copy a digit"), t=2),
        Preset(("打勾还是打叉", "mark it ✓ or ✗"), t=8),
        Preset(("再试还是放弃", "try again or give up"), t=9),
        Preset(("停笔", "stop"), t=18),
    ],
    wide=True,
)
