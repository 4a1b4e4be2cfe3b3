"""A long call shows that under its cell, and an interrupt ends it with all its processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.leftovers import alive, children, eventually, worker_roots
from tests.magics.kernel import Kernel
from tests.magics.warm import SOURCES

SETUP = """\
%load_ext autocoder_jupyter
from pathlib import Path
from tests.acceptance.conftest import build_result

inputs, outputs = {{"seconds": "float"}}, {{"value": "float"}}
growth = build_result({sandbox!r}, Path(".autocode"), {code!r}, inputs, outputs, timeout=900.0)
print(growth.run(0.0))"""

SLEEP = """\
import time


def run(seconds):
    time.sleep(seconds)
    return seconds
"""


@pytest.fixture(scope="module")
def warm(sandbox_name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel with a function in this sandbox that was already called once."""
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "pyproject.toml").write_text("")
    with Kernel(folder, SOURCES) as kernel:
        made = kernel.run(SETUP.format(sandbox=sandbox_name, code=SLEEP))
        assert made.text.strip() == "0.0", made.error
        yield kernel


@pytest.fixture
def kernel(warm: Kernel) -> Kernel:
    warm.forget()
    return warm


def lines(kernel: Kernel) -> list[str]:
    """The current text of the lines under waiting cells."""
    kernel._drain()
    return [data["text/plain"] for data in kernel.shown.values() if "autocode-wait" in data.get("text/html", "")]


def wait_for_line(kernel: Kernel, words: str) -> None:
    eventually(lambda: any(words in line for line in lines(kernel)), lambda: lines(kernel), patience=60)


def workers(kernel: Kernel) -> tuple[set[Any], list[Any]]:
    """The workers of the kernel, and all their processes if the sandbox shows them."""
    owner = kernel.process_id
    return set(worker_roots(owner)), children(owner)


def test_a_long_call_is_shown_and_an_interrupt_ends_its_processes(kernel: Kernel, sandbox_name: str) -> None:
    waiting = kernel.start("growth.run(600.0)")
    wait_for_line(kernel, f"{sandbox_name} sandbox · interrupt to stop it")
    assert lines(kernel)[0].startswith("crossing.run · ")
    roots, processes = workers(kernel)
    assert roots
    kernel.interrupt()
    ended = kernel.finish(waiting)
    assert "KeyboardInterrupt" in ended.error
    assert lines(kernel) == []
    eventually(lambda: not roots & set(worker_roots(kernel.process_id)), lambda: worker_roots(kernel.process_id))
    eventually(lambda: not any(map(alive, processes)), lambda: [p for p in processes if alive(p)])
    assert kernel.printed("growth.run(0.5)") == "0.5"


def test_an_awaited_call_is_ended_by_an_interrupt_too(kernel: Kernel) -> None:
    waiting = kernel.start("print('begun', flush=True)\nawait growth.run.aio(600.0)")
    kernel.wait_for_print(waiting, "begun")
    eventually(lambda: bool(worker_roots(kernel.process_id)), lambda: "no worker", patience=60)
    roots, processes = workers(kernel)
    kernel.interrupt()
    assert kernel.finish(waiting).status == "error"
    eventually(lambda: not roots & set(worker_roots(kernel.process_id)), lambda: worker_roots(kernel.process_id))
    eventually(lambda: not any(map(alive, processes)), lambda: [p for p in processes if alive(p)])
    assert kernel.printed("await growth.run.aio(0.5)") == "0.5"


def test_many_short_calls_are_shown_as_one_line_that_counts_them(kernel: Kernel) -> None:
    groups = kernel.start("for _ in range(40): growth.run(0.1)")
    wait_for_line(kernel, " calls done · interrupt to stop it")
    assert kernel.finish(groups).error == ""
    assert lines(kernel) == []


def test_calls_at_once_say_how_many_are_to_go_and_an_interrupt_ends_all(kernel: Kernel) -> None:
    together = "import asyncio\nawait asyncio.gather(*(growth.run.aio({}) for _ in range(100)))"
    waiting = kernel.start(together.format("0.2"))
    wait_for_line(kernel, " to go · interrupt to stop it")
    kernel.interrupt()
    assert kernel.finish(waiting).status == "error"
    eventually(lambda: kernel.printed("growth.run(0.5)") == "0.5", lambda: "")


def test_a_short_call_shows_nothing_and_neither_does_a_long_one_without_a_person(kernel: Kernel) -> None:
    assert len(kernel.run("growth.run(0.1)").displays) == 1  # the value
    alone = kernel.run("growth.run(3.0)", allow_stdin=False)
    assert [data["text/plain"] for data in alone.displays] == ["3.0"]
    assert alone.text == ""
