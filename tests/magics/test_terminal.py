"""Text is as wide as the terminal, and pictures of outputs are drawn in one that can, and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import termios
import tty
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from autocoder_jupyter.display.live import LiveCard
from autocoder_jupyter.magics.doctor_row import DoctorRow, shown
from autocoder_jupyter.magics.progress import TerminalProgress
from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types.overview import Excerpt, Glimpse

PICTURES = tuple(b"\x89PNG\r\n\x1a\n" + bytes([number]) * 5_000 for number in range(3))
GLIMPSES = tuple(Glimpse(f"chart_{number}", "a bar chart", picture=png) for number, png in enumerate(PICTURES))
CODES = re.compile(r"\x1b_G(a=T,f=100,q=2,)?m=([01]);([^\x1b]*)\x1b\\")
VARIABLES = ("TERM", "TERM_PROGRAM", "TMUX", "STY", "KITTY_WINDOW_ID")


def whole(descriptor: int) -> str:
    """All that a terminal shows until the other end is closed."""
    arrived = bytearray()
    with contextlib.suppress(OSError):
        while piece := os.read(descriptor, 2**16):
            arrived += piece
    os.close(descriptor)
    return arrived.decode()


def finish() -> None:
    rows = (("a very long value " * 6, "1"),)
    table = Glimpse("table", table=Excerpt(("name", "n"), rows, "1 row × 2 columns", (False, True)))
    outputs = SampleOutputs((*GLIMPSES, table))
    run = replace(FunctionRun("growth"), phase="ready", outputs=outputs, notice=("one two three four " * 10,))
    TerminalProgress(LiveCard(RunTracker(run)))()


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def printed(columns: int = 0, show: Callable[[], None] = finish) -> str:
    shown, written = pty.openpty()
    tty.setraw(written)
    fcntl.ioctl(written, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with ThreadPoolExecutor(1) as executor:
        read = executor.submit(whole, shown)
        with os.fdopen(written, "w") as terminal, contextlib.redirect_stdout(terminal):
            show()
        return read.result()


@pytest.mark.parametrize(
    ("name", "value"), [("TERM", "xterm-kitty"), ("TERM_PROGRAM", "WezTerm"), ("KITTY_WINDOW_ID", "1")]
)
def test_a_terminal_that_can_draws_all_that_a_card_has(environ: pytest.MonkeyPatch, name: str, value: str) -> None:
    environ.setenv(name, value)
    text = printed()
    pictures: list[str] = []
    for head, more, data in CODES.findall(text):
        # By the protocol all chunks but the last have a multiple of 4 characters, and only the first one other keys.
        assert 0 < len(data) <= 4096 and (more == "0" or len(data) % 4 == 0)
        assert bool(head) == (not pictures or pictures[-1].endswith("."))
        pictures = [*pictures, ""] if head else pictures
        pictures[-1] += data if more == "1" else f"{data}."
    assert [base64.b64decode(data.removesuffix(".")) for data in pictures] == list(PICTURES)
    assert "chart_0: a bar chart" in text and "\x1b" not in CODES.sub("", text)


@pytest.mark.parametrize("more", [{}, {"TERM": "xterm-256color"}, {"TERM": "xterm-kitty", "TMUX": "/socket,1,0"}])
def test_another_terminal_gets_the_text_alone(environ: pytest.MonkeyPatch, more: dict[str, str]) -> None:
    for name, value in more.items():
        environ.setenv(name, value)
    text = printed()
    assert "chart_0: a bar chart" in text and "\x1b" not in text


@pytest.mark.parametrize("columns", [50, 90, 160])
def test_text_is_as_wide_as_the_terminal_and_its_words_are_whole(environ: pytest.MonkeyPatch, columns: int) -> None:
    lines = printed(columns).splitlines()
    assert columns - 6 < max(map(len, lines)) <= columns
    told = next(place for place, line in enumerate(lines) if line.startswith("  one two"))
    assert all(set(line.split()) <= {"one", "two", "three", "four"} for line in lines[told : told + 2])
    assert len(lines[told]) > columns - 6 and lines[told + 1].startswith("      ")
    if columns < 160:
        assert any(len(line) == columns for line in lines if "a very long" in line)


def test_what_the_doctor_finds_is_as_wide_as_the_terminal() -> None:
    rows = [DoctorRow("sandbox", "docker will be used", "'auto' is set"), DoctorRow("docker", "works", "one two " * 40)]
    lines = printed(60, lambda: print(shown(rows)[1])).splitlines()
    assert max(map(len, lines)) <= 60 and all(line.startswith("      ") for line in lines[2:])
    assert {word for line in lines[2:] for word in line.split()} == {"one", "two"}


def test_a_run_that_wrote_nothing_ends_with_its_state_because_the_cell_raises_the_reason() -> None:
    def end(solution: str = "") -> None:
        run = replace(FunctionRun("growth"), phase="failed", reason="There is no key.", solution=solution)
        TerminalProgress(LiveCard(RunTracker(run)))()

    assert printed(60, end).splitlines() == ["growth  Failed"]
    assert "There is no key." in printed(60, lambda: end("def run(): ..."))


def test_a_file_gets_the_text_alone(environ: pytest.MonkeyPatch) -> None:
    environ.setenv("TERM", "xterm-kitty")
    with contextlib.redirect_stdout(io.StringIO()) as file:
        finish()
    assert "\x1b" not in file.getvalue()
