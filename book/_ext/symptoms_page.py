"""The list of diagnostics, written from ``tokencredit.DIAGNOSTICS``."""

import inspect

from generated import Generated
from sphinx.application import Sphinx

import tokencredit
from tokencredit import DIAGNOSTICS

WORDS = {"zh": ("正常", "症状", "："), "en": ("Healthy", "Symptom", ": ")}


class DiagnosticsList(Generated):
    """One entry per diagnostic: function, formula, healthy range, symptom."""

    def markdown(self, lang: str) -> str:
        self.depends_on(inspect.getfile(tokencredit.diagnostics))
        healthy, symptom, colon = WORDS[lang]
        return "\n".join(
            f"`{name}`\n"
            f": `{row.formula}`\n"
            f": **{healthy}**{colon}{row.healthy[lang]}\n"
            f": **{symptom}**{colon}{row.symptom[lang]}\n"
            for name, row in DIAGNOSTICS.items()
        )


def setup(app: Sphinx) -> dict:
    app.add_directive("diagnostics-list", DiagnosticsList)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
