"""Three clocks of a discount (折扣按什么计步), with a calculator's words between."""

from functools import cache

import torch

from tokenbook.explorer import Dial, Figure, Preset, chip, number, row, scene, shade
from tokenbook.languages.glossary import terms
from tokencredit import discounted_return, turn_gae

GAMMAS = [0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 1.0]
TOOL = [0, 1, 3, 10, 30, 100]  # tokens of the calculator's first output
TURNS = ("9+5+7=", "9−5+7=", "$")  # the policy's tokens
SECOND = 3  # tokens of the calculator's second output
CLOCKS = ("action", "every", "turn")


def pieces(tool):
    """Lengths of the policy's and the calculator's texts, in turn (作者交替)."""
    first, second, last = map(len, TURNS)
    return [(first, True), (tool, False), (second, True), (SECOND, False), (last, True)]


@cache
def clocks(tool):
    """Steps from each action token to the reward, by each clock (三种计步).

    Args:
        tool: tokens of the calculator's first output.

    Returns:
        one list per clock, over the action tokens: numbers of action tokens, of all
        tokens, and of turns to the end.
    """
    who = [own for count, own in pieces(tool) for _ in range(count)]
    turn = [k for k, words in enumerate(TURNS) for _ in words]
    places = [t for t, own in enumerate(who) if own]
    return {
        "action": [len(places) - 1 - k for k in range(len(places))],
        "every": [places[-1] - t for t in places],
        "turn": [turn[-1] - k for k in turn],
    }


@cache
def credits(gamma, tool):
    """Return of each action token with a reward of 1 on the last (回报).

    Args:
        gamma: discount per step, whatever counts as one.
        tool: tokens of the calculator's first output.

    Returns:
        one list per clock, over the action tokens.
    """
    who = [own for count, own in pieces(tool) for _ in range(count)]
    mask, ends = torch.tensor([who]), torch.zeros(1, len(who), dtype=torch.bool)
    end = 0
    for count, own in pieces(tool):  # a turn ends even where the tool writes nothing
        end += count
        ends[0, end - 1] |= own
    rewards = torch.zeros(mask.shape, dtype=torch.float64)
    rewards[0, -1] = 1.0
    nothing = torch.zeros_like(rewards)
    found = {
        "action": discounted_return(rewards, mask, gamma=gamma),
        "every": discounted_return(rewards, gamma=gamma),
        "turn": turn_gae(rewards, nothing, mask, ends, lam=1.0, turn_gamma=gamma),
    }
    return {clock: x[mask].tolist() for clock, x in found.items()}


def draw(L, gamma, tool):
    counts, found = clocks(int(tool)), credits(gamma, int(tool))
    gaps = {
        "action": ("0", "0"),
        "every": (f"+{tool:g}"[-3:], f"+{SECOND}"),  # three signs fit on a phone
        "turn": ("+1", "+1"),
    }

    def spread(own, between):
        """The chips of a row: the policy's, with the calculator's in between."""
        own, chips = list(own), []
        for k, words in enumerate(TURNS):
            chips += own[: len(words)]
            own = own[len(words) :]
            chips += between[k : k + 1]
        return chips

    def env(word):
        return chip(word, trained=False)

    heads = spread(
        [chip(w, trained=False, look="plain") for words in TURNS for w in words],
        [env(f"{n:g}") for n in (tool, SECOND)],
    )
    names = {
        "action": (
            L("按动作词元", "action tokens"),
            L("计算器写的不算", "tool's skipped"),
        ),
        "every": (
            L("按所有词元", "all tokens"),
            L("谁写的都算", "whoever wrote them"),
        ),
        "turn": (
            L("按轮次", "turns"),
            L("一次发言算一步", "one step per turn"),
        ),
    }
    drawn = [row(L("轨迹", "trajectory"), heads, sub="9□5□7=11?", look="heads")]
    for clock in CLOCKS:
        label, sub = names[clock]
        own = [
            chip(str(count), credit=shade(credit), push=credit)
            for count, credit in zip(counts[clock], found[clock], strict=True)
        ]
        drawn.append(
            row(
                label,
                spread(own, [env(word) for word in gaps[clock]]),
                number(found[clock][0], 3),
                sub=sub,
                end_sub=L("第一个词元", "first token"),
                look="up",
            )
        )
    return scene(*drawn)


FIGURE = Figure(
    draw,
    dials=[
        Dial("gamma", GAMMAS, 0.9, terms("discount"), "γ"),
        Dial(
            "tool",
            TOOL,
            3,
            ("计算器写的词元", "the tool's tokens"),
            "n",
        ),
    ],
    title=(
        "同一个 γ，按什么计步，第一个词元的功劳就差出几倍",
        "With the same γ, the first token's credit depends on what counts as a step",
    ),
    alt=(
        "一条多轮轨迹，三行计数：从每个词元到奖励还有几个动作词元、几个词元、几个轮次。"
        "底色是打折以后的回报，行末是第一个词元的回报。",
        "A trajectory with three rows of counters: how many action tokens, tokens of "
        "any kind, and turns lie between each token and the reward. The fill is the "
        "discounted return; at the end of a row that of the first token.",
    ),
    presets=[
        Preset(("计算器写 3 个词元", "the calculator writes 3"), gamma=0.9, tool=3),
        Preset(
            ("换成啰嗦的工具：100 个", "a talkative tool: 100"), gamma=0.9, tool=100
        ),
        Preset(("没有输出", "no output at all"), gamma=0.9, tool=0),
        Preset(("γ = 0.99", "γ = 0.99"), gamma=0.99, tool=100),
        Preset(("γ = 1：三行相同", "γ = 1: all the same"), gamma=1.0, tool=100),
    ],
    note=(
        "格子里的数是到奖励还有几步，柱高和底色是回报。灰色两列是计算器写了几个词元。",
        "A number says how many steps away the reward is; bar and fill are the return. "
        "The two grey columns say how many tokens the tool wrote.",
    ),
    wide=True,
)
