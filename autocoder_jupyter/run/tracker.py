"""Keeps the record of an active run up to date, notifies listeners, and writes the log of events."""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.run import events
from autocoder_jupyter.run.events import Emit, Event, Finished, Noticed
from autocoder_jupyter.run.record import RunRecord
from autocoder_jupyter.untrusted.folder import Folder

_log = redacting_logger(__name__)

R = TypeVar("R", bound=RunRecord)


class RunTracker(Generic[R]):
    """Keeps the record of one run. Every method may be called from any thread.

    It is called with each event, returns at once, and never raises. `Finished` is not applied until `finish`, which the
    owner of the run calls when the result can be read; events after it have no effect.

    Args:
        listeners: each is called with every event, after it was applied. It must return at once. An exception of it is
            logged and stops nothing.
        now: a clock in seconds.
    """

    def __init__(self, run: R, *listeners: Emit, now: Callable[[], float] = time.monotonic) -> None:
        self.started = dt.datetime.now(dt.UTC)
        self._run = run
        self._listeners = listeners
        self._now = now
        self._began = now()
        self._took: float | None = None
        self._last: Finished | None = None
        self._lock = threading.RLock()

    @property
    def run(self) -> R:
        """The record as of the last event."""
        return self._run

    @property
    def seconds(self) -> float:
        """Seconds since the start; those of the whole run after `stop`."""
        return self._now() - self._began if self._took is None else self._took

    def stop(self) -> float:
        """Stop the clock, and return the seconds of the whole run: the report and the card have the same."""
        with self._lock:
            self._took = self.seconds
            return self._took

    @property
    def last(self) -> Finished | None:
        """The last event, which may not be applied yet; None while the run is active."""
        return self._last

    def listen(self, listener: Emit) -> None:
        """Call a listener with every later event; `run` has what was before."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

    def __call__(self, event: Event) -> None:
        """Apply an event, and notify the listeners."""
        with self._lock:  # a thread of a sandbox may emit the outcome of a test after the end
            if self._last is None and not self._run.finished:
                if isinstance(event, Finished):
                    self._last = event
                    self.stop()
                else:
                    self._apply(event)

    def finish(self, default: Finished) -> None:
        """Apply the last event."""
        with self._lock:
            if not self._run.finished:
                self._last = self._last or default
                self._apply(self._last)

    def _apply(self, event: Event) -> None:
        try:
            self._run = self._run.apply(event, self.seconds)
        except Exception:
            _log.exception("the record of a run could not take an event (%s)", type(event).__name__)
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                _log.exception("a listener failed on %s", type(event).__name__)


# The log of events
#
# JSON lines, in a file that the user names; off by default. The file contains no values of the data: the fields of each
# event are chosen explicitly, and texts of services and programs are masked.

_LONGEST = 500


def write_log(tracker: RunTracker[Any], path: str | None, run_id: Callable[[], str]) -> None:
    """Write the later events of a run to a file, if one is named."""
    if path:
        tracker.listen(EventLog(Path(path), tracker.run.name, run_id, lambda text: tracker(Noticed(text))))


class EventLog:
    """A listener that writes events to a file.

    Args:
        path: the path of the file. It is created if it does not exist. In the notebook's folder no link is followed, on
            no part of the path; elsewhere the file itself must not be a link.
        run_id: the id of the run, once it is known.
        on_fault: called once with a sentence if the file cannot be written. There is no second try.
    """

    def __init__(
        self, path: Path, name: str, run_id: Callable[[], str], on_fault: Callable[[str], object] = lambda text: None
    ) -> None:
        self._path = Path(os.path.normpath(path.expanduser().absolute()))
        here = Path.cwd()
        self._folder = Folder(here if self._path.is_relative_to(here) else self._path.parent)
        self._name = name
        self._run_id = run_id
        self._on_fault = on_fault
        self._masker = Masker()
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._broken = False

    def __call__(self, event: Event) -> None:
        """Write an event. It is on disk at the end of its stage, or earlier."""
        fields = self._fields(event)
        if fields is None or self._broken:
            return
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        record = {"time": now, "name": self._name, "run": self._run_id(), "event": type(event).__name__, **fields}
        with self._lock:
            self._lines.append(json.dumps(record, ensure_ascii=False))
            if isinstance(event, events.StageFinished | events.CodeEnded | events.Finished | events.Noticed):
                self._write()

    def _write(self) -> None:
        content = "".join(f"{line}\n" for line in self._lines).encode()
        self._lines.clear()
        try:
            self._folder.append(self._path.relative_to(self._folder.root).as_posix(), content)
        except OSError as error:
            self._broken = True
            self._on_fault(f"The log {self._path} is not written: {error.strerror or error}.")

    def _fields(self, event: Event) -> dict[str, Any] | None:
        """The record of an event; None for events that are left out, such as sources, plans, texts and outputs."""
        match event:
            case events.StageStarted():
                return {"stage": event.stage, "attempt": event.attempt, "of": event.of}
            case events.StageFinished():
                return {"stage": event.stage, "attempt": event.attempt, "ok": event.ok, "replayed": event.replayed}
            case events.TokensUsed():
                used = event.usage.model_dump()
                return {"stage": event.stage, **used, "seconds": event.seconds, "replayed": event.replayed}
            case events.Retrying():
                return {"stage": event.stage, "reason": self._masked(event.reason), "seconds": event.seconds}
            case events.EnvironmentReady():
                return {"image": event.image, "packages": len(event.packages), "seconds": event.seconds}
            case events.TestReported(outcome=outcome):
                return {"test": outcome.id, "outcome": outcome.outcome, "seconds": outcome.seconds}
            case events.EvidenceGathered(evidence=evidence):
                passed = sum(outcome.outcome == "passed" for outcome in evidence.tests)
                failed = [check.name for check in evidence.checks if not check.passed]
                return {"attempt": event.attempt, "passed": passed, "tests": len(evidence.tests), "failed": failed}
            case events.ApprovalNeeded():
                return {"packages": list(event.packages)}
            case events.ApprovalGiven():
                return {"packages": list(event.packages), "approved": event.approved}
            case events.Noticed():
                return {"text": self._masked(event.text)}
            case events.TurnBegun():
                return {"turn": event.turn, "of": event.of}
            case events.ToolCalled():  # without its argument, which may contain values of the data
                return {"call": event.call, "turn": event.turn, "tool": event.tool, "class": event.kind}
            case events.ToolEnded():
                ended = {"call": event.call, "outcome": event.outcome}
                return {**ended, "seconds": event.seconds, "replayed": event.replayed}
            case events.FunctionCalled():  # the same
                return {"call": event.call, "turn": event.turn, "tool": event.tool, "effects": event.effects}
            case events.CallWaits():
                return {"call": event.call, "tool": event.tool}
            case events.CallAllowed():
                return {"call": event.call, "approved": event.approved}
            case events.CodeEnded():  # without its output and its error
                return {"turn": event.turn, "ok": event.ok}
            case events.SuiteChanged():
                return {"tests": list(event.tests)}
            case events.Finished():
                return {"state": event.state, "reason": self._masked(event.reason)}
        return None

    def _masked(self, text: str) -> str:
        return self._masker.mask(text)[:_LONGEST]
