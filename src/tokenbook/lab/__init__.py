"""The lab 实验室: experiments by name, and the store that the book draws from.

    python -m tokenbook lab list
    python -m tokenbook lab run NAME [--quick] [--seeds N] [--again] [--out DIR]
                                       [--jobs N | --cluster tcp://HOST:8786]
    python -m tokenbook lab show NAME [--out FILE]
    python -m tokenbook lab table [NAME]
    python -m tokenbook lab stamp [NAME ...]
    python -m tokenbook lab phenomena

`lab list` names every experiment, its chapter, and how many of its runs are stored. A
run is one variant with one seed.

`lab run NAME` runs what the store lacks. Stopped, it goes on with the same command: a
run that ended is stored at once, a long one resumes from its checkpoint. A finished
experiment is not run over: `--seeds 6` adds the sixth seed to five, `--again` runs all
of it anew and replaces the stored file when the last run has ended. The store of the
package holds what the book draws; to repeat an experiment beside it, give a folder of
your own, for one seed of it:

    python -m tokenbook lab run lambda-sweep --seeds 1 --out mine

writes ``mine/lambda-sweep.csv``, to be compared with the rows of seed 0. `--quick` is
for a look: one seed of two rounds, kept in ``results/quick``. `--jobs 4` runs four
processes, `--cluster` those of a Dask scheduler; the rows are the same.

`lab show NAME` draws the stored results, every seed. `lab table NAME` prints them as a
Markdown table; NAME is `algorithms`, the default, or `agents`.

`lab stamp` says whether today's code is that which computed the stored runs. Where it
was changed, the quick runs are compared: the same numbers renew the stamp, others ask
for `lab run NAME --again`.

experiment   Experiment, experiment     one file each in `experiments/`
store        results, responses         CSV files in `results/`
reading      per_seed, final, spread    what chapters draw
running      run_experiment             what the store still lacks
stamping     stamp_of, changed          which code computed stored runs
sweep        sweep                      here, in several processes, on a cluster
drawing      draw                       its figure, every seed shown
phenomena    phenomena_table            what shows on `signs`, and in how many seeds

>>> experiment("lambda-sweep").chapter
5
"""

from tokenbook.lab.experiment import Experiment, experiment
from tokenbook.lab.reading import final, per_seed, spread
from tokenbook.lab.running import run_experiment
from tokenbook.lab.store import responses, results, where

__all__ = [
    "Experiment",
    "experiment",
    "final",
    "per_seed",
    "responses",
    "results",
    "run_experiment",
    "spread",
    "where",
]
