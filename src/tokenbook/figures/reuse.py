"""One batch used again and again (一批数据用几遍): the ratio of every token."""

from dataclasses import replace
from functools import cache

import numpy as np
import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    chip,
    scene,
    shade,
    side,
    stack,
    strip,
    tile,
)
from tokenbook.languages.glossary import terms
from tokencredit import ALGORITHMS, ppo_clip_loss, rollout, score, token_log_ratio
from tokencredit.training import assign_credit, forward, objective
from tokencredit.world.scoring import on_last_token
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks import task

ROWS = (10, 12, 28)  # three responses of the batch
PROMPTS = ("9□1□6=4?", "9□1□6=4?", "9□4□2=3?")
WORDS = ("9+1-6=4✓$", "9+1+6=16✗$", "9-4+2=7✓$")
ADVANTAGES = (1.6, -0.6, -0.6)  # their means; PPO's, whitened
FOLLOWED = (3, 9, 7)  # the token of each that moves most
LOW, HIGH = 0.8, 1.2  # the clip range
END = 2.2  # of the axis of ratios
PASSES = 8
LOSSES = ("min", "clip", "none")

# Result of `record`: the ratio in hundredths, per objective and response a line per
# pass. 32 prompts with 8 responses, PPO, 2 mini-batches, Adam at 5e-4, warm start 0.
RECORD = {
    "min": (
        """
        100 106 100  96 100 100 100 100 100
        100 111 100  94 100 100  99 100 100
        100 115 100  93 100 100  99 100 100
        100 113 100 100 100 100  99 100 100
        100 108 100 121 100 100 100 100 100
        100 104 100 149 100 100 100 100 100
        100 101 100 164 100 100 100 100 100
        100 100 100 173 100 100 100 100 100
        """,
        """
        100 106 100 104 100 100 100 101 101  55
        100 111 100 106 100 100 101 101 100  41
        100 115 100 108 100 100 101 100 100  39
        100 113 100 100 100 100 101 100  99  34
        100 108 100  77 100 100 101  99  99  24
        100 104 100  47 100 100 101  96  99  17
        100 101 100  31 100 100 101  83  98  16
        100 100 100  22 100 100 101  37  97  17
        """,
        """
        100  94 100 107 100 100 100  94 100
        100  89 100 113 100 100 100 160 100
        100  84 100 119 100 100 100 177 100
        100  86 100 118 100 100 100 173 100
        100  91 100 113 100 100 100 155 100
        100  95 100 110 100 100 100 110 100
        100  97 100 109 100 100 100 102 100
        100  98 100 108 100 100 100 109 100
        """,
    ),
    "clip": (
        """
        100 106 100  97 100 100 100 100 100
        100 111 100  95 100 100 100 100 100
        100 115 100  96 100 100  99 100 100
        100 113 100 110 100 100  99 100 100
        100 108 100 158 100 100 100 100 100
        100 102 100 179 100 100 100 100 100
        100  98 100 186 100 100 100 100 100
        100  94 100 189 100 100 100 100 100
        """,
        """
        100 106 100 104 100 100 100 101 101  43
        100 111 100 105 100 100 101 101 100  12
        100 115 100 105 100 100 101 100  98   4
        100 113 100  89 100 100 101  99  94   2
        100 108 100  38 100 100 101  96  88   1
        100 102 100  14 100 100 101  78  81   1
        100  98 100   7 100 100 101  40  73   0
        100  94 100   4 100 100 101  11  66   0
        """,
        """
        100  94 100 107 100 100 100  93 100
        100  89 100 113 100 100  99 186 100
        100  85 100 118 100 100  98 432 100
        100  87 100 118 100 100  91 812 100
        100  91 100 114 100 100  55 1014 100
        100  97 100 109 100 100  14 1076 100
        100 100 100 106 100 100   2 1094 100
        100 102 100 105 100 100   1 1101 100
        """,
    ),
    "none": (
        """
        100 106 100  96 100 100 100 100 100
        100 111 100  94 100 100  98 100 100
        100 115 100  93 100 100  98 100 100
        100 119 100  93 100 100  98 100 100
        100 123 100 103 100 100  98 100 100
        100 127 100 144 100 100  95 100 100
        100 129 100 182 100 100  93 100 100
        100 132 100 190 100 100  97 100 100
        """,
        """
        100 106 100 104 100 100 100 101 101  43
        100 111 100 106 100 100 100 100 101   4
        100 115 100 108 100 100 100  99 101   0
        100 119 100 108 100 100 100  97 101   0
        100 123 100  97 100 100 100  84 101   0
        100 127 100  52 100 100  99  21 101   0
        100 129 100  11 100 100  98   1 100   0
        100 132 100   3 100 100  97   0  99   0
        """,
        """
        100  94 100 107 100 100 100  90 100
        100  89 100 112 100 100 100  92 100
        100  85 100 118 100 100 100  82 100
        100  80 100 124 100 100 100  98 100
        100  76 100 130 100 100 100 139 100
        100  71 100 137 100 100 100 170 100
        100  66 100 145 100 100 100 227 100
        100  61 100 154 100 100 100 301 100
        """,
    ),
}


