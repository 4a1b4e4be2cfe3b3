"""The journal of a generation, in a folder beside the notebook. Answers are replayed from it.

    .autocode/<name>/<run>/
        request.json      the request, with the settings that shape the function
        sent.json         the text about the data, and every request to the model's service as it was sent
        journal.jsonl     append-only: every exchange with the model and every sandbox step, by content key
        solution.py, test_solution.py, test_blind.py, report.json

A run's folder is a version of the function. Its name is made from the content of the request (see `versions`), so an
unchanged cell finds its own folder again: after a crash the run continues, *Restart and Run All* costs nothing, and a
notebook that is shipped with its folder runs without a key.
The idea to replay recorded steps is from Flyte's replay log; here the key is the content, not the order.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from autocoder_jupyter.engine.recorded_lines import entry_of, lines_of, recorded_lines
from autocoder_jupyter.engine.run_folder import RunFolder
from autocoder_jupyter.models.cut_off import CUT_OFF
from autocoder_jupyter.models.sent import SentRequest
from autocoder_jupyter.redaction.records import redacted_record
from autocoder_jupyter.request import Share
from autocoder_jupyter.trust.seals import sealed
from autocoder_jupyter.types import Exchange, Report, Usage
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.readable_code import readable_code
from autocoder_jupyter.versions.edits import sources_of
from autocoder_jupyter.versions.store import Versions

FILE = "journal.jsonl"


class Journal:
    """The folder of one run, and the recorded exchanges of all runs of the same name. An `ExchangeStore` for models.

    Args:
        root: the `.autocode` folder.
        name: the name of the result.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self.versions = Versions(root, name)
        self.run_id = ""
        self.folder = root / name
        self.root = root
        self._files = Folder(root.parent)
        self._exchanges: dict[str, Exchange] = {}
        self._steps: dict[tuple[str, str], dict[str, Any]] = {}
        self._sent: dict[str, Any] = {}
        self._places: dict[int, int] = {}
        self._grown = False
        self._run = RunFolder(root, name, "")

    def begin(self, run_id: str) -> None:
        """Open the folder of a run (see `versions`), and load what this run and earlier ones recorded."""
        self.run_id = run_id
        self.folder = self.root / self.name / run_id
        self._run = RunFolder(self.root, self.name, run_id)
        for entry in recorded_lines(self._files, f"{self.root.name}/{self.name}", FILE, own=run_id):
            self._remember(entry)
        for line in self._run.waiting_lines(FILE):
            for entry in entry_of(line.encode()):
                self._remember(entry)
        self._run.write_waiting()

    def _remember(self, entry: Mapping[str, Any]) -> None:
        if entry.get("kind") == "exchange":
            with contextlib.suppress(ValueError):
                exchange = Exchange.model_validate(entry.get("exchange"))
                self._exchanges[exchange.key] = exchange
        elif entry.get("kind") == "step" and isinstance(outcome := entry.get("outcome"), dict):
            self._steps[str(entry.get("step")), str(entry.get("key"))] = outcome
        elif entry.get("kind") == "rejected" and isinstance(keys := entry.get("keys"), list):
            for key in keys:
                self._exchanges.pop(str(key), None)

    def find(self, key: str) -> Exchange | None:
        """The newest recorded exchange with this key, from this run or an earlier one of the same name."""
        return self._exchanges.get(key)

    def add(self, exchange: Exchange) -> None:
        """Record an exchange. It is on disk when this returns; if the disk is full, see `RunFolder.append`."""
        self._exchanges[exchange.key] = exchange
        self._append({"kind": "exchange", "exchange": exchange.model_dump(mode="json")})

    def reject(self, exchanges: Iterable[Exchange]) -> None:
        """Mark answers that ended a run without a function: a later run asks these questions again.

        Those that were cut off stay: asked again, they would be paid for again and cut off again.
        """
        wrong = [one for one in exchanges if one.finish_reason != CUT_OFF]
        keys = [one.key for one in wrong if (found := self.find(one.key)) and found.answer == one.answer]
        if keys:
            self._append({"kind": "rejected", "keys": keys})
            for key in keys:
                del self._exchanges[key]

    def take_notes(self) -> tuple[str, ...]:
        """Sentences for the user about files that were repaired or could not be written since the last call."""
        taken = tuple(self._run.notes)
        self._run.notes.clear()
        return taken

    @property
    def is_empty(self) -> bool:
        """Whether there is no recorded exchange from this run or an earlier one of the same name."""
        return not self._exchanges

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

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._grown = True
        line = json.dumps(entry, ensure_ascii=False, default=str) + "\n"
        self._run.append(FILE, line)

    def write_request(self, request: Mapping[str, Any], sent: Mapping[str, Any]) -> None:
        """Write the request and the text about the data, before anything is sent.

        A folder belongs to one content of the request, so existing files are not written again. Settings that do not
        shape the function (the sandbox, a timeout) stay those of the first run.
        """
        recorded = sent_record(self.root, self.name, self.run_id)
        # The text about the data is known here. An untrusted file may differ, and cards would then show its text.
        self._sent = {**sent, "requests": recorded.pop("requests", [])}
        if self._run.holds_json("request.json") and self._run.holds_json("sent.json") and recorded == sent:
            return
        self._run.write("request.json", json.dumps(request, indent=1, ensure_ascii=False, default=str))
        self._run.write("sent.json", self._sent_text())

    def add_sent(self, request: SentRequest) -> None:
        """Record a request before it is sent. It is on disk when this returns, so that a crash hides no request; if the
        disk is full, see `RunFolder.append`.

        Replayed answers need no request and are not recorded here.
        """
        requests = self._sent["requests"]
        record = {"stage": request.stage, "key": request.key, "to": request.to, "body": request.body}
        if (place := self._places.setdefault(request.number, len(requests))) < len(requests):
            requests[place] = record
        else:
            requests.append(record)
        self._run.replace("sent.json", self._sent_text())

    def _sent_text(self) -> str:
        return json.dumps(self._sent, indent=1, ensure_ascii=False, default=str)

    def write_report(self, report: Report) -> None:
        """Write the report. A run that only replayed changes its folder only to repair lost or damaged files.

        What is written was gathered by this run, so it is sealed.
        """
        overwrite = self._grown or not self._run.holds_report()
        self.write_sources(report, overwrite=overwrite)
        if overwrite:
            record = redacted_record(report.model_dump(mode="json", exclude={"conversation_history"}))
            self._run.write("report.json", sealed(record, self.name, self.run_id, indent=1))

    def write_draft(self, code: str, tests: str) -> None:
        """Write the user's code and tests, before they are used."""
        for name, text in (("solution.py", code), ("test_solution.py", tests)):
            if text:
                self._run.write(name, readable_code(text))

    def write_sources(self, report: Report, *, overwrite: bool = False) -> None:
        """Write code and tests without hidden characters. Readable files are overwritten only if `overwrite`."""
        for name, text in sources_of(report).items():
            if text and (overwrite or self._run.lacks_source(name)):
                self._run.write(name, readable_code(text))


