"""`python -m tokencredit.integrations.trl`: its options, and its errors."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from tiny_qwen import tiny_qwen

from tokencredit import ALGORITHMS, Game, task, token_advantages, with_turn_groups
from tokencredit.integrations.trl.command import (
    Course,
    examples,
    main,
    parse,
    reward_function,
    trainer_of,
    with_kl,
)
from tokencredit.integrations.trl.trainer import stays
from tokencredit.world.text import decode, encode

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
CHAIN, LAKE = task("chain"), Game(id="FrozenLakeFixed")
SMALL = {
    "max_steps": 1,
    "per_device_train_batch_size": 8,
    "num_generations": 4,
    "max_completion_length": 14,
    "use_cpu": "true",
    "bf16": "false",
    "gradient_checkpointing": "false",
    "save_strategy": "no",
    "report_to": "none",
    "disable_tqdm": "true",
}


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chain")
    tiny_qwen(CHAIN, folder, steps=1)
    return folder


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    tiny_qwen(LAKE, folder, steps=20, batch=16)
    return folder


def flags(folder, model=None, **given):
    """The command's arguments, with small settings where the test has none."""
    given = {"output_dir": folder, "model_name_or_path": model} | SMALL | given
    pairs = [(f"--{k}", str(x)) for k, x in given.items() if x is not None]
    return [text for pair in pairs for text in pair]


def trainer(*args, **given):
    return trainer_of(*parse(flags(*args, **given)))


def refused(argv):
    """The one sentence that the command ends with."""
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert "\n" not in str(stop.value)
    return str(stop.value)


def test_a_task_is_trained_on_and_its_model_saved(chain, tmp_path, capsys):
    main(flags(tmp_path, chain, algorithm="Dr. GRPO", task="chain", logging_steps=1))
    said = capsys.readouterr().out
    assert "Dr. GRPO in TRL" in said and "scale_rewards 'group'" in said
    assert "at the end" in said
    assert (tmp_path / "model.safetensors").exists()


def test_a_truncated_response_has_no_end_and_a_finished_one_has_the_tasks():
    judge = reward_function(
        CHAIN, lambda ids: decode(ids, CHAIN.vocabulary), lambda: [14, 99]
    )
    right = encode("41#1", CHAIN.vocabulary)
    assert judge(["47="] * 3, [[*right, 14], [*right, 99], right]) == [1, 1, 0]


def test_prompts_of_a_file_reach_a_reward_function_with_their_columns(chain, tmp_path):
    rows = [{"prompt": f"4{d}=", "answer": str(d)} for d in range(4)]
    asked = tmp_path / "asked.jsonl"
    asked.write_text("\n".join(map(json.dumps, rows)) + "\n")
    judge = tmp_path / "judge.py"
    judge.write_text(
        "def ends(prompts, completions, answer, **_):\n"
        "    assert all(p[1] == a for p, a in zip(prompts, answer))\n"
        "    return [float(len(text)) for text in completions]\n"
    )
    given = {"prompts": asked, "reward": f"{judge}:ends", "logging_steps": 1}
    made = trainer(tmp_path / "out", chain, algorithm="DAPO", **given)
    made.train()
    assert made.state.log_history[0]["reward"] > 0
    plain = tmp_path / "asked.txt"
    plain.write_text("47=\n\n48=\n")
    assert examples(plain) == [{"prompt": "47="}, {"prompt": "48="}]


