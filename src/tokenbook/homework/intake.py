"""Submissions: a folder or a zip, named by hand, by Canvas or by Moodle.

Canvas exports flat files ``NAME_[LATE_]ID_FILE_name.ipynb``, Moodle folders
``Name_ID_assignsubmission_file`` or flat files that begin so. The unpacked size is
bounded, and no path in a zip can leave the target folder.
"""

import contextlib
import os
import re
import stat
import unicodedata
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from tokenbook.languages.pages import NotebookError

NOTEBOOK = 20 * 2**20  # bytes of one notebook, and of a student's zip
STUDENT = 100 * 2**20  # bytes that a student's zip may unpack to
CLASS = 2**31  # bytes that an export may unpack to
ENTRIES = 20_000  # in one zip
HIDDEN = (".", "__MACOSX")
NOTEBOOKS = re.compile(r"\.ipynb( ?\(\d+\))?(\.txt|\.json)?", re.I)  # of some browsers
CANVAS = re.compile(r"(?P<name>.+?)(?P<late>_LATE)?_(?P<id>\d+)_\d+_.+")
ANONYMOUS = re.compile(r"(?P<name>anon)(?P<late>_LATE)?_(?P<id>\w+?)_\d+_.+")
MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_.*)?")


@dataclass
class Submission:
    """The submission of one student: files and folders, and their flags.

    `student` is the unique name in all results; `person` is the displayed name, which
    two students may share.
    """

    student: str
    person: str
    paths: list[Path]
    id: str = ""
    flags: set[str] = field(default_factory=set)


def submissions(folder: Path, out: Path) -> tuple[list[Submission], list[Path]]:
    """The students of a class in order, and the files without an owner."""
    found, ignored = {}, []
    collect(folder, out.resolve(), found, ignored)
    students = [found[name] for name in sorted(found)]
    names = Counter(alike(student.person) for student in students)
    for student in students:
        if names[alike(student.person)] > 1:
            student.flags.add("same-name")
    return students, ignored


def collect(folder: Path, out: Path, found: dict, ignored: list) -> None:
    """Add the students of one folder; sections and wrappers are gone through.

    A section is a folder of at least two exported students: so one file with an
    exported-looking name does not create a student.
    """
    entries = visible(folder, out)
    loose = Counter(e.stem if e.is_file() else e.name for e in entries)
    if len(entries) == 1 and is_wrapper(entries[0]):
        return collect(entries[0], out, found, ignored)
    for entry in entries:
        exported = lms(entry.name)
        if exported:
            name = f"{exported['name']}_{exported['id']}"
            student = Submission(name, exported["name"], [], exported["id"])
            student = found.setdefault(name, student)
            student.paths.append(entry)
            if exported.groupdict().get("late"):
                student.flags.add("late")
        elif entry.is_symlink():
            found[entry.name] = Submission(entry.name, entry.name, [entry])
        elif entry.is_dir():
            if len(exported_in(entry)) > 1:
                collect(entry, out, found, ignored)
            else:
                found[entry.name] = Submission(entry.name, entry.name, [entry])
        elif is_notebook(entry.name) or entry.suffix.lower() == ".zip":
            stem = NOTEBOOKS.sub("", entry.name).removesuffix(".zip")
            name = entry.name if loose[entry.stem] > 1 else stem
            found[name] = Submission(name, stem, [entry])
        else:
            ignored.append(entry)
    return None


def is_notebook(name: str) -> bool:
    """Whether a file is called like a notebook, an ending of a browser's included.

    >>> is_notebook("hw.ipynb.txt"), is_notebook("hw.IPYNB"), is_notebook("hw.json")
    (True, True, False)
    """
    found = NOTEBOOKS.search(name)
    return bool(found) and name.endswith(found[0])


def visible(folder: Path, out: Path) -> list[Path]:
    """A folder's entries that may be submissions."""
    return [
        entry
        for entry in sorted(folder.iterdir())
        if not entry.name.startswith(HIDDEN) and entry.resolve() != out
    ]


def lms(name: str) -> re.Match | None:
    """The parts of a file name from Canvas or Moodle.

    >>> lms("doejane_LATE_12_345_hw.ipynb").groupdict()
    {'name': 'doejane', 'late': '_LATE', 'id': '12'}
    >>> lms("王 芳_77_assignsubmission_file").groupdict()
    {'name': '王 芳', 'id': '77'}
    """
    return MOODLE.fullmatch(name) or ANONYMOUS.fullmatch(name) or CANVAS.fullmatch(name)


def exported_in(folder: Path) -> set[tuple[str, str]]:
    """Names and ids of the students whom Canvas or Moodle put below a folder."""
    found = set()
    for _, folders, files in os.walk(folder):
        known = {name: lms(name) for name in (*folders, *files)}
        found |= {(match["name"], match["id"]) for match in known.values() if match}
        folders[:] = [name for name in folders if not known[name]]
    return found


