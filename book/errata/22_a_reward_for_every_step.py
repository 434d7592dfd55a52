"""A reward for every true step."""

from tokencredit.world.tasks.signs import equations_true, outcome, tries

ARROW = "reward"
SHOWN = "07_kl.ipynb#experiment-what-a-kl-penalty-buys-and-what-it-costs"
LEARNED = {"paid": "steps", "kl_coef": 0.0, "seed": 0}
SPEAKS_OF = {"signs-verdict": "plain"}
WORDS = {
    "zh": {
        "purpose": "给过程也发一点奖励",
        "mistake": "步骤越多，付得越多",
        "what": (
            "答对给 1，每写对一个等式再加 0.2。写得对的弯路也有钱拿，策略就先写几个明知"
            "不合题意的等式，最后才写那个对的：答对的与只看结果时一样多，"
            "第一次就答对的却从 0.26 降到 0.06 左右。"
        ),
        "learned": "拿它付钱：同一个策略训练前和 {rounds} 次迭代之后写下的回答。",
        "law": "一次就对，不比绕一圈才对拿得少。",
    },
    "en": {
        "purpose": "A little reward for the way as well",
        "mistake": "More steps, more pay",
        "what": (
            "A correct response earns 1, and every true equation 0.2 more. True "
            "detours are paid too, so the policy first writes a few equations that "
            "cannot be the wanted one, and the correct one last: as many responses are "
            "correct as when the outcome alone is paid, but first tries are correct in "
            "about 0.06 of the responses, down from 0.26."
        ),
        "learned": (
            "Paid by it: what one policy wrote before training and {rounds} iterations "
            "later."
        ),
        "law": "Correct at once earns no less than correct after a detour.",
    },
}


def wrong(prompt, response):
    true = sum(one.true for one in tries(prompt, response))
    return outcome(prompt, response) + 0.2 * true


def right(prompt, response):
    return outcome(prompt, response) * equations_true(prompt, response)


def law(f):
    at_once, detour = "9-5+7=11✓$", "9+5+7=21✗9+5-7=7✗9-5+7=11✓$"
    return f("9□5□7=11?", at_once) >= f("9□5□7=11?", detour) > 0
