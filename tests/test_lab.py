"""The lab: every experiment runs, the store is safe, claims hold of what is stored."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from pandas import DataFrame

from tokencredit import lab
from tokencredit.__main__ import main
from tokencredit.lab import Experiment, phenomena, run_experiment
from tokencredit.lab.drawing import draw
from tokencredit.lab.experiment import experiments
from tokencredit.lab.store import STORE, load, path_of, save

NAMES = list(experiments())


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
    return run_experiment(
        chosen, store=store, report=lambda line: None, progress=False, **dials
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_quick_variant_of_every_experiment_runs(name, tmp_path):
    chosen = experiments()[name]
    quietly(chosen, tmp_path, quick=True)
    _, rows = load(path_of(chosen, tmp_path))
    for variant in chosen.variants:
        assert len(lab.where(rows, seed=0, **variant))
    assert not [p for p in tmp_path.iterdir() if p.suffix != ".csv"]


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_says_what_it_asks_and_what_its_columns_mean(name):
    chosen = experiments()[name]
    assert set(chosen.question) == {"zh", "en"}
    for variant in chosen.variants:
        assert set(variant) <= set(chosen.columns)
    assert chosen.seeds >= 5


@pytest.mark.parametrize("name", NAMES)
def test_stored_results_have_the_settings_of_the_code(name):
    chosen = experiments()[name]
    head, _ = load(path_of(chosen))
    settings = json.loads(json.dumps(dict(chosen.settings), default=str))
    assert head["settings"] == settings | {"quick": False}
    assert head["versions"]["threads"] == 1


@pytest.mark.parametrize(
    ("name", "claim"),
    [(name, claim) for name in NAMES for claim in experiments()[name].claims],
)
def test_what_prose_claims_holds_of_what_is_stored(name, claim):
    assert experiments()[name].claims[claim](lab.results(name)), claim


@pytest.mark.parametrize("name", NAMES)
def test_the_store_holds_every_run_of_every_experiment(name):
    assert len(lab.results(name)), "results() names the first run that is missing"


def test_an_incomplete_store_fails_by_name(tmp_path):
    chosen = experiments()["lambda-sweep"]
    head, rows = load(path_of(chosen))
    gone = (rows.seed == 3) & (rows.lam == 0.5)
    save(path_of(chosen, tmp_path), head, rows[~gone])
    with pytest.raises(ValueError, match=r"1 of 20 runs .* lam=0.5 seed=3"):
        lab.results("lambda-sweep", store=tmp_path)


def test_an_unknown_experiment_names_the_known_ones():
    with pytest.raises(
        ValueError, match=r"unknown experiment 'ppo'; known: .*lambda-sweep"
    ):
        lab.results("ppo")


def test_what_was_never_run_says_how_to_run_it(tmp_path):
    with pytest.raises(ValueError, match="lab run lambda-sweep"):
        lab.results("lambda-sweep", store=tmp_path)


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
    save(tmp_path / "t.csv", {"k": "v"}, DataFrame(rows))
    head, back = load(tmp_path / "t.csv")
    back = back.to_dict("records")
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


def speaking():
    """An experiment that keeps a response per run; runs are counted."""
    chosen, calls = counting(name="speaking", speaks=True)

    def run(variant, seed, quick, checkpoint):
        rows = chosen.run(variant, seed, quick, checkpoint)
        said = {"step": 0, "prompt": "7", "response": "1", "right": len(calls)}
        return rows, [said]

    return replace(chosen, run=run), calls


def test_responses_are_kept_beside_the_numbers_as_text(tmp_path, monkeypatch):
    chosen, _ = speaking()
    quietly(chosen, tmp_path)
    monkeypatch.setitem(experiments(), "speaking", chosen)
    said = lab.responses("speaking", store=tmp_path)
    assert said.response.tolist() == ["1"] * 4 and set(said.prompt) == {"7"}
    assert said.x.tolist() == ["a", "b"] * 2 and said.right.tolist() == [1, 2, 3, 4]
    quietly(chosen, tmp_path, again=True)
    assert lab.responses("speaking", store=tmp_path).right.tolist() == [5, 6, 7, 8]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_run_that_is_repeated_keeps_its_responses_once(tmp_path):
    chosen, _ = speaking()
    quietly(chosen, tmp_path, seeds=1)
    head, rows = load(path_of(chosen, tmp_path))
    save(path_of(chosen, tmp_path), head, rows[rows.x != "b"])
    quietly(chosen, tmp_path, seeds=1)
    said = load(tmp_path / "speaking.responses.csv")[1]
    assert said.x.tolist() == ["a", "b"] and said.right.tolist() == [1, 3]


def test_an_experiment_that_keeps_no_responses_names_those_that_do():
    with pytest.raises(ValueError, match=r"keeps no responses; .*algorithms.* do"):
        lab.responses("lambda-sweep")


def test_a_run_says_before_it_starts_how_long_it_took_before(tmp_path):
    chosen = experiments()["lambda-sweep"]
    said = []
    fast = replace(chosen, run=lambda *_: [{"step": 1}])
    run_experiment(fast, seeds=1, store=tmp_path, report=said.append, progress=False)
    took = lab.results("lambda-sweep").groupby(["lam", "seed"]).seconds.max()
    first = (
        f"lambda-sweep: 4 runs, about {took.mean() / 15:.1f} CPU minutes (as the 20 "
    )
    assert said[0].startswith(first)
    unknown, _ = counting()
    run_experiment(unknown, store=tmp_path, report=said.append, progress=False)
    assert any("4 runs, the bar will say how long" in line for line in said)


def test_a_figure_shows_every_seed_of_every_variant_and_their_median():
    chosen = experiments()["lambda-sweep"]
    rows = lab.results("lambda-sweep")
    figure = draw(chosen, rows)
    panels = [axes for axes in figure.axes if axes.lines]
    assert len(panels) == len(chosen.variants)
    assert panels[0].get_title(loc="left") == "lam 0.0"
    *seeds, middle = panels[1].lines
    curves = lab.per_seed(rows, "success", lam=0.5)
    for line, curve in zip(seeds, curves, strict=True):
        np.testing.assert_allclose(line.get_ydata(), curve)
    np.testing.assert_allclose(middle.get_ydata(), np.median(curves, 0))
    assert figure.get_suptitle().startswith("With a critic that starts from nothing")
    assert chosen.columns["success"] in figure.get_supxlabel()


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_can_be_drawn(name):
    chosen = experiments()[name]
    figure = draw(chosen, lab.results(name))
    drawn = sum(bool(axes.lines) for axes in figure.axes)
    assert drawn == len(chosen.panels or chosen.variants) * len(chosen.shows)


def test_a_row_cannot_write_over_what_its_variant_says(tmp_path):
    chosen, _ = counting(run=lambda *_: [{"step": 1, "x": "c"}])
    with pytest.raises(ValueError, match=r"\['x'\] are columns of the variant and"):
        quietly(chosen, tmp_path)


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
    assert "20/20 runs" in listed  # of lambda-sweep: four variants, five seeds
    out = ["--quick", "--out", str(tmp_path)]
    assert main(["lab", "run", "sort-reinforce", *out]) == 0
    said = capsys.readouterr()
    assert "seed=0" in said.out + said.err
    assert main(["lab", "run", "sort-reinforce", *out]) == 1
    assert "is finished" in capsys.readouterr().err
    assert main(["lab", "run", "nothing"]) == 1
    assert "known: " in capsys.readouterr().err
    assert main(["lab", "run", "sort-reinforce", "--seeds", "0"]) == 1
    assert "--seeds must be at least 1" in capsys.readouterr().err
    out = tmp_path / "figure.svg"
    assert main(["lab", "show", "lambda-sweep", "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8").startswith("<?xml")
    assert main(["lab", "show", "lambda-sweep", "--out", "figure.doc"]) == 1
    assert "must end in .png or .svg, got figure.doc" in capsys.readouterr().err
    assert main(["lab", "table", "lambda-sweep"]) == 1
    assert "has no table; algorithms, agents have" in capsys.readouterr().err


def test_the_table_has_a_row_per_algorithm_and_says_what_never_came(tmp_path):
    rows = []
    for name, top in (("GRPO", 0.97), ("RLOO", 0.5)):
        for seed in range(3):
            for step, success in ((10, 0.3), (20, 0.92 * top), (30, top)):
                numbers = {"step": step, "success": success, "tokens": 100 * step}
                numbers |= {"seconds": step / 10}
                rows.append({"algorithm": name, "seed": seed} | numbers)
    lines = experiments()["algorithms"].table(DataFrame(rows)).splitlines()
    assert len(lines) == 4
    success, tokens, seconds, seeds = lines[2].split("|")[2:6]
    assert "(0.93 to 0.93)" in success  # the mean of the last two windows
    assert "3 (3 to 3)" in tokens and "3.0 (3.0 to 3.0)" in seconds and "3/3" in seeds
    assert [x.strip() for x in lines[3].split("|")[3:6]] == ["-", "-", "0/3"]


def test_no_experiment_is_kept_that_no_page_draws():
    root = Path(__file__).parents[1]
    pages = [*root.glob("chapters/*.ipynb"), *root.glob("book/_ext/*.py")]
    pages += root.glob("src/tokencredit/figures/*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    drawn = {name for name in NAMES if re.search(rf'"{name}\\?"', text)}
    drawn |= {one.experiment for one in phenomena.PHENOMENA}
    alone = set(NAMES) - drawn
    assert not alone, (
        f"on no page: draw it, name it in PHENOMENA, or delete it: {alone}"
    )


def seen(monkeypatch, **changes):
    """A phenomenon looked for in two arms of three seeds, three rows a run."""
    curves = {
        "a": ([0.1, 0.5, 0.3], [0.2, 0.4, 0.4], [0.0, 0.9, 0.1]),
        "b": ([0.1, 0.6, 0.6], [0.1, 0.4, 0.41], [0.3, 0.2, 0.4]),
    }
    rows = [
        {"arm": arm, "seed": seed, "step": step, "success": x, "length": 10 * x}
        for arm, runs in curves.items()
        for seed, run in enumerate(runs)
        for step, x in enumerate(run)
    ]
    monkeypatch.setattr(phenomena, "results", lambda name: DataFrame(rows))
    arms = ({"arm": "a"}, {"arm": "b"})
    says = {"zh": "多了", "en": "More"}
    usual = {"says": says, "experiment": "x", "column": "success", "arms": arms}
    return phenomena.Phenomenon(**usual | changes)


def test_a_phenomenon_compares_two_numbers_of_each_seed(monkeypatch):
    one = seen(monkeypatch)
    first, second = one.numbers()
    np.testing.assert_allclose(first, [0.4, 0.4, 0.5])
    np.testing.assert_allclose(second, [0.6, 0.405, 0.3])
    assert one.seeds().tolist() == [True, False, False]  # 0.005 is too little
    assert replace(one, by=0.0).seeds().tolist() == [True, True, False]
    assert replace(one, grows=False).seeds().tolist() == [False, False, True]
    arms = ({"arm": "a"},)
    run = replace(one, arms=arms, moments=("start", "end"), last=1, other="length")
    np.testing.assert_allclose(run.numbers()[0], [0.1, 0.2, 0.0])
    np.testing.assert_allclose(run.numbers()[1], [3, 4, 1])
    peak = replace(one, arms=arms, moments=("peak", "end"), grows=False)
    np.testing.assert_allclose(peak.numbers()[0], [0.5, 0.4, 0.9])
    assert peak.seeds().tolist() == [True, False, True]


def test_what_does_not_show_in_every_seed_stands_last_in_the_table(monkeypatch):
    weak = seen(monkeypatch)
    strong = replace(weak, says={"zh": "先", "en": "First"}, arms=weak.arms[::-1])
    strong = replace(strong, moments=("start", "peak"))
    monkeypatch.setattr(phenomena, "PHENOMENA", (weak, strong))
    lines = phenomena.phenomena_table("en").splitlines()
    first = "| First<br>`x`, `success` | 0.10 [0.10, 0.30] → 0.50 [0.40, 0.90] | 3/3 |"
    assert lines[2] == first
    assert lines[3].startswith("| More<br>`x`, `success` | 0.40 [0.40, 0.50] → 0.41 ")
    assert lines[3].endswith("| 1/3 |")
    assert phenomena.phenomena_table("zh").startswith("| 现象 | 从 → 到 | 种子 |")


def test_the_command_prints_the_phenomena_of_the_store(capsys):
    assert main(["lab", "phenomena"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(phenomena.PHENOMENA)
    assert all(line.endswith("/5 |") for line in lines[2:])


def test_every_stored_file_has_its_row_where_the_store_is_explained():
    text = (STORE / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z-]+) \| (?!variants)", text, re.M)
    assert sorted(rows) == sorted(NAMES)


def test_the_readme_shows_the_table_of_the_store():
    readme = Path(__file__).parents[1] / "README.md"
    table = experiments()["algorithms"].table(lab.results("algorithms"))
    assert f"\n{table}\n" in readme.read_text(encoding="utf-8")
