"""What goes into a request: the program as JSON values, the arguments as entries and bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.data import codec
from autocoder_jupyter.errors import InvalidRequest, UnsupportedData
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.sandbox.worker.frames import padded


def describe(program: Program) -> dict[str, Any]:
    """The part of a request that says what to run; equal programs have equal digests and may share a child."""
    described = {
        "code": program.code,
        "function": program.function,
        "inputs": [spec.model_dump() for spec in program.inputs],
        "outputs": [spec.model_dump() for spec in program.outputs],
        "env": dict(program.env_vars),
    }
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
    return {**described, "program": digest}


def pack_arguments(program: Program, arguments: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[Any], int]:
    """The arguments as a request carries them: entries of the header, pieces of the payload, bytes of all pieces.

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
    entries: list[dict[str, Any]] = []
    pieces: list[Any] = []
    size = 0
    for spec in program.inputs:
        if spec.name not in arguments:
            if spec.required:
                raise InvalidRequest(f"{program.function}() needs the input {spec.name!r}.")
            continue
        value = arguments[spec.name]
        entry: dict[str, Any] = {"name": spec.name, "type": spec.type, "header": None, "size": 0}
        if value is None and not spec.required and spec.default is None:
            entries.append(entry)  # the only way in which nothing can be a value
            continue
        try:
            encoded = codec.encode(value, spec.type)
        except codec.TypeMismatch as error:
            raise InvalidRequest(f"The input {spec.name!r} is declared {error.wanted}, got {error.got}.") from None
        except codec.Unencodable as error:
            what = f"The input {spec.name!r} cannot go into the sandbox as it is: {error.path} {error.reason}."
            raise UnsupportedData(what, hint=error.hint) from None
        entry.update(header=encoded.header, size=encoded.size)
        entries.append(entry)
        pieces += [*encoded.buffers, bytes(padded(encoded.size) - encoded.size)]
        size += padded(encoded.size)
    return entries, pieces, size
