"""The playground's simulation against torch, and what its page promises.

The simulation is JavaScript; V8 runs in a process of its own. A batch, a run or a
setting goes there as data and comes back with derivatives, which autograd must confirm.
"""

import asyncio
import itertools
import json
import math
import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from v8 import V8

import tokencredit as tc
from tokenbook.languages import LANGUAGES
from tokenbook.languages.glossary import ROWS, retired
from tokenbook.site.javascript import javascript
from tokenbook.site.playground import page
from tokencredit.world.enumerable import (
    ENUMERABLE,
    SHARING,
    EnumerableTask,
    PrefixPolicy,
)

ROOT = Path(__file__).parents[1]

ALGORITHMS = {name: tc.ALGORITHMS[name] for name in page.rows()}
BATCHES, CLOSE = 300, 1e-12
HARNESS = (ROOT / "tests/playground_harness.js").read_text("utf-8")
VIEW = page.script("charts", "view", "apart")
STUBS = "var document = { getElementById: () => null, documentElement: {} };"
STUBS += "var state = { prompt: 0 };"
STUBS += "var DATA = { rows: {}, tasks: {}, stories: [], levels: [], words: {} };"
SCRIPT = page.script(*page.SIMULATION, "measure") + STUBS + VIEW + HARNESS
TASKS = page.task_data()
PLAIN = {
    "prompts": 4,
    "group_size": 8,
    "temperature": 1,
    "refresh": 1,
    "sharing": "nothing",
    "noise": 0,
    "offset": 0,
    "epochs": 1,
    "minibatches": 1,
    "optimizer": "sgd",
    "lr": 5,
    "critic_lr": 2,
    "max_norm": 0,
}


@pytest.fixture(scope="module")
def v8(batches):
    engine = V8(script(batches))
    yield engine
    engine.close()


def script(batches: list[dict], text: str = SCRIPT) -> str:
    return f"{text}\nconst GIVEN = {json.dumps([plain(x) for x in batches])};"


@pytest.fixture
def doubles():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def data(row) -> dict:
    """A row as the page has it."""
    return page.row_data(row)


def setting(row, **dials) -> dict:
    return PLAIN | dials | {"row": data(row)}


# ---- the stages, batch by batch ----

GRPO, PPO, DAPO = (ALGORITHMS[name] for name in ("GRPO", "PPO", "DAPO"))
OVERLONG = partial(tc.soft_overlong, max_length=6, cache=3)
LAMBDA, OVERLONG_ROW = "PPO, gamma 0.9, lambda 0.5", "DAPO, penalty in reach"
TURN_GROUPS = "StarPO + turn groups"
VARIANTS = {
    **{
        f"GRPO, {name} in the {place}": replace(GRPO, kl_estimator=name, kl_in=place)
        for name in tc.KL_ESTIMATORS
        for place in ("loss", "reward")
    },
    **{
        f"GRPO, {name}": replace(GRPO, aggregation=name)
        for name in ("token-sum", "seq-sum-token-mean", "seq-mean-token-sum-norm")
    },
    "GRPO, dual clip": replace(GRPO, loss=partial(tc.ppo_clip_loss, dual_clip=3.0)),
    "GRPO, entropy bonus": replace(GRPO, entropy_coef=0.1),
    OVERLONG_ROW: replace(DAPO, length_penalty=OVERLONG),
    "CISPO, two sides": replace(
        ALGORITHMS["CISPO"], loss=partial(tc.cispo_loss, clip_low=0.3, clip_high=0.3)
    ),
    "GSPO, 0.2": replace(
        ALGORITHMS["GSPO"], loss=partial(tc.ppo_clip_loss, clip_low=0.2, clip_high=0.2)
    ),
    LAMBDA: replace(PPO, advantage=partial(tc.gae, gamma=0.9, lam=0.5)),
    "PPO, KL in the reward": replace(PPO, kl_coef=0.1),
    "StarPO + turns": tc.with_critic(ALGORITHMS["StarPO"], credit_level="turn"),
    TURN_GROUPS: tc.with_turn_groups(ALGORITHMS["StarPO"]),
    "mean of the group, whitened": replace(
        GRPO, advantage=partial(tc.group_relative, scale=False), whiten=True
    ),
    "GRPO + TIS, no cap": replace(
        ALGORITHMS["GRPO + TIS"], loss=partial(tc.corrected_clip_loss, cap=None)
    ),
    "SAPO, other gates": replace(
        ALGORITHMS["SAPO"], loss=partial(tc.sapo_loss, tau_pos=2.0, tau_neg=0.5)
    ),
    "unclipped": replace(
        GRPO, loss=partial(tc.ppo_clip_loss, clip_low=1.0, clip_high=1e9)
    ),
}


def random_batch(generator: torch.Generator) -> dict:
    """Holes and empty rows in the mask, ids in any order, dead groups, cut rows."""

    def whole(low, high, *shape):
        return torch.randint(low, high, shape, generator=generator)

    def chance(share, *shape):
        return torch.rand(*shape, generator=generator) < share

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    groups_of, T = int(whole(1, 8)), int(whole(2, 9))
    groups = torch.arange(int(whole(1, 7))).repeat_interleave(groups_of)
    B = len(groups)
    groups = (7 * groups % 11)[torch.randperm(B, generator=generator)]
    mask = (torch.arange(T) < whole(1, T + 1, B)[:, None]) & ~chance(0.15, B, T)
    scores = (whole(0, 2, B).double(), normal(B), torch.full((B,), 0.1))[
        int(whole(0, 3))
    ]
    scores = torch.where(chance(0.5, 1) & (groups == groups[0]), 0.1 + 0.2, scores)
    last = mask & (mask.flip(1).cumsum(1).flip(1) == 1)
    old = torch.where(mask, -normal(B, T).abs() * 1.5 - 0.01, 0)
    stale = (0, 0.05, 0.5, 3.0)[int(whole(0, 4))]
    return {
        "B": B,
        "T": T,
        "max_length": T,
        "mask": mask,
        "rewards": torch.where(last, scores[:, None], 0),
        "old": old,
        "now": torch.where(mask, old + stale * normal(B, T), 0),
        "ref": torch.where(mask, old + 0.5 * normal(B, T), 0),
        "sampler": torch.where(mask, old + 0.5 * normal(B, T), 0),
        "values": torch.where(mask, normal(B, T), 0),
        "last": torch.where(chance(0.3, B), normal(B), 0),
        "groups": groups,
        "ends": last | (mask & chance(0.3, B, T)),
    }


def plain(batch: dict) -> dict:
    """A batch as data."""

    def listed(x):
        if not torch.is_tensor(x):
            return x
        return (x.int() if x.dtype == torch.bool else x).flatten().tolist()

    return {name: listed(x) for name, x in batch.items()}


