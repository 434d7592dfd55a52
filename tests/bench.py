"""Speed of the core against a plain loop and the peers' own functions, in one run.

    python tests/bench.py            # the plain forms alone
    python tests/bench.py --quick    # smaller shapes

With verl and TRL in the same environment (see bench-requirements.txt) their columns
fill in. One thread; the best of several samples, the candidates taking turns; a sample
repeats a call until it lasts five milliseconds. A ratio says how many times longer the
other one takes. Numbers are printed, never asserted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch

import tokencredit as tc

GAMMA, LAM = 0.99, 0.95


def peer(module):
    """A peer's module, or None where it is not installed."""
    try:
        return importlib.import_module(module)
    except Exception as error:  # a peer may fail in many ways; its column stays empty
        print(f"without {module}: {type(error).__name__}", file=sys.stderr)
        return None


def per_call(function, calls):
    """CPU milliseconds of a call: not the time spent waiting for a core."""
    start = time.process_time()
    for _ in range(calls):
        function()
    return 1e3 * (time.process_time() - start) / calls


def best(candidates, seconds, sample=5.0):
    """Best CPU time of each in milliseconds; they take turns until the time is up."""
    calls = {
        name: 1 + int(sample / min(per_call(function, 1) for _ in range(3)))
        for name, function in candidates.items()
    }
    times = {name: [] for name in candidates}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < 3:
        for name, function in candidates.items():
            times[name].append(per_call(function, calls[name]))
    return {name: min(values) for name, values in times.items()}


def peak(function):
    """Megabytes that a call adds to the process at its highest point (Linux)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")

    def field(name):
        line = next(x for x in status.read_text().splitlines() if x.startswith(name))
        return int(line.split()[1]) / 1024

    function()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = field("VmRSS")
    function()
    return field("VmHWM") - before


def loop_gae(rewards, values, mask):
    """GAE as everybody first writes it."""
    after = advantage = torch.zeros(len(rewards))
    out = []
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + GAMMA * after - values[:, t]
        advantage = torch.where(mask[:, t], delta + GAMMA * LAM * advantage, advantage)
        after = torch.where(mask[:, t], values[:, t], after)
        out.append(advantage)
    return torch.stack(out[::-1], 1)


def bench_gae(verl, rows, steps, seconds):
    rewards, values = torch.randn(2, rows, steps)
    mask = torch.rand(rows, steps) < 0.8
    rewards = rewards * mask
    live = mask.float()
    dials = {"gamma": GAMMA, "lam": LAM}
    candidates = {
        "ours": lambda: tc.gae(rewards, values, mask, **dials),
        "plain": lambda: loop_gae(rewards, values, mask),
    }
    if verl:
        candidates["verl"] = lambda: verl.compute_gae_advantage_return(
            rewards, values, live, GAMMA, LAM
        )
    return f"GAE {rows}x{steps}", candidates, seconds


def bench_groups(verl, seconds, size=256, each=8):
    rewards = torch.randint(2, (size,)).float()
    groups = torch.arange(size // each).repeat_interleave(each)
    names, mask = groups.numpy(), torch.ones(size, 1)
    trl_view = rewards.view(-1, each)

    def loop():
        out = torch.zeros(size)
        for g in groups.unique():
            r = rewards[groups == g]
            out[groups == g] = (r - r.mean()) / (r.std() + 1e-6)
        return out

    candidates = {
        "ours": lambda: tc.group_relative(rewards, groups),
        "plain": loop,
        # TRL's two lines for contiguous groups, which are no function of their own
        "TRL": lambda: (
            (rewards - trl_view.nanmean(1).repeat_interleave(each))
            / (trl_view.std(1).repeat_interleave(each) + 1e-4)
        ),
    }
    if verl:
        candidates["verl"] = lambda: verl.compute_grpo_outcome_advantage(
            rewards[:, None], mask, names
        )
        candidates["verl vectorised"] = lambda: (
            verl.compute_grpo_vectorized_outcome_advantage(
                rewards[:, None], mask, names
            )
        )
    return f"group advantages N={size}", candidates, seconds


def same(x, **_):
    """What one process gathers from itself."""
    return x


def trl_self(new):
    """What GRPOTrainer._compute_loss asks its trainer for, around given log-probs."""
    return SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *a, **k: (new, new.detach(), None),
        aux_loss_enabled=False,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        importance_sampling_level="token",
        beta=0.0,
        loss_type="bnpo",
        epsilon_low=0.2,
        epsilon_high=0.28,
        use_vllm=False,
        args=SimpleNamespace(delta=None),
        model=SimpleNamespace(training=True),
        accelerator=SimpleNamespace(
            num_processes=1, gather=same, gather_for_metrics=same, reduce=same
        ),
        current_gradient_accumulation_steps=1,
        _entropy_bonus_enabled=False,
        _metrics={"train": defaultdict(list)},
    )


class VerlConfig(dict):
    """verl's actor config as far as its loss reads it."""

    clip_ratio = clip_ratio_low = 0.2
    clip_ratio_high = 0.28
    global_batch_info: dict = {}  # noqa: RUF012


