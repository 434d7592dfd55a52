"""Share it yourself: the reader's credit, that of four algorithms and the measured.

Values before every token, the critic and the probabilities are those of warm start 0;
five responses are those of ``figures/token_value.py``, the sixth has three tries.

    python -m tokenbook.site.share.page   measure again (measured.json): minutes
"""

import functools
import json
import re
from html import escape
from itertools import pairwise
from pathlib import Path

import torch
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import ReferenceRole

from tokenbook.lab.token_values import (
    CRITIC,
    MONTE_CARLO,
    PROMPT,
    RESPONSES,
    SIGNS,
    fit,
    measure,
    say,
    score,
    stored,
)
from tokenbook.languages.data import load as load_file
from tokenbook.site import LAST
from tokenbook.site.generated import Generated
from tokenbook.site.playground.page import lean, script, translated
from tokencredit import gae, group_relative
from tokencredit.world.starts import warm_start
from tokencredit.world.text import encode

FOLDER = Path(__file__).parent
THREE = "9+5+7=21✗9+5-7=7✗9-5+7=11✓$"  # not among the figure's
ORDER = (*(RESPONSES[k] for k in (3, 4, 2, 1, 0)), THREE)  # a slip first
COUNT, FITTED = 1024, 25600  # continuations per token, responses of the critic
LAM = 0.95
GROUP, CORRECT = 8, 3  # of a group, as the warm start does: 34 % are right
STEPS, LEVELS = 8, 4  # of training; of credit, up and down
MOST = 1.35  # credit that fills a cell
SIMULATION = ("tree", "policy")  # of the playground; here credit is given, not computed
TRIES = re.compile(r"[^✗✓]+[✗✓]\$?")


def kept() -> dict:
    """Return the stored measurements."""
    return json.loads((FOLDER / "measured.json").read_text(encoding="utf-8"))


def values(response: str) -> list[float]:
    """Return the measured value before every token."""
    if response == THREE:
        return kept()["values"]
    return stored(MONTE_CARLO, (0, 0), response)


def critic(response: str) -> list[float]:
    """Return the fitted critic's value before every token."""
    return kept()["critic"] if response == THREE else stored(CRITIC, FITTED, response)


def credits(response: str) -> dict[str, list[float]]:
    """Return the credit of every token, by row: four algorithms and the measured."""
    paid, length = int(score(response)), len(response)
    rewards = torch.zeros(1, length, dtype=torch.float64)
    rewards[0, -1] = paid
    judged = torch.tensor([critic(response)], dtype=torch.float64)
    group = [paid] + [1] * (CORRECT - paid) + [0] * (GROUP - 1 - CORRECT + paid)
    group = torch.tensor(group, dtype=torch.float64)
    compared = group_relative(group, torch.zeros(GROUP, dtype=torch.long))[0].item()
    ends = [*values(response), paid]
    rows = {
        "REINFORCE": [paid] * length,
        "PPO": gae(rewards, judged, gamma=1.0, lam=LAM)[0].tolist(),
        "GRPO": [compared] * length,
        "GSPO": [compared] * length,
        "measured": [b - a for a, b in pairwise(ends)],
    }
    return {name: [round(x, 2) for x in row] for name, row in rows.items()}


@functools.cache
def responses() -> list[dict]:
    """Return the responses with all their data."""
    odds = kept()["odds"]
    return [
        {
            "text": text,
            "score": int(score(text)),
            "values": values(text),
            "odds": odds[text],
            "rows": credits(text),
        }
        for text in ORDER
    ]


def words(lang: str) -> dict:
    """Return words.yml in one language."""
    return translated(load_file(FOLDER / "words.yml"), lang)


def cell(word: str, credit: float) -> str:
    """Return a token with the bar of its credit; ``share.js`` draws the same."""
    look = "up" if credit > 0 else "down"
    tall = round(min(abs(credit) / MOST, 1), 3)
    return f'<span class="{look}"><i style="--t:{tall}"></i><b>{word}</b></span>'


