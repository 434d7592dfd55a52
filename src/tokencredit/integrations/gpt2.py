"""A `Policy` as a GPT-2, with a tokenizer of one token per character."""

from __future__ import annotations

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Model,
    PreTrainedTokenizerFast,
)

from tokencredit.tensors.checks import choice
from tokencredit.world.games import END
from tokencredit.world.policy import Policy
from tokencredit.world.text import EOS

LAYERS = {
    "embed": "transformer.wte",
    "place": "transformer.wpe",
    "norm": "transformer.ln_f",
    "head": "lm_head",
    "norm1": "ln_1",
    "norm2": "ln_2",
    "qkv": "attn.c_attn",
    "out": "attn.c_proj",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}
"""Where a part of `Policy` stands in GPT-2."""

POSITIONS = ("own", "padded")


def count_from_the_first_token(module, args, kwargs):
    """Pre-forward hook of GPT-2: positions from the first token that is no padding.

    `generate` passes them. A trainer that passes only the mask of a row padded on the
    left would count the padding, and so train another policy.
    """
    mask = kwargs.get("attention_mask")
    if kwargs.get("position_ids") is None and mask is not None:
        kwargs["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
    return args, kwargs


def own_positions(model: nn.Module):
    """Register `count_from_the_first_token` on every GPT-2 inside a model."""
    for part in model.modules():
        if isinstance(part, GPT2Model):
            part.register_forward_pre_hook(count_from_the_first_token, with_kwargs=True)


def as_gpt2(policy: Policy, pad: int, positions: str = "own") -> GPT2LMHeadModel:
    """A GPT-2 with the weights of a policy: the same function of the tokens.

    Args:
        policy: without a value head.
        pad: id of the token that ends and pads.
        positions: "own": counted from the first token that is no padding; "padded":
            as the class counts them when it is given none, padding included.

    Raises:
        ValueError: a policy with a value head, unknown positions.
    """
    choice("positions", positions, POSITIONS)
    if policy.critic:
        raise ValueError("policy must have no value head: TRL's GRPO has no critic")
    config = GPT2Config(
        vocab_size=policy.vocab_size,
        n_positions=policy.context,
        n_embd=policy.width,
        n_layer=len(policy.blocks),
        n_head=policy.blocks[0].heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=pad,
        pad_token_id=pad,
    )
    model = GPT2LMHeadModel(config)
    if positions == "own":
        own_positions(model)
    state = {k: torch.zeros_like(v) for k, v in model.state_dict().items()}
    for name, weight in policy.state_dict().items():
        *block, part, kind = name.split(".")
        there = f"{LAYERS[part]}.{kind}"
        if block:  # GPT-2 keeps its matrices transposed inside the blocks
            there, weight = f"transformer.h.{block[1]}.{there}", weight.t()
        state[there] = weight
    model.load_state_dict(state)
    return model


def tokenizer(vocabulary: str | tuple[str, ...]) -> PreTrainedTokenizerFast:
    """One token per character of a task's vocabulary, or per word of a game's.

    The ids are the places in the vocabulary.
    """
    words = {word: i for i, word in enumerate(vocabulary)}
    characters = isinstance(vocabulary, str)
    end = EOS if characters else END
    made = Tokenizer(models.WordLevel(words, unk_token=end))
    if characters:
        made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
        made.decoder = decoders.Fuse()
    else:
        made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=end, pad_token=end)
