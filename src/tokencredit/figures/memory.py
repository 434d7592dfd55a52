"""Memory of one device (每张卡的显存): networks, optimizer states and sharding."""

from tokencredit.figures import COLORS, Dial, Explorer, canvas

WEIGHT, GRADIENT, STATES = 2, 2, 12  # bytes per parameter: bf16, bf16, fp32 copy + Adam
NETWORKS = {  # policy and critic are trained, reference and reward model only read
    "PPO": (1, 1, 1, 1),
    "GRPO+ref+RM": (1, 0, 1, 1),
    "GRPO+ref": (1, 0, 1, 0),
    "GRPO": (1, 0, 0, 0),  # a rule for a reward, no KL
}
SIZES = [0.5, 1.5, 3, 7, 14, 32, 70]
DEVICES = [1, 2, 4, 8, 16, 32, 64, 128]
ROOM, EDGE = 80, 320  # GB of one device, and of the drawing


def per_device(size, devices, stage):
    """Gigabytes on each device (每张卡的显存), activations and KV cache not counted.

    Args:
        size: parameters of a network, in billions (10**9).
        devices: how many share the work.
        stage: 0 nothing is shared; 1 the optimizer states are; 2 gradients too;
            3 weights too, those of frozen networks included.

    Returns:
        GB (10**9 bytes) of a trained network, of its optimizer states alone, and of a
        frozen network.
    """
    shares = [devices if stage >= level else 1 for level in (1, 2, 3)]
    states, gradients, weights = (
        size * each / share
        for each, share in zip((STATES, GRADIENT, WEIGHT), shares, strict=True)
    )
    return weights + gradients + states, states, weights


def figure():
    """One bar per stage, stacked by network; a line at the room of one device."""
    fig, ax = canvas(1, 1)
    names = ("blue", "green", "grey", "orange")
    stages = range(4)
    bars = [ax.barh(stages, [1.0] * 4, 0.6, color=COLORS[name]) for name in names]
    (mark,) = ax.plot([1], [0], "o", color=COLORS["vermilion"], markersize=7)
    ax.axvline(ROOM, color=COLORS["ink"], linewidth=0.8, linestyle="--")
    ax.set(xlim=(0, EDGE), ylim=(3.6, -0.9), xlabel="GB")
    ax.set_yticks(stages, [f"$k = {stage}$" for stage in stages])
    words = (r"$\pi_\theta$", "$V$", r"$\pi_{\mathrm{ref}}$", "$R$")
    for place, (word, name) in enumerate(zip(words, names, strict=True)):
        ax.text(316 - 40 * (3 - place), -0.55, word, color=COLORS[name], ha="right")

    def update(size=7, networks="PPO", devices=8, stage=0):
        there = NETWORKS[networks]
        for level in stages:
            trained, _, frozen = per_device(size, devices, level)
            end = 0.0
            for group, n, each in zip(
                bars, there, (trained, trained, frozen, frozen), strict=True
            ):
                start, end = end, end + n * each
                group[level].set_x(min(start, EDGE))
                group[level].set_width(min(end, EDGE) - min(start, EDGE))
            if level == stage:
                mark.set_data([min(end, EDGE)], [stage])
                total = end
        _, states, _ = per_device(size, devices, stage)
        return {
            "total": total,
            "all": total * devices,
            "states": states * sum(there[:2]),
            "left": ROOM - total,
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "size",
            SIZES,
            start=7,
            symbol="Ψ",
            name={"zh": "每个网络的参数，十亿", "en": "parameters of a network, 1e9"},
            fine=False,
        ),
        Dial(
            "networks",
            list(NETWORKS),
            start="PPO",
            symbol="n, m",
            name={"zh": "有哪些网络", "en": "which networks"},
            fmt="",
        ),
        Dial(
            "devices",
            DEVICES,
            start=8,
            symbol="N",
            name={"zh": "卡数", "en": "devices"},
            fine=False,
        ),
        Dial(
            "stage",
            [0, 1, 2, 3],
            start=0,
            symbol="k",
            name={"zh": "分到第几级（ZeRO）", "en": "stage of sharing (ZeRO)"},
            fine=False,
        ),
    ],
    title={
        "zh": "每张卡上的显存：不算激活与 KV 缓存",
        "en": "Memory on each device, without activations and KV cache",
    },
    readout={
        "zh": "每张卡 {total:.1f} GB，其中优化器 {states:.1f} GB；"
        "80 GB 的卡还剩 {left:.1f} GB；所有卡加起来 {all:.0f} GB",
        "en": "{total:.1f} GB on each device, {states:.1f} of it the optimizer's; "
        "a device of 80 GB has {left:.1f} GB left; {all:.0f} GB on all together",
    },
    alt={
        "zh": "四条堆叠的横条，从上到下是不分、第一到第三级；"
        "每条由策略、价值网络、参考策略、奖励模型组成，分得越多越短。"
        "虚线在 80 GB，圆点标出选中的一级；超出图的停在右边缘。",
        "en": "Four stacked bars, from nothing shared at the top to stage three; each "
        "is made of policy, critic, reference and reward model, and is shorter the "
        "more is shared. A dashed line at 80 GB, a dot at the chosen stage; what is "
        "longer than the drawing ends at its right edge.",
    },
)