def test_credit_per_turn_is_the_packages_own(lake, tmp_path):
    """Advantages [B, T] of whole episodes, against `token_advantages` on the batch."""
    torch.manual_seed(0)
    own = {"algorithm": "Dr. GRPO", "game": LAKE.id, "turn_groups": "true"}
    made = trainer(tmp_path, lake, **own)
    rows = [{"prompt": str(seed)} for seed in (3, 3, 3, 3, 8, 8, 8, 8)]
    made.model.train()
    got = made._generate_and_score_completions(rows)
    said = got["tool_mask"].bool() & got["completion_mask"].bool()
    earned = torch.zeros(said.shape)
    for row, given in zip(earned, rows, strict=True):
        row[: len(given["turn_rewards"])] = torch.tensor(given["turn_rewards"])
    ends = said.clone()
    ends[:, :-1] &= ~said[:, 1:]
    assert ends.sum() > len(rows)  # several turns
    assert earned.any() and not earned[~ends].any()
    wanted = token_advantages(
        with_turn_groups(ALGORITHMS["Dr. GRPO"]),
        earned,
        said,
        groups=torch.tensor([0] * 4 + [1] * 4),
        turn_ends=ends,
    )
    torch.testing.assert_close(got["advantages"], wanted)
    assert got["advantages"].any() and not got["advantages"][~said].any()


def test_an_episode_is_what_the_game_said_and_the_model_replied(lake, tmp_path):
    made = trainer(tmp_path, lake, algorithm="Dr. GRPO", game=LAKE.id)
    rows = made.rollout_func(["5"] * 4, made)
    words = made.processing_class
    fields = ("prompt_ids", "completion_ids", "env_mask", "turn_rewards")
    for asked, ids, live, paid in zip(*(rows[name] for name in fields), strict=True):
        assert len(ids) == len(live) == len(paid)
        env = LAKE.env
        scene, _ = env.reset(seed=5)
        assert words.decode(asked) == f"<obs> {scene} <act>"
        heard = words.decode([i for i, own in zip(ids, live, strict=True) if not own])
        said = words.decode([i for i, own in zip(ids, live, strict=True) if own])
        assert heard.count("<obs>") == heard.count("<act>") < env.max_turns
        assert "turns 5" not in heard and live[0] == live[-1] == 1
        assert set(said.split()) <= set(LAKE.vocabulary)


def test_advantages_per_token_weigh_each_token_by_its_own(chain, tmp_path):
    made = trainer(tmp_path, chain, algorithm="REINFORCE", task="chain")
    made.current_gradient_accumulation_steps = 1
    ones = torch.ones(1, 4).long()
    batch = {
        "prompt_ids": torch.tensor([encode("471=", CHAIN.vocabulary)]),
        "prompt_mask": ones,
        "completion_ids": torch.tensor([encode("412#", CHAIN.vocabulary)]),
        "completion_mask": ones,
    }
    per_token = torch.tensor([[1.0, 0.0, -2.0, 0.5]])
    loss = made._compute_loss(made.model, batch | {"advantages": per_token})
    tokens = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    log_probs = made.model(tokens[:, :-1]).logits.log_softmax(-1)
    chosen = log_probs.gather(2, tokens[:, 1:, None])[0, 3:, 0]
    torch.testing.assert_close(loss, -(per_token[0] * chosen).sum())


def test_credit_per_turn_without_rewards_of_turns_is_refused(chain, tmp_path):
    made = trainer(tmp_path, chain, algorithm="Dr. GRPO", task="chain")
    made.algorithm = with_turn_groups(made.algorithm)
    made.model.train()
    with pytest.raises(ValueError, match="turn groups: credit per turn needs turn_rew"):
        made._generate_and_score_completions([{"prompt": "47="}] * 4)


def test_what_stays_trls_is_said():
    args = SimpleNamespace(scale_rewards="group", beta=0.0)
    said = "\n".join(stays(ALGORITHMS["GRPO"], args))
    assert "KL in the loss: beta 0 (GRPO: 0.04 k3)" in said and "filter" not in said
    said = "\n".join(stays(ALGORITHMS["StarPO-S"], args))
    assert "filter: none (StarPO-S: top_variance(keep=0.25))" in said
    assert "whitened" in "\n".join(stays(ALGORITHMS["REINFORCE++"], args))
    turns = with_turn_groups(ALGORITHMS["DAPO"])
    assert not any("advantage" in line for line in stays(turns, args))


