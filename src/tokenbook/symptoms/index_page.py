"""The page of symptoms: the list of diagnostics, and the shape of the log beside each.

The list is written from ``tokencredit.DIAGNOSTICS``. A reader recognises a curve sooner
than a sentence, so each symptom has a sketch of one or two, from ``curves.yml``.
The sketches of all are the index at the top of the page, which shows only those of one
quantity once it is chosen, as the rest of the page does; a style sheet does that, and
``symptoms.js`` adds a filter by words.
"""

import math
from collections import Counter
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from tokenbook.lab import phenomena
from tokenbook.languages import pick
from tokenbook.site import BEFORE_LINKS
from tokenbook.site.generated import Generated
from tokenbook.symptoms import log_keys
from tokencredit import DIAGNOSTICS

log = logging.getLogger(__name__)
WORDS = {"zh": ("正常", "症状", "："), "en": ("Healthy", "Symptom", ": ")}
SKETCH = "示意 | sketch"
PAGE = "book/symptoms"
CURVES = Path(__file__).with_name("curves.yml")
WIDTH, HEIGHT, POINTS, FEW = 150, 56, 49, 25


def noise(t: float) -> float:
    """Return deterministic pseudo-noise."""
    return math.sin(47 * t) * 0.6 + math.sin(113 * t + 1) * 0.4


SHAPES = {  # over training from 0 to 1; heights from 0 to 1
    "zero": lambda t: 0.03,
    "middle": lambda t: 0.5,
    "high": lambda t: 0.9,
    "rise": lambda t: 0.1 + 0.85 * (1 - math.exp(-4 * t)),
    "slow_rise": lambda t: 0.1 + 0.3 * t,
    "late_rise": lambda t: 0.05 + 0.85 / (1 + math.exp(-16 * (t - 0.7))),
    "line_up": lambda t: 0.1 + 0.8 * t,
    "slow_fall": lambda t: 0.75 - 0.5 * t,
    "late_fall": lambda t: 0.9 - 0.8 / (1 + math.exp(-16 * (t - 0.65))),
    "early": lambda t: 0.05 + 0.9 * math.exp(-9 * t),
    "hump": lambda t: 0.08 + 3.3 * t * math.exp(-((1.9 * t) ** 2)),
    "valley": lambda t: 0.1 + 3.2 * (t - 0.5) ** 2,
    "runaway": lambda t: 0.05 + 0.9 * math.expm1(4 * t) / math.expm1(4),
    "to_limit": lambda t: min(0.86, 0.15 + 1.2 * t),
    "low_plateau": lambda t: 0.1 + 0.25 * (1 - math.exp(-9 * t)),
    "step": lambda t: 0.3 if t < 0.5 else 0.75,
    "below": lambda t: 0.2 + 0.08 * noise(t),
    "drift": lambda t: 0.15 + 0.6 * t + 0.03 * noise(t),
    "drift_too": lambda t: 0.13 + 0.6 * t + 0.03 * noise(t + 1),
    "high_noise": lambda t: 0.72 + 0.08 * noise(t),
    "low_noise": lambda t: 0.3 + 0.06 * noise(t + 2),
    "around_zero": lambda t: 0.13 + 0.18 * noise(t),
    "wild": lambda t: 0.5 + 0.4 * noise(t),
    "spikes": lambda t: 0.3 + 0.6 * max(0.0, noise(t) - 0.55) / 0.45,
    "capped": lambda t: min(0.42, SHAPES["spikes"](t)),
    "breaks": lambda t: 0.4 + 0.05 * noise(t) + (0.5 if t > 0.62 else 0) * (t - 0.62),
    "overflows": lambda t: 0.05 + 0.02 * math.exp(6.5 * t),
    "off_zero": lambda t: 0.45 + 0.4 * t,
    "from_zero": lambda t: 0.03 + 0.4 * t,
    "at_limit": lambda t: 0.83,
    "noisy_fall": lambda t: 0.85 - 0.65 * t + 0.05 * noise(t),
    "sinks": lambda t: 0.05 + 0.75 * math.exp(-4 * t),
    "collapse": lambda t: 0.03 + 0.87 / (1 + math.exp(40 * (t - 0.25))),
    "stalls": lambda t: min(0.4, 0.1 + 1.2 * t),
    "parts": lambda t: 0.1 + 0.85 * (1 - math.exp(-4 * t)) - 0.6 * max(0.0, t - 0.2),
    "stairs": lambda t: 0.05 + math.floor(8 * t) * 0.11,
    "one_stair": lambda t: 0.05 if t < 0.9 else 0.16,
}
QUANTITIES = {
    "loss": "损失、梯度 | loss, gradient",
    "reward": "奖励、成功率 | reward, success",
    "kl": "KL",
    "ratio": "比率、裁剪比例 | ratio, clip fraction",
    "length": "长度 | length",
    "entropy": "熵 | entropy",
    "credit": "优势、组 | advantages, groups",
    "turns": "轮次、工具 | turns, tools",
}
ASK = "日志里哪一样看着不对？ | What in the log looks wrong?"
ALL = "全部 | all"
FILTER = "用词筛选，例如 NaN | Filter by words, such as NaN"
SHOWN = "显示 {} 个症状，共 %d 个 | {} of %d symptoms shown"
NONE = "没有这样的症状。 | No symptom is like that."
BACK = "显示全部 | Show all"
ELSEWHERE = "在全书里找 | Search the book"
UP = "回到症状卡片 | Back to the cards"
ENDS = {"breaks": 0.7, "overflows": 0.58}  # where a curve breaks off
ACROSS = (6, 5)  # cards in a row


