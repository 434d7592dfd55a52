"""``python -m tokencredit.laws --loss mypkg:my_loss --like GRPO``: pytest on the laws.

All of pytest's own options may follow.
"""

import pkgutil
import sys

import pytest

from tokencredit.laws import KINDS, SAID, Outcome, check

NONE = "no law could be checked: see why each was skipped"


class Law(pytest.Item):
    """A test of one law; or none of a function's could be checked, which fails."""

    def runtest(self):
        if self.law.verdict == "skipped":
            pytest.skip(self.law.why)
        if self.law.verdict == "broken":
            pytest.fail(self.law.why, pytrace=False)


def pytest_addoption(parser):
    group = parser.getgroup("laws", "laws of the errata museum, on your functions")
    many = {"action": "append", "default": [], "metavar": "MODULE:FUNCTION"}
    for kind in KINDS:
        group.addoption(f"--{kind}", **many)
    group.addoption("--like", metavar="ALGORITHM", help="an entry of ALGORITHMS")
    group.addoption("--lang", choices=[*SAID], default="en")


def pytest_collection_modifyitems(session, config, items):
    """Make a test of every law of the functions that were handed in."""
    sys.path.append(str(config.invocation_params.dir))  # the user's working directory
    option, laws = config.option, []
    try:
        for kind in KINDS:
            for x in getattr(option, kind.replace("-", "_")):
                done = check(kind, found(kind, x), like=option.like, lang=option.lang)
                if all(law.verdict == "skipped" for law in done):
                    done.append(Outcome("#none", "broken", NONE))
                laws += [(x, law) for law in done]
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    if not laws and not option.collectonly:
        kinds = ", ".join(f"--{kind}" for kind in KINDS)
        raise pytest.UsageError(f"hand in MODULE:FUNCTION with one of {kinds}")
    items.clear()
    for name, law in laws:
        items.append(Law.from_parent(session, name=f"{name}, {law.room.split('#')[1]}"))
        items[-1].law = law


def found(kind: str, name: str):
    """Return the function of that name; ValueError in one sentence."""
    try:
        return pkgutil.resolve_name(name)
    except Exception as error:
        raise ValueError(f"--{kind} {name} cannot be imported: {error}") from None


if __name__ == "__main__":
    words = "-q -rfEs -W ignore::pytest.PytestAssertRewriteWarning --pyargs"
    words = [*words.split(), "tokencredit.laws", *sys.argv[1:]]  # s: skipped, not kept
    sys.exit(pytest.main(words, plugins=[sys.modules[__name__]]))
