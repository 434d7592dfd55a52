"""The lab: every experiment runs, the store is safe, claims hold of what is stored."""

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from pandas import DataFrame

from tokenbook import lab
from tokenbook.__main__ import main
from tokenbook.lab import Experiment, phenomena, run_experiment, stamping
from tokenbook.lab.drawing import draw
from tokenbook.lab.experiment import experiments
from tokenbook.lab.experiments import (
    _chain,
    _games,
    _sort,
    distillation,
    distillation_controls,
    drop_or_wait,
    dynamic_sampling,
    entropy_cov,
    kl_cov,
    reuse_ratio,
    sort_start,
)
from tokenbook.lab.experiments._signs import SHOWN
from tokenbook.lab.experiments._signs import TASK as SIGNS
from tokenbook.lab.store import STORE, load, path_of, save
from tokenbook.languages import stamps
from tokencredit import rollout
from tokencredit.training import dials, train, update, warm_up
from tokencredit.world.rollout import texts
from tokencredit.world.starts import warm_start

NAMES = list(experiments())
WORDS = SIGNS.vocabulary


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


def test_the_gate_of_grpo_is_taken_apart_at_the_token_after_a_cross():
    tokens = torch.tensor([[1, reuse_ratio.CROSS, 3, 4]])
    ones = torch.ones(1, 4)
    for loss, open_at in (
        (reuse_ratio.open_after_cross, [False, False, True, False]),
        (reuse_ratio.only_after_cross, [True, True, False, True]),
    ):
        for sign, move in ((1.0, 1.5), (-1.0, 0.5)):  # too far, the way it is pushed
            leaf = (move * ones).log().requires_grad_()
            loss(leaf, leaf, sign * ones, tokens).sum().backward()
            want = torch.where(torch.tensor([open_at]), -sign * move, 0.0)
            torch.testing.assert_close(leaf.grad, want)


@pytest.mark.parametrize("who", ["student", "teacher"])
def test_a_drawn_token_teaches_on_average_what_the_whole_vocabulary_does(who):
    torch.manual_seed(0)
    z = torch.randn(1, 6, dtype=torch.float64, requires_grad=True)
    given = torch.randn(1, 6, dtype=torch.float64).log_softmax(-1)
    now = z.log_softmax(-1)
    writes = (now.detach() if who == "student" else given).exp()[0]

    def slope(what, token):
        args = now, given, torch.tensor([token]), now.detach()[:, token]
        loss = distillation_controls.loss_of(f"{who}, {what}", *args)
        return torch.autograd.grad(loss, z, retain_graph=True)[0]

    mean = sum(writes[k] * slope("token", k) for k in range(6))
    torch.testing.assert_close(mean, slope("vocabulary", 0))
    assert slope("vocabulary", 0).abs().max() > 0.01


@pytest.mark.parametrize("rule", ["drop", "wait"])
def test_a_limit_on_staleness_is_kept_by_dropping_or_by_waiting(rule):
    policy = warm_start("signs", seed=0)
    engine = drop_or_wait.Engine(rule, 1, policy, 8, 0)
    oldest = []
    for version in range(8):
        batch = engine.batch()
        assert batch.groups.unique(return_counts=True)[1].tolist() == [8] * 8
        oldest.append(max(engine.ages[-8:]))
        assert engine.version == version + 1
    assert max(oldest) == 1
    assert (engine.dropped > 0) == (rule == "drop")
    known = len(engine.used) + engine.dropped + len(engine.running) + len(engine.ready)
    assert known == len(engine.begun)


def test_clip_cov_shuts_out_a_rare_token_that_is_pushed_down():
    log_probs = torch.tensor([[-0.1, -0.1, -0.1, -5.0]], requires_grad=True)
    A, mask = torch.tensor([[1.0, 1.0, 1.0, -1.0]]), torch.ones(1, 4, dtype=torch.bool)
    args = log_probs, torch.zeros(1, 4), A, mask
    # by hand: -5 is 3.675 below the mean of -1.325, and -1 is 1.5 below 0.5
    assert entropy_cov.terms(*args[::2], mask)[0, 3].item() == pytest.approx(5.5125)
    gentle = log_probs, torch.zeros(1, 4), A / 2, mask
    assert entropy_cov.terms(*gentle[::2], mask)[0, 3].item() == pytest.approx(2.75625)
    ratio = log_probs - log_probs.detach()
    loss = entropy_cov.clip_cov(log_probs, ratio, A / 2, mask).sum()
    (slope,) = torch.autograd.grad(loss, log_probs)
    assert slope.tolist() == [[-0.5, -0.5, -0.5, 0.0]]


