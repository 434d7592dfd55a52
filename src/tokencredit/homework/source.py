"""Read a chapter's homework and write the student's notebook from it.

The chapter is the only source: its exercises, their checks and their points. Cells
are told apart by nbgrader's metadata (schema 3) and regions by nbgrader's markers.
A short text in both languages is written once, as ``中文 | English``.
"""

import ast
import copy
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

LANGUAGES = ("zh", "en")
WIDTH = 72  # columns of a code cell
HAN = re.compile(r"[\u3400-\u9fff]")
EXERCISE_LINE = re.compile(r"^#\s*exercise:\s*([\w-]+)(?:\s+points=([\d.]+))?", re.M)
SOLUTION = re.compile(
    r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION *\n?", re.M | re.S
)
HIDDEN = re.compile(
    r"^ *### BEGIN HIDDEN TESTS\n.*?^ *### END HIDDEN TESTS *\n?", re.M | re.S
)
MARKERS = re.compile(r"^ *### (BEGIN|END) (SOLUTION|HIDDEN TESTS) *\n?", re.M)
WORDS = {
    "stub": {"zh": "请在这里写出你的答案", "en": "write your answer here"},
    "held back": {
        "zh": "# 批改时会在这里运行不公开的检查。",
        "en": "# Checks that are not shown run here when your work is graded.",
    },
    "title": {"zh": "# 作业：{title}", "en": "# Homework: {title}"},
    "instructions": {
        "zh": (
            "把每道题里 `raise NotImplementedError` 那一行换成你的答案，"
            "再运行它下面的检查。\n"
            "检查没有报错就是通过；报错时，消息会说明哪里不对。\n\n"
            "- 只改答案单元格。批改用的是原始检查，改动或删除检查不影响分数。\n"
            "- 每题答案的第一行 `# exercise: ...` 请保留。\n"
            "- 答案里可以用 torch 和你自己写的函数。\n"
            "- 答案里不能调用 `tokencredit`：批改时没有它。\n"
            "- 不要读写文件，不要联网；每道题限时 10 秒。\n"
            "- 交之前从头运行一遍整个笔记本，然后只交这一个文件。"
        ),
        "en": (
            "In each exercise, replace the line `raise NotImplementedError` with your "
            "answer and run the check below it.\n"
            "No error means that it passes; an error's message says what is wrong.\n\n"
            "- Change answer cells only. Grading uses the original checks: editing or "
            "deleting one changes no score.\n"
            "- Keep the first line of each answer, `# exercise: ...`.\n"
            "- Use torch and your own functions, not `tokencredit`: it is absent while "
            "grading.\n"
            "- Read and write no files, open no connection; each exercise has "
            "10 seconds.\n"
            "- Before you hand in, run the whole notebook from the top, then hand in "
            "this one file."
        ),
    },
}


class ChapterError(ValueError):
    """The chapter or the private notebook cannot be used; the message says why."""


@dataclass
class Check:
    """One graded cell of the source."""

    id: str
    source: str
    points: float
    hidden: bool


@dataclass
class Exercise:
    """One answer with its checks."""

    id: str
    solution: str
    checks: list[Check] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """What the answer must define."""
        return defined(self.solution)

    @property
    def points(self) -> float:
        return sum(check.points for check in self.checks)


@dataclass
class Homework:
    """A chapter's exercises in order and the setup that they share."""

    name: str
    setup: list[str]
    exercises: list[Exercise]


def text_of(cell: dict) -> str:
    """A cell's source; ``input`` is where nbformat 3 had it."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(map(str, source))
    return source if isinstance(source, str) else ""


def read_notebook(path: Path, limit: int = 20 * 2**20) -> dict:
    """The notebook as data with a flat list of well-formed cells; else ChapterError."""
    if path.stat().st_size > limit:
        raise ChapterError(f"larger than {limit // 2**20} MB")
    try:
        notebook = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ChapterError(f"not a notebook ({type(error).__name__})") from None
    if not isinstance(notebook, dict):
        raise ChapterError("not a notebook")
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in sheet.get("cells") or []]
    if not isinstance(cells, list):
        raise ChapterError("not a notebook (no cells)")
    notebook["cells"] = [
        cell
        | {
            "source": text_of(cell).replace("\r\n", "\n"),
            "metadata": as_dict(cell.get("metadata")),
        }
        for cell in cells
        if isinstance(cell, dict)
    ]
    notebook["metadata"] = as_dict(notebook.get("metadata"))
    return notebook


def as_dict(value) -> dict:
    return value if isinstance(value, dict) else {}


def grader(cell: dict) -> dict:
    """A cell's nbgrader metadata, empty for any other cell."""
    return as_dict(cell["metadata"].get("nbgrader"))


