"""Figures cross as PNG and as nothing else."""

from __future__ import annotations

import struct
import zlib

import pytest

from autocoder_jupyter.data.codec import Corrupt, Picture, TypeMismatch, Unencodable, decode, encode

figure_module = pytest.importorskip("matplotlib.figure")


@pytest.fixture
def figure():
    drawn = figure_module.Figure(figsize=(2, 1), dpi=50)
    drawn.subplots().plot([1, 2, 3])
    return drawn


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 1, height: int = 1, *extra: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(extra) + body + chunk(b"IEND", b"")


def receive(content: bytes, tmp_path):
    return decode({"type": "Figure", "size": len(content)}, memoryview(content), folder=tmp_path, trusted=False)


def test_a_figure_comes_back_as_a_picture_of_its_size(figure, cross):
    picture = cross(figure, "Figure")
    assert isinstance(picture, Picture)
    assert (picture.width, picture.height) == (100, 50)
    assert picture.png.startswith(b"\x89PNG")


def test_axes_are_drawn_by_way_of_their_figure(figure, cross):
    assert cross(figure.axes[0], "Figure").width == 100


def test_drawing_twice_gives_the_same_digest(figure):
    assert encode(figure, "Figure").digest() == encode(figure, "Figure").digest()


@pytest.mark.parametrize("value", [None, "figure", 3, b"\x89PNG", figure_module.Figure])
def test_what_cannot_be_drawn_is_a_mismatch(value):
    with pytest.raises(TypeMismatch):
        encode(value, "Figure")


def test_a_figure_that_fails_to_draw_is_refused_with_the_cause():
    class Broken:
        def savefig(self, *args, **kwargs):
            raise RuntimeError("no ink")

    with pytest.raises(Unencodable, match="no ink"):
        encode(Broken(), "Figure")


def test_a_figure_that_draws_something_else_is_refused():
    class Web:
        def savefig(self, target, **kwargs):
            target.write(b"<svg onload=alert(1)>")

    with pytest.raises(Unencodable, match="not a PNG"):
        encode(Web(), "Figure")


def test_a_small_png_is_accepted(tmp_path):
    assert receive(png(), tmp_path) == Picture(png(), 1, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<script>alert(1)</script>",
        png()[:-1],
        png() + b"<script>",
        png()[:20] + b"\xff" + png()[21:],
        png(0, 1),
        png(1, 2**31),
        png(20_000, 20_000),
        png(1, 1, chunk(b"iCCP", b"x")),
        png(1, 1, chunk(b"IEND", b"")),
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", b"") + chunk(b"IDAT", b"") + chunk(b"IEND", b""),
        b"\x89PNG\r\n\x1a\n" + b"\xff\xff\xff\xffIHDR",
        b"\x89PNG\r\n\x1a\n" + chunk(b"IDAT", b"") + chunk(b"IEND", b""),
    ],
    ids=range(13),
)
def test_a_picture_that_is_not_quite_one_is_refused(content, tmp_path):
    with pytest.raises(Corrupt):
        receive(content, tmp_path)
