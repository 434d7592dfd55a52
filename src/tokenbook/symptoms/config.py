"""Read my configuration 读配置: the exact loss of a trainer's configuration.

    text -> Setting (library, values) -> sizes, ratio, denominator, nearest, traps

The behaviour of the libraries is data, in config.yml; here are the parsers of Python,
JSON, YAML, overrides and flags, a small evaluator, and the comparison with ALGORITHMS.
A value that is computed in the user's text is not guessed; results that need it are
unknown. config.js does the same in the browser; tests/test_readconfig.py compares the
two.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, partial
from math import isfinite, lcm
from pathlib import Path

import yaml

from tokenbook.languages import LANGUAGES

HERE = Path(__file__).parent
STAGES = ("advantage", "clip_rule", "credit_level", "log_ratio", "loss")
OPENS, CLOSES = "([{", ")]}"
LONGEST = 200_000  # characters
WORD = re.compile(r"[+~]{0,2}[A-Za-z_]\w*(?:\.\w+)+=.*", re.S | re.A)
YAML_LINE = re.compile(r"[ \t]*(#.*|-([ \t].*)?|[\w.\"'-]+ *:([ \t].*)?|---)?", re.A)
YAML_REST = re.compile(r"(.*[:-][ \t]+)?[&*!|>%@`].*")  # anchors, tags, blocks
PROCESSES = ("num_processes", "nproc_per_node")


class Problem(ValueError):
    """A text that cannot be read: id of its message in config.yml, and values."""

    def __init__(self, name_in_words: str, /, **parts):
        super().__init__(name_in_words)
        self.name, self.parts = name_in_words, parts


@dataclass(frozen=True)
class Unknown:
    """A value that depends on fields that were not read."""

    names: frozenset[str]


@dataclass
class Setting:
    """The settings in a text: the library, and the values by the library's own names.

    Args:
        library: key in config.yml.
        given: literal values.
        computed: the source text of values that are not literal.
        spread: expressions unpacked into the call, not evaluated.
        processes: from a launcher's flag, or None.
        calls: number of configurations in the text.
    """

    library: str = ""
    given: dict[str, object] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)
    spread: list[str] = field(default_factory=list)
    processes: int | None = None
    calls: int = 1


@cache
def data() -> dict:
    """Return config.yml with its expressions as trees, and config_names.yml."""
    tables = yaml.safe_load((HERE / "config.yml").read_text(encoding="utf-8"))
    names = yaml.safe_load((HERE / "config_names.yml").read_text(encoding="utf-8"))
    words = tables.pop("words")
    for library, table in tables.items():
        pairs = table["fields"].items()
        dotted = {k: v if isinstance(v, list) else [k, v] for k, v in pairs}
        table["at"] = {at: short for short, (at, _) in dotted.items()}
        table["at"] |= table.pop("renamed", {})
        table["fields"] = {short: default for short, (_, default) in dotted.items()}
        table["names"] = names[library].split()
        for step in table["steps"]:
            for key in step.keys() - {"refuse"}:
                step[key] = tree(step[key])
        table["row"] = {key: tree(said) for key, said in table["row"].items()}
        for part in ("ratio", "denominator", "traps"):
            for case in table[part]:
                case["when"] = tree(case["when"])
    return {"libraries": tables, "words": words}


# Expressions -------------------------------------------------------------------------

OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
    ast.Mod: "%", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=",
    ast.Gt: ">", ast.GtE: ">=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in",
    ast.NotIn: "not in", ast.And: "and", ast.Or: "or", ast.Not: "not", ast.USub: "neg",
}  # fmt: skip


def tree(said: object) -> list:
    """Return an expression of config.yml as nested lists, for Python and JavaScript.

    >>> tree("n * 2 if n else None")
    ['if', ['name', 'n'], ['*', ['name', 'n'], ['value', 2]], ['value', None]]
    """
    if not isinstance(said, str):
        return ["value", said]
    return _tree(ast.parse(said.strip(), mode="eval").body)


def _tree(node: ast.expr) -> list:
    match node:
        case ast.Constant():
            return ["value", node.value]
        case ast.Name():
            return ["name", node.id]
        case ast.List():
            return ["value", [item.value for item in node.elts]]
        case ast.UnaryOp():
            return [OPERATORS[type(node.op)], _tree(node.operand)]
        case ast.BinOp():
            return [OPERATORS[type(node.op)], _tree(node.left), _tree(node.right)]
        case ast.BoolOp():
            return [OPERATORS[type(node.op)], *map(_tree, node.values)]
        case ast.Compare(ops=[op], comparators=[right]):
            return [OPERATORS[type(op)], _tree(node.left), _tree(right)]
        case ast.IfExp():
            return ["if", *map(_tree, (node.test, node.body, node.orelse))]
        case ast.Call():
            return ["call", node.func.id, *map(_tree, node.args)]
    raise ValueError(f"config.yml: {ast.unparse(node)} is no expression of this file")


def evaluate(node: list, names: Mapping[str, object], given: set[str]) -> object:
    """Return the value of a tree; a comparison with nothing (None) does not hold.

    Whatever needs an unknown is unknown, but False and unknown is False.
    """
    kind, *parts = node
    if kind == "value":
        return parts[0]
    if kind == "name":
        return names[parts[0]]
    if kind == "call" and parts[0] == "given":
        return parts[1][1] in given
    if kind == "if":
        test = evaluate(parts[0], names, given)
        if isinstance(test, Unknown):
            return test
        return evaluate(parts[1 if test else 2], names, given)
    if kind in ("and", "or"):
        values = []
        for part in parts:
            values.append(evaluate(part, names, given))
            decides = not isinstance(values[-1], Unknown)
            if decides and bool(values[-1]) == (kind == "or"):
                return kind == "or"
        return both(values) or kind == "and"
    name = parts.pop(0) if kind == "call" else kind
    values = [evaluate(part, names, given) for part in parts]
    return both(values) or apply(name, *values)


def both(values: list) -> Unknown | None:
    """Return the unknown value among values, or None."""
    unknown = [value.names for value in values if isinstance(value, Unknown)]
    return Unknown(frozenset().union(*unknown)) if unknown else None


def apply(name: str, a: object, b: object = None) -> object:
    """Return an operator's or a function's value; None where it has none."""
    numbers = all(isinstance(x, int | float) for x in (a, b))
    match name:
        case "not":
            return not a
        case "neg":
            return -a
        case "==" | "is":
            return same(a, b)
        case "!=" | "is not":
            return not same(a, b)
        case "in":
            return any(same(a, item) for item in b)
        case "not in":
            return not any(same(a, item) for item in b)
        case "first":
            return a[0] if isinstance(a, list) else a
        case "last":
            return a[-1] if isinstance(a, list) else a
        case "fresh_updates":
            return fresh_updates(a, b)
        case "all_updates":
            return lcm(a, b) // b
        case "+" if isinstance(a, str) and isinstance(b, str):
            return a + b
        case "<" | "<=" | ">" | ">=" if not numbers:
            return False
        case "+" | "-" | "*" | "/" | "//" | "%" if not numbers:
            return None
        case "/" | "//" | "%" if not b:
            return None
        case "+":
            return tidy(round(a + b, 12))
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case ">=":
            return a >= b
        case "-":
            return tidy(round(a - b, 12))
        case "*":
            return tidy(a * b)
        case "/":
            return tidy(a / b)
        case "//":
            return a // b
        case "%":
            return a % b
    raise ValueError(f"config.yml: unknown function {name}")


def same(a: object, b: object) -> bool:
    """Whether two values are one, True not being 1."""
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def tidy(value: object) -> object:
    """A whole number as an int: 8.0 and 8 are written alike; no number is infinite."""
    if isinstance(value, float) and not isfinite(value):
        return "inf"
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return int(value) if whole else value


def fresh_updates(every: int, accumulated: int) -> int:
    """Number of updates of a period that are on-policy for all of their responses.

    A sampling serves `every` micro-steps, an update `accumulated`; both start together
    again after a period. Its ratio is 1 as long as no update lies between.

    >>> [fresh_updates(every, 8) for every in (8, 32, 4, 12)]
    [1, 1, 1, 1]
    """
    period = lcm(every, accumulated)
    return sum(
        all(
            step // every * every // accumulated == update
            for step in range(update * accumulated, (update + 1) * accumulated)
        )
        or accumulated % every == 0
        for update in range(period // accumulated)
    )


# Readers -----------------------------------------------------------------------------


def read(text: str) -> Setting:
    """Return the settings in a text.

    Raises:
        Problem: the text cannot be read as a whole.
    """
    text = text.replace("\ufeff", "").replace("\r\n", "\n")
    if not text.strip():
        raise Problem("empty")
    if len(text) > LONGEST:
        raise Problem("long", count=len(text), most=LONGEST)
    code = plain_code(text)
    calls = list(re.finditer(r"\b(\w+Config)[ \t\n]*\(", code, re.A))
    mine = [call for call in calls if call[1] == "GRPOConfig"]
    if mine:
        setting = read_call(text, mine[0].end() - 1)
        setting.calls = len(mine)
        setting.library = "trl"
        return setting
    if text.lstrip()[0] == "{":
        setting = read_braces(text)
    elif all(YAML_LINE.fullmatch(line) for line in text.split("\n")):
        setting = read_yaml(text)
    else:
        setting = read_words(text)
    setting.library = library_of([*setting.given, *setting.computed])
    if not setting.library:
        if calls:
            raise Problem("trainer", name=calls[0][1])
        raise Problem("unknown")
    return setting


def plain_code(text: str) -> str:
    """Return Python with its strings and comments blanked out, length kept."""
    pattern = r"(?s:'''.*?(?:'''|\Z)|\"\"\".*?(?:\"\"\"|\Z))"
    pattern += r"|'(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?|#[^\n]*"
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def partner(text: str, start: int) -> int:
    """Return where the bracket that opens at `start` closes.

    Raises:
        Problem: it does not, or another closes in its place.
    """
    code, stack = plain_code(text), []
    for at in range(start, len(code)):
        if code[at] in OPENS:
            stack.append(at)
        elif code[at] in CLOSES:
            if OPENS.index(code[stack[-1]]) != CLOSES.index(code[at]):
                break
            if len(stack) == 1:
                return at
            stack.pop()
    at = stack[-1]
    raise Problem("brackets", name=code[at], line=text.count("\n", 0, at) + 1)


def read_call(text: str, start: int) -> Setting:
    """Return the keywords of a call, whose bracket opens at `start`."""
    inner = text[start + 1 : partner(text, start)]
    setting = Setting()
    line = text.count("\n", 0, start) + 1
    try:
        call = ast.parse(f"f({inner}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Problem("syntax", line=line + (getattr(error, "lineno", 1) or 1) - 1)  # noqa: B904
    for keyword in call.keywords:
        source = " ".join(
            ast.get_source_segment(f"f({inner}\n)", keyword.value).split()
        )
        if keyword.arg is None:
            setting.spread.append("**" + source)
            continue
        try:
            setting.given[keyword.arg] = literal(ast.literal_eval(keyword.value))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            setting.computed[keyword.arg] = source
    return setting


def literal(value: object) -> object:
    """A literal as data: numbers tidied, tuples as lists, a dict only as "{…}".

    Raises:
        TypeError: bytes, a set, a complex number.
    """
    if isinstance(value, list | tuple):
        return [literal(item) for item in value]
    if isinstance(value, dict):
        return "{…}"
    if not isinstance(value, int | float | str | None):
        raise TypeError(value)
    return tidy(value)


def read_braces(text: str) -> Setting:
    """Return the leaves of JSON, or of a dict as Python writes it."""
    start = text.index("{")
    end = partner(text, start)
    if text[end + 1 :].strip():
        raise Problem("syntax", line=text.count("\n", 0, end) + 1)
    body = text[start : end + 1]
    try:
        found = json.loads(body, parse_constant=no_constant)
    except ValueError as error:
        line = text.count("\n", 0, start) + getattr(error, "lineno", 1)
        try:
            found = ast.literal_eval(body)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            found = None
        if not isinstance(found, dict):
            raise Problem("syntax", line=line) from None
    try:
        return Setting(given={name: literal(value) for name, value in leaves(found)})
    except TypeError:
        raise Problem("syntax", line=text.count("\n", 0, start) + 1) from None


def no_constant(name: str):
    """Refuse NaN and Infinity, which are no JSON."""
    raise ValueError(name)


def read_yaml(text: str) -> Setting:
    """Return the leaves of YAML; `${a.b}` is the value that a.b has."""
    for number, line in enumerate(text.split("\n"), 1):
        if YAML_REST.fullmatch(line.split(" #")[0]):
            raise Problem("syntax", line=number)
    try:
        found = yaml.load(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise Problem("syntax", line=mark.line + 1 if mark else 1) from None
    if not isinstance(found, dict):
        raise Problem("unknown")
    setting = Setting()
    for name, value in leaves(found):
        put(setting, name, value)
    return setting


def leaves(found: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the leaves of nested dicts by their dotted names."""
    if not isinstance(found, dict):
        yield path, found
        return
    for name, value in found.items():
        yield from leaves(value, f"{path}.{name}" if path else str(name))


