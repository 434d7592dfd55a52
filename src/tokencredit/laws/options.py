"""The command line of ``python -m tokencredit.laws`` 命令行选项."""

import ast
import pkgutil
import sys

import pytest

from tokencredit.laws import KINDS, SAID, check

ASKED = pytest.StashKey()  # (name, outcomes) of every function handed in


def pytest_addoption(parser):
    group = parser.getgroup("laws", "laws of the errata museum, on your functions")
    for kind in KINDS:
        group.addoption(
            f"--{kind}", action="append", default=[], metavar="MODULE:FUNCTION"
        )
    group.addoption("--like", metavar="ALGORITHM", help="an entry of ALGORITHMS")
    group.addoption("--set", action="append", default=[], metavar="PARAMETER=VALUE")
    group.addoption("--lang", choices=[*SAID], default="en")


def pytest_configure(config):
    sys.path.append(str(config.invocation_params.dir))  # where the user stands
    option, asked = config.option, []
    option.reportchars += "s"  # a law that was skipped is not a law that was kept
    try:
        dials = dict(map(dial, option.set))
        for kind in KINDS:
            for name in getattr(option, kind.replace("-", "_")):
                own = {"like": option.like, "lang": option.lang} | dials
                asked.append((name, check(kind, found(kind, name), **own)))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    if not asked and not option.collectonly:
        kinds = ", ".join(f"--{kind}" for kind in KINDS)
        raise pytest.UsageError(f"hand in MODULE:FUNCTION with one of {kinds}")
    config.stash[ASKED] = asked


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
