"""One response, one score (一条回答，一个分数): its credit by four algorithms."""

from functools import cache, partial

import torch

from tokenbook.explorer import (
    Dial,
    Figure,
    Preset,
    caption,
    card,
    chip,
    legend,
    number,
    row,
    scene,
    shade,
)
from tokencredit import (
    gae,
    group_relative,
    ppo_clip_loss,
    reinforce_loss,
    sequence_log_ratio,
    token_log_ratio,
)

PROMPT = "9□5□7=11?"
RESPONSES = ("9+5+7=21✗9+5-7=7✗9-5+7=13✗", "9+5+7=21✗9+5-7=7✗9-5+7=11✓")
COUNT = len(RESPONSES[1])
SLIP = 24  # the digit in which the two responses differ
VALUES = [0.45] * 2 + [0.42] * 2 + [0.3] * 5 + [0.28]  # V before each token: try one
VALUES += [0.52] + [0.45] * 2 + [0.38] * 4 + [0.34]  # the second try
VALUES += [0.58, 0.8, 0.8] + [0.93] * 3 + [0.95]  # and on: try three
LAST = ([0.05], [0.97])  # V before the last mark, after the slip and without it
MOVES = {1: 0.1, 3: 0.16, 9: 0.42, 10: -0.08, 12: 0.2, 17: 0.36, 18: 0.3, 20: 0.12}
SIBLINGS = 7
DRIFTS = 5
LAM = 0.5
LARGEST = (1.0, 0.4, 2.5, 2.5)  # credit and push that fill a row, by algorithm


def push(loss, ratio, gaps, advantages):
    """Push of the gradient on each log-probability (推力)."""
    old, every = torch.full_like(gaps, -3.0), torch.ones_like(gaps, dtype=torch.bool)
    log_probs = (old + gaps).requires_grad_()
    each = loss(log_probs, ratio(log_probs, old, every), advantages)
    (slope,) = torch.autograd.grad(each.sum(), log_probs)
    return (-slope[0]).tolist()


@cache
def rows(right, others, drift):
    """Credit and push per token (功劳, 推力), for four algorithms.

    Args:
        right: the verdict, 0 or 1.
        others: how many of seven responses to the same prompt are right.
        drift: how many updates ago the response was sampled.

    Returns:
        for each algorithm two lists.
    """
    gaps = torch.zeros(1, COUNT, dtype=torch.float64)
    for place, move in MOVES.items():
        gaps[0, place] = move * drift / 2 * (1 if right else -1)
    rewards = torch.zeros_like(gaps)
    rewards[0, -1] = right
    values = torch.tensor([VALUES + LAST[right]], dtype=torch.float64)
    scores = torch.tensor([right] + [1] * others + [0] * (SIBLINGS - others)).double()
    group = group_relative(scores, torch.zeros(SIBLINGS + 1).long(), eps=1e-6)[0]
    sampled = torch.full_like(gaps, right)
    judged = gae(rewards, values, gamma=1.0, lam=LAM)
    compared = torch.full_like(gaps, group.item())
    clip = partial(ppo_clip_loss, clip_low=0.1, clip_high=0.1)
    return [
        (credit[0].tolist(), push(loss, ratio, gaps, credit))
        for credit, loss, ratio in (
            (sampled, reinforce_loss, token_log_ratio),
            (judged, ppo_clip_loss, token_log_ratio),
            (compared, ppo_clip_loss, token_log_ratio),
            (compared, clip, sequence_log_ratio),
        )
    ]


