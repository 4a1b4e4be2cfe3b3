"""Subcommands about what a person wrote."""

from __future__ import annotations

from autocoder_jupyter.magics import retesting
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.notebook import Notebook


def retest(notebook: Notebook, arguments: Arguments) -> None:
    """Gather the whole evidence for code and tests as they are on disk now; no model is asked."""
    retesting.retest(notebook, arguments.positional[0])
