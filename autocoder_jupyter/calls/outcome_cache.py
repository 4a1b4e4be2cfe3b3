"""A cache of outcomes on disk. The key is the content: code, environment, variables and the bytes of the inputs.

The key has no names and paths, so two frames with the same name never share an outcome, and one frame with two names
does. The size is limited; the least recently used outcomes are removed first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import Figure, OutputSpec
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.version import VERSION

if TYPE_CHECKING:
    from autocoder_jupyter.codec import Encoded

MAX_OUTCOMES = 50_000
"""A map of thousands of items keeps the outcome of each. One of more items cannot be resumed."""

MAX_BYTES = 2**30

_FEW = 64
"""With more outcomes, the sizes of all are not looked at after each new one, but after an eighth as many."""

_left: dict[Path, tuple[int, int]] = {}
"""How many outcomes and bytes this process may still store in a folder before it looks at the sizes of all."""


def key(function: Function, program: Program, arguments: Mapping[str, Any]) -> str | None:
    """The key of a call: a hash of everything that its outcome depends on, including versions of packages.

    None if an argument cannot be encoded, or if the versions are unknown.
    """
    from autocoder_jupyter.codec import encode

    types = {spec.name: spec.type for spec in function.inputs}
    try:
        digests = {name: encode(value, types[name]).digest() for name, value in sorted(arguments.items())}
    except ValueError:
        return None
    version = version_of(function, program)
    return version and hashlib.sha256(json.dumps([version, digests], sort_keys=True).encode()).hexdigest()


def version_of(function: Function, program: Program) -> str | None:
    """A hash of everything that outcomes depend on besides the arguments. None if versions of packages are unknown."""
    environment = function.environment
    if not environment.lock:
        return None  # versions are resolved again each time, so the cache cannot know which ones computed an outcome
    parts = [
        VERSION,  # our code encodes and decodes the values
        function.sandbox,
        program.code,
        program.function,
        [spec.model_dump(mode="json") for spec in program.outputs],
        [list(environment.python_version), sorted(environment.lock), sorted(environment.system_packages)],
        sorted(program.env_vars.items()),
        *([program.helpers.modules()] if program.helpers else []),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def find(key: str | None, outputs: Sequence[OutputSpec]) -> dict[str, Any] | None:
    """The stored outcome, decoded; None if there is none or it cannot be read."""
    from autocoder_jupyter.sandbox.host.replies import receive

    if key is None:
        return None
    folder = _home() / key
    files = Folder(folder)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        headers = parse(files.read_bytes("headers.json"))
        values = {}
        for number, output in enumerate(outputs):
            payload = memoryview(files.read_bytes(f"{number}.bin", MAX_BYTES))
            values[output.name] = receive(headers[number], payload, trusted=True)
        os.utime(folder)
        return values
    return None


def store(key: str | None, outputs: Sequence[OutputSpec], values: Mapping[str, Any]) -> None:
    """Store an outcome. A failure to store it does not fail the call."""
    if key is None:
        return
    home = _home()
    with contextlib.suppress(OSError, ValueError):
        encoded = [_encoded(values[output.name], output.type) for output in outputs]
        home.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=".staged-", dir=home))
        size = 0
        for number, one in enumerate(encoded):
            with (staged / f"{number}.bin").open("wb") as file:
                file.writelines(one.buffers)
                size += file.tell()
        (staged / "headers.json").write_text(json.dumps([one.header for one in encoded]), encoding="utf-8")
        shutil.rmtree(home / key, ignore_errors=True)
        staged.replace(home / key)
        outcomes, bytes_ = _left.get(home, (0, 0))
        outcomes, bytes_ = outcomes - 1, bytes_ - size
        if outcomes <= 0 or bytes_ <= 0:
            kept, used = _prune(home)
            outcomes = 1 if kept <= _FEW else kept // 8
            bytes_ = max(MAX_BYTES - used, MAX_BYTES // 16)
        _left[home] = outcomes, bytes_


def extent() -> tuple[int, int]:
    """The number of stored outcomes, and their size in bytes."""
    found = [folder for folder in _home().glob("*") if folder.is_dir()]
    return len(found), sum(path.stat().st_size for folder in found for path in folder.iterdir())


def clear() -> int:
    """Remove all outcomes. Returns the number of freed bytes."""
    _, size = extent()
    shutil.rmtree(_home(), ignore_errors=True)
    return size


def _encoded(value: Any, type_name: str) -> Encoded:
    from autocoder_jupyter.codec import encode, encoded_parts, write_parts

    if isinstance(value, Figure):  # a figure is already rendered
        return encoded_parts(value.kind, value.png, value.svg, json.dumps(value.spec).encode(), value.preview)
    parts = write_parts(value, _encoded) if isinstance(value, list | dict) else None
    return parts or encode(value, type_name)


def _home() -> Path:
    from autocoder_jupyter.concurrency.cache_folder import cache_folder

    return cache_folder() / "outcomes"


def _prune(home: Path) -> tuple[int, int]:
    """Remove the oldest outcomes, so that the limits hold. Returns the number and the bytes of those that stay."""
    newest_first = sorted(home.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    count = used = 0
    for folder in newest_first:
        size = sum(path.stat().st_size for path in folder.iterdir())
        if count >= MAX_OUTCOMES or used + size > MAX_BYTES:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            count, used = count + 1, used + size
    return count, used
