"""Three turns (轮次) as a row of tokens: what is trained, and what credit it gets."""

import functools

import torch
from matplotlib.patches import Rectangle

from tokencredit import discounted_return, turn_gae
from tokencredit.figures import COLORS, Dial, Explorer, canvas

TOKEN_GAMMAS = [0.7, 0.8, 0.9, 0.95, 1.0]
TURN_GAMMAS = [0.5, 0.7, 0.9, 1.0]
TOOL = [1, 2, 4, 6, 8, 10]  # tokens of the tool's first output
PROMPT, ACTION, SECOND, CLOSE = 2, 3, 2, 1  # the other pieces of the trajectory
TURNS = 3
WIDTH = PROMPT + TURNS * ACTION + max(TOOL) + SECOND + CLOSE
UNITS = {"t": "vermilion", "m": "blue", "k": "green"}  # all tokens, actions, turns
GROUND, TOP, LOW = -0.13, 1.0, -0.28  # heights of the token row, the bars, the marks


def pieces(tool):
    """Lengths of the pieces of the row, observations and actions in turn."""
    return [PROMPT, ACTION, tool, ACTION, SECOND, ACTION, CLOSE]


def masks(tool):
    """What was sampled and what ends a turn, `[1, T]`: sampled, ends."""
    lengths = pieces(tool)
    who = [place % 2 == 1 for place, n in enumerate(lengths) for _ in range(n)]
    sampled = torch.tensor([who])
    ends = sampled & ~sampled.roll(-1, 1)
    return sampled, ends


@functools.cache
def credit(unit, gamma, turn_gamma, tool):
    """Return of each token when reward 1 stands on the last sampled token.

    Args:
        unit: what takes a step of the discount: "t" every token, "m" sampled tokens,
            "k" turns (and sampled tokens inside a turn).
        gamma: discount per token.
        turn_gamma: discount per turn; without effect unless `unit` is "k".
        tool: tokens of the tool's first output.

    Returns:
        a list over the sampled tokens.
    """
    sampled, ends = masks(tool)
    rewards = torch.zeros(sampled.shape, dtype=torch.float64)
    rewards[0, ends[0].nonzero()[-1]] = 1.0
    if unit == "t":
        found = discounted_return(rewards, gamma=gamma)
    elif unit == "m":
        found = discounted_return(rewards, sampled, gamma=gamma)
    else:
        found = turn_gae(
            rewards,
            torch.zeros_like(rewards),
            sampled,
            ends,
            gamma=gamma,
            lam=1.0,
            turn_gamma=turn_gamma,
        )
    return found[sampled].tolist()


