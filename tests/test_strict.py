"""Nothing is taken silently: keywords, names, rows that are none, missing verdicts."""

import copy
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from sample_calls import CALLS

import tokencredit as tc
from tokenbook.figures import strip_of
from tokencredit import ALGORITHMS
from tokencredit.algorithm import TABLES, named
from tokencredit.batch import Batch, join
from tokencredit.integrations.recipes import left_out, recipe, text
from tokencredit.training import Dials, assign_credit, forward, objective, train
from tokencredit.training.collect import collect
from tokencredit.world.policy import Policy
from tokencredit.world.scoring import score
from tokencredit.world.tasks import task

NAN, INF = math.nan, math.inf
F64 = torch.float64
LEAVE = {"missing": "leave out"}
SWITCHED = {
    "group_relative": partial(tc.group_relative, eps=0),
    "centred": partial(tc.group_relative, scale=False),
    "leave_one_out": tc.leave_one_out,
    "dynamic_sampling": tc.dynamic_sampling,
    "top_variance": tc.top_variance,
    "group_reward_std": tc.group_reward_std,
    "zero_variance_share": tc.zero_variance_share,
}
over_switched = pytest.mark.parametrize(
    "function", SWITCHED.values(), ids=SWITCHED.keys()
)


def inputs(name, **more):
    call = CALLS[name]
    return call.inputs() | call.others | more


# ---- keywords ----


@pytest.mark.parametrize(
    "name, wrong, near",
    [
        ("policy_loss", "denominater", "denominator"),
        ("policy_loss", "clip_hi", "clip_high"),
        ("policy_loss", "ref_logprobs", "ref_log_probs"),
        ("policy_loss", "entropy", "entropies"),
        ("token_advantages", "last_value", "last_values"),
        ("token_advantages", "group", "groups"),
        ("token_advantages", "eps_", "eps"),
        ("shaped_rewards", "old_logprobs", "old_log_probs"),
        ("shaped_rewards", "reference_log_probs", "ref_log_probs"),
    ],
)
def test_a_keyword_that_nothing_takes_is_refused_with_the_nearest(name, wrong, near):
    function = getattr(tc, name)
    with pytest.raises(ValueError, match=rf"takes no {wrong}; .* takes is {near}\."):
        function(**inputs(name, **{wrong: 100}))
    with pytest.raises(ValueError, match=rf"takes no {wrong}"):
        function(**inputs(name, **{wrong: None}))


def test_a_dial_of_a_stage_is_taken_and_stands_for_the_entrys():
    row, given = ALGORITHMS["GRPO"], inputs("policy_loss")
    higher = replace(row, loss=partial(tc.ppo_clip_loss, clip_high=0.9))
    got = tc.policy_loss(**given, clip_high=0.9)
    assert got == tc.policy_loss(**(given | {"algorithm": higher}))
    assert got != tc.policy_loss(**given)
    plain = tc.token_advantages(**inputs("token_advantages", scale=False))
    centred = inputs("token_advantages", algorithm="Dr. GRPO")
    assert torch.equal(plain, tc.token_advantages(**centred))


def test_a_stage_of_ones_own_is_given_what_it_names_by_that_name():
    def loss(log_ratio, advantages, *, margin=0.0):
        return -advantages * log_ratio + margin

    row = replace(ALGORITHMS["CISPO"], loss=loss)
    given = inputs("policy_loss", algorithm=row)
    moved = tc.policy_loss(**given, margin=2.0) - tc.policy_loss(**given)
    assert moved == pytest.approx(2)
    with pytest.raises(ValueError, match="takes is margin"):
        tc.policy_loss(**given, margins=2.0)