def test_kl_cov_has_no_clip_and_one_token_pays_for_the_distance():
    log_probs = torch.tensor([[-0.1, -0.1, -0.1, -5.0]], requires_grad=True)
    A, mask = torch.tensor([[1.0, 1.0, 1.0, -1.0]]), torch.ones(1, 4, dtype=torch.bool)
    ratio = log_probs - (log_probs.detach() - 1)  # every ratio is e
    loss = kl_cov.kl_cov(log_probs, ratio, A, mask).sum()
    (slope,) = torch.autograd.grad(loss, log_probs)
    e = torch.e  # the last has the largest term, and coefficient 1
    assert slope.tolist()[0] == pytest.approx([-e, -e, -e, e + 1])


def test_one_token_of_those_that_clip_cov_shuts_out_is_shut_out():
    log_probs = torch.tensor([[-5.0, -0.1, -0.1, -0.1, -5.0]] * 2, requires_grad=True)
    A = torch.tensor([[-0.5, 0.5, 0.5, 0.5, -0.5]] * 2)
    mask = torch.ones(2, 5, dtype=torch.bool)
    ratio = log_probs - log_probs.detach()
    shut = []
    for rule in (entropy_cov.clip_cov, entropy_cov.one_token):
        (slope,) = torch.autograd.grad(rule(log_probs, ratio, A, mask).sum(), log_probs)
        shut.append((slope == 0).flatten().nonzero()[:, 0].tolist())
    assert shut[0] == [0, 4, 5, 9]
    assert len(shut[1]) == 1 and shut[1][0] in shut[0]


def test_a_screen_lets_the_prompts_pass_that_it_sometimes_answers_right():
    policy, rng = warm_start("signs", seed=0), np.random.default_rng(1)
    goal = dynamic_sampling.Screened(
        screen=policy, rng=rng, dice=torch.Generator().manual_seed(2)
    )
    found = goal.prompts(24, np.random.default_rng(3))
    again, want = np.random.default_rng(3), []
    dice = torch.Generator().manual_seed(2)
    while len(want) < 24:
        some = SIGNS.prompts(24, again)
        batch = rollout(policy, SIGNS, some, group_size=8, generator=dice)
        said = texts(batch, SIGNS.vocabulary)
        for k, prompt in enumerate(some):
            right = [SIGNS.reward(prompt, x) == 1 for x in said[8 * k : 8 * k + 8]]
            want += [prompt] * (any(right) and not all(right))
    assert found == want[:24]
    assert goal.seen["drawn"] > goal.seen["mixed"] >= 24


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


def test_the_help_tells_all_there_is_to_a_run(capsys):
    with pytest.raises(SystemExit):
        main(["lab", "--help"])
    told = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["lab", "run", "--help"])
    options = set(re.findall(r"--[a-z]+", capsys.readouterr().out)) - {"--help"}
    assert options == set(re.findall(r"--[a-z]+", told)) - {"--help"}
    for verb in ("list", "run", "show", "table", "stamp", "phenomena"):
        assert f"python -m tokenbook lab {verb}" in told


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
    pages = [*root.glob("chapters/*.ipynb"), *root.glob("src/tokenbook/site/**/*.py")]
    pages += [*root.glob("book/*.ipynb"), *root.glob("src/tokenbook/figures/*.py")]
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


# --- stamps: which code computed what is stored ------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_stored_results_were_computed_by_todays_code(name):
    head, _ = load(path_of(experiments()[name]))
    assert "stamp" in head, f"{name} has no stamp; run: python -m tokenbook lab stamp"
    modules = stamping.changed(head["stamp"])
    assert not modules, (
        f"{name} was computed by other code of {', '.join(modules)}; "
        f"run: python -m tokenbook lab stamp {name}"
    )


def edited(monkeypatch, module, old, new):
    """Take a module's file as if it had been edited."""
    file = Path(module.__file__)
    read = Path.read_text
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    stamps.definitions.cache_clear()
    monkeypatch.setattr(
        Path,
        "read_text",
        lambda self, *args, **dials: (
            text.replace(old, new) if self == file else read(self, *args, **dials)
        ),
    )


@pytest.fixture
def stamp():
    yield load(path_of(experiments()["sort-start"]))[0]["stamp"]
    stamps.definitions.cache_clear()


@pytest.mark.parametrize(
    ("module", "old", "new", "stale"),
    [
        (dials, "max_grad_norm: float = 1.0", "max_grad_norm: float = 0.5", 1),
        (sort_start, '"position",\n        seed', '"position",\n        0', 1),
        (sort_start, '"zh": "', '"zh": "？', 0),  # the experiment's words
        (_sort, "mistaken ratio, ", "ratio, ", 0),  # a docstring
        (_sort, "row[k] for k in KEPT", "row[k] for k in KEPT[:9]", 1),
    ],
)
def test_a_stamp_tells_other_code_from_other_words(
    monkeypatch, stamp, module, old, new, stale
):
    assert not stamping.changed(stamp)
    edited(monkeypatch, module, old, new)
    assert stamping.changed(stamp) == [module.__name__] * stale


