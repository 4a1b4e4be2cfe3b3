"""Encode a request: the program as JSON values, the arguments as entries and bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from autocoder_jupyter import codec
from autocoder_jupyter.errors import InvalidRequest, UnsupportedData
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.sandbox.worker import envelope
from autocoder_jupyter.sandbox.worker.entries import Packed


def enclosed(request: Sequence[Any], *, program: bytes, again: bool, keep: bool) -> list[Any]:
    """A request, in pieces, behind its envelope; see `worker.envelope`."""
    size = sum(memoryview(piece).nbytes for piece in request)
    return [envelope.pack(size, program, again=again, keep=keep), *request]


def describe(program: Program) -> dict[str, Any]:
    """The part of a request that says what to run."""
    return {
        "code": program.code,
        "function": program.function,
        "inputs": [spec.model_dump() for spec in program.inputs],
        "outputs": [spec.model_dump() for spec in program.outputs],
        "env": dict(program.env_vars),
    }


def digest(described: Mapping[str, Any]) -> bytes:
    """A hash of what `describe` returned: equal programs may share a child."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).digest()


def pack_arguments(program: Program, arguments: Mapping[str, Any]) -> Packed:
    """Encode the arguments of a request.

    Raises:
        InvalidRequest: an argument that is not declared, of another type, or missing.
        UnsupportedData: one that cannot cross unchanged.
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
        is_none = value is None and not spec.required and spec.default is None  # the only way to hand over nothing
        try:
            packed.add(spec.name, spec.type, None if is_none else codec.encode(value, spec.type))
        except codec.TypeMismatch as error:
            raise InvalidRequest(f"The input {spec.name!r} is declared {error.wanted}, got {error.got}.") from None
        except codec.Unencodable as error:
            what = f"The input {spec.name!r} cannot go into the sandbox as it is: {error.path} {error.reason}."
            raise UnsupportedData(what, hint=error.hint) from None
    return packed
