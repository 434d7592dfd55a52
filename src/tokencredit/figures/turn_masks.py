"""Three turns (轮次), token by token: who wrote it, is it trained, its credit."""

import functools

import torch

from coursebook.glossary import terms
from explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    chip,
    legend,
    row,
    scene,
    shade,
    side,
    stack,
)
from explorer import number as written
from tokencredit import discounted_return, turn_gae

GAMMAS = [0.5, 0.7, 0.8, 0.9, 0.95, 1.0]
TOOL = [1, 2, 4, 6, 8, 10]  # tokens of the tool's first output
ASKED = "9□5□7=11?"
ACTIONS = [("9", "−", "5"), ("4", "+", "7"), ("−", "+", "$")]
SAYS = ("4", ";", "ok", ",", "3", "ms", ",", "no", "err", ".")  # as far as it talks
SECOND, CLOSE = ("1", "1"), ("✓",)
PROMPT, ACTION, TURNS = len(ASKED), 3, 3
WIDTH = ACTION + len(SAYS)  # cells of a row
UNITS = {  # what takes a step of the discount
    "t": terms("token"),
    "m": ("动作词元", "action"),
    "k": terms("turn"),
}


def pieces(tool):
    """Lengths of the pieces of the row, observations and actions in turn."""
    return [PROMPT, ACTION, tool, ACTION, len(SECOND), ACTION, len(CLOSE)]


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


def share(unit, gamma, tool):
    """Credit (功劳) when `gamma` is the discount of one step, a turn or a token."""
    return credit(unit, 1.0 if unit == "k" else gamma, gamma, tool)


def faults(tool, shift):
    """Places that are trained by mistake, and places that are missed (错、漏)."""
    sampled, _ = masks(tool)
    trained = sampled.roll(shift, 1)
    wrong, lost = trained & ~sampled, sampled & ~trained
    return tuple(found[0].nonzero().ravel().tolist() for found in (wrong, lost))


def chips(unit, tool, shift, gamma):
    """All tokens in the order in which they were written, as chips."""
    sampled, _ = masks(tool)
    trained = sampled.roll(shift, 1)[0].tolist()
    wrong, lost = faults(tool, shift)
    given = iter(share(unit, gamma, tool))
    words = [*ASKED]
    for action, seen in zip(ACTIONS, (SAYS[:tool], SECOND, CLOSE), strict=True):
        words += [*action, *seen]
    found = []
    for place, (word, own) in enumerate(zip(words, sampled[0].tolist(), strict=True)):
        worth = next(given) if trained[place] else 0.0
        writer = "model" if own else "prompt" if place < PROMPT else "env"
        found.append(
            chip(
                word,
                credit=shade(worth),
                push=worth,
                trained=trained[place],
                who=writer,
                look="sel" * (place in wrong + lost),
            )
        )
    return found


def rows(L, unit, tool, shift, gamma):
    """A row for the prompt and one for each turn, the credit of the turn at its end."""
    tokens = chips(unit, tool, shift, gamma)
    firsts = share(unit, gamma, tool)[::ACTION]
    names = [
        (terms("prompt"), ("填 + 和 −", "put in + and −")),
        (("第 1 轮次", "turn 1"), ("计算器回话", "the calculator replies")),
        (("第 2 轮次", "turn 2"), ("再算一次", "once more")),
        (("第 3 轮", "turn 3"), ("作答，得 1 分", "the response, paid 1")),
    ]
    cuts = [PROMPT]
    for seen in (tool, len(SECOND), len(CLOSE)):
        cuts.append(cuts[-1] + ACTION + seen)
    found = []
    for k, ((name, what), end) in enumerate(zip(names, cuts, strict=True)):
        cells = tokens[cuts[k - 1] if k else 0 : end]
        blank = [chip("", look="plain", trained=False)] * (WIDTH - len(cells))
        worth = written(firsts[k - 1]) if k else ""
        found.append(
            row(
                L(name),
                [*cells, *blank],
                worth,
                sub=L(what),
                end_sub=L("功劳", "credit") if k else "",
                look="up",
            )
        )
    return stack(*found)


