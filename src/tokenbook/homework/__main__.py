"""``python -m tokenbook.homework``, the same as ``python -m tokenbook homework``."""

import argparse
import sys

from tokenbook.homework import add_actions

parser = argparse.ArgumentParser(prog="python -m tokenbook.homework")
add_actions(parser)
args = parser.parse_args()
sys.exit(args.run(args))
