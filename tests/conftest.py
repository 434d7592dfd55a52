"""One thread: tests compare numbers, and several test runs may share the machine."""

import torch

torch.set_num_threads(1)
