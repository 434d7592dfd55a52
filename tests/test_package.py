"""The packages in src/: what each may import, and what an installed one brings."""

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from tokenbook import site

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PACKAGES = {path.name for path in SRC.iterdir() if (path / "__init__.py").exists()}
MODULES = sorted(SRC.rglob("*.py"))
BOOK = SRC / "tokenbook"


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


def test_the_course_knows_nothing_of_the_book():
    """But for the command that says where the book's commands went."""
    for path in (SRC / "tokencredit").rglob("*.py"):
        used = {name for name in imports(path) if name.startswith("tokenbook")}
        assert not used, f"{path.relative_to(ROOT)} imports {used}"


@pytest.mark.parametrize(
    ("part", "may"),
    [("languages", {"languages"}), ("homework", {"homework", "languages", "site"})],
)
def test_the_tools_of_the_book_know_nothing_of_the_course(part, may):
    for path in (BOOK / part).rglob("*.py"):
        used = {tuple(name.split(".")[:2]) for name in imports(path)}
        used = {name for name in used if name[0] in PACKAGES and name[1:] != ("ROOT",)}
        allowed = {("tokenbook", other) for other in may}
        assert used <= allowed, f"{path.relative_to(ROOT)} imports {used - allowed}"


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
    files = [*SRC.rglob("*.py"), *ROOT.glob("tests/*.py")]
    assert not [path for path in files if bent in path.read_text(encoding="utf-8")]


ALONE = """
import runpy, sys
sys.path[:] = [path for path in sys.path if path != {src!r}]
sys.meta_path[:] = [one for one in sys.meta_path if "editable" not in str(one)]
sys.argv[:] = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def run(folder: Path, where: Path, *words: str) -> subprocess.CompletedProcess:
    """Run a module with what was unpacked into a folder, and no checkout beside it."""
    env = {"PYTHONPATH": f"{folder}:{where}"}
    command = [sys.executable, "-W", "ignore", "-c", ALONE.format(src=str(SRC)), *words]
    return subprocess.run(command, env=env, cwd=where, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """Both projects built in a fresh checkout, each wheel unpacked into a folder."""
    folder = tmp_path_factory.mktemp("wheels")
    tree = folder / "tree"
    skip = shutil.ignore_patterns(
        "_build", "build", "chapters", ".venv*", ".git", "*.egg-info"
    )
    shutil.copytree(ROOT, tree, ignore=skip)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", tree]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q"]
    pip += ["--no-deps", "--no-build-isolation", "-w", folder]
    for project in (".", "./src"):
        subprocess.run([*pip, project], cwd=tree, check=True)
    status = subprocess.run([*git, "status", "--porcelain"], capture_output=True)
    assert status.stdout == b"", "a build leaves something to track"
    found = {}
    for file in folder.glob("*.whl"):
        found[file.name.partition("-")[0]] = folder / file.stem
        with zipfile.ZipFile(file) as packed:
            packed.extractall(folder / file.stem)
    return found


def test_each_wheel_puts_one_name_into_site_packages(wheels):
    for name, folder in wheels.items():
        tops = {path.name for path in folder.iterdir()}
        assert {top for top in tops if not top.endswith(".dist-info")} == {name}


def test_the_course_needs_four_packages(wheels):
    (said,) = wheels["tokencredit"].glob("*.dist-info/METADATA")
    needs = re.findall(
        r"^Requires-Dist: ([\w-]+)(?![^\n]*extra)", said.read_text(), re.M
    )
    assert needs == ["jaxtyping", "numpy", "torch", "tqdm"]


NEEDED = """
import sys
import tokencredit, tokencredit.laws
tokencredit.laws.check("ratio", lambda log_ratio: log_ratio + 1)
tokencredit.warm_start("signs")
book = "yaml pandas matplotlib joblib ipywidgets tokenbook IPython docutils"
print(sorted(name for name in book.split() if name in sys.modules))
"""


def test_the_course_runs_alone(wheels, tmp_path):
    (tmp_path / "needed.py").write_text(NEEDED)
    done = run(wheels["tokencredit"], tmp_path, "needed")
    assert done.stdout == "[]\n", done.stderr
    done = run(wheels["tokencredit"], tmp_path, "tokencredit", "lab", "list")
    assert done.returncode == 2 and "pip install" in done.stderr


def test_the_laws_of_the_installed_course_are_pytest_s(wheels, tmp_path):
    (tmp_path / "mine.py").write_text("def shift(mask):\n    return mask[:, :-1]\n")
    words = ["tokencredit.laws", "--shift", "mine:shift"]
    done = run(wheels["tokencredit"], tmp_path, *words)
    assert "Room: book/errata.html#which-outputs-are-trained (A mask " in done.stdout
    assert done.returncode == 1 and "\n1 failed in" in done.stdout, done.stderr


READ = """
from tokenbook import figures, homework, lab, symptoms
from tokenbook.languages.glossary import term
from tokenbook.symptoms import config, rules
assert config.data and rules.rules()
print(term("discount", "en"), len(lab.results("gamma-sweep")) > 0)
from tokenbook.explorer.embed import page
print(len(page(figures.explore("forty_lines"), "en")) > 1000)
"""


def test_the_installed_book_has_its_data(wheels, tmp_path):
    both = tmp_path / "both"
    for folder in wheels.values():
        shutil.copytree(folder, both, dirs_exist_ok=True)
    (tmp_path / "reading.py").write_text(READ)
    done = run(both, tmp_path, "reading")
    assert done.stdout == "discount True\nTrue\n", done.stderr
    done = run(both, tmp_path, "tokencredit", "lab", "list")
    assert done.returncode == 0 and "gamma-sweep" in done.stdout
    assert done.stderr == "python -m tokencredit lab is now: python -m tokenbook lab\n"


# --- the features of the site -----------------------------------------------------


def test_every_part_of_a_feature_is_declared_and_there():
    for feature in site.FEATURES:
        there = {p.name for p in feature.iterdir()} - {"__init__.py", "__pycache__"}
        declared = {*site.declared(feature), "README.md"}
        assert there == declared, f"{feature.relative_to(SRC)}/README.md"


def test_a_feature_without_a_declared_part_fails_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "HERE", tmp_path / "tokenbook" / "site")
    feature = site.HERE / "search"
    feature.mkdir(parents=True)
    monkeypatch.setattr(site, "FEATURES", (feature,))
    with pytest.raises(ExtensionError, match="site/search: no README"):
        site.check_features()
    (feature / "README.md").write_text("# Search\n\n* `index.py` `search.js`: all\n")
    (feature / "index.py").touch()
    with pytest.raises(ExtensionError, match=r"site/search: search\.js is missing"):
        site.check_features()


def test_every_module_with_a_setup_is_a_step():
    steps = {f"tokenbook.{step}" for step in site.STEPS}
    made = {
        ".".join(path.relative_to(SRC).with_suffix("").parts)
        for path in BOOK.rglob("*.py")
        if "\ndef setup(app" in path.read_text(encoding="utf-8")
    }
    assert made - {"tokenbook.site.__init__"} == steps
