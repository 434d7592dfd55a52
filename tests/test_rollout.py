"""Sampling: what is recorded is what the policy did."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tokencredit.batch import Batch, join
from tokencredit.world.policy import Policy, PositionPolicy
from tokencredit.world.rollout import rollout, texts
from tokencredit.world.tasks import task

CHAIN = task("chain")


@pytest.fixture
def policy():
    torch.manual_seed(0)
    size = CHAIN.max_prompt + CHAIN.max_response
    policy = Policy(14, context=size, width=16, heads=2, critic=True)
    torch.nn.init.normal_(policy.value_head.weight)
    return policy


def sample(policy, seed=0, num=6, **dials):
    prompts = CHAIN.prompts(num, np.random.default_rng(seed))
    generator = torch.Generator().manual_seed(seed)
    return prompts, rollout(policy, CHAIN, prompts, generator=generator, **dials)


def test_recorded_log_probs_and_values_are_those_of_a_plain_forward_pass(policy):
    _, batch = sample(policy, group_size=4, temperature=0.7)
    logits, values = policy(batch.tokens)
    log_p = (logits / 0.7).log_softmax(-1)[:, :-1]
    taken = log_p.gather(-1, batch.tokens[:, 1:, None]).squeeze(-1)
    live = batch.mask[:, 1:]
    torch.testing.assert_close(batch.old_log_probs[:, 1:][live], taken[live])
    torch.testing.assert_close(batch.values[:, 1:][live], values[:, :-1][live])
    for name in ("old_log_probs", "values", "rewards"):
        assert (getattr(batch, name)[~batch.mask] == 0).all()


def test_rows_hold_the_prompt_and_then_the_answer_up_to_eos(policy):
    prompts, batch = sample(policy, group_size=5)
    vocabulary = CHAIN.vocabulary
    for i, answer in enumerate(texts(batch, vocabulary)):
        prompt = prompts[batch.groups[i]]
        ids = batch.tokens[i].tolist()
        assert "".join(vocabulary[j] for j in ids).startswith(prompt + answer)
        assert batch.mask[i].nonzero()[0, 0] == len(prompt)
        assert answer.count("$") == (0 if batch.truncated[i] else 1)
        assert batch.truncated[i] == (not answer.endswith("$"))
        assert len(answer) == CHAIN.max_response or not batch.truncated[i]
    assert 0 < batch.truncated.sum() < len(batch), "the seed shows both"


def test_only_truncated_rows_have_a_value_after_the_end(policy):
    _, batch = sample(policy, group_size=5)
    _, values = policy(batch.tokens)
    last = (batch.mask * torch.arange(batch.mask.shape[1])).argmax(1)
    after = values[torch.arange(len(batch)), last]
    torch.testing.assert_close(
        batch.last_values, torch.where(batch.truncated, after, 0.0)
    )


def test_the_same_generator_gives_the_same_batch(policy):
    a, b, c = (sample(policy, seed)[1] for seed in (0, 0, 1))
    assert torch.equal(a.tokens, b.tokens)
    assert a.tokens.shape != c.tokens.shape or not torch.equal(a.tokens, c.tokens)


def test_frequencies_follow_softmax_at_the_temperature():
    note = task("note-sort")
    torch.manual_seed(1)
    policy = PositionPolicy(5, flatten=3.0)
    generator = torch.Generator().manual_seed(0)
    batch = rollout(
        policy,
        note,
        ["102"],
        group_size=20_000,
        temperature=2.0,
        generator=generator,
    )
    logits, _ = policy(batch.tokens[:1])
    p = (logits[0, 2:5] / 2.0).softmax(-1)
    seen = torch.nn.functional.one_hot(batch.tokens[:, 3:], 5).float().mean(0)
    assert (seen - p).abs().max() < 4 * 0.5 / 20_000**0.5
    assert not batch.truncated.any(), "a task without EOS truncates nothing"


def test_temperature_zero_takes_the_most_likely_token(policy):
    _, batch = sample(policy, group_size=2, temperature=0)
    logits, _ = policy(batch.tokens)
    live = batch.mask[:, 1:]
    best = logits[:, :-1].argmax(-1)
    assert torch.equal(best[live], batch.tokens[:, 1:][live])


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ([], "at least one prompt"),
        ([""], "no empty one"),
        (["4x="], "'x', not in the vocabulary"),
        (["12345="], "do not fit the context"),
    ],
)
def test_prompts_that_cannot_be_answered_are_errors(policy, prompts, message):
    with pytest.raises(ValueError, match=message):
        rollout(policy, CHAIN, prompts)


def test_a_policy_with_another_vocabulary_is_an_error():
    with pytest.raises(ValueError, match="11 tokens, the task's vocabulary 14"):
        rollout(Policy(11), CHAIN, ["12="])


@pytest.mark.parametrize(
    "bad", [{"group_size": 0}, {"temperature": -1.0}, {"temperature": float("nan")}]
)
def test_dials_out_of_range_are_errors(policy, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        rollout(policy, CHAIN, ["12="], **bad)


def test_joined_batches_keep_their_rows_and_keep_groups_apart(policy):
    (_, a), (_, b) = sample(policy, 0, 2, group_size=3), sample(policy, 1, 3)
    both = join([a, b])
    assert both.groups.tolist() == [0, 0, 0, 1, 1, 1, 2, 3, 4]
    back = both.select(slice(6, 9))
    assert torch.equal(back.tokens[:, : b.tokens.shape[1]], b.tokens)
    assert torch.equal(back.old_log_probs.sum(1), b.old_log_probs.sum(1))
    with pytest.raises(ValueError, match="only some batches have"):
        join([a, replace(b, values=None)])
    with pytest.raises(ValueError, match="no batches"):
        join([])


def test_a_batch_splits_into_parts_and_shuffles_whole_rows(policy):
    _, batch = sample(policy, num=7)
    assert [len(part) for part in batch.split(3)] == [3, 3, 1]
    mixed = batch.shuffled(torch.Generator().manual_seed(0))
    assert isinstance(mixed, Batch)
    order = mixed.groups
    assert torch.equal(mixed.tokens, batch.tokens[order])


def test_where_double_precision_is_the_default_a_batch_has_it_too(policy):
    torch.set_default_dtype(torch.float64)
    try:
        _, batch = sample(policy.double())
    finally:
        torch.set_default_dtype(torch.float32)
    assert batch.old_log_probs.dtype == batch.rewards.dtype == torch.float64
