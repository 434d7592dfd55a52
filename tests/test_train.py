"""The loop: learns, adds up, repeats itself, comes back after a stop."""

import copy
import pickle
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from tokencredit import ALGORITHMS, gae, with_critic
from tokencredit.credit.filters import dynamic_sampling
from tokencredit.credit.rewards import soft_overlong
from tokencredit.training import (
    Dials,
    assign_credit,
    forward,
    loop,
    objective,
    train,
    update,
    warm_up,
)
from tokencredit.training.collect import collect
from tokencredit.world.policy import Policy, PositionPolicy
from tokencredit.world.scoring import on_last_token
from tokencredit.world.tasks import task

CHAIN = task("chain")
SMALL = Dials(steps=2, prompts=4, group_size=4)
CENTRED = replace(ALGORITHMS["Dr. GRPO"], aggregation="token-mean")


@pytest.fixture(scope="module")
def start():
    torch.manual_seed(0)
    policy = Policy(14, context=19, width=16, heads=2, critic=True)
    warm_up(policy, task("chain", steps=0.6), steps=40)
    return policy


@pytest.fixture
def policy(start):
    return copy.deepcopy(start)


def weights(policy):
    return torch.cat([p.detach().flatten() for p in policy.parameters()])


def numbers(history):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in history]


HEATS = pytest.mark.parametrize("temperature", [1.0, 0.6, 1.7])


@HEATS
@pytest.mark.parametrize("size", [None, 1, 3])
def test_before_the_first_update_the_reference_thinks_as_the_sampler(
    policy, size, temperature
):
    dials = replace(SMALL, steps=1, micro_size=size, temperature=temperature)
    (row,) = train(policy, CHAIN, "GRPO", dials=dials)
    assert abs(row["ref_kl"]) < 1e-4


def by_definition(policy, batch, temperature):
    """log softmax of the logits over the temperature, token by token."""
    logits = policy(batch.tokens[:, :-1])[0].detach() / temperature
    chosen = logits.log_softmax(-1).gather(2, batch.tokens[:, 1:, None])[..., 0]
    return torch.where(batch.mask, torch.nn.functional.pad(chosen, (1, 0)), 0)


@HEATS
def test_the_reference_is_read_at_the_temperature_of_sampling(policy, temperature):
    """Another policy than the sampler's: nothing agrees by chance."""
    torch.manual_seed(1)
    reference = Policy(14, context=19, width=16, heads=2)
    seen = []

    def loss(log_ratio, advantages, ref_log_probs, mask):
        seen.append((ref_log_probs, mask))
        return -advantages * log_ratio.exp()

    row = replace(ALGORITHMS["GRPO"], loss=loss)
    dials = replace(SMALL, temperature=temperature)
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    batch, _ = collect(policy, CHAIN, row, dials, rng, generator)
    wanted = by_definition(reference, batch, temperature)
    got = assign_credit(row, batch, reference, temperature=temperature).ref_log_probs
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-5)
    train(policy, CHAIN, row, dials=replace(dials, steps=1), reference=reference)
    used, mask = seen[0]  # the rows have been shuffled
    used = torch.where(mask, used, 0).sum(1).sort().values
    torch.testing.assert_close(used, wanted.sum(1).sort().values, rtol=0, atol=1e-4)


@HEATS
def test_the_trainer_reads_its_own_at_the_temperature_of_sampling(policy, temperature):
    """Then a correction for the sampler, which is the trainer here, has weight 1."""
    seen = []

    def loss(log_ratio, advantages, old_log_probs, sampler_log_probs, mask):
        seen.append((old_log_probs - sampler_log_probs)[mask])
        return -advantages * log_ratio.exp()

    row = replace(ALGORITHMS["GRPO + TIS"], loss=loss)
    dials = replace(SMALL, steps=1, temperature=temperature)
    (line,) = train(policy, CHAIN, row, dials=dials)
    assert seen[0].numel() and seen[0].abs().max() < 1e-5
    assert line["kl"] == pytest.approx(0, abs=1e-9) and abs(line["ref_kl"]) < 1e-4


