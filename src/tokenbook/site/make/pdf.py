"""Print each edition of the built site as one PDF, with Chromium.

    python -m tokenbook.site.make.pdf [--site DIR] [--pages GLOB]

The articles of all pages become one page, every anchor with the name of its page before
it, so that links, outline and page numbers run through the whole book. Answers are
unfolded; live figures show their first state. The file is put beside the editions, and
the foot of every page then links to it. Chromium writes the structure for screen
readers as plain text, two thirds of the file; it is packed afterwards.
"""

import argparse
import fnmatch
import re
import sys
from pathlib import Path

import pikepdf
import yaml
from bs4 import BeautifulSoup
from tqdm import tqdm

from tokenbook import ROOT
from tokenbook.languages import LANGUAGES, pick
from tokenbook.site.make import measure

ON_SCREEN_ONLY = (
    "script, noscript, .headerlink, .report, .bank, .depth, .ex-dials, "
    ".ex-presets, .predict-more, .prev-next-footer, .progress-line, .hero-landing, "
    ".finder, .reference-filter, .doors svg, .practice, .practice-tick, "
    ".practice-rules, .share, .pst-js-only"
)
NOT_PRINTED = ("playground", "readlog", "api", "changelog")  # programs, lists
STAY_FOLDED = ["tag_setup", "tag_checked"]  # one line each: imports, and a check
NAMED = ("for", "aria-labelledby", "aria-describedby", "aria-controls")
# Blurred shadows and repeated gradients would be printed as pictures, a page each.
STYLE = """
@page { size: A4; margin: 18mm 16mm 20mm }
section { content-visibility: visible !important }
article.bd-article { padding: 0; font-size: 10pt }
[data-page] + [data-page] { break-before: page }
.bd-article section > *, .bd-article .cell > *, .bd-article .cell > .cell_output > * {
  max-width: 100% !important }
h1 { font-size: 17pt !important } h2 { font-size: 13pt !important }
h3 { font-size: 11pt !important }
pre { white-space: pre-wrap !important; overflow-wrap: anywhere }
.bd-article .curve { float: none; width: auto; margin: .6rem 0 }
td, th, .admonition, details { box-shadow: none !important }
.ex-chip > b { text-shadow: none !important }
.explorer, .zoo-matrix { zoom: .76 }
.ex-dots { display: flex }
.ex-dots::before, .ex-dots::after { content: none !important }
.ex-dots i { flex: 0 1 9px; aspect-ratio: 1; margin: auto; border-radius: 50%;
  border: 1.5px solid var(--edge) }
.ex-dots i.right { background: var(--fill); border-color: var(--fill) }
"""
FOOT = (
    '<div style="font-size: 8px; width: 100%; text-align: center; color: #666">'
    '<span class="pageNumber"></span></div>'
)
NAME = "token-credit-{}.pdf"
WORDS = "PDF，可打印 | PDF, to print"


