"""A request that passes no data, in a notebook that has tables: probably an `@` is missing. Ask before it costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.recognition import NameInProse
from autocoder_jupyter.magics.references import data_names, kind_of, unmarked
from autocoder_jupyter.request import Request
from autocoder_jupyter.untrusted.visible import visible

YES = "yes"
WITHOUT = "without"
_MOST_NAMES = 5
_SHOWN = 300
"""Characters of a request that an error quotes."""


def require_data(notebook: Notebook, command: CellCommand, request: Request) -> CellCommand:
    """Ask the user about a request without data, if the notebook has tables and the request is new.

    Tables that the text names without an at sign are offered. A request that declares its inputs is meant, and one
    that is recorded was answered before.

    Returns:
        The command; with at signs if the user wants to pass these tables.

    Raises:
        InvalidRequest: nothing is to be sent, or there is no user to ask.
    """
    if request.samples or request.inputs or command.refine or not (names := data_names(notebook.namespace)):
        return command
    recorded = _recorded_texts(notebook, command.name)
    if command.prompt in recorded:
        return command
    declared = [command.name, *(spec.name for spec in command.outputs)]
    found = unmarked(command.prompt, (), declared, notebook.namespace)[:_MOST_NAMES]
    marked = _marked(command.prompt, found)
    if found and marked in recorded:
        return dataclasses.replace(command, prompt=marked)
    first = found[0].name if found else names[0]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    what = f"The request of {command.name} passes no data, and the notebook has {', '.join(names[:_MOST_NAMES])}{more}."
    way = f"Write it so: {marked[:_SHOWN]}" if found else f"Write @{first} in the request to pass it."
    if notebook.is_headless:
        raise InvalidRequest(
            what,
            why="The function would be written without the data, and there is no user to ask whether that is meant.",
            hint=f'{visible(way)} If no data is meant, declare what the function takes: -i "text: str".',
        )
    print(visible(what if found else f"{what} {way}"))
    if found:
        ways = f"Type {YES}, {WITHOUT} (go on without data) or nothing (stop): "
        question = f"Use {_list(found, notebook.namespace)}? {ways}"
    else:
        question = f"Type {YES} to go on without data, anything else to stop: "
    answer = _typed(question)
    if answer == YES:
        return dataclasses.replace(command, prompt=marked) if found else command
    if found and answer == WITHOUT:
        return command
    raise InvalidRequest("Nothing was sent, because the request passes no data.", hint=visible(way))


def _typed(question: str) -> str:
    try:
        return input(visible(question)).strip().casefold()
    except EOFError:
        return ""


def _marked(prompt: str, found: Sequence[NameInProse]) -> str:
    """The text with an at sign at each of these mentions."""
    for one in reversed(found):
        prompt = f"{prompt[: one.start]}@{one.name}{prompt[one.end :]}"
    return prompt


def _list(found: Sequence[NameInProse], namespace: Mapping[str, Any]) -> str:
    words = [f"{one.name} ({_extent(namespace[one.name])})" for one in found]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _extent(value: Any) -> str:
    kind = kind_of(value)
    return f"{len(value):,} rows" if kind in ("DataFrame", "Series") else f"a {kind}"


def _recorded_texts(notebook: Notebook, name: str) -> set[object]:
    """The texts for which versions of this name were written."""
    from autocoder_jupyter.versions import Versions

    versions = Versions(notebook.journal_root, name)
    return {versions.request(version.id).get("prompt") for version in versions.all()}
