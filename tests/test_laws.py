"""The museum's laws, held against functions that are not the museum's."""

import subprocess
import sys
from unittest.mock import MagicMock

import pytest
import torch
import torch.nn.functional as F
from trl import GRPOTrainer
from trl.trainer.utils import nanstd, selective_log_softmax

import tokencredit as tc
from tokencredit import ALGORITHMS
from tokencredit.laws import KINDS, allowed, check, exhibits
from tokencredit.laws.__main__ import found

KIND = {room: kind for kind, laws in KINDS.items() for room, *_ in laws[::-1]}
KIND |= {"01": "objective", "02": "objective", "03": "gradient-table"}
KIND |= {"04": "ratio", "05": "ratio", "09": "ratio"} | dict.fromkeys(
    ("11", "12", "13", "19", "25"), "aggregate"
)


def verdicts(kind, function, like=None):
    """What came of the laws of a kind, by the number of the room."""
    found = check(kind, function, like=like)
    rooms = [room for room, *_ in KINDS[kind]]
    return {room: x.verdict for room, x in zip(rooms, found, strict=True)}


def broken(*args):
    return {r for r, said in verdicts(*args).items() if said == "broken"}


def kept(*args):
    return {r for r, said in verdicts(*args).items() if said == "kept"}


# --- the museum's own mistakes ----------------------------------------------------


@pytest.mark.parametrize("name", exhibits())
def test_every_mistake_is_caught_wherever_its_law_holds(name):
    room, sides = name[:2], exhibits()[name]
    assert room in KIND, "say so in its SPEAKS_OF"
    seen = set()
    for like in (None, "PPO", "GRPO", "RLOO", "REINFORCE++"):
        right = verdicts(KIND[room], sides["right"], like)[room]
        wrong = verdicts(KIND[room], sides["wrong"], like)[room]
        seen.add((right, wrong))
    assert seen - {("skipped", "skipped")} == {("kept", "broken")}


def test_the_laws_speak_of_all_the_rooms():
    assert {room for laws in KINDS.values() for room, *_ in laws} == {
        name[:2] for name in exhibits()
    }


# --- the same mistakes as they stand in a trainer ---------------------------------


def clipped(rho, A):
    return -torch.minimum(rho * A, rho.clamp(0.8, 1.2) * A)


def trainer(
    token=lambda lp, old, ref, rho, A: clipped(rho, A),
    total=lambda x, mask, n: torch.where(mask, x, 0).sum() / n,
    ratio=lambda lp, old, ref: (lp - old).exp(),
):
    """The loss of a batch, with one of its parts exchanged."""

    def loss(logps, old_logps, ref_logps, adv, response_mask, num_items_in_batch=None):
        rho = ratio(logps, old_logps, ref_logps)
        n = num_items_in_batch or response_mask.sum().clamp(min=1)
        return total(token(logps, old_logps, ref_logps, rho, adv), response_mask, n)

    return loss


def per_row(x, mask, n):
    rows = torch.where(mask, x, 0).sum(1) / mask.sum(1).clamp(min=1)
    return rows.mean()


