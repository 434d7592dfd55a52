"""A group of rewards (一组奖励): advantages with and without the std; their pull."""

import torch

from tokencredit import group_relative
from tokencredit.figures import COLORS, Dial, Explorer, canvas

SIZE = 5  # responses in the group
START = (1, 0, 0, 0, 0)


def advantages(rewards, scale):
    """Advantages (优势) of one group, by the course's function.

    Args:
        rewards: the rewards of the group, a list of numbers.
        scale: divide by the standard deviation of the group.

    Returns:
        a list, one advantage per response.
    """
    scores = torch.tensor(rewards, dtype=torch.float64)
    one_group = torch.zeros(len(rewards), dtype=torch.long)
    return group_relative(scores, one_group, scale=scale, eps=0.0).tolist()


def pull(scores):
    """Mean size of the advantages (拉力): how strongly this question pulls."""
    return sum(abs(score) for score in scores) / len(scores)


def figure():
    """Left the advantages of each response, right the pull of the question over q."""
    fig, (left, right) = canvas(1, 2)
    places = range(SIZE)
    plain = left.bar(
        [k - 0.2 for k in places], [0.0] * SIZE, 0.36, color=COLORS["grey"]
    )
    scaled = left.bar(
        [k + 0.2 for k in places], [0.0] * SIZE, 0.36, color=COLORS["blue"]
    )
    left.axhline(0, color=COLORS["ink"], linewidth=0.6)
    left.set(xlim=(-0.6, SIZE - 0.4), ylim=(-2.2, 2.2), ylabel="$A_i$")
    left.set_xticks(places, [f"$R_{k + 1}$" for k in places])
    left.text(4.4, 1.85, r"$R - \mu$", color=COLORS["grey"], ha="right")
    left.text(4.4, 1.5, r"$(R - \mu)/\sigma$", color=COLORS["blue"], ha="right")
    dots = []
    shares = [k / SIZE for k in range(SIZE + 1)]
    groups = [[1.0] * k + [0.0] * (SIZE - k) for k in range(SIZE + 1)]
    for scale, color in ((False, "grey"), (True, "blue")):
        heights = [pull(advantages(group, scale)) for group in groups]
        right.plot(shares, heights, "--", color=COLORS[color], linewidth=1)
        right.plot(shares, heights, ".", color=COLORS[color])
        (dot,) = right.plot([0], [0], "o", color=COLORS[color], markersize=9)
        dots.append(dot)
    right.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.1), xlabel="$q$")
    right.set_ylabel(r"$\overline{|A|}$")

    def update(r1=1, r2=0, r3=0, r4=0, r5=0):
        rewards = [float(r) for r in (r1, r2, r3, r4, r5)]
        q = sum(rewards) / SIZE
        sizes = []
        for bars, dot, scale in zip((plain, scaled), dots, (False, True), strict=True):
            scores = advantages(rewards, scale)
            for bar, score in zip(bars, scores, strict=True):
                bar.set_height(score)
            dot.set_data([q], [pull(scores)])
            sizes.append(scores)
        return {
            "q": q,
            "up": max(sizes[1]),
            "down": min(sizes[1]),
            "plain": pull(sizes[0]),
            "scaled": pull(sizes[1]),
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            f"r{k + 1}",
            [0, 1],
            start=START[k],
            symbol=f"R{k + 1}",
            name={"zh": f"第 {k + 1} 条回答对不对", "en": f"is response {k + 1} right"},
        )
        for k in range(SIZE)
    ],
    title={
        "zh": "一组奖励变成优势：除不除以标准差",
        "en": "From a group's rewards to advantages, with and without the std",
    },
    readout={
        "zh": "答对的比例 {q:.2f}；除以标准差后，最大的优势 {up:+.2f}，"
        "最小的 {down:+.2f}；整组的拉力：不除 {plain:.2f}，除 {scaled:.2f}",
        "en": "share right {q:.2f}; divided by the std the largest advantage is "
        "{up:+.2f}, the smallest {down:+.2f}; pull of the group: plain {plain:.2f}, "
        "divided {scaled:.2f}",
    },
    alt={
        "zh": "左：五条回答的优势，灰柱只减均值，蓝柱再除以标准差。"
        "右：整组优势的平均大小随答对比例的变化，灰色不除、蓝色除以标准差，"
        "大圆点是当前这一组。",
        "en": "Left: the advantages of five responses, grey bars centred only, blue "
        "bars divided by the standard deviation as well. Right: the mean size of the "
        "group's advantages over the share of right responses, grey and blue likewise, "
        "a large dot at the current group.",
    },
)
