"""Micro-batches (微批) of a token-mean: the mean of means against global counts."""

import torch

from tokencredit import aggregate_loss
from tokencredit.figures import COLORS, Dial, Explorer, canvas

LENGTHS = (2, 4, 8)  # the first three responses
LAST = [1, 2, 4, 8, 16, 32, 64, 128]
SIZES = [1, 2, 4]  # responses per micro-batch


def split_weights(last, size, counted):
    """Weight of a token (词元的权重) of each response, times N: 1 is right.

    Args:
        last: tokens of the fourth response.
        size: responses per micro-batch.
        counted: whether every micro-batch is divided by the global token count, or
            by its own, and the micro-batches are averaged.

    Returns:
        four numbers, one per response.
    """
    lengths = torch.tensor([*LENGTHS, last])
    mask = torch.arange(lengths.max().item()) < lengths[:, None]
    loss = torch.zeros(mask.shape, dtype=torch.float64, requires_grad=True)
    total = int(lengths.sum())
    parts = list(zip(loss.split(size), mask.split(size), strict=True))
    for part, live in parts:
        denominator = total if counted else len(parts) * live.sum().item()
        aggregate_loss(part, live, "token-mean", denominator=denominator).backward()
    return (loss.grad[:, 0] * total).tolist()


def figure():
    """The weight of a token of each response, relative to 1/N."""
    fig, ax = canvas(width=5.2, left=0.65)
    places = [0, 1, 2, 3]
    right = ax.plot(places, [1] * 4, "o", color=COLORS["blue"], mfc="none", ms=10)
    naive = ax.plot(places, [1] * 4, "o", color=COLORS["vermilion"], ms=6)
    ax.axhline(1, color=COLORS["grey"], linewidth=0.8, zorder=0)
    ax.set(yscale="log", ylim=(0.2, 25), xlim=(-0.5, 3.5), ylabel=r"$w_i\,N$")
    ax.set_yticks([0.25, 1, 4, 16], ["0.25", "1", "4", "16"])
    ax.set_xticks(places, ["$n_1 = 2$", "$n_2 = 4$", "$n_3 = 8$", "$n_4$"])
    ax.minorticks_off()

    def update(last=32, size=1):
        wrong = split_weights(last, size, counted=False)
        naive[0].set_ydata(wrong)
        right[0].set_ydata(split_weights(last, size, counted=True))
        return {"first": wrong[0], "last": wrong[-1], "between": wrong[0] / wrong[-1]}

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "last",
            LAST,
            start=32,
            symbol="n₄",
            name={"zh": "第四条回答的词元数", "en": "tokens of the fourth response"},
            fine=False,
        ),
        Dial(
            "size",
            SIZES,
            start=1,
            symbol="b",
            name={"zh": "每个微批几条回答", "en": "responses per micro-batch"},
        ),
    ],
    title={
        "zh": "同一批数据，切法不同：逐批取平均，与除以全局计数",
        "en": "One batch cut differently: means of parts, and global counts",
    },
    readout={
        "zh": "逐批取平均时，第一条回答的词元权重是应有的 {first:.2f} 倍，"
        "第四条的是 {last:.2f} 倍，两者之比 {between:.1f}；除以全局计数时处处是 1",
        "en": "with means of parts a token of the first response weighs {first:.2f} "
        "times what it should, of the fourth {last:.2f} times, ratio {between:.1f}; "
        "with global counts 1 everywhere",
    },
    alt={
        "zh": "四条回答，纵轴是词元权重乘以 N，对数轴：橙点是逐微批取平均，高低不一；"
        "蓝圈是除以全局计数，总等于 1。",
        "en": "Four responses, the weight of a token times N on a log axis: orange "
        "dots with means per micro-batch, uneven; blue rings with global counts, "
        "always 1.",
    },
)
