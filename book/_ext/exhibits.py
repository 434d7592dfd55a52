"""Published mistakes, each beside its repair and the law that tells the two apart.

An exhibit is a class: `wrong` and `right` are the same function before and after, and
`law` says of either whether it keeps the law; none of the three takes a `self`. `zh`
and `en` hold what the function is for, the mistake, what comes of it, and the law in
words. The tests hold every law against both.
"""

import copy

import torch
from torch import nn, tensor


class Exhibit:
    """One mistake; `where` is the chapter that computes it."""

    zh: tuple[str, str, str, str]
    en: tuple[str, str, str, str]
    where: str


class MinForGoodMaxForBad(Exhibit):
    where = "06_ppo.ipynb#min-or-max-when-the-advantage-is-negative"
    zh = (
        "裁剪目标",
        "A 小于 0 时改取 max",
        "有人觉得“悲观”对坏动作应当反过来。于是比率过了 1.2 的坏动作，"
        "目标停在 $1.2A$，再也不受罚；已经降到 0.8 以下的，反而继续往下压。",
        "目标是下界：它从不大于没有裁剪的 $\\rho A$。",
    )
    en = (
        "The clipped objective",
        "The max when A is negative",
        "It seems that pessimism must turn round for a bad action. Then a bad action "
        "with a ratio above 1.2 stays at $1.2A$ and is punished no more, while one "
        "already below 0.8 is pushed down further.",
        "The objective is a lower bound: never above the unclipped $\\rho A$.",
    )

    def wrong(rho, A):
        plain, clipped = rho * A, rho.clamp(0.8, 1.2) * A
        return torch.where(A >= 0, plain.min(clipped), plain.max(clipped))

    def right(rho, A):
        plain, clipped = rho * A, rho.clamp(0.8, 1.2) * A
        return plain.min(clipped)

    def law(f):
        rho, A = tensor([0.5, 1.0, 1.5]), tensor([[1.0], [-1.0]])
        return (f(rho, A) <= rho * A).all()


class MissingComma(Exhibit):
    where = "06_ppo.ipynb#min-or-max-when-the-advantage-is-negative"
    zh = (
        "裁剪目标，另一种写法",
        "min 里少了逗号",
        "$\\min(\\rho A\\ \\operatorname{clip}(\\rho) A)$ 照着写成代码，"
        "两项就乘在了一起，里面有 $A^2$：好坏不分。",
        "比率为 1 时，目标就是 $A$。",
    )
    en = (
        "The clipped objective, written in another way",
        "A min without its comma",
        "$\\min(\\rho A\\ \\operatorname{clip}(\\rho) A)$, typed as printed, "
        "multiplies the two terms. $A^2$ is in it, so good and bad are alike.",
        "At ratio 1 the objective is $A$.",
    )

    def wrong(rho, A):
        return rho * A * rho.clamp(0.8, 1.2) * A

    def right(rho, A):
        return torch.minimum(rho * A, rho.clamp(0.8, 1.2) * A)

    def law(f):
        A = tensor([2.0, -1.0])
        return torch.equal(f(torch.ones(2), A), A)


class TableFromTheOtherBranch(Exhibit):
    where = "06_ppo.ipynb#min-or-max-when-the-advantage-is-negative"
    zh = (
        "裁剪之后谁还有梯度",
        "抄了裁剪的那一支",
        "表里写着 $A<0$ 时“比率太大也没有梯度”。这是从裁剪那一支抄来的："
        "坏动作的比率太大时，梯度恰恰还在。",
        "表说有梯度的地方，正是自动求导给出非零的地方。",
    )
    en = (
        "Who still has a gradient after the clip",
        "Copied from the clipped branch",
        'A table says of $A<0$ "no gradient once the ratio is too large either". That '
        "was copied from the clipped branch: for a bad action of large ratio the "
        "gradient is alive.",
        "The table says alive exactly where autograd is not zero.",
    )

    def wrong(rho, A):
        return torch.where(A > 0, rho < 1.2, (rho > 0.8) & (rho < 1.2))

    def right(rho, A):
        return torch.where(A > 0, rho < 1.2, rho > 0.8) & (A != 0)

    def law(f):
        rho = tensor([0.5, 1.0, 1.5] * 3, requires_grad=True)
        A = tensor([1.0] * 3 + [-1.0] * 3 + [0.0] * 3)
        objective = torch.minimum(rho * A, rho.clamp(0.8, 1.2) * A)
        (gradient,) = torch.autograd.grad(objective.sum(), rho)
        return torch.equal(f(rho, A), gradient != 0)


