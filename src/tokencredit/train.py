"""Training 训练: one line per stage, any row of ALGORITHMS.

The loop of the book is `train`. What it leaves out: several machines, a sampler apart
from the trainer, mixed precision, a learning-rate schedule.
"""

from __future__ import annotations

import copy
import copyreg
import math
import os
import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm.auto import tqdm

from .agents import Game, play_round
from .aggregate import aggregate_loss, loss_denominator
from .algorithms import (
    ALGORITHMS,
    Algorithm,
    plain_reward,
    policy_loss,
    shaped_rewards,
    token_advantages,
)
from .batch import Batch, join
from .filters import dynamic_sampling
from .log_probs import entropy, token_log_probs
from .losses import value_loss
from .masks import masked_mean, masked_whiten
from .returns import discounted_return
from .rollout import rollout, texts
from .shapes import PerSequence, PerToken, TokenIds, TokenMask
from .tasks import Task, encode

Verdict = Callable[[str, str], float]  # (prompt, response) -> a number


@dataclass(frozen=True, kw_only=True)
class Dials:
    """The dials of `train` that belong to no algorithm 与算法无关的旋钮.

    Args:
        steps: rounds of sampling.
        prompts: prompts of a round; it samples ``prompts * group_size`` responses.
        group_size: responses per prompt.
        epochs: passes over a round (K).
        minibatches: optimizer steps per pass.
        micro_size: responses per forward pass; the gradients of the micro-batches add
            up to that of the step, whatever the split. None: all at once.
        lr: of Adam.
        max_grad_norm: a longer gradient is scaled down to this.
        temperature: of sampling, and so of training.
        refresh: the sampler takes over the policy's weights every this many rounds;
            above 1 its responses are stale.
        bootstrap: a critic's V stands for what a truncated response would still have
            got. False, as in verl and OpenRLHF: the limit is part of the task, and such
            a response ended with nothing.
        refills: most rounds of sampling to fill a batch thinned by dynamic sampling.
    """

    steps: int = 100
    prompts: int = 32
    group_size: int = 8
    epochs: int = 1
    minibatches: int = 1
    micro_size: int | None = None
    lr: float = 1e-3
    max_grad_norm: float = 1.0
    temperature: float = 1.0
    refresh: int = 1
    refills: int = 3
    bootstrap: bool = False

    def __post_init__(self):
        whole = ("steps", "prompts", "group_size", "epochs", "minibatches")
        for name in (*whole, "refresh", "refills"):
            _at_least_one(name, getattr(self, name))
        if self.micro_size is not None:
            _at_least_one("micro_size", self.micro_size)
        for name in ("lr", "max_grad_norm", "temperature"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be > 0, got {getattr(self, name)}")


def _at_least_one(name: str, value: int):
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


def train(
    policy: nn.Module,
    task: Task | Game,
    algorithm: Algorithm | str,
    *,
    dials: Dials | None = None,
    seed: int = 0,
    reward: Verdict | None = None,
    measure: Mapping[str, Verdict] | None = None,
    checkpoint: Path | str | None = None,
    progress: bool = False,
) -> list[dict]:
    """Train a policy in place 训练 and return one row of numbers per round.

    Args:
        policy: the actor, with a value head if the algorithm has a critic.
        task: prompts and verdicts, or a game: then a row is an episode of turns.
        algorithm: an entry of ALGORITHMS or its name.
        dials: everything else that can be turned.
        seed: of prompts, sampling and shuffling.
        reward: replaces the task's verdict for learning; success stays the task's.
            Not for a game, which pays its own.
        measure: more verdicts to record, by name; their mean is a column. Likewise.
        checkpoint: a file written after every round; an interrupted run that is called
            again goes on from it, and ends as if it had never stopped.
        progress: show a bar with reward, tokens and seconds.

    Returns:
        A row per round: step, reward, success (share of responses with the full
        reward), length, truncated, entropy, kl (to the sampler, k3, last update), dead
        (share of live tokens with an advantage and no gradient: the clipped ones),
        ref_kl (with a reference: k1 summed over the response), value_error (with a
        critic: mean squared distance of V from what came),
        grad_norm, kept (responses that were learned from), tokens (sampled so far),
        seconds (CPU, so far), and the columns of `measure`. For a game also turns,
        invalid, cut and reward_std, see `tokencredit.agents`.

    Raises:
        ValueError: unknown algorithm (known ones are named), a critic that is missing,
            a group algorithm with groups of one, a bad reward, a checkpoint of another
            run.
    """
    dials = dials or Dials()
    row = _row(algorithm, policy, dials)
    sampler = copy.deepcopy(policy) if dials.refresh > 1 else policy
    uses_reference = row.kl_coef > 0
    reference = copy.deepcopy(policy) if uses_reference else None
    optimizer = torch.optim.Adam(policy.parameters(), lr=dials.lr, fused=True)
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    history: list[dict] = []
    saved = Checkpoint(
        checkpoint,
        {"task": repr(task), "row": row.name, "seed": seed} | asdict(dials),
        {"policy": policy, "optimizer": optimizer}
        | ({"sampler": sampler} if sampler is not policy else {})
        | ({"reference": reference} if uses_reference else {}),
        rng,
        generator,
    )
    history = saved.load()
    spent = history[-1]["seconds"] if history else 0.0
    clock = time.process_time() - spent
    bar = tqdm(total=dials.steps, initial=len(history), disable=not progress)
    for step in range(len(history), dials.steps):
        if dials.refresh > 1 and step % dials.refresh == 0:
            sampler.load_state_dict(policy.state_dict())
        batch, seen = collect(
            sampler, task, row, dials, rng, generator, reward, measure
        )
        batch = _seen_by(reference, batch, dials)
        batch = credit(row, batch)
        seen |= _watch(row, batch)
        for _ in range(dials.epochs):
            size = -(-len(batch) // dials.minibatches)
            for part in batch.shuffled(generator).split(max(size, 1)):
                seen |= update(policy, optimizer, row, part, dials, task.max_response)
        seen["tokens"] += history[-1]["tokens"] if history else 0
        seconds = time.process_time() - clock
        history.append({"step": step + 1} | seen | {"seconds": seconds})
        saved.save(history)
        bar.update()
        bar.set_postfix(_postfix(history))
    bar.close()
    return history


def collect(
    sampler: nn.Module,
    task: Task | Game,
    row: Algorithm,
    dials: Dials,
    rng: np.random.Generator,
    generator: torch.Generator,
    reward: Verdict | None = None,
    measure: Mapping[str, Verdict] | None = None,
) -> tuple[Batch, dict]:
    """Sample and score a round; with dynamic sampling, until the batch is full.

    Dynamic sampling draws whole rounds, `dials.refills` at most, and keeps the groups
    that can teach, up to the size of the batch. The numbers describe all that was
    sampled, the dropped groups too.
    """
    if isinstance(task, Game):
        if reward or measure:
            raise ValueError("reward, measure: a game pays its own reward")
        sample = partial(play_round, sampler, task)
    else:
        sample = partial(
            answer_round, sampler, task, reward=reward, measure=measure or {}
        )
    full = dials.prompts * dials.group_size
    kept, sampled = [], []
    for _ in range(dials.refills if row.keep is dynamic_sampling else 1):
        batch, seen = sample(
            prompts=dials.prompts,
            group_size=dials.group_size,
            temperature=dials.temperature,
            rng=rng,
            generator=generator,
        )
        sampled.append(seen)
        if row.keep is dynamic_sampling:
            batch = batch.select(row.keep(seen["reward"], batch.groups))
        if len(batch):
            kept.append(batch)
        if sum(map(len, kept)) >= full:
            break
    batch = join(kept).select(slice(full)) if kept else batch
    seen = {
        name: torch.cat([s[name] for s in sampled]).float().mean().item()
        for name in sampled[0]
    }
    seen["kept"] = len(batch)
    seen["tokens"] = sum(int(s["length"].sum()) for s in sampled)
    return batch, seen


def answer_round(
    policy: nn.Module,
    task: Task,
    prompts: int,
    group_size: int,
    temperature: float,
    rng: np.random.Generator,
    generator: torch.Generator,
    reward: Verdict | None,
    measure: Mapping[str, Verdict],
) -> tuple[Batch, dict[str, Tensor]]:
    """One round of responses to fresh prompts, scored, and numbers per response."""
    asked = task.prompts(prompts, rng)
    batch = rollout(
        policy,
        task,
        asked,
        group_size=group_size,
        temperature=temperature,
        generator=generator,
    )
    verdicts = score(batch, task, asked, task.reward)
    scores = score(batch, task, asked, reward) if reward else verdicts
    seen = {
        "reward": scores,
        "success": verdicts >= task.max_reward,
        "length": batch.mask.sum(1),
        "truncated": batch.truncated,
    }
    for name, verdict in measure.items():
        seen[name] = score(batch, task, asked, verdict)
    return replace(batch, rewards=on_last_token(scores, batch.mask)), seen


def credit(row: Algorithm, batch: Batch) -> Batch:
    """From rewards to one advantage per token 信用分配, and the critic's targets.

    Once per round, on the whole batch. Targets come from advantages that are not
    whitened yet.
    """
    mask = batch.mask
    if row.keep is not None:
        batch = batch.select(row.keep(batch.rewards.sum(1), batch.groups))
        mask = batch.mask
    rewards = shaped_rewards(
        row,
        batch.rewards,
        mask,
        log_probs=batch.old_log_probs,
        ref_log_probs=batch.ref_log_probs,
    )
    advantages = token_advantages(
        row,
        rewards,
        mask,
        groups=batch.groups,
        values=batch.values,
        last_values=batch.last_values,
        turn_ends=batch.turn_ends,
    )
    returns = advantages + batch.values if row.critic else None
    if row.whiten:
        advantages = masked_whiten(advantages, mask)
    return replace(batch, rewards=rewards, advantages=advantages, returns=returns)


def update(
    policy: nn.Module,
    optimizer: torch.optim.Optimizer,
    row: Algorithm,
    part: Batch,
    dials: Dials,
    max_length: int,
) -> dict:
    """One optimizer step on a mini-batch, in micro-batches that add up.

    Denominators are counted over the whole mini-batch, so the split does not matter.
    """
    sequences = loss_denominator(part.mask, row.aggregation)
    tokens = loss_denominator(part.mask, "token-mean")
    optimizer.zero_grad()
    entropies, drift, dead, weighed = 0.0, 0.0, 0, 0
    for micro in part.by_length().split(dials.micro_size or max(len(part), 1)):
        micro = micro.trimmed()
        log_probs, entropy_now, values = read(policy, micro, dials.temperature)
        log_probs.retain_grad()
        loss = policy_loss(
            row,
            log_probs,
            micro.old_log_probs,
            micro.advantages,
            micro.mask,
            ref_log_probs=micro.ref_log_probs,
            entropies=entropy_now,
            max_length=max_length,
            denominator=sequences,
        )
        if row.critic:
            off = value_loss(values, micro.values, micro.returns, clip=row.value_clip)
            off = aggregate_loss(off, micro.mask, "token-mean", denominator=tokens)
            loss = loss + row.value_coef * off
        loss.backward()
        with torch.no_grad():
            live = micro.mask
            d = (log_probs - micro.old_log_probs)[live]
            drift += (torch.expm1(d) - d).sum().item() / tokens
            entropies += entropy_now[live].sum().item() / tokens
            counted = live & (micro.advantages != 0)
            dead += int((log_probs.grad[counted] == 0).sum())
            weighed += int(counted.sum())
    norm = nn.utils.clip_grad_norm_(policy.parameters(), dials.max_grad_norm)
    if not norm.isfinite():
        raise FloatingPointError(f"{row.name}: the gradient is {norm.item()}")
    optimizer.step()
    return {
        "entropy": entropies,
        "kl": drift,
        "dead": dead / max(weighed, 1),
        "grad_norm": norm.item(),
    }


def warm_up(
    policy: nn.Module,
    task: Task | Game,
    *,
    steps: int,
    batch_size: int = 64,
    micro_size: int | None = None,
    lr: float = 3e-3,
    seed: int = 0,
    progress: bool = False,
) -> list[float]:
    """Supervised fine-tuning on the task's demonstrations  监督微调; the loss per step.

    Cross-entropy on the tokens of the response, Adam, a learning rate that rises for 20
    steps and falls to zero over the second half. With a `micro_size`, rows of similar
    length are read together and their gradients add up to the step's.
    """
    if micro_size is not None:
        _at_least_one("micro_size", micro_size)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(policy.parameters(), lr=lr, betas=(0.9, 0.95))
    losses = []
    for step in tqdm(range(steps), desc="warm-up", disable=not progress):
        tokens, mask = demonstrations(task, batch_size, rng)
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1, (step + 1) / 20, 2 * (steps - step) / steps)
        optimizer.zero_grad()
        losses.append(_imitate(policy, tokens, mask, micro_size))
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
    return losses


def _imitate(
    policy: nn.Module, tokens: TokenIds, mask: TokenMask, micro_size: int | None
) -> float:
    """Add up the gradient of the cross-entropy on the masked tokens; that loss."""
    places = torch.arange(1, mask.shape[1] + 1)
    lengths = (mask * places).amax(1)  # up to the last token that is imitated
    parts = [torch.arange(len(mask))]
    if micro_size:
        parts = lengths.argsort(stable=True).split(micro_size)
    total, counted = 0.0, int(mask.sum())
    for rows in parts:
        width = int(lengths[rows].max())
        said, words = mask[rows, 1:width], tokens[rows, :width]
        logits, _ = policy(words)
        loss = F.cross_entropy(logits[:, :-1][said], words[:, 1:][said])
        loss = loss * (int(said.sum()) / counted)
        loss.backward()
        total += loss.item()
    return total


def demonstrations(
    task: Task | Game, num: int, rng: np.random.Generator
) -> tuple[TokenIds, TokenMask]:
    """Rows of the warm-up corpus 示范, padded on the right, and what is imitated."""
    if isinstance(task, Game):
        return task.demonstrations(num, rng)
    prompts = task.prompts(num, rng)
    responses = [task.demonstration(prompt, rng) for prompt in prompts]
    width = max(len(p) + len(a) for p, a in zip(prompts, responses, strict=True))
    tokens = torch.zeros(num, width, dtype=torch.long)
    mask = torch.zeros(num, width, dtype=torch.bool)
    for i, (p, a) in enumerate(zip(prompts, responses, strict=True)):
        tokens[i, : len(p + a)] = torch.tensor(encode(p + a, task.vocabulary))
        mask[i, len(p) : len(p + a)] = True
    return tokens, mask


def score(
    batch: Batch, task: Task, prompts: list[str], verdict: Verdict
) -> PerSequence:
    """The verdict on each response 评分.

    Raises:
        ValueError: a verdict that is not one finite number.
    """
    scores = []
    responses = texts(batch, task.vocabulary)
    for group, response in zip(batch.groups.tolist(), responses, strict=True):
        value = verdict(prompts[group], response)
        try:
            scores.append(float(value))
        except (TypeError, ValueError, RuntimeError):
            scores.append(math.nan)
        if not math.isfinite(scores[-1]):
            raise ValueError(
                f"the reward of {prompts[group]!r} -> {response!r} must be one finite "
                f"number, got {value!r}"
            )
    return torch.tensor(scores)


def on_last_token(scores: PerSequence, mask: TokenMask) -> PerToken:
    """One number per row, placed on the row's last live token.

    >>> on_last_token(torch.tensor([7.0]), torch.tensor([[False, True, True, False]]))
    tensor([[0., 0., 7., 0.]])
    """
    last = mask & (mask.flip(1).cumsum(1).flip(1) == 1)
    return torch.where(last, scores[:, None], 0.0)


def read(policy: nn.Module, batch: Batch, temperature: float = 1.0):
    """What the policy thinks of a batch now: log-probs, entropies, values ``[B, T]``.

    Aligned like every field of `Batch`: column j speaks of token j; 0 where masked.
    Values are None without a critic.
    """
    chosen = batch.mask[:, 1:]  # no policy chose the first token of a prompt
    logits, values = policy(batch.tokens[:, :-1], only=chosen)
    logits = logits / temperature
    log_probs = token_log_probs(logits, batch.tokens[:, 1:][chosen])

    def put(live: Tensor) -> PerToken:
        return F.pad(live.new_zeros(chosen.shape).masked_scatter(chosen, live), (1, 0))

    return put(log_probs), put(entropy(logits)), put(values) if policy.critic else None


def _seen_by(reference: nn.Module | None, batch: Batch, dials: Dials) -> Batch:
    """The batch with the reference's log-probs, and V after the end only if asked."""
    if not dials.bootstrap:
        batch = replace(batch, last_values=None)
    if reference is None:
        return batch
    order = batch.lengths().argsort(stable=True)
    log_probs = torch.zeros_like(batch.old_log_probs)
    for rows in order.split(dials.micro_size or 64):  # parts that fit the cache
        part = batch.select(rows).trimmed()
        with torch.no_grad():
            seen = read(reference, part, dials.temperature)[0]
        log_probs[rows, : seen.shape[1]] = seen
    return replace(batch, ref_log_probs=log_probs)


def _watch(row: Algorithm, batch: Batch) -> dict:
    """Numbers about a batch before it is learned from; see `train`."""
    mask, seen = batch.mask, {}
    if batch.ref_log_probs is not None:
        away = torch.where(mask, batch.old_log_probs - batch.ref_log_probs, 0)
        seen["ref_kl"] = away.sum(1).mean().item()
    if row.critic:
        came = discounted_return(batch.rewards, mask, last_values=batch.last_values)
        seen["value_error"] = masked_mean((batch.values - came) ** 2, mask).item()
    return seen


def _row(algorithm: Algorithm | str, policy: nn.Module, dials: Dials) -> Algorithm:
    """The row, checked against the policy and the dials."""
    if isinstance(algorithm, str):
        if algorithm not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise ValueError(f"unknown algorithm {algorithm!r}; known: {known}")
        algorithm = ALGORITHMS[algorithm]
    name = algorithm.name
    if algorithm.critic and not policy.critic:
        raise ValueError(f"{name} needs a policy with a value head: critic=True")
    grouped = not algorithm.critic and algorithm.advantage is not plain_reward
    if (grouped or algorithm.keep) and dials.group_size == 1:
        raise ValueError(
            f"{name} compares the responses of a group: group_size must be > 1"
        )
    if algorithm.clip_rule and dials.micro_size:
        raise ValueError(
            f"{name} chooses its clip range per optimizer step: micro_size must be None"
        )
    return algorithm


def _postfix(history: list[dict]) -> dict:
    last = history[-1]
    return {
        "reward": f"{last['reward']:.2f}",
        "tok/s": f"{last['tokens'] / max(last['seconds'], 1e-9):.0f}",
        "s/update": f"{last['seconds'] / len(history):.3f}",
    }


class _Pickler(pickle.Pickler):
    """Writes tensors as arrays, three times as fast as torch for many small ones."""

    dispatch_table = copyreg.dispatch_table | {
        Tensor: lambda x: (torch.from_numpy, (x.numpy(),))
    }


class Checkpoint:
    """The state of a run in one file, written whole or not at all 检查点.

    Args:
        path: the file; None keeps nothing.
        settings: what a run must share with the file to go on from it.
        parts: objects with ``state_dict`` and ``load_state_dict``.
        rng, generator: the two random streams.
    """

    def __init__(self, path, settings, parts, rng, generator):
        self.path = None if path is None else Path(path)
        self.settings, self.parts = settings, parts
        self.rng, self.generator = rng, generator

    def load(self) -> list[dict]:
        """Bring everything back; the rows of the rounds already done."""
        if self.path is None or not self.path.exists():
            return []
        try:
            state = pickle.loads(self.path.read_bytes())
            settings = state["settings"]
        except Exception as error:
            raise ValueError(
                f"{self.path} is no whole checkpoint ({error}); remove it"
            ) from error
        different = [k for k, v in self.settings.items() if settings.get(k) != v]
        different = [k for k in different if k != "steps"]
        if different:
            raise ValueError(
                f"{self.path} belongs to another run: {', '.join(different)} differ"
            )
        for name, part in self.parts.items():
            part.load_state_dict(state["parts"][name])
        self.rng.bit_generator.state = state["rng"]
        self.generator.set_state(state["generator"])
        return state["history"]

    def save(self, history: list[dict]):
        """Write to a file beside it, then rename: a reader never sees half a file."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "settings": self.settings,
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "rng": self.rng.bit_generator.state,
            "generator": self.generator.get_state(),
            "history": history,
        }
        new = self.path.with_name(self.path.name + ".new")
        with open(new, "wb") as file:
            _Pickler(file).dump(state)
        os.replace(new, self.path)
