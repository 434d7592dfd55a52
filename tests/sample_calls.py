"""One good call of every public function: the contract tests are made from these.

A new function joins by its line here (a test fails until it has one); a new loss, rule,
estimator or row joins by itself.
"""

import inspect
from dataclasses import dataclass, field, replace

import torch

import tokencredit as tc
from tokencredit.weight import losses

B, T, V = 6, 5, 7
MASKED = "a position that is masked in every sample"

# What stands behind each argument: per token, per sequence, mask, ids, ...
TOKEN, ROW, MASK, GROUPS, IDS = "token", "row", "mask", "groups", "ids"
REWARDS, ENDS, LOGITS = "token rewards", "turn ends", "logits"


@dataclass(frozen=True)
class Call:
    """A function with its arguments, and what its contract is."""

    function: object
    tensors: dict  # argument -> kind
    others: dict = field(default_factory=dict)  # names, dials that must be given
    bad: dict = field(default_factory=dict)  # argument -> values out of range
    grad: tuple = ()  # arguments that receive a gradient
    result: str = TOKEN  # token, row, scalar, other
    optional: tuple = ()  # tensors that may be None

    @property
    def masked(self):
        return "mask" in self.tensors

    def inputs(self, dtype=torch.float64, rows=B, steps=T, live=None, seed=0):
        """Fresh tensors; `live` overrides the mask."""
        g = torch.Generator().manual_seed(seed)
        mask = torch.rand(rows, steps, generator=g) < 0.7
        if live is not None:
            mask = torch.full((rows, steps), live)
        elif rows and steps:
            mask[0, 0], mask[rows - 1] = True, False  # a live token, a row without one
        ends = mask & (mask.flip(1).cumsum(1).flip(1) <= 2)
        makers = {
            TOKEN: lambda: torch.randn(rows, steps, generator=g, dtype=torch.float64),
            ROW: lambda: torch.randn(rows, generator=g, dtype=torch.float64),
            MASK: lambda: mask,
            GROUPS: lambda: torch.arange(rows) % 2 * 5 + 3,
            IDS: lambda: torch.randint(V, (rows, steps), generator=g),
            REWARDS: lambda: torch.randn(rows, steps, generator=g).double() * mask,
            ENDS: lambda: ends,
            LOGITS: lambda: torch.randn(rows, steps, V, generator=g).double(),
        }
        given = {name: makers[kind]() for name, kind in self.tensors.items()}
        if ENDS in self.tensors.values():
            given["rewards"] = given["rewards"] * ends
        return {
            name: x.to(dtype) if x.is_floating_point() else x
            for name, x in given.items()
        }

    def __call__(self, inputs):
        return self.function(**inputs, **self.others)


UNIT = (-0.1, 1.1)
POSITIVE = (0, -1)
THREE = {"log_probs": TOKEN, "log_ratio": TOKEN, "advantages": TOKEN}
RATIO = {"log_probs": TOKEN, "old_log_probs": TOKEN, "mask": MASK}
GROUPED = {"rewards": ROW, "groups": GROUPS}
GAE = {"rewards": REWARDS, "values": TOKEN, "mask": MASK}
NATS = {"clip_low": (-0.1,), "clip_high": (-0.1,)}
CLIPS = NATS | {"clip_low": (-0.1, 1.1)}  # no bound on a ratio lies below 0
SWITCH = {"missing": ("skip", None, 0, True)}

