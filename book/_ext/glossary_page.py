"""The notation and glossary tables, written from ``book/glossary.yml``."""

import yaml
from generated import Generated, table
from sphinx.application import Sphinx


class GlossaryTables(Generated):
    """One table per group: term in both languages, symbol, name in code, meaning."""

    def markdown(self) -> str:
        path = self.root / "book" / "glossary.yml"
        self.depends_on(path)
        groups = yaml.safe_load(path.read_text(encoding="utf-8"))
        head = self.pick(
            "术语/英文/符号/代码/含义 | Term/Chinese/Symbol/In code/Meaning"
        ).split("/")
        other = "en" if self.lang == "zh" else "zh"
        text = []
        for group in groups:
            rows = [
                [
                    f"**{term[self.lang]}**",
                    term[other],
                    f"${term['symbol']}$" if "symbol" in term else "",
                    " ".join(f"`{name}`" for name in term.get("code", "").split()),
                    term["means"][self.lang],
                ]
                for term in group["terms"]
            ]
            text += [f"**{group['title'][self.lang]}**", "", table(head, rows)]
        return "\n".join(text)


def setup(app: Sphinx) -> dict:
    app.add_directive("glossary-tables", GlossaryTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
