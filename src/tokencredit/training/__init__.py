"""Training 训练: sample, credit, weigh, step, for every entry of ALGORITHMS.

loop        train, update                      the loop of the book
stages      assign_credit, forward, objective  one function per arrow
collect     collect                            a round of sampling
warm_up     warm_up                            supervised fine-tuning before it
checkpoint  Checkpoint                         a run that can be interrupted
dials       Dials                              settings that belong to no algorithm
"""

from tokencredit.training.dials import Dials
from tokencredit.training.loop import train, update
from tokencredit.training.stages import assign_credit, forward, objective
from tokencredit.training.warm_up import warm_up

__all__ = [
    "Dials",
    "assign_credit",
    "forward",
    "objective",
    "train",
    "update",
    "warm_up",
]
