"""From the bytes of a log to its rows; ``reader.js`` does the same, line for line.

Read are trainer_state.json, JSON lines, the dicts and step lines that libraries print,
CSV of wandb and TensorBoard, Markdown and plain tables. A row is a dict of numbers.
"""

import json
import math
import re

MAX_ROWS, MAX_CHARS, MAX_LINE, MAX_DICT = 20_000, 12_000_000, 20_000, 60_000
MAX_DEPTH, RETRIES = 200, 50
NUM = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)"
FLAGS = re.ASCII | re.IGNORECASE
WHOLE = re.compile(NUM, FLAGS)
PAIR = re.compile(
    r"""['"]([^'"\n]{1,120})['"]\s*:\s*(?:np\.float\d+\(|tensor\(|array\()?\s*"""
    rf"""['"]?({NUM}|None|null|true|false)(?![\w.])""",
    FLAGS,
)
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b\n]{0,200}\x07")
SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85]")
BRACE = re.compile(r"""[{}"'\\\n]""")
LETTER = re.compile("[A-Za-z\u4e00-\u9fff]")
BEFORE = re.compile(
    r"(?:global step|step|rollout|perf|eval|train)\s+(\d+)\s*:\s*\Z", FLAGS
)
VERL = re.compile(r"\bstep:(\d+) - ", re.ASCII)
PRIME = re.compile(r"\bStep\s+(\d+)\s*\|", re.ASCII)
PRIME_PART = re.compile(rf"([A-Z][A-Za-z.\- ]*?)\s+({NUM})(%?)", re.ASCII)
MLX = re.compile(r"Iter\s+(\d+):", re.ASCII)
MLX_PART = re.compile(rf"\s*(.+?)\s+({NUM})(?:\s|\Z)", re.ASCII)
NEMO = re.compile(r"= Step (\d+)/", re.ASCII)
LINE = re.compile(
    r"(?:wandb:|[•*]|INFO\S*)?\s*([A-Za-z][\w ./@+\-]*?)\s*(?::|=|\s)\s*"
    rf"({NUM})(?:\s*[a-z%/]*)?\Z",
    FLAGS,
)
INLINE = re.compile(
    rf"([A-Za-z_][\w./]{{0,80}})\s*[=:]\s*({NUM})(?=[\s,;\]]|\Z)", FLAGS
)
STEPS = {
    "step",
    "steps",
    "_step",
    "global_step",
    "train_step",
    "train/step",
    "train/global_step",
    "training/global_step",
    "trainer/global_step",
    "rollout/step",
    "iter",
    "iteration",
}
BOARD = ["wall time", "step", "value"]


