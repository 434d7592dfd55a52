"""The listing of chapter 15 run in verl: a row through its registries, and its own.

    peers/bin/python tests/bench_verl.py    # environment: tests/bench-requirements.txt

Reads the code of the chapter's section "In the wild", runs it, calls what it registered
as verl's workers do, in two micro-batches with the counts of the step, and prints the
largest difference to verl's own functions.
"""

import re
from pathlib import Path

import numpy as np
import torch
import yaml
from verl.trainer.ppo.core_algos import get_adv_estimator_fn, get_policy_loss_fn
from verl.workers.config import ActorConfig

ROOT = Path(__file__).parents[1]

# A row, verl's name for its loss, and verl's aggregation and clip range for it.
PAIRS = {
    "GRPO": ("vanilla", "seq-mean-token-mean", 0.2, 0.2),
    "DAPO": ("vanilla", "token-mean", 0.2, 0.28),
    "GSPO": ("gspo", "seq-mean-token-mean", 3e-4, 4e-4),
}


def listing():
    """The Python block that registers with verl, of the page "In the wild"."""
    told = yaml.safe_load((ROOT / "book/wild/15.yml").read_text("utf-8"))["en"]
    (code,) = (
        block
        for block in re.findall(r"```python\n(.*?)```", told, re.S)
        if "register_policy_loss" in block
    )
    return code


def main():
    exec(compile(listing(), "chapter 15", "exec"), {})
    g = torch.Generator().manual_seed(0)
    mask = torch.arange(12) < torch.randint(1, 13, (16, 1), generator=g)
    old = -torch.rand(16, 12, generator=g)
    rewards = torch.zeros(16, 12)
    rewards[:, 0] = torch.randint(0, 2, (16,), generator=g).float()
    index = np.repeat([f"id{i}" for i in range(4)], 4).astype(object)
    centred, _ = get_adv_estimator_fn("tokencredit")(rewards, mask, index)
    theirs, _ = get_adv_estimator_fn("grpo")(
        rewards, mask.float(), index, norm_adv_by_std_in_grpo=False
    )
    print(f"advantages: off by {(centred - theirs).abs().max():.1e}")
    for name, (loss, how, low, high) in PAIRS.items():
        config = ActorConfig(
            strategy="fsdp",
            rollout_n=1,
            ppo_micro_batch_size_per_gpu=1,
            clip_ratio=low,
            clip_ratio_low=low,
            clip_ratio_high=high,
            clip_ratio_c=1e9,  # verl's dual clip is always on
        )
        config.global_batch_info.update(
            dp_size=1, batch_num_tokens=mask.sum().item(), global_batch_size=len(mask)
        )
        got = []
        for chosen in (f"tokencredit {name}", loss):
            now = old + 0.3 * torch.randn(old.shape, generator=g.manual_seed(1))
            now.requires_grad_()
            total = 0.0
            for part in torch.arange(len(mask)).split(10):  # 10 rows and 6
                value, _ = get_policy_loss_fn(chosen)(
                    old_log_prob=old[part],
                    log_prob=now[part],
                    advantages=centred[part],
                    response_mask=mask[part].float(),
                    loss_agg_mode=how,
                    config=config,
                    rollout_is_weights=None,
                )
                value.backward()
                total += value.item()
            got.append((total, now.grad))
        (ours, slope), (verls, theirs) = got
        off, size = (slope - theirs).abs().max(), theirs.abs().max()
        print(
            f"{name}: loss {verls:.4f}, off by {abs(ours - verls):.1e}; "
            f"gradient up to {size:.1e}, off by {off:.1e}"
        )


if __name__ == "__main__":
    main()