def is_setup(cell: dict) -> bool:
    meta = grader(cell)
    return bool(meta.get("locked")) and not (meta.get("grade") or meta.get("solution"))


def tree(source: str) -> ast.Module | None:
    """The syntax tree, or None."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def defined(source: str) -> list[str]:
    """The functions and values that a cell defines at its top level."""
    names = []
    for node in getattr(tree(source), "body", []):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            walked = [part for target in targets for part in ast.walk(target)]
            names += [part.id for part in walked if isinstance(part, ast.Name)]
    return names


def lean(setup: str, users: list[str]) -> str:
    """A setup cell without drawings, and without parts of the package nobody uses."""
    module, used = tree(setup), set()
    if module is None:
        return setup
    for node in [
        *module.body,
        *(n for u in users for n in getattr(tree(u), "body", [])),
    ]:
        if not isinstance(node, (ast.Import, ast.ImportFrom)) and not draws(node):
            used |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    lines = setup.splitlines()
    for node in reversed(module.body):
        span = slice(node.lineno - 1, node.end_lineno)
        if draws(node):
            lines[span] = []
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            root = getattr(node, "module", None) or node.names[0].name
            kept = [a for a in node.names if (a.asname or a.name) in used]
            if root.partition(".")[0] == "tokencredit" and kept != node.names:
                node.names = kept
                lines[span] = [ast.unparse(node)] if kept else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def draws(node: ast.stmt) -> bool:
    """Whether a statement only shows the chapter's opening picture."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == "pipeline"
    )


def find_chapter(name: str) -> Path:
    """A notebook's path, or the chapter of that number."""
    path = Path(name)
    if path.suffix == ".ipynb":
        if path.is_file():
            return path.resolve()
        raise ChapterError(f"no notebook {name}")
    homes = [Path.cwd(), *Path.cwd().parents, *Path(__file__).resolve().parents]
    number = f"{int(name):02d}" if name.isdecimal() else None
    for home in homes:
        for chapter in sorted((home / "chapters").glob("[0-9][0-9]_*.ipynb")):
            if chapter.stem == name or chapter.stem[:2] == number:
                return chapter.resolve()
    raise ChapterError(f"no chapter {name} in a folder chapters/ here or above")


def read_homework(path: Path) -> Homework:
    """A chapter's homework; ChapterError where it cannot be graded."""
    cells = read_notebook(path)["cells"]
    homework = Homework(path.stem, [], [])
    for cell in cells:
        meta = grader(cell)
        if meta.get("solution"):
            solution = MARKERS.sub("", cell["source"])
            homework.exercises.append(Exercise(str(meta["grade_id"]), solution))
        elif is_setup(cell):
            homework.setup.append(cell["source"])
    if not homework.exercises:
        raise ChapterError(f"{path.name} has no exercise (nbgrader solution cell)")
    add_checks(homework, cells, path)
    users = [check.source for e in homework.exercises for check in e.checks]
    homework.setup = [lean(source, users) for source in homework.setup]
    for exercise in homework.exercises:
        if not exercise.names or not exercise.checks:
            lacks = "check" if exercise.names else "name that its answer defines"
            raise ChapterError(f"{path.name}: exercise {exercise.id} has no {lacks}")
    return homework


def add_checks(homework: Homework, cells: list[dict], path: Path) -> None:
    """Give each check cell to the exercise whose id begins its own."""
    for cell in cells:
        meta, line = grader(cell), EXERCISE_LINE.match(cell["source"])
        if meta.get("grade") and not meta.get("solution"):
            name, points = str(meta.get("grade_id")), meta.get("points", 0)
        elif line and line[2] and not meta:
            name, points = f"{line[1]}-private", float(line[2])
        else:
            continue
        owners = [e for e in homework.exercises if f"{name}-".startswith(f"{e.id}-")]
        if not owners:
            raise ChapterError(f"{path.name}: check {name!r} belongs to no exercise")
        owner = max(owners, key=lambda exercise: len(exercise.id))
        hidden = HIDDEN.search(cell["source"]) is not None or not meta
        source = MARKERS.sub("", cell["source"])
        owner.checks.append(Check(name, source, float(points), hidden))


