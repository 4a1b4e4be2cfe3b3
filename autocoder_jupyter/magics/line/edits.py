"""Subcommands about code and tests that the user has edited."""

from __future__ import annotations

from autocoder_jupyter.magics import retesting
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.notebook import Notebook


def retest(notebook: Notebook, arguments: Arguments) -> None:
    """Test code and tests as they are on disk now. No model is asked."""
    retesting.retest(notebook, arguments.positional[0])