def sent_record(root: Path, name: str, run_id: str) -> dict[str, Any]:
    """What a run sent to the model about the data, and by which rule (`DataContext.sent`); empty if nothing."""
    if run_id and name.isidentifier():
        with contextlib.suppress(OSError, ValueError):
            sent = parse(Folder(root.parent).read_bytes(f"{root.name}/{name}/{run_id}/sent.json"))
            return _Sent.model_validate(sent).model_dump(exclude_unset=True)
    return {}


def conversation(root: Path, name: str, run_id: str) -> tuple[Exchange, ...]:
    """The exchanges of a recorded run, in order, with a cost of zero."""
    lines = lines_of(Folder(root.parent), f"{root.name}/{name}/{run_id}/journal.jsonl")
    said = []
    for entry in (entry for line in lines for entry in entry_of(line) if entry.get("kind") == "exchange"):
        with contextlib.suppress(ValueError):
            said.append(Exchange.model_validate(entry.get("exchange")))
    return tuple(exchange.model_copy(update={"replayed": True, "usage": Usage()}) for exchange in said)


class _Sent(BaseModel):
    """The checked form of a record from an untrusted file."""

    share: Share = "rows"
    text: str = ""
    characters: int = 0
    masked: dict[str, int] = {}
    left_out: dict[str, list[str]] = {}
    requests: list[Any] = []
