"""Diagnostics 诊断: functions of the same tensors as the loss, read beside it.

`DIAGNOSTICS` has the formula, the healthy range and the symptom of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch

from tokencredit.credit.groups import group_rewards
from tokencredit.tensors.checks import floats, token_mask
from tokencredit.tensors.masks import masked_mean
from tokencredit.tensors.shapes import (
    GroupIds,
    PerSequence,
    PerToken,
    Scalar,
    TokenMask,
)
from tokencredit.weight.kl import kl_penalty
from tokencredit.weight.losses import log_bounds


class Sides(NamedTuple):
    """A number for either side of the ratio."""

    low: Scalar
    high: Scalar


def detached(mask, **tensors):
    """Checked, without gradient, and the mask as the last of them."""
    inputs = [x.detach() for x in floats(2, **tensors)]
    return [*inputs, token_mask(mask, inputs[0])]


def clip_fraction(
    log_ratio: PerToken,
    advantages: PerToken,
    mask: TokenMask,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
) -> Sides:
    """Share of live tokens whose gradient PPO's clip removes 裁剪比例, by side.

        low:  A < 0 and rho < 1 - clip_low,    high: A > 0 and rho > 1 + clip_high

    Args:
        log_ratio: log rho per token.
        advantages: the ones in the loss.
        mask: True where the policy chose the token.
        clip_low: as in `ppo_clip_loss`.
        clip_high: as in `ppo_clip_loss`.

    Returns:
        (low, high), 0 when nothing is live.

    Raises:
        ValueError: shapes, dtypes, clip_low outside [0, 1], clip_high < 0.

    Easy to break: rho outside the range is not yet clipped; the sign of A decides.

    >>> log_ratio = torch.tensor([[2.0, 2.0, 0.5, 1.0]]).log()
    >>> advantages = torch.tensor([[1.0, -1.0, -1.0, 1.0]])
    >>> [x.item() for x in clip_fraction(log_ratio, advantages, log_ratio < 9)]
    [0.25, 0.25]
    """
    log_ratio, advantages, mask = detached(
        mask, log_ratio=log_ratio, advantages=advantages
    )
    low, high = log_bounds(clip_low, clip_high)
    unknown = (log_ratio + advantages).isnan()  # a NaN must show, not count as inside
    cut_low = (advantages < 0) & (log_ratio < low)
    cut_high = (advantages > 0) & (log_ratio > high)
    return Sides(
        *(
            masked_mean(cut.to(log_ratio.dtype).masked_fill(unknown, math.nan), mask)
            for cut in (cut_low, cut_high)
        )
    )


def approximate_kl(log_ratio: PerToken, mask: TokenMask) -> Scalar:
    """KL(pi_old || pi) from the sampled tokens 近似 KL.

        mean of rho - 1 - log rho  (k3, with samples from pi_old; never negative)

    Args:
        log_ratio: log rho per token.
        mask: True where the policy chose the token.

    Returns:
        A number in nats per token, 0 when nothing is live.

    Raises:
        ValueError: shapes, dtypes.

    >>> approximate_kl(torch.zeros(1, 2), torch.ones(1, 2) > 0)
    tensor(0.)
    """
    log_ratio, mask = detached(mask, log_ratio=log_ratio)
    per_token = kl_penalty(torch.zeros_like(log_ratio), log_ratio, "k3")
    return masked_mean(per_token, mask)


def mean_entropy(entropies: PerToken, mask: TokenMask) -> Scalar:
    """Mean entropy of the policy where it chose 平均熵, in nats.

    Args:
        entropies: from `entropy`, per token.
        mask: True where the policy chose the token.

    Returns:
        A number in [0, log V], 0 when nothing is live.

    Raises:
        ValueError: shapes, dtypes.

    >>> mean_entropy(torch.tensor([[1.0, 3.0]]), torch.ones(1, 2) > 0)
    tensor(2.)
    """
    entropies, mask = detached(mask, entropies=entropies)
    return masked_mean(entropies, mask)


def explained_variance(values: PerToken, returns: PerToken, mask: TokenMask) -> Scalar:
    """Share of the returns' variance that the critic explains 解释方差.

        1 - var(R - V) / var(R)

    Limits: 1 where returns and values differ by a constant (the exact critic of a
    random outcome gets less), 0 for a constant critic, negative for one that is worse
    than a constant. Equal returns leave nothing to explain: 0.

    Args:
        values: the critic's.
        returns: its targets, gae(...) + values.
        mask: True where the policy chose the token.

    Returns:
        A number of at most 1.

    Raises:
        ValueError: shapes, dtypes.

    >>> returns = torch.tensor([[1.0, 2.0, 3.0]])
    >>> explained_variance(returns + 5, returns, returns > 0)
    tensor(1.)
    """
    values, returns, mask = detached(mask, values=values, returns=returns)

    def variance(x):
        return masked_mean((x - masked_mean(x, mask)).square(), mask)

    whole, left = variance(returns), variance(returns - values)
    return torch.where(whole == 0, 0 * left, 1 - left / whole)


def ratio_range(log_ratio: PerToken, mask: TokenMask) -> Sides:
    """Smallest and largest importance ratio 比率的最小值与最大值.

    Args:
        log_ratio: log rho per token.
        mask: True where the policy chose the token.

    Returns:
        (low, high); 1 and 1 when nothing is live.

    Raises:
        ValueError: shapes, dtypes.

    >>> low, high = ratio_range(torch.tensor([[0.5, 2.0]]).log(), torch.ones(1, 2) > 0)
    >>> low, high
    (tensor(0.5000), tensor(2.))
    """
    log_ratio, mask = detached(mask, log_ratio=log_ratio)
    if not mask.any():
        return Sides(log_ratio.new_ones(()), log_ratio.new_ones(()))
    low, high = log_ratio[mask].aminmax()
    return Sides(low.exp(), high.exp())


def effective_sample_size(log_ratio: PerToken, mask: TokenMask) -> Scalar:
    """Effective sample size 有效样本量, as a share of the live tokens.

        (sum rho)^2 / (N sum rho^2)

    Limits: 1 when all ratios are equal, 1/N when one outweighs the rest.

    Args:
        log_ratio: log rho per token.
        mask: True where the policy chose the token.

    Returns:
        A number in (0, 1], 0 when nothing is live.

    Raises:
        ValueError: shapes, dtypes.

    >>> effective_sample_size(torch.tensor([[0.0, -99.0]]), torch.ones(1, 2) > 0)
    tensor(0.5000)
    """
    log_ratio, mask = detached(mask, log_ratio=log_ratio)
    share = log_ratio[mask].softmax(0)  # the scale of the ratios cancels
    return 1 / (share.square().sum() * share.numel()) if len(share) else share.sum()


def group_reward_std(
    rewards: PerSequence, groups: GroupIds, *, missing: str = "refuse"
) -> Scalar:
    """Mean over the groups of the std of their rewards 组内奖励标准差.

    Args:
        rewards: one per sequence, finite.
        groups: which prompt each sequence answers.
        missing: "refuse" a NaN, or "leave out" such a response, which has no verdict;
            a group without a verdict is none.

    Returns:
        A number in units of the reward, 0 without groups; a group of one counts as 0.

    Raises:
        ValueError: NaN or infinite rewards (the place is named), ids of the wrong
            length.

    >>> group_reward_std(torch.tensor([1.0, 1.0, 3.0]), torch.tensor([0, 1, 1]))
    tensor(0.7071)
    """
    (checked,) = floats(1, rewards=rewards)
    std = judged_std(rewards, groups, missing)
    return (std.sum() / max(len(std), 1)).to(checked.dtype)


def judged_std(rewards, groups, missing):
    """Std of the rewards of each group that has a verdict."""
    _, size, _, std = group_rewards(rewards, groups, missing)
    return std[size > 0]


def zero_variance_share(
    rewards: PerSequence, groups: GroupIds, *, missing: str = "refuse"
) -> Scalar:
    """Share of the groups whose rewards are all equal 零方差组占比.

    Args:
        rewards: one per sequence, finite.
        groups: which prompt each sequence answers.
        missing: "refuse" a NaN, or "leave out" such a response, which has no verdict;
            a group without a verdict is none.

    Returns:
        A number in [0, 1], 0 without groups.

    Raises:
        ValueError: NaN or infinite rewards (the place is named), ids of the wrong
            length.

    >>> zero_variance_share(torch.tensor([1.0, 1.0, 3.0]), torch.tensor([0, 1, 1]))
    tensor(0.5000)
    """
    (checked,) = floats(1, rewards=rewards)
    std = judged_std(rewards, groups, missing)
    return ((std == 0).double().sum() / max(len(std), 1)).to(checked.dtype)


def no_gradient_share(
    gradient: PerToken, advantages: PerToken, mask: TokenMask
) -> Scalar:
    """Share of tokens with an advantage whose gradient is 0 零梯度词元占比.

    The cause may be a clip, a filter or a gate. Unlike `clip_fraction` it needs no
    formula of the loss.

    Args:
        gradient: of the loss with respect to the log-probs.
        advantages: the ones in the loss.
        mask: True where the policy chose the token.

    Returns:
        A number in [0, 1], 0 when no live token has an advantage.

    Raises:
        ValueError: shapes, dtypes.

    >>> gradient = torch.tensor([[0.0, -0.5, 0.0]])
    >>> advantages = torch.tensor([[1.0, 1.0, 0.0]])
    >>> no_gradient_share(gradient, advantages, gradient < 9)
    tensor(0.5000)
    """
    gradient, advantages, mask = detached(
        mask, gradient=gradient, advantages=advantages
    )
    zero = (gradient == 0).to(gradient.dtype)
    zero = zero.masked_fill((gradient + advantages).isnan(), math.nan)
    return masked_mean(zero, mask & (advantages != 0))


def reference_distance(
    log_probs: PerToken, ref_log_probs: PerToken, mask: TokenMask
) -> Scalar:
    """Distance to the reference policy per response 与参考策略的距离.

        mean over responses of sum_t (log pi - log pi_ref)   (k1, with samples from pi)

    Args:
        log_probs: under the policy that sampled.
        ref_log_probs: under the frozen reference.
        mask: True where the policy chose the token.

    Returns:
        A number in nats per response, 0 without responses; it can be negative by
        chance.

    Raises:
        ValueError: shapes, dtypes.

    >>> log_probs = torch.tensor([[-1.0, -1.0]])
    >>> reference_distance(log_probs, log_probs - 0.5, log_probs < 0)
    tensor(1.)
    """
    log_probs, ref, mask = detached(
        mask, log_probs=log_probs, ref_log_probs=ref_log_probs
    )
    return torch.where(mask, log_probs - ref, 0).sum() / max(len(mask), 1)


def value_error(values: PerToken, returns: PerToken, mask: TokenMask) -> Scalar:
    """Mean squared error of the critic 价值误差.

    Args:
        values: the critic's, when the batch was sampled.
        returns: the return from each token on.
        mask: True where the policy chose the token.

    Returns:
        A number of at least 0.

    Raises:
        ValueError: shapes, dtypes.

    >>> value_error(torch.tensor([[0.5]]), torch.tensor([[1.0]]), torch.ones(1, 1) > 0)
    tensor(0.2500)
    """
    values, returns, mask = detached(mask, values=values, returns=returns)
    return masked_mean((values - returns).square(), mask)


@dataclass(frozen=True)
class Diagnostic:
    """One row of the symptom index 一项诊断, words in both languages."""

    function: Callable
    formula: str
    healthy: Mapping[str, str]
    symptom: Mapping[str, str]


DIAGNOSTICS = {
    "clip_fraction": Diagnostic(
        clip_fraction,
        "low: mean[A < 0, rho < 1 - clip_low]; high: mean[A > 0, rho > 1 + clip_high]",
        {
            "zh": "第一步为 0；之后在本书的实验里每侧 0.01 到 0.2；大模型用 1e-6 的"
            "学习率，两侧合计常常只有千分之一上下",
            "en": "0 on the first step; then 0.01 to 0.2 on either side in this book's "
            "runs; with large models at a learning rate of 1e-6 often only about a "
            "thousandth, both sides together",
        },
        {
            "zh": "一直是 0：每批只更新一步，或更新太小；超过 0.3：更新太大或样本太旧",
            "en": "always 0: one update per batch, or tiny ones; above 0.3: "
            "updates too large or samples too old",
        },
    ),
    "approximate_kl": Diagnostic(
        approximate_kl,
        "mean(rho - 1 - log rho)",
        {
            "zh": "本书的实验里每次更新 0.001 到 0.02；大模型用 1e-6 的学习率"
            "常常不到 0.0005",
            "en": "0.001 to 0.02 per update in this book's runs; with large models at "
            "a learning rate of 1e-6 often below 0.0005",
        },
        {
            "zh": "第一步就大于 0：采样与训练的温度、top-p 或引擎不一致",
            "en": "above 0 on the first step: sampler and trainer disagree about "
            "temperature, top-p or engine",
        },
    ),
    "mean_entropy": Diagnostic(
        mean_entropy,
        "mean of -sum_v p_v log p_v",
        {
            "zh": "缓慢下降，但不降到 0；上限 log V",
            "en": "falls slowly, never to 0; at most log V",
        },
        {
            "zh": "掉到 0：不再探索，同组奖励全相等；升向 log V：熵系数压过了信号",
            "en": "drops to 0: no exploration, equal rewards in a group; climbs to "
            "log V: the entropy bonus outweighs the signal",
        },
    ),
    "explained_variance": Diagnostic(
        explained_variance,
        "1 - var(R - V) / var(R)",
        {
            "zh": "从 0 升起，升多高看任务",
            "en": "rises from 0, how far depends on the task",
        },
        {
            "zh": "负数：价值网络不如常数，目标用错（如白化后的优势）或学习率太大",
            "en": "negative: the critic is worse than a constant; wrong target (such "
            "as whitened advantages) or too large a learning rate",
        },
    ),
    "ratio_range": Diagnostic(
        ratio_range,
        "min rho, max rho",
        {
            "zh": "第一步都是 1；之后多数词元在 0.5 到 2，最小的和最大的在"
            "本书的实验里常到 0.2 和 3",
            "en": "both 1 on the first step; then most tokens lie in 0.5 to 2, and the "
            "extremes in this book's runs often reach 0.2 and 3",
        },
        {
            "zh": "第一步不是 1：温度不同、存下的对数概率错开一位，或旧对数概率算错",
            "en": "not 1 on the first step: another temperature, stored log-probs "
            "shifted by one, or wrong old log-probs",
        },
    ),
    "effective_sample_size": Diagnostic(
        effective_sample_size,
        "(sum rho)^2 / (N sum rho^2)",
        {"zh": "0.8 以上", "en": "above 0.8"},
        {
            "zh": "低于 0.5：少数词元决定了梯度，样本太旧",
            "en": "below 0.5: a few tokens decide the gradient; samples too old",
        },
    ),
    "group_reward_std": Diagnostic(
        group_reward_std,
        "mean over groups of the sample std of their rewards",
        {
            "zh": "0/1 奖励时 0.2 到 0.5，随成功率先升后降",
            "en": "0.2 to 0.5 with 0/1 rewards; rises, then falls as success grows",
        },
        {
            "zh": "成功率没升它却掉：可能在崩溃，同时看熵",
            "en": "falls while success does not rise: perhaps a collapse; look at "
            "the entropy as well",
        },
    ),
    "zero_variance_share": Diagnostic(
        zero_variance_share,
        "share of groups with equal rewards",
        {
            "zh": "先低于 0.5，学会以后升到 0.8 以上",
            "en": "below 0.5 at first; above 0.8 once the task is learned",
        },
        {
            "zh": "接近 1：题目全会或全不会，没有策略梯度；换题目或动态采样",
            "en": "near 1: all solved or none, so no policy gradient; change the "
            "prompts or sample dynamically",
        },
    ),
    "no_gradient_share": Diagnostic(
        no_gradient_share,
        "share of tokens with A != 0 and dL/dlog pi = 0",
        {
            "zh": "第一步为 0；之后 0.01 到 0.3；GSPO 在论文的范围下可达 0.97",
            "en": "0 on the first step; then 0.01 to 0.3; up to 0.97 for GSPO with the "
            "paper's range",
        },
        {
            "zh": "第一步就大于 0：掩码、比率或裁剪范围用错；接近 1 而不是 GSPO："
            "几乎什么也学不到",
            "en": "above 0 on the first step: a wrong mask, ratio or clip range; near "
            "1, and not GSPO: hardly anything is learned",
        },
    ),
    "reference_distance": Diagnostic(
        reference_distance,
        "mean over responses of sum_t (log pi - log pi_ref)",
        {"zh": "缓慢上升，最终停住", "en": "rises slowly and settles"},
        {
            "zh": "一直加速上升而成功率不动：在钻奖励的空子",
            "en": "rises ever faster while success stands still: the reward is being "
            "exploited",
        },
    ),
    "value_error": Diagnostic(
        value_error,
        "mean of (V - R)^2",
        {"zh": "低于回报的方差", "en": "below the variance of the returns"},
        {
            "zh": "不降：价值网络没有学到东西，GAE 的优势是噪声",
            "en": "does not fall: the critic learns nothing and GAE's advantages are "
            "noise",
        },
    ),
}
