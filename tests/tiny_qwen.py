"""A Qwen3 of some 80 000 parameters, made from a configuration: no file is fetched."""

import numpy as np
import torch
import torch.nn.functional as F
from transformers import Qwen3Config, Qwen3ForCausalLM

from tokencredit.integrations.gpt2 import tokenizer
from tokencredit.world.protocol import World


def tiny_qwen(world: World, folder, *, steps: int, batch: int = 64, seed: int = 0):
    """Save a model and its tokenizer, after some imitation of demonstrations.

    Args:
        world: a task or a game, whose vocabulary becomes the tokens.
        folder: where to.
        steps: of imitation, each on `batch` demonstrations.
        seed: of the weights and of the demonstrations.
    """
    torch.manual_seed(seed)
    words = tokenizer(world.vocabulary)
    end = words.eos_token_id
    config = Qwen3Config(
        vocab_size=len(world.vocabulary),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=1024,
        eos_token_id=end,
        pad_token_id=end,
        bos_token_id=None,
    )
    model, rng = Qwen3ForCausalLM(config), np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        tokens, said = world.demonstrations(batch, rng)
        logits = model(input_ids=tokens[:, :-1]).logits
        chosen = said[:, 1:]
        loss = F.cross_entropy(logits[chosen], tokens[:, 1:][chosen])
        optimizer.zero_grad(), loss.backward(), optimizer.step()
    model.save_pretrained(folder)
    words.save_pretrained(folder)
