"""Dicts in cells as structs of Arrow, whose rows all have the same fields.

A key that a dict lacks becomes None there, and a field that a schema lacks is left out, both without an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_object_dtype

from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.untrusted.visible import visible


def further_field(kind: Any, of: Any) -> str:
    """A field in a type of Arrow, such as `address.zip`, that another type lacks; "" if there is none.

    A type without values has no fields to be compared.
    """
    return next(_further(kind, of, ""), "")


def _further(kind: Any, of: Any, path: str) -> Iterator[str]:
    from pyarrow import types

    if types.is_struct(kind) and types.is_struct(of):
        others = {of.field(place).name: of.field(place).type for place in range(of.num_fields)}
        for place in range(kind.num_fields):
            field = kind.field(place)
            name = f"{path}.{field.name}" if path else field.name
            if field.name not in others:
                yield name
            else:
                yield from _further(field.type, others[field.name], name)
    elif kind.num_fields == of.num_fields and not types.is_struct(kind):
        for place in range(kind.num_fields):  # the items of lists, the values of maps
            yield from _further(kind.field(place).type, of.field(place).type, path)


OF_FILES = (
    "Write the files with the same fields; or pass pyarrow.dataset.dataset(files, schema=…) with a schema of all "
    "fields, which are None where a file lacks them."
)
OF_ANSWERS = "Ask for a function whose dicts have the same keys for all data."


def require_same_fields(schema: Any, other: Any, name: str, other_name: str, hint: str = OF_ANSWERS) -> None:
    """Check that structs have the same fields in the columns that two schemas have.

    Raises:
        DataDrift: one has a field that the other lacks.
    """
    for field in schema:
        if not field.type.num_fields or field.name not in other.names:
            continue
        own, second = field.type, other.field(field.name).type
        for has, lacks, of in ((own, second, (name, other_name)), (second, own, (other_name, name))):
            if further := further_field(has, lacks):
                raise DataDrift(
                    f"{visible(of[0])} has the field {visible(further)!r} in {visible(field.name)!r}, and "
                    f"{visible(of[1])} lacks it.",
                    why="The key would be None in dicts that do not have it, or be left out.",
                    hint=hint,
                )


def require_all_fields(dataset: Any) -> None:
    """Check that a dataset of PyArrow has all fields of the structs in its files: others are left out.

    Raises:
        InvalidRequest: a file has a further one.
    """
    nested = [field for field in dataset.schema if field.type.num_fields]
    try:
        fragments = dataset.get_fragments() if nested else ()
    except ValueError:  # it is filtered
        return
    for fragment in fragments:
        own = fragment.physical_schema
        for field in nested:
            place = own.get_field_index(field.name)
            if place >= 0 and (further := further_field(own.field(place).type, field.type)):
                file = str(getattr(fragment, "path", "a part of it")).rpartition("/")[2]
                raise InvalidRequest(
                    f"{visible(file)} has the field {visible(further)!r} in {visible(field.name)!r}, which the schema "
                    "of the dataset lacks.",
                    why="PyArrow would leave it out.",
                    hint=OF_FILES,
                )


def lost_key(frame: pd.DataFrame | pd.Series[Any]) -> str:
    """A key that some of the dicts in a column lack, as the end of the sentence "it has …"; "" if there is none."""
    columns = frame.to_frame() if isinstance(frame, pd.Series) else frame
    for place, dtype in enumerate(columns.dtypes):
        if is_object_dtype(dtype) and (key := _lacking(columns.iloc[:, place].tolist())):
            label = visible(str(columns.columns[place]))[:60]
            return f"dicts in {label!r} of which some lack the key {visible(key)[:100]!r}"
    return ""


def _lacking(values: Sequence[Any]) -> str:
    dicts = [value for value in values if isinstance(value, dict)]
    for key in dict.fromkeys(key for each in dicts for key in each):
        inner = [each[key] for each in dicts if key in each]
        if len(inner) < len(dicts):
            return str(key)
        if found := _lacking(inner):
            return f"{key}.{found}"
    items = [item for value in values if _is_list(value) for item in value]
    return _lacking(items) if items else ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object)
