"""A return that stops at an observation."""

ARROW = "credit"
SHOWN = "04_returns_credit.ipynb#exercise-2-find-the-bug-reset-at-every-tool"
SPEAKS_OF = {"returns": "row plain"}
WORDS = {
    "zh": {
        "purpose": "多轮轨迹里每个词元的回报",
        "mistake": "回报走到观测就清零",
        "what": (
            "掩码为假有两种：结尾之后的填充，和中间的观测。乘以掩码本是为了在填充处清零，"
            "却在观测处也清零，于是最后的奖励只发到最后一个轮次，"
            "调用工具的那些词元一分也没有。"
        ),
        "law": "最后一步的奖励，第一个动作也得到。",
    },
    "en": {
        "purpose": "The return of every token of a multi-turn trajectory",
        "mistake": "A return that stops at an observation",
        "what": (
            "The mask is false in two places: in the padding after the end, and at "
            "observations in between. Multiplying by it is meant for the padding and "
            "resets the sum at observations too, so the final reward reaches only the "
            "last turn, and the tokens that called the tool get nothing."
        ),
        "law": "A reward on the last step also reaches the first action.",
    },
}


def wrong(rewards, mask):
    after, out = 0.0, []
    for r, live in zip(rewards[::-1], mask[::-1], strict=True):
        after = r + after
        out.append(after)
        after = after * live  # start anew in the padding
    return out[::-1]


def right(rewards, mask):
    after, out = 0.0, []
    for r, live in zip(rewards[::-1], mask[::-1], strict=True):
        after = r + after if live else after
        out.append(after * live)
    return out[::-1]


def law(f):
    action, observation = True, False
    mask = [action, observation, action]
    return f([0.0, 0.0, 1.0], mask)[0] == 1
