"""The journal of a generation, in a folder beside the notebook. Answers are replayed from it.

    .autocode/<name>/versions/<run>/
        request.json      the request, with the settings that shape the function
        sent.json         the text about the data, and every request to the model's service as it was sent
        journal.jsonl     append-only: every exchange with the model and every sandbox step, by content key; questions
                          that were stopped
        solution.py, test_solution.py, test_blind.py, report.json

A run's folder is a version of the function. Its name is made from the content of the request (see `versions`), so an
unchanged cell finds its own folder again: after a crash the run continues, *Restart and Run All* costs nothing, and a
notebook that is shipped with its folder runs without a key. Like Flyte's replay log, it replays recorded steps; but its
key is the content, not the order.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from autocoder_jupyter.engine.run_folder import RunFolder
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.models.faults import CUT_OFF
from autocoder_jupyter.models.questions import SentRequest
from autocoder_jupyter.redaction.messages import redacted_record
from autocoder_jupyter.request import Share
from autocoder_jupyter.trust.formats import require_known, stamp
from autocoder_jupyter.trust.seals import sealed
from autocoder_jupyter.types import STOPPED, Exchange, Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.visible import readable_code
from autocoder_jupyter.versions.edits import undo_edit
from autocoder_jupyter.versions.lost_edits import words_of_lost
from autocoder_jupyter.versions.store import (
    Versions,
    file_path,
    home_of,
    move,
    run_ids,
    run_path,
    sources_of,
    store_once,
)

# Recorded lines
#
# They are untrusted: sizes are limited, and bad lines are skipped.

LINE_BYTES = 8 * 2**20
"""A longer line is skipped. A question with its answer has a few hundred thousand characters."""

LINE_VALUES = 100_000
"""A line with more values is skipped."""

MOST_LINES = 100_000
"""Of a file with more lines, the oldest are left out."""

TOTAL_BYTES = 64 * 2**20
"""No more bytes are read of the records of one name."""


def recorded_lines(files: Folder, runs: Mapping[str, str], name: str, *, own: str) -> list[dict[str, Any]]:
    """The records in the files of one kind from all runs: the oldest first, those of one run last, so that they win.

    If there are too many, the oldest are left out.
    """
    ages = {run_id: _age(files, f"{path}/{name}") for run_id, path in runs.items()}
    newest_first = sorted(ages, key=lambda run_id: (run_id == own, ages[run_id], run_id), reverse=True)
    journals, left = [], TOTAL_BYTES
    for run_id in newest_first:
        lines = lines_of(files, f"{runs[run_id]}/{name}", total=left)
        left -= sum(map(len, lines))
        journals.append(lines)
    return [entry for lines in reversed(journals) for line in lines for entry in entry_of(line)]


def lines_of(files: Folder, path: str, *, total: int = TOTAL_BYTES) -> list[bytes]:
    """The readable lines of one file."""
    lines: deque[bytes] = deque(maxlen=MOST_LINES)
    with contextlib.suppress(OSError):
        lines.extend(files.lines(path, longest=LINE_BYTES, total=total))
    return list(lines)


def entry_of(line: bytes) -> Iterator[dict[str, Any]]:
    """The record of a line; none if a crash cut the line short."""
    with contextlib.suppress(ValueError):
        entry = parse(line.decode("utf-8", "replace"), values=LINE_VALUES)
        if isinstance(entry, dict):
            yield entry


def _age(files: Folder, path: str) -> float:
    try:
        return files.changed(path)
    except OSError:
        return 0.0


# The journal of a run
#
# Generations and runs of code mode have in common:
#
#     .autocode/<name>/<run>/
#         *.jsonl      append-only: every exchange with the model, and what each mode adds
#         sent.json    every request to the model's service, as it was sent
#
# Both files are untrusted when they are read.


class RunJournal:
    """The recorded exchanges of all runs of a name, and the folder of one run. An `ExchangeStore` for models.

    Args:
        root: the `.autocode` folder.
        name: the name of the result or of the conversation.
    """

    FILE: ClassVar[str]
    """The file with the lines."""

    IS_OF_VERSIONS: ClassVar[bool] = False
    """Whether a run is a version of a function."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.name = name
        self.run_id = ""
        self._files = Folder(root.parent)
        self._run: RunFolder | None = None
        self._exchanges: dict[str, Exchange] = {}
        self._sent: dict[str, Any] = {"requests": []}
        self._request_places: dict[int, int] = {}
        self._lock = threading.Lock()
        self._has_format = False

    def _open(self, run_id: str) -> RunFolder:
        """Open the folder of a run, and load what this run and earlier ones recorded."""
        self.run_id, self._has_format = run_id, False
        self._request_places = {}  # of requests in the file of this run
        self._run = run = RunFolder(self.root, self.name, run_id, is_version=self.IS_OF_VERSIONS)
        home = home_of(self.root.name, self.name)
        if self.IS_OF_VERSIONS:
            runs = {run_id: run_path(self._files, home, run_id) for run_id in (run_id, *run_ids(self._files, home))}
        else:
            runs = {run_id: f"{home}/{run_id}" for run_id in (run_id, *self._files.names(home))}
        recorded = recorded_lines(self._files, runs, self.FILE, own=run_id)
        waiting = [entry for line in run.waiting_lines(self.FILE) for entry in entry_of(line.encode())]
        for entry in (*recorded, *waiting):
            with contextlib.suppress(ValueError, TypeError, KeyError):
                self._remember(entry)
        run.write_waiting()
        return run

    def _remember(self, entry: Mapping[str, Any]) -> None:
        """Take over a recorded line.

        Raises:
            WrittenLater: a later version of this package wrote the lines after it.
        """
        match entry.get("kind"):
            case "format":
                require_known(entry, f"{self.FILE} of {self.name}")
            case "exchange":
                exchange = Exchange.model_validate(entry.get("exchange"))
                self._exchanges[exchange.key] = exchange
            case "rejected":
                for key in entry.get("keys", [entry.get("key")]):
                    self._exchanges.pop(str(key), None)

    def find(self, key: str) -> Exchange | None:
        """The newest recorded exchange with this key, from this run or an earlier one of the same name."""
        return self._exchanges.get(key)

    def add(self, exchange: Exchange) -> None:
        """Record an exchange. It is on disk when this returns; if the disk is full, see `RunFolder.append`."""
        self._exchanges[exchange.key] = exchange
        self._append({"kind": "exchange", "exchange": exchange.model_dump(mode="json")})

    def reject(self, exchanges: Iterable[Exchange]) -> None:
        """Mark answers that ended a run without a result: a later run asks these questions again.

        Those that were cut off stay: asked again, they would be paid for again and cut off again.
        """
        wrong = [one for one in exchanges if one.finish_reason != CUT_OFF]
        keys = [one.key for one in wrong if (found := self.find(one.key)) and found.answer == one.answer]
        if keys:
            self._append({"kind": "rejected", "keys": keys})
            for key in keys:
                del self._exchanges[key]

    @property
    def is_empty(self) -> bool:
        """Whether there is no recorded exchange from this run or an earlier one of the same name."""
        return not self._exchanges

    def add_sent(self, request: SentRequest) -> None:
        """Record a request before it is sent. It is on disk when this returns, so that a crash hides no request; if the
        disk is full, see `RunFolder.append`.

        Replayed answers need no request and are not recorded here.
        """
        if self._run is None:
            return
        requests = self._sent["requests"]
        record = {"stage": request.stage, "key": request.key, "to": request.to, "body": request.body}
        if (place := self._request_places.setdefault(request.number, len(requests))) < len(requests):
            requests[place] = record
        else:
            requests.append(record)
        self._run.replace("sent.json", self._sent_text())

    def _sent_text(self) -> str:
        return json.dumps(self._sent, indent=1, ensure_ascii=False, default=str)

    def take_notes(self) -> tuple[str, ...]:
        """Sentences for the user about files that were repaired or could not be written since the last call."""
        if self._run is None:
            return ()
        notes = tuple(self._run.notes)
        self._run.notes.clear()
        return notes

    def _append(self, entry: Mapping[str, Any]) -> None:
        if self._run is not None:
            with self._lock:
                self._begin_file(self._run)
                self._run.append(self.FILE, line_of(entry))

    def _begin_file(self, run: RunFolder) -> None:
        """Begin a new file with the format of its lines."""
        if not (self._has_format or run.holds(self.FILE) or run.waiting_lines(self.FILE)):
            run.append(self.FILE, line_of({"kind": "format", **stamp()}))
        self._has_format = True