def put(setting: Setting, name: str, value: object):
    """Add a value in the syntax of a shell or YAML, as literal or computed."""
    if isinstance(value, str) and ("$" in value or "`" in value):
        setting.computed[name] = value
        setting.given.pop(name, None)
        return
    value = [plain(x) for x in value] if isinstance(value, list) else plain(value)
    setting.given[name] = value
    setting.computed.pop(name, None)


def plain(text: object) -> object:
    """Return the value that YAML 1.2, OmegaConf and argparse see in a word.

    >>> plain("1e-6"), plain("True"), plain("null"), plain("token-mean")
    (1e-06, True, None, 'token-mean')
    """
    if not isinstance(text, str):
        return "{…}"
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    known = {"true": True, "false": False, "null": None, "~": None}
    if text.lower() in known or not text:
        return known.get(text.lower())
    if re.fullmatch(r"[+-]?[0-9]+(_[0-9]+)*", text):
        return int(text)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return tidy(float(text))
    return text


def words_of(line: str) -> list[str]:
    """Return the words of a shell line, quotes removed, comments dropped."""
    words = []
    pattern = (
        r"""(?:'[^']*'?|"(?:\\.|[^"\\])*"?|\\.|"""  # quoted
        r"""\$\([^)]{0,99}\)+|\$\{[^}]{0,99}\}|"""  # $(...), ${...}
        r"""[^\s'"\\])+"""
    )
    for found in re.finditer(pattern, line, re.S):
        word = found[0]
        if word[0] == "#":
            break
        quoted = r"""'([^']*)'?|"((?:\\.|[^"\\])*)"?|\\(.)"""
        words.append(
            re.sub(quoted, lambda m: m[1] or m[2] or m[3] or "", word, flags=re.S)
        )
    return words


