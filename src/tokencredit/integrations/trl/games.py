"""A game played by any model of the field, as TRL's `rollout_func`."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tokencredit.integrations.trl.trainer import RowTrainer
from tokencredit.world.episodes import ACT, OBSERVE
from tokencredit.world.game import Game
from tokencredit.world.games import make


def episodes(game: Game) -> Callable[[list[str], RowTrainer], dict]:
    """Whole episodes 多轮轨迹 as completions; only the replies are trained on.

    A prompt is the seed of an instance, as text; the model reads the words of the game
    between `<obs>` and `<act>`, in the tokens of its own tokenizer.

    Args:
        game: the environment, and the length limit of a reply.

    Returns:
        A function for `rollout_func`, which gives TRL ids, `env_mask` (1 on tokens of a
        reply) and `turn_rewards` (a turn's on the last token of its reply).
    """

    def play(prompts: list[str], trainer: RowTrainer) -> dict:
        words = trainer.processing_class
        trainer.generation_config.max_new_tokens = game.max_reply
        envs = [make(game.id, **game.dials) for _ in prompts]
        noise = torch.randint(2**31, (len(envs),)).tolist()
        seeds = zip(envs, prompts, noise, strict=True)
        scenes = [env.reset(seed=int(p), noise=n)[0] for env, p, n in seeds]
        asked = words([f"{OBSERVE} {scene} {ACT}" for scene in scenes])["input_ids"]
        said, mask, earned = ([[] for _ in envs] for _ in range(3))

        def write(i: int, ids: list[int], live: int, reward: float = 0.0):
            said[i] += ids
            mask[i] += [live] * len(ids)
            earned[i] += [0.0] * (len(ids) - 1) + [reward]

        going = list(range(len(envs)))
        while going:
            read = [asked[i] + said[i] for i in going]
            replies, _ = trainer._generate_single_turn(read, None, {}, 1)
            for i, ids in zip(going, replies, strict=True):
                scene, reward, *_ = envs[i].step(words.decode(ids))
                write(i, ids, 1, reward)
                if not (envs[i].terminated or envs[i].truncated):
                    heard = words(
                        f"\n{OBSERVE} {scene} {ACT}", add_special_tokens=False
                    )
                    write(i, heard["input_ids"], 0)
            going = [i for i in going if not (envs[i].terminated or envs[i].truncated)]
        return {
            "prompt_ids": asked,
            "completion_ids": said,
            "logprobs": None,
            "env_mask": mask,
            "turn_rewards": earned,
        }

    return play


def total(completions: list[str], turn_rewards: list[list[float]], **_) -> list[float]:
    """The reward of an episode: the sum over its turns."""
    return [sum(row) for row in turn_rewards]
