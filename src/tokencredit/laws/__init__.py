"""Laws for your own code 你的代码守哪些定律: the errata museum's, on your functions.

    check("loss", my_loss, like="GRPO")
    python -m tokencredit.laws --loss mypkg:my_loss --like GRPO

A room of the museum (``book/errata/``) is the only place of its law; `kinds` says which
rooms speak of a kind of function. Algorithms break some laws on purpose: a mean per
response weighs tokens by length. `like` leaves out what its entry of ALGORITHMS breaks;
without it a law is left out that any entry breaks.
"""

import functools
import inspect
import re
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tokencredit.algorithm import Algorithm, named, policy_loss
from tokencredit.algorithms import ALGORITHMS
from tokencredit.laws.calls import Mine, Skip
from tokencredit.laws.kinds import KINDS, plain
from tokencredit.tensors.checks import choice
from tokencredit.weight.aggregate import aggregate_loss
from tokencredit.weight.kl import kl_penalty

__all__ = ["Outcome", "check"]

FOLDERS = (  # in a checkout, or beside this file where the package was installed
    Path(__file__).parents[3] / "book" / "errata",
    Path(__file__).with_name("errata"),
)
ROOMS_OWN = {"parts", "responses", "lengths", "truncated", "ended"}  # no trainer's
BUDGET = 16  # max_length, where an aggregation divides by it
SAID = {
    "zh": "{purpose}：{law}\n展室：{place}（{mistake}）\n违反它的调用：\n{calls}",
    "en": "{purpose}: {law}\nRoom: {place} ({mistake})\nCalls that broke it:\n{calls}",
}


class Outcome(NamedTuple):
    """What came of a law: "kept", "broken" or "skipped", which is not "kept"."""

    room: str  # its place on the site
    verdict: str
    why: str


def anchor(purpose: str) -> str:
    """Return the anchor of a room on the page of the museum."""
    return re.sub(r"[^a-z0-9]+", "-", purpose.lower()).strip("-")


def exhibits() -> dict[str, dict]:
    """Return the rooms of the museum in order, by file name."""
    folder = next(folder for folder in FOLDERS if folder.exists())
    return {
        file.stem: runpy.run_path(str(file)) for file in sorted(folder.glob("*.py"))
    }


@functools.cache
def rooms() -> dict[str, dict]:
    """Return the rooms by their numbers."""
    return {name[:2]: room for name, room in exhibits().items()}


def mine_of(function: Callable, row: Algorithm | None, dials: Mapping) -> Mine:
    """Return a function with what is known of the algorithm that it is to be like."""
    if row is None:
        return Mine(function, dials)
    norm = BUDGET if row.aggregation.endswith("norm") else None
    known = {"how": row.aggregation, "estimator": row.kl_estimator, "max_length": norm}
    return Mine(function, dials, **known)


def entry(kind: str, row: Algorithm) -> Mine | None:
    """Return the function of a kind that an entry is made of, None without one."""
    functions = {
        "loss": functools.partial(policy_loss, row, max_length=BUDGET),
        "ratio": lambda **x: row.log_ratio(**x).exp(),
        "kl": kl_penalty if row.kl_coef else None,
        "aggregate": aggregate_loss,
        "advantage": None if row.critic else row.advantage,
    }
    also = {  # what their **x stands for
        "loss": ("ref_log_probs", "sampler_log_probs", "entropies"),
        "ratio": ("log_probs", "old_log_probs", "mask"),
    }
    function, names = functions.get(kind), also.get(kind, ())
    return function and mine_of(function, row, dict(zip(names, names, strict=True)))


def keeps(room: str, adapter: Callable, mine: Mine) -> bool:
    """Whether a function keeps a law; Skip where it cannot be called for it."""
    mine.order = [*inspect.signature(rooms()[room]["right"]).parameters]
    adapter = plain if ROOMS_OWN & mine.parameters.keys() else adapter
    try:
        return bool(rooms()[room]["law"](functools.partial(adapter, mine)))
    except Skip:
        raise
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise Skip(f"it raised {said[:300]}") from error


@functools.cache
def allowed(kind: str, room: str, adapter: Callable, name: str) -> bool:
    """Whether an entry of ALGORITHMS itself keeps a law; True without such a stage."""
    try:
        mine = entry(kind, ALGORITHMS[name])
        return mine is None or keeps(room, adapter, mine)
    except Skip:
        return False


def judge(kind, room, adapters, mine, rows, lang) -> Outcome:
    """Return what comes of one law, which all of these entries must keep too."""
    words = rooms()[room]["WORDS"]
    place = f"book/errata.html#{anchor(words['en']['purpose'])}"
    for adapter in adapters:
        mine.calls.clear()
        own = [name for name in rows if not allowed(kind, room, adapter, name)]
        reason = f"not a law of {', '.join(own)}"
        try:
            if not own and keeps(room, adapter, mine):
                return Outcome(place, "kept", "")
            if not own:
                break
        except Skip as skip:
            reason = str(skip)
    else:
        return Outcome(place, "skipped", f"{words[lang]['purpose']}: {reason}")
    calls = "\n".join(f"  {call}" for call in mine.calls[:12])
    said = SAID[lang].format(**words[lang], place=place, calls=calls)
    return Outcome(place, "broken", said)


def check(
    kind: str, function: Callable, *, like: str | None = None, lang="en", **dials
) -> list[Outcome]:
    """Hold a function against the laws of its kind 用定律检查一个函数.

    Args:
        kind: one of KINDS: "loss", "ratio", "aggregate", "mask", ...
        function: called by the names of its parameters; `names` has other names.
        like: an entry of ALGORITHMS; a law that it breaks by design is skipped.
        lang: of the sentences about a law that is broken.
        dials: values of parameters, or the names of what a law gives.

    Returns:
        An outcome a law, in the order of KINDS.

    Raises:
        ValueError: an unknown kind, algorithm, language or parameter.

    >>> [law.verdict for law in check("ratio", lambda log_ratio: log_ratio + 1)]
    ['skipped', 'skipped', 'kept', 'skipped']
    """
    choice("kind", kind, KINDS)
    choice("lang", lang, SAID)
    rows = [named(like).name] if like else [*ALGORITHMS]
    mine = mine_of(function, ALGORITHMS[like] if like else None, dials)
    return [
        judge(kind, room, adapters, mine, rows, lang) for room, *adapters in KINDS[kind]
    ]
