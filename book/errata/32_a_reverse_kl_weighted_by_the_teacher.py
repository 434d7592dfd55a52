"""A reverse KL weighted by the teacher."""

from torch import tensor

ARROW = "reward"
SHOWN = "07_kl.ipynb#reverse-and-forward-kl-it-depends-on-who-samples"
SPEAKS_OF = {"reverse-kl": "plain"}
WORDS = {
    "zh": {
        "purpose": "反向 KL：学生写的，老师写得出来吗",
        "mistake": "反向 KL 写成了正向",
        "what": (
            "反向 KL 按学生求平均，这里却按老师求平均，那是正向 KL。"
            "学生写了老师从不写的词元，它几乎不罚；两个峰之间的谷，它也鼓励学生去填。"
            "文档里写的方向与采样的方向对不上，就该怀疑。"
        ),
        "law": "学生有一半写的是老师几乎不写的词元，这个数必须很大。",
    },
    "en": {
        "purpose": "The reverse KL: would the teacher write what the student writes?",
        "mistake": "A reverse KL weighted by the teacher",
        "what": (
            "The reverse KL is a mean over the student, and this is a mean over the "
            "teacher, which is the forward KL. It hardly penalises what the teacher "
            "never writes, and it asks the student to fill the valley between two "
            "humps. If the direction in the text and the one that samples differ, "
            "something is wrong."
        ),
        "law": (
            "If half of what the student writes the teacher hardly ever writes, the "
            "number must be large."
        ),
    },
}


def wrong(student, teacher):
    return (teacher.exp() * (teacher - student)).sum()


def right(student, teacher):
    return (student.exp() * (student - teacher)).sum()


def law(f):
    student, teacher = tensor([0.5, 0.5]).log(), tensor([1 - 1e-9, 1e-9]).log()
    return f(student, teacher) > 5
