"""One sampled response (一次采样): effects of a step on it and on the others."""

from functools import cache

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    card,
    grid,
    legend,
    number,
    scene,
    side,
    stack,
    tile,
)
from tokenbook.figures._three import KINDS, REWARDS, estimates, mean_variance, policy
from tokenbook.languages.glossary import terms

SHARE = 0.3  # of right responses
BASELINES = [round(0.05 * i, 2) for i in range(61)]  # 0 ... 3
LEVELS = [0, 1, 2]
SMALL = 5e-4  # smaller changes are invisible


@cache
def after(drawn, b, level):
    """Probabilities after one step of size 1 along the estimate of that response."""
    prob, _ = policy(SHARE)
    return (prob.log() + estimates(SHARE, level, b)[drawn]).softmax(0).tolist()


def draw(L, drawn, b, level):
    before, now = policy(SHARE)[0].tolist(), after(drawn, b, level)
    steps = estimates(SHARE, level, b)[:, 0].tolist()
    mean, variance = mean_variance(SHARE, level, b)
    names = (
        L("正确", "correct"),
        L("放弃", "gives up"),
        L("谎称", "false"),
    )
    cards = [
        card(
            kind,
            pick=("drawn", k),
            pressed=k == drawn,
            look="sel" if k == drawn else "",
            says=f"{names[k]}, {kind}, R = {REWARDS[k] + level:g}",
        )
        for k, kind in enumerate(KINDS)
    ]
    bars = Plot(x=(0, 3), y=(-0.32, 1.14), height=190, axes=False)
    bars.rule(y=0)
    for k, (low, high) in enumerate(zip(before, now, strict=True)):
        look = "up" if high > low + SMALL else "down" if high < low - SMALL else "old"
        bars.area(k + 0.2, k + 0.48, 0, low, "old")
        bars.area(k + 0.52, k + 0.8, 0, high, look)
        bars.text(k + 0.34, low + 0.07, number(low), "old")
        bars.text(k + 0.66, high + 0.07, number(high), look)
        words = f"{names[k]}\nR = {REWARDS[k] + level:g}"
        bars.text(k + 0.5, -0.16, words, "strong" if k == drawn else "quiet")
    spread = Plot(
        x=(-1.6, 2.3),
        y=(0.4, 3.6),
        x_name=L("正确回答的 logit 走多远", "step of the correct response's logit"),
        y_name=L("采样到", "if drawn"),
        x_ticks=[-1, 0, 1, 2],
        y_ticks={3 - k: name for k, name in enumerate(names)},
        height=190,
    )
    spread.rule(x=0)
    spread.rule(x=mean[0].item(), look="dashed")
    for k, step in enumerate(steps):
        y = 3 - k
        look = "up" if step > SMALL else "down" if step < -SMALL else "off"
        spread.area(min(0, step), max(0, step), y - 0.06, y + 0.06, look)
        spread.dot(step, y, "sel" if k == drawn else look)
    always = L("平均", "mean")
    spread.text(mean[0].item() + 0.06, 3.42, always, "strong boxed", align="left")
    weight = REWARDS[drawn] + level - b
    change = now[0] - before[0]
    says = L("这一步什么也没有改变。", "This step changes nothing.")
    if change > SMALL:
        says = L("这一步使正确的回答升高。", "This step raises the correct response.")
    if change < -SMALL:
        says = L(
            "这一步使正确的回答降低，虽然它最好。",
            "This step lowers the correct response, the best of the three.",
        )
    return scene(
        side(
            stack(
                caption(
                    L(
                        "三种回答和它们的奖励，点一下就采样到它",
                        "Three responses; click one to sample it.",
                    )
                ),
                grid(*cards, columns=3),
                bars,
                legend(
                    ("old", L("原来的概率", "probability before")),
                    ("up", L("升高", "rises")),
                    ("down", L("降低", "falls")),
                ),
            ),
            stack(
                caption(
                    L(
                        "采样到各种回答时，正确回答走多远",
                        "How far the correct response moves",
                    )
                ),
                spread,
            ),
            shares=(1.15, 1),
        ),
        tiles=[
            tile(
                L("权重 R − b", "R − b"),
                number(weight, sign=True),
                look="up" if weight > SMALL else "down" if weight < -SMALL else "off",
            ),
            tile(
                L("正确的回答", "correct"),
                number(now[0]),
                L("原来 ", "before ") + number(before[0]),
                look="up" if change > SMALL else "down" if change < -SMALL else "",
            ),
            tile(
                L("平均走多远", "mean step"),
                number(mean[0].item(), 3, sign=True),
                L("与 b 无关", "for every b"),
            ),
            tile(
                L("方差", "variance"),
                number(variance, 2),
                L("三个 logit 合计", "of all three logits"),
            ),
        ],
        says=says,
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "drawn",
            [0, 1, 2],
            1,
            ("采样到的回答", "sampled response"),
            kind="hidden",
        ),
        Dial("b", BASELINES, 0.0, terms("baseline"), "b", fmt="g"),
        Dial(
            "level",
            LEVELS,
            0,
            ("给所有奖励加", "add to every reward"),
            kind="choice",
        ),
    ],
    title=(
        "采样到的回答，奖励高于基线就升高，低于基线就降低",
        "A sampled response rises if its reward beats the baseline and falls if not",
    ),
    alt=(
        "三张回答卡片，下面是各自在这一步前后的概率。"
        "右边三个点是采样到各种回答时正确回答走多远，虚线是它们的平均。",
        "Three cards of responses, below them their probabilities before and after the "
        "step. On the right three dots say how far the correct response moves if each "
        "is drawn, and a dashed line is their mean.",
    ),
    presets=[
        Preset(("没有基线", "no baseline"), drawn=1, b=0.0, level=0),
        Preset(("减去平均", "minus the mean"), drawn=1, b=0.55, level=0),
        Preset(("奖励都加 2", "rewards plus 2"), drawn=2, b=0.0, level=2),
        Preset(("加 2，减平均", "plus 2, minus mean"), drawn=2, b=2.55, level=2),
    ],
    wide=True,
)
