"""What an algorithm is 算法是什么: one choice per stage, and what obeys it.

The batch walks through the stages, and a stage is called with what it names: a loss
that has a parameter `mask` is given the batch's mask, one that has none is not.

    rewards      shaped_rewards    length penalty, KL in the reward
    advantages   token_advantages  one number per token
    loss         policy_loss       ratio, clip, KL, entropy, aggregation

Each takes an algorithm and tensors by name; `**batch.tensors()` hands over a batch.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from tokencredit.credit.returns import per_turn, row_sum
from tokencredit.tensors.checks import (
    FLOATS,
    choice,
    floats,
    rewards_only_where,
    tensor,
    token_mask,
)
from tokencredit.tensors.masks import last_live
from tokencredit.tensors.shapes import PerToken, Scalar, TokenMask
from tokencredit.weight.aggregate import AGGREGATIONS, aggregate_loss
from tokencredit.weight.kl import KL_ESTIMATORS, kl_penalty

CREDIT = ("sequence", "turn", "token")


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """An entry of ALGORITHMS 一个算法: every choice explicit, every choice sourced.

    A stage is a function; what its parameters are called says what it is given (see
    `given`). None means that the algorithm has no such stage.

    Args:
        name: key in ALGORITHMS.
        paper: authors and year.
        url: of the paper.
        parent: the entry that this one is written as a change of; None for the first.
        length_penalty: of the lengths, added to the reward on the last token.
        keep: which sequences are learned from, of rewards and groups.
        refill: go on sampling until the batch that `keep` thinned is full again.
        credit: the unit that is judged: a whole "sequence", a "turn" or a "token".
        advantage: from rewards per unit to advantages; it has a critic if it names
            `values`.
        whiten: normalise the advantages over all tokens of the batch.
        log_ratio: importance ratio per token, in logs.
        loss: policy loss per token.
        clip_rule: chooses (clip_low, clip_high) of the loss at every optimizer step.
        kl_coef: of the KL penalty against the reference; 0 for none.
        kl_estimator: one of KL_ESTIMATORS.
        kl_in: the penalty is part of the "loss" or of the "reward".
        entropy_coef: of the entropy bonus.
        aggregation: one of AGGREGATIONS.
        value_coef: of the critic's loss.
        value_clip: range of the clipped value loss; None for the plain square.
        sources: for each field, where in the paper it is or whose default.

    Raises:
        ValueError: an unknown unit of credit, estimator, place or aggregation.
    """

    name: str
    paper: str
    url: str
    parent: str | None
    length_penalty: Callable | None
    keep: Callable | None
    refill: bool
    credit: str
    advantage: Callable
    whiten: bool
    log_ratio: Callable
    loss: Callable
    clip_rule: Callable | None
    kl_coef: float
    kl_estimator: str
    kl_in: str
    entropy_coef: float
    aggregation: str
    value_coef: float
    value_clip: float | None
    sources: Mapping[str, str]

    def __post_init__(self):
        choice("credit", self.credit, CREDIT)
        choice("kl_estimator", self.kl_estimator, KL_ESTIMATORS)
        choice("kl_in", self.kl_in, ("loss", "reward"))
        choice("aggregation", self.aggregation, AGGREGATIONS)

    @property
    def critic(self) -> bool:
        """Whether a value function is trained: the advantage looks at `values`."""
        return "values" in parameters(self.advantage)

    @property
    def compares(self) -> bool:
        """Whether responses to one prompt are compared: a stage looks at `groups`."""
        stages = (self.advantage, self.keep)
        return any("groups" in parameters(stage) for stage in stages if stage)

    @property
    def corrects(self) -> bool:
        """Whether the trainer reads the batch again before it learns from it.

        Then the loss looks at `sampler_log_probs`, and `old_log_probs` are the
        trainer's own.
        """
        return "sampler_log_probs" in parameters(self.loss)


@functools.cache
def parameters(stage: Callable) -> Mapping[str, inspect.Parameter]:
    """What a stage names, in order."""
    return inspect.signature(stage).parameters


def given(algorithm: Algorithm, stage: str, things: Mapping[str, object]):
    """Call a stage with what it names 阶段要什么给什么, as pytest does with fixtures.

    Args:
        algorithm: whose field `stage` is a function.
        stage: name of the field.
        things: tensors by name; None counts as not there.

    Returns:
        What the stage returns.

    Raises:
        ValueError: the stage cannot do without something that is not there.

    >>> from tokencredit import ALGORITHMS
    >>> given(ALGORITHMS["RLOO"], "advantage", {"rewards": torch.ones(2)})
    Traceback (most recent call last):
    ValueError: RLOO: its advantage needs groups, which the batch does not have
    """
    function, there = getattr(algorithm, stage), {}
    for name, parameter in parameters(function).items():
        if things.get(name) is not None:
            there[name] = things[name]
        elif parameter.default is parameter.empty:
            missing(algorithm, f"its {stage}", name)
    return function(**there)


def missing(algorithm: Algorithm, stage: str, name: str):
    """Raise: the algorithm, the stage and what it lacks."""
    raise ValueError(
        f"{algorithm.name}: {stage} needs {name}, which the batch does not have"
    )


def per_token(algorithm: Algorithm, stage: str, name: str, things, mask) -> PerToken:
    """Floats of the mask's shape that a stage cannot do without."""
    value = things.get(name)
    if value is None:
        missing(algorithm, stage, name)
    tensor(name, value, FLOATS, "floats", like=mask)
    return floats(value=value)[0]


