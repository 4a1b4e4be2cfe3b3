"""What methods of tables look at: the words of pandas that `table_flow` knows."""

from __future__ import annotations

SAME_COLUMNS = {
    *("assign", "convert_dtypes", "copy", "explode", "head", "infer_objects", "join", "nlargest", "nsmallest", "pipe"),
    *("query", "reset_index", "sample", "set_index", "sort_index", "sort_values", "squeeze", "tail", "truncate"),
}
"""Methods that give a table with the same columns and look at none but those that they name."""

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
"""Methods that look at the columns that one of these arguments (by keyword, or place) names, else at all columns."""

BY_MAPPING = {"rename": "columns", "astype": "dtype", "fillna": "value"}
"""Methods that look at the columns that are the keys of a mapping written there."""

ONE_COLUMN = {"eval", "get", "insert", "pop"}
"""Methods that give or change one column, which they name."""
OTHER_SHAPE = {*ONE_COLUMN, "duplicated", "melt", "pivot", "pivot_table"}
"""Those above that do not give a table with all its columns."""
ROWS = {"iterrows", "itertuples"}
"""Methods that give rows when they are gone through."""
GROUPING = {"expanding", "groupby", "resample", "rolling"}
"""Methods that put rows into groups."""
COUNTING = {"cumcount", "ngroup", "size"}
"""Methods of groups that look at no column."""
HARMLESS = {"Index", "empty", "index", "name", "ndim", "shape", "size"}
"""Attributes that look at no column."""
COMPARING = {"between", "contains", "endswith", "eq", "ge", "gt", "isin", "le", "lt", "match", "ne", "startswith"}
"""Methods of columns that give a mask, whatever they compare with."""
FILLING = {"add", "append", "extend", "insert", "setdefault", "update"}
"""Methods that put their arguments into what they belong to."""
NO_LOOK = {"bool", "id", "isinstance", "len", "type"}
"""Functions that look at no column."""
CALLING = {"apply", "pipe"}
"""Methods that call what they are given first with all that they belong to."""
ANYTHING = {"compile", "eval", "exec", "getattr", "globals", "locals", "operator", "vars"}
"""Names by which a table can be had, or looked at, in ways that are not followed."""
