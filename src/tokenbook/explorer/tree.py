"""Elements of a drawing: HTML and SVG as a tree, numbers as a reader expects them."""

import math
import re
from xml.etree.ElementTree import Element, tostring

from tokenbook.explorer.words import FigureError


def h(tag: str, *children, cls: str = "", **attributes) -> Element:
    """An element 元素: ``h("p", "two ", h("b", "words"), cls="ex-caption")``.

    Args:
        tag: an HTML or SVG name.
        children: elements, strings, things with an ``element()`` of their own (a
            `Plot`), or None, which is dropped.
        cls: the class.
        attributes: ``aria_label="x"`` is written ``aria-label``. True writes a boolean
            attribute; None and False write nothing.

    Easy to break: a string beside other children becomes a ``<span>``, because only
    the text of an element can be swapped.

    >>> html(h("p", "a", h("b", "2"), hidden=True))
    '<p hidden="hidden"><span>a</span><b>2</b></p>'
    """
    element = Element(tag)
    if cls:
        element.set("class", " ".join(cls.split()))
    for name, value in attributes.items():
        if value is not None and value is not False:
            name = name.rstrip("_").replace("_", "-")
            element.set(name, name if value is True else str(value))
    found = [child for child in children if child is not None]
    if len(found) == 1 and isinstance(found[0], str):
        element.text = found[0]
        return element
    for child in found:
        if isinstance(child, str):
            child = h("span", child)
        elif not isinstance(child, Element):
            child = child.element()
        element.append(child)
    return element


def subscripts(words: str) -> list[str | Element]:
    """Words with the index of a symbol set low 下标, as children of an element.

    A string has the same number of indices in every state.

    >>> html(h("b", *subscripts("log π_old")))
    '<b><span>log π</span><sub>old</sub></b>'
    """
    parts = re.split(r"(?<=[πVε])_(old|ref|θ|low|high)", words)
    return [h("sub", x) if k % 2 else x for k, x in enumerate(parts) if x]


def minus(token: str) -> str:
    """A token for display 词元的样子: a hyphen that is a sign becomes a minus.

    >>> minus("9-5"), minus("step-by-step")
    ('9−5', 'step-by-step')
    """
    return re.sub(r"-(?![^\W\d])", "−", token)


def html(element: Element) -> str:
    """The element as a page has it: no tag closes itself."""
    return tostring(element, encoding="unicode", method="html")


def words_of(element: Element) -> str:
    """All the text in an element, its parts apart.

    >>> words_of(h("p", h("b", *subscripts("log π_old")), "2"))
    'log π_old 2'
    """
    parts = [(" _"[e.tag == "sub"], e.text) for e in element.iter() if e.text]
    return "".join(gap + text for gap, text in parts)[1:]


def number(x: float, digits: int = 2, *, sign: bool = False) -> str:
    """A number in words 数字: a true minus sign, and none before a zero.

    A tie is rounded away from zero, on every processor.

    Raises:
        FigureError: not a finite number.

    >>> number(-0.451), number(-0.001), number(0.5, 1, sign=True)
    ('−0.45', '0.00', '+0.5')
    """
    text = f"{abs(finite(x)) * (1 + 1e-12):.{digits}f}"
    if not float(text):
        return text
    return ("−" if x < 0 else "+" if sign else "") + text


def short(x: float, digits: int = 2) -> str:
    """A number in an attribute, at most `digits` decimals and no spare zeros.

    Raises:
        FigureError: not a finite number.

    >>> short(12.0), short(0.125, 1), short(-0.001)
    ('12', '0.1', '0')
    """
    x = round(finite(x), digits)
    whole = int(x)
    return str(whole) if whole == x else repr(x)


def finite(x: float) -> float:
    """The same number, which can be drawn."""
    if not math.isfinite(x):
        raise FigureError(f"a number to draw is {x}")
    return float(x)
