"""A real tool call (工具调用) in a chat template: writers, and the mask."""

from functools import cache

from tokenbook.explorer import (
    Dial,
    Figure,
    Preset,
    chip,
    legend,
    scene,
    strip,
    tile,
)

# The text that Qwen3's chat template makes of a question, a call of a calculator, its
# result and the last response; the system part, which lists the tools, is left out.
# Pieces as a reader sees them; a tokenizer cuts some of them finer.
CALL = (
    ("prompt", ["<|im_start|>", "user", "\n", "9□5□7=11?", "<|im_end|>", "\n"]),
    ("prompt", ["<|im_start|>", "assistant", "\n"]),
    (
        "model",
        [
            *("<tool_call>", "\n", '{"name":', ' "calculate",', ' "arguments":'),
            *(' {"expression":', ' "9+5-7"}}', "\n", "</tool_call>", "<|im_end|>"),
        ],
    ),
    ("env", ["\n", "<|im_start|>", "user", "\n", "<tool_response>", "\n", "7"]),
    ("env", ["\n", "</tool_response>", "<|im_end|>", "\n"]),
    ("env", ["<|im_start|>", "assistant", "\n"]),
    ("model", ["9-5+7=11", "<|im_end|>"]),
    ("env", ["\n"]),
)
RULES = ("sampled", "shifted", "part", "all")


@cache
def masks(rule):
    """Sampled pieces, and those that a rule trains (训练哪些).

    Args:
        rule: "sampled"; "shifted", the mask of the inputs used for the targets;
            "part", the assistant's messages from marker to line break; "all".

    Returns:
        two lists of booleans.
    """
    words = [word for _, piece in CALL for word in piece]
    sampled = [who == "model" for who, piece in CALL for _ in piece]
    if rule == "sampled":
        return sampled, sampled
    if rule == "all":
        return sampled, [j > 0 for j in range(len(words))]
    if rule == "shifted":
        return sampled, [False, *sampled[:-1]]
    taken, inside = [], False
    for j, word in enumerate(words):
        if word == "<|im_start|>":
            inside = words[j + 1] == "assistant"
        taken.append(inside)
    return sampled, taken


def draw(L, rule):
    rule = RULES[int(rule)]
    sampled, trained = masks(rule)
    whose = [who for who, piece in CALL for _ in piece]
    words = [word.strip(" ") for _, piece in CALL for word in piece]
    chips = [
        chip(
            word.replace("\n", "⏎"),
            credit=(0.45 if own else -0.45) if live else 0.0,
            trained=live,
            who=who,
            look="sel" if own != live else "",
        )
        for word, who, own, live in zip(words, whose, sampled, trained, strict=True)
    ]
    own = sum(sampled)
    foreign = sum(t and not s for s, t in zip(sampled, trained, strict=True))
    missed = sum(s and not t for s, t in zip(sampled, trained, strict=True))
    says = {
        "sampled": L(
            "训练的恰好是抽出来的词元：整个调用，最后的回答，两个结束符。",
            "Exactly what was sampled is trained: call, answer, and the end of each.",
        ),
        "shifted": L(
            "掩码跟着输入走：两段各漏掉第一个词元，却训练了模板的换行。",
            "The mask goes with the inputs: each turn loses its first token.",
        ),
        "part": L(
            "助手的整段都训练：段首的标记、角色名和两个换行都没有抽过。",
            "Whole messages: start marker, role and two line breaks were not sampled.",
        ),
        "all": L(
            "连题目和工具的结果也训练：策略会学着自己编造结果。",
            "Even prompt and result are trained: the policy learns to make results up.",
        ),
    }[rule]
    return scene(
        strip(*chips, ways=""),
        legend(
            ("up chip", L("抽出来的，训练", "sampled, trained")),
            ("wash", L("不训练", "not trained"), not all(trained)),
            ("down chip", L("没有抽，却训练", "not sampled, yet trained"), foreign > 0),
        ),
        tiles=[
            tile(L("训练的词元", "tokens trained"), str(sum(trained)), ""),
            tile(
                L("其中没有抽过", "of them not sampled"),
                str(foreign),
                "",
                look="down" if foreign else "",
            ),
            tile(
                L("漏掉的", "sampled, but missed"),
                str(missed),
                "",
                look="down" if missed else "",
            ),
            tile(
                L("抽出来的 / 训练的", "sampled / trained"),
                f"{own - missed} / {sum(trained)}",
                "",
            ),
        ],
        says=says,
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "rule",
            [0, 1, 2, 3],
            0,
            ("训练哪些", "train"),
            kind="hidden",
        )
    ],
    title=(
        "上下文大半是别人写的，只有策略抽出来的该训练",
        "Most of the context was written by others; what the policy sampled is trained",
    ),
    alt=(
        "一次工具调用的全部词元：题目和模板，策略写的调用，工具的结果，策略的回答。"
        "要训练的词元带框，训错的和漏掉的有记号。",
        "All tokens of a tool call: prompt and template, the call that the policy "
        "wrote, the tool's result, the response. Tokens trained have a ring; those "
        "that are trained by mistake or missed are marked.",
    ),
    presets=[
        Preset(("谁抽的训练谁", "train what was sampled"), rule=0),
        Preset(("掩码错开一位", "a mask off by one"), rule=1),
        Preset(("助手的整段", "whole assistant messages"), rule=2),
        Preset(("全部都训练", "train everything"), rule=3),
    ],
    wide=True,
)
