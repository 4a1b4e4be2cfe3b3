from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.trust import FolderTrust, Permission, agree, trust_in, withdraw
from autocoder_jupyter.trust.own_files import FILE_BYTES
from autocoder_jupyter.trust.permissions import record_path

ADDRESS = Permission("settings", "api_base", "https://one.example/v1", "all goes there")
KEY = Permission("settings", "api_key", "ONE_API_KEY", "it is sent")
PACKAGE = Permission("lock of growth", "package", "left-pad==1.0", "it is installed")


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration folder, empty."""
    place = tmp_path / "config"
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: place / name)
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that somebody else wrote."""
    place = tmp_path / "cloned"
    place.mkdir()
    return place


def test_nothing_is_agreed_to_at_first_and_nothing_needs_no_yes(folder: Path, config: Path) -> None:
    assert not trust_in(folder).covers([ADDRESS])
    assert trust_in(folder).covers([])
    assert not config.exists()  # looking writes nothing


def test_a_yes_holds_for_exactly_these_permissions_of_exactly_this_folder(folder: Path) -> None:
    agree(folder, [ADDRESS, KEY])
    assert trust_in(folder).covers([KEY, ADDRESS])
    assert not trust_in(folder).covers([KEY]), "a key without its address goes elsewhere"
    assert not trust_in(folder).covers([ADDRESS])
    assert not trust_in(folder).covers([ADDRESS, KEY, Permission("settings", "share", "rows", "")])
    assert not trust_in(folder.parent).covers([ADDRESS, KEY])


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(Permission("settings", "api_base", "https://two.example/v1", "all goes there"), id="value"),
        pytest.param(Permission("settings", "model", "https://one.example/v1", "all goes there"), id="name"),
        pytest.param(Permission("indexes", "api_base", "https://one.example/v1", "all goes there"), id="part"),
        pytest.param(Permission("settings", "api_base", "https://one.example/v1", "all goes there", "x"), id="hidden"),
    ],
)
def test_a_permission_that_changed_was_not_agreed_to(folder: Path, changed: Permission) -> None:
    agree(folder, [ADDRESS])
    assert not trust_in(folder).covers([changed])


def test_other_words_for_the_same_permission_withdraw_nothing(folder: Path) -> None:
    agree(folder, [ADDRESS])
    assert trust_in(folder).covers(
        [Permission("settings", "api_base", "https://one.example/v1", "said in another way")]
    )


def test_parts_are_agreed_to_one_by_one(folder: Path) -> None:
    agree(folder, [ADDRESS])
    agree(folder, [PACKAGE])
    assert trust_in(folder).covers([ADDRESS, PACKAGE])
    agree(folder, [KEY])
    assert trust_in(folder).covers([KEY, PACKAGE])
    assert not trust_in(folder).covers([ADDRESS])


def test_a_yes_can_be_withdrawn(folder: Path) -> None:
    assert not withdraw(folder)
    agree(folder, [ADDRESS])
    assert withdraw(folder)
    assert not trust_in(folder).covers([ADDRESS])


def test_a_link_to_a_folder_is_that_folder(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    agree(link, [ADDRESS])
    assert trust_in(folder).covers([ADDRESS])
    link.unlink()
    (folder.parent / "other").mkdir()
    link.symlink_to(folder.parent / "other")
    assert not trust_in(link).covers([ADDRESS]), "the name leads to another folder now"


def test_the_record_is_the_persons_alone_and_holds_no_value(folder: Path) -> None:
    agree(folder, [Permission("settings", "litellm_params", "api_key: not shown", "", hidden="sk-hidden")])
    assert stat.S_IMODE(record_path().stat().st_mode) == 0o600
    text = record_path().read_text()
    assert str(folder) in text
    assert "sk-hidden" not in text
    assert "sk-hidden" not in repr(Permission("a", "b", "c", "d", hidden="sk-hidden"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"format": 0, "folders": {}}',
        b'{"format": "2", "folders": {}}',
        b'{"format": 1, "folders": []}',
        b'{"format": 1, "folders": {"FOLDER": "yes"}}',
        b'{"format": 1, "folders": {"FOLDER": {"settings": true}}}',
        b"[" * 100_000,
        b" " * (FILE_BYTES + 1),
    ],
    ids=lambda content: repr(content[:40]),
)
def test_a_damaged_record_trusts_nobody_and_is_replaced_by_the_next_yes(folder: Path, content: bytes) -> None:
    record_path().parent.mkdir(parents=True)
    record_path().write_bytes(content.replace(b"FOLDER", str(folder).encode()))
    assert not trust_in(folder).covers([ADDRESS])
    assert not withdraw(folder) or b"FOLDER" in content
    agree(folder, [ADDRESS])
    assert trust_in(folder).covers([ADDRESS])


@pytest.mark.skipif(os.name == "nt", reason="modes are of POSIX")
def test_a_record_that_others_can_write_says_nothing(folder: Path) -> None:
    agree(folder, [ADDRESS])
    record_path().chmod(0o666)
    assert not trust_in(folder).covers([ADDRESS])
    record_path().chmod(0o600)
    assert trust_in(folder).covers([ADDRESS])


@pytest.mark.skipif(os.name == "nt", reason="a FIFO is of POSIX")
def test_a_record_that_is_no_file_says_nothing_and_is_not_waited_for(folder: Path) -> None:
    record_path().parent.mkdir(parents=True)
    os.mkfifo(record_path())
    assert not trust_in(folder).covers([ADDRESS])


def test_a_folder_that_brings_the_record_along_is_not_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(folder, [ADDRESS])
    brought = folder / ".config" / "autocoder-jupyter" / "trusted.json"
    brought.parent.mkdir(parents=True)
    brought.write_bytes(record_path().read_bytes())
    brought.chmod(0o600)
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: folder / ".config" / name)
    assert not trust_in(folder).covers([ADDRESS])
    with pytest.raises(InvalidRequest, match="cannot be trusted") as caught:
        agree(folder, [ADDRESS])
    assert "%config" in str(caught.value)


def test_a_record_that_cannot_be_written_is_said(folder: Path, config: Path) -> None:
    config.write_text("a file in the place of the folder")
    with pytest.raises(InvalidRequest, match="record of trusted folders cannot be written"):
        agree(folder, [ADDRESS])


def test_two_kernels_agree_at_once_and_both_are_kept(folder: Path, config: Path) -> None:
    program = (
        "import sys, pathlib, platformdirs\n"
        f"platformdirs.user_config_path = lambda name: pathlib.Path({str(config)!r}) / name\n"
        "from autocoder_jupyter.trust import Permission, agree\n"
        "for number in range(5):\n"
        f"    agree(pathlib.Path({str(folder)!r}), [Permission(f'{{sys.argv[1]}}{{number}}', 'n', 'v', '')])\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program, name]) for name in ("a", "b")]
    assert [process.wait(60) for process in both] == [0, 0]
    assert len(json.loads(record_path().read_text())["folders"][str(folder)]) == 10


def test_trust_is_data_that_can_be_made_without_a_file(folder: Path) -> None:
    assert FolderTrust(folder).covers([])
    assert not FolderTrust(folder).covers([ADDRESS])