def by_torch(row, batch: dict) -> dict[str, torch.Tensor]:
    """Derivatives by autograd through the package's own stages."""
    kept = batch["mask"].any(1)  # a row without a live token is no response
    if row.keep:
        there = batch["rewards"][kept].sum(1), batch["groups"][kept]
        kept[kept.clone()] = row.keep(*there)
    x = {k: v[kept] if torch.is_tensor(v) else v for k, v in batch.items()}
    mask = x["mask"]
    rewards = tc.shaped_rewards(
        row, x["rewards"], mask, old_log_probs=x["old"], ref_log_probs=x["ref"]
    )
    advantages = tc.token_advantages(
        row,
        rewards,
        mask,
        groups=x["groups"],
        values=x["values"],
        last_values=x["last"],
        turn_ends=x["ends"],
    )
    if row.whiten:
        advantages = tc.masked_whiten(advantages, mask)
    log_probs = x["now"].clone().requires_grad_()
    entropies = torch.ones_like(log_probs).requires_grad_()
    tc.policy_loss(
        row,
        log_probs,
        x["old"],
        advantages,
        mask,
        ref_log_probs=x["ref"],
        sampler_log_probs=x["sampler"],
        entropies=entropies,
        max_length=x["max_length"],
    ).backward()

    def whole(part):
        out = torch.zeros_like(batch["rewards"])
        out[kept] = torch.zeros_like(log_probs) if part is None else part
        return out.flatten()

    return {
        "slope": whole(log_probs.grad),
        "bonus": whole(entropies.grad),
        "advantages": whole(advantages),
    }


def difference(ours, theirs: torch.Tensor, least: float = 1e-12) -> float:
    """The largest difference, in units of the largest of theirs (`least` at least)."""
    ours = torch.as_tensor(ours, dtype=torch.float64).view_as(theirs)
    gap = (ours - theirs).abs().max().item() if theirs.numel() else 0.0
    return gap / max(theirs.abs().max().item(), least) if gap else 0.0


def worst(answers: list[dict], oracle: list[dict]) -> dict[str, float]:
    """The largest difference over batches, and how many zeros do not agree."""
    found = {name: 0.0 for name in ("slope", "bonus", "advantages")} | {"zeros": 0}
    for ours, theirs in zip(answers, oracle, strict=True):
        for name, right in theirs.items():
            found[name] = max(found[name], difference(ours[name], right))
        zero = torch.tensor(ours["slope"]) == 0
        found["zeros"] += int((zero != (theirs["slope"] == 0)).sum())
    return found


@pytest.fixture(scope="module")
def batches():
    generator = torch.Generator().manual_seed(7)
    torch.set_default_dtype(torch.float64)
    made = [random_batch(generator) for _ in range(BATCHES)]
    torch.set_default_dtype(torch.float32)
    return made


@pytest.mark.parametrize("name", [*ALGORITHMS, *VARIANTS])
def test_the_derivatives_of_every_stage_are_those_of_torch(v8, batches, name):
    row = ALGORITHMS.get(name) or VARIANTS[name]
    answers = v8.call("stagesOn", data(row), 0, BATCHES)
    found = worst(answers, [by_torch(row, x) for x in batches])
    print(f"{name:30s}", {k: f"{v:.1e}" for k, v in found.items()})
    assert max(found[k] for k in ("slope", "bonus", "advantages")) < CLOSE
    assert found["zeros"] == 0


FAULTS = [  # what is there, what is put in its place, and what must notice
    ("A >= 0 ? x > high", "A < 0 ? x > high", "GRPO"),
    ("x < low || x > far", "x > far", "GRPO"),
    ("x < low || x > far", "x < low", "GRPO, dual clip"),
    ("g.squares / Math.max(g.size - 1, 1)", "g.squares / g.size", "GRPO"),
    ("centred[i] *= n / Math.max(n - 1, 1)", "centred[i] *= 1", "RLOO"),
    ("centred[i] -= g.sum / g.size", "centred[i] -= 0", "Dr. GRPO"),
    ("= b.rewards[j] + k.gamma * ahead", "= b.rewards[j] + ahead", LAMBDA),
    ("let ahead = b.last[i]", "let ahead = 0", "PPO"),
    ("b.rewards[j] + k.turn_gamma * turns", "b.rewards[j] + turns", "StarPO + turns"),
    ("d, -Math.expm1(-d)]", "d, 1]", "GRPO, k3 in the loss"),
    ("[d * d / 2, d]", "[d * d / 2, 1]", "GRPO, k2 in the loss"),
    ("b.old[j]) / tokens.length", "b.old[j]) / b.T", "GSPO"),
    ("Math.max(places.length - 1, 1) + 1e-8", "places.length + 1e-8", "PPO"),
    ("A > 0 && (all || ratio < high - NEAR)", "A > 0", "BAPO, un-clipped"),
    ('k.first === "high" ?', 'k.first === "low" ?', "BAPO, un-clipped"),
    ('k.first === "high" ?', 'k.first === "low" ?', "BAPO"),
    ("positive / sum >= k.target - NEAR", "positive / sum >= 0.6", "BAPO"),
    ("of.get(groups[i]).squares > 0", "true", "DAPO"),
    ("Math.floor(keep * order.length)", "Math.ceil(keep * order.length)", "StarPO-S"),
    ("(max_length - cache - n) / cache", "(max_length - n) / cache", OVERLONG_ROW),
    ("rewards[j] -= row.kl_coef", "rewards[j] += row.kl_coef", "PPO, KL in the reward"),
    ('perRow === "max_length" ? maxLength : 1', "1", "Dr. GRPO"),
    ("everyone.filter((i) => b.tokens[i].length)", "everyone", "GRPO"),
    ("let turns = b.last[i], ahead", "let turns = 0, ahead", "StarPO + turns"),
    ("slope[j] += row.kl_coef", "slope[j] -= row.kl_coef", "GRPO"),
    ("else rewards[end] += rewards[j], rewards[j] = 0;", "else;", "StarPO + turns"),
    ("-row.entropy_coef / (own * whole)", "-row.entropy_coef / whole", "StarPO"),
    ("Math.min(high, Math.max(low, Math.exp(x)))", "Math.exp(x)", "CISPO"),
    ("slope[j] = open(j) ? -A * mean : 0", "slope[j] = open(j) ? -A : 0", "GMPO"),
    ("4 * gate * (1 - gate) * ratio", "4 * gate * (1 - gate)", "SAPO"),
    ("rise > k.diff_high : rise < -k.diff_low", "rise > 0.15 : rise < 0.15", "DPPO"),
    ("Math.min(k.cap ?? Infinity,", "Math.min(Infinity,", "GRPO + TIS"),
    ("kept ? Math.exp(gap) *", "true ? Math.exp(gap) *", "GRPO + IcePop"),
    ("sum += b.ends[j] ? z[j] : 0", "sum = b.ends[j] ? z[j] : 0", TURN_GROUPS),
]


def test_a_fault_planted_in_a_stage_is_caught(batches):
    table, some, engine, missed = ALGORITHMS | VARIANTS, batches[:40], V8(""), []
    names = {name for _, _, name in FAULTS}
    oracle = {name: [by_torch(table[name], x) for x in some] for name in names}
    for right, wrong, name in FAULTS:
        assert SCRIPT.count(right) == 1, right
        engine.load(script(some, SCRIPT.replace(right, wrong)))
        answers = engine.call("stagesOn", data(table[name]), 0, len(some))
        if max(worst(answers, oracle[name]).values()) < 1e-9:
            missed.append((right, wrong, name))
    engine.close()
    assert missed == []


# ---- whole runs: parameters, critic, optimizer, refills ----

RUNS = [
    (task, {"epochs": 3, "refresh": 2} | dials)
    for task, dials in (
        ("rare", {}),
        ("luck", {"temperature": 1.3}),
        ("hole", {"sharing": "last word", "minibatches": 2}),
        ("walk", {"sharing": "everything", "offset": 1, "noise": 0.5}),
    )
]


