"""Check whether a value has the declared type of an input, before anything runs."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.element_types import misfit
from autocoder_jupyter.kinds.kind import REFUSED
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.types import Dir, File, InputSpec


def checked_value(spec: InputSpec, value: Any) -> Any:
    """The value in the form that is sent to the sandbox. The caller's object is never changed.

    An int becomes a float, a numpy scalar a Python value, a tuple a list, a polars or PyArrow table a pandas table.
    Nothing else is converted.

    Raises:
        InvalidRequest: it is not of the declared type.
    """
    if value is None and not spec.required and spec.default is None:
        return None
    kind = KINDS[spec.type]
    if kind.form == "table" and callable(getattr(type(value), "to_wkt", None)):
        from autocoder_jupyter.data.capture import require_plain

        require_plain(spec.name, value)
    accepted = kind.accept(_table(value) if kind.form == "table" else value)
    if accepted is REFUSED:
        raise InvalidRequest(
            f"{spec.name} must be {_article(spec.type)} {spec.type}, not {_kind(value)}.",
            hint=kind.hint(spec.name, value),
        )
    if problem := misfit(accepted, spec.elements):
        raise InvalidRequest(f"{spec.name} must be a {spec.written_type}: {problem}.")
    return _located(spec, accepted) if isinstance(accepted, File | Dir) else accepted


def _table(value: Any) -> Any:
    """A table of another library, converted to pandas; any other value unchanged."""
    from autocoder_jupyter.data.foreign import converted

    table = converted(value)
    return value if table is None else table


def _located(spec: InputSpec, value: File | Dir) -> File | Dir:
    from autocoder_jupyter.data.capture import with_absolute_path

    try:
        return with_absolute_path(value)
    except InvalidRequest as error:
        raise InvalidRequest(f"{spec.name}: {error.what}", hint=error.hint) from None


def _article(name: str) -> str:
    return "an" if name == "int" else "a"


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__}"
