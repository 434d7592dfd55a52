"""Cards for terms and symbols: the first of each in a chapter leads to the glossary.

The link works without a script; `book.js` shows the row of ``book/glossary.yml`` as a
card when the pointer or the keyboard reaches it. Everyday words get none.
"""

import json
import re
from html import escape

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tokenbook.languages import HAN, LANGUAGES
from tokenbook.languages.glossary import FILES, read
from tokenbook.languages.pages import chapter_number
from tokenbook.site import AFTER_LINKS
from tokenbook.site.chapter.marks import choice
from tokenbook.site.math.formulas import render
from tokenbook.site.pages.road import is_side, side_line

PLACES = (
    *(nodes.reference, pending_xref, nodes.title, nodes.strong, nodes.literal),
    *(nodes.raw, choice, side_line),
)
FORMULA = re.compile(r"\$([^$]+)\$")
INSIDE = re.compile(r"\(([^)]+)\)$")


def anchor(name: str) -> str:
    """Return the anchor of a term's row on the page of the glossary."""
    return f"term-{name.replace('_', '-')}"


def rows() -> dict[str, dict]:
    """Return the rows of the glossary by their id."""
    return {row["id"]: row for group in read()["groups"] for row in group["terms"]}


def patterns(lang: str) -> list[tuple[re.Pattern, str]]:
    """Return (spelling in prose, id) of the terms, the longest first."""
    found, everyday = [], read()["everyday"]
    for name, row in rows().items():
        if name in everyday or "`" in row[lang]:
            continue
        whole = row[lang]
        short = INSIDE.search(whole)  # "generalized advantage estimation (GAE)"
        for word in {INSIDE.sub("", whole).strip(), short[1] if short else whole}:
            text = re.escape(word)
            if not re.search(f"[{HAN}]", word):
                text = rf"(?<![\w-]){text}s?(?![\w-])"
            found.append((len(word), re.compile(text, re.I), name))
    return [
        (pattern, name) for _, pattern, name in sorted(found, key=lambda one: -one[0])
    ]


def symbols(chapter: int) -> dict[str, str]:
    """Return the term of each symbol of one meaning in a chapter; no bare letters."""
    found: dict[str, list[str]] = {}
    for name, row in rows().items():
        if chapter in row.get("chapters", [chapter]):
            found.setdefault(row.get("symbol", ""), []).append(name)
    return {
        tex: names[0]
        for tex, names in found.items()
        if len(names) == 1 and re.search(r"[\\_]", tex)
    }


def in_a_link(node: nodes.Node) -> bool:
    """Whether an HTML link of the paragraph is open at the node."""
    before = node.parent.children[: node.parent.index(node)]
    tags = "".join(one.astext() for one in before if isinstance(one, nodes.raw))
    return tags.count("<a ") > tags.count("</a>")


def card(row: dict, lang: str) -> str:
    """Return a card's HTML: the term in every language, its symbol, its meaning."""
    others = ", ".join(row[other] for other in LANGUAGES if other != lang)
    symbol = f" {render(row['symbol'], False)}" if "symbol" in row else ""
    pieces = FORMULA.split(row["means"][lang])
    means = "".join(
        render(piece, False) if n % 2 else escape(piece)
        for n, piece in enumerate(pieces)
    )
    head = f"<b>{escape(row[lang])}</b> <i>{escape(others)}</i>{symbol}"
    return f"<p>{head}</p><p>{means}</p>".replace("`", "")


class Terms(SphinxTransform):
    """Link the first place of each term and symbol in a chapter, on its road if any."""

    default_priority = AFTER_LINKS

    def apply(self) -> None:
        known = "book/glossary" in self.env.found_docs
        chapter = chapter_number(self.env.docname)
        if chapter is None or not known:
            return
        self.env.note_dependency(str(FILES[0]))
        lang, seen = self.config.edition, {}
        words, signs = patterns(lang), symbols(chapter)
        for text in sorted(self.document.findall(self.is_prose), key=is_side):
            if isinstance(text, nodes.math):
                name = signs.get(text.astext().strip())
                if name and name not in seen:
                    text.replace_self(self.link(name, text.deepcopy()))
                    seen[name] = True
                continue
            self.split(text, words, seen)
        if seen:
            known = rows()
            data = json.dumps(
                {anchor(name): card(known[name], lang) for name in seen},
                ensure_ascii=False,
                separators=(",", ":"),
            ).replace("</", r"<\/")
            self.env.metadata[self.env.docname]["cards"] = data

    def split(self, text: nodes.Text, words: list, seen: dict) -> None:
        """Replace a text by its parts, terms that are not seen yet being links."""
        parts, rest = [], text.astext()
        while rest:
            hits = [
                (found.start(), -len(found[0]), found, name)
                for pattern, name in words
                if name not in seen and (found := pattern.search(rest))
            ]
            if not hits:
                break
            _, _, found, name = min(hits, key=lambda hit: hit[:2])
            seen[name] = True
            parts += [nodes.Text(rest[: found.start()]), self.link(name, found[0])]
            rest = rest[found.end() :]
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(rest)])

    @staticmethod
    def is_prose(node: nodes.Node) -> bool:
        """Whether a node is a text or formula of running prose."""
        if not isinstance(node, nodes.Text | nodes.math):
            return False
        above, inside = node.parent, False
        while above is not None:
            if isinstance(above, PLACES) or "cell" in getattr(above, "classes", ()):
                return False
            if isinstance(above, nodes.Element) and "nb_element" in above:
                return False
            if isinstance(above, nodes.paragraph):
                inside = not isinstance(above.parent, nodes.entry)
            above = above.parent
        return (
            inside and not isinstance(node.parent, nodes.math) and (not in_a_link(node))
        )

    def link(self, name: str, content: str | nodes.Node) -> nodes.reference:
        """Return a link to a term's row."""
        node = nodes.reference(
            internal=True,
            refuri=f"../book/glossary.html#{anchor(name)}",
            classes=["term"],
        )
        node += nodes.Text(content) if isinstance(content, str) else content
        return node


def setup(app: Sphinx) -> dict:
    app.add_transform(Terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
