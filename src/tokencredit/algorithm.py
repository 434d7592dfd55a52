"""Algorithms 算法: one choice per stage, and the functions that apply them.

The batch passes the stages in order. A stage receives exactly the fields of the batch
that its parameters name: a loss with a parameter `mask` gets `batch.mask`.

    rewards      shaped_rewards    length penalty, KL in the reward
    advantages   token_advantages  one number per token
    loss         policy_loss       ratio, clip, KL, entropy, aggregation

Each takes an algorithm, or its name, and tensors by keyword: `**batch.as_dict()` passes
a batch. A stage's own dials are keywords too: `clip_high=0.3` reaches a loss that has a
parameter `clip_high`. A keyword that no stage takes is an error.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches

import torch

from tokencredit.batch import Batch
from tokencredit.credit.groups import MISSING, only_finite
from tokencredit.credit.returns import per_turn, row_sum
from tokencredit.tensors.checks import (
    FLOATS,
    choice,
    floats,
    refuse,
    rewards_only_where,
    tensor,
    token_mask,
)
from tokencredit.tensors.masks import last_live
from tokencredit.tensors.shapes import PerToken, Scalar, SequenceMask, TokenMask
from tokencredit.weight.aggregate import AGGREGATIONS, aggregate_loss
from tokencredit.weight.kl import KL_ESTIMATORS, kl_penalty

CREDIT_LEVELS = ("sequence", "turn", "token")
CLIPS = ("clip_low", "clip_high")
LOSS_STAGES = ("log_ratio", "clip_rule", "loss")
TABLES: list[Mapping[str, Algorithm]] = []  # where names are looked up: ALGORITHMS


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """An entry of ALGORITHMS 一个算法: every choice explicit, every choice sourced.

    A stage is a function, called with the batch's fields that its parameters name (see
    `call_stage`). None means that the algorithm has no such stage.

    Args:
        name: key in ALGORITHMS.
        paper: authors and year.
        url: of the paper.
        parent: the entry that this one modifies; None for the first.
        length_penalty: of the lengths, added to the reward on the last token.
        keep: mask of the sequences to train on, from rewards and groups.
        refill: sample until the batch is full again after `keep`.
        credit_level: credit is assigned per "sequence", per "turn" or per "token".
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
        ValueError: an unknown level of credit, estimator, place or aggregation.
    """

    name: str
    paper: str
    url: str
    parent: str | None
    length_penalty: Callable | None
    keep: Callable | None
    refill: bool
    credit_level: str
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
        choice("credit_level", self.credit_level, CREDIT_LEVELS)
        choice("kl_estimator", self.kl_estimator, KL_ESTIMATORS)
        choice("kl_in", self.kl_in, ("loss", "reward"))
        choice("aggregation", self.aggregation, AGGREGATIONS)

    @property
    def critic(self) -> bool:
        """Whether a critic is trained: the advantage takes `values`."""
        return "values" in parameters(self.advantage)

    @property
    def compares(self) -> bool:
        """Whether responses to one prompt are compared: a stage takes `groups`."""
        stages = (self.advantage, self.keep)
        return any("groups" in parameters(stage) for stage in stages if stage)

    @property
    def taught(self) -> bool:
        """Whether a teacher scores the batch: the advantage takes `ref_log_probs`."""
        return "ref_log_probs" in parameters(self.advantage)

    @property
    def corrects(self) -> bool:
        """Whether the trainer recomputes `old_log_probs` before the update.

        True if the loss takes `sampler_log_probs`, those of the policy that sampled.
        """
        return "sampler_log_probs" in parameters(self.loss)


def named(algorithm: Algorithm | str) -> Algorithm:
    """The algorithm, or the entry of ALGORITHMS of that name 按名字取算法.

    Raises:
        ValueError: an unknown name (the known ones are named), anything else.

    >>> named("DAPO").aggregation
    'token-mean'
    """
    if isinstance(algorithm, Algorithm):
        return algorithm
    if not isinstance(algorithm, str):
        refuse("algorithm", "an entry of ALGORITHMS or its name", algorithm)
    known = {name: row for table in TABLES for name, row in table.items()}
    return known[choice("algorithm", algorithm, known)]


@functools.cache
def parameters(stage: Callable) -> Mapping[str, inspect.Parameter]:
    """Parameters of a stage, in order."""
    return inspect.signature(stage).parameters


def call_stage(algorithm: Algorithm, stage: str, things: Mapping[str, object]):
    """The result of a stage 阶段要什么给什么, called by name as pytest calls fixtures.

    Args:
        algorithm: whose field `stage` is a function.
        stage: name of the field.
        things: tensors by name; None counts as missing.

    Returns:
        The stage's own result.

    Raises:
        ValueError: a parameter without a default is missing.

    >>> from tokencredit import ALGORITHMS
    >>> call_stage(ALGORITHMS["RLOO"], "advantage", {"rewards": torch.ones(2)})
    Traceback (most recent call last):
    ValueError: RLOO: its advantage needs groups, which the batch does not have
    """
    function, there = getattr(algorithm, stage), {}
    for name, parameter in parameters(function).items():
        if things.get(name) is not None:
            there[name] = things[name]
        elif parameter.default is parameter.empty:
            lacks(algorithm, f"its {stage}", name)
    return function(**there)


def lacks(algorithm: Algorithm, stage: str, name: str):
    """Raise an error that names the algorithm, the stage and the missing field."""
    raise ValueError(
        f"{algorithm.name}: {stage} needs {name}, which the batch does not have"
    )


def only_known(
    function: Callable,
    algorithm: Algorithm,
    came: Iterable[str],
    *,
    stages: Iterable[str] = (),
    also: Iterable[str] = (),
    made: Iterable[str] = (),
):
    """Raise for a keyword that no stage takes, and name the nearest one.

    Args:
        function: `policy_loss` or one of its kind; its parameters are taken.
        algorithm: whose stages take more.
        came: the other keywords of the call.
        stages: fields of the algorithm; all parameters of these functions are taken.
        also: other names that are taken.
        made: names that the function computes itself, so they are refused.
    """
    own = [name for name in parameters(function) if name not in ("algorithm", "batch")]
    functions = [getattr(algorithm, stage) for stage in stages]
    staged = [name for f in functions if f is not None for name in parameters(f)]
    taken = [name for name in dict.fromkeys([*own, *staged, *also]) if name not in made]
    batch = [field.name for field in fields(Batch)]
    for name in came:
        if name in taken or name in batch:
            continue
        here = f"{function.__name__} of {algorithm.name}"
        if name in made:
            raise ValueError(f"{name} cannot be given: {here} computes it")
        near = get_close_matches(name, [*taken, *batch], 1, 0)[0]
        raise ValueError(
            f"{here} takes no {name}; the nearest that it takes is {near}. It takes "
            f"{', '.join(taken)} and the fields of a Batch"
        )


def per_token(algorithm: Algorithm, stage: str, name: str, things, mask) -> PerToken:
    """A required tensor of the mask's shape, as floats."""
    value = things.get(name)
    if value is None:
        lacks(algorithm, stage, name)
    tensor(name, value, FLOATS, "floats", like=mask)
    return floats(value=value)[0]


