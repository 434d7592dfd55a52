"""What the live figures of the chapter on returns and credit claim."""

import pytest
import torch

from tokenbook.figures import causality, discount_runs, discount_turns
from tokencredit import rollout, task
from tokencredit.world.rollout import texts
from tokencredit.world.starts import warm_start


def test_the_response_was_written_by_the_stored_warm_start():
    signs, seed = task("signs"), torch.Generator().manual_seed(0)
    batch = rollout(
        warm_start("signs"), signs, [causality.PROMPT], group_size=16, generator=seed
    )
    assert causality.RESPONSE in texts(batch, signs.vocabulary)


def test_a_token_is_credited_with_the_rewards_after_it_and_no_others():
    paid = dict.fromkeys(range(causality.COUNT), 0.0) | {8: 0.2, 17: 0.2, 18: 1.0}
    assert causality.rewards("way") == pytest.approx([*paid.values()])
    assert causality.rewards("end") == [0.0] * 18 + [1.0]
    plain = [1.4] * 9 + [1.2] * 9 + [1.0]
    assert causality.returns("way", 1.0) == pytest.approx(plain)
    assert causality.returns("end", 1.0) == [1.0] * 19
    first = 0.2 * 0.9**8 + 0.2 * 0.9**17 + 0.9**18
    assert causality.returns("way", 0.9)[0] == pytest.approx(first)
    assert causality.returns("way", 0.0) == causality.rewards("way")


def test_the_clocks_count_action_tokens_all_tokens_and_turns():
    counts = discount_turns.clocks(3)
    assert counts["action"] == list(range(12, -1, -1))
    assert counts["every"] == [*range(18, 12, -1), *range(9, 3, -1), 0]
    assert counts["turn"] == [2] * 6 + [1] * 6 + [0]


@pytest.mark.parametrize("clock", discount_turns.CLOCKS)
def test_a_credit_is_the_discount_to_the_power_of_the_clock(clock):
    for tool in discount_turns.TOOL:
        counts = discount_turns.clocks(tool)[clock]
        for gamma in discount_turns.GAMMAS:
            found = discount_turns.credits(gamma, tool)[clock]
            assert found == pytest.approx([gamma**k for k in counts])


@pytest.mark.parametrize("clock", discount_turns.CLOCKS)
def test_only_the_clock_of_all_tokens_depends_on_what_the_tool_writes(clock):
    first = {discount_turns.credits(0.9, n)[clock][0] for n in discount_turns.TOOL}
    assert (len(first) > 1) == (clock == "every")


def test_the_runs_are_those_of_the_lab_and_gamma_decides_their_order():
    middles = [discount_runs.ends(g, "success")[0] for g in discount_runs.GAMMAS]
    assert middles[0] < 0.2 < middles[1] < 0.6 < middles[2]
    assert middles[2] == pytest.approx(middles[3], abs=0.03)
    for gamma in discount_runs.GAMMAS:
        for middle, low, high in zip(*discount_runs.runs(gamma), strict=True):
            assert low <= middle <= high