def curves() -> dict[str, list[dict]]:
    """Return the curves of each symptom, by its anchor."""
    return yaml.safe_load(CURVES.read_text(encoding="utf-8"))


def drawing(rows: list[dict], points: int) -> str:
    """Return one or two curves through their points as an SVG."""
    paths = []
    for look, row in zip(("ink", "old"), rows, strict=False):
        end = ENDS.get(row["shape"], 1)
        steps = [end * k / (points - 1) for k in range(points)]
        places = " ".join(
            f"{t * WIDTH:.4g},{(1 - SHAPES[row['shape']](t)) * HEIGHT:.3g}"
            for t in steps
        )
        paths.append(f'<polyline class="{look}" points="{places}"/>')
        if end < 1:
            x, y = places.split()[-1].split(",")
            paths.append(f'<path d="M{x},{y}m-4-6l8,12m0-12l-8,12"/>')
    return (
        f'<svg viewBox="-2 -3 {WIDTH + 4} {HEIGHT + 6}" preserveAspectRatio="none" '
        f'aria-hidden="true">{"".join(paths)}</svg>'
    )


def names(rows: list[dict], lang: str) -> str:
    """Return the label of each curve."""
    return "".join(
        f'<span class="{look}">{escape(row[lang])}</span>'
        for look, row in zip(("ink", "old"), rows, strict=False)
    )


def sketch(rows: list[dict], lang: str) -> str:
    """Return a drawing of one or two curves with their names, as HTML."""
    return (
        f'<div class="curve" aria-hidden="true">{drawing(rows, POINTS)}'
        f"<p>{names(rows, lang)}<i>{pick(SKETCH, lang)}</i></p></div>"
    )


def quantities(rows: list[dict]) -> dict[str, None]:
    """Return of which quantities some curves are, in their order."""
    return dict.fromkeys(row["of"] for row in rows)


def across(groups: list[int]) -> int:
    """Return the number of cards per row that fills the last rows of groups best."""
    return min(ACROSS, key=lambda row: sum(-cards % row for cards in groups))


