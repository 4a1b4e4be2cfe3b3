"""Tables of pandas methods by the columns that they read, for `table_flow`."""

from __future__ import annotations

SAME_COLUMNS = {
    *("assign", "convert_dtypes", "copy", "explode", "head", "infer_objects", "join", "nlargest", "nsmallest", "pipe"),
    *("query", "reset_index", "sample", "set_index", "sort_index", "sort_values", "squeeze", "tail", "truncate"),
}
"""Methods that return a table with the same columns, and read only the columns that they name."""

IF_GIVEN: dict[str, tuple[str | int, ...]] = {
    "apply": ("axis",),
    "drop": ("columns",),
    "drop_duplicates": ("subset", 0),
    "duplicated": ("subset", 0),
    "dropna": ("subset",),
    "merge": ("on", "left_on", "left_index"),
    "melt": ("value_vars",),
    "pivot": ("values",),
    "pivot_table": ("values",),
}
"""Methods that read the columns in one of these arguments (keyword or position); without it they read all columns."""

BY_MAPPING = {"rename": "columns", "astype": "dtype", "fillna": "value"}
"""Methods that read the columns that are keys of a literal mapping."""

ONE_COLUMN = {"eval", "get", "insert", "pop"}
"""Methods that return or change one named column."""
OTHER_SHAPE = {*ONE_COLUMN, "duplicated", "melt", "pivot", "pivot_table"}
"""Those above that do not return a table with all its columns."""
ROWS = {"iterrows", "itertuples"}
"""Methods that return an iterator over rows."""
GROUPING = {"expanding", "groupby", "resample", "rolling"}
"""Methods that group rows."""
COUNTING = {"cumcount", "ngroup", "size"}
"""Methods of groups that read no column."""
HARMLESS = {"Index", "empty", "index", "name", "ndim", "shape", "size"}
"""Attributes that read no column."""
COMPARING = {"between", "contains", "endswith", "eq", "ge", "gt", "isin", "le", "lt", "match", "ne", "startswith"}
"""Methods of columns that return a mask for any argument."""
FILLING = {"add", "append", "extend", "insert", "setdefault", "update"}
"""Methods that add their arguments to their object."""
NO_LOOK = {"bool", "id", "isinstance", "len", "type"}
"""Functions that read no column."""
CALLING = {"apply", "pipe"}
"""Methods that call their first argument with their object."""
ANYTHING = {"compile", "eval", "exec", "getattr", "globals", "locals", "operator", "vars"}
"""Names that give access to a table in ways that the analysis does not follow."""
