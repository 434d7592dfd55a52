"""The entries of ALGORITHMS in verl, on the CPU: `make integrations-verl`.

It has an environment of its own: verl and TRL exclude each other.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import ray
import torch
import torch.nn.functional as F
import verl
import yaml
from hydra import compose, initialize_config_dir
from tiny_qwen import tiny_qwen
from verl import DataProto
from verl.trainer.ppo import core_algos as core
from verl.trainer.ppo.core_algos import (
    get_adv_estimator_fn,
    get_policy_loss_fn,
)
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.workers.config import ActorConfig

import tokencredit.integrations.verl as plugin
from tokencredit import ALGORITHMS, masked_whiten, task, token_advantages
from tokencredit.algorithms import with_turn_groups
from tokencredit.integrations.recipes import name_in_verl, text
from tokencredit.laws import check

HERE = Path(__file__).parent
TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
ROWS = ALGORITHMS.values()
NAMES = [row.name for row in ROWS]
WHOLE = [row.name for row in ROWS if row.clip_rule is not None]
B, T = 16, 12


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh")
    tiny_qwen(task("chain"), folder, steps=0)
    return folder


def worker(model, names, launch=()):
    """How far weights moved in verl's worker, and are off plain torch, by entry."""
    command = [sys.executable, *launch, HERE / "parity_verl.py", model, *names]
    env = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [x.split("\t") for x in done.stdout.splitlines() if x.startswith("PARITY")]
    print(*["\t".join(line) for line in lines], sep="\n")
    return {name: (float(moved), float(off)) for _, name, moved, off in lines}


@pytest.mark.parametrize("ranks", [1, 2])
def test_verls_worker_moves_the_weights_as_plain_torch_does(fresh, ranks):
    """In micro-batches of four; a clip range chosen per step on the whole of it."""
    names = NAMES if ranks == 1 else [name for name in NAMES if name not in WHOLE]
    seen = worker(fresh, names, TWO if ranks == 2 else ())
    assert list(seen) == names
    assert all(moved > 1e-3 and off < 1e-6 for moved, off in seen.values())


def judged(row, seed=0):
    """verl's advantages of a random batch, and the package's; prompts in no order."""
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(5, T + 1, (B,), generator=g)
    mask = torch.arange(T) < lengths[:, None]
    if row.credit_level == "turn":
        mask[:, 2] = False
    ends = mask & ~F.pad(mask, (0, 1))[:, 1:]
    paid = ends if row.credit_level == "turn" else F.one_hot(lengths - 1, T)
    rewards = paid * torch.randint(0, 3, (B, T), generator=g).float()
    order = torch.randperm(B, generator=g)
    groups = torch.arange(4).repeat_interleave(4)[order]
    uids = np.array([f"id{7 - i}" for i in groups.tolist()], dtype=object)
    data = DataProto.from_dict(
        tensors={"token_level_rewards": rewards, "response_mask": mask.long()},
        non_tensors={"uid": uids},
    )
    name = name_in_verl(row)
    theirs = compute_advantage(data, adv_estimator=name, config={}).batch["advantages"]
    ours = token_advantages(row, rewards, mask, groups=groups, turn_ends=ends)
    return theirs, masked_whiten(ours, mask) if row.whiten else ours


@pytest.mark.parametrize("name", [row.name for row in ROWS if not row.critic])
def test_verl_computes_the_advantages_of_the_entry(name):
    theirs, ours = judged(ALGORITHMS[name])
    assert ours.any()
    torch.testing.assert_close(theirs, ours, rtol=0, atol=1e-6)


def test_credit_per_turn_is_brought_by_one_call():
    row = with_turn_groups(ALGORITHMS["StarPO-S"])
    plugin.bring(row)
    theirs, ours = judged(row)
    assert ours.any()
    torch.testing.assert_close(theirs, ours, rtol=0, atol=1e-6)


def loss(name, weights=None, part=slice(None), **settings):
    """A loss as verl's actor calls it on some rows of a step."""
    mask = torch.ones(4, 3).bool()
    config = ActorConfig(
        strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, **settings
    )
    config.global_batch_info.update(
        dp_size=1,
        batch_num_tokens=12,
        global_batch_size=4,
        loss_scale_factor=config.loss_scale_factor,
    )
    old = -torch.ones(4, 3)
    return get_policy_loss_fn(f"tokencredit {name}")(
        old_log_prob=old[part],
        log_prob=old[part],
        advantages=torch.ones(4, 3)[part],
        response_mask=mask[part],
        loss_agg_mode="token-mean",
        config=config,
        rollout_is_weights=weights,
    )[0]


def test_what_would_be_silently_wrong_is_refused():
    half, ones = slice(0, 2), torch.ones(4, 3)
    with pytest.raises(ValueError, match="BAPO chooses its clip range per optimizer"):
        loss("BAPO", part=half)
    with pytest.raises(ValueError, match=r"Dr. GRPO divides by a constant: set actor"):
        loss("Dr. GRPO")
    with pytest.raises(ValueError, match=r"DAPO: algorithm.rollout_correction"):
        loss("DAPO", weights=ones)
    with pytest.raises(ValueError, match=r"GRPO \+ TIS: .*rollout_is must be 'token'"):
        loss("GRPO + TIS")
    assert loss("Dr. GRPO", loss_scale_factor=6) == pytest.approx(-0.5)
    assert loss("GRPO + TIS", weights=ones / 2) == pytest.approx(-0.5)


