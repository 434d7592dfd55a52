"""What every live figure of the course keeps to, without a browser.

A new file in `tokenbook.figures` with a FIGURE is tested by being there.
"""

import gzip
import json
import re
from dataclasses import replace

import pytest
import torch

from tokenbook.explorer import LANGUAGES, Figure, Language, embed, html, words_of
from tokenbook.explorer.drawing import is_a
from tokenbook.figures import explore, figure_names, show_strip, strip_of
from tokencredit import ALGORITHMS
from tokencredit.batch import Batch

LIVE = figure_names()
HAN = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


def gz(text: str) -> int:
    return len(gzip.compress(text.encode(), 9, mtime=0))


@pytest.fixture(scope="module", params=LIVE)
def figure(request) -> Figure:
    return explore(request.param)


@pytest.fixture(scope="module")
def built(figure) -> dict[str, str]:
    module = f"tokenbook.figures.{figure.name}"
    return {lang: embed.page_html(module, lang, embed.UID) for lang in LANGUAGES}


def seen(figure, state, language="en") -> str:
    """The drawing of a state as a reader sees it, without the knobs of the dials."""
    tree = figure.tree(language, state)
    for parent in tree.iter():
        parent[:] = [child for child in parent if not is_a(child, "grip")]
    return html(tree)


def test_a_page_weighs_at_most_12_kb_and_uses_the_contract_only(built):
    for language, text in built.items():
        assert gz(text) <= 12_000, f"{language}: {gz(text)} bytes, gzipped"
        drawing = text.partition("<script")[0]
        assert not re.findall(r"#[0-9a-f]{3,8}\b|rgb\(|<style|http", drawing)


def test_each_edition_speaks_its_language(figure, built):
    assert not HAN.search(built["en"])
    for words in (figure.title, figure.alt, *(dial.name for dial in figure.dials)):
        assert HAN.search(words[0]), words
    drawn = "".join(e.text or "" for e in figure.tree("zh", figure.start).iter())
    assert HAN.search(drawn), "no Chinese word in the drawing"


def test_the_title_is_one_sentence_that_says_something(figure):
    chinese, english = map(Language, LANGUAGES)
    assert 12 <= len(chinese(figure.title)) <= 44
    assert 30 <= len(english(figure.title)) <= 90
    assert not re.search(
        r"[。.]$|[。.] ", chinese(figure.title) + english(figure.title)
    )


def test_the_first_preset_is_the_start_and_the_others_lead_elsewhere(figure):
    if not figure.dials:
        return
    assert 2 <= len(figure.presets) <= 6
    first, *others = figure.presets
    assert {**figure.start, **first.state} == figure.start
    for preset in others:
        assert {**figure.start, **preset.state} != figure.start, preset.name


def test_two_to_five_labelled_numbers_make_the_readout(figure):
    tree = figure.tree("en", figure.start)
    tiles = [e for e in tree.iter() if is_a(e, "ex-tile")]
    ends = [e for e in tree.iter() if is_a(e, "ex-row") and e[2][0].tag != "button"]
    ends = [e for e in ends if e[2][0].text]
    if figure.dials:
        assert 2 <= len(tiles) <= 4 or 2 <= len(ends) <= 5
    assert embed.readout(tree) or not figure.dials


def test_every_step_of_every_dial_changes_the_drawing(figure):
    for dial in figure.dials:
        states = [figure.start | {dial.key: value} for value in dial.values]
        drawn = [seen(figure, state) for state in states]
        assert len(set(drawn)) == len(drawn), f"a dead step of {dial.key}"


def test_a_sentence_stays_long_enough_to_be_read_when_time_plays(figure):
    for dial in (dial for dial in figure.dials if dial.kind == "time"):
        trees = [figure.tree("en", figure.start | {dial.key: v}) for v in dial.values]
        said = {words_of(e) for t in trees for e in t.iter() if is_a(e, "ex-says")}
        assert dial.pace >= (2000 if len(said) > 1 else 100)


def test_every_dial_has_a_control_that_a_key_can_reach(figure, built):
    for dial in figure.dials:
        chosen = {preset.state.get(dial.key) for preset in figure.presets}
        if dial.kind == "hidden" and chosen >= {*dial.values}:
            continue  # a preset, which is a button, for each value
        if dial.kind == "hidden":
            wanted = rf'data-(?:flip="{dial.key}"|pick="{dial.key}:)'
        else:
            wanted = f'data-key="{dial.key}"'
        assert re.search(wanted, built["en"]), f"no control for {dial.key}"
    for key in re.findall(r'data-drag-[xy]="(\w+):', built["en"]):
        assert f'data-key="{key}"' in built["en"], f"{key} can only be dragged"


def test_between_the_values_of_the_book_a_live_kernel_can_draw_too(figure):
    for dial in figure.dials:
        if dial.fine:
            low, high = sorted(dial.values)[1:3]
            state = figure.start | {dial.key: (low + high) / 2 + 1e-3}
            assert seen(figure, state) != seen(figure, figure.start)


