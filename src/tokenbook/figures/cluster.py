"""A cluster (集群) as a loop: who computes what of a response, and hands it over."""

from functools import cache

import torch

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
from tokenbook.lab.experiments.engine_gap import engine
from tokencredit.world.starts import warm_start
from tokencredit.world.tasks import task
from tokencredit.world.text import decode, encode

PROMPT, RESPONSE = "9□5□7=11?", "9-5+7=11✓$"
BITS = 3  # of mantissa that the inference engine keeps of a weight
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


@cache
def measured():
    """What both engines know of the response (两个引擎的对数概率).

    Returns:
        its ids, log mu of each token by the inference engine, log pi by the training
        engine, which has the same weights in full.
    """
    ids, asked = (encode(text, SIGNS.vocabulary) for text in (RESPONSE, PROMPT))
    policy = warm_start("signs", 0)
    found = []
    for each in (engine(policy, BITS), policy):
        with torch.no_grad():
            logits = each(torch.tensor([asked + ids]))[0][0, len(asked) - 1 : -1]
        chosen = logits.log_softmax(1).gather(1, torch.tensor(ids)[:, None])
        found.append(chosen[:, 0].tolist())
    return ids, *found


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


def short(x):
    """A number without its leading zero, for a cell of a phone."""
    return number(x).replace("0.", ".", abs(x) < 1)


def cells(words, known, hot, push=None):
    """A cell per number: amber if it is handed over now, grey before it is computed."""
    look = "plain" * known + " sel" * hot
    return [
        chip(word if known else "·", push=p if known else 0, trained=False, look=look)
        for word, p in zip(words, push or [0] * len(words), strict=True)
    ]


def draw(L, place):
    ids, mu, pi = measured()
    gap = max(abs(p - m) for p, m in zip(pi, mu, strict=True))
    same = encode(decode(ids, SIGNS.vocabulary), SIGNS.vocabulary)
    equal = sum(a == b for a, b in zip(ids, same, strict=True))
    reward = SIGNS.reward(PROMPT, RESPONSE)
    writer, trainer = L("推理引擎", "inference"), L("训练引擎", "training")
    written = place in (WRITE, WAIT)
    tokens = [
        chip(word, caption=str(i), look="sel" * written)
        for word, i in zip(RESPONSE, ids, strict=True)
    ]
    rest = len(ids) - 1
    lines = (
        (L("词元和编号", "tokens and ids"), writer, tokens, ""),
        (
            "log μ",
            writer,
            cells([short(x) for x in mu], True, written, mu),
            "down",
        ),
        (
            L("奖励", "rewards"),
            L("判分程序", "verifier"),
            cells(
                ["0"] * rest + [number(reward, 0)],
                place > WRITE,
                place in (JUDGE, WAIT),
            ),
            "",
        ),
        (
            "log π",
            trainer,
            cells([short(x) for x in pi], place > WAIT, place == TRAIN, pi),
            "down",
        ),
    )
    says = (
        L(
            "交出编号和对数概率。两个引擎算出的概率不完全一样，所以 μ 不等于 π。",
            "It hands over ids and log-probs. Engines compute differently: μ is not π.",
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
            "A batch is cut for updates, GPUs and passes; the divisor must not care.",
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
        ("sel line", L("这里交出的", "handed over here")),
        ("wash", L("这时还没有算", "not computed yet"), place < TRAIN),
    )
    count = WEIGHTS if place in (TRAIN, SYNC) else RESPONSES
    check = (
        (
            L("要查：π = μ？", "to check: π = μ?"),
            number(gap, 3),
            L("对数概率最多差", "largest difference"),
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
            L("要查：分母", "to check: divisor"),
            f"{RESPONSES * TOKENS / 1e6:.1f} M",
            L("全部词元", "tokens in all"),
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
            WRITE,
            ("看哪一处", "look at"),
            kind="hidden",
        )
    ],
    title=(
        "公式里的数由不同的程序算出来，每一处交接都要核对",
        "Different programs compute the numbers, and every handover has to be checked",
    ),
    alt=(
        "上面是一个循环：推理引擎写回答，判分程序打分，队列保存，训练引擎更新，新参数再送回"
        "推理引擎。下面是一条回答，一列一个词元，有编号、两个引擎的对数概率和奖励。"
        "选中的一处和它交出的数下面有琥珀色的横线。",
        "Above, a loop: an inference engine writes, a verifier scores, a queue waits, "
        "a training engine updates, and the new weights go back. Below, one response "
        "with a column per token: ids, log-probabilities of both engines, and "
        "rewards. The chosen place and what it hands over are underlined in amber.",
    ),
    presets=[
        Preset(("采样", "sampling"), place=WRITE),
        Preset(("打分", "scoring"), place=JUDGE),
        Preset(("排队", "queue"), place=WAIT),
        Preset(("训练", "training"), place=TRAIN),
        Preset(("参数同步", "weight sync"), place=SYNC),
    ],
    wide=True,
    note=(
        "字节按 8192 条回答、平均 1000 个词元、70 亿个 bf16 参数计算；编号、对数概率和"
        "奖励各 4 字节。图中的回答由热启动策略来算，推理引擎的参数只留 3 位尾数。",
        "Bytes for 8192 responses of 1000 tokens on average and 7 billion weights in "
        "bf16; ids, log-probs and rewards take 4 bytes each. The numbers of the "
        "response are those of the warm start; its inference engine keeps 3 bits of "
        "mantissa.",
    ),
)
