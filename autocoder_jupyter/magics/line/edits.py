"""Subcommands about code and tests that the user has edited."""

from __future__ import annotations

from autocoder_jupyter.magics import retesting
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.references import named_samples


def retest(notebook: Notebook, arguments: Arguments) -> None:
    """Test code and tests as they are on disk now. No model is asked."""
    name, *data = arguments.positional
    retesting.retest(notebook, name, passed=named_samples(data, notebook.namespace))
