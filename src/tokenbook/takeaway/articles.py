"""Articles of the built site, as Markdown: formulas as TeX, folds open, no controls."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import html

from tokenbook import ROOT
from tokenbook.languages.data import load

# Controls, and parts that a script or a picture shows in another form.
GONE = {
    *("script", "style", "button", "textarea", "input", "select", "nav", "svg"),
    *("template", "fieldset", "label"),
}
GONE_CLASSES = {
    *("headerlink", "chapter-head", "practice", "practice-rules", "report", "held"),
    *("katex-html", "bank", "predict-says", "pst-js-only"),
}
BLOCKS = {
    *("p", "div", "section", "ul", "ol", "table", "details", "figure", "pre", "dl"),
    *("blockquote", "h1", "h2", "h3", "h4", "h5", "aside", "article", "hr"),
}
LINES = {"td", "th", "li", "summary", "figcaption", "dt", "dd"}
TEX = "annotation[@encoding='application/x-tex']"


class Article(NamedTuple):
    """A page: its address in the site's edition, its title, and its tree."""

    address: str
    title: str
    tree: html.HtmlElement

    def markdown(self) -> str:
        return blocks(self.tree).strip() + "\n"


def articles(edition: Path) -> Iterator[Article]:
    """Yield the articles of an edition, in the order of its contents.

    Args:
        edition: a folder of the built site, such as ``_build/site/en``.
    """
    for address in contents(edition):
        tree = html.parse(str(edition / address)).getroot().find(".//article")
        title = tree.find(".//h1")
        yield Article(address, inline(title), tree)


def contents(edition: Path) -> list[str]:
    """Return the addresses of the pages, as _toc.yml has them."""
    toc = load(ROOT / "_toc.yml")
    names = [toc["root"]]
    for part in toc["parts"]:
        names += [chapter["file"] for chapter in part["chapters"]]
    return [f"{name}.html" for name in names if (edition / f"{name}.html").exists()]


def classes(element) -> set[str]:
    return set(element.get("class", "").split())


def gone(element) -> bool:
    """Whether an element is useless without a browser."""
    return (
        not isinstance(element.tag, str)
        or element.tag in GONE
        or bool(classes(element) & GONE_CLASSES)
        or element.get("aria-hidden") == "true"
    )


def inline(element) -> str:
    """Return the text of an element: emphasis, code, links and TeX as in Markdown."""
    said = [element.text or ""]
    for child in element:
        said += [within(child), child.tail or ""]
    text = "".join(said)
    return " ".join(text.split()) if element.tag in BLOCKS | LINES else text


def within(element) -> str:
    if gone(element):
        return ""
    if "math" in classes(element) or "katex" in classes(element):
        tex = element.find(f".//{TEX}")
        return inline(element) if tex is None else f"${tex.text.strip()}$"
    said = inline(element)
    match element.tag:
        case "em" | "i":
            return f"*{said.strip()}*" if said.strip() else said
        case "strong" | "b":
            return f"**{said.strip()}**" if said.strip() else said
        case "code":
            return f"`{element.text_content()}`"
        case "br":
            return "\n"
        case "img":
            return element.get("alt", "")
        case "a" if element.get("href") and said.strip():
            return f"[{said.strip()}]({as_text(element.get('href'))})"
    return said


def as_text(link: str) -> str:
    """Return a link between pages as one between their texts.

    >>> as_text("06_ppo.html#clip"), as_text("https://arxiv.org/a.html")
    ('06_ppo.md#clip', 'https://arxiv.org/a.html')
    """
    outside = re.match(r"[a-z]+:", link)
    return link if outside else re.sub(r"\.html(?=#|$)", ".md", link)


def blocks(element) -> str:
    """Return the contents of an element, block by block."""
    said, line = [], [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and (
            child.tag in BLOCKS or child.find("p") is not None
        ):
            said += ["".join(line), "" if gone(child) else block(child)]
            line = [child.tail or ""]
        else:
            line += [within(child), child.tail or ""]
    said.append("".join(line))
    return "\n\n".join(part.strip("\n ") for part in said if part.strip())


def block(element) -> str:
    tag, kinds = element.tag, classes(element)
    if "math" in kinds and "display" in kinds:
        number = element.find(".//span[@class='eqno']")
        label = (
            "" if number is None else f" {number.text_content().strip().rstrip('#')}"
        )
        tex = element.find(f".//{TEX}").text.strip()
        return f"$$\n{tex}\n$${label}"
    if any(kind.startswith("highlight-") for kind in kinds):
        text = element.find(".//pre").text_content().strip("\n")
        language = "python" if "highlight-python" in kinds else ""
        return f"```{language}\n{text}\n```"
    if "predict" in kinds:
        return prediction(element)
    if "explorer" in kinds or "fig" in kinds:
        return f"[{drawing(element)}]"
    if tag[0] == "h" and tag[1:].isdigit():
        return f"{'#' * int(tag[1:])} {inline(element)}"
    match tag:
        case "p":
            return inline(element)
        case "ul" | "ol":
            return items(element)
        case "table":
            return table(element)
        case "pre":
            return f"```\n{element.text_content().strip()}\n```"
        case "details":
            summary = element.find("summary")
            title = "" if summary is None else named(summary)
            rest = "\n\n".join(
                block(child)
                for child in element
                if child is not summary and not gone(child)
            )
            return f"**{title}**\n\n{rest}" if title else rest
        case "blockquote":
            return "\n".join(f"> {line}" for line in blocks(element).split("\n"))
        case "hr":
            return "---"
    return blocks(element)


def named(summary) -> str:
    """Return the title of a fold; open and closed ones may have a title each."""
    return inline((summary.findall("p") or [summary])[0])


def drawing(element) -> str:
    """Return the words of a figure: its title and its text for a screen reader."""
    title = element.find_class("ex-title")
    said = [title[0].text_content()] if title else []
    said += [e.get("aria-label", "") for e in element.find_class("ex-live")]
    return ". ".join(filter(None, [*said, element.get("aria-label", "")]))


def prediction(element) -> str:
    """Return the question, its choices, and which of them is right."""
    choices = [choice.text_content() for choice in element.iter("button")]
    right = int(element.get("data-answer"))
    marked = [f"- {c}{' ✓' * (n == right)}" for n, c in enumerate(choices)]
    return blocks(element) + "\n\n" + "\n".join(marked)


def items(element) -> str:
    said = []
    for n, item in enumerate(element.findall("li"), int(element.get("start", 1))):
        mark = "- " if element.tag == "ul" else f"{n}. "
        text = re.sub(r"\n(?=.)", "\n" + " " * len(mark), blocks(item))
        said.append(mark + text)
    return "\n".join(said)


def table(element) -> str:
    rows = [
        [
            inline(cell).replace("|", "\\|").replace("\n", " ")
            for cell in row.iter("td", "th")
        ]
        for row in element.iter("tr")
    ]
    if not rows:
        return ""
    width = max(map(len, rows))
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * width, *lines[1:]])
