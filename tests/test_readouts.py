"""What a reader reads off every live figure, computed once more by hand.

A row of the table below draws a state and names texts that must stand in the drawing:
tiles as "label value note", ends of rows and options as "label value". Beside them
stands how they were computed: by arithmetic, by the definition in plain Python, or from
the data that the figure shows. None of it calls what the figure calls.
"""

import csv
import json
import math
import re
from functools import cache
from itertools import product
from pathlib import Path
from statistics import NormalDist, mean, median, stdev

import pytest
import torch

from tokenbook.explorer import words_of
from tokenbook.explorer.drawing import is_a
from tokenbook.figures import explore, figure_names
from tokenbook.figures.one_batch import at as station
from tokencredit import task
from tokencredit.world.starts import warm_start
from tokencredit.world.text import encode

SRC = Path(__file__).parents[1] / "src" / "tokenbook"


# --- what a reader sees -------------------------------------------------------


def plain(text: str) -> str:
    """Return words with single plain spaces."""
    return re.sub(r"\s+", " ", text.replace("\u2060", "")).strip()


def label(element) -> str:
    """Return the name of a row or an option, without what it does."""
    return words_of(next(e for e in element.iter() if e.tag in ("strong", "b")))


def texts(name: str, state: dict) -> set[str]:
    """Return the tiles, the ends of rows, and the options with their bars."""
    figure = explore(name)
    found = set()
    for element in figure.tree("en", figure.start | state).iter():
        if is_a(element, "ex-tile"):
            found.add(plain(words_of(element)))
        elif is_a(element, "ex-row"):
            found.add(plain(f"{label(element)} {words_of(element[2])}"))
        elif is_a(element, "ex-option"):
            styles = [e.get("style", "") for e in element.iter("i")]
            wide = [s.removeprefix("width:") for s in styles if s.startswith("width:")]
            said = f"{label(element)} {words_of(element[-1])}"
            found |= {plain(said), plain(f"{said}: {' '.join(wide)}")}
    return found


def num(x: float, digits: int = 2, sign: str = "") -> str:
    """Write a number as the figures do: a true minus, no minus before a zero."""
    text = f"{x:{sign}.{digits}f}"
    if not float(text):
        text = text.replace("-", "+" if sign else "")
    return text.replace("-", "−")


# --- definitions in plain Python ----------------------------------------------


def three(right, level, b):
    """Mean reward, b*, norm of the mean, variance; of three responses to one prompt.

    Scores e_i - p have the squared norm 1 - 2 p_i + sum p^2.
    """
    p = (right, (1 - right) * 5 / 7, (1 - right) * 2 / 7)
    paid = [x + level for x in (1, 0.5, 0)]
    size = [1 - 2 * x + sum(y * y for y in p) for x in p]
    average = sum(x * r for x, r in zip(p, paid, strict=True))
    norm2 = sum((x * (r - average)) ** 2 for x, r in zip(p, paid, strict=True))
    weighed = [x * s for x, s in zip(p, size, strict=True)]
    best = sum(w * r for w, r in zip(weighed, paid, strict=True)) / sum(weighed)

    def variance(b):
        second = sum(w * (r - b) ** 2 for w, r in zip(weighed, paid, strict=True))
        return second - norm2

    return average, best, norm2**0.5, variance(b), variance(best)


def group_noise(size, right, level, rule):
    """Norm and noise of a group's estimate, over all 3^G groups in their order."""
    p = (right, (1 - right) * 5 / 7, (1 - right) * 2 / 7)
    paid = [x + level for x in (1, 0.5, 0)]
    first, second = [0.0] * 3, 0.0
    for group in product(range(3), repeat=size):
        chance = math.prod(p[k] for k in group)
        total = sum(paid[k] for k in group)
        estimate = [0.0] * 3
        for k in group:
            less = {"mean": total / size, "other": (total - paid[k]) / (size - 1)}
            weight = paid[k] - less.get(rule, 0.0)
            for a in range(3):
                estimate[a] += weight * ((a == k) - p[a]) / size
        first = [f + chance * e for f, e in zip(first, estimate, strict=True)]
        second += chance * sum(e * e for e in estimate)
    norm2 = sum(f * f for f in first)
    return norm2**0.5 / three(right, level, 0)[2], (second / norm2 - 1) ** 0.5


def shares(measure, positive, spread, low, high):
    """BAPO's share of positives among 400 quantiles of a log-normal of mean 1."""
    law = NormalDist(-(spread**2) / 2, spread)
    ratios = [math.exp(law.inv_cdf((k + 0.5) / 400)) for k in range(400)]
    if measure == "clipped":
        up, down = ([f(r, e) for r in ratios] for f, e in ((min, high), (max, low)))
    else:
        up = [r for r in ratios if r < high]
        down = [r for r in ratios if r > low]
    pos, neg = positive * sum(up), (1 - positive) * sum(down)
    return pos / (pos + neg)


def climbing(positive, spread):
    """Where the search of "un-clipped" stops: high first, whole steps, target 0.4."""
    low, high = 0.6, 1.2
    for k in range(37):
        high = 1.2 + 0.05 * k
        if shares("unclipped", positive, spread, low, high) >= 0.4:
            return low, high
    for k in range(16):
        low = 0.6 + 0.02 * k
        if shares("unclipped", positive, spread, low, high) >= 0.4:
            break
    return low, high


@cache
def sixteen():
    """Error over signal of one response of the small policy; P(right)."""
    first = {"9": 0.45, "9+": 0.45, "9-": 0.48, "✗": 0.75}
    first |= {"✗9": 0.5, "✗9+": 0.6, "✗9-": 0.6}
    told = []  # chance, reward, {(state, option): chance of the option}
    for a, b in product("+-", repeat=2):
        one = [("9", a), (f"9{a}", b)]
        if (a, b) == ("-", "+"):
            told.append((one, 1))
            continue
        told.append(([*one, ("✗", "+")], 0))  # gives up
        for c, d in product("+-", repeat=2):
            again = [("✗", "-"), ("✗9", c), (f"✗9{c}", d)]
            told.append(([*one, *again], (c, d) == ("-", "+")))
    found = []
    for steps, reward in told:
        chances = [first[s] if o == "+" else 1 - first[s] for s, o in steps]
        score = {}
        for (state, option), p in zip(steps, chances, strict=True):
            score[state] = (1 - p) * (1 if option == "+" else -1)  # +, and − the same
        found.append((math.prod(chances), reward, score))
    assert abs(sum(p for p, *_ in found) - 1) < 1e-12
    norm2 = second = 0.0
    for state in first:
        moved = [(p, r * s.get(state, 0.0)) for p, r, s in found]
        norm2 += 2 * sum(p * g for p, g in moved) ** 2
        second += 2 * sum(p * g * g for p, g in moved)
    return (second / norm2 - 1) ** 0.5, sum(p * r for p, r, _ in found)


