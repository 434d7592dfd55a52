"""Entries of ALGORITHMS in verl's training worker against a plain loop of torch.

    python tests/parity_verl.py MODEL NAME ...
    python -m torch.distributed.run --nproc_per_node 2 tests/parity_verl.py MODEL ...

The worker runs FSDP2 and its own update loop, in micro-batches where the algorithm
allows them. Three steps of SGD on the same random batch; for each entry the first
process prints a line "PARITY", its name and how far weights moved and are off.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

import torch
import torch.distributed as dist
import torch.nn.functional as F
import verl_on_cpu  # noqa: F401
from tensordict import NonTensorData, TensorDict
from transformers import AutoModelForCausalLM
from verl.trainer.config import CheckpointConfig
from verl.utils import tensordict_utils as tu
from verl.workers.config import (
    ActorConfig,
    FSDPEngineConfig,
    FSDPOptimizerConfig,
    HFModelConfig,
    TrainingWorkerConfig,
)
from verl.workers.engine_workers import TrainingWorker
from verl.workers.utils.losses import ppo_loss

import tokencredit.integrations.verl  # noqa: F401
from tokencredit import ALGORITHMS, policy_loss
from tokencredit.integrations.recipes import name_in_verl

B, P, T, STEPS, LR, MICRO, CONSTANT = 16, 5, 10, 3, 0.02, 4, 14


class Data:
    """Random prompts and responses, with advantages and stale log-probs."""

    def __init__(self, model, vocabulary: int):
        g = torch.Generator().manual_seed(0)
        sizes = torch.randint(2, P + 1, (B,), generator=g)
        self.lengths = torch.randint(1, T + 1, (B,), generator=g)
        self.prompts = [torch.randint(vocabulary, (n,), generator=g) for n in sizes]
        self.responses = [
            torch.randint(vocabulary, (n,), generator=g) for n in self.lengths
        ]
        self.mask = torch.arange(T) < self.lengths[:, None]
        self.advantages = torch.randn(B, 1, generator=g).expand(B, T) * self.mask
        noise = 0.2 * torch.randn(B, T, generator=g)
        with torch.no_grad():
            self.old = self.log_probs(model) + noise * self.mask
        self.weights = (0.5 * torch.randn(B, T, generator=g)).exp().clamp(max=2.0)

    def log_probs(self, model) -> torch.Tensor:
        """One row at a time: nothing is padded that the model could see."""
        rows = []
        for prompt, response in zip(self.prompts, self.responses, strict=True):
            logits = model(torch.cat([prompt, response])[None]).logits[0]
            said = logits[len(prompt) - 1 : -1].log_softmax(-1)
            chosen = said.gather(1, response[:, None])[:, 0]
            rows.append(F.pad(chosen, (0, T - len(response))))
        return torch.stack(rows)

    def of_rank(self, corrects: bool) -> TensorDict:
        """The rows of this process, nested as verl's workers hold them."""
        rows = torch.arange(B).chunk(dist.get_world_size())[dist.get_rank()].tolist()

        def nested(values):
            return torch.nested.as_nested_tensor(values, layout=torch.jagged)

        def live(values):
            return nested([values[i, : self.lengths[i]] for i in rows])

        both = [torch.cat([self.prompts[i], self.responses[i]]) for i in rows]
        fields = {
            "input_ids": nested(both),
            "position_ids": nested([torch.arange(len(ids)) for ids in both]),
            "prompts": nested([self.prompts[i] for i in rows]),
            "responses": nested([self.responses[i] for i in rows]),
            "response_mask": live(self.mask.long()),
            "loss_mask": live(self.mask.long()),
            "old_log_probs": live(self.old),
            "advantages": live(self.advantages),
        }
        if corrects:
            fields["rollout_is_weights"] = live(self.weights)
        return TensorDict(fields, batch_size=len(rows))


def flat(model) -> torch.Tensor:
    whole = [
        p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters()
    ]
    return torch.cat([weight.detach().flatten() for weight in whole])


def compare(path: str, name: str):
    row = replace(ALGORITHMS[name], kl_coef=0.0, entropy_coef=0.0)
    micro = B // dist.get_world_size() if row.clip_rule else MICRO
    constant = CONSTANT if row.aggregation == "seq-mean-token-sum-norm" else None

    settings = HFModelConfig(
        path=path,
        use_remove_padding=False,
        enable_gradient_checkpointing=False,
        override_config={"attn_implementation": "sdpa"},
    )
    worker = TrainingWorker(
        TrainingWorkerConfig(
            model_type="language_model",
            model_config=settings,
            engine_config=FSDPEngineConfig(
                strategy="fsdp2",
                fsdp_size=-1,
                use_dynamic_bsz=False,
                micro_batch_size_per_gpu=micro,
                max_token_len_per_gpu=4096,
                use_torch_compile=False,
                model_dtype="fp32",
                mixed_precision=dict.fromkeys(
                    ("param_dtype", "reduce_dtype", "buffer_dtype"), "fp32"
                ),
            ),
            optimizer_config=FSDPOptimizerConfig(
                lr=LR,
                optimizer="SGD",
                optimizer_impl="torch.optim",
                weight_decay=0.0,
                clip_grad=1e9,
                lr_scheduler_type="constant",
                total_training_steps=10,
                lr_warmup_steps=0,
            ),
            checkpoint_config=CheckpointConfig(),
        )
    )
    worker.reset()
    actor = ActorConfig(
        strategy="fsdp2",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        policy_loss={"loss_mode": name_in_verl(row)},
        loss_agg_mode=row.aggregation,
        entropy_coeff=0.0,
        loss_scale_factor=constant,
    )
    worker.set_loss_fn(partial(ppo_loss, actor))
    ours = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    start = flat(ours)
    data = Data(ours, settings.hf_config.vocab_size)
    sampler = data.old - data.weights.log() if row.corrects else None
    sgd = torch.optim.SGD(ours.parameters(), lr=LR)
    for _ in range(STEPS):
        loss = policy_loss(
            row,
            data.log_probs(ours),
            data.old,
            data.advantages,
            data.mask,
            max_length=constant,
            sampler_log_probs=sampler,
        )
        sgd.zero_grad(), loss.backward(), sgd.step()
        batch = data.of_rank(row.corrects)
        tu.assign_non_tensor(
            batch,
            temperature=1.0,
            global_batch_size=B,
            calculate_entropy=False,
            use_remove_padding=False,
            micro_batch_size_per_gpu=micro,
            use_dynamic_bsz=False,
            global_token_num=NonTensorData([1] * B),
            update_lr_scheduler=True,
        )
        worker.train_batch(batch)
    moved = (flat(ours) - start).abs().max()
    off = (flat(worker.engine.module) - flat(ours)).abs().max()
    if dist.get_rank() == 0:
        print(f"PARITY\t{name}\t{moved:.3e}\t{off:.3e}", flush=True)


def main():
    path, *names = sys.argv[1:]
    torch.set_num_threads(1)
    for name in names:
        compare(path, name)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
