"""While an answer is read, the notebook's other threads go on: no step keeps the interpreter to itself for long.

What is measured is the processor time that the reading thread takes between two ticks of another one, so a busy machine
counts for little; and a step that does not let go shows every time, so the best of three runs counts.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from types import TracebackType

import pytest

from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.sandbox.pool import Pool
from autocoder_jupyter.sandbox.protocol import Environment, Limits, OutputSpec, Program
from autocoder_jupyter.types import TypeName

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads another thread's clock")

LONGEST = 0.2
"""Seconds that other threads may stand still for an answer of ten megabytes."""

_TICK = 0.003

ANSWERS: dict[str, tuple[TypeName, str]] = {
    "a message of path segments": ("int", "raise ValueError('/a' * 5_000_000)"),
    "a message of escape sequences": ("int", "raise ValueError('\\x1b[' * 5_000_000)"),
    "path segments on standard error": ("int", "import sys\nprint('/a' * 5_000_000, file=sys.stderr)\nreturn 1"),
    "empty lists": ("list", "return [[] for _ in range(300_000)]"),
    "nested lists": ("list", "return [[[n, n] for n in range(1_000)] for _ in range(150)]"),
    "numbers": ("list", "return list(range(1_200_000))"),
    "a dict": ("dict", "return {f'key {n}': n for n in range(500_000)}"),
    "text with escapes": ("str", "return 'é\\n' * 1_200_000"),
    "text": ("str", "return 'abc,[]{}' * 1_200_000"),
    "many tiny columns": ("DataFrame", "return pd.DataFrame({n: [n] for n in range(15_000)})"),
    "many categories": ("Series", "return pd.Series([f'label {n}' for n in range(500_000)], dtype='category')"),
    "many texts": ("Series", "return pd.Series([f'text {n}' for n in range(800_000)])"),
    "many objects": ("Series", "return pd.Series([{'n': n} for n in range(150_000)])"),
    "many dates": (
        "Series",
        "import datetime\nreturn pd.Series([datetime.date(2024, 1, 1)] * 1_500_000, dtype=object)",
    ),
    "many numbers": ("DataFrame", "return pd.DataFrame({n: range(100_000) for n in range(12)})"),
}


class Watch:
    """Watches for how long the thread that enters it keeps others from running."""

    def __enter__(self) -> Watch:
        self.longest = 0.0
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._over.set()
        self._ticker.join()

    def _tick(self) -> None:
        before = time.clock_gettime(self._clock)
        while not self._over.wait(_TICK):
            now = time.clock_gettime(self._clock)
            self.longest = max(self.longest, now - before)
            before = now


@pytest.mark.parametrize("answer", ANSWERS)
def test_no_answer_stops_the_other_threads_of_the_notebook(
    pool: Pool, environment: Environment, limits: Limits, answer: str
) -> None:
    kind, body = ANSWERS[answer]
    lines = "\n    ".join(body.split("\n"))
    wanted = Program(f"import pandas as pd\n\n\ndef run():\n    {lines}\n", (), (OutputSpec(name="answer", type=kind),))
    stood_still = []
    for _ in range(3):
        with pool.lease(environment, limits) as worker, Watch() as watch, contextlib.suppress(SandboxError):
            worker.call(wanted, {})
        stood_still.append(watch.longest)
        if watch.longest <= LONGEST:
            return
    raise AssertionError(f"other threads stood still for {', '.join(f'{each:.2f} s' for each in stood_still)}")


def test_the_watch_sees_a_step_that_does_not_let_go() -> None:
    with Watch() as watch:
        sum(range(100_000_000))
    assert watch.longest > LONGEST
