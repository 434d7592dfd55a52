"""Bind each edition of the built site as an EPUB for tablets, with Chromium.

    python -m tokenbook.site.make.epub [--site DIR] [--pages GLOB]

The articles are those of the PDF, a file each: answers unfolded, formulas as MathML
with their TeX for screen readers, drawings as pictures of their start. No script and
no font is in the file; its text takes the size and the fonts of the reader.
"""

import io
import re
import sys
import unicodedata
import uuid
import zipfile
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import yaml
from bs4 import BeautifulSoup, Tag
from PIL import Image
from pygments.formatters import HtmlFormatter
from tqdm import tqdm

from tokenbook.languages import pick
from tokenbook.site.make import measure, pdf

DRAWN = ".explorer, .fig, .curve, .runs, .zoo-matrix"
PAPER = {"viewport": {"width": 880, "height": 900}, "device_scale_factor": 2}
COLORS = 64  # of a picture, which keeps it small
ALPHABETS = {"double-struck": "DOUBLE-STRUCK", "bold": "BOLD"}  # MathML Core has none
OPF = "{http://www.idpf.org/2007/opf}"
NAME = "token-credit-{}.epub"
WORDS = "EPUB，平板阅读 | EPUB, for a tablet"
CONTENTS = "目录 | Contents"
CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book.opf"
 media-type="application/oebps-package+xml"/></rootfiles></container>
"""
PAGE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"
 lang="{lang}" xml:lang="{lang}">
<head><title>{title}</title><link rel="stylesheet" href="book.css"/></head>
<body>
{body}
</body></html>
"""
PACKAGE = """<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"
 xml:lang="{lang}">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{uuid}</dc:identifier>
<dc:title>{title}</dc:title>
<dc:creator>{author}</dc:creator>
<dc:language>{lang}</dc:language>
<dc:rights>{rights}</dc:rights>
<meta property="dcterms:modified">{modified}</meta>
<meta property="schema:accessMode">textual</meta>
<meta property="schema:accessMode">visual</meta>
<meta property="schema:accessModeSufficient">textual,visual</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">alternativeText</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
</metadata>
<manifest>
{manifest}
</manifest>
<spine>
{spine}
</spine>
</package>
"""


def few_colors(png: bytes) -> tuple[bytes, int]:
    """Return a picture with a small palette, and its width in CSS pixels."""
    image, out = Image.open(io.BytesIO(png)).convert("RGB"), io.BytesIO()
    few = image.quantize(COLORS, dither=Image.Dither.NONE)
    few.save(out, format="PNG", optimize=True)
    return out.getvalue(), image.width // PAPER["device_scale_factor"]


def drawings(book: BeautifulSoup, edition: Path) -> dict[str, bytes]:
    """Put pictures in the place of the drawings; return the files by their names."""
    found = [d for d in book.select(DRAWN) if not d.find_parent(class_="explorer")]
    gallery = "".join(map(hung, found))  # without the text a browser is done at once
    source, files = edition / "gallery.html", {}
    source.write_text(f"<!DOCTYPE html>{book.head}{gallery}", encoding="utf-8")
    try:
        with measure.chromium() as browser:
            page = browser.new_page(**PAPER)
            page.set_default_timeout(0)
            page.goto(source.as_uri(), wait_until="load")
            walls = page.locator("article").all()
            pairs = zip(found, walls, strict=True)
            for drawing, wall in tqdm(pairs, edition.name, len(found), leave=False):
                name = f"pictures/{len(files):03}.png"
                shot = wall.locator("> *").screenshot()
                files[name], width = few_colors(shot)
                attributes = {"src": name, "alt": words_of(drawing, book)}
                if drawing.get("id"):
                    attributes["id"] = drawing["id"]
                drawing.replace_with(
                    book.new_tag("img", attrs=attributes | {"width": str(width)})
                )
    finally:
        source.unlink()
    return files


def hung(drawing: Tag) -> str:
    """Return a drawing inside the ancestors that its style selects."""
    page = drawing.find_parent(attrs={"data-page": True})["data-page"]
    return (
        f'<div data-page="{page}"><article class="bd-article">{drawing}</article></div>'
    )


