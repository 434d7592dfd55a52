"""Losses per token 损失, of the policy and of the critic.

All losses are minimised. Most policy losses take log_probs, log_ratio and advantages;
some also take the mask, to weigh a whole response, or the sampler's log-probs, where
another engine samples.
"""

from __future__ import annotations

import math

import torch

from tokencredit.tensors.checks import choice, floats, number, require, token_mask
from tokencredit.tensors.shapes import PerToken, TokenMask

NEAR = 1e-6  # far above the rounding of float32: a smaller difference is a tie


def policy_inputs(**tensors):
    """Tensors of one shape in their common dtype, the advantages, last, detached."""
    *others, advantages = floats(**tensors)
    return *others, advantages.detach()


def log_bounds(clip_low, clip_high):
    """Logs of the bounds 1 - clip_low and 1 + clip_high on the ratio.

    A clip_low of 1 puts the lower bound at 0, which no ratio passes; there is no bound
    below that.
    """
    low = 1 - number("clip_low", clip_low, 0, 1)
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
    log_probs, _, advantages = policy_inputs(
        log_probs=log_probs, log_ratio=log_ratio, advantages=advantages
    )
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
        clip_low: the lower bound is 1 - clip_low, in [0, 1]; 1 clips nothing.
        clip_high: the upper bound is 1 + clip_high (DAPO: 0.28, "clip-higher").
        dual_clip: c > 1, or None.

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float, clip_low outside [0, 1], clip_high < 0,
            dual_clip <= 1.

    Easy to break: rho > 1 + clip_high with A < 0 is not clipped.

    >>> log_ratio = torch.tensor([[0.5, 1.5]]).log()
    >>> ppo_clip_loss(log_ratio, log_ratio, torch.tensor([[1.0, 1.0]]))
    tensor([[-0.5000, -1.2000]])
    >>> ppo_clip_loss(log_ratio, log_ratio, torch.tensor([[-1.0, -1.0]]))
    tensor([[0.8000, 1.5000]])
    """
    _, log_ratio, advantages = policy_inputs(
        log_probs=log_probs, log_ratio=log_ratio, advantages=advantages
    )
    low, high = log_bounds(clip_low, clip_high)
    ceiling = math.inf
    if dual_clip is not None:
        ceiling = math.log(number("dual_clip", dual_clip, 1, open_low=True))
    log_ratio = capped(log_ratio, advantages, low, high, ceiling)
    return -advantages * log_ratio.exp()


def capped(log_ratio, advantages, low, high, ceiling=math.inf):
    """Log-ratios with a cap on the side to which the advantage pushes.

    At most `high` where A >= 0, at least `low` (and at most `ceiling`) where A < 0; a
    token beyond its cap becomes a constant.
    """
    with torch.no_grad():
        good, bad = log_ratio.clamp(max=high), log_ratio.clamp(low, ceiling)
        cap = torch.where(advantages >= 0, good, bad)
        clipped = cap != log_ratio
    return torch.where(clipped, cap, log_ratio)


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
        clip_low: the lower bound is 1 - clip_low, in [0, 1]; None means none, like 1.
        clip_high: the upper bound is 1 + clip_high.

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float, clip_low outside [0, 1], clip_high < 0.

    Easy to break: the value depends on log pi, not on a ratio; do not plot it.

    >>> log_probs, log_ratio = torch.tensor([[-1.0]]), torch.tensor([[9.0]]).log()
    >>> cispo_loss(log_probs, log_ratio, torch.tensor([[1.0]]))
    tensor([[5.]])
    """
    log_probs, log_ratio, advantages = policy_inputs(
        log_probs=log_probs, log_ratio=log_ratio, advantages=advantages
    )
    low, high = log_bounds(1.0 if clip_low is None else clip_low, clip_high)
    weight = log_ratio.detach().clamp(low, high).exp()
    return -weight * advantages * log_probs


