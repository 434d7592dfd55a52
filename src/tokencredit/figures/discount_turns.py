"""Discounting over two turns (轮次) with a tool's words between them: three rules."""

import functools

import torch

from tokencredit import discounted_return, turn_gae
from tokencredit.figures import COLORS, Dial, Explorer, canvas

GAMMAS = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 1.0]
WRITTEN = [1, 2, 3, 4, 5, 6]  # tokens of each action
TOOL = [0, 1, 2, 4, 6, 9, 12]  # tokens of the tool's first output
BEFORE, AFTER = 3, 2  # system and first observation; the tool's last words
WIDTH = BEFORE + max(WRITTEN) + max(TOOL) + max(WRITTEN) + AFTER
RULES = ("action", "every", "turn")


def masks(written, tool):
    """Who wrote what, as `[1, T]`: the mask, and the last token of each turn."""
    parts = [
        (BEFORE, False),
        (written, True),
        (tool, False),
        (written, True),
        (AFTER, False),
    ]
    live = [who for count, who in parts for _ in range(count)]
    mask = torch.tensor([live])
    ends = torch.zeros_like(mask)
    ends[0, BEFORE + written - 1] = True
    ends[0, BEFORE + written + tool + written - 1] = True
    return mask, ends


@functools.cache
def credits(gamma, written, tool):
    """Return of every token under three rules, reward 1 on the last action token.

    Args:
        gamma: discount.
        written: tokens of each of the two actions.
        tool: tokens of the tool's output between them.

    Returns:
        one list per rule: per action token (masked tokens take no step), per token
        of any kind, per turn; 0 where masked.
    """
    mask, ends = masks(written, tool)
    rewards = torch.zeros(mask.shape, dtype=torch.float64)
    rewards[0, ends[0].nonzero()[-1]] = 1.0
    action = discounted_return(rewards, mask, gamma=gamma)
    every = torch.where(mask, discounted_return(rewards, gamma=gamma), 0.0)
    turn = turn_gae(
        rewards, torch.zeros_like(rewards), mask, ends, lam=1.0, turn_gamma=gamma
    )
    return {
        "action": action[0].tolist(),
        "every": every[0].tolist(),
        "turn": turn[0].tolist(),
    }


def figure():
    """Left the return of every token, right the first action token's over gamma."""
    fig, (left, right) = canvas(1, 2)
    left.set(xlim=(-0.5, WIDTH - 0.5), ylim=(0, 1.18), xlabel="$t$", ylabel="$G_t$")
    gaps = [
        left.axvspan(0, 1, color=COLORS["light"], alpha=0.6, lw=0) for _ in range(3)
    ]
    bars = left.bar(range(WIDTH), [0.0] * WIDTH, width=0.7, color=COLORS["blue"])
    (every,) = left.plot([], [], "_", color=COLORS["vermilion"], markersize=7)
    (turn,) = left.plot([], [], ".", color=COLORS["green"], markersize=5)
    right.set(xlim=(0.48, 1.02), ylim=(0, 1.18), xlabel=r"$\gamma$")
    right.set_ylabel("$G$")
    signs = {
        "action": (r"$\gamma^{\,c}$", "blue"),
        "every": (r"$\gamma^{\,l}$", "vermilion"),
        "turn": (r"$\gamma^{\,k}$", "green"),
    }
    curves = {}
    for place, (rule, (sign, color)) in enumerate(signs.items()):
        (curves[rule],) = right.plot([], [], color=COLORS[color])
        right.text(0.52 + 0.09 * place, 1.06, sign, color=COLORS[color])
    (here,) = right.plot([0, 0], [0, 1], ":", color=COLORS["grey"])

    def update(gamma=0.9, tool=4, written=3):
        written, tool = int(written), int(tool)
        found = credits(gamma, written, tool)
        mask, _ = masks(written, tool)
        live = mask[0].nonzero().ravel().tolist()
        edges = [
            (0, BEFORE),
            (BEFORE + written, tool),
            (BEFORE + written + tool + written, AFTER),
        ]
        for gap, (start, count) in zip(gaps, edges, strict=True):
            gap.set_bounds(start - 0.5, 0, count, 1)
        for t, bar in enumerate(bars):
            bar.set_height(found["action"][t] if t in live else 0.0)
        places = live + live[-1:] * (2 * max(WRITTEN) - len(live))  # always as many
        every.set_data(places, [found["every"][t] for t in places])
        turn.set_data(places, [found["turn"][t] for t in places])
        first = {
            rule: [credits(g, written, tool)[rule][BEFORE] for g in GAMMAS]
            for rule in RULES
        }
        for rule, curve in curves.items():
            curve.set_data(GAMMAS, first[rule])
        here.set_xdata([gamma, gamma])
        return {rule: found[rule][BEFORE] for rule in RULES}

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "gamma",
            GAMMAS,
            start=0.9,
            symbol="γ",
            name={"zh": "折扣因子", "en": "discount"},
        ),
        Dial(
            "tool",
            TOOL,
            start=4,
            symbol="o",
            name={"zh": "工具输出的词元数", "en": "tokens of the tool's output"},
        ),
        Dial(
            "written",
            WRITTEN,
            start=3,
            symbol="n",
            name={"zh": "每个动作的词元数", "en": "tokens of each action"},
        ),
    ],
    title={
        "zh": "两轮轨迹：折扣按什么计步",
        "en": "Two turns: what counts as a step of the discount",
    },
    readout={
        "zh": "第一个动作词元的回报：按动作词元 {action:.3f}，"
        "按所有词元 {every:.3f}，按轮次 {turn:.3f}",
        "en": "return of the first action token: per action token {action:.3f}, per "
        "token of any kind {every:.3f}, per turn {turn:.3f}",
    },
    alt={
        "zh": "左图：两轮轨迹中每个词元的回报。灰底是环境写的词元；蓝柱按动作词元折扣，"
        "橙色横线按所有词元折扣，绿点按轮次折扣。"
        "右图：第一个动作词元的回报随折扣因子变化的三条曲线，点线是当前的折扣因子。",
        "en": "Left: the return of each token of a two-turn trajectory. Grey ground "
        "marks tokens of the environment; blue bars discount per action token, "
        "vermilion dashes per token of any kind, green dots per turn. Right: the "
        "return of the first action token against the discount under the three rules, "
        "with a dotted line at the current discount.",
    },
)
