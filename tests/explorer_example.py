"""A figure with every part and every kind of dial, for the tests of the engine."""

import math

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    bars,
    caption,
    card,
    chip,
    dots,
    grid,
    legend,
    line,
    number,
    option,
    row,
    scene,
    shade,
    side,
    stack,
    strip,
    tile,
)

PHASES = [0, 0.1, 0.25, 0.6, 1]
SIZES = [-1, 0.25, 0.5, 1]


def draw(L, phase, size, way, on, step, pick):
    wave = [
        (x / 20, size * math.sin(2 * math.pi * (x / 20 + phase))) for x in range(21)
    ]
    plot = Plot(
        x=(0, 1),
        y=(-1.2, 1.2),
        x_name=L("位置", "place"),
        y_name=L("波", "wave"),
        x_ticks=[0, 0.5, 1],
        y_ticks={-1: "−1", 1: "1"},
        height=160,
    )
    plot.area(0, phase, -1.2, 1.2, "off", show=phase > 0.5)
    plot.area(0, 1, 0, size, "up pale" if size > 0 else "down pale", cells=4)
    plot.fill([*wave, (1, 0), (0, 0)], "old")
    plot.line(wave, "up" if way > 0 else "down", show=bool(on))
    plot.rule(y=0)
    plot.rule(x=phase, look="dotted")
    plot.arrow(phase, 0, phase, size, "ink")
    plot.arrow(0, 0, phase, 0, "alt thin", show=phase > 0)
    plot.text(0.5, 1, f"{number(wave[0][1], sign=True)} <&>", "strong boxed")
    plot.dot(*wave[step], "sel")
    plot.drag(x=("phase", PHASES))
    plot.grip((phase, size), x=("phase", PHASES), y=("size", SIZES))
    log = Plot(
        x=(1, 100),
        y=(0.001, 1),
        x_name=L("次数", "count"),
        y_name=L("概率", "chance"),
        y_ticks={0.001: "0.1%", 1: "100%"},
        log="xy",
    )
    log.line([(1, 1), (10, 0.001 + abs(size) / 2), (100, 0.001)])
    words = ["one", "two", "three"]
    chips = [
        chip(w, credit=shade(size * way * k, 2), push=size * k / 2, dead=k == step)
        for k, w in enumerate(words)
    ]
    cards = [
        card(
            L("翻", "flip"),
            flip="pick",
            pressed=bool(pick),
            mark="✓" if pick else "✗",
            look="up" if pick else "down",
        )
        for k in range(2)
    ]
    options = [
        option(
            f"rule {k}",
            bars((0.25 * k + 0.1, "ink"), (0.9 - 0.25 * k, "old")),
            f"{25 * k}%",
            sub=L("规则", "a rule"),
            pick=("pick", k),
            pressed=k == pick,
        )
        for k in range(3)
    ]
    return scene(
        side(plot, stack(log, caption(L("说明", "a caption"))), shares=(1.5, 1)),
        row(L("一行", "a row"), chips, f"{step}/3", sub=L("小字", "small"), look="up"),
        strip(*[chip(w, who="prompt", trained=False, caption="p") for w in words]),
        line(legend(("up dot", L("对", "right")), ("off", L("无", "none"))), cards[0]),
        grid(cards[1], dots(step % 4, 4), dots(2, 4, look="off"), columns=3),
        stack(*options),
        tiles=[
            tile(L("第一", "first"), number(wave[0][1]), ""),
            tile(L("大小", "size"), number(size, 1), L("幅度", "height"), look="up"),
            tile("way", number(way, 0, sign=True), ""),
        ],
        says=L(f"步 {step}", f"step {step}, and a switch that is {on}"),
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("phase", PHASES, 0.1, ("相位", "phase"), "φ"),
        Dial("size", SIZES, 0.5, ("振幅", "size"), "s", ".2f", fine=False),
        Dial(
            "way",
            [1, -1],
            1,
            ("方向", "way"),
            kind="choice",
            options=[("上", "up"), ("下", "down")],
        ),
        Dial("on", [0, 1], 1, ("画线", "draw the line"), kind="toggle"),
        Dial("step", range(3), 0, ("步", "step"), kind="time"),
        Dial("pick", range(3), 0, ("规则", "rule"), kind="hidden"),
    ],
    title=("一个波有相位和振幅", "A wave has a phase and a size"),
    alt=("一条波，三个词元。", "A wave, and three tokens."),
    presets=[
        Preset(("起点", "the start"), phase=0.1, size=0.5, way=1, on=1, step=0, pick=0),
        Preset(("倒过来", "upside down"), size=-1, way=-1),
    ],
    note=("小字。", "Small print."),
    wide=True,
)