def gmpo_loss(
    log_ratio: PerToken,
    advantages: PerToken,
    mask: TokenMask,
    *,
    clip_low: float = 0.4,
    clip_high: float = 0.4,
) -> PerToken:
    """GMPO 几何平均的损失 (2507.20673 eq. 4): clip every token, then average in logs.

        loss = -s A,   log s = mean_t of log rho_t, capped at clip_high (A > 0) or
                               -clip_low (A < 0) as in PPO, but in logs

    One weight s per response, but a token beyond its cap no longer moves it. Limits: no
    token beyond its cap gives GSPO's s; one token gives PPO with bounds e^-clip_low and
    e^clip_high.

    Args:
        log_ratio: log rho, from `token_log_ratio`.
        advantages: constants, equal along a response.
        mask: True where the policy chose the token.
        clip_low: in nats; the lower bound on rho is exp(-clip_low).
        clip_high: in nats; the upper bound is exp(clip_high).

    Returns:
        Loss per token, equal along each response; mean it per response.

    Raises:
        ValueError: shapes differ, not float, negative clip.

    Easy to break: the bounds are logs; 0.4 allows ratios from 0.67 to 1.49.

    >>> log_ratio = torch.tensor([[0.9, -0.2]])
    >>> gmpo_loss(log_ratio, torch.ones(1, 2), log_ratio < 1)
    tensor([[-1.1052, -1.1052]])
    """
    log_ratio, advantages = policy_inputs(log_ratio=log_ratio, advantages=advantages)
    mask = token_mask(mask, log_ratio)
    low, high = -number("clip_low", clip_low), number("clip_high", clip_high)
    log_ratio, advantages = (torch.where(mask, x, 0) for x in (log_ratio, advantages))
    logs = capped(log_ratio, advantages, low, high)
    mean = logs.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return -advantages * mean.exp()


def sapo_loss(
    log_ratio: PerToken,
    advantages: PerToken,
    *,
    tau_pos: float = 1.0,
    tau_neg: float = 1.05,
) -> PerToken:
    """SAPO 软门控的损失 (2511.20347 eq. 5-6): a gate that closes slowly, on both sides.

        loss = -(4 / tau) sigmoid(tau (rho - 1)) A,   tau_pos if A > 0, else tau_neg

    Limit: at rho = 1 the gate's slope is 1, so the gradient is that of REINFORCE; far
    from 1 it goes to 0 on either side, whatever the sign of A.

    Args:
        log_ratio: log rho, from a ratio function.
        advantages: constants.
        tau_pos: how fast the gate closes where A > 0; larger is faster.
        tau_neg: likewise where A <= 0.

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float, tau_pos or tau_neg not positive.

    Easy to break: the value at rho = 1 is -2 A / tau, not -A; only the slope agrees.

    >>> loss = sapo_loss(torch.zeros(1, 2), torch.tensor([[1.0, -1.0]]))
    >>> loss.round(decimals=4)
    tensor([[-2.0000,  1.9048]])
    """
    log_ratio, advantages = policy_inputs(log_ratio=log_ratio, advantages=advantages)
    tau_pos = number("tau_pos", tau_pos, open_low=True)
    tau_neg = number("tau_neg", tau_neg, open_low=True)
    tau = torch.full_like(advantages, tau_neg).masked_fill(advantages > 0, tau_pos)
    ratio = log_ratio.clamp(max=80).exp()  # the gate is shut there; e^89 would be inf
    return -advantages * torch.sigmoid(tau * (ratio - 1)) * 4 / tau


