"""A cluster (集群) as a loop: who computes what of a response, and hands it over."""

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    chip,
    legend,
    number,
    row,
    scene,
    tile,
)
from tokencredit.world.tasks import task
from tokencredit.world.text import decode, encode

PROMPT, RESPONSE = "2□3□4=3?", "2-3+4=1✗2+3-4=1✗2+3+4=9✗2-3-4=3✓$"
FIRST = 8  # tokens that are drawn, before the last one
WORST = 6  # the token whose two probabilities are far apart
MU = (0.99995, 0.39832, 0.99999, 0.65281, 0.99971, 1.0, 0.92641, 0.98871, 1.0)
PI = (0.99992, 0.36358, 0.99996, 0.65249, 0.99940, 1.0, 0.00004, 0.95948, 0.99998)
"""Of the tokens drawn, the probability by either engine, as chapter 15 finds them."""

VERSION = 7  # of the weights that wrote the response
RESPONSES, TOKENS = 8192, 1000  # of an iteration, and of a response on average
NUMBER, HALF = 4, 2  # bytes of an id, a log-prob or a reward; of a weight in bf16
WEIGHTS = 7e9
WRITE, JUDGE, WAIT, TRAIN, SYNC = range(5)
SIGNS = task("signs")


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


def path(L, place):
    """The machines as a loop; the place that is looked at is amber."""
    plot = Plot(x=(0, 12), y=(0, 3), axes=False, height=70)
    names = (
        L("推理引擎", "inference"),
        L("判分", "verifier"),
        L("队列", "queue"),
        L("训练引擎", "training"),
    )
    for k, name in enumerate(names):
        plot.area(3.2 * k, 3.2 * k + 2.4, 1.1, 2.9, "old pale")
        plot.area(3.2 * k, 3.2 * k + 2.4, 1.1, 1.3, "sel", show=place == k)
        plot.text(3.2 * k + 1.2, 2.05, name)
        if k:
            plot.arrow(3.2 * k - 0.7, 2, 3.2 * k - 0.35, 2, "ink")
    back = "sel" if place == SYNC else "ink"
    plot.line([(10.8, 1.1), (10.8, 0.4), (1.2, 0.4), (1.2, 0.7)], back)
    plot.arrow(1.2, 0.6, 1.2, 0.9, back)
    plot.text(6, 0.4, L("参数同步", "weight sync"), "boxed")
    return plot


def gapped(cells, gap):
    """Cells of the first tokens and of the last, with one between for the rest."""
    return [*cells[:FIRST], gap, *cells[FIRST:]]


def written(p):
    """A probability as a cell has room for it."""
    if p < 0.005:
        return f"{p:.0e}".replace("e-0", "e−")
    return number(p).replace("0.", ".", p < 0.995)


def chances(probs, known, hot, far):
    """A cell per probability: amber if it is handed over now, grey before it is known.

    The one that the other engine contradicts has a ring, if `far`.
    """
    gap = chip("", trained=False, look="plain")
    cells = [
        chip(
            written(p) if known else "·",
            push=p if known else 0,
            trained=far and k == WORST,
            look="plain" * known + " sel" * hot,
        )
        for k, p in enumerate(probs)
    ]
    return gapped(cells, gap)