def by_ratio(log_probs, log_ratio, advantages, *, bounds=(0.0, float("inf"))):
    """Loss -clip(rho) A with these bounds on the ratio, and no minimum."""
    return -log_ratio.exp().clamp(*bounds) * advantages


def clip_alone(log_probs, log_ratio, advantages):
    """Loss -clip(rho) A: the clip without the minimum."""
    return by_ratio(log_probs, log_ratio, advantages, bounds=(0.8, 1.2))


LOSS = {"min": ppo_clip_loss, "clip": clip_alone, "none": by_ratio}


def record(name, passes):
    """The ratios after each of several passes over one batch of the warm start.

    Args:
        name: of LOSS.
        passes: over the batch, two optimizer steps each.

    Returns:
        a list per pass, with the ratios of each of the three responses.
    """
    world, policy = task("signs"), warm_start("signs", 0)
    generator = torch.Generator().manual_seed(0)
    prompts = world.prompts(32, np.random.default_rng(0))
    batch = rollout(policy, world, prompts, group_size=8, generator=generator)
    scores = score(batch, world, prompts, world.reward)
    algorithm = replace(ALGORITHMS["PPO"], loss=LOSS[name])
    rewards = on_last_token(scores, batch.mask)
    batch = assign_credit(algorithm, replace(batch, rewards=rewards, last_values=None))
    adam = torch.optim.Adam(policy.parameters(), lr=5e-4)
    seen = []
    for _ in range(passes):
        for part in batch.shuffled(generator).split(128):
            adam.zero_grad()
            objective(algorithm, part, forward(policy, part)).backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            adam.step()
        with torch.no_grad():
            now = forward(policy, batch)[0]
        ratio = token_log_ratio(now, batch.old_log_probs, batch.mask).exp()
        seen.append([ratio[i, batch.mask[i]].tolist() for i in ROWS])
    return seen


@cache
def ratios(name, passed):
    """The recorded ratios of the three responses after a number of passes."""
    if not passed:
        return [[1.0] * len(words) for words in WORDS]
    lines = [block.strip().split("\n")[passed - 1] for block in RECORD[name]]
    return [[int(x) / 100 for x in line.split()] for line in lines]


@cache
def slopes(name, passed):
    """Gradient of the objective on each log-probability, in units of the advantage."""
    found = []
    for values, advantage in zip(ratios(name, passed), ADVANTAGES, strict=True):
        leaf = torch.tensor(values).clamp(min=1e-3).log().requires_grad_()
        advantages = torch.full_like(leaf, advantage)
        value = -LOSS[name](leaf, leaf, advantages)
        found.append(torch.autograd.grad(value.sum(), leaf)[0].tolist())
    return found


def track(L, k, passed, loss):
    """Ratios of a response's tokens (现在的位置), and the bounds for its sign.

    The displacement from 1 is that of the followed token, the arrow its next push.
    """
    sign = 1 if ADVANTAGES[k] > 0 else -1
    look = "up" if sign > 0 else "down"
    now, push = ratios(loss, passed)[k], slopes(loss, passed)[k]
    plot = Plot(x=(0, END + 0.35), y=(0, 1), height=78, axes=False)  # with its arrow
    left = L("不再推｜墙 0.8", "no push | wall 0.8")
    right = L("墙 1.2｜不再推", "wall 1.2 | no push")
    for wall, end, side_, words, align in (
        (LOW, 0, -1, left, "right"),
        (HIGH, END, 1, right, "left"),
    ):
        there = loss == "clip" or (loss == "min" and side_ == sign)
        plot.area(wall, end, 0.26, 0.74, "off", show=there)
        plot.line([(wall, 0.2), (wall, 0.8)], show=there)
        plot.text(wall, 0.07, words, "quiet", align=align, show=there)
    plot.rule(y=0.5)
    plot.line([(1, 0.34), (1, 0.66)], "old thin")
    plot.text(1, 0.07, "1", "quiet")
    for j, rho in enumerate(now):
        if j != FOLLOWED[k]:
            plot.dot(min(rho, END), 0.5, "old small")
    word, rho = WORDS[k][FOLLOWED[k]], now[FOLLOWED[k]]
    slope = push[FOLLOWED[k]] / abs(ADVANTAGES[k])
    dead, x = abs(slope) < 1e-9, min(rho, END)
    plot.line([(1, 0.5), (x, 0.5)], "old")
    plot.arrow(x, 0.5, x + 0.2 * max(-1.5, min(1.5, slope)), 0.5, look, show=not dead)
    plot.dot(x, 0.5, "off" if dead else look)
    align = "left" if rho < 0.4 else "right" if rho > 1.6 else "center"
    far = " →" if rho > END else ""
    plot.text(x, 0.93, f"ρ({word}) = {rho:.2f}{far}", "strong", align=align)
    return plot


