"""What the live figures of the chapter on clusters claim."""

from itertools import product

import pytest

from tokenbook.figures import batch_steps, cluster

ALL = list(
    product(batch_steps.PARTS, batch_steps.CARDS, batch_steps.SIZES, batch_steps.EPOCHS)
)


@pytest.mark.parametrize(("part", "cards", "size", "epochs"), ALL)
def test_every_plan_uses_every_response_once_per_epoch(part, cards, size, epochs):
    updates, passes, _ = batch_steps.plan(part, cards, size, epochs)
    assert updates * part == epochs * 512 * 16
    assert passes * cards * size == part


def test_the_batch_of_the_chapter_in_the_words_of_three_libraries():
    """512 prompts, 16 responses, 2048 an update, 8 cards of 8: by hand."""
    assert batch_steps.plan(2048, 8, 8, 1) == (4, 32, 1)
    words = batch_steps.settings(512, 16, 2048, 8, 8, 1)
    assert words["TRL"]["gradient_accumulation_steps"] == 32
    assert words["TRL"]["steps_per_generation"] == 128
    assert words["verl"]["ppo_mini_batch_size"] == 128  # prompts
    assert words["OpenRLHF"]["train.batch_size"] == 2048  # responses


@pytest.mark.parametrize(
    ("group", "verl", "per_generation"), [(8, 256, 64), (16, 128, 128), (32, 64, 256)]
)
def test_the_options_follow_the_group(group, verl, per_generation):
    """2048 responses an update: 256 groups of 8, 64 of 32; TRL takes 512 G / 64."""
    words = batch_steps.settings(512, group, 2048, 8, 8, 1)
    assert words["verl"]["ppo_mini_batch_size"] == verl
    assert words["TRL"]["gradient_accumulation_steps"] == 32
    assert words["TRL"]["steps_per_generation"] == per_generation
    assert words["OpenRLHF"]["train.batch_size"] == 2048


@pytest.mark.parametrize(
    ("batch", "what"),
    [
        ((192, 16, 2048, 8, 8, 1), "into updates"),  # 1.5 updates
        ((512, 16, 2048, 24, 8, 1), "into passes"),
        ((512, 24, 2048, 8, 8, 1), "into groups"),  # 6 updates, 85.3 groups in each
    ],
)
def test_what_does_not_divide_is_refused(batch, what):
    with pytest.raises(ValueError, match=what):
        batch_steps.settings(*batch)


def test_the_handovers_are_counted_in_bytes():
    """Ids and log-probs 2 x 4 x 8192 x 1000, scores 4 x 8192, weights 2 x 7e9."""
    sizes = [cluster.size(cluster.moved(place)) for place in range(5)]
    assert sizes == ["66 MB", "33 kB", "66 MB", "14 GB", "14 GB"]


def test_the_two_engines_of_the_first_figure_are_far_apart_at_one_token():
    """The numbers themselves are held by a cell of the chapter."""
    shown = cluster.RESPONSE[: cluster.FIRST] + cluster.RESPONSE[-1]
    assert len(shown) == len(cluster.MU) == len(cluster.PI)
    assert shown[cluster.WORST] == "1" and shown[-1] == "$"
    gaps = [abs(p - m) for m, p in zip(cluster.MU, cluster.PI, strict=True)]
    assert gaps.pop(cluster.WORST) > 0.9 and max(gaps) < 0.05
    assert cluster.SIGNS.reward(cluster.PROMPT, cluster.RESPONSE) == 0