def read_words(text: str) -> Setting:
    """Return the overrides and flags of a command; plain shell variables filled in."""
    setting, variables = Setting(), {}
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        words = [fill(word, variables) for word in words_of(line)]
        words = words[1:] if words and words[0] in ("export", "!") else words
        if len(words) == 1 and (
            found := re.fullmatch(r"(\w+)=(.*)", words[0], re.S | re.A)
        ):
            variables[found[1]] = found[2]
            continue
        flag = ""
        for at, word in enumerate(words):
            if re.fullmatch(r"--[A-Za-z].*", word, re.S):
                name, equals, value = word[2:].partition("=")
                flag = name.replace("-", "_")
                rest = words[at + 1 : at + 2]
                bare = not equals and (not rest or rest[0][:2] == "--")
                put(setting, flag, value if equals else "true" if bare else rest[0])
                flag = "" if equals or bare else flag
            elif WORD.fullmatch(word):
                name, _, value = word.lstrip("+~").partition("=")
                put(setting, name, value)
                flag = ""
            elif flag in pairs() and words[at - 1][:2] != "--":  # its second value
                setting.given[flag] = [setting.given.get(flag), plain(word)]
                flag = ""
    for name in PROCESSES:
        value = setting.given.pop(name, None)
        if is_number(value):
            setting.processes = value
    return setting