def is_wrapper(entry: Path) -> bool:
    """Whether a lone folder is the class rather than one student's work."""
    if entry.is_symlink() or not entry.is_dir() or lms(entry.name):
        return False
    inside = visible(entry, Path())
    if len(inside) == 1:
        return is_wrapper(inside[0])
    every_one = bool(inside) and all(child.is_dir() for child in inside)
    return every_one or bool(exported_in(entry))


def alike(name: str) -> str:
    """A name as two systems might write it."""
    return unicodedata.normalize("NFC", name).casefold()


def candidates(paths: list[Path], space: Path, flags: set[str]) -> list[Path]:
    """Notebooks handed in, zips opened in `space`; links are not followed."""
    found = []
    for path in paths:
        if path.is_symlink():
            flags.add("link")
        elif path.is_dir():
            for home, folders, files in os.walk(path):
                folders[:] = sorted(f for f in folders if not f.startswith(HIDDEN))
                names = [name for name in sorted(files) if not name.startswith(HIDDEN)]
                inside = [Path(home, name) for name in names]
                found += candidates(inside, space, flags)
        elif is_notebook(path.name):
            if path.is_file():
                found.append(path)
            else:
                flags.add("link")
        elif path.suffix.lower() == ".zip" and not path.is_relative_to(space):
            if path.stat().st_size > NOTEBOOK:
                raise NotebookError(f"{path.name}: larger than {NOTEBOOK >> 20} MB")
            into = space / str(len(list(space.iterdir())))
            flags |= unpack(path, into, STUDENT)
            found += candidates([into], space, flags)
    return found


def unpack(archive: Path, into: Path, limit: int) -> set[str]:
    """Write a zip's notebooks and zips below a folder; return the flags.

    Other files are written empty, a damaged notebook too; one that is too large is cut
    after its limit; a link becomes a link to nothing; ``..`` and absolute paths are
    left out.

    Raises:
        NotebookError: no whole zip, too many entries, or more than `limit` bytes.
    """
    flags: set[str] = set()
    into.mkdir(parents=True, exist_ok=True)
    try:
        source = zipfile.ZipFile(archive)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise NotebookError(f"{archive.name} is not a whole zip") from None
    with source:
        starts = [member.header_offset for member in source.infolist()]
        if min(starts, default=source.start_dir):  # the end of a zip inside a cut one
            raise NotebookError(f"{archive.name} is not a whole zip")
        if len(source.infolist()) > ENTRIES:
            raise NotebookError(f"{archive.name} has more than {ENTRIES} entries")
        for member in source.infolist():
            parts = PurePosixPath(name_of(member).replace("\\", "/")).parts
            outside = not parts or parts[0].startswith("/") or ":" in parts[0]
            if outside or ".." in parts or "\0" in "".join(parts):
                flags.add("outside-zip")
                continue
            target = into.joinpath(*parts)
            if member.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            while os.path.lexists(target):
                target = target.with_name(f"again-{target.name}")
            if stat.S_ISLNK(member.external_attr >> 16):
                target.symlink_to("refused")
                continue
            data = content(source, member)
            limit -= len(data)
            if limit < 0:
                raise NotebookError(f"{archive.name} unpacks to too much")
            target.write_bytes(data)
            with contextlib.suppress(ValueError, OverflowError):
                written = datetime(*member.date_time).timestamp()
                os.utime(target, (written, written))
    return flags


def names_in(archive: Path) -> list[str]:
    """The names that can still be read in a zip that was cut short."""
    data, place, found = archive.read_bytes()[:CLASS], 0, []
    while (place := data.find(b"PK\x03\x04", place)) >= 0:
        head = data[place : place + 30]
        if len(head) < 30:
            break
        flags, size, length = (
            int.from_bytes(head[a:b], "little") for a, b in ((6, 8), (18, 22), (26, 28))
        )
        member = zipfile.ZipInfo(
            data[place + 30 : place + 30 + length].decode("cp437") or "?"
        )
        if flags & 0x800:
            member.filename = member.filename.encode("cp437").decode("utf-8", "replace")
            member.flag_bits = flags
        found.append(name_of(member))
        place += 30 + length + size
    return found


def content(source: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a notebook or zip, never many more than one may have."""
    name = member.filename.lower()
    if not (is_notebook(name) or name.endswith(".zip")):
        return b""
    try:
        with source.open(member) as file:
            return file.read(NOTEBOOK + 1)
    except Exception:  # damaged, encrypted, of an unknown kind: zipfile raises anything
        return b""


def name_of(member: zipfile.ZipInfo) -> str:
    """A member's path; old Windows zips use a Chinese code page without naming it.

    >>> old = zipfile.ZipInfo("张三/作业.ipynb".encode("gbk").decode("cp437"))
    >>> name_of(old)
    '张三/作业.ipynb'
    """
    if member.flag_bits & 0x800:
        return member.filename
    try:
        raw = member.filename.encode("cp437")
    except UnicodeEncodeError:
        return member.filename
    for code in ("utf-8", "gbk"):
        try:
            return raw.decode(code)
        except UnicodeDecodeError:
            pass
    return member.filename
