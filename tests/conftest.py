"""One thread, and the same examples every time.

Tests compare numbers and several runs may share the machine, so no time limit holds.
"""

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("course", deadline=None, derandomize=True)
settings.load_profile("course")
