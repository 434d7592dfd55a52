"""One iteration of PPO (一次迭代): four responses, judged once, used in four steps.

The batch is sampled by warm start 0, the values are those of a critic that was fitted
to 25600 of its responses (`fit`, `say` of `lab.token_values`), and `record` takes the
four steps.
"""

from dataclasses import replace
from functools import cache

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Plot,
    Preset,
    caption,
    chip,
    legend,
    number,
    row,
    scene,
    shade,
    tile,
)
from tokenbook.lab.token_values import PROMPT, SIGNS, score
from tokencredit import (
    aggregate_loss,
    gae,
    masked_whiten,
    ppo_clip_loss,
    rollout,
    token_log_ratio,
)
from tokencredit.training import forward
from tokencredit.world.rollout import texts
from tokencredit.world.scoring import on_last_token
from tokencredit.world.starts import warm_start

WORDS = ("9-5+7=11✓$", "9+5-7=7✗$", "9+5+7=21✗$", "9-5-7=-3✗$")
NEXT = ("9-5-7=-3✗$", "9-5+7=11✓$", "9+5-7=7✗$", "9-5+7=11✓$")  # sampled afterwards
SEEDS = (58, 25)  # of both batches, chosen so that every response is one try
VALUES = (  # before each token, in per cent
    "28 26 15 10 46 31 43 79 83 82",
    "28 26 45 54 33 25 27 8 4",
    "28 26 45 54 58 55 48 7 2 4",
    "28 26 15 10 1 3 9 1 8 8",
)
PARTS = ((0, 1), (3, 2), (0, 2), (3, 1))  # mini-batches, shuffled before each epoch
EPOCHS, STEPS = 2, len(PARTS)  # K, and K x M
LAST = 2 + STEPS  # after sampling, credit and the steps
COLUMNS = max(map(len, WORDS))
SURE = 0.95  # a token that is no choice; its numbers are left out
MOVED = 0.03  # from 1: a ratio that is worth a number
FARTHEST = 0.65  # from 1: a ratio whose bar is full
RATE = 2e-4  # of Adam
NONE = "\u00a0"  # keeps the place of a number

# Result of `record`, in per cent: the probabilities of the batch, the ratios of the
# mini-batch at each step, and the probabilities of the next batch under its policy.
OLD = (
    "100 54 100 48 100 100 99 100 100 100",
    "100 46 100 54 100 100 100 91 75",
    "100 46 100 46 100 100 100 100 98 81",
    "100 54 100 52 100 100 98 100 90 71",
)
RATIOS = (
    (
        "100 100 100 100 100 100 100 100 100 100",
        "100 100 100 100 100 100 100 100 100",
    ),
    (
        "100 100 100 97 100 100 100 100 99 88",
        "100 100 100 103 100 100 100 100 100 92",
    ),
    (
        "100 100 100 105 100 100 100 100 100 100",
        "100 100 100 103 100 100 100 100 100 71",
    ),
    (
        "100 102 100 95 100 100 100 100 95 41",
        "100 97 100 98 100 100 100 91 49",
    ),
)
NEW = (
    "100 56 100 49 100 100 98 100 82 21",
    "100 56 100 51 100 100 100 100 100 100",
    "100 44 100 53 100 100 100 79 28",
    "100 56 100 51 100 100 100 100 100 100",
)


def numbers(line):
    """A line of a record, as numbers."""
    return [int(part) / 100 for part in line.split()]


@cache
def judged():
    """Rewards per response, and the whitened advantages of each (奖励与优势)."""
    rewards = torch.tensor([score(words) for words in WORDS])
    mask = torch.tensor([[t < len(words) for t in range(COLUMNS)] for words in WORDS])
    values = torch.zeros(mask.shape).masked_scatter(
        mask, torch.tensor([v for line in VALUES for v in numbers(line)])
    )
    advantages = gae(on_last_token(rewards, mask), values, mask, gamma=1.0, lam=0.95)
    advantages = masked_whiten(advantages, mask)
    rows = [a[live].tolist() for a, live in zip(advantages, mask, strict=True)]
    return rewards.tolist(), rows


