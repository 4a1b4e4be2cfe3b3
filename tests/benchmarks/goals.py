"""The goals for calls, as a table: of this source tree, and of another one beside it.

    python -m tests.benchmarks.goals [--beside FOLDER] [--rounds N] [--sandbox local]

FOLDER is a source tree of an earlier commit (`git worktree add /tmp/before HEAD~1`). Each round measures every tree in
a process of its own, one after the other, and the best of all rounds counts, so other load on the machine changes the
ratios little. Processor time is that of the kernel and of all its descendants; of a container it is unknown. The
baseline is the same function in the measuring process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ITEMS = 1_000
AT_ONCE = 200
AT_ONCE_SIZES = ("1k", "100k")
CALLS = {"1k": 40, "100k": 25, "1M": 10}
PAUSE_SECONDS = 0.05
GOALS = {
    "run 1k fresh": 8.0,
    "run 1k reused": 4.0,
    "run 100k fresh": 15.0,
    "run 100k reused": 8.0,
    "run 1M fresh": 60.0,
    "run 1M reused": 40.0,
}
"""Milliseconds from call to value."""

BY_ROW = (
    "def run(frame):\n    frame = frame.copy()\n"
    "    frame['total'] = frame.apply(lambda row: row['c0'] + row['c1'], axis=1)\n    return frame\n"
)
"""The same function row by row, as many people write it. It takes several milliseconds an item, where the other's takes
a fraction of one, so that the work of the workers is more than that of the notebook."""

Figures = dict[str, list[float]]
"""By name of a measurement: milliseconds of wall clock and of processor."""


def main() -> None:
    """Measure, and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--beside", help="another source tree")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--sandbox", default="local")
    arguments.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.measure:
        print(json.dumps(measured(given.sandbox)))
        return
    trees = {"now": str(Path(__file__).parents[2])} | ({"before": given.beside} if given.beside else {})
    best: dict[str, Figures] = {tree: {} for tree in trees}
    for _ in range(given.rounds):
        for tree, folder in trees.items():
            for name, figures in _measured_in(folder, given.sandbox).items():
                kept = best[tree].setdefault(name, figures)
                best[tree][name] = [min(pair) for pair in zip(kept, figures, strict=True)]
    _print(best)


def _measured_in(folder: str, sandbox: str) -> Figures:
    """The figures of a source tree. This file measures it, with the packages and benchmarks of that tree."""
    command = [sys.executable, __file__, "--measure", "--sandbox", sandbox]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": folder}, stdout=subprocess.PIPE, check=True)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def measured(sandbox: str) -> Figures:
    """Wall clock and processor time of each measurement, in milliseconds; of a map, and of calls at once, for each."""
    from tests.benchmarks import test_bench_run as bench

    root = Path(tempfile.mkdtemp())
    result = _result(bench, sandbox, root)
    scope: dict[str, Any] = {}
    exec(bench.SOURCE, scope)
    figures: Figures = {}
    for size, count in CALLS.items():
        frame = bench.frame_of(bench.SIZES[size])
        figures[f"plain {size}"] = _calls(partial(scope["run"], frame), count)
        for kind, reuse in (("fresh", False), ("reused", True)):
            figures[f"run {size} {kind}"] = _calls(partial(result.run, frame=frame, reuse=reuse), count)
            if size in AT_ONCE_SIZES:
                figures[f"at once {size} {kind}"] = _at_once(result, frame, reuse=reuse)
                figures[f"at once {size} {kind}, kept"] = _at_once(result, frame, reuse=reuse, keep=True)
        if size in AT_ONCE_SIZES:
            figures[f"plain {size}, kept"] = _kept(partial(scope["run"], frame))
    frames = [bench.frame_of(1_000) for _ in range(ITEMS)]
    figures |= _maps("map", result, frames)
    bench.SOURCE = BY_ROW
    return figures | _maps("map by row", _result(bench, sandbox, Path(tempfile.mkdtemp())), frames)


