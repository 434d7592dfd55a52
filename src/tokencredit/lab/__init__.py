"""The lab 实验室: experiments by name, and the store that the book draws from.

    python -m tokencredit lab list
    python -m tokencredit lab run NAME [--quick] [--seeds N] [--again] [--out DIR]
                                       [--jobs N | --cluster tcp://HOST:8786]
    python -m tokencredit lab show NAME [--out FILE]
    python -m tokencredit lab table [NAME]
    python -m tokencredit lab phenomena

experiment   Experiment, experiment     one file each in `experiments/`
store        results, responses         CSV files in `results/`
reading      per_seed, final, spread    what chapters draw
running      run_experiment             what the store still lacks
sweep        sweep                      here, in several processes, on a cluster
drawing      draw                       its figure, every seed shown
phenomena    phenomena_table            what shows on `signs`, and in how many seeds

>>> experiment("lambda-sweep").chapter
5
"""

from tokencredit.lab.experiment import Experiment, experiment
from tokencredit.lab.reading import final, per_seed, spread
from tokencredit.lab.running import run_experiment
from tokencredit.lab.store import responses, results, where

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
