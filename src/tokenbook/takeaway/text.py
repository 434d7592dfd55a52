"""Text for assistants 给助手读的文本: every page as Markdown, llms.txt, data as JSON.

    python -m tokenbook.takeaway.text [--site DIR]

Beside ``x.html`` lies ``x.md``; ``llms.txt`` lists the pages (https://llmstxt.org),
``{lang}/llms-full.txt`` has all of an edition, and ``data/`` has symptoms, laws and log
keys. Each names its version.
"""

import argparse
import json
from datetime import date
from importlib.metadata import version
from pathlib import Path

from tokenbook.languages import LANGUAGES, pick
from tokenbook.symptoms.series import load
from tokenbook.takeaway.articles import Article, articles, blocks, inline
from tokencredit.laws import exhibits

SITE = Path("_build") / "site"
WORDS = {
    "title": "词元的功劳 | Token Credit",
    "about": (
        "训练大语言模型与智能体的策略梯度：从 REINFORCE 到 PPO、GRPO、DAPO、GSPO，"
        "再到多轮训练。"
        " | The policy gradients that train LLMs and agents: from REINFORCE to PPO, "
        "GRPO, DAPO, GSPO and multi-turn training."
    ),
    "chapters": "章节 | Chapters",
    "rest": "书后 | Back matter",
    "data": "数据 | Data",
    "whole": "全文，一个文件 | The whole text in one file",
}


def write(site: Path, made: str) -> list[Path]:
    """Write the text of a built site beside its pages; return the files.

    Args:
        site: the folder of the editions.
        made: version and date, which every collection states.
    """
    files, index = [], [f"# {both('title')}", f"> {both('about')}", made]
    for lang in LANGUAGES:
        pages = list(articles(site / lang))
        texts = [page.markdown() for page in pages]
        for page, text in zip(pages, texts, strict=True):
            files.append((site / lang / page.address).with_suffix(".md"))
            files[-1].write_text(text, "utf-8")
        index.append(listed(pages, lang))
        whole = site / lang / "llms-full.txt"
        head = f"# {pick(WORDS['title'], lang)}\n\n{made}\n"
        whole.write_text("\n\n".join([head, *texts]), "utf-8")
        files.append(whole)
    files += write_data(site / "data", made)
    names = [f"- [{f.stem}](data/{f.name})" for f in files if f.suffix == ".json"]
    index.append("\n".join([f"## {both('data')}", "", *names]))
    (site / "llms.txt").write_text("\n\n".join(index) + "\n", "utf-8")
    return [*files, site / "llms.txt"]


def both(name: str) -> str:
    return " · ".join(pick(WORDS[name], lang) for lang in LANGUAGES)


def listed(pages: list[Article], lang: str) -> str:
    """Return the part of llms.txt about an edition."""
    parts = {"chapters": [], "rest": []}
    for page in pages:
        part = "chapters" if page.address.startswith("chapters/") else "rest"
        address = page.address.removesuffix(".html") + ".md"
        parts[part].append(f"- [{page.title}]({lang}/{address})")
    whole = f"- [{pick(WORDS['whole'], lang)}]({lang}/llms-full.txt)"
    return (
        "\n\n".join(
            "\n".join([f"## {pick(WORDS[part], lang)}", "", *lines])
            for part, lines in parts.items()
        )
        + f"\n{whole}"
    )


# --- data for programs ----------------------------------------------------------------


def write_data(folder: Path, made: str) -> list[Path]:
    """Write symptoms, laws and log keys as JSON, each with version and date."""
    folder.mkdir(exist_ok=True)
    site, files = folder.parent, []
    for name, rows in (
        ("symptoms", symptoms(site)),
        ("laws", laws()),
        ("log-keys", log_keys()),
    ):
        file = folder / f"{name}.json"
        data = {"made": made, name: rows}
        file.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", "utf-8")
        files.append(file)
    return files


def symptoms(site: Path) -> list[dict]:
    """Return the symptoms: anchor, and title and text in every language."""
    found = {}
    for lang in LANGUAGES:
        for page in articles(site / lang):
            if page.address == "book/symptoms.html":
                for section in page.tree.iter("section"):
                    if (head := section.find("h3")) is not None:
                        row = found.setdefault(section.get("id"), {})
                        text = blocks(section).split("\n\n", 1)[-1]
                        row[lang] = {"title": inline(head), "text": text}
    return [{"anchor": anchor, **row} for anchor, row in found.items()]


def laws() -> list[dict]:
    """Return the museum's laws: number, stage, and its words in every language."""
    return [
        {"room": name, "stage": room["ARROW"], **room["WORDS"]}
        for name, room in exhibits().items()
    ]


def log_keys() -> list[dict]:
    """Return the keys of all libraries with the book's word for each."""
    words = load("quantities")
    return [
        {
            **{part: row[part] for part in ("library", "version", "key", "averages")},
            "quantity": {lang: words[row["quantity"]][lang] for lang in LANGUAGES},
            "chapter": words[row["quantity"]]["chapter"],
        }
        for row in load("keys")
    ]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=SITE)
    site = parser.parse_args(argv).site
    files = write(site, f"{version('tokencredit')} · {date.today().isoformat()}")
    total = sum(file.stat().st_size for file in files)
    print(f"text: {len(files)} files, {total / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