def _at_once(result: Any, frame: Any, *, reuse: bool, keep: bool = False) -> list[float]:
    """A call of many that are made at once, as by a web server, which drops an answer when it is sent.

    Memory for answers that are kept is new to the process. That alone takes as long as the call: see `_kept`.
    """

    async def one() -> Any:
        answer = await result.run.aio(frame=frame, reuse=reuse)
        return answer if keep else None

    async def all_of_them() -> None:
        await asyncio.gather(*(one() for _ in range(AT_ONCE)))

    wall, processor = _timed(lambda: asyncio.run(all_of_them()))
    return [wall / AT_ONCE, processor / AT_ONCE]


def _kept(call: Callable[[], object]) -> list[float]:
    """A call of many whose answers are kept."""
    answers: list[object] = []
    wall, processor = _timed(lambda: answers.extend(call() for _ in range(AT_ONCE)))
    return [wall / AT_ONCE, processor / AT_ONCE]


def _maps(name: str, result: Any, frames: list[Any]) -> Figures:
    """An item of a map with one worker and with two."""
    figures: Figures = {}
    for workers in (1, 2):
        result.map(frames[:100], workers=workers)
        wall, processor = _timed(partial(result.map, frames, workers=workers))
        figures[f"{name}, {workers} workers"] = [wall / len(frames), processor / len(frames)]
    return figures


def _result(bench: Any, sandbox: str, root: Path) -> Any:
    """The function of the benchmarks. Before `finished_result` there was only the fixture."""
    if hasattr(bench, "finished_result"):
        return bench.finished_result(sandbox, root)
    return bench.result.__wrapped__(type("Request", (), {"param": sandbox}), root)


def _calls(call: Callable[[], object], count: int) -> list[float]:
    """The best wall clock time of a call after a pause, and the mean processor time, in milliseconds."""
    call()
    walls = []
    before = processor_seconds()
    for _ in range(count):
        time.sleep(PAUSE_SECONDS)
        walls.append(_timed(call)[0])
    return [min(walls), (processor_seconds() - before) / count * 1e3]


def _timed(call: Callable[[], object]) -> list[float]:
    before, began = processor_seconds(), time.perf_counter()
    call()
    wall = time.perf_counter() - began
    return [wall * 1e3, (processor_seconds() - before) * 1e3]


def processor_seconds() -> float:
    """Processor time of this process and of all its descendants, with those that have ended."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    spent = own.ru_utime + own.ru_stime
    children: dict[int, list[tuple[int, int]]] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                fields = (process / "stat").read_bytes().rpartition(b") ")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append((int(process.name), sum(map(int, fields[11:15]))))
    ticks, queue = 0, [os.getpid()]
    while queue:
        for pid, used in children.get(queue.pop(), ()):
            ticks += used
            queue.append(pid)
    return spent + ticks / os.sysconf("SC_CLK_TCK")


def _print(best: dict[str, Figures]) -> None:
    now, before = best["now"], best.get("before")
    print(
        f"{'':22}{'goal':>9}{'wall':>10}{'cpu':>10}"
        + (f"{'wall before':>13}{'cpu before':>12}{'cpu ratio':>11}" if before else "")
    )
    for name, (wall, processor) in now.items():
        goal = f"{GOALS[name]:.0f} ms" if name in GOALS else "2 ms cpu" if name == "map, 1 workers" else ""
        line = f"{name:22}{goal:>9}{wall:7.1f} ms{processor:7.1f} ms"
        if before:
            line += f"{before[name][0]:10.1f} ms{before[name][1]:9.1f} ms{processor / max(before[name][1], 0.01):11.2f}"
        print(line)
    for tree, figures in best.items():
        for name in ("map", "map by row"):
            gain = figures[f"{name}, 1 workers"][0] / figures[f"{name}, 2 workers"][0]
            print(f"{name}, two workers beside one, {tree}: {gain:.2f} times (goal 1.7)")


if __name__ == "__main__":
    main()
