"""The references: labels as the text cites them, and where in the book that is."""

from collections.abc import Iterable, Iterator

from docutils import nodes
from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting.alpha import Style as Alpha
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tokenbook.languages import pick
from tokenbook.languages.pages import chapter_number
from tokenbook.site.generated import Generated
from tokenbook.site.zoo.page import ANCHORS
from tokencredit import ALGORITHMS

PAGE, ZOO = "book/references", "book/zoo"
WORDS = {
    "chapter": "第 {} 章 | chapter {}",
    "zoo": "动物园里的 {} | {} in the zoo",
    "filter": "按作者、年份或标题筛选 | Filter by author, year or title",
}
SIGNS = {"zh": ("引用处：", "、"), "en": ("Cited in ", ", ")}  # before, and between
FILTER = """<script>{
const field = document.currentScript.parentElement.querySelector("input");
field.hidden = false;
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\\s+/);
  for (const one of document.querySelectorAll(".citation"))
    one.hidden = !words.every((word) => one.textContent.toLowerCase().includes(word));
});
}</script>"""


def label(entry: Entry) -> str:
    """Return "Ahmadian et al., 2024"."""
    people = entry.persons["author"]
    names = [
        " ".join(
            str(part) for part in person.rich_prelast_names + person.rich_last_names
        )
        for person in people
    ]
    if len(names) > 2 or names[-1] == "others":
        who = f"{names[0]} et al."
    else:
        who = " and ".join(names)
    return f"{who}, {entry.fields['year']}"


class AuthorYearLabels(BaseLabelStyle):
    """One label for each entry."""

    def format_labels(self, sorted_entries: Iterable[Entry]) -> Iterator[str]:
        return map(label, sorted_entries)


class AuthorYear(Alpha):
    """Entries as in ``alpha``, with the author-year labels of the text."""

    default_label_style = AuthorYearLabels


class Filter(Generated):
    """A field that leaves the works with all of its words; shown by its script."""

    def made(self) -> list[nodes.Node]:
        says = pick(WORDS["filter"], self.config.edition)
        field = f'<input type="search" hidden placeholder="{says}" aria-label="{says}">'
        html = f'<div class="reference-filter">{field}{FILTER}</div>'
        return [nodes.raw("", html, format="html")]


def places(env: BuildEnvironment, lang: str) -> dict[str, list[tuple[str, str]]]:
    """Return where each work is cited, by the id of its entry: (place, words)."""
    domain, found = env.get_domain("cite"), {}
    cited = {
        (target.key, ref.docname)
        for ref in domain.citation_refs
        for target in ref.targets
        if ref.docname != PAGE
    }
    for citation in domain.citations:
        links, pages = [], [page for key, page in cited if key == citation.key]
        for page in sorted(pages, key=lambda x: (not x.startswith("chapters/"), x)):
            words = env.titles[page].astext()
            if page.startswith("chapters/"):
                words = pick(WORDS["chapter"], lang).format(chapter_number(page))
            links.append((page, words))
        fields = citation.entry.fields
        work = f"arxiv.org/abs/{fields['eprint']}" if "eprint" in fields else None
        links += [
            (f"{ZOO}#{ANCHORS[row.name]}", pick(WORDS["zoo"], lang).format(row.name))
            for row in ALGORITHMS.values()
            if row.url.removeprefix("https://") == work and ZOO in env.titles
        ]
        found[citation.citation_id] = links
    return found


def say_where(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add to each entry the places of its citations."""
    if page != PAGE:
        return
    lang = app.config.edition
    found = places(app.env, lang)
    for entry in doctree.findall(nodes.citation):
        links = found[entry["ids"][0]]
        line = nodes.paragraph(classes=["cited-in"])
        for n, (place, words) in enumerate(links):
            line += nodes.Text(SIGNS[lang][n > 0])
            target, _, anchor = place.partition("#")
            uri = (
                app.builder.get_relative_uri(PAGE, target) + "#" * bool(anchor) + anchor
            )
            line += nodes.reference("", words, refuri=uri, internal=True)
        if links:
            entry += line


def again(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Rewrite the references after a change of any page."""
    return [PAGE] if PAGE in env.found_docs else []


def setup(app: Sphinx) -> dict:
    app.add_directive("reference-filter", Filter)
    app.connect("doctree-resolved", say_where)
    app.connect("env-updated", again)
    register_plugin("pybtex.style.formatting", "author_year", AuthorYear)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
