"""One group of episodes (一组轨迹) in each environment, step by step."""

import functools
import re

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    card,
    chip,
    grid,
    number,
    row,
    scene,
    shade,
    side,
    stack,
    tile,
)
from tokenbook.languages.glossary import terms
from tokencredit import group_relative
from tokencredit.world.games import make, reply

EXPERT = None  # the scripted expert answers every turn
EPISODES = {  # per environment the seed of its instance, per episode noise and answers
    "Bandit": (
        1,
        [
            (1, EXPERT),
            (0, ["unicorn", "phoenix"]),
            (0, ["dragon"]),
        ],
    ),
    "FrozenLake": (
        4,
        [
            (148, EXPERT),
            (2, ["right || right || right || down || down"] * 5),
            (5, ["down || down", "go home", "right", "down", "right || down"]),
        ],
    ),
    "Sokoban": (
        4,
        [
            (0, EXPERT),
            (0, ["up || down", "jump", "down || right || right", "up || left"]),
            (0, ["down || right || right", "left || left", "pull", "down", "right"]),
        ],
    ),
    "WebShop": (
        1,
        [
            (0, EXPERT),
            (0, ["search mug sturdy", "click 2", "click large || buy"]),
            (0, ["buy", "add to cart", "search lamp", "click 1 || buy"]),
        ],
    ),
}
MOVES = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}
SIGNS = dict(zip(MOVES, "←↓→↑", strict=True))
PLAYER = "PX!@+"
PIECES = {"P": "●", "X": "✗", "!": "✓", "@": "●", "+": "●", "$": "■", "*": "✓"}
PLAYS, TURNS, STEPS = 3, 5, 8  # episodes of a group; their longest
SIDE = 5.6  # of the board of FrozenLake and Sokoban
PAGES = ("search", "results", "item", "bought")  # of WebShop


@functools.cache
def episode(env, play):
    """Play one recorded episode (轨迹).

    Args:
        env: the environment's id.
        play: which episode of the group, from 1.

    Returns:
        the frames of `env.frames()`, each with the effect of its action ("said"), the
        running return ("total"), and at the end whether the episode "terminated", was
        "truncated" and was "won".
    """
    seed, plays = EPISODES[env]
    noise, answers = plays[play - 1]
    game = make(env)
    game.reset(seed=seed, noise=noise)
    answers = iter(answers or [])
    while not (game.terminated or game.truncated):
        game.step(next(answers, None) or reply(game.expert()))
    frames, total = game.frames(), 0.0
    for earlier, frame in zip(frames[:1] + frames, frames, strict=False):
        total += frame["reward"]
        did = frame["did"] or ""
        frame |= {"total": total, "valid": not did or game.knows(did), "said": did}
        frame |= {"terminated": False, "truncated": False, "won": False}
        if did in MOVES:
            came = went(earlier, frame)
            if came not in (did, None):
                frame["said"] = f"{did} → {came}"
        if did and frame["valid"] and earlier["picture"] == frame["picture"]:
            frame["said"] = f"{did} ×"
    frames[-1] |= {"terminated": game.terminated, "truncated": game.truncated}
    frames[-1]["won"] = game.won(game.state)
    return frames


def board(frame):
    """The picture of FrozenLake or Sokoban as rows of letters."""
    return [line.split() for line in frame["picture"].splitlines()]


def player(frame):
    """Row and column of the player."""
    return next(
        (r, c)
        for r, row in enumerate(board(frame))
        for c, letter in enumerate(row)
        if letter in PLAYER
    )


def went(earlier, frame):
    """The direction of the player's move, None if there was none."""
    (r, c), (row, column) = player(earlier), player(frame)
    return next((n for n, d in MOVES.items() if d == (row - r, column - c)), None)


@functools.cache
def credits(env):
    """Credit of the episodes (每局的功劳): their returns, standardised in the group."""
    totals = [episode(env, play + 1)[-1]["total"] for play in range(PLAYS)]
    one_group = torch.zeros(PLAYS, dtype=torch.long)
    return group_relative(torch.tensor(totals), one_group).tolist()


@functools.cache
def turn_credits(env):
    """Credit of each turn by its own reward (每轮的功劳), standardised in the group.

    Returns:
        a list per episode, a number per turn.
    """
    paid = []
    for play in range(PLAYS):
        frames = episode(env, play + 1)[1:]
        last = frames[-1]["turn"]
        paid.append(
            [
                sum(f["reward"] for f in frames if f["turn"] == turn)
                for turn in range(1, last + 1)
            ]
        )
    flat = torch.tensor([x for one in paid for x in one])
    found = iter(group_relative(flat, torch.zeros(len(flat)).long()).tolist())
    return [[next(found) for _ in one] for one in paid]