def finder(groups: dict[str, list[tuple[str, str, list[dict]]]], lang: str) -> str:
    """Return the index: a sketch for each symptom, and a choice of the quantity.

    `groups` has, by its heading, the (anchor, title, curves) of each group's symptoms.
    """
    each = [quantities(rows) for group in groups.values() for *_, rows in group]
    counts = {"all": len(each), **Counter(of for some in each for of in some)}
    radios = "".join(
        f'<label><input type="radio" name="quantity" id="of-{name}"'
        f"{' checked' * (name == 'all')}><span>{pick(words, lang)}"
        f"<small>{counts.get(name, 0)}</small></span></label>"
        for name, words in {"all": ALL, **QUANTITIES}.items()
    )
    hidden = ",".join(
        f"article:has(#of-{name}:checked) "
        f':is([data-of]:not([data-of~="{name}"]),.listed:not(.of-{name}))'
        for name in QUANTITIES
    )
    boxes = []
    for heading, symptoms in groups.items():
        links, every = [], {}
        for anchor, title, rows in symptoms:
            of = quantities(rows)
            every |= of
            links.append(
                f'<li data-of="{" ".join(of)}"><a href="#{anchor}">'
                f"<b>{escape(title)}</b>{drawing(rows, FEW)}"
                f'<small aria-hidden="true">{names(rows, lang)}</small></a></li>'
            )
        boxes.append(
            f'<div data-of="{" ".join(every)}"><p>{escape(heading)}</p>'
            f"<ul>{''.join(links)}</ul></div>"
        )
    ask, columns = pick(ASK, lang), across([*map(len, groups.values())])
    return (
        f'<nav class="finder" aria-label="{ask}" style="--across: {columns}">'
        f"<style>@media screen{{{hidden}{{display:none}}}}</style>"
        f"<fieldset><legend>{ask}</legend>{radios}</fieldset>"
        f"{words_bar(counts['all'], lang)}{''.join(boxes)}</nav>"
    )


def words_bar(count: int, lang: str) -> str:
    """Return the filter by words with its counter; the script reveals it."""
    ask, shown, none, back, elsewhere, up = (
        escape(pick(text, lang)) for text in (FILTER, SHOWN, NONE, BACK, ELSEWHERE, UP)
    )
    return (
        f'<div class="finder-words" hidden data-says="{shown % count}" '
        f'data-none="{none}" data-up="{up}"><input type="search" placeholder="{ask}" '
        f'aria-label="{ask}"><p role="status"><span></span>'
        f'<button type="button">{back}</button> '
        f'<a href="../search.html">{elsewhere}</a></p></div>'
        '<script src="../_static/symptoms.js" defer></script>'
    )


class Sketches(SphinxTransform):
    """Put its sketch under the heading of each symptom, and the index before them."""

    default_priority = BEFORE_LINKS  # the headings have their anchors

    def apply(self) -> None:
        if self.env.docname != PAGE:
            return
        self.env.note_dependency(str(CURVES))
        self.env.note_dependency(__file__)
        drawn, lang, groups = curves(), self.config.edition, {}
        logged = log_keys.logged()
        for section in self.document.findall(nodes.section):
            if rows := drawn.pop(anchor := section["ids"][0], None):
                html = sketch(rows, lang)
                section.insert(1, nodes.raw("", html, format="html"))
                if anchor in logged:
                    section += log_keys.below(logged[anchor], lang)
                of = ["listed", *(f"of-{name}" for name in quantities(rows))]
                for part in (section, section.parent):
                    part["classes"] += [one for one in of if one not in part["classes"]]
                group, title = (s[0].astext() for s in (section.parent, section))
                groups.setdefault(group, []).append((anchor, title, rows))
        page = next(self.document.findall(nodes.section))
        first = page.first_child_matching_class(nodes.section)
        page.insert(first, nodes.raw("", finder(groups, lang), format="html"))
        for anchor in drawn:
            log.warning(
                "src/tokenbook/symptoms/curves.yml: no symptom %r",
                anchor,
                location=PAGE,
            )


class PhenomenaTable(Generated):
    """Phenomena on *fill the signs*, from the lab's store."""

    def markdown(self, lang: str) -> str:
        return phenomena.phenomena_table(lang)


class DiagnosticsList(Generated):
    """One entry per diagnostic: function, formula, healthy range, symptom."""

    def markdown(self, lang: str) -> str:
        healthy, symptom, colon = WORDS[lang]
        return "\n".join(
            f"`{name}`\n"
            f": `{row.formula}`\n"
            f": **{healthy}**{colon}{row.healthy[lang]}\n"
            f": **{symptom}**{colon}{row.symptom[lang]}\n"
            for name, row in DIAGNOSTICS.items()
        )


def setup(app: Sphinx) -> dict:
    app.add_transform(Sketches)
    app.add_directive("diagnostics-list", DiagnosticsList)
    app.add_directive("phenomena-table", PhenomenaTable)
    app.add_directive("log-keys", log_keys.LogKeys)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