def words_of(drawing: Tag, book: BeautifulSoup) -> str:
    """Return a drawing as text: its label, else the words in it."""
    named = book.find(id=drawing.get("aria-labelledby", "")) or drawing
    label = drawing.get("aria-label") or named.get_text(" ", strip=True)
    return re.sub(r"\s+", " ", label)


def formula(shown: Tag) -> None:
    """Leave of KaTeX's two trees the MathML, its TeX as the alternative text."""
    math = shown.find("math")
    tex = math.annotation.extract()
    math["alttext"] = tex.get_text()
    math.semantics.unwrap()
    for sign in math.find_all("mo", string="\N{FUNCTION APPLICATION}"):
        if sign.parent.name != "mrow":  # an extra part that KaTeX puts into scripts
            sign.decompose()
    for letter in math.find_all(mathvariant=[*ALPHABETS]):
        alphabet, (sign,) = ALPHABETS[letter.attrs.pop("mathvariant")], letter.string
        name = re.sub("LATIN | LETTER", "", unicodedata.name(sign))
        try:
            letter.string = unicodedata.lookup(f"MATHEMATICAL {alphabet} {name}")
        except KeyError:  # letters with their own code points
            letter.string = unicodedata.lookup(f"{alphabet} {name}")
    shown.replace_with(math)


def unfold(folded: Tag) -> None:
    """Keep folded text readable in readers that cannot fold."""
    title = folded.summary
    for state in title.select(".collapsed"):
        state.decompose()
    for words in title.find_all("p"):
        words.unwrap()
    if "open" in folded.attrs:
        del folded["open"]
        folded.name, title.name, title["class"] = "div", "p", "summary"


def chapter(part: Tag, homes: dict[str, str]) -> str:
    """Return an article as the body of a page of the book.

    Args:
        part: the article, its drawings being pictures.
        homes: the page of each place of the book.
    """
    for shown in part.select(".katex"):
        formula(shown)
    for choice in part.select("button"):
        choice.name = "p" if choice.parent.get("role") == "group" else "code"
        for attribute in ("type", "disabled", "data-cites"):
            choice.attrs.pop(attribute, None)
    for folded in part.find_all("details"):
        unfold(folded)
    for gone in part.select(".predict-says, .toctree-wrapper"):
        gone.decompose()
    for anchor in part.select('a[href^="#"]'):
        place = anchor["href"][1:]
        if place not in homes:
            anchor.unwrap()
        elif place == homes[place]:
            anchor["href"] = f"{place}.xhtml"
        else:
            anchor["href"] = f"{homes[place]}.xhtml#{place}"
    part.name = "section"
    part["epub:type"] = "chapter"
    return str(part)


def contents(parts: list[Tag], title: str) -> str:
    """Return the outline: the pages, and the sections of each."""

    def entry(section: Tag, page: str) -> str:
        heading = section.find(["h1", "h2"]).get_text(" ", strip=True)
        inner = [s for s in section.find_all("section", recursive=False) if s.h2]
        inner = [entry(s, page) for s in inner if section.find("h1", recursive=False)]
        inner = f"<ol>{''.join(inner)}</ol>" if inner else ""
        link = f'<a href="{page}.xhtml#{section["id"]}">{escape(heading)}</a>'
        return f"<li>{link}{inner}</li>\n"

    entries = "".join(entry(part.section, part["id"]) for part in parts)
    head = f"<h1>{title}</h1>"
    return f'<nav epub:type="toc" id="toc">{head}<ol>\n{entries}</ol></nav>'


def style(config: dict) -> str:
    """Return the style sheet: the book's, and the colours of code."""
    name = config["sphinx"]["config"]["html_theme_options"]["pygments_light_style"]
    code = HtmlFormatter(style=name).get_style_defs(".highlight")
    return Path(__file__).with_name("epub.css").read_text(encoding="utf-8") + code


