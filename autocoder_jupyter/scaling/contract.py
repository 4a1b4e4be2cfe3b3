"""How a function may be split. It is found once, in the sandbox, and kept in the cache folder of this machine.

The record is not part of the function's folder, because a split that somebody else wrote down is only a claim. Its key
is the content of everything that it depends on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from autocoder_jupyter.calls.binding import bind
from autocoder_jupyter.calls.call import WorkerTask, in_turn, program_of, require_callable
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.engine.evidence.split import largest_table, require_keys
from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.redaction.messages import hidden_values
from autocoder_jupyter.request import secret_values
from autocoder_jupyter.sandbox.host.redaction import RedactingWorker
from autocoder_jupyter.sandbox.protocol import Worker
from autocoder_jupyter.types.interface import DeclaredSplit, FoundSplit, Split, table_names
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.version import VERSION

MOST_KEPT = 256
"""Records in memory, and in the cache folder."""

RECALLED = 2_000_000
"""Bytes of samples for which a kept record is looked up without being asked for, which takes milliseconds."""

_kept: OrderedDict[str, Split] = OrderedDict()
_lock = threading.Lock()


def split_output(function: Function, options: CallOptions) -> tuple[str, str]:
    """The output that is put together from pieces, and why there is none; one of both is "".

    It is the one that `output` names, or the only one.
    """
    names = [spec.name for spec in function.outputs]
    if options.output:
        names = [options.output]
    kinds = {spec.name: spec.type for spec in function.outputs}
    if len(names) > 1:
        table = next((name for name in names if kinds[name] == "DataFrame"), names[0])
        return "", (
            f"it returns {', '.join(names)}, and only one table can be put together from pieces: "
            f"{function.name}.with_options(output={table!r})"
        )
    if KINDS[kinds[names[0]]].form != "table":
        return "", f"it returns a {kinds[names[0]]}, and only a table can be put together from pieces"
    return names[0], ""


def split_input(function: Function, arguments: Mapping[str, Any], fixed: Mapping[str, Any]) -> str:
    """The table that is split: of those that are not fixed, the one with the most rows, or the first of several."""
    table = largest_table((spec for spec in function.inputs if spec.name not in fixed), arguments)
    if not table:
        raise InvalidRequest(f"No input of {visible(function.name)} is a table, so there is nothing to split.")
    return table


async def split_of(function: Function, options: CallOptions, fixed: Mapping[str, Any]) -> Split:
    """How a function may be split, with these values of its other inputs: as it was demanded, else as freely as it can.

    A demand is a claim of a record, so it is compared like any other kind.

    Raises:
        InvalidRequest: there is no sample, no table among the inputs, or the table lacks a demanded key.
        SandboxError: the sandbox failed.
    """
    require_callable(function, options)
    missing = [spec.name for spec in function.inputs if spec.required and spec.name not in {*function.samples, *fixed}]
    if missing:
        name = visible(function.name)
        raise InvalidRequest(
            f"How {name} may be split is tested on its samples, and {missing[0]} has none.",
            hint=f"Run its cell, or {name}.verify({missing[0]}=…) with a table of a few hundred rows.",
        )
    arguments = await background.call_blocking(lambda: bind(function, (), fixed))
    table = split_input(function, arguments, fixed)
    output, why = split_output(function, options)
    if why:
        return Split(input=table, kind="whole", against={"whole": why})
    demanded = _demanded(function, table)
    if demanded is not None:
        require_keys(demanded, arguments[table])
    key = await background.call_blocking(lambda: _key(function, options, arguments, table, output, demanded))
    known = _find(key)
    if known is None:
        with checking(function):
            known = await _checked(function, options, arguments, table, output, demanded)
        if known.complete:
            _store(key, known)
    function.splits.keep(FoundSplit(output, known, tuple(sorted(fixed))), function.code)
    return known


async def split_of_all(function: Function, options: CallOptions) -> None:
    """Find out how a function may be split, for each table that it returns, and notify what shows the function.

    Raises: as `split_of`.
    """
    with checking(function):
        for output in table_names(function.outputs):
            await split_of(function, options.changed({"output": output}), {})


def recall_splits(function: Function, options: CallOptions) -> None:
    """Notify what shows a function how it may be split if an earlier process found that out. Nothing is computed.

    Large samples are not read for that.
    """
    with contextlib.suppress(AutocodeError):
        if not any(_home().glob("*.json")) or _bytes_of(function.samples) > RECALLED:
            return
        require_callable(function, options)
        arguments = bind(function, (), {})
        table = split_input(function, arguments, {})
        for output in table_names(function.outputs):
            of_output = options.changed({"output": output})
            key = _key(function, of_output, arguments, table, output, _demanded(function, table))
            if (known := _find(key)) is not None:
                function.splits.keep(FoundSplit(output, known), function.code)


@contextlib.contextmanager
def checking(function: Function) -> Iterator[None]:
    """Notify what shows a function that a check runs, and why it failed if it does."""
    if not function.splits.begin("the sample is computed"):
        yield
        return
    failed = ""
    try:
        yield
    except AutocodeError as error:
        failed = " ".join(filter(None, (error.what, error.why, error.hint)))
        raise
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
        raise
    finally:
        function.splits.end(failed)


def _demanded(function: Function, table: str) -> DeclaredSplit | None:
    return function.split if function.split is not None and function.split.input == table else None


def _bytes_of(samples: Mapping[str, Any]) -> int:
    """About how much memory samples need, without a look at their texts."""
    return sum(getattr(value, "size", 1) * 8 for value in samples.values())


async def _checked(
    function: Function,
    options: CallOptions,
    arguments: Mapping[str, Any],
    table: str,
    output: str,
    demanded: DeclaredSplit | None,
) -> Split:
    from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
    from autocoder_jupyter.engine.evidence.split import SplitCheck

    program = program_of(function, options)
    secrets = hidden_values(secret_values(options.secrets), options.env_vars)

    def work(worker: Worker) -> Split:
        side = SolutionWorker(visible(function.name), RedactingWorker(worker, secrets), program)
        report_step = function.splits.report_step
        return SplitCheck(side.running, program, output, arguments, table, on_try=report_step).run(demanded)

    on_worker = WorkerTask(function, options, work)
    return await in_turn(f"{function.name}: how it may be split", on_worker, options, on_worker.done)


def _key(
    function: Function,
    options: CallOptions,
    arguments: Mapping[str, Any],
    table: str,
    output: str,
    demanded: DeclaredSplit | None,
) -> str:
    from autocoder_jupyter.codec import encode

    types = {spec.name: spec.type for spec in function.inputs}
    environment = function.environment
    program = program_of(function, options)
    parts = [
        VERSION,
        program.code,
        [spec.model_dump(mode="json") for spec in (*program.inputs, *program.outputs)],
        table,  # depends also on which inputs are fixed
        output,
        demanded.model_dump() if demanded else None,
        [list(environment.python_version), sorted(environment.lock or environment.packages)],
        sorted(program.env_vars.items()),
        {name: encode(value, types[name]).digest() for name, value in sorted(arguments.items())},
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _find(key: str) -> Split | None:
    """The kept record; None if there is none, or it cannot be read."""
    with _lock:
        known = _kept.get(key)
    if known is not None:
        return known
    with contextlib.suppress(OSError, ValueError):
        found = Split.model_validate(parse(Folder(_home()).read_bytes(f"{key}.json")))
        with _lock:
            _kept[key] = found
        return found
    return None


def _store(key: str, split: Split) -> None:
    """Keep a record. A failure to write it does not matter."""
    with _lock:
        _kept[key] = split
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    home = _home()
    with contextlib.suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        part = home / f"{key}.{threading.get_ident()}.part"
        part.write_text(split.model_dump_json(), encoding="utf-8")
        part.replace(home / f"{key}.json")
        for old in sorted(home.iterdir(), key=lambda path: path.stat().st_mtime)[:-MOST_KEPT]:
            old.unlink(missing_ok=True)


def _home() -> Any:
    return cache_folder() / "splits"