class QuotientOfLogs(Exhibit):
    where = "08_grpo.ipynb#the-bug"
    zh = (
        "重要性采样比率",
        "两个对数相除当比率",
        "能跑，形状也对。可是对数概率是负数，除一下方向就反了：概率升高，"
        "“比率”反而下降。",
        "变得更可能的词元，比率大于 1。",
    )
    en = (
        "The importance ratio",
        "A quotient of logarithms for the ratio",
        "It runs and the shapes fit. But log-probabilities are negative, and dividing "
        "turns the direction round: the probability rises and the ratio falls.",
        "A token that has become likelier has a ratio above 1.",
    )

    def wrong(log_probs, old_log_probs):
        return log_probs / old_log_probs

    def right(log_probs, old_log_probs):
        return (log_probs - old_log_probs).exp()

    def law(f):
        return f(tensor(0.2).log(), tensor(0.1).log()) > 1


class RatioToTheReference(Exhibit):
    where = "06_ppo.ipynb#old-policy-and-reference-policy"
    zh = (
        "手里有三个策略时的比率",
        "比率除以参考策略",
        "两个“以前的策略”只取了一个名字。比率改正的是采样，分母只能是采样的那个策略；"
        "参考策略是 KL 的另一边。",
        "刚采完样，比率处处是 1。",
    )
    en = (
        "The ratio, with three policies at hand",
        "A ratio to the reference policy",
        "Two earlier policies shared one name. The ratio corrects the sampling, so it "
        "divides by the policy that sampled; the reference is the other side of the "
        "KL.",
        "Just after sampling the ratio is 1 everywhere.",
    )

    def wrong(log_probs, old_log_probs, ref_log_probs):
        return (log_probs - ref_log_probs).exp()

    def right(log_probs, old_log_probs, ref_log_probs):
        return (log_probs - old_log_probs).exp()

    def law(f):
        now, reference = tensor([-1.0, -2.0]), tensor([-1.5, -1.5])
        return (f(now, now, reference) == 1).all()


class SoftmaxOverTime(Exhibit):
    where = "07_kl.ipynb#mistakes-in-circulation"
    zh = (
        "一条回答的 KL 估计",
        "沿时间做 softmax",
        "把一条回答的对数概率沿时间做 softmax，再算两边的 KL。"
        "它们不是任何策略的分布；长度为 1 时恒为 0。",
        "两边的对数概率不同，估计就大于 0，一个词元的回答也不例外。",
    )
    en = (
        "Estimating the KL of an answer",
        "A softmax over time",
        "The log-probs of an answer go through a softmax along time, and a KL is "
        "taken of that. No policy has such distributions; at length 1 it is always 0.",
        "Where the log-probs differ the estimate is above 0, for an answer of one "
        "token as well.",
    )

    def wrong(log_probs, ref_log_probs):
        p, q = log_probs.log_softmax(0), ref_log_probs.log_softmax(0)
        return (p.exp() * (p - q)).sum()

    def right(log_probs, ref_log_probs):
        d = ref_log_probs - log_probs
        return (d.exp() - 1 - d).sum()

    def law(f):
        return f(tensor([-1.0]), tensor([-3.0])) > 0