def draw(L, right, others, drift):
    words = RESPONSES[right]
    ends = ["last" * (word == "✗") for word in RESPONSES[1]]
    heads = [
        chip(
            word,
            trained=False,
            look=f"plain {end}" + " sel" * (k == SLIP and not right),
        )
        for k, (word, end) in enumerate(zip(words, ends, strict=True))
    ]
    verdict = card(
        L("对", "correct") if right else L("错", "incorrect"),
        flip="right",
        pressed=bool(right),
        mark="1" if right else "0",
        look="up" if right else "down",
    )
    puzzle = L(
        f"题目是 {PROMPT}，每个空填 + 或 −。模型试三次，每次自己打 ✗ 或 ✓；"
        "判分程序只看最后一次。",
        f"Puzzle {PROMPT} Fill in + or −. The model marks its tries ✗ or ✓; "
        "a checker judges the last.",
    )
    tries = L("试三次", "three tries")
    drawn = [
        caption(puzzle),
        row(L("回答", "response"), heads, verdict, sub=tries, look="heads"),
    ]
    numbers = rows(right, others, drift)
    group = number(numbers[2][0][0], sign=True)
    names = {
        "REINFORCE": L("人人领同一份奖励", "the reward for each"),
        "PPO": L("价值网络：谁改变了胜算", "a critic rates each"),
        "GRPO": L(f"和七条同题回答比：{group}", f"vs seven others: {group}"),
        "GSPO": L("同样的功劳，全句一个比率", "one ratio for all"),
    }
    for name, sub, (credits, pushes), most in zip(
        names, names.values(), numbers, LARGEST, strict=True
    ):
        chips = [
            chip(
                word,
                credit=shade(c, most),
                push=max(-1, min(1, p / most)),
                dead=abs(p) < 1e-9,
                look=end,
            )
            for word, c, p, end in zip(words, credits, pushes, ends, strict=True)
        ]
        live = sum(abs(p) > 1e-9 for p in pushes)
        end = f"{live}/{COUNT}"
        # a reward is never negative; a critic's small differences need room on a phone
        ways = {"REINFORCE": "up", "PPO": "fine"}.get(name, "")
        learning = L("在学", "learning")
        drawn.append(row(name, chips, end, sub=sub, end_sub=learning, look=ways))
    given = [c for credits, _ in numbers for c in credits]
    up, down = max(given) > 0, min(given) < 0
    dead = any(abs(p) < 1e-9 for _, pushes in numbers for p in pushes)
    drawn.append(
        legend(
            ("up chip", L("功劳为正", "credit > 0"), up),
            ("down chip", L("功劳为负", "credit < 0"), down),
            ("old bar", L("柱：推力，每行自己的刻度", "bar: push, own scale per row")),
            ("off", L("没有梯度", "no gradient"), dead),
        )
    )
    return scene(*drawn, says=moral(L, right, others, numbers))


def moral(L, right, others, numbers):
    """The message of this state, in one sentence."""
    (alike, tokens), (_, whole) = numbers[2:]
    clipped = any(abs(p) < 1e-9 for p in tokens)  # some, for all are dealt with first
    if not alike[0]:
        return L(
            "大家得分一样，没有可比的，GRPO 和 GSPO 一个词元也不推。",
            "All scores are equal, nothing to compare: GRPO and GSPO push no token.",
        )
    if not any(abs(p) > 1e-9 for p in whole):
        return L(
            "数据旧了，GSPO 的比率出了界，整条回答都停下；GRPO 只停下出界的词元。",
            "Stale data: GSPO's one ratio stops every token, GRPO's ratios only some.",
        )
    if not right and clipped:
        return L(
            "只错了最后一位：PPO 把责任算在它附近，GRPO 算在所有没出界的词元头上。",
            "One digit is wrong: PPO blames the last tokens, GRPO all not clipped.",
        )
    if not right:
        return L(
            "只错了最后一位：PPO 把责任算在它附近，GRPO 和 GSPO 算在所有词元头上。",
            "One digit is wrong: PPO blames the last tokens, GRPO and GSPO all alike.",
        )
    if not others:
        return L(
            "独自答对：和同组相比，它得到的功劳最大。",
            "The only correct one: compared with its group, it earns the most.",
        )
    if clipped:
        return L(
            "PPO 认得出哪几个词元改变了胜算；GRPO 只停下出界的，其余同样对待。",
            "PPO alone tells tokens apart; GRPO only stops those that are clipped.",
        )
    return L(
        "PPO 认得出哪几个词元改变了胜算，另外三种给所有词元同样的功劳。",
        "PPO alone tells the tokens apart; the others credit all of them alike.",
    )


FIGURE = Figure(
    draw,
    dials=[
        Dial("right", [0, 1], 1, ("判分", "verdict"), kind="hidden"),
        Dial(
            "others",
            range(SIBLINGS + 1),
            2,
            ("同题另外七条回答，对几条", "correct, of seven other responses"),
        ),
        Dial("drift", range(DRIFTS), 1, ("采样后更新了几步", "updates since sampling")),
    ],
    title=(
        "一条回答只有一个分数；每个词元被推多少，由算法决定",
        "One score; the algorithm decides how each token is pushed",
    ),
    alt=(
        "一条回答的词元排成一行，下面四行是四种算法分给每个词元的功劳和推力。",
        "The tokens of one response; below, four rows with the credit and the push "
        "that four algorithms give each token.",
    ),
    presets=[
        Preset(("答对了", "a correct response"), right=1, others=2, drift=1),
        Preset(
            ("最后算错一位", "a slip in the last digit"), right=0, others=2, drift=1
        ),
        Preset(("大家都对", "everybody correct"), right=1, others=7, drift=1),
        Preset(("独自答对", "the only one correct"), right=1, others=0, drift=1),
        Preset(("数据太旧", "stale data"), right=1, others=2, drift=4),
    ],
    wide=True,
)
