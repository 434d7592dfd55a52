"""Chapter 6: the responses of an iteration used K times, without and with a clip."""

import copy
import time
from dataclasses import replace

import numpy as np
import torch

from tokenbook.lab import Experiment, final, per_seed
from tokenbook.lab.experiments._chain import COLUMNS, learn_from, thin
from tokenbook.lab.experiments._signs import PLAIN
from tokencredit.algorithms import ALGORITHMS
from tokencredit.training import Dials, assign_credit, update
from tokencredit.training.collect import collect
from tokencredit.training.dials import OPTIMIZERS
from tokencredit.training.loop import mini_batches
from tokencredit.weight.losses import reinforce_loss
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks import task
from tokencredit.world.tasks.signs import MEASURES

DIALS = {"steps": 16, "prompts": 32, "group_size": 8, "minibatches": 2}
WATCHED = ("lies", "equations_true", "gives_up")


def ratio_loss(log_probs, log_ratio, advantages):
    """Importance-weighted loss without a clip: -ratio * A."""
    return -log_ratio.exp() * advantages


def clip_alone(log_probs, log_ratio, advantages):
    """The clip without the minimum: -clip(ratio) * A."""
    return -log_ratio.exp().clamp(0.8, 1.2) * advantages


def no_loss(log_probs):
    """Nothing is asked of the policy."""
    return 0 * log_probs


LOSSES = {"none": reinforce_loss, "ratio": ratio_loss, "clip alone": clip_alone}
LATER = {  # fields that change after the first pass
    "critic once": {"value_coef": 0.0},
    "policy once": {"loss": no_loss},
    "head alone": {"loss": no_loss},
}
NO_CRITIC = {"GRPO": PLAIN, "token-mean": replace(PLAIN, aggregation="token-mean")}
LIMIT = 0.015  # of the KL to the sampler, as in Spinning Up


def pass_by_pass(variant, seed, quick):
    """PPO in a loop of its own: the critic, or the policy, learns in the first pass
    only (then the critic moves the whole network, or its head alone), or both learn in
    all and the critic's later passes move its head alone, or a batch ends after the
    update whose mini-batch was further than LIMIT from the sampler.

    With none of these it is `train`, number by number.
    """
    dials = DIALS | {"epochs": variant["epochs"], "lr": variant["lr"]}
    if quick:
        dials |= {"steps": 2, "prompts": 4, "group_size": 4}
    dials, goal, history = Dials(**dials), task("signs"), []
    policy, sampled = copy.deepcopy(warm_start("signs", seed)), 0

    def alone(_, given):  # after the first pass V moves nothing below its head
        return (given[0].detach(),) if updates >= dials.minibatches else None

    if variant["loss"] == "own head":
        policy.value_head.register_forward_pre_hook(alone)
    new = OPTIMIZERS[dials.optimizer]
    whole, head = (
        new(x.parameters(), lr=dials.lr) for x in (policy, policy.value_head)
    )
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    measure, clock = {name: MEASURES[name] for name in WATCHED}, time.process_time()
    for step in range(1, dials.steps + 1):
        algorithm, optimizer, updates = ALGORITHMS["PPO"], whole, 0
        batch, metrics = collect(
            policy, goal, algorithm, dials, rng, generator, measure=measure
        )
        batch = assign_credit(algorithm, batch)
        for part in mini_batches(batch, dials, generator):
            if updates == dials.minibatches and variant["loss"] in LATER:
                algorithm = replace(algorithm, **LATER[variant["loss"]])
                optimizer = head if variant["loss"] == "head alone" else whole
            policy.zero_grad()
            metrics |= update(policy, optimizer, algorithm, part, dials)
            updates += 1
            if variant["loss"] == "KL stop" and metrics["kl"] > LIMIT:
                break
        sampled += metrics["tokens"]
        now = {"step": step, "tokens": sampled, "kept": len(batch), "updates": updates}
        history.append(metrics | now | {"seconds": time.process_time() - clock})
    return thin(history, 1 if quick else 2)


def run(variant, seed, quick, checkpoint):
    if variant["loss"] in (*LATER, "own head", "KL stop"):
        return pass_by_pass(variant, seed, quick)
    algorithm = NO_CRITIC.get(variant["loss"], ALGORITHMS["PPO"])
    if loss := LOSSES.get(variant["loss"]):
        algorithm = replace(algorithm, name=f"PPO, {variant['loss']}", loss=loss)
    return learn_from(
        warm_start("signs", seed),
        task("signs"),
        algorithm,
        seed,
        quick,
        checkpoint,
        every=2,
        measure={name: MEASURES[name] for name in WATCHED},
        **DIALS | {"epochs": variant["epochs"], "lr": variant["lr"]},
    )


def at_the_end(rows, column, lr, epochs, loss):
    """A column at the end of each seed, a mean of the last six iterations."""
    return final(rows, column, last=3, lr=lr, epochs=epochs, loss=loss)


def cost(rows, loss):
    """What eight passes end lower than one, with large steps, of each seed."""
    once, eight = (at_the_end(rows, "success", 5e-4, k, loss) for k in (1, 8))
    return once - eight


def early(rows, lr, epochs):
    """Success of each seed over the first eight iterations of PPO."""
    return per_seed(rows, "success", lr=lr, epochs=epochs, loss="min")[:, :4].mean(1)


