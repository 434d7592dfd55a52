"""The notation and glossary tables, written from ``book/glossary.yml``."""

import bilingual
import yaml
from generated import Generated, table
from sphinx.application import Sphinx

HEAD = "术语/英文/符号/代码/含义 | Term/Chinese/Symbol/In code/Meaning"


class GlossaryTables(Generated):
    """One table per group: term in both languages, symbol, name in code, meaning."""

    def markdown(self, lang: str) -> str:
        path = self.root / "book" / "glossary.yml"
        self.depends_on(path)
        head = bilingual.pick(HEAD, lang).split("/")
        other = next(code for code in bilingual.LANGUAGES if code != lang)
        text = []
        for group in yaml.safe_load(path.read_text(encoding="utf-8")):
            rows = [
                [
                    f"**{term[lang]}**",
                    term[other],
                    f"${term['symbol']}$" if "symbol" in term else "",
                    " ".join(f"`{name}`" for name in term.get("code", "").split()),
                    term["means"][lang],
                ]
                for term in group["terms"]
            ]
            text += [f"## {group['title'][lang]}", "", table(head, rows)]
        return "\n".join(text)


def setup(app: Sphinx) -> dict:
    app.add_directive("glossary-tables", GlossaryTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
