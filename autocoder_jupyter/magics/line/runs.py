"""Subcommands that read the journal."""

from __future__ import annotations

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.cell import read_sent
from autocoder_jupyter.magics.line.lookup import find_result, last_run
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.view import markup


def preview(notebook: Notebook, arguments: Arguments) -> None:
    """Show what the last run of a name sent to the model."""
    name = arguments.positional[0]
    job = notebook.jobs.current(name)
    run_id = job.run_id if job is not None else last_run(notebook, name)
    sent = read_sent(notebook.journal_root, name, run_id)
    if not sent:
        find_result(notebook, name)
        raise InvalidRequest(
            f"The journal has nothing that {name} sent.", hint="--dry-run in the cell shows what would be sent."
        )
    notebook.show(markup.code(sent), markup.plain(sent))
