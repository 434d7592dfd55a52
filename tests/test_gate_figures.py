"""What the live figures of the chapter on GSPO and CISPO claim."""

import math

import pytest

from tokenbook.figures import gates, sequence_ratio, two_means


@pytest.mark.parametrize(
    ("method", "chance", "ratio", "sign", "push"),
    [
        ("GRPO", 0.1, 2.0, 1, 0.0),  # went far enough
        ("GRPO", 0.1, 2.0, -1, -2.0),  # the wrong way: still pushed
        ("GRPO", 0.1, 0.45, -1, 0.0),
        ("CISPO", 0.1, 5.5, 1, 5.0),
        ("CISPO", 0.1, 5.5, -1, -5.0),
        ("CISPO", 0.1, 0.1, -1, -0.1),  # no floor
        ("DPPO", 0.01, 4.0, 1, 4.0),  # a rise of 0.03
        ("DPPO", 0.3, 1.6, 1, 0.0),  # a rise of 0.18
        ("DPPO", 0.9, 0.75, -1, 0.0),  # a fall of 0.225
        ("DPPO", 0.1, 0.1, -1, -0.1),  # it cannot fall by 0.15
        ("SAPO", 0.1, 1.0, 1, 1.0),
        ("SAPO", 0.1, 2.0, 1, 2 * 4 * math.e / (1 + math.e) ** 2),
    ],
)
def test_a_gate_pushes_as_its_paper_says(method, chance, ratio, sign, push):
    (found,) = gates.pushes(method, chance, [ratio], sign)
    assert found == pytest.approx(push, abs=1e-9)


@pytest.mark.parametrize("method", gates.METHODS)
@pytest.mark.parametrize("chance", gates.CHANCES)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_drawn_edge_is_where_the_push_ends(method, chance, sign):
    step = gates.edge(method, chance, sign)
    last = min(gates.RIGHT, 1 / chance)
    inside = [x for x in gates.RATIOS if x <= last]
    for ratio, push in zip(
        inside, gates.pushes(method, chance, inside, sign), strict=True
    ):
        beyond = step is not None and sign * ratio > sign * step
        assert (push == 0) == beyond
    assert len(gates.curve(method, chance, sign)) == len(gates.GRID) + 4


def test_no_probability_of_the_figure_is_above_one():
    for chance in gates.CHANCES:
        assert all(x * chance <= 1 + 1e-9 for x, _ in gates.curve("CISPO", chance, 1))


def test_the_sequence_gate_stops_all_tokens_or_none():
    for gap in sequence_ratio.GAPS:
        for odd in (0, 1, 2, 4, 8):
            for sign in (1, -1):
                for clip in sequence_ratio.RANGES:
                    grpo, gspo, cispo = sequence_ratio.weights(gap, odd, sign, clip)
                    assert len({w == 0 for w in gspo}) == 1
                    assert all(cispo)
                    assert max(cispo) <= sequence_ratio.LARGEST
    assert sequence_ratio.above(3e-4) == pytest.approx(4e-4)
    grpo, gspo, _ = sequence_ratio.weights(1.5, 2, 1, 0.2)
    assert [grpo.count(0), gspo.count(0)] == [2, 10]


@pytest.mark.parametrize("length", two_means.LENGTHS)
def test_one_mean_follows_the_extreme_and_the_other_the_whole(length):
    calm = [math.exp(x) for x in two_means.OTHERS]
    assert sum(two_means.OTHERS) == pytest.approx(0)
    blocks, rest = divmod(length - 2, len(calm))
    for up in two_means.RISES:
        for down in two_means.FALLS:
            ratios = math.exp(up) + math.exp(down) + blocks * sum(calm) + rest
            arithmetic, geometric = two_means.means(up, down, length)
            assert arithmetic == pytest.approx(ratios / length)
            assert geometric == pytest.approx(math.exp((up + down) / length))
            assert geometric <= arithmetic


def test_one_token_of_a_thousand_leaves_the_range_of_gspo():
    assert two_means.means(1.0, 0.0, 1000)[1] > 1 + two_means.HIGH
    assert two_means.means(0.0, 0.0, 1000)[1] == pytest.approx(1)