def bench_loss(verl, trl, rows, steps, seconds):
    old = -torch.rand(rows, steps)
    new = (old + 0.1 * torch.randn(rows, steps)).requires_grad_()
    advantages = torch.randn(rows, steps)
    mask = torch.rand(rows, steps) < 0.8
    live = mask.float()
    config = VerlConfig()

    def stepped(loss):
        def step():
            new.grad = None
            loss().backward()

        return step

    def ours():
        log_ratio = tc.token_log_ratio(new, old, mask)
        loss = tc.ppo_clip_loss(new, log_ratio, advantages, clip_high=0.28)
        return tc.aggregate_loss(loss, mask, "token-mean")

    def plain():
        ratio = (new - old).exp()
        clipped = ratio.clamp(0.8, 1.28)
        loss = -torch.min(ratio * advantages, clipped * advantages)
        return (loss * live).sum() / live.sum()

    candidates = {"ours": stepped(ours), "plain": stepped(plain)}
    if verl:
        candidates["verl"] = stepped(
            lambda: verl.compute_policy_loss_vanilla(
                old, new, advantages, live, "token-mean", config
            )[0]
        )
    if trl:
        ids = torch.zeros(rows, steps, dtype=torch.long)
        inputs = {
            "prompt_ids": ids[:, :1],
            "prompt_mask": ids[:, :1],
            "completion_ids": ids,
            "completion_mask": live,
            "advantages": advantages,
            "old_per_token_logps": old,
        }
        trainer = trl_self(new)
        candidates["TRL"] = stepped(
            lambda: trl.GRPOTrainer._compute_loss(trainer, None, inputs)
        )
    return f"clipped loss {rows}x{steps}, forward + backward", candidates, seconds


def bench_log_probs(verl, trl, shape, words, seconds):
    logits = torch.randn(*shape, words, requires_grad=True)
    tokens = torch.randint(words, shape)

    def stepped(function):
        def step():
            logits.grad = None
            function(logits, tokens).sum().backward()

        return step

    candidates = {
        "ours": stepped(tc.token_log_probs),
        "plain": stepped(
            lambda z, y: z.log_softmax(-1).gather(-1, y[..., None])[..., 0]
        ),
    }
    if verl:
        candidates["verl"] = stepped(verl.logprobs_from_logits)
    if trl:
        candidates["TRL"] = stepped(trl.selective_log_softmax)
    name = "x".join(map(str, (*shape, words)))
    return f"token log-probs {name}, forward + backward", candidates, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller shapes")
    parser.add_argument("--seconds", type=float, default=5.0, help="per line")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    algos = peer("verl.trainer.ppo.core_algos")
    functional = peer("verl.utils.torch_functional")
    utils, trainer = peer("trl.trainer.utils"), peer("trl.trainer.grpo_trainer")
    wide = (64, 1024) if args.quick else (256, 8192)
    words = 20000 if args.quick else 151936
    log_probs = (functional, utils, (4, 128), words, 2 * args.seconds)
    print(f"torch {torch.__version__}, 1 thread; CPU milliseconds, then times ours")
    for name, candidates, seconds in (
        bench_gae(algos, 64, 1024, args.seconds),
        bench_gae(algos, *wide, 2 * args.seconds),
        bench_groups(algos, args.seconds),
        bench_loss(algos, trainer, *wide, args.seconds),
        bench_log_probs(*log_probs),
    ):
        took = best(candidates, seconds)
        others = ", ".join(
            f"{other} {took[other]:.3g} ({took[other] / took['ours']:.1f}x)"
            for other in took
            if other != "ours"
        )
        print(f"{name:48s} ours {took['ours']:.3g}; {others}", flush=True)
    name, candidates, _ = bench_log_probs(*log_probs)
    memory = {other: peak(step) for other, step in candidates.items()}
    told = ", ".join(f"{other} {size:.0f}" for other, size in memory.items())
    gradient = 4 * 128 * words * 4 / 2**20
    print(f"{name}: peak MiB {told}; the gradient alone is {gradient:.0f}")


if __name__ == "__main__":
    main()
