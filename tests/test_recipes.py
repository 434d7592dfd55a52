"""The configurations of verl, as text; `make integrations-verl` composes them."""

import pytest
import yaml

from tokencredit import ALGORITHMS, with_critic
from tokencredit.integrations.recipes import left_out, main, recipe, text


@pytest.mark.parametrize("row", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_every_entry_has_a_recipe_that_says_what_was_not_run(row):
    assert yaml.safe_load(text(row)) == recipe(row)
    assert "Not run: a whole training" in text(row).partition("defaults")[0]


@pytest.mark.parametrize("row", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_the_probabilities_of_sampling_are_stored_to_be_compared(row):
    assert recipe(row)["actor_rollout_ref"]["rollout"]["calculate_log_probs"] is True


def test_a_kl_stands_where_the_entry_pays_it():
    grpo, rloo = recipe(ALGORITHMS["GRPO"]), recipe(ALGORITHMS["RLOO"])
    actor = grpo["actor_rollout_ref"]["actor"]
    assert (actor["kl_loss_coef"], actor["kl_loss_type"]) == (0.04, "k3")
    assert grpo["algorithm"]["use_kl_in_reward"] is False
    assert rloo["actor_rollout_ref"]["actor"]["use_kl_loss"] is False
    assert rloo["algorithm"]["kl_penalty"] == "k1"
    assert rloo["algorithm"]["kl_ctrl"] == {"kl_coef": 0.05}


def test_what_is_done_where_the_engines_disagree_is_verls_own():
    how = {
        name: recipe(name)["algorithm"]["rollout_correction"]
        for name, row in ALGORITHMS.items()
        if row.corrects
    }
    assert how == {
        "GRPO + TIS": {"rollout_is": "token"},
        "GRPO + IcePop": {"rollout_is": "token", "rollout_is_threshold": "0.5_5.0"},
    }


def test_a_teacher_is_verls_own():
    made = recipe("OPD")
    assert made["distillation"] == {
        "enabled": True,
        "distillation_loss": {
            "loss_mode": "k1",
            "use_policy_gradient": True,
            "use_task_rewards": False,
        },
    }
    assert made["algorithm"]["adv_estimator"] == "grpo"  # registered, and not used
    assert "teacher_models" in left_out("OPD")[0]


def test_a_critic_is_verls_own():
    ppo = recipe(ALGORITHMS["PPO"])
    assert ppo["algorithm"]["adv_estimator"] == "gae"
    assert ppo["algorithm"]["lam"] == 0.95
    assert ppo["critic"]["cliprange_value"] == ALGORITHMS["PPO"].value_clip
    assert ppo["actor_rollout_ref"]["rollout"]["n"] == 1  # nothing is compared
    path = "${actor_rollout_ref.model.path}"  # else verl loads a model of its own
    assert ppo["critic"]["model"]["path"] == path


@pytest.mark.parametrize("row", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_only_dppo_measures_from_the_samplers_probabilities(row):
    correction = recipe(row)["algorithm"].get("rollout_correction", {})
    assert correction.get("bypass_mode", False) is (row.name == "DPPO")


def test_what_verl_has_no_place_for_is_named():
    assert left_out(ALGORITHMS["GRPO"]) == []
    assert len(left_out(ALGORITHMS["DAPO"])) == 2  # filter, length penalty
    assert "its filter" in left_out(ALGORITHMS["StarPO-S"])[0]
    assert "several ranks" in left_out(ALGORITHMS["BAPO"])[0]
    turns = with_critic(ALGORITHMS["StarPO"], credit_level="turn")
    assert "credit per turn" in left_out(turns)[0]
    assert "# Left out: its filter" in text(ALGORITHMS["DAPO"])


def test_the_command_prints_one_recipe_or_one_sentence(capsys):
    main(["Dr. GRPO"])
    assert capsys.readouterr().out == text(ALGORITHMS["Dr. GRPO"])
    with pytest.raises(SystemExit, match="algorithm must be one of 'REINFORCE', "):
        main(["GPRO"])