def test_warm_up_learns_the_same_whatever_rows_are_read_together():
    ends = []
    for size in (None, 1, 5, 64):
        torch.manual_seed(0)
        policy = Policy(14, context=19, width=16, heads=2).double()
        losses = warm_up(policy, CHAIN, steps=3, batch_size=12, micro_size=size)
        weights = torch.cat([p.detach().flatten() for p in policy.parameters()])
        ends.append(torch.cat([weights, torch.tensor(losses).double()]))
    for end in ends[1:]:
        torch.testing.assert_close(end, ends[0], rtol=0, atol=1e-7)
    with pytest.raises(ValueError, match="micro_size"):
        warm_up(policy, CHAIN, steps=1, micro_size=0)


def test_warm_up_lowers_the_cross_entropy():
    torch.manual_seed(0)
    losses = warm_up(Policy(14, context=19, width=16, heads=2), CHAIN, steps=40)
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])


def test_warm_up_takes_its_learning_rate_from_the_schedule(monkeypatch):
    module, asked = sys.modules["tokencredit.training.warm_up"], []
    monkeypatch.setattr(module, "schedule", lambda *a: asked.append(a) or 0.0)
    torch.manual_seed(0)
    policy = Policy(14, context=19, width=16, heads=2)
    before = weights(policy)
    warm_up(policy, CHAIN, steps=3, batch_size=4)
    assert asked == [(0, 3), (1, 3), (2, 3)]
    assert torch.equal(weights(policy), before)


def test_from_a_flat_start_the_notes_prompts_are_sorted():
    torch.manual_seed(0)
    policy = PositionPolicy(5, flatten=10.0)
    dials = Dials(steps=120, prompts=3, group_size=10, lr=1e-2)
    history = train(policy, task("note-sort"), CENTRED, dials=dials)
    assert np.mean([row["success"] for row in history[:5]]) < 0.2
    assert np.mean([row["success"] for row in history[-5:]]) > 0.95


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_row_of_the_zoo_trains(policy, name):
    before = weights(policy)
    dials = replace(SMALL, prompts=8, minibatches=2)
    teacher = Policy(len(CHAIN.vocabulary)) if ALGORITHMS[name].taught else None
    history = train(policy, CHAIN, name, dials=dials, reference=teacher)
    assert [row["step"] for row in history] == [1, 2]
    assert all(np.isfinite(list(row.values())).all() for row in history)
    assert not torch.equal(weights(policy), before)


def test_micro_batches_add_up_to_the_whole_step(policy):
    """Ragged rows, every aggregation, splits that do not divide the batch."""
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    rows = [ALGORITHMS[n] for n in ("GRPO", "DAPO", "Dr. GRPO", "REINFORCE", "GMPO")]
    rows += [ALGORITHMS["PPO"], with_critic(ALGORITHMS["GRPO"])]  # V counts tokens
    for algorithm in rows:
        row = replace(
            algorithm,
            kl_coef=0.0,
            keep=None,
            refill=False,
            length_penalty=None,
        )
        batch, _ = collect(policy, CHAIN, row, SMALL, rng, generator)
        batch = assign_credit(
            row, replace(batch, rewards=torch.randn(batch.mask.shape) * batch.mask)
        )
        gradients = []
        for size in (None, 1, 5):
            model = copy.deepcopy(policy)
            still = torch.optim.SGD(model.parameters(), lr=0.0)
            dials = replace(SMALL, micro_size=size, max_grad_norm=1e9)
            update(model, still, row, batch, dials)
            used = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
            gradients.append(torch.cat(used))
        for part in gradients[1:]:
            torch.testing.assert_close(part, gradients[0], rtol=1e-4, atol=1e-6)


def test_the_critics_loss_is_a_mean_over_tokens_whatever_the_policys_rule(policy):
    row = replace(with_critic(ALGORITHMS["GRPO"]), kl_coef=0.0)
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    batch, _ = collect(policy, CHAIN, row, SMALL, rng, generator)
    batch = assign_credit(row, batch)
    assert batch.mask.sum(1).unique().numel() > 1  # else sequences count alike
    now = forward(policy, batch)
    both = objective(row, batch, now)
    alone = objective(replace(row, value_coef=0.0), batch, now)
    error = (now[2] - batch.returns)[batch.mask].square().mean() / 2
    torch.testing.assert_close(both - alone, row.value_coef * error)


def test_on_the_first_step_the_ratio_is_one_and_nothing_is_clipped(policy):
    for temperature in (1.0, 0.6):
        dials = replace(SMALL, steps=1, temperature=temperature)
        (row,) = train(copy.deepcopy(policy), CHAIN, "DAPO", dials=dials)
        assert row["kl"] == pytest.approx(0, abs=1e-9)
        assert row["no_gradient"] == 0


