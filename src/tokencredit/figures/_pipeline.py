"""The thread of the course: where on the way from a prompt to a gradient we are."""

from dataclasses import dataclass

STAGES = {
    "prompt": {"zh": "提示", "en": "prompt"},
    "tokens": {"zh": "词元", "en": "tokens"},
    "reward": {"zh": "奖励", "en": "reward"},
    "credit": {"zh": "功劳", "en": "credit"},
    "weight": {"zh": "权重", "en": "weight"},
    "gradient": {"zh": "梯度", "en": "gradient"},
}


@dataclass(frozen=True)
class Pipeline:
    """The six stages as a cell's output, the arrow into `stage` lit."""

    stage: str

    def __repr__(self) -> str:
        names = [f"=> {n}" if n == self.stage else f"-> {n}" for n in STAGES]
        return " ".join(names).removeprefix("-> ")

    def html(self, language: str | None = None) -> str:
        """One language for a page of the book, all of them for a notebook."""
        items = "".join(
            f'<li aria-current="step" class="lit">{self._words(name, language)}</li>'
            if name == self.stage
            else f"<li>{self._words(name, language)}</li>"
            for name in STAGES
        )
        return f'<ol class="thread">{items}</ol>'

    def _words(self, name: str, language: str | None) -> str:
        words = STAGES[name]
        return words[language] if language else " ".join(words.values())

    def _repr_mimebundle_(self, include=None, exclude=None):
        blue = "#0072b2"
        parts = []
        for name in STAGES:
            lit = name == self.stage
            arrow = f'<b style="color: {blue}">⟶</b>' if lit else "→"
            words = self._words(name, None)
            parts.append(("" if name == "prompt" else f" {arrow} ") + words)
            if lit:
                parts[-1] = f" {arrow} <b>{words}</b>"
        html = f"<p>{''.join(parts)}</p>"
        return {"text/plain": repr(self), "text/html": html}, {
            "tokencredit": {"pipeline": self.stage}
        }


def pipeline(stage: str) -> Pipeline:
    """Show the thread 主线 prompt -> ... -> gradient with the arrow into `stage` lit.

    Args:
        stage: where the chapter works: "tokens", "reward", "credit", "weight" or
            "gradient".

    Raises:
        ValueError: no arrow leads to `stage`.

    >>> pipeline("credit")
    prompt -> tokens -> reward => credit -> weight -> gradient
    """
    arrows = list(STAGES)[1:]
    if stage not in arrows:
        raise ValueError(f"stage: no arrow leads to {stage!r}; choose one of {arrows}")
    return Pipeline(stage)