def dppo_loss(
    log_probs: PerToken,
    log_ratio: PerToken,
    advantages: PerToken,
    *,
    diff_low: float = 0.15,
    diff_high: float = 0.15,
) -> PerToken:
    """DPPO 按概率差裁剪的损失 (2602.04879 eq. 11-13, binary total variation).

        loss = -rho A,  but a constant where A > 0 and pi - pi_old > diff_high,
                                    or A < 0 and pi - pi_old < -diff_low

    PPO limits the ratio pi / pi_old, DPPO the difference pi - pi_old: a rare token may
    rise many-fold, a frequent one may not fall by half. Limit: at rho = 1 the gradient
    is that of REINFORCE.

    Args:
        log_probs: under the policy being trained.
        log_ratio: log rho, from `token_log_ratio`.
        advantages: constants.
        diff_low: how far a probability may fall, in [0, 1].
        diff_high: how far it may rise, in [0, 1].

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float, a difference outside [0, 1].

    Easy to break: the paper's pi_old is the sampler's probability, not one computed
    again by the trainer.

    >>> new, old = torch.tensor([[0.04, 0.9]]), torch.tensor([[0.01, 0.7]])
    >>> ratio = (new / old).log()
    >>> new = new.log().requires_grad_()
    >>> dppo_loss(new, new - (new - ratio).detach(), torch.ones(1, 2)).sum().backward()
    >>> new.grad
    tensor([[-4.,  0.]])
    """
    log_probs, log_ratio, advantages = policy_inputs(
        log_probs=log_probs, log_ratio=log_ratio, advantages=advantages
    )
    low, high = (
        number(n, x, 0, 1)
        for n, x in [("diff_low", diff_low), ("diff_high", diff_high)]
    )
    with torch.no_grad():
        rise = log_probs.exp() - (log_probs - log_ratio).exp()
        out = torch.where(advantages > 0, rise > high, rise < -low)
    return -advantages * torch.where(out, log_ratio.detach(), log_ratio).exp()


def corrected_clip_loss(
    log_probs: PerToken,
    log_ratio: PerToken,
    advantages: PerToken,
    old_log_probs: PerToken,
    sampler_log_probs: PerToken,
    mask: TokenMask,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    cap: float | None = 2.0,
) -> PerToken:
    """PPO's clip times a truncated weight for the engine that sampled 训推不一致修正.

        loss = -min(w, cap) min(rho A, clip(rho) A),   w = pi_old / pi_sampler

    pi_sampler wrote the tokens (an inference engine, a stale copy); pi_old is the
    trainer's own probability of them before the update, and rho is measured from it
    (truncated importance sampling, Yao et al. 2025). Without a cap this is decoupled
    PPO (2110.00641). Limit: sampler and trainer agree, w = 1, PPO.

    Args:
        log_probs: unused here; all policy losses are called alike.
        log_ratio: log rho = log pi - log pi_old.
        advantages: constants.
        old_log_probs: the trainer's, before the update.
        sampler_log_probs: the sampler's, as it reported them.
        mask: True where the policy chose the token.
        clip_low: as in `ppo_clip_loss`.
        clip_high: as in `ppo_clip_loss`.
        cap: most that a token's weight can be, > 0; None truncates nothing.

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float, clip_low outside [0, 1], clip_high < 0,
            cap <= 0.

    Easy to break: w multiplies the clipped loss; inside the clip it would change rho.

    >>> log_ratio, live = torch.zeros(1, 2), torch.ones(1, 2) > 0
    >>> old = torch.tensor([[0.9, 0.3]]).log()
    >>> sampler = torch.tensor([[0.3, 0.6]]).log()
    >>> corrected_clip_loss(old, log_ratio, torch.ones(1, 2), old, sampler, live)
    tensor([[-2.0000, -0.5000]])
    """
    log_ratio, advantages, gap = engine_inputs(
        log_ratio, advantages, old_log_probs, sampler_log_probs, mask
    )
    weight = gap.exp()
    if cap is not None:
        weight = weight.clamp(max=number("cap", cap, open_low=True))
    clip = {"clip_low": clip_low, "clip_high": clip_high}
    return weight * ppo_clip_loss(log_probs, log_ratio, advantages, **clip)


