"""A reward hack (奖励黑客) that can be read: what is paid, and what is wanted.

The stored runs train the five warm starts of `signs` with GRPO and a learning rate of
1e-3, 17 iterations of 32 prompts with 8 responses each; `RUNS` names what is paid and
the coefficient of a KL penalty (k3 in the loss) against the warm start. They are the
runs of the experiment `hacks`, here with every iteration by itself. Responses are those
of seed 0, before the iterations in MOMENTS, always with the same random numbers.
``python -m tokenbook.lab.records`` makes the record again.
"""

import json
from functools import cache
from pathlib import Path
from statistics import mean

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
    side,
    stack,
    tile,
)
from tokencredit.world.tasks.signs import VERDICTS, tries

RUNS = (("mark", 0.0), ("mark", 0.04), ("mark", 0.2), ("outcome", 0.0))
SEEDS = range(5)
MOMENTS = (0, 2, 4, 8, 16)
TRIES = 4  # columns
RECORD = json.loads(
    (Path(__file__).parent / "static" / "reward_hack.json").read_text("utf-8")
)


def numbers(run, seed, name):
    """One number per iteration of a stored run (存下的训练).

    Args:
        run: place in RUNS.
        seed: of the warm start and of training.
        name: "reward" (paid), "success" (wanted) or "ref_kl" (of whole responses).
    """
    paid, kl_coef = RUNS[run]
    return RECORD["runs"][f"{paid},{kl_coef:g},{seed}"][name]


def ends(run, name, last=4):
    """The mean over the last iterations of a run, one per seed."""
    return [mean(numbers(run, seed, name)[-last:]) for seed in SEEDS]


@cache
def path(run, name):
    """The mean of the five seeds, iteration by iteration."""
    runs = [numbers(run, seed, name) for seed in SEEDS]
    return [mean(step) for step in zip(*runs, strict=True)]


def responses(run, moment):
    """The stored responses of seed 0 before an iteration: pairs of prompt and text."""
    paid, kl_coef = RUNS[run]
    said = RECORD["said"][f"{paid},{kl_coef:g}"][str(moment)]
    return list(zip(RECORD["prompts"], said, strict=True))


def draw(L, run, moment):
    paid, _ = RUNS[run]
    rows, rights = [], []
    for prompt, text in responses(run, moment):
        found = tries(prompt, text)
        right = VERDICTS["outcome"](prompt, text)
        rights.append(bool(right))
        chips = []
        for k in range(TRIES):
            one = found[k] if k < len(found) else None
            last = k == len(found) - 1
            words = f"{one.left}={one.result}{one.mark}" if one else ""
            credit = (1 if right else -1) if last else 0
            chips.append(
                chip(words, credit=credit)
                if one
                else chip("", trained=False, look="plain")
            )
        rows.append(
            row(
                prompt,
                chips,
                L("得 ", "paid ") + number(VERDICTS[paid](prompt, text), 0),
                end_sub=L("对", "right") if right else L("错", "wrong"),
                look="heads tries",
            )
        )
    plot = Plot(
        x=(0, 16),
        y=(0, 1.05),
        x_name=L("训练了几次迭代", "iterations of training"),
        y_name=L("平均", "mean"),
        x_ticks=[0, 4, 8, 12, 16],
        y_ticks=[0, 0.5, 1],
        height=190,
    )
    for seed in SEEDS:
        plot.line(list(enumerate(numbers(run, seed, "success"))), "old thin")
    plot.line(list(enumerate(path(run, "reward"))), "alt dashed")
    plot.line(list(enumerate(path(run, "success"))), "ink")
    plot.rule(x=moment, look="dotted")
    plot.dot(moment, path(run, "reward")[moment], "alt")
    plot.dot(moment, path(run, "success")[moment], "sel")
    return scene(
        side(
            stack(
                caption(
                    L(
                        "四个提示和回答（种子 0）；填色的是最后一次尝试",
                        "Four prompts, responses of seed 0; the last try is filled",
                    )
                ),
                *rows,
                legend(
                    ("up chip", L("真的对", "really right"), any(rights)),
                    ("down chip", L("其实错了", "really wrong"), not all(rights)),
                ),
            ),
            stack(
                plot,
                legend(
                    ("alt line dashed", L("拿到的奖励", "reward that is paid")),
                    ("ink line", L("真正的正确率", "share really right")),
                    ("old line", L("五个种子", "five seeds")),
                ),
            ),
            shares=(2.3, 1),
        ),
        tiles=[
            tile(
                L("拿到的奖励", "reward paid"), number(path(run, "reward")[moment], 2)
            ),
            tile(
                L("真正的正确率", "really right"),
                number(path(run, "success")[moment], 2),
            ),
            tile(
                L("离开起点", "distance gone"),
                number(path(run, "ref_kl")[moment], 1),
                L("KL，单位 nat", "KL, in nats"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "run",
            range(len(RUNS)),
            0,
            ("β，或判分程序", "β, or the verifier"),
            kind="choice",
            options=[
                ("0", "0"),
                ("0.04", "0.04"),
                ("0.2", "0.2"),
                ("判分程序", "verifier"),
            ],
        ),
        Dial(
            "moment",
            MOMENTS,
            8,
            ("训练了几次迭代", "iterations of training"),
            kind="time",
        ),
    ],
    title=(
        "奖励什么，策略就学什么，不管我们想要的是什么",
        "A policy learns what is paid, not what we wanted",
    ),
    alt=(
        "左：四个提示的回答，行末是拿到的奖励和真正的对错。右：拿到的奖励与真正的正确率"
        "随训练的变化。",
        "Left: responses to four prompts, at the end of a row what was paid and "
        "whether it is right. Right: the reward paid and the share really right.",
    ),
    presets=[
        Preset(("只看 ✓，8 次之后", "✓ only, after 8"), run=0, moment=8),
        Preset(("训练之前", "before training"), run=0, moment=0),
        Preset(("β 0.04，16 次", "β 0.04, after 16"), run=1, moment=16),
        Preset(("β 0.2，16 次", "β 0.2, after 16"), run=2, moment=16),
        Preset(("判分程序，16 次", "verifier, after 16"), run=3, moment=16),
    ],
    wide=True,
)
