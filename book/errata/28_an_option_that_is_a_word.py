"""An option that is a word."""

from torch import tensor

ARROW = "credit"
SHOWN = "08_grpo.ipynb#which-standard-deviation-of-the-group-of-the-batch-or-none"
SPEAKS_OF = {"advantage": "unscaled"}
WORDS = {
    "zh": {
        "purpose": "优势除不除以标准差，由配置决定",
        "mistake": "配置是一个词，判断时当成真假",
        "what": (
            '`scale` 原来是布尔值，后来成了 `"group"` 和 `"none"` 两个词。'
            '非空的词都是真，写着 `"none"` 也照样除。曲线看不出来，要看优势本身。'
        ),
        "law": '写着 `"none"` 时，奖励变成两倍，优势也变成两倍。',
    },
    "en": {
        "purpose": "Advantages, divided by the standard deviation if so configured",
        "mistake": "An option that is a word, read as true or false",
        "what": (
            "`scale` used to be a boolean and became one of the words "
            '`"group"` and `"none"`. A word that is not empty is true, so '
            '`"none"` divides as well. No curve shows it; look at the advantages.'
        ),
        "law": 'With `"none"`, twice the rewards give twice the advantages.',
    },
}


def wrong(rewards, scale):
    A = rewards - rewards.mean()
    return A / rewards.std() if scale else A


def right(rewards, scale):
    A = rewards - rewards.mean()
    return {"none": A, "group": A / rewards.std()}[scale]


def law(f):
    rewards = tensor([1.0, 0.0, 0.0, 0.0])
    return (f(2 * rewards, "none") == 2 * f(rewards, "none")).all()
