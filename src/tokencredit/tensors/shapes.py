"""The shapes of the course, named once 形状: B sequences, T token positions, V words.

They are annotations: tests check them with jaxtyping and beartype, running code
does not.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

PerToken = Float[Tensor, "B T"]
PerSequence = Float[Tensor, " B"]
TokenMask = Bool[Tensor, "B T"]
TokenIds = Int[Tensor, "B T"]
GroupIds = Int[Tensor, " B"]
SequenceMask = Bool[Tensor, " B"]
Scalar = Float[Tensor, ""]
Logits = Float[Tensor, "*N V"]
PerPosition = Float[Tensor, "*N"]
Positions = Int[Tensor, "*N"]
