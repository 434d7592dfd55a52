"""Phenomena on *fill the signs* 现象表: from the store, with ranges and seeds.

    python -m tokenbook lab phenomena

A phenomenon compares two numbers of each seed: two moments of a run, or two arms. It
shows if every seed moves in its direction; the others are listed too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tokenbook.lab.reading import per_seed
from tokenbook.lab.store import results
from tokenbook.languages import LANGUAGES, pick

HEAD = "现象/从 → 到/种子 | Phenomenon/From → to/Seeds"
MOMENTS = {
    "start": lambda curves, last: curves[:, 0],
    "peak": lambda curves, last: curves.max(1),
    "end": lambda curves, last: curves[:, -last:].mean(1),
}


@dataclass(frozen=True, kw_only=True)
class Phenomenon:
    """A claim and the two numbers per seed that test it 一个现象.

    Args:
        says: the phenomenon, per language.
        experiment: its data.
        column: the measured one.
        arms: the values of the two arms; one value: the same arm twice.
        moments: of the two numbers, of MOMENTS.
        grows: whether the second number is the larger one.
        other: column of the second number, if it differs.
        by: the least difference that counts.
        last: rows that are averaged at the end, as in the chapter.
    """

    says: Mapping[str, str]
    experiment: str
    column: str
    arms: tuple[Mapping, ...]
    moments: tuple[str, str] = ("end", "end")
    grows: bool = True
    other: str | None = None
    by: float = 0.01
    last: int = 2

    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Both numbers of each seed, from the store."""
        rows = results(self.experiment)
        columns = self.column, self.other or self.column
        arms = self.arms * 2 if len(self.arms) == 1 else self.arms
        first, second = (
            MOMENTS[moment](per_seed(rows, column, **arm), self.last)
            for moment, column, arm in zip(self.moments, columns, arms, strict=True)
        )
        return first, second

    def seeds(self) -> np.ndarray:
        """Whether each seed moves in the claimed direction."""
        return self.shows(*self.numbers())

    def shows(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Whether each seed of these numbers moves in the claimed direction."""
        return (second - first if self.grows else first - second) > self.by


def said(*words: str) -> dict[str, str]:
    return dict(zip(LANGUAGES, words, strict=False))


RL, SFT = {"arm": "RL"}, {"arm": "SFT"}
RUN = ("start", "end")
FALLS = ("peak", "end")
TOKEN = 1.0


def paid(name: str, kl_coef: float = 0.0) -> dict:
    return {"paid": name, "kl_coef": kl_coef}


def used(epochs: int, entropy_coef: float = 0.0) -> dict:
    return {"epochs": epochs, "entropy_coef": entropy_coef}


def eight(loss: str) -> dict:
    return {"lr": 5e-4, "epochs": 8, "loss": loss}


PHENOMENA = (
    Phenomenon(
        says=said(
            "强化学习胜过在同一份语料上继续 SFT",
            "RL goes where more SFT on the same corpus does not",
        ),
        experiment="rl-or-sft",
        column="success",
        arms=(SFT, RL),
    ),
    Phenomenon(
        says=said(
            "奖励不提长度，回答自己变长", "Nothing pays for length, and it grows"
        ),
        experiment="rl-or-sft",
        column="length",
        by=TOKEN,
        arms=(RL,),
        moments=RUN,
    ),
    Phenomenon(
        says=said("不再放弃", "Giving up disappears"),
        experiment="rl-or-sft",
        column="gives_up",
        arms=(RL,),
        moments=RUN,
        grows=False,
    ),
    Phenomenon(
        says=said("全错的组消失", "Groups without a correct response disappear"),
        experiment="rl-or-sft",
        column="all_wrong",
        arms=(RL,),
        moments=RUN,
        grows=False,
    ),
    Phenomenon(
        says=said("全对的组多起来", "Groups without an incorrect one take their place"),
        experiment="rl-or-sft",
        column="all_right",
        arms=(RL,),
        moments=RUN,
    ),
    Phenomenon(
        says=said("答对的里面有错的等式", "Correct responses hold false equations"),
        experiment="rl-or-sft",
        column="success",
        other="faithful",
        arms=(RL,),
        grows=False,
    ),
    Phenomenon(
        says=said("只奖励 ✓：打了勾，没有算", "Paid for ✓: marked, not calculated"),
        experiment="hacks",
        column="success",
        arms=(paid("outcome"), paid("mark")),
        grows=False,
    ),
    Phenomenon(
        says=said(
            "只比对结果：写上想要的数", "Paid for the wanted result: it is written"
        ),
        experiment="hacks",
        column="success",
        arms=(paid("outcome"), paid("match")),
        grows=False,
    ),
    Phenomenon(
        says=said(
            "只比对结果，又按长度扣分：先升后跌",
            "The same with a charge for length: up, then down",
        ),
        experiment="hacks",
        column="success",
        arms=(paid("match, brief"),),
        moments=FALLS,
        grows=False,
    ),
    Phenomenon(
        says=said("长度也先升后跌", "And its length goes up, then down"),
        experiment="hacks",
        column="length",
        by=TOKEN,
        arms=(paid("match, brief"),),
        moments=FALLS,
        grows=False,
    ),
    Phenomenon(
        says=said(
            "对的等式在哪里都算：把四种填法全写出来",
            "A correct equation counts anywhere: all fillings are written",
        ),
        experiment="hacks",
        column="success",
        arms=(paid("anywhere"),),
        moments=FALLS,
        grows=False,
    ),
    Phenomenon(
        says=said("每个等式都有奖励：绕路", "Paid for every equation: detours"),
        experiment="hacks",
        column="length",
        by=TOKEN,
        arms=(paid("outcome"), paid("steps")),
    ),
    Phenomenon(
        says=said("绕路使结果变差", "Detours make the outcome worse"),
        experiment="hacks",
        column="success",
        arms=(paid("outcome"), paid("steps")),
        grows=False,
    ),
    Phenomenon(
        says=said(
            "只比对结果：加 KL 0.2，对的多一些",
            "Paid for the wanted result: with KL 0.2 more are correct",
        ),
        experiment="hacks",
        column="success",
        arms=(paid("match"), paid("match", 0.2)),
    ),
    Phenomenon(
        says=said(
            "只奖励 ✓：加 KL 0.2，对的多一些",
            "Paid for ✓: with KL 0.2 more are correct",
        ),
        experiment="hacks",
        column="success",
        arms=(paid("mark"), paid("mark", 0.2)),
    ),
    Phenomenon(
        says=said(
            "只比对结果：换成会验算的判分，比加 KL 0.2 对得更多",
            "Paid for the wanted result: a verdict that calculates beats KL 0.2",
        ),
        experiment="hacks",
        column="success",
        arms=(paid("match", 0.2), paid("outcome")),
    ),
    Phenomenon(
        says=said("按长度扣分：更短", "A charge for length: shorter"),
        experiment="hacks",
        column="length",
        by=TOKEN,
        arms=(paid("outcome"), paid("outcome, brief")),
        grows=False,
    ),
    Phenomenon(
        says=said(
            "按长度扣分：第一次就对的更多",
            "A charge for length: more first tries are correct",
        ),
        experiment="hacks",
        column="first_right",
        arms=(paid("outcome"), paid("outcome, brief")),
    ),
    Phenomenon(
        says=said("用八遍：有裁剪才学得会", "Eight epochs: the clip saves them"),
        experiment="signs-epochs",
        column="success",
        last=3,
        arms=(eight("ratio"), eight("min")),
    ),
    Phenomenon(
        says=said("熵坍缩：第一次尝试变得一样", "Entropy collapse: first tries alike"),
        experiment="entropy-collapse",
        column="distinct",
        by=0.2,
        arms=(used(4),),
        moments=RUN,
        grows=False,
    ),
    Phenomenon(
        says=said("用四遍比用一遍坍缩得多", "Four epochs collapse it more than one"),
        experiment="entropy-collapse",
        column="distinct",
        by=0.2,
        arms=(used(1), used(4)),
        grows=False,
    ),
    Phenomenon(
        says=said("熵奖励 0.02 留住一点熵", "An entropy bonus of 0.02 keeps some"),
        experiment="entropy-collapse",
        column="entropy",
        arms=(used(4), used(4, 0.02)),
    ),
    Phenomenon(
        says=said("熵奖励使答对的更多", "The entropy bonus makes more correct"),
        experiment="entropy-collapse",
        column="success",
        arms=(used(4), used(4, 0.02)),
    ),
    Phenomenon(
        says=said("用四遍答对的更少", "Four epochs make fewer correct"),
        experiment="entropy-collapse",
        column="success",
        arms=(used(1), used(4)),
        grows=False,
    ),
    Phenomenon(
        says=said("Clip-Higher 0.28 留住了熵", "Clip-Higher 0.28 keeps the entropy"),
        experiment="clip-higher",
        column="entropy",
        last=5,
        arms=({"clip_high": 0.2}, {"clip_high": 0.28}),
    ),
    Phenomenon(
        says=said(
            "采样器落后：PPO 的裁剪拖慢学习",
            "A stale sampler: PPO's clip slows learning",
        ),
        experiment="stale-sampler",
        column="success",
        last=1,
        arms=({"loss": "fresh"}, {"loss": "PPO"}),
        grows=False,
    ),
    *(
        Phenomenon(
            says=said(
                f"采样器落后：{zh}比 PPO 学得多",
                f"A stale sampler: {en} learns more than PPO",
            ),
            experiment="stale-sampler",
            column="success",
            last=1,
            arms=({"loss": "PPO"}, {"loss": loss}),
        )
        for zh, en, loss in (
            ("GSPO ", "GSPO", "GSPO"),
            ("CISPO ", "CISPO", "CISPO"),
            ("BAPO ", "BAPO", "BAPO"),
            ("本书的 BAPO 变体", "this book’s BAPO", "BAPO, un-clipped"),
            ("解耦 PPO ", "decoupled PPO", "decoupled"),
        )
    ),
    Phenomenon(
        says=said("采样器落后：BAPO 胜过不裁剪", "A stale sampler: BAPO beats no clip"),
        experiment="stale-sampler",
        column="success",
        last=1,
        arms=({"loss": "no clip"}, {"loss": "BAPO"}),
    ),
    Phenomenon(
        says=said("上限 24 使回答被截断", "A limit of 24 cuts responses off"),
        experiment="truncation",
        column="truncated",
        arms=({"arm": "limit 40"}, {"arm": "limit 24"}),
    ),
    Phenomenon(
        says=said("提前扣分：截断少了", "A charge before the limit: fewer are cut"),
        experiment="truncation",
        column="truncated",
        arms=({"arm": "limit 24"}, {"arm": "limit 24, charge"}),
        grows=False,
    ),
    Phenomenon(
        says=said(
            "提前扣分：答对的多了", "A charge before the limit: more are correct"
        ),
        experiment="truncation",
        column="success",
        arms=({"arm": "limit 24"}, {"arm": "limit 24, charge"}),
    ),
    Phenomenon(
        says=said(
            "除以各自的长度使回答变长", "Dividing by the length lengthens responses"
        ),
        experiment="algorithms",
        column="length",
        by=TOKEN,
        arms=({"algorithm": "Dr. GRPO"}, {"algorithm": "GRPO"}),
    ),
    Phenomenon(
        says=said(
            "同策略蒸馏：没有判分，也学得会",
            "On-policy distillation: learned, no verdict",
        ),
        experiment="distillation",
        column="success",
        last=5,
        arms=({"arm": "OPD"},),
        moments=RUN,
    ),
)


def phenomena_table(lang: str) -> str:
    """The phenomena as Markdown, those that do not show in every seed last.

    Numbers are the median over the seeds, their range in brackets.

    Args:
        lang: of `LANGUAGES`.
    """
    head = pick(HEAD, lang).split("/")
    lines = [head, ["---"] * len(head)]
    found = [(one, one.numbers()) for one in PHENOMENA]
    for one, ends in sorted(found, key=lambda row: not row[0].shows(*row[1]).all()):
        columns = dict.fromkeys((one.column, one.other or one.column))
        names = ", ".join(f"`{name}`" for name in (one.experiment, *columns))
        lines.append(
            [
                f"{one.says[lang]}<br>{names}",
                " → ".join(map(span, ends)),
                f"{one.shows(*ends).sum()}/{len(ends[0])}",
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def span(numbers: np.ndarray) -> str:
    """Median, smallest and largest, in signs that every language reads.

    >>> span(np.array([0.5, 0.75, 1.0]))
    '0.75 [0.50, 1.00]'
    """
    return f"{np.median(numbers):.2f} [{numbers.min():.2f}, {numbers.max():.2f}]"