EXPERIMENT = Experiment(
    name="signs-epochs",
    chapter=6,
    question={
        "zh": "同一批回答用一遍、四遍、八遍，比率和裁剪各起什么作用？",
        "en": "Responses used 1, 4, 8 times: what do the ratio and the clip change?",
    },
    variants=(
        {"lr": 1e-4, "epochs": 1, "loss": "min"},
        {"lr": 1e-4, "epochs": 4, "loss": "min"},
        {"lr": 5e-4, "epochs": 1, "loss": "min"},
        {"lr": 5e-4, "epochs": 8, "loss": "none"},
        {"lr": 5e-4, "epochs": 8, "loss": "ratio"},
        {"lr": 5e-4, "epochs": 8, "loss": "clip alone"},
        {"lr": 5e-4, "epochs": 8, "loss": "min"},
        {"lr": 1e-4, "epochs": 8, "loss": "min"},
        {"lr": 5e-4, "epochs": 4, "loss": "min"},
        {"lr": 5e-4, "epochs": 8, "loss": "critic once"},
        {"lr": 5e-4, "epochs": 8, "loss": "KL stop"},
        {"lr": 5e-4, "epochs": 4, "loss": "own head"},
        {"lr": 5e-4, "epochs": 8, "loss": "own head"},
        {"lr": 5e-4, "epochs": 1, "loss": "GRPO"},
        {"lr": 5e-4, "epochs": 8, "loss": "GRPO"},
        {"lr": 5e-4, "epochs": 8, "loss": "token-mean"},
    ),
    run=run,
    columns={
        "lr": "learning rate of Adam",
        "epochs": "passes over the responses of an iteration, K",
        "loss": "min: PPO's; clip alone: without the minimum; ratio: without a clip; "
        "none: -A log pi; critic once: PPO's, but the critic learns in the first pass "
        "only; KL stop: PPO's, but a batch ends once its KL exceeds 0.015; own head: "
        "PPO's, but after the first pass the critic moves its head only; GRPO: its row "
        "without KL (four passes: reuse-ratio); token-mean: the same, averaged over "
        "tokens as PPO is; these two have no critic",
        "updates": "optimizer steps on a batch, of the arms that change between passes",
        "lies": "share of responses that end in a tick and are incorrect",
        "equations_true": "share of tries that are true",
        "gives_up": "share of responses that stop after a cross",
    }
    | {name: words for name, words in COLUMNS.items() if name != "reasons"},
    settings={"task": "signs", "algorithm": "PPO", "every": 2, **DIALS},
    claims={
        "used once, large steps end above 0.88 in every seed": lambda rows: (
            at_the_end(rows, "success", 5e-4, 1, "min").min() > 0.88
        ),
        "with small steps four passes learn faster, in every seed": lambda rows: (
            early(rows, 1e-4, 4) > early(rows, 1e-4, 1) + 0.1
        ).all(),
        "-A log pi eight times: nothing is correct, no response ends": lambda rows: (
            at_the_end(rows, "success", 5e-4, 8, "none").max() < 0.01
            and at_the_end(rows, "length", 5e-4, 8, "none").min() > 39
        ),
        "eight passes without a clip end below PPO in every seed": lambda rows: (
            at_the_end(rows, "success", 5e-4, 8, "ratio")
            < at_the_end(rows, "success", 5e-4, 8, "min") - 0.1
        ).all(),
        "the clip alone ends far below PPO in three seeds": lambda rows: (
            (
                at_the_end(rows, "success", 5e-4, 8, "clip alone")
                < at_the_end(rows, "success", 5e-4, 8, "min") - 0.15
            ).sum()
            == 3
        ),
        "small steps: eight passes end below four, in every seed": lambda rows: (
            at_the_end(rows, "success", 1e-4, 8, "min")
            < at_the_end(rows, "success", 1e-4, 4, "min") - 0.02
        ).all(),
        "large steps: four end below one and above eight, in every seed": lambda rows: (
            (
                at_the_end(rows, "success", 5e-4, 4, "min")
                < at_the_end(rows, "success", 5e-4, 1, "min") - 0.02
            ).all()
            and (
                at_the_end(rows, "success", 5e-4, 4, "min")
                > at_the_end(rows, "success", 5e-4, 8, "min") + 0.02
            ).all()
        ),
        "a critic that learns once makes eight passes worse, every seed": lambda rows: (
            at_the_end(rows, "success", 5e-4, 8, "critic once")
            < at_the_end(rows, "success", 5e-4, 8, "min") - 0.02
        ).all(),
        "its later passes on its head alone: eight still end below 0.8": lambda rows: (
            at_the_end(rows, "success", 5e-4, 8, "own head").max() < 0.8
        ),
        "without a critic eight passes cost under 0.1, with it 0.19, every seed": (
            lambda rows: (
                cost(rows, "GRPO").max() < 0.1 and cost(rows, "min").min() > 0.19
            )
        ),
        "averaged over tokens, too, they end above PPO's in every seed": lambda rows: (
            at_the_end(rows, "success", 5e-4, 8, "token-mean")
            > at_the_end(rows, "success", 5e-4, 8, "min") + 0.05
        ).all(),
        "a stop by the KL ends above eight passes and below one": lambda rows: (
            (
                at_the_end(rows, "success", 5e-4, 8, "KL stop")
                > at_the_end(rows, "success", 5e-4, 8, "min") + 0.01
            ).all()
            and (
                at_the_end(rows, "success", 5e-4, 8, "KL stop")
                < at_the_end(rows, "success", 5e-4, 1, "min")
            ).all()
        ),
        "PPO with eight passes ends at 0.65 to 0.8, below one pass": lambda rows: (
            at_the_end(rows, "success", 5e-4, 8, "min").min() > 0.65
            and at_the_end(rows, "success", 5e-4, 8, "min").max() < 0.8
        ),
    },
)