def reference_kl(algorithm: Algorithm, ours: str, things, mask) -> PerToken:
    """The algorithm's KL penalty against the reference, 0 where masked.

    `ours` names the log-probs that are compared: `old_log_probs` or `log_probs`.
    """
    here = f"its KL in the {algorithm.kl_in}"
    log_probs, ref = (
        torch.where(mask, per_token(algorithm, here, name, things, mask), 0)
        for name in (ours, "ref_log_probs")
    )
    return kl_penalty(log_probs, ref, algorithm.kl_estimator)


def shaped_rewards(
    algorithm: Algorithm | str, rewards: PerToken, mask: TokenMask, **batch
) -> PerToken:
    """Rewards plus the algorithm's own terms 奖励整形: length penalty and KL.

        r_t - kl_coef * KL_t,  and the length penalty on the last live token

    Args:
        algorithm: an entry of ALGORITHMS or its name.
        rewards: on the token that earned them, 0 where masked.
        mask: True where the policy chose the token.
        batch: old_log_probs and ref_log_probs, needed with a KL in the reward; other
            fields of a `Batch` are ignored.

    Returns:
        Rewards per token; the same ones if the algorithm adds nothing.

    Raises:
        ValueError: log-probs missing, shapes, dtypes, a keyword that is no field of a
            `Batch`, an unknown algorithm.

    >>> from tokencredit import ALGORITHMS
    >>> rewards, live = torch.zeros(1, 3), torch.tensor([[True, True, False]])
    >>> old, ref = torch.tensor([[-1.0, -1, 0]]), torch.tensor([[-1.0, -3, 0]])
    >>> row = ALGORITHMS["RLOO"]  # 0.05 of k1 in the reward
    >>> shaped_rewards(row, rewards, live, old_log_probs=old, ref_log_probs=ref)
    tensor([[ 0.0000, -0.1000,  0.0000]])
    """
    algorithm = named(algorithm)
    only_known(shaped_rewards, algorithm, batch)
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
    algorithm: Algorithm | str,
    rewards: PerToken,
    mask: TokenMask,
    *,
    missing: str = "refuse",
    **batch,
) -> PerToken:
    """One advantage per token 每个词元的优势, by the algorithm's rule.

    Credit per sequence: the reward of the whole response, judged once, on every live
    token. Credit per turn: the reward of each turn, on its last token. Credit per
    token: rewards as they are.

    Call it once per rollout, on the whole batch; then values + advantages are the
    critic's targets, and `masked_whiten` follows if `algorithm.whiten`.

    A row without a live token is no response: it is left out of the mean and the std of
    its group.

    Args:
        algorithm: an entry of ALGORITHMS or its name.
        rewards: on the token that earned them, 0 where masked.
        mask: True where the policy chose the token.
        missing: "refuse" a NaN, or "leave out" a row that has one among its rewards: a
            response without a verdict is in no mean and no std, and gets advantage 0.
        batch: parameters of the advantage: groups (which prompt a sequence answers),
            values and last_values (the critic's), turn_ends; or one of its dials.

    Returns:
        Advantages, 0 where masked, not whitened, without gradient.

    Raises:
        ValueError: a tensor that the advantage needs is missing, or its own errors; a
            reward that is infinite, or NaN and refused (the place is named); a keyword
            that is neither a field of a `Batch` nor named by the advantage; an unknown
            algorithm.

    >>> from tokencredit import ALGORITHMS
    >>> rewards = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    >>> groups = torch.tensor([0, 0])
    >>> token_advantages(ALGORITHMS["Dr. GRPO"], rewards, rewards < 2, groups=groups)
    tensor([[ 0.5000,  0.5000],
            [-0.5000, -0.5000]])
    """
    algorithm = named(algorithm)
    only_known(token_advantages, algorithm, batch, stages=["advantage"])
    (rewards,) = floats(2, rewards=rewards)
    mask = token_mask(mask, rewards)
    rewards_only_where(mask, rewards, "live tokens")
    only_finite(rewards, choice("missing", missing, MISSING))
    batch = batch | {"rewards": rewards, "mask": mask}
    if algorithm.credit_level == "turn":
        if batch.get("turn_ends") is None:
            lacks(algorithm, "credit per turn", "turn_ends")
        ends = token_mask(batch["turn_ends"], rewards, "turn_ends")
        batch["rewards"] = per_turn(rewards, ends)
    rows = judged(rewards, mask, missing)
    if rows.all():
        return advantages_of(algorithm, batch)
    out = torch.zeros_like(rewards)
    out[rows] = advantages_of(algorithm, rows_of(batch, rows))
    return out


