"""Forward ``python -m tokencredit`` to `tokenbook`, for one release."""

import importlib.util
import sys

MOVED = "python -m tokencredit {0} is now: python -m tokenbook {0}"
MISSING = """\
python -m tokencredit has no commands: they belong to tokenbook, which is not installed.
In a checkout of the book: pip install -e . -e src
Without one: pip install the file tokenbook-*.whl of the book's site"""


def main(argv: list[str] | None = None) -> int:
    """Run a command of `tokenbook`, and print its new name."""
    argv = sys.argv[1:] if argv is None else argv
    if importlib.util.find_spec("tokenbook") is None:
        print(MISSING, file=sys.stderr)
        return 2
    print(MOVED.format(" ".join(argv[:1])).rstrip(), file=sys.stderr)
    return importlib.import_module("tokenbook.__main__").main(argv)


if __name__ == "__main__":
    sys.exit(main())
