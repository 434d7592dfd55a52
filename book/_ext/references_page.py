"""The labels of the references: who and when, as the text cites them."""

from collections.abc import Iterable, Iterator

from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting.alpha import Style as Alpha
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx


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
    """Entries as in ``alpha``, with labels that a reader knows from the text."""

    default_label_style = AuthorYearLabels


def setup(app: Sphinx) -> dict:
    register_plugin("pybtex.style.formatting", "author_year", AuthorYear)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