def reference_kl(algorithm: Algorithm, ours: str, things, mask) -> PerToken:
    """The algorithm's KL penalty against the reference, 0 where masked.

    `ours` names the log-probs that are compared: of the sampler or of the trainer.
    """
    here = f"its KL in the {algorithm.kl_in}"
    log_probs, ref = (
        torch.where(mask, per_token(algorithm, here, name, things, mask), 0)
        for name in (ours, "ref_log_probs")
    )
    return kl_penalty(log_probs, ref, algorithm.kl_estimator)


def shaped_rewards(
    algorithm: Algorithm, rewards: PerToken, mask: TokenMask, **batch
) -> PerToken:
    """Rewards with what the algorithm adds to them 奖励整形: length penalty and KL.

        r_t - kl_coef * KL_t,  and the length penalty on the last live token

    Args:
        algorithm: an entry of ALGORITHMS.
        rewards: on the token that earned them, 0 where masked.
        mask: True where the policy chose the token.
        batch: old_log_probs and ref_log_probs, needed with a KL in the reward.

    Returns:
        Rewards per token; the same ones if the algorithm adds nothing.

    Raises:
        ValueError: log-probs missing, shapes, dtypes.

    >>> from tokencredit import ALGORITHMS
    >>> rewards, live = torch.zeros(1, 3), torch.tensor([[True, True, False]])
    >>> old, ref = torch.tensor([[-1.0, -1, 0]]), torch.tensor([[-1.0, -3, 0]])
    >>> row = ALGORITHMS["RLOO"]  # 0.05 of k1 in the reward
    >>> shaped_rewards(row, rewards, live, old_log_probs=old, ref_log_probs=ref)
    tensor([[ 0.0000, -0.1000,  0.0000]])
    """
    (rewards,) = floats(2, rewards=rewards)
    mask = token_mask(mask, rewards)
    if algorithm.length_penalty is not None:
        penalty = algorithm.length_penalty(mask.sum(1).to(rewards))
        rewards = torch.where(last_live(mask), rewards + penalty[:, None], rewards)
    if algorithm.kl_coef and algorithm.kl_in == "reward":
        kl = reference_kl(algorithm, "old_log_probs", batch, mask)
        rewards = rewards - algorithm.kl_coef * kl
    return rewards.detach()


