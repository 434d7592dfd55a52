"""Token ratios (词元比率) and the sequence ratio (序列比率) under a clip."""

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
    short,
)
from tokenbook.languages.glossary import terms
from tokencredit import (
    cispo_loss,
    ppo_clip_loss,
    sequence_log_ratio,
    token_log_ratio,
)

RESPONSE = "9-5+7=11✓$"
QUIET = [0.06, -0.04, 0.02, -0.06, 0.05, 0.03, -0.03, 0.04, -0.02, 0.01]
COUNT = len(QUIET)
PLACES = [1, 3, 8, 5, 0, 6, 2, 4]  # places of the odd tokens: the two signs first
GAPS = [round(0.5 * i, 1) for i in range(-8, 4)]  # -4 ... 1.5 nats
RANGES = [3e-4, 0.03, 0.2]  # below 1; above it a third more, as in the paper
LARGEST = 5.0  # CISPO's bound on a token's weight


def token_gaps(gap, odd):
    """Log-ratios (对数比率) of ten tokens, `odd` of them replaced by `gap`.

    Args:
        gap: log-ratio of an odd token, in nats.
        odd: how many there are.

    Returns:
        a [1, 10] tensor.
    """
    gaps = torch.tensor([QUIET], dtype=torch.float64)
    gaps[0, PLACES[:odd]] = gap
    return gaps


def above(clip):
    """The range above 1: 4e-4 where 3e-4 is the one below."""
    return 4 * clip / 3


@cache
def weights(gap, odd, advantage, clip):
    """Factor on A grad log pi at each token (权重), under three losses.

    Args:
        gap, odd: as in `token_gaps`.
        advantage: 1 or -1, the same for all tokens.
        clip: range of the sequence ratio below 1; above 1 it is a third wider.

    Returns:
        three lists: GRPO (range 0.2), GSPO (times n), CISPO (at most 5).
    """
    gaps = token_gaps(gap, odd)
    old, every = torch.full_like(gaps, -6.0), torch.ones_like(gaps, dtype=torch.bool)
    rows = []
    for ratio, loss in (
        (token_log_ratio, ppo_clip_loss),
        (
            sequence_log_ratio,
            lambda *x: ppo_clip_loss(*x, clip_low=clip, clip_high=above(clip)),
        ),
        (token_log_ratio, cispo_loss),
    ):
        log_probs = (old + gaps).requires_grad_()
        A = torch.full_like(gaps, advantage)
        each = loss(log_probs, ratio(log_probs, old, every), A)
        (slope,) = torch.autograd.grad(each.sum(), log_probs)
        rows.append((-slope[0] / advantage).tolist())
    return rows


def draw(L, gap, odd, advantage, clip):
    gaps = token_gaps(gap, odd)
    ratios = gaps.exp()[0].tolist()
    looks = ["sel" if k in PLACES[:odd] else "" for k in range(COUNT)]
    look = "up" if advantage > 0 else "down"
    heads = [
        chip(word, trained=False, look=f"plain {mark}")
        for word, mark in zip(RESPONSE, looks, strict=True)
    ]
    bars = [
        chip(brief(ratio), push=x / 4.2, trained=False, look=f"plain {mark}")
        for ratio, x, mark in zip(ratios, gaps[0].tolist(), looks, strict=True)
    ]
    drawn = [
        row(L("回答", "response"), heads, look="heads"),
        row(
            L("比率 ρ", "ratio ρ"),
            bars,
            f"s = {number(gaps.mean().exp().item())}",
            sub=L("柱是 log ρ", "bar: log ρ"),
            end_sub=L("几何平均", "geom. mean"),
            look="tall",
        ),
    ]
    low, high = (written(x) for x in (1 - clip, 1 + above(clip)))
    does = {
        "GRPO": L("各看各的 ρ，范围 1 ± 0.2", "own ρ, within 1 ± 0.2"),
        "GSPO": L(
            f"一个 s，{low} 到 {high}",
            f"one s, {low} to {high}",
        ),
        "CISPO": L("各看各的 ρ，封顶 5", "own ρ, at most 5"),
    }
    found = weights(gap, odd, advantage, clip)
    for (name, sub), weight in zip(does.items(), found, strict=True):
        cells = [
            chip(
                brief(w) if w else "0",
                credit=0.5 * advantage if w else 0,
                push=advantage * w / LARGEST,
                dead=not w,
            )
            for w in weight
        ]
        live = sum(w != 0 for w in weight)
        drawn.append(
            row(
                name,
                cells,
                f"{live}/{COUNT}",
                sub=sub,
                end_sub=L("在学", "learning"),
                look=look,
            )
        )
    keys = legend(
        (f"{look} bar", L("推力：权重 × A", "push: weight × A")),
        ("", L("格子里的数：权重", "number: weight")),
        ("sel line", L("异常的词元", "odd token"), odd > 0),
        ("off", L("没有梯度", "no gradient"), not all(map(all, found))),
    )
    return scene(*drawn, keys)


def written(x):
    """A bound of s, with four digits if it is close to 1."""
    return f"{x:.2f}" if abs(x - 1) > 0.001 else f"{x:.4f}"


def brief(x):
    """A weight that fits a narrow cell: two digits."""
    text = short(x, 1 if x >= 0.095 else 2)
    return text if "." in text else f"{text}.0"


FIGURE = Figure(
    draw,
    dials=[
        Dial("odd", [0, 1, 2, 4, 8], 2, ("几个词元异常", "odd tokens")),
        Dial("gap", GAPS, 1.5, ("它们的 log ρ", "their log ρ")),
        Dial(
            "advantage",
            [1, -1],
            1,
            terms("advantage"),
            "A",
            kind="choice",
            options=[("A > 0 好", "A > 0 good"), ("A < 0 坏", "A < 0 bad")],
        ),
        Dial(
            "clip",
            RANGES,
            0.2,
            ("GSPO 的下侧", "GSPO, below"),
            "ε_low",
            kind="choice",
            options=[(words,) * 2 for words in ("3e-4", "0.03", "0.2")],
        ),
    ],
    title=(
        "走出界以后：GRPO 关掉这几个词元，GSPO 关掉整条回答，CISPO 一个也不关",
        "Out of range: GRPO stops tokens, GSPO the response, CISPO nothing",
    ),
    alt=(
        "十个词元，每列一个。第一行是比率，下面三行是 GRPO、GSPO、CISPO 给每个词元的"
        "权重；斜线表示没有梯度。",
        "Ten tokens, one per column. First their ratios; below, the weight that GRPO, "
        "GSPO and CISPO give each token; hatched means no gradient.",
    ),
    presets=[
        Preset(
            ("两个涨到 4.5 倍", "two rose to 4.5×"),
            gap=1.5,
            odd=2,
            advantage=1,
            clip=0.2,
        ),
        Preset(("只涨了一个", "only one rose"), gap=1.5, odd=1, advantage=1, clip=0.2),
        Preset(
            ("坏回答，两个跌没了", "a bad one, two vanished"),
            gap=-3.0,
            odd=2,
            advantage=-1,
            clip=0.2,
        ),
        Preset(
            ("没有异常，论文的范围", "none odd, the paper's range"),
            odd=0,
            advantage=1,
            clip=3e-4,
        ),
    ],
    wide=True,
)
