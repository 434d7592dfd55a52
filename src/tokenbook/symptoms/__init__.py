"""Read a training log: its keys in the book's words, and at most three places to look.

parse.py    bytes -> rows of keys
series.py   rows -> series of quantities, by keys.yml and aliases.yml
rules.py    series -> verdicts, by rules.yml
command.py  the command line; page.py, reader.js, view.js  the page
"""

from dataclasses import dataclass

from tokenbook.symptoms.parse import decode, rows_of
from tokenbook.symptoms.rules import Verdict, judge, places
from tokenbook.symptoms.series import Series, series_of

__all__ = ["Report", "read", "read_all", "read_rows"]


@dataclass
class Report:
    """The result of reading a log."""

    kind: str
    log: Series
    verdicts: list[Verdict]

    @property
    def places(self) -> list[Verdict]:
        """The places to look, causes first."""
        return places(self.verdicts)

    def held(self, *levels: str) -> list[str]:
        """Return the ids of the symptoms of some levels that hold."""
        return [
            one.rule["id"]
            for one in self.verdicts
            if one.holds and one.rule["level"] in levels
        ]


def read(data: bytes | str, name: str = "") -> Report:
    """Return the report on a log; `name` is its file's."""
    return read_all([(data, name)])


def read_all(files: list[tuple[bytes | str, str]]) -> Report:
    """Return the report on files; those of one number each are joined by step."""
    parsed = [
        rows_of(decode(data) if isinstance(data, bytes) else data, name)
        for data, name in files
    ]
    if len(parsed) == 1:
        return read_rows(*parsed[0])
    joined = {}
    for rows, _ in parsed:
        for row in rows:
            joined.setdefault(row.get("step", f"row {len(joined)}"), {}).update(row)
    kinds = [kind for _, kind in parsed if kind != "none"]
    return read_rows(list(joined.values()), kinds[0] if kinds else "none")


def read_rows(rows: list[dict[str, float]], kind: str = "rows") -> Report:
    """Return the report on rows of keys and numbers."""
    log = series_of(rows)
    return Report(kind, log, judge(log))
