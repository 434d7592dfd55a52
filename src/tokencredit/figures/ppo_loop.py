"""One iteration of PPO (一次迭代), step by step: who writes, who is kept, who moves."""

from explorer import Dial, Figure, Plot, Preset, scene, tile

EPOCHS, PARTS = 2, 2  # K and M of the picture
STEPS = EPOCHS * PARTS
LAST = 2 + STEPS  # sample, credit, the optimizer steps, and back to the start


def box(plot, ends, active, title, below):
    """A stage of the loop: a frame that is amber while it runs."""
    x0, x1 = ends
    plot.area(x0, x1, 1.3, 4.6, "old pale")
    plot.area(x0, x1, 4.45, 4.6, "sel", show=active)
    plot.text((x0 + x1) / 2, 5.05, title, "strong")
    for k, words in enumerate(below):
        plot.text((x0 + x1) / 2, 3.85 - 0.75 * k, words)


def draw(L, step):
    step = round(step)
    update = step - 1 if 2 <= step < LAST else 0  # 1 ... STEPS, or 0
    plot = Plot(x=(0, 12), y=(0, 5.6), axes=False, height=230)
    box(
        plot,
        (0, 3.2),
        step in (0, LAST),
        L("1 采样", "1 sample"),
        [L("写回答", "responses"), "log π_old", "V_old"],
    )
    box(
        plot,
        (4.1, 7.1),
        step == 1,
        L("2 记功劳", "2 credit"),
        [L("奖励 → A", "rewards → A"), "A + V_old", L("只有算术", "arithmetic")],
    )
    box(plot, (8, 12), bool(update), L("3 更新", "3 update"), [])
    for k in range(STEPS):
        epoch, part = divmod(k, PARTS)
        x, y = 8.25 + 1.85 * part, 3.05 - 1.5 * epoch
        done = step - 2 > k or step == LAST
        plot.area(x, x + 1.65, y, y + 1.2, "ink pale", show=done)
        plot.area(x, x + 1.65, y, y + 1.2, "sel", show=update == k + 1)
        plot.text(x + 0.82, y + 0.6, f"{k + 1}", "boxed")
    plot.arrow(3.3, 3, 3.85, 3, "ink")
    plot.arrow(7.2, 3, 7.75, 3, "ink")
    plot.line([(10, 1.3), (10, 0.5), (1.6, 0.5), (1.6, 0.9)], "ink")
    plot.arrow(1.6, 0.7, 1.6, 1.0, "ink")
    back = L("用新的策略重新采样", "the new policy samples again")
    plot.text(5.8, 0.5, back, "boxed")
    says = [
        L(
            "策略写出一批回答，同时存下每个词元的对数概率和价值。",
            "The policy writes a batch; log-probabilities and values are stored.",
        ),
        L(
            "奖励经 GAE 变成优势。它和存下的量从此都是常数。",
            "GAE turns rewards into advantages, constants like all that is stored.",
        ),
        L(
            "第一个更新步：新旧策略还相同，比率全是 1，等于 REINFORCE。",
            "First step: the policy is still the old one, every ratio is 1: REINFORCE.",
        ),
        L(
            "第二个更新步：参数已经动过一次，比率开始离开 1。",
            "Second step: the parameters have moved once, and ratios leave 1.",
        ),
        L(
            "第二遍：同一批数据再用一次，分母还是采样时存下的。",
            "Second epoch: the same data again, over the same stored denominator.",
        ),
        L(
            "比率越走越远，走够了的词元被裁剪。",
            "Ratios move further, and tokens that went far enough are clipped.",
        ),
        L(
            "一次迭代结束：现在的策略去采下一批。",
            "The iteration is over: the policy of now samples the next batch.",
        ),
    ][step]
    fixed, moves, idle = L("不变", "fixed"), L("更新", "moves"), "–"
    return scene(
        plot,
        says=says,
        tiles=[
            tile(
                L("策略 π_θ", "policy π_θ"),
                moves
                if update
                else (L("写回答", "writes") if step in (0, LAST) else idle),
                "",
            ),
            tile(
                L("价值网络 V", "critic V"),
                moves
                if update
                else (L("估价值", "values") if step in (0, LAST) else idle),
                "",
            ),
            tile(
                "log π_old",
                L("存下", "stored") if step in (0, LAST) else fixed,
                "",
            ),
            tile(
                L("比率 ρ", "ratio ρ"),
                "1" if update == 1 else ("≠ 1" if update else idle),
                L("更新步 ", "step ") + (f"{update}/{STEPS}" if update else idle),
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
        "PPO 的一次迭代：采一批，用 K 遍，每遍切成 M 个小批",
        "One iteration of PPO: sample once, then K epochs of M mini-batches",
    ),
    alt=(
        "三个方框从左到右：采样、记功劳、更新；更新里有两遍、每遍两个小批共四步。一支箭从更新"
        "回到采样。",
        "Three boxes from left to right: sample, credit, update; the update holds four "
        "steps, two epochs of two mini-batches. An arrow leads back to sample.",
    ),
    presets=[
        Preset(("采样", "sample"), step=0),
        Preset(("记功劳", "credit"), step=1),
        Preset(("第一个更新步", "first update"), step=2),
        Preset(("第二遍", "second epoch"), step=4),
    ],
    wide=True,
)
