"""Chapter 12: update-cost without a clip, at 20 ticks an update."""

from tokenbook.lab import Experiment
from tokenbook.lab.experiments import update_cost
from tokenbook.lab.experiments.update_cost import DIALS, EVERY, QUEUE, ahead

LOSS = "no clip"  # of stale-sampler


def run(variant, seed, quick, checkpoint):
    return update_cost.run(variant, seed, quick, checkpoint, loss=LOSS)


EXPERIMENT = Experiment(
    name="update-cost-open",
    chapter=12,
    question={
        "zh": "更新要时间、又不裁剪的时候，给陈旧度设上限吃亏吗？",
        "en": "An update takes time and nothing clips: does a limit on staleness cost?",
    },
    variants=tuple({"rule": rule, "cost": 20} for rule in ("none", "wait")),
    run=run,
    columns=update_cost.EXPERIMENT.columns,
    settings={"task": "signs", "row": LOSS, "queue": QUEUE, "every": EVERY, **DIALS},
    claims={
        "no limit leads in every seed at times 50 and 100": (
            lambda rows: all((ahead(rows, 20, tick) < 0).all() for tick in (50, 100))
        ),
    },
    message={
        "zh": "不裁剪，更新要 20 个单位时间，不设上限开头仍领先。",
        "en": "Without a clip, at 20 ticks an update, no limit still leads at first.",
    },
    shows=(("success",),),
)
