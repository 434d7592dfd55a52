"""What the live figures of the chapter on stale data claim."""

from itertools import pairwise, product

import pytest
import torch

from tokenbook.explorer import LANGUAGES
from tokenbook.explorer.drawing import is_a
from tokenbook.figures import (
    asynchrony,
    balanced_clip,
    explore,
    positive_share,
    two_factors,
)
from tokencredit import ALGORITHMS

ALL = list(product(asynchrony.LIMITS, asynchrony.LONGS, (0, 1)))


@pytest.mark.parametrize(("limit", "longest", "swap"), ALL)
def test_a_timeline_keeps_its_order(limit, longest, swap):
    responses, updates, queue = asynchrony.timeline(limit, longest, swap)
    for (_, end), (start, _) in pairwise(updates):
        assert end <= start  # one update at a time
    for lane in range(asynchrony.LANES):
        mine = [r for r in responses if r.lane == lane]
        assert len(mine) <= asynchrony.MOST[0]
        for before, after in pairwise(mine):
            assert before.end <= after.start
    for k, (start, _) in enumerate(updates):
        took = [r for r in responses if r.used == k]
        assert len(took) == asynchrony.BATCH
        assert all(r.end <= start for r in took)
    assert len(queue) == asynchrony.END and len(updates) <= asynchrony.MOST[1]
    begun = [sum(r.used is not None for r in responses[:n]) for n in (4, 8)]
    if limit != asynchrony.NONE:  # in the order of their beginning
        assert begun == [min(4 * len(updates), n) for n in (4, 8)]


@pytest.mark.parametrize(("limit", "longest", "swap"), ALL)
def test_staleness_is_the_trainer_s_version_minus_that_of_the_writer(
    limit, longest, swap
):
    responses, updates, _ = asynchrony.timeline(limit, longest, swap)
    ends = [end for _, end in updates]
    for r in responses:
        if r.used is None:
            continue
        times = range(r.start, r.end) if swap else [r.start] * (r.end - r.start)
        wrote = [sum(end <= t for end in ends) for t in times]
        assert list(r.ages) == [r.used - version for version in wrote]
        assert max(r.ages) <= limit


def test_no_line_crosses_the_number_of_a_response():
    assert asynchrony.clear(4, 16, [2, 6, 10, 20]) == (10, 16)
    assert asynchrony.clear(4, 6, []) == (4, 6)


def test_who_waits_for_nobody_is_busy_and_stale():
    busy, trained, mean, oldest = asynchrony.summary(asynchrony.NONE, 12, 0)
    turns = asynchrony.summary(0, 12, 0)
    assert busy == 1 and oldest == 3
    assert turns[0] < 0.5 and turns[1] < trained and turns[2:] == (0, 0)
    assert asynchrony.summary(asynchrony.NONE, 12, 1)[2] < mean  # partial rollouts


@pytest.mark.parametrize("rule", [balanced_clip.RELEASED, balanced_clip.UNCLIPPED])
@pytest.mark.parametrize("spread", balanced_clip.SPREADS)
@pytest.mark.parametrize("positive", balanced_clip.SHARES)
def test_the_walk_ends_where_the_package_s_search_does(rule, positive, spread):
    path, target = balanced_clip.walk(rule), balanced_clip.dials_of(rule)["target"]
    shares = [balanced_clip.share(rule, positive, spread, *b) for b in path]
    first = next((k for k, x in enumerate(shares) if x >= target - 1e-12), -1)
    assert balanced_clip.found(rule, positive, spread) == pytest.approx(path[first])


def test_as_released_the_lower_bound_only_takes_share_away():
    path = balanced_clip.walk(balanced_clip.RELEASED)
    lower = [b for b in path if b[1] == path[0][1]]
    assert [round(low, 2) for low, _ in lower] == [0.6, 0.65, 0.7, 0.75, 0.8]
    for positive, spread in product(balanced_clip.SHARES, balanced_clip.SPREADS):
        shares = [balanced_clip.share(0, positive, spread, *b) for b in lower]
        assert shares == sorted(shares, reverse=True)


def test_with_equal_laws_the_released_rule_is_a_switch():
    """Bounds at their start or at both ends, and nothing between."""
    ends = {
        tuple(round(x, 2) for x in balanced_clip.found(0, positive, spread))
        for positive, spread in product(balanced_clip.SHARES, balanced_clip.SPREADS)
        if positive <= 0.5
    }
    assert ends == {(0.8, 2.0)}


def test_the_figure_s_rules_are_the_entries_of_the_table():
    for rule, name in enumerate(balanced_clip.RULES):
        dials = ALGORITHMS[name].clip_rule.keywords
        path = balanced_clip.walk(rule)
        assert path[0] == (dials["low"][0], dials["high"][0])
        assert path[-1] == pytest.approx((dials["low"][1], dials["high"][1]))
    ratios = balanced_clip.log_ratios(0.5).exp()
    assert ratios.mean() == pytest.approx(1.0, abs=1e-2)
    assert torch.equal(ratios, ratios.sort().values)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_line_crosses_the_name_of_the_target(language):
    """It stands at the right end, right of where the second bound begins to move."""
    figure = explore("balanced_clip")
    for state in figure.states:
        drawn = figure.tree(language, state)
        words = [e for e in drawn.iter("span") if is_a(e, "words")]
        (name,) = [e for e in words if (e.text or "").startswith(("目标", "target"))]
        assert is_a(name, "right") and name.get("style").startswith("left:100%")
        path = balanced_clip.walk(state["rule"])
        turn = next(k for k in range(1, len(path)) if balanced_clip._turned(path, k))
        free = 1 - (turn + 1) / (balanced_clip.MOST + 2)
        assert free * 300 > 75  # pixels of a phone's plot, and of the words


def test_with_the_mean_subtracted_success_does_not_matter_and_three_things_do():
    def share(*state):
        plus, minus = positive_share.weights(*state)
        return plus / (plus + minus)

    for right in positive_share.RIGHT:
        assert share(right, 1, 1, 0.0) == pytest.approx(0.5)
        assert share(right, 4, 1, 0.0) == pytest.approx(20 / 100)
        assert share(right, 1, 0, 0.0) == pytest.approx(right)
    # the chapter's closed form at 0.3: 0.676 and 0.814 are left
    assert positive_share.kept(0.3) == pytest.approx((0.676, 0.814), abs=1e-3)
    shares = [share(0.1, 1, 1, spread) for spread in positive_share.SPREADS]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("spread", positive_share.SPREADS[1:])
def test_the_clip_leaves_what_samples_say(spread):
    noise = torch.randn(400_000, generator=torch.Generator().manual_seed(0)).double()
    rho = (spread * noise - spread**2 / 2).exp()
    left = ((rho * (rho <= 1.2)).mean().item(), (rho * (rho >= 0.8)).mean().item())
    assert positive_share.kept(spread) == pytest.approx(left, abs=5e-3)


def test_two_factors_push_as_the_two_losses_say():
    for weight, ratio, sign in product(
        two_factors.WEIGHTS, two_factors.RATIOS, (1, -1)
    ):
        rho = weight * ratio
        if min(abs(x - e) for x in (rho, ratio) for e in (0.8, 1.2)) < 1e-3:
            continue
        stale, fresh = two_factors.pushes(weight, ratio, sign)
        out = rho > 1.2 if sign > 0 else rho < 0.8
        assert stale == pytest.approx(0 if out else sign * rho, abs=1e-4)
        out = ratio > 1.2 if sign > 0 else ratio < 0.8
        assert fresh == pytest.approx(0 if out else sign * rho, abs=1e-4)