def cells(frame):
    """Row, column and letter of every cell."""
    rows = enumerate(board(frame))
    return [(r, c, letter) for r, row in rows for c, letter in enumerate(row)]


def reward(value):
    """A reward as the log writes it; nothing earned is a plain 0."""
    return number(value, sign=True) if abs(value) > 1e-9 else "0"


def draw_board(L, plot, frames, step, shown):
    """FrozenLake and Sokoban: cells that stay, player, box, trail, intended move."""
    if not shown:
        frames, step = episode("Sokoban", 1), 0
    found, frame = cells(frames[0]), frames[step]
    size = round(len(found) ** 0.5)
    wide = SIDE / size

    def at(r, c):
        return 0.1 + (c + 0.5) * wide, 5.8 - (r + 0.5) * wide

    looks = {"#": "old", "O": "down pale", "G": "up pale", ".": "up pale"}
    words = {"O": "O", "G": "G", ".": "○"}
    for k in range(25):
        r, c, letter = found[k] if k < len(found) else (0, 0, "_")
        x, y = at(r, c)
        plot.area(
            x - 0.48 * wide,
            x + 0.48 * wide,
            y - 0.48 * wide,
            y + 0.48 * wide,
            looks.get(letter, "old pale"),
            words.get(letter, ""),
            show=shown and k < len(found),
        )
    letters = {letter: (r, c) for r, c, letter in cells(frame)}
    box = next((letter for letter in "$*" if letter in letters), "")
    x, y = at(*letters.get(box, (0, 0)))
    near = 0.34 * wide
    look = "up" if box == "*" else "alt"
    plot.area(x - near, x + near, y - near, y + near, look, show=bool(shown and box))
    plot.text(x, y, PIECES.get(box, ""), "boxed", show=bool(shown and box))
    here = player(frame)
    x, y = at(*here)
    plot.area(x - near, x + near, y - near, y + near, "sel", show=shown)
    me = PIECES[next(s for s in PLAYER if s in letters)]
    plot.text(x, y, me, "boxed strong", show=shown)
    trail = [at(*player(frames[min(k, step)])) for k in range(STEPS + 1)]
    came = next((spot for spot in trail[::-1] if spot != (x, y)), (x, y))
    edge = tuple(
        now + near * ((was > now) - (was < now))
        for now, was in zip((x, y), came, strict=True)
    )
    first = len(trail) - 1
    while first and trail[first - 1] == (x, y):
        first -= 1
    trail[first:] = [edge] * len(trail[first:])  # it ends at the piece
    plot.line(trail, "ink thin dashed", show=shown)
    x, y = at(*player(frames[max(step - 1, 0)]))
    dr, dc = MOVES.get(frame["did"], (0, 1))
    look = "up" if frame["said"] == frame["did"] else "down"
    end = (x + 0.62 * dc * wide, y - 0.62 * dr * wide)
    plot.arrow(x, y, *end, look, show=shown and frame["did"] in MOVES)


KEYS = {  # meanings of the signs on a board
    "Bandit": [],
    "FrozenLake": [
        ("●  智能体", "●  the agent"),
        ("O  冰洞", "O  a hole"),
        ("G  终点", "G  the goal"),
        ("✗  落水，✓  到达", "✗  fell in, ✓  arrived"),
    ],
    "Sokoban": [
        ("●  智能体", "●  the agent"),
        ("■  箱子", "■  the box"),
        ("○  目标", "○  its target"),
        ("✓  箱子到位", "✓  the box on it"),
    ],
    "WebShop": [],
}


def draw_keys(L, plot, env):
    """The key beside the board: its signs, and the arrow."""
    keys = KEYS[env]
    for k in range(4):
        words = L(keys[k]) if keys else ""
        plot.text(6.15, 5.5 - 0.75 * k, words, align="left", show=bool(keys))
    for k, (words, look) in enumerate(
        [
            (L("箭头：想走的方向", "arrow: intended"), ""),
            (L("蓝：照走了", "blue: made"), "up"),
            (L("橙：滑了或没动", "orange: not made"), "down"),
        ]
    ):
        plot.text(6.15, 2.0 - 0.75 * k, words, look, align="left", show=bool(keys))


def draw_arms(L, plot, frame, shown):
    """Bandit: two arms, their possible payoffs, and the actual one."""
    said = frame["picture"].split() if shown else ["phoenix", "dragon"]
    names = [word.strip("[]") for word in said[:2]]
    chances = {
        "phoenix": L("总是 0.15", "always 0.15"),
        "dragon": L("1，概率 25%", "1, in 25% of cases"),
    }
    for x, name in zip((0.3, 5.2), names, strict=True):
        chosen = f"[{name}]" in said
        plot.area(x, x + 4.5, 0.5, 5.5, "old pale", show=shown)
        plot.area(x, x + 4.5, 0.5, 0.75, "sel", show=shown and chosen)
        plot.text(x + 2.25, 4.8, name, "strong", show=shown)
        paid = said[-1] if chosen else "?"
        plot.text(x + 2.25, 3.1, f"  {paid}  ", "boxed strong", show=shown)
        plot.text(x + 2.25, 1.5, chances[name], show=shown)


