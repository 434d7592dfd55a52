"""``python -m tokenbook symptoms FILE... [--lang zh] [--json]``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

from tokenbook import symptoms
from tokenbook.languages import LANGUAGES, SOURCE
from tokenbook.symptoms.parse import MAX_CHARS
from tokenbook.symptoms.rules import Verdict, head, quantities, tail
from tokenbook.symptoms.series import finite, load

ADVICE = {  # advice on logging -> the quantities that make it needless
    "verdict": ("success",),
    "lengths": ("length_right",),
    "groups": ("equal_groups",),
    "gap": ("gap_abs", "gap_kl", "gap_mult", "gap_prob"),
    "gradient": ("grad_norm",),
}


def add_command(subparsers) -> None:
    """Add ``symptoms`` to the command line."""
    parser = subparsers.add_parser(
        "symptoms",
        help="read a training log: its keys, and places to look",
        description="Read a training log. Several files are joined by their steps.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--lang", choices=LANGUAGES, default=SOURCE)
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the report on a log; return 1 if it has no known key."""
    try:
        files = [(path.read_bytes(), path.name) for path in args.files]
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    report = symptoms.read_all(files)
    if args.json:
        print(json.dumps(as_data(report), ensure_ascii=False, indent=1))
    else:
        if sum(len(data) for data, _ in files) > 4 * MAX_CHARS:
            print(load("words")["cut"][args.lang])
        print("\n".join(as_lines(report, args.lang)))
    return 0 if report.log.names else 1


def as_data(report: symptoms.Report) -> dict:
    """Return a report as plain data."""
    log = report.log
    return {
        "kind": report.kind,
        "library": log.library,
        "rows": log.rows,
        "keys": {key: found[0] for key, found in log.names.items()},
        "unknown": log.unknown,
        "places": [one.rule["id"] for one in report.places],
        "held": {
            level: report.held(level)
            for level in ("normal", "definition", "look", "note")
        },
        "log_next": advice(log),
    }


def advice(log) -> list[str]:
    """Return the names in words.yml of quantities to log next."""
    return [name for name, there in ADVICE.items() if not log.lines.keys() & set(there)]


def as_lines(report: symptoms.Report, lang: str) -> list[str]:
    """Return a report as lines of text."""
    words = {name: text.get(lang) for name, text in load("words").items()}
    log, out = report.log, []
    if not log.names:
        return [words["foreign" if log.unknown else "none"]]
    out += [
        words["found"].format(
            library=log.library or words["no_library"],
            rows=log.rows,
            known=len(log.names),
            unknown=len(log.unknown),
            places=len(report.places),
        )
    ]
    out += ["", words["keys"], *key_lines(log, lang)]
    if log.unknown:
        out.append(f"  {words['unknown']}{words['column']}{' '.join(log.unknown[:40])}")
    levels = {one.rule["level"]: [] for one in report.verdicts}
    for one in report.verdicts:
        if one.holds:
            levels[one.rule["level"]].append(one)
    if levels["normal"]:
        out += ["", words["normal"]]
        out += [line for one in levels["normal"] for line in place(one, log, lang)]
    sure = [one for one in report.places if one.rule["level"] == "definition"]
    look = [one for one in report.places if one.rule["level"] == "look"]
    for level, some in (("definition", sure), ("look", look)):
        if some:
            out += ["", words[level]]
            out += [line for one in some for line in place(one, log, lang)]
    if not report.places:
        out += ["", words["nothing"]]
    rest = [
        one
        for level in ("definition", "look")
        for one in levels[level]
        if one not in report.places
    ]
    for head_, some in (("more", rest), ("note", levels["note"])):
        if some:
            out += ["", words[head_]]
            out += [line for one in some for line in place(one, log, lang)]
    if todo := advice(log):
        out += ["", words["next"], *(f"  {words[name]}" for name in todo)]
    return out


def key_lines(log, lang: str) -> list[str]:
    """Return a line for each key: the book's word, its numbers, and its trap."""
    words, traps, out = load("quantities"), load("traps"), []
    for key, (name, _, trap) in log.names.items():
        word = words.get(name, {}).get(lang, "")
        line = log.lines.get(name) or log.parts.get(key.removesuffix("/mean"), [])
        out.append(f"  {key}  {word}  {ends(line)}".rstrip())
        if trap:
            out.append(f"      {traps[trap][lang]}")
    return out


def place(one: Verdict, log, lang: str) -> list[str]:
    """Return the lines of a symptom: title, numbers, other explanations."""
    rule, words = one.rule, load("words")
    names = load("quantities")
    shown = [
        f"{names[name][lang]} {ends(log.lines[name])}"
        for name in quantities(rule["tree"])
        if name in names and finite(log.lines.get(name, []))
    ]
    out = [f"  {rule['title'][lang]}", f"      {words['comma'][lang].join(shown)}"]
    if "but" in rule:
        out.append(f"      {words['or'][lang]}{rule['but'][lang]}")
    return out


def ends(line: list) -> str:
    """Return the medians of a series' first and last fifth."""
    xs = finite(line)
    if not xs:
        return "NaN" if any(x is not None and math.isnan(x) for x in line) else ""
    first, last = (f"{f(xs):.3g}".replace("-", "−") for f in (head, tail))
    return first if len(xs) == 1 else f"{first} → {last}"
