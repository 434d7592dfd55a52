"""Texts for students and teachers, in each language."""

from tokenbook.languages import LANGUAGES

WORDS = {
    "stub": {"zh": "请在这里写出你的答案", "en": "write your answer here"},
    "held back": {
        "zh": "批改时会在这里运行不公开的检查：{points}",
        "en": "Checks that are not shown run here when your work is graded: {points}",
    },
    "title": {"zh": "# 作业：{title}", "en": "# Homework: {title}"},
    "where": {
        "zh": "这是《词元的功劳》第 {number} 章的练习，题目里说的正文就是那一章。",
        "en": (
            "These are the exercises of chapter {number} of Token Credit; "
            "what they call the text is that chapter."
        ),
    },
    "points in all": {
        "zh": "一共 {points} 分；每个检查的第一行写着它的分数。",
        "en": "{points} points in all; the first line of each check says its points.",
    },
    "point": {"zh": "{points} 分", "en": "{points} point"},
    "points": {"zh": "{points} 分", "en": "{points} points"},
    "versions": {
        "zh": "用 Python {python} 和 PyTorch {torch} 试过。",
        "en": "Tried with Python {python} and PyTorch {torch}.",
    },
    "installs": {
        "zh": "没有课程的包时装一次（Colab、ModelScope、Kaggle）",
        "en": "Installs the course's package where it is missing (Colab, Kaggle)",
    },
    "no package": {
        "zh": "有的公开检查要用课程的包；Colab、ModelScope、Kaggle 上没有它",
        "en": "Some public checks use the course's package; Colab and Kaggle lack it",
    },
    "put package": {
        "zh": "请把老师给的 tokencredit-*.whl 放到这个笔记本旁边，再运行一次",
        "en": "put your teacher's tokencredit-*.whl beside this notebook, run again",
    },
    "instructions": {
        "zh": (
            "把每道题里 `raise NotImplementedError` 那一行换成你的答案，"
            "再运行它下面的检查。\n"
            "检查没有报错就是通过；报错时，消息会说明哪里不对。\n\n"
            "- 只改答案单元格。批改用的是原始检查，改动或删除检查不影响分数。\n"
            "- 每题答案的第一行 `# exercise: ...` 请保留。\n"
            "- 题目没有另说时，答案里可以用 torch 和你自己写的函数。\n"
            "- 答案里不能调用 `tokencredit`：批改时没有它。\n"
            "- 不要读写文件，不要联网；每道题限时 10 秒，整份 60 秒。\n"
            "- 交之前从头运行一遍整个笔记本，然后只交这一个文件。"
        ),
        "en": (
            "In each exercise, replace the line `raise NotImplementedError` with your "
            "answer and run the check below it.\n"
            "No error means that it passes; an error's message says what is wrong.\n\n"
            "- Change answer cells only. Grading uses the original checks: editing or "
            "deleting one changes no score.\n"
            "- Keep the first line of each answer, `# exercise: ...`.\n"
            "- Unless a task says otherwise, use torch and your own functions; not "
            "`tokencredit`: it is absent while grading.\n"
            "- Read and write no files, open no connection; each exercise has "
            "10 seconds, the whole notebook 60.\n"
            "- Before you hand in, run the whole notebook from the top, then hand in "
            "this one file."
        ),
    },
    "feedback": {"zh": "批改结果：{name}", "en": "Feedback: {name}"},
    "student": {"zh": "学生：{student}", "en": "Student: {student}"},
    "file": {"zh": "批改的文件：{file}", "en": "File graded: {file}"},
    "total": {"zh": "总分：{total} / {points}", "en": "Total: {total} / {points}"},
    "passed": {"zh": "通过", "en": "passed"},
    "failed": {"zh": "未通过", "en": "not passed"},
    "public": {"zh": "公开检查", "en": "public check"},
    "hidden": {"zh": "不公开的检查", "en": "held-back check"},
    "nothing": {
        "zh": "这份作业没有批改成：{problem}。",
        "en": "This submission could not be graded: {problem}.",
    },
}
REASONS = {
    "stub": {
        "zh": "这道题还没有作答：`raise NotImplementedError` 那一行还在。",
        "en": (
            "This exercise is not answered yet: the line `raise NotImplementedError` "
            "is still there."
        ),
    },
    "assert": {"zh": "检查没有通过。", "en": "The check does not hold."},
    "check": {
        "zh": "检查处理你的返回值时出错。类型或形状可能不对。",
        "en": "The check failed on what you returned. Its type or shape may be wrong.",
    },
    "missing": {
        "zh": "没有找到 `{text}`。答案被删掉了，或者改了名字？",
        "en": "`{text}` is not there. Was the answer deleted or renamed?",
    },
    "timeout": {
        "zh": "没有在限定时间内结束。循环会停下来吗？",
        "en": "It did not finish in time. Does every loop end?",
    },
    "died": {
        "zh": "运行答案的进程中途结束了（`os._exit` 或崩溃？）。",
        "en": "The process running the answer ended (`os._exit` or a crash?).",
    },
    "over": {
        "zh": "整份作业的运行时间用完了，这一题没有再运行。",
        "en": "The time for the whole notebook was used up; this was not run.",
    },
    "None": {
        "zh": "它返回了 `None`。用 `return` 返回结果，`print` 不算。",
        "en": "It returned `None`. Return the result: printing it is not enough.",
    },
    "lost": {
        "zh": "运行答案的进程多次中断，没有再试。",
        "en": "The process that ran the answer was lost too often; no further try.",
    },
    "forged": {
        "zh": "答案发回的数据不合格式。",
        "en": "The answer sent back data in no valid form.",
    },
    "SystemExit": {
        "zh": "答案调用了 `sys.exit`。请返回结果，不要退出。",
        "en": "The answer called `sys.exit`. Return the result instead of leaving.",
    },
    "MemoryError": {
        "zh": "用了太多内存。",
        "en": "It used too much memory.",
    },
    "Unsendable": {
        "zh": (
            "返回了 `{text}`，批改用不了。"
            "请返回张量、数字、文字，或它们的列表、元组、字典。"
        ),
        "en": (
            "It returned `{text}`, which cannot be graded. Return tensors, numbers, "
            "text, or lists, tuples and dicts of these."
        ),
    },
    "PackageAbsent": {
        "zh": "答案调用了 `{text}`。请自己写，批改时没有这个包。",
        "en": "It called `{text}`. Write it yourself; the package is absent here.",
    },
    "raised": {
        "zh": "运行答案时出错{where}：",
        "en": "The answer raised an error{where}:",
    },
    "quiet": {
        "zh": "运行答案时出错{where}：`{kind}`。不公开的检查不显示错误消息。",
        "en": "The answer raised `{kind}`{where}. Held-back checks show no message.",
    },
    "line": {"zh": "（第 {line} 行）", "en": " (line {line})"},
}
PROBLEMS = {  # the first that fits is used
    "link": {
        "zh": "交来的是链接，不是文件；请上传笔记本本身",
        "en": "a link was handed in; please upload the notebook itself",
    },
    "no-notebook": {"zh": "没有找到笔记本文件", "en": "there is no notebook file"},
    "too-large": {
        "zh": "文件超过 20 MB；请清除所有输出后重新保存",
        "en": "the file is larger than 20 MB; clear all outputs and save it again",
    },
    "unreadable": {
        "zh": "文件不是可以读取的笔记本",
        "en": "the file is not a readable notebook",
    },
    "grader-error": {
        "zh": "批改程序出错，请告诉老师",
        "en": "the grader failed, please tell your teacher",
    },
}
NOTES = {
    "changes-arguments": {
        "zh": "函数改动了传给它的参数。请先复制，再计算。",
        "en": "The function changes the arguments it was given. Copy before computing.",
    },
    "published-answer": {
        "zh": "答案与书中公布的解答逐字相同。",
        "en": "The answer is the same as the published solution.",
    },
    "in-text": {
        "zh": "第 {cell} 个单元格是文字，不是代码，所以里面的答案没有运行。",
        "en": "Cell {cell} is text and no code, so the answer in it did not run.",
    },
    "in-class": {
        "zh": "第 {cell} 个单元格把答案写在一个类里；请写成单独的函数。",
        "en": "Cell {cell} has the answer inside a class; write a function of its own.",
    },
    "network": {"zh": "答案试图联网，被拒绝。", "en": "It tried to open a connection."},
    "files": {
        "zh": "答案试图读写自己文件夹以外的文件，被拒绝。",
        "en": "It tried to reach files outside its folder; this was refused.",
    },
    "processes": {
        "zh": "答案启动了别的程序；它们已经结束。",
        "en": "It started other programs, which have been ended.",
    },
    "duplicates": {
        "zh": "同一道题有几个答案单元格；最后定义的那个算数。",
        "en": "An exercise has several answer cells; the last definition counts.",
    },
    "slow-cells": {
        "zh": "这些单元格太慢，批改时没有运行完：{cell}。",
        "en": "Too slow to be run to their end while grading: cells {cell}.",
    },
    "other-chapter": {
        "zh": "这是另一章的笔记本。",
        "en": "This is the notebook of another chapter.",
    },
    "late": {"zh": "迟交。", "en": "Handed in late."},
    "outside-zip": {
        "zh": "压缩包里有指向包外的路径，已跳过。",
        "en": "The zip names paths outside itself; they were left out.",
    },
    "several-notebooks": {
        "zh": "交来了几个笔记本；只批改了上面写的那一个。",
        "en": "Several notebooks were handed in; only the one named above was graded.",
    },
}
PAGE = {  # the report about a class
    "title": {"zh": "班级报告：{name}", "en": "Class report: {name}"},
    "summary": {
        "zh": "{students} 份作业，总分中位数 {median} / {points}。",
        "en": "{students} submissions, median total {median} of {points}.",
    },
    "distribution": {"zh": "总分分布", "en": "Distribution of totals"},
    "exercises": {"zh": "逐题结果", "en": "By exercise"},
    "failed": {"zh": "最常失败的检查", "en": "Checks failed most often"},
    "flags": {"zh": "标记", "en": "Flags"},
    "points": {"zh": "分", "en": "points"},
    "students": {"zh": "人数", "en": "students"},
    "exercise": {"zh": "题", "en": "exercise"},
    "mean": {"zh": "平均分", "en": "mean"},
    "full": {"zh": "满分人数", "en": "full marks"},
    "none": {"zh": "零分人数", "en": "zero"},
    "check": {"zh": "检查", "en": "check"},
    "message": {"zh": "最常见的反馈", "en": "commonest message"},
    "flag": {"zh": "标记", "en": "flag"},
    "who": {"zh": "谁", "en": "who"},
}
RUBRIC = {  # the form for marks by hand, and their place in the feedback
    "title": {"zh": "文字题评分：{name}", "en": "Marks by hand: {name}"},
    "how": {
        "zh": "学生说到了哪一点，就勾哪一点。存下来的 {file} 放进批改结果的文件夹，"
        "以后再做这一页，勾过的还在。",
        "en": "Tick what each student says. Put the saved {file} into the folder of "
        "results; if this page is made again, the ticks are still there.",
    },
    "save": {"zh": "存为 {file}", "en": "Save {file}"},
    "unsaved": {"zh": "还没有存", "en": "not saved yet"},
    "nothing": {"zh": "没有写文字。", "en": "No words were written."},
    "more": {"zh": "另加的分", "en": "More points"},
    "comment": {"zh": "评语", "en": "Comment"},
    "by hand": {"zh": "老师评分：{points}", "en": "Marked by hand: {points}"},
}
CALENDAR = {
    "title": {"zh": "作业日历", "en": "Homework calendar"},
    "homework": {"zh": "作业", "en": "homework"},
    "set": {"zh": "布置", "en": "set"},
    "due": {"zh": "截止", "en": "due"},
    "event": {"zh": "作业截止：{title}", "en": "Homework due: {title}"},
}

TABLES = (WORDS, REASONS, PROBLEMS, NOTES, PAGE, RUBRIC, CALENDAR)
SPOKEN = [
    lang
    for lang in LANGUAGES
    if all(lang in words for table in TABLES for words in table.values())
]
