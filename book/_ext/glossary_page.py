"""The notation and glossary tables, written from ``book/glossary.yml``."""

from cards import anchor
from generated import Generated, jumps, table
from sphinx.application import Sphinx

from coursebook.glossary import read
from coursebook.languages import LANGUAGES, pick

LETTERS = {
    "zh": "一个字母，几个意思",
    "en": "One letter, several things",
}  # the page's own
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


class GlossaryJumps(Generated):
    """Links to the groups, and to the page's own section."""

    def markdown(self, lang: str) -> str:
        titles = [group["title"] for group in read()["groups"]]
        return jumps([*titles, LETTERS], lang)


def setup(app: Sphinx) -> dict:
    app.add_directive("glossary-jumps", GlossaryJumps)
    app.add_directive("glossary-tables", GlossaryTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
