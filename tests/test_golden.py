"""Numbers that verl, TRL, OpenRLHF and others produced, case by case.

The files in `golden/` were made by running the peers; golden/README.md says how they
are read and which cases show conventions that the course does not adopt.
"""

import json
from pathlib import Path

import pytest
import torch

import tokencredit as tc

F64 = torch.float64
FOLDER = Path(__file__).parent / "golden"
CASES = [
    c for path in sorted(FOLDER.glob("*.json")) for c in json.loads(path.read_text())
]
FOREIGN = {  # conventions of peers that the course does not adopt
    "paper_alg1/s2/surrogate",
    "verl/random/abs+",
    "verl/equal/k1+",
    "openrlhf/k1/unbiased1",
    "verl/extreme/k3",
    "ragen/rounding_down/p0.25_std_rev",
    "ragen/rounding_down/p0.5_std_rev",
    "derived/qwen_template",
}
LONE_SCORE_KEPT = {"verl/singleton/centre_only"}


def number(x):
    """The strings "nan", "inf" and "-inf" stand for themselves."""
    return [number(y) for y in x] if isinstance(x, list) else float(x)


def floats(x):
    return torch.tensor(number(x), dtype=F64)


def bools(x):
    return torch.tensor(x) > 0


def leaf(x):
    return floats(x).requires_grad_()


def no_masked_reward(inputs):
    mask = bools(inputs["mask"])
    return torch.where(mask, floats(inputs["rewards"]), 0), mask


def aggregation(case, mask, name=None):
    """The rule, its constant and its denominator, from a case's params."""
    params, how = case["params"], name or case["params"]["aggregation"]
    shared, rule = params.get("global", {}), tc.AGGREGATIONS[how]
    arguments, scale = {"how": how}, shared.get("dp_size", 1)
    if rule.per_row == "max_length":
        default = params.get("loss_scale_factor") or mask.shape[1]
        arguments["max_length"] = shared.get("loss_scale_factor", default)
    if rule.per_batch == "tokens":
        arguments["denominator"] = shared.get("batch_num_tokens")
    if rule.per_batch == "sequences":
        rows = len(mask) if params.get("rows") == "all" else None
        arguments["denominator"] = shared.get("global_batch_size", rows)
    return arguments, scale


def policy_loss(case, ratio, loss):
    inputs, params = case["inputs"], case["params"]
    log_probs, mask = leaf(inputs["log_prob"]), bools(inputs["mask"])
    advantages = torch.where(mask, floats(inputs["advantages"]), 0)
    log_ratio = ratio(log_probs, floats(inputs["old_log_prob"]), mask)
    dials = {
        k: params[k] for k in ("clip_low", "clip_high", "dual_clip") if k in params
    }
    per_token = loss(log_probs, log_ratio, advantages, **dials)
    arguments, scale = aggregation(case, mask)
    value = scale * tc.aggregate_loss(per_token, mask, **arguments)
    value.backward()
    return {"loss": value, "grad_log_prob": log_probs.grad}


def policy_loss_microbatch(case):
    inputs, params = case["inputs"], case["params"]
    mask, parts, total = bools(inputs["mask"]), [], 0
    log_probs = leaf(inputs["log_prob"])
    log_ratio = tc.token_log_ratio(log_probs, floats(inputs["old_log_prob"]), mask)
    dials = {k: params[k] for k in ("clip_low", "clip_high")}
    loss = tc.ppo_clip_loss(log_probs, log_ratio, floats(inputs["advantages"]), **dials)
    how, count = params["aggregation"], params["batch_num_tokens"]
    for start, end in inputs["splits"]:
        rows = slice(start, end)
        parts.append(tc.aggregate_loss(loss[rows], mask[rows], how, denominator=count))
        total = total + parts[-1]
    (grad_parts,) = torch.autograd.grad(total, log_probs, retain_graph=True)
    full = tc.aggregate_loss(loss, mask, how)
    (grad,) = torch.autograd.grad(full, log_probs)
    return {
        "full": full,
        "parts": torch.stack(parts),
        "grad_full": grad,
        "grad_parts": grad_parts,
    }


def aggregate(case):
    values, mask = leaf(case["inputs"]["values"]), bools(case["inputs"]["mask"])
    arguments, scale = aggregation(case, mask)
    value = scale * tc.aggregate_loss(values, mask, **arguments)
    value.backward()
    return {"loss": value, "grad_values": values.grad}


