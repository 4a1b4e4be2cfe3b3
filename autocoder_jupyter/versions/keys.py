"""Keys of requests: hashes of the request, with its interface and its demands, and of the schema of its samples.

Who wrote it and with which settings (model, parameters, sharing level, machine) is not part of a key.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import pandas as pd

from autocoder_jupyter.data.drift import shape_of
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import File, InputSpec
from autocoder_jupyter.versions.request_fields import key_parts

_SUFFIX = re.compile(r"\.\w{1,8}")


def content_key(*parts: object) -> str:
    """A short hash of parts that JSON supports. Equal parts have equal keys on every machine."""
    canonical = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class RequestKey:
    """The key of a request, with its parts.

    Args:
        asked: hash of the request, without any setting.
        schemas: the schema of each sample without its rows: columns, dtypes and index of a table, the kind of a file.
    """

    asked: str
    schemas: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, request: Request, inputs: Sequence[InputSpec]) -> RequestKey:
        """The key of a request with complete inputs."""
        asked = content_key(key_parts(replace(request, inputs=tuple(inputs))))
        return cls(asked, {name: schema_of(value) for name, value in request.samples.items()})

    @property
    def id(self) -> str:
        """The request's key: it names the folder of the first version that was made for it."""
        return content_key(self.asked, self.schemas)

    def record(self) -> dict[str, Any]:
        """The record in `request.json`."""
        return {"asked": self.asked, "schemas": self.schemas}


def schema_of(value: Any) -> dict[str, Any]:
    """The schema of a sample, without its rows. Column names that may be private are masked."""
    if isinstance(value, pd.DataFrame | pd.Series):
        return {key: part for key, part in shape_of(value).items() if key != "rows"}
    kind = {"type": type(value).__name__}
    if isinstance(value, File):
        suffix = PurePath(value.path).suffix.lower()
        kind["suffix"] = suffix if _SUFFIX.fullmatch(suffix) else ""
    return kind
