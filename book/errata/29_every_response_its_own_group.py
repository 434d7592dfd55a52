"""Every response its own group."""

import torch
from torch import tensor

ARROW = "credit"
SHOWN = "00_grpo_in_forty_lines.ipynb#without-the-mean-what-if-zero-lies-elsewhere"
SPEAKS_OF = {"advantage": "grouped"}
WORDS = {
    "zh": {
        "purpose": "一批回答的优势，按提示分组",
        "mistake": "每条回答自成一组",
        "axis": "成功率",
        "lines": ("每条回答一个编号", "每道题一个编号"),
        "what": (
            "一道题抄了几份，每份拿到一个新的编号，于是每组只有一条回答。"
            "按 verl 的约定，只有一条回答的组没有基线，优势就是奖励本身，"
            "所以 GRPO 悄悄变成了没有基线的 REINFORCE"
            "（本书的 group_relative 给 0，那就什么也学不到）。"
            "奖励只取 0 和 1 时往往还学得动；如果每条回答都多给 1 分，"
            "不论对错，写过的词元都会被抬高。"
        ),
        "trained": (
            "填符号，每条回答多给 1 分，每条曲线是一个种子：分好组的照常学会，"
            "自成一组的没有一个种子学会，回答反而越写越短。"
        ),
        "law": "每条回答都多给 1 分，优势不变。",
    },
    "en": {
        "purpose": "The advantages of a batch, grouped by prompt",
        "mistake": "Every response its own group",
        "axis": "success rate",
        "lines": ("an id a response", "an id a prompt"),
        "what": (
            "The prompt is repeated, each copy gets a separate id, and so every group "
            "has one response. In verl such a group has no baseline and its advantage "
            "is the reward itself: GRPO has silently become REINFORCE without a "
            "baseline. (This book's group_relative gives 0, and nothing is learned.) "
            "With rewards of 0 and 1 that often still learns. With one point more for "
            "every response, whatever was written is pushed up, correct or not."
        ),
        "trained": (
            "Filling in signs, one point more for every response, a line per seed: "
            "with groups the task is learned as ever, and without them no seed learns "
            "it and responses get shorter."
        ),
        "law": "One point more for every response changes no advantage.",
    },
}
TRAINED = (("one id a response", "success"), ("GRPO", "success"))


def wrong(prompts, rewards):
    groups = torch.arange(len(prompts))  # a new id for every copy
    same = groups == groups[:, None]
    means = (same * rewards).sum(1) / same.sum(1)
    return torch.where(same.sum(1) > 1, rewards - means, rewards)


def right(prompts, rewards):
    groups = tensor([prompts.index(prompt) for prompt in prompts])
    same = groups == groups[:, None]
    means = (same * rewards).sum(1) / same.sum(1)
    return torch.where(same.sum(1) > 1, rewards - means, rewards)


def law(f):
    prompts = ["a", "a", "b", "b"]
    rewards = tensor([1.0, 0.0, 0.0, 1.0])
    return (f(prompts, rewards) == f(prompts, rewards + 1)).all()
