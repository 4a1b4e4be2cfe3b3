"""A request that passes no data, in a notebook that has tables: probably an `@` is missing. Ask before it costs."""

from __future__ import annotations

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.references import data_names
from autocoder_jupyter.request import Request
from autocoder_jupyter.untrusted.visible import visible

YES = "yes"
_MOST_NAMES = 5


def require_data(notebook: Notebook, command: CellCommand, request: Request) -> None:
    """Ask the user whether a request without data is meant, if the notebook has tables and the request is new.

    A request that declares its inputs is meant, and one that is recorded was answered before.

    Raises:
        InvalidRequest: it is not meant, or there is no user to ask.
    """
    if request.samples or request.inputs or command.refine or not (names := data_names(notebook.namespace)):
        return
    if _is_recorded(notebook, request):
        return
    named = [name for name in names if name in request.prompt.split()]
    first = (named or names)[0]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    what = f"The request of {command.name} passes no data, and the notebook has {', '.join(names[:_MOST_NAMES])}{more}."
    way = f"Write @{first} in the request to pass it."
    if notebook.is_headless:
        raise InvalidRequest(
            what,
            why="The function would be written without the data, and there is no user to ask whether that is meant.",
            hint=f'{way} If no data is meant, declare what the function takes: -i "text: str".',
        )
    print(f"{visible(what)} {way}")
    try:
        answer = input(f"Type {YES} to go on without data, anything else to stop: ")
    except EOFError:
        answer = ""
    if answer.strip().casefold() != YES:
        raise InvalidRequest("Nothing was sent, because the request passes no data.", hint=way)


def _is_recorded(notebook: Notebook, request: Request) -> bool:
    """Whether a version of this name was written for the same text."""
    from autocoder_jupyter.versions import Versions

    versions = Versions(notebook.journal_root, request.name)
    return any(versions.request(version.id).get("prompt") == request.prompt for version in versions.all())