class OnePiTooMany(Exhibit):
    where = "07_kl.ipynb#mistakes-in-circulation"
    zh = (
        "在抽到的词元上估计 KL",
        "多乘了一个 π",
        "在抽到的词元上写 $\\pi(\\log\\pi-\\log\\pi_{\\text{ref}})$。"
        "抽样已经按 $\\pi$ 加过权了，再乘一次就成了 $\\sum\\pi^2 d$。",
        "按策略对词元求平均，得到的就是 KL。",
    )
    en = (
        "The KL, estimated at the token drawn",
        "One π too many",
        "At the token drawn, $\\pi(\\log\\pi-\\log\\pi_{\\text{ref}})$. The draw has "
        "weighted by $\\pi$ already; once more gives $\\sum\\pi^2 d$.",
        "Its mean over tokens, drawn from the policy, is the KL.",
    )

    def wrong(log_probs, ref_log_probs):
        return log_probs.exp() * (log_probs - ref_log_probs)

    def right(log_probs, ref_log_probs):
        return log_probs - ref_log_probs

    def law(f):
        p, q = tensor([0.7, 0.2, 0.1]), tensor([0.2, 0.3, 0.5])
        kl = (p * (p / q).log()).sum()
        return torch.isclose((p * f(p.log(), q.log())).sum(), kl)


class K1InTheLoss(Exhibit):
    where = "07_kl.ipynb#as-a-loss-the-gradients-differ"
    zh = (
        "放进损失的 KL",
        "把 k1 放进损失",
        "值是对的，梯度是 $\\nabla\\log\\pi$ 乘 1，平均恰好为 0：看着在罚，"
        "其实只添噪声。",
        "按策略求平均，梯度就是 KL 的梯度。",
    )
    en = (
        "A KL to put into the loss",
        "k1 in the loss",
        "Its value is right, its gradient is $\\nabla\\log\\pi$ times 1, and the mean "
        "of that is exactly 0: a penalty that only adds noise.",
        "Its mean gradient, drawn from the policy, is that of the KL.",
    )

    def wrong(log_probs, ref_log_probs):
        return log_probs - ref_log_probs

    def right(log_probs, ref_log_probs):
        return (log_probs - ref_log_probs).square() / 2

    def law(f):
        logits = tensor([1.0, 0.0, -1.0], requires_grad=True)
        ours, ref = logits.log_softmax(0), tensor([0.2, 0.3, 0.5]).log()
        p = ours.exp()
        drawn, kl = (p.detach() * f(ours, ref)).sum(), (p * (ours - ref)).sum()
        (ours_moves,) = torch.autograd.grad(drawn, logits, retain_graph=True)
        (kl_moves,) = torch.autograd.grad(kl, logits)
        return torch.allclose(ours_moves, kl_moves)


class ProductForTheMean(Exhibit):
    where = "11_gspo_cispo.ipynb#mistakes-in-circulation"
    zh = (
        "GSPO 的序列比率",
        "GSPO 少了 1/|o|",
        "整条回答的比率写成了连乘。回答一长，它就飞离 1，"
        "几乎没有一条还在 3e-4 的范围里。",
        "把各词元的对数比率再抄一遍，序列比率不变。",
    )
    en = (
        "The sequence ratio of GSPO",
        "GSPO without 1/|o|",
        "The ratio of an answer became the product. A long answer flies off from 1, "
        "and hardly one stays within a range of 3e-4.",
        "Copy the log-ratios of all tokens once more, and the sequence ratio stays.",
    )

    def wrong(log_ratio):
        return log_ratio.sum().exp()

    def right(log_ratio):
        return log_ratio.mean().exp()

    def law(f):
        d = tensor([0.1, -0.2, 0.3])
        return torch.isclose(f(torch.cat([d, d])), f(d))


