"""Record the shipped notebooks anew after a prompt was changed, from the answers that they have.

    python tools/record.py [--only NAME …] [--notebooks FOLDER]

Each notebook is executed in a copy of its folder, in the real sandbox. A question that did not change is replayed. A
question that changed is answered with the recorded answer of the same result and stage whose question is most like it,
and the function is tested again. Then the journals of what changed are written to the notebooks' folder, with the times
and costs of the old ones. Nothing else is changed: without a changed question there is no changed file.

Prints what was recorded anew, and the questions without an answer. These need one: from a model, or by hand. The exit
code is 1 if there are any, or if a notebook fails; then nothing is written for the results of this notebook.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.scripted_model import Answer, Call, ScriptedModel
from tools.run_examples import without_keys

ROOT = Path(__file__).parents[1]
RUN = Path(__file__).with_name("run_notebook.py")
JOURNALS = ("journal.jsonl", "conversation.jsonl")
KEPT_OF_REPORT = ("usage", "seconds", "started", "timeline", "overspent")
"""Fields of a report that tell when and at what cost the answers were made."""


@dataclass
class Recorded:
    """One recorded answer: its folder, its exchange, and for an agent the blocks of its message."""

    run: Path
    exchange: dict[str, Any]
    blocks: list[dict[str, Any]] = field(default_factory=list)
    new_key: str = ""

    @property
    def name(self) -> str:
        """The name of the result."""
        return self.run.parent.name

    def is_like(self, lines: frozenset[str]) -> float:
        """How many lines of its question are those of another one, from 0 to 1."""
        own = _lines(self.exchange["messages"])
        return len(own & lines) / max(len(own | lines), 1)

    @property
    def answer(self) -> Answer:
        """The answer as the service sends it."""
        if not self.blocks:
            return Answer(self.exchange["answer"])
        text = "".join(block.get("text", "") for block in self.blocks if block["type"] == "text")
        calls = [Call(block["name"], block["input"]) for block in self.blocks if block["type"] == "tool_use"]
        return Answer(text, calls)


class Answers:
    """Answers changed questions. It knows the result and the stage of a question from `sent.json`, which is written
    before a question is sent.

    Args:
        folder: the copy of the notebooks' folder.
        recorded: the recorded answers.
    """

    def __init__(self, folder: Path, recorded: list[Recorded]) -> None:
        self._folder = folder
        self._open = list(recorded)
        self.used: list[Recorded] = []
        self.missing: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Answer:
        """The answer to a request."""
        asked = self._asked(request)
        if asked is None:
            return self._none("a question that no file names")
        name, sent = asked
        fitting = [one for one in self._open if (one.name, one.exchange["stage"]) == (name, sent["stage"])]
        found = _turn(fitting, request) if request.get("tools") else _most_like(fitting, request)
        if found is None:
            return self._none(f"{name}, {sent['stage']}")
        if not found.blocks:
            self._open.remove(found)
        found.new_key = sent["key"]
        self.used.append(found)
        return found.answer

    def _none(self, what: str) -> Answer:
        self.missing.append(what)
        return Answer(status=400, error=f"There is no recorded answer for {what}.")

    def _asked(self, request: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        last = request["messages"][-1]
        below = (".autocode/*/*/sent.json", ".autocode/*/versions/*/sent.json")
        for path in sorted(path for pattern in below for path in self._folder.glob(pattern)):
            for sent in reversed(json.loads(path.read_text("utf-8")).get("requests", [])):
                messages = sent.get("body", {}).get("messages") or [None]
                if messages[-1] == last:
                    return path.relative_to(self._folder).parts[1], sent
        return None


def _turn(fitting: list[Recorded], request: Mapping[str, Any]) -> Recorded | None:
    """The answer of an agent in the same turn; its earlier answers in the request say which turn it is."""
    turn = sum(message["role"] == "assistant" for message in request["messages"])
    turns = [one for one in fitting if one.blocks]
    return turns[turn] if turn < len(turns) else None


def _most_like(fitting: list[Recorded], request: Mapping[str, Any]) -> Recorded | None:
    """The answer whose question is most like this one; of equal ones the first."""
    lines = _lines(request["messages"])
    return max(fitting, key=lambda one: one.is_like(lines), default=None)


def main() -> int:
    """Record the notebooks. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Record the shipped notebooks anew, from the answers that they have.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these notebooks, without .ipynb")
    parser.add_argument("--notebooks", type=Path, default=ROOT / "notebooks", help="their folder")
    options = parser.parse_args()
    notebooks = [
        path
        for folder in (options.notebooks, options.notebooks / "examples")
        for path in sorted(folder.glob("*.ipynb"))
        if not options.only or path.stem in options.only
    ]
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        complaints = [complaint for found in pool.map(record, notebooks) for complaint in found]
    print(f"{len(notebooks)} notebooks in {time.monotonic() - began:.0f} s")
    for complaint in complaints:
        print(f"TO DO  {complaint}")
    return int(bool(complaints))