def decode(data: bytes) -> str:
    """Return the text of some bytes: UTF-16 if marked, UTF-8, GB 18030 or Latin-1."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    for name in ("utf-8-sig", "gb18030"):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1")


def rows_of(text: str, name: str = "") -> tuple[list[dict[str, float]], str]:
    """Return the rows of a log and its kind: json, console, table or none.

    `name` is the file's, which holds the key where TensorBoard wrote it.
    """
    text = clean(text)
    if rows := from_json(text):
        return rows[:MAX_ROWS], "json"
    if (VERL.search(text) or re.search(r"\{\s*['\"]", text, re.ASCII)) and (
        rows := from_console(text)
    ):
        return rows[:MAX_ROWS], "console"
    if rows := from_table(text, name):
        return rows, "table"
    rows = from_console(text)[:MAX_ROWS]
    return rows, "console" if rows else "none"


def clean(text: str) -> str:
    """Return a text without colours; of a line written over, every state is a line."""
    text = ANSI.sub("", text[:MAX_CHARS])
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return CONTROL.sub("", SPACES.sub(" ", text))


def number(text: str) -> float | None:
    """Return the number that a text is, nan and inf too; None for any other text."""
    text = text.strip().strip("'\"").rstrip("%,")
    if not WHOLE.fullmatch(text):
        return None
    value = float(text)
    return math.copysign(math.inf, value) if abs(value) >= 1e300 else value


def from_json(text: str) -> list[dict[str, float]]:
    """Return the rows of a JSON file or of JSON lines; [] if it is neither."""
    text = text.lstrip(" \n\t")
    if text[:1] not in ("{", "["):
        return []
    try:
        data = loads(text)
    except ValueError:
        return json_lines([line for line in text.split("\n") if line.strip()])
    if isinstance(data, dict):
        if isinstance(data.get("log_history"), list):
            data = data["log_history"]
        elif data and all(isinstance(one, list) for one in data.values()):
            size = min(MAX_ROWS, max(map(len, data.values())))
            data = [
                {k: one[i] for k, one in data.items() if i < len(one)}
                for i in range(size)
            ]
        else:
            data = [data]
    return [flat(one) for one in data[:MAX_ROWS] if isinstance(one, dict)]


def json_lines(lines: list[str]) -> list[dict[str, float]]:
    """Return the rows of lines of which at least half are JSON objects."""
    rows = []
    for line in lines[: 2 * MAX_ROWS]:
        try:
            data = loads(line)
        except ValueError:
            continue
        if isinstance(data, dict):
            inner = data.get("data")
            row = flat(inner if isinstance(inner, dict) else data)
            step = data.get("step")
            if isinstance(step, float):
                row.setdefault("step", step)
            rows.append(row)
    return rows if len(rows) >= max(1, min(len(lines), 2 * MAX_ROWS) // 2) else []


def loads(text: str):
    """Parse JSON, whole numbers as floats; refuse deep nesting."""
    depth = 0
    for found in re.finditer(r"[\[\]{}]", text):
        depth += 1 if found[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError("nested too deep")
    return json.loads(text, parse_int=float)


def flat(value, prefix: str = "", out: dict | None = None) -> dict[str, float]:
    """Return the numbers of nested dicts, their keys joined by slashes."""
    out = {} if out is None else out
    if isinstance(value, dict):
        for key, one in value.items():
            flat(one, f"{prefix}/{key}" if prefix else key, out)
    elif isinstance(value, float):
        out[prefix] = value
    elif isinstance(value, str) and (one := number(value)) is not None:
        out[prefix] = one
    return out


def from_table(text: str, name: str = "") -> list[dict[str, float]]:
    """Return the rows of the first table: a header, then lines of numbers."""
    lines = [line for line in text.split("\n") if line.strip()]
    for sep in (",", "\t", "|", " "):
        for at, line in enumerate(lines[:200]):
            head = cells(line, sep) if len(line) <= MAX_LINE else []
            if is_head(head, sep, line) and (rows := body(head, lines[at + 1 :], sep)):
                if [one.lower() for one in head] == BOARD:
                    return from_board(rows, head, name)
                return rows
    return []


def from_board(rows: list[dict], head: list[str], name: str) -> list[dict[str, float]]:
    """Return the rows of TensorBoard's CSV; the file's name is the key."""
    key = re.sub(r"\.csv\Z", "", name.replace("\\", "/").split("/")[-1], flags=re.I)
    key = key.split("-tag-")[-1] or "value"
    step, value = head[1:]
    return [
        {"step": row[step], key: row[value]}
        for row in rows
        if step in row and value in row
    ]


def is_head(head: list[str], sep: str, line: str) -> bool:
    """Whether a line's cells are names of columns."""
    if len(head) < 2 or (sep == " " and (len(head) < 3 or "{" in line or ":" in line)):
        return False
    words = sum(number(one) is None and bool(LETTER.search(one)) for one in head)
    return words >= len(head) * 0.7


def body(head: list[str], lines: list[str], sep: str) -> list[dict[str, float]]:
    """Return the rows below a header; [] if more lines do not fit than do."""
    rows, misses = [], 0
    for line in lines:
        if set(line) <= set("-|: +\t"):
            continue
        row = cells(line, sep)
        values = [number(one) for one in row]
        numbers = sum(value is not None for value in values)
        if len(row) != len(head) or numbers * 2 < sum(map(bool, row)):
            misses += 1
            if misses > (5 if not rows else len(rows) + 1000):
                break
            continue
        pairs = zip(head, values, strict=True)
        rows.append({key: value for key, value in pairs if value is not None})
        if len(rows) >= MAX_ROWS:
            break
    enough = len(rows) >= (2 if sep == " " else 1)
    return rows if enough and misses <= len(rows) else []