def policy_at(theta, row, task: EnumerableTask, run: dict, dials: dict):
    """The package's policy with the page's parameters, and where each row stands."""
    critic = run["scale"] if row.critic else None
    policy = PrefixPolicy(task, sharing=dials["sharing"], critic=critic).double()
    N, V = run["N"], len(task.words)
    theta = torch.tensor(theta, dtype=torch.float64)
    of_row = {
        row: at for at, row in zip(run["feature"], policy.own.tolist(), strict=False)
    }
    order = [of_row[row] for row in range(len(policy.logits))]
    with torch.no_grad():
        policy.logits[:, :V] = theta[:N].view(-1, V)[order]
        if critic:
            policy.values.copy_(theta[N:])
    return policy, order


def trained(
    row, task: EnumerableTask, step: dict, run: dict, dials: dict
) -> torch.Tensor:
    """d loss / d theta of an optimizer step, by autograd through `PrefixPolicy`."""
    critic = run["scale"] if row.critic else None
    policy, order = policy_at(step["theta"], row, task, run, dials)
    N, size, V = run["N"], len(task.tree.prefixes), len(task.words)
    shape = step["B"], step["T"]
    rows, columns = (torch.tensor(x) for x in zip(*step["at"], strict=True))

    def put(name, dtype=torch.float64):
        out = torch.zeros(shape, dtype=dtype)
        out[rows, columns] = torch.tensor(step[name]).to(dtype)
        return out

    mask = torch.zeros(shape, dtype=torch.bool)
    mask[rows, columns] = True
    logits = policy.logits_of(put("state", torch.long)) / dials["temperature"]
    log_probs = tc.token_log_probs(logits, put("token", torch.long))
    loss = tc.policy_loss(
        row,
        torch.where(mask, log_probs, 0),
        put("old"),
        put("advantages"),
        mask,
        ref_log_probs=put("ref"),
        sampler_log_probs=put("sampler"),
        entropies=tc.entropy(logits),
        max_length=task.max_response,
    )
    if row.critic:
        values = critic * policy.values[put("state", torch.long)]
        off = tc.value_loss(values, put("values"), put("returns"), clip=row.value_clip)
        off = tc.aggregate_loss(off, mask, "token-mean")
        loss = loss + row.value_coef * off
    loss.backward()
    out = torch.zeros(N + size * len(task.texts))
    out[:N].view(-1, V)[order] = policy.logits.grad[:, :V]
    if critic:
        out[N:] = policy.values.grad
    return out


MORE = {
    "StarPO + critic": tc.with_critic(ALGORITHMS["StarPO"]),
    "StarPO + turns": tc.with_critic(ALGORITHMS["StarPO"], credit_level="turn"),
    "PPO, entropy bonus": replace(PPO, entropy_coef=0.05, value_clip=0.05),
}


@pytest.mark.parametrize("name", [*ALGORITHMS, *MORE])
def test_the_gradient_of_the_parameters_is_that_of_torch(v8, doubles, name):
    row = ALGORITHMS.get(name) or MORE[name]
    gaps = []
    for task, dials in RUNS:
        set_ = setting(row, **dials)
        run = v8.call("steps", set_, TASKS[task], 3, 5)
        for step in run["seen"]:
            ours, theirs = (
                torch.tensor(step["gradient"]).double(),
                trained(row, ENUMERABLE[task], step, run, set_),
            )
            if step["at"]:
                gaps.append(difference(ours, theirs, least=1e-6))
    print(f"{name:20s} {len(gaps)} steps, {max(gaps):.1e}")
    assert max(gaps) < CLOSE


def spoken(theta, row, task: EnumerableTask, step: dict, run: dict, dials: dict):
    """Log-probs and values of a step's tokens under the page's parameters."""
    policy, _ = policy_at(theta, row, task, run, dials)
    states, said = torch.tensor(step["state"]), torch.tensor(step["token"])
    log_p = (policy.logits_of(states) / dials["temperature"]).log_softmax(-1)
    values = run["scale"] * policy.values[states] if row.critic else torch.zeros(0)
    return log_p.gather(1, said[:, None])[:, 0].tolist(), values.tolist()


@pytest.mark.parametrize("name", ["PPO", "GRPO", "GRPO + TIS"])
def test_a_batch_holds_what_the_policies_of_its_moment_say(v8, doubles, name):
    row, corrected = ALGORITHMS[name], name == "GRPO + TIS"
    for task, dials in RUNS:
        set_, words = setting(row, **dials), ENUMERABLE[task]
        run = v8.call("steps", set_, TASKS[task], 3, 5)
        for step in run["seen"]:
            (sampled, values), (before, _), (start, _) = (
                spoken(theta, row, words, step, run, set_)
                for theta in (step["sampled"], step["before"], run["start"])
            )
            old = before if corrected else sampled
            assert step["old"] == pytest.approx(old, abs=CLOSE)
            assert step["ref"] == pytest.approx(start, abs=CLOSE)
            if corrected:
                assert step["sampler"] == pytest.approx(sampled, abs=CLOSE)
            if row.critic:
                assert step["values"] == pytest.approx(values, abs=CLOSE)
            for asked, paid, text in step["said"] if not set_["noise"] else ():
                assert paid == words.paid(words.texts[asked], text)


def test_what_a_response_earned_is_paid_on_its_last_token(v8, doubles):
    task = TASKS["walk"]
    run = v8.call("steps", setting(ALGORITHMS["REINFORCE"]), task, 2, 5)
    step = run["seen"][-1]
    for i, tokens in itertools.groupby(
        zip(step["at"], step["rewards"], step["ends"], strict=True), lambda x: x[0][0]
    ):
        tokens = list(tokens)
        assert [at for (_, at), _, _ in tokens] == [1, 2, 4, 5], i  # the world's: 0, 3
        assert [end for _, _, end in tokens] == [0, 1, 0, 1]
        assert all(reward == 0 for _, reward, _ in tokens[:-1])


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("max_norm", [0, 0.01])
def test_the_optimizer_is_that_of_torch(v8, doubles, optimizer, max_norm):
    lr = {"sgd": 3.0, "adam": 0.1}[optimizer]
    dials = {"optimizer": optimizer, "lr": lr, "critic_lr": lr / 4, "epochs": 2}
    set_ = setting(PPO, max_norm=max_norm, **dials)
    steps = v8.call("steps", set_, TASKS["rare"], 6, 2)["seen"]
    theta = torch.nn.Parameter(torch.tensor(steps[0]["theta"]).double())
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer]
    descend = make([theta], lr=lr)
    for step in steps:
        theta.grad = torch.tensor(step["gradient"]).double()
        torch.nn.utils.clip_grad_norm_([theta], max_norm or math.inf)
        descend.step()
        assert difference(step["after"], theta.detach()) < CLOSE
    assert len(steps) == 12


REFILLED = {
    "DAPO": ALGORITHMS["DAPO"],
    "StarPO-S": replace(ALGORITHMS["StarPO-S"], refill=True),
    "a half": replace(
        ALGORITHMS["StarPO-S"], keep=partial(tc.top_variance, keep=0.5), refill=True
    ),
}


@pytest.mark.parametrize("name", REFILLED)
@pytest.mark.parametrize("task", ["rare", "trap"])
def test_a_batch_is_refilled_by_the_filter_of_its_row(v8, task, name):
    row = REFILLED[name]
    for seed in range(1, 9):
        seen = v8.call("drawn", setting(row, prompts=4), TASKS[task], seed)
        paid = torch.tensor([one["paid"] for one in seen["all"]]).double()
        groups = torch.tensor([one["group"] for one in seen["all"]])
        want, places, rounds = [], [], 0
        for start in range(0, len(paid), 32):  # whole rounds, until the batch is full
            assert len(want) < 32
            some = slice(start, start + 32)
            kept = row.keep(paid[some], groups[some])
            want += paid[some][kept].tolist()
            places += (start + kept.nonzero().flatten()).tolist()
            rounds += 1
        assert seen["kept"] == pytest.approx(want[:32])
        assert seen["groups"] == groups[places[:32]].tolist()
        assert [one["said"] for one in seen["rows"]] == [
            seen["all"][place]["said"] for place in places[:32]
        ]
        assert len(want) >= 32 or rounds == 3
        assert seen["drawn"] == 32 * rounds
        teach = tc.dynamic_sampling(paid[places[:32]], groups[places[:32]])
        assert seen["dead"] == pytest.approx(1 - teach.sum().item() / 32)


