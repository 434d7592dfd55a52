"""StarPO-S (方差过滤): the groups that the filter keeps, and the signal in them."""

import functools

import torch

from tokencredit import dynamic_sampling, group_relative, top_variance
from tokencredit.figures import COLORS, Dial, Explorer, canvas

GROUPS, SIZE = 20, 8  # prompts in the batch, responses to each
SHARES = [round(0.05 * k, 2) for k in range(1, GROUPS + 1)]
CHANCES = [0.1, 0.3, 0.5, 0.7, 0.9]
SPREADS = [0, 1, 2, 3, 4, 6]
IDS = torch.arange(GROUPS).repeat_interleave(SIZE)
LUCK = torch.rand(
    GROUPS, SIZE, generator=torch.Generator().manual_seed(0), dtype=torch.float64
)


@functools.cache
def batch(chance, spread):
    """Rewards 0 or 1 of a batch (一批奖励), from the hardest prompt to the easiest.

    Args:
        chance: success of a prompt of middling difficulty.
        spread: how far the log-odds of the hardest and easiest prompt lie from it.

    Returns:
        `[GROUPS * SIZE]`, one reward for each response; luck is the same throughout.
    """
    middle = torch.logit(torch.tensor(chance, dtype=torch.float64))
    odds = middle + spread * torch.linspace(-1, 1, GROUPS, dtype=torch.float64)
    return (odds.sigmoid()[:, None] > LUCK).double().flatten()


def signal_kept(rewards, kept, scale):
    """Share of the squared advantages (留下的信号) that the kept responses hold.

    Args:
        rewards: one for each response.
        kept: which responses the filter keeps.
        scale: of normalised advantages, else of centred ones.

    Returns:
        a number in [0, 1]; 0 if no group has a signal.
    """
    power = group_relative(rewards, IDS, scale=scale).square()
    return (power[kept].sum() / power.sum().clamp(min=1e-12)).item()


@functools.cache
def curves(chance, spread):
    """The signal kept for every share of the groups, centred and normalised."""
    rewards = batch(chance, spread)
    kept = [top_variance(rewards, IDS, keep=p) for p in SHARES]
    return [[signal_kept(rewards, k, scale) for k in kept] for scale in (False, True)]


def figure():
    """Left every group's reward std and mean, right the signal kept over p."""
    fig, (left, right) = canvas(1, 2)
    places = range(GROUPS)
    bars = left.bar(places, [0.0] * GROUPS, 0.75, color=COLORS["light"])
    (means,) = left.plot(places, [0.0] * GROUPS, "_", color=COLORS["vermilion"])
    ticks = [
        left.plot([k], [-0.06], "^", color=COLORS["blue"], markersize=4)[0]
        for k in places
    ]
    left.set(xlim=(-0.7, GROUPS - 0.3), ylim=(-0.12, 1.08), xlabel="$g$")
    left.set_xticks([0, 5, 10, 15, 19])
    left.set_yticks([0, 0.5, 1])
    left.spines["left"].set_bounds(0, 1)
    left.text(-0.2, 1.1, r"$\sigma_g$", color=COLORS["blue"])
    left.text(2.2, 1.1, r"$\mu_g$", color=COLORS["vermilion"])
    right.plot([0, 1], [0, 1], ":", color=COLORS["grey"])
    lines = [
        right.plot(SHARES, SHARES, style, color=COLORS[color])[0]
        for style, color in (("-", "blue"), ("--", "purple"))
    ]
    dots = [
        right.plot([0], [0], "o", color=COLORS[color], markersize=7)[0]
        for color in ("blue", "purple")
    ]
    right.set(xlim=(0, 1.03), ylim=(0, 1.06), xlabel="$p$")
    right.set_ylabel(r"$\Sigma_K A^2\,/\;\Sigma A^2$")
    right.text(0.55, 0.28, r"$R-\mu$", color=COLORS["blue"])
    right.text(0.55, 0.14, r"$(R-\mu)/\sigma$", color=COLORS["purple"])

    last = {}

    def update(spread=4, chance=0.5, p=0.25):
        rewards = batch(chance, spread)
        kept = top_variance(rewards, IDS, keep=p)
        table, chosen = rewards.view(GROUPS, SIZE), kept.view(GROUPS, SIZE)[:, 0]
        stds = table.std(1)
        if last.get("batch") != (chance, spread):  # drawing is what takes the time
            last["batch"] = chance, spread
            means.set_ydata(table.mean(1))
            for bar, std in zip(bars, stds.tolist(), strict=True):
                bar.set_height(std)
            for line, heights in zip(lines, curves(chance, spread), strict=True):
                line.set_ydata(heights)
        for bar, tick, live in zip(bars, ticks, chosen.tolist(), strict=True):
            if last.get(tick) != live:
                last[tick] = live
                bar.set_facecolor(COLORS["blue" if live else "light"])
                tick.set_visible(live)
        found = [signal_kept(rewards, kept, scale) for scale in (False, True)]
        for dot, now in zip(dots, found, strict=True):
            dot.set_data([p], [now])
        return {
            "kept": chosen.sum(),
            "least": stds[chosen].min(),
            "dead": (~dynamic_sampling(rewards, IDS)).sum() / SIZE,
            "centred": found[0],
            "normalised": found[1],
            "mean": rewards.mean(),
            "mean_kept": rewards[kept].mean(),
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "spread",
            SPREADS,
            start=4,
            symbol="d",
            name={
                "zh": "难度的散布（对数几率）",
                "en": "spread of difficulty (log-odds)",
            },
        ),
        Dial(
            "chance",
            CHANCES,
            start=0.5,
            symbol="q",
            name={"zh": "中等难度的成功率", "en": "success at middling difficulty"},
        ),
        Dial(
            "p",
            SHARES,
            start=0.25,
            symbol="p",
            name={"zh": "保留的组的比例", "en": "share of the groups kept"},
            fine=False,
        ),
    ],
    title={
        "zh": "StarPO-S 的方差过滤：留下哪些组，留下多少信号",
        "en": "The variance filter of StarPO-S: groups kept, and signal kept",
    },
    readout={
        "zh": "20 组留下 {kept:.0f} 组（标准差不低于 {least:.2f}），全对或全错的有 "
        "{dead:.0f} 组；信号留下 {centred:.0%}（归一化后 {normalised:.0%}）；"
        "平均奖励：整批 {mean:.2f}，留下的 {mean_kept:.2f}",
        "en": "{kept:.0f} of 20 groups kept (std {least:.2f} or more), {dead:.0f} are "
        "all right or all wrong; signal kept {centred:.0%} (normalised "
        "{normalised:.0%}); mean reward: batch {mean:.2f}, kept {mean_kept:.2f}",
    },
    alt={
        "zh": "左图：20 组由难到易，柱高是组内奖励的标准差，橙红横线是组的平均奖励；"
        "留下的组为蓝柱并带三角，其余为灰柱。"
        "右图：留下的优势平方占全批的比例随保留比例的变化，蓝实线只减均值，"
        "紫虚线再除以标准差，灰点线是随机保留；圆点是当前位置。",
        "en": "Left: 20 groups from hard to easy, bars as high as the std of the "
        "group's rewards, vermilion dashes at its mean reward; groups kept are blue "
        "with a triangle, others grey. Right: the share of the batch's squared "
        "advantages that is kept against the share of groups kept, blue solid for "
        "centred, purple dashed for normalised advantages, dotted grey for a random "
        "filter, dots at the present share.",
    },
)
