"""Bad input: a ValueError that names the argument, never another exception."""

import math

import pytest
import torch
from sample_calls import ALL, CALLS

import tokencredit as tc

TENSORS = [(name, arg) for name, call in CALLS.items() for arg in call.tensors]
DIALS = [
    (name, arg, value)
    for name, call in CALLS.items()
    for arg, values in call.bad.items()
    for value in values
]
NOT_NUMBERS = (
    math.nan,
    math.inf,
    -math.inf,
    "0.5",
    [0.5],
    True,
    1j,
    torch.tensor([1.0, 2]),
)
WORDS = ("eos_id", "scale", "how", "estimator", "low", "high", "max_length", "missing")
NUMBERS = {
    (name, arg) for name, arg, _ in DIALS if arg not in WORDS or name == "soft_overlong"
}


def refuse(name, inputs, argument, **dials):
    call = CALLS[name]
    with pytest.raises(ValueError, match=argument) as error:
        call.function(**inputs, **(call.others | dials))
    assert "got" in str(error.value) or "does not have" in str(error.value)


def mentions(call, argument):
    """With several tensors of one shape, the later of two that differ is named."""
    names = "|".join(call.tensors)
    return f"({names}|{argument})"


@pytest.mark.parametrize("name, argument", TENSORS)
@pytest.mark.parametrize("junk", [[[1.0, 2.0]], "text", 3.0, {}], ids=repr)
def test_something_that_is_no_tensor(name, argument, junk):
    if name == "soft_overlong":
        with pytest.raises(ValueError, match="lengths"):
            tc.soft_overlong(junk, max_length=10, cache=4)
        return
    refuse(name, CALLS[name].inputs() | {argument: junk}, argument)


@pytest.mark.parametrize("name, argument", TENSORS)
def test_a_missing_tensor(name, argument):
    call = CALLS[name]
    if argument in call.optional or name == "soft_overlong":
        return
    refuse(name, call.inputs() | {argument: None}, argument)


@pytest.mark.parametrize("name, argument", TENSORS)
def test_a_wrong_dtype(name, argument):
    call = CALLS[name]
    inputs = call.inputs()
    x = inputs[argument]
    if x.is_floating_point():
        wrong = [torch.int64, torch.bool, torch.complex64]
    elif x.dtype == torch.bool:
        wrong = [torch.int64, torch.float32, torch.uint8]
    else:
        wrong = [torch.float32, torch.bool]
    if name == "soft_overlong":
        wrong = [torch.bool, torch.complex64]
        for dtype in wrong:
            with pytest.raises(ValueError, match="lengths"):
                tc.soft_overlong(x.to(dtype), max_length=10, cache=4)
        return
    for dtype in wrong:
        refuse(name, inputs | {argument: x.to(dtype)}, argument)


@pytest.mark.parametrize("name, argument", TENSORS)
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[:-1],
        lambda x: x[:, :-1] if x.ndim > 1 else x[:0],
        lambda x: x[None],
        lambda x: x[0],
        lambda x: x.to("meta"),
        lambda x: x[:1],
    ],
    ids=["row short", "column short", "axis more", "axis less", "device", "one row"],
)
def test_a_wrong_shape_or_device(name, argument, change):
    call = CALLS[name]
    if len(call.tensors) == 1:
        return
    refuse(
        name,
        call.inputs() | {argument: change(call.inputs()[argument])},
        mentions(call, argument),
    )


@pytest.mark.parametrize(
    "name, argument",
    [(name, arg) for name, arg in TENSORS if CALLS[name].masked],
)
def test_masks_are_two_dimensional(name, argument):
    call = CALLS[name]
    flat = {k: x.reshape(-1) for k, x in call.inputs().items()}
    refuse(name, flat, mentions(call, argument))


@pytest.mark.parametrize("name, argument, value", DIALS)
def test_a_dial_out_of_range(name, argument, value):
    refuse(name, CALLS[name].inputs(), argument, **{argument: value})


@pytest.mark.parametrize("name, argument", sorted(NUMBERS))
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_a_dial_that_is_no_finite_number(name, argument, value):
    refuse(name, CALLS[name].inputs(), argument, **{argument: value})


@pytest.mark.parametrize(
    "name", ["discounted_return", "gae", "turn_gae", "group_turns", "token_advantages"]
)
@pytest.mark.parametrize("reward", [1.0, -1e-30, math.nan, math.inf])
def test_a_reward_on_a_masked_token_would_vanish(name, reward):
    inputs = CALLS[name].inputs()
    row, column = (~inputs["mask"]).nonzero()[0]
    inputs["rewards"][row, column] = reward
    refuse(name, inputs, "rewards")


