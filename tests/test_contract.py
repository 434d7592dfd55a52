"""The rules that hold for every function, run over every function.

Each test below runs for every public function, every aggregation rule, every KL
estimator and every row of ALGORITHMS that it applies to.
"""

import contextlib
import inspect
import math
from dataclasses import fields
from pathlib import Path

import pytest
import torch
import yaml
from beartype import BeartypeConf, beartype
from jaxtyping import jaxtyped
from sample_calls import ALL, CALLS, POLICY_LOSSES, ROWS, B, T

import tokencredit as tc

ZOO = Path(__file__).parents[1] / "src" / "tokenbook" / "site" / "zoo"
CHECKER = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float
GARBAGE = (math.nan, math.inf, -math.inf, 1e30)
MASKED = {name: call for name, call in ALL.items() if call.masked}
GRAD = {name: call for name, call in ALL.items() if call.grad}
# rewards must be 0 on masked tokens; functions without a mask want finite inputs
FREE = {"rewards"}


def over(calls):
    return pytest.mark.parametrize("call", calls.values(), ids=calls.keys())


def parts(result):
    """The tensors of a result, whatever its shape."""
    if isinstance(result, tuple):
        return [torch.as_tensor(x, dtype=torch.float64) for x in result]
    if result is None or isinstance(result, int):
        return [torch.tensor(float(result or 0))]
    return [result]


def close(a, b, **tolerance):
    for x, y in zip(parts(a), parts(b), strict=True):
        torch.testing.assert_close(x, y, check_dtype=False, **tolerance)


def gradients(call, inputs):
    """Gradients of the sum of the result with respect to every float input."""
    leaves = {k: x.clone() for k, x in inputs.items()}
    for x in leaves.values():
        if x.is_floating_point():
            x.requires_grad_()
    parts(call(leaves))[0].sum().backward()
    return {k: x.grad for k, x in leaves.items()}


def test_every_public_function_has_a_sample_call():
    """A function of tensors joins the contract by a line in sample_calls.CALLS."""
    elsewhere = ("tokencredit.world", "tokencredit.training", "tokencredit.algorithms")
    public = {
        name
        for name in tc.__all__
        if inspect.isfunction(getattr(tc, name))
        and not getattr(tc, name).__module__.startswith(elsewhere)
    }
    assert public == set(CALLS), "add it to CALLS in tests/sample_calls.py"


def test_every_policy_loss_is_public():
    private = set(POLICY_LOSSES) - set(tc.__all__)
    assert not private, f"export {private} from tokencredit/__init__.py"


@over(ALL)
def test_shapes_are_as_annotated(call):
    if not inspect.isfunction(call.function) or call.function.__name__ == "<lambda>":
        pytest.fail("annotate the function itself") if call.masked else None
        return
    jaxtyped(typechecker=CHECKER)(call.function)(**call.inputs(), **call.others)


@over(ALL)
@pytest.mark.parametrize("rows, steps", [(0, 0), (0, T), (B, 0), (1, 1)])
def test_an_empty_batch_gives_a_neutral_value(call, rows, steps):
    for x in parts(call(call.inputs(rows=rows, steps=steps))):
        assert not x.isnan().any()
        if call.result == "scalar" and not rows * steps and call.masked:
            assert x == 0


@over(MASKED)
def test_a_batch_without_a_live_token_gives_zero(call):
    result = call(call.inputs(live=False))
    if call.result in ("token", "scalar"):
        assert not parts(result)[0].any()
    assert not any(x.isnan().any() for x in parts(result))


@over(GRAD)
@pytest.mark.parametrize("rows, steps", [(0, 0), (0, T), (B, 0)])
def test_backward_works_on_an_empty_batch(call, rows, steps):
    grads = gradients(call, call.inputs(rows=rows, steps=steps))
    assert all(grads[name] is not None for name in call.grad)


@over({k: c for k, c in GRAD.items() if c.masked})
def test_backward_works_when_every_token_is_masked(call):
    inputs = call.inputs(live=False)
    for name in set(call.grad) & set(inputs):
        inputs[name].fill_(math.nan)
    grads = gradients(call, inputs)
    assert all(not grads[name].any() for name in call.grad)


