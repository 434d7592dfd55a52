"""The command line: ``python -m tokencredit {homework,lab} ...``."""

import argparse
import sys


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand and return its exit status."""
    from tokencredit import homework, lab

    parser = argparse.ArgumentParser(prog="python -m tokencredit")
    commands = parser.add_subparsers(dest="command", required=True)
    for module in (homework, lab):
        module.add_command(commands)
    args = parser.parse_args(argv)
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
