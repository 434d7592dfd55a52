"""A cluster (集群) as a loop: who computes what, and what is handed over."""

from explorer import Dial, Figure, Plot, Preset, scene, tile

RESPONSES, TOKENS = 8192, 1000  # of an iteration, and of a response on average
NUMBER, HALF = 4, 2  # bytes of an id, a log-prob or a reward; of a weight in bf16
WEIGHTS = 7e9
WRITE, JUDGE, WAIT, TRAIN, SYNC = range(5)


def moved(place):
    """Bytes of an iteration 一次迭代的数据量 that leave a place.

    Args:
        place: WRITE hands over ids and log-probs, JUDGE a reward per response; WAIT
            hands over all of it to the trainer, TRAIN and SYNC the weights.
    """
    written, judged = 2 * NUMBER * RESPONSES * TOKENS, NUMBER * RESPONSES
    return (written, judged, written + judged, HALF * WEIGHTS, HALF * WEIGHTS)[place]


def size(amount):
    """Bytes in words.

    >>> size(65_536_000), size(14e9)
    ('66 MB', '14 GB')
    """
    for unit, words in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if amount >= unit:
            return f"{amount / unit:.0f} {words}"
    return f"{amount:.0f} B"


def box(plot, ends, heights, active, lines):
    """A machine: a frame, amber on top while it is looked at."""
    (x0, x1), (y0, y1) = ends, heights
    plot.area(x0, x1, y0, y1, "old pale")
    plot.area(x0, x1, y1 - 0.16, y1, "sel", show=active)
    step = (y1 - y0 - 0.16) / (len(lines) + 0.4)  # the box is filled from edge to edge
    for k, words in enumerate(lines):
        look = "" if k else "strong"
        plot.text((x0 + x1) / 2, y1 - 0.16 - step * (k + 0.7), words, look)


def draw(L, place):
    plot = Plot(x=(0, 12), y=(0, 7), axes=False, height=250)
    box(
        plot,
        (0, 3.5),
        (2.3, 6.9),
        place == WRITE,
        [
            L("推理引擎", "inference"),
            "vLLM",
            "SGLang",
            L("写回答", "writes"),
            L("策略 μ", "policy μ"),
        ],
    )
    box(
        plot,
        (4.6, 7.4),
        (4.9, 6.9),
        place == JUDGE,
        [L("判分", "verifier"), L("奖励 R", "reward R")],
    )
    box(
        plot,
        (4.6, 7.4),
        (2.3, 4.3),
        place == WAIT,
        [L("队列", "queue"), L("等着训练", "waits")],
    )
    box(
        plot,
        (8.5, 12),
        (2.3, 6.9),
        place == TRAIN,
        [
            L("训练引擎", "training"),
            "FSDP",
            "Megatron",
            L("求梯度，更新", "gradients"),
            "π_old, π_θ",
        ],
    )
    plot.arrow(3.6, 5.9, 4.5, 5.9, "sel" if place == WRITE else "ink")
    plot.arrow(6, 4.8, 6, 4.4, "sel" if place == JUDGE else "ink")
    plot.arrow(7.5, 3.3, 8.4, 3.3, "sel" if place == WAIT else "ink")
    back = "sel" if place in (TRAIN, SYNC) else "ink"
    plot.line([(10.25, 2.2), (10.25, 0.8), (7.8, 0.8)], f"{back} way")
    plot.line([(4.2, 0.8), (1.75, 0.8), (1.75, 1.8)], f"{back} way")
    plot.arrow(1.75, 1.5, 1.75, 2.2, back)
    plot.area(4.2, 7.8, 0.3, 1.3, "sel", show=place == SYNC)
    plot.area(4.3, 7.7, 0.38, 1.22, "old pale")
    plot.text(6, 0.8, L("权重同步", "weight sync"), "strong")
    says = (
        L(
            "交出编号和对数概率。它与训练引擎算得不完全一样，所以 μ 不等于 π。",
            "It hands over ids and log-probs. It computes differently, so μ is not π.",
        ),
        L(
            "只看文字打分。分数要跟着编号走，文字不能再编码成编号去训练。",
            "It scores text. What is trained on are the ids, never the text again.",
        ),
        L(
            "写得快，用得慢，回答就在这里变旧；上限由陈旧度来定。",
            "If writing is faster than training, responses get stale while they wait.",
        ),
        L(
            "一批切成小批、微批、显卡。切法不同，分母不许不同。",
            "A batch is cut for updates, cards and passes; the divisor must not care.",
        ),
        L(
            "新权重要送到每一台推理引擎。送漏一层，写回答的就是另一个模型。",
            "New weights go to every engine. Miss a layer, and another model writes.",
        ),
    )[place]
    what = (
        L("编号，概率", "ids, log p"),
        L("分数", "scores"),
        L("整批数据", "the batch"),
        L("新权重", "weights"),
        L("新权重", "weights"),
    )[place]
    check = (
        "π = μ ?",
        L("同一串编号", "same ids?"),
        L("陈旧度", "staleness"),
        L("分母", "divisor"),
        L("版本", "version"),
    )[place]
    return scene(
        plot,
        tiles=[
            tile(L("交出去的", "hands over"), what),
            tile(L("每次迭代", "per iteration"), size(moved(place))),
            tile(L("要查的", "to check"), check),
        ],
        says=says,
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "place",
            [WRITE, JUDGE, WAIT, TRAIN, SYNC],
            WRITE,
            ("看哪一处", "look at"),
            kind="choice",
            options=[
                ("采样", "sampling"),
                ("打分", "scoring"),
                ("排队", "queue"),
                ("训练", "training"),
                ("同步", "sync"),
            ],
        )
    ],
    title=(
        "公式里的数由不同的程序算出来，每一处交接都要核对",
        "Different programs compute the numbers, and every handover is checked",
    ),
    alt=(
        "一个循环：推理引擎写回答，判分程序打分，队列保存，训练引擎更新，新权重再送回推理"
        "引擎。选中的一处是琥珀色的。",
        "A loop: an inference engine writes, a verifier scores, a queue waits, a "
        "training engine updates, and the new weights go back. The chosen place is "
        "amber.",
    ),
    presets=[
        Preset(("采样", "sampling"), place=WRITE),
        Preset(("排队", "queue"), place=WAIT),
        Preset(("权重同步", "weight sync"), place=SYNC),
    ],
    wide=True,
    note=(
        "按 8192 条回答、平均 1000 个词元、70 亿个 bf16 权重计算；"
        "编号、对数概率和奖励各 4 字节。",
        "For 8192 responses of 1000 tokens on average and 7 billion weights in bf16; "
        "ids, log-probs and rewards take 4 bytes each.",
    ),
)
