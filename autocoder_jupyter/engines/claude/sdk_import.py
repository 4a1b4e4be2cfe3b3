"""The import of the Claude Agent SDK, without what its imports would compute in advance."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType

from autocoder_jupyter.models.library import collecting_rarely

_GRAMMARS = "rfc3987_syntax"
"""A package that JupyterLab installs. Its import compiles 38 grammars, which takes longer than all other imports."""


def load() -> None:
    """Import the SDK. Blocks for a second.

    Raises:
        ImportError: the SDK or something that it needs is not installed.
    """
    with collecting_rarely():
        with _grammars_compiled_later():
            importlib.import_module("jsonschema")
        importlib.import_module("claude_agent_sdk")


@contextlib.contextmanager
def _grammars_compiled_later() -> Iterator[None]:
    """Let an import of jsonschema not compile the grammars.

    jsonschema uses them only to check the formats `iri` and `iri-reference`. It gets a function that compiles them at
    the first such check.
    """
    if _GRAMMARS in sys.modules or importlib.util.find_spec(_GRAMMARS) is None:
        yield
        return
    stand_in = ModuleType(_GRAMMARS)
    vars(stand_in)["is_valid_syntax"] = _is_valid_syntax
    sys.modules[_GRAMMARS] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(_GRAMMARS) is stand_in:
            del sys.modules[_GRAMMARS]


def _is_valid_syntax(term: str, text: str) -> bool:
    """Whether a text has the syntax of a term of RFC 3987, like the function of the package."""
    return bool(importlib.import_module(_GRAMMARS).is_valid_syntax(term, text))
