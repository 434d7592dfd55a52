"""The tiny decoder: causal, cached, and small."""

import pytest
import torch

from tokencredit.world.policy import Policy, PositionPolicy


@pytest.fixture
def policy():
    torch.manual_seed(0)
    policy = Policy(7, context=12, width=16, heads=2, critic=True)
    torch.nn.init.normal_(policy.value_head.weight)
    return policy


def test_the_default_policy_has_about_a_hundred_thousand_parameters():
    count = sum(p.numel() for p in Policy(14).parameters())
    assert 90_000 < count < 110_000


def test_no_logit_or_value_depends_on_a_later_token(policy):
    tokens = torch.randint(0, 7, (3, 8))
    changed = tokens.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % 7
    before, after = policy(tokens), policy(changed)
    for a, b in zip(before, after, strict=True):
        torch.testing.assert_close(a[:, :5], b[:, :5])
        assert not torch.allclose(a[:, 5:], b[:, 5:])


def test_reading_in_pieces_with_a_cache_equals_reading_at_once(policy):
    tokens = torch.randint(0, 7, (3, 9))
    whole, values = policy(tokens)
    cache, start = policy.cache(3), torch.zeros(3, dtype=torch.long)
    parts = [
        policy(tokens[:, a:b], cache, start + a) for a, b in ((0, 4), (4, 5), (5, 9))
    ]
    torch.testing.assert_close(torch.cat([p[0] for p in parts], 1), whole)
    torch.testing.assert_close(torch.cat([p[1] for p in parts], 1), values)


@pytest.mark.parametrize("kind", ["decoder", "note"])
def test_some_places_alone_are_read_as_among_all(policy, kind):
    policy = policy if kind == "decoder" else PositionPolicy(7)
    tokens = torch.randint(0, 7, (4, 6))
    only = torch.tensor([1, 0, 1, 1, 0, 0, 1, 0] * 3).view(4, 6).bool()
    whole, some = policy(tokens), policy(tokens, only=only)
    slopes = []
    for logits, values in ([x if x is None else x[only] for x in whole], some):
        policy.zero_grad()
        (logits.sin().sum() + (0 if values is None else values.sum())).backward()
        slopes.append([p.grad.clone() for p in policy.parameters()])
        torch.testing.assert_close(logits, whole[0][only])
    torch.testing.assert_close(*slopes)


def test_rows_of_different_length_go_on_where_each_one_ended(policy):
    """What padding wrote into the cache is never seen."""
    long, short = torch.tensor([1, 2, 3, 4]), torch.tensor([5, 6])
    cache = policy.cache(2)
    prompts = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]])
    policy(prompts, cache, torch.zeros(2, dtype=torch.long))
    logits, _ = policy(torch.tensor([[1], [1]]), cache, torch.tensor([4, 2]))
    for row, prompt in enumerate((long, short)):
        alone, _ = policy(torch.cat([prompt, torch.tensor([1])])[None])
        torch.testing.assert_close(logits[row, 0], alone[0, -1])


def test_a_row_longer_than_the_context_is_an_error(policy):
    with pytest.raises(ValueError, match="13 tokens do not fit the context 12"):
        policy(torch.zeros(1, 13, dtype=torch.long))


def test_a_new_critic_values_every_state_at_its_bias(policy):
    fresh = Policy(7, context=12, width=16, heads=2, critic=True)
    _, values = fresh(torch.randint(0, 7, (2, 5)))
    assert values.unique().numel() == 1
    assert Policy(7)(torch.zeros(1, 1, dtype=torch.long))[1] is None


@pytest.mark.parametrize("bad", [{"layers": 0}, {"width": 30}, {"context": -1}])
def test_sizes_that_make_no_model_are_errors(bad):
    with pytest.raises(ValueError, match=r"must be at least 1|not a multiple"):
        Policy(5, **bad)


def test_the_notes_model_ignores_what_was_answered():
    torch.manual_seed(0)
    policy = PositionPolicy(5)
    a, _ = policy(torch.tensor([[1, 0, 2, 0, 0, 0]]))
    b, _ = policy(torch.tensor([[1, 0, 2, 4, 3, 2]]))
    c, _ = policy(torch.tensor([[1, 0, 3, 0, 0, 0]]))
    torch.testing.assert_close(a, b)
    assert not torch.allclose(a, c)


def test_the_notes_random_start_is_peaked_and_can_be_flattened():
    def entropy(flatten):
        prompt = torch.tensor([[1, 0, 2], [3, 2, 4], [1, 2, 3]])
        total = 0.0
        for seed in range(20):
            torch.manual_seed(seed)
            logits, _ = PositionPolicy(5, flatten=flatten)(
                torch.cat([prompt, prompt], 1)
            )
            p = logits[:, 2:5].softmax(-1)
            total += -(p * p.log()).sum(-1).mean().item() / 20
        return total

    assert entropy(1.0) < 0.7
    assert entropy(10.0) > 1.4