def aggregate_microbatch(case):
    inputs, params = case["inputs"], case["params"]
    values, mask = floats(inputs["values"]), bools(inputs["mask"])
    how = params["aggregation"]
    rule = tc.AGGREGATIONS[how]
    arguments = {}
    if rule.per_row == "max_length":
        arguments["max_length"] = params["loss_scale_factor"]
    full = tc.aggregate_loss(values, mask, how, **arguments)
    counts = {"tokens": "batch_num_tokens", "sequences": "global_batch_size"}
    if rule.per_batch:
        arguments["denominator"] = params[counts[rule.per_batch]]
    parts = torch.stack(
        [
            tc.aggregate_loss(values[a:b], mask[a:b], how, **arguments)
            for a, b in inputs["splits"]
        ]
    )
    return {"full": full, "parts": parts, "sum_of_parts": parts.sum()}


def aggregate_example(case):
    lengths, scores = case["inputs"]["lengths"], case["inputs"]["values"]
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    values = floats(scores)[:, None].expand(mask.shape).clone().requires_grad_()
    how = case["params"]["aggregation"]
    limit = case["params"]["horizon"] if how.endswith("-norm") else None
    value = tc.aggregate_loss(values, mask, how, max_length=limit)
    value.backward()
    weight = values.grad
    return {
        "loss": value,
        "weight_short_token": weight[0, 0],
        "weight_long_token": weight[1, 0],
        "signal_long_token": weight[1, 0] * scores[1],
        "share_long_of_weights": weight[1].sum() / weight.sum(),
    }


def gae(case):
    rewards, mask = no_masked_reward(case["inputs"])
    values = floats(case["inputs"]["values"])
    dials = {k: case["params"][k] for k in ("gamma", "lam")}
    advantages = tc.gae(rewards, values, mask, **dials)
    returns = advantages + values
    if "whiten_eps" in case["params"]:
        eps = case["params"]["whiten_eps"]
        advantages = tc.masked_whiten(advantages, mask, eps=eps)
    return {"advantages": advantages, "returns": returns}


def bilevel_gae(case):
    rewards, mask = no_masked_reward(case["inputs"])
    values, params = floats(case["inputs"]["values"]), case["params"]
    dials = {k: params[k] for k in ("gamma", "lam", "turn_gamma")}
    advantages = tc.turn_gae(rewards, values, mask, rewards != 0, **dials)
    return {"advantages": advantages, "returns": advantages + values}


def returns(case):
    rewards, mask = no_masked_reward(case["inputs"])
    gamma = case["params"]["gamma"]
    return {"returns": tc.discounted_return(rewards, mask, gamma=gamma)}


def group_advantage(case, estimator):
    inputs = case["inputs"]
    per_sequence = estimator(floats(inputs["scores"]), torch.tensor(inputs["group"]))
    got = {"per_sequence": per_sequence}
    if "mask" in inputs:
        got["advantages"] = per_sequence[:, None] * bools(inputs["mask"])
    return got


def group_relative(case):
    scale, eps = case["params"]["scale"] == "group", case["params"]["eps"]
    return group_advantage(
        case, lambda r, g: tc.group_relative(r, g, scale=scale, eps=eps)
    )


def kl(case):
    log_probs = leaf(case["inputs"]["log_prob"])
    ref = floats(case["inputs"]["ref_log_prob"])
    value = tc.kl_penalty(log_probs, ref, case["params"]["kind"])
    value.sum().backward()
    return {"value": value, "grad_log_prob": log_probs.grad}


def value_loss(case):
    inputs, clip = case["inputs"], case["params"]["clip"]
    values, mask = leaf(inputs["value"]), bools(inputs["mask"])
    old, target = floats(inputs["old_value"]), floats(inputs["returns"])
    per_token = tc.value_loss(values, old, target, clip=clip)
    arguments, scale = aggregation(case, mask)
    loss = scale * tc.aggregate_loss(per_token, mask, **arguments)
    loss.backward()
    return {"loss": loss, "grad_value": values.grad}


def entropy(case):
    logits = leaf(case["inputs"]["logits"])
    value = tc.entropy(logits)
    value.sum().backward()
    return {"entropy": value, "grad_logits": logits.grad}


def token_logprob(case):
    logits, tokens = (
        floats(case["inputs"]["logits"]),
        torch.tensor(case["inputs"]["tokens"]),
    )
    temperature = case["params"].get("temperature", 1.0)
    return {"log_prob": tc.token_log_probs(logits, tokens, temperature=temperature)}


