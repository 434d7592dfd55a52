"""One batch under every algorithm (一批回答，各种算法): which cells each one changes.

Eight stored responses, two prompts of four. The figure makes a `Batch` of them and
computes credit and loss with the package, station by station. The stored data are texts
and measurements: the critic's values, and log-probabilities before the update and after
each of four updates by GRPO. ``python -m tokenbook.lab.records`` recomputes them.
"""

import json
import math
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Preset,
    caption,
    card,
    chip,
    h,
    legend,
    row,
    scene,
    shade,
    side,
    stack,
    strip,
    tile,
)
from tokenbook.figures import family
from tokenbook.figures._thread import STAGES
from tokenbook.languages.glossary import terms
from tokencredit import ALGORITHMS, Algorithm, Batch, aggregate_loss, policy_loss
from tokencredit.training import assign_credit

RECORD = json.loads(
    (Path(__file__).parent / "static" / "one_batch.json").read_text("utf-8")
)

PROMPTS = ("9□5□7=11?", "8□1□3=4?")
EACH = 4  # responses to a prompt
COUNT = EACH * len(PROMPTS)
WIDEST = 18  # tokens
UPDATES = 4
MAX_LENGTH = 40  # of the task
FILLED = (0, 1, 4, 2, 3, 5, 6, 7)  # the order in which rows become right
LARGEST = 2.0  # credit that fills a cell
LONGEST = 3.0  # push that fills a bar
SEEN = 0.05  # a smaller change of a push or a credit is none
ARROWS = {  # arrow of the thread that a field belongs to; KL: see `arrows`
    "length_penalty": "reward",
    "keep": "credit",
    "refill": "tokens",
    "credit_level": "credit",
    "advantage": "credit",
    "whiten": "credit",
    "value_coef": "gradient",
    "value_clip": "gradient",
}
SAYS = {
    "REINFORCE": (
        "每个词元都领到整条回答的奖励，答错的一个词元也推不动。",
        "Every token gets the reward of its response, so 0 pushes nothing.",
    ),
    "RLOO": (
        "奖励减去同题另外三条的平均：答错的从此也往下推。",
        "Minus the mean of the other three responses to the same prompt.",
    ),
    "PPO": (
        "价值网络给每个词元各自的优势；比率走远了的词元停下。",
        "A critic gives each token its own advantage; a clip stops some tokens.",
    ),
    "GRPO": (
        "不要价值网络，和同组比：一条回答一个优势，短回答的词元权重更大。",
        "No critic: a response is compared with its group, short ones weigh more.",
    ),
    "REINFORCE++": (
        "不要价值网络：减去同组的平均，再除以整批的标准差。",
        "No critic: minus the group's mean, over the std of the whole batch.",
    ),
    "Dr. GRPO": (
        "不除以组的标准差，也不除以回答自己的长度。",
        "Divided neither by the group's std nor by the response's own length.",
    ),
    "DAPO": (
        "全对或全错的组不要，另采样补上；上界放宽到 1.28，词元权重相同。",
        "Groups all alike are replaced; the clip is wider above; tokens weigh alike.",
    ),
    "GSPO": (
        "整条回答一个比率，范围是万分之几：要停就整条停。",
        "One ratio per response, in a tiny range: a response stops as a whole.",
    ),
    "GMPO": (
        "比率先逐词元裁剪，再取几何平均：整条回答一个权重。",
        "Clips each ratio, then takes their geometric mean: one weight.",
    ),
    "CISPO": (
        "没有词元被裁掉：比率只是一个到 5 封顶的权重。",
        "No token is clipped: its ratio is a weight, and that is capped at 5.",
    ),
    "SAPO": (
        "门慢慢关：比率离 1 越远，推力越小，但不突然变成 0。",
        "A soft gate: the further the ratio from 1, the weaker the push.",
    ),
    "DPPO": (
        "看概率差了多少，不看比率：差不到 0.15 的接着学。",
        "Asks how far the probability moved: up to 0.15 a token learns on.",
    ),
    "BAPO": (
        "裁剪的上下界每一步另选，要让正负两边的份额相当。",
        "Chooses both ends of the clip anew, to balance positives and negatives.",
    ),
    "BAPO, un-clipped": (
        "规则照旧，只数还有梯度的词元；本书的变体。",
        "The rule counts tokens with a gradient only: our variant.",
    ),
    "GRPO + TIS": (
        "再乘上训练引擎与推理引擎的概率之比，到 2 封顶。",
        "Times training over inference engine's probability, capped at 2.",
    ),
    "GRPO + IcePop": (
        "训练引擎与推理引擎的概率相差太远的词元，这一步不学。",
        "Skips tokens to which the two engines give too different probabilities.",
    ),
    "StarPO": (
        "KL 从损失搬到奖励里，熵系数很小：一个回合里几乎看不出。",
        "The KL moves from the loss to the reward: in one turn hardly to be seen.",
    ),
    "StarPO-S": (
        "只留奖励方差最大的那一组；上界放宽到 1.28。",
        "Keeps the group of largest reward variance; the clip is wider above.",
    ),
}


