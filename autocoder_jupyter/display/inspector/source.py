"""Source code with buttons: copy and insert with our lab extension, download anywhere."""

from __future__ import annotations

from autocoder_jupyter.tasks.export import places
from autocoder_jupyter.view.document import Source
from autocoder_jupyter.view.markup import plain


def source(code: str, filename: str = "", defines: str = "", *, coloured: bool = True) -> Source:
    """Python code with buttons.

    Args:
        code: the source.
        filename: the name of the download; "" for no download.
        defines: the name that the function gets when it is inserted into a cell, if that is possible.
        coloured: whether the code is in colours, which takes five times as many characters.
    """
    # For the button *Insert*: the positions of the name in the text as it is shown.
    found = places(plain(code).rstrip(), defines) if defines else ()
    return Source(code, coloured, filename=filename, defines=defines, places=tuple(found))
