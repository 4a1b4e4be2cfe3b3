from __future__ import annotations

import os
from pathlib import Path

import pytest

from autocoder_jupyter.magics import doctor


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two environments of 1 MB that share it by a hard link."""
    for key in ("one", "two"):
        (tmp_path / "environments" / key).mkdir(parents=True)
        (tmp_path / "environments" / f"{key}.use").touch()
    module = tmp_path / "environments" / "one" / "module.py"
    module.write_bytes(b"x" * 1_000_000)
    os.link(module, tmp_path / "environments" / "two" / "module.py")
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_cache_is_told_with_its_place_its_size_and_what_becomes_of_it(cache: Path) -> None:
    rows = list(doctor._caches())
    assert rows[0] == ("cache", "1.0 MB", str(cache))
    assert rows[1][:2] == ("  environments", "2") and "30 days" in rows[1][2]


def test_a_cache_that_is_not_there_yet_is_empty(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(cache / "nowhere"))
    assert [row[1] for row in doctor._caches()] == ["0.0 MB", "0", "0.0 MB"]


def test_a_folder_that_takes_too_long_to_count_gives_what_was_counted(cache: Path) -> None:
    for number in range(50):
        folder = cache / "zzz" / str(number)
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"x")
    (cache / "first").write_bytes(b"x" * 2_000_000)
    assert doctor._size(cache, seconds=0.0) == "more than 2.0 MB"
