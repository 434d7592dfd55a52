"""A map of later methods (后来的方法), on the arrows that they change.

The changes of an algorithm of ALGORITHMS are computed: its line of parents, and the
fields in which it differs from the parent. Methods without a row are described by hand.
"""

from dataclasses import dataclass, fields
from functools import partial

from tokenbook.explorer import (
    Dial,
    Figure,
    Preset,
    caption,
    card,
    chip,
    h,
    line,
    scene,
    side,
    stack,
    strip,
    tile,
)
from tokenbook.figures._thread import STAGES
from tokencredit import ALGORITHMS, Algorithm

TITLES = ("name", "paper", "url", "parent", "sources")
CHOICES = [f.name for f in fields(Algorithm) if f.name not in TITLES]
LINES = 5  # of code, at most
DEEP = 4  # generations, at most


@dataclass(frozen=True)
class Method:
    """A method of 2025 or 2026 一种方法.

    Args:
        name: on its card; the key of its row, if `row` is true.
        stage: the end of the arrow that it changes.
        says: its change, in a sentence.
        ships: in how many of the sixteen libraries of the survey `counts` was found.
        code: its change in code; empty for a row, whose changes are computed.
        parents: the rows that it starts from; empty for a row.
        also: ends of the other arrows, if a recipe changes several.
        counts: what the survey counted, where it is not the method itself.
    """

    name: str
    stage: str
    says: tuple[str, str]
    ships: int
    code: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    counts: tuple[str, str] = ("有它的训练库，共 16 个", "training libraries, of 16")

    @property
    def stages(self) -> tuple[str, ...]:
        """The ends of its arrows 它改的箭头."""
        return (self.stage, *self.also)


METHODS = (
    Method(
        "ScaleRL",
        "tokens",
        (
            "一整套配方，改了三支箭头；先问上限变没变，再问快了没有",
            "A whole recipe, on three arrows: does the ceiling move, or the speed?",
        ),
        13,
        (
            "sampler runs up to 8 updates behind",
            "keep = drop zero-variance groups",
            "s = std of the batch",
            "loss = cispo_loss",
            "logits in float32",
        ),
        ("PPO", "GRPO", "CISPO"),
        ("credit", "weight"),
        ("能异步采样的训练库，共 16 个", "asynchronous libraries, of 16"),
    ),
    Method(
        "OPD",
        "reward",
        (
            "同策略蒸馏：学生自己写，老师给每个词元打分",
            "On-policy distillation: the student writes, a teacher scores every token",
        ),
        12,
    ),
    Method(
        "REINFORCE++",
        "credit",
        (
            "标准差取整批的，不取每组的",
            "The standard deviation is that of the batch, not of each group",
        ),
        9,
    ),
    Method(
        "GDPO",
        "credit",
        (
            "奖励有几项时，先逐项标准化，再相加",
            "Several rewards: standardise each of them, then add",
        ),
        5,
        (
            "A = sum(w[k] * group_relative(R[k]))",
            "A = masked_whiten(A)",
        ),
        ("REINFORCE", "PPO", "GRPO"),
    ),
    Method(
        "GiGPO",
        "credit",
        (
            "多轮：到过同一个状态的几步，再比一次",
            "Several turns: steps taken from the same state are compared again",
        ),
        1,
        (
            "A_episode = group_relative(R, prompt)",
            "A_step = group_relative(to_go, (prompt, state))",
            "A = A_episode + omega * A_step",
        ),
        ("REINFORCE", "PPO", "GRPO"),
    ),
    Method(
        "VAPO",
        "credit",
        (
            "价值网络回来了，λ 随回答的长度变",
            "The critic is back, and λ depends on the length of the response",
        ),
        1,
        (
            "warm up V on Monte-Carlo returns",
            "lam = 1 - 1 / (0.05 * length)",
            "returns for V: lam = 1",
            "loss += mu * NLL of correct responses",
        ),
        ("REINFORCE", "PPO"),
    ),
    Method(
        "GMPO",
        "weight",
        (
            "先逐词元裁剪，再取几何平均，一条回答一个权重",
            "Clip every token, then take the geometric mean: one weight a response",
        ),
        2,
    ),
    Method(
        "SAPO",
        "weight",
        (
            "门慢慢关上，不再突然关死",
            "A gate that closes slowly instead of a clip",
        ),
        6,
    ),
    Method(
        "DPPO",
        "weight",
        (
            "限制概率的差，不限制概率的比",
            "Limits the difference of probabilities, not their ratio",
        ),
        3,
    ),
    Method(
        "GRPO + TIS",
        "weight",
        (
            "采样引擎和训练引擎算得不一样，补一个截断的权重",
            "A truncated weight for a sampler that computes differently",
        ),
        13,
        counts=("有这类修正的训练库，共 16 个", "libraries that correct this, of 16"),
    ),
    Method(
        "Clip-Cov",
        "gradient",
        (
            "最伤熵的那几个词元，这一步没有梯度",
            "The tokens that cost most entropy get no gradient this time",
        ),
        3,
        (
            "cov = (A - mean(A)) * (logp - mean(logp))",
            "loss[some tokens with 1 < cov < 5] = 0",
        ),
        ("REINFORCE", "PPO", "GRPO"),
    ),
)
NAMES = [method.name for method in METHODS]


