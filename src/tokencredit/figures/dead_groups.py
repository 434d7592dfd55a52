"""Dynamic sampling (动态采样): dead groups, and how many draws a live one costs."""

import torch

from tokencredit import dynamic_sampling
from tokencredit.figures import COLORS, Dial, Explorer, canvas

CHANCES = [0.01, *(round(0.05 * i, 2) for i in range(1, 20)), 0.99]
SIZES = [2, 4, 8, 16, 32]


def dead_share(p, size):
    """Chance that all responses of a group agree (死组): p^G + (1-p)^G."""
    return p**size + (1 - p) ** size


def counted_share(p, size):
    """The same by going through every number of right responses and the filter."""
    right = torch.arange(size + 1)
    rewards = (torch.arange(size) < right[:, None]).double()
    groups = right[:, None].expand_as(rewards)
    kept = dynamic_sampling(rewards.flatten(), groups.flatten())[::size]
    count = torch.distributions.Binomial(size, torch.tensor(p, dtype=torch.float64))
    return count.log_prob(right.double()).exp()[~kept].sum().item()


def figure():
    """Left the share of dead groups, right the draws for a live one."""
    fig, axes = canvas(1, 2, left=0.66)
    share, draws = axes
    (line,) = share.plot(CHANCES, CHANCES, color=COLORS["blue"])
    (point,) = share.plot([0], [0], "o", color=COLORS["vermilion"])
    share.set(xlim=(0, 1), ylim=(0, 1.03), xlabel="$p$")
    share.set(ylabel="$p^G + (1-p)^G$")
    (curve,) = draws.plot(CHANCES, [1] * len(CHANCES), color=COLORS["blue"])
    (here,) = draws.plot([0], [1], "o", color=COLORS["vermilion"])
    draws.set(yscale="log", xlim=(0, 1), ylim=(0.9, 60), xlabel="$p$")
    draws.set(ylabel=r"$\mathrm{E}[k]$")
    draws.set_yticks([1, 10, 50], ["1", "10", "50"])
    draws.minorticks_off()

    def update(p=0.9, size=8):
        dead = [dead_share(x, size) for x in CHANCES]
        line.set_ydata(dead)
        curve.set_ydata([1 / (1 - x) for x in dead])
        now = counted_share(p, size)
        point.set_data([p], [now])
        here.set_data([p], [1 / (1 - now)])
        return {"dead": now, "draws": 1 / (1 - now), "responses": size / (1 - now)}

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "p",
            CHANCES,
            start=0.9,
            symbol="p",
            name={"zh": "答对的概率", "en": "chance of a right response"},
        ),
        Dial(
            "size",
            SIZES,
            start=8,
            symbol="G",
            name={"zh": "组大小", "en": "group size"},
            fine=False,
        ),
    ],
    title={
        "zh": "死组的份额，和一个活组的代价",
        "en": "The share of dead groups and the price of a live one",
    },
    readout={
        "zh": "{dead:.1%} 的组全对或全错；平均采 {draws:.2f} 组"
        "（{responses:.0f} 条回答）得到一个有用的组",
        "en": "{dead:.1%} of the groups are all right or all wrong; a useful group "
        "costs {draws:.2f} draws ({responses:.0f} responses) on average",
    },
    alt={
        "zh": "左图：死组的概率随答对概率变化，两端高中间低。"
        "右图：得到一个活组平均要采几组，两端急升，对数轴。",
        "en": "Left: the chance of a dead group against the pass rate, high at both "
        "ends. Right: expected draws for a live group, steep at both ends, log axis.",
    },
)
