"""The languages of the book, and short texts in all of them.

`LANGUAGES` is the only list of languages: pages, parity, homework and site use it. Add
one and ``python -m tokenbook.languages.parity`` lists what is to translate.

pages       notebooks and Markdown pages: the language of each text
code_cells  a code cell whose strings and comments keep one language
typography  Chinese punctuation
glossary    the terms of the course by their id
sources     the files behind a part of a page
marks       an author's tags: setup, checked, predict, holds
parity      python -m tokenbook.languages.parity: agreement of the languages
notebooks   python -m tokenbook.languages.notebooks: outputs in step with the code
stamps      dependencies of a notebook's outputs
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """A language: its own name, and the letters (as in ``[...]``) that mark a text."""

    name: str
    letters: str = ""


LANGUAGES = {
    "zh": Language("中文", r"\u3400-\u9fff"),
    "en": Language("English"),
}
SOURCE = "en"  # the others are compared with it, and its headings name the anchors
HAN = LANGUAGES["zh"].letters
MARKS = r"\u3000-\u303f\uff00-\uffef"  # full-width punctuation
BETWEEN = " | "


def foreign(text: str, lang: str) -> str:
    """Return the first place in `text` that cannot be in the language, or nothing."""
    letters = "".join(language.letters for language in LANGUAGES.values()) + MARKS
    if LANGUAGES[lang].letters or not (found := re.search(f"[{letters}]", text)):
        return ""
    return text[max(0, found.start() - 12) : found.end() + 12].strip()


def fits(text: str, lang: str) -> bool:
    """Whether `text` can be in the language: with its letters, or with no others'."""
    letters = LANGUAGES[lang].letters
    return bool(re.search(f"[{letters}]", text)) if letters else not foreign(text, lang)


def parts(text: str) -> list[str]:
    """Return the parts of ``中文 | English``, or the text alone where it has none.

    A text may lack the languages added last, which the parity check reports.

    >>> parts("书后 | Back matter"), parts("P(A | B) 是条件概率")
    (['书后', 'Back matter'], ['P(A | B) 是条件概率'])
    """
    found = [part.strip() for part in text.split(BETWEEN)]
    pairs = zip(found, LANGUAGES, strict=False)
    whole = all(part and fits(part, lang) for part, lang in pairs)
    return found if whole and 1 < len(found) <= len(LANGUAGES) else [text]


def pick(text: str, lang: str) -> str:
    """Return one language's part of a short text; English if not translated.

    >>> pick("书后 | Back matter", "en"), pick("GRPO", "zh")
    ('Back matter', 'GRPO')
    """
    found = dict(zip(LANGUAGES, parts(text), strict=False))
    return text if len(found) == 1 else found.get(lang, found[SOURCE])