def cells(line: str, sep: str) -> list[str]:
    """Return the cells of a table's line; quotes may contain a comma."""
    if sep == " ":
        return line.split()
    if sep == "|":
        line = line.strip().strip("|")
    if sep != ",":
        return [one.strip() for one in line.split(sep)]
    parts = line.split('"')
    quoted = ["\0" if k % 2 else part for k, part in enumerate(parts)]
    inside = iter(parts[1::2])
    out = []
    for one in "".join(quoted).split(","):
        pieces = one.split("\0")
        text = pieces[0]
        for piece in pieces[1:]:
            text += next(inside) + piece
        out.append(text.strip())
    return out


def braces(text: str) -> list[tuple[int, int]]:
    """Return begin and end of each outermost {...}; strings may contain braces."""
    spans, depth, start, quote, at, again = [], 0, 0, "", 0, RETRIES
    while (found := BRACE.search(text, at)) and len(spans) <= 2 * MAX_ROWS:
        at, sign = found.end(), found[0]
        if depth and at - start > MAX_DICT:
            depth, quote, again = 0, "", again - 1
            if again > 0:
                at = start + 1
            continue
        if quote:
            if sign == "\\":
                at += 1
            elif sign in (quote, "\n"):
                quote = ""
        elif sign in "'\"" and depth:
            quote = sign
        elif sign == "{":
            start = at - 1 if not depth else start
            depth += 1
        elif sign == "}" and depth:
            depth -= 1
            if not depth:
                spans.append((start, at))
    return spans


def pairs_of(text: str) -> tuple[dict[str, float], int]:
    """Return the numbers of 'key': value pairs, and the count of all pairs."""
    pairs = PAIR.findall(text)
    values = ((key, number(value)) for key, value in pairs)
    return {key: value for key, value in values if value is not None}, len(pairs)


def from_console(text: str) -> list[dict[str, float]]:
    """Return the rows of printed dicts, then of the lines outside them."""
    rows, rest, last = [], [], 0
    for start, end in braces(text):
        row, _ = pairs_of(text[start:end])
        before = text[max(0, start - 200) : start].split("\n")[-1]
        found = BEFORE.search(before)
        if row and found and not STEPS.intersection(row):
            row["step"] = float(found[1])
        if len(row) >= 2 or (row and found):
            rows.append(row)
            rest.append(text[last:start])
            last = end
        if len(rows) > MAX_ROWS:
            break
    inside = bool(rows)
    rest = "\n".join([*rest, text[last:]])
    if not inside:
        row, count = pairs_of(rest)
        if count >= 3:
            rows.append(row)
    return rows + from_lines(rest)


def from_lines(text: str) -> list[dict[str, float]]:
    """Return the rows of step lines, and of lines with one key each."""
    rows, group = [], {}
    for line in text.split("\n"):
        if len(line) > MAX_LINE or not (line := re.sub(r"\s+", " ", line).strip()):
            continue
        if row := step_line(line):
            rows += [group, row]
            group = {}
        elif found := NEMO.search(line):
            rows.append(group)
            group = {"step": float(found[1])}
        elif len(line) < 300 and (found := LINE.match(line)):
            if (key := found[1].strip()) in group:
                rows.append(group)
                group = {}
            group[key] = number(found[2])
        else:
            pairs = INLINE.findall(line)
            if len(pairs) >= 3:
                rows += [group, {key: number(value) for key, value in pairs}]
                group = {}
            elif len(pairs) * 36 > len(line):
                for key, value in pairs:
                    group.setdefault(key, number(value))
        if len(rows) > 3 * MAX_ROWS:
            break
    return [row for row in [*rows, group] if len(row) >= 2]


def step_line(line: str) -> dict[str, float]:
    """Return the row of a line with a whole step: verl, prime-rl or mlx."""
    if found := VERL.search(line):
        row = {"step": float(found[1])}
        for part in line[found.start() :].split(" - ")[1:]:
            key, _, value = part.rpartition(":")
            if key and (one := number(value)) is not None:
                row[key.strip()] = one
    elif found := PRIME.search(line):
        row = {"step": float(found[1])}
        for part in line[found.end() :].split("|"):
            if one := PRIME_PART.match(part.strip()):
                row[one[1].strip()] = number(one[2]) / (100 if one[3] else 1)
    elif found := MLX.match(line):
        row = {"step": float(found[1])}
        for part in line[found.end() :].split(","):
            if one := MLX_PART.match(part):
                row[one[1]] = number(one[2])
    else:
        row = {}
    return row
