"""Recompute the stored data that is no experiment of the lab.

    python -m tokenbook.lab.records            data of three live figures
    python -m tokenbook.lab.records --starts D the warm starts of `signs`, into D: 7 min

The first writes forty_lines.json, reward_hack.json and one_batch.json into
src/tokenbook/figures/static, some five minutes on one core. Where a processor rounds
differently, sampled responses differ after a few iterations; the figures' claims do
not.

The second trains the five policies of src/tokencredit/world/starts again, into FOLDER,
by the recipe of the stored ones: tests/test_starts.py holds that they come from it. It
prints their scores beside those of the stored ones, and the distance of the weights as
a share of the distance that training covers. They are never equal bit for bit: training
amplifies the last digit of a rounding, so that another CPU ends at other weights of the
same quality. Every run of the lab starts from the stored ones: after a replacement the
whole lab has to run again.
"""

import argparse
import ast
import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from tqdm.auto import tqdm

from tokenbook import ROOT
from tokenbook.figures import forty_lines, one_batch, reward_hack
from tokenbook.lab.experiments import hacks
from tokenbook.lab.experiments.engine_gap import round_weights
from tokenbook.lab.token_values import fit
from tokencredit import ALGORITHMS, add_rewards
from tokencredit.training import assign_credit, forward, objective, warm_up
from tokencredit.world.policy import Policy
from tokencredit.world.rollout import rollout, texts
from tokencredit.world.starts import save_start, warm_start
from tokencredit.world.tasks import task
from tokencredit.world.tasks.signs import MEASURES, reward_fn
from tokencredit.world.text import encode

OUT = ROOT / "src" / "tokenbook" / "figures" / "static"
CHAPTER = ROOT / "chapters" / "00_grpo_in_forty_lines.ipynb"
PROGRAM = ("check", "advantages", "log_probs", "loss", "grpo")
ITERATIONS = 20  # of the program; before each, and after the last, it is recorded
PROMPTS = ["9□5□7=11?", "6□3□9=12?", "8□1□3=4?", "3□8□1=10?"]  # of the hack
HABITS = ("success", "length", "tries", "gives_up", "lies", "equations_true")
NUMBERS = ("reward", "success", "length", "ref_kl")
SIGNS = task("signs")


def program() -> dict:
    """Return the functions of chapter 0's program, as the chapter prints them."""
    parts = {}
    for cell in json.loads(CHAPTER.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            for node in ast.parse("".join(cell["source"])).body:
                if isinstance(node, ast.FunctionDef) and node.name in PROGRAM:
                    parts[node.name] = ast.unparse(node)
    names: dict = {"signs": SIGNS, "rollout": rollout, "texts": texts}
    exec("import re\nimport numpy as np\nimport torch", names)
    for name in PROGRAM:
        exec(parts[name], names)
    return names


def eight(policy) -> list[str]:
    """Return eight responses to one prompt, always from the same random numbers."""
    dice = torch.Generator().manual_seed(11)
    batch = rollout(policy, SIGNS, [forty_lines.PROMPT], group_size=8, generator=dice)
    return texts(batch, SIGNS.vocabulary)


def of_the_program() -> list[dict]:
    """Run chapter 0's program; eight responses before each update, and its numbers."""
    parts, policy, rows = program(), warm_start("signs", seed=0), []

    def watched(*args, **dials):
        batch = rollout(*args, **dials)
        length = batch.mask.sum(1).float().mean().item()
        rows.append({"length": round(length, 2), "responses": eight(policy)})
        return batch

    parts["rollout"] = watched
    history = parts["grpo"](policy, 1 + ITERATIONS, seed=0)
    shares = [round(share, 4) for share, _ in history.tolist()]
    return [{"success": share} | row for share, row in zip(shares, rows, strict=True)]


def hacked(paid: str, kl_coef: float, seed: int, iterations: int) -> tuple:
    """Metrics per iteration and responses by moment, of training on one reward."""
    rows, said = hacks.learn(
        replace(hacks.PLAIN, kl_coef=kl_coef),
        seed,
        quick=False,
        reward_fn=reward_fn(paid),
        reference=warm_start("signs", seed=seed),
        steps=iterations,
        every=1,
        moments=reward_hack.MOMENTS,
        **hacks.DIALS,
    )
    numbers = {name: [round(row[name], 4) for row in rows] for name in NUMBERS}
    text = {(row["step"], row["prompt"]): row["response"] for row in said}
    moments = [moment for moment in reward_hack.MOMENTS if moment <= iterations]
    return numbers, {str(m): [text[m, prompt] for prompt in PROMPTS] for m in moments}


def of_the_hack() -> dict:
    """Train with a hole in the reward; numbers of every run, responses of seed 0."""
    arms = [(run, seed) for run in reward_hack.RUNS for seed in reward_hack.SEEDS]
    runs, said = {}, {}
    for (paid, kl_coef), seed in tqdm(arms, desc="reward_hack"):
        last = 1 + reward_hack.MOMENTS[-1]
        numbers, responses = hacked(paid, kl_coef, seed, last)
        runs[f"{paid},{kl_coef:g},{seed}"] = numbers
        if seed == 0:
            said[f"{paid},{kl_coef:g}"] = responses
    return {"prompts": PROMPTS, "runs": runs, "said": said}


def chosen(policy, prompt: str, right: bool) -> list[str]:
    """Return the first different responses of a verdict, short enough, or twice."""
    dice = torch.Generator().manual_seed(0)
    batch = rollout(policy, SIGNS, [prompt], group_size=128, generator=dice)
    fits = [
        text
        for text in dict.fromkeys(texts(batch, SIGNS.vocabulary))
        if len(text) <= one_batch.WIDEST and SIGNS.reward(prompt, text) == right
    ]
    return (2 * fits)[: one_batch.EACH]


def heads(policy, prompt: str, text: str) -> tuple[list[float], list[float]]:
    """Return the log-probability of each token of a response, and V before it."""
    ids = torch.tensor([encode(prompt + text, SIGNS.vocabulary)])
    with torch.no_grad():
        logits, values = policy(ids[:, :-1])
    first = len(prompt) - 1
    taken = logits[0].log_softmax(-1).gather(1, ids[0, 1:, None])[first:, 0]
    return taken.tolist(), values[0, first:].tolist()


def aged(start, updates: int) -> list[Policy]:
    """Return a policy before and after each of several updates by GRPO."""
    policy, ages = deepcopy(start), [start]
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-4)
    rng, dice = np.random.default_rng(0), torch.Generator().manual_seed(0)
    for _ in range(updates):
        prompts = SIGNS.prompts(32, rng)
        batch = rollout(policy, SIGNS, prompts, group_size=8, generator=dice)
        batch = assign_credit(
            ALGORITHMS["GRPO"], add_rewards(batch, SIGNS, prompts), start
        )
        loss = objective(ALGORITHMS["GRPO"], batch, forward(policy, batch))
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        ages.append(deepcopy(policy))
    return ages


