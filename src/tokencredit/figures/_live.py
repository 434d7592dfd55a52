"""A live figure on a kernel: ipywidgets, finer steps, errors shown in the picture."""

import copy
import traceback
from html import escape
from itertools import count
from pathlib import Path

import ipywidgets

from tokencredit.figures._explorer import Dial, Explorer
from tokencredit.figures._record import Recorder, parse
from tokencredit.figures._style import panels, unique_ids

STYLE = (Path(__file__).parent / "static" / "explorer.css").read_text("utf-8")
NUMBERS = count()


def slider(dial: Dial, name: str) -> ipywidgets.Widget:
    """A slider through the dial's range, ten steps where the book has one."""
    label = f"{dial.symbol} {name}"
    common = {"description": label, "style": {"description_width": "16em"}}
    common["layout"] = {"width": "36em", "max_width": "100%"}
    if not dial.fine:
        options = [(dial.label(v), v) for v in dial.values]
        return ipywidgets.SelectionSlider(options=options, value=dial.start, **common)
    gaps = [b - a for a, b in zip(dial.values, dial.values[1:], strict=False)]
    return ipywidgets.FloatSlider(
        value=dial.start,
        min=min(dial.values),
        max=max(dial.values),
        step=round(min(map(abs, gaps)) / 10, 6),
        readout_format=".3f",
        **common,
    )


def widget(explorer: Explorer) -> ipywidgets.Widget:
    """The figure and its sliders; the picture is a widget that holds its own SVG."""
    recorder = Recorder(explorer)
    tree, groups = recorder.start()
    prefix = f"live-{next(NUMBERS)}"
    alt = " ".join(explorer.alt.values())
    picture = ipywidgets.HTML()
    names = {d.key: " ".join(d.name.values()) for d in explorer.dials}
    sliders = {d.key: slider(d, names[d.key]) for d in explorer.dials}

    def draw(change=None):
        state = {key: slider.value for key, slider in sliders.items()}
        try:
            moved, numbers = recorder.move(state)
            for number, text in moved.items():
                group = parse(text)
                groups[number][:], groups[number].attrib = list(group), group.attrib
            page = copy.deepcopy(tree)
            unique_ids(page, prefix)
            svg = panels(page, alt)
            says = "<br>".join(explorer.say(k, numbers) for k in explorer.readout)
        except Exception:
            error = escape(traceback.format_exc())
            picture.value = f"<pre role='alert'>{error}</pre>"
            raise
        picture.value = f"<style>{STYLE}</style>{svg}<p class='xp-readout'>{says}</p>"

    for each in sliders.values():
        each.observe(draw, "value")
    draw()
    title = ipywidgets.HTML(f"<b>{' · '.join(explorer.title.values())}</b>")
    return ipywidgets.VBox([title, picture, *sliders.values()])
