"""A code cell in one language: its strings and comments keep one of their parts."""

import ast
import copy
import functools
import json
import re
from collections.abc import Iterator

from tokenbook.languages import BETWEEN, LANGUAGES, SOURCE, fits, parts, pick

WIDTH = 72  # columns of a code cell
COMMENT = re.compile(rf"(?m)(#+ )([^#\n]*{re.escape(BETWEEN)}[^\n]*)$")


@functools.lru_cache(256)  # the cells of a notebook or two
def tree(source: str) -> ast.Module | None:
    """Return the syntax tree, or None where the source is no Python.

    Whoever asks again gets the same tree: nobody changes it.
    """
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def is_text(node: ast.AST) -> bool:
    """Whether a node is a string constant."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def strings(
    module: ast.Module | None, docstrings: bool = True
) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the strings and f-strings of a cell, each one whole."""
    todo = [module] if module else []
    while todo:
        node = todo.pop()
        if is_text(node) or isinstance(node, ast.JoinedStr):
            yield node
        elif docstrings or not (isinstance(node, ast.Expr) and is_text(node.value)):
            todo += ast.iter_child_nodes(node)


def texts(source: str, docstrings: bool = True) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for every string and comment in several languages."""
    for node in strings(tree(source), docstrings):
        text = node.value if is_text(node) else ast.unparse(node)[2:-1]
        if len(parts(text)) > 1:
            yield node.lineno, text
    for comment in COMMENT.finditer(source):
        if len(parts(comment[2])) > 1:
            yield source.count("\n", 0, comment.start()) + 1, comment[2]


@functools.lru_cache(4096)
def in_language(source: str, lang: str) -> str:
    """Return a cell whose strings and comments keep their part of one language.

    A pair of texts, one per language, keeps the text of that language:

    >>> in_language('title = ("答对", "right")  # 标题 | title', "en")
    'title = "right"  # title'
    """
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    edits = []
    for node in in_both(tree(source)):
        one = node.elts[list(LANGUAGES).index(lang)]
        edits.append((*span(node, starts), data[slice(*span(one, starts))].decode()))
    for node in strings(tree(source)):
        if (short := chosen(node, lang)) is not None:
            begin, end = span(node, starts)
            column = len(data[starts[node.lineno - 1] : begin].decode())
            quotes = "lines" if node.lineno < node.end_lineno else ""
            quotes = '"""' if data[begin:end].startswith(b'"""') else quotes
            edits.append((begin, end, literal(short, column, quotes)))
    last = len(data) + 1
    for begin, end, text in sorted(edits, reverse=True):
        if end <= last:
            data, last = data[:begin] + text.encode() + data[end:], begin
    return COMMENT.sub(lambda m: m[1] + pick(m[2], lang), data.decode())


def span(node: ast.expr, starts: list[int]) -> tuple[int, int]:
    """Return the first byte of a node and the one after its last."""
    return (
        starts[node.lineno - 1] + node.col_offset,
        starts[node.end_lineno - 1] + node.end_col_offset,
    )


def in_both(module: ast.Module | None) -> Iterator[ast.Tuple]:
    """Yield the tuples that say one thing in every language, as figures take them."""
    for node in ast.walk(module) if module else []:
        if isinstance(node, ast.Tuple) and len(node.elts) == len(LANGUAGES):
            pairs = zip(node.elts, LANGUAGES, strict=True)
            if all(
                (is_text(part) or isinstance(part, ast.JoinedStr))
                and fits(ast.unparse(part), code)
                for part, code in pairs
            ):
                yield node


def chosen(node: ast.Constant | ast.JoinedStr, lang: str) -> str | ast.JoinedStr | None:
    """Return one language's part of a string or f-string; None if it has no parts."""
    if is_text(node):
        return pick(node.value, lang) if len(parts(node.value)) > 1 else None
    split: list[list] = [[]]
    for value in copy.deepcopy(node.values):
        pieces = value.value.split(BETWEEN) if is_text(value) else [value]
        for number, piece in enumerate(pieces):
            split += [[]] if number else []
            split[-1].append(ast.Constant(piece) if isinstance(piece, str) else piece)
    halves = [ast.unparse(ast.JoinedStr(values))[2:-1] for values in split]
    if len(parts(BETWEEN.join(halves))) == 1:
        return None
    languages = dict(zip(LANGUAGES, split, strict=False))
    return ast.JoinedStr(languages.get(lang, languages[SOURCE]))


def literal(short: str | ast.JoinedStr, column: int, quotes: str) -> str:
    """Return a string literal, in pieces where several lines of the source held it."""
    if quotes == '"""':
        return f'"""{short}"""'
    if isinstance(short, str):
        text = json.dumps(short, ensure_ascii=False)
    else:
        text = ast.unparse(short)
        if text.startswith("f'") and '"' not in text:
            text = f'f"{text[2:-1]}"'
    if not quotes or column + len(text) <= WIDTH:
        return text
    start, end = re.match(r"f?(\"|')", text)[0], text[-1]
    body, pieces = text[len(start) : -1], [""]
    for word in re.findall(r"(?:\{[^{}]*\}|[^\s{}])+\s*|.", body):
        if pieces[-1] and column + len(pieces[-1] + word) > WIDTH - 4:
            pieces.append("")
        pieces[-1] += word
    return ("\n" + " " * column).join(f"{start}{piece}{end}" for piece in pieces)
