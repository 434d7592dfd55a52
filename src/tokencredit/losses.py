"""Losses per token 损失: what a policy (or a critic) should do less of.

All policy losses take (log_probs, log_ratio, advantages) and are minimised.
"""

from __future__ import annotations

import math

import torch

from .checks import floats, number, require, token_mask
from .shapes import PerToken, TokenMask


def policy_inputs(log_probs, log_ratio, advantages):
    """The three arguments all policy losses share; advantages carry no gradient."""
    log_probs, log_ratio, advantages = floats(
        log_probs=log_probs, log_ratio=log_ratio, advantages=advantages
    )
    return log_probs, log_ratio, advantages.detach()


def log_bounds(clip_low, clip_high):
    """Logs of the bounds 1 - clip_low and 1 + clip_high on the ratio."""
    low = 1 - number("clip_low", clip_low)
    high = 1 + number("clip_high", clip_high)
    return math.log(low) if low > 0 else -math.inf, math.log(high)


def reinforce_loss(
    log_probs: PerToken, log_ratio: PerToken, advantages: PerToken
) -> PerToken:
    """REINFORCE 策略梯度损失 (Williams 1992): loss = -A log pi.

    Right on fresh samples only: `log_ratio` is ignored.

    Args:
        log_probs: under the policy being trained.
        log_ratio: taken so that all policy losses are called alike.
        advantages: constants; the sign says which way to push.

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float.

    Easy to break: the value of this loss means nothing, only its gradient does.

    >>> x = torch.tensor([[-1.0, -2.0]])
    >>> reinforce_loss(x, torch.zeros(1, 2), torch.tensor([[1.0, -1.0]]))
    tensor([[ 1., -2.]])
    """
    log_probs, _, advantages = policy_inputs(log_probs, log_ratio, advantages)
    return -advantages * log_probs


def ppo_clip_loss(
    log_probs: PerToken,
    log_ratio: PerToken,
    advantages: PerToken,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float | None = None,
) -> PerToken:
    """PPO's clipped loss 裁剪损失 (1707.06347 eq. 7).

        loss = -min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A)

    The minimum caps rho from above where A >= 0 and from below where A < 0, so the
    ratio is clipped on that side alone, in logs: a clipped token gives exactly no
    gradient, however large its ratio. `dual_clip` c (1912.09729) caps rho at c where
    A < 0. Limit: at rho = 1 the gradient is that of REINFORCE.

    Args:
        log_probs: unused here; all policy losses are called alike.
        log_ratio: log rho, from a ratio function.
        advantages: constants.
        clip_low: the lower bound is 1 - clip_low.
        clip_high: the upper bound is 1 + clip_high (DAPO: 0.28, "clip-higher").
        dual_clip: c > 1, or None.

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float, negative clip, dual_clip <= 1.

    Easy to break: rho > 1 + clip_high with A < 0 is not clipped.

    >>> log_ratio = torch.tensor([[0.5, 1.5]]).log()
    >>> ppo_clip_loss(log_ratio, log_ratio, torch.tensor([[1.0, 1.0]]))
    tensor([[-0.5000, -1.2000]])
    >>> ppo_clip_loss(log_ratio, log_ratio, torch.tensor([[-1.0, -1.0]]))
    tensor([[0.8000, 1.5000]])
    """
    _, log_ratio, advantages = policy_inputs(log_probs, log_ratio, advantages)
    low, high = log_bounds(clip_low, clip_high)
    ceiling = math.inf
    if dual_clip is not None:
        ceiling = math.log(number("dual_clip", dual_clip, 1, open_low=True))
    with torch.no_grad():
        good, bad = log_ratio.clamp(max=high), log_ratio.clamp(low, ceiling)
        capped = torch.where(advantages >= 0, good, bad)
        clipped = capped != log_ratio
    log_ratio = torch.where(clipped, capped, log_ratio)  # a clipped token is a constant
    return -advantages * log_ratio.exp()


def cispo_loss(
    log_probs: PerToken,
    log_ratio: PerToken,
    advantages: PerToken,
    *,
    clip_low: float | None = None,
    clip_high: float = 4.0,
) -> PerToken:
    """CISPO 裁剪重要性采样权重的损失 (2506.13585 eq. 4-5).

        loss = -sg[clip(rho, 1 - clip_low, 1 + clip_high)] A log pi

    The weight is clipped, the token is not: every token keeps a gradient. Limit:
    inside the bounds the gradient is PPO's.

    Args:
        log_probs: under the policy being trained.
        log_ratio: log rho, from a ratio function; carries no gradient here.
        advantages: constants.
        clip_low: the lower bound is 1 - clip_low; None means none.
        clip_high: the upper bound is 1 + clip_high.

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float, negative clip.

    Easy to break: the value depends on log pi, not on a ratio; do not plot it.

    >>> log_probs, log_ratio = torch.tensor([[-1.0]]), torch.tensor([[9.0]]).log()
    >>> cispo_loss(log_probs, log_ratio, torch.tensor([[1.0]]))
    tensor([[5.]])
    """
    inputs = policy_inputs(log_probs, log_ratio, advantages)
    log_probs, log_ratio, advantages = inputs
    low, high = log_bounds(1.0 if clip_low is None else clip_low, clip_high)
    weight = log_ratio.detach().clamp(low, high).exp()
    return -weight * advantages * log_probs