def draw(L, place):
    ids = encode(RESPONSE, SIGNS.vocabulary)
    same = encode(decode(ids, SIGNS.vocabulary), SIGNS.vocabulary)
    equal = sum(a == b for a, b in zip(ids, same, strict=True))
    reward = SIGNS.reward(PROMPT, RESPONSE)
    writer, trainer = L("推理引擎", "inference"), L("训练引擎", "training")
    written, both = place in (WRITE, WAIT), place >= TRAIN
    tokens = [
        chip(word, caption=str(i), look="sel" * written)
        for word, i in zip(RESPONSE, ids, strict=True)
    ]
    tokens = gapped(tokens[:FIRST] + tokens[-1:], chip("…", trained=False, caption=""))
    judged = [
        chip(
            word if place > WRITE else "·",
            trained=False,
            look="plain" * (place > WRITE) + " sel" * (place in (JUDGE, WAIT)),
        )
        for word in ["0"] * FIRST + [number(reward, 0)]
    ]
    lines = (
        (L("词元和编号", "tokens and ids"), writer, tokens, ""),
        (L("概率 μ", "probability μ"), writer, chances(MU, True, written, both), "up"),
        (L("概率 π", "probability π"), trainer, chances(PI, both, False, both), "up"),
        (
            L("奖励", "rewards"),
            L("判分程序", "verifier"),
            gapped(judged, chip("", trained=False, look="plain")),
            "",
        ),
    )
    says = (
        L(
            "写下回答，交出词元的编号，还有写的时候各自的概率 μ，取对数。",
            "It writes, and hands over ids and the log of each probability μ.",
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
            "重算每个词元的概率 π：那个 1，μ 是 0.93，π 只有 0.00004。",
            "It computes each probability anew: of the 1, μ is 0.93 and π 0.00004.",
        ),
        L(
            "新参数要送到每一台推理引擎。送漏一层，写回答的就是另一个模型。",
            "New weights go to every engine. Miss a layer, and another model writes.",
        ),
    )[place]
    what = (
        L("交出：编号，log μ", "hands over: ids, log μ"),
        L("交出：奖励", "hands over: rewards"),
        L("交出：整批", "hands over: all of it"),
        L("交出：新参数", "hands over: weights"),
        L("交出：新参数", "hands over: weights"),
    )[place]
    one = L("其中一条回答", "of it, one response")
    if place in (TRAIN, SYNC):
        one = L("其中一个参数", "of it, one weight")
    keys = legend(
        ("sel line", L("这里交出的", "handed over here"), not both),
        ("ring", L("差得最远的", "furthest apart"), both),
        ("wash", L("这时还没有算", "not computed yet"), not both),
    )
    count = WEIGHTS if place in (TRAIN, SYNC) else RESPONSES
    check = (
        (
            L("要查：温度", "to check: temperature"),
            "1",
            L("训练时也是", "and in training"),
        ),
        (
            L("要查：编号", "to check: ids"),
            f"{equal}/{len(ids)}",
            L("没有变", "unchanged"),
        ),
        (
            L("要查：陈旧度", "to check: staleness"),
            "0",
            L(f"第 {VERSION} 版还是最新", f"{VERSION} is the newest"),
        ),
        (
            L("要查：π = μ？", "to check: π = μ?"),
            f"{PI[WORST]:.5f}",
            L(f"μ 说 {MU[WORST]:.2f}", f"μ says {MU[WORST]:.2f}"),
        ),
        (
            L("要查：版本", "to check: version"),
            f"{VERSION + 1}",
            L("每台引擎", "on every engine"),
        ),
    )[place]
    return scene(
        path(L, place),
        *(
            row(label, drawn, end_sub=who, look=look or "heads")
            for label, who, drawn, look in lines
        ),
        keys,
        tiles=[
            tile(what, size(moved(place)), L("每次迭代", "per iteration")),
            tile(one, size(moved(place) / count)),
            tile(*check),
        ],
        says=says,
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "place",
            [WRITE, JUDGE, WAIT, TRAIN, SYNC],
            TRAIN,
            ("看哪一处", "look at"),
            kind="hidden",
        )
    ],
    title=(
        "参数相同，同一个词元却有两种概率：每一处交接都要核对",
        "The same weights, two probabilities for one token: check every handover",
    ),
    alt=(
        "上面是一个循环：推理引擎写回答，判分程序打分，队列保存，训练引擎更新，新参数再送回"
        "推理引擎。下面是一条回答的开头和结尾，一列一个词元，有编号、两个引擎的概率和奖励；"
        "两种概率差得最远的词元有框。选中的一处和它交出的数下面有琥珀色的横线。",
        "Above, a loop: an inference engine writes, a verifier scores, a queue waits, "
        "a training engine updates, and the new weights go back. Below, the beginning "
        "and end of a response with a column per token: ids, the probabilities of both "
        "engines, framed where they are furthest apart, and rewards. The chosen place "
        "and what it hands over are underlined in amber.",
    ),
    presets=[
        Preset(("训练", "training"), place=TRAIN),
        Preset(("参数同步", "weight sync"), place=SYNC),
        Preset(("采样", "sampling"), place=WRITE),
        Preset(("打分", "scoring"), place=JUDGE),
        Preset(("排队", "queue"), place=WAIT),
    ],
    wide=True,
    note=(
        "字节按 8192 条回答、平均 1000 个词元、70 亿个 bf16 参数计算；编号、对数概率和"
        "奖励各 4 字节。图中的推理引擎只留 1 位尾数；回答很长，只画开头和结尾。",
        "Bytes for 8192 responses of 1000 tokens on average and 7 billion weights in "
        "bf16; ids, log-probs and rewards take 4 bytes each. The inference "
        "engine of the response keeps a single bit of mantissa; the middle of the "
        "response is left out.",
    ),
)
