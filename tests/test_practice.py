"""Exercises done in the page, without a browser: verdicts, the small torch, the files.

The small torch is compared with PyTorch: operation by operation, and on every stored
answer, solution and planted bug, whose verdicts must be the same.
"""

import ast
import contextlib
import copy
import functools
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tokenbook.homework.answers import read_answers
from tokenbook.homework.practice import page as practice
from tokenbook.homework.practice import runner, vendor
from tokenbook.homework.source import read_homework
from tokenbook.languages.code_cells import in_language
from tokenbook.languages.pages import language_of, read_notebook

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
FOLDER = Path(practice.__file__).parent
# A second process runs every work of its input (cells, exercise, answers, names) with
# one torch or the other, as the page would.
RUN = """
import json, signal, sys
from runner import check

class TooLong(BaseException):
    pass

def stop(*_):
    raise TooLong

signal.signal(signal.SIGALRM, stop)
for line in sys.stdin:
    signal.setitimer(signal.ITIMER_REAL, 20)
    try:
        said = check(*json.loads(line))
    except TooLong:
        said = {"kind": "timeout"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps(said), flush=True)
"""


@functools.cache
def chapter(path: Path) -> dict:
    """What the page has of a chapter."""
    return practice.file_of(path, "en")


@functools.cache
def solutions(path: Path) -> dict[str, str]:
    return {e.id: e.solution for e in read_homework(path).exercises}


def work(path: Path, exercise: str, answer: str) -> list:
    made, answers = chapter(path), solutions(path) | {exercise: answer}
    return [made["cells"], exercise, answers, made["asked"]]


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """A folder in which ``import torch`` brings the small one."""
    folder = tmp_path_factory.mktemp("small")
    for name, source in {
        "torch.py": "small_torch.py",
        "tokencredit.py": "small_course.py",
        "runner.py": "runner.py",
    }.items():
        (folder / name).write_text((FOLDER / source).read_text("utf-8"), "utf-8")
    return folder


