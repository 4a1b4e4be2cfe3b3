"""The styles of `styles.css` by class, as the text of a style attribute."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"\.([\w-]+)\s*\{([^{}]*)\}")


@cache
def style(look: str) -> str:
    """The declarations of some classes.

    Args:
        look: names of classes, separated by spaces; the last one wins.

    Raises:
        KeyError: a class has no rule.
    """
    return ";".join(_rules()[name] for name in look.split())


@cache
def _rules() -> dict[str, str]:
    text = _COMMENT.sub("", Path(__file__).with_name("styles.css").read_text("utf-8"))
    return {name: _compact(declarations) for name, declarations in _RULE.findall(text)}


def _compact(declarations: str) -> str:
    """Without spaces, because a saved card has a declaration for each of its elements."""
    pairs = (declaration.partition(":") for declaration in declarations.split(";") if declaration.strip())
    return ";".join(f"{name.strip()}:{value.strip()}" for name, _, value in pairs)
