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
import sys
import termios
import tty
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
from tests.readers.hostile import chunk, grey_picture

CODES = re.compile(r"\x1b_G(a=T,f=100,q=2,)?m=([01]);([^\x1b]*)\x1b\\")
SIXELS = re.compile(r'\x1bP0;1;0q"1;1;(\d+);(\d+)([^\x1b]*)\x1b\\\n')
TOKENS = re.compile(r"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)([?-~])|([?-~])|(\$)|(-)")
VARIABLES = (
    *("TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERMINAL_NAME", "MLTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION"),
    *("TMUX", "STY", "WT_SESSION"),
)


def png(pixels: Any, form: str = "png") -> bytes:
    written = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(written, form)
    return written.getvalue()


NOISE = np.random.default_rng(0).integers(0, 256, (3, 41, 37, 3))
PICTURES = tuple(map(png, NOISE))


def chart(**options: Any) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot(np.sin(np.arange(100)), color="#ff0000")
    written = io.BytesIO()
    figure.savefig(written, format="png", **options)
    return written.getvalue()


def percent(pixels: Any) -> Any:
    return np.rint(np.asarray(pixels) / 2.55).astype(int)


def decoded(text: str) -> list[Any]:
    """The pixels of each picture of sixels, whose colours are in percent. All must be drawn, each once."""
    found = []
    for width, height, data in SIXELS.findall(text):
        pixels = np.full((int(height), int(width), 3), -1)
        palette, colour, x, y, end = dict[str, list[int]](), "", 0, 0, 0
        for token in TOKENS.finditer(data):
            assert token.start() == end  # nothing is left over
            end = token.end()
            defined, *shares, chosen, times, many, one, left, down = token.groups()
            if defined:
                assert int(defined) < 256
                palette[defined] = [int(share) for share in shares]
            elif sixel := many or one:
                for place in range(6):
                    if ord(sixel) - 63 >> place & 1:
                        assert (pixels[y + place, x : x + int(times or 1)] == -1).all()
                        pixels[y + place, x : x + int(times or 1)] = palette[colour]
                x += int(times or 1)
                assert x <= int(width)
            else:
                colour, x, y = chosen or colour, 0 if left or down else x, y + 6 * bool(down)
        assert end == len(data) and pixels.min() >= 0
        found.append(pixels)
    return found


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
    "variables",
    [
        {"TERM": "xterm-kitty"},
        {"TERM_PROGRAM": "WezTerm"},
        {"KITTY_WINDOW_ID": "1"},
        {"TERM": "xterm-256color", "KONSOLE_VERSION": "220400"},
        {"TERM": "xterm-kitty", "MLTERM": "3.9.3"},  # started in another terminal
    ],
)
def test_a_terminal_with_the_protocol_of_kitty_draws_all_that_a_card_has(
    environ: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
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


@pytest.mark.parametrize(
    "variables",
    [
        {"TERM": "foot"},
        {"TERM": "foot-extra", "KITTY_WINDOW_ID": "1"},  # started in another terminal
        {"TERM": "mlterm-256color"},
        {"TERM": "xterm", "MLTERM": "3.9.3"},
        {"TERM": "contour-latest"},
        {"TERM": "xterm-256color", "TERMINAL_NAME": "contour"},
        {"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.3.0"},
        {"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.10.0beta2"},
    ],
)
def test_a_terminal_with_sixels_draws_all_that_a_card_has(
    environ: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        environ.setenv(name, value)
    text = printed()
    pictures = decoded(text)
    assert [picture.shape for picture in pictures] == [(41, 37, 3)] * 3
    for picture, noise in zip(pictures, NOISE, strict=True):  # 1,517 colours became 256
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 200
        assert np.abs(picture - percent(noise)).mean() < 8
    assert "chart_0: a bar chart" in text and "\x1b" not in SIXELS.sub("", text)


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"TERM": "xterm-256color"},
        {"TERM": "xterm-kitty", "TMUX": "/socket,1,0"},
        {"TERM": "foot", "TMUX": "/socket,1,0"},
        {"TERM": "foot", "STY": "1.screen"},
        {"TERM": "footer"},
        {"TERM": "xterm-256color", "KONSOLE_VERSION": "211203"},
        {"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.2.9"},
        {"TERM_PROGRAM": "iTerm.app"},
        {"TERM_PROGRAM": "vscode", "TERM_PROGRAM_VERSION": "1.123.0"},
        {"TERM": "xterm-256color", "WT_SESSION": "e1d171d9-4739-4cd0-b086-50d729f39631"},
    ],
)
def test_another_terminal_gets_the_text_alone(environ: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        environ.setenv(name, value)
    text = printed()
    assert "chart_0: a bar chart" in text and "\x1b" not in text


def test_sixels_have_the_pixels_of_the_picture_on_white(environ: pytest.MonkeyPatch) -> None:
    environ.setenv("TERM", "foot")
    numbers = np.arange(23 * 31).reshape(23, 31)
    ink = np.stack([numbers % 15 * 17, numbers % 2 * 255, numbers // 100 * 30], axis=-1)
    stripes = np.repeat(ink[:, :1], 31, axis=1)  # long runs
    opacity = np.where(numbers % 7 < 2, 0, 255)
    seen = np.where(opacity[..., None] == 0, 255, ink)
    transparent = png(np.concatenate([ink, opacity[..., None]], axis=-1))
    palette = io.BytesIO()
    Image.fromarray(stripes.astype(np.uint8)).quantize(64).save(palette, "png", transparency=0)
    shown = Image.open(palette).convert("RGBA")
    on_white = Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown).convert("RGB")
    pictures = decoded(printed(show=lambda: finish([transparent, png(stripes), palette.getvalue()])))
    for picture, expected in zip(pictures, (seen, stripes, on_white), strict=True):
        assert (picture == percent(expected)).all()


def test_a_chart_is_drawn_with_its_colours_and_a_large_one_smaller(environ: pytest.MonkeyPatch) -> None:
    environ.setenv("TERM", "foot")
    usual, large = decoded(printed(show=lambda: finish([chart(transparent=True), chart(dpi=300)])))
    assert usual.shape == (480, 640, 3) and large.shape == (750, 1000, 3)
    expected = Image.open(io.BytesIO(chart())).convert("RGB")
    assert np.abs(usual - percent(expected)).mean() < 0.5
    assert np.abs(large - percent(expected.resize((1000, 750)))).mean() < 3
    for picture in (usual, large):
        assert {(100, 100, 100), (100, 0, 0)} <= set(map(tuple, picture.reshape(-1, 3)))


def test_without_pillow_a_terminal_with_sixels_gets_the_text_alone(environ: pytest.MonkeyPatch) -> None:
    environ.setenv("TERM", "foot")
    environ.setitem(sys.modules, "PIL.Image", None)
    text = printed()
    assert "chart_0: a bar chart" in text and "\x1b" not in text


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(b"\x89PNG\r\n\x1a\n" + bytes(5_000), id="no PNG behind its first bytes"),
        pytest.param(png(NOISE[0], "jpeg"), id="JPEG"),
        pytest.param(png(NOISE[0], "gif"), id="GIF"),
        pytest.param(grey_picture(30, 30, bytes(50)), id="without its end"),
        pytest.param(grey_picture(2_500, 1_700, bytes(2_501 * 1_700)), id="more pixels than a card has"),
        pytest.param(grey_picture(20_000, 5_000, bytes(20_001 * 5_000)), id="a decompression bomb"),
        pytest.param(
            grey_picture(9, 9, bytes(90), chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(9)))), id="packed text"
        ),
    ],
)
def test_an_odd_picture_is_left_out_and_the_others_are_drawn(environ: pytest.MonkeyPatch, odd: bytes) -> None:
    environ.setenv("TERM", "foot")
    text = printed(show=lambda: finish([odd, png(NOISE[0])]))
    assert len(decoded(text)) == 1 and "chart_1: a bar chart" in text and "\x1b" not in SIXELS.sub("", text)


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