@pytest.mark.parametrize(
    "row, name",
    [("DAPO", "log_ratio"), ("BAPO", "clip_low"), ("BAPO", "clip_high")],
)
def test_what_is_computed_on_the_way_cannot_be_given(row, name):
    given = inputs("policy_loss", algorithm=row)
    value = given["log_probs"] if name == "log_ratio" else 0.3
    with pytest.raises(ValueError, match=f"^{name} cannot be given: policy_loss of"):
        tc.policy_loss(**given, **{name: value})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_whole_batch_may_be_handed_over_to_every_stage(name):
    given = inputs("policy_loss")
    size = given["mask"].shape
    batch = Batch(
        tokens=torch.zeros(size, dtype=torch.long),
        rewards=torch.zeros(size, dtype=F64),
        groups=torch.arange(len(given["mask"])) % 2,
        truncated=torch.zeros(size[0], dtype=torch.bool),
        max_length=9,
        values=torch.zeros(size),
        last_values=torch.zeros(size[0]),
        sampler_log_probs=given["old_log_probs"],
        turn_ends=given["mask"],
        returns=torch.zeros(size),
        **{k: x for k, x in given.items() if k not in ("algorithm", "log_probs")},
    )
    more = {"entropies": torch.zeros(size)}
    loss = tc.policy_loss(name, given["log_probs"], **batch.as_dict(), **more)
    assert loss.isfinite()
    assert tc.token_advantages(name, **batch.as_dict()).shape == size
    assert tc.shaped_rewards(name, **batch.as_dict()).shape == size


# ---- algorithms by name ----


def test_an_algorithm_may_be_given_by_its_name_everywhere():
    for name in ("policy_loss", "token_advantages", "shaped_rewards"):
        function, given = getattr(tc, name), inputs(name)
        got = function(**(given | {"algorithm": given["algorithm"].name}))
        assert torch.equal(got, function(**given))
    for change in (tc.with_critic, tc.with_turn_groups):
        made = replace(change("StarPO"), advantage=tc.gae)  # a new partial each time
        assert made == replace(change(ALGORITHMS["StarPO"]), advantage=tc.gae)
    row = ALGORITHMS["DAPO"]
    for function in (recipe, text, left_out):
        assert function("DAPO") == function(row)


def test_a_round_by_name_is_the_round_of_the_entry(policy):
    ends = []
    for row in ("RLOO", ALGORITHMS["RLOO"]):
        batch, _ = round_of(policy, row)
        judged = assign_credit(row, batch, policy)
        ends.append(objective(row, judged, forward(policy, judged)).item())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("junk", [None, 3, ["DAPO"], tc.reinforce_loss, "dapo"])
@pytest.mark.parametrize(
    "name", ["policy_loss", "token_advantages", "shaped_rewards", "critic", "turns"]
)
def test_what_is_no_algorithm_is_refused_by_name(name, junk):
    with pytest.raises(ValueError, match=r"^algorithm must be .*got"):
        if name in CALLS:
            getattr(tc, name)(**inputs(name, algorithm=junk))
        else:
            {"critic": tc.with_critic, "turns": tc.with_turn_groups}[name](junk)


def test_a_row_that_joins_the_table_has_a_name_at_once(monkeypatch):
    assert TABLES == [ALGORITHMS]
    monkeypatch.setitem(ALGORITHMS, "mine", replace(ALGORITHMS["GRPO"], name="mine"))
    assert named("mine").name == "mine"


# ---- an episode cut off, judged by turns ----


def test_a_truncated_episode_is_bootstrapped_by_turns():
    """V = 0.5 in every state, nothing paid, nothing discounted: nothing to learn."""
    row = tc.with_critic("StarPO", credit_level="turn")
    row = replace(row, advantage=partial(row.advantage, turn_gamma=1.0))
    live, nothing = torch.ones(1, 4) > 0, torch.zeros(1, 4)
    given = {
        "values": nothing + 0.5,
        "turn_ends": torch.tensor([[False, True, False, True]]),
    }
    cut = tc.token_advantages(
        row, nothing, live, last_values=torch.tensor([0.5]), **given
    )
    assert cut.tolist() == [[0.0] * 4]
    ended = tc.token_advantages(row, nothing, live, **given)
    assert ended.tolist() == [[-0.5] * 4]


def test_the_value_beyond_the_last_turn_is_a_turn_away():
    """By hand, lambda 1/2: R_2 = 1 + 0.8 V_end, then turn 1 looks at turn 2."""
    rewards = torch.tensor([[0.0, 0.0, 1.0]], dtype=F64)
    values = torch.tensor([[0.1, 0.2, 0.3]], dtype=F64)
    ends = torch.tensor([[False, True, True]])
    got = tc.turn_gae(
        rewards,
        values,
        torch.ones(1, 3) > 0,
        ends,
        gamma=1.0,
        lam=0.5,
        turn_gamma=0.8,
        last_values=torch.tensor([2.0], dtype=F64),
    )
    second = 1 + 0.8 * 2.0 - 0.3  # delta of the last turn: 2.3
    first = 0.8 * 0.3 - 0.2 + 0.8 * 0.5 * second  # delta + gamma lam A: 0.96
    inside = 0.2 - 0.1 + 0.5 * first  # the token before, reward R on the turn's end
    torch.testing.assert_close(got, torch.tensor([[inside, first, second]], dtype=F64))


