"""config.yml against the wheels of verl and OpenRLHF: what moved with a new version.

    pip download --no-deps -d wheels verl==0.9.1 OpenRLHF==0.11.2
    WHEELS=wheels python -m pytest tests/config_wheels.py

Neither library is installed: verl's YAML is read and its two rules on batches are run
from their source, OpenRLHF's flags are read by the syntax tree. TRL is imported in
tests/test_readconfig.py. config_names.yml is written anew by
`WHEELS=wheels python tests/config_wheels.py`.
"""

import ast
import os
import random
import textwrap
import zipfile
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tokenbook.symptoms.config import HERE, data, is_known, report

LIBRARIES = data()["libraries"]
FOLDER = Path(os.environ.get("WHEELS", "wheels"))
VERSIONS = {name: table["version"] for name, table in LIBRARIES.items()}
# Groups of verl of which single names are checked; of the others, only the group.
DECIDING = {
    *("actor_rollout_ref", "actor_rollout_ref.actor", "actor_rollout_ref.rollout"),
    *("actor_rollout_ref.actor.policy_loss", "actor_rollout_ref.rollout.multi_turn"),
    *("actor_rollout_ref.rollout.val_kwargs", "critic", "data", "reward"),
    *("reward.reward_manager", "reward_model", "trainer", "trainer.v1"),
    *(f"{part}.reward_kwargs" for part in ("reward", "reward_model")),
    *(
        f"{part}.reward_kwargs.overlong_buffer_cfg"
        for part in ("reward", "reward_model")
    ),
}


def source(library: str, ending: str) -> str:
    """The text of one file of a library's wheel, of the version in VERSIONS."""
    (wheel,) = FOLDER.glob(f"{library}-{VERSIONS[library]}-*.whl")
    with zipfile.ZipFile(wheel) as files:
        (name,) = [name for name in files.namelist() if name.endswith(ending)]
        return files.read(name).decode()


def leaves(tree, path=""):
    if not isinstance(tree, dict):
        yield path, tree
        return
    for name, value in tree.items():
        yield from leaves(value, f"{path}.{name}" if path else name)


def verl_defaults(kind: str = "ppo") -> dict:
    ending = f"trainer/config/_generated_{kind}_trainer.yaml"
    return dict(leaves(yaml.safe_load(source("verl", ending))))


def flags() -> dict:
    """OpenRLHF's flags and their defaults, where these are literal."""
    found = {}
    tree = ast.parse(source("openrlhf", "openrlhf/cli/train_ppo_ray.py"))
    for node in ast.walk(tree):
        if getattr(getattr(node, "func", None), "attr", "") != "add_argument":
            continue
        words = {word.arg: word.value for word in node.keywords}
        default = words.get("default", ast.Constant("action" not in words and None))
        try:
            default = ast.literal_eval(default)
        except ValueError:
            default = ast.unparse(default)
        name = node.args[0]
        if isinstance(name, ast.JoinedStr):  # for prefix in ("actor", "critic")
            for prefix in ("actor", "critic"):
                parts = [getattr(part, "value", None) for part in name.values]
                whole = "".join(p if isinstance(p, str) else prefix for p in parts)
                found[whole.lstrip("-")] = default
        else:
            found[name.value.lstrip("-")] = default
    return found


def verl_names() -> set[str]:
    kinds = ("ppo", "ppo_megatron", "ppo_torchtitan", "ppo_veomni")
    names = {name for kind in kinds for name in verl_defaults(kind)}
    for part in ("reward", "reward_model"):  # read, but in no file of defaults
        kwargs = f"{part}.reward_kwargs"
        names |= {f"{kwargs}.max_resp_len"}
        names |= {
            f"{kwargs}.overlong_buffer_cfg.{x}"
            for x in ("enable", "len", "log", "penalty_factor")
        }
    return {grouped(name) for name in names if not name.endswith("_target_")}


def grouped(name: str) -> str:
    """The name, or `a.b.*` of the outermost group that decides nothing."""
    parts = name.split(".")
    if name.rpartition(".")[0] in DECIDING or parts[0] == "algorithm":
        return name
    for end in range(1, len(parts)):
        if ".".join(parts[:end]) not in DECIDING:
            return ".".join(parts[:end]) + ".*"
    return name


def test_verls_defaults_are_those_of_its_yaml():
    theirs, table = verl_defaults(), LIBRARIES["verl"]
    optional = {"overlong", "overlong_len", "overlong_max"}
    for at, short in table["at"].items():
        if short not in optional and at != "reward_model.reward_manager":
            assert theirs[at] == table["fields"][short], at
        elif short in optional:
            assert at not in theirs and table["fields"][short] is None
    assert verl_names() == set(table["names"])