def advantages_of(algorithm: Algorithm, batch: Mapping[str, object]) -> PerToken:
    """Advantages of rows that all have a verdict."""
    if algorithm.credit_level != "sequence":
        return call_stage(algorithm, "advantage", batch)
    rewards, mask = batch["rewards"], batch["mask"]
    scores = call_stage(algorithm, "advantage", {**batch, "rewards": row_sum(rewards)})
    return torch.where(mask, scores[:, None], 0)


def judged(rewards: PerToken, mask: TokenMask, missing: str) -> SequenceMask:
    """True for the rows that are responses with a verdict.

    False for a row without a live token and, if `missing` is "leave out", for one with
    a NaN among its rewards.
    """
    live = mask.any(1)
    return live if missing == "refuse" else live & ~rewards.isnan().any(1)


def rows_of(batch: Mapping[str, object], rows: SequenceMask) -> dict[str, object]:
    """The batch's tensors with only these rows; other entries are unchanged."""
    some, facts = dict(batch), {field.name for field in fields(Batch)}
    for name, x in batch.items():
        if not isinstance(x, torch.Tensor) or not x.dim():
            continue
        if (len(x), x.device) == (len(rows), rows.device):
            some[name] = x[rows]
        elif name in facts:
            refuse(name, f"of {len(rows)} rows on {rows.device}", x)
    return some