def draw(L, passed, loss):
    passed = round(passed)
    names = [
        L("做对，A > 0，往右推", "correct, A > 0, pushed right"),
        L("放弃，A < 0，往左推", "gives up, A < 0, pushed left"),
        L("乱打勾，A < 0，往左推", "bluffs, A < 0, pushed left"),
    ]
    drawn, silent = [], 0
    for k, label in enumerate(names):
        dead = [abs(slope) < 1e-9 for slope in slopes(loss, passed)[k]]
        silent += sum(dead)
        cells = [
            chip(
                word,
                credit=shade(ADVANTAGES[k], 4.0),
                dead=dead[j],
                look="sel" if j == FOLLOWED[k] else "",
            )
            for j, word in enumerate(WORDS[k])
        ]
        words = stack(caption(f"{PROMPTS[k]}  {label}"), strip(*cells, ways=""))
        drawn.append(side(words, track(L, k, passed, loss), shares=(1, 1.45)))
    gives_up, bluff = ratios(loss, passed)[1][-1], ratios(loss, passed)[2][-2]
    says = {
        "min": L(
            "PPO：墙立在推去的一边，走过墙就不再推；走反的 ✓ 没有墙挡，还能推回来",
            "PPO: one wall, where the push leads; the ✓ that strays is brought back",
        ),
        "clip": L(
            "只裁剪：两边都是墙，走反了的 ✓ 落在墙外，再也推不回来",
            "clip alone: walls on both sides; the ✓ that strays stays out for good",
        ),
        "none": L(
            "不裁剪：没有墙，放弃的 $ 被一直压到零",
            "no clip: no wall; the $ that gives up is pushed all the way to zero",
        ),
    }
    return scene(
        *drawn,
        caption(
            L(
                "横向是 ρ，即现在的概率是采样时的多少倍；大圆点是画了横线的词元。",
                "Across: ρ, times as likely as when sampled. Large: underlined token.",
            )
        ),
        says=says[loss],
        tiles=[
            tile(L("用了几遍", "passes"), f"{passed}", f"K = {PASSES}"),
            tile(L("放弃的 $", "$ that gives up"), f"{gives_up:.2f}", "ρ", look="down"),
            tile(L("乱打的 ✓", "✓ of the bluff"), f"{bluff:.2f}", "ρ", look="down"),
            tile(
                L("没有梯度", "no gradient"),
                str(silent),
                L("个词元，共 28", "of 28 tokens"),
                look="off",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "passed",
            [*range(PASSES + 1)],
            PASSES,
            ("第几遍", "passes over the batch"),
            "",
            kind="time",
            pace=500,
        ),
        Dial(
            "loss",
            LOSSES,
            "min",
            terms("objective"),
            "",
            fmt="",
            kind="choice",
            options=[
                ("PPO", "PPO"),
                ("只裁剪", "clip alone"),
                ("不裁剪", "no clip"),
            ],
        ),
    ],
    title=(
        "PPO 立一道墙：词元朝推去的方向走过了墙，就不再推它",
        "PPO builds a wall: a token pushed past it is pushed no further",
    ),
    alt=(
        "三条回答，各有一条横轴：圆点的位置是现在的概率除以采样时的概率。"
        "墙在 0.8 或 1.2，墙外画斜线，没有梯度；箭头是下一次更新的方向和大小。",
        "Three responses, each with an axis: a dot stands where its probability now, "
        "over that when sampled, is. Walls at 0.8 or 1.2, hatched behind them: no "
        "gradient. An arrow is the direction and size of the next update.",
    ),
    presets=[
        Preset(("PPO，八遍之后", "PPO, after eight passes"), passed=8, loss="min"),
        Preset(("刚采样", "just sampled"), passed=0),
        Preset(("不裁剪", "no clip"), passed=8, loss="none"),
        Preset(("只裁剪，不取 min", "clip without the min"), passed=8, loss="clip"),
    ],
    wide=True,
)
