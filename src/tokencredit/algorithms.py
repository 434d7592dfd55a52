"""Algorithms 算法: one row each, and the few lines that read a row.

A row says what is done at every stage between rewards and gradient. A later paper is
written as its diff to an earlier one: DAPO is GRPO with five fields changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from .advantages import gae, group_relative, group_turns, leave_one_out, turn_gae
from .aggregate import AGGREGATIONS, aggregate_loss
from .checks import FLOATS, floats, require, rewards_only_where, tensor, token_mask
from .filters import dynamic_sampling, top_variance
from .kl import kl_penalty
from .losses import balanced_clip, cispo_loss, ppo_clip_loss, reinforce_loss
from .ratios import sequence_log_ratio, token_log_ratio
from .rewards import soft_overlong
from .shapes import GroupIds, PerSequence, PerToken, Scalar, TokenMask


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """One row of the zoo 算法的一行: every choice explicit, every choice sourced.

    Each field carries its meaning in both languages (metadata "zh" and "en"); `sources`
    says for each field where in the paper it is, or whose default it is.
    """

    name: str = field(metadata={"zh": "名称", "en": "name"})
    paper: str = field(metadata={"zh": "论文", "en": "paper"})
    url: str = field(metadata={"zh": "链接", "en": "link"})
    length_penalty: Callable | None = field(
        metadata={
            "zh": "按长度加到奖励上的惩罚",
            "en": "penalty on the length, added to the reward",
        }
    )
    keep: Callable | None = field(
        metadata={
            "zh": "保留哪些组（优势计算之前）",
            "en": "which groups are kept, before the advantages",
        }
    )
    credit: str = field(
        metadata={
            "zh": '信用的单位："sequence" 整条回答，"turn-group" 组内轮次，'
            '"token" 词元，"turn" 轮次（后两者要价值网络）',
            "en": 'credit per "sequence", per turn within the group ("turn-group"), '
            'per "token" or "turn" (the last two: a critic)',
        }
    )
    advantage: Callable = field(metadata={"zh": "优势", "en": "advantage"})
    whiten: bool = field(
        metadata={
            "zh": "优势是否在全批词元上白化",
            "en": "whiten the advantages over the batch's tokens",
        }
    )
    log_ratio: Callable = field(
        metadata={"zh": "重要性采样比率", "en": "importance ratio"}
    )
    loss: Callable = field(
        metadata={"zh": "每个词元的策略损失", "en": "policy loss per token"}
    )
    clip_rule: Callable | None = field(
        metadata={
            "zh": "每步选择裁剪范围的规则",
            "en": "rule that chooses the clip range at every step",
        }
    )
    kl_coef: float = field(metadata={"zh": "KL 系数", "en": "KL coefficient"})
    kl_estimator: str = field(metadata={"zh": "KL 估计", "en": "KL estimator"})
    kl_in: str = field(
        metadata={
            "zh": 'KL 的位置："loss" 或 "reward"',
            "en": 'KL in the "loss" or "reward"',
        }
    )
    entropy_coef: float = field(metadata={"zh": "熵系数", "en": "entropy coefficient"})
    aggregation: str = field(metadata={"zh": "损失聚合", "en": "loss aggregation"})
    value_coef: float = field(
        metadata={"zh": "价值损失系数", "en": "coefficient of the value loss"}
    )
    value_clip: float | None = field(metadata={"zh": "价值裁剪", "en": "value clip"})
    sources: Mapping[str, str] = field(
        metadata={"zh": "每个字段的出处", "en": "where each field comes from"}
    )

    @property
    def critic(self) -> bool:
        """Whether a value function is trained."""
        return self.credit in ("token", "turn")


def plain_reward(rewards: PerSequence, groups: GroupIds) -> PerSequence:
    """No baseline 无基线: the advantage is the reward itself.

    >>> plain_reward(torch.tensor([1.0, 0.0]), torch.tensor([0, 0]))
    tensor([1., 0.])
    """
    return rewards


# ---- the rows ------------------------------------------------------------------

NO_CRITIC = "no critic"
NONE = "the paper has none"
NO_KL = dict.fromkeys(("kl_estimator", "kl_in"), "unused while kl_coef is 0")

REINFORCE = Algorithm(
    name="REINFORCE",
    paper="Williams 1992",
    url="https://doi.org/10.1007/BF00992696",
    length_penalty=None,
    keep=None,
    credit="sequence",
    advantage=plain_reward,
    whiten=False,
    log_ratio=token_log_ratio,
    loss=reinforce_loss,
    clip_rule=None,
    kl_coef=0.0,
    kl_estimator="k1",
    kl_in="reward",
    entropy_coef=0.0,
    aggregation="seq-mean-token-sum",
    value_coef=0.0,
    value_clip=None,
    sources={
        "length_penalty": NONE,
        "keep": NONE,
        "credit": "Williams sec. 5, episodic: one return for the whole trajectory",
        "advantage": "Williams theorem 2 with baseline 0",
        "whiten": NONE,
        "log_ratio": "on-policy: the loss ignores it",
        "loss": "Williams theorem 2",
        "clip_rule": NONE,
        "kl_coef": NONE,
        **NO_KL,
        "entropy_coef": NONE,
        "aggregation": "log-probability of a trajectory is a sum over its tokens",
        "value_coef": NO_CRITIC,
        "value_clip": NO_CRITIC,
    },
)

RLOO = replace(
    REINFORCE,
    name="RLOO",
    paper="Ahmadian et al. 2024",
    url="https://arxiv.org/abs/2402.14740",
    advantage=leave_one_out,
    kl_coef=0.05,
    sources=REINFORCE.sources
    | {
        "advantage": "leave-one-out baseline of k samples",
        "kl_coef": "TRL 1.16 default of its RLOO trainer; the paper: 0.03 and 0.10",
        "kl_estimator": "k1 summed over the sequence",
        "kl_in": "subtracted from the reward",
    },
)

PPO = replace(
    REINFORCE,
    name="PPO",
    paper="Schulman et al. 2017",
    url="https://arxiv.org/abs/1707.06347",
    credit="token",
    advantage=partial(gae, gamma=1.0, lam=0.95),
    whiten=True,
    loss=partial(ppo_clip_loss, clip_low=0.2, clip_high=0.2),
    aggregation="token-mean",
    value_coef=0.5,
    value_clip=0.5,
    sources=REINFORCE.sources
    | {
        "credit": "a critic judges every token",
        "advantage": "GAE, 1506.02438 eq. 16; lambda 0.95; gamma = 1 for LLMs",
        "whiten": "implementation detail of every peer; verl 0.9.1: n - 1, eps 1e-8",
        "log_ratio": "eq. 6, per token",
        "loss": "eq. 7, epsilon = 0.2",
        "kl_coef": "no reference; the KL penalty of eq. 8 is to the old policy",
        "entropy_coef": "eq. 9, c_2: 0.01 on Atari, none on MuJoCo",
        "aggregation": "empirical average over the batch's time steps",
        "value_coef": "eq. 9, c_1; 0.5 is the default of cleanrl and stable-baselines3",
        "value_clip": "not in the paper; default of verl 0.9.1 and OpenRLHF 0.11.2",
    },
)

GRPO = replace(
    REINFORCE,
    name="GRPO",
    paper="DeepSeekMath, Shao et al. 2024",
    url="https://arxiv.org/abs/2402.03300",
    advantage=partial(group_relative, scale=True, eps=1e-6),
    loss=partial(ppo_clip_loss, clip_low=0.2, clip_high=0.2),
    kl_coef=0.04,
    kl_estimator="k3",
    kl_in="loss",
    aggregation="seq-mean-token-mean",
    sources=REINFORCE.sources
    | {
        "credit": "DeepSeekMath sec. 4.1.2, outcome supervision",
        "advantage": "DeepSeekMath sec. 4.1.2; sample std and eps 1e-6 as verl 0.9.1",
        "log_ratio": "DeepSeekMath eq. 3, per token",
        "loss": "DeepSeekMath eq. 3; epsilon = 0.2 as in PPO",
        "kl_coef": "DeepSeekMath sec. 4.2",
        "kl_estimator": "DeepSeekMath eq. 4",
        "kl_in": "DeepSeekMath eq. 3",
        "aggregation": "DeepSeekMath eq. 3: 1/G sum_i 1/|o_i| sum_t",
    },
)

DR_GRPO = replace(
    GRPO,
    name="Dr. GRPO",
    paper="Liu et al. 2025",
    url="https://arxiv.org/abs/2503.20783",
    advantage=partial(group_relative, scale=False),
    kl_coef=0.0,
    aggregation="seq-mean-token-sum-norm",
    sources=GRPO.sources
    | {
        "advantage": "no std: it weights questions by difficulty",
        "kl_coef": "beta = 0 throughout the paper",
        **NO_KL,
        "aggregation": "a constant for 1/|o_i|: it weights responses by length",
    },
)

DAPO = replace(
    GRPO,
    name="DAPO",
    paper="Yu et al. 2025",
    url="https://arxiv.org/abs/2503.14476",
    length_penalty=partial(soft_overlong, max_length=20480, cache=4096),
    keep=dynamic_sampling,
    loss=partial(ppo_clip_loss, clip_low=0.2, clip_high=0.28),
    kl_coef=0.0,
    aggregation="token-mean",
    sources=GRPO.sources
    | {
        "length_penalty": "eq. 13; sec. 4.1: L_max = 20480, L_cache = 4096",
        "keep": "eq. 11: 0 < number correct < G",
        "loss": "eq. 10, clip-higher; values of sec. 4.1",
        "kl_coef": "sec. 2.3: removed",
        **NO_KL,
        "aggregation": "eq. 12, token-level loss",
    },
)

GSPO = replace(
    GRPO,
    name="GSPO",
    paper="Zheng et al. 2025",
    url="https://arxiv.org/abs/2507.18071",
    log_ratio=sequence_log_ratio,
    loss=partial(ppo_clip_loss, clip_low=3e-4, clip_high=4e-4),
    kl_coef=0.0,
    sources=GRPO.sources
    | {
        "log_ratio": "eq. 7: geometric mean of the token ratios",
        "loss": "eq. 5, ranges of sec. 5.1",
        "kl_coef": "eq. 5 leaves it out 'for brevity'; 0 in TRL's and verl's recipes",
        **NO_KL,
        "aggregation": "eq. 5: mean over sequences",
    },
)

CISPO = replace(
    GRPO,
    name="CISPO",
    paper="MiniMax-M1 2025",
    url="https://arxiv.org/abs/2506.13585",
    loss=partial(cispo_loss, clip_low=None, clip_high=4.0),
    kl_coef=0.0,
    aggregation="token-mean",
    sources=GRPO.sources
    | {
        "length_penalty": "left out here; sec. 3.1 also takes DAPO's",
        "keep": "left out here; sec. 3.1 also takes DAPO's dynamic sampling",
        "loss": "eq. 4-5, no lower bound; upper bound 5 as TRL advises (paper: tuned)",
        "kl_coef": "sec. 3.1: no KL penalty",
        **NO_KL,
        "aggregation": "eq. 4: 1 / sum_i |o_i|",
    },
)

BAPO = replace(
    GRPO,
    name="BAPO",
    paper="Xi et al. 2025",
    url="https://arxiv.org/abs/2510.18927",
    clip_rule=partial(balanced_clip, target=0.4, low=(0.6, 0.9), high=(1.2, 3.0)),
    kl_coef=0.0,
    aggregation="token-mean",
    sources=GRPO.sources
    | {
        "loss": "the clipped loss; clip_rule replaces its range at every step",
        "keep": "Algorithm 1 speaks of a filter, and gives no rule",
        "clip_rule": "Algorithm 1, values of sec. 5.1; un-clipped tokens for eq. 8",
        "kl_coef": "the objective of Algorithm 1 has none",
        **NO_KL,
        "aggregation": "verl's default, which the authors' repository keeps",
    },
)

STARPO = replace(
    GRPO,
    name="StarPO",
    paper="RAGEN, Wang et al. 2025",
    url="https://arxiv.org/abs/2504.20073",
    kl_coef=0.001,
    kl_estimator="k1",
    kl_in="reward",
    entropy_coef=0.001,
    sources=GRPO.sources
    | {
        "credit": "the trajectory of all turns; with_critic gives the PPO variant",
        "kl_coef": "appendix C.2",
        "kl_estimator": "appendix C.2",
        "kl_in": "C.2: no KL loss term; k1 in a loss has expected gradient 0",
        "entropy_coef": "appendix C.2",
        "aggregation": "the paper's formula, over sampled tokens only",
    },
)

STARPO_S = replace(
    STARPO,
    name="StarPO-S",
    keep=partial(top_variance, keep=0.25),
    loss=partial(ppo_clip_loss, clip_low=0.2, clip_high=0.28),
    kl_coef=0.0,
    sources=STARPO.sources
    | {
        "keep": "top 25 % of the prompt groups by reward std",
        "loss": "clip-higher, appendix D",
        "kl_coef": "removed, appendix D",
        **NO_KL,
    },
)

ALGORITHMS = {
    row.name: row
    for row in (
        REINFORCE,
        RLOO,
        PPO,
        GRPO,
        DR_GRPO,
        DAPO,
        GSPO,
        CISPO,
        BAPO,
        STARPO,
        STARPO_S,
    )
}


def with_critic(row: Algorithm, *, credit: str = "token") -> Algorithm:
    """The same row with PPO's critic instead of a group baseline 换成价值网络.

    `with_critic(ALGORITHMS["StarPO"])` is StarPO with PPO (gamma = lambda = 1, paper
    appendix C.2); `credit="turn"` makes it bi-level GAE.

    Args:
        row: an entry of ALGORITHMS.
        credit: "token" or "turn".

    Returns:
        A row with its own name; everything else is as in `row`.

    Raises:
        ValueError: any other unit of credit.

    >>> with_critic(STARPO).name
    'StarPO + critic'
    """
    require(credit in ("token", "turn"), "credit", '"token" or "turn"', credit)
    estimate, source = {
        "token": (
            partial(gae, gamma=1.0, lam=1.0),
            "RAGEN C.2: gamma = lambda = 1",
        ),
        "turn": (
            partial(turn_gae, gamma=1.0, lam=1.0, turn_gamma=0.95),
            "RAGEN C.2: gamma = lambda = 1; turn_gamma 0.95 as in its repository",
        ),
    }[credit]
    changed = ("whiten", "value_coef", "value_clip")
    return replace(
        row,
        name=f"{row.name} + critic" if credit == "token" else f"{row.name} + turns",
        credit=credit,
        advantage=estimate,
        whiten=PPO.whiten,
        value_coef=PPO.value_coef,
        value_clip=PPO.value_clip,
        sources=row.sources
        | {name: f"as PPO: {PPO.sources[name]}" for name in changed}
        | {"credit": "a critic judges every " + credit}
        | {"advantage": source},
    )


def with_turn_groups(row: Algorithm) -> Algorithm:
    """The same row with credit per turn inside the group, no critic 组内按轮计分.

    Args:
        row: an entry of ALGORITHMS without a critic.

    Returns:
        A row with its own name; everything else is as in `row`.

    Raises:
        ValueError: a row with a critic.

    >>> with_turn_groups(STARPO).name
    'StarPO + turn groups'
    """
    require(not row.critic, "row", "a row without a critic", row.name)
    return replace(
        row,
        name=f"{row.name} + turn groups",
        credit="turn-group",
        advantage=partial(group_turns, scale=True, eps=1e-6),
        sources=row.sources
        | {
            "credit": "every turn is a step of process supervision",
            "advantage": "DeepSeekMath sec. 4.1.3; sample std and eps as GRPO",
        },
    )


# ---- what is done with a row ---------------------------------------------------


def needed(name: str, value, row: Algorithm, mask: TokenMask | None = None):
    """What the row cannot do without; with a mask, floats of its shape."""
    require(value is not None, name, f"given for {row.name}", value)
    if mask is not None:
        tensor(name, value, FLOATS, "floats", like=mask)
        (value,) = floats(value=value)
    return value


def shaped_rewards(
    row: Algorithm,
    rewards: PerToken,
    mask: TokenMask,
    *,
    log_probs: PerToken | None = None,
    ref_log_probs: PerToken | None = None,
) -> PerToken:
    """Rewards with what the row adds to them 奖励整形: length penalty and KL.

        r_t - kl_coef * KL_t,  and the length penalty on the last live token

    Args:
        row: an entry of ALGORITHMS.
        rewards: on the token that earned them, 0 where masked.
        mask: True where the policy chose the token.
        log_probs: under the policy that sampled; needed with a KL in the reward.
        ref_log_probs: under the frozen reference; likewise.

    Returns:
        Rewards per token; the same ones if the row adds nothing.

    Raises:
        ValueError: log-probs missing, shapes, dtypes.

    >>> rewards, mask = torch.zeros(1, 3), torch.tensor([[True, True, False]])
    >>> penalty = partial(soft_overlong, max_length=2, cache=1)
    >>> shaped_rewards(replace(DAPO, length_penalty=penalty), rewards, mask)
    tensor([[ 0., -1.,  0.]])
    """
    (rewards,) = floats(2, rewards=rewards)
    mask = token_mask(mask, rewards)
    if row.length_penalty is not None:
        penalty = row.length_penalty(mask.sum(1)).to(rewards.dtype)
        last = mask & (mask.flip(1).cumsum(1).flip(1) == 1)
        rewards = torch.where(last, rewards + penalty[:, None], rewards)
    if row.kl_coef and row.kl_in == "reward":
        rewards = rewards - row.kl_coef * masked_kl(row, log_probs, ref_log_probs, mask)
    return rewards.detach()


def masked_kl(row, log_probs, ref_log_probs, mask) -> PerToken:
    """The row's KL penalty per token, 0 where masked."""
    log_probs = needed("log_probs", log_probs, row, mask)
    ref = needed("ref_log_probs", ref_log_probs, row, mask)
    log_probs, ref = torch.where(mask, log_probs, 0), torch.where(mask, ref, 0)
    return kl_penalty(log_probs, ref, row.kl_estimator)


