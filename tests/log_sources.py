"""Find every key of keys.yml in the sources of its library, and print what moved.

    python tests/log_sources.py FOLDER

FOLDER/LIBRARY, named as in keys.yml, holds an unpacked wheel or a clone; in a wheel's
data folder (``*.data/purelib``) is looked as well.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tokenbook.symptoms.series import load


def source(folder: Path, file: str) -> Path | None:
    """Return where a file stands below a folder."""
    for root in (folder, *folder.glob("*.data/purelib")):
        if (root / file).is_file():
            return root / file
    return None


def moved(library: str, folder: Path) -> Iterator[str]:
    """Return a line for each key of a library that is not where it was."""
    for one in load("keys"):
        if one["library"] == library:
            found = source(folder, one["file"])
            if not found:
                yield f"{library}: no file {one['file']} for {one['key']}"
            elif one["line_text"] not in found.read_text("utf-8", errors="replace"):
                yield f"{library}: {one['key']} no longer at {one['file']}"


if __name__ == "__main__":
    count = Counter(one["library"] for one in load("keys"))
    for library, keys in count.items():
        folder = Path(sys.argv[1]) / library
        lines = list(moved(library, folder)) if folder.exists() else ["no sources"]
        print(f"{library}: {keys} keys", *(lines or ["all found"]), sep="\n  ")