def draw_shop(L, plot, frame, shown):
    """WebShop: the page as a browser shows it."""
    picture = frame["picture"] if shown else "want\n--- search ---"
    wish, page, *lines = picture.splitlines()
    at = PAGES.index(page.strip("- "))
    wish = wish.partition(" budget ")
    for y, words in ((5.6, wish[0]), (5.0, wish[1].strip() + " " + wish[2])):
        plot.text(0.1, y, words, align="left", show=shown)
    for k, name in enumerate(PAGES):
        x = 2.5 * k
        plot.area(x + 0.05, x + 2.45, 3.8, 4.55, "old pale", name, show=shown)
    plot.area(2.5 * at + 0.05, 2.5 * at + 2.45, 3.72, 3.88, "sel", show=shown)
    lines = [line for line in lines if line]
    pills = [line.split() for line in lines if at > 1 and line[0] in "[<"]
    texts = [line for line in lines if not (at > 1 and line[0] in "[<")]
    for k in range(4):
        words = texts[k] if k < len(texts) else ""
        y = 3.2 - 0.75 * k if k == 0 or at == 1 else 0.3
        plot.text(0.1, y, words, align="left", show=shown and bool(words))
    spots = [
        (r, c, word) for r, some in enumerate(pills) for c, word in enumerate(some)
    ]
    for k in range(6):
        r, c, word = spots[k] if k < len(spots) else (0, 0, "")
        x, y = 0.05 + 2.7 * c, 2.0 - 0.95 * r
        taken = word[:1] == "<"
        look = "up pale" if taken else "old pale"
        words = "✓ " * taken + word.strip("[]<>")
        plot.area(x, x + 2.5, y, y + 0.75, look, words, show=shown and bool(word))


def act(L, frame):
    """One action in a few signs: the intended move and the actual one."""
    did, said = frame["did"], frame["said"]
    if not frame["valid"]:
        return "“" + re.search("'(.*)'", said)[1] + "”" + L(" 读不懂", " unreadable")
    _, _, came = said.partition(" → ")
    sign = SIGNS.get(did, did)
    return sign + (f"({SIGNS[came]})" if came else "×" * said.endswith("×"))


def turns(L, frames, step, worth, largest):
    """A row per turn: the actions of its response, and its own reward at the end."""
    found, last = [], frames[step]
    over = last["terminated"] or last["truncated"]
    rest = L("不再需要", "not needed") if over else "\u00a0"
    idle = "" if over else "–"  # future turns
    for turn in range(1, TURNS + 1):
        mine = [frame for frame in frames[1 : step + 1] if frame["turn"] == turn]
        words = "   ".join(act(L, frame) for frame in mine)
        paid = sum(frame["reward"] for frame in mine)
        token = chip(
            words or rest,
            credit=shade(worth[turn - 1], largest) if mine else 0.0,
            trained=bool(mine),
            look="" if mine else "plain",
        )
        found.append(
            row(str(turn), [token], reward(paid) if mine else idle, look="slim heads")
        )
    return stack(*found)


def cards(L, env, play, step):
    """The episodes of the group at this step; a click takes one of them."""
    found = []
    for k in range(PLAYS):
        frames = episode(env, k + 1)
        frame = frames[min(step, len(frames) - 1)]
        over = step >= len(frames) - 1
        look = ("up" if frame["won"] else "down") if over else "old"
        name = L("专家", "expert") if k == 0 else L(f"第 {k + 1} 局", f"no. {k + 1}")
        found.append(
            card(
                f"{name} {number(frame['total'])}",
                pick=("play", k),
                pressed=play == k + 1,
                mark=("✓" if frame["won"] else "✗") if over else "…",
                look=look,
            )
        )
    return grid(*found, columns=PLAYS)


