"""The arithmetic of a batch (一批怎么切): updates, cards, passes, and their names."""

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    h,
    legend,
    number,
    scene,
    side,
    stack,
    tile,
)

PROMPTS, GROUP = 512, 16  # of an iteration
ALL = PROMPTS * GROUP
PARTS = [512, 1024, 2048, 4096, 8192]  # responses of an update
CARDS = [4, 8, 16]
SIZES = [8, 16, 32]  # responses of a forward pass
EPOCHS = [1, 2, 4]


def plan(part, cards, size, epochs):
    """Counts of an iteration 一次迭代的账.

    Args:
        part: responses of an update, of all cards together.
        cards: GPUs that train.
        size: responses of a forward pass on one card.
        epochs: how often the batch is used.

    Returns:
        updates of the iteration, passes of a card for one of them, and how many of the
        updates see a ratio of 1: the first one only.
    """
    return epochs * (ALL // part), part // (cards * size), 1


def settings(prompts, group, part, cards, size, epochs):
    """A batch in the words of three libraries 三个库的选项: name -> options.

    Args:
        prompts: prompts of an iteration.
        group: responses to a prompt.
        part, cards, size, epochs: as in `plan`.

    Raises:
        ValueError: if something does not divide.
    """
    responses = prompts * group
    for whole, by, what in (
        (responses, part, "an iteration into updates"),
        (part, cards * size, "an update into passes of all cards"),
        (part, group, "an update into groups, which verl counts"),
    ):
        if whole % by:
            raise ValueError(f"{whole} is not a multiple of {by}: {what}")
    _, passes, _ = plan(part, cards, size, epochs)
    return {
        "TRL": {
            "per_device_train_batch_size": size,
            "gradient_accumulation_steps": passes,
            "steps_per_generation": passes * responses // part,
            "num_iterations": epochs,
        },
        "verl": {
            "ppo_mini_batch_size": part // group,
            "ppo_micro_batch_size_per_gpu": size,
            "ppo_epochs": epochs,
        },
        "OpenRLHF": {
            "train.batch_size": part,
            "train.micro_batch_size": size,
            "train.max_epochs": epochs,
        },
    }


def piece(cells):
    """Width of the first of the cells that fill a bar 一段的宽."""
    return 12 * 0.92 / (cells - 0.08)


def listing(lines):
    """A box with lines of code 代码."""
    return h(
        "div", *(h("p", text) for text in lines), cls="ex-listing", style="min-height:0"
    )


def draw(L, part, cards, size, epochs):
    updates, passes, _ = plan(part, cards, size, epochs)
    update = "updates" if updates > 1 else "update"
    plot = Plot(x=(0, 12), y=(0, 7.2), axes=False, height=236)
    plot.area(0, 12, 5.3, 6.3, "solid whole", cells=updates)
    plot.area(0, piece(updates), 5.05, 5.2, "sel")  # the part that the next bar cuts
    plot.text(
        0,
        6.8,
        L(
            f"一次迭代 {ALL} 条，用 {epochs} 遍：{updates} 个更新步",
            f"an iteration, {ALL} responses, {epochs}×: {updates} {update}",
        ),
        "strong",
        align="left",
    )
    plot.area(0, 12, 2.8, 3.8, "dense whole", cells=cards)
    plot.area(0, piece(cards), 2.55, 2.7, "sel")
    plot.text(
        0,
        4.3,
        L(
            f"一个更新步 {part} 条：{cards} 张卡，各 {part // cards} 条",
            f"an update, {part}: {cards} GPUs with {part // cards} each",
        ),
        "strong",
        align="left",
    )
    plot.area(0, 12, 0.3, 1.3, "soft whole", cells=passes)
    plot.text(
        0,
        1.8,
        L(
            f"一张卡 {part // cards} 条：{passes} 个微批，各 {size} 条",
            f"a GPU, {part // cards}: {passes} micro-batches of {size}",
        ),
        "strong",
        align="left",
    )
    named = settings(PROMPTS, GROUP, part, cards, size, epochs)
    libraries = [
        stack(
            h("p", h("b", name), cls="ex-caption"),
            listing(f"{k} = {v}" for k, v in options.items()),
        )
        for name, options in named.items()
    ]
    cut = L("下一条横条切的是这一段", "the piece that the next bar cuts")
    return scene(
        plot,
        legend(("sel", cut)),
        caption(L("三个库里的写法", "in the words of three libraries")),
        side(*libraries, shares=(1, 1, 1)),
        tiles=[
            tile(L("更新步", "updates"), str(updates), L("每次迭代", "per iteration")),
            tile(
                L("比率全是 1 的", "with ratio 1"),
                f"1 / {updates}",
                L("只有第一步", "the first only"),
            ),
            tile(
                L("分母里的回答", "in the divisor"),
                str(part),
                L("所有卡合计", "of all GPUs"),
            ),
            tile(
                L("每卡前向", "passes a GPU"),
                number(updates * passes, 0),
                L("每次迭代", "per iteration"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("part", PARTS, 2048, ("一个更新步几条", "per update"), "B", fine=False),
        Dial("cards", CARDS, 8, ("几张卡", "GPUs"), "W", fine=False),
        Dial("size", SIZES, 8, ("一个微批几条", "per pass"), "b", fine=False),
        Dial("epochs", EPOCHS, 1, ("用几遍", "epochs"), "E", fine=False),
    ],
    title=(
        "一批回答切三次：更新步、显卡、微批，只有第一种切法改变算法",
        "Of the three cuts of a batch only the first changes the result",
    ),
    alt=(
        "三条横条。第一条是一次迭代的更新步，第二条是一个更新步分到几张卡，第三条是一张卡上"
        "的微批；下面是三个库里对应的选项。",
        "Three bars: the updates of an iteration, the GPUs of an update, the "
        "micro-batches of a GPU; below them the options of three libraries.",
    ),
    presets=[
        Preset(("四个更新步", "four updates"), part=2048, epochs=1),
        Preset(("完全同策略", "on-policy"), part=8192, epochs=1),
        Preset(("十六个更新步", "sixteen updates"), part=512, epochs=1),
        Preset(("用两遍", "two epochs"), part=2048, epochs=2),
    ],
    wide=True,
    note=(
        "512 个提示，每个 16 条回答。三个库算 B 的单位不同：verl 数提示，"
        "OpenRLHF 数回答，TRL 用单卡条数乘卡数乘累积步数。",
        "512 prompts with 16 responses each. Units differ: verl counts prompts, "
        "OpenRLHF responses, TRL multiplies rows per GPU, GPUs and accumulation "
        "steps.",
    ),
)
