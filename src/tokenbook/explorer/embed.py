"""A figure as an element of a static page in one language."""

import json
from pathlib import Path
from xml.etree.ElementTree import Element

from tokenbook.explorer.drawing import Dial, Drawing, is_a, load
from tokenbook.explorer.record import encode, idle, record
from tokenbook.explorer.tree import h, html, subscripts
from tokenbook.explorer.words import LANGUAGES, FigureError, Language
from tokenbook.languages.sources import noting

UID = "EXPLORERID"
"""Stands for the beginning of a figure's ids until it is put into a page."""
STATIC = Path(__file__).parent / "static"
SHEETS = ("colors.css", "explorer.css")


def page(figure: Drawing, language: str) -> str:
    """Draw the grid and write the element in one language, ids beginning with UID."""
    L = Language(language)
    live, changes = record(figure, language)
    says = readout(live)
    presets = [
        h(
            "button",
            L(preset.name),
            type="button",
            data_set=figure.setting(preset.state),
            aria_pressed=str(preset.state.items() <= figure.start.items()).lower(),
        )
        for preset in figure.presets
    ]
    sizes = tuple(len(dial.values) for dial in figure.dials)
    dials = [control(d, L, says) for d in figure.dials if d.kind != "hidden"]
    if changes:
        changes = dimmed(figure, L, dials, sizes, changes)
    still = L(
        "这一页没有运行脚本：图停在起始状态，旋钮是灰的。",
        "No script runs here: the figure rests at its start, and its dials are grey.",
    )
    body = h(
        "fieldset",
        h("p", L(figure.title), cls="ex-title", id=f"{UID}-title"),
        h(
            "div",
            *presets,
            cls="ex-presets",
            role="group",
            aria_label=L("预设", "presets"),
        )
        if presets
        else None,
        h("div", h("div", *dials, cls="ex-dials"), cls="ex-desk") if dials else None,
        live,
        h("noscript", h("p", still, cls="ex-note")) if figure.dials else None,
        disabled=bool(figure.dials),
    )
    data = {
        "k": [dial.key for dial in figure.dials],
        "s": [dial.values.index(dial.start) for dial in figure.dials],
        "v": [[dial.label(v) for v in dial.values] for dial in figure.dials],
    } | encode(sizes, changes)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return html(
        h(
            "div",
            body,
            h("p", L(figure.note), cls="ex-note") if figure.note else None,
            h("script", text.replace("<", "\\u003c"), type="application/json")
            if figure.dials
            else None,
            cls="explorer" + " wide" * figure.wide,
            role="group",
            aria_labelledby=f"{UID}-title",
            data_xp=figure.name,
            id=UID,
        )
    )


def dimmed(figure, L, controls, sizes, changes) -> list:
    """Changes of the drawing, preceded by those that dim a dial without effect.

    The controls precede the drawing, so their elements are counted first.
    """
    still, own = idle(sizes, changes), []
    shown = [k for k, dial in enumerate(figure.dials) if dial.kind != "hidden"]
    start = [state == figure.start for state in figure.states].index(True)
    says = L("在这个状态下，它什么也不改变", "changes nothing in this state")
    for element, quiet in zip(controls, (still[k] for k in shown), strict=True):
        if not quiet.any():
            continue
        at, plain = len(own) // 2, element.get("class")
        for name, words in (
            ("class", (plain, f"{plain} idle")),
            ("title", ("", says)),
        ):
            own.append((at, name, [words[q] for q in quiet.astype(int)]))
            if own[-1][2][start]:
                element.set(name, own[-1][2][start])
        element.set("data-m", "m")
    ahead = len(own) // 2
    return own + [(k + ahead, name, values) for k, name, values in changes]


def readout(live: Element) -> str:
    """Text for a screen reader after a dial was turned 读数, as in explorer.js.

    The sentence, the tiles, and the labels and counts of rows.
    """
    said = []
    for parent in live.iter():
        if is_a(parent, "ex-says") or is_a(parent, "ex-tile"):
            said += parent
        elif is_a(parent, "ex-label"):
            said += [child for child in parent if child.tag == "strong"]
        elif is_a(parent, "ex-end"):
            said += [child for child in parent if child.tag != "button"]
    return " ".join("".join(element.itertext()) for element in said)


def control(dial: Dial, L: Language, says: str) -> Element:
    """The control of a dial on a page.

    Controls have no name that a theme may use: some write the search query into every
    input named "q".
    """
    name = [
        h("b", *subscripts(dial.symbol)) if dial.symbol else None,
        h("span", L(dial.name)),
    ]
    index = dial.values.index(dial.start)
    common = {"data_key": dial.key, "autocomplete": "off"}
    if dial.kind == "choice":
        radios = [
            h(
                "label",
                h(
                    "input",
                    type="radio",
                    name=f"{UID}-{dial.key}",
                    value=i,
                    checked=i == index,
                    **common,
                ),
                h("span", L(words)),
            )
            for i, words in enumerate(dial.options)
        ]
        return h(
            "div",
            h("span", *name, cls="ex-name", id=f"{UID}-{dial.key}"),
            h("div", *radios, cls="ex-choice"),
            cls="ex-dial",
            role="radiogroup",
            aria_labelledby=f"{UID}-{dial.key}",
        )
    if dial.kind == "toggle":
        return h(
            "label",
            h("input", type="checkbox", role="switch", checked=bool(index), **common),
            h("span", *name, cls="ex-name"),
            cls="ex-dial toggle",
        )
    last, label = len(dial.values) - 1, dial.label(dial.start).replace("-", "−")
    slider = h(
        "label",
        h("span", *name, cls="ex-name"),
        h("output", label),
        h(
            "input",
            type="range",
            min=0,
            max=last,
            value=index,
            style=f"--p:{index / last:.3g}",
            aria_valuetext=f"{label}; {says}",
            **common,
        ),
        cls="ex-dial",
    )
    if dial.kind == "slider":
        return slider
    play = h(
        "button",
        type="button",
        cls="ex-play",
        data_play=dial.key,
        data_pace=dial.pace,
        aria_pressed="false",
        aria_label=L("播放：", "play: ") + L(dial.name),
    )
    return h("div", play, slider, cls="ex-time")


def page_html(module: str, language: str, uid: str) -> str:
    """The element of a module's figure in one language; its ids begin with `uid`.

    Raises:
        FigureError: no such language, or a figure that cannot be drawn.
    """
    if language not in LANGUAGES:
        raise FigureError(f"language is one of {LANGUAGES}, got {language!r}")
    with noting(module):
        return page(load(module), language).replace(UID, uid)
