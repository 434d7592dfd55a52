"""Training 训练: the loop of the book, for every entry of ALGORITHMS.

Not included: several machines, mixed precision, a learning-rate schedule.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm.auto import tqdm

from tokencredit.algorithm import Algorithm, named
from tokencredit.batch import Batch
from tokencredit.credit.returns import discounted_return
from tokencredit.diagnostics import (
    approximate_kl,
    mean_entropy,
    no_gradient_share,
    reference_distance,
    value_error,
)
from tokencredit.training.checkpoint import Checkpoint
from tokencredit.training.collect import collect
from tokencredit.training.dials import OPTIMIZERS, Dials
from tokencredit.training.stages import assign_credit, forward, log_probs_of, objective
from tokencredit.world.protocol import World
from tokencredit.world.scoring import RewardFunction

SAVE_EVERY = 10  # rounds between two checkpoints


def train(
    policy: nn.Module,
    world: World,
    algorithm: Algorithm | str,
    *,
    dials: Dials | None = None,
    seed: int = 0,
    reward_fn: RewardFunction | None = None,
    measure: Mapping[str, RewardFunction] | None = None,
    missing: str = "refuse",
    reference: nn.Module | None = None,
    make_sampler: Callable[[nn.Module], nn.Module] | None = None,
    checkpoint: Path | str | None = None,
    progress: bool | str = False,
) -> list[dict]:
    """Train a policy in place 训练 and return the metrics of every iteration.

    Args:
        policy: the actor, with a value head if the algorithm has a critic.
        world: a task, or a game, whose rows are episodes of turns.
        algorithm: an entry of ALGORITHMS or its name.
        dials: everything else that can be turned.
        seed: of prompts, sampling and shuffling.
        reward_fn: replaces the task's reward for learning; success stays the task's.
            Not for a game, which pays its own.
        measure: more reward functions to record, by name; their mean is a metric. Not
            for a game.
        missing: a verdict that is NaN or None is refused, which ends the run; "leave
            out" leaves that response out of every mean, std, filter and loss, for
            verifiers that may fail. Not for a game.
        reference: the frozen policy of the KL penalty, or the teacher of one that is
            taught. None: the policy as it is now, if the algorithm has a penalty; else
            there is none. With one, its distance is measured, penalty or not.
        make_sampler: returns the sampler, made from a copy of the policy, such as an
            inference engine with other numerics. None: the policy samples itself.
        checkpoint: a file written every 10 iterations and at the end; an interrupted
            run that is called again goes on from it, and ends as if it had never
            stopped.
        progress: show a bar with reward, tokens and seconds; a text names it.

    Returns:
        A row per iteration: step, reward, success (share of responses with the full
        reward), length, truncated, reward_std and equal_groups (within the groups),
        entropy, kl (to the policy before the update, last step), no_gradient (share of
        tokens with an advantage and no gradient: the clipped ones), ref_kl (with a
        reference: k1 summed over the response), value_error (with a critic), grad_norm,
        kept (responses in the update), tokens (sampled so far), seconds (CPU, so
        far), and those of `measure`. For a game also turns, invalid, cut, see
        `play`. With "leave out" also unjudged (responses without a verdict); then a
        mean is over those that have one.

    Raises:
        ValueError: unknown algorithm (known ones are named), a critic or a teacher that
            is missing, a group algorithm with groups of one, a bad reward, a checkpoint
            of another run.
    """
    dials, algorithm = dials or Dials(), named(algorithm)
    check(algorithm, policy, dials)
    if reference is None and algorithm.kl_coef:
        reference = copy.deepcopy(policy)
    optimizer = OPTIMIZERS[dials.optimizer](policy.parameters(), lr=dials.lr)
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    scoring = {"reward_fn": reward_fn, "measure": measure, "missing": missing}
    sampler = Sampler(policy, make_sampler, dials.refresh)
    run = {"world": repr(world), "algorithm": algorithm.name, "seed": seed}
    parts = {"policy": policy, "optimizer": optimizer, "reference": reference}
    parts["behind"] = sampler.behind
    saved = Checkpoint(checkpoint, run | asdict(dials), parts, rng, generator)
    history = saved.load()
    clock = time.process_time() - (history[-1]["seconds"] if history else 0.0)
    bar = tqdm(
        total=dials.steps,
        initial=len(history),
        desc=progress if isinstance(progress, str) else algorithm.name,
        disable=not progress,
        leave=None,  # a bar below another one is removed at its end
    )
    for step in range(len(history), dials.steps):
        # prompt -> tokens -> reward
        batch, metrics = collect(
            sampler.at(step), world, algorithm, dials, rng, generator, **scoring
        )
        # reward -> credit
        batch = recompute_old_log_probs(algorithm, policy, batch, dials.temperature)
        batch = assign_credit(
            algorithm, batch, reference, temperature=dials.temperature, missing=missing
        )
        metrics |= batch_metrics(algorithm, batch)
        # credit -> weight -> gradient
        for mini_batch in mini_batches(batch, dials, generator):
            metrics |= update(policy, optimizer, algorithm, mini_batch, dials)
        metrics["tokens"] += history[-1]["tokens"] if history else 0
        metrics["seconds"] = time.process_time() - clock
        history.append({"step": step + 1} | metrics)
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == dials.steps:
            saved.save(history)
        bar.update()
        bar.set_postfix(postfix(history))
    bar.close()
    return history


class Sampler:
    """The policy that samples 采样策略: the trained one, or a copy that may lag.

    Args:
        policy: the trained one.
        make: see `make_sampler` of `train`.
        refresh: rounds between two copies of the weights.
    """

    def __init__(
        self,
        policy: nn.Module,
        make: Callable[[nn.Module], nn.Module] | None,
        refresh: int,
    ):
        self.policy, self.make, self.refresh = policy, make, refresh
        apart = make is not None or refresh > 1
        self.behind = copy.deepcopy(policy) if apart else None
        self.model: nn.Module | None = None

    def at(self, step: int) -> nn.Module:
        """The model of a round; a resumed run makes it from the stored weights."""
        if self.behind is None:
            return self.policy
        due = step % self.refresh == 0
        if due:
            self.behind.load_state_dict(self.policy.state_dict())
        if due or self.model is None:
            self.model = self.make(self.behind) if self.make else self.behind
        return self.model


def check(algorithm: Algorithm, policy: nn.Module, dials: Dials):
    """Raise if an algorithm does not fit the policy or the dials."""
    name = algorithm.name
    if algorithm.critic and not policy.critic:
        raise ValueError(f"{name} needs a policy with a value head: critic=True")
    if algorithm.compares and dials.group_size == 1:
        raise ValueError(
            f"{name} compares the responses of a group: group_size must be > 1"
        )
    if algorithm.clip_rule and dials.micro_size:
        raise ValueError(
            f"{name} chooses its clip range per optimizer step: micro_size must be None"
        )


def recompute_old_log_probs(
    algorithm: Algorithm, policy: nn.Module, batch: Batch, temperature: float
) -> Batch:
    """The batch with the trainer's own `old_log_probs`, if the algorithm needs them.

    Those of the sampler move to `sampler_log_probs`; see `Algorithm.corrects`.
    """
    if not algorithm.corrects:
        return batch
    own = log_probs_of(policy, batch, temperature)
    return replace(batch, sampler_log_probs=batch.old_log_probs, old_log_probs=own)


def mini_batches(
    batch: Batch, dials: Dials, generator: torch.Generator
) -> Iterator[Batch]:
    """The mini-batches of all passes over a batch, shuffled before each pass."""
    size = max(-(-len(batch) // dials.minibatches), 1)
    for _ in range(dials.epochs):
        yield from batch.shuffled(generator).split(size)


def update(
    policy: nn.Module,
    optimizer: torch.optim.Optimizer,
    algorithm: Algorithm | str,
    step: Batch,
    dials: Dials,
) -> dict[str, float]:
    """One optimizer step on a mini-batch, in micro-batches that add up.

    Args:
        policy: changed in place.
        optimizer: of its parameters.
        algorithm: an entry of ALGORITHMS or its name.
        step: the mini-batch, from `assign_credit`.
        dials: micro_size, temperature and max_grad_norm are used.

    Returns:
        entropy, kl, no_gradient and grad_norm of this step.

    Raises:
        FloatingPointError: a gradient that is not finite.
    """
    algorithm = named(algorithm)
    optimizer.zero_grad()
    live: dict[str, list] = {}
    for micro in step.by_length().split(dials.micro_size or max(len(step), 1)):
        micro = micro.trimmed()
        log_probs, entropies, values = forward(policy, micro, dials.temperature)
        log_probs.retain_grad()
        now = (log_probs, entropies, values)
        objective(algorithm, micro, now, step=step).backward()
        facts = {
            "log_ratio": log_probs.detach() - micro.old_log_probs,
            "entropies": entropies.detach(),
            "gradient": log_probs.grad,
            "advantages": micro.advantages,
        }
        for name, x in facts.items():
            live.setdefault(name, []).append(x[micro.mask])
    norm = nn.utils.clip_grad_norm_(policy.parameters(), dials.max_grad_norm)
    if not norm.isfinite():
        raise FloatingPointError(f"{algorithm.name}: the gradient is {norm.item()}")
    optimizer.step()
    seen = {name: torch.cat(xs)[None] for name, xs in live.items()}
    every = torch.ones_like(seen["gradient"], dtype=torch.bool)
    return {
        "entropy": mean_entropy(seen["entropies"], every).item(),
        "kl": approximate_kl(seen["log_ratio"], every).item(),
        "no_gradient": no_gradient_share(
            seen["gradient"], seen["advantages"], every
        ).item(),
        "grad_norm": norm.item(),
    }


def batch_metrics(algorithm: Algorithm, batch: Batch) -> dict[str, float]:
    """Metrics of a batch before the update; see `train`."""
    metrics = {"kept": len(batch)}
    if batch.ref_log_probs is not None:
        metrics["ref_kl"] = reference_distance(
            batch.old_log_probs, batch.ref_log_probs, batch.mask
        ).item()
    if algorithm.critic:
        came = discounted_return(
            batch.rewards, batch.mask, last_values=batch.last_values
        )
        metrics["value_error"] = value_error(batch.values, came, batch.mask).item()
    return metrics


def postfix(history: list[dict]) -> dict[str, str]:
    """The numbers beside the progress bar."""
    last = history[-1]
    return {
        "reward": f"{last['reward']:.2f}",
        "tok/s": f"{last['tokens'] / max(last['seconds'], 1e-9):.0f}",
        "s/round": f"{last['seconds'] / len(history):.3f}",
    }
