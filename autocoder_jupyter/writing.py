"""Writing where a person says: what the operating system refuses becomes a sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from autocoder_jupyter.errors import InvalidRequest


@contextlib.contextmanager
def writing(what: str, place: Path) -> Iterator[None]:
    """Around all that writes `what` to `place`.

    Raises:
        InvalidRequest: it cannot be written there: no permission, no room, a file where a folder must be.
    """
    try:
        yield
    except OSError as error:
        at_fault = f" ({error.filename})" if error.filename and str(error.filename) != str(place) else ""
        raise InvalidRequest(
            f"{what} cannot be written to {place}.",
            why=f"{error.strerror or error}{at_fault}.",
            hint="Choose a place that you may write to.",
        ) from None
