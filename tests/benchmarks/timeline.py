"""When the first rows, a verified function and the end of a run come, for models of different speeds.

Each time counts from the moment when the cell is run, as a person sees it. So what is ours has three parts: until the
plan is asked for, between two answers, and after the last one that was needed.

Runs the recorded answers of a request of the quickstart over real HTTP, token by token, to a kernel as a person has
it. Everything else is real. Beside each time stand how long the model answered until then, and the difference, which
is ours.

    python -m tests.benchmarks.timeline [--speeds 50,100,300] [--first-token 0] [--kernels warm,typed,new]
        [--tree FOLDER] [--rounds 1] [--in-turn]

`--first-token` is how many seconds a model thinks before each answer: 0.5 to 1.5 are usual, 10 for one that reasons.

`--tree` is a clone of another version, which is run instead of this one; `--in-turn` answers one question after the
other, as many models on a person's machine do. A `new` kernel has run nothing; in a `typed` one a person has begun to
type the cell; a `warm` one has run it once.

Run it on a quiet machine: the times are those of a clock. The processor seconds of the kernel stand beside them, and
depend less on what else runs.
"""

from __future__ import annotations

import argparse
import compileall
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.lab.page import Page
from tests.magics.kernel import Kernel
from tests.runner import MARKERS
from tests.scripted_model import Answer, ScriptedModel, head_of, openai_events, prompt_of

ROOT = Path(__file__).parents[2]
NAME = "clean_cars"
KERNELS = ("warm", "typed", "new")
PIECE = 8
"""Characters of a piece that arrives at once: two tokens."""

NEEDED = {"first rows": ("code",), "verified": ("code", "tests", "constraints"), "ready": tuple(MARKERS)}
"""For each time the questions that must be answered before it."""

LISTEN = """
import time
from autocoder_jupyter.run.tracker import RunTracker
heard = []
def listening(self, event, before=RunTracker.__call__):
    which = getattr(event, "state", "") or getattr(event, "stage", "")
    heard.append((type(event).__name__, time.monotonic(), time.process_time(), str(which)))
    return before(self, event)
RunTracker.__call__ = listening
"""
PREPARED = "import threading; print(all(t.name != 'autocode-prepare' for t in threading.enumerate()))"


@dataclass(frozen=True)
class Moment:
    """One time of one run.

    Args:
        after: seconds since the cell was sent.
        model: those in which the model answered a question that was needed for it.
        processor: processor seconds of the kernel until then.
    """

    after: float
    model: float
    processor: float


class Speaker:
    """Answers questions by their stage at a speed, and notes when.

    Args:
        answers: the recorded answers by stage.
        first_token: seconds before the first token of each answer.
        in_turn: answer one question after the other.
    """

    def __init__(self, answers: Mapping[str, str], *, first_token: float = 0.0, in_turn: bool = False) -> None:
        self._answers = answers
        self._first_token = first_token
        self._turn: AbstractContextManager[Any] = threading.Lock() if in_turn else nullcontext()
        self.speed = 1e6
        self.spoken: list[tuple[str, float, float]] = []
        """The stage of each question, and when its answer began and ended."""

    def __call__(self, request: dict[str, Any]) -> Answer:
        prompt = prompt_of(request)
        stage = next(stage for stage, marker in MARKERS.items() if marker in prompt)
        if stage not in self._answers:
            return Answer(status=400, error=f"no answer is recorded for {stage}")
        return Answer(wire=partial(self._speak, stage, request))

    def _speak(self, stage: str, request: dict[str, Any]) -> Iterator[bytes]:
        answer = Answer(self._answers[stage], piece=PIECE)
        asked = time.monotonic()
        with self._turn:
            time.sleep(self._first_token)
            began = time.monotonic()
            yield head_of()
            for said, event in openai_events(request, answer, 1):
                time.sleep(max(0.0, began + said / 4 / self.speed - time.monotonic()))
                yield event.encode()
        self.spoken.append((stage, asked, time.monotonic()))


def recorded(tree: Path) -> dict[str, str]:
    """The recorded answers of the request by stage."""
    (journal,) = (tree / "notebooks/.autocode" / NAME / "versions").glob("*/journal.jsonl")
    lines = map(json.loads, journal.read_text().splitlines())
    exchanges = (line["exchange"] for line in lines if line["kind"] == "exchange")
    return {exchange["stage"]: exchange["answer"] for exchange in exchanges}


def cells(tree: Path) -> list[str]:
    """The code of the quickstart until its first request, and that request."""
    notebook = json.loads((tree / "notebooks/quickstart.ipynb").read_text())
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return code[: next(place for place, source in enumerate(code) if source.startswith("%%autocode")) + 1]


