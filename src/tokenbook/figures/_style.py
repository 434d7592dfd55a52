"""The look of every figure: colours, canvas, and SVG that follows the page's theme."""

import base64
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import count
from string import ascii_lowercase
from xml.etree import ElementTree

import numpy as np
from matplotlib import cycler, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tokenbook.explorer.colors import mix, palette

_ROLES = palette()
COLORS = {
    "blue": _ROLES["up"],
    "vermilion": _ROLES["down"],
    "purple": _ROLES["alt"],
    "orange": _ROLES["mark"],
    "sky": mix(_ROLES["up"], _ROLES["paper"], 0.45),
    "ink": _ROLES["ink"],
    "grey": _ROLES["muted"],
    "light": _ROLES["line"],
}
"""The colour contract by the names of its hues: blue is up and right, vermilion down
and wrong, purple a third line, orange "look here", sky a pale blue. On a page each is
``--fig-NAME`` of ``static/figures.css``, so dark mode has its own values."""

LEVELS = (
    {"color": COLORS["grey"], "ls": ":"},
    {"color": COLORS["grey"], "ls": "-"},
    {"color": COLORS["ink"], "ls": "--"},
    {"color": COLORS["ink"], "ls": "-"},
)
"""The looks of lines that differ in one parameter 一个参数的几个值, from little to
much: the hues of COLORS say up or down, right or wrong, so a value gets none."""

