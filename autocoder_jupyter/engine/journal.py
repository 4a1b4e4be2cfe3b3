"""The journal of a generation, in a folder beside the notebook. Answers are replayed from it.

    .autocode/<name>/versions/<run>/
        request.json      the request, with the settings that shape the function
        sent.json         the text about the data, and every request to the model's service as it was sent
        journal.jsonl     append-only: every exchange with the model and every sandbox step, by content key; questions
                          that were stopped
        solution.py, test_solution.py, test_blind.py, report.json

A run's folder is a version of the function. Its name is made from the content of the request (see `versions`), so an
unchanged cell finds its own folder again: after a crash the run continues, *Restart and Run All* costs nothing, and a
notebook that is shipped with its folder runs without a key.
The idea to replay recorded steps is from Flyte's replay log; here the key is the content, not the order.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from autocoder_jupyter.engine.recorded_lines import entry_of, lines_of
from autocoder_jupyter.engine.run_folder import RunFolder
from autocoder_jupyter.engine.run_journal import RunJournal
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.redaction.messages import redacted_record
from autocoder_jupyter.request import Share
from autocoder_jupyter.trust.seals import sealed
from autocoder_jupyter.types import STOPPED, Exchange, Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.readable_code import readable_code
from autocoder_jupyter.versions.edits import undo_edit
from autocoder_jupyter.versions.store import Versions, file_path, home_of, move, run_path, sources_of, store_once


class Journal(RunJournal):
    """The journal of a generation: also the outcomes of steps in the sandbox, the request, the report and the sources.

    Args:
        root: the `.autocode` folder.
        name: the name of the result.
    """

    FILE = "journal.jsonl"
    IS_OF_VERSIONS = True

    def __init__(self, root: Path, name: str) -> None:
        super().__init__(root, name)
        self.versions = Versions(root, name)
        self._steps: dict[tuple[str, str], dict[str, Any]] = {}
        self._grown = False

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
        """Record a question for whose answer nobody waits any more, for the conversation. It is never replayed."""
        self._append({"kind": STOPPED, "exchange": exchange.model_dump(mode="json")})

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._grown = True
        super()._append(entry)

    @property
    def _home(self) -> RunFolder:
        """The open folder of the run."""
        assert self._run is not None, "the journal was not begun"
        return self._run

    def write_request(self, request: Mapping[str, Any], sent: Mapping[str, Any]) -> None:
        """Write the request and the text about the data, before anything is sent.

        A folder belongs to one content of the request, so existing files are not written again. Settings that do not
        shape the function (the sandbox, a timeout) stay those of the first run.
        """
        recorded = sent_record(self.root, self.name, self.run_id)
        # The text about the data is known here. An untrusted file may differ, and cards would then show its text.
        self._sent = {**sent, "requests": recorded.pop("requests", [])}
        if self._home.holds_json("request.json") and self._home.holds_json("sent.json") and recorded == sent:
            return
        self._move_earlier()
        self._home.write("request.json", json.dumps(request, indent=1, ensure_ascii=False, default=str))
        self._home.write("sent.json", self._sent_text())

    def _move_earlier(self) -> None:
        """Move what is in an earlier layout. If that fails, it is read where it is."""
        with contextlib.suppress(OSError):
            move(self._files, home_of(self.root.name, self.name))

    def write_report(self, report: Report, *, is_last: bool = True) -> None:
        """Write the report. A run that only replayed changes its folder only to repair lost or damaged files.

        What is written was gathered by this run, so it is sealed.

        Args:
            report: the report.
            is_last: whether no further one of this run will replace it.
        """
        overwrite = self._grown or not self._home.holds_report()
        self._grown = self._grown or (overwrite and not is_last)
        self.write_sources(report, overwrite=overwrite)
        if overwrite:
            record = redacted_record(report.model_dump(mode="json", exclude={"conversation_history"}))
            self._home.write("report.json", sealed(record, self.name, self.run_id, indent=1))
            with contextlib.suppress(OSError):  # then they are stored twice
                store_once(self._files, home_of(self.root.name, self.name), self.run_id)

    def show_current(self) -> None:
        """Let the files at the top of the function's folder say what runs. A note says so if they cannot."""
        try:
            self._home.notes.extend(self.versions.show_current())
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
    said = []
    for entry in (entry for line in lines for entry in entry_of(line) if entry.get("kind") in ("exchange", STOPPED)):
        with contextlib.suppress(ValueError):
            said.append(Exchange.model_validate(entry.get("exchange")))
    return tuple(exchange.as_replayed() for exchange in said)


class _Sent(BaseModel):
    """The checked form of a record from an untrusted file."""

    share: Share = "rows"
    text: str = ""
    characters: int = 0
    masked: dict[str, int] = {}
    left_out: dict[str, list[str]] = {}
    requests: list[Any] = []
