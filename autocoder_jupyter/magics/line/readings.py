"""`%autocode reading`: list the other readings of a request, and refine the function to one of them."""

from __future__ import annotations

from autocoder_jupyter.display.parts import opinion_blocks
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.cell import launch
from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.launching import waits
from autocoder_jupyter.magics.line.lookup import find_job
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.refinement import refined_request
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.view.as_text import blocks_text


def reading(notebook: Notebook, arguments: Arguments) -> None:
    """List the readings that the second opinion found. With a number, refine the function to that reading."""
    name, *number = arguments.positional
    job = find_job(notebook, name)
    if not job.done:
        raise InvalidRequest(f"{name} is not done yet.", hint="Wait until it is ready.")
    opinion = job.result.report.second_opinion
    readings = opinion.readings if opinion else ()
    if not number:
        lines = blocks_text(opinion_blocks(name, opinion)) or [f"{name} has no second opinion."]
        print("\n".join(map(visible, lines)))
        return
    if not readings:
        raise InvalidRequest(
            f"There is no other reading of {name}.", hint="Describe the change in a cell with --refine."
        )
    if number[0] not in map(str, range(1, len(readings) + 1)):
        raise InvalidRequest(
            f"{name} has no reading {number[0][:40]!r}.", hint=f"Write a number from 1 to {len(readings)}."
        )
    chosen = readings[int(number[0]) - 1]
    request = refined_request(CellCommand(name=name, prompt=chosen.line, refine=True), notebook)
    launch(notebook, request, notebook.config_again(job), waits=waits(notebook, notebook.settings()))
