"""The rows say what the papers say, and `policy_loss` does what a row says."""

import re
from dataclasses import replace
from functools import partial

import pytest
import torch

import tokencredit as tc
from tokencredit import ALGORITHMS, aggregate_loss, ppo_clip_loss

F64 = torch.float64
WITHOUT_EXAMPLES = ("tokencredit.world", "tokencredit.training")  # they sample


def batch(seed=0, rows=6, steps=5):
    g = torch.Generator().manual_seed(seed)
    old = -torch.rand(rows, steps, generator=g, dtype=F64)
    new = old + 0.3 * torch.randn(rows, steps, generator=g, dtype=F64)
    advantages = torch.randn(rows, steps, generator=g, dtype=F64)
    mask = torch.rand(rows, steps, generator=g) < 0.8
    return new, old, advantages, mask


def changed(row, base):
    told = {"name", "paper", "url", "parent", "sources"}
    return {
        f for f in row.__dataclass_fields__ if getattr(row, f) != getattr(base, f)
    } - told


def test_an_entry_is_called_by_its_name_and_comes_after_its_parent():
    names = list(ALGORITHMS)
    for place, (name, algorithm) in enumerate(ALGORITHMS.items()):
        assert algorithm.name == name
        assert algorithm.parent is None or algorithm.parent in names[:place]
    assert [n for n, a in ALGORITHMS.items() if a.parent is None] == ["REINFORCE"]


@pytest.mark.parametrize(
    "name, diff",
    [
        ("RLOO", "advantage kl_coef"),
        ("PPO", "credit_level advantage whiten loss aggregation value_coef value_clip"),
        (
            "GRPO",
            "credit_level advantage whiten kl_coef kl_estimator kl_in aggregation "
            "value_coef value_clip",
        ),
        (
            "REINFORCE++",
            "credit_level advantage kl_coef kl_estimator kl_in value_coef value_clip",
        ),
        ("Dr. GRPO", "advantage kl_coef aggregation"),
        ("DAPO", "length_penalty keep refill loss kl_coef aggregation"),
        ("GSPO", "log_ratio loss kl_coef"),
        ("GMPO", "loss kl_coef"),
        ("CISPO", "loss kl_coef aggregation"),
        ("SAPO", "loss kl_coef"),
        ("DPPO", "loss kl_coef aggregation"),
        ("BAPO", "loss clip_rule kl_coef aggregation"),
        ("BAPO, un-clipped", "loss clip_rule"),
        ("GRPO + TIS", "loss"),
        ("GRPO + IcePop", "loss"),
        ("OPD", "credit_level advantage kl_coef aggregation"),
        ("StarPO", "kl_coef kl_estimator kl_in entropy_coef"),
        ("StarPO-S", "keep loss kl_coef"),
    ],
)
def test_an_entry_is_its_papers_difference(name, diff):
    algorithm = ALGORITHMS[name]
    assert changed(algorithm, ALGORITHMS[algorithm.parent]) == set(diff.split())


@pytest.mark.parametrize(
    "name, low, high",
    [
        ("PPO", 0.2, 0.2),
        ("GRPO", 0.2, 0.2),
        ("DAPO", 0.2, 0.28),
        ("GSPO", 3e-4, 4e-4),
        ("StarPO-S", 0.2, 0.28),
    ],
)
def test_the_clip_ranges_are_those_of_the_papers(name, low, high):
    keywords = ALGORITHMS[name].loss.keywords
    assert (keywords["clip_low"], keywords["clip_high"]) == (low, high)


def test_the_settings_that_a_common_note_gets_wrong():
    assert ALGORITHMS["GRPO"].kl_coef == 0.04
    assert ALGORITHMS["GRPO"].aggregation == "seq-mean-token-mean"
    assert ALGORITHMS["DAPO"].length_penalty.keywords == {
        "max_length": 20480,
        "cache": 4096,
    }
    assert ALGORITHMS["BAPO"].clip_rule.keywords["target"] == 0.5  # q = 1
    assert ALGORITHMS["BAPO, un-clipped"].clip_rule.keywords["target"] == 0.4
    assert ALGORITHMS["StarPO-S"].keep.keywords == {"keep": 0.25}


def test_policy_loss_of_dapo_is_its_stages_in_a_line():
    new, old, advantages, mask = batch()
    log_ratio = tc.token_log_ratio(new, old, mask)
    loss = ppo_clip_loss(new, log_ratio, advantages, clip_low=0.2, clip_high=0.28)
    wanted = aggregate_loss(loss, mask, "token-mean")
    got = tc.policy_loss(ALGORITHMS["DAPO"], new, old, advantages, mask)
    torch.testing.assert_close(got, wanted)