@pytest.mark.parametrize("name", REFILLED)
def test_what_a_refilled_batch_holds_is_all_learned_from(v8, name):
    """The filter has been applied; a second time it would keep a part of a part."""
    seen = v8.call("learned", setting(REFILLED[name], prompts=8), TASKS["rare"], 4)
    assert seen["from"] == seen["drawn"] > 0


def test_where_sampler_and_trainer_agree_a_correction_changes_nothing(v8):
    """Truncated importance sampling then has weight 1: the row is its parent."""
    row = ALGORITHMS["GRPO + TIS"]
    parent = replace(row, loss=ALGORITHMS["GRPO"].loss)
    for task, dials in (RUNS[0], RUNS[2]):  # elsewhere the exact gradient is 0
        found = [
            v8.call("cosines", setting(one, **dials), TASKS[task], 5, 12)
            for one in (row, parent)
        ]
        assert sum(x is not None for x in found[0]) > 6
        assert found[0] == pytest.approx(found[1], nan_ok=True)


def test_a_box_of_the_icicle_is_coloured_by_what_its_response_is(v8):
    """Right; wrong, paid less than a right one, or as much; wrong; words are a wash."""
    looks = set()
    for name, task in ENUMERABLE.items():
        for q, text in enumerate(task.texts):
            seen = v8.call("icicleOf", setting(GRPO), TASKS[name], q)
            responses = task.tree.responses(task.words)
            assert sorted(seen["leaves"]) == sorted(responses)
            earns = max(task.paid(text, x) for x in responses if task.right(text, x))
            for response, look in seen["leaves"].items():
                paid = task.paid(text, response)
                want = "alt" if 0 < paid < earns else "down" if paid > 0 else "line"
                if task.right(text, response):
                    want = "up"
                assert look == want, response
                looks.add(look)
            assert set(seen["inner"]) <= {"wash"}
    assert looks == {"up", "alt", "down", "line"}


def test_a_response_in_the_last_group_is_ticked_only_if_it_is_right(v8):
    ticks = set()
    for name in ("hole", "rare"):
        for line in v8.call("groupOf", setting(GRPO), TASKS[name], 0):
            right = bool(
                ENUMERABLE[name].right(ENUMERABLE[name].texts[0], line["said"])
            )
            paid = f"{ENUMERABLE[name].paid(ENUMERABLE[name].texts[0], line['said']):g}"
            assert line["look"] == ("up" if right else "down")
            assert line["text"] == f"{'✓' if right else '✗'} {paid}".replace("-", "−")
            ticks.add((right, float(paid) > 0))
    assert {(True, True), (False, True), (False, False)} <= ticks


# ---- the tree: what is exact, and what is sampled ----


def by_hand(policy: PrefixPolicy, reference: PrefixPolicy, heat: float) -> dict:
    """Every number of the page as a sum over all responses, one response at a time."""
    task, (prefixes, _) = policy.task, policy.task.tree
    place = {prefix: s for s, prefix in enumerate(prefixes)}
    states = torch.arange(len(prefixes) * len(task.texts))

    def log_p(model):
        hot = torch.where(model.told[states], 1.0, heat)[:, None]
        return (model.logits_of(states) / hot).log_softmax(-1)

    now, start = log_p(policy), log_p(reference)
    names = ("reward", "success", "length", "entropy", "kl", "chosen")
    total = dict.fromkeys(names, torch.zeros(()))
    each = []
    for q, text in enumerate(task.texts):
        right = 0.0
        for response in task.tree.responses(task.words):
            x = [q * len(prefixes) + place[response[:t]] for t in range(len(response))]
            a = [task.words.index(word) for word in response]
            p = now[x, a].sum().exp()
            own = [t for t in range(len(response)) if t not in task.world_at]
            x, a = [x[t] for t in own], [a[t] for t in own]
            H = -(now[x].exp() * now[x].masked_fill(now[x] == -math.inf, 0)).sum()
            for name, value in zip(
                names,
                (
                    task.paid(text, response),
                    task.right(text, response),
                    len(response),
                    H,
                    (now[x, a] - start[x, a]).sum(),
                    len(own),
                ),
                strict=True,
            ):
                total[name] = total[name] + p * value / len(task.texts)
            right += p.item() * task.right(text, response)
        each.append(right)
    total["entropy"] = total["entropy"] / total.pop("chosen")
    return total | {"each": each}


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("task", ["rare", "luck", "walk", "pair"])
def test_what_the_page_calls_exact_is_the_sum_over_all_responses(
    v8, doubles, task, sharing
):
    heat = 0.7
    set_ = setting(ALGORITHMS["REINFORCE"], sharing=sharing, temperature=heat)
    answer = v8.call("measureAt", set_, TASKS[task], 0.7, 0)
    words = ENUMERABLE[task]
    reference = PrefixPolicy(words, sharing=sharing).double()
    policy = PrefixPolicy(words, sharing=sharing).double()
    of_row = dict(zip(policy.own.tolist(), answer["feature"], strict=False))
    order, V = [of_row[row] for row in range(len(policy.logits))], len(words.words)
    with torch.no_grad():
        policy.logits[:, :V] = torch.tensor(answer["theta"]).view(-1, V)[order]
    want = by_hand(policy, reference, heat)
    for name, x in answer["seen"].items():
        right = want[name] if name == "each" else want[name].item()
        assert x == pytest.approx(right, abs=1e-12), name
    assert policy.worth(heat)["reward"] == pytest.approx(answer["seen"]["reward"])
    want["reward"].backward()
    ours = torch.tensor(answer["gradient"]).view(-1, V)[order]
    assert difference(ours, policy.logits.grad[:, :V], least=1e-3) < CLOSE


@pytest.mark.parametrize("name", ENUMERABLE)
def test_a_response_is_said_as_often_as_its_probability(v8, name):
    draws = 4000 * len(ENUMERABLE[name].texts)
    set_ = setting(ALGORITHMS["REINFORCE"])
    said = v8.call("measureAt", set_, TASKS[name], 0.0, draws)["said"]
    task = ENUMERABLE[name]
    policy = PrefixPolicy(task)
    chance = policy.logits_of(torch.arange(len(policy.own) - 2)).softmax(-1).detach()
    size = len(task.tree.prefixes)
    place = {prefix: s for s, prefix in enumerate(task.tree.prefixes)}
    for q, counts in said.items():
        assert set(counts) <= set(task.tree.responses(task.words))
        square = cells = 0
        for response in task.tree.responses(task.words):
            p = math.prod(
                float(
                    chance[int(q) * size + place[response[:t]], task.words.index(word)]
                )
                for t, word in enumerate(response)
            )
            if 4000 * p > 5:
                square += (counts.get(response, 0) - 4000 * p) ** 2 / (4000 * p)
                cells += 1
        assert square < cells + 5 * math.sqrt(2 * cells) + 5


