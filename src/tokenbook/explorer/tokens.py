"""The token strip 词元条: writer, credit and push of each token."""

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from xml.etree.ElementTree import Element

from tokenbook import languages
from tokenbook.explorer.parts import WRITERS, chip, legend, shade, stack, strip
from tokenbook.explorer.tree import h, number, subscripts
from tokenbook.explorer.words import FigureError, Language, Words, check

SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥", "": "∅"}


def named(words: str | Words, language: str) -> str:
    """A name that needs no translation, or words in one language."""
    return words if isinstance(words, str) else Language(language)(tuple(words))


@dataclass(frozen=True)
class Strip:
    """The tokens of one row with their credit and push 词元条.

    Fill is credit (by its square root, so that a fifth is seen), a ring is trained, a
    hatch is trained with zero gradient, a bar is push. Strips that are shown together
    share one scale of credit and one of push.

    Args:
        words: one per token; blanks and line ends are shown as signs.
        mask: True where a token is learned from; all of them by default.
        credit: such as advantages; tokens that are not trained have none.
        push: such as minus the gradient of the loss on each log-probability.
        who: "model", "prompt" or "env" per token; by default an untrained token is
            prompt before the first trained one, and environment after it.
        captions: small words below each token; the credit by default.
        label: its title: a name without translation, or words in every language.

    Raises:
        FigureError: no words, lists of different lengths, an unknown writer.

    >>> Strip("9+5=15", mask=[0, 1, 1, 1, 1, 1], credit=[0, 0, 0, 0, 0, -1])
    9 + 5 = 1 5
    . 1 1 1 1 1
    . 0 0 0 0 −1
    """

    words: Sequence[str]
    mask: Sequence[bool] | None = None
    credit: Sequence[float] | None = None
    push: Sequence[float] | None = None
    who: Sequence[str] | None = None
    captions: Sequence[str] | None = None
    label: str | Words = ""

    def __post_init__(self):
        words = [SIGNS.get(word, word.replace("\n", "⏎")) for word in self.words]
        mask = [True] * len(words) if self.mask is None else map(bool, self.mask)
        own = {"words": words, "mask": [*mask]}
        for name in ("credit", "push"):
            values = getattr(self, name)
            own[name] = None if values is None else [float(f"{v:.6g}") for v in values]
        first = next((k for k, live in enumerate(own["mask"]) if live), len(words))
        own["who"] = self.who and [*self.who]
        if self.who is None:
            own["who"] = [
                "model" if live else "prompt" if k < first else "env"
                for k, live in enumerate(own["mask"])
            ]
        own["captions"] = self.captions and [*self.captions]
        for name, values in own.items():
            if values is not None and len(values) != len(words):
                raise FigureError(
                    f"strip: {len(words)} words, but {len(values)} of {name}"
                )
            if name in ("credit", "push") and values is not None:
                pairs = zip(values, own["mask"], strict=True)
                values = [x if live else 0.0 for x, live in pairs]
            object.__setattr__(self, name, values)
        if not words:
            raise FigureError("strip: no words")
        if not isinstance(self.label, str):
            object.__setattr__(self, "label", tuple(self.label))
            check(self.label, "strip: ")
        if unknown := set(own["who"]) - set(WRITERS):
            raise FigureError(f"strip: who is one of {WRITERS}, got {sorted(unknown)}")

    @property
    def dead(self) -> list[bool]:
        """Mask of the trained tokens without gradient."""
        pushes = self.push or [1.0] * len(self.words)
        return [live and not p for live, p in zip(self.mask, pushes, strict=True)]

    def element(self, language: str, most: float, hardest: float) -> Element:
        """The strip in one language, where full credit and push are drawn in full."""
        credit, push = self.credit or [0.0] * len(self.words), self.push or [0.0]
        earned = {c for c, live in zip(credit, self.mask, strict=True) if live}
        label, captions = named(self.label, language), self.captions
        if self.credit and captions is None:
            texts = [
                number(c, sign=True) if live else ""
                for c, live in zip(credit, self.mask, strict=True)
            ]
            captions = texts if len(earned) > 1 else None
        chips = [
            chip(
                word,
                credit=shade(credit[k], most) if self.mask[k] else 0,
                push=push[k] / hardest if self.push else 0,
                trained=self.mask[k],
                dead=self.dead[k],
                who=self.who[k],
                caption=captions[k] if captions else None,
            )
            for k, word in enumerate(self.words)
        ]
        ways = "up" * (max(push) > 0) + "down" * (min(push) < 0)
        drawn = strip(*chips, ways=ways, tries=True)
        if not label:
            return drawn
        each = number(*earned, sign=True) if self.credit and len(earned) == 1 else ""
        name = h("b", *subscripts(label))
        return stack(h("p", name, h("span", each), cls="ex-caption"), drawn)

    def __repr__(self) -> str:
        rows = [self.words, [str(int(live)) for live in self.mask]]
        rows += [
            ["−" * (v < 0) + f"{abs(v) * (1 + 1e-12):.3g}" for v in values]
            for values in (self.credit, self.push)
            if values
        ]
        rows[1:] = [
            [x if live else "." for x, live in zip(row, self.mask, strict=True)]
            for row in rows[1:]
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            " ".join(x.center(w) for x, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        label = named(self.label, languages.SOURCE)
        return "\n".join([label, *lines] if label else lines)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return Strips([self])._repr_mimebundle_()


@dataclass(frozen=True)
class Strips:
    """Strips under each other, as a cell's output."""

    strips: Sequence[Strip]
    keys: bool = True
    title: str | Words = ""
    numbers: str | Words = ""

    def tree(self, language: str) -> Element:
        """The drawing in one language."""
        title = named(self.title, language)
        drawn = [h("p", title, cls="ex-title")] if title else []
        full = [
            max((abs(x) for s in self.strips for x in values(s) or ()), default=0) or 1
            for values in (attrgetter("credit"), attrgetter("push"))
        ]
        drawn += [strip.element(language, *full) for strip in self.strips]
        return h("div", *drawn, *self._legend(language), cls="ex-still")

    def _legend(self, language: str) -> list[Element]:
        L = Language(language)
        signs = [c for s in self.strips for c in s.credit or []]
        pushes = [p for s in self.strips for p in s.push or []]
        ways = [max(pushes, default=0) > 0, min(pushes, default=0) < 0]
        way = "old" if all(ways) else "down" if ways[1] else "up"
        all_live = [live for s in self.strips for live in s.mask]
        own = L("功劳", "credit") if self._numbered() else ""
        below = named(self.numbers, language) or own
        keys = [
            ("up chip", L("功劳为正", "credit > 0"), max(signs, default=0) > 0),
            ("down chip", L("功劳为负", "credit < 0"), min(signs, default=0) < 0),
            ("ring", L("训练", "trained"), not signs),
            ("wash", L("不训练", "not trained"), not all(all_live)),
            (
                "off",
                L("梯度为零", "gradient zero"),
                any(any(s.dead) for s in self.strips),
            ),
            (f"{way} bar", L("推力", "push"), any(s.push for s in self.strips)),
            ("", L("数字：", "number: ") + below, below),
        ]
        shown = [(look, words) for look, words, there in keys if there]
        return [legend(*shown)] if self.keys else []

    def _numbered(self) -> bool:
        """Whether credit is printed below the tokens: it differs between them."""
        return any(
            len({c for c, live in zip(s.credit, s.mask, strict=True) if live}) > 1
            for s in self.strips
            if s.credit and s.captions is None
        )

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.strips))

    def _repr_mimebundle_(self, include=None, exclude=None):
        from tokenbook.explorer.live import still
        from tokenbook.explorer.paint import paint

        own = {"title": self.title, "numbers": self.numbers}
        data = {"strips": [asdict(s) for s in self.strips], "keys": self.keys}
        data |= {name: words for name, words in own.items() if words}
        picture = paint(self.tree(languages.SOURCE))
        return {
            **still(self)._repr_mimebundle_(),
            "text/plain": repr(self),
            "image/png": base64.b64encode(picture).decode(),
        }, {"explorer": data}


def show_strip(
    *strips: Strip,
    legend: bool = True,
    title: str | Words = "",
    numbers: str | Words = "",
) -> Strips:
    """Show strips under each other 显示词元条: the last expression of a cell.

    Args:
        strips: they share one scale of credit and one of push.
        legend: explain fill, ring, hatch, bar and number.
        title: above them.
        numbers: meaning of your own captions, for the legend.

    Raises:
        FigureError: no strip.
    """
    if not strips:
        raise FigureError("show_strip: no strip")
    return Strips([*strips], legend, title, numbers)