def test_the_reward_stands_on_the_last_live_token_and_reaches_all_of_them(policy):
    rng, generator = np.random.default_rng(1), torch.Generator().manual_seed(1)
    batch, seen = collect(policy, CHAIN, CENTRED, SMALL, rng, generator)
    assert batch.rewards.sum(1).mean() == pytest.approx(seen["reward"])
    assert (batch.rewards[~batch.mask] == 0).all()
    given = assign_credit(
        CENTRED, replace(batch, rewards=on_last_token(torch.arange(16.0), batch.mask))
    )
    for advantages, live in zip(given.advantages, batch.mask, strict=True):
        assert advantages[live].unique().numel() == 1
        assert (advantages[~live] == 0).all()


def test_the_critic_learns_the_return_and_not_the_whitened_advantage(policy):
    """With lambda = 1 and no bootstrap the target of every token is the reward."""
    row = replace(ALGORITHMS["PPO"], advantage=partial(gae, gamma=1.0, lam=1.0))
    rng, generator = np.random.default_rng(1), torch.Generator().manual_seed(1)
    batch, _ = collect(policy, CHAIN, row, SMALL, rng, generator)
    scores = torch.arange(16.0)
    batch = replace(batch, rewards=on_last_token(scores, batch.mask), last_values=None)
    given = assign_credit(row, batch)
    expected = scores[:, None].expand_as(given.returns)
    torch.testing.assert_close(given.returns[batch.mask], expected[batch.mask])
    assert given.advantages[batch.mask].std() == pytest.approx(1, abs=1e-4)


def test_behind_a_cut_stands_v_if_the_dials_say_so_and_nothing_if_not(policy):
    """With gamma = lambda = 1 every target of a cut response grows by that V."""
    row = replace(ALGORITHMS["PPO"], advantage=partial(gae, gamma=1.0, lam=1.0))
    rng, generator = np.random.default_rng(1), torch.Generator().manual_seed(1)
    batch, _ = collect(policy, CHAIN, row, SMALL, rng, generator)
    behind = torch.arange(16.0) / 10
    batch = replace(batch, rewards=torch.zeros_like(batch.values))
    told = [assign_credit(row, replace(batch, last_values=v)) for v in (None, behind)]
    more = behind[:, None].expand_as(batch.values)
    grown = told[1].returns - told[0].returns
    torch.testing.assert_close(grown[batch.mask], more[batch.mask])
    for bootstrap in (False, True):
        dials = replace(SMALL, bootstrap=bootstrap)
        batch, _ = collect(policy, CHAIN, row, dials, rng, generator)
        assert (batch.last_values is not None) == bootstrap


def test_dynamic_sampling_samples_on_until_the_batch_is_full_and_cuts_the_rest(policy):
    """Round one drops one group of eight, round two brings eight more: 28, 60, 32."""
    calls = iter(range(1000))

    def verdict(prompt, response):
        call = next(calls)
        return 0.0 if call < 4 else float(call)

    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    dials = replace(SMALL, prompts=8, refills=6)
    batch, seen = collect(
        policy, CHAIN, ALGORITHMS["DAPO"], dials, rng, generator, verdict
    )
    assert dynamic_sampling(batch.rewards.sum(1), batch.groups).all()
    assert len(batch) == 32 and next(calls) == 64
    assert seen["equal_groups"] == 1 / 16
    assert seen["tokens"] > batch.mask.sum()


def test_kept_counts_what_is_learned_from(policy):
    """A quarter of eight groups of four; after the filter, not before."""
    dials = replace(SMALL, steps=1, prompts=8)
    (row,) = train(policy, CHAIN, "StarPO-S", dials=dials)
    assert row["kept"] == 8


def test_wrapping_the_filter_changes_nothing(policy):
    first = ALGORITHMS["DAPO"]
    keep = first.keep
    wrapped = (lambda rewards, groups: keep(rewards, groups), partial(keep))
    rows = [first, *(replace(first, keep=keep) for keep in wrapped)]
    a, *others = (
        numbers(train(copy.deepcopy(policy), CHAIN, row, dials=SMALL)) for row in rows
    )
    assert others == [a, a]