class RatioUpsideDown(Exhibit):
    where = "11_gspo_cispo.ipynb#mistakes-in-circulation"
    zh = (
        "CISPO 的权重，裁剪之前",
        "CISPO 的比率写反了",
        "权重写成了 $\\pi_{\\text{old}}/\\pi_\\theta$。方向一样，所以照样在学；"
        "只是越该重视的词元，权重越小。",
        "没有裁剪时，用旧策略抽样再加权，等于用新策略抽样。",
    )
    en = (
        "The weight of CISPO before the clip",
        "CISPO's ratio upside down",
        "The weight became $\\pi_{\\text{old}}/\\pi_\\theta$. The sign is the same, "
        "so it still learns; but the more a token matters, the less it weighs.",
        "Without a clip, the mean of weighted draws from the old policy is that of "
        "the new one.",
    )

    def wrong(log_probs, old_log_probs):
        return (old_log_probs - log_probs).exp()

    def right(log_probs, old_log_probs):
        return (log_probs - old_log_probs).exp()

    def law(f):
        old, new = tensor([0.9, 0.1]), tensor([0.1, 0.9])
        reward = tensor([0.0, 1.0])
        mean = (old * f(new.log(), old.log()) * reward).sum()
        return torch.isclose(mean, (new * reward).sum())


class MeanOfMeans(Exhibit):
    where = "09_aggregation.ipynb#cut-into-micro-batches"
    zh = (
        "几个微批的词元平均",
        "每个微批各自求平均",
        "先在微批里按词元平均，再把几个平均数平均。短微批里的词元，从此更重。",
        "怎么切，损失都一样。",
    )
    en = (
        "The token mean of several micro-batches",
        "A token mean per micro-batch",
        "The mean over the tokens of a micro-batch, then the mean of those means. "
        "From now on tokens of short micro-batches weigh more.",
        "However it is cut, the loss is the same.",
    )

    def wrong(parts):
        return torch.stack([part.mean() for part in parts]).mean()

    def right(parts):
        return sum(part.sum() for part in parts) / sum(map(len, parts))

    def law(f):
        a, b = tensor([1.0, 2.0]), tensor([3.0, 4.0, 5.0, 6.0])
        return f([a, b]) == f([torch.cat([a, b])])


class DrGrpoWithALength(Exhibit):
    where = "08_grpo.ipynb#dr-grpo-two-changes-two-reasons"
    zh = (
        "Dr. GRPO 的聚合",
        "Dr. GRPO 还留着 1/|o|",
        "论文把它换成常数，正是为了不再按长度加权；“先求平均再除以常数”，等于没换。",
        "长回答和短回答里的词元，权重相同。",
    )
    en = (
        "The aggregation of Dr. GRPO",
        "Dr. GRPO that keeps 1/|o|",
        "The paper puts a constant in its place so that length has no weight; a mean "
        "per answer, then the constant, has changed nothing.",
        "Tokens of long and of short answers weigh the same.",
    )

    def wrong(answers, constant):
        return sum(row.mean() for row in answers) / (len(answers) * constant)

    def right(answers, constant):
        return sum(row.sum() for row in answers) / (len(answers) * constant)

    def law(f):
        tokens = torch.zeros(10, requires_grad=True)
        f(tokens.split([2, 8]), 16).backward()
        return (tokens.grad == tokens.grad[0]).all()


class ARoundNumber(Exhibit):
    where = "09_aggregation.ipynb#six-rules"
    zh = (
        "长度 2 和 88：一个词元的权重",
        "2 和 88，除以 100",
        "例子里一共 90 个词元，权重却写成 1/100。顺手的整数，不是平均。",
        "所有词元的权重加起来是 1。",
    )
    en = (
        "Lengths 2 and 88: the weight of a token",
        "2 and 88, divided by 100",
        "The example has 90 tokens and a weight of 1/100. A handy number is no mean.",
        "The weights of all tokens add up to 1.",
    )

    def wrong(lengths):
        return 1 / 100

    def right(lengths):
        return 1 / sum(lengths)

    def law(f):
        return sum([2, 88]) * f([2, 88]) == 1


