"""What a query may consist of: every node of its tree must be of a class that is listed here.

The names are those of sqlglot's classes. What a later version adds is therefore refused until somebody has tried it.
"""

from __future__ import annotations

from collections.abc import Mapping

_ALL = frozenset({"duckdb", "sqlite", "postgres"})
_NO_SQLITE = frozenset({"duckdb", "postgres"})
_DUCKDB = frozenset({"duckdb"})

STRUCTURE: Mapping[str, frozenset[str]] = {
    name: frozenset(parts.split())
    for name, parts in {
        "Select": "with_ expressions distinct from_ joins where group having qualify windows order limit offset",
        "Subquery": "this alias with_ order limit offset joins",
        "Union": "with_ this expression distinct order limit offset",
        "Intersect": "with_ this expression distinct order limit offset",
        "Except": "with_ this expression distinct order limit offset",
        "With": "expressions",
        "CTE": "this alias",
        "Table": "this db alias joins",
        "TableAlias": "this columns",
        "Values": "expressions alias",
        "From": "this",
        "Join": "this on using side kind",
        "Where": "this",
        "Group": "expressions all",
        "Having": "this",
        "Qualify": "this",
        "Order": "this expressions",  # `this` in an aggregate
        "Ordered": "this desc nulls_first",
        "Limit": "expression",
        "Offset": "expression",
        "Distinct": "expressions",
        "Window": "this partition_by order spec over alias",
        "WindowSpec": "kind start start_side end end_side",
        "Filter": "this expression",
        "Star": "except_ replace",
        "Column": "this table",
        "Identifier": "this quoted",
        "Alias": "this alias",
        "Literal": "this is_string",
        "Boolean": "this",
        "Null": "",
        "Var": "this",
        "Paren": "this",
        "Tuple": "expressions",
        "Case": "this ifs default",
        "If": "this true false",
        "Cast": "this to",
        "TryCast": "this to safe",
        "DataType": "this expressions nested",
        "DataTypeParam": "this",
        "Interval": "this unit",
        "Exists": "this expression",
        "In": "this expressions query",
        "Between": "this low high",
        "Like": "this expression negate",
        "ILike": "this expression negate",
        "Escape": "this expression",
        "Extract": "this expression",
        **dict.fromkeys(
            [
                "And",
                "Or",
                "EQ",
                "NEQ",
                "GT",
                "GTE",
                "LT",
                "LTE",
                "Is",
                "NullSafeEQ",
                "NullSafeNEQ",
                "Add",
                "Sub",
                "Mul",
                "DPipe",
                "Mod",
            ],
            "this expression safe",
        ),
        "Div": "this expression typed safe",
        "IntDiv": "this expression",
        "Not": "this",
        "Neg": "this",
    }.items()
}
"""The parts of a query, and what each may contain."""

FUNCTIONS: Mapping[str, frozenset[str]] = {
    name: dialects
    for dialects, names in (
        (
            _ALL,
            "Sum Avg Min Max Count CountIf GroupConcat LogicalAnd LogicalOr "
            "Abs Round Floor Ceil Sqrt Pow Exp Ln Sign Greatest Least "
            "Coalesce Nullif Lower Upper Trim Length Substring Left Right Replace Concat StrPosition "
            "Contains StartsWith EndsWith "
            "TimestampTrunc DateTrunc Year Month Day Hour Minute Quarter DayOfWeek DayOfWeekIso DayOfYear "
            "DateDiff TimeToStr LastDay Date "
            "RowNumber Rank DenseRank Lag Lead FirstValue LastValue Ntile PercentRank CumeDist NthValue",
        ),
        (
            _NO_SQLITE,
            "Stddev StddevSamp StddevPop Variance VariancePop Corr CovarSamp CovarPop Median PercentileCont "
            "PercentileDisc SplitPart Pad Reverse Week Trunc",
        ),
        (
            _DUCKDB,
            "ArgMax ArgMin Mode First Last ApproxDistinct RegexpLike RegexpReplace RegexpExtract Log Second "
            "ConcatWs Monthname Dayname TimeToUnix StrToTime DateAdd DateFromParts IsNan Initcap Ascii AtTimeZone",
        ),
    )
    for name in names.split()
}
"""The functions, with the dialects in which they are known to have the same result."""

TYPES = frozenset(
    [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "VARCHAR",
        "TEXT",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMPNTZ",  # what TIMESTAMP is in DuckDB
        "TIMESTAMPTZ",
        "TIME",
    ]
)
"""The types of a cast."""

UNITS = frozenset(["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"])
PARTS = UNITS | {"DOW", "ISODOW", "DOY", "DAYOFWEEK", "DAYOFYEAR"}
"""The words for units of an interval and for parts of a date."""
