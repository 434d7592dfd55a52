"""One group of episodes (一组轨迹) in each environment, frame by frame."""

import functools

from matplotlib.patches import Rectangle

from tokencredit.figures import COLORS, Dial, Explorer, canvas
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
            (
                0,
                ["down || right || right", "left || left", "pull", "down || right"] * 2,
            ),
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
PLAYER = "PX!@+"
SIDE, LEFT, LOW = 7.0, 1.6, 0.6  # the board of FrozenLake and Sokoban
ROWS = 11  # of the log
WHITE = "#ffffff"  # the colour of the page


@functools.cache
def episode(env, play):
    """Play one recorded episode (轨迹).

    Args:
        env: the environment's id.
        play: which episode of the group, from 1.

    Returns:
        the frames of `env.frames()`, each with what its action came to ("said"), the
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


def grid(frame):
    """The picture of FrozenLake or Sokoban as rows of letters."""
    return [line.split() for line in frame["picture"].splitlines()]


def player(frame):
    """Row and column of the player."""
    return next(
        (r, c)
        for r, row in enumerate(grid(frame))
        for c, letter in enumerate(row)
        if letter in PLAYER
    )


def went(earlier, frame):
    """The direction in which the player moved, None if not at all."""
    (r, c), (row, column) = player(earlier), player(frame)
    return next((n for n, d in MOVES.items() if d == (row - r, column - c)), None)


class Scene:
    """The artists of one environment; `show` moves them to a frame."""

    def __init__(self, ax):
        self.ax, self.artists, self.seen = ax, [], {}

    def add(self, artist):
        self.artists.append(artist)
        return artist

    def rectangle(self, x, y, width, height, face="none", edge="grey", **style):
        style |= {"facecolor": COLORS.get(face, face), "edgecolor": COLORS[edge]}
        return self.add(self.ax.add_patch(Rectangle((x, y), width, height, **style)))

    def text(self, x, y, words="", color="ink", **style):
        style = {"va": "center", "parse_math": False, "zorder": 5} | style
        color = COLORS.get(color, color)
        return self.add(self.ax.text(x, y, words, color=color, **style))

    def line(self, x, y, *look, **style):
        return self.add(self.ax.plot(x, y, *look, **style)[0])

    def place(self, artist, shown, **properties):
        """Show or hide an artist, and set what is not as it should be."""
        shown = {"visible": shown}
        properties = shown | properties if shown["visible"] else shown
        known = self.seen.setdefault(artist, {})
        new = {k: v for k, v in properties.items() if (k, v) not in known.items()}
        known.update(new)
        if new:
            artist.set(**new)

    def appear(self, shown):
        """Show or hide everything."""
        for artist in self.artists:
            self.place(artist, shown)


class Board(Scene):
    """FrozenLake and Sokoban: cells that stay, a player, a box, the move meant."""

    def __init__(self, ax, env):
        super().__init__(ax)
        rows = grid(episode(env, 1)[0])
        self.cell = SIDE / len(rows)
        floor = "sky" if env == "FrozenLake" else "light"
        fills = {"O": "grey", "G": "green", "#": "grey"}
        for r, row in enumerate(rows):
            for c, letter in enumerate(row):
                x, y = self.middle(r, c)
                half, known = self.cell / 2, letter in fills
                style = {"alpha": 1 if known else 0.4, "lw": 0.6}
                face = fills.get(letter, floor)
                corner = (x - half, y - half)
                self.rectangle(*corner, self.cell, self.cell, face, **style)
                if known:
                    self.text(x, y, letter, WHITE, ha="center", size=11, zorder=2)
                if letter in ".+*":
                    ring = {"markersize": 26, "markerfacecolor": "none"}
                    self.line([x], [y], "o", color=COLORS["green"], mew=1.5, **ring)
        side = 0.66 * self.cell
        self.box = self.rectangle(0, 0, side, side, WHITE, "orange", lw=3, zorder=3)
        self.sign = self.text(0, 0, "$", ha="center", size=11)
        self.body = self.line([0], [0], "o", color=COLORS["blue"], ms=19, zorder=4)
        self.name = self.text(0, 0, "P", WHITE, ha="center", size=11)
        self.came = self.line([0, 0], [0, 0], ":", color=COLORS["ink"], zorder=3.5)
        self.meant = {
            name: self.line([0], [0], marker, ms=8, mec=WHITE, mew=0.7, zorder=4.5)
            for name, marker in zip(MOVES, "<v>^", strict=True)
        }

    def middle(self, row, column):
        return LEFT + (column + 0.5) * self.cell, LOW + SIDE - (row + 0.5) * self.cell

    def show(self, frames, step):
        frame, earlier = frames[step], frames[max(step - 1, 0)]
        letters = {letter: (r, c) for r, c, letter in cells(frame)}
        here, there = self.middle(*player(frame)), self.middle(*player(earlier))
        lost = "X" in letters
        color = COLORS["vermilion" if lost else "blue"]
        xy = {"xdata": here[:1], "ydata": here[1:]}
        self.place(self.body, True, color=color, **xy)
        letter = next(letter for letter in PLAYER if letter in letters)
        self.place(self.name, True, position=here, text=letter)
        xs, ys = zip(there, here, strict=True)
        self.place(self.came, here != there, xdata=xs, ydata=ys)
        box = next((letter for letter in "$*" if letter in letters), None)
        if box:
            x, y = self.middle(*letters[box])
            corner = x - 0.33 * self.cell, y - 0.33 * self.cell
            edge = COLORS["green" if box == "*" else "orange"]
            self.place(self.box, True, xy=corner, edgecolor=edge)
            self.place(self.sign, True, position=(x, y), text=box)
        else:
            self.place(self.box, False)
            self.place(self.sign, False)
        for name, arrow in self.meant.items():
            dr, dc = MOVES[name]
            x, y = there[0] + 0.5 * dc * self.cell, there[1] - 0.5 * dr * self.cell
            fine = frame["said"] == name
            color = COLORS["green" if fine else "vermilion"]
            self.place(
                arrow,
                frame["did"] == name,
                xdata=(x,),
                ydata=(y,),
                markerfacecolor=color,
            )


class Arms(Scene):
    """Bandit: two machines, what each can pay, and what the chosen one paid."""

    def __init__(self, ax, env):
        super().__init__(ax)
        self.names = episode(env, 1)[0]["picture"].split()
        chances = {"phoenix": "0.15 · 100%", "dragon": "1 · 25%"}
        self.paid, self.frames = {}, {}
        for x, name in zip((0.6, 5.4), self.names, strict=True):
            self.frames[name] = self.rectangle(x, 1.3, 4.2, 5.6, "light", lw=1)
            self.text(x + 2.1, 6.2, name, ha="center", size=11)
            self.rectangle(x + 0.8, 3.4, 2.6, 1.8, WHITE, lw=1)
            self.paid[name] = self.text(x + 2.1, 4.3, ha="center", size=14)
            self.text(x + 2.1, 2.3, chances[name], "grey", ha="center")

    def show(self, frames, step):
        said = frames[step]["picture"].split()
        for name in self.names:
            chosen = f"[{name}]" in said
            edge = {"edgecolor": COLORS["blue" if chosen else "grey"]}
            width = {"linewidth": 3 if chosen else 1}
            self.place(self.frames[name], True, **edge, **width)
            self.place(self.paid[name], True, text=said[-1] if chosen else "?")


class Shop(Scene):
    """WebShop: the page as a browser shows it."""

    PAGES = ("search", "results", "item", "bought")

    def __init__(self, ax, env):
        super().__init__(ax)
        self.rectangle(0.1, 0.3, 10, 7.8, lw=1)
        self.rectangle(0.1, 7.3, 10, 0.8, "light", lw=1)
        self.tab = self.rectangle(0, 7.3, 2.5, 0.8, "blue", "blue", lw=1)
        self.tabs = [
            self.text(1.35 + 2.5 * k, 7.7, page, ha="center", size=8)
            for k, page in enumerate(self.PAGES)
        ]
        self.wish = [self.text(0.4, y, size=8) for y in (6.7, 6.1)]
        self.line([0.1, 10.1], [5.7, 5.7], "-", color=COLORS["grey"], lw=0.6)
        self.rows = [self.text(0.4, 5.1 - 0.75 * k, size=8) for k in range(4)]
        self.pills = [self.rectangle(0, 0, 2.4, 0.7, lw=0.8) for _ in range(6)]
        self.words = [self.text(0, 0, ha="center", size=8) for _ in range(6)]

    def show(self, frames, step):
        wish, page, *lines = frames[step]["picture"].splitlines()
        at = self.PAGES.index(page.strip("- "))
        self.place(self.tab, True, x=0.1 + 2.5 * at)
        for k, tab in enumerate(self.tabs):
            self.place(tab, True, color=WHITE if k == at else COLORS["ink"])
        words = wish.split()
        for line, part in zip(self.wish, (words[:4], words[4:]), strict=True):
            self.place(line, True, text=" ".join(part))
        options = lines[1:] if at > 1 else ["[search]"] * (at == 0)
        for k, row in enumerate(self.rows):
            text = lines[k] if k < max(0, len(lines) - len(options)) else ""
            self.place(row, bool(text), text=text)
        pills = [
            (k, line.split() if line[0] in "[<" else [line])
            for k, line in enumerate(options)
        ]
        pills = [(r, c, word) for r, line in pills for c, word in enumerate(line)]
        pills += [(0, 0, "")] * (len(self.pills) - len(pills))
        for pill, label, (r, c, word) in zip(
            self.pills, self.words, pills, strict=True
        ):
            x, y, chosen = 0.4 + 2.7 * c, 3.7 - 1.05 * r, word[:1] != "["
            text = ("✓ " if word[:1] == "<" else "") + word.strip("[]<>")
            face = COLORS["blue"] if chosen else "none"
            self.place(pill, bool(word), xy=(x, y), facecolor=face)
            color = WHITE if chosen else COLORS["ink"]
            middle = (x + 1.2, y + 0.35)
            self.place(label, bool(word), position=middle, text=text, color=color)


class Log(Scene):
    """What was done so far: turn, action, reward, running return."""

    def __init__(self, ax):
        super().__init__(ax)
        heads = ("$k$", "$a$", "$r$", r"$\Sigma r$")
        aligns = ("left", "left", "right", "right")
        self.row = self.rectangle(0, 0, 10.2, 0.62, "light", "light", alpha=0.6)
        self.columns = [
            [self.text(x, 7.2 - 0.62 * k, ha=align, size=8) for k in range(ROWS)]
            for x, align in zip((0.2, 0.9, 8.3, 10.0), aligns, strict=True)
        ]
        for x, head, align in zip((0.2, 0.9, 8.3, 10.0), heads, aligns, strict=True):
            ax.text(x, 7.9, head, ha=align, va="center", color=COLORS["grey"])
        self.end = self.text(10.0, 0, ha="right", size=11)

    def show(self, frames, step):
        self.place(self.row, step > 0, y=7.2 - 0.62 * (step - 1) - 0.31)
        for k in range(ROWS):
            shown = k < step
            frame = frames[min(k + 1, len(frames) - 1)]
            first = frame["turn"] != frames[min(k, len(frames) - 1)]["turn"]
            color = COLORS["ink" if frame["valid"] else "vermilion"]
            reward, total = number(frame["reward"]), number(frame["total"])
            texts = (str(frame["turn"]) if first else "", frame["said"], reward, total)
            for column, text in zip(self.columns, texts, strict=True):
                self.place(column[k], shown, text=text, color=color)
        last = frames[step]
        over = last["terminated"] or last["truncated"]
        sign, color = ("✓", "green") if last["won"] else ("✗", "vermilion")
        y = 7.2 - 0.62 * len(frames) + 0.62
        self.place(self.end, over, y=y, text=sign, color=COLORS[color])


def cells(frame):
    """Row, column and letter of every cell."""
    rows = enumerate(grid(frame))
    return [(r, c, letter) for r, row in rows for c, letter in enumerate(row)]


def number(value):
    """A reward as the log writes it; nothing earned is a plain 0."""
    return f"{value:+.2f}".replace("-", "−") if abs(value) > 1e-9 else "0"


SCENES = {"Bandit": Arms, "FrozenLake": Board, "Sokoban": Board, "WebShop": Shop}


def figure():
    """Left the frame of the environment, right the log up to it."""
    margins = {"left": 0.1, "right": 0.1, "top": 0.1, "bottom": 0.1}
    fig, axes = canvas(1, 2, width=3.5, height=2.9, **margins)
    for ax in axes:
        ax.set(xlim=(0, 10.2), ylim=(0, 8.4))
        ax.set_axis_off()
    scenes = {env: make_scene(axes[0], env) for env, make_scene in SCENES.items()}
    log = Log(axes[1])

    def update(env="FrozenLake", play=1, step=3):
        frames = episode(env, int(play))
        last = len(frames) - 1
        step = min(int(step), last)
        for name, scene in scenes.items():
            scene.appear(name == env)
        scenes[env].show(frames, step)
        log.show(frames, step)
        frame = frames[step]
        return {
            "turn": frame["turn"],
            "at": step,
            "last": last,
            "reward": frame["reward"],
            "total": frame["total"],
            "terminated": frame["terminated"],
            "truncated": frame["truncated"],
            "won": frame["won"],
        }

    return fig, update


EXPLORER = Explorer(
    figure,
    dials=[
        Dial(
            "env",
            [*EPISODES],
            start="FrozenLake",
            symbol="E",
            name={"zh": "环境", "en": "environment"},
            fmt="",
        ),
        Dial(
            "play",
            [1, 2, 3],
            start=1,
            symbol="i",
            name={"zh": "同一组的第几条轨迹", "en": "which trajectory of the group"},
        ),
        Dial(
            "step",
            [*range(ROWS + 1)],
            start=6,
            symbol="j",
            name={"zh": "第几步", "en": "step"},
            fine=False,
        ),
    ],
    title={
        "zh": "四个环境，各三条轨迹，一步一步看",
        "en": "Four environments, three trajectories each, step by step",
    },
    readout={
        "zh": "第 {turn:.0f} 轮，第 {at:.0f} 步（共 {last:.0f} 步）："
        "奖励 {reward:+.2f}，"
        "累计 {total:+.2f}；终止 {terminated:.0f}，截断 {truncated:.0f}，"
        "成功 {won:.0f}",
        "en": "turn {turn:.0f}, step {at:.0f} of {last:.0f}: reward {reward:+.2f}, "
        "return so far {total:+.2f}; terminated {terminated:.0f}, truncated "
        "{truncated:.0f}, success {won:.0f}",
    },
    alt={
        "zh": "左：环境此刻的画面。老虎机是两台机器，选中的加粗框，框内是付出的奖励；"
        "冰湖是 4×4 的格子，P 是玩家，O 是冰洞，G 是终点；推箱子的格子里 @ 是玩家，"
        "$ 是箱子，圆环是目标，# 是墙；网店是一张网页。三角指向动作本来的方向，"
        "绿色表示照办，橙红表示滑走或没有效果；虚线是实际走的一格。"
        "右：到此刻为止的记录，依次是轮次、动作、奖励和累计奖励，× 表示动作没有效果，"
        "箭头后面是实际的方向，橙红的行是无法解析的回复；末尾的勾或叉表示成功或失败。",
        "en": "Left: the environment now. Bandit is two machines, the chosen one in a "
        "thick border and its payout inside; FrozenLake is a grid of 4 by 4, P the "
        "player, O holes, G the goal; in Sokoban @ is the player, $ the box, a ring "
        "the target, # walls; WebShop is a page. A triangle points where the action "
        "meant to go, green if it did, vermilion if it slipped or had no effect; a "
        "dotted line is the step taken. Right: the log so far with turn, action, "
        "reward and running return; a cross after an action means no effect, an arrow "
        "where it really went, vermilion rows are answers that could not be parsed; a "
        "check mark or cross at the end means success or failure.",
    },
)
