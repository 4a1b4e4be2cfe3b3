"""Figures are transferred as PNG, as rebuilt SVG, and as data."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.codec import Corrupt, Picture, TypeMismatch, Unencodable, decode, encode
from autocoder_jupyter.codec.figure_data import MAX_POINTS
from autocoder_jupyter.codec.pictures import png_size
from tests.cases import each

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@pytest.fixture
def new_figure() -> type[Figure]:
    """matplotlib's `Figure`, imported here because the import is slow."""
    from matplotlib.figure import Figure

    return Figure


@pytest.fixture
def figure(new_figure: type[Figure]) -> Figure:
    drawn = new_figure(figsize=(2, 1), dpi=50)
    drawn.subplots().plot([1, 2, 3])
    return drawn


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 1, height: int = 1, *extra: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(extra) + body + chunk(b"IEND", b"")


def receive(
    content: bytes,
    folder: Path,
    svg: bytes = b"",
    spec: bytes = b'{"axes": []}',
    kind: str = "matplotlib",
    preview: bytes = b"",
) -> Picture:
    sizes = {"png": len(content), "svg": len(svg), "spec": len(spec), "preview": len(preview)}
    header = {"type": "Figure", "kind": kind, "size": sum(sizes.values()), **sizes}
    return decode(header, memoryview(content + svg + spec + preview), folder=folder, trusted=False)


def test_a_figure_comes_back_as_a_picture_of_its_size(figure: Figure, cross: Callable[..., Any]) -> None:
    picture = cross(figure, "Figure")
    assert isinstance(picture, Picture)
    assert 50 < picture.width < 150 and 30 < picture.height < 80
    assert picture.png.startswith(b"\x89PNG")


def test_axes_are_drawn_by_way_of_their_figure(figure: Figure, cross: Callable[..., Any]) -> None:
    assert cross(figure.axes[0], "Figure").png == cross(figure, "Figure").png


def test_drawing_twice_gives_the_same_digest(figure: Figure) -> None:
    assert encode(figure, "Figure").digest() == encode(figure, "Figure").digest()


@each("value", [None, "figure", 3, b"\x89PNG"])
def test_what_cannot_be_drawn_is_a_mismatch(value: object) -> None:
    with pytest.raises(TypeMismatch):
        encode(value, "Figure")


def test_the_class_of_figures_is_a_mismatch(new_figure: type[Figure]) -> None:
    with pytest.raises(TypeMismatch):
        encode(new_figure, "Figure")


def test_a_figure_that_fails_to_draw_is_refused_with_the_cause() -> None:
    class Broken:
        def savefig(self, *args: object, **kwargs: object) -> None:
            raise RuntimeError("no ink")

    with pytest.raises(Unencodable, match="no ink"):
        encode(Broken(), "Figure")


def test_a_figure_that_draws_something_else_is_refused() -> None:
    class Web:
        def savefig(self, target: BinaryIO, **kwargs: object) -> None:
            target.write(b"<svg onload=alert(1)>")

    with pytest.raises(Unencodable, match="not a PNG"):
        encode(Web(), "Figure")


def test_a_small_png_is_accepted(tmp_path: Path) -> None:
    assert receive(png(), tmp_path) == Picture(png(), 1, 1, spec={"axes": []})