@pytest.mark.parametrize("name", ["discounted_return", "gae"])
def test_a_masked_reward_of_minus_zero_is_zero(name):
    inputs = CALLS[name].inputs()
    inputs["rewards"][~inputs["mask"]] = -0.0
    assert CALLS[name](inputs).isfinite().all()


BY_TURN = pytest.mark.parametrize("name", ["turn_gae", "group_turns"])


@BY_TURN
def test_a_turn_ends_on_a_live_token_and_no_live_token_follows_the_last(name):
    inputs = CALLS[name].inputs()
    masked = inputs["turn_ends"] | ~inputs["mask"]
    refuse(name, inputs | {"turn_ends": masked}, "turn_ends")
    none = torch.zeros_like(inputs["mask"])
    zero = torch.zeros_like(inputs["rewards"])
    refuse(name, inputs | {"turn_ends": none, "rewards": zero}, "turn_ends")


@BY_TURN
@pytest.mark.parametrize("reward", [1.0, math.nan])
def test_a_reward_stands_on_a_turn_end(name, reward):
    inputs = CALLS[name].inputs()
    off = inputs["mask"] & ~inputs["turn_ends"]
    row, column = off.nonzero()[0]
    inputs["rewards"][row, column] = reward
    refuse(name, inputs, "rewards")


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, call in CALLS.items()
        if list(call.tensors) == ["rewards", "groups"]
    ],
)
@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_group_rewards_are_finite(name, reward):
    inputs = CALLS[name].inputs()
    inputs["rewards"][2] = reward
    refuse(name, inputs, "rewards")


@pytest.mark.parametrize("token", [-100, -1, 7, 2**40])
def test_token_ids_outside_the_vocabulary(token):
    inputs = CALLS["token_log_probs"].inputs()
    inputs["tokens"][0, 0] = token
    refuse("token_log_probs", inputs, "tokens")


def test_logits_need_an_axis_of_words():
    with pytest.raises(ValueError, match="logits"):
        tc.entropy(torch.tensor(1.0))
    with pytest.raises(ValueError, match="logits"):
        tc.token_log_probs(torch.tensor(1.0), torch.tensor(0))


def test_lengths_are_not_negative():
    with pytest.raises(ValueError, match="lengths"):
        tc.soft_overlong(torch.tensor([3, -1]), max_length=10, cache=4)


def test_the_constant_of_aggregation_is_given_exactly_where_it_is_used():
    inputs = CALLS["aggregate_loss"].inputs()
    for how in tc.AGGREGATIONS:
        constant = how == "seq-mean-token-sum-norm"
        for bad in (None, 0, -1, math.nan) if constant else (5,):
            refuse("aggregate_loss", inputs, "max_length", how=how, max_length=bad)


@pytest.mark.parametrize("how", ["token-sum", "seq-sum-token-mean"])
def test_the_two_sums_take_no_denominator(how):
    inputs = CALLS["aggregate_loss"].inputs()
    refuse("aggregate_loss", inputs, "denominator", how=how, denominator=3)


def test_a_count_may_be_a_tensor_of_one_element():
    inputs = CALLS["aggregate_loss"].inputs()
    a = tc.aggregate_loss(**inputs, how="token-mean", denominator=torch.tensor(7))
    assert a == tc.aggregate_loss(**inputs, how="token-mean", denominator=7)


@pytest.mark.parametrize("row", ["GRPO", "PPO", "StarPO"])
def test_a_row_names_the_tensor_it_misses(row):
    row = tc.ALGORITHMS[row]
    inputs = ALL["policy_loss"].inputs()
    rewards = torch.zeros_like(inputs["log_probs"])
    with pytest.raises(ValueError, match=r"groups|values"):
        tc.token_advantages(row, rewards, inputs["mask"])
    del inputs["ref_log_probs"]
    if row.kl_coef or row.entropy_coef:
        with pytest.raises(ValueError, match=r"ref_log_probs|entropies"):
            tc.policy_loss(row, **inputs)


def test_turns_are_one_of_two_ways_to_use_a_critic():
    with pytest.raises(ValueError, match="credit_level"):
        tc.with_critic(tc.ALGORITHMS["StarPO"], credit_level="sequence")
