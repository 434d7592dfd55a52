"""Dates of the homework: a table, and a file for any calendar."""

from datetime import date, timedelta

from tokenbook.homework.words import CALENDAR

WEEK = timedelta(days=7)


def weeks_of(number: int, weeks: int) -> list[int]:
    """The week of each homework, evenly spread, from 0.

    >>> weeks_of(5, 3)
    [0, 0, 1, 1, 2]
    """
    return [i * weeks // number for i in range(number)]


def schedule(names: list[str], start: date, weeks: int) -> list[tuple]:
    """Homework, day it is set, day it is due (a week later).

    >>> schedule(["a", "b"], date(2026, 9, 7), 2)[1][1:]
    (datetime.date(2026, 9, 14), datetime.date(2026, 9, 21))
    """
    days = [start + week * WEEK for week in weeks_of(len(names), weeks)]
    return [(name, day, day + WEEK) for name, day in zip(names, days, strict=True)]


def as_table(plan: list[tuple], titles: dict[str, str], lang: str) -> str:
    """A Markdown table."""
    say = {key: words[lang] for key, words in CALENDAR.items()}
    lines = [f"# {say['title']}", ""]
    lines += [f"| {say['homework']} | {say['set']} | {say['due']} |", "|---|---|---|"]
    lines += [f"| {titles[name]} | {day} | {due} |" for name, day, due in plan]
    return "\n".join(lines) + "\n"


def as_calendar(plan: list[tuple], titles: dict[str, str], lang: str) -> str:
    """An iCalendar file (RFC 5545): one all-day event on each day that work is due."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Token Credit//homework//EN"]
    for name, day, due in plan:
        said = CALENDAR["event"][lang].format(title=titles[name])
        lines += [
            "BEGIN:VEVENT",
            f"UID:{name}-{lang}-{due:%Y%m%d}@tokencredit",
            f"DTSTAMP:{day:%Y%m%d}T000000Z",
            f"DTSTART;VALUE=DATE:{due:%Y%m%d}",
            f"DTEND;VALUE=DATE:{due + timedelta(days=1):%Y%m%d}",
            f"SUMMARY:{escaped(said)}",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return "".join(f"{part}\r\n" for line in lines for part in folded(line))


def escaped(text: str) -> str:
    for sign in ("\\", ";", ","):
        text = text.replace(sign, f"\\{sign}")
    return text


def folded(line: str) -> list[str]:
    """A line in pieces of at most 75 bytes; all but the first begin with a space."""
    pieces, size = [""], 0
    for sign in line:
        wide = len(sign.encode())
        if size + wide > 75:
            pieces.append(" ")
            size = 1
        pieces[-1] += sign
        size += wide
    return pieces
