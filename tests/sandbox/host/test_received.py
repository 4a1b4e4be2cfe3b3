from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from autocoder_jupyter import codec
from autocoder_jupyter.sandbox.host.replies import receive


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def _bytes_of(path: Path) -> tuple[dict[str, object], memoryview]:
    path.write_text("content", "utf-8")
    encoded = codec.encode(path, "File")
    return dict(encoded.header), memoryview(b"".join(encoded.buffers))


def test_a_file_lies_in_a_folder_that_goes_with_it(tmp_path: Path, temporary: Path) -> None:
    value = receive(*_bytes_of(tmp_path / "a.txt"), trusted=False)
    assert (value.path.name, value.path.read_text("utf-8")) == ("a.txt", "content")
    assert value.path.is_relative_to(temporary)
    del value
    assert not list(temporary.glob("*/*"))


def test_a_refused_file_leaves_nothing(tmp_path: Path, temporary: Path) -> None:
    header, payload = _bytes_of(tmp_path / "a.txt")
    with pytest.raises(codec.Corrupt):
        receive({**header, "name": "../a.txt"}, payload, trusted=False)
    assert not list(temporary.glob("*/*"))
