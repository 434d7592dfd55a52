"""What CONTRIBUTING and the page *Extend it* promise, done for real on a copy.

The code of the page is what is added: each of its blocks says which file it goes to.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tokenbook.languages import LANGUAGES

ROOT = Path(__file__).parents[1]
EXTEND = ROOT / "book" / "extend.md"
HEAD = "#%<!-> "  # around what the first line of a block says
CACHES = ("_build", "__pycache__", ".*", "*.egg-info", "build")
PAGES = """
import json, sys
from importlib import import_module
from pathlib import Path
said = {}
for page in sys.argv[2:]:
    module, name = page.split(":")
    directive = getattr(import_module(f"tokenbook.{module}"), name)
    directive.root, directive.depends_on = Path.cwd(), lambda *_: None
    directive.chapters = lambda _: sorted(Path("chapters").glob("[0-9]*.ipynb"))
    said[name] = directive.markdown(directive.__new__(directive), sys.argv[1])
print(json.dumps(said))
"""
PLAYGROUND = """
import os
from types import SimpleNamespace as Some
from tokenbook.site.playground import page
page.Playground.made(Some(depends_on=lambda _: None, config=Some(edition="en")))
assert "GRPO" in page.rows() and "SPO" not in page.rows()
os._exit(0)  # V8 may wait for ever at the interpreter's end
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
    env = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
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


# --- the page -----------------------------------------------------------------------


def recipes() -> dict[str, list[tuple[str, str]]]:
    """The blocks of the page by section: (language, text), in order."""
    page = EXTEND.read_text(encoding="utf-8")
    found = {}
    for part in re.split(r"^(?=## [A-Z])", page, flags=re.M)[1:]:
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", part, re.M | re.S)
        found[part.splitlines()[0].removeprefix("## ")] = blocks
    return found


RECIPES = recipes()


def write_into(tree: Path, text: str) -> None:
    """Write a block into the file that its first line names."""
    head, _, text = text.partition("\n")
    name, _, place = head.strip(HEAD).partition(", ")
    path, line = tree / name, place.removeprefix("after ")
    if path.suffix == ".ipynb" and line != place:
        write_below(path, text, line)
    elif path.suffix == ".ipynb":
        write_cell(path, text, place)
    elif place:
        old = path.read_text(encoding="utf-8")
        assert len(re.findall(f"^ *(?:- )?{re.escape(line)}", old, re.M)) == 1, head
        at = old.index("\n", old.index(line)) + 1
        path.write_text(old[:at] + text + old[at:], encoding="utf-8")
    elif path.exists():
        append(path, text)
    else:
        path.write_text(text, encoding="utf-8")


