"""The book about `tokencredit`: its figures, runs, homework, readers and pages.

figures     one file per live figure
lab         experiments, and the store of their runs
explorer    the machinery of live figures
homework    students' notebooks, grading, exercises in the page
symptoms    reads logs and configurations of trainers
languages   two languages in one source, parity, stamps of outputs
site        one Sphinx extension, and the programs that build the site
"""

import sys
from pathlib import Path

# Every notebook is read with jsonschema, which would load this optional package: it
# builds 38 parsers of addresses, for longer than the rest takes, and nobody asks them.
sys.modules.setdefault("rfc3987_syntax", None)

ROOT = Path(__file__).resolve().parents[2]  # of a checkout: book/, chapters/, src/