@contextlib.contextmanager
def python(folder: Path, *flags: str) -> Iterator[Callable]:
    """The verdicts on works in a Python of its own; ``-S`` hides what is installed."""
    command = [sys.executable, *flags, "-c", RUN]
    env = os.environ | {"PYTHONPATH": str(folder)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=env, **pipes) as process:

        def verdict(one: list) -> dict:
            print(json.dumps(one), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield lambda works: [verdict(one) for one in works]


@pytest.fixture(scope="module")
def tiny(small):
    with python(small, "-S") as verdicts:
        yield verdicts


@pytest.fixture(scope="module")
def real():
    with python(FOLDER) as verdicts:
        yield verdicts


def both(works: list[list], real: Callable, tiny: Callable) -> list[tuple]:
    """(verdict with PyTorch, verdict with the small torch) as a reader sees them."""

    def told(said: dict) -> tuple:
        text = said.get("text") if said["kind"] == "assert" else ""
        kind = said["kind"]
        return ("error", "") if kind in ("raised", "check") else (kind, text)

    pairs = zip(real(works), tiny(works), strict=True)
    return [(told(a), told(b)) for a, b in pairs]


# --- the small torch and PyTorch say the same ----------------------------------------


def test_every_solution_passes_with_the_small_torch(tiny):
    works = [
        work(path, *exercise)
        for path in CHAPTERS
        for exercise in solutions(path).items()
    ]
    said = tiny(works)
    wrong = [
        (w[1], s) for w, s in zip(works, said, strict=True) if s["kind"] != "passed"
    ]
    assert len(works) == 101 and not wrong


def stored(path: Path) -> list[tuple[str, str, str]]:
    """(exercise, description, answer) of the stored answers to a chapter."""
    file = ROOT / "tests/homework/answers" / f"{path.stem}.yml"
    return [
        (a.exercise, a.name, a.source) for a in read_answers(file, read_homework(path))
    ]


def planted(path: Path) -> list[tuple[str, str, str]]:
    """(exercise, name, answer): each buggy function of the text, as an answer."""
    found, homework, cells = [], read_homework(path), read_notebook(path)["cells"]
    for cell in cells:
        prose = cell["cell_type"] == "markdown" and language_of(cell) == "en"
        shown = (
            re.findall(r"```python\n(.*?)```", cell["source"], re.S) if prose else []
        )
        for code in [cell["source"]] if cell["cell_type"] == "code" else shown:
            for name in re.findall(r"def (broken_\w+|leaky_\w+)\(", code):
                for exercise in homework.exercises:
                    for asked in exercise.names:
                        if asked.split("_")[-1] == name.split("_")[-1]:
                            answer = code.replace(f"def {name}(", f"def {asked}(")
                            found.append((exercise.id, name, answer))
    return found


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_stored_answers_and_planted_bugs_get_the_verdict_of_pytorch(path, real, tiny):
    tried = [*stored(path), *planted(path)]
    said = both([work(path, name, answer) for name, _, answer in tried], real, tiny)
    differ = [
        (name, what, *pair)
        for (name, what, _), pair in zip(tried, said, strict=True)
        if pair[0] != pair[1] and pair[1][0] != "absent"  # "cannot say" is no verdict
    ]
    assert tried and not differ


SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
SWAPPED |= {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
SWAPPED |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
CALLS = {"sum": "mean", "mean": "sum", "minimum": "maximum", "maximum": "minimum"}
CALLS |= {"exp": "log", "log": "exp", "max": "min", "min": "max", "std": "var"}
CALLS |= {"any": "all", "all": "any", "detach": "clone", "expm1": "exp"}


def mutants(source: str) -> list[str]:
    """The answer with one operator, constant or call changed, in every place."""
    whole, found = ast.parse(source), {}
    for place in range(len([*ast.walk(whole)])):
        made = copy.deepcopy(whole)
        node = [*ast.walk(made)][place]
        if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
            node.op = SWAPPED[type(node.op)]()
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
            node.ops[0] = SWAPPED[type(node.ops[0])]()
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            node.value += 1
        elif isinstance(node, ast.Attribute) and node.attr in CALLS:
            node.attr = CALLS[node.attr]
        elif isinstance(node, ast.Call) and len(node.args) == 3:
            node.args[1:] = node.args[:0:-1]
        else:
            continue
        found[ast.unparse(made)] = None
    return [*found]


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_mutated_solutions_get_the_verdict_of_pytorch(path, real, tiny):
    tried = [
        (exercise, answer)
        for exercise, solution in solutions(path).items()
        for answer in mutants(solution)
    ]
    said = both([work(path, *one) for one in tried], real, tiny)
    differ = [
        (t, *pair) for t, pair in zip(tried, said, strict=True) if pair[0] != pair[1]
    ]
    assert len(tried) >= 20 and not [d for d in differ if d[2][0] != "absent"]


X = [[0.5, -1.5, 2.0], [1.0, 0.0, -0.25]]
Y = [[2.0, -1.5, 0.5], [1.0, 3.0, -2.0]]
MASK = [[True, False, True], [True, True, False]]
OPERATIONS = {  # what an answer may compute of x and y, mask m, index i
    "arithmetic": "(x + y) * x / (y + 4) - y**2 + 3 - x % 2",
    "scalars": "2 * x - 1 / (x + 3) + (x // 1)",
    "exp and log": "x.exp() + (y + 4).log() + torch.log1p(x + 2) + torch.expm1(y)",
    "roots and signs": "(y + 4).sqrt() + x.abs() + x.sign() + (-x).relu() + x.floor()",
    "squares": "x.square() + torch.pow(y, 3) + torch.sigmoid(x) + torch.tanh(y)",
    "ties of minimum": "torch.minimum(x, y) + 2 * torch.maximum(x, y)",
    "clamp": "x.clamp(-1, 1) + y.clamp(min=0.5) + torch.clamp(x, max=0.0)",
    "clamp with crossed bounds": "x.clamp(2, 1)",
    "where": "torch.where(m, x, y) + torch.where(x > y, x, 0.0) + x.masked_fill(m, 7)",
    "where hides nan": "torch.where(m, x, (y - 9).log())",
    "nan times mask": "(x - 9).log() * m",
    "sums": "x.sum() + y.sum(1).square().sum() + x.sum(0, keepdim=True)",
    "means": "x.mean() + y.mean(0).exp().sum() + x.mean(-1)[0]",
    "spreads": "x.std() + y.var(1).sum() + x.std(correction=0) + y.var(unbiased=False)",
    "spread of one": "x[:1, 0].std()",
    "extremes": "x.max() + y.min() + x.max(1).values.sum() + y.amin(0).sum()",
    "products": "x.prod() + y.prod(1).sum()",
    "softmax": "x.softmax(-1) + y.log_softmax(0) + torch.logsumexp(x, 1)[:, None]",
    "cumulative": "x.cumsum(1) + y.flip(1).cumsum(1).flip(1) + y.flip(0)",
    "matrix": "x @ y.T + torch.outer(x[0], y[0])[:2, :2] + (x @ y[0])",
    "gather": "x.gather(1, i) + y.gather(1, i)",
    "index": "x[:, 1:] + y[0, :-1] + x[..., :2] + y[[0, 1], 1:]",
    "mask index": "x[m].sum() + y[x > 0].exp().sum()",
    "shapes": "x.T.reshape(-1)[:4] + torch.cat([x, y], 1)[0, 1:5] + y.view(6)[2:]",
    "stack": "torch.stack([x, y], 1).sum(1) + x.unsqueeze(0).squeeze(0)",
    "detach": "x.detach() * y + (x - x.detach()).exp()",
    "likes": "torch.zeros_like(x) + torch.ones(2, 3) + torch.full_like(y, 2.0) * x",
    "sorting": "x.sort(1).values + y[0].argsort() + x.flatten().topk(3).values",
    "comparisons": "(x > y).float() + (x == y) + (m & (x < 1)) + (~m | (y > 1)).long()",
    "types": "(x.double() + y).float() + torch.arange(3) + m.sum(1)[:, None]",
    "counts": "m.sum() + m.float().mean() + m.any(1).float() @ x + m.all()",
    "division by zero": "x / (x - x.detach()) + 0 * y",
    "spread of equals": "(x[0] * 0 + 0.5).std() + (y * 0).sum()",
    "eight times 0.1": "(torch.full((8,), 0.1) - torch.full((8,), 0.1).mean()) * 1e9",
}


def outcome(module, expression: str):
    """Values, type and gradients of an expression, or the error's type."""
    x, y = (module.tensor(data, requires_grad=True) for data in (X, Y))
    space = {"torch": module, "x": x, "y": y, "m": module.tensor(MASK)}
    space["i"] = module.tensor([[2, 0], [1, 1]])
    try:
        got = eval(expression, space)
        back = getattr(got, "requires_grad", False)
        if back:
            got.sum().backward()
    except (RuntimeError, IndexError, TypeError) as error:
        return type(error).__name__
    gradients = [t.grad.tolist() if t.grad is not None else None for t in (x, y)]
    return got.detach().tolist(), str(got.dtype), gradients if back else []


def near(a, b) -> bool:
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) and isinstance(b, float):
        same = a == b or (a != a and b != b)
        return same or math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
    return a == b


@functools.cache
def small_torch():
    """The small torch, beside the real one."""
    before = {
        name: m for name, m in sys.modules.items() if name.partition(".")[0] == "torch"
    }
    from tokenbook.homework.practice import small_torch as module

    sys.modules.update(before)
    return module


@pytest.mark.filterwarnings("ignore:std")
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_and_its_gradient_are_those_of_pytorch(name):
    want, got = (
        outcome(torch, OPERATIONS[name]),
        outcome(small_torch(), OPERATIONS[name]),
    )
    assert near(got, want), (got, want)


@pytest.mark.parametrize(
    "expression",
    [
        "x[5]",
        "x @ x",
        "x + y[:, :2]",
        "x.mean(3)",
        "m.mean()",
        "x[m[:, :2]]",
        "x.sum(2)",
    ],
)
def test_what_pytorch_refuses_the_small_torch_refuses(expression):
    assert isinstance(outcome(torch, expression), str)
    assert outcome(small_torch(), expression) == outcome(torch, expression)


@pytest.mark.parametrize(
    "code",
    [
        "torch.einsum('i->i', x)",
        "x.svd()",
        "torch.nn.Linear(2, 2)",
        "x.unfold(0, 1, 1)",
    ],
)
def test_what_the_small_torch_lacks_it_cannot_judge(tiny, code):
    path = next(p for p in CHAPTERS if p.stem.startswith("08"))
    answer = f"def group_advantages(x, groups):\n    return {code}\n"
    (said,) = tiny([work(path, "group-advantages", answer)])
    assert said["kind"] == "absent" and said["text"].split(".")[-1] in code


# --- a verdict ------------------------------------------------------------------------

CELLS = [
    {"kind": "setup", "id": "setup", "source": "import nowhere\nK = 3"},
    {"kind": "answer", "id": "one"},
    {
        "kind": "check",
        "id": "one-check",
        "of": "one",
        "source": "assert f(K) == 6, 'twice'",
    },
    {"kind": "answer", "id": "two"},
    {
        "kind": "check",
        "id": "two-check",
        "of": "two",
        "source": "assert g(1) == 3, 'h'",
    },
]
ONE = "def f(x):\n    print('seen')\n    return 2 * x"


def judge(exercise: str, **answers: str) -> dict:
    given = {"one": ONE, "two": "pass"} | answers
    return runner.check(CELLS, exercise, given, ["f", "g"])


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (ONE, "passed", None),
        ("def f(x):\n    return x", "assert", "twice"),
        ("def f(x):\n    raise NotImplementedError('write')", "stub", "write"),
        ("def h(x):\n    return x", "missing", "f"),
        ("def f(x):\n    return y", "raised", "name 'y' is not defined"),
        ("def f(x):\n    return nowhere.at(x)", "absent", "nowhere.at"),
        ("def f(x):\n    import absent\n    return 6", "absent", "absent"),
        ("f = (1", "raised", "'(' was never closed"),
        ("type X = int\ndef f(x):\n    return 6", "raised", None),  # not in Python 3.11
        ("f = 3", "check", "'int' object is not callable"),
    ],
)
def test_a_verdict_names_what_happened(answer, kind, text):
    said = judge("one", one=answer)
    assert said["kind"] == kind
    assert text is None or said["text"] == text


