"""Python source in the colours of the notebook's own editor, which follow its theme."""

from __future__ import annotations

import html
import importlib
from typing import Any

_COLOURS = {
    "Keyword.Constant": "var(--jp-mirror-editor-atom-color,#8250df)",
    "Keyword": "var(--jp-mirror-editor-keyword-color,#2e7d32)",
    "Operator.Word": "var(--jp-mirror-editor-keyword-color,#2e7d32)",
    "Name.Function": "var(--jp-mirror-editor-def-color,#2f6fdb)",
    "Name.Class": "var(--jp-mirror-editor-def-color,#2f6fdb)",
    "Name.Builtin": "var(--jp-mirror-editor-builtin-color,#2e7d32)",
    "Literal.String": "var(--jp-mirror-editor-string-color,#c0392b)",
    "Literal.Number": "var(--jp-mirror-editor-number-color,#2e7d32)",
    "Comment": "var(--jp-mirror-editor-comment-color,#6b8a8a)",
    "Operator": "var(--jp-mirror-editor-operator-color,#9b4dca)",
}
"""By Pygments' token, the more special first. The fallbacks can be read on light and on dark."""


def python(source: str) -> str:
    """Source as HTML: spans with inline colours, no class and no style sheet, so that a saved cell keeps them."""
    lexers: Any = importlib.import_module("pygments.lexers.python")
    lexer = lexers.PythonLexer(stripnl=False, ensurenl=False)
    return "".join(_span(str(token).removeprefix("Token."), text) for token, text in lexer.get_tokens(source))


def _span(token: str, text: str) -> str:
    colour = next((colour for kind, colour in _COLOURS.items() if token.startswith(kind)), None)
    escaped = html.escape(text, quote=True)
    return f'<span style="color:{colour}">{escaped}</span>' if colour and text.strip() else escaped
