"""``python -m homework make 5 ...``, the same as ``python -m tokencredit homework``."""

import argparse
import sys

from homework import add_actions

parser = argparse.ArgumentParser(prog="python -m homework")
add_actions(parser)
args = parser.parse_args()
sys.exit(args.run(args))
