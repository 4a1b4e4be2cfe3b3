"""Encode a request: the program as JSON values, the arguments as entries and bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from autocoder_jupyter import codec
from autocoder_jupyter.errors import InvalidRequest, UnsupportedData
from autocoder_jupyter.sandbox.host import turns
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.sandbox.worker import envelope
from autocoder_jupyter.sandbox.worker.entries import Packed


def envelope_of(request: Sequence[Any], *, program: bytes, again: bool, keep: bool) -> bytes:
    """The envelope of the pieces of a request; see `worker.envelope`."""
    size = sum(memoryview(piece).nbytes for piece in request)
    return envelope.pack(size, program, again=again, keep=keep)


def describe(program: Program) -> dict[str, Any]:
    """The part of a request that describes the program, as JSON values."""
    return {
        "code": program.code,
        "function": program.function,
        "inputs": [spec.model_dump() for spec in program.inputs],
        "outputs": [spec.model_dump() for spec in program.outputs],
        "env": dict(program.env_vars),
    }


def digest(described: Mapping[str, Any]) -> bytes:
    """A hash (32 bytes) of the result of `describe`. Calls of equal programs may share a child process."""
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
            with turns.to_encode(value):
                encoded = None if is_none else codec.encode(value, spec.type)
            packed.add(spec.name, spec.type, encoded)
        except codec.TypeMismatch as error:
            raise InvalidRequest(f"The input {spec.name!r} is declared {error.wanted}, got {error.got}.") from None
        except codec.Unencodable as error:
            what = f"The input {spec.name!r} cannot go into the sandbox as it is: {error.path} {error.reason}."
            raise UnsupportedData(what, hint=error.hint) from None
    return packed
