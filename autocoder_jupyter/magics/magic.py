"""The magics `%%autocode`, `%autocode` and `%%autocode_test`; see `cell`, `line/` and `own_tests`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class, no_var_expand

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.magics.notebook import Jobs, Notebook
from autocoder_jupyter.magics.settings import Autocode


@magics_class
class AutocodeMagics(Magics):
    """The magics of one shell.

    Args:
        jobs: used instead of `autocoder_jupyter.jobs`.
    """

    def __init__(self, shell: Any, jobs: Jobs | None = None) -> None:
        super().__init__(shell)
        self.notebook = Notebook(shell, Autocode(parent=shell), jobs)

    @no_var_expand
    @line_cell_magic
    def autocode(self, line: str, cell: str | None = None) -> None:
        """Describe a function in a cell, and get it tested on your data. `%autocode -h` shows how."""
        with without_keys():
            if cell is None:
                from autocoder_jupyter.magics.line.dispatch import run_line

                run_line(self.notebook, line)
            else:
                from autocoder_jupyter.magics.cell import run_cell

                run_cell(self.notebook, line, cell)

    def ask(self, result: Any, question: str, inputs: Mapping[str, Any]) -> Any:
        """Answer a question about a result, for `growth.ask`."""
        from autocoder_jupyter.magics.cell import ask

        with without_keys():
            return ask(self.notebook, result, question, inputs)

    @no_var_expand
    @cell_magic
    def autocode_test(self, line: str, cell: str) -> None:
        """Define your own tests for a function: `%%autocode_test NAME`, then pytest functions."""
        from autocoder_jupyter.magics.own_tests import run_test_cell

        with without_keys():
            run_test_cell(self.notebook, line, cell)


def _help() -> str:
    from autocoder_jupyter.magics.help import help_text

    return help_text()


# What IPython shows for `%autocode?` and `%%autocode?`.
AutocodeMagics.autocode.getdoc = _help  # type: ignore[union-attr]


@contextlib.contextmanager
def without_keys() -> Iterator[None]:
    """Errors without keys and passwords: they quote what was typed, and the notebook is saved with them."""
    try:
        yield
    except AutocodeError as error:
        from autocoder_jupyter.redaction.messages import without_anything_secret

        without_anything_secret(error)
        raise


# Cells that have only their first line

_OURS = ("%%autocode", "%%autocode_test")


def keep_empty_cell(lines: list[str]) -> list[str]:
    """Add an empty second line to a single `%%autocode …` line: IPython would refuse `%%autocode -h` without one."""
    if len(lines) == 1 and lines[0].startswith(_OURS) and lines[0].split()[0] in _OURS:
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines


# IPython skips transformers with side effects when it checks whether a typed cell is complete. Without this flag the
# added line would make a cell run after its first line.
keep_empty_cell.has_side_effects = True  # type: ignore[attr-defined]
