"""The start state of a figure as a small picture, for GitHub, PDF and unrun notebooks.

matplotlib paints the tree of the page, in English: a picture has one language, and no
font with Chinese has to be shipped. Each part of `parts` and `plot` has a painter here;
of anything else the words are painted, under each other.
"""

import io
import re
import textwrap
from functools import partial
from xml.etree.ElementTree import Element

from matplotlib import rc_context
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Circle, FancyBboxPatch, Polygon, Rectangle
from PIL import Image

from tokenbook.explorer.colors import ROLES, mix, palette, rgb
from tokenbook.explorer.drawing import Drawing, is_a
from tokenbook.explorer.tree import h, words_of
from tokenbook.explorer.words import LANGUAGES, Language

WIDTH = 640  # pixels
HIGHEST = 1600
LETTER = 0.61  # width of a letter by its size, on average
TONES = {"faint": 0.07, "soft": 0.3, "dense": 0.62, "solid": 1}  # share of ink
FONTS = {"font.family": ["DejaVu Sans"], "hatch.linewidth": 0.8}


def picture(figure: Drawing) -> bytes:
    """The start state of a figure with its title, as PNG."""
    language = LANGUAGES[-1]
    title = Language(language)(figure.title)
    return paint(figure.tree(language, figure.start), title)


def paint(live: Element, title: str = "") -> bytes:
    """A tree as PNG, on white.

    Args:
        live: the drawing.
        title: above it.
    """
    with rc_context(FONTS):
        painter = Painter()
        y = painter.title(h("p", title), 0, 4, WIDTH) if title else 2
        y = painter.part(live, 0, y, WIDTH)
        out = io.BytesIO()
        painter.canvas.savefig(out, format="png", dpi=100, facecolor="white")
    image = Image.open(out).convert("RGB").crop((0, 0, WIDTH, int(min(y + 6, HIGHEST))))
    out = io.BytesIO()
    few = image.quantize(palette=inks(), dither=Image.Dither.NONE)
    few.save(out, format="PNG", optimize=True)
    return out.getvalue()


def inks() -> Image.Image:
    """The few colours of a picture, which keep it small: the contract's own."""
    colors = palette()
    names = ("ink", "muted", "old", "line", "wash", "mark", "alt")
    found = ["#ffffff", mix(colors["muted"], "#ffffff", 0.5)]
    found += [colors[name] for name in names]
    for role in ("up", "down"):
        found += [
            mix(colors[role], "#ffffff", share) for share in (1, 0.55, 0.41, 0.27, 0.14)
        ]
    image = Image.new("P", (1, 1))
    image.putpalette([part for one in found for part in rgb(one)])
    return image


def value(element: Element, name: str, default: float = 0.0) -> float:
    """A number in an element's style."""
    found = re.search(rf"(?<![\w-]){name}:(-?[\d.]+)", element.get("style", ""))
    return float(found[1]) if found else default


def looks(element: Element) -> set[str]:
    """The classes of an element."""
    return set(element.get("class", "").split())


def color(names: set[str], default: str = "ink") -> str:
    """The colour of a look."""
    if found := next((tone for tone in TONES if tone in names), ""):
        return mix(palette()["ink"], "#ffffff", TONES[found])
    role = next((role for role in ROLES if role in names), default)
    return palette()["mark" if "sel" in names else role]


def text_color(names: set[str]) -> str:
    """The colour of words of a look."""
    if "bright" in names:
        return "#ffffff"
    role = next((role for role in ("up", "down", "alt") if role in names), "ink")
    return palette()["muted" if {"old", "quiet", "off"} & names else role]