CALLS = {
    "response_mask": Call(
        tc.response_mask,
        {"tokens": IDS},
        {"eos_id": 1},
        {"eos_id": (1.5, "1", None, [], [1, "2"], True)},
        result="other",
    ),
    "masked_mean": Call(
        tc.masked_mean, {"x": TOKEN, "mask": MASK}, grad=("x",), result="scalar"
    ),
    "masked_whiten": Call(
        tc.masked_whiten, {"x": TOKEN, "mask": MASK}, bad={"eps": (-1,)}, grad=("x",)
    ),
    "token_log_probs": Call(
        tc.token_log_probs,
        {"logits": LOGITS, "tokens": IDS},
        bad={"temperature": POSITIVE},
        grad=("logits",),
    ),
    "entropy": Call(tc.entropy, {"logits": LOGITS}, grad=("logits",)),
    "soft_overlong": Call(
        tc.soft_overlong,
        {"lengths": "lengths"},
        {"max_length": 10, "cache": 4},
        {"max_length": POSITIVE, "cache": (0, -1, 11)},
        result="other",
    ),
    "dynamic_sampling": Call(tc.dynamic_sampling, GROUPED, bad=SWITCH, result="other"),
    "top_variance": Call(
        tc.top_variance,
        GROUPED,
        bad={"keep": (0, -0.1, 1.1)} | SWITCH,
        result="other",
    ),
    "discounted_return": Call(
        tc.discounted_return,
        {"rewards": REWARDS, "mask": MASK, "last_values": ROW},
        bad={"gamma": UNIT},
        optional=("mask", "last_values"),
    ),
    "gae": Call(
        tc.gae,
        GAE | {"last_values": ROW},
        bad={"gamma": UNIT, "lam": UNIT},
        optional=("mask", "last_values"),
    ),
    "turn_gae": Call(
        tc.turn_gae,
        GAE | {"turn_ends": ENDS, "last_values": ROW},
        bad={"gamma": UNIT, "lam": UNIT, "turn_gamma": UNIT},
        optional=("last_values",),
    ),
    "group_turns": Call(
        tc.group_turns,
        {"rewards": REWARDS, "mask": MASK, "turn_ends": ENDS, "groups": GROUPS},
        bad={"eps": (-1e-6,), "scale": (1, "yes")} | SWITCH,
    ),
    "group_relative": Call(
        tc.group_relative,
        GROUPED,
        bad={"eps": (-1e-6,), "scale": (1, "yes")} | SWITCH,
        result="row",
    ),
    "teacher_gap": Call(
        tc.teacher_gap, {"old_log_probs": TOKEN, "ref_log_probs": TOKEN, "mask": MASK}
    ),
    "leave_one_out": Call(tc.leave_one_out, GROUPED, bad=SWITCH, result="row"),
    "token_log_ratio": Call(tc.token_log_ratio, RATIO, grad=("log_probs",)),
    "sequence_log_ratio": Call(tc.sequence_log_ratio, RATIO, grad=("log_probs",)),
    "reinforce_loss": Call(tc.reinforce_loss, THREE, grad=("log_probs",)),
    "ppo_clip_loss": Call(
        tc.ppo_clip_loss,
        THREE,
        bad=CLIPS | {"dual_clip": (1, 0.5, -1)},
        grad=("log_ratio",),
    ),
    "cispo_loss": Call(tc.cispo_loss, THREE, bad=CLIPS, grad=("log_probs",)),
    "gmpo_loss": Call(
        tc.gmpo_loss,
        {"log_ratio": TOKEN, "advantages": TOKEN, "mask": MASK},
        bad=NATS,
        grad=("log_ratio",),
    ),
    "sapo_loss": Call(
        tc.sapo_loss,
        {"log_ratio": TOKEN, "advantages": TOKEN},
        bad={"tau_pos": POSITIVE, "tau_neg": POSITIVE},
        grad=("log_ratio",),
    ),
    "dppo_loss": Call(
        tc.dppo_loss,
        THREE,
        bad={"diff_low": UNIT, "diff_high": UNIT},
        grad=("log_ratio",),
    ),
    "corrected_clip_loss": Call(
        tc.corrected_clip_loss,
        THREE | {"old_log_probs": TOKEN, "sampler_log_probs": TOKEN, "mask": MASK},
        bad=CLIPS | {"cap": POSITIVE},
        grad=("log_ratio",),
    ),
    "masked_clip_loss": Call(
        tc.masked_clip_loss,
        THREE | {"old_log_probs": TOKEN, "sampler_log_probs": TOKEN, "mask": MASK},
        bad=CLIPS | {"weight_low": (-0.1, 1.1), "weight_high": (0.9, -1)},
        grad=("log_ratio",),
    ),
    "value_loss": Call(
        tc.value_loss,
        {"values": TOKEN, "old_values": TOKEN, "returns": TOKEN},
        bad={"clip": (-0.1,)},
        grad=("values",),
    ),
    "balanced_clip": Call(
        tc.balanced_clip,
        {"log_ratio": TOKEN, "advantages": TOKEN, "mask": MASK},
        bad={
            "target": UNIT,
            "low": ((0.9, 0.6), (0.6,), 0.6, (-0.1, 0.9), (0.6, 1.1), ("a", 0.9)),
            "high": ((3.0, 1.2), (0.9, 3.0), "ab", None),
            "low_step": POSITIVE,
            "high_step": POSITIVE,
        },
        result="bounds",
    ),
    "kl_penalty": Call(
        tc.kl_penalty,
        {"log_probs": TOKEN, "ref_log_probs": TOKEN},
        bad={"estimator": ("k4", "K1", None, 3)},
        grad=("log_probs",),
    ),
    "aggregate_loss": Call(
        tc.aggregate_loss,
        {"loss": TOKEN, "mask": MASK},
        {"how": "token-mean"},
        {
            "how": ("mean", "", None, 0),
            "max_length": (5,),
            "denominator": POSITIVE,
        },
        grad=("loss",),
        result="scalar",
    ),
    "loss_denominator": Call(
        tc.loss_denominator,
        {"mask": MASK},
        {"how": "token-mean"},
        {"how": ("mean", None)},
        result="other",
    ),
    "shaped_rewards": Call(
        tc.shaped_rewards,
        {
            "rewards": REWARDS,
            "mask": MASK,
            "old_log_probs": TOKEN,
            "ref_log_probs": TOKEN,
        },
        {"algorithm": tc.ALGORITHMS["StarPO"]},
    ),
    "token_advantages": Call(
        tc.token_advantages,
        {"rewards": REWARDS, "mask": MASK, "groups": GROUPS},
        {"algorithm": tc.ALGORITHMS["GRPO"]},
        SWITCH,
    ),
    "policy_loss": Call(
        tc.policy_loss,
        {
            "log_probs": TOKEN,
            "old_log_probs": TOKEN,
            "advantages": TOKEN,
            "mask": MASK,
            "ref_log_probs": TOKEN,
        },
        {"algorithm": tc.ALGORITHMS["GRPO"]},
        grad=("log_probs",),
        result="scalar",
    ),
    "clip_fraction": Call(
        tc.clip_fraction,
        {"log_ratio": TOKEN, "advantages": TOKEN, "mask": MASK},
        bad=CLIPS,
        result="sides",
    ),
    "approximate_kl": Call(
        tc.approximate_kl, {"log_ratio": TOKEN, "mask": MASK}, result="scalar"
    ),
    "mean_entropy": Call(
        tc.mean_entropy, {"entropies": TOKEN, "mask": MASK}, result="scalar"
    ),
    "explained_variance": Call(
        tc.explained_variance,
        {"values": TOKEN, "returns": TOKEN, "mask": MASK},
        result="scalar",
    ),
    "ratio_range": Call(
        tc.ratio_range, {"log_ratio": TOKEN, "mask": MASK}, result="sides"
    ),
    "effective_sample_size": Call(
        tc.effective_sample_size, {"log_ratio": TOKEN, "mask": MASK}, result="scalar"
    ),
    "no_gradient_share": Call(
        tc.no_gradient_share,
        {"gradient": TOKEN, "advantages": TOKEN, "mask": MASK},
        result="scalar",
    ),
    "reference_distance": Call(
        tc.reference_distance,
        {"log_probs": TOKEN, "ref_log_probs": TOKEN, "mask": MASK},
        result="scalar",
    ),
    "value_error": Call(
        tc.value_error,
        {"values": TOKEN, "returns": TOKEN, "mask": MASK},
        result="scalar",
    ),
    "group_reward_std": Call(tc.group_reward_std, GROUPED, bad=SWITCH, result="scalar"),
    "zero_variance_share": Call(
        tc.zero_variance_share, GROUPED, bad=SWITCH, result="scalar"
    ),
}
# soft_overlong alone takes lengths; give them as a token tensor that is never negative
CALLS["soft_overlong"] = replace(
    CALLS["soft_overlong"],
    tensors={"lengths": ROW},
    function=lambda lengths, **dials: tc.soft_overlong(lengths.abs(), **dials),
)


