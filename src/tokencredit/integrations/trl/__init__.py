"""TRL 别的训练器: the course's algorithms inside TRL's GRPOTrainer.

The only package that needs TRL (``pip install "tokencredit[trl]"``). It replaces one
method of the trainer: the loss. Prompts, sampling, rewards, advantages, micro-batches
and the optimizer stay TRL's.

RowTrainer    the trainer, for any model of the field
trl_rounds    a `Policy` and a `Task`, converted and trained in TRL
command       python -m tokencredit.integrations.trl --config run.yaml
"""

import os

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from transformers.utils import logging

from tokencredit.integrations.gpt2 import as_gpt2, tokenizer
from tokencredit.integrations.trl.rounds import trl_rounds
from tokencredit.integrations.trl.trainer import RowTrainer

logging.set_verbosity_error()  # else it prints a line per trainer

__all__ = ["RowTrainer", "as_gpt2", "tokenizer", "trl_rounds"]
