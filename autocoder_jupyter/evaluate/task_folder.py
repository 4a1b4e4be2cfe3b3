"""Tasks as files: a folder with a subfolder for each task. They hold data and no code.

    TASKS/net revenue/task.json       format, request, returns, and a description of each file of values
    TASKS/net revenue/sample.0.bin    the first table of the sample, then the others, then the right answer
    TASKS/net revenue/new_rows.0.bin  the same for the new rows

The files of values are those of a saved result. Whoever wrote the folder is not trusted: no link is followed, and
every value is checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.evaluate.known_task import OUTPUT, KnownCase, KnownTask
from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.untrusted.plain_json import parse

FORMAT = 1
TASK_FILE = "task.json"
SHIPPED = Path(__file__).parent / "tasks"
"""The tasks that come with the package."""

MOST_TASKS = 1000
_TASK_BYTES = 2**20
_VALUE_BYTES = 2**28
_FOLDER_BYTES = 2**30
"""All values of a folder together, because they are all held in memory."""

_MOST_TABLES = 20

_ANSWERS = frozenset({"DataFrame", "Series", "bool", "dict", "float", "int", "list", "str"})
"""The types of an answer. Files and figures have no single right form."""

_Case = Literal["sample", "new_rows"]


def write_task(folder: Path, task: KnownTask) -> Path:
    """Write a task into a new subfolder with its name.

    Args:
        folder: the folder of all tasks; it is made if it does not exist.
        task: the task.

    Returns:
        The subfolder.

    Raises:
        Unencodable: a value cannot be written without a change.
        OSError: the folder cannot be written.
    """
    from autocoder_jupyter.codec import encode

    files = Folder(folder)
    record: dict[str, Any] = {"format": FORMAT, "request": task.request, "returns": task.returns}
    for name, case in _cases(task):
        headers = []
        for number, (value, kind) in enumerate(
            [*((table, "DataFrame") for table in case.tables.values()), (case.answer, task.kind)]
        ):
            encoded = encode(value, kind)
            files.write(f"{task.name}/{name}.{number}.bin", *encoded.buffers)
            headers.append(encoded.header)
        record[name] = {"tables": list(case.tables), "values": headers}
    files.write(f"{task.name}/{TASK_FILE}", json.dumps(record, ensure_ascii=False, indent=1).encode())
    return folder / task.name


def read_tasks(folder: Path) -> tuple[KnownTask, ...]:
    """The tasks of a folder, by name.

    Raises:
        InvalidRequest: there is no task, or one cannot be read.
    """
    files = Folder(folder)
    try:
        names = sorted(name for name in files.names("") if files.exists(f"{name}/{TASK_FILE}"))
    except OSError as error:
        raise InvalidRequest(f"The tasks in {visible(folder)} cannot be read.", why=str(error.strerror)) from None
    if not names or len(names) > MOST_TASKS:
        raise InvalidRequest(
            f"There are {len(names) or 'no'} tasks in {visible(folder)}.",
            why=f"A folder of tasks has 1 to {MOST_TASKS} subfolders with a {TASK_FILE}.",
            hint="autocoder_jupyter.evaluate.task_folder.write_task writes one.",
        )
    tasks, left = [], _FOLDER_BYTES
    for name in names:
        task, taken = _read(files, name, left)
        tasks.append(task)
        left -= taken
    return tuple(tasks)


def _read(files: Folder, name: str, left: int) -> tuple[KnownTask, int]:
    """A task, and the bytes of its values, which may be as many as are left."""
    from autocoder_jupyter.sandbox.host.received import receive

    taken = 0

    def case(record: Mapping[str, Any], which: _Case) -> KnownCase:
        nonlocal taken
        tables = record["tables"]
        _require_names(tables)
        values = []
        for number, header in enumerate(record["values"]):
            if header["type"] not in (_ANSWERS if number == len(tables) else {"DataFrame"}):
                raise ValueError(f"value {number} of {which} has the type {header['type']}")
            most = min(_VALUE_BYTES, left - taken)
            payload = memoryview(files.read_bytes(f"{name}/{which}.{number}.bin", most))
            taken += len(payload)
            values.append(receive(header, payload, trusted=False))
        if len(values) != len(tables) + 1:
            raise ValueError(f"{which} must have a value for each table, then the answer")
        return KnownCase(dict(zip(tables, values[:-1], strict=True)), values[-1])

    try:
        record = parse(files.read_bytes(f"{name}/{TASK_FILE}", _TASK_BYTES))
        if record["format"] != FORMAT:
            raise ValueError(f"it is not in format {FORMAT}")
        request, returns = record["request"], record["returns"]
        if not isinstance(returns, str | dict):
            raise TypeError("returns must be a type, or dtypes by column")
        check.request("request", request)
        if isinstance(returns, str) and returns not in _ANSWERS:
            raise ValueError(f"{OUTPUT} cannot be a {returns}")
        sample, new_rows = case(record["sample"], "sample"), case(record["new_rows"], "new_rows")
        if sample.tables.keys() != new_rows.tables.keys():
            raise ValueError("sample and new_rows have tables with other names")
        return KnownTask(name, request, returns, sample, new_rows), taken
    except (InvalidRequest, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        why = error.what if isinstance(error, InvalidRequest) else f"{type(error).__name__}: {error}"
        if isinstance(error, OSError):
            why = f"{error.filename}: {error.strerror}"
        raise InvalidRequest(f"The task {visible(name)!r} cannot be read.", why=visible(why)[:500]) from None


def _require_names(tables: Any) -> None:
    """Names of tables are inputs of the function."""
    named = isinstance(tables, list) and all(isinstance(name, str) and check.is_input_name(name) for name in tables)
    if not named or len(set(tables)) < len(tables) or len(tables) > _MOST_TABLES:
        raise ValueError(f"tables must be at most {_MOST_TABLES} different names")


def _cases(task: KnownTask) -> Iterator[tuple[_Case, KnownCase]]:
    yield "sample", task.sample
    yield "new_rows", task.new_rows
