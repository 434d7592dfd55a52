"""The notation and glossary tables, written from ``book/glossary.yml``."""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx

from tokenbook.languages import LANGUAGES, pick
from tokenbook.languages.glossary import read
from tokenbook.site.chapter.cards import anchor
from tokenbook.site.generated import Generated, jumps, table

LETTERS = {
    "zh": "一个字母，几个意思",
    "en": "One letter, several things",
}  # the page's own
FIND = "筛选：词、符号或代码里的名字 | Filter by a word, a symbol or a name in code"
SAYS = "{} 行 | {} rows"
NONE = "这里没有，试试上面的搜索。 | Not here; try the search of the book."
HEAD = "术语/英文/符号/代码/含义 | Term/Chinese/Symbol/In code/Meaning"


class GlossaryTables(Generated):
    """One table per group: term in each language, symbol, name in code, meaning."""

    def markdown(self, lang: str) -> str:
        others = [other for other in LANGUAGES if other != lang]
        text = []
        for group in read()["groups"]:
            rows = [
                [
                    f'<span id="{anchor(term["id"])}"></span>**{term[lang]}**',
                    ", ".join(term[other] for other in others),
                    f"${term['symbol']}$" if "symbol" in term else "",
                    " ".join(f"`{name}`" for name in term.get("code", "").split()),
                    term["means"][lang],
                ]
                for term in group["terms"]
            ]
            head = pick(HEAD, lang).split("/")
            text += [f"## {group['title'][lang]}", "", table(head, rows)]
        return "\n".join(text)


class GlossaryFilter(Generated):
    """A field that leaves the rows with all of its words; shown by its script."""

    def made(self) -> list[nodes.Node]:
        ask, says, none = (
            escape(pick(text, self.config.edition)) for text in (FIND, SAYS, NONE)
        )
        html = (
            f'<div class="reference-filter glossary-filter" hidden data-says="{says}" '
            f'data-none="{none}"><input type="search" placeholder="{ask}" '
            f'aria-label="{ask}"><p role="status"></p></div>'
            '<script src="../_static/glossary.js" defer></script>'
        )
        return [nodes.raw("", html, format="html")]


class GlossaryJumps(Generated):
    """Links to the groups, and to the page's own section."""

    def markdown(self, lang: str) -> str:
        titles = [group["title"] for group in read()["groups"]]
        return jumps([*titles, LETTERS], lang)


def setup(app: Sphinx) -> dict:
    app.add_directive("glossary-filter", GlossaryFilter)
    app.add_directive("glossary-jumps", GlossaryJumps)
    app.add_directive("glossary-tables", GlossaryTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