def record():
    """Take the four steps (走四步): the numbers of OLD, RATIOS and NEW.

    Returns:
        probabilities of the batch, ratios of the mini-batch at each step, probabilities
        of the next batch, each a list per response; the words of both batches.
    """
    policy = warm_start("signs", 0)

    def sample(seed):
        dice = torch.Generator().manual_seed(seed)
        batch = rollout(policy, SIGNS, [PROMPT], group_size=4, generator=dice)
        return batch, texts(batch, SIGNS.vocabulary)

    def rows(values, mask):
        return [v[live].tolist() for v, live in zip(values, mask, strict=True)]

    batch, words = sample(SEEDS[0])
    flat = torch.tensor([a for line in judged()[1] for a in line])
    advantages = torch.zeros(batch.mask.shape).masked_scatter(batch.mask, flat)
    batch = replace(batch, advantages=advantages)
    adam = torch.optim.Adam(policy.parameters(), lr=RATE)
    seen = []
    for part in PARTS:
        now = batch.select(torch.tensor(part))
        log_probs = forward(policy, now)[0]
        log_ratio = token_log_ratio(log_probs, now.old_log_probs, now.mask)
        seen.append(rows(log_ratio.detach().exp(), now.mask))
        each = ppo_clip_loss(log_probs, log_ratio, now.advantages)
        adam.zero_grad()
        aggregate_loss(each, now.mask, "token-mean").backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        adam.step()
    following, more = sample(SEEDS[1])
    old, new = (rows(b.old_log_probs.exp(), b.mask) for b in (batch, following))
    return (old, seen, new), (words, more)


@cache
def ratios(update):
    """The recorded ratios at a step, counted from 1, by response (一步的比率)."""
    part = PARTS[update - 1]
    return dict(zip(part, map(numbers, RATIOS[update - 1]), strict=True))


@cache
def silent(update):
    """Mask of the mini-batch's tokens without gradient at a step, by response."""
    found = {}
    for k, rho in ratios(update).items():
        log_ratio = torch.tensor(rho).log().requires_grad_()
        loss = ppo_clip_loss(log_ratio, log_ratio, torch.tensor(judged()[1][k])).sum()
        (slope,) = torch.autograd.grad(loss, log_ratio)
        found[k] = (slope == 0).tolist()
    return found