@cache
def pairs() -> set[str]:
    """Return the flags that take two values."""
    tables = data()["libraries"].values()
    return {
        at
        for table in tables
        for at, short in table["at"].items()
        if short in table.get("pairs", ())
    }


def fill(word: str, variables: Mapping[str, str]) -> str:
    """Return a word with the shell variables in it that are plain."""

    def value(found: re.Match) -> str:
        text = variables.get(found[1] or found[2], "$")
        return found[0] if "$" in text or len(text) > 200 else text

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", value, word, flags=re.A)


def library_of(names: list[str]) -> str:
    """Return the library with most of the names, or ""."""
    known = {
        library: sum(is_known(library, name) for name in names)
        for library in data()["libraries"]
    }
    best = max(known, key=known.get)
    return best if known[best] else ""


@cache
def is_known(library: str, name: str) -> bool:
    """Whether a library has a field or a group of fields of this name."""
    table = data()["libraries"][library]
    if name in table["at"] or name in table["names"]:
        return True
    groups = [group[:-1] for group in table["names"] if group.endswith("*")]
    return any(name.startswith(group) for group in groups)


def nearest_name(library: str, name: str) -> str:
    """Return the field that is written most like this one, or nothing.

    >>> nearest_name("trl", "num_generation")
    'num_generations'
    """
    best, least = "", max(2, len(name) // 4) + 1
    table = data()["libraries"][library]
    for other in [*table["at"], *table["names"]]:
        if abs(len(other) - len(name)) < least and other[-1] != "*":
            steps = distance(name, other)
            if steps < least:
                best, least = other, steps
    return best


def distance(a: str, b: str) -> int:
    """Return the Levenshtein distance: letters to insert, delete or replace."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


# The report --------------------------------------------------------------------------


def report(text: str, lang: str = "en", processes: int | None = None) -> dict:
    """Return the settings and results of a text as data, or its `problem`.

    Args:
        text: a configuration, as it is pasted.
        lang: of the sentences.
        processes: of the launch, for TRL; None if unknown.

    Returns:
        library, version, read (values by name), notes, refused (or None), sizes, ratio,
        denominator, nearest, traps. Numbers that depend on unknown values are None.
    """
    try:
        setting = read(text)
        return reported(setting, lang, processes)
    except Problem as problem:
        words = data()["words"]
        parts = dict(problem.parts)
        if "kind" in parts:
            parts["kind"] = words["kinds"][parts["kind"]][lang]
        return {
            "problem": problem.name,
            "text": filled(words["problems"][problem.name][lang], parts),
        }


def reported(setting: Setting, lang: str, processes: int | None) -> dict:
    """Return the report of a Setting."""
    table, words = data()["libraries"][setting.library], data()["words"]
    names = dict(table["fields"])
    titles = {"library": table["name"], "version": table["version"]}
    notes, given, aside = [], set(), 0

    def note(key, **parts):
        notes.append(filled(words["notes"][key][lang], titles | parts))

    values = interpolated(setting, table)
    for name, value in values.items():
        short = table["at"].get(name)
        if short:
            given.add(short)
            names[short] = checked(table, name, short, value)
        elif is_known(setting.library, name):
            aside += 1
        else:
            near = nearest_name(setting.library, name)
            near = near and filled(words["notes"]["nearest"][lang], {"name": near})
            note("unknown-field", name=name, nearest=near)
    for name, source in setting.computed.items():
        if name in table["at"]:
            note("computed", name=name, value=source)
    for source in setting.spread:
        note("spread", value=source)
    if setting.calls > 1:
        note("several", count=setting.calls)
    processes = processes or setting.processes
    if setting.library == "trl" and not processes:
        note("processes")
    if not given:
        note("none-set")
    if aside:
        note("aside", count=aside)
    names |= {"processes": processes or 1, "version": table["version"]}
    refused = run_steps(table["steps"], names, given, lang)
    out = titles | {
        "key": setting.library,
        "read": {n: v for n, v in values.items() if not isinstance(v, Unknown)},
        "notes": notes,
        "refused": refused,
    }
    if refused is not None:
        return out
    traps = []
    for trap in table["traps"]:
        holds = evaluate(trap["when"], names, given)
        text = filled(trap[lang], names)
        if isinstance(holds, Unknown):
            fields = ", ".join(sorted(holds.names))
            text = filled(words["notes"]["open"][lang], {"names": fields, "text": text})
        if holds:
            traps.append({"id": trap["id"], "text": text, "chapter": trap["chapter"]})
    row = {part: evaluate(said, names, given) for part, said in table["row"].items()}
    return out | {
        "sizes": {n: None if isinstance(names[n], Unknown) else names[n]
                  for n in table["sizes"]},
        "sizes_text": filled(words["labels"]["sizes"][lang], names),
        "ratio": first_case(table["ratio"], names, given, lang),
        "denominator": first_case(table["denominator"], names, given, lang),
        "nearest": nearest(row, table["apart"], lang),
        "traps": traps,
    }  # fmt: skip


def interpolated(setting: Setting, table: dict) -> dict[str, object]:
    """Return the values by name, `${a.b}` resolved, computed ones as Unknown."""
    values = dict(setting.given)
    for name, source in setting.computed.items():
        values[name] = Unknown(frozenset([name]))
        found = re.fullmatch(r"\$\{([\w.]+)\}", source)
        if found and found[1] in setting.given:
            values[name] = setting.given[found[1]]
        elif found and found[1] in table["at"]:
            values[name] = table["fields"][table["at"][found[1]]]
    return values


def checked(table: dict, name: str, short: str, value: object) -> object:
    """Return a value of the kind that its field has.

    Raises:
        Problem: it is of another kind, which the library would refuse or misread.
    """
    if isinstance(value, Unknown):
        return value
    if kind := misfit(table, short, value):
        raise Problem("value", name=name, value=shown(value), kind=kind)
    return value


def misfit(table: dict, short: str, value: object) -> str:
    """Return the kind of value that a field has where this is none, or nothing."""
    default = table["fields"][short]
    if short in table["counts"]:
        fine = is_number(value) and isinstance(value, int) and value > 0
        return "" if fine or (value is None and default is None) else "count"
    if short in table["numbers"]:
        return "" if value is None or is_number(value) else "number"
    if short in table.get("pairs", ()):
        two = isinstance(value, list) and len(value) == 2
        return "" if value is None or (two and all(map(is_number, value))) else "pair"
    if default is None or short in table.get("any", ()):
        return ""
    if isinstance(default, bool):
        return "" if isinstance(value, bool) else "flag"
    if is_number(default):
        return "" if is_number(value) else "number"
    return "" if isinstance(value, str) else "text"


def is_number(value: object) -> bool:
    """Whether a value is a number, which True is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def run_steps(steps: list, names: dict, given: set, lang: str) -> str | None:
    """Add the steps' values to `names`; return the first refusal, or None."""
    for step in steps:
        if "refuse" in step:
            if evaluate(step["when"], names, given) is True:
                return filled(step["refuse"][lang], names)
            continue
        ((name, said),) = step.items()
        names[name] = evaluate(said, names, given)
    return None


def first_case(cases: list, names: dict, given: set, lang: str) -> str:
    """Return the text of the first case that holds, or "?" where that is unknown."""
    for case in cases:
        holds = evaluate(case["when"], names, given)
        if isinstance(holds, Unknown):
            return "? (" + ", ".join(sorted(holds.names)) + ")"
        if holds:
            return filled(case[lang], names)
    raise ValueError("config.yml: a list of cases ends with `when: true`")


def filled(text: str, parts: Mapping[str, object]) -> str:
    """Return a text with its {names} filled in."""
    return re.sub(r"\{(\w+)\}", lambda found: shown(parts[found[1]]), text)


def shown(value: object) -> str:
    """Return a value as Python and JavaScript both write it.

    >>> shown(1e-06), shown(3e-7), shown(True), shown(None), shown(8.0)
    ('0.000001', '3e-7', 'True', 'None', '8')
    """
    if isinstance(value, Unknown):
        return "?"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    if not isinstance(value, float):
        return str(value)
    text = repr(tidy(value))
    if re.search(r"e-0[56]$", text):
        return format(Decimal(text), "f")
    return re.sub(r"e([+-])0*", r"e\1", text)


# ALGORITHMS --------------------------------------------------------------------------


@cache
def zoo() -> dict[str, dict[str, object]]:
    """Return the entries of ALGORITHMS in the form of a `row` of config.yml."""
    from tokencredit import ALGORITHMS

    fields = [part for part in data()["libraries"]["trl"]["row"] if "." not in part]
    fields = [part for part in fields if part != "engine_weight"]
    fields[:0] = ["length_penalty"]
    rows = {}
    for algorithm in ALGORITHMS.values():
        row = {}
        for part in fields:
            value = getattr(algorithm, part)
            if isinstance(value, partial):
                row |= {f"{part}.{k}": literal(x) for k, x in value.keywords.items()}
                value = value.func
            row[part] = literal(getattr(value, "__name__", value))
        if row["loss"] == "corrected_clip_loss":
            row |= {"loss": "ppo_clip_loss", "engine_weight": "token_truncate"}
            row["engine_weight.cap"] = row.pop("loss.cap")
        if row["loss"] == "masked_clip_loss":
            row |= {"loss": "ppo_clip_loss", "engine_weight": "token_mask"}
            row["engine_weight.cap"] = row.pop("loss.weight_high")
            row["engine_weight.floor"] = row.pop("loss.weight_low")
        rows[algorithm.name] = row
    return rows


def bundle(lang: str) -> dict:
    """Return the data of config.js, with the sentences of one language."""
    return only(lang, data() | {"zoo": zoo()})


def only(lang: str, value: object) -> object:
    """Return data without the texts of other languages."""
    if isinstance(value, dict):
        if lang in value:
            value = {k: x for k, x in value.items() if k == lang or k not in LANGUAGES}
        return {name: only(lang, part) for name, part in value.items()}
    return [only(lang, part) for part in value] if isinstance(value, list) else value


def nearest(row: Mapping[str, object], apart: dict, lang: str) -> dict:
    """Return the entry of ALGORITHMS nearest to a row, and the differences.

    Another function counts 6, another choice 2, another number 1 and the stabiliser of
    the standard deviation nothing. Unknown values are not counted.
    """
    best = None
    also = []
    for name, entry in zoo().items():
        differs = differences(row, entry, apart)
        weight = sum(weigh(part, row, entry) for part in differs)
        if best is None or weight < best[0]:
            best, also = (weight, name, differs, entry), []
        elif weight == best[0]:
            also.append(name)
    _, name, differs, entry = best
    return {
        "name": name,
        "also": also,
        "differs": [
            {"field": part, "zoo": said(entry, part), "yours": said(row, part)}
            for part in differs
        ],
        "apart": [{"field": part, "text": text[lang]} for part, text in apart.items()],
        "open": sorted(part for part, x in row.items() if isinstance(x, Unknown)),
    }


def differences(row: Mapping, entry: Mapping, apart: Mapping) -> list[str]:
    """Return the parts in which two rows differ; of another function, no parts."""
    parts = sorted({*row, *entry})
    found = []
    for part in parts:
        stage, dot, _ = part.partition(".")
        a, b = row.get(part), entry.get(part)
        unread = isinstance(a, Unknown) or isinstance(row.get(stage), Unknown)
        if unread or part in apart or stage in apart or same(a, b):
            continue
        if dot and not same(row.get(stage), entry.get(stage)):
            continue
        no_kl = not isinstance(row["kl_coef"], Unknown) and not row["kl_coef"]
        if part in ("kl_estimator", "kl_in") and (no_kl or not entry["kl_coef"]):
            continue
        found.append(part)
    return found


def weigh(part: str, row: Mapping, entry: Mapping) -> int:
    """Return the weight of a difference."""
    if part == "advantage.eps":
        return 0
    if part in STAGES:
        return 6
    a, b = row.get(part), entry.get(part)
    dial = is_number(a) or is_number(b) or part == "refill"
    appears = part == "kl_coef" and not (a and b)
    return 2 if appears or not dial else 1


def said(row: Mapping[str, object], part: str) -> str:
    """Return a part of a row, a function with its dials."""
    value = row.get(part)
    if value is None or value is False:
        return "–" if value is None else "False"
    dials = [
        f"{name.partition('.')[2]}={shown(x)}"
        for name, x in row.items()
        if name.startswith(part + ".") and x is not None
    ]
    return shown(value) + (f"({', '.join(dials)})" if dials else "")
