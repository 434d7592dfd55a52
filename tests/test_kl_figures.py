"""The figures of chapter 7: their numbers, by definition, by hand and sampled anew."""

import math

import pytest
import torch

from tokenbook.figures import kl, reward_hack, tilt, two_humps
from tokenbook.lab import records
from tokencredit.world.rollout import rollout, texts
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks import task
from tokencredit.world.tasks.signs import outcome


def test_two_coins_have_the_kl_of_a_hand_computation():
    by_hand = 0.8 * math.log(1.6) + 0.2 * math.log(0.4)
    assert kl.moments(0.8, 0.5, "k1")[0] == pytest.approx(by_hand)
    assert kl.moments(0.8, 0.5, "k3")[0] == pytest.approx(by_hand)


@pytest.mark.parametrize(("p", "q"), [(0.8, 0.5), (0.05, 0.95), (0.3, 0.3)])
def test_the_mean_gradients_are_those_of_no_kl_the_reverse_and_the_forward(p, q):
    step = 1e-5
    up, down = (
        1 / (1 + math.exp(-(math.log(p / (1 - p)) + sign * step))) for sign in (1, -1)
    )

    def slope(divergence):
        return (divergence(up) - divergence(down)) / (2 * step)

    def reverse(x):
        return x * math.log(x / q) + (1 - x) * math.log((1 - x) / (1 - q))

    def forward(x):
        return q * math.log(q / x) + (1 - q) * math.log((1 - q) / (1 - x))

    wants = {"k1": 0.0, "k2": slope(reverse), "k3": slope(forward)}
    for name, want in wants.items():
        assert kl.expected_gradient([p], q, name)[0] == pytest.approx(want, abs=1e-6)


def test_the_kl_of_humps_is_the_one_of_torch():
    mine, other = two_humps.hump(16, 8), two_humps.TWO
    for who, pair in ((0, (mine, other)), (1, (other, mine))):
        first, second = (torch.distributions.Categorical(logits=x) for x in pair)
        want = torch.distributions.kl_divergence(first, second).item()
        assert two_humps.divergence(16, 8, who) == pytest.approx(want)


def test_the_reverse_kl_prefers_one_hump_and_the_forward_both():
    settings = [(c, w) for c in two_humps.CENTRES for w in two_humps.WIDTHS]
    reverse = min(settings, key=lambda at: two_humps.divergence(*at, 0))
    forward = min(settings, key=lambda at: two_humps.divergence(*at, 1))
    assert (reverse, forward) == ((10, 2), (16, 12))


def test_the_first_responses_of_the_hack_are_those_of_the_warm_start():
    generator = torch.Generator().manual_seed(0)
    prompts = "9□5□7=11? 4□5□1=0? 6□3□9=12? 8□1□3=4? 7□2□6=3? 5□9□2=16? 3□8□1=10?"
    prompts = [*prompts.split(), "9□2□4=3?"]
    policy, signs = warm_start("signs", seed=0), task("signs")
    batch = rollout(policy, signs, prompts, generator=generator)
    said = dict(zip(prompts, texts(batch, signs.vocabulary), strict=True))
    for run in range(len(reward_hack.RUNS)):
        for prompt, response in reward_hack.responses(run, 0):
            assert said[prompt] == response


def test_the_stored_runs_have_every_iteration_and_a_right_response_is_paid():
    for run, (paid, _) in enumerate(reward_hack.RUNS):
        for seed in reward_hack.SEEDS:
            rewards = reward_hack.numbers(run, seed, "reward")
            rights = reward_hack.numbers(run, seed, "success")
            assert len(rewards) == len(rights) == 1 + reward_hack.MOMENTS[-1]
            for reward, right in zip(rewards, rights, strict=True):
                assert right <= reward
                assert paid == "mark" or reward == right
        for moment in reward_hack.MOMENTS:
            for prompt, response in reward_hack.responses(run, moment):
                assert outcome(prompt, response) in (0, 1)


def test_the_record_of_the_hack_is_what_its_script_makes():
    """Numbers depend on the last bits of a processor, at the start they hardly do."""
    numbers, said = records.hacked("mark", 0.04, seed=0, iterations=3)
    for name, made in numbers.items():
        stored = reward_hack.RECORD["runs"]["mark,0.04,0"][name][:3]
        assert made == pytest.approx(stored, abs=0.03, rel=0.05), name
    assert said["0"] == reward_hack.RECORD["said"]["mark,0.04"]["0"]


@pytest.mark.parametrize("pay", tilt.PAYS)
@pytest.mark.parametrize("rare", tilt.RARE)
def test_the_optimum_is_the_reference_times_the_exponential_of_the_reward(rare, pay):
    paid = [1.0, 0.5, 0.0, pay]
    right, rewards, far = [], [], []
    for beta in tilt.BETAS:
        ref, star, kl = tilt.tilted(beta, rare, pay)
        weights = [p * math.exp(r / beta) for p, r in zip(ref, paid, strict=True)]
        assert star == pytest.approx([w / sum(weights) for w in weights])
        # no other policy is better: at the optimum R - beta log(pi/ref) is level
        level = [
            r - beta * math.log(p / q)
            for r, p, q in zip(paid, star, ref, strict=True)
            if p > 1e-300
        ]
        assert max(level) - min(level) < 1e-9
        rewards.append(tilt.worth(star, pay)[0])
        right.append(tilt.worth(star, pay)[1])
        far.append(kl)
    assert rewards == sorted(rewards) and far == sorted(far)
    if pay > 1:  # the whole curve: up, then down
        top = right.index(max(right))
        assert right[: top + 1] == sorted(right[: top + 1])
        assert right[top:] == sorted(right[top:], reverse=True)
        assert right[-1] < right[0]
    else:
        assert right == sorted(right)
