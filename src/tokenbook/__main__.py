"""The command line: ``python -m tokenbook {config,homework,lab,symptoms} ...``."""

import argparse
import sys

from tokenbook import homework
from tokenbook.lab.command import add_command
from tokenbook.symptoms import command as symptoms_command
from tokenbook.symptoms import config_command


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tokenbook")
    commands = parser.add_subparsers(dest="command", required=True)
    homework.add_actions(
        commands.add_parser("homework", help="make and grade homework")
    )
    add_command(commands)
    config_command.add_command(commands)
    symptoms_command.add_command(commands)
    args = parser.parse_args(argv)
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
