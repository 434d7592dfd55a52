"""The lab's runs as logs, each labelled: healthy, or with the symptoms it should show.

The labels say what the descriptions of the experiments say. A third of the arms, by a
hash of the name, is held out: no threshold was chosen on them.
"""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tokenbook import symptoms

STORE = Path(__file__).parents[1] / "src/tokenbook/lab/results"
COLUMNS = {  # of the store -> as a log calls it
    "reward": "reward",
    "entropy": "entropy",
    "no_gradient": "no_gradient",
    "length": "length",
    "truncated": "truncated",
    "grad_norm": "grad_norm",
    "equal_groups": "equal_groups",
    "reward_std": "group_std",
    "ref_kl": "ref_kl",
    "kl": "kl_to_sampler",
    "all_right": "all_right",
    "all_wrong": "all_wrong",
    "turns": "turns/mean",
    "right": "length_right",
    "wrong": "length_wrong",
}
ADVANTAGE = "many-groups-have-equal-rewards"
CUT = "many-responses-are-cut-at-the-limit"
ENTROPY_FALLS = "the-entropy-quickly-falls-to-0"
ENTROPY_CLIMBS = "the-entropy-climbs-while-the-reward-falls"
FALLS = "the-reward-rises-then-falls-to-0"
FAR = "the-reward-climbs-and-the-reference-is-ever-farther-away"
HACK = "the-reward-reaches-its-top-and-what-you-wanted-does-not"
HARD = "hard-prompts-disappear-from-asynchronous-training"
HELD_OUT = "the-held-out-score-falls"
KL_COEF = "the-kl-coefficient-changes-nothing"
LONGER = "responses-grow-longer-the-incorrect-ones-most"
NEVER = "the-reward-never-rises"
NO_STOP = "responses-do-not-stop-or-all-have-one-length"
PASSES = "too-many-passes-over-a-batch-and-the-end-is-worse"
RATIO = "the-ratio-is-1-3-at-step-0"
REWARD_FUNCTION = "the-reward-function-itself-is-wrong"
SHORTER = "responses-get-shorter-and-shorter"
SLOW_LONG = "long-correct-responses-are-learned-slowly"
STD_FALLS = "the-reward-std-within-groups-falls-and-success-does-not-rise"
TEACHER = "the-student-does-not-come-closer-to-its-teacher"
ZERO = "loss-and-gradient-are-both-0"
HEALTHY = (
    "agents algorithms clip-higher dapo-ablation dynamic-sampling length-rules "
    "stale-clip"
)
EXPERIMENTS = (
    f"{HEALTHY} agent-lessons distillation engine-gap engines entropy-collapse "
    "free-length gamma-sweep hacks kl-frontier lambda-sweep mistakes note-sort "
    "reuse-ratio rl-or-sft signs-epochs sort-baselines sort-reinforce sort-start "
    "stale-sampler staleness truncation"
)
MISTAKES = {
    "CISPO, no minus": {NEVER, FALLS, SHORTER},
    "end token not trained": {NO_STOP},
    "unreadable answers": {REWARD_FUNCTION, HACK},
    "one id a response": {SHORTER, NEVER, FALLS},
    "one penalty a position": {TEACHER, NEVER},
}


@dataclass
class Run:
    """One run as a log; `true` is None for a setting neither healthy nor broken."""

    experiment: str
    arm: tuple[str, ...]
    seed: str
    true: set[str] | None  # empty if healthy
    rows: list[dict[str, float]]

    @property
    def held_out(self) -> bool:
        """Whether no threshold saw this run's arm."""
        name = f"{self.experiment}|{self.arm}".encode()
        return int(hashlib.sha256(name).hexdigest(), 16) % 3 == 0


