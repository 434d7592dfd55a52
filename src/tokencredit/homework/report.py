"""What the teacher and the students get: feedback in one language, and grades.csv."""

import csv
import json
import re
from pathlib import Path

from tokencredit.homework.grading import Outcome, Result
from tokencredit.homework.source import Check, Exercise, Homework, choose

WORDS = {
    "title": {"zh": "批改结果：{name}", "en": "Feedback: {name}"},
    "student": {"zh": "学生：{student}", "en": "Student: {student}"},
    "file": {"zh": "批改的文件：{file}", "en": "File graded: {file}"},
    "total": {"zh": "总分：{total} / {points}", "en": "Total: {total} / {points}"},
    "passed": {"zh": "通过", "en": "passed"},
    "failed": {"zh": "未通过", "en": "not passed"},
    "public": {"zh": "公开检查", "en": "public check"},
    "hidden": {"zh": "不公开的检查", "en": "held-back check"},
    "nothing": {
        "zh": "这份作业没有批改成：{problem}。",
        "en": "This submission could not be graded: {problem}.",
    },
}
REASONS = {
    "stub": {"zh": "这道题还没有作答。", "en": "This exercise is not answered yet."},
    "assert": {"zh": "检查没有通过。", "en": "The check does not hold."},
    "check": {
        "zh": "检查处理你的返回值时出错。类型或形状可能不对。",
        "en": "The check failed on what you returned. Its type or shape may be wrong.",
    },
    "missing": {
        "zh": "没有找到 `{text}`。答案单元格被删掉了，或者改了名字？",
        "en": "`{text}` is not there. Was the answer deleted or renamed?",
    },
    "timeout": {
        "zh": "没有在限定时间内结束。循环会停下来吗？",
        "en": "It did not finish in time. Does every loop end?",
    },
    "died": {
        "zh": "运行答案的进程中途结束了（`os._exit` 或崩溃？）。",
        "en": "The process running the answer ended (`os._exit` or a crash?).",
    },
    "lost": {
        "zh": "运行答案的进程多次中断，没有再试。",
        "en": "The process that ran the answer was lost too often; no further try.",
    },
    "forged": {
        "zh": "答案发回的数据不合格式。",
        "en": "The answer sent back data in no valid form.",
    },
    "SystemExit": {
        "zh": "答案调用了 `sys.exit`。请返回结果，不要退出。",
        "en": "The answer called `sys.exit`. Return the result instead of leaving.",
    },
    "MemoryError": {
        "zh": "用了太多内存。",
        "en": "It used too much memory.",
    },
    "Unsendable": {
        "zh": "返回了 `{text}`。请返回张量、数字、文字，或它们的列表、元组、字典。",
        "en": (
            "It returned `{text}`. Return tensors, numbers, text, or lists, tuples and "
            "dicts of these."
        ),
    },
    "PackageAbsent": {
        "zh": "答案调用了 `{text}`。请自己写，批改时没有这个包。",
        "en": "It called `{text}`. Write it yourself; the package is absent here.",
    },
    "raised": {
        "zh": "运行答案时出错{where}：",
        "en": "The answer raised an error{where}:",
    },
    "line": {"zh": "（第 {line} 行）", "en": " (line {line})"},
}
PROBLEMS = {
    "no-notebook": {"zh": "没有找到笔记本文件", "en": "there is no notebook file"},
    "unreadable": {
        "zh": "文件不是可以读取的笔记本，或者太大",
        "en": "the file is not a readable notebook, or too large",
    },
    "link": {"zh": "交来的是链接，不是文件", "en": "a link was handed in, not a file"},
    "grader-error": {
        "zh": "批改程序出错，请告诉老师",
        "en": "the grader failed, please tell your teacher",
    },
}
NOTES = {
    "changes-arguments": {
        "zh": "函数改动了传给它的参数。请先复制，再计算。",
        "en": "The function changes the arguments it was given. Copy before computing.",
    },
    "published-answer": {
        "zh": "答案与书中公布的解答逐字相同。",
        "en": "The answer is the same as the published solution.",
    },
    "network": {"zh": "答案试图联网，被拒绝。", "en": "It tried to open a connection."},
    "files": {
        "zh": "答案试图读写自己文件夹以外的文件，被拒绝。",
        "en": "It tried to reach files outside its folder; this was refused.",
    },
    "processes": {
        "zh": "答案启动了别的进程；它们已被结束。",
        "en": "It started other processes; they were ended.",
    },
    "duplicates": {
        "zh": "同一道题有几个答案单元格；最后定义的那个算数。",
        "en": "An exercise has several answer cells; the last definition counts.",
    },
    "several-notebooks": {
        "zh": "交来了几个笔记本；只批改了上面写的那一个。",
        "en": "Several notebooks were handed in; only the one named above was graded.",
    },
}

OWN_NOTES = {"changes-arguments", "published-answer"}  # said at their exercise


