"""Warm starts (热启动) in small files: a policy to begin with, read in milliseconds.

A file is a NumPy ``.npz``: one float16 array per weight, and as a text in JSON the
sizes of the policy and the vocabulary of its task. Nothing in it is ever executed.
``python -m tokenbook.lab.records --starts FOLDER`` trains them again, likewise.
"""

import io
import json
from pathlib import Path

import numpy as np
import torch

from tokencredit.world.policy import Policy
from tokencredit.world.tasks import Task, task

FOLDER = Path(__file__).parent


def save_start(path: Path | str, policy: Policy, task: Task):
    """Write a policy to a file 保存热启动; the same weights give the same bytes.

    Args:
        path: of the file, which is replaced.
        policy: of any size.
        task: its vocabulary is stored.

    Raises:
        ValueError: a weight that float16 cannot hold.

    Easy to break: float16 rounds, so the policy in the file is not bit for bit the one
    that was saved. Train from the result of `load_start`.
    """
    about = {
        "vocabulary": task.vocabulary,
        "context": policy.context,
        "width": policy.width,
        "layers": len(policy.blocks),
        "heads": policy.blocks[0].heads,
        "critic": policy.critic,
    }
    weights = {name: x.half() for name, x in policy.state_dict().items()}
    for name, weight in weights.items():
        if not weight.isfinite().all():
            raise ValueError(f"{name} holds a number that float16 cannot")
    arrays = {name: weight.numpy() for name, weight in weights.items()}
    with open(path, "wb") as file:
        np.savez(file, about=json.dumps(about), **arrays)


def load_start(path: Path | str, task: Task) -> Policy:
    """The policy of a file 读取热启动, in float32, ready to be trained.

    Args:
        path: a file of `save_start`.
        task: for the next training.

    Returns:
        A new policy, of the sizes in the file.

    Raises:
        ValueError: the file is no warm start, belongs to a task with another
            vocabulary, or to another architecture (the message names the difference).
    """
    data = Path(path).read_bytes()
    try:
        arrays = dict(np.load(io.BytesIO(data), allow_pickle=False))
        about = json.loads(str(arrays.pop("about")))
        weights = {name: torch.from_numpy(x) for name, x in arrays.items()}
        vocabulary = about.pop("vocabulary")
        with torch.random.fork_rng(devices=[]):  # leaves the caller's stream alone
            policy = Policy(len(vocabulary), **about)
    except Exception as error:
        raise ValueError(f"{path} is no warm start ({error})") from error
    if vocabulary != task.vocabulary:
        raise ValueError(
            f"{path} was warmed up on the vocabulary {vocabulary!r}, "
            f"the task has {task.vocabulary!r}"
        )
    has = {name: list(x.shape) for name, x in weights.items()}
    needs = {name: list(x.shape) for name, x in policy.state_dict().items()}
    for name in sorted(has | needs):
        if has.get(name) != needs.get(name):
            raise ValueError(
                f"{path} is of another architecture: {name} is {has.get(name)} in the "
                f"file, {needs.get(name)} in the policy"
            )
    policy.load_state_dict(weights)
    return policy


def warm_start(name: str, seed: int = 0) -> Policy:
    """The stored warm start of a task 热启动, for its default dials.

    Args:
        name: a key of TASKS.
        seed: 0 to 4.

    Returns:
        A new policy with a value head.

    Raises:
        ValueError: none is stored (the message lists those that are).

    >>> warm_start("signs", seed=3).critic
    True
    """
    path = FOLDER / f"{name}-{seed}.npz"
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.npz")))
        raise ValueError(f"no warm start {name}-{seed} is stored; known: {known}")
    return load_start(path, task(name))