def draw(L, env, play, level, step):
    play, step = int(play), int(step)
    frames = episode(env, play)
    now = min(step, len(frames) - 1)
    frame = frames[now]
    done = all(step >= len(episode(env, k + 1)) - 1 for k in range(PLAYS))
    own, each = credits(env)[play - 1], turn_credits(env)
    worth = each[play - 1] if level else [own] * TURNS
    largest = max(map(abs, [x for one in each for x in one] if level else credits(env)))
    low, high = min(worth), max(worth)
    plot = Plot(x=(0, 10), y=(0, 6), height=216, axes=False)
    draw_board(L, plot, frames, now, env in ("FrozenLake", "Sokoban"))
    draw_keys(L, plot, env)
    draw_arms(L, plot, frame, env == "Bandit")
    draw_shop(L, plot, frame, env == "WebShop")
    state, at = L("进行中", "playing"), L(f"第 {now} 步", f"step {now}")
    if frame["truncated"]:
        state = L("轮数用完", "cut off")
    elif frame["terminated"]:
        state = L("成功", "won") if frame["won"] else L("失败", "lost")
        if env == "Bandit":  # success is the choice, not the payoff
            state = L("选龙，成功", "dragon ✓")
            if not frame["won"]:
                state = L("选凤凰，失败", "phoenix ✗")
    if frame["truncated"] or frame["terminated"]:
        at = L(f"第 {now} 步结束", f"over, step {now}")
    return scene(
        side(
            stack(
                caption(
                    L(
                        "同一个起点的三局，点一局来看",
                        "Three from one start; click one",
                    )
                ),
                cards(L, env, play, step),
                plot,
            ),
            stack(
                caption(
                    L(
                        "每个轮次的回答与它自己的奖励；底色是这一轮次的功劳",
                        "Each turn's own reward; the fill is its credit",
                    )
                ),
                turns(L, frames, now, worth if done else [0.0] * TURNS, largest),
                caption(
                    L(
                        "× 没有效果；(→) 实际滑去的方向",
                        "× no effect; (→) where it slid",
                    )
                ),
            ),
            shares=(1.2, 1),
        ),
        tiles=[
            tile(
                L("轮次", "turn"),
                f"{frame['turn']}/{TURNS}",
                at,
            ),
            tile(
                L("这一步的奖励", "reward now"),
                reward(frame["reward"]),
                "",
            ),
            tile(L("整局累计", "return so far"), number(frame["total"]), state),
            tile(
                L("轮次的功劳", "credit"),
                number(high, sign=True) if done else "–",
                L("最差 ", "worst ") + number(low, sign=True)
                if done and level
                else L("三局相比", "in the group"),
                look=("up" if high > 0 else "down") if done else "old",
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "env",
            list(EPISODES),
            "Sokoban",
            terms("environment"),
            fmt="",
            kind="hidden",
        ),
        Dial("play", [1, 2, 3], 2, ("同组的哪一局", "which episode"), kind="hidden"),
        Dial(
            "level",
            [0, 1],
            0,
            terms("credit_assignment"),
            kind="choice",
            options=[
                ("一局一份", "one per episode"),
                ("只看本轮的奖励", "own reward of a turn"),
            ],
        ),
        Dial(
            "step",
            [*range(STEPS + 1)],
            STEPS,
            ("第几步", "step"),
            kind="time",
            pace=700,
        ),
    ],
    title=(
        "一局一份功劳，分不出哪一轮好；只看本轮的奖励，又看不到以后",
        "One credit per episode hides the bad turn; own rewards hide what came later",
    ),
    alt=(
        "左：同组三局的得分卡片，下面是选中那一局此刻的画面：棋盘、两台机器或一张网页。"
        "右：五轮各一行，写着这一轮的动作和它自己的奖励；三局都结束后，每行染上功劳，"
        "正的蓝，负的橙。",
        "Left: cards with the scores of three episodes of a group, below them what the "
        "chosen one shows now: a board, two machines or a page of a shop. Right: a row "
        "for each of five turns with its actions and its own reward; once all three "
        "are over, every row takes its credit, blue or orange.",
    ),
    presets=[
        Preset(
            ("推箱子，有对有错", "Sokoban, mistakes"),
            env="Sokoban",
            play=2,
            level=0,
            step=8,
        ),
        Preset(
            ("同一局，按轮次分", "turn by turn"),
            env="Sokoban",
            play=2,
            level=1,
            step=8,
        ),
        Preset(
            ("推箱子，推不动了", "Sokoban, stuck"),
            env="Sokoban",
            play=3,
            level=0,
            step=8,
        ),
        Preset(
            ("冰湖，滑了几次", "FrozenLake, slips"),
            env="FrozenLake",
            play=1,
            level=0,
            step=8,
        ),
        Preset(
            ("老虎机，没得分", "Bandit, unpaid"), env="Bandit", play=3, level=0, step=2
        ),
        Preset(
            ("网店，买对四成", "WebShop, 40%"),
            env="WebShop",
            play=2,
            level=0,
            step=5,
        ),
    ],
    note=(
        "一局一份：三局的总奖励在组内标准化（StarPO，没有价值网络）。"
        "只看本轮：三局各轮次的奖励一起标准化。读不懂的回答也算一步。",
        "One per episode: the returns of the three, standardised in the group (StarPO "
        "without a critic). Own reward: the rewards of all their turns, standardised "
        "together. An unreadable response is a step, too.",
    ),
    wide=True,
)