def record(notebook: Path) -> list[str]:
    """Record one notebook anew; returns what must be done by hand."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "notebooks"
        shutil.copytree(notebook.parent, folder, ignore=shutil.ignore_patterns("examples", "outputs", "*.ipynb"))
        recorded = list(_recorded(notebook.parent))
        for run in {one.run for one in recorded}:
            _forget_result(folder / run)
        shutil.copy(notebook, folder)
        answers = Answers(folder, recorded)
        with ScriptedModel(answers) as model:
            done = _executed(folder / notebook.name, model)
        if answers.missing or done.returncode:
            why = [f"{notebook.stem}: no answer for {what}" for what in answers.missing]
            return why or [f"{notebook.stem}: it fails.\n{done.stdout[-3_000:]}"]
        _flatten(folder)
        for run in _changed_runs(folder, answers.used):
            _take_over(folder / run, notebook.parent / run, answers.used)
            print(f"recorded {notebook.stem}: {run.parent.name}", flush=True)
        for run in {one.run for one in answers.used if not (folder / one.run).exists()}:
            shutil.rmtree(notebook.parent / run)
        return []


def _flatten(folder: Path) -> None:
    """Bring new versions to the layout of the shipped folders, which show that an earlier layout is read."""
    for version in folder.glob(".autocode/*/versions/*"):
        version.rename(version.parent.parent / version.name)


def _recorded(folder: Path) -> Iterator[Recorded]:
    for pattern in JOURNALS:
        for path in sorted(folder.glob(f".autocode/*/*/{pattern}")):
            entries = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            blocks = {
                entry["key"]: entry["outcome"]["blocks"] for entry in entries if entry.get("step") == "agent answer"
            }
            for entry in entries:
                if entry["kind"] == "exchange":
                    exchange = entry["exchange"]
                    yield Recorded(path.parent.relative_to(folder), exchange, blocks.get(exchange["key"], []))


def _forget_result(run: Path) -> None:
    """Remove the result of a run, so that it is made again; the journal and what the user wrote stay."""
    for name in ("report.json", "solution.py", "test_solution.py", "test_blind.py", "sent.json"):
        (run / name).unlink(missing_ok=True)


def _executed(notebook: Path, model: ScriptedModel) -> subprocess.CompletedProcess[str]:
    keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
    addresses = {"OPENAI_API_BASE": model.url, "OPENAI_BASE_URL": model.url, "ANTHROPIC_API_BASE": model.root}
    return subprocess.run(
        [sys.executable, str(RUN), str(notebook)],
        env={**without_keys(), **keys, **addresses},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _changed_runs(folder: Path, used: list[Recorded]) -> list[Path]:
    """The runs in whose journals changed questions are."""
    keys = {one.new_key for one in used}
    return [
        path.parent.relative_to(folder)
        for pattern in JOURNALS
        for path in sorted(folder.glob(f".autocode/*/*/{pattern}"))
        if keys & {entry["exchange"]["key"] for entry in _entries(path) if entry["kind"] == "exchange"}
    ]


def _entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _take_over(new: Path, old: Path, used: list[Recorded]) -> None:
    """Write a run to the notebooks' folder, with the times and costs of the recorded one."""
    by_key = {one.new_key: one for one in used}
    replaced = {one.exchange["key"] for one in used}
    old.mkdir(parents=True, exist_ok=True)
    for path in sorted(new.iterdir()):
        if path.name in JOURNALS:
            lines = [json.dumps(entry, ensure_ascii=False) for entry in _renewed(_entries(path), by_key, replaced)]
            (old / path.name).write_text("\n".join(lines) + "\n", "utf-8")
        elif path.name == "sent.json":
            (old / path.name).write_text(_sent(path, old / path.name, by_key), "utf-8")
        elif path.name == "report.json" and (old / path.name).exists():
            report, before = (json.loads(each.read_text("utf-8")) for each in (path, old / path.name))
            report |= {name: before[name] for name in KEPT_OF_REPORT if name in before}
            kept = {name: value for name, value in report.items() if name in before or name != "seal"}
            (old / path.name).write_text(json.dumps(kept, indent=1, ensure_ascii=False), "utf-8")
        elif path.is_file():
            shutil.copy(path, old / path.name)


def _renewed(
    entries: list[dict[str, Any]], by_key: Mapping[str, Recorded], replaced: set[str]
) -> Iterator[dict[str, Any]]:
    gone = replaced - by_key.keys()
    for entry in entries:
        key = entry["exchange"]["key"] if entry["kind"] == "exchange" else entry.get("key", "")
        if entry["kind"] == "exchange" and key in by_key:
            fresh = {name: entry["exchange"][name] for name in ("key", "messages")}
            yield {**entry, "exchange": {**by_key[key].exchange, **fresh}}
        elif key not in gone:
            yield entry


def _sent(new: Path, old: Path, by_key: Mapping[str, Recorded]) -> str:
    """The requests in their old order; one that changed takes the place and the address of the old one."""
    record, before = json.loads(new.read_text("utf-8")), json.loads(old.read_text("utf-8")) if old.exists() else {}
    fresh = {by_key[one["key"]].exchange["key"]: one for one in record.get("requests", []) if one["key"] in by_key}
    requests = [
        {**fresh[one["key"]], "to": one["to"]} if one["key"] in fresh else one for one in before.get("requests", [])
    ]
    known = {one["key"] for one in before.get("requests", [])}
    requests += [one for key, one in fresh.items() if key not in known]
    return json.dumps({**before, **record, "requests": requests}, indent=1, ensure_ascii=False)


def _lines(messages: Any) -> frozenset[str]:
    return frozenset(json.dumps(messages, ensure_ascii=False).split("\\n"))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
