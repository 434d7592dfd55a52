"""Memory of one card (每张卡的显存): networks, their parts, and sharding."""

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    bars,
    caption,
    legend,
    number,
    option,
    scene,
    side,
    stack,
    tile,
)
from tokenbook.languages.glossary import terms

WEIGHT, GRADIENT, STATES = 2, 2, 12  # bytes per parameter: bf16, bf16, fp32 copy + Adam
NAMES = [
    terms("policy"),
    terms("critic"),
    ("参考", "reference"),
    ("奖励模型", "reward"),
]
TRAINED = (True, True, False, False)  # the others are only read
NETWORKS = {
    "PPO": (1, 1, 1, 1),
    "GRPO+ref": (1, 0, 1, 0),
    "GRPO": (1, 0, 0, 0),  # a rule for a reward, no KL
}
STAGES = [
    (("0 各存一份", "0 nothing shared"), ("每张卡都存全部", "each GPU holds all")),
    (("1 分优化器状态", "1 optimizer states"), ("每参数 12 字节", "12 bytes of 16")),
    (("2 再分梯度", "2 gradients too"), ("再加 2 字节", "2 more")),
    (("3 再分参数", "3 weights too"), ("只读的网络也分", "frozen networks as well")),
]
SIZES = [7, 14, 32, 70]
DEVICES = [1, 4, 8, 16, 64]
ROOM = 80  # GB of one card
LOOKS = ("ink", "alt", "old")  # weights, gradients, optimizer states
WHOLE = sum(16 if trained else 2 for trained in TRAINED)  # bytes, unshared PPO


