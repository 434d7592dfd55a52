"""A live figure with every kind of artist, for the tests of the engine."""

import math

import numpy as np

from tokencredit.figures import COLORS, Dial, Explorer, canvas

X = np.linspace(0, 1, 21)


def figure():
    fig, (left, right) = canvas(1, 2)
    left.set(xlim=(0, 1), ylim=(-1.2, 1.2), xlabel="$x$", ylabel="wave $y$")
    (curve,) = left.plot(X, 0 * X)
    (point,) = left.plot([0], [0], "o", color=COLORS["vermilion"])
    (trace,) = left.plot(X[::4], 0 * X[::4], ".", color=COLORS["grey"])
    note = left.text(0.5, 1.1, "0", ha="center")
    right.set(xlim=(-0.5, 4.5), ylim=(-1.2, 1.2), xlabel="k")
    bars = right.bar(range(5), [0] * 5, color=COLORS["blue"])
    zone = right.axhspan(0, 1, color=COLORS["orange"], alpha=0.2, lw=0)
    area = right.fill_between([0, 1, 2], [0, 0, 0], [0, 1, 0], color=COLORS["green"])
    dots = right.scatter([0, 1, 2], [0, 0, 0], c=COLORS["purple"], s=[9, 16, 25])

    def update(phase=0.0, size=0.5):
        y = size * np.sin(2 * math.pi * (X + phase))
        curve.set_ydata(y)
        trace.set_ydata(y[::4])
        point.set_data([phase], [y[0]])
        point.set_visible(size > 0)
        note.set_text(f"{y[0]:+.2f}" if size else "")
        for k, bar in enumerate(bars):
            bar.set_height(size * math.cos(k + phase))
            bar.set_facecolor(COLORS["blue" if bar.get_height() > 0 else "vermilion"])
        zone.set_bounds(-0.5, 0, 5, size)
        area.set_data([0, 1, 2], [0, 0, 0], [0, size, phase])
        dots.set_offsets(np.column_stack([[0, 1, 2], [-phase, -size, 0]]))
        return {"first": y[0], "power": float(np.square(y).mean())}

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "phase",
            [round(0.05 * i, 2) for i in range(21)],
            start=0.1,
            symbol="φ",
            name={"zh": "相位", "en": "phase"},
        ),
        Dial(
            "size",
            [0, 0.1, 0.25, 0.5, 1],
            start=0.5,
            symbol="s",
            name={"zh": "振幅", "en": "size"},
        ),
    ],
    title={"zh": "一个波", "en": "A wave"},
    readout={
        "zh": "起点 {first:.2f},功率 {power:.3f}",
        "en": "first {first:.2f}, power {power:.3f}",
    },
    alt={"zh": "左边一条波,右边五根柱。", "en": "A wave, and five bars."},
)
