"""Every line of CONTRIBUTING's table, done for real on a copy of the tree."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from coursebook.languages import LANGUAGES

ROOT = Path(__file__).parents[1]
CACHES = ("_build", "__pycache__", ".*", "*.egg-info", "build")
PAGES = """
import json, sys
from importlib import import_module
from pathlib import Path
said = {}
for page in sys.argv[2:]:
    module, name = page.split(".")
    directive = getattr(import_module(module), name)
    directive.root, directive.depends_on = Path.cwd(), lambda *_: None
    said[name] = directive.markdown(directive.__new__(directive), sys.argv[1])
print(json.dumps(said))
"""
SITE = """
import sys
from pathlib import Path
sys.path.append("tests")
from test_site_build import make_book, site
root = make_book(Path("small").resolve())
sys.exit(site.build(root, root / "_build" / "site"))
"""


def python(tree: Path, *args) -> subprocess.CompletedProcess:
    """Run Python in a copy, with the copy's packages."""
    paths = f"{tree / 'src'}{os.pathsep}{tree / 'book/_ext'}"
    env = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *map(str, args)]
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True)


def run_tests(tree: Path, names: str, *files: str) -> dict[str, str]:
    """Run the tests of a copy whose name holds `names`; what is wrong with each."""
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", names]
    command += ["--junit-xml=report.xml", *(f"tests/{file}" for file in files)]
    done = python(tree, *command)
    assert (tree / "report.xml").exists(), done.stderr
    found = {}
    for case in ElementTree.parse(tree / "report.xml").iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        found[name] = "\n".join(
            part.text or "" for part in case if part.tag != "skipped"
        )
    return found


def written(tree: Path, lang: str, *pages: str) -> dict[str, str]:
    """The Markdown that generated pages of a copy get from their directives."""
    done = python(tree, "-c", PAGES, lang, *pages)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def home(tree: Path, pattern: str) -> Path:
    """The one file of the packages with a line that begins so."""
    found = [
        path
        for path in (tree / "src").rglob("*.py")
        if re.search(f"^{pattern}", path.read_text(encoding="utf-8"), re.M)
    ]
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def append(path: Path, text: str) -> None:
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{text}", encoding="utf-8")


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> Path:
    """A copy of the tree, to which each `add_...` below has added something."""
    tree = tmp_path_factory.mktemp("contribution") / "book"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*CACHES))
    for name, add in [*globals().items()]:
        if name.startswith("add_"):
            add(tree)
    return tree


@pytest.fixture(scope="module")
def tested(grown) -> dict[str, str]:
    """What the contract tests say of what was added: nothing where they pass."""
    files = (
        "contract algorithms aggregate kl environments tasks diagnostics live_figures"
    )
    files += " errata lab homework notebooks parity"
    names = "(twin and not loss) or (full_marks and 01_tokens) or sample_call"
    names += " or in_the_table or weights_add_up"
    names = f"({names}) and not prose and not stored"
    return run_tests(grown, names, *(f"test_{file}.py" for file in files.split()))


@pytest.fixture(scope="module")
def pages(grown) -> dict[str, str]:
    """The pages that are written from what was added."""
    names = "zoo_page.ZooTables", "symptoms_page.DiagnosticsList"
    return written(grown, "en", *names, "errata_page.ErrataExhibits")


def passes(tested: dict[str, str], file: str, name: str) -> bool:
    """Whether tests of this file met the name, and all of them passed."""
    met = [said for test, said in tested.items() if file in test and name in test]
    return bool(met) and not any(met)


# --- rows, functions and files of the package --------------------------------------


def add_algorithm(tree):
    append(
        home(tree, r"ALGORITHMS\b.*= "),
        "from dataclasses import replace as _changed\n"
        'ALGORITHMS["twin"] = _changed(ALGORITHMS["GRPO"], name="twin", kl_coef=0.0)\n',
    )


def test_an_algorithm_is_a_row(tested, pages):
    assert passes(tested, "test_contract", "twin")
    assert passes(tested, "test_algorithms", "twin")
    assert "## twin" in pages["ZooTables"]


def add_rules(tree):
    rule = 'AGGREGATIONS["twin-rule"] = AGGREGATIONS["token-mean"]\n'
    append(home(tree, r"AGGREGATIONS\b.*= "), rule)
    rule = 'KL_ESTIMATORS["twin-kl"] = lambda d: d.square() / 2\n'
    append(home(tree, r"KL_ESTIMATORS\b.*= "), rule)


def test_a_rule_is_one_line_and_the_contract_finds_it(tested):
    assert passes(tested, "test_aggregate", "twin-rule")
    asked = [said for name, said in tested.items() if "weight" in name and said]
    assert len(asked) == 2 and all("to this table" in said for said in asked)
    assert passes(tested, "test_contract", "twin-kl")


