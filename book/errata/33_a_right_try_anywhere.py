"""A verdict that is content with a correct equation anywhere."""

from tokencredit.world.tasks.signs import outcome, tries

ARROW = "reward"
SHOWN = "07_kl.ipynb#experiment-what-a-kl-penalty-buys-and-what-it-costs"
LEARNED = {"paid": "anywhere", "kl_coef": 0.0, "seed": 4}
SPEAKS_OF = {"signs-verdict": "plain"}
WORDS = {
    "zh": {
        "purpose": "判一条回答",
        "mistake": "对的等式出现过就算",
        "what": (
            "回答里只要出现过对的等式就给 1。起初这和真正的判分几乎一样，成功率也跟着"
            "涨；后来策略发现，把四种填法全写一遍，不管哪个打 ✓，总能碰上：对的那个"
            "打了 ✗，最后一个打 ✓，照样得分。"
        ),
        "learned": "拿它付钱：同一个策略训练前和 {rounds} 次迭代之后写下的回答。",
        "law": "对的等式被打了 ✗，错的打了 ✓，不给分。",
    },
    "en": {
        "purpose": "A verdict on the response",
        "mistake": "A correct equation anywhere will do",
        "what": (
            "A correct equation anywhere in the response earns 1. At first this is "
            "almost the true verdict, and success rises with it. Then the policy finds "
            "that writing down all four fillings always hits: the correct one is "
            "rejected with ✗, the last one gets the ✓, and the reward is still 1."
        ),
        "learned": (
            "Paid by it: what one policy wrote before training and {rounds} iterations "
            "later."
        ),
        "law": (
            "Rejecting the correct equation and accepting another one earns nothing."
        ),
    },
}


def wrong(prompt, response):
    return float(any(one.right for one in tries(prompt, response)))


def right(prompt, response):
    return outcome(prompt, response)


def law(f):
    rejected, accepted = "9-5+7=11✗9-5-7=11✓$", "9-5+7=11✓$"
    return f("9□5□7=11?", rejected) == 0 < f("9□5□7=11?", accepted)