def test_one_turn_is_bootstrapped_as_one_sequence_is():
    call = CALLS["gae"]
    given = call.inputs()
    given["rewards"] = torch.zeros_like(given["rewards"])
    ends = given["mask"] & (given["mask"].flip(1).cumsum(1).flip(1) == 1)
    dials = {"gamma": 0.9, "lam": 0.7}
    torch.testing.assert_close(
        tc.turn_gae(**given, turn_ends=ends, turn_gamma=0.9, **dials),
        tc.gae(**given, **dials),
    )


# ---- rows that are no response ----


def test_a_row_without_a_live_token_is_no_member_of_its_group():
    """A rejected response: the others of [1, 0, 0] are judged among themselves."""
    mask = torch.tensor([[True, True]] * 3 + [[False, False]])
    rewards = torch.zeros(4, 2)
    rewards[0, 1] = 1.0
    groups = torch.zeros(4, dtype=torch.long)
    got = tc.token_advantages("DAPO", rewards, mask, groups=groups)
    wanted = [[1.1547, 1.1547], [-0.5774, -0.5774], [-0.5774, -0.5774], [0.0, 0.0]]
    torch.testing.assert_close(got, torch.tensor(wanted), rtol=0, atol=1e-4)
    for name in ("RLOO", "Dr. GRPO", "REINFORCE", "REINFORCE++"):
        with_it = tc.token_advantages(name, rewards, mask, groups=groups)
        without = tc.token_advantages(name, rewards[:3], mask[:3], groups=groups[:3])
        assert torch.equal(with_it[:3], without) and not with_it[3].any()


def test_a_row_without_a_live_token_is_not_seen_by_the_filter():
    """Two successes and a rejected row: nothing differs, nothing can be learned."""
    batch = hand_made([1.0, 1.0, 0.0, 1.0, 0.0], groups=[0, 0, 0, 1, 1])
    batch.mask[2] = False
    kept = assign_credit("DAPO", batch)
    assert kept.groups.tolist() == [1, 1]
    assert (
        assign_credit(replace(ALGORITHMS["DAPO"], keep=None), batch)
        .advantages[2]
        .eq(0)
        .all()
    )


def hand_made(scores, groups) -> Batch:
    """Responses of two tokens, paid on the last."""
    size = len(scores)
    rewards = torch.zeros(size, 3)
    rewards[:, 2] = torch.tensor(scores)
    mask = torch.tensor([[False, True, True]] * size)
    return Batch(
        tokens=torch.ones(size, 3, dtype=torch.long),
        mask=mask,
        old_log_probs=torch.where(mask, -1.0, 0.0),
        rewards=rewards,
        groups=torch.tensor(groups),
        truncated=torch.zeros(size, dtype=torch.bool),
        max_length=2,
    )


# ---- responses without a verdict ----

NIGHT = [1.0, NAN, 0.0, 0.0, 5.0, NAN, 3.0, NAN]
NIGHT_GROUPS = [7, 7, 7, 7, 2, 2, 2, 9]


@over_switched
def test_a_response_without_a_verdict_counts_as_though_it_had_not_been_sampled(
    function,
):
    rewards, groups = torch.tensor(NIGHT, dtype=F64), torch.tensor(NIGHT_GROUPS)
    there = ~rewards.isnan()
    wanted = function(rewards[there], groups[there])
    got = function(rewards, groups, **LEAVE)
    if got.ndim:
        assert torch.equal(got[there], wanted)
        assert not got[~there].any(), "advantage 0; not kept"
    else:
        assert got == wanted
    nothing = torch.full_like(rewards, NAN)
    assert not function(nothing, groups, **LEAVE).any()


