"""The functions of tokencredit that public checks compare with, for the small torch."""

import math

import torch


def kl_penalty(log_probs, ref_log_probs, estimator="k3"):
    """Return the KL estimate per token, as `tokencredit.kl_penalty` does."""
    d = log_probs - ref_log_probs.detach()
    k3 = torch.expm1(-d) + d
    return {"k1": d, "k2": d.square() / 2, "k3": k3, "abs": d.abs()}[estimator]


def ppo_clip_loss(log_probs, log_ratio, advantages, clip_low=0.2, clip_high=0.2):
    """Return PPO's loss per token, as `tokencredit.ppo_clip_loss` does."""
    A = advantages.detach()
    high = (A >= 0) & (log_ratio > math.log(1 + clip_high))
    low = (A < 0) & (log_ratio < math.log(1 - clip_low))
    kept = torch.where(high, math.log(1 + clip_high), log_ratio)
    return -A * torch.where(low, math.log(1 - clip_low), kept).exp()


def group_relative(rewards, groups, scale=True, eps=1e-6):
    """Return the advantages of groups, as `tokencredit.group_relative` does."""
    A = torch.zeros_like(rewards)
    for g in groups.unique():
        r = rewards[groups == g]
        if r.max() > r.min():
            A[groups == g] = (r - r.mean()) / (r.std() + eps if scale else 1)
    return A


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise torch.NotHere(f"tokencredit.{name}")
