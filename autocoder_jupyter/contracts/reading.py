"""Read a contract from a pandera schema or a `DataFrameModel`. Schemas for polars are refused."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import Contract

_HELP = "Pass a DataFrameSchema or a DataFrameModel of pandera.pandas; for a Series a SeriesSchema."
_KINDS = {"DataFrameSchema": "DataFrame", "DataFrameModel": "DataFrame", "SeriesSchema": "Series"}


def backend_of(value: object) -> str:
    """The library of a schema's tables, such as `pandas` or `polars`; "" if the value is not a pandera schema.

    pandera is not imported: if there is a schema, it is imported already.
    """
    for kind in _classes(value):
        room, _, rest = kind.__module__.partition(".api.")
        if room == "pandera" and kind.__name__ in _KINDS and rest.partition(".")[0] not in ("dataframe", "base"):
            return rest.partition(".")[0]
        if kind.__module__ in ("pandera.schemas", "pandera.model"):  # before pandera 0.14
            return "pandas"
    return ""


def kind_of(value: object) -> str:
    """`DataFrame` or `Series`: the type of table that a pandera schema describes."""
    return next(_KINDS[kind.__name__] for kind in _classes(value) if kind.__name__ in _KINDS)


def _classes(value: object) -> tuple[type, ...]:
    return value.__mro__ if isinstance(value, type) else type(value).__mro__


def contract_of(place: str, name: str, value: object, *, is_output: bool) -> Contract:
    """The contract from a value that the user passed.

    Args:
        place: where it was written, such as `--contract monthly=@Model`.
        name: the name of the input or output.
        value: the value.
        is_output: whether it is the contract of an output.

    Raises:
        InvalidRequest: it is not a schema of pandas tables, cannot be built, or pandera is missing or too old.
    """
    backend = backend_of(value)
    if not backend:
        shown = f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
        raise InvalidRequest(f"{place}: {shown} is not a schema of a table.", hint=_HELP)
    if backend != "pandas":
        raise InvalidRequest(
            f"{place}: a schema for {backend} is not supported.",
            why="The function gets and returns tables of every library as pandas tables.",
            hint="Write it with `import pandera.pandas as pa`. A polars table is converted before the check.",
        )
    from autocoder_jupyter.contracts.library import pandera

    pandera()
    schema = built(place, value)
    if schema.drop_invalid_rows and is_output:
        raise InvalidRequest(
            f"{place}: the schema has drop_invalid_rows, which would hide errors of the function.",
            hint="Leave it out for an output; say in the request which rows to drop.",
        )
    from autocoder_jupyter.contracts.describing import record_of, text_of
    from autocoder_jupyter.contracts.source import source_of

    record = record_of(value, schema)
    return Contract(value, record, text_of(record), source_of(record))


def built(place: str, value: Any) -> Any:
    """The schema object of a schema or model.

    Raises:
        InvalidRequest: the model cannot be built.
    """
    if not isinstance(value, type):
        return value
    try:
        return value.to_schema()  # type: ignore[attr-defined]
    except Exception as error:
        raise InvalidRequest(
            f"{place}: the model {value.__name__} cannot be built.", why=f"{type(error).__name__}: {error}"
        ) from None
