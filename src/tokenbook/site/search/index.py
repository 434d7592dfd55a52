"""Index of the text of every section, for ``search.js``.

Sphinx indexes pages by word stems and never cuts a Chinese query. Here the index holds
the sentences themselves, section by section, so that any run of characters is found, a
result leads to the section, and its excerpt is a sentence, also for a page opened from
disk. Code and outputs are not searched, except in the reference of the package. A
question of the interview bank is a section of its own, and so is a key of a log.
"""

import html
import json
import re
from collections.abc import Iterable
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from tokenbook.languages import SOURCE, pick
from tokenbook.languages.data import load
from tokenbook.languages.pages import chapter_number
from tokenbook.site.pages.course import plan
from tokenbook.site.pages.road import is_side
from tokenbook.symptoms import log_keys

WORDS = {  # texts of the script
    "found": "找到 {} 处 | Places found: {}",
    "none": "没有找到。换一个词，或者看{}。"
    " | Nothing found. Try another word, or look into the {}.",
    "glossary": "记号与术语 | glossary",
    "instead": "“{lost}”没有找到，下面是“{word}”的 {} 处。"
    " | Nothing for “{lost}”. Showing {} places for “{word}”.",
    "gone": "“{}”全书都没有。 | “{}” is nowhere in the book.",
    "typed": "仍然只找“{}” | Search only for “{}”",
    "half": "没有一处有全部的词，{} 处有其中几个"
    " | No place has all the words; {} have some of them",
    "begins": "没有“{word}”这个词，{} 处有以它开头的词"
    " | No word “{word}”; {} places with words that begin so",
    "all": "全部 {} 处 → | All {} places →",
    "more": "另外 {} 处 | {} more",
    "hits": "最先找到的几处 | First places found",
    "halfMore": "只有其中几个词 | With only some of the words",
    "beginsMore": "以它开头的其他词 | Other words that begin so",
    "side": "选读 | side road",
    "opening": "本页开头 | Opening of the page",
    "log": "像是日志：读我的日志 → | It looks like a log: Read my log →",
}
SYMPTOMS = "book/symptoms"
ASKED = Path(__file__).with_name("asked.yml")  # other words for a symptom
SEEN = Path(__file__).with_name("seen.yml")  # words of reports, and their symptoms
SKIP = (
    nodes.literal_block,
    nodes.doctest_block,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
    nodes.title,
    nodes.section,
    nodes.image,
    addnodes.only,
)
BLOCKS = (
    nodes.paragraph,
    nodes.term,
    nodes.row,
    nodes.rubric,
    nodes.caption,
    addnodes.desc_signature,
)
QUESTION = re.compile(  # in the bank it has an anchor, in its chapter none
    r'<details class="qa"(?:[^>]* id="([^"]*)")?[^>]*>\s*<summary>(.*?)</summary>', re.S
)
EQUATION = re.compile("⋯(.*?)⋯")  # a label, until all pages are read: then its number
GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "varepsilon": "ε",
    "epsilon": "ε",
    "eta": "η",
    "theta": "θ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "phi": "φ",
    "Gamma": "Γ",
    "Delta": "Δ",
    "nabla": "∇",
    "sum": "Σ",
    "approx": "≈",
    "cdot": "·",
    "times": "×",
    "pm": "±",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "ne": "≠",
    "neq": "≠",
    "infty": "∞",
    "mathbb{E}": "E",
    "to": "→",
    "mid": "|",
    "in": "∈",
    "log": "log ",
    "exp": "exp ",
    "Theta": "Θ",
    "Phi": "Φ",
    "Psi": "Ψ",
    "chi": "χ",
    "omega": "ω",
    "xi": "ξ",
    "ell": "ℓ",
    "partial": "∂",
    "prod": "Π",
    "sim": "~",
    "gg": "≫",
    "forall": "∀",
    "leftarrow": "←",
    "dots": "…",
    "cdots": "…",
    "lvert": "|",
    "rvert": "|",
    "lVert": "‖",
    "rVert": "‖",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "max": "max ",
    "min": "min ",
    "ln": "ln ",
    "top": "T",
    "prime": "′",
    "ast": "*",
    "star": "*",
}
LOW = str.maketrans(
    "0123456789+-=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ"
)
HIGH = str.maketrans(
    "0123456789+-=()abcdefghijklmnoprstuvwxyzTβγδφχ*′",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀᵝᵞᵟᵠᵡ*′",
)
OVER = {"bar": "\u0304", "hat": "\u0302", "tilde": "\u0303"}  # combining signs
INSIDE = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*"  # of braces, two deep
PART = rf"\s*(?:\{{({INSIDE})\}}|(\\[a-zA-Z]+|[^\s\\{{}}]))"
FRACTION = re.compile(rf"\\[td]?frac{PART}{PART}")
ROOT = re.compile(rf"\\sqrt{PART}")
RAISED = re.compile(rf"([_^])(?:\{{({INSIDE})\}}|([^\s{{}}\\]))")
ACCENT = re.compile(rf"\\({'|'.join(OVER)}){PART}")
SCALED = (  # synonyms of normalising in the book
    *(f"standardiz{end}" for end in ("e", "ing", "ation")),
    *(f"divid{end} by the standard deviation" for end in ("e", "ed", "ing")),
    *(f"divid{end} by the std" for end in ("e", "ed", "ing")),
    "标准化",
    "归一化",
    "除以标准差",
)
SAME = (  # a short form finds its long forms, in every edition
    *((f"normaliz{end}", *SCALED) for end in ("e", "ed", "ing", "ation")),
    ("归一化", *SCALED),
    ("std", "standard deviation", "标准差"),
    ("var", "variance", "方差"),
    ("adv", "advantage", "优势"),
    ("lr", "learning rate", "学习率"),
    ("ref", "reference", "参考"),
    ("logprob", "log-prob", "对数概率"),
    ("logprobs", "log-prob", "对数概率"),
    ("clip", "裁剪"),
    ("entropy", "熵"),
    ("baseline", "基线"),
    ("critic", "价值网络"),
    ("ratio", "比率"),
    ("mask", "掩码"),
    ("reward", "奖励"),
    ("zero", "is 0", "both 0", "be 0"),
    ("loss", "损失"),
    ("grad", "gradient", "梯度"),
    ("beta", "β", "kl coefficient", "kl_coef", "kl 系数"),
    ("gamma", "γ"),
    ("lambda", "λ"),
    ("epsilon", "ε"),
    ("rho", "ρ"),
    ("flat", "never rises", "does not rise", "stays or falls"),
    ("stuck", "never rises", "does not rise"),
    ("collapse", "falls to 0", "崩溃", "掉到 0"),
    ("retokenization", "encoding again", "tokenizes again", "再编码"),
    ("平", "不涨", "不动"),
    ("塌", "崩溃", "掉到 0"),
    ("崩", "崩溃", "掉到 0"),
    ("不学", "学不到", "不涨"),
    ("零", "零", "是 0", "为 0"),
    ("为零", "是 0", "为 0"),
)
COMMAND = re.compile(r"\\(mathbb\{E\}|[a-zA-Z]+)\s?")
BEFORE_STOP = re.compile(r" (?=[.,;:，。；：）])")  # left by a citation
SPACES = re.compile(r"\\[,;:!\s]|[{}~\\]|\s+")


