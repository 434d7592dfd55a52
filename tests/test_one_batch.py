"""One batch under every algorithm: its cells, computed once more by hand.

Nothing here calls the package's losses or advantages: sums, deviations and gates are
written out from the papers' formulas.
"""

import inspect
import math
from statistics import fmean, stdev

import pytest
import torch

from tokenbook.explorer.drawing import is_a
from tokenbook.figures import one_batch
from tokenbook.figures.one_batch import FIGURE, SAYS, STATIONS, at, cells, responses
from tokencredit import ALGORITHMS, task
from tokencredit.world.starts import warm_start
from tokencredit.world.text import encode

SIGNS = task("signs")
SOME = [(0, 0), (3, 0), (3, 2), (3, 4), (5, 2), (7, 4), (8, 2)]  # right, updates


def groups(right):
    """Scores of the two groups of four."""
    scores = [one["score"] for one in responses(right)]
    assert sum(scores) == right
    return [scores[:4], scores[4:]]


def compared(right, scale):
    """Score minus the group's mean, over its standard deviation or not."""
    found = []
    for scores in groups(right):
        over = stdev(scores) + 1e-6 if scale else 1.0
        found += [(score - fmean(scores)) / over for score in scores]
    return found


def ratios(right, updates):
    """Ratios of every token of every response."""
    return [
        [
            math.exp(new - old) if updates else 1.0
            for new, old in zip(one["now"][updates - 1], one["old"], strict=True)
        ]
        for one in responses(right)
    ]


def clipped(advantage, ratio, low=0.2, high=0.2):
    """Whether PPO's clip leaves a token without a gradient."""
    return ratio > 1 + high if advantage > 0 else advantage < 0 and ratio < 1 - low


def near(found, wanted):
    assert found == pytest.approx(wanted, abs=2e-5)


def test_the_stored_responses_are_what_they_are_called_and_the_warm_start_wrote_them():
    policy = warm_start("signs", seed=0)
    for prompt, group in zip(one_batch.PROMPTS, one_batch.RECORD, strict=True):
        for name, score in (("right", 1), ("wrong", 0)):
            assert len(group[name]) == one_batch.EACH
            for one in group[name]:
                assert SIGNS.reward(prompt, one["text"]) == score
                assert len(one["text"]) <= one_batch.WIDEST
                ids = torch.tensor([encode(prompt + one["text"], SIGNS.vocabulary)])
                with torch.no_grad():
                    logits = policy(ids[:, :-1])[0][0].log_softmax(-1)
                taken = logits.gather(1, ids[0, 1:, None])[len(prompt) - 1 :, 0]
                assert one["old"] == pytest.approx(taken.tolist(), abs=2e-3)
                assert len(one["now"]) == one_batch.UPDATES


@pytest.mark.parametrize(("right", "updates"), SOME)
def test_the_credit_of_a_response_is_its_definition(right, updates):
    scores = [score for group in groups(right) for score in group]
    other = [
        score - (sum(group) - score) / 3 for group in groups(right) for score in group
    ]
    wanted = {
        "REINFORCE": scores,
        "RLOO": other,
        "GRPO": compared(right, True),
        "Dr. GRPO": compared(right, False),
        "GSPO": compared(right, True),
    }
    plain = compared(right, False)
    lengths = [len(one["text"]) for one in responses(right)]
    every = [a for a, n in zip(plain, lengths, strict=True) for _ in range(n)]
    if any(every):  # REINFORCE++: over the std of all tokens of the batch
        middle, over = fmean(every), math.sqrt(torch.tensor(every).var().item() + 1e-8)
        wanted["REINFORCE++"] = [(a - middle) / over for a in plain]
    for name, credits in wanted.items():
        found = cells(name, right, updates)
        for one, credit in zip(found, credits, strict=True):
            near(one.credit, [credit] * len(one.credit))


@pytest.mark.parametrize("right", [1, 3, 6])
def test_the_credit_of_ppo_is_gae_whitened_over_the_batch(right):
    every = []
    for one in responses(right):
        values, run, back = [*one["values"], 0.0], 0.0, []
        for t in reversed(range(len(one["text"]))):
            paid = one["score"] if t == len(one["text"]) - 1 else 0.0
            run = paid + values[t + 1] - values[t] + 0.95 * run
            back.append(run)
        every.append(back[::-1])
    flat = [a for row in every for a in row]
    middle, over = fmean(flat), stdev(flat)
    for one, row in zip(cells("PPO", right, 2), every, strict=True):
        assert one.credit == pytest.approx([(a - middle) / over for a in row], abs=1e-4)


