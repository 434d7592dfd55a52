"""A link "found an error here?" at the end of each section, to the book's repository.

``repository`` is the address of its page, such as ``https://github.com/owner/name``.
Without it no page shows a link.
"""

from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from tokenbook.languages import pick
from tokenbook.languages.pages import chapter_number
from tokenbook.site import LAST

WORDS = "发现错误？ | Found an error here?"


class ReportLinks(SphinxPostTransform):
    """Put a link to a new issue, which names the place, at each section's end."""

    default_priority = LAST
    formats = ("html",)

    def run(self, **kwargs) -> None:
        page, address = self.env.docname, self.config.repository.rstrip("/")
        if not address or chapter_number(page) is None:
            return
        words = pick(WORDS, self.config.edition)
        for section in list(self.document.findall(nodes.section)):
            if isinstance(section.parent.parent, nodes.document):
                place = f"{self.config.edition}/{page}.html#{section['ids'][0]}"
                query = urlencode({"title": place})
                section += nodes.raw(
                    "",
                    f'<p class="report"><a href="{address}/issues/new?{query}">'
                    f"{words}</a></p>",
                    format="html",
                )


def setup(app: Sphinx) -> dict:
    app.add_config_value("repository", "", "env", types=[str])
    app.add_post_transform(ReportLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