def number(value: float) -> str:
    return f"{value:g}"


def reason(report: dict, lang: str) -> list[str]:
    """The lines that explain one failed check."""
    kind, text = report["kind"], str(report.get("text") or "")
    if kind == "assert" and choose(text, lang) != text:
        return [choose(text, lang)]
    if kind in REASONS:
        line = REASONS[kind][lang].replace("{text}", text.replace("`", "'"))
        quoted = text if kind in ("assert", "check") else ""
    else:
        number = report.get("line")
        where = REASONS["line"][lang].format(line=number) if number else ""
        line = REASONS["raised"][lang].format(where=where)
        quoted = f"{kind}: {text}"
    if not quoted:
        return [line]
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`*", quoted)))
    return [line, "", fence, *quoted.splitlines(), fence]


def check_lines(outcome: Outcome, lang: str) -> list[str]:
    check: Check = outcome.check
    name = WORDS["hidden" if check.hidden else "public"][lang]
    state = WORDS["passed" if outcome.passed else "failed"][lang]
    points = number(check.points if outcome.passed else 0)
    mark = f"- {name} `{check.id}`: {state}, {points} / {number(check.points)}"
    if lang == "zh":
        mark = mark.replace(": ", "：").replace(", ", "，")
    if outcome.passed:
        return [mark]
    why = [f"  {line}".rstrip() for line in reason(outcome.report, lang)]
    return [mark, "", *why, ""]


def markdown(result: Result, homework: Homework) -> str:
    """One student's feedback, in one language."""
    lang, points = result.lang, sum(e.points for e in homework.exercises)
    words = {key: value[lang] for key, value in WORDS.items()}
    total = words["total"].format(total=number(result.total), points=number(points))
    lines = [
        f"# {words['title'].format(name=homework.name)}",
        "",
        words["student"].format(student=result.student),
        "",
        f"**{total}**",
        "",
    ]
    if result.file:
        lines += [words["file"].format(file=f"`{Path(result.file).name}`"), ""]
    if result.problem:
        known = next((k for k in PROBLEMS if k in result.flags), "grader-error")
        lines += [words["nothing"].format(problem=PROBLEMS[known][lang]), ""]
    lines += [
        f"- {NOTES[f][lang]}" for f in sorted(result.flags & NOTES.keys() - OWN_NOTES)
    ]
    for exercise in homework.exercises:
        if outcomes := result.outcomes[exercise.id]:
            score = f"{number(result.score(exercise.id))} / {number(exercise.points)}"
            lines += ["", f"## {exercise.id} · {score}", ""]
            for outcome in outcomes:
                lines += check_lines(outcome, lang)
            notes = sorted(result.notes.get(exercise.id, ()))
            lines += [f"- {NOTES[note][lang]}" for note in notes]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def data(result: Result, homework: Homework) -> dict:
    """The same as data."""

    def exercise_data(exercise: Exercise) -> dict:
        return {
            "id": exercise.id,
            "score": result.score(exercise.id),
            "points": exercise.points,
            "notes": sorted(result.notes.get(exercise.id, ())),
            "checks": [
                {
                    "id": outcome.check.id,
                    "passed": outcome.passed,
                    "points": outcome.check.points,
                    "kind": outcome.report.get("kind", "passed"),
                    "message": "\n".join(reason(outcome.report, result.lang))
                    if outcome.report
                    else "",
                }
                for outcome in result.outcomes[exercise.id]
            ],
        }

    return {
        "student": result.student,
        "lang": result.lang,
        "chapter": homework.name,
        "file": Path(result.file).name,
        "score": result.total,
        "points": sum(exercise.points for exercise in homework.exercises),
        "flags": sorted(result.flags),
        "problem": result.problem,
        "exercises": [exercise_data(exercise) for exercise in homework.exercises],
    }


def cell(text: str) -> str:
    """Text that a spreadsheet shows and does not run as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def write(results: list[Result], homework: Homework, out: Path) -> None:
    """Feedback per student and grades.csv."""
    for result in results:
        folder = out / "feedback" / result.student
        folder.mkdir(parents=True, exist_ok=True)
        text = markdown(result, homework)
        save(folder / "feedback.md", text)
        content = json.dumps(data(result, homework), ensure_ascii=False, indent=1)
        save(folder / "feedback.json", content + "\n")
    names = [exercise.id for exercise in homework.exercises]
    points = sum(exercise.points for exercise in homework.exercises)
    path = out / "grades.csv"
    with open(
        path, "w", encoding="utf-8-sig", errors="backslashreplace", newline=""
    ) as file:
        table = csv.writer(file)
        table.writerow(["student", *names, "total", "points", "lang", "flags"])
        for result in results:
            scores = [number(result.score(name)) for name in names]
            table.writerow(
                [
                    *(cell(result.student), *scores, number(result.total)),
                    *(number(points), result.lang, " ".join(sorted(result.flags))),
                ]
            )


def save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