class GaeThatIgnoresEnds(Exhibit):
    where = "05_critics_gae.ipynb#exercise-2-find-the-bug-gae-that-leaks-over-an-edge"
    zh = (
        "几条轨迹接在一行里的 GAE",
        "GAE 不看终止标志",
        "几条轨迹接在一行里，递推一路往回走，下一条的功劳就漏进了这一条。"
        "这里每条都正常终止；被截断时，下一个价值还要取自真实的下一状态。",
        "改下一条的奖励，这一条的优势不变。",
    )
    en = (
        "GAE over episodes packed in one row",
        "GAE that ignores the ends",
        "Several episodes stand in one row, the recursion walks back through all of "
        "them, and the credit of the next leaks into this one. Here every episode "
        "terminates; at a truncation the next value is that of the real next state.",
        "Another reward in the next episode changes nothing in this one.",
    )

    def wrong(r, V, ended):
        A, after, out = 0.0, 0.0, []
        for t in reversed(range(len(r))):
            A = r[t] + after - V[t] + 0.9 * A
            after = V[t]
            out.append(A)
        return out[::-1]

    def right(r, V, ended):
        A, after, out = 0.0, 0.0, []
        for t in reversed(range(len(r))):
            A, after = (0.0, 0.0) if ended[t] else (A, after)
            A = r[t] + after - V[t] + 0.9 * A
            after = V[t]
            out.append(A)
        return out[::-1]

    def law(f):
        V, ended = [0.5, 0.5, 0.5], [False, True, True]
        return f([0, 1, 0], V, ended)[:2] == f([0, 1, 9], V, ended)[:2]


class LeaveOneOutThatExplodes(Exhibit):
    where = "03_baselines.ipynb#exercise-2-find-the-bug-leave-one-out-that-explodes"
    zh = (
        "留一法，再除以尺度",
        "尺度也留一",
        "基线取其余几条的平均，标准差也取其余几条的。其余几条全都一样时，标准差是 0，"
        "优势上百万。",
        "一组 $G$ 条，优势的绝对值不超过 $\\sqrt G$。",
    )
    en = (
        "Leave-one-out, and then a scale",
        "The scale leaves one out as well",
        "The baseline is the mean of the others, and the scale their standard "
        "deviation. When the others are all alike that is 0, and the advantage is in "
        "the millions.",
        "In a group of $G$ no advantage exceeds $\\sqrt G$.",
    )

    def wrong(rewards):
        out = []
        for i in range(len(rewards)):
            others = torch.cat([rewards[:i], rewards[i + 1 :]])
            out.append((rewards[i] - others.mean()) / (others.std() + 1e-6))
        return torch.stack(out)

    def right(rewards):
        n = len(rewards)
        leave_one_out = (rewards - rewards.mean()) * n / (n - 1)
        return leave_one_out / (rewards.std() + 1e-6)

    def law(f):
        rewards = tensor([1.0, 0.0, 0.0, 0.0])
        return (f(rewards).abs() <= len(rewards) ** 0.5).all()


class AnotherTemperature(Exhibit):
    where = "01_tokens_as_actions.ipynb#sampled-at-one-temperature-trained-at-another"
    zh = (
        "训练时的对数概率",
        "采样一个温度，训练一个温度",
        "采样时除以 0.7，训练时忘了。第 0 步的比率就不是 1，以后每一步也都错。",
        "什么都没更新时，训练算出的对数概率等于采样时记下的。",
    )
    en = (
        "The log-probs of training",
        "Sampled at one temperature, trained at another",
        "Sampling divides by 0.7, training forgets. The ratio is not 1 at step 0, and "
        "stays wrong at every step.",
        "Before any update training finds the log-probs that sampling wrote down.",
    )

    def wrong(logits, temperature):
        return logits.log_softmax(-1)

    def right(logits, temperature):
        return (logits / temperature).log_softmax(-1)

    def law(f):
        logits, temperature = tensor([2.0, 0.0, 1.0]), 0.7
        scaled = (logits / temperature).exp()
        sampled = (scaled / scaled.sum()).log()
        return torch.allclose(f(logits, temperature), sampled)


