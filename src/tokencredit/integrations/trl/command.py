"""One command: an entry of ALGORITHMS trains any causal model of the field.

    python -m tokencredit.integrations.trl --config run.yaml
    python -m torch.distributed.run --nproc_per_node 2 \\
        -m tokencredit.integrations.trl --config run.yaml

The YAML file holds the fields of `Course`, and those of TRL's `GRPOConfig` and
`ModelConfig`; flags on the command line beat it. `run.yaml` beside this file is one.
"""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import yaml
from datasets import Dataset
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase
from trl import (
    GRPOConfig,
    ModelConfig,
    TrlParser,
    get_peft_config,
    get_quantization_config,
)

from tokencredit.algorithm import Algorithm
from tokencredit.algorithms import ALGORITHMS, with_turn_groups
from tokencredit.integrations.gpt2 import own_positions
from tokencredit.integrations.trl.games import episodes, total
from tokencredit.integrations.trl.trainer import RowTrainer, named, refuse, stays
from tokencredit.tensors.checks import choice, whole
from tokencredit.world.game import Game
from tokencredit.world.tasks import Task, task
from tokencredit.world.text import EOS


def option(words: str, default=None):
    """A field of the configuration, with its line of --help."""
    return field(default=default, metadata={"help": words})


@dataclass
class Course:
    """The data and algorithm of a run; exactly one of task, prompts and game.

    Raises:
        ValueError: an unknown algorithm, none or several of the three, `reward`
            without `prompts` or the other way round, `turn_groups` without a game.
    """

    algorithm: str = field(metadata={"help": "an entry of ALGORITHMS"})
    task: str | None = option("a task of the package, which brings its verdict")
    prompts: str | None = option("a file: .txt, one a line, or .jsonl with 'prompt'")
    reward: str | None = option("of the prompts: FILE.py:FUNCTION or MODULE:FUNCTION")
    game: str | None = option("an environment of the package, played over turns")
    turn_groups: bool = option("credit per turn of the game", False)
    num_prompts: int = option("how many are drawn of a task or a game", 256)

    def __post_init__(self):
        choice("algorithm", self.algorithm, ALGORITHMS)
        named = [x for x in ("task", "prompts", "game") if getattr(self, x) is not None]
        if len(named) != 1:
            raise ValueError(
                "exactly one of task, prompts and game must be given; got "
                + (" and ".join(named) or "none")
            )
        if (self.prompts is None) != (self.reward is None):
            raise ValueError("prompts and reward must be given together")
        if self.turn_groups and self.game is None:
            raise ValueError("turn_groups needs a game: only a game has turns")
        whole("num_prompts", self.num_prompts)

    @property
    def row(self) -> Algorithm:
        """The algorithm, with credit per turn if `turn_groups` is set."""
        row = ALGORITHMS[self.algorithm]
        return with_turn_groups(row) if self.turn_groups else row


PARTS = (Course, GRPOConfig, ModelConfig)


def parse(argv: list[str]) -> tuple[Course, GRPOConfig, ModelConfig]:
    """The configuration 配置 from flags and the file after --config.

    Raises:
        ValueError: no such file, no mapping in it, an unknown key or flag, or an error
            of `Course` or of TRL's own classes.
    """
    if "--config" in argv[:-1]:
        check_keys(Path(argv[argv.index("--config") + 1]))
    return TrlParser(PARTS).parse_args_and_config(argv)


def check_keys(path: Path):
    """Raise unless a YAML file is a mapping whose keys are known."""
    try:
        given = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"config {path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        words = " ".join(str(error).split())
        raise ValueError(f"config {path} is no YAML: {words}") from None
    if not isinstance(given, dict):
        raise ValueError(f"config {path} must map keys to values")
    known = {"env"} | {f.name for part in PARTS for f in fields(part) if f.init}
    for key in given.keys() - known:
        near = get_close_matches(str(key), known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"config {path} has the unknown key {key!r}{hint}")


def examples(path: Path) -> list[dict]:
    """The rows of a file of prompts; further columns go to the reward function.

    Raises:
        ValueError: no such file, another ending, a line without a prompt, no prompts.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"prompts {path}: {error.strerror}") from None
    lines = [(n, line) for n, line in enumerate(lines, 1) if line.strip()]
    if path.suffix == ".txt":
        rows = [{"prompt": line} for _, line in lines]
    elif path.suffix == ".jsonl":
        rows = [example(path, n, line) for n, line in lines]
    else:
        raise ValueError(f"prompts must be a .txt or .jsonl file; got {str(path)!r}")
    if not rows:
        raise ValueError(f"prompts {path} holds no prompt")
    return rows


def example(path: Path, number: int, line: str) -> dict:
    """One line of a .jsonl file."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"prompts {path}, line {number}: {error}") from None
    if not isinstance(row, dict) or "prompt" not in row:
        raise ValueError(
            f"prompts {path}, line {number} must be an object with 'prompt'"
        )
    return row