FLAT, RISING = [[0.0, 0.0, 0.0, 0.0]] * 2, [[0.0, 0.5, 1.0, 1.0], [0.0, 0.4, 0.9, 1.0]]
MEET = [[0.0, 0.9, 0.8, 0.02], [0.0, 0.8, 0.9, 0.0]]
ACROSS = [[0.0, 0.5, 1.0, 1.0], [0.0, -0.1, -0.1, -0.1]]
PARTINGS = [  # lines of A and of B; from, to, widest, rest; and whose mean is higher
    (FLAT, RISING, (1, 3, 3, 4), "B"),
    (RISING, FLAT, (1, 3, 3, 4), "A"),
    (FLAT, MEET, (None, None, 1, 1), "B"),  # apart for two iterations only
    (FLAT, [[x / 2 for x in RISING[0]]] * 2, (1, 3, 2, 4), "B"),
    (FLAT, ACROSS, (None, None, 2, 4), "B"),  # one seed goes the other way
    (RISING, RISING, (None, None, 0, 4), "same"),
    ([[0.0] * 8 + [1.0]] * 2, [[0.0] * 9] * 2, (None, None, 8, 9), "A"),
    ([[0.0] * 29 + [1.0]] * 2, [[0.0] * 30] * 2, (None, None, 29, 30), "same"),
]

# What is there, what is put in its place, and the test that must fail.
TOP = ("rare", "StarPO-S")
ENGINE_FAULTS = [
    ("1 - 0.999 ** this.moves", "1 - 0.99 ** this.moves", "optimizer", "adam", 0),
    ("max_norm / (this.norm + 1e-6)", "max_norm", "optimizer", "sgd", 0.01),
    ("p * (now.log[k] + now.H[x])", "p * now.log[k]", "gradient", "StarPO"),
    ("b.slope[j] / temperature", "b.slope[j]", "gradient", "RLOO"),
    ("row.value_coef * scale", "row.value_coef", "gradient", "PPO"),
    ("? error : 0", "? error : near - target", "gradient", "PPO, entropy bonus"),
    ("b.sampler[j] = b.old[j];", "", "batch", "GRPO + TIS"),
    ("b.ref[j] = this.reference.log[k]", "b.ref[j] = b.old[j]", "batch", "GRPO"),
    ("= criticScale * theta[N + x]", "= theta[N + x]", "batch", "PPO"),
    ("filterOf(row)(b.paid, b.groups, drawn)", "() => true", "refills", "trap", "DAPO"),
    ("B < full; round++", "round < 2; round++", "refills", "rare", "DAPO"),
    ("filterOf(row)(b.paid,", "KEEP.dynamic_sampling({}, b.paid,", "refills", *TOP),
    ("const each = x.length / num;", "const each = 1;", "refills", *TOP),
    ("b.filtered = row.refill;", "b.filtered = false;", "once", "StarPO-S"),
    ("if (LOSS[twin.set.row.loss.f].corrects) twin.readAgain();", "", "fresh"),
    ('if (right[q][k]) return "up";', "", "icicle"),
    ("paid[q][k] < earns", "paid[q][k] > earns", "icicle"),
    ('if (!(paid[q][k] > 0)) return "line";', "", "icicle"),
    ('b.right[i] ? "up" : "down"', 'b.paid[i] > 0 ? "up" : "down"', "ticks"),
    ('b.right[i] ? "✓" : "✗"', 'b.paid[i] > 0 ? "✓" : "✗"', "ticks"),
    ("child[k] >= 0 ? worth[child[k]] : paid[q][k]", "paid[q][k]", "exact", "rare"),
    ("this.set.temperature;", "1;", "exact", "luck"),
    ("b.paid[i] = tree.paid[q]", "b.paid[i] = tree.right[q]", "batch", "GRPO"),
    ("if (!away ||", "if (", "parting", *PARTINGS[4]),
    ("<= BEYOND * range ?", "<= 0 ?", "parting", *PARTINGS[7]),
    ("gaps[length - 1] < most", "gaps[length - 1] > most", "parting", *PARTINGS[2]),
    ("strokes.findLast((one)", "strokes.find((one)", "painted", "too-far-to-be-found"),
    ("?? was : 0", "?? 0 : 0", "painted", "a-checker-full-of-holes"),
]


def test_a_fault_planted_in_the_engine_is_caught(doubles):
    notices = {
        "optimizer": test_the_optimizer_is_that_of_torch,
        "gradient": test_the_gradient_of_the_parameters_is_that_of_torch,
        "batch": test_a_batch_holds_what_the_policies_of_its_moment_say,
        "refills": test_a_batch_is_refilled_by_the_filter_of_its_row,
        "once": test_what_a_refilled_batch_holds_is_all_learned_from,
        "fresh": test_where_sampler_and_trainer_agree_a_correction_changes_nothing,
        "icicle": test_a_box_of_the_icicle_is_coloured_by_what_its_response_is,
        "parting": test_where_two_sides_part_and_whose_is_higher_is_told_by_hand,
        "painted": test_a_painted_checker_pays_what_its_last_fitting_stroke_says,
        "ticks": test_a_response_in_the_last_group_is_ticked_only_if_it_is_right,
        "exact": test_what_the_page_calls_exact_is_the_sum_over_all_responses,
    }
    engine, missed = V8(""), []
    for right, wrong, test, *rest in ENGINE_FAULTS:
        assert SCRIPT.count(right) == 1, right
        engine.load(script([], SCRIPT.replace(right, wrong)))
        start = (
            (doubles,) if test in ("optimizer", "gradient", "batch", "exact") else ()
        )
        more = ("nothing",) if test == "exact" else ()
        try:
            notices[test](engine, *start, *rest, *more)
            missed.append((right, wrong))
        except AssertionError:
            pass
    engine.close()
    assert missed == []


# ---- the table of rows, the address, the words ----


OURS = """REINFORCE, RLOO, PPO, GRPO, REINFORCE++, Dr. GRPO, DAPO, GSPO, GMPO, CISPO,
SAPO, DPPO, BAPO, BAPO, un-clipped, GRPO + TIS, GRPO + IcePop, StarPO, StarPO-S"""


def test_every_row_of_the_book_is_there_in_the_order_of_the_table():
    there = page.rows()
    assert ", ".join(there).startswith(" ".join(OURS.split()))
    assert list(there) == [name for name in tc.ALGORITHMS if name in there]
    taught = tuple(f"{k}:" for k, row in tc.ALGORITHMS.items() if row.taught)
    assert taught  # these cannot be there, so that they lack nothing
    assert not [what for what in page.left_out() if what.startswith(taught)]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"loss": partial(tc.ppo_clip_loss, margin=1)}, "the dial margin of ppo_clip"),
        ({"loss": tc.value_loss}, "loss value_loss"),
        ({"credit_level": "token"}, 'group_relative with credit "token"'),
    ],
)
def test_a_row_with_a_part_that_the_page_does_not_know_is_left_out_by_name(
    monkeypatch, changes, named
):
    row = replace(GRPO, name="GRPO II", **changes)
    monkeypatch.setattr(page, "ALGORITHMS", {"GRPO": GRPO, "GRPO II": row})
    assert [*page.rows()] == ["GRPO"]
    (said,) = page.left_out()  # of whoever adds an algorithm
    assert said.startswith(f"GRPO II: {named}")


def test_a_field_that_the_page_does_not_know_fails_only_where_it_is_used(v8):
    known = data(GRPO)
    assert v8.call("missing", known | {"echo": None}) == []
    assert v8.call("missing", known | {"echo": {"f": "louder"}}) == [
        "GRPO: the field echo"
    ]


