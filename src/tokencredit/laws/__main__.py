"""``python -m tokencredit.laws --loss mypkg:my_loss --like GRPO``: pytest on the laws.

All of pytest's own options may follow.
"""

import sys

import pytest

PLUGIN = ["-p", "tokencredit.laws.options", "--pyargs", "tokencredit.laws"]

if __name__ == "__main__":
    sys.exit(pytest.main([*PLUGIN, *sys.argv[1:]]))