def test_the_kl_in_the_loss_is_added_with_its_coefficient():
    new, old, advantages, mask = batch()
    ref, row = old - 0.2, ALGORITHMS["GRPO"]
    with_kl = tc.policy_loss(row, new, old, advantages, mask, ref_log_probs=ref)
    without = tc.policy_loss(replace(row, kl_coef=0.0), new, old, advantages, mask)
    kl = aggregate_loss(tc.kl_penalty(new, ref, "k3"), mask, row.aggregation)
    torch.testing.assert_close(with_kl - without, 0.04 * kl)


def test_the_kl_in_the_reward_is_subtracted_per_token():
    _, old, _, mask = batch()
    row, rewards = ALGORITHMS["RLOO"], torch.zeros_like(old)
    shaped = tc.shaped_rewards(
        row, rewards, mask, old_log_probs=old, ref_log_probs=old - 0.5
    )
    torch.testing.assert_close(shaped, torch.where(mask, -0.05 * 0.5, 0.0).double())


def test_the_length_penalty_lands_on_the_last_live_token():
    mask = torch.tensor([[True, False, True, False], [False] * 4, [True] * 4])
    penalty = partial(tc.soft_overlong, max_length=4, cache=4)
    row = replace(ALGORITHMS["DAPO"], length_penalty=penalty)
    shaped = tc.shaped_rewards(row, torch.zeros(3, 4), mask)
    assert shaped.tolist() == [[0, 0, -0.5, 0], [0, 0, 0, 0], [0, 0, 0, -1]]


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_the_length_penalty_is_as_exact_as_the_rewards(dtype):
    penalty = partial(tc.soft_overlong, max_length=20, cache=7)
    row = replace(ALGORITHMS["DAPO"], length_penalty=penalty)
    rewards = torch.zeros(1, 17, dtype=dtype)
    shaped = tc.shaped_rewards(row, rewards, rewards == 0)
    assert shaped[0, -1] == torch.tensor((20 - 7 - 17) / 7, dtype=dtype)


@pytest.mark.parametrize("name", ["GRPO", "RLOO", "Dr. GRPO"])
def test_where_in_a_row_a_reward_was_paid_leaves_no_trace_in_the_last_bits(name):
    draw = torch.Generator().manual_seed(0)
    for paid in range(1, 12):
        rewards = torch.zeros(64, 40)
        for row in rewards:
            row[torch.randperm(40, generator=draw)[:paid]] = -0.1
        same = torch.zeros(64, dtype=torch.long)
        mask = torch.ones(64, 40, dtype=torch.bool)
        row = ALGORITHMS[name]
        assert not tc.token_advantages(row, rewards, mask, groups=same).any()


def test_the_entropy_bonus_is_subtracted():
    new, old, advantages, mask = batch()
    row, entropies = ALGORITHMS["StarPO"], torch.rand(new.shape, dtype=F64)
    got = tc.policy_loss(row, new, old, advantages, mask, entropies=entropies)
    plain = replace(row, entropy_coef=0.0)
    wanted = tc.policy_loss(plain, new, old, advantages, mask)
    bonus = aggregate_loss(entropies, mask, row.aggregation)
    torch.testing.assert_close(got, wanted - 0.001 * bonus)


def test_bapo_clips_where_its_rule_says():
    new, old, advantages, mask = batch()
    log_ratio = tc.token_log_ratio(new, old, mask)
    for name, dual in (("BAPO", 3.0), ("BAPO, un-clipped", None)):
        row = ALGORITHMS[name]
        low, high = row.clip_rule(log_ratio, advantages, mask)
        dials = {"clip_low": low, "clip_high": high, "dual_clip": dual}
        loss = ppo_clip_loss(new, log_ratio, advantages, **dials)
        got = tc.policy_loss(row, new, old, advantages, mask)
        torch.testing.assert_close(got, aggregate_loss(loss, mask, "token-mean"))


def test_dr_grpo_divides_by_a_constant_and_not_by_the_padding():
    new, old, advantages, mask = batch()
    row = ALGORITHMS["Dr. GRPO"]
    a = tc.policy_loss(row, new, old, advantages, mask, max_length=100)
    b = tc.policy_loss(row, new, old, advantages, mask, max_length=200)
    torch.testing.assert_close(a, 2 * b)
    with pytest.raises(ValueError, match="max_length"):
        tc.policy_loss(row, new, old, advantages, mask)