@dataclass
class Opened:
    """A kernel that is ready for the cell."""

    kernel: Kernel
    page: Page
    cell: str
    speaker: Speaker

    def run(self, speed: float) -> dict[str, Moment]:
        """Run the cell to its end. Returns its moments."""
        self.speaker.speed = speed
        self.speaker.spoken.clear()
        self.kernel.run("heard.clear(); before = time.process_time()")
        began = time.monotonic()
        answered = self.kernel.run(self.cell)
        assert answered.status == "ok", answered.error
        self.kernel.run(f"{NAME}.wait()")
        heard = json.loads(self.kernel.printed("__import__('json').dumps(heard)"))
        before = float(self.kernel.printed("before"))

        def first(*names: str) -> tuple[float, float]:
            return next((at, spent) for name, at, spent, _ in heard if name in names)

        assert heard[-1][3] == "ready", heard
        ends = {
            "first rows": first("SampleOutputs"),
            "verified": first("FunctionVerified", "EvidenceGathered"),
            "ready": first("Finished"),
        }
        return {
            name: Moment(at - began, self._answering(NEEDED[name], at), spent - before)
            for name, (at, spent) in ends.items()
        }

    def _answering(self, stages: tuple[str, ...], until: float) -> float:
        """The seconds in which at least one of these questions was being answered."""
        total, end = 0.0, 0.0
        for _, start, stop in sorted((row for row in self.speaker.spoken if row[0] in stages), key=lambda row: row[1]):
            stop = min(stop, until)
            total += max(0.0, stop - max(start, end))
            end = max(end, stop)
        return total


def opened(tree: Path, folder: Path, model: ScriptedModel, speaker: Speaker) -> Opened:
    """A kernel in which all cells before the request have run."""
    env = {
        "PYTHONPATH": str(tree),
        "AUTOCODE_MODEL": "openai/scripted",
        "AUTOCODE_API_BASE": model.url,
        "AUTOCODE_SANDBOX": "local",
        "AUTOCODE_CACHE": "disable",
    }
    kernel = Kernel(folder, env, cold=True)
    page = Page(kernel)
    *before, cell = cells(tree)
    for source in before:
        if "Autocode.model" not in source:
            assert kernel.run(source).status == "ok", source
    assert kernel.printed("__import__('autocoder_jupyter').__file__").startswith(str(tree))
    kernel.run(LISTEN)
    page.wait_for_open()
    page.hello()
    page.set()  # as JupyterLab does; a cell waits for it
    return Opened(kernel, page, cell, speaker)


def run_script(
    speaker: Speaker, tree: Path, kind: str, speeds: list[float], show: Callable[[str, float, dict[str, Moment]], None]
) -> None:
    """Run the request in a kind of kernel at each speed."""
    with ScriptedModel(speaker) as model, tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text("")
        ready: Opened | None = None
        try:
            for speed in speeds:
                if ready is None or kind != "warm":
                    if ready is not None:
                        close(ready)
                    ready = opened(tree, Path(folder), model, speaker)
                    if kind == "warm":
                        ready.run(1e6)
                    if kind == "typed":
                        ready.page.say({"kind": "prepare"})
                        time.sleep(0.5)
                        while ready.kernel.run(PREPARED).text != "True\n":
                            time.sleep(0.2)
                show(kind, speed, ready.run(speed))
        finally:
            if ready is not None:
                close(ready)


def close(ready: Opened) -> None:
    """End a kernel."""
    ready.page.close()
    ready.kernel.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speeds", default="50,100,300", help="tokens a second")
    parser.add_argument("--first-token", type=float, default=0.0, help="seconds before the first token of each answer")
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--in-turn", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    moments: dict[tuple[str, float, str], list[Moment]] = {}

    def show(kind: str, speed: float, found: dict[str, Moment]) -> None:
        for name, moment in found.items():
            moments.setdefault((kind, speed, name), []).append(moment)

    # An installed package has its bytecode. Without it, a new kernel would compile for more than half a second.
    compileall.compile_dir(given.tree / "autocoder_jupyter", quiet=1)
    speaker = Speaker(recorded(given.tree), first_token=given.first_token, in_turn=given.in_turn)
    for _ in range(given.rounds):
        for kind in given.kernels.split(","):
            run_script(speaker, given.tree.resolve(), kind, [float(speed) for speed in given.speeds.split(",")], show)
    print("| kernel | tokens a second | until | seconds | of the model | ours | processor |")
    print("|---|---|---|---|---|---|---|")
    for (kind, speed, name), several in moments.items():
        after, model, spent = (
            statistics.median(getattr(moment, field) for moment in several) for field in ("after", "model", "processor")
        )
        print(f"| {kind} | {speed:g} | {name} | {after:.2f} | {model:.2f} | {after - model:.2f} | {spent:.2f} |")


if __name__ == "__main__":
    main()