def test_the_kl_is_as_strong_as_beta_and_never_a_k1_in_the_loss():
    free = with_kl(ALGORITHMS["REINFORCE"], 0.1)
    assert (free.kl_coef, free.kl_in, free.kl_estimator) == (0.1, "loss", "k3")
    assert with_kl(ALGORITHMS["GRPO"], 0.2) == replace(ALGORITHMS["GRPO"], kl_coef=0.2)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"algorithm": "GPRO"}, "algorithm must be one of 'REINFORCE'"),
        ({"algorithm": "PPO"}, "PPO has a critic, which TRL's GRPO has not"),
        ({"algorithm": "RLOO"}, "RLOO has a KL in the reward, which TRL's"),
        ({"algorithm": "GRPO + TIS"}, "GRPO + TIS has a correction of the sampler"),
        ({"task": "chess"}, "unknown task 'chess'; known: addition"),
        ({"task": None, "game": "Go"}, "unknown environment 'Go'"),
        ({"task": None}, "exactly one of task, prompts and game must be given; got n"),
        ({"game": "Sokoban"}, "must be given; got task and game"),
        ({"reward": "math:sqrt"}, "prompts and reward must be given together"),
        ({"turn_groups": "true"}, "turn_groups needs a game"),
        ({"num_prompts": 0}, "num_prompts must be a whole number of at least 1"),
        ({"model": None}, "model_name_or_path must be a folder or a name on the Hub"),
        (
            {"model": "nobody/nothing"},
            "the Hub does not give them (no such name, or no",
        ),
        ({"model": "/no/such/folder"}, "'/no/such/folder': no folder of a model and"),
        ({"num_generations": 3}, "divisible"),
    ],
)
def test_bad_input_ends_in_one_sentence(chain, tmp_path, monkeypatch, given, sentence):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    given = {"algorithm": "DAPO", "task": "chain", "model": chain} | given
    said = refused(flags(tmp_path, **given))
    assert said.startswith("tokencredit.integrations.trl: ") and sentence in said


def test_a_clip_range_per_step_needs_the_whole_step(chain, tmp_path):
    given = {"algorithm": "BAPO", "task": "chain", "gradient_accumulation_steps": 2}
    assert "BAPO chooses its clip range per op" in refused(
        flags(tmp_path, chain, **given)
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("leraning_rate: 0.1", "unknown key 'leraning_rate'; did you mean 'learning_r"),
        ("- DAPO", "must map keys to values"),
        ("a: [", "is no YAML"),
        (None, "No such file"),
    ],
)
def test_a_bad_config_is_named(tmp_path, text, sentence):
    path = tmp_path / "run.yaml"
    if text is not None:
        path.write_text(text)
    said = refused(["--config", str(path)])
    assert str(path) in said and sentence in said


def test_an_unknown_flag_is_named(tmp_path):
    said = refused(flags(tmp_path, algorithm="DAPO", task="chain", speed=3))
    assert "--speed" in said


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.jsonl", '{"prompt": "1"}\n{', "line 2"),
        ("a.jsonl", '{"question": "1"}', "line 1 must be an object with 'prompt'"),
        ("a.txt", "\n", "holds no prompt"),
        ("a.csv", "prompt", "prompts must be a .txt or .jsonl file"),
        ("a.txt", None, "No such file"),
    ],
)
def test_a_bad_file_of_prompts_is_named(tmp_path, name, text, sentence):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=sentence):
        examples(tmp_path / name)


@pytest.mark.parametrize("place", ["no.py:f", "nowhere:f", "math:nothing", "sqrt"])
def test_a_missing_reward_function_is_named(chain, tmp_path, place):
    asked = tmp_path / "asked.txt"
    asked.write_text("47=\n")
    given = {"algorithm": "DAPO", "prompts": asked, "reward": place}
    assert f"reward {place!r}" in refused(flags(tmp_path, chain, **given))


def test_the_example_beside_the_command_is_a_configuration(tmp_path):
    path = sys.modules[Course.__module__].__file__.replace("command.py", "run.yaml")
    course, args, _ = parse(["--config", path, "--output_dir", str(tmp_path)])
    assert course.algorithm in ALGORITHMS
    assert args.max_completion_length == task(course.task).max_response
