"""Asynchrony (异步) as a timeline: samplers, trainer, and the age of data."""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    legend,
    number,
    scene,
    stack,
    tile,
)

LANES = 4  # responses that are written at a time
BATCH = 4  # responses of an update
UPDATE = 2  # units of time that it takes
END = 36  # of the picture
SHORT = (2, 3, 2)  # units of time that three of four responses take
LONGS = (3, 6, 12)  # and the fourth
NONE = 9  # no limit: more versions than fit into the picture
LIMITS = (0, 1, 2, NONE)
DEEP = 9  # waiting responses that fill the height of the queue
MOST = (16, 14)  # bars of a lane, updates: room in the drawing
TONES = ("faint", "soft", "dense", "solid")  # of staleness 0, 1, 2, 3, the largest
WIDE = 3  # units of time; a shorter bar has no room for a number on a phone


class Response(NamedTuple):
    """A response 一条回答 on the timeline; `used` is None if no update took it."""

    lane: int
    start: int
    end: int
    version: int  # of the weights that began it
    used: int | None  # the update that took it
    ages: tuple[int, ...]  # versions that the trainer was ahead, per unit of writing


@cache
def timeline(limit, longest, swap):
    """Write and train for END units of time 时间线, one unit after another.

    With a limit, responses are begun only if the update that will use them is at most
    so many versions ahead, and updates take them in the order of their beginning.
    Without one, updates take responses in the order of their end.

    Args:
        limit: most versions that a response may be old when it is used.
        longest: time of every fourth response.
        swap: new weights reach a response that is half written.

    Returns:
        responses, updates as pairs of start and end, and for each unit of time how
        many finished responses wait in the queue.
    """
    slots, begun, finished, queue = [None] * LANES, [], [], []
    updates, taken, busy = [], {}, 0
    for now in range(END):
        if updates and updates[-1][1] == now:
            busy = 0
        for lane, k in enumerate(slots):
            if k is not None and begun[k][2] == now:
                finished.append(k)
                slots[lane] = None
        if not busy:
            ready = finished
            if limit != NONE:  # in the order of their beginning, none is left out
                first = BATCH * len(updates)
                ready = [k for k in range(first, first + BATCH) if k in finished]
            if len(ready) >= BATCH:
                for k in ready[:BATCH]:
                    taken[k] = len(updates)
                finished = [k for k in finished if k not in taken]
                updates.append((now, now + UPDATE))
                busy = 1
        queue.append(len(finished))
        version = sum(end <= now for _, end in updates)
        for lane in range(LANES):
            if slots[lane] is None and len(begun) // BATCH <= version + limit:
                k = len(begun)
                spell = longest if k % 4 == 3 else SHORT[k % 4]
                slots[lane] = k
                begun.append((lane, now, now + spell, version))
    responses = []
    for k, (lane, start, end, version) in enumerate(begun):
        wrote = range(start, end)
        seen = [sum(e <= t for _, e in updates) if swap else version for t in wrote]
        ages = tuple(taken[k] - v for v in seen) if k in taken else ()
        responses.append(Response(lane, start, end, version, taken.get(k), ages))
    return responses, updates, queue


def summary(limit, longest, swap):
    """Shares of time that samplers and trainer work, mean and largest age."""
    responses, updates, _ = timeline(limit, longest, swap)
    wrote = sum(min(r.end, END) - r.start for r in responses)
    trained = sum(min(end, END) - start for start, end in updates)
    ages = [age for r in responses for age in r.ages]
    return (
        wrote / (LANES * END),
        trained / END,
        sum(ages) / len(ages),
        max(ages),
    )


def clear(start, end, cuts):
    """The widest part of a bar between lines that cross it 空档: its two ends."""
    edges = [start, *(cut for cut in cuts if start < cut < end), end]
    return max(pairwise(edges), key=lambda part: part[1] - part[0])


