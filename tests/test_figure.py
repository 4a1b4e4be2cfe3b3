from __future__ import annotations

import os
from pathlib import Path

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.folder import Folder
from autocoder_jupyter.types import Figure

PICTURE = Figure(b"\x89PNG\r\n", 640, 480)


def test_it_shows_as_a_picture() -> None:
    assert PICTURE._repr_png_() == PICTURE.png and repr(PICTURE) == "<Figure 640x480 png>"


@pytest.mark.parametrize(("name", "written"), [("a.png", "a.png"), ("a.PNG", "a.PNG"), ("a", "a.png")])
def test_it_is_saved_as_png(tmp_path: Path, name: str, written: str) -> None:
    assert PICTURE.save(tmp_path / name) == tmp_path / written
    assert (tmp_path / written).read_bytes() == PICTURE.png


def test_another_format_is_refused_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"saved as PNG, not as \.pdf") as refused:
        PICTURE.save(tmp_path / "chart.pdf")
    assert "chart.png" in refused.value.hint and refused.value.why
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot be written") as refused:
        PICTURE.save(tmp_path / "gone" / "a.png")
    assert refused.value.why == f"There is no folder {tmp_path / 'gone'}." and "Make the folder" in refused.value.hint
    with pytest.raises(InvalidRequest, match="is a folder") as refused:
        PICTURE.save(tmp_path)
    assert "figure.png" in refused.value.hint


def test_a_read_only_place_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(Folder, "write", refuse)
    with pytest.raises(InvalidRequest) as refused:
        PICTURE.save(tmp_path / "a.png")
    assert refused.value.why == "Permission denied." and "may write" in refused.value.hint


def test_it_takes_the_place_of_a_link_and_leaves_what_the_link_points_at(tmp_path: Path) -> None:
    (tmp_path / "start file").write_text("mine")
    (tmp_path / "chart.png").symlink_to(tmp_path / "start file")
    PICTURE.save(tmp_path / "chart.png")
    assert (tmp_path / "start file").read_text() == "mine"
    assert (tmp_path / "chart.png").read_bytes() == PICTURE.png
