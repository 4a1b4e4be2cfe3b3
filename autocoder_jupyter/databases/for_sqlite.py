"""What SQLite understands in another way than DuckDB.

It has neither dates nor times: they are texts, whose order is that of time if all have the same form. A date is
`2024-01-31` and a time `2024-01-31 10:00:00.000`. That the columns have nothing else is checked before a query runs
(`local_engines`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autocoder_jupyter.databases.writing import (
    COMPARISONS,
    NUMBERS,
    TEMPORAL,
    Rule,
    call,
    compared,
    count_of,
    differs,
    family,
    is_literal,
    never_zero,
    number,
    operands,
    paren,
    require_plain_format,
    text,
)

_TIME = "%Y-%m-%d %H:%M:%f"


def _refuse(node: Any, hint: str = "") -> Exception:
    return differs(node, "sqlite", hint)


def _typed(node: Any, kind: str) -> Any:
    from sqlglot import exp

    node.type = exp.DataType.build(kind)
    return node


def _column(node: Any) -> Any:
    """A time in the one form that all have."""
    if family(node) == "timestamp" and "of" in node.meta and not node.meta.get("is_ours"):
        inner = node.copy()
        inner.meta["is_ours"] = True
        return call("STRFTIME", _TIME, inner)
    return None


# Numbers


def _div(node: Any) -> Any:
    from sqlglot import exp

    if not never_zero(node.expression):
        raise _refuse(node, "Divide by NULLIF(x, 0), because engines do not agree on a division by zero.")
    _exact(node.this, node)
    made = exp.Div(
        this=exp.Mul(this=number("1.0"), expression=paren(node.this)), expression=paren(node.expression), typed=True
    )
    return exp.Paren(this=made)


def _whole_only(node: Any) -> Any:
    from sqlglot import exp

    if {family(node.this), family(node.expression)} != {"whole"} or not never_zero(node.expression):
        raise _refuse(node, "Use whole numbers, and NULLIF(x, 0) as the divisor.")
    if isinstance(node, exp.Mod):
        return None
    return exp.Paren(this=exp.Div(this=paren(node.this), expression=paren(node.expression), typed=True, safe=True))


def _exact(node: Any, of: Any) -> None:
    """Refuse decimal numbers that were computed: SQLite has floats in their place, which are not exact."""
    from sqlglot import exp

    if is_literal(node):
        return
    is_sum = isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Paren))
    points = is_sum and any("." in each.name and not each.is_string for each in node.find_all(exp.Literal))
    floats = any(family(each) == "float" for each in node.find_all(exp.Column))
    if family(node) == "decimal" or (points and not floats):
        raise _refuse(of, "SQLite has no decimal numbers: write 1e-1 in place of 0.1, or cast to DOUBLE.")


def _round(node: Any) -> Any:
    digits = node.args.get("decimals")
    places = 0 if digits is None else count_of(digits)
    if places is None or not 0 <= places <= 15 or family(node.this) not in NUMBERS:
        raise _refuse(node, "Round a number to a number of digits that is written there.")
    _exact(node.this, node)
    if family(node.this) == "whole":
        return node.this.copy()
    if places:
        raise _refuse(node, "Round to digits in pandas.")
    return call("ROUND", node.this)


def _floor(node: Any) -> Any:
    """There are functions for it only where SQLite was built with them."""
    from sqlglot import exp

    value = node.this
    if node.args.get("decimals") is not None or family(value) not in NUMBERS:
        raise _refuse(node)
    _exact(value, node)
    whole = exp.cast(paren(value), "BIGINT")
    made: Any
    if isinstance(node, exp.Floor):
        made = exp.Sub(this=whole, expression=exp.Paren(this=exp.LT(this=paren(value), expression=whole.copy())))
    else:
        made = exp.Add(this=whole, expression=exp.Paren(this=exp.GT(this=paren(value), expression=whole.copy())))
    return exp.Paren(this=made)


def _arithmetic(node: Any) -> Any:
    """Days are added to a date by a function; everything else must be numbers."""
    from sqlglot import exp

    left, right = family(node.this), family(node.expression)
    if left in NUMBERS and right in NUMBERS:
        return None
    minus = isinstance(node, exp.Sub)
    if minus and left == right == "date":
        days = exp.Sub(this=call("JULIANDAY", node.this), expression=call("JULIANDAY", node.expression))
        return exp.cast(exp.Paren(this=days), "BIGINT")
    count = count_of(node.expression)
    if left == "date" and count is not None:
        return _typed(call("DATE", node.this, f"{-count if minus else count:+d} days"), "DATE")
    if left in ("date", "timestamp") and isinstance(node.expression, exp.Interval):
        return _typed(call("STRFTIME", _TIME, node.this, _modifier(node, minus)), "TIMESTAMP")
    raise _refuse(node, "Add numbers, or days to a date.")


def _modifier(node: Any, minus: bool) -> str:
    interval = node.expression
    unit = interval.args["unit"].name.upper().removesuffix("S")
    try:
        count = int(interval.this.name)
    except ValueError:
        raise _refuse(node, "Write the number of days.") from None
    count = -count if minus else count
    if unit in ("DAY", "HOUR", "MINUTE", "SECOND"):
        return f"{count:+d} {unit.lower()}s"
    if unit == "WEEK":
        return f"{7 * count:+d} days"
    if unit in ("MONTH", "QUARTER", "YEAR") and _starts_month(node.this):
        return f"{count * {'MONTH': 1, 'QUARTER': 3, 'YEAR': 12}[unit]:+d} months"
    raise _refuse(node, "Add months to date_trunc('month', x) only: SQLite has other ends of months.")


def _starts_month(node: Any) -> bool:
    return bool(node.meta.get("starts_month")) or (
        is_literal_date(node) and str(node.this.name).partition(" ")[0].endswith("-01")
    )


def is_literal_date(node: Any) -> bool:
    """Whether it is a date that is written there."""
    return bool(node.meta.get("literal")) or (type(node).__name__ == "Cast" and is_literal(node.this))


# Comparisons


def _comparison(node: Any) -> None:
    compared(node, "sqlite", lambda each, kind: _literal_time(each, each, kind.lower()))
    for each in operands(node):
        if type(each).__name__ == "Cast" and is_literal(each.this) and (made := _cast(each)) is not None:
            each.replace(made)
    kinds = {family(each) for each in operands(node)} - {"null"}
    if "moment" in kinds:
        raise _refuse(node)
    for each in operands(node):
        _exact(each, node)
    if len(kinds & TEMPORAL) > 1:
        for each in operands(node):
            if family(each) == "date":
                each.replace(_typed(call("STRFTIME", _TIME, each), "TIMESTAMP"))


def _ordered(node: Any) -> None:
    _exact(node.this, node)


def _like(node: Any) -> Any:
    """`LIKE` of SQLite does not distinguish upper and lower case; `GLOB` does."""
    from sqlglot import exp

    if isinstance(node.parent, exp.Escape) or not (is_literal(node.expression) and node.expression.is_string):
        raise _refuse(node, "Write the pattern as a text, without ESCAPE.")
    if family(node.this) != "text":
        raise _refuse(node, "Cast it to VARCHAR.")
    pattern = node.expression.name
    value = node.this
    if isinstance(node, exp.ILike):
        value, pattern = call("unicode_lower", value), pattern.lower()
    signs = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    made: Any = exp.Glob(this=paren(value), expression=text("".join(signs.get(sign, sign) for sign in pattern)))
    made = exp.Paren(this=made)
    return exp.Paren(this=exp.Not(this=made)) if node.args.get("negate") else made


# Texts


def _case(node: Any) -> Any:
    if family(node.this) != "text":
        raise _refuse(node, "Cast it to VARCHAR.")
    return _typed(call(f"unicode_{type(node).__name__.lower()}", node.this), "TEXT")


def _require_texts(node: Any) -> list[Any]:
    parts = [node.this, node.expression] if type(node).__name__ == "DPipe" else list(node.expressions)
    if any(family(each) not in ("text", "null", "whole", "date") for each in parts):
        raise _refuse(node, "Use texts, whole numbers or dates.")
    return parts


def _concat(node: Any) -> Any:
    from sqlglot import exp

    parts = [exp.Coalesce(this=each.copy(), expressions=[text("")]) for each in _require_texts(node)]
    made: Any = parts[0]
    for each in parts[1:]:
        made = exp.DPipe(this=made, expression=each)
    return _typed(exp.Paren(this=made), "TEXT")


def _pipe(node: Any) -> None:
    _require_texts(node)


def _substring(node: Any) -> Any:
    start, length = node.args.get("start"), node.args.get("length")
    bad = (count_of(start) or 0) < 1 or (length is not None and ((count_of(length) or 0) < 1))
    if bad or family(node.this) != "text":
        raise _refuse(node, "Begin at a position from 1 that is written there.")
    return call("SUBSTR", node.this, start, *([length] if length is not None else []))


def _end(node: Any) -> Any:
    count = count_of(node.expression)
    if count is None or count < 1 or family(node.this) != "text":
        raise _refuse(node, "Write the number of characters, from 1.")
    made = (
        call("SUBSTR", node.this, 1, count) if type(node).__name__ == "Left" else call("SUBSTR", node.this, f"-{count}")
    )
    if type(node).__name__ == "Right":
        made = call("SUBSTR", node.this, number(f"-{count}"))
    return _typed(made, "TEXT")


def _contains(node: Any) -> Any:
    from sqlglot import exp

    if family(node.this) != "text" or not is_literal(node.expression) or not node.expression.name:
        raise _refuse(node, "Look for a text that is written there.")
    wanted, size = node.expression, len(node.expression.name)
    if isinstance(node, exp.Contains):
        made: Any = exp.GT(this=call("INSTR", node.this, wanted), expression=number(0))
    elif isinstance(node, exp.StartsWith):
        made = exp.EQ(this=call("SUBSTR", node.this, 1, size), expression=wanted.copy())
    else:
        made = exp.EQ(this=call("SUBSTR", node.this, number(f"-{size}")), expression=wanted.copy())
    return exp.Paren(this=made)


def _length(node: Any) -> None:
    if family(node.this) != "text":
        raise _refuse(node, "Cast it to VARCHAR.")


# Dates

_PARTS = {
    "YEAR": "%Y",
    "MONTH": "%m",
    "DAY": "%d",
    "HOUR": "%H",
    "MINUTE": "%M",
    "SECOND": "%S",
    "DOW": "%w",
    "DAYOFWEEK": "%w",
    "DOY": "%j",
    "DAYOFYEAR": "%j",
}


def _part(word: str, value: Any, of: Any) -> Any:
    from sqlglot import exp

    def whole(form: str) -> Any:
        return exp.cast(call("STRFTIME", form, value), "BIGINT")

    if word in _PARTS:
        return whole(_PARTS[word])
    if word == "QUARTER":
        month = exp.Paren(this=exp.Add(this=whole("%m"), expression=number(2)))
        return exp.Paren(this=exp.Div(this=month, expression=number(3), typed=True, safe=True))
    if word in ("ISODOW", "DAYOFWEEKISO"):
        before = exp.Paren(this=exp.Add(this=whole("%w"), expression=number(6)))
        return exp.Paren(this=exp.Add(this=exp.Mod(this=before, expression=number(7)), expression=number(1)))
    raise _refuse(of, "Use year, quarter, month, day, hour, minute, second, dow, isodow or doy.")


def _moment(node: Any, of: Any) -> Any:
    if family(node) not in ("date", "timestamp"):
        raise _refuse(of, "Cast it to DATE or TIMESTAMP.")
    return node


def _extract(node: Any) -> Any:
    from sqlglot import exp

    word = node.this.name.upper() if isinstance(node, exp.Extract) else type(node).__name__.upper()
    value = node.expression if isinstance(node, exp.Extract) else node.this
    return _part(word, _moment(value, node), node)


def _truncated(node: Any) -> Any:
    value, unit = _moment(node.this, node), node.args["unit"].name.upper()
    modifiers: tuple[str, ...] | None = {
        "YEAR": ("start of year",),
        "MONTH": ("start of month",),
        "DAY": ("start of day",),
    }.get(unit)
    if unit == "WEEK":  # the Monday before
        modifiers = ("start of day", "-6 days", "weekday 1")
    if unit == "HOUR":
        made = call("STRFTIME", "%Y-%m-%d %H:00:00.000", value)
    elif modifiers is None:
        raise _refuse(node, "Truncate to year, month, week, day or hour.")
    else:
        made = call("STRFTIME", _TIME, value, *modifiers)
    made.meta["starts_month"] = unit in ("YEAR", "MONTH")
    return _typed(made, "TIMESTAMP")


def _date_diff(node: Any) -> Any:
    from sqlglot import exp

    unit = node.args["unit"].name.upper().removesuffix("S")
    last, first = _moment(node.this, node), _moment(node.expression, node)

    def difference(make: Callable[[Any], Any]) -> Any:
        return exp.Paren(this=exp.Sub(this=make(last), expression=make(first)))

    if unit == "DAY":
        made = difference(lambda value: call("JULIANDAY", call("DATE", value)))
    elif unit == "YEAR":
        made = difference(lambda value: _part("YEAR", value, node))
    elif unit in ("MONTH", "QUARTER"):
        years = exp.Mul(
            this=difference(lambda value: _part("YEAR", value, node)), expression=number(12 if unit == "MONTH" else 4)
        )
        made = exp.Add(this=years, expression=difference(lambda value: _part(unit, value, node)))
    else:
        raise _refuse(node, "Count days, months, quarters or years.")
    return exp.cast(exp.Paren(this=made), "BIGINT")


def _format(node: Any) -> Any:
    form = require_plain_format(node, "sqlite")
    return _typed(call("STRFTIME", form, _moment(node.this, node)), "TEXT")


def _last_day(node: Any) -> Any:
    return _typed(call("DATE", _moment(node.this, node), "start of month", "+1 month", "-1 day"), "DATE")


# Casts, aggregates, order


def _cast(node: Any) -> Any:
    from sqlglot import exp

    source, target = family(node.this), family(node)
    if isinstance(node.this, exp.Literal) and node.this.is_string and target in ("date", "timestamp"):
        return _literal_time(node, node.this, target)
    if target == "date" and source in ("date", "timestamp"):
        return _typed(call("DATE", node.this), "DATE")
    if target == "timestamp" and source in ("date", "timestamp"):
        return _typed(call("STRFTIME", _TIME, node.this), "TIMESTAMP")
    allowed = {
        "whole": ("whole", "boolean"),
        "float": ("whole", "float", "decimal") if is_literal(node.this) else ("whole", "float"),
        "text": ("text", "whole", "date"),
        "boolean": ("boolean",),
    }.get(target, ())
    if source == "null" or source in allowed:
        return None
    raise _refuse(node, "Use floor or round for whole numbers, strftime for texts; or convert it in pandas.")


def _literal_time(node: Any, literal: Any, target: str) -> Any:
    import datetime as dt

    from sqlglot import exp

    try:
        moment = dt.datetime.fromisoformat(literal.name)
    except ValueError:
        raise _refuse(node, "Write DATE '2024-01-31' or TIMESTAMP '2024-01-31 10:00:00'.") from None
    if moment.tzinfo is not None or moment.microsecond % 1000:
        raise _refuse(node, "Write it without a time zone, and with milliseconds at most.")
    shown = moment.strftime("%Y-%m-%d") if target == "date" else moment.isoformat(" ", "milliseconds")
    made = exp.Literal.string(shown)
    made.meta["starts_month"] = moment.day == 1
    return _typed(made, target.upper())


def _total(node: Any) -> None:
    inner = node.this.expressions[0] if type(node.this).__name__ == "Distinct" else node.this
    if family(inner) not in NUMBERS | {"boolean"}:
        raise _refuse(node, "Cast it to a number.")


def _count_if(node: Any) -> Any:
    from sqlglot import exp

    return exp.Sum(this=exp.Case().when(node.this.copy(), number(1)).else_(number(0)))  # without rows it is missing


def _extreme(node: Any) -> Any:
    if type(node).__name__ in ("LogicalAnd", "LogicalOr"):
        return call("MIN" if type(node).__name__ == "LogicalAnd" else "MAX", node.this)
    if not family(node.this):
        raise _refuse(node, "Cast it to its type.")
    return None


def _never(node: Any) -> None:
    raise _refuse(node)


def _window_spec(node: Any) -> None:
    if str(node.args.get("kind") or "").upper() == "RANGE" and any(
        is_literal(node.args.get(each)) or type(node.args.get(each)).__name__ == "Interval" for each in ("start", "end")
    ):
        raise _refuse(node.parent, "Use ROWS.")


def _set_operation(node: Any) -> None:
    from sqlglot import exp

    kinds = {type(each) for each in (node, node.this, node.expression) if isinstance(each, exp.SetOperation)}
    if len(kinds) > 1 or isinstance(node.expression, (exp.SetOperation, exp.Subquery)):
        raise _refuse(node, "Put its parts into WITH.")
    if not isinstance(node, exp.Union) and not node.args.get("distinct"):
        raise _refuse(node, "Leave out ALL.")


RULES: dict[str, Rule] = {
    "Column": _column,
    "Div": _div,
    "IntDiv": _whole_only,
    "Mod": _whole_only,
    "Round": _round,
    "Floor": _floor,
    "Ceil": _floor,
    "Add": _arithmetic,
    "Sub": _arithmetic,
    "Sum": _total,
    "Avg": _total,
    "CountIf": _count_if,
    **dict.fromkeys(("Min", "Max", "LogicalAnd", "LogicalOr"), _extreme),
    **dict.fromkeys(("Greatest", "Least", "GroupConcat", "Sqrt", "Pow", "Exp", "Ln", "Sign"), _never),
    **dict.fromkeys((*COMPARISONS, "Between", "In", "Coalesce"), _comparison),
    "Ordered": _ordered,
    "Like": _like,
    "ILike": _like,
    "Lower": _case,
    "Upper": _case,
    "DPipe": _pipe,
    "Concat": _concat,
    "Substring": _substring,
    "Left": _end,
    "Right": _end,
    "Length": _length,
    **dict.fromkeys(("Contains", "StartsWith", "EndsWith"), _contains),
    "TimestampTrunc": _truncated,
    "DateTrunc": _truncated,
    **dict.fromkeys(
        ["Extract", "Year", "Month", "Day", "Hour", "Minute", "Quarter", "DayOfWeek", "DayOfWeekIso", "DayOfYear"],
        _extract,
    ),
    "DateDiff": _date_diff,
    "TimeToStr": _format,
    "LastDay": _last_day,
    "Cast": _cast,
    "WindowSpec": _window_spec,
    **dict.fromkeys(("Union", "Intersect", "Except"), _set_operation),
}
