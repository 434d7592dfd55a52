"""A figure on a kernel: ipywidgets, finer steps, errors shown in the drawing.

Drawing and words are the tree of the page; clicks and drags are widgets. One switch
changes the language of all figures of the notebook.
"""

import html as text
import locale
import math
import traceback

import ipywidgets
import traitlets

from tokenbook import languages
from tokenbook.explorer.drawing import Dial, Drawing, State
from tokenbook.explorer.embed import SHEETS, STATIC
from tokenbook.explorer.tree import h, html
from tokenbook.explorer.words import LANGUAGES, Language

STYLE = "".join((STATIC / name).read_text("utf-8") for name in SHEETS)


class Reader(traitlets.HasTraits):
    """The language of the figures in this kernel."""

    language = traitlets.Enum(LANGUAGES)


READER = Reader(
    language="zh"
    if (locale.getlocale()[0] or "").startswith(("zh", "Chinese"))
    else "en"
)


def style() -> ipywidgets.HTML:
    """The style sheet, which a notebook does not have."""
    return ipywidgets.HTML(f"<style>{STYLE}</style>", layout={"display": "none"})


def switch() -> ipywidgets.ToggleButtons:
    """The switch of the language."""
    buttons = ipywidgets.ToggleButtons(
        options=[(book.name, key) for key, book in languages.LANGUAGES.items()],
        value=READER.language,
    )
    buttons.style.button_width = "6em"
    ipywidgets.link((READER, "language"), (buttons, "value"))
    return buttons


def control(dial: Dial) -> ipywidgets.Widget:
    """The widget of a dial; a slider has ten steps where the grid has one."""
    common = {
        "value": dial.start,
        "style": {"description_width": "initial"},
        "layout": {"width": "44em", "max_width": "100%"},
    }
    labels = [(dial.label(v), v) for v in dial.values]
    if dial.fine:
        low, high = min(dial.values), max(dial.values)
        grid = math.gcd(*(round((v - low) * 1_000_000) for v in dial.values))
        return ipywidgets.FloatSlider(
            min=low, max=high, step=grid / 1e7, readout_format=".3f", **common
        )
    if dial.kind == "choice" or len(labels) == 2:
        return ipywidgets.ToggleButtons(options=labels, **common)
    return ipywidgets.SelectionSlider(options=labels, **common)


def widget(figure: Drawing) -> ipywidgets.Widget:
    """The figure with its dials and presets."""
    picture, title = ipywidgets.HTML(), ipywidgets.HTML()
    dials = {dial.key: control(dial) for dial in figure.dials}
    presets = [ipywidgets.Button(layout={"width": "auto"}) for _ in figure.presets]

    def draw(change=None):
        state = {key: dial.value for key, dial in dials.items()}
        try:
            live = figure.tree(READER.language, state)
        except Exception:
            error = text.escape(traceback.format_exc())
            picture.value = f"<pre role='alert'>{error}</pre>"
            raise
        shown = h("div", live, cls="explorer kernel" + " wide" * figure.wide)
        picture.value = html(shown)

    def speak(change=None):
        L = Language(READER.language)
        title.value = f"<b>{text.escape(L(figure.title))}</b>"
        for button, preset in zip(presets, figure.presets, strict=True):
            button.description = L(preset.name)
        for dial in figure.dials:
            dials[dial.key].description = f"{dial.symbol} {L(dial.name)}".strip()
            if dial.options:
                value = dials[dial.key].value
                names = map(L, dial.options)
                options = list(zip(names, dial.values, strict=True))
                dials[dial.key].options, dials[dial.key].value = options, value
        draw()

    def go(state: State):
        for key, value in state.items():
            dials[key].unobserve(draw, "value")
            dials[key].value = value
            dials[key].observe(draw, "value")
        draw()

    for button, preset in zip(presets, figure.presets, strict=True):
        button.on_click(lambda _, state=preset.state: go(state))
    for dial in dials.values():
        dial.observe(draw, "value")
    READER.observe(speak, "language")
    speak()
    head = ipywidgets.HBox([switch(), *presets], layout={"flex_flow": "row wrap"})
    rows = [playing(dial, dials[dial.key]) for dial in figure.dials]
    return ipywidgets.VBox([style(), title, head, picture, *rows])


def playing(dial: Dial, slider: ipywidgets.Widget) -> ipywidgets.Widget:
    """The control of a dial, with a play button for time."""
    if dial.kind != "time":
        return slider
    last, start = len(dial.values) - 1, dial.values.index(dial.start)
    play = ipywidgets.Play(max=last, interval=dial.pace, show_repeat=False)
    play.value = start
    ipywidgets.jslink((play, "value"), (slider, "index"))
    return ipywidgets.HBox([play, slider])


def still(drawing) -> ipywidgets.Widget:
    """A drawing without dials, in the language of the reader."""
    picture = ipywidgets.HTML()

    def speak(change=None):
        tree = drawing.tree(READER.language)
        picture.value = html(h("div", tree, cls="explorer kernel wide"))

    READER.observe(speak, "language")
    speak()
    return ipywidgets.VBox([style(), picture])
