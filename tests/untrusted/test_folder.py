"""A folder that is not trusted: only regular files inside of it are opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.untrusted import folder as module
from autocoder_jupyter.untrusted.folder import Folder, Refused
from tests.hostile_folder import HOSTILE


def test_a_file_is_on_disk_before_it_takes_its_name_and_the_name_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, rename = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def renamed(*args: Any, **options: Any) -> None:
        done.append("rename")
        rename(*args, **options)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    Folder(tmp_path).write("report.json", b"{}")
    assert done == ["file", "rename", "folder"]


def test_what_a_killed_process_left_of_a_file_is_removed_and_nothing_else(tmp_path: Path) -> None:
    left, young, other, linked = (
        tmp_path / f".{name}"
        for name in (
            "sent.json.0123456789abcdef",
            "sent.json.fedcba9876543210",
            "sent.json.mine",
            "sent.json.aaaaaaaaaaaaaaaa",
        )
    )
    for file in (left, young, other):
        file.write_text("x")
    linked.symlink_to(tmp_path)
    for file in (left, other):
        os.utime(file, (0, 0))
    Folder(tmp_path).write("sent.json", b"{}")
    assert not left.exists()
    assert young.exists() and other.exists() and linked.is_symlink()


@pytest.fixture(params=["relative to open folders", "by paths"])
def files(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Both implementations; the second is for systems that cannot open files relative to a folder."""
    monkeypatch.setattr(module, "_RELATIVE", request.param == "relative to open folders")
    return Folder(tmp_path / "root")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path / "start file"
    file.write_text("mine\n")
    return file


def test_what_was_written_is_read(files: Folder) -> None:
    files.write("a/b/text", "é".encode())
    files.write("a/b/text", "ö".encode())
    assert files.read_text("a/b/text") == "ö"
    assert files.names("a/b") == ["text"]  # nothing is left beside it
    assert files.exists("a/b/text") and not files.exists("a/b/other") and not files.exists("c/d")
    assert files.changed("a/b/text") == (files.root / "a/b/text").stat().st_mtime


def test_lines_are_put_at_the_end_after_one_that_was_cut_short(files: Folder) -> None:
    files.append("a/lines", b"one\n")
    with (files.root / "a/lines").open("a") as file:
        file.write("cut")
    files.append("a/lines", b"two\n")
    assert files.read_bytes("a/lines") == b"one\ncut\ntwo\n"


def test_what_is_written_has_the_rights_that_the_person_gives_new_files(files: Folder) -> None:
    before = os.umask(0o027)
    try:
        files.write("a/one", b"")
        files.append("a/two", b"")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((files.root / "a" / name).stat().st_mode) for name in ("one", "two", ".")] == [
        0o640, 0o640, 0o750,
    ]  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_plain_file_is_neither_read_nor_appended_to(files: Folder, outside: Path, kind: str) -> None:
    (files.root / "a").mkdir(parents=True)
    HOSTILE[kind](files.root / "a" / "file", outside)
    for act in (
        lambda: files.read_bytes("a/file"),
        lambda: list(files.lines("a/file", longest=10, total=10)),
        lambda: files.append("a/file", b"theirs\n"),
    ):
        with pytest.raises(Refused, match=r"it is (a link|not a regular file)"):
            act()
    assert outside.read_text() == "mine\n"
    assert not outside.with_name("not there yet").exists()


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_written_takes_the_place_of_a_link_and_leaves_its_target_alone(
    files: Folder, outside: Path, kind: str
) -> None:
    (files.root / "a").mkdir(parents=True)
    HOSTILE[kind](files.root / "a" / "file", outside)
    if kind == "a folder":
        with pytest.raises(OSError):
            files.write("a/file", b"new")
    else:
        files.write("a/file", b"new")
        assert (files.root / "a" / "file").read_bytes() == b"new" and not (files.root / "a" / "file").is_symlink()
    assert files.names("a") == ["file"]
    assert outside.read_text() == "mine\n"


