"""The second box of the page *Read my log*: ``read-my-configuration``, in Sphinx.

It shares page and style with ``read-my-log``, and the page's head forbids connections.
The page contains all data: config.yml, the entries of ALGORITHMS, and the program.
"""

from docutils import nodes
from sphinx.application import Sphinx

from tokenbook.languages.pages import slugs
from tokenbook.site.generated import Generated
from tokenbook.symptoms.config import HERE, bundle, zoo
from tokenbook.symptoms.page import as_script, lean

EXAMPLE = """\
GRPOConfig(
    loss_type="cispo",
    num_generations=8,
    per_device_train_batch_size=8,
    steps_per_generation=32,
    gradient_accumulation_steps=8,
    beta=0.0,
)
"""
SCRIPTS = ("config.js", "config_view.js")


def box_html(lang: str) -> str:
    """Return the box: data and program in one piece."""
    words = bundle(lang)["words"]["page"]
    places = {
        "zoo": dict(zip(zoo(), slugs([*zoo()]), strict=True)),
        "example": EXAMPLE,
    }
    program = "\n".join(lean((HERE / name).read_text("utf-8")) for name in SCRIPTS)
    return (
        f'<div id="readconfig" class="rl"><noscript>{words["script"][lang]}</noscript>'
        f'</div>\n<script>\n(() => {{\n"use strict";\n{program}\n'
        f'configBox(document.getElementById("readconfig"), {as_script(bundle(lang))}, '
        f'"{lang}", {as_script(places)});\n}})();\n</script>'
    )


class ReadMyConfiguration(Generated):
    """The input box of a configuration."""

    def made(self) -> list[nodes.Node]:
        for path in HERE.glob("config*"):
            self.depends_on(path)
        return [nodes.raw("", box_html(self.config.edition), format="html")]


def setup(app: Sphinx) -> dict:
    app.add_directive("read-my-configuration", ReadMyConfiguration)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
