"""Last bits of another CPU: matrix products, sums, exp and log differ from this one's.

Loaded into a process (``pytest -p last_bits``, or from a start-up file of IPython), it
flips the last bit of about every second result. Which ones depends on the bits of the
result alone, so the same computation gives the same number twice. Results with a short
fraction, such as 0.5 or 3, are exact on every CPU and stay.
"""

import functools

import torch
import torch.nn.functional as F

# The integers of the same width, and the bits that are 0 in a short fraction.
BITS = {
    torch.float32: (torch.int32, (1 << 12) - 1),
    torch.float64: (torch.int64, (1 << 40) - 1),
}
OWN = "exp log log_softmax softmax sum mean std logsumexp matmul mm"
FUNCTIONS = {
    F: "linear layer_norm gelu scaled_dot_product_attention softmax log_softmax",
    torch: OWN + " bmm",
    torch.Tensor: OWN + " __matmul__ cumsum sigmoid",
}


def changed(y: torch.Tensor) -> torch.Tensor:
    """Return the numbers with other last bits; gradients are those of `y`."""
    whole, low = BITS[y.dtype]
    bits = y.detach().contiguous().view(whole)
    mixed = bits ^ (bits >> 3) ^ (bits >> 7) ^ (bits >> 15)
    other = (bits ^ torch.where((bits & low) != 0, mixed & 1, 0)).view(y.dtype)
    return y + (other - y.detach()) if y.requires_grad else other


def with_other_bits(function):
    """Return the function with its results changed, where they are finite floats."""

    @functools.wraps(function)
    def called(*args, **dials):
        y = function(*args, **dials)
        plain = type(y) is torch.Tensor and y.dtype in BITS
        return changed(y) if plain and y.isfinite().all() else y

    return called


for home, names in FUNCTIONS.items():
    for name in names.split():
        setattr(home, name, with_other_bits(getattr(home, name)))
