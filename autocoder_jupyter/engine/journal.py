"""The record of a generation beside the notebook, from which answers are replayed.

    .autocode/<name>/<run>/
        request.json      what was asked, with the settings that matter
        sent.json         what the model was told about the data
        journal.jsonl     append-only: every exchange with the model and every sandbox step, by content key
        solution.py, test_solution.py, report.json

A run's folder is named by the content of its request, so running an unchanged cell again finds its own folder: a
crash resumes, *Restart and Run All* costs nothing, and a folder that ships with a notebook makes it run without a key.
The idea of replaying recorded steps in order of their keys is Flyte's replay log; here the key is content, not order.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.types import Exchange, Report


def content_key(*parts: object) -> str:
    """A short hash of JSON-able parts; equal parts, equal key, on every machine."""
    canonical = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class Journal:
    """One run's folder, and the memory of all runs of the same name. An `ExchangeStore` for the models.

    Args:
        root: the `.autocode` folder.
        name: of the result.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self.run_id = ""
        self.folder = root / name
        self._exchanges: dict[str, Exchange] = {}
        self._steps: dict[tuple[str, str], dict[str, Any]] = {}
        self._grown = False

    def begin(self, run_id: str) -> None:
        """Open the folder of a run (see `content_key`), and remember what it and earlier runs recorded."""
        home = self.folder
        self.run_id = run_id
        self.folder = home / run_id
        for path in _journals(home, last=self.folder):
            for entry in _entries(path):
                self._remember(entry)

    def _remember(self, entry: Mapping[str, Any]) -> None:
        if entry.get("kind") == "exchange":
            with contextlib.suppress(ValueError):
                exchange = Exchange.model_validate(entry.get("exchange"))
                self._exchanges[exchange.key] = exchange
        elif entry.get("kind") == "step" and isinstance(outcome := entry.get("outcome"), dict):
            self._steps[str(entry.get("step")), str(entry.get("key"))] = outcome

    def find(self, key: str) -> Exchange | None:
        """The newest recorded exchange with this key, of this run or an earlier one of the same name."""
        return self._exchanges.get(key)

    def add(self, exchange: Exchange) -> None:
        """Record an exchange; on disk when this returns."""
        self._exchanges[exchange.key] = exchange
        self._append({"kind": "exchange", "exchange": exchange.model_dump(mode="json")})

    @property
    def is_empty(self) -> bool:
        """Whether there is no recorded exchange, of this run or an earlier one of the same name."""
        return not self._exchanges

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
        with self._writable(), (self.folder / "journal.jsonl").open("ab+") as file:
            file.write(b"\n" * _is_cut_short(file) + line.encode())
            file.flush()
            os.fsync(file.fileno())

    def write_request(self, request: Mapping[str, Any], sent: Mapping[str, Any]) -> None:
        """Lay down what was asked and what is told about the data, before anything leaves the machine.

        A folder stands for one content of the request, so what is there already is not written again: settings that
        do not shape the outcome (the sandbox, a timeout) are those of the first time.
        """
        if (self.folder / "request.json").exists() and (self.folder / "sent.json").exists():
            return
        self._write("request.json", json.dumps(request, indent=1, ensure_ascii=False, default=str))
        self._write("sent.json", json.dumps(sent, indent=1, ensure_ascii=False, default=str))

    def write_report(self, report: Report) -> None:
        """Keep the outcome. A run that only replayed leaves its folder as it was."""
        if not self._grown and (self.folder / "report.json").exists():
            return
        if report.solution is not None:
            self._write("solution.py", report.solution.code)
        if report.tests:
            self._write("test_solution.py", report.tests)
        self._write("report.json", report.model_dump_json(indent=1, exclude={"conversation_history"}))

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        text = text.rstrip("\n") + "\n"
        if path.exists() and path.read_text(encoding="utf-8") == text:
            return
        with self._writable():
            staged = path.with_name(f".{name}.{os.getpid()}")
            staged.write_text(text, encoding="utf-8")
            staged.replace(path)

    @contextlib.contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            yield
        except OSError as error:
            raise AutocodeError(
                f"The journal cannot be written in {self.folder.parents[1]}.",
                why=f"{error.strerror or error}.",
                hint="Work in a folder that you may write to, or name another one with journal_root=….",
            ) from None


def runs(root: Path, name: str) -> list[tuple[str, Report]]:
    """The finished runs of a name, oldest first: (run id, report without its conversation)."""
    found = []
    for path in (root / name).glob("*/report.json"):
        with contextlib.suppress(OSError, ValueError):
            found.append((path.parent.name, Report.model_validate_json(path.read_text(encoding="utf-8"))))
    return sorted(found, key=lambda run: run[1].started.timestamp() if run[1].started else 0.0)


def sent_record(root: Path, name: str, run_id: str) -> dict[str, Any]:
    """What a run told the model about the data, and by which rule (`DataContext.sent`); empty when it told nothing."""
    path = root / name / run_id / "sent.json"
    if run_id and name.isidentifier():
        with contextlib.suppress(OSError, ValueError):
            sent = json.loads(path.read_text(encoding="utf-8"))
            return sent if isinstance(sent, dict) else {}
    return {}


def _journals(folder: Path, *, last: Path) -> list[Path]:
    """The journals of a name, oldest first, and the one of the run itself at the end, so that it wins."""
    paths = [path for path in folder.glob("*/journal.jsonl") if path.parent != last]
    paths.sort(key=lambda path: (path.stat().st_mtime, path))
    own = last / "journal.jsonl"
    return [*paths, own] if own.exists() else paths


def _is_cut_short(file: BinaryIO) -> bool:
    """Whether the last line was cut short by a crash, so that the next would be lost with it."""
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """The readable lines; a line that a crash cut short is passed over."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict):
                    yield entry
