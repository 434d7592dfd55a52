"""A live figure as an element of a static page."""

from tokencredit.figures._explorer import Explorer
from tokencredit.figures._style import draw_svg, inline_svg


def page_html(explorer: Explorer, language: str, uid: str) -> str:
    """The start state in words of `language`; ids begin with `uid`."""
    fig, update = explorer.make()
    numbers = update(explorer.start)
    figure = inline_svg(draw_svg(fig), explorer.alt[language], uid)
    return (
        f'<div class="xp" data-xp="{explorer.name}">{figure}'
        f'<p class="xp-readout">{explorer.say(language, numbers)}</p></div>'
    )