def pages(root: Path) -> list[str]:
    """Return the pages of the book in the order of its contents, such as `book/zoo`."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    rest = [page["file"] for part in toc["parts"] for page in part["chapters"]]
    return [
        name
        for name in (toc["root"], *rest)
        if name.removeprefix("book/") not in NOT_PRINTED
    ]


def anchor(page: str, name: str = "") -> str:
    """Return the anchor of a place of a page in the printed book."""
    return f"{page.replace('/', '-')}--{name}".removesuffix("--")


def article(edition: Path, page: str, printed: set[str]):
    """Return a page's article for print: unfolded, its anchors and links renamed."""
    html = (edition / f"{page}.html").read_text(encoding="utf-8")
    part = BeautifulSoup(html, "html.parser").find("article")
    for gone in part.select(ON_SCREEN_ONLY):
        gone.decompose()
    for folded in part.find_all("details"):
        if not folded.find_parent(class_=STAY_FOLDED):
            folded["open"] = ""
    for group in part.select(".ex-dots"):
        right, size = map(int, re.findall(r"\d+", group["style"]))
        for number in range(size):
            dot = BeautifulSoup("<i></i>", "html.parser").i
            dot["class"] = ["right"] if number < right else []
            group.append(dot)
    for element in part.find_all(id=True):
        element["id"] = anchor(page, element["id"])
    for attribute in NAMED:
        for element in part.find_all(attrs={attribute: True}):
            names = element[attribute].split()
            element[attribute] = " ".join(anchor(page, name) for name in names)
    for link in part.find_all("a", href=True):
        target, _, place = link["href"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (edition / page).parent / target if target else edition / f"{page}.html"
        name = path.resolve().relative_to(edition).with_suffix("").as_posix()
        if name in printed:
            link["href"] = f"#{anchor(name, place)}"
        else:
            link.unwrap()
    for picture in part.find_all("img", src=True):
        if not picture["src"].startswith("data:"):
            source = ((edition / page).parent / picture["src"]).resolve()
            picture["src"] = source.relative_to(edition).as_posix()
    part["id"] = anchor(page)
    return part


def whole(edition: Path, names: list[str]) -> BeautifulSoup:
    """Return the edition as one page, an article for each of its pages."""
    first = (edition / f"{names[0]}.html").read_text(encoding="utf-8")
    page = BeautifulSoup(first, "html.parser")
    for gone in page.head.find_all(["script", "link"]):
        gone.decompose()
    page.head.append(page.new_tag("link", rel="stylesheet", href="_static/bundle.css"))
    style = page.new_tag("style")
    style.string = STYLE
    page.head.append(style)
    page.html["data-theme"] = page.html["data-mode"] = "light"
    page.body.clear()
    del page.body["data-page"]
    main = page.new_tag("main", attrs={"class": "bd-main"})
    for name in tqdm(names, desc=edition.name, leave=False):
        holder = page.new_tag("div", attrs={"data-page": name})
        holder.append(article(edition, name, {*names}))
        main.append(holder)
    page.body.append(main)
    return page


def write(site: Path, lang: str, names: list[str]) -> Path:
    """Print an edition, and return the file."""
    edition, out = (site / lang).resolve(), site / NAME.format(lang)
    source = edition / "whole.html"
    source.write_text(str(whole(edition, names)), encoding="utf-8")
    try:
        with measure.chromium() as browser:
            page = browser.new_page()
            page.set_default_timeout(0)
            page.goto(source.as_uri(), wait_until="load")
            page.pdf(
                path=out,
                format="A4",
                print_background=True,
                prefer_css_page_size=True,
                tagged=True,
                outline=True,
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=FOOT,
            )
    finally:
        source.unlink()
    with pikepdf.open(out, allow_overwriting_input=True) as file:
        file.save(out, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    return out


def link(site: Path, lang: str, name: str, words: str) -> None:
    """Link to the file `name` beside the editions in the foot of an edition's pages."""
    for path in (site / lang).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        up = "../" * len(path.relative_to(site / lang).parts)
        added = f'<a href="{up}{name}">{words}</a> · \\1'
        if name not in text:
            text = re.sub(r'(<a href="[^"]*\.whl">)', added, text, count=1)
            path.write_text(text, encoding="utf-8")


def make(description: str, name: str, words: str, write, argv=None) -> int:
    """Make each edition's file by `write(site, lang, names)`, and link to it.

    Args:
        description: of the command.
        name: of the file, `{}` standing for the language.
        words: of the links, in all languages.
        write: makes the file of one edition and returns where it is.
        argv: the command's arguments.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "site")
    parser.add_argument("--pages", default="*", help="which, such as 'chapters/0*'")
    args = parser.parse_args(argv)
    names = fnmatch.filter(pages(ROOT), args.pages)
    if not names:
        parser.error(f"--pages: {args.pages} is no page of {', '.join(pages(ROOT))}")
    for lang in LANGUAGES:
        if not (args.site / lang).is_dir():
            parser.error(f"--site: {args.site} has no edition {lang}; run: make site")
        path = write(args.site, lang, names)
        link(args.site, lang, name.format(lang), pick(words, lang))
        print(f"{path.suffix[1:]}: {path} has {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(make(__doc__.splitlines()[0], NAME, WORDS, write))