def write_below(path: Path, text: str, heading: str) -> None:
    """Write into the cell that begins with a heading, under it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    begins = [
        c for c in notebook["cells"] if "".join(c["source"][:1]).strip() == heading
    ]
    (cell,) = begins
    cell["source"][1:1] = text.splitlines(keepends=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def write_cell(path: Path, text: str, name: str) -> None:
    """Add a code cell of an exercise: its answer, or a check if the name says so."""
    points = 1 if "-" in name else None
    meta = {"grade_id": name, "schema_version": 3, "task": False}
    meta |= {"solution": points is None, "grade": points is not None}
    meta |= {"locked": points is not None} | ({"points": points} if points else {})
    cell = {"cell_type": "code", "id": name, "metadata": {"nbgrader": meta}}
    cell |= {"source": text.rstrip("\n"), "outputs": [], "execution_count": None}
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"].append(cell)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def add(tree: Path, section: str) -> str:
    """Do in a copy what a section of the page says; what its commands print."""
    said = ""
    for language, text in RECIPES[section]:
        if language == "sh":
            for line in text.splitlines():
                done = python(tree, *line.removeprefix("python ").split())
                said += done.stdout + done.stderr
        elif text.startswith(("#", "%", "<")):
            write_into(tree, text)
    return said


def tidied(tree: Path) -> list[str]:
    """Do what the page says to do at the end; what ruff still says of changed files."""
    changed = [
        path
        for path in [*tree.rglob("*.py"), *tree.rglob("*.ipynb")]
        if not (old := ROOT / path.relative_to(tree)).exists()
        or old.read_bytes() != path.read_bytes()
    ]
    for command in ("check --fix", "format"):
        ruff(tree, *command.split(), *changed)
    asks = ruff(tree, "check", *changed), ruff(tree, "format", "--check", *changed)
    return [done.stdout for done in asks if done.returncode]


def ruff(tree: Path, *args) -> subprocess.CompletedProcess:
    """Run ruff in a copy."""
    command = [sys.executable, "-m", "ruff", *map(str, args)]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True)


def promised(section: str) -> list[str]:
    """What a section says that the tests say, line by line."""
    texts = [text for language, text in RECIPES[section] if language == "text"]
    return [line for text in texts if text[0] != "%" for line in text.splitlines()]


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> Path:
    """A copy of the tree, to which every section of the page has added something."""
    tree = tmp_path_factory.mktemp("contribution") / "book"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*CACHES))
    for section in RECIPES:
        if section.startswith("Add ") and section != "Add a language":
            SAID[section] = add(tree, section)
    RUFF.extend(tidied(tree))
    return tree


SAID, RUFF = {}, []


@pytest.fixture(scope="module")
def tested(grown) -> dict[str, str]:
    """What the tests of the copy say of what was added: nothing where they pass."""
    files = "contract algorithms aggregate kl environments tasks diagnostics"
    files += " live_figures errata lab homework notebooks parity bad_input references"
    files += " interview playground answers laws symptoms readlog"
    new = "prefix_log above_the_mean mean_between seq-sum-token-sum-norm k3+ Doors"
    new += " one_hit spring push_down 99_mean 17_springs"
    names = f"{' or '.join(new.split())} or reverse and tasks"
    names += " or spo and not respon and not gspo and not cispo"
    names += " or full_marks and 01_tokens or sample_call or in_the_table"
    names += " or weights_add_up or store_holds_every_run and algorithms"
    names += " or every_question and 11_gspo or asked_twice or every_row_of_the_book"
    names += " or wrong_answers_lose and 01_tokens or has_a_curve or look_alike"
    names += " or curve_is_of_a_quantity or names_their_keys or other_words"
    names += " or told_in_both or logged_where or key_has_a_line"
    names = f"({names}) and not prose and not stored and not without"
    return run_tests(grown, names, *(f"test_{file}.py" for file in files.split()))


@pytest.fixture(scope="module")
def pages(grown) -> dict[str, str]:
    """The pages that are written from what was added."""
    names = "site.zoo.page:ZooTables", "symptoms.index_page:DiagnosticsList"
    return written(
        grown,
        "en",
        *names,
        "site.pages.errata:ErrataExhibits",
        "site.pages.api:ApiReference",
        "site.interview.page:InterviewBank",
    )


def passes(tested: dict[str, str], file: str, name: str) -> bool:
    """Whether tests of this file met the name, and all of them passed."""
    met = {t: said for t, said in tested.items() if file in t and name in t}
    assert not any(met.values()), {t: said for t, said in met.items() if said}
    return bool(met)


OPENENV = """
import sys
from types import ModuleType, SimpleNamespace
class Message:
    def __init__(self, reward=None, done=False, **fields):
        vars(self).update(reward=reward, done=done, step_count=0, **fields)
names = dict.fromkeys(["Action", "Environment", "Observation", "State"], Message)
server = ModuleType("openenv.core.env_server")
vars(server).update(names, create_fastapi_app=lambda make, *_, **dials: make)
sys.modules |= {"openenv": ModuleType("openenv"), "openenv.core": ModuleType("core")}
sys.modules[server.__name__] = server
"""
PLAY = """
game = app()
scene = game.reset(seed=3)
while not scene.done:
    print(scene.text)
    scene = game.step(SimpleNamespace(text="right"))
