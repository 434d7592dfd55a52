"""``python -m tokenbook config``: the loss of a trainer's configuration."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tokenbook.languages import LANGUAGES, SOURCE
from tokenbook.symptoms.config import data, filled, report

MARGIN = "  "


def add_command(subparsers):
    """Add ``config`` to the command line."""
    parser = subparsers.add_parser(
        "config",
        help="what a configuration of TRL, verl or OpenRLHF computes",
        description="What a GRPOConfig of TRL (Python, JSON, YAML, flags), YAML or "
        "overrides of verl, or flags of OpenRLHF compute: prompts, responses, updates, "
        "denominators, the nearest entry of ALGORITHMS, and traps.",
    )
    parser.add_argument(
        "text",
        nargs="*",
        metavar="FILE|OVERRIDE",
        help="files, or a.b=c overrides; - or nothing for standard input; flags of a "
        "trainer follow after --",
    )
    parser.add_argument("--lang", choices=LANGUAGES, default=SOURCE)
    parser.add_argument("--processes", type=int, metavar="N", help="of the launch")
    parser.add_argument("--json", action="store_true", help="print data")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Report on each text; 1 if one of them was not read or would be refused."""
    try:
        texts = list(texts_of(args.text))
    except (OSError, UnicodeError) as error:
        print(f"tokenbook config: {error}", file=sys.stderr)
        return 2
    reports = [(name, report(text, args.lang, args.processes)) for name, text in texts]
    if args.json:
        found = [{"text_of": name} | one for name, one in reports]
        print(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        blocks = [
            "\n".join([f"{name}:"] * (len(reports) > 1) + lines(one, args.lang))
            for name, one in reports
        ]
        print("\n\n".join(blocks))
    return int(any(one.get("problem") or one["refused"] for _, one in reports))


def texts_of(words: list[str]):
    """Yield names and texts: of files, of standard input, or the words themselves."""
    files = [word for word in words if word == "-" or Path(word).is_file()]
    if not words or words == files:
        for name in words or ["-"]:
            raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
            yield name, raw.decode(encoding_of(raw))
        return
    if len(words) == 1 and "=" not in words[0] and not words[0].startswith("-"):
        raise FileNotFoundError(f"no file {words[0]}")
    yield "overrides", " ".join(f"'{word}'" if " " in word else word for word in words)


def encoding_of(raw: bytes) -> str:
    """Return the encoding of a file: UTF-8, UTF-16 with its mark, or GB 18030."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "gb18030"
    return "utf-8-sig"


def lines(one: dict, lang: str) -> list[str]:
    """Return the lines of a report."""
    if "problem" in one:
        return [one["text"]]
    labels = {key: text[lang] for key, text in data()["words"]["labels"].items()}
    colon = "：" if lang == "zh" else ": "
    found = [f"{one['library']} {one['version']}"]
    found += [MARGIN + note for note in one["notes"]]
    if one["refused"]:
        head = filled(labels["refused"], one)
        return [*found, f"{head}{colon}{one['refused']}"]
    found += [
        one["sizes_text"],
        f"{labels['ratio']}{colon}{one['ratio']}",
        f"{labels['denominator']}{colon}{one['denominator']}",
    ]
    near = one["nearest"]
    count = {"name": near["name"], "count": len(near["differs"])}
    also = ", ".join(near["also"])
    also = f" ({labels['also']}{colon}{also})" if also else ""
    found.append(filled(labels["nearest"], count) + also)
    found += [MARGIN + filled(labels["differs"], part) for part in near["differs"]]
    for part in near["apart"]:
        found.append(f"{MARGIN}{labels['apart']}{colon}{part['field']} {part['text']}")
    if one["traps"]:
        found.append(labels["traps"])
    for trap in one["traps"]:
        number = {"number": int(trap["chapter"].partition("_")[0])}
        found.append(f"{MARGIN}- {trap['text']}{filled(labels['chapter'], number)}")
    return found
