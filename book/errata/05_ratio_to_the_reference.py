"""A ratio to the reference policy."""

from torch import tensor

ARROW = "weight"
SHOWN = "06_ppo.ipynb#old-policy-and-reference-policy"
SPEAKS_OF = {"loss": "slope", "ratio": "column"}
WORDS = {
    "zh": {
        "purpose": "手里有三个策略时的比率",
        "mistake": "比率除以参考策略",
        "what": (
            "两个“以前的策略”只取了一个名字。比率改正的是采样，分母只能是采样的那个策"
            "略；参考策略是 KL 的另一边。"
        ),
        "law": "刚采完样，比率处处是 1。",
    },
    "en": {
        "purpose": "The ratio, with three policies at hand",
        "mistake": "A ratio to the reference policy",
        "what": (
            "Two earlier policies shared one name. The ratio corrects the sampling, "
            "so it divides by the policy that sampled; the reference is the other "
            "side of the KL."
        ),
        "law": "Just after sampling the ratio is 1 everywhere.",
    },
}


def wrong(log_probs, old_log_probs, ref_log_probs):
    return (log_probs - ref_log_probs).exp()


def right(log_probs, old_log_probs, ref_log_probs):
    return (log_probs - old_log_probs).exp()


def law(f):
    now, reference = tensor([-1.0, -2.0]), tensor([-1.5, -1.5])
    return (f(now, now, reference) == 1).all()