def dial_text(value: object) -> str:
    """A chosen number, or None, True, a name."""
    return f"{value:g}" if type(value) in (int, float) else repr(value)


def value_text(value: object) -> str:
    """A field's value as code, with the numbers that were chosen."""
    if isinstance(value, partial):
        dials = ", ".join(
            f"{name}={dial_text(x)}" for name, x in value.keywords.items()
        )
        return f"{value.func.__name__}({dials})"
    return value.__name__ if callable(value) else repr(value)


def acts(algorithm: Algorithm, name: str) -> bool:
    """Whether a field has an effect; without KL or critic some have none."""
    if name in ("kl_estimator", "kl_in"):
        return bool(algorithm.kl_coef)
    return algorithm.critic or name not in ("value_coef", "value_clip")


def differences(algorithm: Algorithm) -> list[str]:
    """Differences of a row from its parent 与上一代的不同, as lines of code."""
    parent = ALGORITHMS[algorithm.parent]
    return [
        f"{name} = {value_text(getattr(algorithm, name))}"
        for name in CHOICES
        if acts(algorithm, name)
        and value_text(getattr(algorithm, name)) != value_text(getattr(parent, name))
    ]


def ancestors(name: str) -> list[str]:
    """The line from the first row down to this one 家谱上的一支."""
    parent = ALGORITHMS[name].parent
    return [*(ancestors(parent) if parent else ()), name]


def code_of(method: Method) -> list[str]:
    """Its few lines of code, computed for a row."""
    if method.code:
        return list(method.code)
    return differences(ALGORITHMS[method.name])


def line_of(method: Method) -> list[str]:
    """Rows from the first one to the method."""
    if method.code:
        return [*method.parents, method.name]
    return ancestors(method.name)


def word_of(L, stage):
    """A stage of the thread in a language."""
    return L(STAGES[stage]["zh"], STAGES[stage]["en"])


def draw(L, method):
    chosen = METHODS[method]
    rows = []
    for stage in list(STAGES)[1:]:
        cards = [
            card(
                each.name,
                pick=("method", k),
                pressed=k == method,
                look="" if each.code else "ink",
            )
            for k, each in enumerate(METHODS)
            if each.stage == stage
        ]
        rows.append(
            h(
                "div",
                caption("→ " + word_of(L, stage)),
                line(*cards),
                cls="ex-arrow",
            )
        )
    line_up = line_of(chosen)
    chips = [
        chip(
            ("" if k == 0 else "→ ") + name,
            trained=False,
            look="plain" + " sel" * (k == len(line_up) - 1),
        )
        for k, name in enumerate(line_up)
    ]
    chips += [chip("", trained=False, look="plain")] * (DEEP - len(chips))
    thread = [
        chip(
            "→ " + word_of(L, stage),
            trained=False,
            look="plain" + " sel" * (stage in chosen.stages),
        )
        for stage in list(STAGES)[1:]
    ]
    code = code_of(chosen)
    lines = code + [""] * (LINES - len(code))
    several = len(chosen.stages)
    has = L("有", "yes") if not chosen.code else L("没有", "no")
    return scene(
        side(
            stack(
                *rows,
                caption(
                    L(
                        "有底色的：在 ALGORITHMS 里有自己的一行",
                        "shaded: has a row of its own in ALGORITHMS",
                    )
                ),
            ),
            stack(
                h("p", L(*chosen.says), cls="ex-says"),
                caption(L("改的是哪一支箭头", "what it changes")),
                h("div", strip(*thread, ways=""), cls="ex-descent"),
                caption(L("从哪里来", "where it comes from")),
                h("div", strip(*chips, ways=""), cls="ex-descent"),
                caption(
                    L("代码里主要改这几行", "the main lines that change")
                    if chosen.code
                    else L("代码里只差这几行", "all that changes in the code")
                ),
                h(
                    "div",
                    *(h("p", text) for text in lines),
                    cls="ex-listing",
                ),
            ),
            shares=(1, 1.15),
        ),
        tiles=[
            tile(
                L("改的箭头", "it changes"),
                L(f"{several} 支", f"{several} arrows")
                if several > 1
                else word_of(L, chosen.stage),
            ),
            tile(L("在 ALGORITHMS 里", "a row of ALGORITHMS"), has),
            tile(L(*chosen.counts), str(chosen.ships)),
        ],
    )


def start(name):
    return NAMES.index(name)


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "method",
            range(len(METHODS)),
            start("SAPO"),
            ("方法", "method"),
            kind="hidden",
        )
    ],
    title=(
        "后来的方法大多只改一支箭头，其余照旧",
        "Most of what came after changes one arrow and keeps the rest",
    ),
    alt=(
        "五支箭头，每支下面是改动它的方法；选中的方法写出它的上一代和几行代码。",
        "Five arrows with the methods that change each of them; the chosen one shows "
        "its line of parents and a few lines of code.",
    ),
    presets=[
        Preset(("软门控 SAPO", "a soft gate"), method=start("SAPO")),
        Preset(("整批的标准差", "the batch's std"), method=start("REINFORCE++")),
        Preset(("老师打分", "a teacher's scores"), method=start("OPD")),
        Preset(("两级比较", "two comparisons"), method=start("GiGPO")),
    ],
    wide=True,
)
