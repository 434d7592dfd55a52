"""Sources 出处: the files behind a figure or another part of a page.

A page that declares them as dependencies is rebuilt when one of them changes. Code is
found by following imports: ``from package import name`` leads to the module that
defines the name, so a figure depends on what it uses and not on the whole package. Data
are noted when they are opened, by an audit hook. Files opened while a module is
imported, or inside a cached function, belong to that module. So this module must be
imported before all that open files: `editions`, the book's first extension, does that.
"""

import ast
import functools
import importlib.util
import os
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenbook import ROOT

LIBRARIES = {Path(path).resolve() for path in sysconfig.get_paths().values()}
HERE = {ROOT, Path.cwd()}  # the checkout, and the book
READS = ("open", "os.listdir", "os.scandir")

_read: dict[str, set[str]] = defaultdict(set)
_makers: list[str] = []


@contextmanager
def noting(maker: str) -> Iterator[None]:
    """Context that assigns the opened files to a maker: a module, or a name in one."""
    _makers.append(maker)
    try:
        yield
    finally:
        _makers.pop()


def sources(module: str, *makers: str) -> list[str]:
    """The files of a loaded module, of all its imports, and the files they opened.

    Files of installed libraries are left out.

    Args:
        module: its code, and that of the modules it uses.
        makers: more owners of files; see `noting`.
    """
    todo, seen = [module], set()
    while todo:
        name = todo.pop()
        if name not in seen and code_of(name):
            seen.add(name)
            todo += uses(name)
    found = {file for name in {*seen, *makers} for file in _read[name]}
    found = {Path(file).resolve() for file in found}
    for name in seen:
        parts = name.split(".")  # to import a module runs the packages around it
        around = [".".join(parts[: n + 1]) for n in range(len(parts))]
        found |= {code_of(one) for one in around} - {None}
    return sorted(str(file) for file in found if ours(file))


def depend(env, paths: list[str]) -> None:
    """Declare files and folders as dependencies of Sphinx's current page."""
    for path in paths:
        if os.path.isdir(path):
            listed = vars(env).setdefault("listed", {})
            listed.setdefault(env.docname, {})[path] = listing(path)
        else:
            env.note_dependency(path)


def relisted(app, env, *_) -> list[str]:
    """The pages that listed a folder whose files have changed."""
    return [
        page
        for page, folders in vars(env).get("listed", {}).items()
        if any(listing(folder) != names for folder, names in folders.items())
    ]


def forget(app, env, page: str) -> None:
    """Forget the listed folders of a page that is read again."""
    vars(env).get("listed", {}).pop(page, None)


def listing(folder: str) -> list[str]:
    """The names in a folder; none if it does not exist."""
    try:
        return sorted({*os.listdir(folder)} - {"__pycache__"})
    except OSError:
        return []


@functools.cache
def code_of(module: str) -> Path | None:
    """The file of a loaded module; None for a builtin or a library."""
    file = getattr(sys.modules.get(module), "__file__", None)
    file = Path(file).resolve() if file else None
    return file if file and ours(file) else None


def ours(file: Path) -> bool:
    """Whether a file is written here, not installed."""
    here, libraries = ({*file.parents} & places for places in (HERE, LIBRARIES))
    return bool(here and not libraries)


@functools.cache
def imports(module: str) -> list[tuple[str, str, str]]:
    """The imports of a module: (module, name in it or "", name here)."""
    package = getattr(sys.modules[module], "__package__", "")
    found = []
    for node in ast.walk(ast.parse(code_of(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(one.name, "", one.asname or one.name) for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(base, package)
            found += [(base, one.name, one.asname or one.name) for one in node.names]
    return found


def uses(module: str) -> list[str]:
    """The modules that define a module's imported names."""
    return [defines(base, name) for base, name, _ in imports(module)]


def defines(module: str, name: str) -> str:
    """The module that defines a name which another one has."""
    if f"{module}.{name}" in sys.modules:
        return f"{module}.{name}"
    if code_of(module):
        for base, there, here in imports(module):
            if there and here == name and base != module:
                return defines(base, there)
    return module


def _note(event: str, arguments: tuple) -> None:
    if event not in READS or not isinstance(arguments[0], str | os.PathLike):
        return
    if event == "open" and set(arguments[1] or "") & set("wax+"):
        return
    if "__editable__" in os.fspath(arguments[0]):
        return  # no file: the finder of an editable package
    frame, makers = sys._getframe(1), {*_makers}
    if "importlib" in frame.f_code.co_filename:
        return  # code: it is found by its imports
    while frame:
        name, there = frame.f_code.co_name, frame.f_globals
        if there is globals():
            return  # looking for imports
        if name == "<module>" or hasattr(there.get(name), "cache_info"):
            makers.add(there.get("__name__", ""))
        frame = frame.f_back
    for maker in makers:
        _read[maker].add(os.path.abspath(os.fspath(arguments[0])))


sys.addaudithook(_note)