def per_device(size, devices, stage):
    """Gigabytes on each card (每张卡的显存), activations and KV cache not counted.

    Args:
        size: parameters of a network, in billions (10**9).
        devices: how many cards share the work.
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


def parts(size, networks, devices, stage):
    """GB of weights, gradients and optimizer states of each network (各部分)."""
    whole, states, weights = per_device(size, devices, stage)
    own = (weights, whole - weights - states, states)
    return [
        tuple(there * x * (trained or not k) for k, x in enumerate(own))
        for there, trained in zip(NETWORKS[networks], TRAINED, strict=True)
    ]


def gigabytes(value):
    """So many digits as are of use."""
    return number(value, 0 if value >= 100 else 1 if value >= 1 else 2)


def amount(value):
    """The same with its unit."""
    if value < 1000:
        return gigabytes(value) + " GB"
    return number(value / 1000, 1 if value < 100_000 else 0) + " TB"


def card_of(L, held):
    """Memory on one card by network, and the free room."""
    total = sum(map(sum, held))
    scale = ROOM
    while scale < total:
        scale *= 2
    plot = Plot(x=(-0.27 * scale, 1.2 * scale), y=(-0.7, 5.6), height=208, axes=False)
    plot.area(0, ROOM, -0.6, 4.75, "old pale")
    end = 0.0
    for k, (name, sizes) in enumerate(zip(NAMES, held, strict=True)):
        y = 3.75 - k
        plot.text(-0.26 * scale, y + 0.36, L(name), align="left")
        for look, size in zip(LOOKS, sizes, strict=True):
            plot.area(end, end + size, y, y + 0.72, look)
            end += size
        words = gigabytes(sum(sizes)) if any(sizes) else "–"
        plot.text(1.19 * scale, y + 0.36, words, align="right")
    plot.area(0, min(total, ROOM), -0.4, 0.32, "up")
    over = total > ROOM
    seen = max(total, ROOM + 0.03 * scale * over)  # half a GB is seen beyond the line
    plot.area(ROOM, seen, -0.4, 0.32, "down")
    words = f"+{gigabytes(total - ROOM)}" if seen > total > ROOM else ""
    spot = (
        ROOM + 0.05 * scale,
        -0.04,
    )  # if too little is left to see in the bar
    plot.text(*spot, words, "down strong", align="left", show=bool(words))
    plot.text(-0.26 * scale, -0.04, L("合计", "sum"), "strong", align="left")
    look = "down strong" if over else "strong"
    plot.text(1.19 * scale, -0.04, gigabytes(total), look, align="right")
    plot.line([(ROOM, -0.6), (ROOM, 4.75)], "ink")
    room = L(f"一张卡 {ROOM} GB", f"one GPU, {ROOM} GB")
    plot.text(0, 5.2, room, "strong", align="left")
    plot.text(1.19 * scale, 5.2, "GB", "quiet", align="right")
    return plot


def choices(L, size, networks, devices, stage):
    """The four stages as bars of one scale, each to be chosen."""
    found = []
    for level, (name, what) in enumerate(STAGES):
        held = parts(size, networks, devices, level)
        kinds = [sum(k) for k in zip(*held, strict=True)]
        shares = [kind / (WHOLE * size) for kind in kinds]
        found.append(
            option(
                L(name),
                bars(*zip(shares, LOOKS, strict=True)),
                gigabytes(sum(kinds)),
                sub=L(what),
                pick=("stage", level),
                pressed=level == stage,
            )
        )
    return stack(*found)


def draw(L, networks, size, devices, stage):
    held = parts(size, networks, devices, stage)
    total, states = sum(map(sum, held)), sum(own[2] for own in held)
    over = total > ROOM
    return scene(
        side(
            stack(
                card_of(L, held),
                legend(
                    ("ink", L("参数", "weights")),
                    ("alt", L("梯度", "gradients")),
                    ("old", L("优化器状态", "optimizer states")),
                    ("up", L("合计放得下", "the sum fits")),
                    ("down", L("放不下的", "too much"), over),
                ),
            ),
            stack(
                caption(
                    L(
                        "ZeRO 分到第几级？同一把尺，每张卡的 GB",
                        "What is shared (ZeRO)? One scale, GB on each GPU",
                    )
                ),
                choices(L, size, networks, devices, stage),
            ),
            shares=(1.1, 1),
        ),
        tiles=[
            tile(L("每张卡", "per GPU"), amount(total)),
            tile(
                L("其中优化器", "optimizer"),
                f"{number(100 * states / total, 0)}%",
            ),
            tile(
                L("超出", "too much") if over else L("还空", "room left"),
                amount(abs(ROOM - total)),
                look="down" if over else "up",
            ),
            tile(L("全部卡", "all GPUs"), amount(total * devices)),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "networks",
            list(NETWORKS),
            "PPO",
            ("算法，几个网络", "algorithm, networks"),
            fmt="",
            kind="choice",
            options=[
                ("PPO，4", "PPO, 4"),
                ("GRPO，2", "GRPO, 2"),
                ("GRPO，1", "GRPO, 1"),
            ],
        ),
        Dial(
            "size", SIZES, 7, ("每个网络，十亿参数", "10⁹ parameters"), "Ψ", fine=False
        ),
        Dial("devices", DEVICES, 8, ("卡数", "GPUs"), "W", fine=False),
        Dial("stage", [0, 1, 2, 3], 0, ("分到第几级", "stage"), kind="hidden"),
    ],
    title=(
        "训练一个网络每参数要 16 字节，只读它要 2 字节；多张卡可以分着存",
        "Training takes 16 bytes per parameter, reading 2, and GPUs can share them",
    ),
    alt=(
        "左图：四个网络的显存一段接一段，由参数、梯度、优化器状态组成；灰底是一张 "
        "80 GB 的卡，超出的部分在它右边。右图：ZeRO 四级各一条横条，用同一把尺。",
        "Left: the memory of four networks, piece after piece, each of weights, "
        "gradients and optimizer states; the grey ground is a GPU of 80 GB, and what "
        "is too much lies to its right. Right: a bar for each stage of ZeRO, all on "
        "one scale.",
    ),
    presets=[
        Preset(
            ("7B，不分", "7B, unshared"), networks="PPO", size=7, devices=8, stage=0
        ),
        Preset(("第 1 级", "stage 1"), networks="PPO", size=7, devices=8, stage=1),
        Preset(
            ("差半个 GB", "a near miss"), networks="PPO", size=7, devices=8, stage=2
        ),
        Preset(
            ("换成 GRPO", "GRPO instead"),
            networks="GRPO+ref",
            size=7,
            devices=8,
            stage=1,
        ),
        Preset(
            ("70B，第 2 级", "70B, stage 2"),
            networks="GRPO",
            size=70,
            devices=64,
            stage=2,
        ),
        Preset(
            ("70B，第 3 级", "70B, stage 3"),
            networks="GRPO",
            size=70,
            devices=64,
            stage=3,
        ),
    ],
    note=(
        "80 GB 的卡画不下时整幅缩小一半，卡的灰底随之变窄。"
        "没有算激活、logits 和 KV 缓存。",
        "What does not fit is drawn at half scale, and so is the grey box of its "
        "GPU. Activations, logits and KV cache are not counted.",
    ),
    wide=True,
)
