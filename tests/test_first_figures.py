"""The figures of chapters 0 and 1 show what the package and a recorded run say."""

import math

import pytest
import torch

from tokenbook.explorer.words import Language
from tokenbook.figures import decisions, forty_lines, hero, shift, temperature
from tokenbook.lab import records
from tokencredit import rollout, task
from tokencredit.world.rollout import texts
from tokencredit.world.starts import warm_start

SIGNS = task("signs")


@pytest.fixture(scope="module")
def program() -> dict:
    """The forty lines as the chapter prints them, ready to be called."""
    return records.program()


def test_the_record_begins_with_what_the_stored_warm_start_writes():
    assert (
        records.eight(warm_start("signs", seed=0)) == forty_lines.RECORD[0]["responses"]
    )


def test_the_record_is_of_the_program_that_the_chapter_prints(program):
    """Later responses depend on the last bits of a processor, shares hardly do."""
    policy = warm_start("signs", seed=0)
    history = program["grpo"](policy, 2, seed=0)
    for (success, _), row in zip(history.tolist(), forty_lines.RECORD, strict=False):
        assert success == pytest.approx(row["success"], abs=0.03)
    same = zip(records.eight(policy), forty_lines.RECORD[2]["responses"], strict=True)
    assert sum(a == b for a, b in same) >= 5


def test_the_advantages_of_the_record_are_those_of_the_program(program):
    for iteration, row in enumerate(forty_lines.RECORD):
        rewards, credits = forty_lines.judged(iteration)
        own = [program["check"](forty_lines.PROMPT, text) for text in row["responses"]]
        assert rewards == own
        ours = program["advantages"](torch.tensor([own]))[0]
        assert torch.allclose(ours, torch.tensor(credits), atol=1e-5)


def test_the_response_shown_as_decisions_has_the_probability_of_its_sampling():
    _, taken, nats = decisions.distributions()
    dice = torch.Generator().manual_seed(11)
    batch = rollout(
        warm_start("signs", seed=0),
        SIGNS,
        [decisions.PROMPT],
        group_size=8,
        generator=dice,
    )
    assert texts(batch, SIGNS.vocabulary)[0] == decisions.RESPONSE
    assert taken.sum().item() == pytest.approx(
        batch.old_log_probs[0].sum().item(), abs=1e-3
    )
    assert (nats > decisions.CLEAR).sum() == 6


def test_temperature_flattens_and_top_p_cuts():
    plain, _ = temperature.sampler(2, 1.0, 1.0)
    z = temperature.logits(2)
    assert torch.allclose(plain, z.softmax(0))
    cool, mass = temperature.sampler(2, 0.5, 1.0)
    assert mass == pytest.approx(1) and torch.allclose(cool, (z / 0.5).softmax(0))
    cut, mass = temperature.sampler(2, 1.0, 0.6)
    assert (cut > 0).sum() == 1 and mass == pytest.approx(plain.max().item())
    for place in range(3):
        entropies = [nats for _, nats in temperature.curve(place, 1.0)]
        assert entropies == sorted(entropies)


def test_the_shifted_pairing_gives_the_response_its_probability_and_others_do_not():
    tokens, log_p, counted = shift.scored("right")
    picked = [t for t, live in zip(tokens, counted, strict=True) if live]
    assert "".join(shift.TEXT[t] for t in picked) == shift.RESPONSE
    dice = torch.Generator().manual_seed(11)
    batch = rollout(
        warm_start("signs", seed=0), SIGNS, [shift.PROMPT], group_size=8, generator=dice
    )
    row = texts(batch, SIGNS.vocabulary).index(shift.RESPONSE)
    total = sum(x for x, live in zip(log_p, counted, strict=True) if live)
    assert total == pytest.approx(batch.old_log_probs[row].sum().item(), abs=1e-3)
    tokens, log_p, counted = shift.scored("same")
    assert sum(x for x, live in zip(log_p, counted, strict=True) if live) < -20
    tokens, _, counted = shift.scored("late")
    picked = [t for t, live in zip(tokens, counted, strict=True) if live]
    assert "".join(shift.TEXT[t] for t in picked) == shift.RESPONSE[1:] + "0"
    assert math.isfinite(total)


def test_what_the_start_page_says_of_a_state_holds_in_each():
    """Its sentence is checked against credit and push of the four algorithms."""
    said = set()
    for state in hero.FIGURE.states:
        right, others, drift = (state[key] for key in ("right", "others", "drift"))
        numbers = hero.rows(right, others, drift)
        words = hero.moral(Language("en"), right, others, numbers)
        _, ppo, grpo, gspo = (credit for credit, _ in numbers)
        live = [sum(abs(p) > 1e-9 for p in pushes) for _, pushes in numbers]
        assert len({*grpo, *gspo}) == 1 < len({*ppo}), "PPO alone tells them apart"
        if words.startswith("All scores"):
            assert others == 7 * right and live[2:] == [0, 0]
        elif words.startswith("Stale"):
            assert live[3] == 0 < live[2] < hero.COUNT
        elif words.startswith("One digit"):
            assert min(ppo) == ppo[hero.SLIP] < 0 > grpo[0] and not right
        elif words.startswith("The only"):
            assert grpo[0] == max(hero.rows(1, n, drift)[2][0][0] for n in range(8))
        else:
            assert right and 0 < others < 7
        if "clipped" in words:
            assert live[2] < hero.COUNT
        elif not words.startswith(("Stale", "The only")):
            assert live[2] in (0, hero.COUNT)
        said.add(words)
    assert len(said) == 7
