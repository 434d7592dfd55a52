"""The API reference: every public name of the package, from its docstring.

A name is public if some ``__all__`` of the package lists it. A module of `integrations`
can be imported only where its library is installed, so it is parsed instead: all its
functions and classes are public. Names are sorted by the tree, which follows the
arrows, and within a part by the package's own docstring.

Docstrings are plain text with equations, so their prose is kept: only the sections
(Args, Returns, Raises) and doctests are marked up.
"""

import ast
import functools
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

from sphinx.application import Sphinx

import tokencredit
from tokenbook.languages import HAN, LANGUAGES, pick
from tokenbook.site.generated import Generated, jumps

TREE = {  # part of the package -> its arrow
    "batch": "在各阶段之间流动的数据 | What walks from stage to stage",
    "algorithm": "一个算法由哪些阶段组成 | What an algorithm is: one choice per stage",
    "algorithms": "算法表 | The table of algorithms",
    "world": "提示 → 词元 → 奖励 | prompt → tokens → reward",
    "credit": "奖励 → 功劳 | reward → credit",
    "weight": "功劳 → 权重 | credit → weight",
    "training": "权重 → 梯度 | weight → gradient",
    "tensors": "共用的张量工具 | tools for tensors",
    "diagnostics": "看训练是否健康的数 | numbers beside the loss",
    "laws": "用定律检查你自己的函数 | laws for your own functions",
    "integrations": "在别的训练库里用 | inside other trainers",
    "lab": "存下来的实验 | stored experiments",
    "figures": "可调的图 | live figures",
}
OF_THE_BOOK = ("lab", "figures")  # parts of tokenbook that chapters import
HOLDS = "内容 | Holds"
CHINESE = re.compile(rf" *\(?([{HAN}]+(?: [A-Za-z]+(?=[.:]))?)\)?")  # "近似 KL" too


@functools.cache
def modules() -> dict[str, list[str]]:
    """The modules of each part of the package, by their whole names."""
    found = {part: [] for part in TREE}
    there = [*pkgutil.walk_packages(tokencredit.__path__, "tokencredit.")]
    for part in OF_THE_BOOK:
        home = importlib.import_module(f"tokenbook.{part}")
        there += pkgutil.walk_packages(home.__path__, f"tokenbook.{part}.")
        found[part].append(home.__name__)
    for info in there:
        if not re.search(r"\._|\.experiments\.|\.records$", info.name):
            found.setdefault(info.name.split(".")[1], []).append(info.name)
    return found


def source(module: str) -> Path:
    """The file of a module, which is not imported for it."""
    return Path(importlib.util.find_spec(module).origin)


