"""The API reference: every public name of the package, from its docstring.

Modules stand in the order of the data, as in the package's own docstring. Docstrings
are plain text with equations, so their prose is set as it stands: only the sections
(Args, Returns, Raises) and doctests are marked up.
"""

import importlib
import inspect
import re

from generated import Generated
from sphinx.application import Sphinx

import tokencredit

MODULE = re.compile(r"^(\w+) {2,}\w", re.M)


def escape(line: str) -> str:
    """Keep RST from reading mathematics as markup."""
    return re.sub(r"(?<!`)([*|])|(?<=\w)_(?!\w)", r"\\\g<0>", line)


def plain_prose(app, what, name, obj, options, lines: list[str]) -> None:
    """Escape prose outside code, and set indented equations as they stand."""
    text, section = [], False
    for line in lines:
        if re.match(r"(Args|Returns|Raises|Yields|Example)s?:$", line):
            section = True
        if line.lstrip().startswith((">>>", "...")) or "``" in line or "`" in line:
            text.append(line)
        elif line.startswith("    ") and not section:
            if text and not text[-1].startswith("    ") and text[-1].strip() != "::":
                text += ["", "::", ""]
            text.append(line)
        else:
            text.append(escape(line))
    lines[:] = text


class ApiReference(Generated):
    """One section per module of the package's table of contents."""

    def markdown(self, lang: str) -> str:
        self.depends_on(inspect.getfile(tokencredit))
        text = []
        for name in MODULE.findall(tokencredit.__doc__):
            module = importlib.import_module(f"tokencredit.{name}")
            self.depends_on(module.__file__)
            public = [
                n
                for n in tokencredit.__all__
                if getattr(getattr(tokencredit, n), "__module__", "") == module.__name__
            ]
            text += [f"## {name}", "", "```{eval-rst}"]
            for n in public:
                kind = "class" if inspect.isclass(getattr(module, n)) else "function"
                text.append(f".. auto{kind}:: tokencredit.{n}")
            text += ["```", ""]
        return "\n".join(text)


def setup(app: Sphinx) -> dict:
    app.add_directive("api-reference", ApiReference)
    app.connect("autodoc-process-docstring", plain_prose, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