def token_advantages(
    row: Algorithm,
    rewards: PerToken,
    mask: TokenMask,
    *,
    groups: GroupIds | None = None,
    values: PerToken | None = None,
    last_values: PerSequence | None = None,
    turn_ends: TokenMask | None = None,
) -> PerToken:
    """One advantage per token, as the row says 每个词元的优势.

    Credit per sequence: the reward of the row of tokens, compared within its group, on
    every live token. Credit per turn-group: what the turns from here on earned,
    compared within the group. Credit per token or turn: GAE. Where credit goes by
    turns, what was earned inside a turn (a KL penalty) counts at its end.

    Call it once per rollout, on the whole batch; then values + advantages are the
    critic's targets, and `masked_whiten` follows if `row.whiten`.

    Args:
        row: an entry of ALGORITHMS.
        rewards: on the token that earned them, 0 where masked.
        mask: True where the policy chose the token.
        groups: which prompt a sequence answers; needed without a critic.
        values: the critic's, when the batch was sampled; needed otherwise.
        last_values: V after truncated rows, 0 for terminated ones (credit per token).
        turn_ends: True on the last token of each turn; needed where credit goes by
            turns.

    Returns:
        Advantages, 0 where masked, not whitened, without gradient.

    Raises:
        ValueError: a tensor the row needs is missing, or any stage's own.

    >>> rewards = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    >>> token_advantages(DR_GRPO, rewards, rewards < 2, groups=torch.tensor([0, 0]))
    tensor([[ 0.5000,  0.5000],
            [-0.5000, -0.5000]])
    """
    (rewards,) = floats(2, rewards=rewards)
    mask = token_mask(mask, rewards)
    if row.credit == "sequence":
        rewards_only_where(mask, rewards, "live tokens")
        scores = row.advantage(rewards.sum(1), needed("groups", groups, row))
        return torch.where(mask, scores[:, None], 0)
    if row.credit in ("turn", "turn-group"):
        ends = token_mask(needed("turn_ends", turn_ends, row), rewards, "turn_ends")
        rewards_only_where(mask, rewards, "live tokens")
        rewards = per_turn(rewards, ends)
    if row.credit == "turn-group":
        return row.advantage(rewards, mask, ends, needed("groups", groups, row))
    values = needed("values", values, row)
    if row.credit == "turn":
        return row.advantage(rewards, values, mask, ends)
    return row.advantage(rewards, values, mask, last_values=last_values)