def value_loss(
    values: PerToken,
    old_values: PerToken,
    returns: PerToken,
    *,
    clip: float | None = None,
) -> PerToken:
    """Loss of the critic 价值损失: half the squared error, clipped if asked.

        loss = 1/2 max((V - R)^2, (V_old + clip(V - V_old, -c, c) - R)^2)

    Args:
        values: the critic being trained.
        old_values: its output when the batch was sampled; only used with `clip`.
        returns: targets, gae(...) + old values; constants.
        clip: c >= 0, in the units of the values, or None for the plain square.

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float, negative clip.

    Easy to break: regressing on whitened advantages, or on advantages at all.

    >>> v, old, target = (torch.tensor([[x]]) for x in (2.0, 0.0, 3.0))
    >>> value_loss(v, old, target), value_loss(v, old, target, clip=0.5)
    (tensor([[0.5000]]), tensor([[3.1250]]))
    """
    values, old, returns = floats(values=values, old_values=old_values, returns=returns)
    old, returns = old.detach(), returns.detach()
    error = (values - returns).square()
    if clip is not None:
        clip = number("clip", clip)
        near = old + (values - old).clamp(-clip, clip)
        error = torch.maximum(error, (near - returns).square())
    return error / 2


def balanced_clip(
    log_ratio: PerToken,
    advantages: PerToken,
    mask: TokenMask,
    *,
    target: float = 0.4,
    low: tuple[float, float] = (0.6, 0.9),
    high: tuple[float, float] = (1.2, 3.0),
    low_step: float = 0.02,
    high_step: float = 0.05,
) -> tuple[float, float]:
    """BAPO's adaptive bounds 自适应裁剪 (2510.18927 Algorithm 1).

        share = pos / (pos + neg),  sums of |rho A| over the un-clipped tokens:
        pos: A > 0 and rho < high,  neg: A < 0 and rho > low

    (Eq. 8 of the paper weights by the sampler's probability besides, and keeps the
    clipped tokens at their clipped value.)

    While the share is below the target, first raise the upper bound step by step,
    then the lower one. Limit: with nothing to count the bounds stay at their start.

    Args:
        log_ratio: log rho per token.
        advantages: constants.
        mask: True where the policy chose the token.
        target: share of positive tokens to reach (rho_0 = 0.4 in the paper).
        low: start and end of the lower bound on rho, in [0, 1].
        high: start and end of the upper bound on rho, 1 or more.
        low_step: step of the lower bound.
        high_step: step of the upper bound.

    Returns:
        (clip_low, clip_high), distances from 1, ready for `ppo_clip_loss`; both NaN,
        which it refuses, if a live token holds a NaN.

    Raises:
        ValueError: shapes, dtypes, start > end, a step <= 0.

    Easy to break: adding 0.02 in floats takes 14 steps from 0.6 to 0.9, not 15.

    >>> log_ratio = torch.tensor([[1.5, 0.7, 0.7]]).log()
    >>> bounds = balanced_clip(log_ratio, torch.tensor([[1.0, -1, -1]]), log_ratio < 9)
    >>> [round(bound, 2) for bound in bounds]
    [0.4, 0.55]
    """
    log_ratio, advantages = floats(2, log_ratio=log_ratio, advantages=advantages)
    mask = token_mask(mask, log_ratio)
    target = number("target", target, 0, 1)
    lows = bound_steps("low", low, low_step, 0, 1)
    highs = bound_steps("high", high, high_step, 1, math.inf)
    ratio, live = log_ratio.detach()[mask].double().exp(), advantages.detach()[mask]
    weight = (ratio * live).abs()
    if weight.isnan().any():
        return math.nan, math.nan

    def reached(lower, upper):
        pos = weight[(live > 0) & (ratio < upper)].sum().item()
        neg = weight[(live < 0) & (ratio > lower)].sum().item()
        return pos + neg == 0 or pos / (pos + neg) >= target

    upper = next((h for h in highs if reached(lows[0], h)), highs[-1])
    lower = next((b for b in lows if reached(b, upper)), lows[-1])
    return 1 - lower, upper - 1


def bound_steps(name, ends, step, least, most):
    """start, start + step, ...: round((end - start) / step) whole steps.

    >>> len(bound_steps("low", (0.6, 0.9), 0.02, 0, 1))
    16
    """
    pair = isinstance(ends, tuple | list) and len(ends) == 2
    require(pair, name, "a pair (start, end)", ends)
    start, end = (number(name, value, least, most) for value in ends)
    require(start <= end, name, "a pair with start <= end", ends)
    step = number(f"{name}_step", step, open_low=True)
    return [start + step * k for k in range(round((end - start) / step) + 1)]
