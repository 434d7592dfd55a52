"""A verdict that does not calculate."""

from tokencredit.world.tasks.signs import tries

ARROW = "reward"
SHOWN = "07_kl.ipynb#experiment-the-frontier-of-reward-and-kl"
LEARNED = {"paid": "match, brief", "kl_coef": 0.0, "seed": 0}
WORDS = {
    "zh": {
        "purpose": "判一条回答对不对",
        "mistake": "只对答案，不验算",
        "what": (
            "等号后面写着想要的数，就算对，左边是多少没有人算。策略很快学会：左边随便填，"
            "右边照抄题目。奖励到顶，真正答对的反而变少。"
        ),
        "learned": (
            "拿它付钱，每个词元再扣 1.5 %："
            "同一个策略训练前和 {rounds} 次迭代之后写下的回答。"
        ),
        "law": "假的等式不付钱，右边写得再对也不付。",
    },
    "en": {
        "purpose": "A verdict on a response",
        "mistake": "The answer is compared, and nobody calculates",
        "what": (
            "The wanted number after the equality sign is enough; what stands before "
            "it is never worked out. The policy soon learns to put any signs on the "
            "left and to copy the right side from the prompt. The reward is at its "
            "top, and fewer responses are correct."
        ),
        "learned": (
            "Paid by it, 1.5 % off for every token: what one policy wrote before "
            "training and {rounds} iterations later."
        ),
        "law": "A false equation is not paid, whatever its right side says.",
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