def test_a_new_loss_that_looks_at_a_whole_response_is_one_function(batches):
    """A clipped geometric mean: the slope of a token knows all the others."""
    engine = V8(
        script(batches[:60])
        + """
        LOSS.whole_clip = part({}, () => (b, tokens) => {
          const { ratio, advantages } = b, sign = (j) => Math.sign(advantages[j]);
          const open = (j) => sign(j) * ratio[j] < 0.2;
          let sum = 0;
          for (const j of tokens) sum += open(j) ? ratio[j] : sign(j) * 0.2;
          const mean = Math.exp(sum / tokens.length);
          for (const j of tokens) b.slope[j] = open(j) ? -advantages[j] * mean : 0;
        });"""
    )

    def whole_clip(log_probs, log_ratio, advantages):
        sign = advantages.sign()  # 0 where masked, and nowhere else in such a response
        capped = sign * (sign * log_ratio).clamp(max=0.2)
        length = (sign != 0).sum(1, keepdim=True).clamp(min=1)
        return -advantages * (capped.sum(1, keepdim=True) / length).exp()

    row = replace(GRPO, loss=whole_clip, kl_coef=0.0)
    answers = engine.call("stagesOn", data(row), 0, 60)
    engine.close()
    assert worst(answers, [by_torch(row, x) for x in batches[:60]])["slope"] < CLOSE


ADDRESSES = {
    "": ([], {}),
    "#group-size": ([], {}),
    "#s=a-hole-in-the-reward&B.kl_coef=0.3&B.kl_estimator=k3&B.kl_in=loss": (
        [],
        {("B", "kl_coef"): 0.3, ("B", "kl_estimator"): "k3", ("B", "kl_in"): "loss"},
    ),
    "#s=clip-higher&A.algorithm=CISPO&A.lr=5": (
        [],
        {("A", "loss.clip_high"): 4, ("A", "lr"): 5, ("A", "algorithm"): "CISPO"},
    ),
    "#s=no-such-story": (["no-such-story"], {}),
    "#s=clip-higher&A.lr=1e9": (["A.lr=1e9"], {("A", "lr"): 20}),
    "#s=clip-higher&A.lr=NaN&B.epochs=2.5&B.group_size=-3&C.lr=1&A.toString=1": (
        ["A.lr=NaN", "B.epochs=2.5", "B.group_size=-3", "C.lr=1", "A.toString=1"],
        {("A", "lr"): 20, ("B", "epochs"): 8, ("B", "group_size"): 8},
    ),
    "#s=clip-higher&A.algorithm=__proto__&task=constructor&%E0%A4%A=1&two=7": (
        ["A.algorithm=__proto__", "task=constructor", "=1", "two=7"],
        {("A", "algorithm"): "Dr. GRPO"},
    ),
}


@pytest.fixture(scope="module")
def told():
    return page.page_data("en", "")


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_read_and_what_it_does_not_know_is_named(v8, told, address):
    wrong, values = ADDRESSES[address]
    args = told["stories"], told["rows"], told["tasks"]
    answer = v8.call("readHash", address, *args)
    assert sorted(answer["wrong"]) == sorted(wrong)
    for (side, name), value in values.items():
        assert answer["state"]["set"][side][name] == value
    story = next(x for x in told["stories"] if x["id"] == answer["state"]["story"])
    again = v8.call("writeHash", answer["state"], story, told["rows"])
    assert v8.call("readHash", again, *args) == {"state": answer["state"], "wrong": []}


def test_every_dial_and_every_choice_has_words_in_both_languages(v8, told):
    words = page.load("words")
    ids = v8.call("dialIds")
    rows = [*told["rows"].values()]
    assert set(words["dial"]) - {"task", "algorithm"} <= set(ids["dials"])
    lack = [name for name in ids["dials"] if name not in words["dial"]]
    lack += [x for x in ids["choices"] if str(x).lower() not in words["choice"]]
    lack += [name for name in ids["stages"] if name not in words["stage"]]
    lack += [
        name
        for name in ENUMERABLE
        if not {name} <= set(words["task"]) & set(words["about"])
    ]
    reasons = re.findall(r'return "(\w+)"', page.script("dials"))
    lack += [name for name in reasons if name not in words["idle"]]
    used = re.findall(r'ui\("(\w+)"\)', page.script("view", "apart", "sheet", "page"))
    lack += [name for name in used if name not in words["ui"]]
    assert (lack, len(rows)) == ([], len(ALGORITHMS))
    for entry in page.translated(words, "zh").values():
        assert entry, "an empty group of words"


def pairs(entry):
    """Every text of a YAML file: its words by language, or the same for all."""
    if isinstance(entry, dict) and set(entry) != set(LANGUAGES):
        entry = [*entry.values()]
    if isinstance(entry, list):
        return [pair for one in entry for pair in pairs(one)]
    return [entry]


@pytest.mark.parametrize("name", ["words", "stories", "levels"])
def test_no_word_of_the_page_is_retired(name):
    for pair in pairs(page.load(name)):
        if isinstance(pair, dict):
            for lang in LANGUAGES:
                assert [*retired(pair[lang], lang)] == []


def test_the_page_names_its_terms_by_their_ids():
    for pair in pairs(page.load("words")):
        for name, row in ROWS.items() if isinstance(pair, dict) else ():
            rests = {pair[lang].removeprefix(row[lang]) for lang in LANGUAGES}
            named = all(pair[lang].startswith(row[lang]) for lang in LANGUAGES)
            assert not (named and len(rests) == 1), f"{pair} is {{{name}}}"
    assert page.translated("{discount} γ", "zh") == "折扣因子 γ"
    with pytest.raises(ValueError, match="no term 'discont'"):
        page.translated({"dial": {"gamma": "{discont} γ"}}, "en")


# ---- the stories ----

MEASURED = json.loads((page.FOLDER / "measured.json").read_text(encoding="utf-8"))
OVERLAP = {  # stories in which seeds of A and B meet, and say so
    "clip-higher",
    "group-size",
    "why-a-baseline",
    "eight-epochs-without-a-clip",
}


def beyond(x: float | None) -> float:
    return math.inf if x is None else x


@pytest.mark.parametrize("name", [story["id"] for story in page.stories()])
def test_the_numbers_of_a_story_are_measured_again(v8, told, name):
    story = next(x for x in page.stories() if x["id"] == name)
    answer = v8.call("measureStory", story, told["rows"], told["tasks"], page.SEEDS)
    for side in ("A", "B"):
        for now, stored in zip(answer[side], MEASURED[name][side], strict=True):
            for x, y in zip(page.spread(now), stored, strict=True):
                assert beyond(x) == pytest.approx(beyond(y), rel=0.02, abs=0.02)


def test_three_times_the_learning_rate_is_worth_the_division_by_the_std(v8, told):
    story = next(x for x in page.stories() if x["id"] == "dividing-by-the-std")
    fast = story | {"A": {"lr": 3 * story["both"]["lr"]}}  # as chapter 8 says
    rest = told["rows"], told["tasks"], page.SEEDS
    answer = v8.call("measureStory", fast, *rest)
    alone, divided = (page.spread(answer[side][0])[0] for side in ("A", "B"))
    assert 0.8 * divided < alone < divided < beyond(MEASURED[story["id"]]["A"][0][0])


