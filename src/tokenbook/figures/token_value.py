"""Value before and after every token (逐词元的价值): where a response is decided."""

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    legend,
    number,
    scene,
    tile,
)
from tokenbook.lab.token_values import (
    MONTE_CARLO,
    RESPONSES,
    score,
    stored,
)
from tokenbook.languages.glossary import terms

WIDEST = max(map(len, RESPONSES))
SHOWN = 4  # of RESPONSES: chapter 5 asks about the last one
SEEN = 0.095  # a smaller change has no number in the plot


def values(seed, trained, response):
    """Stored Monte Carlo values before each token (蒙特卡洛价值).

    Args:
        seed: of the warm start, 0 to 4.
        trained: 0 for the warm start, 1 after 8 iterations of GRPO.
        response: one of RESPONSES, or its place there.

    Returns:
        a list, one value per token.
    """
    return stored(MONTE_CARLO, (seed, trained), response)


def draw(L, answer, after, seed):
    response = RESPONSES[answer]
    before = values(seed, after, answer)
    ends = [*before, score(response)]
    changes = [b - a for a, b in zip(before, ends[1:], strict=True)]
    plot = Plot(
        x=(-0.7, len(response) - 0.3),
        y=(-0.24, 1.16),
        x_name=L("回答的词元，从左到右", "tokens of the response"),
        y_name=L("预期得分", "expected score"),
        y_ticks=[0, 0.5, 1],
        height=200,
    )
    plot.rule(y=0)
    plot.rule(y=1, look="dotted")
    for t in range(WIDEST):
        there = t < len(response)
        at = t if there else 0
        low, high = (ends[at], ends[at + 1]) if there else (0, 0)
        change = high - low
        look = "up" if change > 0 else "down"
        tall = there and abs(change) > SEEN
        plot.line([(at - 0.5, low), (at + 0.5, low)], "old thin", show=there)
        plot.area(at - 0.36, at + 0.36, low, high, look, show=there and change != 0)
        words = number(change, sign=True).replace("0.", ".")
        if change > 0:
            plot.text(
                at + 0.45, high + 0.07, words, "up strong", align="right", show=tall
            )
        else:  # above its bar: below it are the words; and above the line at 1
            top = low + 0.07 if low < 0.9 else 1.09
            plot.text(at - 0.45, top, words, "down strong", align="left", show=tall)
        word = response[at] if there else ""
        plot.text(at, -0.15, word, "strong" if tall else "quiet", show=there)
    best, worst = (changes.index(f(changes)) for f in (max, min))

    def turning(label, t, look):
        where = L(f"{response[t]}（t = {t}）", f"“{response[t]}”, t = {t}")
        real = abs(changes[t]) > 0.005
        return tile(
            label, number(changes[t], sign=True), where, look=look if real else "off"
        )

    return scene(
        plot,
        legend(
            ("up", L("写完它，预期上升", "the expectation rises")),
            ("down", L("写完它，预期下降", "the expectation falls")),
        ),
        tiles=[
            tile(
                L("开始时的预期", "expected at the start"),
                number(before[0]),
                L("价值 V(s₀)", "value V(s₀)"),
            ),
            turning(L("最大的功劳", "largest credit"), best, "up"),
            turning(L("最大的过失", "largest blame"), worst, "down"),
            tile(
                L("最后的得分", "score in the end"),
                number(score(response), 0),
                L("所有变化之和 ", "sum of changes ") + number(sum(changes), sign=True),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("answer", range(SHOWN), 0, terms("response"), kind="hidden"),
        Dial(
            "after",
            [0, 1],
            0,
            ("写回答的策略", "policy"),
            kind="choice",
            options=[
                terms("warm_start"),
                ("训练后", "trained"),
            ],
        ),
        Dial("seed", range(5), 0, ("热启动的编号", "which warm start")),
    ],
    title=(
        "一条回答的成败，主要由少数几个词元决定",
        "A response is decided at a few of its tokens",
    ),
    alt=(
        "一条回答的词元从左到右，每个词元一根柱子，从写它之前的预期得分画到写完之后的。"
        "大多数柱子很矮，少数几根很高。",
        "The tokens of a response from left to right; each bar runs from the expected "
        "score before a token to that after it. Most bars are short, a few are tall.",
    ),
    presets=[
        Preset(("试了两次，答对", "two tries, correct"), answer=0, after=0, seed=0),
        Preset(("一次答对", "first try correct"), answer=1, after=0),
        Preset(("写错一位得数", "one wrong digit"), answer=3, after=0),
        Preset(("放弃：热启动", "giving up: warm start"), answer=2, after=0),
        Preset(("放弃：训练后", "giving up: trained"), answer=2, after=1),
    ],
    wide=True,
    note=(
        "五个热启动只是种子不同；“训练后”指 GRPO 训练 8 次迭代之后。"
        "价值是 1024 条（训练后 512 条）续写的平均得分，标准误最大约 0.02。",
        "The five warm starts differ in their seed; “trained” means after 8 iterations "
        "of GRPO. A value is the mean score of 1024 continuations (trained: 512), its "
        "standard error about 0.02 at most.",
    ),
)