def line_of(entry: Mapping[str, Any]) -> str:
    """The line of an entry."""
    return json.dumps(entry, ensure_ascii=False, default=str) + "\n"


# The journal of a generation


class Journal(RunJournal):
    """The journal of a generation: also the outcomes of steps in the sandbox, the request, the report and the sources.

    Args:
        root: the `.autocode` folder.
    """

    FILE = "journal.jsonl"
    IS_OF_VERSIONS = True

    def __init__(self, root: Path, name: str) -> None:
        super().__init__(root, name)
        self.versions = Versions(root, name)
        self._steps: dict[tuple[str, str], dict[str, Any]] = {}
        self._has_changed = False

    def begin(self, run_id: str) -> None:
        """Open the folder of a run (see `versions`), and load what this run and earlier ones recorded."""
        self._open(run_id)

    @property
    def folder(self) -> Path:
        """The folder of the run; that of the name until the run has begun."""
        home = home_of(self.root.name, self.name)
        return self.root.parent / (run_path(self._files, home, self.run_id) if self.run_id else home)

    def _remember(self, entry: Mapping[str, Any]) -> None:
        super()._remember(entry)
        if entry.get("kind") == "step" and isinstance(outcome := entry.get("outcome"), dict):
            self._steps[str(entry.get("step")), str(entry.get("key"))] = outcome

    @property
    def has_runs(self) -> bool:
        """Whether there may be answers to replay: an earlier run of this name exists."""
        return bool(self._files.names(f"{self.root.name}/{self.name}"))

    def find_step(self, step: str, key: str) -> dict[str, Any] | None:
        """The recorded outcome of a sandbox step, if any."""
        return self._steps.get((step, key))

    def add_step(self, step: str, key: str, outcome: Mapping[str, Any]) -> None:
        """Record the outcome of a sandbox step, unless the same is already there."""
        if self._steps.get((step, key)) == outcome:
            return
        self._steps[step, key] = dict(outcome)
        self._append({"kind": "step", "step": step, "key": key, "outcome": dict(outcome)})

    def add_stopped(self, exchange: Exchange) -> None:
        """Record a question whose answer is no longer awaited, for the conversation. It is never replayed."""
        self._append({"kind": STOPPED, "exchange": exchange.model_dump(mode="json")})

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._has_changed = True
        super()._append(entry)

    @property
    def _home(self) -> RunFolder:
        """The open folder of the run."""
        assert self._run is not None, "the journal was not begun"
        return self._run

    def add_probe(self, probe: str, told: str) -> None:
        """Record what the model was told of the data because it asked; see `engine.probes`."""
        probes, record = self._sent.setdefault("probes", []), (probe, told)
        if record not in probes:
            probes.append(record)
            self._home.replace("sent.json", self._sent_text())

    def write_request(self, request: Mapping[str, Any], sent: Mapping[str, Any]) -> None:
        """Write the request and the text about the data, before anything is sent.

        A folder belongs to one content of the request, so existing files are not written again. Settings that do not
        shape the function (the sandbox, a timeout) stay those of the first run.
        """
        recorded = sent_record(self.root, self.name, self.run_id)
        # The text about the data is known here. An untrusted file may differ, and cards would then show its text.
        self._sent = {**sent, "requests": recorded.pop("requests", [])}
        if probes := recorded.pop("probes", []):
            self._sent["probes"] = probes
        if self._home.holds_json("request.json") and self._home.holds_json("sent.json") and recorded == sent:
            return
        self._move_earlier()
        self._home.write("request.json", json.dumps({**stamp(), **request}, indent=1, ensure_ascii=False, default=str))
        self._home.write("sent.json", self._sent_text())

    def _move_earlier(self) -> None:
        """Move what is in an earlier layout. If that fails, it is read where it is."""
        with contextlib.suppress(OSError):
            move(self._files, home_of(self.root.name, self.name))

    def write_report(self, report: Report, *, is_last: bool = True) -> None:
        """Write the report. A run that only replayed changes its folder only to repair lost or damaged files.

        What is written was gathered by this run, so it is sealed.
        """
        overwrite = self._has_changed or not self._home.holds_report()
        self._has_changed = self._has_changed or (overwrite and not is_last)
        self.write_sources(report, overwrite=overwrite)
        if overwrite:
            record = redacted_record(report.model_dump(mode="json", exclude={"conversation_history"}))
            self._home.write("report.json", sealed({**stamp(), **record}, self.name, self.run_id, indent=1))
            with contextlib.suppress(OSError):  # then they are stored twice
                store_once(self._files, home_of(self.root.name, self.name), self.run_id)

    def show_current(self) -> None:
        """Let the files at the top of the function's folder say what runs. A note says so if they cannot."""
        try:
            self._home.notes.extend(self.versions.show_current())
            self._home.notes.extend(
                f"{words[0].upper()}{words[1:]}." for words in words_of_lost(self.versions).values()
            )
        except InvalidRequest as error:
            self._home.notes.append(f"The files that show what {self.name} runs are not up to date: {error.why}")

    def write_draft(self, code: str, tests: str, parent: str) -> None:
        """Write the user's code and tests, before they are used. Then the files of the version that was edited get back
        what it runs, so that the files of each version are its own.
        """
        for name, text in (("solution.py", code), ("test_solution.py", tests)):
            if text:
                self._home.write(name, readable_code(text))
        if (edited := self.versions.get(parent)) is not None and parent != self.run_id:
            undo_edit(self.versions, edited, code, tests)

    def write_sources(self, report: Report, *, overwrite: bool = False) -> None:
        """Write code and tests without hidden characters. Readable files are overwritten only if `overwrite`."""
        for name, text in sources_of(report).items():
            if text and (overwrite or self._home.lacks_source(name)):
                self._home.write(name, readable_code(text))


