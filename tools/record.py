"""Record the shipped notebooks anew after a prompt was changed, from the answers that they have.

    python tools/record.py [--only NAME …] [--notebooks FOLDER]

Each notebook is executed in a copy of its folder, in the real sandbox. A question that did not change is replayed. A
question that changed is answered with the recorded answer of the same result and stage whose question is most like it,
and the function is tested again. A plan and code that are recorded as two answers are given as one. Then the journals
of what changed are written to the notebooks' folder, with the times and costs of the old ones. So are those that a
program of a notebook wrote to a temporary folder, with answers that the notebook played from a record. A version that
is recorded under the key or in the layout of an earlier version of this package takes its new place. Nothing else is
changed: without a changed question there is no changed file.

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
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.versions.store import VERSIONS, Versions, move
from tests.first_answers import docstring, joined
from tests.scripted_model import CODE_MARKER, PLAN_MARKER, Answer, Call, ScriptedModel, prompt_of
from tools.run_examples import without_keys

ROOT = Path(__file__).parents[1]
RUN = Path(__file__).with_name("run_notebook.py")
JOURNALS = ("journal.jsonl", "conversation.jsonl")
TOP_FILES = ("solution.py", "test_solution.py", "function.toml")
ENOUGH_TIME = """\
import dataclasses

from autocoder_jupyter.engine.evidence import comparison as trial
from autocoder_jupyter.settings import choices as efforts

trial.SECONDS *= 20
for name, effort in efforts.EFFORTS.items():
    efforts.EFFORTS[name] = dataclasses.replace(effort, seconds=20 * effort.seconds)
"""
"""Runs first in each process of a notebook, so that a busy machine records the same evidence as an idle one."""

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
        return _name(self.run)

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
        if sent["stage"] in ("plan", "code") and not request.get("tools") and CODE_MARKER in prompt_of(request):
            found = self._first(name, sent["stage"], request)
        if found is None:
            return self._none(f"{name}, {sent['stage']}")
        if found in self._open and not found.blocks:
            self._open.remove(found)
        found.new_key = sent["key"]
        self.used.append(found)
        return found.answer

    def _first(self, name: str, stage: str, request: Mapping[str, Any]) -> Recorded | None:
        """The answer to the first question: as it is recorded, or from a plan in JSON and the code that followed it."""
        own = [one for one in self._open if one.name == name and not one.blocks]
        firsts = [one for one in own if CODE_MARKER in prompt_of(one.exchange)]
        if firsts:
            return _most_like(firsts, request)
        plan = _most_like([one for one in own if PLAN_MARKER in prompt_of(one.exchange)], request)
        codes = [one for one in own if one.exchange["stage"] == "code"]
        code = _most_like(codes, request) if stage == "code" else None
        if plan is None or (code is None and stage == "code"):
            return None
        head = docstring(json.loads(plan.exchange["answer"]))
        text = joined(plan.exchange["answer"], code.exchange["answer"]) if code else f"```python\n{head}\n```"
        for one in (plan, code):
            if one is not None:
                self._open.remove(one)
                self.used.append(one)  # so that it goes
        parts = [(plan, len(head) / len(plan.exchange["answer"])), *([(code, 1.0)] if code else [])]
        usage = dict((code or plan).exchange["usage"])
        usage["output_tokens"] = round(sum(one.exchange["usage"]["output_tokens"] * share for one, share in parts))
        seconds = sum(one.exchange["seconds"] * share for one, share in parts)
        exchange = {**(code or plan).exchange, "answer": text, "usage": usage, "seconds": round(seconds, 1)}
        return Recorded(plan.run, exchange)

    def _none(self, what: str) -> Answer:
        self.missing.append(what)
        return Answer(status=400, error=f"There is no recorded answer for {what}.")

    def _asked(self, request: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        last = request["messages"][-1]
        for path in _files(self._folder, "sent.json"):
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
    for folder in {path.parent for path in notebooks}:
        move_earlier(folder)
    print(f"{len(notebooks)} notebooks in {time.monotonic() - began:.0f} s")
    for complaint in complaints:
        print(f"TO DO  {complaint}")
    return int(bool(complaints))


def record(notebook: Path) -> list[str]:
    """Record one notebook anew; returns what must be done by hand."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, elsewhere = Path(temporary) / "notebooks", Path(temporary) / "t"
        elsewhere.mkdir()
        shutil.copytree(notebook.parent, folder, ignore=shutil.ignore_patterns("examples", "outputs", "*.ipynb"))
        recorded = list(recorded_answers(notebook.parent))
        for path in [*_files(folder, *JOURNALS)]:
            _forget_result(path.parent)
        shutil.copy(notebook, folder)
        answers = Answers(folder, recorded)
        with ScriptedModel(answers) as model:
            done = _executed(folder / notebook.name, model, elsewhere)
        if answers.missing or done.returncode:
            why = [f"{notebook.stem}: no answer for {what}" for what in answers.missing]
            return why or [f"{notebook.stem}: it fails.\n{done.stdout[-3_000:]}"]
        renewed = _renewed_runs(folder, notebook.parent, answers.used)
        for run in renewed:
            _take_over(folder, notebook.parent, run, answers.used)
        for name in [*map(_name, renewed), *take_from_elsewhere(elsewhere, notebook.parent, recorded)]:
            print(f"recorded {notebook.stem}: {name}", flush=True)
        return []