def per_turn(rewards: PerToken, turn_ends: TokenMask) -> PerToken:
    """Everything a turn earned, on its last token; nothing may follow the last turn.

    >>> ends = torch.tensor([[False, True, False, True]])
    >>> per_turn(torch.tensor([[1.0, 2.0, 0.0, 4.0]]), ends)
    tensor([[0., 3., 0., 4.]])
    """
    turn = turn_ends.cumsum(1) - turn_ends.long()
    sums = torch.zeros(len(rewards), rewards.shape[1] + 1, dtype=rewards.dtype)
    sums = sums.scatter_add(1, turn, rewards)
    return torch.where(turn_ends, sums.gather(1, turn), 0)


def policy_loss(
    row: Algorithm,
    log_probs: PerToken,
    old_log_probs: PerToken,
    advantages: PerToken,
    mask: TokenMask,
    *,
    ref_log_probs: PerToken | None = None,
    entropies: PerToken | None = None,
    max_length: float | None = None,
    denominator: float | None = None,
) -> Scalar:
    """The loss whose gradient is the row's policy gradient 策略损失, stage by stage.

    Args:
        row: an entry of ALGORITHMS.
        log_probs: of the sampled tokens, under the policy being trained.
        old_log_probs: under the policy that sampled.
        advantages: from `token_advantages`.
        mask: True where the policy chose the token.
        ref_log_probs: under the frozen reference; needed with a KL in the loss.
        entropies: per token; needed if the row has an entropy bonus.
        max_length: the generation budget; needed by "seq-mean-token-sum-norm".
        denominator: `loss_denominator` of the whole optimizer step, for micro-batches.

    Returns:
        A scalar attached to the graph.

    Raises:
        ValueError: a tensor the row needs is missing, or any stage's own.

    Easy to break: without `denominator` micro-batch losses do not add up.

    >>> log_probs, advantages = -torch.ones(2, 1), torch.tensor([[2.0], [-1.0]])
    >>> policy_loss(DAPO, log_probs, log_probs, advantages, log_probs < 0)
    tensor(-0.5000)
    """
    log_probs, advantages = floats(2, log_probs=log_probs, advantages=advantages)
    mask = token_mask(mask, log_probs)
    advantages = torch.where(mask, advantages, 0)
    log_ratio = row.log_ratio(log_probs, old_log_probs, mask)
    clip = clip_range(row, log_ratio, advantages, mask)
    loss = row.loss(log_probs, log_ratio, advantages, **clip)
    if row.kl_coef and row.kl_in == "loss":
        loss = loss + row.kl_coef * masked_kl(row, log_probs, ref_log_probs, mask)
    if row.entropy_coef:
        loss = loss - row.entropy_coef * needed("entropies", entropies, row, mask)
    constant = max_length if AGGREGATIONS[row.aggregation].row == "max_length" else None
    return aggregate_loss(
        loss, mask, row.aggregation, max_length=constant, denominator=denominator
    )


def clip_range(row, log_ratio, advantages, mask) -> dict[str, float]:
    """The clip range of this step if the row has a rule for it, else the loss's own."""
    if row.clip_rule is None:
        return {}
    clip_low, clip_high = row.clip_rule(log_ratio, advantages, mask)
    return {"clip_low": clip_low, "clip_high": clip_high}
