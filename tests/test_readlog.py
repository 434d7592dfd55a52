"""Read my log: every kind of file, every rule, and Python and JavaScript agree."""

import json
import math
from pathlib import Path

import pytest
import yaml
from lab_logs import rates, runs
from v8 import V8

import symptoms
from symptoms import page
from symptoms.command import as_data
from symptoms.parse import clean, decode, rows_of
from symptoms.series import Keys, load, series_of

ROOT = Path(__file__).parents[1]
LOGS = Path(__file__).parent / "logs"
LABELS = yaml.safe_load((LOGS / "labels.yml").read_text(encoding="utf-8"))
LIMIT = 0.06  # of healthy runs with a place to look
HARNESS = """
const read = reader(%s);
const plain = (x) => typeof x === "number" && !Number.isFinite(x) ? String(x) : x;
const told = ({ log, verdicts, places }) => JSON.stringify({
  library: log.library, unknown: log.unknown, rows: log.rows, places,
  names: [...log.names].map(([key, found]) => [key, found.slice(0, 2)]),
  steps: log.steps.map(plain),
  lines: [...log.lines].map(([name, line]) => [name, line.map(plain)]),
  parts: [...log.parts].map(([name, line]) => [name, line.map(plain)]),
  verdicts: verdicts.map(({ id, holds, missing }) => [id, holds, missing]),
});
const readText = (texts) => { const all = read.read(texts); return [all.kind, told(all)]; };
const readRows = (rows) => {
  const log = read.seriesOf(rows.map((row) => new Map(row)));
  return told({ log, ...read.judge(log) });
};
"""


def plain(value):
    """What a number is called where JSON has no name for it, and 1 for 1.0."""
    if isinstance(value, bool) or not isinstance(value, float | int):
        return value
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(value)


def told(report: symptoms.Report) -> dict:
    """Everything that a report says, as the harness does."""
    log = report.log
    return {
        "library": log.library,
        "unknown": log.unknown,
        "rows": log.rows,
        "places": [one.rule["id"] for one in report.places],
        "names": [[key, list(found[:2])] for key, found in log.names.items()],
        "steps": list(map(plain, log.steps)),
        "lines": [[k, list(map(plain, line))] for k, line in log.lines.items()],
        "parts": [[k, list(map(plain, line))] for k, line in log.parts.items()],
        "verdicts": [
            [one.rule["id"], one.holds, one.missing]
            for one in report.verdicts
            if one.rule["tree"]
        ],
    }


@pytest.fixture(scope="module")
def engine():
    script = (ROOT / "src/symptoms/reader.js").read_text("utf-8")
    engine = V8(page.tight(script) + HARNESS % json.dumps(page.reader_data()))
    yield engine
    engine.close()


def agree(engine, *files: tuple[str, str]) -> symptoms.Report:
    """Both readings of some files, which must be the same."""
    report = symptoms.read_all(list(files))
    kind, text = engine.call("readText", [list(one) for one in files])
    assert kind == report.kind
    assert json.loads(text) == told(report)
    return report


def test_python_and_javascript_agree_on_every_run_of_the_lab(engine):
    count = 0
    for run in runs():
        rows = [list(row.items()) for row in run.rows]
        there = json.loads(engine.call("readRows", rows))
        assert there == told(symptoms.read_rows(run.rows)), (run.experiment, run.arm)
        count += 1
    assert count > 1000


@pytest.mark.parametrize("name", sorted(LABELS))
def test_python_and_javascript_agree_on_a_public_log(engine, name):
    text = decode((LOGS / f"{name}.txt").read_bytes())
    assert agree(engine, (text, f"{name}.txt")).log.names
