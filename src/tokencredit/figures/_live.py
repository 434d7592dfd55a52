"""A live figure on a kernel: ipywidgets, finer steps, errors shown in the picture."""

import copy
import math
import traceback
from html import escape
from itertools import count
from pathlib import Path

import ipywidgets
from matplotlib import rc_context

from explorer.colors import SHEET
from tokencredit.figures._explorer import Dial, Explorer
from tokencredit.figures._record import Recorder, parse
from tokencredit.figures._style import RC, panels, unique_ids

STYLE = SHEET.read_text("utf-8")
STYLE += (Path(__file__).parent / "static" / "figures.css").read_text("utf-8")
NUMBERS = count()


def slider(dial: Dial, name: str) -> ipywidgets.Widget:
    """A slider through the dial's range, with ten steps where the grid has one."""
    common = {"description": f"{dial.symbol} {name}", "value": dial.start}
    common["style"] = {"description_width": "initial"}
    common["layout"] = {"width": "44em", "max_width": "100%"}
    if not dial.fine:
        options = [(dial.label(v), v) for v in dial.values]
        return ipywidgets.SelectionSlider(options=options, **common)
    low, high = min(dial.values), max(dial.values)
    grid = math.gcd(*(round((v - low) * 1_000_000) for v in dial.values))
    return ipywidgets.FloatSlider(
        min=low, max=high, step=grid / 1e7, readout_format=".3f", **common
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
            with rc_context(RC):
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
