"""The HTML report on a class: results, hard checks, flags."""

from collections import Counter, defaultdict
from html import escape
from statistics import median

from tokenbook.homework.report import number
from tokenbook.homework.words import PAGE

STYLE = """
:root { color-scheme: light dark; --line: #8888; --bar: #2f6fb3; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; overflow-wrap: break-word }
main { overflow-x: auto }
table { border-collapse: collapse; width: 100%; margin: 0 0 2rem }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
td.bar { width: 30% }
td.bar span { display: block; height: 1em; background: var(--bar) }
@media (prefers-color-scheme: dark) { :root { --bar: #6fa8dc } }
"""
BINS = 10  # of the distribution
COMMON = 10  # failed checks that are shown
LONG = 200  # characters of a message


def page(rows: list[dict], lang: str) -> str:
    """The page of a class in one language; the rows are the students' data."""
    say = {key: words[lang] for key, words in PAGE.items()}
    chapter = rows[0]["chapter"]
    title = say["title"].format(name=chapter)
    points = max(row["points"] for row in rows)
    totals = [row["score"] for row in rows]
    summary = say["summary"].format(
        students=len(rows), median=number(median(totals)), points=number(points)
    )
    parts = [
        f"<h1>{escape(title)}</h1><p>{escape(summary)}</p>",
        section(say["distribution"], *distribution(totals, points, say)),
        section(say["exercises"], *exercises(rows, say)),
        section(say["failed"], *commonest(rows, say, lang)),
        section(say["flags"], *flags(rows, say)),
    ]
    return (
        f'<!doctype html>\n<html lang="{lang}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def section(title: str, head: list[str], rows: list[list]) -> str:
    """A heading and a table; a number is right-aligned, a Bar is drawn."""
    if not rows:
        return f"<h2>{escape(title)}</h2><p>-</p>\n"
    lines = "".join(f"<tr>{''.join(map(cell, row))}</tr>\n" for row in rows)
    names = "".join(
        f'<th scope="col"{kind(x)}>{escape(name)}</th>' if name else "<td></td>"
        for name, x in zip(head, rows[0], strict=True)
    )
    return (
        f"<h2>{escape(title)}</h2>\n<table><thead><tr>{names}</tr></thead>"
        f"<tbody>{lines}</tbody></table>\n"
    )


class Bar(float):
    """A share that is drawn."""


def kind(value) -> str:
    if isinstance(value, Bar):
        return ' class="bar"'
    return ' class="n"' if isinstance(value, (int, float)) else ""


def cell(value) -> str:
    if isinstance(value, Bar):
        said = f'<span style="width:{100 * value:.0f}%"></span>'
    elif isinstance(value, (int, float)):
        said = number(value)
    else:
        said = escape(value)
    return f"<td{kind(value)}>{said}</td>"


def distribution(totals: list[float], points: float, say: dict) -> tuple:
    """Number of students by points, from the most down."""
    width = points / BINS or 1
    found = Counter(min(int(total / width), BINS - 1) for total in totals)
    most = max(found.values())
    return [say["points"], say["students"], ""], [
        [
            f"{number(i * width)} – {number((i + 1) * width)}",
            found[i],
            Bar(found[i] / most),
        ]
        for i in reversed(range(BINS))
    ]


def exercises(rows: list[dict], say: dict) -> tuple:
    """Per exercise: the mean share of its points, students with all and with none."""
    table = []
    for of_all in zip(*(row["exercises"] for row in rows), strict=True):
        points = of_all[0]["points"]
        mean = sum(e["score"] for e in of_all) / len(of_all)
        full = sum(e["score"] == points for e in of_all)
        none = sum(e["score"] == 0 for e in of_all)
        share = Bar(mean / points if points else 0)
        table.append([of_all[0]["id"], round(mean, 2), points, full, none, share])
    names = ["exercise", "mean", "points", "full", "none"]
    return [*(say[name] for name in names), ""], table


def commonest(rows: list[dict], say: dict, lang: str) -> tuple:
    """The checks with most failures, each with its commonest message."""
    said = defaultdict(Counter)
    for row in rows:
        for exercise in row["exercises"]:
            for check in exercise["checks"]:
                if not check["passed"] and check["kind"] != "stub":
                    message = check["messages"][lang].replace("\n", " ")
                    said[check["id"]][message] += 1
    failed = sorted(said, key=lambda name: (-said[name].total(), name))[:COMMON]
    return [say["check"], say["students"], say["message"]], [
        [name, said[name].total(), said[name].most_common(1)[0][0][:LONG]]
        for name in failed
    ]


def flags(rows: list[dict], say: dict) -> tuple:
    """The students of each flag."""
    found = defaultdict(list)
    for row in rows:
        for flag in row["flags"]:
            found[flag].append(row["student"])
    return [say["flag"], say["students"], say["who"]], [
        [flag, len(found[flag]), "; ".join(found[flag])] for flag in sorted(found)
    ]