def add_loss(tree):
    file = home(tree, r"def reinforce_loss\(")
    text = file.read_text(encoding="utf-8")
    body = re.search(r"^def reinforce_loss\(.*?(?=^def |^@|\Z)", text, re.M | re.S)[0]
    append(file, "\n" + body.replace("reinforce_loss", "twin_loss"))
    module = ".".join(file.relative_to(tree / "src").with_suffix("").parts)
    line = f"from {module} import twin_loss\n__all__.append('twin_loss')\n"
    append(tree / "src" / "tokencredit" / "__init__.py", line)


def test_a_loss_is_a_function_that_the_contract_asks_for(tested):
    (said,) = (said for name, said in tested.items() if "sample_call" in name)
    assert "twin_loss" in said and "add it to CALLS in tests/sample_calls.py" in said


def add_environment_and_task(tree):
    append(home(tree, "ENVIRONMENTS = "), 'ENVIRONMENTS["twin-game"] = Bandit\n')
    append(home(tree, r"def task\("), 'TASKS["twin-task"] = TASKS["chain"]\n')


def test_an_environment_is_a_class_and_its_line(tested):
    assert passes(tested, "test_environments", "twin-game")


def test_a_task_is_a_class_and_its_line(tested):
    assert passes(tested, "test_tasks", "twin-task")


def add_diagnostic(tree):
    row = 'DIAGNOSTICS["twin_share"] = DIAGNOSTICS["clip_fraction"]\n'
    append(home(tree, "DIAGNOSTICS = "), f"{row}twin_share = clip_fraction\n")
    line = "from tokencredit.diagnostics import twin_share\n"
    append(tree / "src" / "tokencredit" / "__init__.py", line)


def test_a_diagnostic_is_a_function_and_its_row(tested, pages):
    assert passes(tested, "test_contract", "twin_share")
    assert "`twin_share`" in pages["DiagnosticsList"]


def add_figure(tree):
    figures = tree / "src" / "tokencredit" / "figures"
    shutil.copy(figures / "dead_groups.py", figures / "twin_groups.py")


def test_a_figure_is_one_file(tested):
    assert passes(tested, "test_live_figures", "twin_groups")


def add_experiment(tree):
    file = home(tree, r'    name="gamma-sweep"')
    text = file.read_text(encoding="utf-8").replace('"gamma-sweep"', '"twin-sweep"')
    file.with_name("twin_sweep.py").write_text(text, encoding="utf-8")


def test_an_experiment_is_one_file(tested, grown):
    assert passes(tested, "test_lab", "runs[twin-sweep]")
    (lacks,) = (tested[name] for name in tested if "store_holds_every_run" in name)
    assert "lab run twin-sweep" in lacks
    listed = python(grown, "-m", "tokencredit", "lab", "list").stdout
    assert re.search(r"twin-sweep +chapter +4 +0/\d+ runs", listed), listed


def add_mistake(tree):
    errata = tree / "book" / "errata"
    text = (errata / "02_missing_comma.py").read_text(encoding="utf-8")
    (errata / "99_twin.py").write_text(text.replace("without its", "less a"), "utf-8")


def test_a_published_mistake_is_one_file(tested, pages):
    assert passes(tested, "test_errata", "99_twin")
    assert "A min less a comma" in pages["ErrataExhibits"]


# --- chapters and their exercises ----------------------------------------------------


def add_chapter(tree):
    done = python(tree, "-m", "coursebook.notebooks", "new", "77_twin")
    assert done.returncode == 0, done.stderr
    for file in ("_toc.yml", "book/course.yml"):
        assert f"add to {file}" in done.stdout
    done = python(tree, "-m", "coursebook.notebooks", "check", "chapters/77_twin.ipynb")
    assert done.returncode == 1 and "is on no page: add to _toc.yml" in done.stdout
    line = "      - file: chapters/15_cluster\n"
    replace(tree / "_toc.yml", line, f"{line}      - file: chapters/77_twin\n")
    row = "- number: 77\n  arrow: credit\n  zh: 又一章\n  en: A twin\n"
    row += '  asks: {zh: "问什么？", en: "What?"}\n'
    append(tree / "book" / "course.yml", row)


def test_a_chapter_is_a_notebook_and_two_lines(tested):
    for file in ("test_notebooks", "test_parity", "test_homework"):
        assert passes(tested, file, "77_twin"), file


def add_exercise(tree):
    chapter = tree / "chapters" / "01_tokens_as_actions.ipynb"
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    answer = "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n"
    check = 'assert double(1) == 2, "加倍 | twice"'
    for name, source, points in (
        ("double", f"{answer}    ### END SOLUTION", None),
        ("double-check", check, 1),
        ("double-hidden", f"### BEGIN HIDDEN TESTS\n{check}\n### END HIDDEN TESTS", 1),
    ):
        meta = {"grade_id": name, "schema_version": 3, "task": False}
        meta |= {"solution": points is None, "grade": points is not None}
        meta |= {"locked": points is not None} | ({"points": points} if points else {})
        cell = {"cell_type": "code", "id": name, "metadata": {"nbgrader": meta}}
        cell |= {"source": source, "outputs": [], "execution_count": None}
        notebook["cells"].append(cell)
    chapter.write_text(json.dumps(notebook), encoding="utf-8")