@functools.cache
def defined(module: str) -> dict[str, ast.stmt]:
    """Public names at the top of a module, tables included, with their nodes."""
    found = {}
    for node in ast.parse(source(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found[getattr(target, "id", "_")] = node
    return {name: node for name, node in found.items() if name[0] != "_"}


@functools.cache
def public() -> dict[str, dict[str, str]]:
    """For each part: public name -> the shortest address that it is imported by."""
    parts, home = modules(), {}
    for module in (module for part in parts.values() for module in part):
        home |= {(name, module): module for name in defined(module)}
    found = {part: {} for part in parts}
    for part, names in parts.items():
        for module in names if part == "integrations" else ():
            things = defined(module).items()
            defs = [
                n for n, x in things if isinstance(x, ast.FunctionDef | ast.ClassDef)
            ]
            found[part] |= {name: f"{module}.{name}" for name in defs}
    packages = [m for part in parts.values() for m in part if "integrations" not in m]
    for module in ["tokencredit", *packages]:
        for name in getattr(importlib.import_module(module), "__all__", ()):
            thing = getattr(importlib.import_module(module), name)
            here = getattr(thing, "__module__", "")
            if here.split(".")[1:2] not in [
                [part] for part in TREE
            ]:  # a table, explorer's
                homes = [m for n, m in home if n == name and m.startswith(module)]
                here = homes[0] if homes else module
            part = here.split(".")[1]
            found[part].setdefault(name, f"{module}.{name}")
    return {
        part: dict(sorted(names.items(), key=place)) for part, names in found.items()
    }


def place(item: tuple[str, str]) -> int:
    """Position of a name in the package's docstring; the others follow."""
    found = re.search(rf"\b{item[0]}\b", tokencredit.__doc__)
    return found.start() if found else len(tokencredit.__doc__)


def entry(address: str, lang: str) -> list[str]:
    """The lines of one public name: its docstring, or the keys of a table."""
    module, _, name = address.rpartition(".")
    if "integrations" in module:
        is_class = isinstance(defined(module)[name], ast.ClassDef)
    else:
        thing = getattr(importlib.import_module(module), name)
        is_class = inspect.isclass(thing)
        if not callable(thing):
            keys = [thing] if isinstance(thing, str) else [*thing]
            said = ", ".join(f"``{key}``" for key in keys)
            return [f".. py:data:: {address}", "", f"   {pick(HOLDS, lang)} {said}", ""]
    lines = [f".. auto{'class' if is_class else 'function'}:: {address}"]
    if module != "tokencredit" and "integrations" not in module and listed_with(thing):
        # The listing of a module links back to all of its names under one address.
        lines[:0] = [".. raw:: html", "", f'   <i id="tokencredit.{name}"></i>', ""]
    return lines


def listed_with(thing) -> bool:
    """Whether a top-level name of the package comes from the same module."""
    top = (getattr(tokencredit, name) for name in tokencredit.__all__)
    return thing.__module__ in {getattr(other, "__module__", None) for other in top}


def escape(line: str) -> str:
    """Escape mathematics that RST would parse as markup."""
    return re.sub(r"(?<!`)([*|])|(?<=\w)_(?!\w)", r"\\\g<0>", line)


def in_one_language(line: str, lang: str) -> str:
    """Return a line of a docstring without the Chinese word beside a term.

    >>> in_one_language("Returns 回报 (折扣) of rows", "en")
    'Returns of rows'
    """
    return line if lang == "zh" else CHINESE.sub("", line)


def chinese_first(line: str) -> str:
    """Return the summary of a name with the Chinese words before the English ones.

    >>> chinese_first("Rows of tokens 批, prompt first.")
    '批 · Rows of tokens, prompt first.'
    """
    if len(found := CHINESE.findall(line)) != 1:
        return line
    return f"{found[0]} · {CHINESE.sub('', line)}"


def plain_prose(app, what, name, obj, options, lines: list[str]) -> None:
    """Escape prose outside code, and keep indented equations verbatim."""
    text, section = [], False
    if lines and app.config.edition == "zh":
        lines[0] = chinese_first(lines[0])
    for line in lines:
        line = in_one_language(line, app.config.edition)
        if re.match(r"(Args|Returns|Raises|Yields|Example)s?:$", line):
            section = True
        if line.lstrip().startswith((">>>", "...")) or "``" in line or "`" in line:
            text.append(line)
        elif line.startswith("    ") and not section:
            if text and not text[-1].startswith("    ") and text[-1].strip() != "::":
                text += ["", "::", ""]
            text.append(line)
        else:
            text.append(escape(line))
    lines[:] = text


class ApiReference(Generated):
    """One section per part of the package, in the order of the arrows."""

    def markdown(self, lang: str) -> str:
        text = []
        for part, names in public().items():
            if not names:
                continue
            for module in ["tokencredit", *modules()[part]]:
                self.depends_on(source(module))
            text += [f"## {part}", "", pick(TREE[part], lang), "", "```{eval-rst}"]
            text += [line for at in names.values() for line in entry(at, lang)]
            text += ["```", ""]
        return "\n".join(text)


class ApiJumps(Generated):
    """Links to the parts of the package."""

    def markdown(self, lang: str) -> str:
        parts = [part for part, names in public().items() if names]
        return jumps([dict.fromkeys(LANGUAGES, part) for part in parts], lang)


def setup(app: Sphinx) -> dict:
    app.add_directive("api-jumps", ApiJumps)
    app.add_directive("api-reference", ApiReference)
    app.connect("autodoc-process-docstring", plain_prose, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