def path(L, step, update):
    """The stages as a loop; the one that runs is amber, a step done is grey."""
    plot = Plot(x=(0, 12), y=(0, 3), axes=False, height=80)
    stages = (
        (0, 2.3, L("1 采样", "1 sample"), step in (0, LAST)),
        (3.2, 5.5, L("2 记功劳", "2 credit"), step == 1),
        (6.4, 12, "", False),
    )
    for x0, x1, words, active in stages:
        plot.area(x0, x1, 1.1, 2.9, "old pale")
        plot.area(x0, x1, 1.1, 1.3, "sel", show=active)
        plot.text((x0 + x1) / 2, 2.05, words)
    plot.text(7.5, 2.05, L("3 更新", "3 update"))
    for k in range(STEPS):
        x = 8.65 + 0.8 * k + 0.12 * (k >= STEPS // EPOCHS)
        done = step > k + 2
        plot.area(x, x + 0.7, 1.4, 2.65, "solid" if done else "faint")
        plot.area(x, x + 0.7, 1.4, 1.65, "sel", show=update == k + 1)
        plot.text(x + 0.35, 2.05, f"{k + 1}", "bright" if done else "")
    plot.arrow(2.4, 2, 2.85, 2, "ink")
    plot.arrow(5.6, 2, 6.05, 2, "ink")
    plot.line([(9.2, 1.1), (9.2, 0.4), (1.15, 0.4), (1.15, 0.7)], "ink")
    plot.arrow(1.15, 0.6, 1.15, 0.9, "ink")
    again = L("用现在的策略再采一批", "the present policy samples again")
    plot.text(5.2, 0.4, again, "boxed")
    return plot


def cells(k, step, update):
    """The tokens of a response, with the known numbers at this step."""
    words, credits = WORDS[k], judged()[1]
    fills = [
        shade(a, max(abs(b) for line in credits for b in line)) for a in credits[k]
    ]
    if step in (0, LAST):
        words, chances = (NEXT[k], NEW[k]) if step else (WORDS[k], OLD[k])
        said = [number(p) if p < SURE else NONE for p in numbers(chances)]
        looks = [{"push": p, "look": "plain"} for p in numbers(chances)]
    elif step == 1:
        said = [number(a, 1, sign=True) for a in credits[k]]
        looks = [{"credit": fill} for fill in fills]
    elif k in PARTS[update - 1]:
        now = ratios(update)[k]
        said = [number(rho) if abs(rho - 1) >= MOVED else NONE for rho in now]
        looks = [
            {
                "credit": fill,
                "push": abs(rho - 1) / FARTHEST,
                "dead": dead,
                "look": "sel",
            }
            for fill, rho, dead in zip(fills, now, silent(update)[k], strict=True)
        ]
    else:
        said, looks = [NONE] * len(words), [{"trained": False}] * len(words)
    blanks = [chip("", caption=NONE, trained=False, look="plain")]
    drawn = [
        chip(word, caption=words, **look)
        for word, words, look in zip(words, said, looks, strict=True)
    ]
    return drawn + blanks * (COLUMNS - len(drawn))


def draw(L, step):
    step = round(step)
    update = step - 1 if 2 <= step < LAST else 0  # 1 ... STEPS, or 0
    rewards, _ = judged()
    fresh = step in (0, LAST)
    count = sum(map(len, NEXT if step == LAST else WORDS))
    apart = (
        [abs(r - 1) for line in ratios(update).values() for r in line] if update else []
    )
    dead = sum(map(sum, silent(update).values())) if update else 0
    old = L(
        "柱：概率；数字：低于 0.95 的",
        "Bars: probability; numbers: those below 0.95",
    )
    ratio = L(
        "柱：ρ 离 1 多远；数字：0.03 以上的",
        "Bars: how far ρ is from 1; numbers from 0.03",
    )
    shown = [old, L("底色和数字：优势 A", "Fill and numbers: advantages A")]
    shown += [ratio] * STEPS + [old]
    says = [
        L(
            "策略写出四条回答，同时存下每个词元的对数概率和价值。",
            "The policy writes four responses; log-probs and values are stored.",
        ),
        L(
            "奖励经 GAE 变成优势。它和存下的量从此都是常数。",
            "GAE turns rewards into advantages, constants like all that is stored.",
        ),
        L(
            "第一步：策略还没有动，比率全是 1，等于 REINFORCE。",
            "First step: the policy has not moved, every ratio is 1: REINFORCE.",
        ),
        L(
            "第二步：参数动过一次，另外两条回答的比率已经离开 1。",
            "Second step: after one update, ratios of the other two have left 1.",
        ),
        L(
            "第二遍：回答重新分组，再用一次，分母仍是采样时存下的。",
            "Second epoch: new pairs, used again, over the same stored denominator.",
        ),
        L(
            "比率越走越远。朝推的方向走出范围的词元，不再有梯度。",
            "Ratios move further; tokens pushed out of the range lose their gradient.",
        ),
        L(
            "这一批用完就扔掉。现在的策略写下一批，它又成了旧策略。",
            "The batch is thrown away. The next one is written by the present policy.",
        ),
    ][step]
    epoch, part = divmod(update - 1, STEPS // EPOCHS)
    keys = legend(
        ("up chip", "A > 0", not fresh),
        ("down chip", "A < 0", not fresh),
        ("off", L("没有梯度", "no gradient"), bool(update)),
        ("wash", L("不在这个小批里", "not used"), bool(update)),
        ("old", L("柱越高，写它的概率越大", "taller: a more probable token"), fresh),
    )
    return scene(
        path(L, step, update),
        caption(shown[step]),
        *(
            row(
                f"{k + 1}",
                cells(k, step, update),
                "–" if fresh else number(rewards[k], 0),
                end_sub=L("奖励", "reward"),
                look="slim up",
            )
            for k in range(len(WORDS))
        ),
        keys,
        says=says,
        tiles=[
            tile(
                L("采到的词元", "tokens sampled"),
                f"{count}",
                L("4 条回答", "4 responses"),
            ),
            tile(
                L("平均奖励", "mean reward"),
                "–" if fresh else number(sum(rewards) / len(rewards)),
                L("还没判分", "not judged") if fresh else L("对 1 条", "1 correct"),
            ),
            tile(
                L("更新步", "update"),
                f"{update or (STEPS if step == LAST else 0)}/{STEPS}",
                L(
                    f"第 {epoch + 1} 遍，小批\u00a0{part + 1}",
                    f"epoch {epoch + 1}, batch {part + 1}",
                )
                if update
                else "K\u00a0=\u00a02, M\u00a0=\u00a02",
            ),
            tile(
                L("最大的 |ρ − 1|", "largest |\u2060ρ\u00a0−\u00a01|"),
                number(max(apart)) if update else "–",
                L(f"{dead} 个没有梯度", f"{dead} hatched") if update else NONE,
            ),
        ],
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial(
            "step",
            [*range(LAST + 1)],
            0,
            ("一次迭代", "one iteration"),
            "",
            kind="time",
            pace=2400,
        )
    ],
    title=(
        "PPO 把一批回答用好几步：比率从 1 出发，越走越远",
        "PPO takes several steps on one batch, and its ratios drift away from 1",
    ),
    alt=(
        "上面是采样、记功劳、更新三个阶段，更新分四步，一支箭回到采样。下面是四条回答，"
        "一格一个词元，依次显示采样时的概率、优势，以及每个更新步用到的两条回答的比率。",
        "Above, the stages sample, credit and update, the last with four steps, and an "
        "arrow back. Below, four responses with a cell per token, which show in turn "
        "their probabilities, their advantages, and the ratios of the two responses "
        "that each step uses.",
    ),
    presets=[
        Preset(("采样", "sample"), step=0),
        Preset(("记功劳", "credit"), step=1),
        Preset(("第一个更新步", "first update"), step=2),
        Preset(("第二遍", "second epoch"), step=4),
    ],
    wide=True,
)
