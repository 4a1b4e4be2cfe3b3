"""Subcommands that read the journal."""

from __future__ import annotations

from autocoder_jupyter.display import markup
from autocoder_jupyter.display.amounts import counted, duration, spending
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.cell import read_sent
from autocoder_jupyter.magics.line.lookup import find_result, recorded_runs
from autocoder_jupyter.magics.notebook import Notebook


def preview(notebook: Notebook, arguments: Arguments) -> None:
    """What the last run of a name sent to the model."""
    name = arguments.positional[0]
    job = notebook.jobs.current(name)
    recorded = recorded_runs(notebook, name)
    run_id = job.run_id if job is not None else recorded[-1][0] if recorded else ""
    sent = read_sent(notebook.journal_root, name, run_id)
    if not sent:
        find_result(notebook, name)
        raise InvalidRequest(
            f"The journal holds nothing that {name} sent.", hint="--dry-run in the cell shows what would be sent."
        )
    notebook.show(markup.code(sent), markup.plain(sent))


def history(notebook: Notebook, arguments: Arguments) -> None:
    """The runs of a name, oldest first."""
    name = arguments.positional[0]
    rows = [
        (
            run_id,
            f"{report.started.astimezone():%Y-%m-%d %H:%M}" if report.started else "",
            "ready" if report.success else "failed",
            counted(report.attempts, "attempt"),
            duration(report.seconds),
            spending(report.usage, None),
            report.error or "",
        )
        for run_id, report in recorded_runs(notebook, name)
    ]
    if not rows:
        find_result(notebook, name)
        print(f"The journal holds no finished run of {name}.")
        return
    headings = ("run", "started", "state", "", "took", "spent", "reason")
    notebook.show(markup.table(headings, rows), markup.columns(rows))
