"""An author's marks on the page: predictions, held equations, folds.

A pair of prose cells tagged ``predict`` becomes a question with buttons above the
output of the next code cell; `book.js` blurs the output until one is chosen (without a
script and in print it is visible). An equation that a cell `holds` gets a ✓ beside its
number, with a link to the cell. ``tokenbook.languages.marks`` defines the marks. The
setup, which a notebook runs first, is placed after the chapter's picture. ``dropdown``
folds a side road.
"""

import json

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tokenbook.languages import pages, pick
from tokenbook.site import AFTER_LINKS

log = logging.getLogger(__name__)
TITLE = "先猜 | Predict"
WORDS = {  # for the script, as data-... of the box
    "show": "直接看 | Show me",
    "again": "重猜一次 | Guess again",
    "right": "猜对了。 | As you predicted.",
    "other": "与你猜的不同，往下读。 | Not what you predicted: read on to see why.",
}


class prediction(nodes.General, nodes.Element):
    """A question, its choices, and the place of the right one."""


class choice(nodes.Part, nodes.Element):
    """One choice, shown as a button."""


def box_predictions(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the cells tagged ``predict`` into directives, before they are parsed."""
    if not source[0].lstrip().startswith("{"):
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        if "predict" in pages.tags(cell) and (text := pages.text_of(cell)):
            right = cell["metadata"].get("predict")
            cell["source"] = f"::::::{{predict}} {right}\n{text}\n::::::"
    source[0] = json.dumps(notebook, ensure_ascii=False)


class Predict(SphinxDirective):
    """Question and choices; the last list of the content has the choices."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        box = prediction(right=self.arguments[0])
        self.set_source_info(box)
        self.state.nested_parse(self.content, self.content_offset, box)
        listed = box.children[-1] if box.children else None
        if not isinstance(listed, nodes.bullet_list):
            raise self.error("a prediction ends in a list of its choices")
        box.remove(listed)
        for item in listed.children:
            if len(item.children) != 1 or next(item.findall(nodes.reference), None):
                raise self.error("a choice is one paragraph without links")
            box += choice("", *item.children[0].children)
        return [box]


class folded(nodes.General, nodes.Element):
    """A side road, closed until its title is clicked."""


class Dropdown(SphinxDirective):
    """A title with folded content."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        box = folded(title=self.arguments[0])
        self.set_source_info(box)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class Marks(SphinxTransform):
    """Turn the marks of cells and equations into classes and nodes of the page."""

    default_priority = AFTER_LINKS

    def apply(self) -> None:
        held, asked, answered, setups = {}, [], [], []
        for node in self.document.findall(nodes.Element):
            if isinstance(node, prediction):
                asked.append(node)
            elif node.get("nb_element") == "cell_code":
                for label in node["cell_metadata"].get("holds", []):
                    held.setdefault(label, node)
                if "tag_setup" in node["classes"]:
                    setups.append(node)
                last = node[-1].get("nb_element") if node.children else ""
                if asked and last == "cell_code_output":
                    answered.append((asked.pop(), node))
                    node["classes"].append("predicted")
        for box, cell in answered:
            box.parent.remove(box)
            cell.insert(len(cell) - 1, box)
        for cell in setups:
            picture = cell.next_node(descend=False, siblings=True)
            if picture is not None and "tag_picture" in picture["classes"]:
                cell.parent.insert(cell.parent.index(picture) + 1, cell)
                cell.parent.remove(cell)
        for box in asked:
            log.warning("no output of a cell answers this prediction", location=box)
        for equation in self.document.findall(nodes.math_block):
            if cell := held.get(equation.get("label")):
                cell["ids"] = cell["ids"] or [f"holds-{equation['label']}"]
                equation["held"] = cell["ids"][0]


def visit_prediction(writer, node: prediction) -> None:
    lang = writer.config.edition
    words = {f"data-{name}": pick(text, lang) for name, text in WORDS.items()}
    title = pick(TITLE, lang)
    tag = writer.starttag(
        node, "div", CLASS="predict", role="group", **words, **{"aria-label": title}
    )
    tag = tag.replace("<div", f'<div data-answer="{node["right"]}"', 1)
    writer.body.append(f'{tag}<p class="predict-title">{title}</p>\n')


def depart_prediction(writer, node: prediction) -> None:
    writer.body.append('<p class="predict-says" role="status"></p>\n</div>\n')


def visit_choice(writer, node: choice) -> None:
    writer.body.append('<button type="button" class="predict-choice" disabled><span>')


def depart_choice(writer, node: choice) -> None:
    writer.body.append("</span></button>\n")


def visit_folded(writer, node: folded) -> None:
    summary = node.get("summary", writer.encode(node["title"]))
    writer.body.append(f"<details><summary>{summary}</summary>\n")


def depart_folded(writer, node: folded) -> None:
    writer.body.append("</details>\n")


def setup(app: Sphinx) -> dict:
    app.connect("source-read", box_predictions)  # one language is left
    app.add_directive("predict", Predict)
    app.add_directive("dropdown", Dropdown)
    app.add_transform(Marks)
    app.add_node(prediction, html=(visit_prediction, depart_prediction))
    app.add_node(choice, html=(visit_choice, depart_choice))
    app.add_node(folded, html=(visit_folded, depart_folded))
    # of the pages in the environment: a higher one makes Sphinx read all again
    return {
        "env_version": 2,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
