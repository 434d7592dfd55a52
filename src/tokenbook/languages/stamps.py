"""Dependencies of a notebook's outputs, found by running it.

While the cells run, `Watch` notes which functions of the packages in ``src/`` are
called, which entries of their tables are looked up and which of their files are read.
`stands` hashes the parts of one module that were used: the code of those functions, the
values of those entries, and its other statements. So a new row of a table, a function
that no cell calls, a docstring or a comment leaves a stamp alone.
"""

import ast
import cProfile
import functools
import hashlib
import importlib
import inspect
import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path
from types import CodeType, ModuleType

SRC = Path(__file__).resolve().parents[2]
PLAIN = str | bytes | int | float | tuple | None
ALL = "*"  # all tables of a module, if they were not watched
DEFINED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def digest(data: str | bytes) -> str:
    """Return a short hash."""
    data = data.encode() if isinstance(data, str) else data
    return hashlib.sha256(data).hexdigest()[:12]


def plain(source: str) -> ast.Module | None:
    """Return the syntax tree without docstrings; None if it is not plain Python."""
    try:
        module = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(module):
        documented = isinstance(node, DEFINED | ast.Module)
        if documented and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return module


# --- how things stand ----------------------------------------------------------


def stands(module: str, names: list[str]) -> str:
    """Return one hash of the used parts of a module or file, as they are now."""
    if "/" in module:
        file = SRC / module
        return digest(file.read_bytes()) if file.exists() else "gone"
    file = SRC.joinpath(*module.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    if not file.exists():
        return "gone"
    home = None if ALL in names else importlib.import_module(module)
    code = dict(definitions(file, home))
    tables = [f"{name} {entry(home, name)}" for name in names if "[" in name]
    return digest(
        "\n".join([*(code.get(name, "") for name in names), *tables, code[""]])
    )


@functools.cache
def definitions(file: Path, home: ModuleType | None) -> list[tuple[str, str]]:
    """Return the code of a module's functions and methods by name; the rest as "".

    Without its tables where the module itself is given: their entries count alone.
    """
    found, rest = [], []
    named = vars(home) if home else {}
    tables = [value for value in named.values() if isinstance(value, dict)]
    rows = [value for table in tables for value in [table, *table.values()]]
    kept = {id(value) for value in rows if not isinstance(value, PLAIN)}

    def of_a_table(node: ast.stmt) -> bool:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        names = [n.id for t in targets if t for n in ast.walk(t) if hasattr(n, "id")]
        return any(id(named.get(name)) in kept for name in names)

    def of_the_lab(node: ast.stmt) -> bool:
        """The words and claims of an experiment; no code uses them."""
        named = isinstance(node, ast.Assign) and ast.unparse(node.targets[0])
        return named == "EXPERIMENT"

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                rest.extend(map(ast.unparse, [*node.decorator_list, *node.bases]))
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, DEFINED):
                found.append((prefix + node.name, ast.unparse(node)))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                continue
            elif prefix or not (of_a_table(node) or of_the_lab(node)):
                rest.append(ast.unparse(node))

    visit(plain(file.read_text(encoding="utf-8")).body, "")
    return [*found, ("", "\n".join(rest))]


def entry(home: ModuleType, name: str) -> str:
    """Return the value of ``TABLE[key]``, or of the whole of ``TABLE[*]``, as text."""
    table, _, key = name[:-1].partition("[")
    values = getattr(home, table, {})
    value = values if key == "*" else values.get(key)
    if getattr(value, "__name__", "") == "<lambda>":
        return inspect.getsource(value)
    return re.sub(r" at 0x\w+", "", repr(value))


# --- what the cells use --------------------------------------------------------


class Table(dict):
    """A table of the packages that notes which of its entries are asked for."""

    def __init__(self, entries: dict, name: str, seen: set[str]):
        super().__init__(entries)
        self.name, self.seen = name, seen

    def see(self, key="*") -> None:
        """Note an entry, unless it is looked up during an import."""
        wanted = f"{self.name}[{key}]"
        frame = None if wanted in self.seen else sys._getframe()
        while frame:
            body = frame.f_code.co_name == "<module>"
            if body and frame.f_globals["__name__"] != "__main__":
                return
            frame = frame.f_back
        self.seen.add(wanted)


def _noting(method: str, by_key: bool):
    def noted(self, *args):
        self.see(args[0]) if by_key and isinstance(args[0], str) else self.see()
        return getattr(dict, method)(self, *args)

    return noted


for _method in ("__getitem__", "__contains__", "get"):
    setattr(Table, _method, _noting(_method, True))
for _method in ("__iter__", "__len__", "__or__", "keys", "values", "items", "copy"):
    setattr(Table, _method, _noting(_method, False))


class Watch:
    """Record of the parts of ``src/`` that are used between `start` and `stop`."""

    def __init__(self):
        self.used: dict[str, set[str]] = defaultdict(set)
        self.profile = cProfile.Profile(builtins=False)

    def start(self, *packages: str) -> None:
        """Import the packages, wrap their tables, and start to record."""
        for package in packages:
            importlib.import_module(package)
        tables: dict[int, Table] = {}
        self.watched = modules()
        for name, module in self.watched.items():
            source = Path(module.__file__).read_text(encoding="utf-8")
            for key in re.findall(r"^(\w+)\b[^=\n]*= ", source, re.M):
                if type(value := vars(module).get(key)) is dict:
                    tables[id(value)] = Table(value, key, self.used[name])
        for module in self.watched.values():
            for key, value in [*vars(module).items()]:
                setattr(module, key, tables.get(id(value), value))
        sys.addaudithook(self.note_file)
        self.profile.enable()

    def note_file(self, event: str, arguments: tuple) -> None:
        if event == "open" and isinstance(arguments[0], str | os.PathLike):
            file = Path(arguments[0])
            if file.is_relative_to(SRC) and file.suffix not in (".py", ".pyc"):
                name = file.relative_to(SRC).as_posix()
                if (SRC / name.partition("/")[0] / "__init__.py").exists():
                    self.used[name].add("read")

    def stop(self) -> str:
        """Return {module or file: its used parts} as JSON."""
        self.profile.disable()
        names = {module.__file__: name for name, module in modules().items()}
        for code in (called.code for called in self.profile.getstats()):
            if isinstance(code, CodeType) and code.co_filename in names:
                function = code.co_qualname.partition(".<locals>")[0]
                if code.co_flags & inspect.CO_OPTIMIZED and function[0] != "<":
                    self.used[names[code.co_filename]].add(function)
        for name in modules().keys() - self.watched.keys() & self.used.keys():
            self.used[name].add(ALL)
        return json.dumps({name: sorted(of) for name, of in self.used.items() if of})


def modules() -> dict[str, ModuleType]:
    """Return the loaded modules of the packages in ``src/``, but for this one."""
    return {
        name: module
        for name, module in sorted(sys.modules.items())
        if str(getattr(module, "__file__", None)).startswith(f"{SRC}{os.sep}")
        and name != __name__
    }


WATCH = Watch()