def still(lang: str) -> str:
    """Return the first response with its measured credit, which needs no script."""
    one, said = responses()[0], words(lang)
    found = iter(one["rows"]["measured"])
    tries = "".join(
        "<span>" + "".join(cell(word, next(found)) for word in each) + "</span>"
        for each in TRIES.findall(one["text"])
    )
    verdict = said["right"] if one["score"] else said["wrong"]
    return (
        f"<noscript><p>{escape(said['still'])}</p></noscript>"
        f'<div class="share-row" role="img" aria-label="{escape(said["still"])}">'
        f"<p><b>{said['measured']}</b> <small>{verdict}</small></p>"
        f'<div class="share-strip">{tries}</div></div>'
    )


LOADER = """(() => {
  const box = document.currentScript.previousElementSibling;
  const root = document.documentElement.dataset.content_root ?? "./";
  const load = () => {
    const script = document.createElement("script");
    script.src = root + "_static/share.js";
    document.body.append(script);
  };
  if (location.hash.startsWith("#share=")) return load();
  new IntersectionObserver((seen, watch) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    watch.disconnect();
    load();
  }, { rootMargin: "600px" }).observe(box);
})();"""


def share_html(lang: str) -> str:
    """Return the rows in one language, with their data."""
    said = words(lang)
    data = {
        "responses": responses(),
        "words": said,
        "steps": STEPS,
        "levels": LEVELS,
        "most": MOST,
    }
    data = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    data = data.replace("</", r"<\/")
    css = lean((FOLDER / "share.css").read_text("utf-8"))
    title, lead = (escape(said[key].format(PROMPT)) for key in ("title", "lead"))
    return (
        f'<div class="share" id="share-it" role="group" aria-label="{title}">'
        f'<style>{css}</style><p class="share-title">{title}</p>'
        f'<p class="share-lead">{lead}</p><div class="share-play">{still(lang)}</div>'
        f'<script type="application/json">{data}</script></div>'
        f"<script>{lean(LOADER)}</script>"
    )


class Share(Generated):
    """The rows; their script is loaded when they are near."""

    def made(self) -> list[nodes.Node]:
        for path in FOLDER.iterdir():
            self.depends_on(path)
        return [nodes.raw("", share_html(self.config.edition), format="html")]


class Link(ReferenceRole):
    """A link to the rows on the start page."""

    def run(self) -> tuple[list[nodes.Node], list]:
        up = "../" * self.env.docname.count("/")
        address = f"{up}book/index.html#share-it"
        link = nodes.reference("", self.title, refuri=address, internal=True)
        return [link], []


def simulation() -> str:
    """Return one script: the playground's simulation and eight updates by it."""
    train = (FOLDER / "train.js").read_text("utf-8")
    return lean(f'(() => {{\n"use strict";\n{script(*SIMULATION)}\n{train}\n}})();\n')


def serve(static: Path) -> None:
    """Write ``share-train.js``, and ``share.js`` without its comments."""
    (static / "share-train.js").write_text(simulation(), "utf-8")
    program = (FOLDER / "share.js").read_text("utf-8")
    (static / "share.js").write_text(lean(program), "utf-8")


def write(app: Sphinx, error: Exception | None) -> None:
    """Write both scripts into ``_static``."""
    if not error and app.builder.format == "html":
        serve(Path(app.outdir, "_static"))


def log_odds(policy, response: str) -> list[float]:
    """Return the log-odds that the policy gives every token of a response."""
    ids = torch.tensor([encode(PROMPT + response, SIGNS.vocabulary)])
    with torch.no_grad():
        logits = policy(ids)[0][0].double()
    found, first = [], len(PROMPT)
    for t, token in enumerate(ids[0, first:].tolist(), first - 1):
        others = torch.cat([logits[t, :token], logits[t, token + 1 :]])
        found.append(round((logits[t, token] - others.logsumexp(0)).item(), 2))
    return found


def setup(app: Sphinx) -> dict:
    app.add_directive("share", Share)
    app.add_role("share", Link())
    app.connect("build-finished", write, priority=LAST)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    start = warm_start("signs", seed=0)
    generator = torch.Generator().manual_seed(0)
    found = {
        "values": [round(v, 2) for v in measure(start, THREE, COUNT, generator)],
        "critic": [round(v, 2) for v in say(fit(start, FITTED // 256), THREE)],
        "odds": {text: log_odds(start, text) for text in ORDER},
    }
    text = json.dumps(found, ensure_ascii=False, indent=1)
    text = re.sub(r"\s*\n\s+(-?[\d.]+|\](?=,?\n))", r" \1", text)
    (FOLDER / "measured.json").write_text(text + "\n", encoding="utf-8")
