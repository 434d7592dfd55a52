"""TRL with one command, trained for real: `make integrations` (a few minutes, offline).

Plain `make test` holds what takes seconds, in test_trl_command.py.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from parity_trl import expressible
from safetensors.torch import load_file
from tiny_qwen import tiny_qwen
from transformers import AutoModelForCausalLM

from tokencredit import Game, task

HERE = Path(__file__).parent
CONFIG = HERE.parent / "src/tokencredit/integrations/trl/run.yaml"
TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]


def run(*args):
    """What a command prints, on one thread and without the Hub."""
    done = subprocess.run(
        [sys.executable, *map(str, args)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def alone():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A Qwen3 that has begun to write running sums."""
    folder = tmp_path_factory.mktemp("chain")
    tiny_qwen(task("chain", steps=1.0), folder, steps=420)
    return folder


def command(out, model, *flags, launch=()):
    """The rewards that `python -m tokencredit.integrations.trl` says at its end."""
    own = ["--model_name_or_path", model, "--output_dir", out, "--disable_tqdm", "true"]
    said = run(*launch, "-m", "tokencredit.integrations.trl", *own, *flags)
    (rewards,) = re.findall(r"^reward (\S+) in .*, (\S+) at the end$", said, re.M)
    return *map(float, rewards), said


def test_the_reward_of_a_qwen3_rises(chain, tmp_path):
    first, last, said = command(tmp_path, chain, "--config", CONFIG)
    assert "DAPO in TRL: token_log_ratio, ppo_clip_loss(clip_low=0.2" in said
    assert "stays TRL's: filter: none (DAPO: dynamic_sampling)" in said
    assert last > first + 0.1
    assert (tmp_path / "model.safetensors").exists()


def test_a_game_is_trained_through_rollout_func(tmp_path):
    """Credit per turn; the format is learned first, each breach of it costs 0.1."""
    tiny_qwen(Game(id="BanditTrain"), tmp_path / "player", steps=8)
    flags = ["--algorithm", "Dr. GRPO", "--game", "BanditTrain", "--turn_groups"]
    flags += ["--scale_rewards", "none", "--max_steps", "20", "--logging_steps", "2"]
    flags += ["--per_device_train_batch_size", "64", "--num_generations", "8"]
    flags += ["--learning_rate", "2e-3", "--lr_scheduler_type", "constant"]
    flags += ["--use_cpu", "true", "--bf16", "false", "--report_to", "none"]
    flags += ["--gradient_checkpointing", "false", "--save_strategy", "no"]
    first, last, _ = command(tmp_path / "out", tmp_path / "player", *flags)
    assert last > first + 0.1


def test_lora_trains_its_adapter_in_two_processes_and_nothing_else(chain, tmp_path):
    flags = ["--config", CONFIG, "--max_steps", "4", "--use_peft", "true"]
    flags += ["--lora_r", "8", "--lora_target_modules", "all-linear"]
    *_, said = command(tmp_path, chain, *flags, launch=TWO)
    assert "processes: 2" in said
    saved = load_file(tmp_path / "adapter_model.safetensors")
    assert all("lora_" in name for name in saved)
    moved = [x.abs().max() for name, x in saved.items() if "lora_B" in name]
    assert min(moved) > 0  # an adapter starts with B = 0
    assert not (tmp_path / "model.safetensors").exists()


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Of a fresh model, and after the same responses in one process and in two."""
    fresh, one, two = map(tmp_path_factory.mktemp, ("fresh", "one", "two"))
    tiny_qwen(task("chain"), fresh, steps=0)
    run(HERE / "parity_trl.py", fresh, one)
    run(*TWO, HERE / "parity_trl.py", fresh, two)
    model = AutoModelForCausalLM.from_pretrained(fresh)
    start = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    return start, one, two


@pytest.mark.parametrize("name", [row.name for row in expressible()])
def test_one_process_and_two_give_the_same_weights(weights, name):
    start, one, two = weights
    alone = torch.load(one / f"{name}.0.pt")
    ranks = [torch.load(two / f"{name}.{rank}.pt") for rank in (0, 1)]
    moved, off = (alone - start).abs().max(), (alone - ranks[0]).abs().max()
    print(f"{name}: moved {moved:.3f}, off by {off:.1e}")
    assert ranks[0].equal(ranks[1])
    assert off < 1e-6 and moved > 1e-3