def test_a_verdict_shows_the_answers_own_line():
    assert judge("one", one="def f(x):\n    return x + y")["lines"] == [
        [2, "return x + y"]
    ]


def test_an_answer_sees_earlier_answers_but_not_their_prints():
    said = judge("two", two="def g(x):\n    print('own')\n    return f(x) + 1")
    assert said["kind"] == "passed" and said["printed"] == "seen\nown\nseen\n"[5:]
    assert (
        judge("two", one="def f(x: oh", two="def g(x):\n    return 3")["kind"]
        == "passed"
    )


def test_printing_is_cut_at_a_limit():
    said = judge("one", one="def f(x):\n    print('a' * 10**6)\n    return 6")
    assert said["kind"] == "passed" and said["cut"]
    assert said["printed"] == "a" * runner.LIMIT


def test_nothing_is_left_over_from_an_older_attempt():
    judge("one", one="def f(x):\n    return 6\nleft = 1")
    assert judge("one", one="def f(x):\n    return 6 + 0 * left")["text"] == (
        "name 'left' is not defined"
    )


# --- files --------------------------------------------------------------------------


def test_python_for_the_browser_is_what_its_sums_say():
    assert {*vendor.sums()} == {*vendor.LOADED}
    for name, said in vendor.sums().items():
        assert vendor.sha256(vendor.FOLDER / name) == said
    for name in ("pyodide.mjs", "pyodide.asm.mjs"):
        assert vendor.sums()[name] == vendor.PUBLISHED[name]


