"""Decks for Anki 卡片: interview questions, predictions and terms, one deck a language.

    python -m tokenbook.takeaway.deck [--site DIR]

A card's id depends on the place of its question, not on its words, so a newer deck
keeps a learner's progress.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from html import escape
from pathlib import Path
from typing import NamedTuple

import genanki
from lxml import html

from tokenbook import ROOT
from tokenbook.languages import LANGUAGES, pages, pick
from tokenbook.takeaway.articles import TEX, articles, gone

SITE = Path("_build") / "site"
NAME = "token-credit-{}.apkg"
IDS = {"zh": 1_706_300_101, "en": 1_706_300_102}  # of the decks; never changed
MODEL = 1_706_300_100  # of the kind of note; never changed
TITLES = {
    "deck": "词元的功劳 | Token Credit",
    "interview": "面试题 | interview",
    "prediction": "先猜一猜 | prediction",
    "term": "术语 | term",
}
STYLE = """
.card { font: 20px/1.6 system-ui, sans-serif; max-width: 34em; margin: 0 auto;
  padding: 0 1em; text-align: start; }
.from { color: #777; font-size: .75em; }
code { font-size: .9em; }
"""


class Card(NamedTuple):
    """A question and its answer, as HTML; `key` stays when the words change."""

    key: str
    kind: str
    front: str
    back: str
    chapter: str
    level: str = ""


def cards(edition: Path, lang: str) -> Iterator[Card]:
    """Yield the cards of an edition of the built site, in the order of its pages."""
    for page in articles(edition):
        if page.address == "book/interview.html":
            yield from of_interview(page.tree)
        elif page.address == "book/glossary.html":
            yield from of_glossary(page.tree)
        elif page.address.startswith("chapters/"):
            stem = Path(page.address).stem
            yield from of_chapter(page, ROOT / "chapters" / f"{stem}.ipynb", lang)


def of_interview(tree) -> Iterator[Card]:
    for fold in tree.find_class("qa"):
        question, chapter = fold.find("summary/span"), fold.find("summary/small")
        answer = [written(part) for part in fold if part.tag != "summary"][:-1]
        key, level = f"q-{fold.get('data-key')}", fold.get("data-level")
        name = chapter.text_content()
        yield Card(key, "interview", written(question), "".join(answer), name, level)


def of_chapter(page, notebook: Path, lang: str) -> Iterator[Card]:
    """Yield the predictions of a chapter; their ids are those of the English cells."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    asked = [c for c in cells if {"predict", "lang-en"} <= set(pages.tags(c))]
    for cell, box in zip(asked, page.tree.find_class("predict"), strict=True):
        question = "".join(written(p) for p in box.findall("p")[1:-1])
        choices = [written(b.find("span")) for b in box.iter("button")]
        right = choices[int(box.get("data-answer"))]
        listed = "".join(f"<li>{choice}</li>" for choice in choices)
        front = f"{question}<ol type='a'>{listed}</ol>"
        yield Card(f"p-{cell['id']}", "prediction", front, right, page.title)


def of_glossary(tree) -> Iterator[Card]:
    for row in tree.iter("tr"):
        cells = row.findall("td")
        target = row.xpath(".//*[starts-with(@id, 'term-')]/@id")
        if target and len(cells) > 1:
            front, back = written(cells[0]), " · ".join(map(written, cells[1:]))
            yield Card(target[0], "term", front, back, "")


def written(element) -> str:
    """Return the HTML inside an element: formulas as Anki writes them, no controls."""
    copy = deepcopy(element)
    copy.tail = None
    for node in list(copy.iter()):
        if gone(node) and node is not copy and node.getparent() is not None:
            node.drop_tree()
    for node in copy.find_class("math"):
        tex = node.find(f".//{TEX}")
        if tex is not None and node.getparent() is not None:
            ends = ("\\[", "\\]") if node.tag == "div" else ("\\(", "\\)")
            tail, shown = node.tail, html.Element(node.tag)
            shown.text = f"{ends[0]}{tex.text.strip()}{ends[1]}"
            shown.tail = tail
            node.getparent().replace(node, shown)
    for link in list(copy.iter("a")):
        link.drop_tag()  # it leads nowhere in a deck
    for node in copy.iter():
        for name in node.attrib:
            del node.attrib[name]
    text = html.tostring(copy, encoding="unicode")
    outer = ("p", "div", "ul", "ol", "pre", "table")
    return text if copy.tag in outer else re.sub(r"^<[^>]*>|</[^>]*>$", "", text)


def deck(found: list[Card], lang: str) -> genanki.Deck:
    """Return an Anki deck of these cards.

    Raises:
        ValueError: two cards of one id; it is named.
    """
    twice = [key for key, n in Counter(card.key for card in found).items() if n > 1]
    if twice:
        raise ValueError(f"two cards have the id {twice[0]!r}")
    model = genanki.Model(
        MODEL,
        "Token Credit",
        fields=[{"name": name} for name in ("Front", "Back", "From")],
        templates=[
            {
                "name": "card",
                "qfmt": '{{Front}}<p class="from">{{From}}</p>',
                "afmt": "{{FrontSide}}<hr id=answer>{{Back}}",
            }
        ],
        css=STYLE,
    )
    made = genanki.Deck(IDS[lang], pick(TITLES["deck"], lang))
    for card in found:
        kind = pick(TITLES[card.kind], lang)
        tags = [card.kind, *([card.level] if card.level else [])]
        source = escape(" · ".join(filter(None, [card.level, card.chapter, kind])))
        made.add_note(
            genanki.Note(
                model,
                [card.front, card.back, source],
                guid=genanki.guid_for("token-credit", lang, card.key),
                tags=tags,
            )
        )
    return made


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=SITE)
    site = parser.parse_args(argv).site
    for lang in LANGUAGES:
        found = list(cards(site / lang, lang))
        file = site / NAME.format(lang)
        genanki.Package(deck(found, lang)).write_to_file(str(file))
        kinds = Counter(card.kind for card in found)
        said = ", ".join(f"{n} {kind}s" for kind, n in kinds.items())
        print(f"deck: {file.name}: {said}; {file.stat().st_size / 1e3:.0f} KB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