def write(site: Path, lang: str, names: list[str]) -> Path:
    """Bind an edition, and return the file."""
    edition, out = (site / lang).resolve(), site / NAME.format(lang)
    config = yaml.safe_load((pdf.ROOT / "_config.yml").read_text(encoding="utf-8"))
    first = edition / f"{names[0]}.html"
    footer = BeautifulSoup(first.read_text(encoding="utf-8"), "html.parser")
    made = footer.select_one(".extra_footer")
    book = pdf.whole(edition, names)
    files = drawings(book, edition)
    parts = book.select("article")
    homes = {
        place["id"]: part["id"]
        for part in parts
        for place in (part, *part.find_all(id=True))
    }
    title, author = pick(config["title"], lang), pick(config["author"], lang)
    said = [text.strip(" ·\n") for text in made.find_all(string=True, recursive=False)]
    edition_of = {"lang": book.html["lang"], "title": title}
    front = f"<h1>{title}</h1><p>{author}</p>" + "".join(
        f"<p>{escape(line)}</p>" for line in said if line
    )
    bodies = {"title": f'<section epub:type="titlepage">{front}</section>'}
    bodies["nav"] = contents(parts, pick(CONTENTS, lang))
    bodies |= {part["id"]: chapter(part, homes) for part in parts}
    items = [item("book.css", "text/css")]
    items += [item(name, "image/png") for name in files]
    for name, body in bodies.items():
        file = f"{name}.xhtml"
        files[file] = PAGE.format(**edition_of | {"body": body}).encode()
        has = {"nav": "nav"}.get(name) or ("mathml" if "<math" in body else "")
        items.append(item(file, "application/xhtml+xml", has))
    files["book.css"] = style(config).encode()
    files["book.opf"] = PACKAGE.format(
        **edition_of,
        author=author,
        rights=said[0],
        uuid=uuid.uuid5(uuid.NAMESPACE_URL, f"token-credit/{lang}"),
        modified=f"{datetime.fromtimestamp(first.stat().st_mtime, UTC):%FT%TZ}",
        manifest="\n".join(items),
        spine="\n".join(
            f'<itemref idref="{identifier(f"{n}.xhtml")}"/>' for n in bodies
        ),
    ).encode()
    if wrong := faults(files):
        raise ValueError("epub: " + "; ".join(wrong))
    pack(out, files)
    return out


def identifier(file: str) -> str:
    """Return a file's name in the manifest."""
    return "x-" + re.sub(r"\W", "-", file)


def item(file: str, kind: str, properties: str = "") -> str:
    """Return a file's line of the manifest."""
    has = f' properties="{properties}"' if properties else ""
    return f'<item id="{identifier(file)}" href="{file}" media-type="{kind}"{has}/>'


def faults(files: dict[str, bytes]) -> list[str]:
    """Return the faults of the files, a part of epubcheck's.

    Args:
        files: of the book by their names, as they are packed.
    """
    wrong, places = [], {}
    pages = {name: data for name, data in files.items() if name.endswith(".xhtml")}
    trees = {name: ElementTree.fromstring(data) for name, data in pages.items()}
    package = ElementTree.fromstring(files["book.opf"])
    listed = [listed.get("href") for listed in package.iter(f"{OPF}item")]
    if sorted([*listed, "book.opf"]) != sorted(files):
        wrong.append(f"the manifest is not the files: {sorted({*listed} ^ {*files})}")
    for name, tree in trees.items():
        places[name] = [e.get("id") for e in tree.iter() if e.get("id")]
        if len({*places[name]}) < len(places[name]):
            wrong.append(f"{name} has two places of one name")
    for name, tree in trees.items():
        for element in tree.iter():
            tag = element.tag.rpartition("}")[2]
            if tag in ("script", "iframe", "object", "svg", "button", "input"):
                wrong.append(f"{name} has a {tag}")
            target = element.get("src") or element.get("href") or ""
            file, _, place = target.partition("#")
            if tag == "a" and re.match(r"[a-z]+:", file):
                continue
            if (file and file not in files) or place not in ("", *places.get(file, ())):
                wrong.append(f"{name} leads to {target}, which is not in the book")
    return wrong


def pack(out: Path, files: dict[str, bytes]) -> None:
    """Write the container: its kind first and unpacked, as readers look for it."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr(
            zipfile.ZipInfo("mimetype"), "application/epub+zip", zipfile.ZIP_STORED
        )
        for name, data in {"META-INF/container.xml": CONTAINER, **files}.items():
            book.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    sys.exit(pdf.make(__doc__.splitlines()[0], NAME, WORDS, write))
