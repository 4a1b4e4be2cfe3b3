"""Files and folders: bytes and names are transferred, links to other places are not."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autocoder_jupyter.codec import Corrupt, TypeMismatch, Unencodable, decode, encode, files
from tests.cases import each


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "a.txt").write_bytes(b"a\r\n")
    (root / "sub" / "b ü.bin").write_bytes(bytes(range(256)) * 100)
    (root / "sub" / "deep" / "nothing").write_bytes(b"")
    return root


def listing(root: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(root)): p.read_bytes() if p.is_file() else None for p in sorted(root.rglob("*"))}


def test_a_file_keeps_its_bytes_and_its_name(tree: Path, cross: Callable[..., Any], trusted: bool) -> None:
    back = cross(tree / "sub" / "b ü.bin", "File", trusted=trusted)
    assert back.name == "b ü.bin"
    assert back.read_bytes() == (tree / "sub" / "b ü.bin").read_bytes()


def test_a_folder_keeps_all_that_is_in_it(tree: Path, cross: Callable[..., Any], trusted: bool) -> None:
    back = cross(tree, "Dir", trusted=trusted)
    assert back.name == "tree"
    assert listing(back) == listing(tree)


def test_an_empty_folder_crosses(tmp_path: Path, cross: Callable[..., Any]) -> None:
    (tmp_path / "void").mkdir()
    assert listing(cross(tmp_path / "void", "Dir")) == {}


def test_a_path_may_be_text_or_any_path_like(tree: Path, cross: Callable[..., Any]) -> None:
    assert cross(str(tree / "a.txt"), "File").read_bytes() == b"a\r\n"


def test_what_is_written_is_wrapped_as_asked(tree: Path, tmp_path: Path) -> None:
    encoded = encode(tree / "a.txt", "File")
    payload = memoryview(b"".join(encoded.buffers))
    wrapped = decode(encoded.header, payload, folder=tmp_path / "x", wrap_path=lambda *made: made, trusted=False)
    assert wrapped[0] == "File"
    assert wrapped[1].read_bytes() == b"a\r\n"


def test_two_files_of_one_name_do_not_meet(tree: Path, cross: Callable[..., Any]) -> None:
    one = cross(tree / "a.txt", "File")
    (tree / "a.txt").write_bytes(b"other")
    other = cross(tree / "a.txt", "File")
    assert (one.read_bytes(), other.read_bytes()) == (b"a\r\n", b"other")


def test_equal_folders_have_equal_digests_and_others_do_not(tree: Path) -> None:
    before = encode(tree, "Dir").digest()
    assert encode(tree, "Dir").digest() == before
    (tree / "a.txt").rename(tree / "c.txt")
    renamed = encode(tree, "Dir").digest()
    (tree / "c.txt").write_bytes(b"b\r\n")
    assert len({before, renamed, encode(tree, "Dir").digest()}) == 3


def test_received_files_are_private_and_not_executable(tree: Path, cross: Callable[..., Any]) -> None:
    (tree / "a.txt").chmod(0o4777)
    assert cross(tree / "a.txt", "File").stat().st_mode & 0o7777 == 0o600


def test_a_link_is_not_followed(tree: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    (tree / "link").symlink_to(secret)
    with pytest.raises(Unencodable, match="link"):
        encode(tree / "link", "File")
    with pytest.raises(Unencodable, match="link"):
        encode(tree, "Dir")


def test_a_link_to_a_folder_is_not_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tree)
    with pytest.raises(TypeMismatch):
        encode(tmp_path / "alias", "Dir")
    (tree / "loop").symlink_to(tree)
    with pytest.raises(Unencodable, match="loop"):
        encode(tree, "Dir")


@pytest.mark.timeout(20)
def test_a_fifo_is_refused_without_waiting_for_it(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    with pytest.raises(Unencodable, match="regular"):
        encode(tree / "pipe", "File")
    with pytest.raises(Unencodable, match="regular"):
        encode(tree, "Dir")


@each("value", [None, 3, b"bytes", "/does/not/exist"])
def test_what_is_no_path_to_something_is_a_mismatch(value: object) -> None:
    for type_name in ("File", "Dir"):
        with pytest.raises((TypeMismatch, Unencodable)):
            encode(value, type_name)


def test_a_folder_is_no_file_and_a_file_no_folder(tree: Path) -> None:
    with pytest.raises(Unencodable, match="regular"):
        encode(tree, "File")
    with pytest.raises(TypeMismatch):
        encode(tree / "a.txt", "Dir")


def test_a_name_that_is_not_unicode_is_refused(tree: Path) -> None:
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff")).write_bytes(b"")
    with pytest.raises(Unencodable, match="Unicode"):
        encode(tree, "Dir")


NAMES = ["", ".", "..", "/etc/passwd", "a/b", "../x", "a\\b", "a\0b", "x" * 300, 7, None, ["a"], "\ud800"]


@each("name", ["C:pandas.py", "D:", "report.txt:hidden", "a*", "NUL?"])
def test_a_name_that_leads_elsewhere_on_windows_is_refused_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = {"type": "Dir", "size": 1, "name": "d", "folders": [], "files": [[1, name]]}
    assert [path.name for path in decode(header, memoryview(b"x"), folder=tmp_path, trusted=False).iterdir()] == [name]
    monkeypatch.setattr(files, "os", SimpleNamespace(**{**vars(os), "name": "nt"}))
    with pytest.raises(Corrupt, match="not the name of a file"):
        decode(header, memoryview(b"x"), folder=tmp_path, trusted=False)


@each("name", NAMES, ids=repr)
def test_a_name_that_leads_elsewhere_is_refused(name: object, tmp_path: Path) -> None:
    hostile = [
        {"type": "File", "size": 1, "name": name, "folders": [], "files": [[1]]},
        {"type": "Dir", "size": 1, "name": name, "folders": [], "files": [[1, "a"]]},
        {"type": "Dir", "size": 1, "name": "d", "folders": [], "files": [[1, name]]},
        {"type": "Dir", "size": 1, "name": "d", "folders": [[name]], "files": [[1, "a"]]},
        {"type": "Dir", "size": 1, "name": "d", "folders": [["a"]], "files": [[1, "a", name]]},
    ]
    for header in hostile:
        with pytest.raises(Corrupt):
            decode(header, memoryview(b"x"), folder=tmp_path / "in", trusted=False)
    assert not (tmp_path / "in").exists()


@each(
    ("folders", "files"),
    [
        ([], [[1, "a"], [0, "a"]]),
        ([["a"]], [[1, "a"]]),
        ([["a"], ["a"]], [[1, "b"]]),
        ([], [[1, "a"], [0, "a", "b"]]),
        ([], [[2, "a"]]),
        ([], [[-1, "a"], [2, "b"]]),
        ([], [[0, "a"]]),
        ([], [["1", "a"]]),
        ([], [[True, "a"]]),
        ([["a", "b"]], [[1, "c"]]),
        ([[]], [[1, "c"]]),
        ([], [[1]]),
        ([["d"] * n for n in range(1, 70)], [[1, "c"]]),
        ([], [[1, "c"], *([0, f"{n}"] for n in range(100_001))]),
        ("ab", [[1, "c"]]),
        (None, None),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused_before_anything_is_written(
    folders: Any, files: object, tmp_path: Path
) -> None:
    header = {"type": "Dir", "size": 1, "name": "d", "folders": folders, "files": files}
    with pytest.raises(Corrupt):
        decode(header, memoryview(b"x"), folder=tmp_path / "in", trusted=False)
    assert not (tmp_path / "in").exists()


def test_a_place_that_cannot_be_written_is_not_blamed_on_the_sender(tree: Path, tmp_path: Path) -> None:
    encoded = encode(tree / "a.txt", "File")
    (tmp_path / "occupied").write_text("a file where the folder should be")
    with pytest.raises(OSError) as fault:
        decode(encoded.header, memoryview(b"a\r\n"), folder=tmp_path / "occupied", trusted=False)
    assert fault.value.errno in (errno.EEXIST, errno.ENOTDIR)
