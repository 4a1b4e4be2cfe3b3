"""Seals: what they prove, and keys that must not be used."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autocoder_jupyter.trust import seals
from autocoder_jupyter.trust.seals import KEY_BYTES, is_sealed, key_path, key_problem, sealed

RECORD = {"code": "x = 1", "texts": ['"seal": "', "0" * 64, "é"], "deep": {"number": 1.5}}


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration folder, empty."""
    place = tmp_path / "config"
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: place / name)
    return place


def another_process() -> None:
    """Forget the key of this process."""
    seals._key_of_this_process.cache_clear()


def made(indent: int | None = None) -> bytes:
    return sealed(RECORD, "growth", "v1", indent=indent).encode()


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_a_sealed_record_is_the_same_json_with_a_seal(indent: int | None) -> None:
    content = made(indent)
    seal = json.loads(content).pop("seal")
    assert json.loads(content) == {"seal": seal, **RECORD}
    assert is_sealed(content, "growth", "v1") and is_sealed(content + b"\n", "growth", "v1")
    assert made(indent) == content


def test_any_change_breaks_the_seal() -> None:
    content = made()
    for position, byte in enumerate(content):
        changed = content[:position] + bytes([byte ^ 1]) + content[position + 1 :]
        assert not is_sealed(changed, "growth", "v1"), position
    for changed in (b"", b"{}", content + b" ", content + b"\n\n", b" " + content, content[:-1]):
        assert not is_sealed(changed, "growth", "v1")


def test_a_seal_is_valid_for_one_place_only() -> None:
    content = made()
    for place in (("other", "v1"), ("growth", "v2"), ("growth",), ("growthv1",), ("growth", "v1", "")):
        assert not is_sealed(content, *place)


def test_the_seal_of_another_user_is_not_valid(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = made()
    another_process()
    assert is_sealed(content, "growth", "v1")
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: config.parent / "theirs" / name)
    assert not is_sealed(content, "growth", "v1")
    assert not key_path().exists()  # looking writes nothing


def test_the_key_can_be_read_by_its_user_only(config: Path) -> None:
    previous = os.umask(0)
    try:
        made()
    finally:
        os.umask(previous)
    assert stat.S_IMODE(key_path().stat().st_mode) == 0o600 and key_path().stat().st_size == KEY_BYTES
    assert stat.S_IMODE(key_path().parent.stat().st_mode) == 0o700
    assert key_problem() == ""


def readable_by_others() -> None:
    key_path().chmod(0o640)


def writable_by_others() -> None:
    key_path().chmod(0o602)


def damaged() -> None:
    key_path().write_bytes(key_path().read_bytes()[:-1])


def too_long() -> None:
    key_path().write_bytes(key_path().read_bytes() * 1000)


def a_link() -> None:
    key_path().rename(key_path().with_name("elsewhere"))
    key_path().symlink_to("elsewhere")


def a_link_to_nothing() -> None:
    key_path().unlink()
    key_path().symlink_to("elsewhere")


def a_hard_link() -> None:
    key_path().with_name("elsewhere").hardlink_to(key_path())


def a_fifo() -> None:
    key_path().unlink()
    os.mkfifo(key_path(), 0o600)


def a_folder() -> None:
    key_path().unlink()
    key_path().mkdir(0o700)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (readable_by_others, "only you can read and write"),
        (writable_by_others, "only you can read and write"),
        (damaged, "is damaged"),
        (too_long, "is damaged"),
        (a_link, "is a link"),
        (a_link_to_nothing, "is a link"),
        (a_hard_link, "has a second name elsewhere"),
        (a_fifo, "only you can read and write"),
        (a_folder, "only you can read and write"),
    ],
)
def test_a_key_that_others_may_know_seals_nothing_and_is_not_replaced(spoil: Callable[[], None], why: str) -> None:
    before = made()
    spoil()
    status = key_path().lstat()
    assert not is_sealed(before, "growth", "v1")
    assert why in key_problem() and "Remove it, and a new key is created." in key_problem()
    now = made()
    assert is_sealed(now, "growth", "v1")  # what this process gathered itself
    another_process()
    assert not is_sealed(now, "growth", "v1")
    after = key_path().lstat()
    assert (after.st_ino, after.st_size, after.st_mode) == (status.st_ino, status.st_size, status.st_mode)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_another_user_seals_nothing() -> None:
    before = made()
    os.chown(key_path(), 12345, 12345)
    assert not is_sealed(before, "growth", "v1") and "only you" in key_problem()


def test_without_a_key_seals_are_valid_until_the_process_ends(config: Path) -> None:
    config.write_text("A file, so no folder can be created here.")
    content = made()
    assert is_sealed(content, "growth", "v1")
    assert "cannot be read or written" in key_problem() and "XDG_CONFIG_HOME" in key_problem()
    another_process()
    assert not is_sealed(content, "growth", "v1")


def test_a_key_that_is_removed_makes_a_new_one_and_ends_earlier_seals() -> None:
    before = made()
    key_path().unlink()
    now = made()
    assert is_sealed(now, "growth", "v1") and not is_sealed(before, "growth", "v1")


def test_two_processes_that_create_the_key_at_once_have_the_same(config: Path) -> None:
    program = (
        "import sys, pathlib, platformdirs\n"
        f"platformdirs.user_config_path = lambda name: pathlib.Path({str(config)!r}) / name\n"
        "from autocoder_jupyter.trust.seals import sealed\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "print(sealed({'a': 1}, 'growth'))\n"
    )
    command = [sys.executable, "-c", program]
    pipe = subprocess.PIPE
    both = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    for process in both:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    texts = [process.communicate(timeout=60)[0].strip() for process in both]
    assert texts[0] == texts[1] and is_sealed(texts[0].encode(), "growth")
    assert sorted(path.name for path in config.rglob("*") if path.is_file()) == ["seal.key", "seal.key.lock"]
