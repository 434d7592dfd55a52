"""Warm starts in files: the same policy comes back, and nothing else is read."""

import pickle

import numpy as np
import pytest
import torch

from tokenbook.lab import records
from tokencredit.algorithms import ALGORITHMS
from tokencredit.tensors.log_probs import token_log_probs
from tokencredit.training import Dials, train
from tokencredit.world.policy import Policy
from tokencredit.world.rollout import rollout, texts
from tokencredit.world.starts import load_start, save_start, warm_start
from tokencredit.world.tasks import task

SIGNS = task("signs")


@pytest.fixture
def policy():
    torch.manual_seed(0)
    return Policy(
        len(SIGNS.vocabulary), context=SIGNS.context, width=16, heads=2, critic=True
    )


@pytest.fixture
def file(policy, tmp_path):
    save_start(tmp_path / "start.npz", policy, SIGNS)
    return tmp_path / "start.npz"


def rewrite(file, **changes):
    """The file with some arrays changed (None: removed)."""
    arrays = dict(np.load(file)) | changes
    np.savez(file, **{name: x for name, x in arrays.items() if x is not None})


def test_the_weights_come_back_rounded_to_float16_and_can_be_trained(policy, file):
    loaded = load_start(file, SIGNS)
    for (name, was), now in zip(
        policy.named_parameters(), loaded.parameters(), strict=True
    ):
        assert now.dtype == torch.float32 and now.requires_grad, name
        assert torch.equal(now, was.half().float()), name
    assert loaded.blocks[0].heads == 2 and loaded.critic and loaded.context == 49
    (row,) = train(
        loaded, SIGNS, ALGORITHMS["PPO"], dials=Dials(steps=1, prompts=2, group_size=2)
    )
    assert row["grad_norm"] > 0


def test_a_start_that_is_saved_again_is_the_same_file(file, tmp_path):
    save_start(tmp_path / "again.npz", load_start(file, SIGNS), SIGNS)
    assert (tmp_path / "again.npz").read_bytes() == file.read_bytes()


def test_loading_leaves_the_random_stream_alone(file):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    load_start(file, SIGNS)
    assert torch.equal(torch.rand(2), expected)


def test_a_start_of_another_vocabulary_is_refused_even_of_the_same_size(file):
    for goal in (
        task("chain"),
        type("Other", (), {"vocabulary": SIGNS.vocabulary[::-1]}),
    ):
        with pytest.raises(ValueError, match="was warmed up on the vocabulary"):
            load_start(file, goal)


def test_a_start_of_another_architecture_says_which_weight_differs(file):
    rewrite(file, **{"norm.bias": np.zeros(8, np.float16)})
    with pytest.raises(ValueError, match=r"norm.bias is \[8\] in the file, \[16\] in"):
        load_start(file, SIGNS)
    rewrite(file, **{"norm.bias": None})
    with pytest.raises(ValueError, match=r"norm.bias is None in the file"):
        load_start(file, SIGNS)


def test_a_weight_the_policy_does_not_have_is_refused(file):
    rewrite(file, **{"blocks.0.gate.weight": np.zeros(8, np.float16)})
    with pytest.raises(ValueError, match=r"gate.weight is \[8\] in the file, None in"):
        load_start(file, SIGNS)


def test_what_is_no_start_is_refused_and_never_unpickled(file, tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("it ran",))

    whole = file.read_bytes()
    boxed = np.empty(1, dtype=object)
    boxed[0] = Trap()
    for name, data in {
        "empty": b"",
        "text": b"no weights here",
        "half": whole[: len(whole) // 2],
        "pickle": pickle.dumps(Trap()),
    }.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match="is no warm start"):
            load_start(tmp_path / name, SIGNS)
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "other.npz", weight=np.zeros(3))
    np.savez(tmp_path / "object.npz", about=boxed)
    for name in ("array.npy", "other.npz", "object.npz"):
        with pytest.raises(ValueError, match="is no warm start"):
            load_start(tmp_path / name, SIGNS)
    with pytest.raises(FileNotFoundError):
        load_start(tmp_path / "absent.npz", SIGNS)


def test_a_weight_too_large_for_float16_is_named(policy, tmp_path):
    with torch.no_grad():
        policy.head.weight[0, 0] = 1e6
    with pytest.raises(ValueError, match=r"head.weight holds a number that float16"):
        save_start(tmp_path / "start.npz", policy, SIGNS)


def test_an_unknown_start_names_the_stored_ones():
    with pytest.raises(ValueError, match=r"signs-99 is stored; known: .*signs-0"):
        warm_start("signs", 99)


@pytest.mark.parametrize("seed", range(5))
def test_a_stored_start_knows_the_form_and_is_right_one_time_in_four(seed):
    goal = task("signs")
    prompts = goal.prompts(512, np.random.default_rng(seed))
    batch = rollout(
        warm_start("signs", seed),
        goal,
        prompts,
        generator=torch.Generator().manual_seed(seed),
    )
    right = map(goal.reward, prompts, texts(batch, goal.vocabulary))
    assert 0.2 <= np.mean(list(right)) <= 0.35


def test_the_script_makes_a_start_of_the_stored_architecture(tmp_path):
    _, made = records.warmed_up(seed=3, textbook=2, habits=1)
    save_start(tmp_path / "made.npz", made, SIGNS)
    sizes = {
        n: x.shape
        for n, x in load_start(tmp_path / "made.npz", SIGNS).state_dict().items()
    }
    stored = warm_start("signs", seed=3).state_dict()
    assert sizes == {name: x.shape for name, x in stored.items()}
    assert torch.equal(
        made.value_head.weight.half(), stored["value_head.weight"].half()
    )


# --- the stored files come from the recipe of tokenbook.lab.records -----------


@pytest.mark.parametrize("seed", range(5))
def test_what_training_never_touches_is_as_the_seed_made_it(seed):
    torch.manual_seed(seed)
    began = Policy(len(SIGNS.vocabulary), context=SIGNS.context, critic=True)
    stored = warm_start("signs", seed=seed)
    end, longest = SIGNS.vocabulary.index("$"), 45  # no demonstration is longer
    for pick in (
        lambda policy: policy.value_head.weight,
        lambda policy: policy.value_head.bias,
        lambda policy: policy.embed.weight[end],
        lambda policy: policy.place.weight[longest:],
    ):
        assert torch.equal(pick(stored), pick(began).half().float())
    assert not torch.equal(stored.place.weight[44], began.place.weight[44].half())


@pytest.mark.slow
def test_each_stored_start_learned_the_demonstrations_of_its_own_seed():
    """Of five policies, the one that saw a text expects it more than the others do."""
    stored = [warm_start("signs", seed=seed) for seed in range(5)]
    surprise = torch.zeros(5, 5, dtype=torch.float64)  # [demonstrations, policy]
    for seed in range(5):
        rng = np.random.default_rng(1000 + seed)
        seen = [SIGNS.demonstrations(64, rng) for _ in range(35)][15:]
        for tokens, mask in seen:
            for policy, total in zip(stored, surprise[seed].split(1), strict=True):
                with torch.no_grad():
                    logits, _ = policy(tokens[:, :-1], only=mask[:, 1:])
                taken = token_log_probs(logits, tokens[:, 1:][mask[:, 1:]])
                total -= taken.double().mean()
    surprise -= surprise.mean(0) + surprise.mean(1, keepdim=True) - surprise.mean()
    own = surprise.diagonal().clone()
    others = surprise.fill_diagonal_(torch.inf).amin(1)
    assert (own < 2 * others.clamp(max=0)).all(), (own, others)
    assert (own < -0.05).all(), own
