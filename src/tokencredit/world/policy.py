"""The policy (策略): a tiny decoder-only transformer, and the note's position model.

Both map the tokens so far to the logits of the next one. A cache keeps the tokens read,
so that sampling reads each token once. Rows are padded on the right; the padding is
never attended to (the model is causal) and is overwritten when the row continues. So
there is no padding token and no left padding.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class Cache:
    """Keys and values of the tokens read so far, ``[layer][B, context, width]``."""

    keys: list[Tensor]
    values: list[Tensor]

    def rows(self, index: Tensor) -> "Cache":
        """The same cache for a choice of rows; a group of responses repeats one."""
        return Cache([k[index] for k in self.keys], [v[index] for v in self.values])


class Policy(nn.Module):
    """A decoder-only transformer over a small vocabulary.

    Args:
        vocab_size: number of tokens.
        context: most tokens of a row, prompt and response together.
        width, layers, heads: its size; the default has about 100 000 parameters.
        critic: add a value head (价值头), V(prompt and response so far).

    Raises:
        ValueError: a width that the heads do not divide, or a size below 1.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        context: int = 32,
        width: int = 64,
        layers: int = 2,
        heads: int = 4,
        critic: bool = False,
    ):
        super().__init__()
        sizes = dict(vocab_size=vocab_size, context=context, width=width, layers=layers)
        for name, size in (sizes | {"heads": heads}).items():
            if size < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
        if width % heads:
            raise ValueError(f"width {width} is not a multiple of heads {heads}")
        self.vocab_size, self.context = vocab_size, context
        self.width = width
        self.embed = nn.Embedding(vocab_size, width)
        self.place = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab_size, bias=False)
        self.value_head = nn.Linear(width, 1) if critic else None
        for name, weight in self.named_parameters():
            if name in ("embed.weight", "place.weight"):
                nn.init.normal_(weight, std=0.5)
            elif name.endswith(("out.weight", "down.weight")):
                nn.init.normal_(weight, std=(2 * layers * width) ** -0.5)
            elif weight.dim() == 2:
                nn.init.normal_(weight, std=width**-0.5)
        if critic:
            nn.init.zeros_(self.value_head.weight)

    @property
    def critic(self) -> bool:
        """Whether it has a value head."""
        return self.value_head is not None

    def cache(self, rows: int) -> Cache:
        """An empty cache for that many rows."""
        shape = (rows, self.context, self.width)
        zeros = self.embed.weight.new_zeros
        new = [zeros(shape) for _ in range(2 * len(self.blocks))]
        return Cache(new[::2], new[1::2])

    def forward(
        self,
        tokens: Tensor,
        cache: Cache | None = None,
        start: Tensor | None = None,
        *,
        only: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Logits of the next token and the value, after each token.

        Args:
            tokens: ids ``[B, T]``, rows padded on the right with any id.
            cache: what the rows read before; written in place.
            start: ``[B]``, the place of each row's first token (with a cache only).
            only: ``[B, T]``, True where the output is needed; the others cost less.

        Returns:
            logits ``[B, T, V]`` and values ``[B, T]`` (None without a value head), or
            ``[N, V]`` and ``[N]`` for the N places of `only`, row by row.
        """
        places = torch.arange(tokens.shape[1]).expand_as(tokens)
        if start is not None:
            places = places + start[:, None]
        length = int(places.max()) + 1 if tokens.numel() else 0
        if length > self.context:
            raise ValueError(f"{length} tokens do not fit the context {self.context}")
        x = self.embed(tokens) + self.place(places)
        seen = None if cache is None else torch.arange(length) <= places[:, :, None]
        for layer, block in enumerate(self.blocks):
            past = None if cache is None else (cache.keys[layer], cache.values[layer])
            last = layer + 1 == len(self.blocks)
            x = block(x, places, past, seen, only if last else None)
        x = self.norm(x)
        values = self.value_head(x).squeeze(-1) if self.critic else None
        return self.head(x), values


class Block(nn.Module):
    """Causal attention, then a two-layer perceptron; both residual."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(
        self,
        x: Tensor,
        places: Tensor,
        past: tuple[Tensor, Tensor] | None,
        seen: Tensor | None,
        only: Tensor | None,
    ) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        if past is not None:
            rows, length = torch.arange(len(x))[:, None], seen.shape[-1]
            past[0][rows, places], past[1][rows, places] = k, v
            k, v = past[0][:, :length], past[1][:, :length]
        q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in (q, k, v))
        if past is None:
            y = attention(q, k, v, is_causal=True)
        elif q.shape[1] == 1:
            y = read_cache(q, k, v, seen)
        else:
            y = attention(q, k, v, seen)
        y = y.flatten(2)
        if only is not None:  # no later layer attends to the others
            x, y = x[only], y[only]
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