print(f"reward {scene.reward}")
"""


def test_a_served_game_is_the_game_that_the_page_shows():
    """The library itself is no dependency: its messages stand in for it here."""
    (_, server), _, (_, shown) = RECIPES["Serve a game"]
    done = python(ROOT, "-c", OPENENV + server + PLAY)
    assert (done.stdout, done.returncode) == (shown, 0), done.stderr


def test_the_page_begins_with_the_loop_and_the_smallest_change_learns():
    first, (setup, shows, output) = (
        [text for _, text in blocks] for blocks in [*RECIPES.values()][:2]
    )
    index = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    assert f"```python\n{first[0]}```" in index
    done = python(ROOT, "-c", f"{setup}\n{first[0]}{shows}")
    assert done.returncode == 0, done.stderr
    ours, theirs = (
        [float(line.split()[1]) for line in text.splitlines()]
        for text in (output, done.stdout)
    )
    assert ours == pytest.approx(theirs, abs=0.06)
    assert ours[0] < 0.3 and ours[-1] > 0.9


@pytest.mark.parametrize("name", ["spo_loss", "SPO"])
def test_a_loss_and_an_algorithm_join_the_contract(tested, name):
    assert passes(tested, "test_contract", name)


def test_an_algorithm_is_an_entry_of_the_table(tested, pages):
    assert passes(tested, "test_algorithms", "SPO")
    assert "## SPO" in pages["ZooTables"]


@pytest.mark.parametrize("name", ["prefix_log_ratio", "above_the_mean", "mean_between"])
def test_a_ratio_an_advantage_and_a_filter_join_the_contract(tested, name):
    assert passes(tested, "test_contract", name)


def test_an_aggregation_and_an_estimator_are_one_line_each(tested):
    assert passes(tested, "test_aggregate", "seq-sum-token-sum-norm")
    assert passes(tested, "test_aggregate", "weights_add_up")
    assert passes(tested, "test_contract", "k3+")


def test_a_task_is_a_file_and_its_line(tested):
    assert passes(tested, "test_tasks", "reverse")


def test_an_environment_is_a_file_and_its_line(tested):
    assert passes(tested, "test_environments", "Doors")


def test_a_live_figure_is_one_file(tested):
    assert passes(tested, "test_live_figures", "one_hit")


def test_an_experiment_is_one_file(tested):
    assert passes(tested, "test_lab", "runs[spring]")
    assert re.search(r"spring +chapter 11 +0/10 runs", SAID["Add an experiment"])


def test_a_diagnostic_is_a_function_and_its_entry(tested, pages):
    assert passes(tested, "test_contract", "push_down")
    assert "`push_down`" in pages["DiagnosticsList"]


def test_a_published_mistake_is_one_file(tested, pages):
    assert passes(tested, "test_errata", "99_mean_of_the_batch")
    assert passes(tested, "test_laws", "99_mean_of_the_batch")
    assert "The mean of the batch was subtracted" in pages["ErrataExhibits"]


def test_an_exercise_is_three_cells_and_its_wrong_answers(tested, grown):
    assert passes(tested, "test_homework", "full_marks")
    assert passes(tested, "test_answers", "01_tokens")
    for lang in LANGUAGES:
        make = ["make", "1", "--lang", lang, "--out", "out"]
        assert python(grown, "-m", "tokenbook.homework", *make).returncode == 0
        made = grown / "out" / f"01_tokens_as_actions_{lang}.ipynb"
        text = made.read_text(encoding="utf-8")
        assert "def double(x)" in text and "return 2 * x" not in text


def test_an_interview_question_is_a_fold_in_both_languages(tested, pages):
    assert passes(tested, "test_interview", "11_gspo")
    assert passes(tested, "test_interview", "asked_twice")
    assert "vary more, the longer the prefix is?" in pages["InterviewBank"]


def test_a_symptom_is_a_section_in_both_languages_and_its_curves(tested, grown):
    for name in ("has_a_curve", "look_alike", "curve_is_of_a_quantity", "other_words"):
        assert passes(tested, "test_symptoms", name), name
    done = python(grown, "-m", "tokenbook.languages.parity", "book/symptoms.md")
    assert done.returncode == 0, done.stdout


def test_a_key_of_a_log_is_an_entry_and_the_name_of_its_quantity(tested):
    assert passes(tested, "test_readlog", "told_in_both_languages")
    assert passes(tested, "test_readlog", "logged_where_it_is_said")
    assert passes(tested, "test_symptoms", "key_has_a_line")


def test_ruff_has_nothing_to_say_once_it_has_done_what_it_can(grown):
    assert not RUFF, "".join(RUFF)


def test_an_algorithm_that_the_playground_cannot_run_is_left_out_and_said(
    tested, grown
):
    assert passes(tested, "test_playground", "every_row_of_the_book")
    done = python(grown, "-c", PLAYGROUND)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "SPO" in line]
    assert said == promised("Add an algorithm")[:1]


def test_a_chapter_is_a_notebook_and_two_entries(tested):
    for file in ("test_notebooks", "test_parity", "test_homework"):
        assert passes(tested, file, "17_springs"), file
    for line in promised("Add a chapter"):
        assert line in SAID["Add a chapter"]


def test_every_public_name_that_was_added_is_on_the_page_of_the_api(pages):
    for name in ("spo_loss", "prefix_log_ratio", "above_the_mean", "push_down"):
        assert f"tokencredit.{name}\n" in pages["ApiReference"]


# --- what the tests say while something is missing ------------------------------------


LACKING = {
    "Add a loss": ("test_contract.py", "sample_call", "tests/sample_calls.py"),
    "Add an algorithm": ("test_references.py", "algorithm", "book/references.bib"),
    "Add an aggregation or a KL estimator": (
        "test_aggregate.py",
        "in_the_table or weights_add_up",
        "tests/test_aggregate.py",
    ),
    "Add an experiment": ("test_lab.py", "store_holds_every_run and spring", ""),
    "Add a symptom": (
        "test_symptoms.py",
        "has_a_curve",
        "src/tokenbook/symptoms/curves.yml",
    ),
    "Add a key of a log": (
        "test_readlog.py",
        "told_in_both",
        "src/tokenbook/symptoms/quantities.yml",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("section", LACKING)
def test_what_is_missing_is_said_as_the_page_says_it(tree, section):
    file, names, left_out = LACKING[section]
    for _, text in RECIPES["Add a loss"][:3]:
        write_into(tree, text)
    for _, text in RECIPES[section]:
        if text[0] in HEAD and section != "Add a loss":
            head = text.partition("\n")[0].strip(HEAD).partition(", ")[0]
            if head != left_out:
                write_into(tree, text)
    said = " ".join(run_tests(tree, names, file).values())
    wanted = promised(section)
    assert any(line in said for line in wanted), said
    if section != "Add an algorithm":
        assert all(line in said for line in wanted), said


@pytest.fixture
def tree(tmp_path) -> Path:
    """A copy of its own."""
    ignore = shutil.ignore_patterns(*CACHES)
    return shutil.copytree(ROOT, tmp_path / "book", ignore=ignore)


# --- a sentence, a term, a colour, a language ----------------------------------------


def test_a_sentence_is_compared_with_its_partner(tree):
    chapter = tree / "chapters" / "05_critics_gae.ipynb"
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    english = (
        c for c in notebook["cells"] if "lang-en" in c["metadata"].get("tags", "")
    )
    next(english)["source"].append(" See $x_7$.")
    chapter.write_text(json.dumps(notebook), encoding="utf-8")
    done = python(tree, "-m", "tokenbook.languages.parity", chapter)
    assert done.returncode == 1 and "05_critics_gae.ipynb, cell" in done.stdout
    assert "lacks the formula $x_7$: add it" in done.stdout


def test_a_term_is_renamed_in_one_row(tree):
    glossary = tree / "book" / "glossary.yml"
    replace(glossary, "zh: 折扣因子", "zh: 贴现率")
    page = written(tree, "zh", "site.glossary.page:GlossaryTables")["GlossaryTables"]
    assert "贴现率" in page and "折扣因子" not in page
    ask = "from tokenbook.languages.glossary import term as t; print(ascii(t(*{})))"
    ask = ask.format(("discount", "zh"))
    assert python(tree, "-c", ask).stdout.strip() == ascii("贴现率")


def test_a_term_that_is_retired_is_listed_where_prose_keeps_it(tree):
    glossary = tree / "book" / "glossary.yml"
    row = "    en: zero line\n    retired: {en: [baseline]}\n"
    replace(glossary, "    en: baseline\n", row)
    said = run_tests(tree, "rewritten", "test_glossary.py")
    (listed,) = (what for test, what in said.items() if "05_critics_gae" in test)
    assert "baseline: write zero line" in listed and "05_critics_gae.ipynb" in listed


@pytest.mark.slow
def test_a_colour_is_changed_in_the_style_sheet(tree):
    sheet = tree / "src" / "tokenbook" / "explorer" / "static" / "colors.css"
    text = sheet.read_text(encoding="utf-8")
    colour = re.search(r"--[\w-]+: (#[0-9a-f]{6});", text)[1]
    sheet.write_text(text.replace(colour, "#123456"), encoding="utf-8")
    done = python(tree, "-c", SITE)
    assert done.returncode == 0, done.stderr
    for lang in LANGUAGES:
        css = tree / "small" / "_build" / "site" / lang / "_static" / "bundle.css"
        assert "#123456" in css.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_language_is_added_in_one_place(tree):
    todo = add(tree, "Add a language").splitlines()
    assert all(
        any(line in to_do for to_do in todo) for line in promised("Add a language")
    )
    assert all("ja" in line for line in todo), [x for x in todo if "ja" not in x][:3]
    for place in (
        "chapters/01_tokens_as_actions.ipynb, cell",
        "book/index.md, block",
        "book/glossary.yml, groups, 1, terms, prompt: no 'ja' beside 'prompt'",
        "book/course.yml",
        "_toc.yml, parts",
        "_config.yml, editions",
        "src/tokenbook/site/theme/templates/navbar-logo.html",
        "book/errata/01_min_for_good_max_for_bad.py, line",
        "src/tokenbook/homework/words.py, line",
    ):
        assert any(line.startswith(place) for line in todo), place
    # Chinese and English stay what they are: pages, words, homework.
    names = "edition or anchors or markers or pair or one_language or table"
    names = f"({names}) and not feedback"  # which takes a class of graded notebooks
    said = run_tests(tree, names, "test_site_build.py", "test_homework.py")
    assert said and not any(said.values()), next(filter(None, said.values()))
    done = python(
        tree, "-m", "tokenbook.homework", "make", 5, "--lang", "ja", "--out", "out"
    )
    assert done.returncode == 2 and "invalid choice: 'ja'" in done.stderr


# --- the promises themselves ----------------------------------------------------------


def test_every_line_of_the_table_and_every_section_of_the_page_is_done_here():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w[^|]*?) \| [^|]+ \| [^|]+ \|$", text, re.M)
    rows = [row for row in rows if row != "I want to"]
    sections = [section for section in RECIPES if section.startswith("Add ")]
    assert rows and len(sections) == 18
    done = " ".join(name for name in globals() if name.startswith("test_"))
    for promise in rows + sections:
        words = re.findall(r"\w+?(?=s?\b)", promise.replace("KL", ""))
        assert re.search(f"_an?_[a-z_]*?({'|'.join(words[1:])})_", done), promise