def curve(L, unit, tool, gamma):
    """Credit of the first token over the length of the tool's output."""
    plot = Plot(
        x=(0, 15.5),
        y=(0, 1.08),
        x_name=L("工具回几个词元", "tokens that the tool returns"),
        y_name=L("第一个词元的功劳", "credit of the first token"),
        x_ticks=[1, 4, 6, 8, 10],
        y_ticks=[0, 0.5, 1],
        height=150,
    )
    for each in UNITS:
        points = [(n, share(each, gamma, n)[0]) for n in TOOL]
        plot.line(points, "ink" if each == unit else "old thin")
    ends = [
        (share(each, gamma, TOOL[-1])[0], L(name), "strong" if each == unit else "old")
        for each, name in UNITS.items()
    ]
    plot.names(TOOL[-1] + 0.8, ends)
    plot.dot(tool, share(unit, gamma, tool)[0], "sel")
    plot.drag(x=("tool", TOOL))
    return plot


def draw(L, unit, tool, shift, gamma):
    first = written(share(unit, gamma, tool)[0])
    says = {
        "t": L(
            f"工具的 {tool} 个词元各算一步，第一个轮次离奖励就更远：功劳 {first}。",
            f"The tool's tokens are steps too: after {tool}, turn 1 gets {first}.",
        ),
        "m": L(
            f"只数策略写的词元：工具说几个都一样，第一轮的功劳总是 {first}。",
            f"Only the policy's tokens are steps: turn 1 gets {first} anyway.",
        ),
        "k": L(
            "只数轮次：一轮之内三个词元功劳相同，工具说几个都一样。",
            "Only turns are steps: the three tokens of a turn get the same.",
        ),
    }[unit]
    if shift:
        says = L(
            "掩码错开一位：每轮漏掉第一个动作词元，却训练了环境的第一个词元。",
            "Off by one: each turn's first token is missed, and one "
            "of the environment's is trained.",
        )
    return scene(
        side(
            stack(
                rows(L, unit, tool, shift, gamma),
                legend(
                    ("up chip", L("策略写的，训练", "by the policy, trained")),
                    ("wash", L("环境写的", "by the environment")),
                    ("up bar", L("功劳", "credit")),
                    ("sel line", L("掩码错了", "mask is wrong")),
                ),
            ),
            curve(L, unit, tool, gamma),
            shares=(1.6, 1),
        ),
        says=says,
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "unit",
            list(UNITS),
            "t",
            ("一步是", "a step is"),
            fmt="",
            kind="choice",
            options=list(UNITS.values()),
        ),
        Dial("gamma", GAMMAS, 0.9, ("每步的折扣", "discount per step"), "γ"),
        Dial("tool", TOOL, 6, ("工具回的词元", "the tool's tokens"), "n", fine=False),
        Dial(
            "shift",
            [0, 1],
            0,
            terms("mask"),
            kind="choice",
            options=[("对齐", "aligned"), ("错开一位", "off by one")],
        ),
    ],
    title=(
        "折扣只数策略写的，工具再啰嗦，也拿不走前面动作的功劳",
        "Count only what the policy wrote, and a talkative tool takes no credit away",
    ),
    alt=(
        "提示和三轮各一行词元：每轮先是策略写的三个词元，带框，柱高是功劳；后面是环境写的，"
        "不训练。旁边：第一个词元的功劳随工具输出长度的变化，三种数法各一条线。",
        "A row of tokens for the prompt and for each of three turns: three tokens of "
        "the policy with a ring and a bar for their credit, then the environment's, "
        "not trained. Beside them the credit of the first token over the length of the "
        "tool's output, a line for each way to count.",
    ),
    presets=[
        Preset(("数所有词元", "every token"), unit="t", gamma=0.9, tool=6, shift=0),
        Preset(("工具只回一个", "a terse tool"), unit="t", gamma=0.9, tool=1, shift=0),
        Preset(
            ("工具很啰嗦", "a talkative one"), unit="t", gamma=0.9, tool=10, shift=0
        ),
        Preset(("数动作词元", "action tokens"), unit="m", gamma=0.9, tool=10, shift=0),
        Preset(("数轮次", "turns"), unit="k", gamma=0.7, tool=10, shift=0),
        Preset(("掩码错开一位", "mask off by one"), unit="m", gamma=1.0, shift=1),
    ],
    wide=True,
)