def policy_loss(
    algorithm: Algorithm | str,
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
        algorithm: an entry of ALGORITHMS or its name.
        log_probs: of the sampled tokens, under the policy being trained. A ratio of
            -inf against something finite is 0, and harmless; a loss that takes log pi
            itself is infinite there.
        old_log_probs: under the policy before the update.
        advantages: from `token_advantages`.
        mask: True where the policy chose the token.
        max_length: the generation budget; needed by "seq-mean-token-sum-norm".
        denominator: `loss_denominator` of the whole optimizer step, for micro-batches.
        batch: other parameters of the stages: ref_log_probs with a KL in the loss,
            entropies with an entropy bonus, sampler_log_probs with a correction of the
            sampler; or a dial of a stage, such as clip_high=0.3, which replaces the
            entry's. None counts as missing.

    Returns:
        A scalar attached to the graph.

    Raises:
        ValueError: a tensor that a stage needs is missing, or a stage's own errors; a
            keyword that is neither a field of a `Batch` nor named by a stage; an
            infinite log-probability of a live token that makes the loss infinite; an
            unknown algorithm.

    Easy to break: without `denominator` micro-batch losses do not add up.

    >>> from tokencredit import ALGORITHMS
    >>> log_probs, advantages = -torch.ones(2, 1), torch.tensor([[2.0], [-1.0]])
    >>> row = ALGORITHMS["DAPO"]
    >>> policy_loss(row, log_probs, log_probs, advantages, log_probs < 0)
    tensor(-0.5000)
    """
    algorithm = named(algorithm)
    only_known(
        policy_loss,
        algorithm,
        batch,
        stages=LOSS_STAGES,
        also=["entropies"],
        made=["log_ratio", *(CLIPS if algorithm.clip_rule else ())],
    )
    log_probs, advantages = floats(2, log_probs=log_probs, advantages=advantages)
    mask = token_mask(mask, log_probs)
    x = batch | {
        "log_probs": log_probs,
        "old_log_probs": old_log_probs,
        "advantages": torch.where(mask, advantages, 0),
        "mask": mask,
    }
    x["log_ratio"] = call_stage(algorithm, "log_ratio", x)
    if algorithm.clip_rule is not None:
        x["clip_low"], x["clip_high"] = call_stage(algorithm, "clip_rule", x)
    loss = call_stage(algorithm, "loss", x)
    if algorithm.kl_coef and algorithm.kl_in == "loss":
        kl = reference_kl(algorithm, "log_probs", x, mask)
        loss = loss + algorithm.kl_coef * kl
    if algorithm.entropy_coef:
        bonus = per_token(algorithm, "its entropy bonus", "entropies", x, mask)
        loss = loss - algorithm.entropy_coef * bonus
    refuse_infinite(algorithm, loss, x, mask)
    norm = AGGREGATIONS[algorithm.aggregation].per_row == "max_length"
    if norm and max_length is None:
        lacks(algorithm, algorithm.aggregation, "max_length")
    return aggregate_loss(
        loss,
        mask,
        algorithm.aggregation,
        max_length=max_length if norm else None,
        denominator=denominator,
    )


def refuse_infinite(algorithm: Algorithm, loss: PerToken, x: Mapping, mask: TokenMask):
    """Raise where an infinite log-probability makes the loss of a live token infinite.

    A NaN of the input stays visible, and so does a ratio too large for its dtype.
    """
    wrong = mask & ~loss.detach().isfinite()
    if not wrong.any():
        return
    for name in ("log_probs", "old_log_probs", "ref_log_probs", "sampler_log_probs"):
        values = x.get(name)
        if getattr(values, "shape", None) != mask.shape:
            continue
        if (bad := wrong & values.isinf()).any():
            row, column = bad.nonzero()[0].tolist()
            raise ValueError(
                f"{name} must be finite where {algorithm.name} looks at them; got "
                f"{values[row, column].item()} at [{row}, {column}]: that token has no "
                "probability, so leave it out of the mask"
            )
