"""Laws for your own code 你的代码守哪些定律: the errata museum's, on your functions.

    check("loss", my_loss, like="GRPO")
    python -m tokencredit.laws --loss mypkg:my_loss --like GRPO

A law is defined in its room of the museum (``book/errata/``), with the kinds of
functions to which it applies. Some algorithms break a law on purpose: a mean per
response weighs tokens by length. `like` skips the laws that its entry of ALGORITHMS
breaks; without it a law is skipped if any entry breaks it.
"""

import inspect
import re
import runpy
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from textwrap import shorten
from typing import NamedTuple

from tokencredit.algorithm import Algorithm, named, parameters, policy_loss
from tokencredit.algorithms import ALGORITHMS
from tokencredit.laws import ways
from tokencredit.laws.calls import Mine, Skip
from tokencredit.tensors.checks import choice
from tokencredit.weight.aggregate import aggregate_loss
from tokencredit.weight.kl import kl_penalty

__all__ = ["Outcome", "check"]

HERE = Path(__file__)  # the rooms lie in the checkout, or beside it in a wheel
FOLDERS = HERE.parents[3] / "book" / "errata", HERE.with_name("errata")
ROOMS_OWN = {"parts", "responses", "lengths", "truncated", "ended"}  # no trainer's
BUDGET = 16  # max_length, where an aggregation divides by it
SAID = {
    "zh": "{purpose}：{law}\n展室：{place}（{mistake}）\n违反它的调用：{calls}",
    "en": "{purpose}: {law}\nRoom: {place} ({mistake})\nCalls that broke it:{calls}",
}


class Outcome(NamedTuple):
    """Result of a law: "kept", "broken" or "skipped" (not the same as "kept")."""

    room: str  # its place on the site
    verdict: str
    why: str


def exhibits() -> dict[str, dict]:
    """Return the rooms of the museum in order, by file name."""
    folder = next(folder for folder in FOLDERS if folder.exists())
    return {x.stem: runpy.run_path(str(x)) for x in sorted(folder.glob("*.py"))}


ROOMS = {name[:2]: room for name, room in exhibits().items()}
KINDS: dict[str, list] = {}  # by kind of function: its rooms, and the ways
for number, room in ROOMS.items():
    for kind, how in room["SPEAKS_OF"].items():
        law = (number, *(getattr(ways, way) for way in how.split()))
        KINDS.setdefault(kind, []).append(law)


def known(row: Algorithm) -> dict:
    """Return the facts about the algorithm `like` that a law may use."""
    norm = BUDGET if row.aggregation.endswith("norm") else None
    return {"how": row.aggregation, "estimator": row.kl_estimator, "max_length": norm}


def entry(kind: str, row: Algorithm) -> Mine | None:
    """Return the function of a kind that an entry is made of, None without one."""
    judged = "rewards" in parameters(row.advantage) and not row.critic
    loss = partial(policy_loss, row, max_length=BUDGET)
    ratio = lambda **x: row.log_ratio(**x).exp()  # noqa: E731
    functions = {  # each with the names behind its **x
        "loss": (loss, "ref_log_probs", "sampler_log_probs", "entropies"),
        "ratio": (ratio, "log_probs", "old_log_probs", "mask"),
        "kl": [kl_penalty if row.kl_coef else None],
        "aggregate": [aggregate_loss],
        "advantage": [row.advantage if judged else None],
    }
    function, *more = functions.get(kind, [None])
    return function and Mine(kind, function, more, **known(row))


def keeps(room: str, way: Callable, mine: Mine) -> bool:
    """Whether a function keeps a law; Skip where it cannot be called for it."""
    mine.order = [*inspect.signature(ROOMS[room]["right"]).parameters]
    way = ways.plain if ROOMS_OWN & mine.signature.parameters.keys() else way
    try:
        return bool(ROOMS[room]["law"](partial(way, mine)))
    except Exception as error:
        said = f"it raised {type(error).__name__}: {error}"
        raise Skip(shorten(said, 300)) from error


@cache
def allowed(kind: str, room: str, way: Callable, name: str) -> bool:
    """Whether an entry of ALGORITHMS itself keeps a law; True without such a stage."""
    try:
        return not (mine := entry(kind, ALGORITHMS[name])) or keeps(room, way, mine)
    except Skip:
        return False


def judge(kind, room, every, mine, rows, lang) -> Outcome:
    """Return the outcome of one law, which all of these entries must keep too."""
    words = ROOMS[room]["WORDS"]
    anchor = re.sub(r"[^a-z0-9]+", "-", words["en"]["purpose"].lower()).strip("-")
    place, calls = f"book/errata.html#{anchor}", []
    for way in every:
        mine.calls.clear()
        own = [name for name in rows if not allowed(kind, room, way, name)]
        reason = f"not a law of {', '.join(own)}"
        try:
            if not own and keeps(room, way, mine):
                return Outcome(place, "kept", "")
            calls += () if own else mine.calls
        except Skip as skip:
            reason = str(skip)
    if not calls:
        return Outcome(place, "skipped", f"{words[lang]['purpose']}: {reason}")
    said = words[lang] | {"place": place, "calls": "\n  ".join(["", *calls[:12]])}
    return Outcome(place, "broken", SAID[lang].format(**said))


def check(kind: str, function: Callable, *, like=None, lang="en") -> list[Outcome]:
    """Check a function against the laws of its kind 用定律检查一个函数.

    Args:
        kind: one of KINDS: "loss", "ratio", "aggregate", "mask", ...
        function: called by the names of its parameters; `names.txt` has other names.
        like: an entry of ALGORITHMS; a law that it breaks by design is skipped.
        lang: of the sentences about a law that is broken.

    Returns:
        An outcome a law, in the order of KINDS.

    Raises:
        ValueError: an unknown kind, algorithm or language.

    >>> [law.verdict for law in check("mask", lambda tokens, end: tokens != end)]
    ['broken']
    """
    choice("kind", kind, KINDS)
    choice("lang", lang, SAID)
    rows = [named(like).name] if like else [*ALGORITHMS]
    mine = Mine(kind, function, **(known(named(like)) if like else {}))
    return [judge(kind, room, every, mine, rows, lang) for room, *every in KINDS[kind]]
