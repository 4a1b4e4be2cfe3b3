"""Text is as wide as the terminal, and pictures of outputs are written to files."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import termios
import tty
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from autocoder_jupyter.display.live import LiveCard
from autocoder_jupyter.magics.doctor import DoctorRow, shown
from autocoder_jupyter.magics.progress import TerminalProgress
from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types.records import Excerpt, Glimpse


def png(pixels: Any) -> bytes:
    written = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(written, "png")
    return written.getvalue()


NOISE = np.random.default_rng(0).integers(0, 256, (3, 41, 37, 3))
PICTURES = tuple(map(png, NOISE))


def whole(descriptor: int) -> str:
    """All that a terminal shows until the other end is closed."""
    arrived = bytearray()
    with contextlib.suppress(OSError):
        while piece := os.read(descriptor, 2**16):
            arrived += piece
    os.close(descriptor)
    return arrived.decode()


def finish(pictures: Sequence[bytes] = PICTURES) -> None:
    rows = (("a very long value " * 6, "1"),)
    table = Glimpse("table", table=Excerpt(("name", "n"), rows, "1 row × 2 columns", (False, True)))
    glimpses = [Glimpse(f"chart_{number}", "a bar chart", picture=one) for number, one in enumerate(pictures)]
    outputs = SampleOutputs((*glimpses, table))
    run = replace(FunctionRun("growth"), phase="ready", outputs=outputs, notice=("one two three four " * 10,))
    TerminalProgress(LiveCard(RunTracker(run)))()


def printed(columns: int = 0, show: Callable[[], None] = finish) -> str:
    shown, written = pty.openpty()
    tty.setraw(written)
    fcntl.ioctl(written, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with ThreadPoolExecutor(1) as executor:
        read = executor.submit(whole, shown)
        with os.fdopen(written, "w") as terminal, contextlib.redirect_stdout(terminal):
            show()
        return read.result()


def test_a_terminal_gets_the_paths_of_the_pictures() -> None:
    text = printed()
    assert "chart_0: a bar chart" in text and "\x1b" not in text
    paths = re.findall(r"^  chart_\d: (/.*\.png)$", text.replace("\r", ""), re.MULTILINE)
    assert [Path(path).read_bytes() for path in paths] == list(PICTURES)
    assert Path(paths[0]).parent.stat().st_mode & 0o077 == 0


def test_pictures_that_cannot_be_written_do_not_end_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    text = printed()
    assert "chart_0: a bar chart" in text and ".png" not in text


def test_an_output_that_is_no_terminal_gets_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    finish()
    printed = capsys.readouterr().out
    assert "chart_0: a bar chart" in printed and ".png" not in printed


@pytest.mark.parametrize("columns", [50, 90, 160])
def test_text_is_as_wide_as_the_terminal_and_its_words_are_whole(columns: int) -> None:
    lines = [line for line in printed(columns).splitlines() if ".png" not in line]  # a path is not divided
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