def plain(tex: str) -> str:
    r"""Return a formula as words of one line.

    >>> plain(r"\rho_t A_t \le 1 + \epsilon_{\text{high}}")
    'ρₜ Aₜ ≤1 + ε_high'
    >>> plain(r"\tfrac1G, \frac{R_i - \bar R}{\mathrm{std} + \varepsilon}, x^2")
    '1/G, (Rᵢ - R̄)/(std + ε), x²'
    """
    text = FRACTION.sub(
        lambda x: f"{grouped(x[1] or x[2])}/{grouped(x[3] or x[4])}", tex
    )
    text = ROOT.sub(lambda x: "√" + grouped(x[1] or x[2]), text)
    text = ACCENT.sub(lambda x: plain(x[2] or x[3]) + OVER[x[1]], text)
    text = text.replace(r"\|", "‖")
    text = COMMAND.sub(lambda found: GREEK.get(found[1], ""), text)
    text = RAISED.sub(raised, text)
    return SPACES.sub(" ", text.replace("{", "").replace("}", "")).strip()


def raised(found: re.Match) -> str:
    """Convert a TeX sub- or superscript to Unicode; ``search.js`` sets the others."""
    text = re.sub(r"[{}\s]", "", found[2] or found[3] or "")
    signs = LOW if found[1] == "_" else HIGH
    there = all(ord(c) in signs or c == "," for c in text)
    return text.translate(signs) if there else found[1] + text