def draw(L, limit, longest, swap):
    responses, updates, queue = timeline(limit, longest, swap)
    lanes = {LANES - 0.5 - k: L("采样", "sampler") + f" {k + 1}" for k in range(LANES)}
    plot = Plot(
        x=(0, END),
        y=(-2, LANES),
        x_name=L("时间（单位）", "time, in units"),
        y_name=L("谁在干什么", "who does what"),
        x_ticks=[0, 12, 24, 36],
        y_ticks=lanes | {-0.45: L("队列", "queue"), -1.45: L("训练", "trainer")},
        height=196,
    )
    swaps = [end for _, end in updates if swap and end < END]
    for lane in range(LANES):
        mine = [r for r in responses if r.lane == lane and r.start < END]
        for place in range(MOST[0]):
            there = place < len(mine)
            r = mine[place] if there else Response(lane, 0, 1, 0, None, ())
            y = LANES - 1 - lane
            right, age = min(r.end, END), max(r.ages, default=0)
            look = "unused" if r.used is None else TONES[age]
            plot.area(r.start, right - 0.12, y + 0.1, y + 0.9, look, show=there)
            look = "strong" + " bright" * (age > 1)
            left, right = clear(r.start, right, swaps)
            look += " wide-only" * (right - left < WIDE)
            shown = there and age > 0
            words = str(age) if shown else ""
            plot.text((left + right) / 2, y + 0.5, words, look, show=shown)
    steps = [(now + end, n) for now, n in enumerate(queue) for end in (0, 1)]
    deep = [(now, -0.85 + 0.8 * (n / DEEP) ** 0.5) for now, n in steps]
    plot.fill([(0, -0.85), *deep, (END, -0.85)], "ink")
    plot.line(deep, "ink thin")
    plot.rule(y=-0.85)
    for k in range(MOST[1]):
        there = k < len(updates)
        start, end = updates[k] if there else (0, 1)
        plot.area(start, min(end, END) - 0.06, -1.85, -1.05, "alt edged", show=there)
        points = [(min(end, END), -1.05), (min(end, END), LANES)]
        plot.line(points, "dashed alt", show=end in swaps)
    shown = [r for r in responses if r.start < END]
    ages = {max(r.ages, default=0) for r in shown if r.used is not None}
    busy, trained, mean, oldest = summary(limit, longest, swap)
    working = L("的时间在忙", "busy")
    return scene(
        stack(
            plot,
            legend(
                (TONES[0], L("用到时陈旧度 0", "staleness 0")),
                *((TONES[age], str(age), age in ages) for age in (1, 2, 3)),
                ("unused", L("还没有用到", "not used yet")),
                ("alt", L("一次更新", "an update")),
                ("alt dashed line", L("中途换权重", "new weights"), bool(swaps)),
            ),
        ),
        tiles=[
            tile(L("采样器", "samplers"), f"{busy:.0%}", working),
            tile(L("训练引擎", "trainer"), f"{trained:.0%}", working),
            tile(L("更新", "updates"), str(len(updates)), L("次", "in all")),
            tile(
                L("词元平均陈旧度", "staleness per token"),
                number(mean),
                L("最大 ", "max ") + str(oldest),
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "limit",
            LIMITS,
            NONE,
            ("陈旧度的上限", "limit on staleness"),
            kind="choice",
            options=[
                ("0，轮流", "0, in turns"),
                ("1", "1"),
                ("2", "2"),
                ("不限", "none"),
            ],
        ),
        Dial(
            "longest",
            LONGS,
            12,
            ("最长的回答写多久", "longest response"),
            fine=False,
        ),
        Dial(
            "swap",
            [0, 1],
            0,
            ("写到一半也换权重", "new weights mid-response"),
            kind="toggle",
        ),
    ],
    title=(
        "不等，数据就会变旧；等，机器就会闲着",
        "If nobody waits, data grow old; if somebody waits, machines stand idle",
    ),
    alt=(
        "一条时间线。上面四行是同时写的回答，长短不一，用到它时越陈旧，颜色越深；"
        "下面是队列里等着的条数和训练引擎的更新。",
        "A timeline. Four rows of responses being written, some long, the darker the "
        "staler they are when used; below them the queue and the updates.",
    ),
    presets=[
        Preset(("谁也不等", "nobody waits"), limit=NONE, longest=12, swap=0),
        Preset(("轮流工作", "taking turns"), limit=0, longest=12, swap=0),
        Preset(("上限是 1", "limit 1"), limit=1, longest=12, swap=0),
        Preset(
            ("写到一半也换权重", "new weights mid-response"),
            limit=NONE,
            longest=12,
            swap=1,
        ),
    ],
    wide=True,
    note=(
        "有上限时，更新按开始的先后取回答；不限时，先写完的先用。灰栏越高，排队的越多。",
        "With a limit, updates take responses in the order in which they began; "
        "without one, what is finished first. "
        "The higher the grey band, the more are waiting.",
    ),
)