def test_a_reference_is_measured_without_being_paid_for(policy):
    row = replace(ALGORITHMS["GRPO"], kl_coef=0.0)
    free = train(copy.deepcopy(policy), CHAIN, row, dials=SMALL)
    seen = train(copy.deepcopy(policy), CHAIN, row, dials=SMALL, reference=policy)
    assert "ref_kl" not in free[0] and abs(seen[0]["ref_kl"]) < 1e-4
    assert numbers(free) == [
        {k: v for k, v in row.items() if k != "ref_kl"} for row in numbers(seen)
    ]


def test_an_engine_that_computes_differently_is_corrected_for(policy):
    """Its log-probs are the sampler's, the trainer's are the old ones."""

    def engine(model):
        with torch.no_grad():
            model.head.weight += 0.1
            model.head.weight[0] += 0.2
        return model

    seen = []

    def loss(log_ratio, advantages, old_log_probs, sampler_log_probs):
        seen.append((log_ratio, old_log_probs, sampler_log_probs))
        return -advantages * log_ratio.exp()

    row = replace(ALGORITHMS["GRPO + TIS"], loss=loss, kl_coef=0.0)
    train(policy, CHAIN, row, dials=replace(SMALL, steps=1), make_sampler=engine)
    log_ratio, old, sampler = seen[0]
    assert log_ratio.abs().max() < 1e-5
    assert (old - sampler).abs().max() > 1e-3


def test_a_round_in_which_nothing_can_teach_changes_nothing(policy):
    before = weights(policy)
    row = replace(ALGORITHMS["DAPO"], length_penalty=None)
    (numbers_,) = train(
        policy,
        CHAIN,
        row,
        dials=replace(SMALL, steps=1),
        reward_fn=lambda prompt, answer: 0.0,
    )
    assert numbers_["kept"] == 0
    torch.testing.assert_close(weights(policy), before)


def test_a_length_penalty_changes_the_reward_that_is_learned_not_the_success(policy):
    short = partial(soft_overlong, max_length=4, cache=3)
    row = replace(CENTRED, length_penalty=short)
    histories = [
        train(copy.deepcopy(policy), CHAIN, r, dials=replace(SMALL, steps=15, lr=1e-2))
        for r in (CENTRED, row)
    ]
    assert histories[0][0]["success"] == histories[1][0]["success"]
    assert histories[1][-1]["length"] < histories[0][-1]["length"]


def test_a_stale_sampler_drifts_from_the_policy_and_catches_up(policy):
    dials = replace(SMALL, steps=4, refresh=3, lr=1e-2, prompts=8)
    row = ALGORITHMS["CISPO"]
    history = train(policy, CHAIN, row, dials=dials, reward_fn=lambda p, a: len(a))
    kl = [row["kl"] for row in history]
    assert kl[0] == pytest.approx(0, abs=1e-9)
    assert kl[1] > 1e-6 and kl[2] > 1e-6
    assert kl[3] == pytest.approx(0, abs=1e-9)


def test_the_same_seed_gives_the_same_run(policy):
    def go(seed):
        model = copy.deepcopy(policy)
        return numbers(train(model, CHAIN, "GRPO", dials=SMALL, seed=seed)), weights(
            model
        )

    (a, wa), (b, wb), (c, _) = go(0), go(0), go(1)
    assert a == b and torch.equal(wa, wb)
    assert a != c


@pytest.mark.parametrize("name", ["RLOO", "PPO", "DAPO"])
def test_a_stopped_run_goes_on_as_if_it_had_never_stopped(
    policy, tmp_path, name, monkeypatch
):
    monkeypatch.setattr(loop, "SAVE_EVERY", 1)
    dials = replace(SMALL, steps=5, refresh=2)
    whole = copy.deepcopy(policy)
    expected = train(whole, CHAIN, name, dials=dials)
    calls = 0

    def stops(prompt, answer):
        nonlocal calls
        calls += 1
        if calls == 3 * 16 + 5:
            raise KeyboardInterrupt
        return CHAIN.reward(prompt, answer)

    stopped, file = copy.deepcopy(policy), tmp_path / "run.pt"
    with pytest.raises(KeyboardInterrupt):
        train(stopped, CHAIN, name, dials=dials, reward_fn=stops, checkpoint=file)
    fresh = copy.deepcopy(policy)
    history = train(fresh, CHAIN, name, dials=dials, checkpoint=file)
    assert numbers(history) == numbers(expected)
    assert torch.equal(weights(fresh), weights(whole))


