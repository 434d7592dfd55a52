"""The table of algorithms 算法.

A later paper is written as its difference to an earlier one: DAPO is GRPO with six
fields changed. `Algorithm` defines the fields; `policy_loss`, `token_advantages` and
`shaped_rewards` apply an entry.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tokencredit.algorithm import TABLES, Algorithm, named
from tokencredit.credit.advantages import (
    gae,
    group_relative,
    group_turns,
    leave_one_out,
    plain_reward,
    teacher_gap,
    turn_gae,
)
from tokencredit.credit.filters import dynamic_sampling, top_variance
from tokencredit.credit.rewards import soft_overlong
from tokencredit.tensors.checks import choice, require
from tokencredit.weight.losses import (
    balanced_clip,
    cispo_loss,
    corrected_clip_loss,
    dppo_loss,
    gmpo_loss,
    masked_clip_loss,
    ppo_clip_loss,
    reinforce_loss,
    sapo_loss,
)
from tokencredit.weight.ratios import sequence_log_ratio, token_log_ratio

NO_CRITIC = "no critic"
NONE = "the paper has none"
NO_KL = dict.fromkeys(("kl_estimator", "kl_in"), "unused while kl_coef is 0")

REINFORCE = Algorithm(
    name="REINFORCE",
    paper="Williams 1992",
    url="https://doi.org/10.1007/BF00992696",
    parent=None,
    length_penalty=None,
    keep=None,
    refill=False,
    credit_level="sequence",
    advantage=plain_reward,
    whiten=False,
    log_ratio=token_log_ratio,
    loss=reinforce_loss,
    clip_rule=None,
    kl_coef=0.0,
    kl_estimator="k1",
    kl_in="reward",
    entropy_coef=0.0,
    aggregation="seq-mean-token-sum",
    value_coef=0.0,
    value_clip=None,
    sources={
        "length_penalty": NONE,
        "keep": NONE,
        "refill": NONE,
        "credit_level": "Williams sec. 5, episodic: one return for the trajectory",
        "advantage": "Williams theorem 2 with baseline 0",
        "whiten": NONE,
        "log_ratio": "on-policy: the loss ignores it",
        "loss": "Williams theorem 2",
        "clip_rule": NONE,
        "kl_coef": NONE,
        **NO_KL,
        "entropy_coef": NONE,
        "aggregation": "log-probability of a trajectory is a sum over its tokens",
        "value_coef": NO_CRITIC,
        "value_clip": NO_CRITIC,
    },
)

RLOO = replace(
    REINFORCE,
    name="RLOO",
    paper="Ahmadian et al. 2024",
    url="https://arxiv.org/abs/2402.14740",
    parent="REINFORCE",
    advantage=leave_one_out,
    kl_coef=0.05,
    sources=REINFORCE.sources
    | {
        "advantage": "leave-one-out baseline of k samples",
        "kl_coef": "TRL 1.16 default of its RLOO trainer; the paper: 0.03 and 0.10",
        "kl_estimator": "k1 summed over the sequence",
        "kl_in": "subtracted from the reward",
    },
)

PPO = replace(
    REINFORCE,
    name="PPO",
    paper="Schulman et al. 2017",
    url="https://arxiv.org/abs/1707.06347",
    parent="REINFORCE",
    credit_level="token",
    advantage=partial(gae, gamma=1.0, lam=0.95),
    whiten=True,
    loss=partial(ppo_clip_loss, clip_low=0.2, clip_high=0.2),
    aggregation="token-mean",
    value_coef=0.5,
    value_clip=0.5,
    sources=REINFORCE.sources
    | {
        "credit_level": "a critic judges every token",
        "advantage": "GAE, 1506.02438 eq. 16; lambda 0.95; gamma = 1 for LLMs",
        "whiten": "implementation detail of every peer; verl 0.9.1: n - 1, eps 1e-8",
        "log_ratio": "eq. 6, per token",
        "loss": "eq. 7, epsilon = 0.2",
        "kl_coef": "no reference; the KL penalty of eq. 8 is to the old policy",
        "entropy_coef": "eq. 9, c_2: 0.01 on Atari, none on MuJoCo",
        "aggregation": "empirical average over the batch's time steps",
        "value_coef": "eq. 9, c_1; 0.5 is the default of cleanrl and stable-baselines3",
        "value_clip": "not in the paper; default of verl 0.9.1 and OpenRLHF 0.11.2",
    },
)

GRPO = replace(
    PPO,
    name="GRPO",
    paper="DeepSeekMath, Shao et al. 2024",
    url="https://arxiv.org/abs/2402.03300",
    parent="PPO",
    credit_level="sequence",
    advantage=partial(group_relative, scale=True, eps=1e-6),
    whiten=False,
    kl_coef=0.04,
    kl_estimator="k3",
    kl_in="loss",
    aggregation="seq-mean-token-mean",
    value_coef=0.0,
    value_clip=None,
    sources=PPO.sources
    | {
        "credit_level": "DeepSeekMath sec. 4.1.2, outcome supervision",
        "advantage": "DeepSeekMath sec. 4.1.2; sample std and eps 1e-6 as verl 0.9.1",
        "whiten": "sec. 4.1.2 normalises within the group only",
        "log_ratio": "DeepSeekMath eq. 3, per token",
        "loss": "DeepSeekMath eq. 3; epsilon = 0.2 as in PPO",
        "kl_coef": "DeepSeekMath sec. 4.2",
        "kl_estimator": "DeepSeekMath eq. 4",
        "kl_in": "DeepSeekMath eq. 3",
        "entropy_coef": NONE,
        "aggregation": "DeepSeekMath eq. 3: 1/G sum_i 1/n_i sum_t",
        "value_coef": NO_CRITIC,
        "value_clip": NO_CRITIC,
    },
)

REINFORCE_PP = replace(
    PPO,
    name="REINFORCE++",
    paper="Hu et al. 2025, with a group baseline",
    url="https://arxiv.org/abs/2501.03262",
    parent="PPO",
    credit_level="sequence",
    advantage=partial(group_relative, scale=False),
    kl_coef=0.01,
    kl_estimator="k2",
    kl_in="loss",
    value_coef=0.0,
    value_clip=None,
    sources=PPO.sources
    | {
        "credit_level": "outcome reward for the whole response",
        "advantage": "REINFORCE++-baseline: minus the mean of the group",
        "whiten": "over the whole batch, not the group; eps as verl 0.9.1",
        "kl_coef": "OpenRLHF 0.11.2 default of kl.init_coef",
        "kl_estimator": "REINFORCE++-baseline: k2",
        "kl_in": "REINFORCE++-baseline: in the loss",
        "aggregation": "OpenRLHF 0.11.2 default; eq. 1 is a mean per response",
        "value_coef": NO_CRITIC,
        "value_clip": NO_CRITIC,
    },
)

DR_GRPO = replace(
    GRPO,
    name="Dr. GRPO",
    paper="Liu et al. 2025",
    url="https://arxiv.org/abs/2503.20783",
    parent="GRPO",
    advantage=partial(group_relative, scale=False),
    kl_coef=0.0,
    aggregation="seq-mean-token-sum-norm",
    sources=GRPO.sources
    | {
        "advantage": "no std: it weights questions by difficulty",
        "kl_coef": "beta = 0 throughout the paper",
        **NO_KL,
        "aggregation": "a constant for 1/n_i: it weights responses by length",
    },
)

DAPO = replace(
    GRPO,
    name="DAPO",
    paper="Yu et al. 2025",
    url="https://arxiv.org/abs/2503.14476",
    parent="GRPO",
    length_penalty=partial(soft_overlong, max_length=20480, cache=4096),
    keep=dynamic_sampling,
    refill=True,
    loss=partial(ppo_clip_loss, clip_low=0.2, clip_high=0.28),
    kl_coef=0.0,
    aggregation="token-mean",
    sources=GRPO.sources
    | {
        "length_penalty": "eq. 13; sec. 4.1: L_max = 20480, L_cache = 4096",
        "keep": "eq. 11: 0 < number correct < G",
        "refill": "Algorithm 1: sample on until the buffer holds a batch",
        "loss": "eq. 10, clip-higher; values of sec. 4.1",
        "kl_coef": "sec. 2.3: removed",
        **NO_KL,
        "aggregation": "eq. 12, token-level loss",
    },
)

GSPO = replace(
    GRPO,
    name="GSPO",
    paper="Zheng et al. 2025",
    url="https://arxiv.org/abs/2507.18071",
    parent="GRPO",
    log_ratio=sequence_log_ratio,
    loss=partial(ppo_clip_loss, clip_low=3e-4, clip_high=4e-4),
    kl_coef=0.0,
    sources=GRPO.sources
    | {
        "log_ratio": "eq. 7: geometric mean of the token ratios",
        "loss": "eq. 5, ranges of sec. 5.1",
        "kl_coef": "eq. 5 leaves it out 'for brevity'; 0 in TRL's and verl's recipes",
        **NO_KL,
        "aggregation": "eq. 5: mean over sequences",
    },
)

GMPO = replace(
    GRPO,
    name="GMPO",
    paper="Zhao et al. 2025",
    url="https://arxiv.org/abs/2507.20673",
    parent="GRPO",
    loss=partial(gmpo_loss, clip_low=0.4, clip_high=0.4),
    kl_coef=0.0,
    sources=GRPO.sources
    | {
        "loss": "eq. 4, a geometric mean per response; range (e^-0.4, e^0.4)",
        "kl_coef": "left out, as in the authors' code",
        **NO_KL,
        "aggregation": "eq. 4: mean over responses, one weight each",
    },
)

CISPO = replace(
    GRPO,
    name="CISPO",
    paper="MiniMax-M1 2025",
    url="https://arxiv.org/abs/2506.13585",
    parent="GRPO",
    loss=partial(cispo_loss, clip_low=None, clip_high=4.0),
    kl_coef=0.0,
    aggregation="token-mean",
    sources=GRPO.sources
    | {
        "length_penalty": "left out here; sec. 3.1 also takes DAPO's",
        "keep": "left out here; sec. 3.1 also takes DAPO's dynamic sampling",
        "refill": "left out here; sec. 3.1 also takes DAPO's dynamic sampling",
        "loss": "eq. 4-5, no lower bound; upper bound 5 as TRL advises (paper: tuned)",
        "kl_coef": "sec. 3.1: no KL penalty",
        **NO_KL,
        "aggregation": "eq. 4: 1 / sum_i n_i",
    },
)

SAPO = replace(
    GRPO,
    name="SAPO",
    paper="Gao et al. 2025",
    url="https://arxiv.org/abs/2511.20347",
    parent="GRPO",
    loss=partial(sapo_loss, tau_pos=1.0, tau_neg=1.05),
    kl_coef=0.0,
    sources=GRPO.sources
    | {
        "loss": "eq. 5-6; temperatures of sec. 5",
        "kl_coef": "the objective has none",
        **NO_KL,
        "aggregation": "eq. 5: mean over responses of the mean over tokens",
    },
)

DPPO = replace(
    GRPO,
    name="DPPO",
    paper="Qi et al. 2026",
    url="https://arxiv.org/abs/2602.04879",
    parent="GRPO",
    loss=partial(dppo_loss, diff_low=0.15, diff_high=0.15),
    kl_coef=0.0,
    aggregation="token-mean",
    sources=GRPO.sources
    | {
        "loss": "eq. 11-13, binary total variation; 0.15 as the authors' recipe",
        "kl_coef": "the objective has none",
        **NO_KL,
        "aggregation": "verl's default; the authors' scripts take Dr. GRPO's, no std",
    },
)

BAPO = replace(
    GRPO,
    name="BAPO",
    paper="Xi et al. 2025",
    url="https://arxiv.org/abs/2510.18927",
    parent="GRPO",
    loss=partial(ppo_clip_loss, dual_clip=3.0),
    clip_rule=partial(
        balanced_clip,
        measure="clipped",
        first="low",
        target=0.5,
        low=(0.6, 0.8),
        high=(1.2, 2.0),
        low_step=0.05,
        high_step=0.05,
        partial_step=True,
    ),
    kl_coef=0.0,
    aggregation="token-mean",
    sources=GRPO.sources
    | {
        "keep": "Algorithm 1 speaks of a filter and gives no rule; none in the code",
        "loss": "clip_rule replaces its range at every step; dual clip 3 as the code",
        "clip_rule": "authors' released code and bapo_trainer.yaml: clipped values "
        "counted, positive/negative = 1, lower bound first (Algorithm 1 raises the "
        "upper one first; sec. 5.1 has other ranges)",
        "kl_coef": "the objective of Algorithm 1 has none",
        **NO_KL,
        "aggregation": "verl's default, which the authors' code keeps",
    },
)

BAPO_UNCLIPPED = replace(
    BAPO,
    name="BAPO, un-clipped",
    parent="BAPO",
    loss=partial(ppo_clip_loss),
    clip_rule=partial(
        balanced_clip,
        measure="unclipped",
        first="high",
        target=0.4,
        low=(0.6, 0.9),
        high=(1.2, 3.0),
    ),
    sources=BAPO.sources
    | {
        "loss": "clip_rule replaces its range at every step",
        "clip_rule": "this book's variant: Algorithm 1 and the values of sec. 5.1, "
        "but only tokens that the clip leaves a gradient are counted",
    },
)

GRPO_TIS = replace(
    GRPO,
    name="GRPO + TIS",
    paper="Yao et al. 2025",
    url="https://fengyao.notion.site/off-policy-rl",
    parent="GRPO",
    loss=partial(corrected_clip_loss, clip_low=0.2, clip_high=0.2, cap=2.0),
    sources=GRPO.sources
    | {
        "loss": "truncated importance sampling of the sampler against the trainer; "
        "cap 2 as in the post and in verl 0.9.1",
    },
)

GRPO_ICEPOP = replace(
    GRPO,
    name="GRPO + IcePop",
    paper="Zhao et al. 2025",
    url="https://ringtech.notion.site/icepop",
    parent="GRPO",
    loss=partial(
        masked_clip_loss, clip_low=0.2, clip_high=0.2, weight_low=0.5, weight_high=5.0
    ),
    sources=GRPO.sources
    | {
        "loss": "masked importance sampling of the sampler against the trainer; "
        "0.5 to 5 as in the post, Ring-1T (2510.18855) and OpenRLHF 0.11.2",
    },
)

STARPO = replace(
    GRPO,
    name="StarPO",
    paper="RAGEN, Wang et al. 2025",
    url="https://arxiv.org/abs/2504.20073",
    parent="GRPO",
    kl_coef=0.001,
    kl_estimator="k1",
    kl_in="reward",
    entropy_coef=0.001,
    sources=GRPO.sources
    | {
        "credit_level": "the trajectory of all turns; with_critic is the PPO variant",
        "kl_coef": "appendix C.2",
        "kl_estimator": "appendix C.2",
        "kl_in": "C.2: no KL loss term; k1 in a loss has expected gradient 0",
        "entropy_coef": "appendix C.2",
        "aggregation": "the paper's formula, over sampled tokens only",
    },
)

STARPO_S = replace(
    STARPO,
    name="StarPO-S",
    parent="StarPO",
    keep=partial(top_variance, keep=0.25),
    loss=partial(ppo_clip_loss, clip_low=0.2, clip_high=0.28),
    kl_coef=0.0,
    sources=STARPO.sources
    | {
        "keep": "top 25 % of the prompt groups by reward std",
        "loss": "clip-higher, appendix D",
        "kl_coef": "removed, appendix D",
        **NO_KL,
    },
)

OPD = replace(
    GRPO,
    name="OPD",
    paper="On-policy distillation, Lu et al. 2025",
    url="https://thinkingmachines.ai/blog/on-policy-distillation/",
    parent="GRPO",
    credit_level="token",
    advantage=teacher_gap,
    kl_coef=0.0,
    aggregation="token-mean",
    sources=GRPO.sources
    | {
        "credit_level": "the teacher scores every token; no verdict is looked at",
        "advantage": "minus the reverse KL of the sampled token, discount 0",
        "loss": "the post corrects by the ratio without a clip; epsilon = 0.2 as in "
        "PPO does nothing in the first step",
        "kl_coef": "the teacher stands in the place of the reference",
        **NO_KL,
        "aggregation": "a mean over the tokens of the batch",
    },
)

ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        REINFORCE,
        RLOO,
        PPO,
        GRPO,
        REINFORCE_PP,
        DR_GRPO,
        DAPO,
        GSPO,
        GMPO,
        CISPO,
        SAPO,
        DPPO,
        BAPO,
        BAPO_UNCLIPPED,
        GRPO_TIS,
        GRPO_ICEPOP,
        STARPO,
        STARPO_S,
        OPD,
    )
}
TABLES.append(ALGORITHMS)


def with_critic(
    algorithm: Algorithm | str, *, credit_level: str = "token"
) -> Algorithm:
    """The same algorithm with PPO's critic instead of a group baseline 换成价值网络.

    `with_critic("StarPO")` is StarPO with PPO (gamma = lambda = 1, paper
    appendix C.2); `credit_level="turn"` makes it bi-level GAE.

    Args:
        algorithm: an entry of ALGORITHMS or its name.
        credit_level: "token" or "turn".

    Returns:
        An algorithm with its own name; everything else is as given.

    Raises:
        ValueError: any other level of credit, an unknown algorithm.

    >>> with_critic("StarPO").name
    'StarPO + critic'
    """
    algorithm = named(algorithm)
    suffix, advantage, source = {
        "token": ("critic", partial(gae, gamma=1.0, lam=1.0), "gamma = lambda = 1"),
        "turn": (
            "turns",
            partial(turn_gae, gamma=1.0, lam=1.0, turn_gamma=0.95),
            "gamma = lambda = 1; turn_gamma 0.95 as in its repository",
        ),
    }[choice("credit_level", credit_level, ("token", "turn"))]
    as_ppo = ("whiten", "value_coef", "value_clip")
    return replace(
        algorithm,
        name=f"{algorithm.name} + {suffix}",
        parent=algorithm.name,
        credit_level=credit_level,
        advantage=advantage,
        whiten=PPO.whiten,
        value_coef=PPO.value_coef,
        value_clip=PPO.value_clip,
        sources=algorithm.sources
        | {name: f"as PPO: {PPO.sources[name]}" for name in as_ppo}
        | {
            "credit_level": f"a critic judges every {credit_level}",
            "advantage": f"RAGEN C.2: {source}",
        },
    )


def with_turn_groups(algorithm: Algorithm | str) -> Algorithm:
    """The same algorithm with credit per turn in the group, no critic 逐轮次的组标准化.

    Args:
        algorithm: an entry of ALGORITHMS without a critic, or its name.

    Returns:
        An algorithm with its own name; everything else is as given.

    Raises:
        ValueError: an algorithm with a critic, an unknown one.

    >>> with_turn_groups("StarPO").name
    'StarPO + turn groups'
    """
    algorithm = named(algorithm)
    require(not algorithm.critic, "algorithm", "one without a critic", algorithm.name)
    return replace(
        algorithm,
        name=f"{algorithm.name} + turn groups",
        parent=algorithm.name,
        credit_level="turn",
        advantage=partial(group_turns, scale=True, eps=1e-6),
        sources=algorithm.sources
        | {
            "credit_level": "every turn is a step of process supervision",
            "advantage": "DeepSeekMath sec. 4.1.3; sample std and eps as GRPO",
        },
    )