@pytest.mark.parametrize("link", ["a", "a/b"])
def test_a_folder_on_the_way_that_is_a_link_is_not_entered(files: Folder, tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "b").mkdir(parents=True)
    (elsewhere / "file").write_text("mine")
    (elsewhere / "b" / "file").write_text("mine")
    (files.root / link).parent.mkdir(parents=True)
    (files.root / link).symlink_to(elsewhere)
    for act in (
        lambda: files.read_bytes("a/b/file"),
        lambda: files.append("a/b/file", b"theirs"),
        lambda: files.write("a/b/file", b"theirs"),
        lambda: files.write("a/b/c/file", b"theirs"),
        lambda: files.changed("a/b/file"),
    ):
        with pytest.raises(Refused, match="it is a link"):
            act()
    assert not files.exists("a/b/file") and files.names("a/b") == []
    assert {path.read_text() for path in elsewhere.rglob("file")} == {"mine"}
    assert not (elsewhere / "c").exists() and not (elsewhere / "b" / "c").exists()


def test_links_on_the_way_to_the_root_are_the_persons_own(files: Folder, tmp_path: Path) -> None:
    files.write("a", b"1")
    (tmp_path / "shortcut").symlink_to(files.root)
    assert Folder(tmp_path / "shortcut").read_bytes("a") == b"1"


def test_a_file_with_a_second_name_elsewhere_is_not_appended_to(files: Folder, outside: Path) -> None:
    files.root.mkdir()
    (files.root / "lines").hardlink_to(outside)
    with pytest.raises(Refused, match="second name"):
        files.append("lines", b"theirs\n")
    files.write("lines", b"ours\n")
    assert outside.read_text() == "mine\n" and files.read_bytes("lines") == b"ours\n"


@pytest.mark.parametrize("path", ["../file", "a/../../file", "", ".", "a//file", "/etc/passwd", "a/\0"])
def test_a_path_that_leads_outside_is_refused(files: Folder, path: str) -> None:
    files.write("a/file", b"")
    (files.root.parent / "file").write_text("mine")
    with pytest.raises(Refused, match="leads outside"):
        files.read_bytes(path)


def test_a_file_that_is_too_large_is_refused_unread(files: Folder) -> None:
    files.root.mkdir()
    with (files.root / "sparse").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(Refused, match="larger than 100 bytes"):
        files.read_bytes("sparse", limit=100)
    with pytest.raises(Refused, match="larger than"):
        files.read_bytes("sparse")


def test_long_lines_are_left_out_and_reading_ends_at_the_total(files: Folder) -> None:
    files.write("lines", b"one\n" + b"x" * 50 + b"\ntwo\n" + b"three\n" * 100)
    assert list(files.lines("lines", longest=10, total=65)) == [b"one\n", b"two\n", b"three\n"]
    with (files.root / "endless").open("wb") as file:
        file.truncate(2**40)
    assert list(files.lines("endless", longest=10, total=1000)) == []


def test_of_very_many_names_the_first_are_looked_at(files: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRIES", 3)
    for number in range(5):
        files.write(f"a/{number}", b"")
    assert len(files.names("a")) == 3


def opened() -> Iterator[str]:
    """The targets of the open descriptors of this process."""
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            yield str(entry.readlink())


def test_nothing_stays_open(files: Folder, outside: Path) -> None:
    files.append("a/b/c/file", b"")
    (files.root / "a" / "link").symlink_to(outside)
    for _ in range(3):
        files.append("a/b/c/file", b"")
        files.names("a/b")
        for refused in ("a/link", "a/b", "a/link/x"):
            with pytest.raises(Refused):
                files.read_bytes(refused)
    # Threads of other tests may open and close other files meanwhile.
    assert [file for file in opened() if file.startswith((str(files.root), str(outside)))] == []
