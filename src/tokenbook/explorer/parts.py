"""Parts of a drawing: chips of tokens and their rows, tiles, cards, bars, legends.

Every part is a function that returns an element; `static/explorer.css` gives it its
look on a page, `paint` in a picture. A `look` is a role of the colour contract:
"up", "down", "ink", "old", "alt", "sel" (look here), "off" (no gradient).
"""

from collections.abc import Sequence
from itertools import pairwise, takewhile
from xml.etree.ElementTree import Element

from tokenbook.explorer.tree import h, minus, short, subscripts
from tokenbook.explorer.words import FigureError

WRITERS = ("model", "prompt", "env")


def chip(
    word: str,
    credit: float = 0.0,
    push: float = 0.0,
    *,
    trained: bool = True,
    dead: bool = False,
    who: str = "model",
    caption: str | None = None,
    look: str = "",
) -> Element:
    """One token 词元 of a strip or a row.

    Args:
        word: its text.
        credit: fills it, from -1 (down) to 1 (up); `shade` scales a number for the eye.
        push: the bar above (up) or below (down) it, from -1 to 1.
        trained: rings it: the token is learned from.
        dead: hatches it: it is learned from, and its gradient is zero.
        who: wrote it: "model", "prompt" or "env", the environment.
        caption: small words below.
        look: "sel" highlights it, "plain" leaves out fill and ring, "last" leaves room
            after it.

    Raises:
        FigureError: another writer, or a credit or push beyond 1.
    """
    if who not in WRITERS:
        raise FigureError(f"chip {word!r}: who is one of {WRITERS}, got {who!r}")
    for name, value in (("credit", credit), ("push", push)):
        if not abs(value) <= 1.0001:
            raise FigureError(f"chip {word!r}: {name} is {value}, not in -1 ... 1")
    classes = [look, "on" * trained, "off" * dead, who * (who != "model")]
    return h(
        "span",
        h("b", minus(word)),
        None if caption is None else h("i", caption),
        cls=" ".join(["ex-chip", *classes]),
        style=f"--c:{short(credit)};--b:{short(push)}",
    )


def shade(credit: float, largest: float = 1.0) -> float:
    """Strength of a credit's fill 底色: the square root, so that a fifth is visible.

    >>> [shade(x, 2.0) for x in (2.0, 0.5, 0.0, -0.5)]
    [1.0, 0.5, 0.0, -0.5]
    """
    size = min(1.0, abs(credit) / largest) ** 0.5 if largest else 0.0
    return -size if credit < 0 else size


def strip(*chips: Element, ways: str = "updown", tries: bool = False) -> Element:
    """Tokens one after another 词元条; the line breaks where the page ends.

    A response that follows a prompt continues where it began, never under the prompt.

    Args:
        chips: from `chip`.
        ways: directions of the bars, which need room: "updown", "up", "down" or "".
        tries: break lines after a ✗, so that a try stays in one piece where it can;
            for chips whose words are the same in every state.
    """
    asked = [*takewhile(lambda c: "prompt" in c.get("class", "").split(), chips)]
    said = chips[len(asked) :]
    parts = [_tries(part) if tries else part for part in (asked, said)]
    if asked and said:
        chips = (
            h("span", *parts[0], cls="ex-asked"),
            h("span", *parts[1], cls="ex-said", style=f"--n:{len(said)}"),
        )
    else:
        chips = [*parts[0], *parts[1]]
    return h("div", *chips, cls=f"ex-strip {ways or 'flat'}")


def _tries(chips: Sequence[Element]) -> Sequence[Element]:
    """Tokens by tries: each ends with its ✗, a prompt with its ?, and $ is no try."""
    ends = [k + 1 for k, c in enumerate(chips[:-2]) if c[0].text in ("✗", "?")]
    if not ends:
        return chips
    cuts = pairwise([0, *ends, len(chips)])
    return [h("span", *chips[a:b], cls="ex-try") for a, b in cuts]


def row(
    label: str,
    chips: Sequence[Element],
    end: str | Element = "",
    *,
    sub: str = "",
    end_sub: str = "",
    look: str = "",
) -> Element:
    """A row of a matrix 一行: label, one cell per token, a count at the end.

    On a phone the label and the count are above the cells.

    Args:
        label, sub: its name and a short description.
        chips: one per column; the rows of a drawing have the same number.
        end, end_sub: a number at the end and its unit, or a `card`.
        look: "up" or "down" if all bars have that direction, "heads" for words alone.
    """
    return h(
        "div",
        h("div", h("strong", label), h("small", sub), cls="ex-label"),
        h("div", *chips, cls="ex-cells", style=f"--n:{len(chips)}"),
        h(
            "div",
            h("b", end) if isinstance(end, str) else end,
            h("small", end_sub),
            cls="ex-end",
        ),
        cls=f"ex-row {look}",
    )