@each(
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
def test_a_picture_that_is_not_quite_one_is_refused(content: Any, tmp_path: Path) -> None:
    with pytest.raises(Corrupt):
        receive(content, tmp_path)


@each("preview", [b"<script>", png()[:-1], png(641, 1), png(1, 521)], ids=range(4))
def test_a_preview_that_is_none_is_refused(preview: bytes, tmp_path: Path) -> None:
    assert receive(png(), tmp_path, preview=png()).preview == png()
    with pytest.raises(Corrupt):
        receive(png(), tmp_path, preview=preview)


def test_a_large_picture_has_a_smaller_copy_for_the_card(figure: Figure, new_figure: type[Figure]) -> None:
    assert decoded(figure).preview == b""
    noise = np.random.default_rng(0)
    for size in ((6.4, 4.8), (14, 8)):
        drawn = new_figure(figsize=size)
        drawn.subplots().scatter(noise.random(2000), noise.random(2000), alpha=0.5, c=noise.random(2000))
        picture = decoded(drawn)
        width, height = png_size(picture.preview)
        assert len(picture.preview) < min(len(picture.png) / 4, 72 * 2**10)
        assert 500 <= width <= 640 and abs(width / height - picture.width / picture.height) < 0.01
        assert picture.preview == decoded(drawn).preview


def test_labels_outside_of_the_figure_are_in_the_picture(new_figure: type[Figure]) -> None:
    narrow, labelled = (new_figure(figsize=(2, 1), dpi=50) for _ in range(2))
    for drawn in (narrow, labelled):
        drawn.subplots().plot([1, 2])
    labelled.axes[0].set_xticks([0, 1], ["a very long label", "another one"], rotation=90)
    assert decoded(labelled).height > decoded(narrow).height


def decoded(value: object) -> Picture:
    encoded = encode(value, "Figure")
    return decode(encoded.header, memoryview(b"".join(encoded.buffers)), folder=Path(), trusted=False)


def test_the_svg_is_the_same_each_time_and_has_no_document_type(figure: Figure) -> None:
    picture = decoded(figure)
    assert picture.svg == decoded(figure).svg
    assert picture.svg.startswith(b"<svg ") and b"<path" in picture.svg and b"<style" not in picture.svg


def test_what_matplotlib_draws_comes_as_series(new_figure: type[Figure]) -> None:
    drawn = new_figure()
    lines, bars, lying, points, pie = drawn.subplots(1, 5)
    lines.plot(pd.to_datetime(["2024-01-01", "2024-02-01"]), [1, float("nan")], label="revenue")
    lines.set(title="Monthly", xlabel="month", ylabel="EUR")
    bars.bar(["north", "south"], [3, 4])
    lying.barh(["east"], [2.5])
    points.scatter([1, 2], [3, 4], label="orders")
    pie.pie([1, 3], labels=["a", "b"])
    picture = decoded(drawn)
    assert picture.data[0]["type"] == "line" and picture.data[0]["name"] == "revenue"
    assert [day[:10] for day in picture.data[0]["x"]] == ["2024-01-01", "2024-02-01"]
    assert picture.data[0]["y"] == [1, None]
    assert picture.data[1:] == [
        {"type": "bar", "name": "", "x": ["north", "south"], "y": [3, 4]},
        {"type": "barh", "name": "", "x": ["east"], "y": [2.5]},
        {"type": "scatter", "name": "orders", "x": [1, 2], "y": [3, 4]},
        {"type": "pie", "name": "", "x": ["a", "b"], "y": [0.25, 0.75]},
    ]
    first = picture.spec["axes"][0]
    assert (first["title"], first["xlabel"], first["ylabel"]) == ("Monthly", "month", "EUR")


def test_too_many_points_are_left_out_and_that_is_said(new_figure: type[Figure]) -> None:
    drawn = new_figure()
    drawn.subplots().plot(range(MAX_POINTS + 1))
    assert decoded(drawn).data == [{"type": "line", "name": "", "x": [], "y": [], "left_out": True}]


def test_a_figure_of_plotly_is_its_traces_with_arrays_as_lists() -> None:
    import plotly.express

    chart = plotly.express.bar(pd.DataFrame({"m": ["a", "b"], "v": [1.5, 2.0]}), x="m", y="v", title="T")
    picture = decoded(chart)
    assert (picture.kind, picture.png, picture.width) == ("plotly", b"", 0)
    assert [(trace["type"], trace["x"], trace["y"]) for trace in picture.data] == [("bar", ["a", "b"], [1.5, 2.0])]
    assert picture.spec["layout"]["title"]["text"] == "T"


def test_a_figure_of_altair_is_its_rows_however_many() -> None:
    import altair

    frame = pd.DataFrame({"m": ["a", "b"] * 3000, "v": [1.5, float("nan")] * 3000})
    picture = decoded(altair.Chart(frame).mark_bar().encode(x="m", y="v"))
    assert (picture.kind, len(picture.data), picture.data[:2]) == (
        "altair", 6000, [{"m": "a", "v": 1.5}, {"m": "b", "v": None}],
    )  # fmt: skip
    assert picture.spec["encoding"]["x"]["field"] == "m"


@each(
    ("kind", "spec"),
    [
        ("matplotlib", b"[]"),
        ("matplotlib", b'{"axes": [1]}'),
        ("plotly", b'{"data": 1}'),
        ("plotly", b'{"data": [1]}'),
        ("altair", b'{"datasets": []}'),
        ("altair", b"{"),
        ("html", b"{}"),
        ("plotly", b"[" * 1000 + b"]" * 1000),
    ],
)
def test_data_that_are_not_of_their_kind_are_refused(kind: str, spec: bytes, tmp_path: Path) -> None:
    with pytest.raises(Corrupt):
        receive(png(), tmp_path, spec=spec, kind=kind)


def test_an_svg_is_read_as_a_strangers(tmp_path: Path) -> None:
    hostile = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>'
    assert b"alert" not in receive(png(), tmp_path, svg=hostile).svg
    with pytest.raises(Corrupt):
        receive(png(), tmp_path, svg=b"<svg")
    with pytest.raises(Corrupt, match="announced"):
        header = {"type": "Figure", "kind": "plotly", "size": 2, "png": 0, "svg": -1, "spec": 3, "preview": 0}
        decode(header, memoryview(b"{}"), folder=tmp_path, trusted=False)
