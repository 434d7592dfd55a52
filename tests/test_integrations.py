"""TRL's trainer with the course's rows: the peer's own loss is the oracle."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from trl import GRPOTrainer

from tokencredit import ALGORITHMS, token_log_probs
from tokencredit.integrations.trl import RowTrainer, as_gpt2, tokenizer, trl_rounds
from tokencredit.training import warm_up
from tokencredit.world.policy import Policy
from tokencredit.world.tasks import task
from tokencredit.world.text import encode

CHAIN = task("chain")
EOS_ID = CHAIN.vocabulary.index("$")

# A row of ours without KL, and the settings that are the same algorithm in TRL's words.
PAIRS = {
    "GRPO": {"loss_type": "grpo"},
    "Dr. GRPO": {"loss_type": "dr_grpo", "scale_rewards": "none"},
    "DAPO": {"loss_type": "dapo", "epsilon_high": 0.28},
    "GSPO": {
        "loss_type": "grpo",
        "importance_sampling_level": "sequence",
        "epsilon": 3e-4,
        "epsilon_high": 4e-4,
    },
    "CISPO": {"loss_type": "cispo", "epsilon_high": 5.0},
    "SAPO": {"loss_type": "sapo"},
}


@pytest.fixture(scope="module")
def policy():
    torch.manual_seed(0)
    policy = Policy(len(CHAIN.vocabulary), context=CHAIN.max_prompt + 14)
    warm_up(policy, CHAIN, steps=60)
    return policy


def without_kl(name):
    return replace(ALGORITHMS[name], kl_coef=0.0)


def trained(policy, row, **settings):
    """Every weight after two rounds of two updates, in one row.

    Plain SGD: under Adam a gradient of rounding errors takes a step as long as any.
    """
    torch.manual_seed(0)
    dials = {"rounds": 2, "prompts": 16, "optim": "sgd", "learning_rate": 0.5}
    trainer, paid = trl_rounds(policy, CHAIN, row, **dials | settings)
    weights = [w.detach().flatten() for w in trainer.model.parameters()]
    return torch.cat(weights), paid


@pytest.mark.parametrize("name", PAIRS)
def test_a_row_of_ours_moves_the_weights_as_the_trainers_own_loss_does(policy, name):
    own, paid = trained(policy, None, **PAIRS[name])
    ours, same = trained(policy, without_kl(name), **PAIRS[name])
    start = torch.cat([w.flatten() for w in as_gpt2(policy, EOS_ID).parameters()])
    assert paid == same and 0 < sum(paid)
    assert (own - start).abs().max() > 1e-3
    torch.testing.assert_close(ours, own.detach(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("positions", ["own", "padded"])
def test_the_kl_of_an_algorithm_is_paid_against_trls_reference(policy, positions):
    """Two rounds of two updates: by then the policy has left the reference."""
    dials = {"beta": 0.3, "use_bias_correction_kl": False, "positions": positions}
    own, _ = trained(policy, None, **dials)
    paying = replace(ALGORITHMS["GRPO"], kl_coef=0.3)
    ours, _ = trained(policy, paying, **dials)
    free, _ = trained(policy, without_kl("GRPO"), positions=positions)
    torch.testing.assert_close(ours, own.detach(), atol=1e-5, rtol=0)
    assert (ours - free).abs().max() > 1e-4


def test_a_clip_range_chosen_per_step_needs_the_whole_step(policy):
    with pytest.raises(ValueError, match="BAPO chooses its clip range per optimizer"):
        trl_rounds(policy, CHAIN, ALGORITHMS["BAPO"], rounds=1, micro_size=8)


def test_a_row_that_the_trainer_does_not_know_trains_in_it(policy):
    start = torch.cat([w.flatten() for w in as_gpt2(policy, EOS_ID).parameters()])
    ours, _ = trained(policy, ALGORITHMS["BAPO"])
    grpo, _ = trained(policy, without_kl("GRPO"))
    assert (ours - start).abs().max() > 1e-2
    assert (ours - grpo).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["GRPO", "DAPO"])
def test_the_loss_of_a_row_does_not_depend_on_micro_batches(policy, name):
    whole, _ = trained(policy, without_kl(name))
    parts, _ = trained(policy, without_kl(name), micro_size=8)
    torch.testing.assert_close(parts, whole, atol=1e-5, rtol=0)


def test_a_gpt2_with_a_policys_weights_is_the_same_function(policy):
    tokens = torch.randint(len(CHAIN.vocabulary), (8, policy.context))
    for positions in ("own", "padded"):
        there = as_gpt2(policy, EOS_ID, positions)(tokens).logits
        torch.testing.assert_close(there, policy(tokens)[0])


PROMPTS, ANSWER = ("47=", "471=", "4719="), "41#1$"


def as_the_trainer_reads(policy, positions):
    """Log-probs of a response after three prompts: those of TRL, and of the policy."""
    silent = {"rounds": 1, "prompts": 16, "learning_rate": 0.0, "positions": positions}
    trainer, _ = trl_rounds(policy, CHAIN, None, **silent)
    rows = [torch.tensor(encode(p + ANSWER, CHAIN.vocabulary)) for p in PROMPTS]
    width = max(map(len, rows))
    tokens = torch.stack([F.pad(r, (width - len(r), 0), value=EOS_ID) for r in rows])
    mask = torch.stack([F.pad(torch.ones_like(r), (width - len(r), 0)) for r in rows])
    with torch.no_grad():
        there, _, _ = trainer._get_per_token_logps_and_entropies(
            trainer.model, tokens, mask, len(ANSWER)
        )
        here = [
            token_log_probs(policy(row[None, :-1])[0], row[None, 1:])[0, -len(ANSWER) :]
            for row in rows
        ]
    return there, torch.stack(here)


def test_own_positions_make_left_padding_invisible_to_the_trainer(policy):
    there, here = as_the_trainer_reads(policy, "own")
    torch.testing.assert_close(there, here)


def test_padded_positions_train_another_policy_after_short_prompts(policy):
    there, here = as_the_trainer_reads(policy, "padded")
    far = (there - here).abs().amax(1)
    assert far[2] < 1e-5 < 0.1 < far[:2].min()


def test_tokens_of_a_tool_get_no_gradient(policy):
    still = {"rounds": 1, "prompts": 16, "learning_rate": 0.0}
    trainer, _ = trl_rounds(policy, CHAIN, without_kl("GRPO"), **still)
    tokens = torch.tensor([encode("4719=" + ANSWER, CHAIN.vocabulary)])
    ones, live = torch.ones(1, 5).long(), torch.tensor([[1, 1, 0, 0, 1]])
    batch = {
        "prompt_ids": tokens[:, :5],
        "prompt_mask": ones,
        "completion_ids": tokens[:, 5:],
        "completion_mask": ones,
        "tool_mask": live,
        "advantages": torch.ones(1),
    }
    trainer.model.zero_grad()
    trainer._compute_loss(trainer.model, batch).backward()
    policy.zero_grad()
    here = token_log_probs(policy(tokens[:, :-1])[0], tokens[:, 1:])[:, -5:]
    (-here[live.bool()].sum() / 3).backward()  # ratio 1, advantage 1
    torch.testing.assert_close(
        trainer.model.lm_head.weight.grad, policy.head.weight.grad
    )


def test_weights_for_the_gap_of_vllm_are_not_dropped_silently(monkeypatch):
    def samples_with_vllm(self):
        self.use_vllm = self.vllm_importance_sampling_correction = True

    monkeypatch.setattr(GRPOTrainer, "__init__", samples_with_vllm)
    with pytest.raises(ValueError, match="vllm_importance_sampling_correction must be"):
        RowTrainer(algorithm=without_kl("GRPO"))
    RowTrainer(algorithm=None)  # TRL's own loss keeps them


def test_the_tokenizer_has_one_token_per_character_in_the_tasks_order():
    words = tokenizer(CHAIN.vocabulary)
    assert words("47=41#1$")["input_ids"] == encode("47=41#1$", CHAIN.vocabulary)
    assert words.pad_token_id == words.eos_token_id == EOS_ID


def test_what_cannot_be_brought_over_is_refused(policy):
    critic = Policy(len(CHAIN.vocabulary), critic=True)
    with pytest.raises(ValueError, match="no value head"):
        as_gpt2(critic, EOS_ID)
    with pytest.raises(ValueError, match="positions must be one of 'own', 'padded'"):
        as_gpt2(policy, EOS_ID, "absolute")
    with pytest.raises(ValueError, match="its KL in the loss needs ref_log_probs"):
        trl_rounds(policy, CHAIN, ALGORITHMS["GRPO"], rounds=1, prompts=16)
    for name in ("PPO", "RLOO"):
        with pytest.raises(
            ValueError, match=f"{name} has a .*, which TRL's GRPO has not"
        ):
            trl_rounds(policy, CHAIN, ALGORITHMS[name], rounds=1, prompts=16)
    with pytest.raises(
        ValueError, match="16 x 4 responses do not split into 3 updates"
    ):
        trl_rounds(policy, CHAIN, None, rounds=1, prompts=16, updates=3)
    with pytest.raises(ValueError, match="micro-batches of 5"):
        trl_rounds(policy, CHAIN, None, rounds=1, prompts=16, micro_size=5)
