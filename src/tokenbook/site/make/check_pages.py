"""Check the built site: no dead links, and equal editions.

    python -m tokenbook.site.make.check_pages [SITE]      default: _build/site

Every chapter has its page in each edition; no link or anchor is dead; no page loads
anything from another host; both editions have the same anchors, equation numbers,
formulas and pictures; no line end stands after a Chinese mark, and no formula as it was
typed, in a fold or out of it. Every message names the page and the cure.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tokenbook import ROOT
from tokenbook.languages import SOURCE

AUTOMATIC = re.compile(r"id\d+|pst-|__|search-|searchbox|xp-|plot-|module-")
LOADS = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
}
CALM = {
    "alternate",
    "canonical",
    "next",
    "prev",
    "index",
    "search",
    "author",
    "license",
}
LINE_END = re.compile(r"[\u3001-\u303f\uff01-\uff1f]\n\S")
VERBATIM = ("pre", "script", "style")
TYPED = re.compile(r"\$[^$\n]+\$|\\[a-zA-Z]{2,}")  # TeX that was not rendered
TEX = ("code", "annotation")  # allowed places of TeX
# Chinese, a bar and English: a short text that was not split
UNSPLIT = re.compile(r"[\u3400-\u9fff\uff01-\uff1f\u3002] ?\| [A-Za-z]{2}")


class Page(HTMLParser):
    """Contents of a built page: ids, links, loads, formulas, numbers, pictures."""

    def __init__(self, path: Path):
        super().__init__()
        self.path = path
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.formulas: Counter[str] = Counter()
        self.numbers: dict[str, str] = {}
        self.pictures = 0
        self.unnamed_pictures = 0
        self.language = ""
        self.line_ends: list[str] = []
        self.typed: list[str] = []
        self.unsplit: list[str] = []
        self._tex = 0
        self._verbatim = False
        self._equation = ""
        self._sink: list[str] | None = None
        self._end = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        at = dict(attrs)
        self._verbatim |= tag in VERBATIM
        self._tex += tag in TEX
        if tag == "html":
            self.language = at.get("lang", "")
        if at.get("id"):
            self.ids.append(at["id"])
        if tag == "a" and at.get("href"):
            self.links.append(at["href"])
        calm = CALM & set(at.get("rel", "").split())
        if tag in LOADS and at.get(LOADS[tag]) and not calm:
            self.loads.append(at[LOADS[tag]])
        classes = (at.get("class") or "").split()
        if tag == "img" or "fig" in classes:
            self.pictures += 1
            self.unnamed_pictures += not (at.get("alt") or at.get("aria-label"))
        if "math" in classes and at.get("id", "").startswith("equation-"):
            self._equation = at["id"]
        if tag == "annotation" or (tag == "span" and "eqno" in classes):
            self._sink, self._end = [], "annotation" if tag == "annotation" else "a"
        elif self._sink is not None and tag == self._end:
            self._close()

    def handle_data(self, data):
        if self._sink is not None:
            self._sink.append(data)
        if not self._verbatim and LINE_END.search(data):
            self.line_ends.append(data)
        if not self._verbatim and not self._tex and TYPED.search(data):
            self.typed.append(data)
        if not self._verbatim and not self._tex and UNSPLIT.search(data):
            self.unsplit.append(data)

    def handle_endtag(self, tag):
        self._verbatim &= tag not in VERBATIM
        self._tex -= tag in TEX
        if self._sink is not None and tag == self._end:
            self._close()

    def _close(self):
        text = re.sub(r"\s+", " ", "".join(self._sink)).strip()
        if self._end == "annotation":
            self.formulas[text] += 1
        else:
            self.numbers[self._equation] = text
        self._sink = None

    @cached_property
    def anchors(self) -> set[str]:
        """The ids that a reader may link to, without those a tool counts up."""
        return {i for i in self.ids if not AUTOMATIC.match(i)}


class Site:
    """All pages of all editions under one folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.pages = {
            path.relative_to(folder).as_posix(): Page(path)
            for path in sorted(folder.rglob("*.html"))
            if "_static" not in path.parts
        }

    def editions(self) -> dict[str, dict[str, Page]]:
        out: dict[str, dict[str, Page]] = {}
        for name, page in self.pages.items():
            lang, _, rest = name.partition("/")
            if rest:
                out.setdefault(lang, {})[rest] = page
        return out


