"""A figure in a notebook: live on a kernel, else a picture."""

import base64

from tokenbook.explorer.drawing import Drawing
from tokenbook.explorer.live import widget
from tokenbook.explorer.paint import picture


class Figure(Drawing):
    """A live figure 可调图; a file of a figure names it ``FIGURE``.

    Args, attributes and errors are those of `Drawing`; this adds the display in
    Jupyter.
    """

    def _repr_mimebundle_(self, include=None, exclude=None):
        shown = widget(self)._repr_mimebundle_()
        return {
            **shown,
            "text/plain": repr(self),
            "image/png": base64.b64encode(picture(self)).decode(),
        }, {"explorer": {"figure": self.module}}