def tile(label: str, value: str, note: str | None = None, *, look: str = "") -> Element:
    """A labelled number of the readout 读数: name, value, meaning."""
    small = None if note is None else h("small", note)
    return h(
        "div",
        h("span", *subscripts(label)),
        h("b", value),
        small,
        cls=f"ex-tile {look}",
    )


def card(
    *words: str | Element,
    flip: str = "",
    pick: tuple[str, int] | None = None,
    pressed: bool,
    mark: str = "",
    look: str = "",
    says: str | None = None,
) -> Element:
    """A button 卡片 that turns a dial and is the dial's only control.

    Args:
        words: its text.
        flip: the dial whose next value a click takes.
        pick: or a dial, and the index of the value that a click sets.
        pressed: whether that value is set; for `flip`, whether it is "yes".
        mark: a sign in a circle before the words, such as ✓.
        look: "up" or "down".
        says: its accessible name, if the words do not suffice.
    """
    return h(
        "button",
        h("i", mark, cls="ex-mark", aria_hidden="true") if mark else None,
        *(h("span", minus(w)) if isinstance(w, str) else w for w in words),
        cls=f"ex-card {look}",
        type="button",
        aria_pressed=str(pressed).lower(),
        aria_label=says,
        data_flip=flip or None,
        data_pick=f"{pick[0]}:{pick[1]}" if pick else None,
    )


def option(
    label: str,
    body: str | Element = "",
    end: str = "",
    *,
    sub: str = "",
    pick: tuple[str, int],
    pressed: bool,
) -> Element:
    """One of a list to choose from 选项: a name, a small drawing, a number; a click.

    Args:
        label, sub: its name, and a few words about it.
        body: such as `bars`.
        end: a number.
        pick, pressed: as in `card`.
    """
    return h(
        "button",
        h("span", h("b", label), h("small", sub), cls="ex-label"),
        body,
        h("b", end, cls="ex-end"),
        cls="ex-option",
        type="button",
        aria_pressed=str(pressed).lower(),
        data_pick=f"{pick[0]}:{pick[1]}",
    )


def bars(*shares: tuple[float, str], cls: str = "") -> Element:
    """Shares of a whole in one bar 份额: ``bars((0.2, "ink"), (0.8, "old"))``."""
    parts = [h("i", cls=look, style=f"width:{short(100 * s)}%") for s, look in shares]
    return h("span", *parts, cls=f"ex-bars {cls}")


def dots(right: int, size: int, *, look: str = "") -> Element:
    """A group of responses as dots 一组回答: `right` filled ones, then hollow ones.

    Args:
        right: how many of them are right.
        size: how many there are.
        look: "off" for a group without gradient, all in grey.
    """
    return h("i", cls=f"ex-dots {look}", style=f"--r:{right};--n:{size}")


def grid(*parts: Element, columns: int) -> Element:
    """Equal parts in columns 网格, filled from left to right."""
    return h("div", *parts, cls="ex-grid", style=f"--n:{columns}")


def side(*parts: Element, shares: Sequence[float] = (1, 1)) -> Element:
    """Drawings beside each other 并排, under each other on a phone."""
    columns = " ".join(f"minmax(0,{short(s)}fr)" for s in shares)
    return h("div", *parts, cls="ex-side", style=f"--columns:{columns}")


def line(*parts: Element) -> Element:
    """Small parts on one line 一行, such as a legend and a card."""
    return h("div", *parts, cls="ex-line")


def stack(*parts: Element) -> Element:
    """Drawings under each other 上下排."""
    return h("div", *parts, cls="ex-stack")


def caption(words: str) -> Element:
    """A quiet line 说明 above or below a drawing."""
    return h("p", words, cls="ex-caption")


def legend(*keys: tuple) -> Element:
    """The legend of the marks 图例: ``legend(("up", "credit > 0"), ("off", "none"))``.

    Args:
        keys: pairs of a look and its words. A look is a role of the colours, with
            "line" or "dot" for another shape: "up dot", "old line"; "bar" is a push; ""
            is for words without a mark. A third entry is whether this state has any:
            ``("off", "none", any(dead))``.
    """

    def said(words: str) -> str | Element:
        parts = subscripts(words)
        return h("span", *parts) if len(parts) > 1 else words

    return h(
        "p",
        *(
            h(
                "span",
                h("i", cls=f"ex-key {look}") if look else None,
                said(words),
                cls="" if all(there) else "absent",
            )
            for look, words, *there in keys
        ),
        cls="ex-legend",
    )