def test_a_response_without_a_verdict_by_hand():
    rewards, groups = torch.tensor([1.0, NAN, 0.0]), torch.zeros(3, dtype=torch.long)
    assert tc.group_relative(rewards, groups, scale=False, **LEAVE).tolist() == [
        0.5,
        0.0,
        -0.5,
    ]
    assert tc.leave_one_out(rewards, groups, **LEAVE).tolist() == [1.0, 0.0, -1.0]
    alone = torch.tensor([1.0, NAN])
    assert not tc.leave_one_out(alone, groups[:2], **LEAVE).any()


@over_switched
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_a_bad_reward_is_refused_with_its_row_and_the_type_that_came(function, bad):
    rewards = torch.tensor([0.0, 1.0, bad, 0.5], dtype=torch.bfloat16)
    groups = torch.zeros(4, dtype=torch.long)
    with pytest.raises(ValueError, match=rf"^rewards .*{bad} at \[2\] of bfloat16 \[4"):
        function(rewards, groups)
    if not math.isnan(bad):
        with pytest.raises(ValueError, match=rf"^rewards .*{bad} at \[2\]"):
            function(rewards, groups, **LEAVE)
    with pytest.raises(
        ValueError, match="missing must be one of 'refuse', 'leave out'"
    ):
        function(rewards, groups, missing="skip")


@pytest.mark.parametrize("name", [*ALGORITHMS, "turns", "turn groups"])
def test_no_advantage_of_any_algorithm_sees_a_row_without_a_verdict(name):
    row = {
        "turns": tc.with_critic("StarPO", credit_level="turn"),
        "turn groups": tc.with_turn_groups("StarPO"),
    }.get(name) or ALGORITHMS[name]
    given = CALLS["turn_gae"].inputs()
    given |= {"groups": torch.arange(6) % 2, "last_values": torch.ones(6, dtype=F64)}
    given |= {"old_log_probs": -given["values"], "ref_log_probs": given["values"]}
    live = given["turn_ends"][0].nonzero()[0].item()
    there = torch.tensor([False, True, True, True, True, False])  # the last is empty
    wanted = tc.token_advantages(row, **{k: x[there] for k, x in given.items()})
    given["rewards"][0, live] = NAN
    got = tc.token_advantages(row, **given, **LEAVE)
    torch.testing.assert_close(got[there], wanted, rtol=0, atol=0)
    assert not got[~there].any()
    with pytest.raises(
        ValueError, match=r"rewards must be finite; missing='leave out'"
    ):
        tc.token_advantages(row, **given)


def test_turns_of_an_episode_without_a_verdict_are_left_out():
    given = CALLS["group_turns"].inputs()
    there = torch.arange(6) != 0
    wanted = tc.group_turns(**{k: x[there] for k, x in given.items()})
    given["rewards"][0, given["turn_ends"][0].nonzero()[0]] = NAN
    got = tc.group_turns(**given, **LEAVE)
    assert torch.equal(got[there], wanted) and not got[0].any()


@pytest.mark.parametrize("name", ["REINFORCE", "PPO", "GRPO", "DAPO"])
@pytest.mark.parametrize("bad", [NAN, INF])
def test_credit_refuses_a_reward_that_is_no_number_and_names_the_place(name, bad):
    batch = hand_made([1.0, bad, 0.0], groups=[0, 0, 0])
    with pytest.raises(ValueError, match=rf"^rewards .* got {bad} at \[1, 2\]"):
        assign_credit(name, batch)
    with pytest.raises(ValueError, match=rf"^rewards .* got {bad} at \[1, 2\]"):
        tc.token_advantages(name, **batch.as_dict())
    given = CALLS["group_turns"].inputs()
    given["rewards"][0, column := given["turn_ends"][0].nonzero()[0].item()] = bad
    with pytest.raises(ValueError, match=rf"got {bad} at \[0, {column}\]"):
        tc.group_turns(**given)


def test_what_a_stage_of_ones_own_names_per_row_is_cut_like_the_rows():
    def advantage(rewards, difficulty, table):
        assert table.shape == (7,)
        return rewards * difficulty

    row = replace(ALGORITHMS["REINFORCE"], advantage=advantage)
    batch = hand_made([1.0, NAN, 3.0], groups=[0, 0, 0])
    got = tc.token_advantages(
        row,
        batch.rewards,
        batch.mask,
        difficulty=torch.tensor([2.0, 3.0, 5.0]),
        table=torch.zeros(7),
        **LEAVE,
    )
    assert got[:, 1].tolist() == [2.0, 0.0, 15.0]