@pytest.mark.parametrize("name", NAMES)
def test_hydra_composes_every_recipe_and_its_names_resolve(name, tmp_path):
    row = ALGORITHMS[name]
    (tmp_path / "recipe.yaml").write_text(text(row))
    with initialize_config_dir(str(tmp_path), version_base=None):
        made = compose("recipe", overrides=["actor_rollout_ref.model.path=somewhere"])
    actor, judge = made.actor_rollout_ref.actor, made.algorithm
    assert get_policy_loss_fn(actor.policy_loss.loss_mode).__module__ == plugin.__name__
    if not row.critic:
        found = get_adv_estimator_fn(judge.adv_estimator)
        assert found.__module__ == plugin.__name__
    known = yaml.safe_load(text(row))
    unknown = [key for key in known["algorithm"] if key not in judge]
    assert not unknown and actor.loss_agg_mode == row.aggregation
    if row.aggregation == "seq-mean-token-sum-norm":
        assert actor.loss_scale_factor == made.data.max_response_length
    verl.utils.config.omega_conf_to_dataclass(actor)  # verl's own checks


def test_a_worker_of_ray_knows_the_names():
    there = {"VERL_USE_EXTERNAL_MODULES": plugin.__name__}
    there["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    ray.init(num_cpus=1, runtime_env={"env_vars": there}, include_dashboard=False)

    @ray.remote
    def names():
        import verl  # noqa: F401
        from verl.trainer.ppo.core_algos import POLICY_LOSS_REGISTRY

        return [name for name in POLICY_LOSS_REGISTRY if name.startswith("tokencre")]

    try:
        assert ray.get(names.remote()) == [name_in_verl(row) for row in ROWS]
    finally:
        ray.shutdown()


# --- the laws of the museum on verl's own functions -------------------------------


def broken(kind, function, like=None):
    """The rooms whose laws a function breaks, and whether it kept any."""
    said = check(kind, function, like=like)
    rooms = {x.room.partition("#")[2] for x in said if x.verdict == "broken"}
    return rooms, any(x.verdict == "kept" for x in said)


MASKED = "a-mean-over-what-is-trained"  # NaN times 0
DROPPED = "a-mean-after-responses-that-were-cut-off-are-dropped"


@pytest.mark.parametrize(
    ("name", "like", "rooms", "settings"),
    [
        ("vanilla", "DAPO", set(), {}),
        ("vanilla", "GRPO", {MASKED}, {}),
        ("vanilla", "Dr. GRPO", {MASKED}, {}),
        ("gspo", "GSPO", {MASKED}, {}),
        ("sapo", "SAPO", {MASKED}, {}),
        ("cispo", "CISPO", set(), {}),
        ("geo_mean", "GMPO", {MASKED, DROPPED}, {}),
        (
            *("dppo_tv", "DPPO", set()),
            dict.fromkeys(("clip_ratio", "clip_ratio_low", "clip_ratio_high"), 0.15),
        ),
    ],
)
def test_verls_losses_keep_the_laws_but_where_they_multiply_by_the_mask(
    name, like, rooms, settings
):
    def loss(old_log_prob, log_prob, advantages, response_mask, denominator=None):
        config = ActorConfig(
            strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, **settings
        )
        config.global_batch_info.update(
            dp_size=1,
            batch_num_tokens=denominator,
            global_batch_size=None,
            loss_scale_factor=16,
        )
        return get_policy_loss_fn(name)(
            old_log_prob=old_log_prob,
            log_prob=log_prob,
            advantages=advantages,
            response_mask=response_mask.float(),
            loss_agg_mode=ALGORITHMS[like].aggregation,
            config=config,
        )

    assert broken("loss", loss, like) == (rooms, True)


def test_verls_pieces_keep_the_laws():
    assert broken("aggregate", core.agg_loss, "DAPO") == (set(), True)
    assert broken("aggregate", core.agg_loss, "GRPO") == ({MASKED}, True)
    for like in ("RLOO", "GRPO", "REINFORCE++"):
        assert broken("kl", core.kl_penalty, like) == (set(), True)
    grpo, rloo = (
        core.compute_grpo_outcome_advantage,
        core.compute_rloo_outcome_advantage,
    )
    assert broken("advantage", grpo, "Dr. GRPO") == (set(), True)
    assert broken("advantage", rloo, "RLOO") == (set(), True)


def test_verls_gae_whitens_so_that_another_episode_changes_its_advantages():
    rooms, _ = broken("gae", core.compute_gae_advantage_return)
    assert rooms == {"gae-over-episodes-packed-in-one-row"}

    def returns(token_level_rewards, values, response_mask, gamma, lam):
        given = token_level_rewards, values, response_mask.float(), gamma, lam
        return core.compute_gae_advantage_return(*given)[1]

    assert broken("gae", returns) == (set(), True)