def add_private(homework: Homework, path: Path) -> None:
    """A teacher's own checks: nbgrader cells or ``# exercise: NAME points=2``."""
    cells = read_notebook(path)["cells"]
    code = [cell for cell in cells if cell.get("cell_type") == "code"]
    before = [len(exercise.checks) for exercise in homework.exercises]
    add_checks(homework, code, path)
    homework.setup += [cell["source"] for cell in code if is_setup(cell)]
    added = 0
    for exercise, count in zip(homework.exercises, before, strict=True):
        for check in exercise.checks[count:]:
            check.hidden, added = True, added + 1
    if not added:
        raise ChapterError(f"{path.name} has no check for {homework.name}")


# --- one language ------------------------------------------------------------


def choose(text: str, lang: str) -> str:
    """One side of ``中文 | English``; any other text as it is."""
    left, bar, right = text.partition(" | ")
    if not bar or not HAN.search(left) or HAN.search(right):
        return text
    return (left if lang == "zh" else right).strip()


def one_language(source: str, lang: str) -> str:
    """A code cell whose two-language strings and comments keep one language."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data = source.encode()
    module, edits = tree(source), []
    for node in ast.walk(module) if module else []:
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            short = chosen_node(node, lang)
            if short is not None:
                begin = starts[node.lineno - 1] + node.col_offset
                end = starts[node.end_lineno - 1] + node.end_col_offset
                column = len(data[starts[node.lineno - 1] : begin].decode())
                quotes = "lines" if node.lineno < node.end_lineno else ""
                quotes = '"""' if data[begin:end].startswith(b'"""') else quotes
                edits.append((begin, end, literal(short, column, quotes)))
    last = len(data) + 1
    for begin, end, text in sorted(edits, reverse=True):
        if end <= last:
            data, last = data[:begin] + text.encode() + data[end:], begin
    comments = re.compile(r"(?m)(#+ )([^#\n]* \| [^\n]*)$")
    return comments.sub(lambda m: m[1] + choose(m[2], lang), data.decode())


def chosen_node(node: ast.expr, lang: str) -> str | ast.JoinedStr | None:
    """The one-language half of a string or f-string; None where there is no pair."""
    if isinstance(node, ast.Constant):
        short = choose(node.value, lang)
        return None if short == node.value else short
    values = copy.deepcopy(node.values)
    for index, part in enumerate(values):
        if isinstance(part, ast.Constant) and " | " in part.value:
            left, _, right = part.value.partition(" | ")
            halves = ast.unparse(ast.JoinedStr(values[:index])) + left
            if not HAN.search(halves) or HAN.search(right):
                return None
            part.value = left if lang == "zh" else right
            kept = values[: index + 1] if lang == "zh" else values[index:]
            return ast.JoinedStr(kept)
    return None


def literal(short: str | ast.JoinedStr, column: int, quotes: str) -> str:
    """A string literal, in pieces where several lines of the source held it."""
    if quotes == '"""':
        return f'"""{short}"""'
    if isinstance(short, str):
        text = json.dumps(short, ensure_ascii=False)
    else:
        text = ast.unparse(short)
        if text.startswith("f'") and '"' not in text:
            text = f'f"{text[2:-1]}"'
    if not quotes or column + len(text) <= WIDTH:
        return text
    start, end = re.match(r"f?(\"|')", text)[0], text[-1]
    body, pieces = text[len(start) : -1], [""]
    for word in re.findall(r"(?:\{[^{}]*\}|[^\s{}])+\s*|.", body):
        if pieces[-1] and column + len(pieces[-1] + word) > WIDTH - 4:
            pieces.append("")
        pieces[-1] += word
    return ("\n" + " " * column).join(f"{start}{piece}{end}" for piece in pieces)


# --- the student's notebook --------------------------------------------------


INSTALL = """\
try:
    import tokencredit
except ModuleNotFoundError:
    %pip install -q --no-deps {spec}"""


