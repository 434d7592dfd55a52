"""The card of a chapter, drawn and looked at: which arrow is lit."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tokenbook.explorer.colors import palette
from tokenbook.figures import STAGES
from tokenbook.site.pages.course import plan
from tokenbook.site.theme.social import card

ROOT = Path(__file__).parents[1]
ROWS = {row["number"]: row for row in plan(ROOT)}


def lit(figure) -> list[str]:
    """The stages whose arrow, in the picture, has the colour of the mark."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)
    said = {text.get_text(): text.get_window_extent() for text in figure.texts}
    (lang,) = [k for k in ("zh", "en") if STAGES["tokens"][k] in said]
    mark = [int(palette()["mark"][n : n + 2], 16) for n in (1, 3, 5)]
    found, boxes = [], [said[stage[lang]] for stage in STAGES.values()]
    for name, left, right in zip([*STAGES][1:], boxes, boxes[1:], strict=False):
        rows = slice(*(int(len(pixels) - y) for y in (left.y1, left.y0)))
        gap = pixels[rows, int(left.x1) + 1 : int(right.x0)]
        if (np.abs(gap - mark).max(-1) < 8).sum() > 100:
            found.append(name)
    return found


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("arrow", ["all", *[*STAGES][1:]])
def test_the_arrow_of_a_chapter_is_lit_and_no_other(arrow, lang):
    row = next(row for row in ROWS.values() if row["arrow"] == arrow)
    wanted = [*STAGES][1:] if arrow == "all" else [arrow]
    assert lit(card(row, lang, "Token Credit")) == wanted


@pytest.mark.parametrize("number", ROWS)
def test_nothing_on_a_card_is_cut_or_written_over(number):
    for lang in ("zh", "en"):
        figure = card(ROWS[number], lang, "Token Credit")
        FigureCanvasAgg(figure).draw()
        boxes = [text.get_window_extent() for text in figure.texts]
        for n, box in enumerate(boxes):
            assert box.x0 >= 0 and box.x1 <= 1200 and box.y0 >= 0 and box.y1 <= 630
            assert not any(box.overlaps(other) for other in boxes[:n])