def test_quick_runs_that_give_other_numbers_are_not_stamped(tmp_path, monkeypatch):
    chosen = experiments()["sort-start"]
    head, rows = load(path_of(chosen))
    other = head["stamp"] | {"code": head["stamp"]["code"] | {"gone": "0 f"}}
    save(path_of(chosen, tmp_path), head | {"stamp": other}, rows)
    monkeypatch.setattr(stamping, "stamp_of", lambda name: head["stamp"])
    assert stamping.restamp("sort-start", tmp_path) == ["gone"]
    assert stamping.restamp("sort-start", tmp_path) == []
    quick = other["quick"] | {"reward": other["quick"]["reward"] * 1.01}
    save(path_of(chosen, tmp_path), head | {"stamp": other | {"quick": quick}}, rows)
    with pytest.raises(ValueError, match=r"reward was .* and is .*sort-start --again"):
        stamping.restamp("sort-start", tmp_path)


def test_a_stamp_is_taken_in_a_process_of_its_own_and_is_the_stored_one():
    new = stamping.stamp_of("sort-start")
    old = load(path_of(experiments()["sort-start"]))[0]["stamp"]
    assert not stamping.other_numbers(old, new)
    assert not stamping.changed(new)
    assert "tokenbook.lab.experiments.sort_start" in new["code"]
    assert "tokencredit.training.dials" in new["code"]


def test_a_run_by_other_code_is_not_mixed_in(tmp_path):
    chosen, calls = counting()
    taken = {"code": {"tokenbook.languages": "0 names"}, "quick": {}}
    quietly(chosen, tmp_path, seeds=1, stamp=lambda name: taken)
    assert load(path_of(chosen, tmp_path))[0]["stamp"] == taken
    with pytest.raises(
        ValueError, match=r"other code of tokenbook\.languages; .*lab st"
    ):
        quietly(chosen, tmp_path)
    assert len(calls) == 2


# --- every seed has its own start ---------------------------------------------------


VERBS = {"train": train, "warm_up": warm_up, "update": update}


def started(monkeypatch, name, seed, variant=0):
    """The first logits of a quick run's policy when its own training begins."""
    said, read = {verb: [] for verb in VERBS}, torch.zeros(1, 3, dtype=torch.long)

    def noting(function):
        def called(policy, *args, **dials):
            with torch.no_grad():
                logits = policy(read)[0].double().flatten()
            said[function.__name__].append(logits)
            return function(policy, *args, **dials)

        return called

    for cached in (_chain.warm_start, _games.warm_start, distillation.trained):
        cached.cache_clear()
    with monkeypatch.context() as patched:
        for module in [*sys.modules.values()]:
            if getattr(module, "__name__", "").startswith("tokenbook.lab.experiments"):
                for verb in VERBS.values():
                    if getattr(module, verb.__name__, None) is verb:
                        patched.setattr(module, verb.__name__, noting(verb))
        chosen = experiments()[name]
        chosen.run(chosen.variants[variant], seed, True, None)
    calls = said["train"] or said["warm_up"] or said["update"][:1]
    return calls[-1]  # a teacher's are before


FLAT = ("fork-critic", "rare-action")  # one table: seeds differ in what is sampled
TAUGHT = ("distillation-direction",)  # what trains in `train` is its teacher


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FLAT])
def test_every_seed_starts_from_a_policy_of_its_own(monkeypatch, name):
    first, second = (started(monkeypatch, name, seed) for seed in (0, 1))
    assert not torch.allclose(first, second), f"{name}: both seeds start from one"
    if experiments()[name].settings.get("task") == "signs" and name not in TAUGHT:
        read = torch.zeros(1, 3, dtype=torch.long)
        for seed, logits in enumerate((first, second)):
            with torch.no_grad():
                own = warm_start("signs", seed=seed)(read)[0].double().flatten()
            torch.testing.assert_close(logits, own)


SPEAKING = [name for name in NAMES if experiments()[name].speaks]


@pytest.mark.parametrize("name", SPEAKING)
def test_what_is_kept_of_round_0_was_written_by_the_stored_start_of_the_seed(name):
    kept = lab.where(lab.responses(name), step=0)
    for seed in range(5):
        dice = torch.Generator().manual_seed(0)
        policy = warm_start("signs", seed=seed)
        written = texts(rollout(policy, SIGNS, list(SHOWN), generator=dice), WORDS)
        for said in lab.where(kept, seed=seed).response.to_numpy().reshape(-1, 8):
            assert all(map(str.startswith, written, said)), f"{name}, seed {seed}"