@pytest.fixture(scope="module")
def start():
    torch.manual_seed(0)
    return Policy(14, context=19, width=16, heads=2, critic=True)


@pytest.fixture
def policy(start):
    return copy.deepcopy(start)


CHAIN = task("chain")
SMALL = Dials(steps=2, prompts=4, group_size=4)


def round_of(policy, row, *, dials=SMALL, reward_fn=None, **more):
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    return collect(policy, CHAIN, row, dials, rng, generator, reward_fn, **more)


def fails_at_night(prompt, response):
    """A verdict that is missing for some responses, and speaks of the others."""
    if response[0] in "02468":
        return None if response[0] in "048" else NAN
    return float(len(response) % 3)


@pytest.mark.parametrize("name", ["GRPO", "DAPO", "StarPO-S", "PPO", "REINFORCE++"])
def test_a_run_goes_on_when_the_verifier_fails(policy, name):
    row = replace(ALGORITHMS[name], length_penalty=None)
    with pytest.raises(ValueError, match=r"the reward of .* one finite"):
        train(copy.deepcopy(policy), CHAIN, row, dials=SMALL, reward_fn=fails_at_night)
    history = train(policy, CHAIN, row, dials=SMALL, reward_fn=fails_at_night, **LEAVE)
    for line in history:
        assert 0 < line["unjudged"]
        assert np.isfinite(list(line.values())).all()


@pytest.mark.parametrize("name", ["PPO", "REINFORCE++", "GRPO", "StarPO-S"])
def test_what_is_left_out_of_a_round_leaves_no_trace_in_it(policy, name):
    """Advantages, whitened ones too, as though it had never been sampled."""
    row = replace(ALGORITHMS[name], kl_coef=0.0)
    whole, _ = round_of(policy, name, reward_fn=lambda p, r: float(len(r) % 3))
    there = torch.arange(16) % 5 != 3
    last = whole.mask & (whole.mask.flip(1).cumsum(1).flip(1) == 1)
    spoiled = whole.rewards.masked_fill(last & ~there[:, None], NAN)
    got = assign_credit(row, replace(whole, rewards=spoiled), **LEAVE)
    wanted = assign_credit(row, whole.select(there))
    assert torch.equal(got.advantages, wanted.advantages)
    assert torch.equal(got.tokens, wanted.tokens)


def test_the_mean_of_a_round_is_over_the_responses_that_were_judged(policy):
    _, seen = round_of(
        policy,
        "GRPO",
        reward_fn=fails_at_night,
        measure={"long": lambda p, r: fails_at_night(p, r)},
        **LEAVE,
    )
    batch, _ = round_of(policy, "GRPO", reward_fn=lambda p, r: 0.0)
    prompts = CHAIN.prompts(4, np.random.default_rng(0))
    scores = score(batch, CHAIN, prompts, fails_at_night, **LEAVE)
    there = scores[~scores.isnan()]
    assert 0 < len(there) < 16 and seen["unjudged"] == 16 - len(there)
    assert seen["reward"] == seen["long"] == pytest.approx(there.mean().item())


