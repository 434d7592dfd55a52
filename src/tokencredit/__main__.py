"""The command line: ``python -m tokencredit {homework,lab} ...``."""

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec

COMMANDS = ("homework", "lab")


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tokencredit")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in COMMANDS:
        if find_spec(f"tokencredit.{name}"):
            import_module(f"tokencredit.{name}").add_command(commands)
    args = parser.parse_args(argv)
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