def difficulty(q, size):
    """E[mean of A_i (r_i - q)] over q (1 - q), A standardised in the group."""
    found = 0.0
    for k in range(1, size):
        rewards = [1.0] * k + [0.0] * (size - k)
        middle, std = mean(rewards), stdev(rewards)
        worth = mean((r - middle) / std * (r - q) for r in rewards)
        found += math.comb(size, k) * q**k * (1 - q) ** (size - k) * worth
    return found / (q * (1 - q))


@cache
def coins(lam, critic, gamma=1.0):
    """Squared bias and variance of the gradient of seven tokens, over 128 responses."""

    def chance_to_pass(good, t, x):
        left = 7 - t
        return sum(
            math.comb(left, k) * good**k * (1 - good) ** (left - k)
            for k in range(left + 1)
            if x + k > 3
        )

    good = {"exact": 0.6, "stale": 0.3}.get(critic)
    truth = {}  # P(state) pi (1 - pi) (V after good - V after bad)
    for t in range(7):
        for x in range(t + 1):
            there = math.comb(t, x) * 0.6**x * 0.4 ** (t - x)
            gap = chance_to_pass(0.6, t + 1, x + 1) - chance_to_pass(0.6, t + 1, x)
            truth[t, x] = there * 0.24 * gap
    first, second = dict.fromkeys(truth, 0.0), 0.0
    for bits in product((0, 1), repeat=7):
        states = [(t, sum(bits[:t])) for t in range(7)]
        paid = float(sum(bits) > 3)
        values = [
            chance_to_pass(good, t, x) * gamma ** (6 - t) if good else 0.0
            for t, x in states
        ]
        after = [*values[1:], 0.0]
        rewards = [0.0] * 6 + [paid]
        deltas = [
            r + gamma * v - w for r, v, w in zip(rewards, after, values, strict=True)
        ]
        chance = math.prod(0.6 if bit else 0.4 for bit in bits)
        for t, state in enumerate(states):
            A = sum((gamma * lam) ** k * d for k, d in enumerate(deltas[t:]))
            moved = (bits[t] - 0.6) * A
            first[state] += chance * moved
            second += chance * moved**2
    unit = sum(x * x for x in truth.values())
    bias2 = sum((first[s] - truth[s]) ** 2 for s in truth) / unit
    return bias2, (second - sum(x * x for x in first.values())) / unit


def gae_tiles(lam, critic, responses):
    lams = [round(0.05 * k, 2) for k in range(21)]
    totals = [b + v / responses for b, v in (coins(x, critic) for x in lams)]
    least = min(totals)
    bias2, variance = coins(lam, critic)
    return (
        f"squared bias b² {num(bias2)} more data do not help",
        f"variance σ²/N {num(variance / responses)} mean of {responses}",
        f"total error {num(bias2 + variance / responses)} 1: like no gradient",
        f"best λ here {lams[totals.index(least)]:.2f} total {num(least)}",
    )


def humps(centre, width):
    """Reverse and forward KL of one hump on 41 places to two of them."""

    def hump(at, wide):
        heights = [math.exp(-0.5 * ((x - at) / wide) ** 2) for x in range(41)]
        return [h / sum(heights) for h in heights]

    pairs = zip(hump(10, 2), hump(30, 2), strict=True)
    two = [0.6 * a + 0.4 * b for a, b in pairs]
    one = hump(centre, width)

    def kl(p, q):
        return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)

    return kl(one, two), kl(two, one)


def climb(p, rate, steps=24):
    """J of a softmax over three actions, paid 1, 0.5, 0, after mean steps."""
    logits = [math.log(x) for x in p]
    for _ in range(steps):
        top = sum(map(math.exp, logits))
        p = [math.exp(z) / top for z in logits]
        J = p[0] + 0.5 * p[1]
        paid = zip(logits, p, (1, 0.5, 0), strict=True)
        logits = [z + rate * x * (r - J) for z, x, r in paid]
    top = sum(map(math.exp, logits))
    return (math.exp(logits[0]) + 0.5 * math.exp(logits[1])) / top


# --- stored data and the stored policy ----------------------------------------


@cache
def stored(name):
    """The rows of a results file as dictionaries of words."""
    text = (SRC / "lab" / "results" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if line[0] != "#"))


def ends(name, column, **values):
    """Means of the last three rows of each seed, in order of size."""
    seeds = {}
    for row in stored(name):
        if all(row[k] == v for k, v in values.items()):
            seeds.setdefault(row["seed"], []).append(float(row[column]))
    assert len(seeds) == 5
    return sorted(mean(run[-3:]) for run in seeds.values())


def record(name):
    return json.loads((SRC / "figures" / "static" / f"{name}.json").read_text("utf-8"))


@cache
def chances(prompt, response):
    """Probabilities of every next token under warm start 0, one row per token."""
    words = task("signs").vocabulary
    ids = torch.tensor([encode(prompt + response, words)])
    with torch.no_grad():
        logits = warm_start("signs", seed=0).double()(ids)[0][0]
    rows = logits[len(prompt) - 1 :].tolist()
    tops = [[math.exp(z - max(row)) for z in row] for row in rows]
    return [[x / sum(row) for x in row] for row in tops]


def taken(prompt, response):
    """Probabilities of the response's own tokens."""
    ids = encode(response, task("signs").vocabulary)
    return [p[i] for p, i in zip(chances(prompt, response), ids, strict=False)]