def test_a_checkpoint_cut_short_or_of_another_run_is_an_error(policy, tmp_path):
    file = tmp_path / "run.pt"
    train(copy.deepcopy(policy), CHAIN, "RLOO", dials=SMALL, checkpoint=file)
    with pytest.raises(ValueError, match="belongs to another run: algorithm differ"):
        train(policy, CHAIN, "CISPO", dials=SMALL, checkpoint=file)
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ValueError, match="not a whole checkpoint"):
        train(policy, CHAIN, "RLOO", dials=SMALL, checkpoint=file)


class Hostile:
    def __reduce__(self):
        return open, (sys.argv[0] + ".ran", "w")


@pytest.mark.parametrize(
    "content",
    [b"", b"not a checkpoint", pickle.dumps(Hostile()), pickle.dumps({"settings": 1})],
    ids=["empty", "text", "hostile", "foreign"],
)
def test_a_checkpoint_is_data_and_never_code(policy, tmp_path, content, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "it")])
    file = tmp_path / "run.pt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"run.pt is not a whole checkpoint .* remove"):
        train(policy, CHAIN, "RLOO", dials=SMALL, checkpoint=file)
    assert not (tmp_path / "it.ran").exists()
    torch.save({"settings": {}, "parts": Hostile()}, file)
    with pytest.raises(ValueError, match="not a whole checkpoint"):
        train(policy, CHAIN, "RLOO", dials=SMALL, checkpoint=file)
    assert not (tmp_path / "it.ran").exists()


def test_an_unknown_algorithm_names_the_known_ones(policy):
    with pytest.raises(
        ValueError, match=r"algorithm must be one of .*'GSPO'.*got str 'GRP0'"
    ):
        train(policy, CHAIN, "GRP0", dials=SMALL)


def test_a_group_algorithm_needs_groups(policy):
    alone = replace(SMALL, group_size=1)
    for name in ("GRPO", "RLOO", "StarPO-S"):
        with pytest.raises(ValueError, match="group_size must be > 1"):
            train(policy, CHAIN, name, dials=alone)
    train(policy, CHAIN, "REINFORCE", dials=alone)
    train(policy, CHAIN, "PPO", dials=alone)


def test_a_critic_must_be_there():
    with pytest.raises(ValueError, match="PPO needs a policy with a value head"):
        train(Policy(14, context=19), CHAIN, "PPO", dials=SMALL)


@pytest.mark.parametrize(
    "verdict",
    [float("nan"), float("inf"), [1.0, 0.0], torch.zeros(3)],
    ids=["nan", "inf", "two numbers", "three numbers"],
)
def test_a_reward_must_be_one_finite_number(policy, verdict):
    with pytest.raises(ValueError, match=r"the reward of '.*=' -> .* one finite"):
        train(policy, CHAIN, "GRPO", dials=SMALL, reward_fn=lambda p, a: verdict)


def test_a_rule_that_chooses_the_clip_sees_the_whole_step(policy):
    with pytest.raises(ValueError, match="micro_size must be None"):
        train(policy, CHAIN, "BAPO", dials=replace(SMALL, micro_size=2))


@pytest.mark.parametrize(
    "bad",
    [
        {"steps": 0},
        {"group_size": 1.5},
        {"lr": -1.0},
        {"lr": float("nan")},
        {"temperature": 0.0},
        {"refresh": 0},
        {"micro_size": -3},
    ],
)
def test_dials_out_of_range_are_errors(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Dials(**bad)


@pytest.mark.parametrize("refresh", [1, 2])
def test_a_sampler_is_made_anew_from_the_weights_of_each_refresh(
    monkeypatch, policy, refresh
):
    trained, sampled = [], []

    def collected(sampler, *args, **scoring):
        trained.append(weights(policy))
        sampled.append(weights(sampler))
        return collect(sampler, *args, **scoring)

    monkeypatch.setattr(loop, "collect", collected)
    dials = replace(SMALL, steps=4, refresh=refresh, lr=0.01)
    pays = {"reward_fn": lambda prompt, response: len(response) / 19}
    train(policy, CHAIN, CENTRED, dials=dials, make_sampler=copy.deepcopy, **pays)
    assert not any(torch.equal(trained[step], trained[step + 1]) for step in range(3))
    for step in range(4):  # what samples is the policy at the last refresh
        assert torch.equal(sampled[step], trained[step - step % refresh])