def take_from_elsewhere(elsewhere: Path, shipped: Path, recorded: list[Recorded]) -> list[str]:
    """Write the records that programs of a notebook made in temporary folders; returns the names of what was written.

    Args:
        elsewhere: the folder with the temporary ones.
        shipped: the notebooks' folder. What it has no record of is left out.
        recorded: its recorded answers.
    """
    names = []
    for journal in sorted(elsewhere.glob(f"*/.autocode/*/{VERSIONS}/*/journal.jsonl")):
        root = journal.parents[4]
        run = journal.parent.relative_to(root)
        used = list(_answered_elsewhere(_entries(journal), [one for one in recorded if one.name == _name(run)]))
        if used:
            for old in (shipped / run.parent).glob("*"):
                if not (root / run.parent / old.name).exists():
                    shutil.copytree(old, root / run.parent / old.name)
                    _forget_result(root / run.parent / old.name)
            _take_over(root, shipped, run, used)
            names.append(_name(run))
    return names


def _answered_elsewhere(entries: list[dict[str, Any]], recorded: list[Recorded]) -> Iterator[Recorded]:
    """The recorded answers that changed questions got."""
    left = list(recorded)
    for exchange in [entry["exchange"] for entry in entries if entry["kind"] == "exchange"]:
        same = [one for one in left if all(one.exchange[part] == exchange[part] for part in ("stage", "answer"))]
        if same:
            left.remove(same[0])
        if same and same[0].exchange["key"] != exchange["key"]:
            same[0].new_key = exchange["key"]
            yield same[0]


def move_earlier(folder: Path) -> None:
    """Bring what is in an earlier layout to this one, such as records that the notebooks only copy."""
    root = folder / ".autocode"
    for name in sorted({_name(path.relative_to(folder)) for path in folder.glob(".autocode/*/*/report.json")}):
        move(Folder(folder), f"{root.name}/{name}")
        Versions(root, name).show_current()


def _name(run: Path) -> str:
    """The name of the result of a run, from a path in its folder, relative to that of the notebooks."""
    return run.parts[1]


def _files(folder: Path, *names: str) -> list[Path]:
    """The files with one of these names in the folders of all runs, in both layouts."""
    return sorted(
        path
        for name in names
        for pattern in (f".autocode/*/*/{name}", f".autocode/*/{VERSIONS}/*/{name}")
        for path in folder.glob(pattern)
    )


def recorded_answers(folder: Path) -> Iterator[Recorded]:
    """The recorded answers of a folder of notebooks."""
    for path in _files(folder, *JOURNALS):
        entries = _entries(path)
        blocks = {entry["key"]: entry["outcome"]["blocks"] for entry in entries if entry.get("step") == "agent answer"}
        for entry in entries:
            if entry["kind"] == "exchange":
                exchange = entry["exchange"]
                yield Recorded(path.parent.relative_to(folder), exchange, blocks.get(exchange["key"], []))


def _forget_result(run: Path) -> None:
    """Remove the result of a run, so that it is made again; the journal and what the user wrote stay."""
    for name in ("report.json", "solution.py", "test_solution.py", "test_blind.py", "sent.json"):
        (run / name).unlink(missing_ok=True)
    if run.parent.name == VERSIONS:
        _forget_top_files(run)


def _forget_top_files(version: Path) -> None:
    for name in TOP_FILES:
        (version.parent.parent / name).unlink(missing_ok=True)


def environment_of(model: ScriptedModel) -> dict[str, str]:
    """The environment of a kernel that asks this model, whatever the provider."""
    keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
    addresses = {"OPENAI_API_BASE": model.url, "OPENAI_BASE_URL": model.url, "ANTHROPIC_API_BASE": model.root}
    return {**without_keys(), **keys, **addresses}