def test_an_exercise_is_three_cells(tested, grown):
    assert passes(tested, "test_homework", "full_marks")
    for lang in LANGUAGES:
        make = ["make", "1", "--lang", lang, "--out", "out"]
        assert python(grown, "-m", "homework", *make).returncode == 0
        made = grown / "out" / f"01_tokens_as_actions_{lang}.ipynb"
        text = made.read_text(encoding="utf-8")
        assert "def double(x)" in text and "2 * x" not in text


# --- a sentence, a term, a colour, a language ----------------------------------------


@pytest.fixture
def tree(tmp_path) -> Path:
    """A copy of its own."""
    ignore = shutil.ignore_patterns(*CACHES)
    return shutil.copytree(ROOT, tmp_path / "book", ignore=ignore)


def test_a_sentence_is_compared_with_its_partner(tree):
    chapter = tree / "chapters" / "05_critics_gae.ipynb"
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    english = (
        c for c in notebook["cells"] if "lang-en" in c["metadata"].get("tags", "")
    )
    next(english)["source"].append(" See $x_7$.")
    chapter.write_text(json.dumps(notebook), encoding="utf-8")
    done = python(tree, "-m", "coursebook.parity", chapter)
    assert done.returncode == 1 and "05_critics_gae.ipynb, cell" in done.stdout
    assert "lacks the formula $x_7$: add it" in done.stdout


def test_a_term_is_renamed_in_one_row(tree):
    glossary = tree / "book" / "glossary.yml"
    replace(glossary, "zh: 折扣因子", "zh: 贴现率")
    page = written(tree, "zh", "glossary_page.GlossaryTables")["GlossaryTables"]
    assert "贴现率" in page and "折扣因子" not in page
    ask = "from coursebook.glossary import term; print(ascii(term('discount', 'zh')))"
    assert python(tree, "-c", ask).stdout.strip() == ascii("贴现率")


def test_a_term_that_is_retired_is_listed_where_prose_keeps_it(tree):
    glossary = tree / "book" / "glossary.yml"
    row = "    en: zero line\n    retired: {en: [baseline]}\n"
    replace(glossary, "    en: baseline\n", row)
    said = run_tests(tree, "rewritten", "test_glossary.py")
    (listed,) = (what for test, what in said.items() if "05_critics_gae" in test)
    assert "baseline: write zero line" in listed and "05_critics_gae.ipynb" in listed


def test_a_colour_is_changed_in_the_style_sheet(tree):
    sheet = tree / "src" / "explorer" / "static" / "colors.css"
    text = sheet.read_text(encoding="utf-8")
    colour = re.search(r"--[\w-]+: (#[0-9a-f]{6});", text)[1]
    sheet.write_text(text.replace(colour, "#123456"), encoding="utf-8")
    done = python(tree, "-c", SITE)
    assert done.returncode == 0, done.stderr
    for lang in LANGUAGES:
        css = tree / "small" / "_build" / "site" / lang / "_static" / "bundle.css"
        assert "#123456" in css.read_text(encoding="utf-8")


def test_a_language_is_added_in_one_place(tree):
    replace(
        tree / "src" / "coursebook" / "languages.py",
        '    "en": Language("English"),\n',
        '    "en": Language("English"),\n    "ja": Language("日本語", "ぁ-ヿ"),\n',
    )
    done = python(tree, "-m", "coursebook.parity")
    todo = done.stdout.splitlines()
    assert done.returncode == 1 and not done.stderr
    assert all("ja" in line for line in todo), [x for x in todo if "ja" not in x][:3]
    for place in (
        "chapters/01_tokens_as_actions.ipynb, cell",
        "book/index.md, block",
        "book/glossary.yml, groups, 1, terms, prompt: no 'ja' beside 'prompt'",
        "book/course.yml",
        "_toc.yml, parts",
        "_config.yml, editions",
        "book/_templates/navbar-logo.html",
        "book/errata/01_min_for_good_max_for_bad.py, line",
        "src/homework/words.py, line",
    ):
        assert any(line.startswith(place) for line in todo), place
    # Chinese and English stay what they are: pages, words, homework.
    names = "edition or anchors or markers or pair or one_language or table"
    said = run_tests(tree, names, "test_site_build.py", "test_homework.py")
    assert said and not any(said.values()), next(filter(None, said.values()))
    done = python(tree, "-m", "homework", "make", 5, "--lang", "ja", "--out", "out")
    assert done.returncode == 2 and "invalid choice: 'ja'" in done.stderr


# --- the table itself ----------------------------------------------------------------


def test_every_line_of_the_table_is_done_here():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w[^|]*?) \| [^|]+ \| [^|]+ \|$", text, re.M)
    done = " ".join(name for name in globals() if name.startswith("test_"))
    for row in [row for row in rows if row != "I want to"]:
        words = re.findall(r"\w+?(?=s?\b)", row.replace("aggregation", "rule"))
        assert re.search(f"_an?_[a-z_]*?({'|'.join(words[1:])})_", done), row