def grouped(tex: str) -> str:
    """Return a part of a formula, in brackets if it is more than one thing."""
    text = plain(tex)
    return f"({text})" if re.search(r"[-+=/·×|\s]", text) else text


def words(node: nodes.Node) -> str:
    """Return the text of a block, its formulas as words."""
    if isinstance(node, nodes.math):
        return plain(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    if node.get("reftype") == "eq":
        return f"(⋯{node['reftarget']}⋯)"
    if isinstance(node, SKIP) or node.get("refdomain") == "cite":
        return " " * (node.astext() == "<br>")  # a break parts two words
    parts = [words(child) for child in node.children]
    if isinstance(node, addnodes.desc_parameterlist):
        return f"({', '.join(parts)})"
    if isinstance(node, nodes.row):
        # A cell that is empty, a repetition or a pointer to an equation is left out.
        parts = [EQUATION.sub("", part).replace("()", "") for part in parts]
        said = [part for part in dict.fromkeys(parts) if part.strip(" \n—·")]
        return ": ".join([*said[:1], *[" · ".join(said[1:])][: len(said) - 1]])
    return "".join(parts)


def blocks(node: nodes.Element | Iterable[nodes.Node]) -> list[str]:
    """Return the blocks of a section, without those of its subsections: prose, rows.

    A row of a table begins with a tab.
    """
    found, rows = [], []
    for child in getattr(node, "children", node):
        if isinstance(child, BLOCKS):
            into = rows if isinstance(child, nodes.row) else found
            said = " ".join(words(child).split())
            into.append("\t" * (into is rows) + BEFORE_STOP.sub("", said))
        elif isinstance(child, nodes.Element) and not isinstance(child, SKIP):
            into = rows if isinstance(child, nodes.table) else found
            into += blocks(child)
    return [text for text in found + rows if text.strip(" →")]


def keys(node: nodes.Node) -> bool:
    """Whether a node lists keys of logs, which are indexed line by line."""
    return isinstance(node, nodes.Element) and "log-keys" in node["classes"]


def parted(section: nodes.section) -> list[tuple[str, str, list[nodes.Node]]]:
    """Return (anchor, title, content) of a section and of the questions in it.

    A question of a chapter is left out: the bank has it, too.
    """
    found = [("", "", [])]
    at = found[0]
    for child in section.children:
        if isinstance(child, nodes.raw):
            if question := QUESTION.search(child.astext()):
                at = (question[1] or "", asked(question[2]), [])
                found += [at] * bool(question[1])
            elif "</details>" in child.astext():
                at = found[0]
        elif not isinstance(child, nodes.section) and not keys(child):
            at[2].append(child)
    return found


def asked(summary: str) -> str:
    """Return a question as words.

    >>> asked("<span>Why is `V` not $\\\\gamma$ &lt; 1?</span> <small>5 GAE</small>")
    'Why is V not γ < 1?'
    """
    text = re.sub(r"<small>.*?</small>|<[^>]+>|`", "", summary, flags=re.S)
    text = re.sub(r"\$([^$]+)\$", lambda formula: plain(formula[1]), text)
    return " ".join(html.unescape(text).split())


def sections(doctree: nodes.document) -> list[tuple[str, int, str, str, str, bool]]:
    """Return (anchor, level, title, prose, words in bold, on a side) of sections."""
    found = []
    for section in doctree.findall(nodes.section):
        level, above = 1, section.parent
        while above is not None:
            level += isinstance(above, nodes.section)
            above = above.parent
        title = words_of_title(section.next_node(nodes.title))
        anchor = section["ids"][0] if level > 1 else ""
        for its, question, content in parted(section):
            bold = [
                strong.astext()
                for child in content
                for strong in child.findall(nodes.strong)
            ]
            text = "\n".join(blocks(content))
            head = (its, level + 1, question) if its else (anchor, level, title)
            found.append((*head, text, "\n".join(bold), is_side(section)))
    return found


def words_of_title(title: nodes.title) -> str:
    """Return a heading as words."""
    return " ".join("".join(words(child) for child in title.children).split())


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Store a page's text in the environment, which outlives a build."""
    store(app.env)[app.env.docname] = sections(doctree)


def forget(app: Sphinx, env, page: str) -> None:
    store(env).pop(page, None)


def store(env) -> dict:
    """Return the sections of every page, which the environment keeps."""
    if not hasattr(env, "book_search"):
        env.book_search = {}
    return env.book_search


def numbered(env, text: str) -> str:
    """Return a text with the numbers of the equations that it names by their labels."""

    def number(found: re.Match) -> str:
        page, _ = env.domains["math"].equations.get(found[1], ("", 0))
        numbers = env.toc_fignumbers.get(page, {}).get("displaymath", {})
        return ".".join(map(str, numbers.get(f"equation-{found[1]}", "⋯")))

    return EQUATION.sub(number, text)


def no_sphinx_search(app: Sphinx) -> None:
    """Leave out Sphinx's own index; its page is ours."""
    if app.builder.format == "html":
        app.builder.search = False


def add_page(app: Sphinx) -> list[tuple[str, dict, str]]:
    """Add the page of the search."""
    return [("search", {}, "search.html")]


def asked_as(lang: str) -> dict[str, str]:
    """Return other words for each symptom; an error is English in every edition."""
    return {
        anchor: ", ".join(says[one] for one in dict.fromkeys((lang, SOURCE)))
        for anchor, says in load(ASKED).items()
    }


def questions(app: Sphinx, pages: list[str]) -> dict[str, str]:
    """Return the question of each chapter, which names a hit at its top."""
    lang = app.config.edition
    asks = {row["number"]: row["asks"][lang] for row in plan(Path(app.srcdir))}
    numbers = {page: chapter_number(page) for page in pages}
    return {page: asks[n] for page, n in numbers.items() if n in asks}


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the index beside the pages."""
    if error or app.builder.format != "html":
        return
    index = [
        [
            page,
            [
                [anchor, level, title, numbered(app.env, text), bold, *[1] * side]
                for anchor, level, title, text, bold, side in found
            ],
        ]
        for page, found in sorted(store(app.env).items())
        if found
    ]
    words = {name: pick(text, app.config.edition) for name, text in WORDS.items()}
    words["same"] = SAME
    words["asks"] = questions(app, [page for page, _ in index])
    if SYMPTOMS in store(app.env):
        words["keys"] = log_keys.for_search(app.config.edition)
    words["asked"] = asked_as(app.config.edition)
    words |= load(SEEN)
    lines = [
        f"const {name} = {json.dumps(x, ensure_ascii=False, separators=(',', ':'))};\n"
        for name, x in (("BOOK_INDEX", index), ("SEARCH_WORDS", words))
    ]
    Path(app.outdir, "search-index.js").write_text("".join(lines), encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.connect("builder-inited", no_sphinx_search)
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", add_page)
    app.connect("build-finished", write)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