def variants(name, **changes):
    """Another line of the same function."""
    return replace(CALLS[name], **changes)


# Rules, estimators, losses and rows join by existing.
EXTRA = {
    f"aggregate_loss[{how}]": variants(
        "aggregate_loss",
        others={"how": how}
        | ({"max_length": 9} if rule.per_row == "max_length" else {}),
        bad={},
    )
    for how, rule in tc.AGGREGATIONS.items()
}
EXTRA |= {
    f"kl_penalty[{name}]": variants("kl_penalty", others={"estimator": name}, bad={})
    for name in tc.KL_ESTIMATORS
}
POLICY_LOSSES = {
    name: function
    for name, function in inspect.getmembers(losses, inspect.isfunction)
    if name.endswith("_loss") and name != "value_loss"
}


def unused(row):
    """Tensors that this algorithm's loss does not look at."""
    looks = {
        "ref_log_probs": row.kl_coef and row.kl_in == "loss",
        "entropies": row.entropy_coef,
        "sampler_log_probs": row.corrects,
    }
    return {name for name, used in looks.items() if not used}


ROWS = dict(tc.ALGORITHMS)
ROWS |= {
    row.name: row
    for row in (
        tc.with_critic(tc.ALGORITHMS["StarPO"]),
        tc.with_critic(tc.ALGORITHMS["StarPO-S"], credit_level="turn"),
    )
}
EXTRA |= {
    f"policy_loss[{row.name}]": variants(
        "policy_loss",
        tensors={
            name: kind
            for name, kind in (
                CALLS["policy_loss"].tensors
                | {"entropies": TOKEN, "sampler_log_probs": TOKEN}
            ).items()
            if name not in unused(row)
        },
        others={"algorithm": row}
        | ({"max_length": 9} if row.aggregation.endswith("-norm") else {}),
        grad=("log_probs",) + (("entropies",) if row.entropy_coef else ()),
        bad={},
    )
    for row in ROWS.values()
}
ALL = CALLS | EXTRA