def true(experiment: str, arm: tuple[str, ...]) -> set[str] | None:
    """Return the symptoms that lead to what is wrong in an arm; {} if nothing is."""
    first, second = arm[0], arm[1] if len(arm) > 1 else ""
    if experiment in HEALTHY.split():
        return set()
    match experiment:
        case "distillation":
            return {KL_COEF, TEACHER, NEVER, FAR} if first == "k1 as a loss" else set()
        case "engine-gap":
            if first == "one ratio":
                return {RATIO}
            return set() if first == "same engine" or second == "2" else None
        case "engines":
            return {RATIO, NEVER} if "padded" in first else set()
        case "entropy-collapse":
            return set() if first == "1" else {PASSES}
        case "hacks":
            if first == "steps":
                return None
            good = first in ("outcome", "strict", "outcome, brief")
            return set() if good else {HACK, HELD_OUT}
        case "kl-frontier":
            if float(first) == 1:
                return {NEVER}
            return None if float(first) == 0.2 else set()
        case "lambda-sweep":
            if float(first) == 0:
                return {CUT, NO_STOP, NEVER, FALLS}
            return {SHORTER, NEVER} if float(first) == 0.5 else set()
        case "gamma-sweep":
            if float(first) == 0:
                return {NEVER, FALLS}
            return {SLOW_LONG, SHORTER} if float(first) == 0.5 else set()
        case "mistakes":
            if first in ("GRPO", "CISPO", "a score a token"):
                return set()
            return MISTAKES.get(first)
        case "reuse-ratio":
            free = ("no gate", "CISPO", "SAPO", "GRPO, only after ✗")
            return None if first in free else set()
        case "rl-or-sft":
            return set() if first == "RL" else None
        case "signs-epochs":
            mild = ("0.0001", "8"), ("0.0005", "4")
            if arm[2] in ("KL stop", "token-mean") or (first, second) in mild:
                return None
            if arm[2] == "GRPO":
                return set() if second == "1" else None
            return set() if int(second) < 8 else {FALLS, PASSES}
        case "stale-sampler":
            if first == "PPO":
                return {HARD, NEVER}
            return None if first == "BAPO, un-clipped" else set()
        case "staleness":
            if first == "GSPO" or int(second) <= 4:
                return set()
            return None if int(second) == 16 and first != "PPO" else {HARD, NEVER}
        case "truncation":
            return set() if first == "limit 40" else {CUT}
        case "free-length":
            return {LONGER} if first == "seq-mean-token-mean" else None
        case "agent-lessons":
            return agent_lesson(*arm)
        case "sort-reinforce" | "sort-start" if first in ("peaked", "random"):
            return {ENTROPY_FALLS, NEVER}
        case "note-sort" if first != "ours":
            return {ENTROPY_FALLS, NEVER, HACK, FALLS}
    return {HACK} if second == "inclusion" else set()


def agent_lesson(lesson: str, env: str, value: str) -> set[str] | None:
    """Return the symptoms of an arm of agent-lessons."""
    if lesson == "entropy" and float(value) >= 0.1:
        return {ENTROPY_CLIMBS}
    if lesson == "reuse" and value == "10":
        return {PASSES, FALLS}
    if lesson == "answers" and env == "FrozenLakeFixed" and value == "2":
        return None
    if lesson == "answers" and env == "Bandit" and value in ("2", "4", "8"):
        return {NEVER, STD_FALLS}
    if lesson == "actions" and value == "1":
        return {CUT, NEVER}
    return None if lesson == "filter" else set()


def runs() -> Iterator[Run]:
    """Return all runs of the store."""
    for name in EXPERIMENTS.split():
        lines = (STORE / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        rows = list(csv.DictReader(line for line in lines if line[:1] != "#"))
        keys = list(rows[0])[: list(rows[0]).index("seed")]

        def which(row, keys=keys):
            return tuple(row[key] for key in keys), row["seed"]

        rows.sort(key=lambda row: (*which(row), float(row["step"])))
        for (arm, seed), some in groupby(rows, which):
            if name == "mistakes" and arm[0] in ("sum", "terms clipped"):
                continue
            logged = [as_log(row, name) for row in some]
            yield Run(name, arm, seed, true(name, arm), logged)


def as_log(row: dict[str, str], experiment: str) -> dict[str, float]:
    """Return a row of the store under the keys of a log."""
    verdict = "eval" if "eval" in row and "sort" not in experiment else "success"
    logged = {"step": row["step"]} | {
        name: row[key] for key, name in COLUMNS.items() if key in row
    }
    if experiment == "distillation" and "ref_kl" in logged:
        logged["teacher_kl"] = logged.pop("ref_kl")
    logged["success"] = row.get(verdict, "")
    return {k: float(v) for k, v in logged.items() if v not in ("", "nan", None)}


def rates(*, held_out: bool, verdict: bool = True) -> dict:
    """Return how many healthy runs are alarmed and how many bad ones named."""
    count, named = Counter(), 0
    for run in runs():
        if run.held_out != held_out or run.true is None:
            continue
        rows = run.rows
        if not verdict:
            rows = [{k: v for k, v in r.items() if k != "success"} for r in rows]
        places = {one.rule["id"] for one in symptoms.read_rows(rows).places}
        kind = "bad" if run.true else "healthy"
        count[kind] += 1
        if run.true:
            count["named"] += bool(places & run.true)
            count["silent"] += not places
            named += len(places)
        else:
            count["alarmed"] += bool(places)
    return dict(sorted(count.items())) | {
        "names_per_bad": round(named / max(1, count["bad"]), 2)
    }


def all_rates() -> dict:
    """Return all rates of rates.yml that the lab gives."""
    return {
        part: {
            side: rates(held_out=held_out, verdict=verdict)
            for side, held_out in (("tuning", False), ("held_out", True))
        }
        for part, verdict in (("lab", True), ("no_verdict", False))
    }


if __name__ == "__main__":
    for part, sides in all_rates().items():
        print(f"{part}:")
        for side, found in sides.items():
            told = ", ".join(f"{name}: {value}" for name, value in found.items())
            print(f"  {side}: {{{told}}}")