def engine_inputs(log_ratio, advantages, old_log_probs, sampler_log_probs, mask):
    """Log-ratio, advantages and log w = log pi_old - log pi_sampler, 0 where masked."""
    both = {"old_log_probs": old_log_probs, "sampler_log_probs": sampler_log_probs}
    parts = floats(2, log_ratio=log_ratio, advantages=advantages, **both)
    mask = token_mask(mask, parts[0])
    log_ratio, advantages, old, sampler = (torch.where(mask, x, 0) for x in parts)
    return log_ratio, advantages, (old - sampler).detach()


def masked_clip_loss(
    log_probs: PerToken,
    log_ratio: PerToken,
    advantages: PerToken,
    old_log_probs: PerToken,
    sampler_log_probs: PerToken,
    mask: TokenMask,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    weight_low: float = 0.5,
    weight_high: float = 5.0,
) -> PerToken:
    """PPO's clip, and tokens on which the engines disagree are dropped 掩码的训推修正.

        loss = -w min(rho A, clip(rho) A)  if weight_low <= w <= weight_high, else 0,
               w = pi_old / pi_sampler

    Masked importance sampling (IcePop, Zhao et al. 2025; 2510.18855): the names are
    those of `corrected_clip_loss`, which truncates w instead. A dropped token keeps its
    place in every mean. Limit: sampler and trainer agree, w = 1, PPO.

    Args:
        log_probs: unused here; all policy losses are called alike.
        log_ratio: log rho = log pi - log pi_old.
        advantages: constants.
        old_log_probs: the trainer's, before the update.
        sampler_log_probs: the sampler's, as it reported them.
        mask: True where the policy chose the token.
        clip_low: as in `ppo_clip_loss`.
        clip_high: as in `ppo_clip_loss`.
        weight_low: least weight that is kept, in [0, 1].
        weight_high: largest weight that is kept, 1 or more.

    Returns:
        Loss per token.

    Raises:
        ValueError: shapes differ, not float, clip_low outside [0, 1], clip_high < 0,
            weight_low outside [0, 1], weight_high < 1.

    Easy to break: taking rho, which the update moves, for w, which it does not. A
    weight within `NEAR` of a bound is on it, and kept.

    >>> log_ratio, live = torch.zeros(1, 3), torch.ones(1, 3) > 0
    >>> old = torch.tensor([[0.9, 0.3, 0.1]]).log()
    >>> sampler = torch.tensor([[0.3, 0.6, 0.6]]).log()
    >>> masked_clip_loss(old, log_ratio, torch.ones(1, 3), old, sampler, live)
    tensor([[-3.0000, -0.5000, -0.0000]])
    """
    log_ratio, advantages, gap = engine_inputs(
        log_ratio, advantages, old_log_probs, sampler_log_probs, mask
    )
    low = number("weight_low", weight_low, 0, 1)
    high = math.log(number("weight_high", weight_high, 1))
    low = math.log(low) if low > 0 else -math.inf
    weight = gap.exp().masked_fill((gap < low - NEAR) | (gap > high + NEAR), 0)
    clip = {"clip_low": clip_low, "clip_high": clip_high}
    return weight * ppo_clip_loss(log_probs, log_ratio, advantages, **clip)


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
    measure: str = "unclipped",
    first: str = "high",
    target: float = 0.4,
    low: tuple[float, float] = (0.6, 0.9),
    high: tuple[float, float] = (1.2, 3.0),
    low_step: float = 0.02,
    high_step: float = 0.05,
    partial_step: bool = False,
) -> tuple[float, float]:
    """BAPO's adaptive bounds 自适应裁剪 (2510.18927 Algorithm 1).

        share = pos / (pos + neg),  sums of |rho A| over A > 0 and over A < 0

    While the share is below the target, move one bound up step by step, then the other.
    The `measure` "clipped" counts every token at its clipped value, min(rho, high)
    where A > 0 and max(rho, low) where A < 0, as eq. 8 and the authors' code do;
    "unclipped" counts only the tokens whose gradient the clip leaves.
    Limits: with nothing to count the bounds stay at their start; under "clipped" the
    lower bound can only lower the share.

    Args:
        log_ratio: log rho per token.
        advantages: constants.
        mask: True where the policy chose the token.
        measure: "unclipped" or "clipped".
        first: which bound moves first, "high" (Algorithm 1) or "low" (authors' code).
        target: share of positive tokens to reach (rho_0 = 0.4 in the paper; the code's
            quotient positive/negative q is the share q / (1 + q)).
        low: start and end of the lower bound on rho, in [0, 1].
        high: start and end of the upper bound on rho, 1 or more.
        low_step: step of the lower bound.
        high_step: step of the upper bound.
        partial_step: a last, shorter step to the end (authors' code); else only the
            round((end - start) / step) whole ones.

    Returns:
        (clip_low, clip_high), distances from 1, ready for `ppo_clip_loss`; both NaN,
        which it refuses, if a live token holds a NaN.

    Raises:
        ValueError: shapes, dtypes, unknown measure, start > end, a step <= 0.

    Easy to break: adding 0.02 in floats takes 14 steps from 0.6 to 0.9, not 15. The
    last bit of a log-ratio depends on the CPU, and advantages of mean 0 tie at a share
    of 1/2. So a ratio within `NEAR` of a bound is on it (and clipped), and a share
    within `NEAR` of the target has reached it.

    >>> log_ratio = torch.tensor([[1.5, 0.7, 0.7]]).log()
    >>> bounds = balanced_clip(log_ratio, torch.tensor([[1.0, -1, -1]]), log_ratio < 9)
    >>> [round(bound, 2) for bound in bounds]
    [0.4, 0.55]
    """
    log_ratio, advantages = floats(2, log_ratio=log_ratio, advantages=advantages)
    mask = token_mask(mask, log_ratio)
    choice("measure", measure, ("unclipped", "clipped"))
    choice("first", first, ("high", "low"))
    target = number("target", target, 0, 1)
    lows = bound_steps("low", low, low_step, 0, 1, partial_step)
    highs = bound_steps("high", high, high_step, 1, math.inf, partial_step)
    ratio = log_ratio.detach()[mask].double().exp()
    live = advantages.detach()[mask].double()
    if (ratio * live).isnan().any():
        return math.nan, math.nan

    def reached(lower, upper):
        if measure == "clipped":
            up, down = ratio.clamp(max=upper), ratio.clamp(min=lower)
        else:
            up = ratio * (ratio < upper - NEAR)
            down = ratio * (ratio > lower + NEAR)
        pos = (up * live)[live > 0].sum().item()
        neg = -(down * live)[live < 0].sum().item()
        return pos + neg == 0 or pos / (pos + neg) >= target - NEAR

    lower, upper = lows[0], highs[0]
    for side in ("high", "low") if first == "high" else ("low", "high"):
        if side == "high":
            upper = next((h for h in highs if reached(lower, h)), highs[-1])
        else:
            lower = next((b for b in lows if reached(b, upper)), lows[-1])
    return 1 - lower, upper - 1


def bound_steps(name, ends, step, least, most, partial_step=False):
    """start, start + step, ...: whole steps, and a shorter last one if asked.

    >>> len(bound_steps("low", (0.6, 0.9), 0.02, 0, 1))
    16
    >>> steps = bound_steps("low", (0.8, 0.95), 0.1, 0, 1, partial_step=True)
    >>> [round(bound, 2) for bound in steps]
    [0.8, 0.9, 0.95]
    """
    pair = isinstance(ends, tuple | list) and len(ends) == 2
    require(pair, name, "a pair (start, end)", ends)
    start, end = (number(name, value, least, most) for value in ends)
    require(start <= end, name, "a pair with start <= end", ends)
    step = number(f"{name}_step", step, open_low=True)
    count = (end - start) / step
    if not partial_step:
        return [start + step * k for k in range(round(count) + 1)]
    whole = [start + step * k for k in range(math.floor(count + 1e-9) + 1)]
    return whole if end - whole[-1] < 1e-9 else [*whole, end]
