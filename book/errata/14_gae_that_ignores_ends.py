"""GAE that ignores the ends."""

ARROW = "credit"
SHOWN = "05_critics_gae.ipynb#exercise-2-find-the-bug-gae-that-leaks-over-an-edge"
SPEAKS_OF = {"gae": "episodes"}
WORDS = {
    "zh": {
        "purpose": "几条轨迹接在一行里的 GAE",
        "mistake": "GAE 不看终止标志",
        "what": (
            "几条轨迹接在一行里，递推一路往回走，下一条的功劳就漏进了这一条。这里每条"
            "都正常终止；被截断时，下一个价值还要取自真实的下一状态。"
        ),
        "law": "改下一条的奖励，这一条的优势不变。",
    },
    "en": {
        "purpose": "GAE over episodes packed in one row",
        "mistake": "GAE that ignores the ends",
        "what": (
            "Several episodes stand in one row, the recursion walks back through all "
            "of them, and the credit of the next leaks into this one. Here every "
            "episode terminates; at a truncation the next value is that of the real "
            "next state."
        ),
        "law": "Another reward in the next episode changes nothing in this one.",
    },
}


def wrong(r, V, ended):
    A, after, out = 0.0, 0.0, []
    for t in reversed(range(len(r))):
        A = r[t] + after - V[t] + 0.9 * A
        after = V[t]
        out.append(A)
    return out[::-1]


def right(r, V, ended):
    A, after, out = 0.0, 0.0, []
    for t in reversed(range(len(r))):
        A, after = (0.0, 0.0) if ended[t] else (A, after)
        A = r[t] + after - V[t] + 0.9 * A
        after = V[t]
        out.append(A)
    return out[::-1]


def law(f):
    V, ended = [0.5, 0.5, 0.5], [False, True, True]
    return f([0, 1, 0], V, ended)[:2] == f([0, 1, 9], V, ended)[:2]
