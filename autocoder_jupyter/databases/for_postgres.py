"""What PostgreSQL understands in another way than DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autocoder_jupyter.databases.writing import (
    COMPARISONS,
    NUMBERS,
    ORDERED,
    PLAIN_SIGNS,
    TEMPORAL,
    Rule,
    call,
    cast_to,
    compared,
    count_of,
    differs,
    family,
    is_literal,
    number,
    operands,
    paren,
    require_plain_format,
    text,
)

_MOST_PAD = 1_000


def _refuse(node: Any, hint: str = "") -> Exception:
    return differs(node, "postgres", hint)


def _as_double(node: Any) -> Any:
    return cast_to(node, "DOUBLE")


# Numbers


def _div(node: Any) -> Any:
    """`/` gives a float in DuckDB."""
    from sqlglot import exp

    made = exp.Div(this=_as_double(paren(node.this)), expression=_as_double(paren(node.expression)), typed=True)
    return exp.Paren(this=made)


def _int_div(node: Any) -> Any:
    from sqlglot import exp

    if family(node.this) != "whole" or family(node.expression) != "whole":
        raise _refuse(node, "Use // with whole numbers only, or floor(a / b).")
    parts = {"this": cast_to(node.this, "BIGINT"), "expression": cast_to(node.expression, "BIGINT")}
    return exp.Paren(this=exp.Div(**parts, typed=True))


def _mod(node: Any) -> None:
    if family(node.this) != "whole" or family(node.expression) != "whole":
        raise _refuse(node, "Use % with whole numbers only.")


def _round(node: Any) -> Any:
    """DuckDB rounds a float half away from zero, PostgreSQL half to even, and not to digits."""
    from sqlglot import exp

    digits = node.args.get("decimals")
    places = 0 if digits is None else count_of(digits)
    kind = family(node.this)
    if places is None or places < 0 or places > 15 or kind not in NUMBERS:
        raise _refuse(node, "Round a number to a number of digits that is written there.")
    if kind == "whole":
        return node.this.copy()
    if kind == "decimal":
        return None
    if places:
        raise _refuse(node, "Round a float to digits in pandas, or cast the column to DECIMAL first.")
    value = paren(node.this)
    whole = call("FLOOR", exp.Add(this=call("ABS", value), expression=number("0.5")))
    return exp.Paren(this=exp.Mul(this=call("SIGN", value), expression=whole))


def _power(node: Any) -> None:
    node.this.replace(_as_double(node.this))
    node.expression.replace(_as_double(node.expression))


def _of_double(node: Any) -> None:
    node.this.replace(_as_double(node.this))


# Aggregates


def _boolean_number(node: Any) -> Any:
    from sqlglot import exp

    value = paren(node)
    return exp.Case().when(value, number(1)).when(exp.Not(this=value.copy()), number(0))


def _sum(node: Any) -> None:
    from sqlglot import exp

    inner = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    if family(inner) == "boolean":
        inner.replace(_boolean_number(inner))


def _extreme(node: Any) -> Any:
    """Texts are compared by their code points, as in DuckDB."""
    from sqlglot import exp

    if family(node.this) == "boolean":
        return (
            exp.LogicalOr(this=node.this.copy()) if isinstance(node, exp.Max) else exp.LogicalAnd(this=node.this.copy())
        )
    node.this.replace(_by_code_point(node.this, node))
    return None


def _by_code_point(node: Any, of: Any) -> Any:
    from sqlglot import exp

    kind = family(node)
    if not kind:
        raise _refuse(of, "Cast it to its type.")
    if kind != "text" or isinstance(node, exp.Collate):
        return node
    made = exp.Collate(this=paren(node), expression=exp.to_identifier("C", quoted=True))
    made.type = node.type
    return made


def _count_if(node: Any) -> Any:
    from sqlglot import exp

    return exp.Sum(this=exp.Case().when(node.this.copy(), number(1)).else_(number(0)))  # without rows it is missing


def _quantile(node: Any) -> Any:
    from sqlglot import exp

    if isinstance(node.parent, exp.WithinGroup):
        return None
    if isinstance(node, exp.Median):
        value, part = node.this, number("0.5")
    else:
        value, part = node.this, node.expression
    if family(value) not in NUMBERS or not is_literal(part):
        raise _refuse(node, "Take the median of numbers, or a quantile that is written there.")
    name = "PERCENTILE_DISC" if isinstance(node, exp.PercentileDisc) else "PERCENTILE_CONT"
    order = exp.Order(expressions=[exp.Ordered(this=_as_double(value), nulls_first=False)])
    return exp.WithinGroup(this=call(name, part), expression=order)


def _string_agg(node: Any) -> None:
    if family(node.this.this if type(node.this).__name__ == "Order" else node.this) != "text":
        raise _refuse(node, "Cast it to VARCHAR.")


# Comparisons and order


def _comparison(node: Any) -> None:
    from sqlglot import exp

    compared(node, "postgres")
    if type(node).__name__ in ORDERED or type(node).__name__ in ("Between", "Greatest", "Least"):
        for each in operands(node):
            if family(each) == "text":
                made = exp.Paren(this=_by_code_point(each, node))
                made.type = each.type
                each.replace(made)


def _ordered(node: Any) -> None:
    from sqlglot import exp

    if isinstance(node.this, exp.Literal):
        return
    select = node.find_ancestor(exp.Select, exp.SetOperation)
    value = node.this
    if isinstance(value, exp.Column) and not value.table:  # the name of a column of the result
        named = {each.alias_or_name: each for each in select.selects}
        source = named.get(value.name)
        if source is None:
            raise _refuse(node, "Order by columns of the result.")
        if family(source) == "text":
            if isinstance(select, exp.SetOperation) or select.args.get("distinct"):
                raise _refuse(node, "Put the query into WITH, and order what it gives by its texts outside.")
            inner = source.this if isinstance(source, exp.Alias) else source
            value.replace(_by_code_point(inner.copy(), node))
        return
    value.replace(_by_code_point(value, node))


def _like(node: Any) -> Any:
    """A backslash has no meaning in a pattern of DuckDB."""
    from sqlglot import exp

    if family(node.this) != "text":
        raise _refuse(node, "Cast it to VARCHAR.")
    if isinstance(node, exp.ILike):
        node.this.replace(_any_case(node.this))
    if isinstance(node.parent, exp.Escape) or (is_literal(node.expression) and "\\" not in node.expression.name):
        return None
    return exp.Escape(this=node.copy(), expression=text(""))


def _any_case(node: Any) -> Any:
    """With the rules of Unicode for upper and lower case, whatever the locale of the database is."""
    from sqlglot import exp

    made = exp.Collate(this=paren(node), expression=exp.to_identifier("und-x-icu", quoted=True))
    made.type = node.type
    return made


def _case(node: Any) -> None:
    if family(node.this) != "text":
        raise _refuse(node, "Cast it to VARCHAR.")
    node.this.replace(_any_case(node.this))


# Texts


def _concat(node: Any) -> None:
    for each in [node.this, node.expression] if node.args.get("this") is not None else node.expressions:
        if family(each) == "text" or family(each) == "null":
            continue
        _require_text_cast(each, node)
        each.replace(cast_to(each, "TEXT"))


def _require_text_cast(node: Any, of: Any) -> None:
    if family(node) not in ("whole", "decimal", "date", "boolean"):
        raise _refuse(of, "Use strftime for times, or round to a DECIMAL first.")


def _substring(node: Any) -> None:
    start, length = node.args.get("start"), node.args.get("length")
    if (
        family(node.this) != "text"
        or (count_of(start) or 0) < 1
        or (length is not None and (count_of(length) or 0) < 0)
    ):
        raise _refuse(node, "Begin at a position from 1 that is written there.")
    if length is not None and count_of(length) is None:
        raise _refuse(node, "Write the length as a number.")


def _end(node: Any) -> None:
    count = count_of(node.expression)
    if family(node.this) != "text" or count is None or count < 0:
        raise _refuse(node, "Write the number of characters, from 0.")


def _pad(node: Any) -> None:
    count = count_of(node.expression)
    if count is None or not 0 <= count <= _MOST_PAD or family(node.this) != "text":
        raise _refuse(node, f"Pad a text to a length up to {_MOST_PAD} that is written there.")


def _contains(node: Any) -> Any:
    from sqlglot import exp

    if family(node.this) != "text":
        raise _refuse(node)
    return exp.Paren(this=exp.GT(this=call("STRPOS", node.this, node.expression), expression=number(0)))


def _ends_with(node: Any) -> Any:
    from sqlglot import exp

    end = call("RIGHT", node.this, call("LENGTH", node.expression))
    return exp.Paren(this=exp.EQ(this=end, expression=paren(node.expression)))


def _split_part(node: Any) -> None:
    if (count_of(node.args.get("part_index")) or 0) < 1:
        raise _refuse(node, "Write the number of the part, from 1.")


# Dates


def _moment(node: Any, of: Any) -> Any:
    """A date or time as a timestamp: PostgreSQL would take a date for one with a time zone."""
    if family(node) not in TEMPORAL:
        raise _refuse(of, "Cast it to DATE or TIMESTAMP.")
    return node.copy() if family(node) == "timestamp" else cast_to(node, "TIMESTAMP")


def _truncated(node: Any) -> Any:
    made = call("DATE_TRUNC", node.args["unit"].name.lower(), _moment(node.this, node))
    return cast_to(made, "TIMESTAMPTZ") if family(node.this) == "moment" else made


def _extract(node: Any) -> Any:
    from sqlglot import exp

    word = node.this.name.upper() if isinstance(node, exp.Extract) else type(node).__name__.upper()
    value = node.expression if isinstance(node, exp.Extract) else node.this
    part = {"DAYOFWEEK": "DOW", "DAYOFWEEKISO": "ISODOW", "DAYOFYEAR": "DOY"}.get(word, word)
    made = exp.Extract(this=exp.var(part), expression=_moment(value, node))
    return cast_to(call("FLOOR", made), "BIGINT")


def _date_diff(node: Any) -> Any:
    """The number of boundaries between two dates."""
    from sqlglot import exp

    unit = node.args["unit"].name.upper().removesuffix("S")
    last, first = _moment(node.this, node), _moment(node.expression, node)

    def part(name: str, value: Any) -> Any:
        return cast_to(exp.Extract(this=exp.var(name), expression=value.copy()), "BIGINT")

    def difference(make: Callable[[Any], Any]) -> Any:
        return exp.Paren(this=exp.Sub(this=make(last), expression=make(first)))

    if unit == "DAY":
        made = difference(lambda value: cast_to(value, "DATE"))
    elif unit == "YEAR":
        made = difference(lambda value: part("YEAR", value))
    elif unit in ("MONTH", "QUARTER"):
        size = 12 if unit == "MONTH" else 4
        years = exp.Mul(this=difference(lambda value: part("YEAR", value)), expression=number(size))
        made = exp.Add(this=years, expression=difference(lambda value: part(unit, value)))
    else:
        raise _refuse(node, "Count days, months, quarters or years.")
    return cast_to(exp.Paren(this=made), "BIGINT")


def _format(node: Any) -> Any:
    form = require_plain_format(node, "postgres")
    for mark, word in {"Y": "YYYY", "m": "MM", "d": "DD", "H": "HH24", "M": "MI", "S": "SS", "j": "DDD"}.items():
        form = form.replace(f"%{mark}", word)
    assert not set(form) - PLAIN_SIGNS - set("YMDHISD24")
    return call("TO_CHAR", _moment(node.this, node), form)


def _last_day(node: Any) -> Any:
    from sqlglot import exp

    start = call("DATE_TRUNC", "month", _moment(node.this, node))
    month = exp.Interval(this=text("1 month"))
    made = exp.Sub(this=exp.Add(this=start, expression=month), expression=exp.Interval(this=text("1 day")))
    return cast_to(exp.Paren(this=made), "DATE")


def _plus(node: Any) -> None:
    kinds = {family(node.this), family(node.expression)}
    if "" in kinds or kinds & {"text", "boolean"}:
        raise _refuse(node, "Cast both sides.")
    if type(node).__name__ == "Sub" and kinds <= TEMPORAL and kinds != {"date"}:
        raise _refuse(node, "Use date_diff.")


# Casts


def _cast(node: Any) -> Any:
    from sqlglot import exp

    if node.meta.get("is_ours"):
        return None
    if isinstance(node.this, exp.Literal) and node.this.is_string:
        return None
    source, target = family(node.this), family(exp.Cast(this=node.this.copy(), to=node.to, _type=node.to))
    target = family(node) or target
    if target == "text" and source not in ("text", "whole", "decimal", "date", "boolean"):
        raise _refuse(node, "Use strftime for times, or round to a DECIMAL first.")
    if target == "decimal" and source not in ("whole", "decimal"):
        raise _refuse(node, "Use round.")
    if source == "text" and target in ("boolean", "whole"):
        raise _refuse(node, "Convert it in pandas.")
    if node.to.this.name == "FLOAT":
        raise _refuse(node, "Use DOUBLE.")
    if source == "boolean" and target in NUMBERS:
        return _boolean_number(node.this)
    if not source:
        raise _refuse(node)
    return None


def _window_spec(node: Any) -> None:
    if str(node.args.get("kind") or "").upper() == "RANGE" and any(
        is_literal(node.args.get(each)) or type(node.args.get(each)).__name__ == "Interval" for each in ("start", "end")
    ):
        raise _refuse(node.parent, "Use ROWS.")


RULES: dict[str, Rule] = {
    "Div": _div,
    "IntDiv": _int_div,
    "Mod": _mod,
    "Round": _round,
    "Pow": _power,
    **dict.fromkeys(("Sqrt", "Exp", "Ln", "Stddev", "StddevSamp", "StddevPop", "Variance", "VariancePop"), _of_double),
    **dict.fromkeys(("Corr", "CovarSamp", "CovarPop"), _power),
    "Sum": _sum,
    "Avg": _sum,
    "CountIf": _count_if,
    "Min": _extreme,
    "Max": _extreme,
    **dict.fromkeys(("Median", "PercentileCont", "PercentileDisc"), _quantile),
    "GroupConcat": _string_agg,
    **dict.fromkeys((*COMPARISONS, "Between", "In", "Greatest", "Least", "Coalesce"), _comparison),
    "Ordered": _ordered,
    "Like": _like,
    "ILike": _like,
    "Lower": _case,
    "Upper": _case,
    "DPipe": _concat,
    "Concat": _concat,
    "Substring": _substring,
    "Left": _end,
    "Right": _end,
    "Pad": _pad,
    "Contains": _contains,
    "EndsWith": _ends_with,
    "SplitPart": _split_part,
    "TimestampTrunc": _truncated,
    "DateTrunc": _truncated,
    **dict.fromkeys(
        [
            "Extract",
            "Year",
            "Month",
            "Day",
            "Hour",
            "Minute",
            "Quarter",
            "Week",
            "DayOfWeek",
            "DayOfWeekIso",
            "DayOfYear",
        ],
        _extract,
    ),
    "DateDiff": _date_diff,
    "TimeToStr": _format,
    "LastDay": _last_day,
    "Add": _plus,
    "Sub": _plus,
    "Cast": _cast,
    "WindowSpec": _window_spec,
}