def decided(t):
    """The tiles of `decisions` at a place."""
    prompt, response = "9□5□7=11?", "9+5+7=21✗9-5+7=11✓$"
    p, row = taken(prompt, response), chances(prompt, response)[t]
    nats = -sum(x * math.log(x) for x in row if x > 0)
    far = math.prod(p[: t + 1])
    choice = "a real choice" if nats > 0.05 else "hardly a choice"
    return (
        f"token written {response[t]} p = {num(100 * p[t], 1)}%",
        f"entropy {num(nats)} {choice}",
        f"probability so far {num(100 * far, 1)}% log {num(math.log(far))}",
    )


def cooled(tau, top_p):
    """The tiles of `temperature` after the third prefix: cool, cut, scale."""
    row = chances("9□5□7=11?", "9+5-7=7✗")[-1]
    warm = [x ** (1 / tau) for x in row]
    warm = sorted((x / sum(warm) for x in warm), reverse=True)
    kept = []
    while sum(kept) < top_p and len(kept) < len(warm):
        kept.append(warm[len(kept)])
    mass = sum(kept)
    p = [x / mass for x in kept]
    nats = -sum(x * math.log(x) for x in p if x > 0)
    return (
        f"entropy {num(nats)} nats",
        f"can be drawn {len(kept)} of 18 tokens",
        f"mass kept {num(mass, 3)}",
        f"first ratio {num(max(row) / p[0], 3)} if trained at τ = 1",
    )


def pushed(t, reward):
    """The tiles of `score_function`: R (1 - pi), and how many were real choices."""
    response = "9+5-7=7✗9+5+7=21✗9-5+7=11✓$"
    p = taken("9□5□7=11?", response)
    return (
        f"token written {response[t]} position {t} of 27",
        f"its logit moves R(1 − π) {num(reward * (1 - p[t]), 2, '+')} π = {num(p[t])}",
        f"tokens with π below 0.99 {sum(x < 0.99 for x in p)}/27 real choices",
    )


def counted(shifted):
    """The tiles of `shift`: the response's tokens, or its inputs' own."""
    prompt, response = "9□5□7=11?", "9-5+7=11✓$"
    rows = chances(prompt, response)
    ids = encode(response, task("signs").vocabulary)
    rows = rows[:-1] if shifted else rows[1:]  # [1:]: the logits after the token itself
    logs = [math.log(p[i]) for p, i in zip(rows, ids, strict=True)]
    return (
        f"counted {num(sum(logs))} log-prob",
        "tokens counted 10",
        f"probability found {num(math.exp(sum(logs)), 3)}",
    )


@cache
def starpo(share, spread):
    """Groups kept, least std, share of the squares kept, groups without a signal."""
    dice = torch.Generator().manual_seed(0)  # the luck that the figure says it has
    luck = torch.rand(20, 8, generator=dice, dtype=torch.float64).tolist()
    rewards = [
        [float(u < 1 / (1 + math.exp(-spread * (2 * k / 19 - 1)))) for u in row]
        for k, row in enumerate(luck)
    ]
    squares = sorted((7 * stdev(row) ** 2 for row in rewards), reverse=True)
    kept = squares[: round(20 * share)]
    return len(kept), (kept[-1] / 7) ** 0.5, sum(kept) / sum(squares), squares.count(0)


def kept(share, spread):
    count, least, part, dead = starpo(share, spread)
    return (
        f"groups kept {count}/20 std at least {num(least)}",
        f"signal kept {num(100 * part, 0)}% of squared advantages",
        f"zero-variance groups {dead}/20 all rewards equal",
    )


def hacked(run, moment):
    """Means of the five recorded seeds at an iteration."""
    runs = record("reward_hack")["runs"]
    reward, success, kl = (
        mean(runs[f"{run},{seed}"][name][moment] for seed in range(5))
        for name in ("reward", "success", "ref_kl")
    )
    return (
        f"reward paid {num(reward)}",
        f"really right {num(success)}",
        f"distance gone {num(kl, 1)} KL, in nats",
    )


def arm(name, lr, epochs, loss):
    """A tile of `epochs`: the median seed at the end, and all five."""
    success = ends("signs-epochs", "success", lr=lr, epochs=epochs, loss=loss)
    return f"{name} {median(success):.2f} {success[0]:.2f} to {success[-1]:.2f}"


def discounted(gamma, credit):
    success, reasons = (
        ends("gamma-sweep", name, gamma=gamma) for name in ("success", "reasons")
    )
    return (
        f"success at the end {num(median(success))} "
        f"{num(success[0])} to {num(success[-1])}",
        f"writes partial sums {num(median(reasons))} "
        f"{num(reasons[0])} to {num(reasons[-1])}",
        f"the first token’s credit {credit} reward 1, five steps away",
    )


def program(iteration, right, good, bad):
    """The tiles of `forty_lines`; the advantages are those of 8 rewards, by hand."""
    now = record("forty_lines")[iteration]
    return (
        f"right, of these eight {right}/8",
        f"right, all prompts {num(now['success'])}",
        f"mean length, all prompts {num(now['length'], 1)} tokens",
        f"1 right {good}",
        f"8 wrong {bad}",
    )


