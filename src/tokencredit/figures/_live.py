"""A live figure on a kernel: ipywidgets, finer steps, errors shown in the picture."""

import traceback
from html import escape
from pathlib import Path

import ipywidgets

from tokencredit.figures._explorer import Dial, Explorer
from tokencredit.figures._style import draw_svg, inline_svg

STYLE = (Path(__file__).parent / "static" / "explorer.css").read_text("utf-8")


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
    fig, update = explorer.make()
    picture = ipywidgets.HTML()
    names = {d.key: " ".join(d.name.values()) for d in explorer.dials}
    sliders = {d.key: slider(d, names[d.key]) for d in explorer.dials}

    def draw(change=None):
        state = {key: slider.value for key, slider in sliders.items()}
        try:
            numbers = update(state)
            svg = inline_svg(draw_svg(fig), " ".join(explorer.alt.values()), "live")
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