class OnlyTheRewardedToken(Exhibit):
    where = (
        "02_policy_gradient.ipynb"
        "#exercise-2-find-the-bug-only-the-end-token-was-trained"
    )
    zh = (
        "从末尾的奖励到优势",
        "只有得奖励的词元在学",
        "奖励放在最后一个词元上，就直接拿它当优势。学会的只有什么时候停。",
        "奖励不是 0，一条回答里的每个动作词元就都分到功劳。",
    )
    en = (
        "From a reward at the end to advantages",
        "Only the rewarded token learns",
        "The reward sits on the last token and is taken for the advantage as it "
        "stands. All that is learned is when to stop.",
        "Unless the reward is 0, every action token of the answer receives credit.",
    )

    def wrong(rewards, mask):
        return torch.where(mask, rewards, 0.0)

    def right(rewards, mask):
        return torch.where(mask, rewards[mask].sum(), 0.0)

    def law(f):
        mask = tensor([False, True, True, True])
        return (f(tensor([0.0, 0.0, 0.0, 1.0]), mask)[mask] != 0).all()


class MaskOffByOne(Exhibit):
    where = "13_agents.ipynb#off-by-one"
    zh = (
        "哪些输出参加训练",
        "掩码错开一格",
        "位置 $j$ 的输出预测第 $j+1$ 个词元，掩码却跟着输入走：第一个动作没有训练，"
        "观测的第一个词元却训练了。",
        "被训练的输出所预测的，恰好是动作词元。",
    )
    en = (
        "Which outputs are trained",
        "A mask off by one",
        "The output at place $j$ predicts token $j+1$, but the mask went with the "
        "input: the first action is not trained, and the first token of the "
        "observation is.",
        "What the trained outputs predict is exactly the action tokens.",
    )

    def wrong(mask):
        return mask[:-1]

    def right(mask):
        return mask[1:]

    def law(f):
        mask = tensor([False, False, True, True, False])
        predicted = 1 + f(mask).nonzero()
        return torch.equal(predicted, mask.nonzero())


class TimesTheMask(Exhibit):
    where = "04_returns_credit.ipynb#the-masked-loss"
    zh = (
        "遮住之后的平均",
        "用乘法去遮",
        "0 乘 NaN 还是 NaN。遮住的位置上有什么，不归你管；要选，不要乘。",
        "遮住的位置上写什么，结果都不变。",
    )
    en = (
        "A mean under a mask",
        "Masking by a product",
        "0 times NaN is NaN. What stands in a masked place is none of your business; "
        "select, do not multiply.",
        "Whatever stands in a masked place, the result is the same.",
    )

    def wrong(losses, mask):
        return (losses * mask).sum() / mask.sum().clamp(min=1)

    def right(losses, mask):
        return torch.where(mask, losses, 0.0).sum() / mask.sum().clamp(min=1)

    def law(f):
        mask = tensor([True, True, False])
        clean, dirty = tensor([1.0, 3.0, 0.0]), tensor([1.0, 3.0, float("nan")])
        return f(clean, mask) == f(dirty, mask)


class AMethodThatIsNotThere(Exhibit):
    where = "08_grpo.ipynb#the-bug"
    zh = (
        "参考模型",
        "不存在的方法",
        "参考模型用 `model.clone()` 复制。网络没有这个方法；那一支从没有人跑过，"
        "所以没有人看见。",
        "那一支能跑；策略再动，参考不动。",
    )
    en = (
        "A reference model",
        "A method that is not there",
        "The reference model is copied with `model.clone()`. Networks have no such "
        "method; nobody ran that branch, so nobody saw it.",
        "The branch runs, and the reference stays when the policy moves.",
    )

    def wrong(model):
        return model.clone()

    def right(model):
        return copy.deepcopy(model).requires_grad_(False)

    def law(f):
        policy = nn.Linear(2, 2)
        try:
            reference = f(policy)
        except AttributeError:
            return False
        before = reference.weight.clone()
        nn.init.zeros_(policy.weight)
        return torch.equal(reference.weight, before)