def test_the_sides_of_a_story_are_apart_in_every_seed_or_it_says_so():
    assert set(MEASURED) == {story["id"] for story in page.stories()}
    assert len(MEASURED) >= 12
    meet = set()
    for name, sides in MEASURED.items():
        (a, a_low, a_high), (b, b_low, b_high) = (
            [beyond(x) for x in sides[side][0]] for side in ("A", "B")
        )
        if max(a_low, b_low) <= min(a_high, b_high):
            meet.add(name)
            assert max(a, b) > 1.4 * min(a, b), name
    assert meet == OVERLAP


def test_a_story_changes_one_dial_and_leads_to_its_chapter(v8, told):
    for story in page.stories():
        changed = {**story.get("A", {}), **story.get("B", {})}
        heads = {name.split(".")[0] for name in changed}
        assert len(heads) == 1 or story["id"] == "group-size", story["id"]
        assert (ROOT / f"chapters/{story['chapter']}.ipynb").exists()
        for lang, other in itertools.product(LANGUAGES, ("title", "watch", "why")):
            assert story[other][lang].strip()


def test_every_story_is_linked_where_its_chapter_makes_the_claim():
    told = [*page.stories(), *page.levels()]
    ids = {story["id"] for story in told}
    linked = {}
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        links = re.findall(r"\{play\}`(?:[^`<]*<)?([^`>]+)>?`", text)
        linked[path.stem] = links
        assert set(links) <= ids, f"{path.stem}: {set(links) - ids}"
    for story in page.stories():
        count = linked[story["chapter"]].count(story["id"])
        assert count >= len(LANGUAGES), f"{story['chapter']}: {story['id']}"
    assert linked["07_kl"].count(page.levels()[0]["id"]) >= len(LANGUAGES)


# ---- where the sides part, and bets ----


@pytest.mark.parametrize(("a", "b", "places", "side"), PARTINGS)
def test_where_two_sides_part_and_whose_is_higher_is_told_by_hand(
    v8, a, b, places, side
):
    found = v8.call("partingOf", {"A": {"x": a}, "B": {"x": b}}, "x")
    assert tuple(found.get(k) for k in ("from", "to", "widest", "rest")) == places
    assert found["end"] == len(a[0])
    more = {
        "A": {"x": [[9, -9, *line] for line in a]},
        "B": {"x": [[0, 0, *line] for line in b]},
    }
    later = v8.call("partingOf", more, "x", 2)  # what came before a dial was turned
    assert later["end"] == found["end"] + 2 and later["widest"] >= 2
    told = v8.call("higherOf", {"A": {"x": a}, "B": {"x": b}}, "x")

    def mean(lines):
        return sum(map(sum, lines)) / len(lines) / len(lines[0])

    assert told["side"] == side
    assert (told["a"], told["b"]) == pytest.approx((mean(a), mean(b)))


# ---- paint the checker ----

PAINTED = json.loads((page.FOLDER / "painted.json").read_text(encoding="utf-8"))
LEVEL_TASKS = page.level_tasks()


def strokes_of(text: str) -> list[tuple[str, int]]:
    return [(one[:-1], int(one[-1])) for one in text.split(".") if one]


def paid_by(task: dict, strokes: list[tuple[str, int]], response: str) -> float:
    """What a painted checker pays: the last stroke that fits, or what it was paid."""
    for start, pay in reversed(strokes):
        if response.startswith(start):
            return pay
    pays = task["asked"][0]["pays"]
    return sum(pay for like, pay in pays.items() if re.search(like, response))


@pytest.mark.parametrize("name", LEVEL_TASKS)
def test_a_painted_checker_pays_what_its_last_fitting_stroke_says(v8, name):
    task, generator = LEVEL_TASKS[name], torch.Generator().manual_seed(5)

    def any_of(size: int) -> int:
        return int(torch.randint(size, (), generator=generator))

    words, seen = task["words"], set()
    responses = ["".join(x) for x in itertools.product(words, repeat=3)]
    for _ in range(40):
        strokes = [
            ("".join(words[any_of(3)] for _ in range(1 + any_of(3))), any_of(3))
            for _ in range(any_of(6))
        ]
        text = ".".join(f"{at}{pay}" for at, pay in strokes)
        paid = dict(v8.call("paidBy", task, text))
        assert list(paid) == responses  # 27, in the order of the sheet
        for response in responses:
            assert paid[response] == paid_by(task, strokes, response), text
        seen |= set(paid.values())
    assert seen == {0, 1, 2}


@pytest.mark.parametrize(
    ("paint", "allowed"),
    [
        ("c1.cc72", True),
        ("", True),
        ("c1.c2.c0.c1.c2", True),
        ("c1.c2.c0.c1.c2.c1", False),  # six strokes
        ("c3", False),  # no such brush
        ("x1", False),  # no such word
        ("cc771", False),  # longer than a response
        ("1", False),  # of everything at once
    ],
)
def test_an_address_carries_the_strokes_of_a_checker(v8, told, paint, allowed):
    stories = [*told["stories"], *told["levels"]]
    tasks = told["tasks"] | told["level_tasks"]
    address = f"#s=too-far-to-be-found&paint={paint}"
    answer = v8.call("readHash", address, stories, told["rows"], tasks)
    assert answer["wrong"] == ([] if allowed else [f"paint={paint}"])
    state = answer["state"]
    want = strokes_of(paint) if allowed else []
    assert [(one["at"], one["pay"]) for one in state["strokes"]] == want
    assert state["two"] is False
    level = next(x for x in stories if x["id"] == state["story"])
    again = v8.call("writeHash", state, level, told["rows"])
    assert again == (address if paint and allowed else "#s=too-far-to-be-found")
    other = f"#s=clip-higher&paint={paint}"  # a story has no checker to paint
    wrong = v8.call("readHash", other, stories, told["rows"], tasks)["wrong"]
    assert wrong == [f"paint={paint}"]


@pytest.mark.parametrize(
    ("people", "checker", "how", "n"),
    [
        ([[0.1, 0.2], [0.95, 0.9]], [[1, 1], [1, 1]], "survives", None),
        ([[0.1, 0.2], [0.95, 0.899]], [[1, 1], [1, 1]], "short", "0.89"),  # one seed
        ([[0.1], [0.64]], [[1], [0.64]], "short", "0.64"),  # the checker is not ahead
        ([[0.1], [0.3]], [[1], [0.6]], "short", "0.30"),  # only the checker is at half
        ([[0.1], [0.5]], [[1], [0.4]], "short", "0.50"),  # only people are
        ([[0.1], [0.49]], [[1], [0.49]], "lost", None),
        ([[0.1] * 3, [0.95, None, 0.95]], [[1] * 3] * 2, "short", "0.00"),  # overflowed
        ([[0.1], [0.9], [0.1], [0.1]], [[1], [1], [0.6], [1]], "fooled", 2),
        ([[0.5], [0.1]], [[1], [0.4]], "lost", None),  # too little of both
        ([[0.1], [0.1]], [[0.6], [0.6]], "fooled", 0),  # from the beginning
        ([[0.1], [0.1]], [[None], [None]], "lost", None),  # nothing is paid at all
    ],
)
def test_a_checker_survives_is_fooled_falls_short_or_teaches_nothing(
    v8, people, checker, how, n
):
    found = v8.call("judged", people, checker)
    assert (found["how"], found.get("n")) == (how, n)