def figure():
    """Left the row of tokens, its marks and credits; right credit over verbosity."""
    fig, (row, right) = canvas(1, 2, width=4.0, height=2.7, bottom=0.4)
    row.set(xlim=(-0.6, WIDTH - 0.4), ylim=(-0.52, 1.2), xlabel="$t$", ylabel="$G_t$")
    row.set_yticks([0, 0.5, 1])
    row.set_xticks(range(0, WIDTH, 5))
    row.spines["left"].set_bounds(0, 1)

    def box(color, hatch):
        """A token; where it stands is set later."""
        style = {"facecolor": color, "edgecolor": COLORS["grey"], "lw": 0.6}
        return row.add_patch(Rectangle((0, 0), 0.9, 0.16, hatch=hatch, **style))

    lengths = pieces(max(TOOL))
    rows = []  # for every piece its boxes
    for place, count in enumerate(lengths):
        look = (COLORS["sky"], None) if place % 2 else ("none", "////")
        rows.append([box(*look) for _ in range(count)])
    live = TURNS * ACTION
    bars = {
        unit: [
            row.add_patch(Rectangle((0, 0), 0.66, 0, facecolor=COLORS[color], lw=0))
            for _ in range(live)
        ]
        for unit, color in UNITS.items()
    }
    style = {"linestyle": "none", "markersize": 5}
    (right_marks,) = row.plot(
        [0] * live, [LOW] * live, "o", color=COLORS["ink"], **style
    )
    (wrong_marks,) = row.plot(
        [0] * TURNS, [LOW] * TURNS, "X", color=COLORS["vermilion"], **style
    )
    (missed,) = row.plot(
        [0] * TURNS,
        [LOW] * TURNS,
        "o",
        markerfacecolor="none",
        markeredgecolor=COLORS["vermilion"],
        **style,
    )
    names = [
        row.text(0, -0.46, f"$a_{k + 1}$", ha="center", color=COLORS["blue"])
        for k in range(TURNS)
    ]
    tool_name = row.text(0, -0.46, "$n$", ha="center", color=COLORS["grey"])
    (reward,) = row.plot([0], [1.1], "*", color=COLORS["orange"], markersize=9)
    right.set(xlim=(0.6, max(TOOL) + 0.4), ylim=(0, 1.2), xlabel="$n$")
    right.set_ylabel("$G$")
    lines = {}
    for place, (unit, color) in enumerate(UNITS.items()):
        (lines[unit],) = right.plot(TOOL, [0.0] * len(TOOL), color=COLORS[color])
        right.text(8.2 + 0.9 * place, 1.08, f"${unit}$", color=COLORS[color])
    (here,) = right.plot([0], [0], "o", color=COLORS["ink"], markersize=7)
    last = {}

    def changed(what, *key):
        """Whether artists of this kind must move: drawing is what takes the time."""
        moved, last[what] = last.get(what) != key, key
        return moved

    def lay_out(tool):
        starts, at = [], 0
        for boxes, count in zip(rows, pieces(tool), strict=True):
            starts.append(at)
            for place, token in enumerate(boxes):
                token.set_xy((at + place - 0.45, GROUND - 0.04))
                token.set_visible(place < count)
            at += count
        for text, start in zip(names, starts[1::2], strict=True):
            text.set_x(start + (ACTION - 1) / 2)
        tool_name.set_x(starts[2] + (tool - 1) / 2)

    def mark(sampled, trained):
        """The marks under the row; returns how many are wrong, how many missing."""
        counts = []
        for marks, where, size in (
            (right_marks, trained & sampled, live),
            (wrong_marks, trained & ~sampled, TURNS),
            (missed, sampled & ~trained, TURNS),
        ):
            places = where[0].nonzero().ravel().tolist()
            marks.set_visible(bool(places))
            if places:  # always as many points
                marks.set_xdata(places + places[: size - len(places)])
            counts.append(len(places))
        return counts[1:]

    def update(unit="t", tool=6, shift=0, gamma=0.9, turn_gamma=0.7):
        tool, shift = int(tool), int(shift)
        sampled, _ = masks(tool)
        trained = sampled.roll(shift, 1)
        places = trained[0].nonzero().ravel().tolist()
        if changed("row", tool):
            lay_out(tool)
        if changed("marks", tool, shift):
            last["counts"] = mark(sampled, trained)
            reward.set_xdata([places[-1]])
        for u, group in bars.items():
            gammas = (gamma, turn_gamma if u == "k" else 1.0)
            if changed(f"bars {u}", tool, shift, gammas, u == unit):
                heights = credit(u, *gammas, tool)
                for bar, place, height in zip(group, places, heights, strict=True):
                    bar.set_bounds(place - 0.33, 0, 0.66, height)
                    bar.set_visible(u == unit)
            if changed(f"line {u}", gammas, u == unit):
                lines[u].set_ydata([credit(u, *gammas, n)[0] for n in TOOL])
                lines[u].set_alpha(1 if u == unit else 0.35)
        found = credit(unit, gamma, turn_gamma, tool)
        here.set_data([tool], [found[0]])
        wrong, lost = last["counts"]
        return {
            "first": found[0],
            "second": found[ACTION],
            "third": found[2 * ACTION],
            "wrong": wrong,
            "lost": lost,
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "unit",
            [*UNITS],
            start="t",
            symbol="u",
            name={
                "zh": "折扣的单位：t 词元，m 动作词元，k 轮次",
                "en": "unit of discount: t any token, m action token, k turn",
            },
            fmt="",
        ),
        Dial(
            "tool",
            TOOL,
            start=6,
            symbol="n",
            name={"zh": "工具输出的词元数", "en": "tokens of the tool's output"},
            fine=False,
        ),
        Dial(
            "shift",
            [0, 1],
            start=0,
            symbol="s",
            name={"zh": "掩码错开几位", "en": "mask shifted by"},
        ),
        Dial(
            "gamma",
            TOKEN_GAMMAS,
            start=0.9,
            symbol="γ",
            name={"zh": "每个词元的折扣", "en": "discount per token"},
        ),
        Dial(
            "turn_gamma",
            TURN_GAMMAS,
            start=0.7,
            symbol="Γ",
            name={"zh": "每轮的折扣", "en": "discount per turn"},
        ),
    ],
    title={
        "zh": "三轮轨迹：哪些词元被训练，各得多少功劳",
        "en": "Three turns: which tokens are trained, and what credit they get",
    },
    readout={
        "zh": "三轮的第一个被训练词元的回报：{first:.3f}，{second:.3f}，{third:.3f}；"
        "被训练的环境词元 {wrong:.0f} 个，漏掉的动作词元 {lost:.0f} 个",
        "en": "return of the first trained token of each turn: {first:.3f}, "
        "{second:.3f}, {third:.3f}; tokens of the environment trained: {wrong:.0f}, "
        "action tokens missed: {lost:.0f}",
    },
    alt={
        "zh": "左图：三轮轨迹的一排词元，蓝色方块是策略采样的动作，斜线灰块是环境写的。"
        "下方黑点标出被训练的词元，橙红叉标出误训练的环境词元，空圈标出漏掉的动作词元；"
        "上方柱子是每个被训练词元的回报，星号是奖励所在。"
        "右图：第一个被训练词元的回报随工具输出长度的变化，按所有词元、按动作词元、"
        "按轮次三种计步各一条线，当前的一条加深。",
        "en": "Left: a three-turn trajectory as a row of tokens, blue boxes sampled by "
        "the policy, hatched grey boxes written by the environment. Black dots below "
        "mark trained tokens, vermilion crosses tokens of the environment trained by "
        "mistake, open circles action tokens missed; bars above are the return of each "
        "trained token, a star the reward. Right: the return of the first such token "
        "against the length of the tool's output, one line for each unit of the "
        "discount, the present one strong.",
    },
)