def test_a_verdict_that_is_no_number_is_refused_even_then(policy):
    batch, _ = round_of(policy, "GRPO")
    prompts = CHAIN.prompts(4, np.random.default_rng(0))
    for junk in (INF, "many", [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"the reward of .* one finite"):
            tc.add_rewards(batch, CHAIN, prompts, lambda p, r: junk, **LEAVE)  # noqa: B023
    judged = tc.add_rewards(batch, CHAIN, prompts, lambda p, r: None, **LEAVE)
    assert judged.rewards.isnan().sum() == 16


# ---- a filter is applied once ----


def test_a_filter_that_refills_is_applied_once(policy):
    """A quarter of the groups of each round, until the batch is full, all learned."""
    row = replace(ALGORITHMS["StarPO-S"], refill=True)
    dials = replace(SMALL, steps=1, prompts=8, refills=8)
    spread = {"reward_fn": lambda p, r: float(len(set(r)))}
    batch, _ = round_of(policy, row, dials=dials, **spread)
    assert len(batch) == 32 and batch.filtered
    assert len(assign_credit(row, batch)) == 32
    (line,) = train(policy, CHAIN, row, dials=dials, reward_fn=spread["reward_fn"])
    assert line["kept"] == 32


def test_a_filter_that_does_not_refill_is_applied_by_credit(policy):
    batch, _ = round_of(policy, "StarPO-S", dials=replace(SMALL, prompts=8))
    once = assign_credit("StarPO-S", batch)
    assert not batch.filtered and len(once) == 8 < len(batch)
    assert len(assign_credit("StarPO-S", once)) == 8


# ---- numbers at the edge ----


@pytest.mark.parametrize("unit", [1e200, 1e153, 1e-100])
def test_large_rewards_are_scaled_as_small_ones_are(unit):
    small = torch.tensor([1.0, 2.0, 4.0, 7.0, 7.0, 1e-190], dtype=F64)
    groups = torch.tensor([0, 0, 0, 1, 1, 1])
    for function in (tc.group_relative, tc.leave_one_out, tc.group_reward_std):
        dials = {"eps": 0} if function is tc.group_relative else {}
        got = function(small * unit, groups, **dials)
        by = 1 if dials else unit
        torch.testing.assert_close(got / by, function(small, groups, **dials))
    std = tc.group_reward_std(torch.tensor([1e200, 0, 1, 0], dtype=F64), groups[2:])
    assert std.isfinite()
    kept = tc.top_variance(
        torch.tensor([1e200, 3e200, 0.0, 9e200, 1.0, 0.0], dtype=F64),
        torch.tensor([0, 0, 1, 1, 2, 2]),
        keep=0.34,
    )
    assert kept.tolist() == [False, False, True, True, False, False]


def test_a_small_group_beside_a_large_one_keeps_its_std():
    rewards = torch.tensor([1e200, -1e200, 1.0, 0.0], dtype=F64)
    got = tc.group_relative(rewards, torch.tensor([0, 0, 1, 1]), eps=0)
    torch.testing.assert_close(
        got, torch.tensor([1.0, -1, 1, -1], dtype=F64) * 0.5**0.5
    )


def test_rewards_that_float64_cannot_add_are_refused():
    rewards = torch.tensor([1.5e308, -1.5e308], dtype=F64)
    with pytest.raises(ValueError, match=r"^rewards must be so small .* float64 \[2\]"):
        tc.group_relative(rewards, torch.zeros(2, dtype=torch.long))
    apart = tc.group_relative(rewards, torch.tensor([0, 1]))
    assert not apart.any()
    many = torch.full((4,), 1.2e308, dtype=F64) * torch.tensor([1.0, 0, 1, 0]).double()
    got = tc.group_relative(many, torch.tensor([0, 0, 1, 1]), eps=0)
    torch.testing.assert_close(got.abs(), torch.full((4,), 0.5**0.5, dtype=F64))


def test_ids_of_the_end_may_be_numpys():
    tokens = torch.tensor([[5, 2, 7], [5, 3, 7]])
    wanted = tc.response_mask(tokens, [2, 3])
    for ids in (np.array([2, 3]), (np.int32(2), np.int64(3)), torch.tensor([2, 3])):
        assert torch.equal(tc.response_mask(tokens, ids), wanted)
    assert tc.response_mask(tokens, np.int64(2)).sum() == 5
    assert tc.response_mask(tokens, [2**70, 2]).sum() == 5
    assert tc.response_mask(tokens, 2**70).all()
    for bad in (np.float64(2), np.bool_(True), [2, None]):
        with pytest.raises(ValueError, match="eos_id"):
            tc.response_mask(tokens, bad)


@pytest.mark.parametrize(
    "name", ["ppo_clip_loss", "cispo_loss", "corrected_clip_loss", "clip_fraction"]
)
def test_a_lower_bound_below_zero_is_refused_and_one_at_zero_clips_nothing(name):
    call = CALLS[name]
    given = call.inputs()
    given["log_ratio"] = given["log_ratio"] - 50
    with pytest.raises(ValueError, match=r"clip_low must be a number in \[0, 1\]; got"):
        call.function(**given, clip_low=1.5)
    free = call.function(**given, clip_low=1.0)
    if name == "clip_fraction":
        assert free.low == 0
    elif name != "cispo_loss":
        weight = 1.0
        if name == "corrected_clip_loss":
            weight = (given["old_log_probs"] - given["sampler_log_probs"]).exp()
            weight = torch.where(given["mask"], weight.clamp(max=2.0), 0)
        wanted = -given["advantages"] * given["log_ratio"].exp() * weight
        torch.testing.assert_close(free, wanted)


@pytest.mark.parametrize(
    "six",
    [6, 6.0, np.int64(6), np.float32(6), torch.tensor(6), torch.tensor([6.0])],
    ids=repr,
)
def test_length_and_denominator_take_the_same_kinds_of_number(six):
    loss = torch.ones(2, 3)
    how = "seq-mean-token-sum-norm"
    got = tc.aggregate_loss(loss, loss > 0, how, max_length=six, denominator=six)
    assert got == pytest.approx(6 / 36)
    for bad in (torch.tensor([6, 6]), torch.tensor(True), torch.tensor(NAN), "6"):
        for name in ("max_length", "denominator"):
            with pytest.raises(ValueError, match=name):
                numbers = {"max_length": 6, "denominator": 6} | {name: bad}
                tc.aggregate_loss(loss, loss > 0, how, **numbers)


def test_a_batch_of_any_size_knows_its_lengths():
    batch = hand_made([1.0, 0.0, 2.0], [0, 0, 1])
    batch.mask[1, 2], batch.mask[2] = False, False
    assert batch.lengths().tolist() == [3, 2, 0]
    assert batch.by_length().rewards[:, 2].tolist() == [2.0, 0.0, 1.0]
    narrow = replace(
        batch, **{k: x[:, :0] for k, x in batch.tensors().items() if x.dim() == 2}
    )
    assert narrow.lengths().tolist() == [0, 0, 0]
    assert narrow.trimmed().tokens.shape == (3, 0)
    assert narrow.by_length().groups.tolist() == [0, 0, 1]
    none = batch.select(slice(0))
    assert none.lengths().tolist() == [] and none.trimmed().tokens.shape == (0, 1)
    assert none.split(4) == [] and [len(x) for x in batch.split(2)] == [2, 1]
    for bad in (0, -1, 1.5, None, True):
        with pytest.raises(ValueError, match=r"^size must be a whole number"):
            batch.split(bad)


def test_lengths_stand_on_the_device_of_the_batch():
    batch = hand_made([1.0], [0])
    far = replace(batch, **{k: x.to("meta") for k, x in batch.tensors().items()})
    assert far.lengths().device.type == "meta"
    if torch.cuda.is_available():
        near = replace(batch, **{k: x.cuda() for k, x in batch.tensors().items()})
        assert near.by_length().trimmed().lengths().tolist() == [3]


def test_groups_stay_apart_when_batches_are_joined_whatever_their_ids():
    one, two = hand_made([1.0, 0.0], [0, 1]), hand_made([1.0, 0.0, 2.0], [-1, 0, -1])
    groups = join([one, two, one]).groups.tolist()
    assert groups[:2] == [0, 1]
    assert groups[2] == groups[4] != groups[3]
    assert len(set(groups)) == 6


# ---- a token that the policy rules out ----


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_token_without_probability_gives_a_finite_loss_or_is_named(name):
    given = CALLS["policy_loss"].inputs()
    size = given["mask"].shape
    given |= {"sampler_log_probs": given["old_log_probs"], "max_length": 9}
    given |= {"entropies": torch.zeros(size, dtype=F64), "algorithm": name}
    given["log_probs"][0, 0] = -INF  # always live
    row = ALGORITHMS[name]
    looks = row.loss in (tc.reinforce_loss,) or name == "CISPO"
    looks |= bool(row.kl_coef) and row.kl_in == "loss"
    if looks:
        match = r"^log_probs must be finite where .* got -inf at \[0, 0\]"
        with pytest.raises(ValueError, match=match):
            tc.policy_loss(**given)
        given["mask"][0, 0] = False
    assert tc.policy_loss(**given).isfinite()


def test_a_nan_shows_and_is_not_refused():
    given = inputs("policy_loss")
    given["log_probs"][0, 0] = NAN
    assert tc.policy_loss(**given).isnan()


def test_a_strip_may_name_its_algorithm():
    batch = hand_made([1.0, 0.0], [0, 0])
    rows = "Dr. GRPO", ALGORITHMS["Dr. GRPO"]
    one, two = (strip_of(batch, 0, "ab", row) for row in rows)
    assert vars(one) == vars(two)
