"""Python source in the colours of the notebook's own editor, which follow its theme."""

from __future__ import annotations

import importlib
from functools import lru_cache
from itertools import groupby
from typing import Any

from autocoder_jupyter.untrusted.parsing import TooLong, require_readable
from autocoder_jupyter.view.html import Html, element, escape, join

_COLOURS = {
    "Keyword.Constant": "a",
    "Keyword": "k",
    "Operator.Word": "k",
    "Name.Function": "d",
    "Name.Class": "d",
    "Name.Builtin": "b",
    "Literal.String": "s",
    "Literal.Number": "n",
    "Comment": "c",
}
"""By Pygments token, special tokens first: the variable of the class `python` in `styles.css`.

Operators have no colour: they are frequent, and a span is five times as long as the operator.
"""


@lru_cache(maxsize=32)
def python(source: str) -> Html:
    """Source as HTML: spans with inline colours, no class and no style sheet, so that a saved cell keeps them.

    A card is rendered after each event, and most events do not change the source, so the last results are kept. A
    source that is too long to be read has no colours.
    """
    try:
        require_readable(source)
    except TooLong:
        return escape(source, quotes=False)
    lexers: Any = importlib.import_module("pygments.lexers.python")
    lexer = lexers.PythonLexer(stripnl=False, ensurenl=False)
    coloured = ((_colour(str(token)), text) for token, text in lexer.get_tokens(source))
    runs = groupby(coloured, key=lambda piece: piece[0])
    return join(*(_span(colour, "".join(text for _, text in pieces)) for colour, pieces in runs))


def _colour(token: str) -> str:
    kind = token.removeprefix("Token.")
    return next((variable for start, variable in _COLOURS.items() if kind.startswith(start)), "")


def _span(colour: str, text: str) -> Html:
    shown = escape(text, quotes=False)
    return element("span", shown, style=f"color:var(--{colour})") if colour and text.strip() else shown
