"""The files that are taken from a command's folder, which can contain more than a sandbox allows to be made."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from autocoder_jupyter.sandbox.worker.commands import CollectedFiles


def collected(folder: Path) -> CollectedFiles:
    found = CollectedFiles()
    place = os.open(folder, os.O_RDONLY)
    try:
        found.collect(place)
    finally:
        os.close(place)
    return found


def test_pipes_sockets_devices_and_links_are_neither_waited_for_nor_taken(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "folder").symlink_to("/etc")
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(tmp_path)  # the path of a socket is short
    try:
        listener.bind("socket")
    finally:
        os.chdir(here)
        listener.close()
    found = collected(tmp_path)
    assert found.files == {"plain.txt": b"x"}
    assert {entry["path"]: entry["reason"] for entry in found.left_out} == {
        "pipe": "a named pipe",
        "device": "a link",
        "folder": "a link",
        "socket": "a socket",
    }


def test_what_is_larger_than_a_workspace_is_left_out(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}").write_bytes(bytes(900_000))
    found = collected(tmp_path)
    assert list(found.files) == ["0", "1", "2", "3"]
    assert [entry["reason"] for entry in found.left_out] == ["more than 4 MiB in all"] * 2
