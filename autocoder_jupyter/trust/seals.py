"""Seals of records: an HMAC with a key of the user, so that a record that somebody else wrote or changed is noticed.

The key is a small file in the user's configuration, which only that user can read. If there can be no such file, a key
in memory is used, and the seals are valid in this process only.
"""

from __future__ import annotations

import contextlib
import functools
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autocoder_jupyter.trust.own_files import is_ones_own, own_folder, write_own
from autocoder_jupyter.untrusted.visible import visible

KEY_BYTES = 32

WAIT_SECONDS = 2.0
"""How long to wait for another process that creates the key."""

_EMPTY = "0" * 64
"""In the place of the seal, while it is computed."""

_SEAL = re.compile(rb'\{\s{0,8}"seal": "([0-9a-f]{64})"')


class NoKey(Exception):
    """There is no key that can be used; the text says why."""


def key_path() -> Path:
    """The path of the key; the file may not exist."""
    return own_folder() / "seal.key"


def sealed(record: Mapping[str, Any], *place: str, indent: int | None = None) -> str:
    """A record as JSON, with its seal as the first field `seal`."""
    text = json.dumps({"seal": _EMPTY, **record}, ensure_ascii=False, indent=indent)
    try:
        key = _key_to_seal()
    except NoKey:
        key = _key_of_this_process()
    return text.replace(_EMPTY, _seal(key, text.encode("utf-8", "surrogatepass"), place), 1)


def is_sealed(content: bytes, *place: str) -> bool:
    """Whether the content is what `sealed` returned to this user for this place, with or without a final newline."""
    content = content.removesuffix(b"\n")
    found = _SEAL.match(content)
    if found is None:
        return False
    keys = [_key_of_this_process()]
    with contextlib.suppress(NoKey, OSError):
        keys.append(_read_key())
    plain = content[: found.start(1)] + _EMPTY.encode() + content[found.end(1) :]
    return any(hmac.compare_digest(_seal(key, plain, place).encode(), found[1]) for key in keys)


def key_problem() -> str:
    """Why seals are valid in this process only, with what to do next; "" if they stay valid."""
    try:
        _key_to_seal()
    except NoKey as problem:
        return str(problem)
    return ""


def _seal(key: bytes, content: bytes, place: tuple[str, ...]) -> str:
    seal = hmac.new(key, json.dumps(place).encode() + b"\0", "sha256")
    seal.update(content)
    return seal.hexdigest()


def _key_to_seal() -> bytes:
    """The user's key, which is created if it does not exist. A lock makes sure that two processes create one."""
    from filelock import FileLock

    path = key_path()
    try:
        with contextlib.suppress(FileNotFoundError):
            return _read_key()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=WAIT_SECONDS):
            with contextlib.suppress(FileNotFoundError):
                return _read_key()
            write_own(path, secrets.token_bytes(KEY_BYTES))
            return _read_key()
    except (OSError, NotImplementedError) as error:
        raise NoKey(
            f"{visible(path)} cannot be read or written ({getattr(error, 'strerror', None) or error}). "
            "Become the owner of the file and its folder, or set XDG_CONFIG_HOME to another folder."
        ) from None


def _read_key() -> bytes:
    path = key_path()
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        if path.is_symlink():
            raise _unusable("is a link")
        descriptor = os.open(path, flags)
    except NotADirectoryError:
        raise FileNotFoundError from None
    try:
        status = os.fstat(descriptor)
        if not is_ones_own(status, stat.S_IRWXG | stat.S_IRWXO):
            raise _unusable("is not a file that only you can read and write")
        if status.st_nlink != 1:
            raise _unusable("has a second name elsewhere (a hard link)")
        key = os.read(descriptor, KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(key) != KEY_BYTES:
        raise _unusable("is damaged")
    return key


def _unusable(why: str) -> NoKey:
    return NoKey(f"{visible(key_path())} {why}. Remove it, and a new key is created.")


@functools.cache
def _key_of_this_process() -> bytes:
    return secrets.token_bytes(KEY_BYTES)
