"""The terms of the course by their id: ``term("discount", "zh")`` is 折扣因子.

Figures, the playground and generated pages name a term by its id, so renaming its row
in ``book/glossary.yml`` renames it everywhere. The row also lists the term's retired
names; `retired` finds them in prose.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from tokenbook import ROOT
from tokenbook.languages import LANGUAGES, SOURCE
from tokenbook.languages.data import load

FILES = (  # in a checkout, or beside this file where the package was installed
    ROOT / "book" / "glossary.yml",
    Path(__file__).with_name("glossary.yml"),
)
CODE = re.compile(r"```.*?```|`[^`\n]+`|\{[\w:-]+\}`[^`]+`|\]\([^)]*\)", re.S)
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.S)


def read() -> dict:
    """Return the glossary as data."""
    file = next(file for file in FILES if file.exists())
    return load(file)


GLOSSARY = read()
ROWS = {row["id"]: row for group in GLOSSARY["groups"] for row in group["terms"]}
TERMS = {name: {k: row[k] for k in row if k in LANGUAGES} for name, row in ROWS.items()}
SYMBOLS = {name: row.get("symbol", "") for name, row in ROWS.items()}


def look_up(table: dict, name: str):
    """Return the entry of one id; ValueError names the ids that are near."""
    if name not in table:
        near = get_close_matches(name, [*ROWS], 3, 0.5)
        raise ValueError(f"no term {name!r} in book/glossary.yml; near: {near}")
    return table[name]


def term(name: str, lang: str) -> str:
    """Return a language's word for a term, the English one where it has none yet.

    >>> term("discount", "zh"), term("discount", "en")
    ('折扣因子', 'discount')
    """
    words = look_up(TERMS, name)
    return words.get(lang, words[SOURCE])


def terms(name: str) -> tuple[str, ...]:
    """Return every language's word for a term, in the order of `LANGUAGES`.

    >>> terms("discount")
    ('折扣因子', 'discount')
    """
    return tuple(term(name, lang) for lang in LANGUAGES)


def symbol(name: str) -> str:
    r"""Return a term's symbol in TeX, empty where it has none.

    >>> symbol("discount")
    '\\gamma'
    """
    return look_up(SYMBOLS, name)


def retired(text: str, lang: str) -> Iterator[str]:
    """Yield the retired words and letters of a prose text, with their successors.

    Code and links are left alone; letters are looked for in formulas only.

    >>> [*retired("梯度累加", "zh")]
    ['梯度累加: write 梯度累积 (把几个微批的梯度加起来，再走一个更新步。)']
    """
    prose = CODE.sub(" ", text)
    formulas = "\n".join(FORMULA.findall(prose))
    prose = FORMULA.sub(" ", prose)
    for entry in ROWS.values():
        old = entry.get("retired", {})
        for where, patterns in (
            (prose, old.get(lang, [])),
            (formulas, old.get("tex", [])),
        ):
            for pattern in patterns:
                for word in sorted(set(re.findall(pattern, where, re.I))):
                    new = entry[lang] if where is prose else f"${entry['symbol']}$"
                    yield f"{word}: write {new} ({entry['means'][lang]})"