@over(MASKED)
@pytest.mark.parametrize("garbage", GARBAGE)
def test_masked_positions_may_hold_anything(call, garbage):
    clean, dirty = call.inputs(), call.inputs()
    for name, x in dirty.items():
        if x.is_floating_point() and x.ndim == 2 and name not in FREE:
            x.masked_fill_(~clean["mask"], garbage)
    close(call(dirty), call(clean), rtol=0, atol=0)
    for result in parts(call(dirty)):
        if call.result == "token":
            assert not result[~clean["mask"]].any()


@over({k: c for k, c in GRAD.items() if c.masked})
@pytest.mark.parametrize("garbage", GARBAGE)
def test_no_gradient_leaks_from_masked_positions(call, garbage):
    clean, dirty = call.inputs(), call.inputs()
    for x in dirty.values():
        if x.is_floating_point() and x.ndim == 2:
            x.masked_fill_(~clean["mask"], garbage)
    wanted, got = gradients(call, clean), gradients(call, dirty)
    for name in call.grad:
        close(got[name], wanted[name], rtol=0, atol=0)
        assert not got[name][~clean["mask"]].any()


@over({k: c for k, c in ALL.items() if c.result != "other"})
def test_a_nan_on_a_live_token_shows(call):
    for name, x in call.inputs().items():
        if not x.is_floating_point() or x.ndim < 2:
            continue
        if name in ("log_probs", "log_ratio") and name not in call.grad:
            continue  # a loss that ignores this argument
        inputs = call.inputs()
        inputs[name][0, 0] = math.nan  # always live
        if ignored(call, name):
            continue
        if name == "rewards" or "BAPO" in row_name(call):
            with contextlib.suppress(ValueError):  # saying so is showing it
                assert any(y.isnan().any() for y in parts(call(inputs))), name
        else:
            assert any(y.isnan().any() for y in parts(call(inputs))), name


def row_name(call):
    return call.others["algorithm"].name if "algorithm" in call.others else ""


def ignored(call, name):
    """Arguments that this row, or the plain value loss, does not read."""
    if name == "old_values":
        return True
    row = call.others.get("algorithm")
    if row is None or call.function is not tc.policy_loss:
        return False
    if name == "ref_log_probs":
        return not (row.kl_coef and row.kl_in == "loss")
    return name == "old_log_probs" and row.loss is tc.reinforce_loss


@over(ALL)
def test_only_the_named_arguments_receive_a_gradient(call):
    inputs = call.inputs()
    for x in inputs.values():
        if x.is_floating_point():
            x.requires_grad_()
    results = [x for x in parts(call(inputs)) if x.requires_grad]
    assert bool(results) == bool(call.grad)
    if results:
        results[0].sum().backward()
    for name, x in inputs.items():
        if name not in call.grad:
            assert x.grad is None or not x.grad.any(), name


@over(ALL)
def test_float64_is_kept_and_float32_agrees_with_it(call):
    wide, narrow = call(call.inputs()), call(call.inputs(torch.float32))
    close(narrow, wide, rtol=2e-5, atol=2e-5)
    if isinstance(wide, torch.Tensor) and wide.is_floating_point():
        assert (wide.dtype, narrow.dtype) == (torch.float64, torch.float32)


@over(ALL)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_and_returned_in_float32(call, dtype):
    half = call.inputs(dtype)
    upcast = {k: x.float() if x.is_floating_point() else x for k, x in half.items()}
    result, wanted = call(half), call(upcast)
    close(result, wanted, rtol=0, atol=0)
    if isinstance(result, torch.Tensor) and result.is_floating_point():
        assert result.dtype == torch.float32


@over(GRAD)
def test_gradients_reach_half_precision_inputs(call):
    grads = gradients(call, call.inputs(torch.bfloat16))
    wanted = gradients(call, call.inputs(torch.bfloat16))
    for name in call.grad:
        assert grads[name].dtype == torch.bfloat16
        close(grads[name], wanted[name])