def check_links(site: Site) -> Iterator[str]:
    """Yield links that lead nowhere and loads from other hosts."""
    for name, page in site.pages.items():
        for load in page.loads:
            if urlsplit(load).scheme not in ("", "data") or load.startswith("//"):
                yield f"{name}: loads {load} from another host: serve it from the book"
        for link in dict.fromkeys([*page.links, *page.loads]):
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = page.path
            if parts.path:
                target = (page.path.parent / unquote(parts.path)).resolve()
                target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{name}: dead link {link}: no such file, correct or remove it"
                continue
            anchor = unquote(parts.fragment)
            if not anchor or target.suffix != ".html":
                continue
            there = site.pages.get(target.relative_to(site.folder).as_posix())
            if there and anchor not in there.ids:
                yield f"{name}: dead anchor {link}: no such heading or label there"


def check_editions(site: Site) -> Iterator[str]:
    """Yield where an edition is not the same book as the English one."""
    pages = site.editions()
    for lang in pages.keys() - {SOURCE}:
        ours, english = pages[lang], pages[SOURCE]
        for name in sorted(ours.keys() ^ english.keys()):
            yield f"{name}: in one edition only: build both, python -m tokenbook.site"
        for name in sorted(ours.keys() & english.keys()):
            yield from (f"{name}: {what}" for what in differ(ours[name], english[name]))
    for lang, edition in pages.items():
        for name, page in edition.items():
            if not page.language.startswith(lang) and page.language:
                yield f"{lang}/{name}: <html lang={page.language!r}>, not {lang}"
            for text in page.line_ends:
                yield f"{lang}/{name}: a line end in {text!r} is shown as a space"
            for text in page.typed:
                yield f"{lang}/{name}: a formula is shown as it was typed: {text!r}"
            for text in page.unsplit:
                yield f"{lang}/{name}: both languages are shown: {text!r}"
            if page.unnamed_pictures and name.startswith("chapters/"):
                yield (
                    f"{lang}/{name}: {page.unnamed_pictures} pictures without a "
                    "description: give their cells figure.alt in both languages"
                )


def differ(one: Page, two: Page) -> Iterator[str]:
    """Yield the differences between two editions of a page."""
    for anchor in sorted(one.anchors ^ two.anchors):
        yield f"anchor #{anchor} in one edition only: pair the headings"
    if one.numbers != two.numbers:
        yield f"equation numbers differ: {one.numbers} {two.numbers}"
    for tex in (one.formulas - two.formulas) + (two.formulas - one.formulas):
        yield f"formula {tex!r} in one edition only: write it in both"
    if one.pictures != two.pictures:
        yield f"{one.pictures} and {two.pictures} pictures: show the same"


def check_chapters(site: Site, chapters: Path) -> Iterator[str]:
    """Yield chapters that have no page, which means no line in ``_toc.yml``."""
    for path in sorted(chapters.glob("[0-9]*.ipynb")):
        for lang, edition in site.editions().items():
            if f"chapters/{path.stem}.html" not in edition:
                yield (
                    f"chapters/{path.name}: no page in the {lang} edition: add "
                    f"'- file: chapters/{path.stem}' to _toc.yml"
                )


def problems(folder: Path, chapters: Path) -> list[str]:
    """Return everything that is wrong with a built site."""
    site = Site(folder.resolve())
    if not site.pages:
        return [f"{folder}: no pages: run python -m tokenbook.site first"]
    return [
        *check_chapters(site, chapters),
        *check_links(site),
        *check_editions(site),
    ]


def main(argv: list[str]) -> int:
    folder = Path(argv[0]) if argv else ROOT / "_build" / "site"
    found = problems(folder, ROOT / "chapters")
    pages = len(list(folder.rglob("*.html")))
    print("\n".join(found) or f"pages: {pages} pages, no dead link, editions agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
