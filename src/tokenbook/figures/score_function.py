"""The score function (得分函数): R grad log pi on each token of a real response."""

from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    chip,
    legend,
    number,
    scene,
    shade,
    strip,
    tile,
)
from tokenbook.languages.glossary import terms
from tokencredit import reinforce_loss, task, token_log_probs
from tokencredit.world.starts import warm_start
from tokencredit.world.text import encode

PROMPT = "9□5□7=11?"
RESPONSE = "9+5-7=7✗9+5+7=21✗9-5+7=11✓$"  # sampled from the stored warm start
REWARDS = [-1, 0, 1]
RATES = [0.5, 1.0, 2.0]
SHOWN = 2  # tokens beside the one that was written
START = 8  # ✗ is written: go on, or give up?
CERTAIN = 0.99  # a token above this was no choice
TALLEST = 1.15  # of the probability axis


@cache
def logits():
    """Logits of the warm start before each token of the response, ``[T, V]``."""
    vocabulary = task("signs").vocabulary
    ids = torch.tensor([encode(PROMPT + RESPONSE, vocabulary)])
    with torch.no_grad():
        said, _ = warm_start("signs").double()(ids)
    return said[0, len(PROMPT) - 1 : -1]


def token(t):
    """The id of the token written at place `t`."""
    return encode(RESPONSE, task("signs").vocabulary)[t]


@cache
def pushes(t, reward):
    """R grad log pi(a) on each logit (得分函数) of place `t`, a list.

    Args:
        t: place in the response.
        reward: of the whole response.
    """
    z = logits()[t].clone().requires_grad_()
    log_prob = token_log_probs(z[None], torch.tensor([token(t)]))
    paid = torch.full_like(log_prob, reward)
    reinforce_loss(log_prob, log_prob.detach() * 0, paid).sum().backward()
    return (-z.grad).tolist()


@cache
def before_and_after(t, reward, rate):
    """Probabilities at place `t`, now and after one step on its own logits."""
    z = logits()[t]
    moved = z + rate * torch.tensor(pushes(t, reward), dtype=z.dtype)
    return z.softmax(-1).tolist(), moved.softmax(-1).tolist()


def draw(L, reward, t, eta):
    vocabulary = task("signs").vocabulary
    taken = token(t)
    now, then = before_and_after(t, reward, eta)
    chips, choices = [], 0
    for k, word in enumerate(RESPONSE):
        p = before_and_after(k, reward, eta)[0][token(k)]
        choices += p < CERTAIN
        chips.append(
            chip(
                word,
                credit=shade(reward),
                push=pushes(k, reward)[token(k)],
                dead=not reward,
                caption=number(p),
                look="sel" if k == t else "",
            )
        )
    others = sorted((v for v in range(len(now)) if v != taken), key=lambda v: -now[v])
    columns = [taken, *others[:SHOWN]]
    rest = [sum(p) - sum(p[v] for v in columns) for p in (now, then)]
    bars = [(vocabulary[v], now[v], then[v]) for v in columns]
    bars.append((L("其余", "rest"), max(rest[0], 0.0), max(rest[1], 0.0)))
    plot = Plot(
        x=(0, len(bars)),
        y=(0, TALLEST),
        x_name=L("在这一处可以写的词元", "tokens it could have written here"),
        y_name=L("概率", "probability"),
        x_ticks={k + 0.5: word for k, (word, *_) in enumerate(bars)},
        y_ticks=[0, 0.5, 1],
        height=112,
    )
    for k, (_, old, new) in enumerate(bars):
        plot.area(k + 0.22, k + 0.5, 0, old, "old")
        look = "off" if not reward else "up" if new >= old else "down"
        plot.area(k + 0.5, k + 0.78, 0, new, look)
        words, changed = number(old), number(new)
        if changed != words:
            words = f"{words} → {changed}"
        plot.text(k + 0.5, max(old, new) + 0.1, words, "quiet")
    push = pushes(t, reward)[taken]
    p = now[taken]
    return scene(
        caption(
            L(
                f"{PROMPT} 的一条真实回答；下面是写它时的概率，柱子是 logit 的变化",
                f"A response to {PROMPT} Number: probability; bar: step of its logit",
            )
        ),
        strip(*chips, tries=True),
        plot,
        legend(
            ("old", L("现在", "now")),
            ("up", L("一步之后：升", "after a step: up"), reward != 0),
            ("down", L("降", "down"), reward != 0),
            ("off", L("没有梯度", "no gradient"), reward == 0),
        ),
        tiles=[
            tile(
                L("写下的词元", "token written"),
                RESPONSE[t],
                L(
                    f"位置 {t}，共 {len(RESPONSE)} 个",
                    f"position {t} of {len(RESPONSE)}",
                ),
            ),
            tile(
                L("它的 logit 变化 R(1 − π)", "its logit moves R(1 − π)"),
                number(push, sign=True),
                f"π = {number(p)}",
                look="off" if not reward else "up" if reward > 0 else "down",
            ),
            tile(
                L("π 低于 0.99 的词元", "tokens with π below 0.99"),
                f"{choices}/{len(RESPONSE)}",
                L("真正的选择", "real choices"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "reward",
            REWARDS,
            1,
            ("整条回答的奖励", "reward of the response"),
            "R",
            kind="choice",
            options=[("−1", "−1"), ("0", "0"), ("1", "1")],
        ),
        Dial("t", range(len(RESPONSE)), START, ("第几个词元", "which token"), "t"),
        Dial("eta", RATES, 1.0, terms("learning_rate"), "η", fine=False),
    ],
    title=(
        "只有真正做过选择的地方，才有变动的余地",
        "Only where the policy had a real choice is there much to move",
    ),
    alt=(
        "一条回答的词元排成一行，下面是写它时的概率，柱子是梯度给 logit 的变化。"
        "再下面是选中的位置上各词元的概率，更新前和更新后。",
        "The tokens of a response, each with its probability and its move. "
        "Below, the probabilities at the chosen place, before and after a step.",
    ),
    presets=[
        Preset(("继续还是放弃", "go on or give up"), reward=1, t=8),
        Preset(("加还是减", "plus or minus"), reward=1, t=1),
        Preset(("照抄的数字", "a copied digit"), reward=1, t=4),
        Preset(("判 0 分", "a reward of 0"), reward=0),
        Preset(("判 −1 分", "a reward of −1"), reward=-1),
    ],
    wide=True,
)