def test_an_output_in_git_is_small_and_holds_no_widget_state(figure):
    bundle, metadata = figure._repr_mimebundle_()
    assert bundle.pop("application/vnd.jupyter.widget-view+json")
    assert sorted(bundle) == ["image/png", "text/plain"]
    assert len(json.dumps(bundle)) <= 20_000
    assert metadata == {"explorer": {"figure": f"tokenbook.figures.{figure.name}"}}
    lines = bundle["text/plain"].splitlines()
    assert lines[0] == figure.name
    assert not HAN.search(bundle["text/plain"])


def test_the_course_has_its_live_figures():
    assert {"hero", "three_attempts", "aggregation", "sequence_ratio"} <= set(LIVE)
    assert {"group_rewards", "clip_higher", "dead_groups"} <= set(LIVE)


# The token strip of a batch.

WORDS = "ab+=$"
GRPO = replace(ALGORITHMS["GRPO"], kl_coef=0.0)


@pytest.fixture
def batch() -> Batch:
    """Two responses to one prompt of two tokens; the first is right and longer."""
    tokens = torch.tensor([[0, 1, 2, 3, 4], [0, 1, 3, 4, 0]])
    mask = torch.tensor([[0, 0, 1, 1, 1], [0, 0, 1, 1, 0]]).bool()
    rewards = torch.zeros(2, 5)
    rewards[0, 4] = 1.0
    return Batch(
        tokens=tokens,
        mask=mask,
        old_log_probs=torch.where(mask, -1.0, 0.0),
        rewards=rewards,
        groups=torch.tensor([0, 0]),
        truncated=torch.tensor([False, False]),
    )


def test_a_strip_of_a_batch_has_its_words_its_credit_and_its_gradient(batch):
    strip = strip_of(batch, 0, WORDS, GRPO)
    assert "".join(strip.words) == "ab+=$"
    assert strip.who == ["prompt", "prompt", "model", "model", "model"]
    # two rewards, 1 and 0: the sample standard deviation is 1 over the root of two
    assert strip.credit == pytest.approx([0, 0, *[0.5 * 2**0.5] * 3], rel=1e-3)
    # a mean of the tokens of each row, and then of the two rows
    assert strip.push == pytest.approx([0, 0, *[0.5 * 2**0.5 / 6] * 3], rel=1e-3)
    other = strip_of(batch, 1, WORDS, GRPO)
    assert "".join(other.words) == "ab=$", "what stands after the end is not shown"
    assert other.push == pytest.approx([0, 0, *[-0.5 * 2**0.5 / 4] * 2], rel=1e-3)


def test_a_clipped_token_is_hatched_and_only_where_the_clip_silences_it(batch):
    moved = batch.old_log_probs + torch.tensor([0, 0, 0.5, -0.5, 0.0])
    assert strip_of(batch, 0, WORDS, GRPO, moved).dead == [0, 0, 1, 0, 0]
    assert strip_of(batch, 1, WORDS, GRPO, moved).dead == [0, 0, 0, 1]
    whole = strip_of(batch, 0, WORDS, ALGORITHMS["GSPO"], batch.old_log_probs + 0.1)
    assert whole.dead == [0, 0, 1, 1, 1], "one ratio for all, out of range"


def test_the_batch_keeps_its_own_advantages_if_it_has_them(batch):
    own = replace(batch, advantages=torch.where(batch.mask, 3.0, 0.0))
    assert strip_of(own, 0, WORDS, GRPO).credit == [0, 0, 3, 3, 3]


def test_what_the_algorithm_needs_and_the_batch_has_not_is_named(batch):
    with pytest.raises(ValueError, match="needs ref_log_probs"):
        strip_of(batch, 0, WORDS, ALGORITHMS["GRPO"])
    with pytest.raises(ValueError, match="PPO: its advantage needs values"):
        strip_of(batch, 0, WORDS, ALGORITHMS["PPO"])
    with pytest.raises(ValueError, match="i must be a row, 0 to 1, got 2"):
        strip_of(batch, 2, WORDS, GRPO)


def test_strips_are_stored_as_a_picture_text_and_their_data(batch):
    shown = show_strip(*(strip_of(batch, i, WORDS, GRPO) for i in (0, 1)))
    bundle, metadata = shown._repr_mimebundle_()
    assert bundle.pop("application/vnd.jupyter.widget-view+json")
    assert sorted(bundle) == ["image/png", "text/plain"]
    assert len(json.dumps(bundle)) <= 10_000
    stored = json.loads(json.dumps(metadata))["explorer"]
    assert [strip["words"] for strip in stored["strips"]] == [[*"ab+=$"], [*"ab=$"]]
    assert bundle["text/plain"] == (
        "GRPO\n"
        "a b   +     =     $\n"
        ". .   1     1     1\n"
        ". . 0.707 0.707 0.707\n"
        ". . 0.118 0.118 0.118\n\n"
        "GRPO\n"
        "a b   =      $\n"
        ". .   1      1\n"
        ". . −0.707 −0.707\n"
        ". . −0.177 −0.177"
    )
