"""The table of diagnostics, written from ``tokencredit.DIAGNOSTICS``."""

import inspect

import bilingual
from generated import Generated, table
from sphinx.application import Sphinx

import tokencredit
from tokencredit import DIAGNOSTICS

HEAD = "函数/公式/正常/症状 | Function/Formula/Healthy/Symptom"


class DiagnosticsTable(Generated):
    """One row per diagnostic: function, formula, healthy range, symptom."""

    def markdown(self, lang: str) -> str:
        self.depends_on(inspect.getfile(tokencredit.diagnostics))
        head = bilingual.pick(HEAD, lang).split("/")
        rows = [
            [f"`{name}`", f"`{row.formula}`", row.healthy[lang], row.symptom[lang]]
            for name, row in DIAGNOSTICS.items()
        ]
        return table(head, rows)


def setup(app: Sphinx) -> dict:
    app.add_directive("diagnostics-table", DiagnosticsTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
