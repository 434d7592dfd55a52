"""``python -m tokencredit.laws --loss mypkg:my_loss --like GRPO``: pytest on the laws.

All of pytest's own options may follow.
"""

import ast
import pkgutil
import sys

import pytest

from tokencredit.laws import KINDS, SAID, check

NONE = "no law could be checked: see why each was skipped"


class Law(pytest.Item):
    """A test of one law; or none of a function's could be checked, which fails."""

    def reportinfo(self):
        return "laws", None, self.name

    def runtest(self):
        if self.verdict == "skipped":
            pytest.skip(self.why)
        if self.verdict == "broken":
            pytest.fail(self.why, pytrace=False)


def pytest_addoption(parser):
    group = parser.getgroup("laws", "laws of the errata museum, on your functions")
    many = {"action": "append", "default": []}
    for kind in KINDS:
        group.addoption(f"--{kind}", **many, metavar="MODULE:FUNCTION")
    group.addoption("--like", metavar="ALGORITHM", help="an entry of ALGORITHMS")
    group.addoption("--set", **many, metavar="PARAMETER=VALUE")
    group.addoption("--lang", choices=[*SAID], default="en")


def pytest_collection_modifyitems(session, config, items):
    """Make a test of every law of the functions that were handed in."""
    sys.path.append(str(config.invocation_params.dir))  # where the user stands
    option, tests = config.option, []
    try:
        own = {"like": option.like, "lang": option.lang} | dict(map(dial, option.set))
        for kind in KINDS:
            for name in getattr(option, kind.replace("-", "_")):
                laws = check(kind, found(kind, name), **own)
                tests += [(f"{name}, {x.room.split('#')[1]}", x[1:]) for x in laws]
                if all(law.verdict == "skipped" for law in laws):
                    tests.append((name, ("broken", NONE)))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    if not tests and not option.collectonly:
        kinds = ", ".join(f"--{kind}" for kind in KINDS)
        raise pytest.UsageError(f"hand in MODULE:FUNCTION with one of {kinds}")
    items[:] = [Law.from_parent(session, name=name) for name, _ in tests]
    for item, (_, said) in zip(items, tests, strict=True):
        item.verdict, item.why = said


def dial(text: str) -> tuple[str, object]:
    """Return a parameter and its value, or the name of what a law gives."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set wants PARAMETER=VALUE, not {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def found(kind: str, name: str):
    """Return the function of that name; ValueError in one sentence."""
    if ":" not in name:
        raise ValueError(f"--{kind} wants MODULE:FUNCTION, not {name!r}")
    try:
        function = pkgutil.resolve_name(name)
    except Exception as error:
        raise ValueError(f"--{kind} {name} cannot be imported: {error}") from None
    if not callable(function):
        raise ValueError(f"--{kind} {name} is no function but {function!r:.60}")
    return function


if __name__ == "__main__":
    words = "-q -rfEs -W ignore::pytest.PytestAssertRewriteWarning --pyargs"
    words = [*words.split(), "tokencredit.laws", *sys.argv[1:]]  # s: skipped, not kept
    sys.exit(pytest.main(words, plugins=[sys.modules[__name__]]))