RC = {
    "axes.edgecolor": COLORS["grey"],
    "axes.facecolor": "none",
    "axes.labelcolor": COLORS["ink"],
    "axes.labelsize": 9,
    "axes.prop_cycle": cycler(color=[COLORS[c] for c in ("blue", "vermilion")]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "grid.color": COLORS["light"],
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "path.simplify": False,
    "savefig.facecolor": "auto",
    "svg.fonttype": "none",
    "svg.hashsalt": "token-credit",
    "text.color": COLORS["ink"],
    "xtick.color": COLORS["grey"],
    "xtick.labelcolor": COLORS["ink"],
    "xtick.labelsize": 8,
    "ytick.color": COLORS["grey"],
    "ytick.labelcolor": COLORS["ink"],
    "ytick.labelsize": 8,
}

HEAD = 12
"""From the top of a panel to the line of its letter and its title, in points."""

_VARIABLE = {value: f"var(--fig-{name})" for name, value in COLORS.items()}
_VARIABLE |= {"#000000": "var(--fig-ink)", "#ffffff": "var(--fig-paper)"}
_HEX = re.compile(r"#[0-9a-f]{6}\b")
_DECIMAL = re.compile(r"-?\d+\.\d+")
_SIGNED_ZERO = re.compile(r"[-−](?=0(\.0+)?(?![\d.]))")
_GEOMETRY = ("d", "x", "y", "width", "height", "transform", "points")


def canvas(
    rows: int = 1,
    cols: int = 1,
    *,
    width: float | None = None,
    height: float | None = None,
    left: float = 0.5,
    right: float = 0.15,
    top: float = 0.25,
    bottom: float = 0.42,
):
    """Make an empty figure 画布 of `rows` x `cols` panels in the course's style.

    Panels are side by side on a wide page and under each other on a phone, with type of
    the same size. Margins are fixed, so that nothing shifts between states.

    Args:
        rows, cols: the grid of panels.
        width, height: of one panel with its margins, in inches.
        left, right, top, bottom: margins of one panel, in inches.

    Returns:
        ``fig, ax`` for one panel, ``fig, axes`` (an array as `plt.subplots` gives it)
        for several.
    """
    width = width or (3.75 if cols == 1 else 3.4)
    height = height or 2.5
    axes = np.empty((rows, cols), dtype=object)
    with rc_context(RC):
        fig = Figure(figsize=(cols * width, rows * height), dpi=72)
        for r, c in np.ndindex(rows, cols):
            ax = fig.add_axes(
                (
                    (c * width + left) / (cols * width),
                    ((rows - 1 - r) * height + bottom) / (rows * height),
                    (width - left - right) / (cols * width),
                    (height - top - bottom) / (rows * height),
                )
            )
            box = (c * width, r * height, width, height)
            ax.set_gid("panel " + " ".join(f"{72 * x:g}" for x in box))
            ax.yaxis.label.set_rotation_mode("anchor")
            for axis in "xy":
                ax.tick_params(
                    axis=axis,
                    color=RC[f"{axis}tick.color"],
                    labelcolor=RC[f"{axis}tick.labelcolor"],
                    labelsize=RC[f"{axis}tick.labelsize"],
                )
            axes[r, c] = ax
    axes = axes.squeeze()
    return fig, axes if axes.ndim else axes.item()


def name_lines(ax: Axes, loc: str = "", ncols: int = 9) -> None:
    """Name the labelled lines of a panel 图例, each beside a piece of itself.

    Every panel has its own names: on a phone the next one is a screen away.

    Args:
        ax: the panel.
        loc: a free corner, as in ``ax.legend``; without one the names are in a row
            above the panel, for which ``canvas(top=0.45)`` has room.
        ncols: names in a row.
    """
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": ncols}
    with rc_context(RC):
        ax.legend(
            **({"loc": loc} if loc else above),
            borderaxespad=0.2,
            borderpad=0.2,
            columnspacing=1.1,
            fontsize=8,
            handlelength=2,
            handletextpad=0.5,
            labelspacing=0.3,
        )


def name_ends(ax: Axes, gap: float = 11.0) -> None:
    """Name the labelled lines of a panel at their right ends 线尾标名, top to bottom.

    A name is as near to the height of its end as `gap` allows, after a piece of its
    line. Call it after setting limits and scale; ``canvas(right=1.2)`` has room.

    Args:
        ax: the panel.
        gap: the least distance between two names, in points.
    """
    lines = [x for x in ax.lines if not x.get_label().startswith("_")]
    box = ax.get_window_extent()
    ends = [ax.transData.transform(x.get_xydata()[-1])[1] - box.y0 for x in lines]
    points = 72 / ax.figure.dpi
    order = np.argsort(ends, kind="stable")
    for n, y in zip(order, spread_out(np.sort(ends) * points, gap), strict=True):
        line, y = lines[n], y / points / box.height
        look = {"color": line.get_color(), "transform": ax.transAxes, "clip_on": False}
        at, to, text = 1 + np.array([5, 23, 27]) / points / box.width
        ax.plot([at, to], [y, y], ls=line.get_linestyle(), lw=line.get_lw(), **look)
        with rc_context(RC):
            ax.text(text, y, line.get_label(), va="center", fontsize=8, **look)


def spread_out(wanted: np.ndarray, gap: float) -> list[float]:
    """Places at least `gap` apart, nearest to the (sorted) targets by least squares.

    >>> [float(x) for x in spread_out(np.array([0.0, 1.0, 9.0]), 3)]
    [-1.0, 2.0, 9.0]
    """
    free, n = wanted - gap * np.arange(len(wanted)), len(wanted)
    means = [
        max(min(free[j : k + 1].mean() for k in range(i, n)) for j in range(i + 1))
        for i in range(n)
    ]
    return [x + gap * i for i, x in enumerate(means)]


def draw_svg(fig: Figure, facecolor: str = "none") -> str:
    """The whole figure as matplotlib itself writes it, the same bytes every time."""
    out = io.StringIO()
    with rc_context(RC):
        fig.savefig(out, format="svg", facecolor=facecolor, metadata={"Date": None})
    return out.getvalue()


def draw_png(fig: Figure, colors: int = 32) -> bytes:
    """The figure as a small PNG on white, with a palette of `colors` colours."""
    from PIL import Image

    out = io.BytesIO()
    with rc_context(RC):
        fig.savefig(out, format="png", facecolor="white", dpi=100)
    few = Image.Quantize.MAXCOVERAGE  # rare hues, such as a dot, keep their own
    image = Image.open(out).convert("RGB").quantize(colors, few)
    out = io.BytesIO()
    image.save(out, format="PNG", optimize=True)
    return out.getvalue()


def round_geometry(name: str, value: str) -> str:
    """Coordinates at 0.1 pt, paths without spare blanks; other attributes as is."""
    if name not in _GEOMETRY:
        return value
    value = _DECIMAL.sub(lambda m: f"{float(m[0]) + 0.0:.1f}", value)
    value = re.sub(r"(\d)\.0\b", r"\1", value).replace("-0 ", "0 ")
    return re.sub(r"\s*([MLQCz])\s*", r"\1", value.strip()) if name == "d" else value


def typeset(text: str) -> str:
    """Numbers as print sets them: a zero has no sign, a minus is no hyphen.

    >>> typeset("-0.00 and 9-5-7=-3")
    '0.00 and 9−5−7=−3'
    """
    hyphen = r"(?<![^\W\d_])-(?=\d)"  # not that of 1e-3
    return re.sub(hyphen, "−", _SIGNED_ZERO.sub("", text))


def clean(tree: ElementTree.Element, attribute=round_geometry) -> None:
    """Drop unused parts of an SVG tree and rewrite every attribute, in place.

    Comments, metadata, the inline ``<style>`` (it would restyle the whole page), the
    white background and groups that only carry a name are removed; text keeps its size
    and takes the page's font; colours of the palette become CSS variables.
    """
    for parent in list(tree.iter()):
        children = []
        for child in parent:
            child.tag = child.tag.rsplit("}", 1)[-1]
            if child.tag in ("metadata", "style") or child.get("id") == "patch_1":
                continue
            children.append(child)
        parent[:] = children
        for name in list(parent.attrib):
            value = parent.attrib.pop(name)
            name = name.rsplit("}", 1)[-1].removeprefix("xlink:")
            if name == "style":
                value = re.sub(r"\s*font-family:[^;]*;?", "", value)
                value = _HEX.sub(lambda m: _VARIABLE.get(m[0], m[0]), value)
                value = re.sub(r":\s+", ":", re.sub(r";\s*", ";", value)).rstrip(";")
            elif name == "transform":
                value = re.sub(r"\s*rotate\(-?0( [^)]*)?\)", "", value)
                if not value:
                    continue
            parent.set(name, attribute(name, value))
        words = parent.tag in ("text", "tspan") and not len(parent)
        parent.text = typeset(parent.text or "") if words else None
        parent.tail = None
    _splice(tree)


def _splice(parent: ElementTree.Element) -> None:
    """Replace groups without attributes of their own by their children."""
    children = []
    for child in parent:
        _splice(child)
        if child.tag == "g" and not child.attrib.keys() - {"id"}:
            name = child.get("id", "")
            if not name.startswith("panel"):
                children.extend(child)
                continue
        if child.tag != "defs" or len(child):
            children.append(child)
    parent[:] = children


def unique_ids(tree: ElementTree.Element, prefix: str) -> None:
    """Keep only referenced ids, renamed to ``prefix`` and a number."""
    text = ElementTree.tostring(tree, encoding="unicode")
    used, number = {}, count()
    for old in re.findall(r"(?:url\(#|href=\"#)([\w-]+)", text):
        if old not in used:
            used[old] = f"{prefix}-{next(number)}"
    for element in tree.iter():
        for name, value in list(element.attrib.items()):
            if name == "id" and not value.startswith("panel"):
                del element.attrib["id"]
                if value in used:
                    element.set("id", used[value])
            elif "#" in value:
                element.set(name, re.sub(r"#([\w-]+)", lambda m: _new(m, used), value))


def _new(match: re.Match, used: dict[str, str]) -> str:
    return "#" + used.get(match[1], match[1])


def panels(tree: ElementTree.Element, label: str) -> str:
    """A cleaned SVG tree as HTML: one ``<svg>`` per panel, one description for all."""
    tops, rest = [], []
    for child in [x for top in tree for x in (top if _is_figure(top) else [top])]:
        name = child.get("id", "")
        if child.tag == "g" and name.startswith("panel"):
            tops.append((name.split()[1:], rest + list(child)))
            rest = []
        elif tops:
            tops[-1][1].append(child)
        else:
            rest.append(child)
    if not tops:
        tops = [(tree.get("viewBox").split(), rest)]
    html = "".join(
        f'<svg viewBox="{" ".join(box)}" aria-hidden="true" '
        f'style="--w:{float(box[2]):g}">'
        + "".join(ElementTree.tostring(x, encoding="unicode") for x in children)
        + "</svg>"
        for box, children in tops
    )
    wide = max(float(box[0]) + float(box[2]) for box, _ in tops)
    return (
        f'<div class="fig" role="img" aria-label="{escape(label)}" '
        f'style="--wide:{wide:g}">{html}</div>'
    )


def _is_figure(element: ElementTree.Element) -> bool:
    return element.tag == "g" and element.get("id", "").startswith("figure")


def translate(tree: ElementTree.Element, words: Mapping[str, str]) -> None:
    """Put the words of a plot into another language, in place; others stay.

    A label with a formula is stored letter by letter; it becomes one piece of text.
    """
    known = {"".join(k.split()): v for k, v in words.items()}
    for text in tree.iter("text"):
        found = known.get("".join("".join(text.itertext()).split()))
        if found is not None:
            for name, value in text[0].attrib.items() if len(text) else ():
                text.set(name, value)
            text[:], text.text = [], found


def inline_svg(
    svg: str,
    label: str,
    prefix: str,
    words: Mapping[str, str] | None = None,
) -> str:
    """Turn a stored SVG plot into HTML that follows the page's theme 内联图.

    The site's image renderer calls it for every ``image/svg+xml`` output.

    Args:
        svg: the text of an SVG file that matplotlib wrote.
        label: the description in the edition's language.
        prefix: of ids; another one for every plot of a page.
        words: translations of the plot's words into the edition's language.

    Returns:
        ``<div class="fig" role="img" aria-label=...>`` with an ``<svg>`` per panel.
    """
    tree = ElementTree.fromstring(svg)
    clean(tree)
    translate(tree, words or {})
    unique_ids(tree, prefix)
    return panels(tree, label)


@dataclass(frozen=True)
class Plot:
    """A finished plot as a cell's output: PNG and SVG in one bundle."""

    figure: Figure

    def __repr__(self) -> str:
        size = len(self.figure.axes)
        return f"figure, {size} panel{'s' * (size != 1)}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        tree = ElementTree.fromstring(draw_svg(self.figure, facecolor="white"))
        for element in list(tree.iter()):
            for style in element.findall("{*}defs/{*}style/..") + element.findall(
                "{*}metadata"
            ):
                element.remove(style)
            for name, value in element.attrib.items():
                element.set(name, round_geometry(name, value))
            element.tail = "\n" if element.tail else None
        ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
        ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
        return {
            "text/plain": repr(self),
            "image/png": base64.b64encode(draw_png(self.figure)).decode(),
            "image/svg+xml": ElementTree.tostring(tree, encoding="unicode"),
        }


def show(fig: Figure) -> Plot:
    """End a cell with a plot 静态图: the last expression is ``show(fig)``.

    Titles and the words beside lines get the size of the names of the axes. Several
    panels are called a, b, c, and so on, because a phone puts them under each other.
    Stored as a small PNG and an SVG that is the same on every run, so a changed
    curve fails the notebook's test. The book shows the SVG in the page's colours.

    >>> fig, ax = canvas()
    >>> show(fig)
    figure, 1 panel
    """
    for ax, letter in zip(fig.axes, ascii_lowercase, strict=False):
        left, top = (float(x) for x in ax.get_gid().split()[1:3])
        box = ax.get_window_extent()
        line = fig.bbox.height - top - HEAD - box.y1  # above the axes, in points
        if title := ax.get_title():
            ax.set_title("")
            ax.set_title(title, loc="left", size=RC["axes.titlesize"], pad=line)
        if len(fig.axes) > 1:
            ax.annotate(
                letter,
                (0, 1),
                (left + 3 - box.x0, line),
                xycoords="axes fraction",
                textcoords="offset points",
                weight="bold",
            )
        for words in ax.texts:
            words.set_size(RC["font.size"])
    return Plot(fig)
