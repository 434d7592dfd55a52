"""The command line of the lab; its help is the docstring of `tokenbook.lab`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from pandas import DataFrame

from tokenbook import lab
from tokenbook.lab.experiment import experiment, experiments
from tokenbook.lab.phenomena import phenomena_table
from tokenbook.lab.running import run_experiment
from tokenbook.lab.stamping import restamp, stamp_of
from tokenbook.lab.store import STORE, lacking, load, path_of, results
from tokenbook.languages import LANGUAGES, SOURCE


def add_command(subparsers):
    """Add ``lab`` to the command line."""
    parser = subparsers.add_parser(
        "lab",
        help="experiments and their stored results",
        description=lab.__doc__.partition("\nexperiment   ")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("list", help="all experiments and what is stored")
    verb.set_defaults(run=list_all)
    verb = verbs.add_parser("run", help="run an experiment, or the rest of it")
    verb.add_argument("name")
    verb.add_argument("--quick", action="store_true", help="seconds; not for the store")
    verb.add_argument("--seeds", type=int, help="how many seeds (default: all of it)")
    verb.add_argument("--again", action="store_true", help="anew; replaces at the end")
    where = verb.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    where.add_argument("--cluster", metavar="tcp://HOST:8786", help="a Dask scheduler")
    verb.add_argument("--out", type=Path, help="another store")
    verb.set_defaults(run=run)
    verb = verbs.add_parser("stamp", help="compare stored results with today's code")
    verb.add_argument("names", nargs="*", metavar="NAME", help="default: all of them")
    verb.set_defaults(run=stamp)
    verb = verbs.add_parser("show", help="draw stored results into a file")
    verb.add_argument("name")
    verb.add_argument("--out", type=Path, help="PNG or SVG (default: NAME.png)")
    verb.set_defaults(run=show)
    verb = verbs.add_parser("table", help="a Markdown table of stored results")
    verb.add_argument("name", nargs="?", default="algorithms")
    verb.set_defaults(run=table)
    verb = verbs.add_parser("phenomena", help="what shows on signs, and what does not")
    verb.add_argument("--lang", choices=LANGUAGES, default=SOURCE)
    verb.set_defaults(run=phenomena)


def said(do: Callable[[argparse.Namespace], None]):
    """A verb whose ValueErrors are messages, not tracebacks."""

    def verb(args: argparse.Namespace) -> int:
        try:
            do(args)
        except ValueError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 130
        return 0

    return verb


@said
def list_all(args):
    """Every experiment: runs that are stored, of those there should be."""
    for chosen in experiments().values():
        path = path_of(chosen)
        rows = load(path)[1] if path.exists() else DataFrame()
        runs = len(chosen.variants) * chosen.seeds
        stored = runs - len(lacking(chosen, rows, chosen.seeds))
        print(
            f"{chosen.name:16} chapter {chosen.chapter:2}  {stored:3}/{runs} runs"
            f"  {chosen.question['en']}"
        )


@said
def run(args):
    """Run the missing runs."""
    chosen = experiment(args.name)
    if args.seeds is not None and args.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {args.seeds}")
    store = args.out or (STORE / "quick" if args.quick else STORE)
    if args.quick and args.out is None:
        again = path_of(chosen, store).exists()
    else:
        again = args.again
    if args.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {args.jobs}")
    run_experiment(
        chosen,
        seeds=args.seeds,
        quick=args.quick,
        again=again,
        jobs=args.jobs,
        cluster=args.cluster,
        store=store,
        stamp=None if args.quick else stamp_of,
    )
    print(path_of(chosen, store))


@said
def stamp(args):
    """Stamp experiments that today's code reproduces; name the others."""
    failed = []
    for name in args.names or experiments():
        try:
            modules = restamp(experiment(name).name)
        except ValueError as error:
            failed.append(str(error))
            continue
        print(f"{name}: {', '.join(modules) or 'nothing changed'}", flush=True)
    if failed:
        raise ValueError("\n".join(failed))


@said
def show(args):
    """Draw an experiment's figure."""
    from tokenbook.lab.drawing import draw  # matplotlib takes a second to load

    chosen = experiment(args.name)
    file = args.out or Path(f"{chosen.name}.png")
    if file.suffix not in (".png", ".svg"):
        raise ValueError(f"--out must end in .png or .svg, got {file}")
    draw(chosen, results(chosen.name)).savefig(file, dpi=144, facecolor="white")
    print(file)


@said
def table(args):
    """Print an experiment's table."""
    chosen = experiment(args.name)
    if chosen.table is None:
        tables = ", ".join(e.name for e in experiments().values() if e.table)
        raise ValueError(f"{chosen.name} has no table; {tables} have")
    print(chosen.table(results(chosen.name)))


@said
def phenomena(args):
    """Print the phenomena on `signs`, over the seeds of the store."""
    print(phenomena_table(args.lang))