def function(place: str) -> Callable:
    """The function that `FILE.py:NAME` or `MODULE:NAME` names.

    It is called as TRL calls one: with prompts, completions, completion_ids and the
    further columns, each a list, and returns a list of numbers.

    Raises:
        ValueError: no such file, module or function.

    >>> function("math:nothing")
    Traceback (most recent call last):
    ValueError: reward 'math:nothing': no function of that name there
    """
    where, _, name = place.rpartition(":")
    try:
        if where.endswith(".py"):
            there = runpy.run_path(where)
        else:
            there = vars(importlib.import_module(where))
    except (ImportError, OSError, ValueError) as error:
        raise ValueError(f"reward {place!r}: {error}") from None
    if not callable(there.get(name)):
        raise ValueError(f"reward {place!r}: no function of that name there")
    return there[name]


def reward_function(goal: Task, decode: Callable, ends: Callable) -> Callable:
    """A task's reward as a reward function of TRL.

    TRL drops special tokens from its completions, and a task tells a truncated response
    from a finished one by its end: so the text is decoded from the ids, with the task's
    EOS instead of the model's.
    """

    def reward(prompts, completion_ids, **_):
        scores = []
        for prompt, ids in zip(prompts, completion_ids, strict=True):
            ended = len(ids) > 0 and ids[-1] in ends()
            text = decode(ids[:-1]) + EOS if ended else decode(ids)
            scores.append(goal.reward(prompt, text))
        return scores

    return reward


def trainer_of(course: Course, args: GRPOConfig, model: ModelConfig) -> RowTrainer:
    """The trainer of a configuration 由配置得到训练器.

    Raises:
        ValueError: a model that is neither a folder here nor given by the Hub; an
            unusable algorithm, task, game, file or function; see `RowTrainer`.
    """
    refuse(course.row)
    words = words_of(model, args)
    rng = np.random.default_rng(args.seed)
    rollout_func = None
    if course.task is not None:
        goal = task(course.task)
        rows = [{"prompt": text} for text in goal.prompts(course.num_prompts, rng)]
        reward = reward_function(goal, words.decode, lambda: trainer.eos_token_ids)
    elif course.game is not None:
        game = Game(id=course.game)
        seeds = rng.integers(game.instances, size=course.num_prompts)
        rows = [{"prompt": str(seed)} for seed in seeds]
        rollout_func, reward = episodes(game), total
        args.max_completion_length = game.max_response
    else:
        rows, reward = examples(Path(course.prompts)), function(course.reward)
    args.model_init_kwargs = {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
    } | (args.model_init_kwargs or {})
    trainer = RowTrainer(
        model=model.model_name_or_path,
        args=args,
        reward_funcs=reward,
        train_dataset=Dataset.from_list(rows),
        algorithm=with_kl(course.row, args.beta),
        processing_class=words,
        rollout_func=rollout_func,
        quantization_config=get_quantization_config(model),
        peft_config=get_peft_config(model),
    )
    for net in filter(None, (trainer.model, trainer.ref_model)):
        own_positions(net)
    return trainer


def words_of(model: ModelConfig, args: GRPOConfig) -> PreTrainedTokenizerBase:
    """The model's tokenizer; a ValueError in one sentence if there is no such model."""
    name = model.model_name_or_path
    if name is None:
        raise ValueError("model_name_or_path must be a folder or a name on the Hub")
    dials = {
        "revision": model.model_revision,
        "trust_remote_code": args.trust_remote_code,
    }
    try:
        AutoConfig.from_pretrained(name, **dials)
        return AutoTokenizer.from_pretrained(name, padding_side="left", **dials)
    except (OSError, ValueError):
        raise ValueError(
            f"model_name_or_path {name!r}: no folder of a model and its tokenizer "
            "here, and the Hub does not give them (no such name, or no network)"
        ) from None


def with_kl(row: Algorithm, beta: float) -> Algorithm:
    """The algorithm with TRL's coefficient, and TRL's k3 where it has no KL itself."""
    if not row.kl_coef:
        row = replace(row, kl_in="loss", kl_estimator="k3")
    return replace(row, kl_coef=beta)


def main(argv: list[str] | None = None):
    """Train, and save the model into `output_dir`."""
    try:
        course, args, model = parse(sys.argv[1:] if argv is None else argv)
        trainer = trainer_of(course, args, model)
    except ValueError as error:
        sys.exit(f"tokencredit.integrations.trl: {error}")
    row, say = course.row, trainer.accelerator.print
    say(
        f"{row.name} in TRL: {named(row.log_ratio)}, {named(row.loss)}, "
        f"{row.aggregation}; processes: {trainer.accelerator.num_processes}"
    )
    for line in stays(row, args):
        say("stays TRL's:", line)
    trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)
    trainer.save_model(args.output_dir)
    paid = [seen["reward"] for seen in trainer.state.log_history if "reward" in seen]
    tenth = -(-len(paid) // 10)
    if paid:
        first, last = np.mean(paid[:tenth]), np.mean(paid[-tenth:])
        say(
            f"reward {first:.2f} in the first tenth of the steps, {last:.2f} at the end"
        )
    trainer.accelerator.end_training()