def attention(
    q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None = None, is_causal: bool = False
) -> Tensor:
    """Scaled dot-product attention, ``[B, T, heads, D]``; `seen` is ``[B, T, L]``."""
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    seen = None if seen is None else seen[:, None]
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=is_causal)
    return y.transpose(1, 2)


def read_cache(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """`attention` of one new token per row, twice as fast at this size.

    The kernel multiplies a matrix for each row and head, here of a single line.
    """
    scores = (q * k).sum(-1) / math.sqrt(q.shape[-1])  # [B, L, heads]
    unseen = ~seen.transpose(1, 2)
    weights = scores.masked_fill(unseen, -math.inf).softmax(1)
    return (weights[..., None] * v).sum(1, keepdim=True)


class PositionPolicy(nn.Module):
    """The source note's model: each place of the response has its own weights.

    It maps the prompt to the logits of all places of the response at once; the places
    are independent. Its random start is peaked: logits have a standard deviation near
    3, entropy about 0.4 nats of log 5 = 1.6.

    Args:
        vocab_size, prompt_length, response_length: fixed sizes.
        width: of the embedding.
        flatten: divide the logits by this (10 gives a nearly uniform start).
    """

    critic = False

    def __init__(
        self,
        vocab_size: int,
        *,
        prompt_length: int = 3,
        response_length: int = 3,
        width: int = 10,
        flatten: float = 1.0,
    ):
        super().__init__()
        self.vocab_size, self.context = vocab_size, prompt_length + response_length
        self.prompt_length, self.flatten = prompt_length, flatten
        self.embed = nn.Embedding(vocab_size, width)
        scale = 1 / math.sqrt(width)
        self.read = nn.Parameter(torch.randn(prompt_length, width, width) * scale)
        self.write = nn.Parameter(torch.randn(response_length, width, width) * scale)

    def cache(self, rows: int) -> Cache:
        """Room for the logits of every place of the response."""
        return Cache([torch.zeros(rows, len(self.write), self.vocab_size)], [])

    def forward(
        self,
        tokens: Tensor,
        cache: Cache | None = None,
        start: Tensor | None = None,
        *,
        only: Tensor | None = None,
    ) -> tuple[Tensor, None]:
        """Logits of the next token; see `Policy.forward`."""
        if start is not None and int(start[0]) >= self.prompt_length:
            place = int(start[0]) - self.prompt_length + 1
            return cache.keys[0][:, place : place + 1], None
        if tokens.shape[1] < self.prompt_length:
            raise ValueError(
                f"prompts must have {self.prompt_length} tokens, got {tokens.shape[1]}"
            )
        prompt = self.embed(tokens[:, : self.prompt_length])
        thought = torch.einsum("bpi,pij->bj", prompt, self.read)
        response = torch.einsum("bi,pij->bpj", thought, self.write)
        logits = response @ self.embed.weight.T / self.flatten
        if cache is not None:
            cache.keys[0].copy_(logits)
        logits = F.pad(logits, (0, 0, self.prompt_length - 1, 1))
        logits = logits[:, : tokens.shape[1]]
        return (logits if only is None else logits[only]), None