@over({k: c for k, c in ALL.items() if len(c.tensors) > 1})
def test_mixed_precision_is_promoted(call):
    inputs = call.inputs()
    floats = [name for name, x in inputs.items() if x.is_floating_point()]
    mixed = inputs | {name: inputs[name].float() for name in floats[1:]}
    close(call(mixed), call(inputs), rtol=2e-5, atol=2e-5)


@over(ALL)
def test_the_order_of_the_rows_does_not_matter(call):
    inputs, order = call.inputs(), torch.randperm(B)
    result, permuted = call(inputs), call({k: x[order] for k, x in inputs.items()})
    if call.result in ("scalar", "sides", "bounds") or isinstance(result, int):
        close(permuted, result)
    else:
        close(permuted, result[order])


@over(MASKED)
def test_padding_columns_do_not_matter(call):
    inputs = call.inputs()
    padded = {
        name: torch.cat([x, torch.zeros_like(x[:, :2])], 1) if x.ndim == 2 else x
        for name, x in inputs.items()
    }
    result, wider = call(inputs), call(padded)
    if call.result == "token":
        assert not wider[:, T:].any()
        wider = wider[:, :T]
    close(wider, result)


@over(ALL)
def test_the_memory_layout_does_not_matter(call):
    inputs = call.inputs()
    strided = {
        k: x.transpose(0, -1).contiguous().transpose(0, -1) for k, x in inputs.items()
    }
    close(call(strided), call(inputs), rtol=1e-12, atol=1e-12)


@over(ALL)
def test_inputs_are_left_as_they_were(call):
    inputs = call.inputs()
    before = {k: x.clone() for k, x in inputs.items()}
    call(inputs)
    for name, x in inputs.items():
        assert torch.equal(x, before[name]), name


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_every_field_of_an_algorithm_is_sourced(row):
    told = {"name", "paper", "url", "parent", "sources"}
    dials = {f.name for f in fields(row)} - told
    assert set(row.sources) == dials
    assert all(row.sources[name].strip() for name in dials)
    assert row.url.startswith("https://")


def test_every_field_of_an_algorithm_is_explained_in_both_languages():
    words = yaml.safe_load((ZOO / "fields.yml").read_text(encoding="utf-8"))
    told = {"name", "paper", "url", "parent", "sources"}
    assert set(words) == {f.name for f in fields(tc.Algorithm)} - told
    assert all(word["zh"] and word["en"] for word in words.values())


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_every_row_goes_from_rewards_to_a_gradient(row):
    inputs = CALLS["turn_gae"].inputs()
    mask, values, ends = inputs["mask"], inputs["values"], inputs["turn_ends"]
    log_probs = -torch.rand(B, T, dtype=torch.float64)
    groups = torch.arange(B) % 2
    rewards = tc.shaped_rewards(
        row,
        inputs["rewards"],
        mask,
        old_log_probs=log_probs,
        ref_log_probs=log_probs - 0.1,
    )
    if row.keep is not None:
        assert row.keep(rewards.sum(1), groups).shape == (B,)
    advantages = tc.token_advantages(
        row,
        rewards,
        mask,
        groups=groups,
        values=values,
        turn_ends=ends,
        old_log_probs=log_probs,
        ref_log_probs=log_probs - 0.1,
    )
    assert not advantages[~mask].any()
    new = log_probs.clone().requires_grad_()
    loss = tc.policy_loss(
        row,
        new,
        log_probs,
        advantages,
        mask,
        ref_log_probs=log_probs - 0.1,
        entropies=torch.ones_like(log_probs),
        sampler_log_probs=log_probs - 0.2,
        max_length=T,
    )
    loss.backward()
    assert new.grad[mask].any() and not new.grad[~mask].any()
    assert row.critic == (row.value_coef > 0)


@pytest.mark.parametrize(
    "name, diagnostic", tc.DIAGNOSTICS.items(), ids=tc.DIAGNOSTICS.keys()
)
def test_every_diagnostic_says_what_it_is(name, diagnostic):
    assert diagnostic.function is getattr(tc, name)
    assert diagnostic.formula
    for words in (diagnostic.healthy, diagnostic.symptom):
        assert words["zh"] and words["en"]