@pytest.mark.parametrize("level", page.levels(), ids=lambda level: level["id"])
def test_what_painted_checkers_come_to_is_measured_again(v8, told, level):
    stored = PAINTED[level["id"]]
    assert len(stored) == len(level["tries"])
    for one, want in zip(level["tries"], stored, strict=True):
        args = told["rows"], LEVEL_TASKS, page.SEEDS, page.EVERY
        found = v8.call("measurePainted", level, one, *args)
        now = page.medians(found)
        assert now["how"] == want["how"], one
        if now["how"] == "short":
            assert float(now["n"]) == pytest.approx(float(want["n"]), abs=0.02)
        else:
            assert abs(now.get("n", 0) - want.get("n", 0)) <= 2
        for who in ("people", "checker"):
            assert len(want[who]) == level["iterations"] // page.EVERY + 1
            assert now[who] == pytest.approx(want[who], abs=0.02)


def chance_at_first(response: str) -> float:
    """How likely a response is in the level full of holes, before any update."""
    first, then = {"7": 2.5, "c": 0, "!": -1.3}, {"7": 0, "c": 0, "!": -1.3}
    chance = 1.0
    for t, word in enumerate(response):
        logits = then if t else first
        chance *= math.exp(logits[word]) / sum(map(math.exp, logits.values()))
    return chance


@pytest.mark.parametrize("beta", [0.3, 0.5])
def test_a_kl_penalty_stops_the_flow_where_its_optimum_is_and_there_it_stays(
    v8, told, beta
):
    """The optimum of reward minus β KL: the first policy, tilted by exp(reward / β)."""
    paint, level = "!0.c0.7!0.77!0", page.levels()[0] | {"iterations": 960}
    tilted = {"people": 0.0, "not": 0.0}
    for response in map("".join, itertools.product("7c!", repeat=3)):
        paid = paid_by(LEVEL_TASKS[level["id"]], strokes_of(paint), response)
        people = response[0] == "7" and "!" not in response
        tilted["people" if people else "not"] += chance_at_first(response) * math.exp(
            paid / beta
        )
    best = tilted["people"] / sum(tilted.values())
    checker, args = {"paint": paint, "set": {"kl_coef": beta}}, (LEVEL_TASKS, 8, 20)
    people = v8.call("measurePainted", level, checker, told["rows"], *args)["people"]
    assert [x for at in people[8:] for x in at] == pytest.approx([best] * 328, abs=0.03)
    assert people[-1] == pytest.approx([best] * 8, abs=0.01)


def test_what_the_levels_claim_is_what_was_measured():
    holes, far, ledge = (PAINTED[level["id"]] for level in page.levels())
    given, four, third, half, *_ = holes
    ends = ["fooled"] * 3 + ["short"] + ["survives"] * 3
    assert [one["how"] for one in holes] == ends
    assert given["people"][0] == pytest.approx(0.7, abs=0.01)  # seven times in ten
    assert [given["n"], four["n"]] == [16, 27]
    assert third["people"][-1] == pytest.approx(1 / 3, abs=0.02)  # a third
    assert 0.6 < half["people"][-1] < 0.66  # a little less than two thirds
    assert max(given["people"][-1], four["people"][-1]) < 0.01
    outside = map("".join, itertools.product("c!", "7c!", "7c!"))
    chance = sum(chance_at_first(one) for one in outside if "!" in one)
    assert chance / chance_at_first("777") == pytest.approx(1 / 5, abs=0.02)
    alone, step, narrow, _ = far
    assert [one["how"] for one in far] == ["lost", "fooled", "lost", "survives"]
    assert max(alone["checker"]) < 1e-3 and step["checker"][-1] > 0.99
    assert step["people"][-1] < 0.01 and max(narrow["checker"]) < 1e-3
    assert [one["how"] for one in ledge] == ["fooled"] * 2 + ["survives"] * 2
    assert ledge[0]["checker"][-1] == pytest.approx(0.5, abs=0.01)  # on the ledge
    start = math.exp(-4) / (2 + math.exp(-4))
    assert 1 / (start**2 / (2 + math.exp(-4))) == pytest.approx(24_000, rel=0.05)


# ---- the same setting in Python ----

COPIES = {  # a story's side, or an address, and after how many iterations to compare
    "#s=a-hole-in-the-reward": ("A", 25),
    "#s=k1-in-the-loss": ("B", 20),
    "#s=a-stale-sampler": ("B", 20),
    "#s=two-prompts-one-row": ("A", 20),
    "#s=the-word-that-decides": ("B", 20),
    "#s=zero-variance-groups&B.temperature=1.3&B.loss.clip_high=0.5": ("B", 8),
    "#s=why-a-baseline&A.epochs=2&A.minibatches=2&A.algorithm=PPO": ("A", 12),
}


@pytest.mark.parametrize("address", COPIES)
def test_a_setting_copied_as_python_trains_to_the_same_reward(v8, told, address):
    side, iterations = COPIES[address]
    args = told["stories"], told["rows"], told["tasks"]
    state = v8.call("readHash", address, *args)["state"]
    set_ = state["set"][side]
    row = told["rows"][set_["algorithm"]]
    ours = v8.call(
        "rewards",
        v8.call("settingOf", set_, row),
        told["tasks"][state["task"]],
        iterations,
        32,
    )
    code = v8.call("asPython", set_, row, state["task"], iterations)
    theirs = []
    for seed in range(3):
        names: dict = {}
        text = code.replace("seed=0", f"seed={seed}")
        exec(text.replace("print(", "worth = ("), names)
        theirs.append(names["worth"]["reward"])
    ours, theirs = torch.tensor(ours), torch.tensor(theirs)
    spread = (ours.var() / len(ours) + ours.var() / len(theirs)).sqrt().item()
    print(address, ours.mean(), ours.std(), theirs.mean())
    assert abs(ours.mean() - theirs.mean()) < 4 * spread + 0.005


def test_every_story_and_algorithm_can_be_copied(v8, told):
    args = told["stories"], told["rows"], told["tasks"]
    addresses = [f"#{story['id']}" for story in told["stories"]]
    addresses += [f"#s=clip-higher&A.algorithm={name}" for name in ALGORITHMS]
    for address in addresses:
        state = v8.call("readHash", address, *args)["state"]
        for side in ("A", "B"):
            set_ = state["set"][side]
            row = told["rows"][set_["algorithm"]]
            code = v8.call("asPython", set_, row, state["task"], 100)
            names: dict = {}
            exec(re.sub(r"^(train|print)\(.*$", "", code, flags=re.M), names)
            made = json.loads(json.dumps(page.row_data(names["algorithm"])))
            want = v8.call("settingOf", set_, row)["row"]
            if not made["kl_coef"]:  # then its kind and place mean nothing
                made |= {name: want[name] for name in ("kl_estimator", "kl_in")}
            for field, value in made.items():
                if isinstance(value, dict):  # what is not said is the part's default
                    named = {k: want[field][k] for k in value}
                    assert value == named, (address, side, field)
                else:
                    assert value == want[field], (address, side, field)


def test_javascript_outlives_the_event_loop_in_which_it_was_made():
    """A browser of the tests brings a loop of its own, which ends before V8 does."""

    async def made():
        return javascript("const answer = () => 42")

    assert asyncio.run(made()).call("answer") == 42


def test_javascript_runs_in_threads_that_know_nothing_of_each_other():
    """Where a CPU has memory protection keys, as servers do, the second one died."""
    script = """
        from threading import Thread
        from tokenbook.site.javascript import javascript
        HOT = "var sum = 0; for (let i = 0; i < 3e6; i++) sum += i % 7; sum"
        for _ in range(3):
            thread = Thread(target=lambda: print(javascript(HOT).eval("sum")))
            thread.start()
            thread.join()
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == [str(sum(i % 7 for i in range(3_000_000)))] * 3
