"""The packages in src/: what each may import, and what an installed one brings."""

import ast
import shutil
import subprocess
import sys
import zipfile
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PACKAGES = {path.name for path in SRC.iterdir() if (path / "__init__.py").exists()}
MODULES = sorted([*SRC.rglob("*.py"), *(ROOT / "book" / "_ext").glob("*.py")])


def imports(path: Path) -> set[str]:
    """The modules that a file imports, relative ones by their whole name."""
    home = path.relative_to(SRC).parts[:-1] if path.is_relative_to(SRC) else ()
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = home[: len(home) - node.level + 1] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize(
    ("package", "may"),
    [("coursebook", {"coursebook"}), ("homework", {"homework", "coursebook"})],
)
def test_the_tools_of_the_book_know_nothing_of_the_course(package, may):
    for path in (SRC / package).rglob("*.py"):
        used = {name.partition(".")[0] for name in imports(path)} & PACKAGES
        assert used <= may, f"{path.relative_to(ROOT)} imports {used - may}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_private_module_is_imported_from_another_folder(path):
    for name in imports(path):
        parts = name.split(".")
        private = [n for n, part in enumerate(parts) if part.startswith("_")]
        if parts[0] in PACKAGES and private and not name.endswith("__"):
            folder = SRC.joinpath(*parts[: private[0]])
            assert path.is_relative_to(folder), f"{path.relative_to(ROOT)}: {name}"


def test_no_file_imports_itself_by_a_detour():
    names = {}
    for path in SRC.rglob("*.py"):
        parts = path.relative_to(SRC).with_suffix("").parts
        names[".".join(parts).removesuffix(".__init__")] = path
    graph = {}
    for name, path in names.items():
        used = {full if full in names else up(full) for full in imports(path)}
        graph[name] = (used & names.keys()) - {name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def up(name: str) -> str:
    """The module that a name is of, if it is no module itself."""
    return name.rpartition(".")[0]


def test_nobody_bends_the_path_of_imports():
    bent = "sys.path." + "insert"
    files = [*ROOT.glob("book/**/*.py"), *SRC.rglob("*.py"), *ROOT.glob("tests/*.py")]
    assert not [path for path in files if bent in path.read_text(encoding="utf-8")]


def test_a_wheel_brings_what_it_reads_and_leaves_nothing_to_track(tmp_path):
    tree = tmp_path / "tree"
    skip = shutil.ignore_patterns(
        "_build", "build", "chapters", ".venv*", ".git", "*.egg-info"
    )
    shutil.copytree(ROOT, tree, ignore=skip)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", tree]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q"]
    pip += ["--no-deps", "--no-build-isolation", "."]
    subprocess.run(pip, cwd=tree, check=True)
    status = subprocess.run([*git, "status", "--porcelain"], capture_output=True)
    assert status.stdout == b""
    (wheel,) = tree.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        packed.extractall(tmp_path / "installed")
    assert {name.partition("/")[0] for name in names} >= PACKAGES
    say = "from tokenbook.languages.glossary import term; print(term('discount', 'en'))"
    env = {"PYTHONPATH": str(tmp_path / "installed")}
    command = [sys.executable, "-c", say]
    said = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert said.stdout == "discount\n", said.stderr
    (tmp_path / "mine.py").write_text("def shift(mask):\n    return mask[:, :-1]\n")
    command = [sys.executable, "-m", "pytest", "--pyargs", "tokencredit.laws"]
    command += ["--shift", "mine:shift"]
    done = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert "installed/tokencredit/laws/test_laws.py" in done.stdout, done.stderr
    assert "Room: book/errata.html#which-outputs-are-trained (A mask " in done.stdout
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout
