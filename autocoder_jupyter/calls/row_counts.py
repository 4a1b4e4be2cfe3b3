"""Which rows calls on new data used, and where their share differs from that of the sample.

A call only leaves its arguments and its outputs here. When nothing runs for anybody, an instrumented copy of the
function runs once more in the sandbox (`engine.evidence.rows_used`), for one input after the other, within a budget.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Any

from autocoder_jupyter.calls.call import WorkerTask, program_of
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.concurrency.spare_time import SPARE_TIME
from autocoder_jupyter.errors import AutocodeError, DriftWarning
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.sandbox.protocol import Worker
from autocoder_jupyter.types import RowStep, RowsUsed

MOST_CELLS = 2_000_000
"""The maximum number of cells in the tables of a call, and in those of all calls that wait to be counted."""

MOST_WAITING = 16

SECONDS = 5.0
FIRST_SECONDS, SHARE = 10.0, 0.04
"""Processor time for one call; and for all of them: so much, and this share of the time since the first."""

QUIET_SECONDS, LONGEST_WAIT = 0.1, 60.0
"""Seconds for which nothing may run before rows are counted; and those after which what waits is given up."""

LARGE_SHARE = 0.1
"""Shares of rows that differ by less are not reported."""

_POLL_SECONDS = 0.05

# A call


@dataclass(frozen=True)
class Caller:
    """Where a warning about a call is shown: with this line, and in a notebook beside the answer.

    Args:
        told: the lines of the function of which it was warned.
    """

    context: Context
    file: str
    line: int
    told: set[int] = field(default_factory=set)


@dataclass(eq=False)
class AnsweredCall:
    """A call that has its answer.

    Args:
        arguments: the value of every input; empty if nothing was computed.
        outputs: all outputs, as the sandbox returned them.
        name: its name in a warning; that of the function by default.
    """

    function: Function
    options: CallOptions
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)
    outputs: Mapping[str, Any] = field(default_factory=dict, repr=False)
    name: str = ""

    def keep(self, arguments: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Keep what was computed."""
        self.arguments, self.outputs = arguments, outputs

    @property
    def may_be_counted(self) -> bool:
        """Whether rows are counted without being asked: of another input than the sample, and if a function whose rows
        are known reaches nothing outside of its sandbox.
        """
        function = self.function
        return (
            function.rows is not None
            and self.options.drift == "on"
            and not self.options.network
            and any(value is not function.samples.get(name) for name, value in self.arguments.items())
            and not any(KINDS[spec.type].form == "path" for spec in function.inputs)
            and not any(KINDS[spec.type].form == "path" for spec in function.outputs)
        )

    @property
    def cells(self) -> int:
        """The number of values in its tables."""
        return sum(int(getattr(value, "size", 1)) for value in self.arguments.values())

    def kept_apart(self) -> AnsweredCall:
        """The same call, with tables whose columns the caller does not change."""
        return replace(self, arguments=_apart(self.arguments), outputs=_apart(self.outputs))

    def rows_used(self, seconds: float) -> tuple[RowsUsed | None, float]:
        """Which rows it used, if that can be told, and the processor time of finding out; 0 if it was known. Blocks."""
        known, digest = self.function.watch.rows.by_input, self._digest()
        if digest in known or digest is None:
            return (known[digest] if digest else None), 0.0
        found, took = None, 0.0
        try:
            found, took = self._counted(seconds)
        finally:
            self.function.watch.rows.keep(digest, found)
        for line, words in differences(self.function.rows, found):
            self.function.watch.warnings[found.table if found else "", f"line {line}", "rows"] = words
        return found, took

    def _digest(self) -> str | None:
        """A digest of code and arguments; None if an argument cannot be encoded."""
        from autocoder_jupyter.codec import encode

        types = {spec.name: spec.type for spec in self.function.inputs}
        found = hashlib.sha256(self.function.code.encode())
        try:
            for name, value in sorted(self.arguments.items()):
                found.update(f"\0{name}\0{encode(value, types[name]).digest()}".encode())
        except ValueError:
            return None
        return found.hexdigest()

    def _counted(self, seconds: float) -> tuple[RowsUsed | None, float]:
        from autocoder_jupyter.engine.evidence.rows_used import rows_used
        from autocoder_jupyter.engine.evidence.solution_worker import SolutionStopped
        from autocoder_jupyter.engine.evidence.time_limit import TimeLimit

        limit, program = TimeLimit(seconds), program_of(self.function, self.options)

        def work(worker: Worker) -> RowsUsed | None:
            return rows_used(worker, program, self.arguments, self.outputs, limit)

        found = None
        with suppress(SolutionStopped, AutocodeError):
            found = WorkerTask(self.function, replace(self.options, retries=0), work).done()
        return found, seconds - limit.seconds_left


def _apart(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.copy(deep=False) if hasattr(value, "iloc") else value for name, value in values.items()}


# Differences from the sample


@dataclass(frozen=True)
class _Share:
    """The share of rows that a line keeps."""

    rows: int
    kept: float
    words: str


def differences(then: RowsUsed | None, now: RowsUsed | None) -> Iterator[tuple[int, str]]:
    """For each line that keeps another share of the rows than of the sample, a sentence: more than chance can be."""
    from autocoder_jupyter.data.value_drift import LEAST_ROWS, differ, percent

    if then is None or now is None or (then.table, then.output) != (now.table, now.output):
        return
    were, are = _shares(then), _shares(now)
    for place in sorted({**were, **are}):
        was, is_now = were.get(place, _nothing_left_out(then, place)), are.get(place, _nothing_left_out(now, place))
        if was is None or is_now is None or min(was.rows, is_now.rows) < LEAST_ROWS:
            continue
        if not differ(was.kept, was.rows, is_now.kept, is_now.rows, LARGE_SHARE):
            continue
        line, table = place
        of = f" of {table}" if table else ""
        reasons = f" ({is_now.words})" if is_now.words else ""
        were_words = f" ({was.words})" if was.words and not reasons else ""
        yield (
            line,
            f"after line {line}, {percent(is_now.kept)} of {is_now.rows:,} rows{of} are left{reasons}; "
            f"{percent(was.kept)} of the sample's were{were_words}.",
        )


def _shares(rows: RowsUsed) -> dict[tuple[int, str], _Share | None]:
    """By line and table; None where something else than the values of a row decides."""
    found: dict[tuple[int, str], _Share | None] = {}
    for step in rows.steps:
        if not step.of_groups and step.after < step.before:
            before = found.get(place := (step.line, step.table), _Share(step.before, 1.0, ""))
            found[place] = _and_then(before, step) if before is not None and step.by_value else None
    return found


def _and_then(share: _Share, step: RowStep) -> _Share:
    words = f"{share.words}, {step.words}" if share.words else step.words
    return _Share(share.rows, share.kept * step.after / step.before, words)


def _nothing_left_out(rows: RowsUsed, place: tuple[int, str]) -> _Share | None:
    """The share of a line that left out none of the rows that are followed to the end."""
    is_followed = not rows.after_line and place[1] in ("", rows.table)
    return _Share(rows.used, 1.0, "") if is_followed else None


# What waits to be counted, in this process


class RowCounter:
    """Counts the rows of calls, on a thread of its own. Any thread may offer some."""

    def __init__(self) -> None:
        self.begin_again()

    def begin_again(self) -> None:
        """Forget all that waits."""
        self._lock = threading.Lock()
        self._waiting: deque[tuple[AnsweredCall, Caller, int]] = deque()
        self.is_running = False
        self._began = 0.0
        self.taken = 0.0

    def offer(self, answered: AnsweredCall, caller: Callable[[], Caller]) -> None:
        """Count the rows of a call later, if they may be counted, if its input is new, and if the budget is enough.
        Returns at once.
        """
        rows = answered.function.watch.rows
        if not answered.may_be_counted or rows.was_seen(answered.arguments):
            return
        cells = answered.cells
        with self._lock:
            now = time.monotonic()
            self._began = self._began or now
            is_over = len(self._waiting) >= MOST_WAITING or self.taken > FIRST_SECONDS + SHARE * (now - self._began)
            if is_over or sum(each for *_, each in self._waiting) + cells > MOST_CELLS:
                rows.left_out += 1
                return
            rows.see(answered.arguments)
            self._waiting.append((answered.kept_apart(), caller(), cells))
            if not self.is_running:
                with suppress(RuntimeError):  # no thread can be started when the process ends
                    start_thread(self._run, "autocode-rows")
                    self.is_running = True

    def _run(self) -> None:
        until = time.monotonic() + LONGEST_WAIT
        while True:
            if SPARE_TIME.quiet_seconds > QUIET_SECONDS or time.monotonic() > until:
                if not self._take_next(is_late=time.monotonic() > until):
                    return
                until = time.monotonic() + LONGEST_WAIT
            time.sleep(_POLL_SECONDS)

    def _take_next(self, *, is_late: bool) -> bool:
        """Count the rows of the call that waits longest, or give it up. False if none waits."""
        with self._lock:
            if not self._waiting:
                self.is_running = False
                return False
            answered, caller, _ = self._waiting.popleft()
        if is_late:
            answered.function.watch.rows.left_out += 1
            return True
        with suppress(Exception):  # the call has its answer; nothing that happens here may disturb it
            found, took = answered.rows_used(SECONDS)
            self.taken += took
            for line, words in differences(answered.function.rows, found) if took else ():
                if line not in caller.told:
                    caller.told.add(line)
                    words = f"{answered.name or answered.function.name}: {words}"
                    caller.context.run(warnings.warn_explicit, words, DriftWarning, caller.file, caller.line)
        return True


ROWS = RowCounter()

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=ROWS.begin_again)  # a forked process has no thread that counts