def token_advantages(
    algorithm: Algorithm, rewards: PerToken, mask: TokenMask, **batch
) -> PerToken:
    """One advantage per token, as the algorithm says 每个词元的优势.

    Credit per sequence: the reward of the whole response, judged once, on every live
    token. Credit per turn: what each turn earned stands on its last token. Credit per
    token: rewards as they are.

    Call it once per rollout, on the whole batch; then values + advantages are the
    critic's targets, and `masked_whiten` follows if `algorithm.whiten`.

    Args:
        algorithm: an entry of ALGORITHMS.
        rewards: on the token that earned them, 0 where masked.
        mask: True where the policy chose the token.
        batch: what the advantage names: groups (which prompt a sequence answers),
            values and last_values (the critic's), turn_ends.

    Returns:
        Advantages, 0 where masked, not whitened, without gradient.

    Raises:
        ValueError: a tensor that the advantage needs is missing, or its own errors.

    >>> from tokencredit import ALGORITHMS
    >>> rewards = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    >>> groups = torch.tensor([0, 0])
    >>> token_advantages(ALGORITHMS["Dr. GRPO"], rewards, rewards < 2, groups=groups)
    tensor([[ 0.5000,  0.5000],
            [-0.5000, -0.5000]])
    """
    (rewards,) = floats(2, rewards=rewards)
    mask = token_mask(mask, rewards)
    rewards_only_where(mask, rewards, "live tokens")
    batch = batch | {"rewards": rewards, "mask": mask}
    if algorithm.credit == "sequence":
        scores = given(algorithm, "advantage", batch | {"rewards": row_sum(rewards)})
        return torch.where(mask, scores[:, None], 0)
    if algorithm.credit == "turn":
        if batch.get("turn_ends") is None:
            missing(algorithm, "credit per turn", "turn_ends")
        ends = token_mask(batch["turn_ends"], rewards, "turn_ends")
        batch["rewards"] = per_turn(rewards, ends)
    return given(algorithm, "advantage", batch)


def policy_loss(
    algorithm: Algorithm,
    log_probs: PerToken,
    old_log_probs: PerToken,
    advantages: PerToken,
    mask: TokenMask,
    *,
    max_length: float | None = None,
    denominator: float | None = None,
    **batch,
) -> Scalar:
    """The loss whose gradient is the algorithm's policy gradient 策略损失.

        aggregate( loss(log_ratio, A, ...) + kl_coef KL - entropy_coef H )

    Args:
        algorithm: an entry of ALGORITHMS.
        log_probs: of the sampled tokens, under the policy being trained.
        old_log_probs: before the update, under the policy that sampled.
        advantages: from `token_advantages`.
        mask: True where the policy chose the token.
        max_length: the generation budget; needed by "seq-mean-token-sum-norm".
        denominator: `loss_denominator` of the whole optimizer step, for micro-batches.
        batch: what else the stages name: ref_log_probs with a KL in the loss, entropies
            with an entropy bonus, sampler_log_probs with a correction of the sampler.

    Returns:
        A scalar attached to the graph.

    Raises:
        ValueError: a tensor that a stage needs is missing, or a stage's own errors.

    Easy to break: without `denominator` micro-batch losses do not add up.

    >>> from tokencredit import ALGORITHMS
    >>> log_probs, advantages = -torch.ones(2, 1), torch.tensor([[2.0], [-1.0]])
    >>> row = ALGORITHMS["DAPO"]
    >>> policy_loss(row, log_probs, log_probs, advantages, log_probs < 0)
    tensor(-0.5000)
    """
    log_probs, advantages = floats(2, log_probs=log_probs, advantages=advantages)
    mask = token_mask(mask, log_probs)
    x = batch | {
        "log_probs": log_probs,
        "old_log_probs": old_log_probs,
        "advantages": torch.where(mask, advantages, 0),
        "mask": mask,
    }
    x["log_ratio"] = given(algorithm, "log_ratio", x)
    if algorithm.clip_rule is not None:
        x["clip_low"], x["clip_high"] = given(algorithm, "clip_rule", x)
    loss = given(algorithm, "loss", x)
    if algorithm.kl_coef and algorithm.kl_in == "loss":
        kl = reference_kl(algorithm, "log_probs", x, mask)
        loss = loss + algorithm.kl_coef * kl
    if algorithm.entropy_coef:
        bonus = per_token(algorithm, "its entropy bonus", "entropies", x, mask)
        loss = loss - algorithm.entropy_coef * bonus
    norm = AGGREGATIONS[algorithm.aggregation].per_row == "max_length"
    if norm and max_length is None:
        missing(algorithm, algorithm.aggregation, "max_length")
    return aggregate_loss(
        loss,
        mask,
        algorithm.aggregation,
        max_length=max_length if norm else None,
        denominator=denominator,
    )