LOSSES = {  # the rooms whose laws it breaks: the mistake's own, and what follows
    "max for bad": (
        trainer(
            lambda lp, old, ref, rho, A: torch.where(
                A >= 0, clipped(rho, A), -torch.max(rho * A, rho.clamp(0.8, 1.2) * A)
            )
        ),
        {"01", "03"},
    ),
    "no comma": (
        trainer(lambda lp, old, ref, rho, A: -rho * A * rho.clamp(0.8, 1.2) * A),
        {"02"},
    ),
    "clipped on both sides": (
        trainer(lambda lp, old, ref, rho, A: -rho.clamp(0.8, 1.2) * A),
        {"01", "03"},
    ),
    "quotient of logs": (trainer(ratio=lambda lp, old, ref: lp / old), {"04"}),
    "ratio to the reference": (
        trainer(ratio=lambda lp, old, ref: (lp - ref).exp()),
        {"05"},
    ),
    "no minus": (trainer(lambda lp, old, ref, rho, A: -clipped(rho, A)), {"23"}),
    "times the mask": (trainer(total=lambda x, m, n: (x * m).sum() / n), {"19"}),
    "mean of each micro-batch": (
        trainer(total=lambda x, m, n: torch.where(m, x, 0).sum() / m.sum()),
        {"11"},
    ),
    "a mean per response": (trainer(total=per_row), {"11", "12", "13", "25"}),
    "divided by 100": (
        trainer(total=lambda x, m, n: torch.where(m, x, 0).sum() / 100),
        {"13"},
    ),
    "divided by the padded size": (
        trainer(total=lambda x, m, n: torch.where(m, x, 0).sum() / x.numel()),
        {"11", "13", "25"},
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_mistake_inside_a_trainers_loss_is_caught(name):
    loss, rooms = LOSSES[name]
    assert rooms <= broken("loss", loss, "PPO")


def test_the_trainers_loss_without_a_mistake_keeps_every_law_of_ppo():
    assert kept("loss", trainer(), "PPO") == {room for room, *_ in KINDS["loss"]}


def leaks(rewards, values, response_mask, gamma, lam):
    flat = tc.gae(rewards.reshape(1, -1), values.reshape(1, -1), gamma=gamma, lam=lam)
    return flat.reshape(rewards.shape)


def returns_that_stop(rewards, mask):
    out, after = torch.zeros_like(rewards), torch.zeros(len(rewards))
    for t in range(rewards.shape[1] - 1, -1, -1):
        out[:, t] = after = rewards[:, t] + after
        after = after * mask[:, t]
    return out * mask


def per_copy(token_level_rewards, response_mask, index, norm_adv_by_std_in_grpo=True):
    scores = token_level_rewards.sum(1)
    ids = torch.tensor([[*index].index(i) for i in index])
    same = ids == ids[:, None]
    mean = torch.where(same.sum(1) > 2, (same * scores).sum(1) / same.sum(1), 0)
    std = scores.std() if norm_adv_by_std_in_grpo is not None else 1
    return ((scores - mean) / std)[:, None] * response_mask, None


DRESSED = [  # kind, function, entry, the rooms
    ("gae", leaks, None, {"14"}),
    ("returns", returns_that_stop, None, {"30"}),
    ("returns", lambda rewards, loss_mask: rewards * loss_mask, None, {"17", "30"}),
    ("advantage", per_copy, "GRPO", {"28", "29"}),
    ("shift", lambda loss_mask: loss_mask[:, :-1], None, {"18"}),
    ("mask", lambda input_ids, eos_token_id: input_ids != eos_token_id, None, {"26"}),
    (
        "log-probs",
        lambda logits, index, temperature: selective_log_softmax(logits, index),
        None,
        {"16"},
    ),
    ("kl", lambda logprob, ref_logprob: logprob - ref_logprob, "REINFORCE++", {"08"}),
]


@pytest.mark.parametrize(("kind", "function", "like", "rooms"), DRESSED)
def test_a_mistake_in_a_trainers_shapes_is_caught(kind, function, like, rooms):
    assert broken(kind, function, like) == rooms


def test_an_option_that_refuses_the_word_of_the_room_is_asked_for_false():
    def advantage(rewards, groups, scale):
        if not isinstance(scale, bool):
            raise ValueError(f"scale must be True or False, got {scale!r}")
        return tc.group_relative(rewards, groups, scale=scale)

    assert verdicts("advantage", advantage, "GRPO")["28"] == "kept"


# --- which laws an algorithm keeps --------------------------------------------------

PER_RESPONSE = {"GRPO", "GSPO", "GMPO", "SAPO", "StarPO", "StarPO-S"}
PER_RESPONSE |= {"GRPO + TIS", "GRPO + IcePop"}
SUMS = {"REINFORCE", "RLOO"}
EXCEPT = {  # by kind and room, the entries that break a law by design
    ("loss", "01"): SUMS | {"CISPO", "SAPO"},  # no ratio times A is their value
    ("loss", "03"): SUMS | {"CISPO", "SAPO"},  # nothing is clipped dead
    ("loss", "04"): SUMS,  # no ratio
    ("loss", "09"): SUMS | {"Dr. GRPO"},  # sums grow with the length
    ("kl", "07"): {"REINFORCE++"},  # k2
    ("kl", "08"): {
        *("RLOO", "GRPO", "GRPO + TIS", "GRPO + IcePop", "StarPO")  # k1 and k3
    },
    ("advantage", "28"): SUMS,  # no scale
    ("advantage", "29"): {"REINFORCE"},  # no baseline
}
for kind in ("loss", "aggregate"):
    EXCEPT |= {(kind, "11"): PER_RESPONSE, (kind, "12"): PER_RESPONSE}
    EXCEPT[kind, "13"] = PER_RESPONSE | SUMS | {"Dr. GRPO"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_algorithm_breaks_a_law_by_design_only(kind):
    for room, *ways in KINDS[kind]:
        out = {
            x for x in ALGORITHMS if not any(allowed(kind, room, f, x) for f in ways)
        }
        assert out == EXCEPT.get((kind, room), set()), room


def test_without_like_only_laws_of_all_algorithms_are_held():
    said = check("loss", trainer(total=per_row))
    skipped = " ".join(x.why for x in said if x.verdict == "skipped")
    assert "The aggregation of Dr. GRPO: not a law of GRPO, GSPO, GMPO, SAPO" in skipped
    assert kept("loss", trainer()) == {"02", "05", "19", "25", "23"}


# --- functions of this package, of PyTorch and of TRL -------------------------------

OURS = {
    "ppo_clip_loss": ("loss", "PPO", {"01", "02", "03", "04", "05", "09", "23"}),
    "reinforce_loss": ("loss", "REINFORCE", {"02", "05", "23"}),
    "cispo_loss": ("loss", "CISPO", {"02", "04", "05", "09", "23"}),
    "sapo_loss": ("loss", "SAPO", {"02", "04", "05", "09", "23"}),
    "gmpo_loss": ("loss", "GMPO", {"01", "02", "03", "04", "05", "09", "23"}),
    "dppo_loss": ("loss", "DPPO", {"01", "02", "03", "04", "05", "09", "23"}),
    "corrected_clip_loss": (
        *("loss", "GRPO + TIS"),
        {"01", "02", "03", "04", "05", "09", "23"},
    ),
    "masked_clip_loss": (
        *("loss", "GRPO + IcePop"),
        {"01", "02", "03", "04", "05", "09", "23"},
    ),
    "aggregate_loss": ("aggregate", "DAPO", {"11", "12", "13", "19", "25"}),
    "masked_mean": ("aggregate", "DAPO", {"12", "13", "19", "25"}),
    "group_relative": ("advantage", "GRPO", {"15", "28", "29"}),
    "leave_one_out": ("advantage", "RLOO", {"15", "29"}),
    "gae": ("gae", None, {"14"}),
    "discounted_return": ("returns", None, {"17", "30"}),
    "kl_penalty": ("kl", "GRPO", {"06", "07"}),
    "token_log_probs": ("log-probs", None, {"16"}),
    "response_mask": ("mask", None, {"26"}),
}


@pytest.mark.parametrize("name", OURS)
def test_a_function_of_the_package_keeps_the_laws_of_its_kind(name):
    kind, like, laws = OURS[name]
    function = getattr(tc, name)
    if name == "masked_mean":  # its parameter is x

        def function(losses, mask):
            return tc.masked_mean(losses, mask)

    said = check(kind, function, like=like)
    rooms = [room for room, *_ in KINDS[kind]]
    held = {room for room, x in zip(rooms, said, strict=True) if x.verdict == "kept"}
    assert "broken" not in {x.verdict for x in said}
    assert held == laws, [x.why for x in said]


def held(like):
    """The rooms whose laws a loss of this algorithm is held to."""
    free = {
        room for (kind, room), out in EXCEPT.items() if kind == "loss" and like in out
    }
    return {room for room, *_ in KINDS["loss"]} - free


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_loss_of_every_algorithm_keeps_its_laws(name):
    def loss(
        log_probs,
        old_logps,
        adv,
        loss_mask,
        ref_logps,
        rollout_log_probs,
        entropy,
        num_items_in_batch=None,
    ):
        given = {"ref_log_probs": ref_logps, "sampler_log_probs": rollout_log_probs}
        given |= {"entropies": entropy, "denominator": num_items_in_batch}
        values = log_probs, old_logps, adv, loss_mask
        return tc.policy_loss(name, *values, max_length=16, **given)

    assert kept("loss", loss, name) == held(name)


def trl_loss(kind, high=0.2, beta=0.0, level="token"):
    """`GRPOTrainer._compute_loss` of the installed TRL on log-probs that are given."""

    def loss(logps, old_logps, ref_logps, advantages, mask, num_items_in_batch=None):
        it = MagicMock(loss_type=kind, epsilon_low=0.2, epsilon_high=high, beta=beta)
        zeros = torch.zeros_like(logps)
        it._get_per_token_logps_and_entropies.return_value = logps, zeros, None
        it.aux_loss_enabled = it.use_vllm = it._entropy_bonus_enabled = False
        it.off_policy_mask_threshold = it.args.delta = None
        it.importance_sampling_level, it.top_entropy_quantile = level, 1.0
        it.args.sapo_temperature_pos, it.args.sapo_temperature_neg = 1.0, 1.05
        it.current_gradient_accumulation_steps = it.args.steps_per_generation = 1
        it.accelerator.num_processes, it.max_completion_length = 1, 16
        it.accelerator.gather = lambda x: x
        n = num_items_in_batch or mask.sum()
        names = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")
        batch = dict.fromkeys(names, mask.long()) | {"advantages": advantages}
        batch |= {"old_per_token_logps": old_logps, "ref_per_token_logps": ref_logps}
        batch["num_items_in_batch"] = torch.as_tensor(n)
        return GRPOTrainer._compute_loss(it, None, batch)

    return loss


@pytest.mark.parametrize(
    ("loss", "like", "breaks"),
    [
        (trl_loss("dapo"), "DAPO", {"19"}),
        (trl_loss("bnpo"), "PPO", {"11", "19"}),
        (trl_loss("grpo", beta=0.04), "GRPO", {"19", "25"}),
        (trl_loss("grpo", level="sequence"), "GSPO", {"19", "25"}),
        (trl_loss("dr_grpo"), "Dr. GRPO", {"19", "25"}),
        (trl_loss("sapo"), "SAPO", {"19", "25"}),
        (trl_loss("cispo", high=5.0), "CISPO", {"19"}),
    ],
)
def test_trl_multiplies_by_the_mask_and_counts_the_dropped_and_keeps_the_rest(
    loss, like, breaks
):
    assert broken("loss", loss, like) == breaks
    assert kept("loss", loss, like) == held(like) - breaks


def test_trl_divides_logits_by_the_temperature_and_a_group_by_its_std():
    assert kept("log-probs", selective_log_softmax) == {"16"}

    def advantage(rewards, groups, scale_rewards="group"):
        mean = torch.stack([rewards[groups == g].mean() for g in groups])
        std = torch.stack([nanstd(rewards[groups == g]) for g in groups])
        return (rewards - mean) / (std + 1e-4 if scale_rewards == "group" else 1)

    assert kept("advantage", advantage, "GRPO") == {"15", "28", "29"}


def test_the_kl_of_pytorch_is_a_forward_kl_and_no_reverse_one():
    def kl(log_probs, teacher):
        return F.kl_div(log_probs, teacher, reduction="sum")

    def of_logs(log_probs, teacher):
        return F.kl_div(log_probs, teacher, reduction="sum", log_target=True)

    assert kept("forward-kl", kl) == {"27"}
    assert broken("reverse-kl", of_logs) == {"32"}


# --- what cannot be called, and bad input -------------------------------------------


def test_what_cannot_be_called_is_skipped_with_the_reason():
    (unknown, *_) = check("mask", lambda words, stop: words)
    assert unknown.verdict == "skipped" and unknown.why.endswith(
        "its parameter words is none of end, tokens"
    )

    def raises(tokens, end):
        raise RuntimeError("no\nGPU")

    (said,) = check("mask", raises)
    assert said.verdict == "skipped" and "it raised RuntimeError: no GPU" in said.why


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: check("vibe", trainer()),
            "kind must be one of 'loss', .*got str 'vibe'",
        ),
        (
            lambda: check("loss", trainer(), like="GROP"),
            "algorithm must be one of .*GROP",
        ),
        (lambda: check("loss", trainer(), lang="fr"), "lang must be one of 'zh', 'en'"),
        (
            lambda: check("loss", MagicMock(__signature__=1)),
            "has no signature: use a def",
        ),
    ],
)
def test_bad_input_is_one_clear_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def pytest_says(folder, *options):
    """The exit status and what pytest prints, run from a folder."""
    command = [sys.executable, "-m", "tokencredit.laws", "-p", "no:cacheprovider"]
    command += options
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