@pytest.mark.parametrize(("right", "updates"), SOME)
def test_the_push_is_the_slope_of_each_formula(right, updates):
    rows, rho = responses(right), ratios(right, updates)
    lengths = [len(one["text"]) for one in rows]
    mean = sum(lengths) / len(rows)
    scaled, plain = compared(right, True), compared(right, False)
    for k, n in enumerate(lengths):
        a, b, own = scaled[k], plain[k], mean / n
        whole = math.exp(fmean(map(math.log, rho[k])))
        shut = clipped(a, whole, 3e-4, 4e-4)
        pull = [0.04 * (1 - 1 / x) for x in rho[k]]  # of k3, towards the reference
        gate = [0.0 if clipped(a, x) else a * x for x in rho[k]]
        wanted = {
            "REINFORCE": [rows[k]["score"]] * n,
            "GRPO": [own * (g - p) for g, p in zip(gate, pull, strict=True)],
            "Dr. GRPO": [0.0 if clipped(b, x) else b * x for x in rho[k]],
            "CISPO": [a * min(x, 5.0) for x in rho[k]],
            "GSPO": [0.0 if shut else own * a * whole] * n,
        }
        for name, pushes in wanted.items():
            found = cells(name, right, updates)[k]
            near(found.push, pushes)
            dead = [p == 0 for p in (gate if name == "GRPO" else pushes)]
            assert found.dead == dead, name


@pytest.mark.parametrize(
    ("right", "kept"), [(0, []), (3, range(8)), (5, range(4, 8)), (8, [])]
)
def test_dapo_keeps_the_groups_that_are_not_all_alike(right, kept):
    found = [k for k, one in enumerate(cells("DAPO", right, 2)) if one.kept]
    assert found == [*kept]


def test_the_cells_that_are_marked_are_those_that_the_step_changes():
    """Counted once more from credit and push, at every station."""
    for name in STATIONS:
        before = ALGORITHMS[name].parent
        live = FIGURE.tree("en", FIGURE.start | {"station": at(name), "updates": 4})
        chips = [e for e in live.iter() if is_a(e, "ex-chip") and is_a(e, "on")]
        gone = [e for e in live.iter() if is_a(e, "ex-chip") and is_a(e, "new")]
        tiles = [e[1].text for e in live.iter() if is_a(e, "ex-tile")]
        now, other = cells(name, 3, 4), 0
        total = sum(len(one.push) for one in now)
        for k, one in enumerate(now):
            if before:
                old = cells(before, 3, 4)[k]
                for t in range(len(one.push)):
                    apart = (one.credit[t] - old.credit[t], one.push[t] - old.push[t])
                    seen = max(map(abs, apart)) >= one_batch.SEEN
                    other += seen or one.kept != old.kept
        assert len(gone) == other, name
        assert len(chips) == sum(len(one.push) for one in now if one.kept)
        off = sum(is_a(e, "off") for e in chips)
        assert tiles[0] == f"{len(chips) - off} / {total}"
    assert tiles


def test_cispo_lets_those_tokens_learn_that_grpo_has_stopped():
    """Apart from the weight of a token, which no longer depends on the length."""
    old, new = cells("GRPO", 3, 4), cells("CISPO", 3, 4)
    stopped = sum(sum(one.dead) for one in old)
    assert stopped > 1 and not any(any(one.dead) for one in new)


def test_the_map_has_every_entry_but_those_that_want_a_teacher():
    wants = {
        name
        for name, row in ALGORITHMS.items()
        if "ref_log_probs" in inspect.signature(row.advantage).parameters
    }
    assert set(STATIONS) == set(ALGORITHMS) - wants
    for told in FIGURE.note:  # and the note says which those are
        assert all(f"{name} " in told for name in wants)
    assert not set(SAYS) - set(ALGORITHMS), "a sentence about nobody"
    pressed = [
        e.text or e[0].text
        for e in FIGURE.tree("en", FIGURE.start).iter("button")
        if e.get("aria-pressed") == "true"
    ]
    assert pressed == ["GRPO"]


def test_the_arrow_that_lights_is_that_of_the_field():
    assert one_batch.arrows("GSPO") == one_batch.arrows("CISPO") == ["weight"]
    assert one_batch.arrows("RLOO") == ["reward", "credit"]  # a KL in the reward
    assert one_batch.arrows("DAPO") == ["tokens", "reward", "credit", "weight"]
    assert one_batch.arrows("StarPO") == ["reward", "weight"]
    lit = [
        e[0].text
        for e in FIGURE.tree("en", FIGURE.start | {"station": at("SAPO")}).iter("span")
        if is_a(e, "ex-chip") and is_a(e, "sel")
    ]
    assert lit == ["→ weight"]