def student_notebook(path: Path, lang: str, install: str = "") -> dict:
    """The chapter's exercises in one language, without solutions and hidden checks.

    Where the checks that students see need the package, ``install`` is what pip
    installs on a machine that lacks it, Colab for example.
    """
    homework, cells = read_homework(path), read_notebook(path)["cells"]
    others = {f"lang-{other}" for other in LANGUAGES if other != lang}
    cells = [cell for cell in cells if not others & tags(cell)]
    graded = [i for i, cell in enumerate(cells) if grader(cell) and not is_setup(cell)]
    start = graded[0]
    while start > 0 and not cells[start]["source"].startswith("## "):
        start -= 1
    section = cells[start : graded[-1] + 1]
    code = [student_code(cell, lang) for cell in section if cell["cell_type"] == "code"]
    title = next(c["source"] for c in cells if c["source"].startswith("# "))
    intro = WORDS["title"][lang].format(title=title.splitlines()[0][2:])
    made = [new_cell("markdown", "homework", intro, {})]
    made.append(new_cell("markdown", "rules", WORDS["instructions"][lang], {}))
    formulas = {
        found[1]: cell["source"]
        for cell in cells
        if (found := re.search(r"(?m)^\$\$ *\(([\w:-]+)\)$", cell["source"]))
    }
    shown = {cell["source"] for cell in section}
    for cell in [cell for cell in cells[:start] if is_setup(cell)] + section:
        meta = {"nbgrader": grader(cell)} if grader(cell) else {}
        if is_setup(cell):
            source = lean(cell["source"], code)
        elif cell["cell_type"] == "code":
            source = student_code(cell, lang)
        else:
            source = plain_prose(cell["source"])
            for label in re.findall(r"\{eq\}`([^`]+)`", cell["source"]):
                if formulas.get(label, source) not in shown:
                    shown.add(formulas[label])
                    source += "\n\n" + plain_prose(formulas[label])
        if source:
            made.append(new_cell(cell["cell_type"], cell["id"], source, meta))
    if install and any("tokencredit" in "".join(c["source"]) for c in made[2:]):
        cell = INSTALL.format(spec=install)
        made.insert(2, new_cell("code", "install", cell, {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": made,
        "metadata": {
            "kernelspec": kernel,
            "language_info": {"name": "python"},
            "tokencredit": {"chapter": homework.name, "lang": lang},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def tags(cell: dict) -> set[str]:
    found = cell["metadata"].get("tags")
    return set(map(str, found)) if isinstance(found, list) else set()


def new_cell(kind: str, name: str, source: str, meta: dict) -> dict:
    lines = source.splitlines(keepends=True)
    cell = {"cell_type": kind, "id": name, "metadata": meta, "source": lines}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def student_code(cell: dict, lang: str) -> str:
    """A code cell as the student gets it."""
    meta, source = grader(cell), cell["source"]
    source = HIDDEN.sub("", source)
    if meta.get("grade") and not source.strip():
        return WORDS["held back"][lang]
    source = MARKERS.sub("", SOLUTION.sub(rf"\1{stub(lang)}\n", source))
    source = one_language(source, lang).rstrip()
    if meta.get("solution") and not EXERCISE_LINE.match(source):
        source = f"# exercise: {meta['grade_id']}\n{source}"
    return source


def stub(lang: str) -> str:
    return f'raise NotImplementedError("{WORDS["stub"][lang]}")'


def plain_prose(source: str) -> str:
    """Prose as plain Jupyter shows it: no roles, links to the book, solutions."""
    solution = r'<details class="[^"]*\bsolution\b[^"]*">.*?</details>\n?'
    source = re.sub(solution, "", source, flags=re.S)
    source = re.sub(r"(?m)^\$\$ *\((?:eq-)?([\w:-]+)\)$", r"\\tag{\1}\n$$", source)
    source = re.sub(r"\{cite(?::\w+)?\}`([^`]+)`", r"[\1]", source)
    source = re.sub(r"\{eq\}`(?:eq-)?([^`]+)`", r"(\1)", source)
    source = re.sub(r"\{\w+\}`([^`]+)`", r"\1", source)
    source = re.sub(r"\[([^\]]+)\]\([^)]*\.(?:ipynb|md)(?:#[^)]*)?\)", r"\1", source)
    return re.sub(r"<a data-xp=[^>]*>(.*?)</a>", r"\1", source).strip()
