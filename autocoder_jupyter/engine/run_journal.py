"""The part of a journal that generations and runs of code mode have in common: the model's answers and what was sent.

    .autocode/<name>/<run>/
        *.jsonl      append-only: every exchange with the model, and what each mode adds
        sent.json    every request to the model's service, as it was sent

Both files are untrusted when they are read: sizes are limited, and lines that are not valid are skipped.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from autocoder_jupyter.engine.recorded_lines import entry_of, recorded_lines
from autocoder_jupyter.engine.run_folder import RunFolder
from autocoder_jupyter.models.faults import CUT_OFF
from autocoder_jupyter.models.questions import SentRequest
from autocoder_jupyter.types import Exchange
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.versions.store import home_of, run_ids, run_path


class RunJournal:
    """The recorded exchanges of all runs of a name, and the folder of one run. An `ExchangeStore` for models.

    Args:
        root: the `.autocode` folder.
        name: the name of the result or of the conversation.
    """

    FILE: ClassVar[str]
    """The name of the file with the lines."""

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
        self._places: dict[int, int] = {}
        self._lock = threading.Lock()

    def _open(self, run_id: str) -> RunFolder:
        """Open the folder of a run, and load what this run and earlier ones recorded."""
        self.run_id = run_id
        self._places = {}  # of requests in the file of this run
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
            ValueError, TypeError, KeyError: it is not valid.
        """
        match entry.get("kind"):
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
        if (place := self._places.setdefault(request.number, len(requests))) < len(requests):
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
        taken = tuple(self._run.notes)
        self._run.notes.clear()
        return taken

    def _append(self, entry: Mapping[str, Any]) -> None:
        if self._run is not None:
            with self._lock:
                self._run.append(self.FILE, line_of(entry))


def line_of(entry: Mapping[str, Any]) -> str:
    """The line of an entry."""
    return json.dumps(entry, ensure_ascii=False, default=str) + "\n"