class Painter:
    """Paints parts from the top down; each method returns where it ended."""

    def __init__(self):
        self.canvas = Canvas(figsize=(WIDTH / 100, HIGHEST / 100), dpi=100)
        self.axes = self.canvas.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, WIDTH), ylim=(HIGHEST, 0))
        self.axes.axis("off")
        self.parts = {
            "ex-strip": self.strip,
            "ex-row": self.row,
            "ex-plot": self.plot,
            "ex-tiles": self.tiles,
            "ex-side": self.side,
            "ex-line": partial(self.columns, count=2),
            "ex-grid": self.grid,
            "ex-card": self.card,
            "ex-metro": self.metro,
            "ex-option": self.option,
            "ex-dots": self.dots,
            "ex-legend": self.legend,
            "ex-caption": self.caption,
            "ex-title": self.title,
        }

    def part(self, element: Element, x: float, y: float, width: float) -> float:
        """Any part: by its painter, else its words and then its children."""
        if element.get("hidden") or "wide-only" in looks(element):
            return y
        for name, painter in self.parts.items():
            if is_a(element, name):
                return painter(element, x, y, width)
        if element.text:
            y = self.lines(element.text, x, y, width)
        for child in element:
            y = self.part(child, x, y, width)
        return y

    def text(self, x, y, words, size=12, *, color=None, ha="left", box=False, **kw):
        """Words on one line, their middle at `y`."""
        ground = {"fc": "white", "ec": "none", "pad": 1.5} if box else None
        self.axes.text(
            x,
            y,
            words,
            fontsize=0.72 * size,
            color=color or palette()["ink"],
            ha=ha,
            va="center",
            bbox=ground,
            zorder=6,
            **kw,
        )

    def lines(self, words, x, y, width, size=12, **kw) -> float:
        """Words on as many lines as they need."""
        for line in textwrap.wrap(words, max(8, int(width / (LETTER * size)))):
            self.text(x, y + 0.75 * size, line, size, **kw)
            y += 1.4 * size
        return y

    def box(self, x, y, w, h, face, edge="none", *, round_=0.0, z=2, **kw):
        """A rectangle."""
        shape = Rectangle((x, y), w, h)
        if round_:
            style = f"round,pad=0,rounding_size={round_}"
            shape = FancyBboxPatch((x, y), w, h, boxstyle=style)
        shape.set(facecolor=face, edgecolor=edge, zorder=z, **kw)
        self.axes.add_patch(shape)

    def hatch(self, x, y, w, h, z=1):
        """The sign of no gradient."""
        line = palette()["line"]
        self.box(x, y, w, h, "none", line, hatch="////", linewidth=0, z=z)

    def bars(self, element, x, y, w, h):
        """Shares of a whole."""
        for share in element:
            part = w * value(share, "width") / 100
            self.box(x, y, max(part - 1, 0.5), h, color(looks(share)))
            x += part

    def chip(self, element, x, y, w, up, down, size) -> float:
        """A token with its bar; returns where the token ends."""
        names, colors = looks(element), palette()
        push, height = value(element, "--b"), 1.7 * size
        plain, dead = "plain" in names, "off" in names
        bar = colors["up"] if push > 0 else colors["down"]
        if plain:
            bar = colors["ink" if "sel" in names else "old"]
        if push > 0:
            self.box(x + 0.2 * w, y + up - 2 - push * up, 0.6 * w, push * up, bar)
        if push < 0:
            self.box(x + 0.2 * w, y + up + height + 2, 0.6 * w, -push * down, bar)
        credit, on = value(element, "--c"), "on" in names
        if not plain:
            strength = abs(credit) * int(colors["mix"].rstrip("%")) / 100
            face = mix(
                colors["up" if credit > 0 else "down"], colors["paper"], strength
            )
            self.box(
                x,
                y + up,
                w,
                height,
                "white" if dead else face if on else colors["wash"],
                colors["muted" if dead else "ink"] if on else "none",
                round_=3,
                linewidth=1.0,
                linestyle="--" if dead else "-",
            )
        if dead:
            self.hatch(x + 1, y + up + 1, w - 2, height - 2, z=3)
        if plain and "sel" in names:
            self.box(x, y + up + height - 3, w, 3, colors["mark"])
        ink = colors["muted" if dead or not (on or plain) else "ink"]
        self.text(
            x + w / 2,
            y + up + height / 2,
            words_of(element[0]),
            size,
            color=ink,
            ha="center",
        )
        if len(element) > 1:
            words = words_of(element[1])
            middle = y + up + height + (down + 2 if down > 4 else 0) + 8
            self.text(x + w / 2, middle, words, 9.5, color=colors["muted"], ha="center")
        return y + up + height

    def strip(self, element, x, y, width) -> float:
        """Tokens one after another."""
        names, left, size = looks(element), x, 14
        up = 3 if {"flat", "down"} & names else 20
        down = 3 if {"flat", "up"} & names else 18
        tokens = [token for token in element.iter() if is_a(token, "ex-chip")]
        captions = any(len(token) > 1 for token in tokens)
        line = up + 1.7 * size + (18 if captions else 0) + down
        wide = {}
        for token in tokens:
            words = [len(words_of(part)) * LETTER for part in token]
            wide[token] = max(26, words[0] * size + 12, *(n * 9.5 for n in words[1:]))
        whole = {part[0]: part for part in element.iter() if is_a(part, "ex-try")}
        said = [part[0] for part in element.iter() if is_a(part, "ex-said")]
        said = [part[0] if is_a(part, "ex-try") else part for part in said]
        for token in tokens:
            if token in said and x < left + width / 2:
                width, left = left + width - x, x  # where the response begins
            room = sum(wide[part] + 4 for part in whole.get(token, [token])) - 4
            if x + min(room, width) > left + width:
                x, y = left, y + line
            self.chip(token, x, y, wide[token], up, down, size)
            x += wide[token] + 4
        return y + line + 2

    def row(self, element, x, y, width) -> float:
        """A row of a matrix."""
        label, cells, end = element
        names = looks(element)
        heads = "heads" in names
        up = 2 if heads or "down" in names else 26 if "tall" in names else 16
        down = 2 if heads or "up" in names else 26 if "tall" in names else 16
        room = max(0.11 * width, LETTER * 12 * len(words_of(end[0])) + 8)
        first, last = x + 0.2 * width, x + width - room
        step = (last - first) / max(len(cells), value(cells, "--n"))
        size = min(13 if heads else 11, 0.9 * step / LETTER / 2)
        size = max(size, min(9.5, step / LETTER))
        y += 4
        below = [
            self.chip(cell, first + k * step + 1, y, step - 2, up, down, size)
            for k, cell in enumerate(cells)
        ]
        middle = (y + up + below[0]) / 2
        muted = palette()["muted"]
        note = words_of(label[1])
        self.text(x, middle - 6 * bool(note), words_of(label[0]), 12, weight="bold")
        if note:
            fit = min(9.5, 0.19 * width / (LETTER * len(note)))
            self.text(x, middle + 8, note, max(fit, 7), color=muted)
        note = words_of(end[1])
        self.text(
            x + width,
            middle - 6 * bool(note),
            words_of(end[0]),
            12,
            ha="right",
            weight="bold",
        )
        self.text(x + width, middle + 8, note, 9, color=muted, ha="right")
        return below[0] + down + 2

    def plot(self, element, x, y, width) -> float:
        """A plot and its contents."""
        names = looks(element)
        axes, high = "axes" in names, value(element, "--h")
        left = 8 + 6.5 * value(element, "--left") if axes else 0
        top = y + (22 if axes else 2)
        w = width - left - (10 if axes else 0)

        def place(part):
            return (
                x + left + w * value(part, "left") / 100,
                top + high * value(part, "top") / 100,
            )

        if axes:
            ends = [(x + left, top), (x + left, top + high), (x + left + w, top + high)]
            self.axes.plot(*zip(*ends, strict=True), color=palette()["muted"], lw=0.8)
        for path in element[0]:
            if path.get("display") != "none":
                self.path(path, x + left, top, w / 1000, high / 1000)
        for part in element[1:]:
            kinds = looks(part)
            if part.get("hidden") or "wide-only" in kinds:
                continue
            px, py = place(part)
            pw, ph = (
                w * value(part, "width") / 100,
                high * value(part, "height") / 100,
            )
            if "area" in kinds:
                if "off" in kinds:
                    self.hatch(px, py, pw, ph)
                elif "unused" in kinds:
                    muted = palette()["muted"]
                    self.box(px, py, pw, ph, "white", muted, linestyle="--", lw=0.8)
                else:
                    face = color(kinds)
                    strength = 0.3 if "pale" in kinds else 0.6 if "mid" in kinds else 1
                    face = mix(face, "#ffffff", strength)
                    edge = palette()["old"] if TONES.keys() & kinds else "none"
                    self.box(px, py, pw, ph, face, edge, z=1, lw=0.6)
                self.text(px + pw / 2, py + ph / 2, words_of(part), 11, ha="center")
            elif "arrow" in kinds:
                self.arrow(kinds, px, py, pw, ph)
            elif "dot" in kinds or "grip" in kinds:
                self.dot(kinds, px, py)
            elif "words" in kinds:
                shift = -12 if "above" in kinds else 12 if "below" in kinds else 0
                self.text(
                    px,
                    py + shift,
                    words_of(part),
                    11.5,
                    color=text_color(kinds),
                    ha=next((k for k in ("left", "right") if k in kinds), "center"),
                    weight="bold" if "strong" in kinds else "normal",
                    box="boxed" in kinds,
                )
            elif "tick" in kinds and "x" in kinds:
                self.text(
                    px,
                    top + high + 10,
                    words_of(part),
                    10.5,
                    color=palette()["muted"],
                    ha="center",
                )
            elif "tick" in kinds:
                self.text(
                    x + left - 5,
                    py,
                    words_of(part),
                    10.5,
                    color=palette()["muted"],
                    ha="right",
                )
            elif "name" in kinds and "x" in kinds:
                down = 12 if "bare" in names else 26
                self.text(
                    x + left + w, top + high + down, words_of(part), 11.5, ha="right"
                )
            elif "name" in kinds:
                self.text(x, top - 13, words_of(part), 11.5)
        return top + high + (0 if not axes else 20 if "bare" in names else 36) + 4

    def path(self, path, x, y, sx, sy):
        """A line or a filled shape of a plot."""
        names = looks(path)
        points = [
            (x + sx * float(a), y + sy * float(b))
            for a, b in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.get("d"))
        ]
        if "fill" in names:
            face = mix(color(names), "#ffffff", 0.25)
            self.axes.add_patch(Polygon(points, facecolor=face, zorder=1))
            return
        rule = "rule" in names
        style = ":" if "dotted" in names else "--" if "dashed" in names else "-"
        self.axes.plot(
            *zip(*points, strict=True),
            color=palette()["muted"] if rule else color(names),
            lw=0.8 if rule or "thin" in names else 1.8,
            ls=style,
            zorder=3,
        )

    def arrow(self, kinds, x, y, w, h):
        """A level or upright arrow."""
        way = next(k for k in ("right", "left", "low", "high") if k in kinds)
        ends = {
            "right": (x, y, w, 0),
            "left": (x + w, y, -w, 0),
            "low": (x, y, 0, h),
            "high": (x, y + h, 0, -h),
        }
        self.axes.arrow(
            *ends[way],
            width=2.5,
            head_width=10,
            head_length=8,
            length_includes_head=True,
            color=color(kinds),
            zorder=5,
        )

    def dot(self, kinds, x, y):
        """A dot, or the handle of a drag."""
        colors, hot = palette(), bool({"sel", "grip"} & kinds)
        face = colors["mark"] if hot else "white" if "off" in kinds else color(kinds)
        edge = colors["ink"] if hot else colors["muted"] if "off" in kinds else "white"
        size = 3 if "small" in kinds else 8 if hot else 7
        self.axes.plot(x, y, "o", ms=size, mfc=face, mec=edge, zorder=5)

    def tiles(self, element, x, y, width) -> float:
        """The readout."""
        step, y = width / len(element), y + 8
        for k, one in enumerate(element):
            names, (label, number, *note) = looks(one), one
            left = x + k * step
            edge = color(names, "line") if {"up", "down"} & names else palette()["line"]
            self.box(left, y, 2, 44, edge)
            words = words_of(label)
            fit = min(10.5, (step - 12) / (LETTER * max(1, len(words))))
            self.text(left + 9, y + 7, words, max(fit, 7.5), color=palette()["muted"])
            self.text(
                left + 9,
                y + 24,
                words_of(number),
                16,
                color=text_color(names),
                weight="bold",
            )
            if note:
                self.text(
                    left + 9, y + 40, words_of(note[0]), 9.5, color=palette()["muted"]
                )
        return y + 50

    def columns(self, element, x, y, width, count=0, shares=()) -> float:
        """Parts in columns, the next line where the last one ends."""
        count = count or len(element)
        shares = shares or [1] * count
        gap, whole, bottom = 8, sum(shares), y
        for k, part in enumerate(element):
            if k and k % count == 0:
                y = bottom
            before = sum(shares[: k % count]) / whole
            own = width * shares[k % count] / whole - gap
            bottom = max(bottom, self.part(part, x + width * before, y, own))
        return bottom

    def side(self, element, x, y, width) -> float:
        """Drawings beside each other."""
        style = element.get("style", "")
        shares = [float(s) for s in re.findall(r"([\d.]+)fr", style)]
        return self.columns(element, x, y, width, shares=shares)

    def grid(self, element, x, y, width) -> float:
        """Equal parts in columns."""
        return self.columns(element, x, y, width, count=int(value(element, "--n")))

    def card(self, element, x, y, width) -> float:
        """A button with its words."""
        names, words = looks(element), words_of(element)
        edge = color(names, "line") if {"up", "down"} & names else palette()["line"]
        own = min(width, LETTER * 11 * len(words) + 16)
        self.box(x, y + 2, own, 26, "white", edge, round_=5, linewidth=1.0)
        self.text(x + own / 2, y + 15, words, 11, ha="center", color=text_color(names))
        return y + 32

    def metro(self, element, x, y, width) -> float:
        """Of a map of stations the trunk."""
        return self.columns([stop[0] for stop in element], x, y, width)

    def option(self, element, x, y, width) -> float:
        """One of a list to choose from."""
        label, body, end = element
        if element.get("aria-pressed") == "true":
            self.box(x, y, width, 30, palette()["wash"])
            self.box(x, y, 3, 30, palette()["mark"])
        self.text(x + 8, y + 9, words_of(label[0]), 10.5)
        self.text(x + 8, y + 22, words_of(label[1]), 9, color=palette()["muted"])
        middle = x + 0.52 * width
        if is_a(body, "ex-bars"):
            self.bars(body, middle, y + 9, 0.34 * width, 11)
        else:
            self.text(middle, y + 15, words_of(body), 10.5)
        self.text(x + width, y + 15, words_of(end), 10.5, ha="right", weight="bold")
        return y + 32

    def dots(self, element, x, y, width) -> float:
        """A group of responses."""
        right, size = int(value(element, "--r")), int(value(element, "--n"))
        step, gone = min(11, width / size), "off" in looks(element)
        up, down = palette()["up"], palette()["down"]
        for k in range(size):
            face = palette()["line"] if gone else up if k < right else "white"
            edge = palette()["line"] if gone else up if k < right else down
            spot = (x + (k + 0.5) * step, y + 6)
            self.axes.add_patch(Circle(spot, 0.36 * step, fc=face, ec=edge, lw=1))
        return y + 13

    def title(self, element, x, y, width) -> float:
        """The title above the drawing."""
        return self.lines(words_of(element), x, y, width, size=15, weight="bold") + 6

    def caption(self, element, x, y, width) -> float:
        """A quiet line; a label of a strip is a strong one."""
        weight = "bold" if len(element) else "normal"
        tone = palette()["ink" if len(element) else "muted"]
        return self.lines(words_of(element), x, y, width, color=tone, weight=weight)

    def legend(self, element, x, y, width) -> float:
        """The legend of the marks."""
        left, middle = x, y + 9
        for item in element:
            if is_a(item, "absent"):
                continue
            words, mark = words_of(item), 19 * bool(len(item))
            own = mark + LETTER * 10.5 * len(words) + 13
            if x + own > left + width and x > left:
                x, middle = left, middle + 16
            if mark:
                self.key(looks(item[0]), x, middle)
            self.text(x + mark, middle, words, 10.5, color=palette()["muted"])
            x += own
        return middle + 12

    def key(self, names, x, y):
        """One mark of a legend."""
        tone, ink = color(names), palette()["ink"]
        if {"off", "unused"} & names:
            self.box(
                x, y - 6, 13, 12, "white", palette()["muted"], linestyle="--", lw=0.8
            )
            if "off" in names:
                self.hatch(x, y - 6, 13, 12, z=3)
        elif TONES.keys() & names:
            self.box(x, y - 6, 13, 12, tone, palette()["old"])
        elif "line" in names:
            self.box(x, y - 1.5, 15, 3, tone)
        elif "dot" in names:
            gone = palette()["line"]
            face = "white" if "hollow" in names else gone if "gone" in names else tone
            edge = gone if "gone" in names else tone
            self.axes.add_patch(Circle((x + 7, y), 4, fc=face, ec=edge, lw=1))
        elif "bar" in names:
            self.box(x + 4, y - 5, 7, 10, tone)
        elif "chip" in names or "ring" in names:
            face = "white" if "ring" in names else mix(tone, "#ffffff", 0.55)
            self.box(x, y - 6, 13, 12, face, ink, linewidth=1.0)
        else:
            grey = palette()["line"]
            for name, part in (("mid", 0.6), ("pale", 0.3)):
                tone = mix(tone, "#ffffff", part) if name in names else tone
            self.box(x, y - 6, 13, 12, grey if {"gone", "wash"} & names else tone)
