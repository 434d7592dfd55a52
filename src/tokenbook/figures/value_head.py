"""The value head (价值头) on a language model: one more output at every position."""

from tokenbook.explorer import Dial, Figure, Plot, Preset, legend, number, scene, tile
from tokenbook.lab.token_values import (
    CRITIC,
    MONTE_CARLO,
    PROMPT,
    RESPONSES,
    stored,
)

PLACES = (1, 3, 4)  # of RESPONSES: three of ten tokens each
COUNTS = (0, 2560, 25600)
BARS, HEIGHT = 3.1, 1.5  # baseline of the bars of V, and the height of V = 1


def draw(L, answer, trained):
    response, seen = RESPONSES[PLACES[answer]], COUNTS[trained]
    said = stored(CRITIC, seen, PLACES[answer])
    true = stored(MONTE_CARLO, (0, 0), PLACES[answer])
    size = len(response)
    plot = Plot(x=(-2.1, size - 0.45), y=(-0.5, 5.1), axes=False, height=330)
    plot.area(-0.45, size - 0.55, 0.95, 1.65, "old pale")
    trunk = L("语言模型的主干：每列一个向量", "trunk: a vector per column")
    plot.text((size - 1) / 2, 1.3, trunk, "strong")
    names = {
        0.1: L("读到", "reads"),
        2.3: L("语言头\n写出", "writes"),
        3.8: L("价值头\n预测", "value\nhead"),
    }
    for y, words in names.items():
        plot.text(-2.05, y, words, "quiet", align="left")
    plot.line([(-0.5, BARS), (size - 0.5, BARS)], "old thin")
    plot.line([(-0.5, BARS + HEIGHT), (size - 0.5, BARS + HEIGHT)], "old thin dashed")
    plot.text(-0.6, BARS, "0", "quiet", align="right")
    plot.text(-0.6, BARS + HEIGHT, "1", "quiet", align="right")
    for k, word in enumerate(response):
        plot.text(k, 0.1, "…?" if k == 0 else response[k - 1], "strong boxed")
        plot.arrow(k, 0.5, k, 0.8, "old thin")
        plot.text(k, 2.3, word, "strong boxed")
        plot.arrow(k, 1.7, k, 1.9, "old thin")
        top = BARS + HEIGHT * max(said[k], 0.0)
        plot.area(k - 0.33, k + 0.33, BARS, top, "ink")
        plot.text(k, BARS - 0.27, number(said[k]).replace("0.", "."), "strong")
        plot.dot(k, BARS + HEIGHT * true[k], "old")
    gaps = [abs(a - b) for a, b in zip(said, true, strict=True)]
    worst = gaps.index(max(gaps))
    return scene(
        plot,
        legend(
            ("ink", L("价值网络的预测", "forecast of the critic")),
            ("old dot", L("真值（蒙特卡洛）", "true value (Monte Carlo)")),
        ),
        tiles=[
            tile(
                L("训练用过的回答", "responses so far"),
                f"{seen:,}".replace(",", " "),
                L("由热启动写出", "by the warm start"),
            ),
            tile(
                L("平均差多少", "mean distance"),
                number(sum(gaps) / size),
                L("预测与真值", "from the true value"),
            ),
            tile(
                L("差得最多处", "largest distance"),
                number(gaps[worst]),
                L(f"写 {response[worst]} 之前", f"before “{response[worst]}”")
                if worst
                else L("写第一个词元之前", "before the first token"),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "answer",
            range(3),
            0,
            ("得数与判断", "result, mark"),
            kind="choice",
            options=[("11✓", "11✓"), ("13✓", "13✓"), ("11✗", "11✗")],
        ),
        Dial(
            "trained",
            range(3),
            2,
            ("训练用的回答", "trained on"),
            kind="choice",
            options=[("0", "0"), ("2560", "2560"), ("25 600", "25 600")],
        ),
    ],
    title=(
        "每个位置有两个输出：下一个词元，和写它之前的预测",
        "Two outputs at each position: the next token, and a forecast made before it",
    ),
    alt=(
        "每列从下往上：读到的词元、主干、语言头写出的下一个词元、价值头的预测柱和真值点。",
        "In every column, from the bottom: the token read, the trunk, the next token "
        "from the language head, the forecast of the value head and the true value.",
    ),
    presets=[
        Preset(("训练过", "trained"), answer=0, trained=2),
        Preset(("刚接上", "just attached"), answer=0, trained=0),
        Preset(("得数写错一位", "a wrong digit"), answer=1, trained=2),
        Preset(("算对却打 ✗", "correct, marked ✗"), answer=2, trained=2),
    ],
    note=(
        f"提示是 {PROMPT}，策略是 0 号热启动。",
        f"Prompt {PROMPT}, policy warm start 0.",
    ),
)