def test_openrlhfs_defaults_are_those_of_its_flags():
    theirs, table = flags(), LIBRARIES["openrlhf"]
    for at, short in table["at"].items():
        assert theirs[at] == table["fields"][short], at
    assert set(theirs) == set(table["names"])
    assert all(is_known("openrlhf", name) for name in theirs)


def method(library, ending, owner, name):
    """One method of a class, compiled alone from the wheel's source."""
    tree = ast.parse(source(library, ending))
    (body,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == owner]
    (found,) = [n for n in body.body if getattr(n, "name", "") == name]
    found.decorator_list, names = [], {"math": __import__("math")}
    for node in ast.walk(found):
        if isinstance(node, ast.arg):
            node.annotation = None
    found.returns = None
    module = ast.Module([found], [])
    exec(compile(ast.fix_missing_locations(module), ending, "exec"), names)
    return names[name]


def test_random_batches_are_refused_and_counted_as_verl_does():
    validate = method("verl", "workers/config/actor.py", "ActorConfig", "validate")
    multiple = method(
        "verl", "v1/trainer_base.py", "PPOTrainer", "_get_required_batch_multiple"
    )
    r, refused = random.Random(0), 0
    for _ in range(400):
        prompts, mini = r.choice([64, 96, 256, 500, 1024]), r.choice([32, 64, 256, 512])
        n, epochs, dynamic = r.choice([1, 4, 8]), r.choice([1, 2, 3]), r.random() < 0.2
        actor = SimpleNamespace(
            ppo_mini_batch_size=mini,
            ppo_micro_batch_size=None,
            use_dynamic_bsz=dynamic,
            ppo_epochs=epochs,
        )
        a = "actor_rollout_ref.actor."
        said = report(
            f"data.train_batch_size={prompts} actor_rollout_ref.rollout.n={n} "
            f"{a}ppo_mini_batch_size={mini} {a}ppo_epochs={epochs} "
            f"{a}use_dynamic_bsz={dynamic}"
        )
        try:
            validate(actor, 8, prompts)
        except ValueError:
            refused += 1
            assert said["refused"]
            continue
        rollout = SimpleNamespace(n=n)
        trainer = SimpleNamespace(
            use_critic=False,
            global_steps=1,
            config=SimpleNamespace(
                actor_rollout_ref=SimpleNamespace(actor=actor, rollout=rollout),
                trainer=SimpleNamespace(critic_warmup=0),
            ),
        )
        whole = multiple(trainer, 8)  # the batch is filled up to a multiple of this
        filled = -(-prompts * n // whole) * whole
        assert said["sizes"]["responses"] == prompts * n
        assert said["sizes"]["per_update"] == mini * n
        assert said["sizes"]["updates"] == filled // (mini * n) * epochs
    assert 20 < refused < 200


def test_the_losses_and_aggregations_of_verl_are_known_by_their_names():
    text = source("verl", "trainer/ppo/core_algos.py")
    said = (HERE / "config.yml").read_text(encoding="utf-8")
    names = [
        node.args[0].value
        for node in ast.walk(ast.parse(text))
        if getattr(getattr(node, "func", None), "id", "") == "register_policy_loss"
        and isinstance(node.args[0], ast.Constant)
    ]
    assert len(names) == 12
    for name in names:
        traps = report(f"actor_rollout_ref.actor.policy_loss.loss_mode={name}")["traps"]
        assert "foreign-loss" not in [trap["id"] for trap in traps], name
    assert f"version: {LIBRARIES['verl']['version']}" in said


def write_names():
    """Write config_names.yml."""
    from trl import GRPOConfig, ModelConfig, ScriptArguments

    parts = (GRPOConfig, ModelConfig, ScriptArguments)
    names = {
        "trl": {field.name for part in parts for field in fields(part)},
        "verl": verl_names(),
        "openrlhf": set(flags()),
    }
    head = "# Every name of a field, by library: what is not here is a slip of the "
    text = head + "keyboard.\n# `a.b.*`: a group of which nothing decides what is "
    text += "computed. Written by tests/config_wheels.py.\n"
    for library, found in names.items():
        lines = textwrap.wrap(
            " ".join(sorted(found)), 86, break_on_hyphens=False, break_long_words=False
        )
        text += f"{library}: >-\n" + "".join(f"  {line}\n" for line in lines)
    (HERE / "config_names.yml").write_text(text, encoding="utf-8")


if not list(FOLDER.glob("*.whl")):
    pytestmark = pytest.mark.skip(f"no wheels in {FOLDER}")
if __name__ == "__main__":
    write_names()
