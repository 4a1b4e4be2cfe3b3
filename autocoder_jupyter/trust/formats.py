"""The format of what this package writes to disk, so that a later version's record is told as such, and left alone.

Every record has `format`, a number, and `autocoder_jupyter`, the version that wrote it. Records without a number are
those of 0.1.0, and have format 1. The number of a kind grows when a version that does not know the change would
misread it. A further field needs no number, because unknown fields are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.errors import WrittenLater
from autocoder_jupyter.version import VERSION

FORMAT = 1
"""The format of a kind of record that has never changed so that an earlier version would misread it."""

_RELEASE = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}[\w.+-]{0,20}")


def stamp(number: int = FORMAT) -> dict[str, Any]:
    """The first fields of a record."""
    return {"format": number, "autocoder_jupyter": VERSION}


def is_later(record: object, most: int = FORMAT) -> bool:
    """Whether a record, which is not trusted, says that it has a later format."""
    number = record.get("format") if isinstance(record, Mapping) else None
    return type(number) is int and number > most


def require_known(record: object, what: str, most: int = FORMAT) -> None:
    """Require that a record has no later format.

    Args:
        record: a record as it was read; it is not trusted.
        what: the beginning of the sentence, such as `growth`.
        most: the latest format that is known.

    Raises:
        WrittenLater: it has one.
    """
    if not is_later(record, most):
        return
    assert isinstance(record, Mapping)
    version, number = record.get("autocoder_jupyter"), str(record["format"])[:20]
    known = f"{version}, " if isinstance(version, str) and _RELEASE.fullmatch(version) else ""
    raise WrittenLater(
        f"{what} was written by a later version of autocoder-jupyter ({known}format {number}); this is {VERSION}.",
        why="This version could misread it, so it is neither used nor changed.",
        hint="Upgrade: pip install --upgrade autocoder-jupyter, then restart the kernel.",
    )