def bapo(case):
    inputs, params = case["inputs"], case["params"]
    mask, advantages = bools(inputs["mask"]), floats(inputs["advantages"])
    log_ratio = tc.token_log_ratio(
        floats(inputs["log_prob"]), floats(inputs["old_log_prob"]), mask
    )
    low, high = tc.balanced_clip(
        log_ratio,
        advantages,
        mask,
        target=params["target_pos_share"],
        low=(params["low_start"], params["low_max"]),
        high=(params["high_start"], params["high_max"]),
        low_step=params["low_step"],
        high_step=params["high_step"],
    )
    return {"clip_low": torch.tensor(1 - low), "clip_high": torch.tensor(1 + high)}


def group_list(scores):
    lengths = torch.tensor([len(row) for row in scores])
    ids = torch.arange(len(scores)).repeat_interleave(lengths)
    return torch.cat([floats(row) for row in scores]), ids


def variance_filter(case):
    rewards, ids = group_list(case["inputs"]["scores"])
    kept = tc.top_variance(rewards, ids, keep=case["params"]["keep_ratio"])
    return {"kept_groups": ids[kept].unique()}


def dynamic_sampling(case):
    rewards, ids = group_list(case["inputs"]["scores"])
    first = [ids.tolist().index(i) for i in range(len(case["inputs"]["scores"]))]
    return {"keep": tc.dynamic_sampling(rewards, ids)[first]}


OPS = {
    "aggregate": aggregate,
    "aggregate_example": aggregate_example,
    "aggregate_microbatch": aggregate_microbatch,
    "bapo_paper": bapo,
    "bilevel_gae": bilevel_gae,
    "cispo_loss": lambda case: policy_loss(case, tc.token_log_ratio, tc.cispo_loss),
    "discounted_return_masked": returns,
    "dynamic_sampling": dynamic_sampling,
    "entropy_from_logits": entropy,
    "eos_mask": lambda case: {
        "mask": tc.response_mask(
            torch.tensor(case["inputs"]["token_ids"]), case["inputs"]["eos"]
        )
    },
    "gae_masked": gae,
    "gae_masked_whitened": gae,
    "group_advantage": group_relative,
    "group_advantage_scores": group_relative,
    "gspo_loss": lambda case: policy_loss(
        case, tc.sequence_log_ratio, tc.ppo_clip_loss
    ),
    "kl_estimate": kl,
    "masked_mean": lambda case: {
        "value": tc.masked_mean(
            floats(case["inputs"]["values"]), bools(case["inputs"]["mask"])
        )
    },
    "masked_whiten": lambda case: {
        "value": tc.masked_whiten(
            floats(case["inputs"]["values"]),
            bools(case["inputs"]["mask"]),
            eps=case["params"]["eps"],
        )
    },
    "policy_loss": lambda case: policy_loss(case, tc.token_log_ratio, tc.ppo_clip_loss),
    "policy_loss_microbatch": policy_loss_microbatch,
    "rloo_advantage": lambda case: group_advantage(case, tc.leave_one_out),
    "soft_overlong": lambda case: {
        "penalty": tc.soft_overlong(
            floats(case["inputs"]["lengths"]),
            max_length=case["params"]["max_len"],
            cache=case["params"]["cache"],
        )
    },
    "token_logprob": token_logprob,
    "value_loss": value_loss,
    "variance_filter": variance_filter,
}


@pytest.mark.parametrize(
    "case", [c for c in CASES if c["id"] not in FOREIGN], ids=lambda case: case["id"]
)
def test_the_package_gives_the_numbers_of_the_peer(case):
    got, rule = OPS[case["op"]](case), case["compare"]
    compared = [name for name in got if rule.get(name) != "skip"]
    assert compared
    for name in compared:
        actual, wanted = got[name].detach().to(F64), floats(case["expected"][name])
        if rule.get(name) == "mask":
            mask = bools(case["inputs"]["mask"])
            actual, wanted = actual[mask], wanted[mask]
        if case["id"] in LONE_SCORE_KEPT:
            lone = torch.tensor(case["inputs"]["group"]) == 1
            actual, wanted = actual[~lone], wanted[~lone]
        exact = {"exact": 0.0, "mask": case["tol"]}
        tol = exact.get(rule.get(name), rule.get(name, case["tol"]))
        tol = max(tol, 1e-6) if actual.dtype == torch.float32 else tol
        torch.testing.assert_close(actual, wanted, atol=tol, rtol=tol)


def test_every_foreign_convention_is_a_case_of_the_sample():
    assert {case["id"] for case in CASES} >= FOREIGN | LONE_SCORE_KEPT
