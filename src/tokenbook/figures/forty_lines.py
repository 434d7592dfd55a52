"""Forty lines of GRPO (四十行的 GRPO): eight responses, iteration by iteration.

The responses are those of the program of chapter 0, started from the stored warm start
of seed 0; before every update it answers one prompt eight times with the same random
numbers. ``python -m tokenbook.lab.records`` makes the record again.
"""

import json
from functools import cache
from pathlib import Path

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    chip,
    legend,
    number,
    row,
    scene,
    shade,
    side,
    stack,
    tile,
)
from tokencredit import group_relative, task
from tokencredit.world.tasks.signs import tries

PROMPT = "9□5□7=11?"
RECORD = json.loads(
    (Path(__file__).parent / "static" / "forty_lines.json").read_text("utf-8")
)
LAST = len(RECORD) - 1
TRIES = 4  # columns
LARGEST = 2.0  # advantage that fills a chip


@cache
def judged(iteration):
    """Rewards and advantages (奖励与优势) of the eight responses of an iteration."""
    signs = task("signs")
    responses = RECORD[iteration]["responses"]
    rewards = torch.tensor([signs.reward(PROMPT, text) for text in responses])
    group = torch.zeros(len(rewards), dtype=torch.long)
    return rewards.tolist(), group_relative(rewards, group, eps=1e-6).tolist()


def draw(L, iteration):
    now = RECORD[iteration]
    rewards, credits = judged(iteration)
    dead = len(set(rewards)) == 1
    rows = []
    for k, (text, reward, credit) in enumerate(
        zip(now["responses"], rewards, credits, strict=True)
    ):
        words = [one.left + "=" + one.result + one.mark for one in tries(PROMPT, text)]
        chips = [chip(word, credit=shade(credit, LARGEST), dead=dead) for word in words]
        blanks = [chip("", trained=False, look="plain") for _ in range(TRIES)]
        verdict = L("对", "right") if reward else L("错", "wrong")
        rows.append(
            row(
                f"{k + 1}",
                (chips + blanks)[:TRIES],
                verdict,
                end_sub=number(0.0 if dead else credit, sign=True),
                look="heads slim",
            )
        )
    right = int(sum(rewards))
    curve = Plot(
        x=(0, LAST),
        y=(0, 1.05),
        x_name=L("迭代", "iteration"),
        y_name=L("答对的比例", "share right"),
        x_ticks=[0, 5, 10, 15, 20],
        y_ticks=[0, 0.5, 1],
        height=210,
    )
    curve.line([(k, each["success"]) for k, each in enumerate(RECORD)], "ink")
    curve.dot(iteration, now["success"], "sel")
    return scene(
        side(
            stack(
                caption(
                    L(
                        f"提示 {PROMPT} 的八条回答，右端是优势",
                        f"Eight responses to {PROMPT} At the end: advantage",
                    )
                ),
                *rows,
                legend(
                    ("up chip", L("概率要升高", "probability goes up"), not dead),
                    ("down chip", L("概率要降低", "goes down"), not dead),
                    ("off", L("没有梯度", "no gradient"), dead),
                ),
            ),
            curve,
            shares=(2.1, 1),
        ),
        tiles=[
            tile(L("这八条里对的", "right, of these eight"), f"{right}/8"),
            tile(L("全部提示上对的", "right, all prompts"), number(now["success"], 2)),
            tile(
                L("平均长度，全部提示", "mean length, all prompts"),
                number(now["length"], 1),
                L("词元", "tokens"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "iteration",
            range(LAST + 1),
            0,
            ("迭代次数", "iterations of training"),
            kind="time",
        )
    ],
    title=(
        "同一个提示的八条回答，在训练中怎样变",
        "Eight responses to one prompt, and how training changes them",
    ),
    alt=(
        "八行回答，每行至多四次尝试，行末是优势；右边的曲线是全部提示上答对的比例。",
        "Eight rows of responses with up to four tries each and the advantage at the "
        "end; beside them a curve, the share of right responses over all prompts.",
    ),
    presets=[
        Preset(("训练前", "before training"), iteration=0),
        Preset(("两次迭代", "two iterations"), iteration=2),
        Preset(("八次", "eight"), iteration=8),
        Preset(
            ("16 次：全对，没有可学的", "sixteen: all correct, nothing to learn"),
            iteration=16,
        ),
        Preset(("二十次", "twenty"), iteration=20),
    ],
    wide=True,
)