def batched(right, low, high, kept=range(8)):
    """Tiles of one batch with GRPO's advantage after two updates: gates and filter."""
    stored = json.loads((SRC / "figures" / "static" / "one_batch.json").read_text())
    filled = (0, 1, 4, 2, 3, 5, 6, 7)[:right]
    rows = [
        (k in filled, stored[k // 4]["right" if k in filled else "wrong"][k % 4])
        for k in range(8)
    ]
    total = sum(len(one["text"]) for _, one in rows)
    live = 0
    for k in kept:
        good, one = rows[k]
        group = [score for score, _ in rows[k // 4 * 4 : k // 4 * 4 + 4]]
        for new, old in zip(one["now"][1], one["old"], strict=True):
            shut = new - old > high if good else new - old < low
            live += len({*group}) > 1 and not shut
    learning = f"tokens with a gradient {live} / {total}"
    return learning, f"responses kept {len(kept)} / 8"


def groups(q, size):
    dead = q**size + (1 - q) ** size
    return (
        f"wasted on average {num(100 * dead, 0)}%",
        f"responses per useful group {num(size / (1 - dead), 0)}",
    )


def kls(p, q):
    """The tiles of `kl` for two tokens; k3's gradient is p - q, k2's p(1-p)(d1-d2)."""
    d = math.log(p / q), math.log((1 - p) / (1 - q))
    k3 = q / p - 1 + d[0], (1 - q) / (1 - p) - 1 + d[1]
    spread = math.sqrt(p * (1 - p))
    reverse = p * d[0] + (1 - p) * d[1]
    k2 = (p * d[0] ** 2 + (1 - p) * d[1] ** 2) / 2
    return (
        f"reverse KL {num(reverse, 3)} mean of k₂ {num(k2, 3)}",
        f"std of k₃ {num(spread * abs(k3[0] - k3[1]), 3)} "
        f"of k₁ {num(spread * abs(d[0] - d[1]), 3)}",
        f"gradient of k₂ {num(p * (1 - p) * (d[0] - d[1]), 3, '+')} reverse KL",
        f"gradient of k₃ {num(p - q, 3, '+')} forward KL",
    )


def two_humps(centre, width):
    reverse, forward = humps(centre, width)
    return (
        f"reverse KL {num(reverse)} samples of the policy",
        f"forward KL {num(forward)} of the reference",
    )


def baselined(b, right, level):
    average, best, norm, variance, least = three(right, level, b)
    return (
        f"norm of mean {num(norm, 3)} for every b",
        f"variance {num(variance, 3)} least {num(least, 3)}",
        f"b* {num(best)} least variance",
        f"E[R] {num(average)} mean reward",
    )


def sized(size, right, level):
    factor = group_noise(size, right, level, "mean")[0]
    other = group_noise(size, right, level, "other")
    return (
        f"group mean × {num(factor, 3)} 1 − 1/G",
        f"leave-one-out × {num(other[0], 3)}",
        f"error ÷ signal, either {num(other[1])}",
        f"error ÷ signal, none {num(group_noise(size, right, level, 'none')[1])}",
    )


def clipped_share(positive, spread, low=0.6, high=1.2):
    return num(shares("clipped", positive, spread, low, high), 3)


# --- the table: figure, state, what a reader reads ----------------------------

READOUTS = [
    # 2 and 88 tokens: 1/(2·2) against 1/(2·88) is 44; 88/90 = 97.8 %
    (
        "aggregation",
        {},
        "short ÷ long 44×",
        "long: of weight 50.0%",
        "long: of tokens 97.8%",
    ),
    # a token is a token: 512/(512 + 15·2) = 94.5 %
    (
        "aggregation",
        {"rule": 1, "short": 2, "long": 512, "others": 15},
        "short ÷ long 1×",
        "long: of weight 94.5%",
    ),
    # .95² = .9025 of three; 1 − 3/8 + .9025 − .3008
    (
        "anchor_states",
        {},
        "from the chosen one 3/8 episodes",
        "their mean return 0.301 0.95 per turn",
        "episode 8, turn 2 +1.227 did not give up",
    ),
    # two of five earn .95; 1 − 3/8, the same for every turn
    (
        "anchor_states",
        {"level": 0, "at": 2},
        "from the chosen one 5/8 episodes",
        "their mean return 0.380 0.95 per turn",
        "episode 8, turn 2 +0.625 did not give up",
    ),
    # no limit, played on paper: updates end at 6, 10, 16, 20, 25, 30, 34; 14/36 = 39 %;
    # ages 0+10+28+40+41+41+41 = 201 in the 113 units that were used: 1.78
    (
        "asynchrony",
        {},
        "samplers 100% busy",
        "trainer 39% busy",
        "updates 7 in all",
        "staleness per token 1.78 max 3",
    ),
    # in turns: 12 writing, 2 training; 19 + 19 + 15 of 4·36 units; 4 of 36
    (
        "asynchrony",
        {"limit": 0},
        "samplers 37% busy",
        "trainer 11% busy",
        "updates 2 in all",
        "staleness per token 0.00 max 0",
    ),
    # three of seven columns; .7102·4/7; P(one good of four) = 1 − .4⁴
    (
        "backwards",
        {},
        "fits so far 3",
        "columns that are right 3/7",
        "mean error 0.406",
        "largest error 0.974",
    ),
    (
        "backwards",
        {"fits": 1, "lam": 1.0},
        "columns that are right 7/7",
        "mean error 0.000",
        "largest error 0.000",
    ),
    # clipped values: the lower bound runs out at 0.8, the upper one at 2.0
    (
        "balanced_clip",
        {},
        "lower bound 0.80",
        "upper bound 2.00",
        f"share at the start {clipped_share(0.4, 0.5)}",
        f"share at the end {clipped_share(0.4, 0.5, 0.8, 2.0)} not reached",
    ),
    (
        "balanced_clip",
        {"rule": 1, "positive": 0.3, "spread": 0.5},
        f"lower bound {num(climbing(0.3, 0.5)[0])}",
        f"upper bound {num(climbing(0.3, 0.5)[1])}",
        f"share at the start {num(shares('unclipped', 0.3, 0.5, 0.6, 1.2), 3)}",
    ),
    # p = (.3, .5, .2): E[R] = .55; |g| = |(.135, -.025, -.11)| = .176;
    # variance .234 + .0475 - .03095 = .251; b* = .329/.62
    (
        "baseline",
        {},
        "norm of mean 0.176 for every b",
        "variance 0.251 least 0.076",
        "b* 0.53 least variance",
        "E[R] 0.55 mean reward",
    ),
    (
        "baseline",
        {"b": 0.25, "right": 0.9, "level": 1.0},
        *baselined(0.25, 0.9, 1.0),
    ),
    # q = .55·.48 + .736·.25·.3 = .3192; .6808^8 = 4.6 %; an eighth of the variance
    (
        "batch_direction",
        {},
        f"error ÷ signal {num(sixteen()[0] / math.sqrt(8))} exact",
        "batches without a gradient 5% exact, (1 − q)ᴺ",
    ),
    (
        "batch_direction",
        {"n": 1},
        f"error ÷ signal {num(sixteen()[0])} exact",
        "batches without a gradient 68% exact, (1 − q)ᴺ",
    ),
    # 8192/2048 = 4 updates of 2048/(8·8) = 32 passes
    (
        "batch_steps",
        {},
        "updates 4 per iteration",
        "with ratio 1 1 / 4 the first only",
        "in the divisor 2048 of all GPUs",
        "passes a GPU 128 per iteration",
    ),
    # 2·8192/512 = 32 updates of 512/(16·32) = 1 pass
    (
        "batch_steps",
        {"part": 512, "cards": 16, "size": 32, "epochs": 2},
        "updates 32 per iteration",
        "with ratio 1 1 / 32 the first only",
        "passes a GPU 32 per iteration",
    ),
    # 0.2 on the marks 8 and 17, 1 on token 18; from token 10: 0.2 + 1
    (
        "causality",
        {},
        "rewards before 0.2 do not count",
        "from here on 1.2 count",
        "return G 1.20 undiscounted",
    ),
    # 0.2·0.9^7 + 0.9^8 = 0.0957 + 0.4305
    ("causality", {"gamma": 0.9}, "return G 0.53 discounted", "from here on 1.2 count"),
    # 1%·1.2^8 = 4.3 %, ln 50/ln 1.2 = 21.5; 1%·1.28^8 = 7.2 %, ln 50/ln 1.28 = 15.8
    (
        "clip_higher",
        {},
        "after batch 8",
        "ε_high = 0.2 4.3% half in 22",
        "ε_high = 0.28 7.2% half in 16",
    ),
    # 10%·1.2^4 = 20.7 %, ln 5/ln 1.2 = 8.8; doubling: 20, 40, then the half
    (
        "clip_higher",
        {"step": 4, "clip_high": 1.0, "old": 0.1},
        "ε_high = 0.2 20.7% half in 9",
        "ε_high = 1 50.0% half in 3",
    ),
    # 8192 responses of 1000 tokens, 4 bytes for an id and 4 for a log-prob
    (
        "cluster",
        {"place": 0},
        "hands over: ids, log μ 66 MB per iteration",
        "of it, one response 8 kB",
    ),
    # 7·10^9 weights of 2 bytes; the two probabilities are those of the chapter's cell
    (
        "cluster",
        {},
        "hands over: weights 14 GB per iteration",
        "of it, one weight 2 B",
        "to check: π = μ? 0.00004 μ says 0.93",
    ),
    # .9^8 + .1^8 = 43 %; 8/.5695 = 14
    (
        "dead_groups",
        {},
        "wasted on average 43%",
        "responses per useful group 14",
    ),
    ("dead_groups", {"q": 0.3, "size": 3}, *groups(0.3, 3)),  # .027 + .343 = 37 %
    ("decisions", {}, *decided(1)),
    ("decisions", {"t": 9}, *decided(9)),
    (
        "difficulty",
        {},
        f"its factor w {num(difficulty(0.1, 64))}",
        f"against q = 0.5 × {num(difficulty(0.1, 64) / difficulty(0.5, 64))}",
        "groups all alike 0%",
    ),
    # a mixed pair has the advantages ±1/√2 with chance .18: .18·(.7071/2)/.09
    (
        "difficulty",
        {"q": 0.1, "size": 2},
        "its factor w 0.71",
        "against q = 0.5 × 1.00",
        "groups all alike 82%",
    ),
    ("discount_runs", {}, *discounted("0.5", "0.03")),  # .5^5 = .031
    ("discount_runs", {"gamma": 0.9}, *discounted("0.9", "0.59")),  # .9^5 = .590
    # 12 action tokens away: .9^12; with 3 + 3 of the tool .9^18; 2 turns .81
    (
        "discount_turns",
        {},
        "action tokens 0.282 first token",
        "all tokens 0.150 first token",
        "turns 0.810 first token",
    ),
    # .7^12, .7^(12 + 1 + 3), .7^2
    (
        "discount_turns",
        {"gamma": 0.7, "tool": 1},
        "action tokens 0.014 first token",
        "all tokens 0.003 first token",
        "turns 0.490 first token",
    ),
    # −.1 for each of 8 actions, +1 and +10 with the last: 11 − .8; of (10.4, 10.2, −.8)
    # the mean is 6.6, the std 6.41
    (
        "episode",
        {},
        "turn 4/5 over, step 8",
        "reward now +10.90",
        "return so far 10.20 won",
        "credit +0.56 in the group",
    ),
    (
        "episode",
        {"play": 3},
        "reward now −0.10",
        "return so far −0.80 cut off",
        "credit −1.15 in the group",
    ),
    (
        "epochs",
        {},
        arm("small steps, one pass", "0.0001", "1", "min"),
        arm("small steps, four passes", "0.0001", "4", "min"),
        arm("large steps, one pass", "0.0005", "1", "min"),
        arm("large steps, eight passes", "0.0005", "8", "min"),
    ),
    (
        "epochs",
        {"board": 1, "mark": 0.6},
        arm("−A log π", "0.0005", "8", "none"),
        arm("ρA, no clip", "0.0005", "8", "ratio"),
        arm("clip alone", "0.0005", "8", "clip alone"),
    ),
    # SAPO is a row of the table; ScaleRL, a recipe, is none
    ("family", {}, "it changes weight", "a row of ALGORITHMS yes"),
    ("family", {"method": 0}, "it changes 3 arrows", "a row of ALGORITHMS no"),
    # 3 of 8: std √(.375·.625·8/7) = .518; .625/.518 and −.375/.518
    ("forty_lines", {}, *program(0, 3, "+1.21", "−0.72")),
    # 7 of 8: std .354; .125/.354 and −.875/.354
    ("forty_lines", {"iteration": 2}, *program(2, 7, "+0.35", "−2.47")),
    ("gae", {}, *gae_tiles(1.0, "stale", 64)),
    ("gae", {"lam": 0.95, "responses": 1024}, *gae_tiles(0.95, "stale", 1024)),
    (
        "gae",
        {"lam": 1.0, "critic": "zero", "responses": 16},
        *gae_tiles(1.0, "zero", 16),
    ),
    # δ = (.3, −.4, .6); λ = .5: .3 − .2 + .15
    (
        "gae_triangle",
        {},
        "advantage A₀ of the first token +0.25 "
        "1.00·(+0.30) + 0.50·(−0.40) + 0.25·(+0.60)",
        "one step only (λ = 0) +0.30 trusts the critic",
        "to the end (λ = 1) +0.50 trusts the outcome",
    ),
    # paid 0: δ = (.3, −.4, −.4); λ = .8: .3 − .32 − .256; .2, .16, .64
    (
        "gae_triangle",
        {"lam": 0.8, "reward": 0.0},
        "advantage A₀ of the first token −0.28 "
        "1.00·(+0.30) + 0.80·(−0.40) + 0.64·(−0.40)",
        "to the end (λ = 1) −0.50 trusts the outcome",
        "look 2 ahead 0.16 weight",
    ),
    # above 1.2 GRPO is shut; 4σ(1)σ(−1)·2, with 1.05 for A < 0; .2 − .1 is within .15
    (
        "gates",
        {},
        "GRPO 0 A = −1: −2.00",
        "SAPO +1.57 A = −1: −1.54",
        "DPPO +2.00 A = −1: −2.00",
        "CISPO +2.00 A = −1: −2.00",
    ),
    # 4σ(4.5)σ(−4.5)·5.5; .55 − .1 > .15; the weight ends at 5
    (
        "gates",
        {"rho": 5.5},
        "GRPO 0 A = −1: −5.50",
        "SAPO +0.24 A = −1: −0.19",
        "DPPO 0 A = −1: −5.50",
        "CISPO +5.00 A = −1: −5.00",
    ),
    # 1 of 5: std √(.2·.8·5/4) = .447; (1.789 + 4·.447)/5; (.8 + 4·.2)/5
    (
        "group_rewards",
        {},
        "right 1/5",
        "A, if right +1.79",
        "A, if wrong −0.45",
        "pull 0.72 plain: 0.32",
    ),
    # 2 of 5: std .548; .6/.548, −.4/.548
    (
        "group_rewards",
        {"r2": 1},
        "right 2/5",
        "A, if right +1.10",
        "A, if wrong −0.73",
        "pull 0.88 plain: 0.48",
    ),
    ("group_size", {}, *sized(4, 0.3, 0.0)),
    ("group_size", {"size": 2, "right": 0.9, "level": 1.0}, *sized(2, 0.9, 1.0)),
    ("one_batch", {}, *batched(3, math.log(0.8), math.log(1.2))),
    (
        "one_batch",
        {"station": station("DAPO"), "right": 5},
        *batched(5, math.log(0.8), math.log(1.28), range(4, 8)),
    ),
    ("one_batch", {"right": 8}, *batched(8, math.log(0.8), math.log(1.2))),
    # a correct response; e^.21 = 1.23: one token is clipped, e^(.79/26) = 1.03 is not
    (
        "hero",
        {},
        "REINFORCE 26/26 learning",
        "PPO 25/26 learning",
        "GRPO 25/26 learning",
        "GSPO 26/26 learning",
    ),
    # an incorrect response: paid 0, so REINFORCE pushes nothing; nobody is clipped
    (
        "hero",
        {"right": 0},
        "REINFORCE 0/26 learning",
        "PPO 26/26 learning",
        "GRPO 26/26 learning",
        "GSPO 26/26 learning",
    ),
    # all eight correct: no advantage in the group; e^.21 = 1.23 clips one token of PPO
    (
        "hero",
        {"right": 1, "others": 7},
        "REINFORCE 26/26 learning",
        "PPO 25/26 learning",
        "GRPO 0/26 learning",
        "GSPO 0/26 learning",
    ),
    # e^(1000 ln 1.001) = e^.9995; 1 + 1000·.001
    (
        "horizon",
        {},
        "ratio of a right token 1.001 inside 0.8 to 1.2",
        "ratio of the whole 2.72",
        "in truth 2.72 times",
        "the surrogate says 2.00 times",
    ),
    # e^(1000 ln 1.01) = e^9.9503; 1 + 1000·.01
    (
        "horizon",
        {"rho": 1.01},
        "ratio of a right token 1.01 inside 0.8 to 1.2",
        "ratio of the whole 20 959",
        "in truth 20 959 times",
        "the surrogate says 11.00 times",
    ),
    # .1/.9, .9/.1; 1/(.9·.0123 + .1·81) = .123; √((8.1 − .81)/100)
    (
        "importance",
        {},
        "a walk left 0.11 counts as",
        "a walk right 9.00 counts as",
        "effective sample size 12 weights only",
        "error of the mean 0.270 fresh: 0.030",
    ),
    # .05/.5, .95/.5; 1/(.5·.01 + .5·3.61) = .552; √((1.805 − .9025)/100)
    (
        "importance",
        {"old": 0.5, "new": 0.95},
        "a walk left 0.10 counts as",
        "a walk right 1.90 counts as",
        "effective sample size 55 weights only",
        "error of the mean 0.095 fresh: 0.022",
    ),
    ("keep_groups", {}, *kept(0.25, 4)),
    ("keep_groups", {"p": 0.4, "spread": 1}, *kept(0.4, 1)),
    # .8 ln 1.6 + .2 ln .4; k3 is .0950 or .5837; .16·(.4700 + .9163); .8 − .5
    (
        "kl",
        {},
        "reverse KL 0.193 mean of k₂ 0.172",
        "std of k₃ 0.195 of k₁ 0.555",
        "gradient of k₂ +0.222 reverse KL",
        "gradient of k₃ +0.300 forward KL",
    ),
    # .25·(−.642 − 2.303); .5 − .95
    (
        "kl",
        {"p": 0.5, "q": 0.95},
        "reverse KL 0.830 mean of k₂ 1.428",
        "gradient of k₂ −0.736 reverse KL",
        "gradient of k₃ −0.450 forward KL",
    ),
    ("kl", {"p": 0.35, "q": 0.3}, *kls(0.35, 0.3)),
    # 7·(16 + 16 + 2 + 2) = 252; 24/36; weights 8, gradients 4, states 24 of 36
    (
        "memory",
        {},
        "per GPU 252 GB",
        "optimizer 67%",
        "too much 172 GB",
        "all GPUs 2.0 TB",
        "0 nothing shared 252: 22.22% 11.11% 66.67%",
        "1 optimizer states 105: 22.22% 11.11% 8.33%",
    ),
    # 14·(2 + 2 + 2 + 12)/8 = 31.5; 12/18; unshared 4, 2 and 12 bytes of 36
    (
        "memory",
        {"networks": "GRPO+ref", "size": 14, "stage": 3},
        "per GPU 31.5 GB",
        "optimizer 67%",
        "room left 48.5 GB",
        "all GPUs 252 GB",
        "0 nothing shared 252: 11.11% 5.56% 33.33%",
    ),
    # 114 tokens; a token weighs 114/(8·n): Σ 14.25²/n = 140.4; 114/√(140.4·114)
    (
        "micro_batches",
        {},
        "heaviest ÷ lightest 4.0×",
        "cosine of weights 0.90",
        "ratio of their norms 1.11",
    ),
    # the ranks forgotten: half of everything
    (
        "micro_batches",
        {"counting": 2},
        "heaviest ÷ lightest 1.0×",
        "cosine of weights 1.00",
        "ratio of their norms 0.50",
    ),
    # R = .5: logits move by −.15, .25, −.1; .3 e^−.15/1.0812 = .239
    (
        "one_draw",
        {},
        "R − b +0.50",
        "correct 0.24 before 0.30",
        "mean step +0.135 for every b",
        "variance 0.25 of all three logits",
    ),
    # R = 2 of the false one: .3 e^−.6/1.339 = .123; 2.106 + 1.1875 + .784 − .031
    (
        "one_draw",
        {"drawn": 2, "level": 2},
        "R − b +2.00",
        "correct 0.12 before 0.30",
        "mean step +0.135 for every b",
        "variance 4.05 of all three logits",
    ),
    # (20480 − 4096 − 18432)/4096
    (
        "overlong",
        {},
        "the penalty begins at 16384",
        "penalty here −0.50",
        "if correct 0.50",
        "if incorrect −1.50",
    ),
    # beyond the limit: −1; verdicts 1 and 0
    (
        "overlong",
        {"length": 20480, "limit": 16384, "pays": 1},
        "the penalty begins at 12288",
        "penalty here −1.00",
        "if correct 0.00",
        "if incorrect −1.00",
    ),
    # equal, then 1 : 4, then .676 : 4·.814
    (
        "positive_share",
        {},
        "positive share φ 0.172",
        "negative per positive 4.8",
        "clip leaves, + 0.68 of weight",
        "clip leaves, − 0.81 of weight",
    ),
    # rewards of 1 and −1, no mean: the share is the success rate
    (
        "positive_share",
        {"centred": 0, "longer": 1, "spread": 0.0, "right": 0.3},
        "positive share φ 0.300",
        "negative per positive 2.3",
        "clip leaves, + 1.00 of weight",
    ),
    # 10 + 9 + 10 + 10 tokens; nothing is judged yet
    (
        "ppo_loop",
        {},
        "tokens sampled 39 4 responses",
        "mean reward – not judged",
        "update 0/4 K = 2, M = 2",
    ),
    # one of four is right; of the recorded ratios .88 is the farthest from 1
    (
        "ppo_loop",
        {"step": 3},
        "mean reward 0.25 1 correct",
        "update 2/4 epoch 1, batch 2",
        "largest |ρ − 1| 0.12 0 hatched",
    ),
    # the last pass of the record; A > 0 above 1.2: one; A < 0 below 0.8: three
    (
        "reuse",
        {},
        "passes 8 K = 8",
        "$ that gives up 0.17 ρ",
        "no gradient 4 of 28 tokens",
    ),
    (
        "reuse",
        {"passed": 0},
        "$ that gives up 1.00 ρ",
        "✓ of the bluff 1.00 ρ",
        "no gradient 0 of 28 tokens",
    ),
    ("reward_hack", {}, *hacked("mark,0", 8)),
    ("reward_hack", {"run": 2, "moment": 16}, *hacked("mark,0.2", 16)),
    ("score_function", {}, *pushed(8, 1)),
    ("score_function", {"t": 1, "reward": -1}, *pushed(1, -1)),
    # logs .16 + 2·1.5 over ten: s = e^.316; 4.48 > 1.2 twice; 1.37 > 1.267
    (
        "sequence_ratio",
        {},
        "ratio ρ s = 1.37 geom. mean",
        "GRPO 8/10 learning",
        "GSPO 0/10 learning",
        "CISPO 10/10 learning",
    ),
    # .16 − 2·3 over ten: s = e^−.584 < .8; 0.05 < .8 twice, and A < 0
    (
        "sequence_ratio",
        {"gap": -3.0, "advantage": -1},
        "ratio ρ s = 0.56 geom. mean",
        "GRPO 8/10 learning",
        "GSPO 0/10 learning",
        "CISPO 10/10 learning",
    ),
    ("shift", {}, *counted(shifted=True), "token lost none"),
    ("shift", {"pairing": 1}, *counted(shifted=False)),
    # p = (.2, .5, .3): g = (.11, .025, −.135); .196 + .0475 − .031 = .461²
    (
        "simplex",
        {},
        "norm of the mean 0.18 signal",
        "std of one draw 0.46 noise",
        "noise ÷ signal 2.6 of one draw",
        f"J after 24 steps {num(climb((0.2, 0.5, 0.3), 2.0))} at first 0.45",
    ),
    # R = 3, 2.5, 2: 1.764 + 1.1875 + .936 − .031 = 1.964²
    (
        "simplex",
        {"shift": 2.0, "rate": 0.5},
        "norm of the mean 0.18 signal",
        "std of one draw 1.96 noise",
        "noise ÷ signal 11.2 of one draw",
        f"J after 24 steps {num(climb((0.2, 0.5, 0.3), 0.5))} at first 0.45",
    ),
    # h = 1/4: .1875 + .0938 + .0352, and as much below
    (
        "stop_push",
        {},
        "bars upwards +0.32",
        "bars downwards −0.32",
        "total 0.00",
    ),
    # 1/n, of mean ln(4)/3 = .4621: .2461/.4621; 1 − .25/.4621
    (
        "stop_push",
        {"rule": 1},
        "bars upwards +0.53",
        "bars downwards −0.07",
        "total +0.46",
    ),
    ("temperature", {}, *cooled(1.0, 1.0)),
    ("temperature", {"tau": 2.0, "top_p": 0.9}, *cooled(2.0, 0.9)),
    # .297 e⁵, .396 e^2.5, .297, .01 e^6.5: 44.08, 4.82, .30, 6.65 of 55.85
    (
        "tilt",
        {},
        "reward paid 0.99",
        "really correct 0.79",
        "distance 0.91 KL",
        "the hole grew 11.9× of the reference",
    ),
    # .27 e^.5, .36 e^.25, .27, .1 e^.4: .445, .462, .27, .149 of 1.327
    (
        "tilt",
        {"beta": 2.0, "rare": 0.1, "pay": 0.8},
        "reward paid 0.60",
        "really correct 0.34",
        "distance 0.02 KL",
        "the hole grew 1.1× of the reference",
    ),
    (
        "three_attempts",
        {},
        "gradient, A = +1 +1.60 still pushed",
        "gradient, A = −1 −1.60 still pushed",
        "far enough: stops? ✗ no",
        "wrong way: returns? ✓ yes",
    ),
    (
        "three_attempts",
        {"attempt": 3, "rho": 0.5},
        "gradient, A = +1 +0.50 still pushed",
        "gradient, A = −1 0.00 no push",
        "far enough: stops? ✓ yes",
        "wrong way: returns? ✓ yes",
    ),
    # stored in per cent: 34 34 11 ... 60 99 100; at t = 1 34 − 11, at t = 11 99 − 60
    (
        "token_value",
        {},
        "expected at the start 0.34 value V(s₀)",
        "largest credit +0.39 “+”, t = 11",
        "largest blame −0.23 “+”, t = 1",
        "score in the end 1 sum of changes +0.66",
    ),
    # 34 34 54 52 99 100 99 100 0 0
    (
        "token_value",
        {"answer": 3},
        "largest credit +0.47 “+”, t = 3",
        "largest blame −1.00 “3”, t = 7",
        "score in the end 0 sum of changes −0.34",
    ),
    # 10 and 27 tokens
    (
        "token_weights",
        {},
        "a token of A 1/20",
        "a token of B 1/54",
        "A ÷ B 2.7×",
        "B, of the tokens 73%",
        "A 50% of weight",
    ),
    # 10 and 19 tokens, all of one weight: 1/29, 19/29 = 66 %
    (
        "token_weights",
        {"rule": 1, "tries": 2},
        "a token of A 1/29",
        "a token of B 1/29",
        "A ÷ B 1.0×",
        "B 66% of weight",
    ),
    # 10 pieces of the call and 2 of the answer
    (
        "tool_call",
        {},
        "tokens trained 12",
        "of them not sampled 0",
        "sampled, but missed 0",
        "sampled / trained 12 / 12",
    ),
    # two messages, each with its marker, its role and two line breaks: 12 + 2·4
    (
        "tool_call",
        {"rule": 2},
        "tokens trained 20",
        "of them not sampled 8",
        "sampled, but missed 0",
        "sampled / trained 12 / 20",
    ),
    # all 36 pieces but the first
    (
        "tool_call",
        {"rule": 3},
        "tokens trained 35",
        "of them not sampled 23",
        "sampled / trained 12 / 35",
    ),
    # .68·.9 = .612 < .8 and A < 0: PPO is shut; measured from π_old it is .9
    (
        "two_factors",
        {},
        "push of PPO 0.00 no push",
        "push, decoupled −0.61 still pushed",
        "product ρ 0.61",
    ),
    # before any update it is 1 (cell of 12)
    (
        "two_factors",
        {"ratio": 1.0},
        "push of PPO 0.00 no push",
        "push, decoupled −0.68 still pushed",
        "corrects: w 0.68",
        "product ρ 0.68",
    ),
    # 3·1.1 > 1.2, but 1.1 < 1.2
    (
        "two_factors",
        {"weight": 3.0, "ratio": 1.1, "sign": 1},
        "push of PPO 0.00 no push",
        "push, decoupled +3.30 still pushed",
        "product ρ 3.30",
    ),
    ("two_humps", {}, *two_humps(10, 2)),
    ("two_humps", {"centre": 16, "width": 12}, *two_humps(16, 12)),
    # e^2.5 + e^−2.5 + 8.015 of ten; 2.5 − 2.5 = 0
    (
        "two_means",
        {},
        "arithmetic mean 2.028 GRPO",
        "geometric mean s 1.0000 inside the range",
    ),
    # e + 1 + 124·8.0154 + 6 of a thousand; e^.001
    (
        "two_means",
        {"up": 1.0, "down": 0.0, "length": 1000},
        "arithmetic mean 1.004 GRPO",
        "geometric mean s 1.0010 above the range",
    ),
    # (.65 − 1)² < (.5 − 1)²: constant; .65 − 1; from .5 to 1.5
    (
        "value_clip",
        {},
        "gradient, clipped 0.00 it stays here",
        "gradient, plain −0.35 squared error",
        "width of dead zone 1.00 where the gradient is 0",
    ),
    # 1.95² > 1.5²: the plain error, −.95 − 1
    (
        "value_clip",
        {"value": -0.95},
        "gradient, clipped −1.95 it moves",
        "gradient, plain −1.95 squared error",
    ),
    # distances .06 .08 .39 .42 .53 .69 .56 .21 .17 .18 of ten: 3.29
    (
        "value_head",
        {},
        "responses so far 25 600 by the warm start",
        "mean distance 0.33 from the true value",
        "largest distance 0.69 before “=”",
    ),
    # it says .04 everywhere: .30 .30 .50 .48 .95 .96 .95 .96 .96 .96: 7.32
    (
        "value_head",
        {"trained": 0},
        "responses so far 0 by the warm start",
        "mean distance 0.73 from the true value",
        "largest distance 0.96 before “=”",
    ),
]


@pytest.mark.parametrize(
    ("name", "state", "expected"),
    [(name, state, said) for name, state, *said in READOUTS],
    ids=[f"{name} {state or 'start'}" for name, state, *_ in READOUTS],
)
def test_a_readout_is_what_arithmetic_gives(name, state, expected):
    found = texts(name, state)
    missing = [one for one in expected if plain(one) not in found]
    assert not missing, f"{name} at {state or 'its start'} shows {sorted(found)}"


@pytest.mark.parametrize("name", figure_names())
def test_every_figure_has_readouts_computed_at_its_start_and_elsewhere(name):
    figure = explore(name)
    rows = [(state, said) for each, state, *said in READOUTS if each == name]
    at_start = [said for state, said in rows if not state]
    elsewhere = [said for state, said in rows if state.items() - figure.start.items()]
    assert any(len(said) > 1 for said in at_start), f"{name}: two readouts at its start"
    if figure.dials:
        assert any(len(said) > 1 for said in elsewhere), f"{name}: and elsewhere"