@pytest.mark.parametrize("lang", ("zh", "en"))
def test_no_file_of_a_chapter_holds_a_solution_or_a_held_back_check(lang):
    for path in CHAPTERS:
        text = json.dumps(practice.file_of(path, lang), ensure_ascii=False)
        for exercise in read_homework(path).exercises:
            held = [check.source for check in exercise.checks if check.hidden]
            for source in (exercise.solution, *held):
                body = in_language(source, lang).strip().split("\n", 1)[-1]
                assert json.dumps(body, ensure_ascii=False)[1:-1] not in text


def test_a_pass_depends_on_the_task_its_public_checks_and_the_setup(tmp_path):
    source = json.loads(CHAPTERS[5].read_text("utf-8"))

    def hashes(change) -> dict[str, str]:
        changed = copy.deepcopy(source)
        for cell in changed["cells"]:
            change(cell, cell["metadata"].get("nbgrader", {}).get("grade_id"))
        path = tmp_path / "05_changed.ipynb"
        path.write_text(json.dumps(changed), "utf-8")
        practice._exercises.cache_clear()
        return {e["id"]: e["hash"] for e in practice.exercises(path)}

    def added(name: str):
        def change(cell, own):
            if own == name:
                cell["source"] = [*cell["source"], "\nassert True\n"]

        return change

    before = hashes(lambda cell, own: None)
    differ = {
        name: {e for e, h in hashes(added(name)).items() if h != before[e]}
        for name in ("masked_gae-check", "masked_gae-hidden", "setup-exercises")
    }
    assert differ["masked_gae-check"] == {"masked_gae"}
    assert differ["masked_gae-hidden"] == set()
    assert differ["setup-exercises"] == {*before}


def test_every_exercise_has_a_kind_and_both_headings():
    known = [e for path in CHAPTERS for e in practice.exercises(path)]
    assert len(known) == 101
    assert {e["kind"] for e in known} == {*practice.words("kinds", "en")}
    assert all(e["zh"].startswith("练习") and e["en"] for e in known)
    levels = [sum(e["level"] == n for e in known) for n in (1, 2, 3)]
    assert min(levels) > 10


def test_without_pyodide_the_pages_say_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(vendor, "FOLDER", tmp_path)
    assert not practice.has_python()
    practice.write_runtime(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert "pages say so" in capsys.readouterr().out