class Cells(NamedTuple):
    """Credit and push of a response under an algorithm, one entry per token."""

    credit: list[float]
    push: list[float]
    dead: list[bool]  # the policy's loss has no gradient, whatever the KL does
    kept: bool


@cache
def responses(right: int) -> list[dict]:
    """The recorded rows of the batch with a given number of right ones."""
    correct = FILLED[:right]
    return [
        RECORD[place // EACH]["right" if place in correct else "wrong"][place % EACH]
        | {"score": int(place in correct)}
        for place in range(COUNT)
    ]


def padded(lists) -> torch.Tensor:
    """Rows of unequal length as one tensor, zeros behind their ends."""
    out = torch.zeros(len(lists), WIDEST, dtype=torch.float64)
    for k, one in enumerate(lists):
        out[k, : len(one)] = torch.tensor(one, dtype=torch.float64)
    return out


@cache
def batch(right: int) -> Batch:
    """The eight rows as a `Batch` 这一批; tokens hold the row's number."""
    rows = responses(right)
    mask = padded([[1] * len(one["old"]) for one in rows]) > 0
    rewards = torch.zeros(mask.shape, dtype=torch.float64)
    for k, one in enumerate(rows):
        rewards[k, len(one["old"]) - 1] = one["score"]
    old = padded([one["old"] for one in rows])
    return Batch(
        tokens=torch.arange(COUNT)[:, None].expand(mask.shape),
        mask=mask,
        old_log_probs=old,
        ref_log_probs=old,
        sampler_log_probs=padded([one["sampler"] for one in rows]),
        values=padded([one["values"] for one in rows]),
        last_values=torch.zeros(COUNT, dtype=torch.float64),
        rewards=rewards,
        groups=torch.arange(COUNT) // EACH,
        truncated=torch.zeros(COUNT, dtype=torch.bool),
        max_length=MAX_LENGTH,
    )


def mean_weight(rows: Batch, how: str) -> float:
    """Mean factor on a token's loss under a rule of aggregation."""
    each = torch.zeros_like(rows.old_log_probs, requires_grad=True)
    norm = rows.max_length if how == "seq-mean-token-sum-norm" else None
    aggregate_loss(each, rows.mask, how, max_length=norm).backward()
    return each.grad[rows.mask].mean().item()


@cache
def cells(name: str, right: int, updates: int) -> list[Cells]:
    """Credit and push of every token under an entry of ALGORITHMS 每个词元的推力.

    The push is minus the gradient of the loss on the log-probability of the token, in
    units of the mean weight of a token, because a constant factor belongs to the
    learning rate.

    Args:
        name: the entry.
        right: how many of the eight are right.
        updates: how many updates ago they were sampled.

    Returns:
        for each response its cells; a response that is filtered out has zeros.
    """
    algorithm = ALGORITHMS[name]
    learned = assign_credit(algorithm, batch(right))
    lengths = [len(one["old"]) for one in responses(right)]
    found = [Cells([0.0] * n, [0.0] * n, [False] * n, False) for n in lengths]
    if not len(learned):
        return found
    rows = learned.tokens[:, 0].tolist()
    now = padded([one["now"][updates - 1] for one in responses(right)])
    now = now[rows] if updates else learned.old_log_probs
    push = pushes(algorithm, learned, now)
    bare = pushes(replace(algorithm, kl_coef=0.0), learned, now).abs() < 1e-9
    for k, place in enumerate(rows):
        parts = (learned.advantages, push, bare)
        live = slice(0, lengths[place])
        found[place] = Cells(*(part[k, live].tolist() for part in parts), True)
    return found


def pushes(algorithm: Algorithm, learned: Batch, now: torch.Tensor) -> torch.Tensor:
    """Minus the gradient on every log-probability, in units of the mean weight."""
    leaf = now.clone().requires_grad_()
    loss = policy_loss(
        algorithm, leaf, entropies=torch.zeros_like(leaf), **learned.as_dict()
    )
    (slope,) = torch.autograd.grad(loss, leaf)
    return -slope / mean_weight(learned, algorithm.aggregation)


def stands(name: str) -> bool:
    """Whether the batch has all that an entry needs; it has no turns and no teacher."""
    if ALGORITHMS[name].taught:
        return False
    try:
        cells(name, 3, 1)
    except ValueError:
        return False
    return True


STATIONS = [name for name in ALGORITHMS if stands(name)]
TRUNK = family.ancestors("GRPO")


def written(value):
    """A field's value in a form that can be compared."""
    return (value.func, value.keywords) if isinstance(value, partial) else value


def changes(name: str) -> list[str]:
    """The fields that an entry changes of its parent, and that do anything there."""
    algorithm = ALGORITHMS[name]
    parent = ALGORITHMS[algorithm.parent]
    return [
        field
        for field in family.CHOICES
        if family.acts(algorithm, field)
        and written(getattr(algorithm, field)) != written(getattr(parent, field))
    ]


def arrows(name: str) -> list[str]:
    """The arrows of the thread that an entry changes of its parent 改了哪几支箭头."""
    algorithm = ALGORITHMS[name]
    if algorithm.parent is None:
        return list(STAGES)[1:]
    parent, lit = ALGORITHMS[algorithm.parent], set()
    for field in changes(name):
        if field.startswith("kl_"):
            lit |= {
                {"reward": "reward", "loss": "weight"}[one.kl_in]
                for one in (algorithm, parent)
                if one.kl_coef
            }
        else:
            lit.add(ARROWS.get(field, "weight"))
    return [stage for stage in STAGES if stage in lit]


def says(L, name: str) -> str:
    """The change of a station in one sentence; for a new one, its fields."""
    if name in SAYS:
        return L(*SAYS[name])
    named = changes(name)
    return L(f"改了 {'、'.join(named)}。", f"Changes {', '.join(named)}.")


def station(name: str, chosen: str):
    """A station, and its descendants that are not on the trunk."""
    line = family.ancestors(chosen)
    card_ = card(
        name,
        pick=("station", STATIONS.index(name)),
        pressed=name == chosen,
        look="passed" if name in line else "",
    )
    after = [
        other
        for other in STATIONS
        if ALGORITHMS[other].parent == name and other not in TRUNK
    ]
    kids = [station(other, chosen) for other in after]
    return h("div", card_, h("div", *kids, cls="ex-kids") if kids else None)


def metro(chosen: str):
    """The map: the trunk from left to right, branches under their stations."""
    stops = []
    for name in TRUNK:
        stop = station(name, chosen)
        stop.set("class", "ex-stop")
        stops.append(stop)
    return h("div", *stops, cls="ex-metro")


def changed(new: Cells, old: Cells) -> list[bool]:
    """Mask of tokens that another algorithm treats differently 变了的格子."""
    return [
        new.kept != old.kept or abs(c - d) >= SEEN or abs(p - q) >= SEEN
        for c, d, p, q in zip(new.credit, old.credit, new.push, old.push, strict=True)
    ]


def coarse(x: float) -> float:
    """A bar or a fill in steps of a tenth, a pixel or two; ties go up."""
    return math.floor(10 * max(-1.0, min(1.0, x)) + 0.5 + 1e-6) / 10


def drawn(place: int, one: dict, new: Cells, old: Cells | None):
    """A row of cells; those that differ from the station before are marked."""
    moved = changed(new, old) if old else [False] * len(one["text"])
    chips = [
        chip(
            word,
            credit=coarse(shade(new.credit[t], LARGEST)),
            push=coarse(new.push[t] / LONGEST),
            trained=new.kept,
            dead=new.dead[t],
            look="new" * moved[t],
        )
        for t, word in enumerate(one["text"])
    ]
    room = longest(place) - len(chips)
    chips += [chip("", trained=False, look="plain") for _ in range(room)]
    score = str(one["score"])
    line = row(str(place + 1), chips, score, look="slim batch")
    line[1].set("style", f"--n:{WIDEST}")
    return line


@cache
def longest(place: int) -> int:
    """Most tokens of a row, right or wrong."""
    pair = (RECORD[place // EACH][name][place % EACH] for name in ("right", "wrong"))
    return max(len(one["text"]) for one in pair)


def draw(L, station, right, updates):
    name = STATIONS[station]
    before = ALGORITHMS[name].parent
    now = cells(name, right, updates)
    old = cells(before, right, updates) if before else [None] * COUNT
    rows = responses(right)
    lines = [drawn(k, rows[k], now[k], old[k]) for k in range(COUNT)]
    blocks = [
        stack(
            caption(
                L(
                    f"题目 {prompt} · 最右一列是得分",
                    f"Prompt {prompt} · last column: score",
                )
            ),
            *lines[at : at + EACH],
        )
        for at, prompt in zip(range(0, COUNT, EACH), PROMPTS, strict=True)
    ]
    lit = arrows(name)
    thread = strip(
        *(
            chip(
                "→ " + family.word_of(L, stage),
                trained=False,
                look="plain" + " sel" * (stage in lit),
            )
            for stage in list(STAGES)[1:]
        ),
        ways="",
    )
    total = sum(len(one.push) for one in now)
    learning = sum(one.kept * (len(one.dead) - sum(one.dead)) for one in now)
    given = [c for one in now for c in one.credit]
    up, down = max(given) > 0, min(given) < 0
    route = f"{before} → {name}" if before else name
    told = says(L, name)
    if not learning and right in (0, COUNT):
        told = L(
            "得分都一样，没有可比的，一个词元也推不动。",
            "All scores are alike: nothing to compare, no token is pushed.",
        )
    return scene(
        metro(name),
        h("div", thread, cls="ex-descent"),
        side(*blocks),
        legend(
            ("up chip", L("优势为正", "advantage > 0"), up),
            ("down chip", L("优势为负", "advantage < 0"), down),
            ("old bar", L("柱：推力，同一刻度", "bar: push, one scale")),
            ("off", L("没有梯度", "no gradient"), any(any(x.dead) for x in now)),
            ("sel line", L("和上一站不同", "changed from the station before"), before),
        ),
        tiles=[
            tile(L("有梯度的词元", "tokens with a gradient"), f"{learning} / {total}"),
            tile(
                L("留下的回答", "responses kept"),
                f"{sum(one.kept for one in now)} / {COUNT}",
            ),
        ],
        says=f"{route}{L('：', ': ')}{told}",
    )


def at(name):
    return STATIONS.index(name)


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "station",
            range(len(STATIONS)),
            at("GRPO"),
            terms("algorithm"),
            kind="hidden",
        ),
        Dial("right", range(COUNT + 1), 3, ("八条里对几条", "correct, of eight")),
        Dial(
            "updates",
            [0, 2, UPDATES],
            2,
            ("采样后更新了几步", "updates since sampling"),
        ),
    ],
    title=(
        "同样八条回答，留下哪些、每个词元怎样被推，由算法决定",
        "Eight responses: an algorithm decides which stay and how each token is pushed",
    ),
    alt=(
        "一张路线图，每站一种算法；下面两道题各四条回答，每个词元画出优势和推力。",
        "A map with an algorithm at each station; below, four responses to each of two "
        "prompts, every token with its advantage and its push.",
    ),
    presets=[
        Preset(("和同组比", "a group"), station=at("GRPO"), right=3, updates=2),
        Preset(("价值网络", "a critic"), station=at("PPO"), right=3, updates=2),
        Preset(
            ("不裁掉词元", "no token is clipped"),
            station=at("CISPO"),
            right=3,
            updates=4,
        ),
        Preset(
            ("丢掉一组", "a group dropped"),
            station=at("DAPO"),
            right=5,
            updates=2,
        ),
        Preset(
            ("整条裁掉", "whole responses clipped"),
            station=at("GSPO"),
            right=3,
            updates=2,
        ),
    ],
    note=(
        "回答和概率存自填符号的热启动，又用 GRPO 更新了四步；$ 是结束符。柱长以一个词元"
        "的平均权重为单位，因为常数倍归学习率管。只剩 KL 在推的词元也算没有梯度，熵奖励"
        "不画；推理引擎与训练引擎的差别，只有 GRPO + TIS 和 GRPO + IcePop 会考虑。OPD "
        "要老师给每个词元打分，这一批没有老师，所以不设站。",
        "Responses and probabilities are those of the warm start of the signs task and "
        "of four updates by GRPO; $ ends a response. Bars are in units of a token's "
        "mean weight, because a constant factor belongs to the learning rate. A token "
        "that only the KL pushes counts as without gradient, and the entropy bonus is "
        "not drawn. Only GRPO + TIS and GRPO + IcePop look at the inference engine. "
        "OPD is no station: it needs a teacher's scores, which this batch lacks.",
    ),
    wide=True,
)
