"""Encode a request, and find the arguments that the function changed in place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from autocoder_jupyter import codec
from autocoder_jupyter.errors import InvalidRequest, UnsupportedData
from autocoder_jupyter.sandbox.host import replies
from autocoder_jupyter.sandbox.host.replies import refused
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.sandbox.worker import frames
from autocoder_jupyter.sandbox.worker.entries import OutOfBounds, Packed, unpacked


def envelope_of(
    request: Sequence[Any], *, program: bytes, again: bool, keep: bool, processor_seconds: float | None
) -> bytes:
    """The envelope of the pieces of a request; see `worker.frames`."""
    size = sum(memoryview(piece).nbytes for piece in request)
    return frames.pack_envelope(size, program, again=again, keep=keep, processor_seconds=processor_seconds)


def program_json(program: Program) -> dict[str, Any]:
    """The part of a request that describes the program, as JSON values."""
    return {
        "code": program.code,
        "function": program.function,
        "inputs": [spec.model_dump() for spec in program.inputs],
        "outputs": [spec.model_dump() for spec in program.outputs],
        "env": dict(program.env_vars),
        "modules": program.helpers.modules(),
    }


def program_digest(described: Mapping[str, Any]) -> bytes:
    """A hash (32 bytes) of the result of `program_json`. Calls of equal programs may share a child process."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).digest()


def pack_arguments(program: Program, arguments: Mapping[str, Any]) -> Packed:
    """Encode the arguments of a request.

    Raises:
        InvalidRequest: an argument is not declared, has another type, or is missing.
        UnsupportedData: an argument cannot cross the border unchanged.
    """
    declared = {spec.name: spec for spec in program.inputs}
    for name in arguments:
        if name not in declared:
            raise InvalidRequest(
                f"{program.function}() has no input {name!r}.", hint=f"It takes {', '.join(declared) or 'nothing'}."
            )
    packed = Packed()
    for spec in program.inputs:
        if spec.name not in arguments:
            if spec.required:
                raise InvalidRequest(f"{program.function}() needs the input {spec.name!r}.")
            continue
        value = arguments[spec.name]
        is_none = value is None and not spec.required and spec.default is None  # the only input that may be None
        try:
            with replies.encoding_turn(value):
                encoded = None if is_none else codec.encode(value, spec.type)
            packed.add(spec.name, spec.type, encoded)
        except codec.TypeMismatch as error:
            raise InvalidRequest(f"The input {spec.name!r} is declared {error.wanted}, got {error.got}.") from None
        except codec.Unencodable as error:
            what = f"The input {spec.name!r} cannot go into the sandbox as it is: {error.path} {error.reason}."
            raise UnsupportedData(what, hint=error.hint) from None
    return packed


# Changed arguments
#
# The arguments that were sent are compared with those after the call. The comparison runs on the host, but the returned
# bytes come from the program. So a hostile function can hide a change. This does no harm, because every call works on a
# copy of the arguments. What seems changed is compared again with what an idle program returns from the same worker,
# whose pandas may have other dtypes than that of the notebook.


def changed_arguments(
    sent: Packed, header: Mapping[str, Any], payload: memoryview, among: Collection[str] | None = None
) -> tuple[str, ...]:
    """The names of the changed arguments, of those with these names or of all."""
    entries = header.get("arguments")
    names = [entry["name"] for entry in sent.entries]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise refused("arguments that are no list")
    if [entry.get("name") for entry in entries] != names:
        raise refused("other arguments than were sent")
    before = _parts(sent.entries, memoryview(b"".join(sent.pieces)))
    after = _parts(entries, payload)
    return tuple(
        name
        for name, one, other in zip(names, before, after, strict=True)
        if (among is None or name in among) and not _same(one, other)
    )


_Part = tuple[Mapping[str, Any] | None, memoryview]


def _parts(entries: Sequence[Mapping[str, Any]], payload: memoryview) -> list[_Part]:
    try:
        found = [(entry.get("header"), part) for entry, part in unpacked(entries, payload)]
    except OutOfBounds as error:
        raise refused(f"argument {error} reaches beyond its payload") from None
    return [(header if isinstance(header, dict) else None, part) for header, part in found]


def _same(one: _Part, other: _Part) -> bool:
    if one[0] is None or other[0] is None:
        return one[0] is other[0]
    if one[0] == other[0] and pa.py_buffer(one[1]).equals(pa.py_buffer(other[1])):
        return True
    if one[0]["type"] not in ("DataFrame", "Series") or other[0].get("type") != one[0]["type"]:
        return False
    return _content_digest(*one) == _content_digest(*other)  # equal values can have different bytes


def _content_digest(header: Mapping[str, Any] | None, part: memoryview) -> str:
    assert header is not None
    private = memoryview(bytearray(part))  # a copy, because the decoded value may be a view of it
    try:
        return codec.encode(codec.decode(header, private, folder=Path(), trusted=False), header["type"]).digest()
    except (codec.Corrupt, codec.TypeMismatch, codec.Unencodable) as error:
        raise refused(f"an argument: {error}") from None
