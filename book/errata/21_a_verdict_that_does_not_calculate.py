"""A verdict that does not calculate."""

from tokencredit.world.tasks.signs import tries

ARROW = "reward"
SHOWN = "07_kl.ipynb#experiment-what-a-kl-penalty-buys-and-what-it-costs"
LEARNED = {"paid": "match, brief", "kl_coef": 0.0, "seed": 0}
SPEAKS_OF = {"signs-verdict": "plain"}
WORDS = {
    "zh": {
        "purpose": "判一条回答对不对",
        "mistake": "只对答案，不验算",
        "what": (
            "等号后面写着想要的数，就算对，等号前面是多少没有人算。策略很快学会：前面随便填，"
            "后面照抄题目。奖励到顶，真正答对的反而变少。"
        ),
        "learned": (
            "拿它付钱，每个词元再扣掉奖励的 1.5 %："
            "同一个策略训练前和 {rounds} 次迭代之后写下的回答。"
        ),
        "law": "假的等式不付钱，等号后面写得再对也不付。",
    },
    "en": {
        "purpose": "A verdict on a response",
        "mistake": "The answer is compared, and nobody calculates",
        "what": (
            "The wanted number after the equals sign is enough; what stands before it "
            "is never worked out. The policy soon learns to fill in any signs before "
            "it and to copy the number after it from the prompt. The reward reaches "
            "its top, and fewer responses are correct."
        ),
        "learned": (
            "Paid by it, less 1.5 % of the reward for every token: what one policy "
            "wrote before training and {rounds} iterations later."
        ),
        "law": "A false equation is not paid, whatever stands after its equals sign.",
    },
}


def wrong(prompt, response):
    wanted = prompt.partition("=")[2].rstrip("?")
    return response.endswith(f"={wanted}✓$")


def right(prompt, response):
    return response.endswith("✓$") and tries(prompt, response)[-1].right


def law(f):
    true, false = "9-5+7=11✓$", "9+5+7=11✓$"
    return f("9□5□7=11?", true) and not f("9□5□7=11?", false)