def sent_record(root: Path, name: str, run_id: str) -> dict[str, Any]:
    """What a run sent to the model about the data, and by which rule (`DataContext.sent`); empty if nothing."""
    if run_id and name.isidentifier():
        with contextlib.suppress(OSError, ValueError):
            files = Folder(root.parent)
            sent = parse(files.read_bytes(file_path(files, home_of(root.name, name), run_id, "sent.json")))
            return _Sent.model_validate(sent).model_dump(exclude_unset=True)
    return {}


def conversation(root: Path, name: str, run_id: str) -> tuple[Exchange, ...]:
    """The exchanges of a recorded run and the questions that were stopped, in order, with a cost of zero."""
    files = Folder(root.parent)
    lines = lines_of(files, f"{run_path(files, home_of(root.name, name), run_id)}/journal.jsonl")
    exchanges = []
    for entry in (entry for line in lines for entry in entry_of(line) if entry.get("kind") in ("exchange", STOPPED)):
        with contextlib.suppress(ValueError):
            exchanges.append(Exchange.model_validate(entry.get("exchange")))
    return tuple(exchange.as_replayed() for exchange in exchanges)


class _Sent(BaseModel):
    """The checked form of a record from an untrusted file."""

    share: Share = "rows"
    text: str = ""
    characters: int = 0
    masked: dict[str, int] = {}
    left_out: dict[str, list[str]] = {}
    requests: list[Any] = []
    probes: list[tuple[str, str]] = []