MINE = """
import torch

def mask(input_ids, eos_id, *, more=1):
    return input_ids != eos_id

def times(per_token_loss, loss_mask):
    return (per_token_loss * loss_mask).sum() / loss_mask.sum()

def nothing(a, b):
    return a
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_pytest_names_the_room_and_shows_the_input(folder):
    status, said = pytest_says(folder, "--mask", "mine:mask")
    assert status == 1 and "\n1 failed in" in said
    assert (
        "Room: book/errata.html#which-tokens-are-the-response-padding-being-the-"
        "end-token (A mask from token values)" in said
    )
    assert (
        "(input_ids=tensor([[5, 7, 0, 0], [5, 7, 9, 0]]), eos_id=0) -> tensor" in said
    )
    status, said = pytest_says(
        *(folder, "--aggregate", "mine:times", "--like", "DAPO", "--lang", "zh")
    )
    assert status == 1 and "展室：book/errata.html#a-mean-over-what-is-trained" in said
    assert "it has no parameter denominator, which this law needs" in said


def test_a_function_that_no_law_can_call_has_not_passed(folder):
    status, said = pytest_says(folder, "--mask", "mine:nothing")
    assert status == 1 and "1 failed, 1 skipped" in said
    assert "no law could be checked: see why each was skipped" in said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "ERROR: hand in MODULE:FUNCTION with one of --loss, --objective, "),
        (("--vibe", "mine:mask"), "unrecognized arguments: --vibe"),
        (("--loss", "mine:los"), "ERROR: --loss mine:los cannot be imported: module"),
    ],
)
def test_a_wrong_command_line_is_one_clear_sentence(folder, options, sentence):
    status, said = pytest_says(folder, *options)
    assert status == 4 and sentence in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: check("loss", found("loss", "math")),
            "<module 'math'.* has no sig",
        ),
        (lambda: found("kl", "mein:kl"), "cannot be imported: No module named 'mein'"),
        (
            lambda: check("kl", found("kl", "torch:pi")),
            "^3.14.* has no signature: use a def",
        ),
    ],
)
def test_a_word_of_the_command_line_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