def of_one_batch() -> list[dict]:
    """Return right and wrong responses to two prompts, with log-probs and values."""
    start = warm_start("signs", seed=0)
    judge, sampler = fit(start, 100), round_weights(start, 2)
    old, *later = aged(start, one_batch.UPDATES)

    def short(numbers):
        return [round(x, 3) for x in numbers]

    def told(prompt, text):
        return {
            "text": text,
            "old": short(heads(old, prompt, text)[0]),
            "sampler": short(heads(sampler, prompt, text)[0]),
            "now": [short(heads(one, prompt, text)[0]) for one in later],
            "values": short(heads(judge, prompt, text)[1]),
        }

    return [
        {
            name: [told(prompt, text) for text in chosen(sampler, prompt, right)]
            for name, right in (("right", True), ("wrong", False))
        }
        for prompt in one_batch.PROMPTS
    ]


def warmed_up(
    seed: int, textbook: int = 2000, habits: int = 60
) -> tuple[Policy, Policy]:
    """Return a warm start: the policy that begins, and the trained one.

    It learns arithmetic from a textbook first, then the corpus's habits.

    Args:
        seed: of the weights and of the textbook; the corpus has 1000 more.
        textbook: updates on 32 right demonstrations each.
        habits: updates on 64 demonstrations of the task each.
    """
    torch.manual_seed(seed)
    policy = Policy(len(SIGNS.vocabulary), context=SIGNS.context, critic=True)
    began = deepcopy(policy)
    right = replace(SIGNS, persist=1.0, bluff=0.0, fudge=0.0)
    book = {"batch_size": 32, "lr": 4e-3, "progress": True}
    warm_up(policy, right, steps=textbook, seed=seed, **book)
    warm_up(policy, SIGNS, steps=habits, batch_size=64, lr=1e-3, seed=1000 + seed)
    return began, policy


def weights(policy: Policy) -> torch.Tensor:
    """Return all weights of a policy in one row."""
    return torch.cat([x.detach().flatten() for x in policy.parameters()])


def writes(policy: Policy) -> dict[str, float]:
    """Return statistics of a policy: shares and lengths over 1024 responses."""
    streams = {
        "rng": np.random.default_rng(7),
        "generator": torch.Generator().manual_seed(7),
    }
    _, said = SIGNS.sample(policy, 256, 4, temperature=1.0, measure=MEASURES, **streams)
    return {name: value.float().mean().item() for name, value in said.items()}


def starts(folder: Path) -> None:
    """Write the warm starts into a folder, and print them beside the stored ones."""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{'seed':13}" + "".join(f"{name:>16}" for name in (*HABITS, "apart")))
    for seed in range(5):
        began, made = warmed_up(seed)
        save_start(folder / f"signs-{seed}.npz", made, SIGNS)
        stored = warm_start("signs", seed)
        apart = (weights(made) - weights(stored)).norm()
        way = (weights(stored) - weights(began)).norm()
        for which, policy in (("stored", stored), ("made", made)):
            said = writes(policy)
            shown = "".join(f"{said[name]:16.3f}" for name in HABITS)
            shown += f"{apart / way:16.3f}" if policy is made else ""
            print(f"{seed}, {which:10}{shown}", flush=True)


def figures() -> None:
    """Write the data of the three figures."""
    rows = [json.dumps(row, ensure_ascii=False) for row in of_the_program()]
    text = "[\n  " + ",\n  ".join(rows) + "\n]\n"
    (OUT / "forty_lines.json").write_text(text, "utf-8")
    text = json.dumps(of_the_hack(), ensure_ascii=False, separators=(",", ":"))
    (OUT / "reward_hack.json").write_text(text + "\n", "utf-8")
    text = json.dumps(of_one_batch(), ensure_ascii=False, separators=(",", ":"))
    (OUT / "one_batch.json").write_text(text + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--starts", type=Path, metavar="FOLDER")
    folder = parser.parse_args().starts
    torch.set_num_threads(1)
    starts(folder) if folder else figures()


if __name__ == "__main__":
    main()
