"""Ask before the model is paid: the request names a table without an at sign, or passes no data."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.recognition import NameInProse, is_like
from autocoder_jupyter.magics.references import columns_of, data_names, find_references, kind_of, unmarked
from autocoder_jupyter.request import Request
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.jobs.code_job import CodeRequest
    from autocoder_jupyter.types import Report

YES = "yes"
NO = "no"
WITHOUT = "without"
_MOST_NAMES = 5
_SHOWN = 300
"""Characters of a request that an error quotes."""

_NAME = re.compile(r"[^\W\d]\w*")


def require_data(notebook: Notebook, command: CellCommand, request: Request) -> CellCommand:
    """Ask the user about tables that the text names without an at sign, and about a request without data.

    Beside data that are passed, only a table is asked about that is named with certainty. A request that declares its
    inputs is meant, and one that is recorded was answered before.
    """
    namespace, passes = notebook.namespace, bool(request.samples)
    own = [command.name, *(spec.name for spec in request.inputs), *(spec.name for spec in request.outputs)]
    if passes:
        found = _forgotten(command, request.samples, [*own, *request.renames], namespace)
        is_meant = not found
    else:
        found = unmarked(command.prompt, (), own, namespace)[:_MOST_NAMES]
        is_meant = bool(request.inputs or command.refine)
    if is_meant:
        return command
    reports = _recorded(notebook, command.name)
    if passes:
        outputs = {spec.name for report in reports for spec in report.declared_outputs}
        found = tuple(one for one in found if one.name not in outputs)
    elif not found and any(not report.sample_schemas for report in reports):
        return command  # a function without data is meant
    texts = {text for report in reports for text in (report.prompt, *report.wishes)}
    return _asked(notebook, command, found, texts, passes=passes)


def require_frames(notebook: Notebook, command: CellCommand, request: CodeRequest) -> CellCommand:
    """The same for a cell with `--mode tools`. Its tools may get the data, so one that passes none is meant."""
    from autocoder_jupyter.jobs.code_job import load_record

    own = [command.name, *request.tools, *request.functions]
    found = _forgotten(command, request.frames, own, notebook.namespace)
    record = load_record(notebook.journal_root, command.name) if found else None
    return _asked(notebook, command, found, {record.message} if record else (), passes=True)


def _forgotten(
    command: CellCommand, passed: Mapping[str, Any], own: Iterable[str], namespace: Mapping[str, Any]
) -> tuple[NameInProse, ...]:
    """The tables that the text names with certainty, and that the cell does not pass.

    A Series is left out, because its name is often that of a column, and so is what a passed table may be called.
    """
    expressions = (*(sample.expression for sample in command.samples), *(each.text for each in command.examples))
    given_names = {*find_references(command.prompt), *passed, *_NAME.findall(" ".join(expressions))}
    values = [namespace[name] for name in given_names if name in namespace]
    return tuple(
        one
        for one in unmarked(command.prompt, given_names, {*own, *columns_of(passed, passed)}, namespace)
        if one.is_certain
        and kind_of(namespace[one.name]) != "Series"
        and not any(namespace[one.name] is value for value in values)
        and not any(is_like(one.name, name) for name in given_names)
    )[:_MOST_NAMES]


def _asked(
    notebook: Notebook, command: CellCommand, found: Sequence[NameInProse], texts: Collection[str], *, passes: bool
) -> CellCommand:
    """Ask about these names, or about a request without data if there are none."""
    marked = _marked(command.prompt, found)
    if not {command.prompt, command.prompt.strip()}.isdisjoint(texts) or (passes and not found):
        return command
    if found and not {marked, marked.strip()}.isdisjoint(texts):
        return dataclasses.replace(command, prompt=marked)
    what, why, way, otherwise = _words(command.name, found, marked, data_names(notebook.namespace), passes=passes)
    if notebook.is_headless:
        raise InvalidRequest(what, why=why, hint=f"{visible(way)}\n{otherwise}")
    print(visible(what if found else f"{what} {way}"))
    go_on = NO if passes else WITHOUT
    if found:
        used = f"Use {_list(found, notebook.namespace)}{' too' if passes else ''}?"
        meaning = "run the cell as it is" if passes else "go on without data"
        question = f"{used} Type {YES}, {go_on} ({meaning}) or nothing (stop): "
    else:
        question = f"Type {YES} to go on without data, anything else to stop: "
    answer = _typed(question)
    if answer == YES:
        return dataclasses.replace(command, prompt=marked) if found else command
    if found and answer == go_on:
        return command
    raise InvalidRequest(f"Nothing was sent. {what}", hint=visible(way))


def _words(
    name: str, found: Sequence[NameInProse], marked: str, names: Sequence[str], *, passes: bool
) -> tuple[str, str, str, str]:
    """What is missing, why that is refused without a user, what to write, and what to write if it is intended."""
    tables = _joined([one.name for one in found])
    if passes:
        return (
            f"The request of {name} names {tables} and does not pass {'it' if len(found) == 1 else 'them'}.",
            "The answer would be made without this table, and there is no user to ask whether that is meant.",
            f"Write it so: {marked[:_SHOWN]}",
            f"If {tables} is not meant, use another word.",
        )
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    has = f"{', '.join(names[:_MOST_NAMES])}{more}" if names else "no table"
    if found:
        way = f"Write it so: {marked[:_SHOWN]}"
    elif names:
        way = f"Write @{names[0]} in the request to pass it."
    else:
        way = "Perhaps the cell that loads the data was not run."
    return (
        f"The request of {name} passes no data, and the notebook has {has}.",
        "The function would be written without data, and there is no user to ask whether that is meant.",
        way,
        'If no data is meant, declare what the function takes: -i "text: str".',
    )


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
    return _joined([f"{one.name} ({_extent(namespace[one.name])})" for one in found])


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _extent(value: Any) -> str:
    kind = kind_of(value)
    return f"{len(value):,} rows" if kind in ("DataFrame", "Series") else f"a {kind}"


def _recorded(notebook: Notebook, name: str) -> list[Report]:
    from autocoder_jupyter.versions import Versions

    return [version.report for version in Versions(notebook.journal_root, name).all()]