@pytest.mark.parametrize("row", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_micro_batches_of_every_row_add_up(row):
    if row.clip_rule is not None:
        return  # BAPO chooses its bounds per call, on what it is given
    new, old, advantages, mask = batch()
    more = {"ref_log_probs": old - 0.1, "entropies": -new}
    more["sampler_log_probs"] = old + 0.1 * advantages
    limit = 9 if row.aggregation.endswith("-norm") else None
    whole = tc.policy_loss(row, new, old, advantages, mask, max_length=limit, **more)
    count = tc.loss_denominator(mask, row.aggregation)
    parts = [
        tc.policy_loss(
            row,
            *(x[i] for x in (new, old, advantages, mask)),
            max_length=limit,
            denominator=count,
            **{name: x[i] for name, x in more.items()},
        )
        for i in (slice(0, 1), slice(1, 1), slice(1, 6))
    ]
    torch.testing.assert_close(sum(parts), whole)


@pytest.mark.parametrize(
    "name", [name for name, row in ALGORITHMS.items() if not row.corrects]
)
def test_on_the_first_step_the_gradient_is_that_of_reinforce(name):
    row = replace(ALGORITHMS[name], kl_coef=0.0, entropy_coef=0.0)
    _, old, advantages, mask = batch()
    advantages = advantages[:, :1].expand_as(old)  # per response, as GMPO has them
    limit = {"max_length": 7} if row.aggregation.endswith("-norm") else {}
    new = old.clone().requires_grad_()
    tc.policy_loss(row, new, old, advantages, mask, **limit).backward()
    plain = old.clone().requires_grad_()
    loss = tc.reinforce_loss(plain, plain, advantages)
    aggregate_loss(loss, mask, row.aggregation, **limit).backward()
    torch.testing.assert_close(new.grad, plain.grad)


@pytest.mark.parametrize("name", ["REINFORCE", "RLOO", "GRPO", "Dr. GRPO", "StarPO"])
def test_credit_per_sequence_reaches_every_live_token_and_no_other(name):
    *_, mask = batch()
    mask[0], mask[5] = True, False
    rewards = torch.zeros(6, 5, dtype=F64)
    rewards[0, 2], rewards[0, 4], groups = 1.0, 2.0, torch.tensor([0, 1] * 3)
    row = ALGORITHMS[name]
    got = tc.token_advantages(row, rewards, mask, groups=groups)
    told = {"groups": groups} if row.compares else {}
    score = row.advantage(rewards.sum(1), **told)
    torch.testing.assert_close(got, torch.where(mask, score[:, None], 0))
    assert got[0].unique().numel() == 1


def test_a_teacher_alone_decides_what_a_token_is_worth():
    _, old, _, mask = batch()
    teacher, rewards = old - 0.25, torch.zeros_like(old)
    rewards[:, 0] = mask[:, 0] * 7.0
    row = ALGORITHMS["OPD"]
    got = tc.token_advantages(
        row, rewards, mask, old_log_probs=old, ref_log_probs=teacher
    )
    torch.testing.assert_close(got, torch.where(mask, -0.25, 0.0).double())
    assert [name for name, row in ALGORITHMS.items() if row.taught] == ["OPD"]
    with pytest.raises(ValueError, match=r"^OPD: its advantage needs ref_log_probs,"):
        tc.token_advantages(row, rewards, mask, old_log_probs=old)


def test_starpo_comes_with_and_without_a_critic():
    row = ALGORITHMS["StarPO"]
    ppo, turns = tc.with_critic(row), tc.with_critic(row, credit_level="turn")
    assert not row.critic and ppo.critic and turns.critic
    assert changed(ppo, row) == {
        "credit_level",
        "advantage",
        "whiten",
        "value_coef",
        "value_clip",
    }
    rewards, values = torch.zeros(1, 4), torch.zeros(1, 4)
    rewards[0, 3], live = 1.0, torch.ones(1, 4) > 0
    ends = torch.tensor([[False, True, False, True]])
    got = tc.token_advantages(turns, rewards, live, values=values, turn_ends=ends)
    torch.testing.assert_close(got, torch.tensor([[0.95, 0.95, 1.0, 1.0]]))
    got = tc.token_advantages(ppo, rewards, live, values=values)
    assert got.tolist() == [[1.0] * 4]


def test_credit_by_turn_groups_needs_no_critic_and_changes_nothing_else():
    row = ALGORITHMS["StarPO"]
    turns = tc.with_turn_groups(row)
    assert not turns.critic and changed(turns, row) == {"credit_level", "advantage"}
    with pytest.raises(ValueError, match="without a critic"):
        tc.with_turn_groups(ALGORITHMS["PPO"])


@pytest.mark.parametrize("name", ["turns", "turn groups"])
def test_what_is_earned_inside_a_turn_counts_at_its_end(name):
    starpo = ALGORITHMS["StarPO"]
    row = {
        "turns": tc.with_critic(starpo, credit_level="turn"),
        "turn groups": tc.with_turn_groups(starpo),
    }[name]
    live, groups = torch.ones(2, 5) > 0, torch.tensor([0, 0])
    ends = torch.tensor([[False, True, False, False, True]] * 2)
    inside = torch.tensor([[0.5, 1.0, -0.25, 0.25, 2.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    at_end = torch.tensor([[0.0, 1.5, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0, 0.0]])
    got, want = (
        tc.token_advantages(
            row, r, live, groups=groups, values=torch.zeros(2, 5), turn_ends=ends
        )
        for r in (inside, at_end)
    )
    torch.testing.assert_close(got, want)


def test_a_reward_beside_the_mask_is_refused_before_turns_are_summed():
    row = tc.with_turn_groups(ALGORITHMS["StarPO"])
    mask = torch.tensor([[True, False, True]])
    with pytest.raises(ValueError, match="live tokens"):
        tc.token_advantages(
            row,
            torch.tensor([[0.0, 1.0, 0.0]]),
            mask,
            groups=torch.tensor([0]),
            turn_ends=mask,
        )


def test_the_package_reads_like_a_table_of_contents():
    text = tc.__doc__
    missing = [name for name in tc.__all__ if name not in text]
    assert set(missing) <= {"AGGREGATIONS", "KL_ESTIMATORS"}, missing
    for name in tc.__all__:
        function = getattr(tc, name)
        if callable(function) and not isinstance(function, type):
            assert "Returns:" in function.__doc__, name
            tensors = not function.__module__.startswith(WITHOUT_EXAMPLES)
            assert ">>>" in function.__doc__ or not tensors, name
            assert any("一" <= c <= "鿿" for c in function.__doc__), name


def test_a_stage_is_given_what_it_names_and_nothing_else():
    def loss(log_ratio, advantages, mask, *, sampler_log_probs=None):
        assert sampler_log_probs is None and mask.dtype == torch.bool
        return -log_ratio * advantages

    new, old, advantages, mask = batch()
    row = replace(ALGORITHMS["CISPO"], loss=loss)
    got = tc.policy_loss(row, new, old, advantages, mask)
    ratio = tc.token_log_ratio(new, old, mask)
    wanted = aggregate_loss(
        -ratio * torch.where(mask, advantages, 0), mask, "token-mean"
    )
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize(
    "name, stage, lacks",
    [
        ("GRPO + TIS", "its loss", "sampler_log_probs"),
        ("GRPO + IcePop", "its loss", "sampler_log_probs"),
        ("GRPO", "its KL in the loss", "ref_log_probs"),
        ("StarPO", "its entropy bonus", "entropies"),
        ("Dr. GRPO", "seq-mean-token-sum-norm", "max_length"),
    ],
)
def test_a_stage_that_lacks_something_says_algorithm_stage_and_name(name, stage, lacks):
    new, old, advantages, mask = batch()
    with pytest.raises(ValueError, match=f"^{re.escape(name)}: {stage} needs {lacks},"):
        tc.policy_loss(ALGORITHMS[name], new, old, advantages, mask)


def test_an_algorithm_with_an_unknown_choice_is_refused():
    for field, bad in {
        "credit_level": "word",
        "kl_in": "both",
        "aggregation": "mean",
    }.items():
        with pytest.raises(ValueError, match=field):
            replace(ALGORITHMS["GRPO"], **{field: bad})
    with pytest.raises(TypeError, match="clip"):
        replace(ALGORITHMS["GRPO"], clip=0.2)


def test_tensors_of_another_shape_are_named_with_both_shapes():
    new, old, advantages, mask = batch()
    row = ALGORITHMS["GRPO"]
    both = r"\[6, 5\].*\[6, 4\]"
    with pytest.raises(ValueError, match=f"^ref_log_probs.*{both}"):
        tc.policy_loss(row, new, old, advantages, mask, ref_log_probs=old[:, :4])
    with pytest.raises(ValueError, match=f"^mask.*{both}"):
        tc.policy_loss(row, new, old, advantages, mask[:, :4], ref_log_probs=old)
    with pytest.raises(ValueError, match=f"^old_log_probs.*{both}"):
        tc.policy_loss(row, new, old[:, :4], advantages, mask, ref_log_probs=old)
