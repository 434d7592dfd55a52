"""Read my log: every kind of file, every rule, and Python and JavaScript agree."""

import argparse
import gzip
import json
import math
import time
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from lab_logs import all_rates, runs
from log_sources import moved
from v8 import V8

from tokenbook import symptoms
from tokenbook.languages.pages import headings, slug
from tokenbook.symptoms import command, log_keys, page
from tokenbook.symptoms.parse import MAX_ROWS, decode
from tokenbook.symptoms.rules import quantities, rules, tree
from tokenbook.symptoms.series import load

ROOT = Path(__file__).parents[1]
LOGS = Path(__file__).parent / "logs"
LABELS = yaml.safe_load((LOGS / "labels.yml").read_text(encoding="utf-8"))
LIMIT = 0.06  # of healthy runs with a place to look
HARNESS = """
const read = reader(%s);
const odd = (x) => typeof x === "number" && !Number.isFinite(x);
const plain = (x) => (odd(x) ? String(x) : x);
const told = ({ log, verdicts, places }) => JSON.stringify({
  library: log.library, unknown: log.unknown, rows: log.rows, places,
  names: [...log.names].map(([key, found]) => [key, found.slice(0, 2)]),
  steps: log.steps.map(plain),
  lines: [...log.lines].map(([name, line]) => [name, line.map(plain)]),
  parts: [...log.parts].map(([name, line]) => [name, line.map(plain)]),
  verdicts: verdicts.map(({ id, holds, missing }) => [id, holds, missing]),
});
const readText = (texts) => { const all = read.read(texts); return [all.kind,
  told(all)]; };
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
    script = (ROOT / "src/tokenbook/symptoms/reader.js").read_text("utf-8")
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


def rising(name: str, values) -> str:
    """A log of one number."""
    return "\n".join(str({"step": k, name: x}) for k, x in enumerate(values, 1))


SAWS = [0.1, 0.12, 0.1, 0.13, 0.11, 0.12, 0.1, 0.12, 0.11, 0.1]  # noise, no trend
CLIMB = [0.1, 0.2, 0.28, 0.4, 0.5, 0.58, 0.7, 0.8, 0.88, 0.9]


def log(**columns) -> str:
    """A CSV of some columns."""
    names = [name.replace("__", "/") for name in columns]
    rows = zip(*columns.values(), strict=True)
    return "\n".join(",".join(map(str, row)) for row in [names, *rows])


MINIMAL = {  # a log in which a rule holds, and its neighbour in which it does not
    "nan-in-the-loss-or-a-huge-advantage": (
        "{'loss': 0.1, 'grad_norm': nan}",
        "{'loss': 0.1, 'grad_norm': 1.0}",
    ),
    "the-kl-is-nan-or-infinite": (
        "{'loss': 0.1, 'kl': 10832.0}",
        "{'loss': 0.1, 'kl': 0.8}",
    ),
    "the-ratio-is-1-3-at-step-0": (
        "{'train/token_mult_prob_error': 1.3, 'train/loss': 0.1}",
        "{'train/token_mult_prob_error': 1.02, 'train/loss': 0.1}",
    ),
    "the-mean-importance-weight-is-far-below-1": (
        "{'sampling/importance_sampling_ratio/mean': 0.57, 'loss': 0.1}",
        "{'sampling/importance_sampling_ratio/mean': 0.97, 'loss': 0.1}",
    ),
    "decoding-and-encoding-again-changes-the-tokens": (
        "{'sampling/sampling_logp_difference/max': 9.1,"
        " 'sampling/sampling_logp_difference/mean': 0.01}",
        "{'sampling/sampling_logp_difference/max': 0.9,"
        " 'sampling/sampling_logp_difference/mean': 0.01}",
    ),
    "the-gap-between-the-engines-grows": (
        rising("train/gen_kl_error", [0.001, 0.003, 0.009]),
        rising("train/gen_kl_error", [0.001, 0.0011, 0.0012]),
    ),
    "away-from-the-reference-at-step-0": (
        "{'step': 1, 'kl': 0.3}",
        "{'step': 1, 'kl': 0.0004}",
    ),
    "responses-do-not-stop-or-all-have-one-length": (
        "{'completions/clipped_ratio': 1.0, 'loss': 0.0}",
        "{'completions/clipped_ratio': 0.5, 'loss': 0.0}",
    ),
    "many-responses-are-cut-at-the-limit": (
        "{'completions/clipped_ratio': 0.4, 'loss': 0.1}",
        "{'completions/clipped_ratio': 0.02, 'loss': 0.1}",
    ),
    "the-reward-function-itself-is-wrong": (
        "{'reward': 0.0, 'rewards/f/mean': 0.0, 'rewards/f/std': 0.0}",
        "{'reward': 0.2, 'rewards/f/mean': 0.2, 'rewards/f/std': 0.4}",
    ),
    "hard-prompts-disappear-from-asynchronous-training": (
        "{'sample/dropped_stale_total': 12, 'loss': 0.1}",
        "{'sample/dropped_stale_total': 0, 'loss': 0.1}",
    ),
    "too-many-passes-over-a-batch-and-the-end-is-worse": (
        "step:1 - actor/ppo_kl:0.2 - actor/pg_loss:0.1",
        "step:1 - actor/ppo_kl:0.002 - actor/pg_loss:0.1",
    ),
    "the-gradient-norm-spikes": (
        rising("grad_norm", [1, 1.1, 0.9, 1, 1.1, 40, 1, 1.1, 0.9]),
        rising("grad_norm", [1, 1.1, 0.9, 1, 1.1, 4, 1, 1.1, 0.9]),
    ),
    "the-entropy-quickly-falls-to-0": (
        log(entropy=[1, 0.3, 0.1, 0.02, 0.01], reward=[0.1, 0.1, 0.1, 0.12, 0.1]),
        log(entropy=[1, 0.9, 0.8, 0.8, 0.7], reward=[0.1, 0.1, 0.1, 0.12, 0.1]),
    ),
    "the-entropy-climbs-while-the-reward-falls": (
        log(
            entropy=[1, 1.2, 1.4, 1.6, 1.8, 2.1, 2.4],
            reward=[*CLIMB[3:0:-1], 0.2, 0.1, 0.1, 0.05],
        ),
        log(entropy=[1, 1.2, 1.4, 1.6, 1.8, 2.1, 2.4], reward=CLIMB[:7]),
    ),
    "many-groups-have-equal-rewards": (
        "{'reward': 0.1, 'frac_reward_zero_std': 0.9}",
        "{'reward': 0.9, 'frac_reward_zero_std': 0.9}",
    ),
    "the-reward-std-within-groups-falls-and-success-does-not-rise": (
        log(group_reward_std=[0.4, 0.3, 0.3, 0.2, 0.15, 0.1], reward=SAWS[:6]),
        log(group_reward_std=[0.4, 0.4, 0.38, 0.4, 0.4, 0.39], reward=SAWS[:6]),
    ),
    "rewards-differ-and-the-gradient-is-0": (
        "{'grad_norm': 0.0, 'frac_reward_zero_std': 0.1}",
        "{'grad_norm': 0.4, 'frac_reward_zero_std': 0.1}",
    ),
    "a-reward-was-paid-and-nobody-received-it": (
        "step:1 - critic/score/max:1.0 - critic/score/min:0.0"
        " - critic/advantages/max:0.0 - critic/advantages/min:0.0"
        " - frac_reward_zero_std:0.2",
        "step:1 - critic/score/max:1.0 - critic/score/min:0.0"
        " - critic/advantages/max:0.9 - critic/advantages/min:-0.9",
    ),
    "loss-and-gradient-are-both-0": (
        "{'loss': 0.0, 'grad_norm': 0.0}",
        "{'loss': 0.0, 'grad_norm': 0.2}",
    ),
    "the-explained-variance-is-negative": (
        "step:1 - critic/vf_explained_var:-3.0 - actor/pg_loss:0.1",
        "step:1 - critic/vf_explained_var:0.3 - actor/pg_loss:0.1",
    ),
    "the-tool-is-no-longer-used": (
        rising("tools/call_frequency", [2, 1.6, 1, 0.5, 0.2, 0.1]),
        rising("tools/call_frequency", [2, 2.1, 2, 1.9, 2, 2.2]),
    ),
    "responses-grow-longer-the-incorrect-ones-most": (
        log(
            length=[100, 120, 140, 160, 190, 210, 240, 260],
            length_right=[90] * 8,
            length_wrong=[100, 130, 150, 180, 200, 240, 260, 300],
        ),
        log(
            length=[100, 120, 140, 160, 190, 210, 240, 260],
            length_right=[100, 130, 150, 180, 200, 240, 260, 300],
            length_wrong=[90] * 8,
        ),
    ),
    "responses-get-shorter-and-shorter": (
        log(
            length=[300, 250, 200, 150, 100, 60], reward=[0.3, 0.3, 0.2, 0.3, 0.2, 0.3]
        ),
        log(length=[300, 250, 200, 150, 100, 60], reward=CLIMB[:6]),
    ),
    "the-reward-reaches-its-top-and-what-you-wanted-does-not": (
        log(
            reward=CLIMB, success=[0.3, 0.3, 0.28, 0.25, 0.2, 0.2, 0.15, 0.1, 0.1, 0.1]
        ),
        log(reward=CLIMB, success=CLIMB),
    ),
    "the-held-out-score-falls": (
        log(reward=CLIMB, success=CLIMB[::-1]),
        log(reward=CLIMB, success=CLIMB),
    ),
    "the-student-does-not-come-closer-to-its-teacher": (
        rising("teacher_kl", SAWS),
        rising("teacher_kl", CLIMB[::-1]),
    ),
    "the-reward-rises-then-falls-to-0": (
        rising("reward", [*CLIMB, *CLIMB[::-1], 0.02, 0.01, 0.0, 0.01, 0.0]),
        rising("reward", CLIMB),
    ),
    "of-several-rewards-only-one-is-learned": (
        log(
            rewards__format__mean=[0.1, 0.5, 0.9], rewards__answer__mean=[0.4, 0.3, 0.1]
        ),
        log(
            rewards__format__mean=[0.1, 0.5, 0.9], rewards__answer__mean=[0.1, 0.3, 0.4]
        ),
    ),
    "the-reward-never-rises": (rising("reward", SAWS), rising("reward", CLIMB)),
    "the-entropy-in-the-log-is-a-sum": (
        "step:1 - actor/entropy:410.0 - actor/pg_loss:0.1",
        "step:1 - actor/entropy:0.41 - actor/pg_loss:0.1",
    ),
    "gspo-never-clips-or-clips-nine-in-ten": (
        "{'clip_ratio/region_mean': 0.9, 'loss': 0.1}",
        "{'clip_ratio/region_mean': 0.1, 'loss': 0.1}",
    ),
    "the-reward-climbs-and-the-reference-is-ever-farther-away": (
        log(kl=[0.01, 0.03, 0.1, 0.3, 0.9, 2.7], reward=[0.5, 0.6, 0.6, 0.6, 0.6, 0.6]),
        log(
            kl=[0.1, 0.11, 0.1, 0.12, 0.11, 0.1], reward=[0.5, 0.6, 0.6, 0.6, 0.6, 0.6]
        ),
    ),
    "a-step-takes-long": (
        "step:1 - timing_s/gen:90 - timing_s/step:100",
        "step:1 - timing_s/gen:30 - timing_s/step:100",
    ),
    "the-loss-is-0-yet-it-learns": (
        "{'loss': 0.0, 'grad_norm': 0.4}",
        "{'loss': 0.2, 'grad_norm': 0.4}",
    ),
    "the-clip-fraction-stays-0-the-ratio-stays-1": (
        "{'clip_ratio/region_mean': 0.0, 'grad_norm': 0.4}",
        "{'clip_ratio/region_mean': 0.1, 'grad_norm': 0.4}",
    ),
    "the-estimate-of-the-kl-is-negative": (
        "step:1 - actor/ppo_kl:-0.001 - actor/pg_loss:0.1",
        "step:1 - actor/ppo_kl:0.001 - actor/pg_loss:0.1",
    ),
    "the-number-of-optimizer-steps-is-not-the-expected-one": (
        "{'loss': 0.1, 'reward': 0.5, 'completions/mean_length': 9}\n"
        "{'loss': 0.1, 'grad_norm': 0.3}",
        "{'loss': 0.1, 'reward': 0.5, 'completions/mean_length': 9}\n"
        "{'loss': 0.1, 'reward': 0.5, 'completions/mean_length': 9}",
    ),
    "the-mean-advantage-of-reinforce-is-not-0": (
        "step:1 - critic/advantages/mean:-0.2 - actor/pg_loss:0.1",
        "step:1 - critic/advantages/mean:0.0 - actor/pg_loss:0.1",
    ),
}


def test_every_rule_has_a_minimal_log():
    assert set(MINIMAL) == {one["id"] for one in rules() if one["tree"]}


@pytest.mark.parametrize("rule", MINIMAL)
def test_a_rule_holds_in_its_minimal_log_and_not_in_the_neighbour(engine, rule):
    levels = ("normal", "definition", "look", "note")
    sick, well = (agree(engine, (text, "")) for text in MINIMAL[rule])
    assert rule in sick.held(*levels)
    assert rule not in well.held(*levels)
    judged = {one.rule["id"]: one.holds for one in well.verdicts}
    assert judged[rule] is False  # seen and denied, not unknown


def test_what_is_not_logged_is_unknown_and_never_denied():
    report = symptoms.read("{'step': 3, 'epoch': 0.1}")
    assert {one.holds for one in report.verdicts} == {None}


def test_a_rule_may_alarm_only_by_definition_or_with_a_measured_rate():
    seen = {name for run in runs() for row in run.rows for name in row}
    seen |= set(symptoms.read_rows([dict.fromkeys(seen, 0.5)] * 9).log.lines)
    for one in rules():
        assert one["level"] in {"definition", "look", "note", "normal", "none"}
        if one["level"] == "look":
            assert set(one["needs"]) & seen, one["id"]


def test_at_most_six_in_a_hundred_healthy_runs_are_alarmed(capsys):
    found = all_rates()
    for part, sides in found.items():
        for side, one in sides.items():
            alarmed = one["alarmed"] / one["healthy"]
            with capsys.disabled():
                print(f"\n{part}, {side}: {one}; healthy alarmed {alarmed:.1%}")
            assert part != "lab" or alarmed <= LIMIT
    assert found == {part: load("rates")[part] for part in found}


def test_public_logs_are_named_as_the_page_says():
    count = dict.fromkeys(("bad", "named", "healthy", "alarmed", "keys", "known"), 0)
    for name, label in LABELS.items():
        report = symptoms.read((LOGS / f"{name}.txt").read_bytes(), f"{name}.txt")
        held = report.held("note", "normal") + [p.rule["id"] for p in report.places]
        count["known"] += len(report.log.names)
        count["keys"] += len(report.log.names) + len(report.log.unknown)
        kind = "bad" if label["shows"] else "healthy"
        count[kind] += 1
        count["named"] += bool(set(label["shows"]) & set(held))
        count["alarmed"] += kind == "healthy" and bool(report.places)
    assert count == load("rates")["public"]


ROW = "{'loss': 0.1, 'reward': 0.5, 'grad_norm': 1.0}"
HOSTILE = {
    "nothing": "",
    "blanks": " \n\t\n ",
    "one number": "7",
    "no numbers": "the run went well",
    "unbalanced braces": "{" * 3000 + ROW,
    "closed too often": "}" * 3000 + ROW,
    "deep json": "[" * 5000 + "]" * 5000,
    "deep dicts": "{'a':" * 3000 + "1" + "}" * 3000,
    "colours": "\x1b[32m{'loss': \x1b[0m0.1, 'reward': 0.5}\x1b[0m",
    "endless colours": "\x1b]" * 20000 + ROW,
    "a bar": "  3%|#   | 1/30\r  7%|##  | 2/30\r" + ROW,
    "numpy": "{'loss': np.float64(0.1), 'reward': tensor(0.5), 'kl': array(2.)}",
    "nan": '{"loss": NaN, "reward": -Infinity, "grad_norm": 1e999, "kl": 1}',
    "python's nan": "{'loss': nan, 'reward': inf, 'grad_norm': -inf}",
    "quoted numbers": "{'loss': '0.0123', 'reward': '1.5e-01', 'kl': '7'}",
    "markup": "{'<img src=x onerror=alert(1)>': 1, '</script>': 2, 'loss': 0}",
    "names of objects": "{'__proto__': 1, 'constructor': 2, 'loss': 3, 'toString': 4}",
    "json of such names": '{"__proto__": {"loss": 1}, "constructor": 2, "reward": 3}',
    "an apostrophe": "{'it's': 1, 'loss': 0.5, 'reward': 0.1}",
    "dict over lines": "{'loss': 0.1,\n 'reward': 0.5,\n 'grad_norm': 2}",
    "chinese": "步骤：3\n{'loss': 0.1, 'reward': 0.5}\n第 4 步，损失 0.2",
    "full-width spaces": "loss\u3000:\u30000.1\nreward\xa0: 0.5",
    "digits of others": "loss: \u0663\nreward: 0.5\nkl: 0.1",
    "base64": "QUJD" * 30000,
    "equal signs": "=" * 30000,
    "a long line": "a=1 " * 30000,
    "quotes in csv": 'step,"loss, mean",reward\n1,"0.5",0.1\n2,0.6,"0.2',
    "a ragged table": "step loss reward\n1 2 3\n1 2\n4 5 6\nx y z\n7 8 9",
    "a table of words": "a b c\nd e f\ng h i",
    "markdown": "| step | loss | reward |\n|---|---:|---|\n| 1 | 0.1 | 0.5 |",
    "columns": '{"loss": [0.1, 0.2, 0.3], "reward": [1, 2]}',
    "state": '{"log_history": [{"loss": 0.1, "step": 1}, 7, null, {"reward": 0.5}]}',
    "json lines": '{"step": 1, "data": {"loss": 0.1}}\nbroken\n{"loss": 0.2, "a": 1}',
    "wandb": "Step,run 7 - reward,run 7 - reward__MIN\n1,0.5,0.1\n2,0.6,0.2",
    "nemo": "===== Step 3/10 =====\n• Loss: 0.1\n• Avg Reward: 0.5\n",
    "prime": "12:00 SUCCESS Step 3 | Reward 0.5 | Truncation 12.5% | Turns 2",
    "mlx": "Iter 10: Train loss 0.1, Total rewards mean 0.5, Grouped rewards std 0.2",
    "a huge number": "{'loss': " + "9" * 400 + ", 'reward': 0.5}",
    "control signs": "{'lo\x00ss': 0.1, '\x85reward': 0.5, 'kl': \x0b1}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_python_and_javascript_read_hostile_text_alike(engine, name):
    start = time.perf_counter()
    agree(engine, (HOSTILE[name], "log.txt"))
    assert time.perf_counter() - start < 10


def test_numbers_are_read_as_they_were_meant():
    def first(name):
        return {k: v[0] for k, v in symptoms.read(HOSTILE[name]).log.lines.items()}

    assert first("colours")["loss"] == 0.1
    assert first("numpy")["kl_ref"] == 2.0
    assert first("quoted numbers")["reward"] == 0.15
    assert math.isnan(first("nan")["loss"]) and first("nan")["grad_norm"] == math.inf
    assert first("prime")["truncated"] == 0.125
    assert symptoms.read(HOSTILE["wandb"]).log.steps == [1.0, 2.0]
    assert first("markdown")["reward"] == 0.5
    assert symptoms.read(HOSTILE["markup"]).log.unknown == [
        "<img src=x onerror=alert(1)>",
        "</script>",
    ]


@pytest.mark.parametrize("code", ["utf-8-sig", "utf-16", "gb18030"])
def test_a_log_may_come_in_the_codes_of_windows(code):
    text = "训练\n{'loss': 0.1, 'reward': 0.5}"
    assert symptoms.read(text.encode(code)).log.lines["reward"] == [0.5]
    assert decode(text.encode(code)) == text


def test_files_of_tensorboard_are_joined_by_their_steps(engine):
    files = [
        ("Wall time,Step,Value\n1.7e9,1,0.1\n1.7e9,2,0.2\n", f"run-a-tag-{tag}.csv")
        for tag in ("train_reward", "actor_ppo_kl", "train_grad_norm")
    ]
    report = agree(engine, *files)
    assert report.log.steps == [1.0, 2.0]
    assert set(report.log.lines) >= {"reward", "kl_old", "grad_norm"}


def test_a_long_log_is_read_up_to_a_limit():
    rows = "\n".join(f"{{'step': {k}, 'loss': 0.1}}" for k in range(MAX_ROWS + 9))
    assert symptoms.read(rows).log.rows == MAX_ROWS


def test_trees_ask_for_quantities_that_exist():
    there = set(load("quantities")) | {
        "comp_up",
        "comp_down",
        "stuck_component",
        "old_rows",
        "reward_spread",
        "equal_groups_logged",
        "kl_is_sum",
    }
    for one in rules():
        assert set(one.get("needs", [])) <= there
        assert set(quantities(one["tree"] or 0)) <= there
    with pytest.raises(ValueError, match="not the grammar"):
        tree("__import__('os').system('true')")


def test_every_rule_is_a_symptom_of_the_page_under_its_title():
    text = (ROOT / "book/symptoms.md").read_text(encoding="utf-8")
    titles = {slug(title): title for _, title in headings(text)}
    for one in rules():
        assert one["title"]["zh"] in text
        assert titles[one["id"]] == one["title"]["en"]


def test_every_key_is_logged_where_it_is_said_in_the_library_installed(capsys):
    version = {one["library"]: one["version"] for one in load("keys")}["trl"]
    if metadata.version("trl") != version:
        pytest.skip(f"keys.yml is of trl {version}")
    lines = list(moved("trl", Path(metadata.distribution("trl").locate_file(""))))
    with capsys.disabled():
        print("", *lines, sep="\n")
    assert lines == []


def test_a_key_that_moved_is_printed(tmp_path):
    (tmp_path / "trl/trainer").mkdir(parents=True)
    (tmp_path / "trl/trainer/grpo_trainer.py").write_text("nothing")
    lines = list(moved("trl", tmp_path))
    assert len(lines) == sum(one["library"] == "trl" for one in load("keys"))
    assert "frac_reward_zero_std no longer at" in "\n".join(lines)


def test_every_key_is_told_in_both_languages():
    for one in load("keys"):
        asks = f"{one['quantity']}: name it in src/tokenbook/symptoms/quantities.yml"
        assert one["quantity"] in load("quantities"), asks
        assert one["trap"] is None or one["trap"] in load("traps")
        assert one["averages"]["zh"] and one["averages"]["en"]
    libraries = {one["library"] for one in load("keys")}
    assert libraries <= set(log_keys.LIBRARIES)


def test_a_key_of_two_libraries_is_that_of_the_log():
    verl = symptoms.read("step:1 - actor/ppo_kl:0.1 - actor/kl_loss:0.2")
    assert verl.log.library == "verl"
    nemo = "{'train/reward': 0.5, 'completions/mean_length': 9, 'train/loss': 0.1}"
    assert symptoms.read(nemo).log.library == "trl"  # `train/` is of a callback


def test_the_box_has_at_most_20_kilobytes():
    for lang in ("zh", "en"):
        size = len(gzip.compress(page.page_html(lang, ROOT).encode(), 9))
        assert size <= 20 * 1024, (lang, size)


def test_connections_are_forbidden_on_this_page_alone():
    there, elsewhere = {"metatags": "<meta>"}, {"metatags": "<meta>"}
    page.forbid(None, page.PAGE, "", there, None)
    page.forbid(None, "book/symptoms", "", elsewhere, None)
    assert "connect-src 'none'" in there["metatags"]
    assert elsewhere == {"metatags": "<meta>"}


def test_the_page_prints_its_rates_with_their_date():
    for lang in ("zh", "en"):
        said = page.rates_table(lang)
        rates = load("rates")
        assert str(rates["date"]) in said
        held = rates["lab"]["held_out"]
        assert f"{held['alarmed'] / held['healthy']:.0%}" in said
        assert len(said.splitlines()) == 2 + len(page.RATES) + 2


def test_the_command_says_the_same_as_json_and_in_words(capsys):
    name = str(LOGS / "t05.txt")
    args = command_line("symptoms", name, "--json")
    assert args.run(args) == 0
    told_ = json.loads(capsys.readouterr().out)
    report = symptoms.read(Path(name).read_bytes())
    assert told_["places"] == [one.rule["id"] for one in report.places]
    for lang in ("zh", "en"):
        args = command_line("symptoms", name, "--lang", lang)
        assert args.run(args) == 0
        said = capsys.readouterr().out
        for one in report.places:
            assert one.rule["title"][lang] in said
        assert load("words")["verdict"][lang] in said


def test_the_command_says_that_it_read_nothing(tmp_path, capsys):
    (tmp_path / "empty.txt").write_text("nothing here", encoding="utf-8")
    args = command_line("symptoms", str(tmp_path / "empty.txt"))
    assert args.run(args) == 1
    assert load("words")["none"]["en"] in capsys.readouterr().out
    args = command_line("symptoms", str(tmp_path / "no such file"))
    assert args.run(args) == 2


def command_line(*words: str):
    """The arguments of a command."""
    parser = argparse.ArgumentParser()
    command.add_command(parser.add_subparsers())
    return parser.parse_args(words)