def _executed(notebook: Path, model: ScriptedModel, temporary: Path) -> subprocess.CompletedProcess[str]:
    (temporary / "sitecustomize.py").write_text(ENOUGH_TIME, "utf-8")
    places = {"TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join([str(temporary), str(ROOT)])}
    patience = {"AUTOCODE_SECOND_OPINION_SECONDS": "2400"}  # see `ENOUGH_TIME`
    return subprocess.run(
        [sys.executable, str(RUN), str(notebook)],
        env={**environment_of(model), **places, **patience},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _renewed_runs(folder: Path, shipped: Path, used: list[Recorded]) -> list[Path]:
    """The runs that differ from the shipped ones: in whose journals changed questions are, or that have a new place."""
    keys = {one.new_key for one in used if one.new_key}
    made = [path.parent.relative_to(folder) for path in _files(folder, *JOURNALS)]
    return [
        run
        for run in made
        if keys & {entry["exchange"]["key"] for entry in _journal(folder / run) if entry["kind"] == "exchange"}
        or ((folder / run / "report.json").exists() and not (shipped / run).exists())
    ]


def _entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _journal(run: Path) -> list[dict[str, Any]]:
    return [entry for name in JOURNALS if (run / name).exists() for entry in _entries(run / name)]


def _take_over(copy: Path, shipped: Path, run: Path, used: list[Recorded]) -> None:
    """Write a run to the notebooks' folder, with the times and costs of the recorded one, whose place it takes."""
    name, is_version = _name(run), run.parent.name == VERSIONS
    if is_version:
        move(Folder(shipped), f".autocode/{name}")
    before = _before(copy, run, used) if is_version else run
    _write_run(copy / run, copy / before, shipped / run, shipped / before, used)
    if before != run:
        shutil.rmtree(shipped / before)
    if is_version:
        _forget_top_files(shipped / run)  # those of an earlier answer would be taken for an edit
        Versions(shipped / ".autocode", name).show_current()


def _before(copy: Path, run: Path, used: list[Recorded]) -> Path:
    """The recorded run whose place a version takes: the same, or that of an earlier key, which was not made again."""
    others = [path.parent for path in (copy / run).parent.glob("*/journal.jsonl") if path.parent != copy / run]
    left = [path.relative_to(copy) for path in others if not (path / "report.json").exists()]
    answered = {one.run.name for one in used if _name(one.run) == _name(run)}
    return next((path for path in left if path.name in answered), left[0] if left else run)


def _write_run(new: Path, new_before: Path, to: Path, before: Path, used: list[Recorded]) -> None:
    """Write the files of a run.

    Args:
        new: its folder in the copy.
        new_before: the folder in the copy of the run whose place it takes.
        to: where it is written.
        before: the folder of the shipped run whose place it takes.
        used: the answers to changed questions.
    """
    by_key = {one.new_key: one for one in used if one.new_key}
    replaced = {one.exchange["key"] for one in used}
    to.mkdir(parents=True, exist_ok=True)
    for path in sorted(new.iterdir()):
        old = before / path.name
        if path.name in JOURNALS:
            recorded = _entries(new_before / path.name) if new_before != new else []
            own = [entry for entry in recorded if entry.get("step") != "versions"]
            lines = [
                json.dumps(entry, ensure_ascii=False) for entry in _renewed([*own, *_entries(path)], by_key, replaced)
            ]
            (to / path.name).write_text("\n".join(lines) + "\n", "utf-8")
        elif path.name == "sent.json":
            (to / path.name).write_text(_sent(path, old, by_key, replaced), "utf-8")
        elif path.name == "report.json":
            report = json.loads(path.read_text("utf-8"))
            earlier = json.loads(old.read_text("utf-8")) if old.exists() else {}
            if joins := any(not one.new_key for one in used):  # its stages are others now
                report["usage"] = _sum(
                    one["exchange"]["usage"] for one in _entries(to / JOURNALS[0]) if "exchange" in one
                )
            report |= {name: earlier[name] for name in KEPT_OF_REPORT if name in earlier and not joins}
            kept = {name: value for name, value in report.items() if name in earlier or name != "seal"}
            (to / path.name).write_text(json.dumps(kept, indent=1, ensure_ascii=False), "utf-8")
        elif path.is_file() and not (path.name == "request.json" and (to / path.name).exists()):
            shutil.copy(path, to / path.name)  # the same place has the same request, with the settings of its cell


def _sum(usages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The usage of several answers."""
    total: dict[str, Any] = {}
    for usage in usages:
        for name, count in usage.items():
            total[name] = None if count is None else (total.get(name) or 0) + count
    return total


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


def _sent(new: Path, old: Path, by_key: Mapping[str, Recorded], replaced: set[str]) -> str:
    """The requests in their old order; one that changed takes the place and the address of the old one."""
    record, before = json.loads(new.read_text("utf-8")), json.loads(old.read_text("utf-8")) if old.exists() else {}
    fresh = {by_key[one["key"]].exchange["key"]: one for one in record.get("requests", []) if one["key"] in by_key}
    requests = [
        {**fresh[one["key"]], "to": one["to"]} if one["key"] in fresh else one
        for one in before.get("requests", [])
        if one["key"] in fresh or one["key"] not in replaced
    ]
    known = {one["key"] for one in before.get("requests", [])}
    requests += [one for key, one in fresh.items() if key not in known]
    return json.dumps({**before, **record, "requests": requests}, indent=1, ensure_ascii=False)


def _lines(messages: Any) -> frozenset[str]:
    return frozenset(json.dumps(messages, ensure_ascii=False).split("\\n"))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
