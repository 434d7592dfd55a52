"""The lab: every experiment runs, the store is safe, claims hold of what is stored."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tokencredit import lab
from tokencredit.__main__ import main
from tokencredit.lab import Experiment, experiments, load, path_of, run_experiment, save

NAMES = list(experiments())
STORED = [name for name in NAMES if path_of(experiments()[name]).exists()]
FULL = [name for name in STORED if not lab.missing(experiments()[name])]


def counting(steps=3, **changes):
    """An experiment of two variants whose runs are counted."""
    calls = []

    def run(variant, seed, quick, checkpoint):
        calls.append((variant["x"], seed))
        return [{"step": s, "success": 0.1 * s + seed} for s in range(1, steps + 1)]

    chosen = Experiment(
        name="counting",
        chapter=0,
        question={"zh": "数得对吗?", "en": "Does it count?"},
        variants=({"x": "a"}, {"x": "b"}),
        run=run,
        columns={"x": "which"},
        settings={"steps": steps},
        seeds=2,
    )
    return replace(chosen, **changes), calls


def quietly(chosen, store, **dials):
    return run_experiment(chosen, store=store, report=lambda line: None, **dials)


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_variant_of_every_experiment_runs(name, tmp_path):
    chosen = experiments()[name]
    quietly(chosen, tmp_path, quick=True)
    rows = lab.results(name, store=tmp_path)
    for variant in chosen.variants:
        assert lab.where(rows, seed=0, **variant)
    assert not [p for p in tmp_path.iterdir() if p.suffix != ".csv"]


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_says_what_it_asks_and_what_its_columns_mean(name):
    chosen = experiments()[name]
    assert set(chosen.question) == {"zh", "en"}
    for variant in chosen.variants:
        assert set(variant) <= set(chosen.columns)
    assert chosen.seeds >= 5


@pytest.mark.parametrize("name", STORED)
def test_stored_results_have_the_settings_of_the_code(name):
    chosen = experiments()[name]
    head, _ = load(path_of(chosen))
    settings = json.loads(json.dumps(dict(chosen.settings), default=str))
    assert head["settings"] == settings | {"quick": False}
    assert head["versions"]["threads"] == 1


@pytest.mark.parametrize(
    ("name", "claim"),
    [(name, claim) for name in FULL for claim in experiments()[name].claims],
)
def test_what_prose_claims_holds_of_what_is_stored(name, claim):
    assert experiments()[name].claims[claim](lab.results(name)), claim


def test_an_unknown_experiment_names_the_known_ones():
    with pytest.raises(
        ValueError, match=r"unknown experiment 'ppo'; known: .*ppo-epochs"
    ):
        lab.results("ppo")


def test_what_was_never_run_says_how_to_run_it(tmp_path):
    with pytest.raises(ValueError, match="lab run ppo-epochs"):
        lab.results("ppo-epochs", store=tmp_path)


def test_a_results_file_cut_short_is_an_error_wherever_it_is_cut(tmp_path):
    chosen, _ = counting()
    quietly(chosen, tmp_path)
    path = path_of(chosen, tmp_path)
    whole = path.read_text()
    assert len(load(path)[1]) == 12
    for end in range(len(whole)):
        path.write_text(whole[:end])
        with pytest.raises(ValueError, match=r"cut short|rows and should have"):
            load(path)
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:3] + lines[4:]))
    with pytest.raises(ValueError, match="has 11 rows and should have 12"):
        load(path)


def test_numbers_words_and_missing_columns_come_back(tmp_path):
    rows = [{"a": 1, "b": "x y", "c": True, "d": 0.123456}, {"a": 2, "e": float("nan")}]
    save(tmp_path / "t.csv", {"k": "v"}, rows)
    head, back = load(tmp_path / "t.csv")
    assert head == {"k": "v"}
    assert back[0]["a"] == 1 and back[0]["b"] == "x y" and back[0]["c"] is True
    assert back[0]["d"] == 0.1235
    assert np.isnan(back[1]["e"]) and np.isnan(back[1]["b"])


def test_a_finished_experiment_is_not_run_over(tmp_path):
    chosen, calls = counting()
    quietly(chosen, tmp_path)
    before = path_of(chosen, tmp_path).read_text()
    with pytest.raises(ValueError, match=r"is finished: .*--again"):
        quietly(chosen, tmp_path)
    assert path_of(chosen, tmp_path).read_text() == before
    assert len(calls) == 4
    quietly(chosen, tmp_path, seeds=3)
    assert calls[4:] == [("a", 2), ("b", 2)]
    quietly(chosen, tmp_path, again=True)
    assert len(calls) == 10
    assert len(load(path_of(chosen, tmp_path))[1]) == 12


def test_an_interrupted_experiment_goes_on_where_it_stopped(tmp_path):
    chosen, calls = counting()

    def stops(variant, seed, quick, checkpoint):
        if (variant["x"], seed) == ("a", 1):
            raise KeyboardInterrupt
        return chosen.run(variant, seed, quick, checkpoint)

    with pytest.raises(KeyboardInterrupt):
        quietly(replace(chosen, run=stops), tmp_path)
    assert calls == [("a", 0), ("b", 0)]
    quietly(chosen, tmp_path)
    assert calls == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_two_processes_never_write_the_same_file(tmp_path):
    chosen, calls = counting()
    lock = tmp_path / ".counting.csv.lock"
    lock.write_text(str(os.getppid()))
    with pytest.raises(ValueError, match="is being written by process"):
        quietly(chosen, tmp_path)
    assert not calls
    lock.write_text("999999999")
    quietly(chosen, tmp_path)
    assert len(calls) == 4 and not lock.exists()


def test_rows_of_other_settings_are_not_mixed_in(tmp_path):
    chosen, _ = counting()
    quietly(chosen, tmp_path, seeds=1)
    with pytest.raises(ValueError, match="has other settings; --again"):
        quietly(replace(chosen, settings={"steps": 9}), tmp_path)


def test_a_run_uses_one_thread_and_gives_them_back(tmp_path):
    threads = torch.get_num_threads()
    seen = []
    chosen, _ = counting()

    def run(variant, seed, quick, checkpoint):
        seen.append(torch.get_num_threads())
        return [{"step": 1}]

    quietly(replace(chosen, run=run), tmp_path)
    assert set(seen) == {1}
    assert torch.get_num_threads() == threads


def test_rows_are_read_per_seed_by_value(tmp_path):
    chosen, _ = counting()
    rows = quietly(chosen, tmp_path)
    np.testing.assert_allclose(
        lab.per_seed(rows, "success", x="a"), [[0.1, 0.2, 0.3], [1.1, 1.2, 1.3]]
    )
    np.testing.assert_allclose(lab.final(rows, "success", last=2, x="b"), [0.25, 1.25])
    with pytest.raises(ValueError, match=r"rows per seed are \{\}"):
        lab.per_seed(rows, "success", x="c")


def test_the_command_lists_runs_and_refuses(capsys, tmp_path):
    assert main(["lab", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in NAMES)
    out = ["--quick", "--out", str(tmp_path)]
    assert main(["lab", "run", "sort-reinforce", *out]) == 0
    assert "seed=0" in capsys.readouterr().out
    assert main(["lab", "run", "sort-reinforce", *out]) == 1
    assert "is finished" in capsys.readouterr().err
    assert main(["lab", "run", "nothing"]) == 1
    assert "known: " in capsys.readouterr().err
    assert main(["lab", "run", "sort-reinforce", "--seeds", "0"]) == 1
    assert "--seeds must be at least 1" in capsys.readouterr().err
    assert main(["lab", "table", "ppo-epochs"]) == 1
    assert "has no table; agents, algorithms have" in capsys.readouterr().err


def test_the_table_has_a_row_per_algorithm_and_says_what_never_came(tmp_path):
    rows = []
    for name, top in (("GRPO", 0.97), ("RLOO", 0.5)):
        for seed in range(3):
            for step, success in ((10, 0.3), (20, 0.92 * top), (30, top)):
                numbers = {"step": step, "success": success, "tokens": 100 * step}
                numbers |= {"seconds": step / 10}
                rows.append({"algorithm": name, "seed": seed} | numbers)
    lines = experiments()["algorithms"].table(rows).splitlines()
    assert len(lines) == 4
    success, tokens, seconds, seeds = lines[2].split("|")[2:6]
    assert "(0.93 to 0.93)" in success  # the mean of the last two windows
    assert "3 (3 to 3)" in tokens and "3.0 (3.0 to 3.0)" in seconds and "3/3" in seeds
    assert [x.strip() for x in lines[3].split("|")[3:6]] == ["-", "-", "0/3"]


def test_the_readme_shows_the_table_of_the_store():
    readme = Path(__file__).parents[1] / "README.md"
    table = experiments()["algorithms"].table(lab.results("algorithms"))
    assert f"\n{table}\n" in readme.read_text(encoding="utf-8")
