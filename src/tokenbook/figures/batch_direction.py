"""Direction of a batch's gradient (梯度噪声): cosines with the true gradient."""

from functools import cache
from itertools import product

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    legend,
    number,
    scene,
    tile,
)

SIGNS = list(product("+-", repeat=2))
RIGHT = ("-", "+")  # 9-5+7=11
STARTS = {  # state: chance of the first of its two options
    "usual": {  # close to the warm start
        "9□": 0.45,
        "9+5□": 0.45,
        "9-5□": 0.48,
        "✗": 0.75,
        "✗9□": 0.5,
        "✗9+5□": 0.6,
        "✗9-5□": 0.6,
    },
    "rare": {  # mostly begins with +, and stops
        "9□": 0.9,
        "9+5□": 0.45,
        "9-5□": 0.3,
        "✗": 0.95,
        "✗9□": 0.9,
        "✗9+5□": 0.6,
        "✗9-5□": 0.3,
    },
}
SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
SHIFTS = [-1.0, -0.6, -0.3, 0.0, 0.5, 1.0, 2.0]
BATCHES = 200
BINS = 10
MOST = 200.0  # the vertical axis
NONE = 1e-12  # a squared norm below this is no gradient


def attempt(signs, before=""):
    """The two (state, option) pairs of one attempt."""
    first, second = signs
    return [
        (before + "9□", "+-".index(first)),
        (f"{before}9{first}5□", "+-".index(second)),
    ]


def responses():
    """All 16 responses (枚举) as (state, option) pairs, and their rewards."""
    found = []
    for one in SIGNS:
        if one == RIGHT:
            found.append((attempt(one), 1.0))
            continue
        found.append(([*attempt(one), ("✗", 0)], 0.0))
        for two in SIGNS:
            again = [*attempt(one), ("✗", 1), *attempt(two, "✗")]
            found.append((again, float(two == RIGHT)))
    return found


@cache
def world(start):
    """Probability, reward and score function (得分函数) of each response.

    Args:
        start: a key of STARTS.

    Returns:
        ``[16]``, ``[16]`` and ``[16, 14]``.
    """
    states = list(STARTS[start])
    first = torch.tensor(list(STARTS[start].values()), dtype=torch.float64)
    table = torch.stack([first, 1 - first], 1)
    chances, rewards, scores = [], [], []
    for pairs, reward in responses():
        chance, row = 1.0, torch.zeros_like(table)
        for state, option in pairs:
            at = states.index(state)
            chance *= table[at, option].item()
            row[at] -= table[at]
            row[at, option] += 1
        chances.append(chance)
        rewards.append(reward)
        scores.append(row.flatten())
    exact = torch.float64
    return (
        torch.tensor(chances, dtype=exact),
        torch.tensor(rewards, dtype=exact),
        torch.stack(scores),
    )


def noise_to_signal(start, n, shift):
    """Error of a batch over the norm of the gradient (噪声与信号之比), exactly."""
    chances, rewards, scores = world(start)
    each = (rewards + shift)[:, None] * scores
    size = (chances @ each).square().sum()
    variance = chances @ each.square().sum(1) - size
    return (variance / size / n).sqrt().item()


@cache
def cosines(start, n, shift):
    """Cosine with the true gradient of each batch that has a gradient, a list."""
    chances, rewards, scores = world(start)
    draw = torch.Generator().manual_seed(0)
    ids = torch.multinomial(chances, BATCHES * max(SIZES), True, generator=draw)
    each = ((rewards + shift)[:, None] * scores)[ids.view(BATCHES, -1)[:, :n]].mean(1)
    truth = chances @ (rewards[:, None] * scores)
    live = each[each.square().sum(1) > NONE]
    return (live @ truth / live.norm(dim=1) / truth.norm()).tolist()


def draw(L, n, shift, start):
    found = cosines(start, n, shift)
    chances, rewards, _ = world(start)
    empty = (1 - chances @ rewards).item() ** n if shift == 0 else 0.0
    counts = [0] * BINS
    for cosine in found:
        counts[min(BINS - 1, max(0, int((cosine + 1) / 2 * BINS + 1e-9)))] += 1
    plot = Plot(
        x=(-1.45, 1.05),
        y=(0, MOST),
        x_name=L("与真梯度夹角的余弦", "cosine with the true gradient"),
        y_name=L("200 批里有几批", "batches of 200"),
        x_ticks={
            -1.3: L("无", "none"),
            -1: "−1",
            -0.5: "−0.5",
            0: "0",
            0.5: "0.5",
            1: "1",
        },
        y_ticks=[0, 100, 200],
        height=230,
    )
    plot.area(-1.4, -1.2, 0, BATCHES - len(found), "off")
    for k, count in enumerate(counts):
        left = -1 + 2 * k / BINS
        plot.area(left + 0.01, left + 0.19, 0, count, "up" if left > -0.01 else "down")
    plot.rule(x=0, look="dashed")
    wrong = sum(c < 0 for c in found) / BATCHES
    return scene(
        caption(
            L(
                "16 种回答的小策略，随机抽 200 批，看每批的方向",
                "200 random batches from the small policy of 16 responses",
            )
        ),
        plot,
        legend(
            ("up", L("大致方向对", "roughly right")),
            ("down", L("方向相反", "points away"), wrong > 0),
            ("off", L("没有梯度", "no gradient"), len(found) < BATCHES),
        ),
        tiles=[
            tile(
                L("误差 ÷ 信号", "error ÷ signal"),
                number(noise_to_signal(start, n, shift)),
                L("精确值", "exact"),
            ),
            tile(
                L("方向相反的批次", "batches that point away"),
                f"{100 * wrong:.0f}%",
                "",
                look="down" if wrong else "",
            ),
            tile(
                L("没有梯度的批次", "batches without a gradient"),
                f"{100 * empty:.0f}%",
                L("精确值 (1 − q)ᴺ", "exact, (1 − q)ᴺ")
                if shift == 0
                else L("奖励都不是 0", "no reward is 0"),
                look="off" if empty > 0.005 else "",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("n", SIZES, 8, ("一批几条回答", "responses per batch"), "N"),
        Dial("shift", SHIFTS, 0.0, ("奖励加上", "rewards plus"), "+", fine=False),
        Dial(
            "start",
            list(STARTS),
            "usual",
            ("初始策略", "initial policy"),
            fmt="",
            kind="choice",
            options=[("像热启动", "like the warm start"), ("很少答对", "rarely right")],
        ),
    ],
    title=(
        "平均的方向是同一个，单独一批偏多远",
        "All batches share one mean direction; how far does each one stray?",
    ),
    alt=(
        "直方图：200 批数据的梯度与真梯度夹角的余弦。"
        "左边带斜线的柱子是没有梯度的批次。",
        "A histogram of 200 batches: the cosine of each batch's gradient with the true "
        "one. The hatched bar on the left counts batches without a gradient.",
    ),
    presets=[
        Preset(("8 条", "eight"), n=8, shift=0.0, start="usual"),
        Preset(("1 条", "one"), n=1, shift=0.0, start="usual"),
        Preset(("64 条", "sixty-four"), n=64, shift=0.0, start="usual"),
        Preset(
            ("64 条，奖励加 1", "sixty-four, plus 1"), n=64, shift=1.0, start="usual"
        ),
        Preset(
            ("64 条，奖励减 0.3", "sixty-four, minus 0.3"),
            n=64,
            shift=-0.3,
            start="usual",
        ),
        Preset(("很少答对", "rarely right"), n=8, shift=0.0, start="rare"),
    ],
    wide=True,
)
