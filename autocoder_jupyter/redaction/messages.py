"""Redact texts about runs on real data, which may quote cells: records, secrets in messages, failures of programs."""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus

from autocoder_jupyter.errors import AutocodeError, SandboxCrash, SolutionError, WrongType
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Share
from autocoder_jupyter.untrusted.parsing import parse

# Records that are written to files

_MESSAGE_FIELDS = frozenset(
    (
        *("error", "output", "message", "error_message", "change", "drift"),
        *("expected_behavior", "actual_behavior", "root_cause", "suggested_fix"),
        *("generated_schemas", "sample_schemas"),  # which name the columns of the data
        *("first", "second", "at", "not_compared", "smallest", "derivation", "stays"),  # of a second opinion
    )
)
"""Fields of a report with messages about a run. The other fields hold its sources and the user's text."""

LONGEST = 100_000
"""Maximum length of one such text."""


def redacted_record(record: Any, masker: Masker | None = None, *, is_message: bool = False) -> Any:
    """A record of JSON values in which messages of programs, tests and diagnoses are masked."""
    masker = masker or Masker()
    if isinstance(record, dict):
        return {
            key: redacted_record(value, masker, is_message=is_message or key in _MESSAGE_FIELDS)
            for key, value in record.items()
        }
    if isinstance(record, list):
        return [redacted_record(item, masker, is_message=is_message) for item in record]
    return masker.mask(record[:LONGEST]) if is_message and isinstance(record, str) else record


# Values of secrets and environment variables, which a program can print or raise

SHORTEST = 4
"""A shorter value of a variable is not removed: `1` or `UTC` occurs in many texts and is not private."""

PIECE = 8
"""A shorter line of a value is not removed by itself, because `{` or `END` is in many texts, and no shorter part of a
value that was shortened.
"""

LINES = 100
"""The lines of a value with more lines are not removed one by one: each takes time for the whole text."""


def hidden_values(secrets: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """The values to remove, by name: all secrets, and variables whose value could be a secret."""
    return {name: value for name, value in variables.items() if len(value) >= SHORTEST} | dict(secrets)


def without_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """The text with `<NAME>` instead of each value.

    Programs and their libraries write a value in several ways: escaped by `repr`, in JSON or in an address; each line
    behind the sign of a traceback; shortened, with an ellipsis. All these are removed.
    """
    written = [(form, name) for name, value in secrets.items() for form in _forms(value)]
    for form, name in sorted(written, key=lambda item: (-len(item[0]), item)):  # one value may contain another
        text = text.replace(form, f"<{name}>")
    if "..." in text or "…" in text:
        for name, value in secrets.items():
            for form in _escaped(value.strip()):
                text = _without_beginnings(text, form, f"<{name}>")
                text = _without_beginnings(text[::-1], form[::-1], f"<{name}>"[::-1])[::-1]
    return text


def _forms(value: str) -> set[str]:
    """The ways in which a value is written: as a whole, without blanks around it, and line by line."""
    bare = value.strip()
    lines = bare.splitlines()
    pieces = [line.strip() for line in lines if len(line.strip()) >= PIECE] if len(lines) <= LINES else []
    whole = (value, bare) if len(bare) >= SHORTEST else (value,)
    return {form for text in (*whole, *pieces) for form in _escaped(text)} - {""}


def _escaped(text: str) -> set[str]:
    """A text as it is, and as `repr`, JSON and addresses escape it."""
    return {
        text,
        repr(text)[1:-1],
        ascii(text)[1:-1],
        json.dumps(text)[1:-1],
        json.dumps(text, ensure_ascii=False)[1:-1],
        quote(text, errors="replace"),
        quote(text, safe="", errors="replace"),
        quote_plus(text, errors="replace"),
    }


def _without_beginnings(text: str, value: str, instead: str) -> str:
    """The text without beginnings of a value that are followed by an ellipsis."""
    if len(value) <= PIECE:
        return text
    kept, place = [], 0
    while (start := text.find(value[:PIECE], place)) >= 0:
        here = text[start : start + len(value)]
        end = start + next((count for count, letter in enumerate(here) if letter != value[count]), len(here))
        is_shortened = text.startswith(("...", "…"), end)
        kept += [text[place:start], instead if is_shortened else text[start:end]]
        place = end
    return "".join((*kept, text[place:]))


def redact(error: AutocodeError, secrets: Mapping[str, str]) -> None:
    """Remove the values from all texts of an error."""
    _change(error, lambda text: without_secrets(text, secrets))


def without_anything_secret(error: AutocodeError) -> None:
    """Mask what looks like a key or a password in all texts of an error, whoever it belongs to."""
    masker = Masker()
    _change(error, lambda text: masker.mask(text, secrets_only=True))


def _change(error: AutocodeError, change: Callable[[str], str]) -> None:
    for attribute, content in vars(error).items():
        if isinstance(content, str):
            setattr(error, attribute, change(content))
    error.args = (error.what, error.why, error.hint)


# Failures of programs
#
# With `share="rows"` the message is passed on, masked. At the other levels no text of the program is passed on, only:
# the type of the exception, if it is defined by Python, pandas or the solution; the line of the solution; declared
# names; and the message, if it is a fixed message of Python or pandas, without the values that it quotes.

WITHHELD = "What it says is withheld, because it may quote the data."

_DTYPE = re.compile(
    r"(?:u?[Ii]nt|[Ff]loat|complex)\d{1,3}|bool(?:ean)?|object|str(?:ing)?|category"
    r"|(?:datetime|timedelta)64\[[mun]?s\]"
)
_AT_LINE = re.compile(r" at line (\d{1,6}): ")
_UNDECLARED = re.compile(r"\((\d{1,6}) in all, of ([^()]{1,400})\)")

_COMMON_MESSAGES: tuple[tuple[str, str], ...] = (
    (r"could not convert string to float: .*", "could not convert string to float"),
    (r"invalid literal for int\(\) with base 10: .*", "invalid literal for int()"),
    (r"(?:float |integer )?division by zero|integer modulo by zero", "division by zero"),
    (r"cannot convert float NaN to integer", "cannot convert float NaN to integer"),
    (r"Cannot convert non-finite values \(NA or inf\) to integer.*", "cannot convert missing or infinite to integer"),
    (r"cannot convert NA to integer", "cannot convert NA to integer"),
    (r"(?:list|string|tuple) index out of range", "index out of range"),
    (r"single positional indexer is out-of-bounds", "single positional indexer is out of bounds"),
    (r"index -?\d+ is out of bounds for axis \d+ with size \d+", "index is out of bounds for its axis"),
    (r"The truth value of an? \w+ is ambiguous.*", "the truth value of a Series or array is ambiguous"),
    (r"boolean value of NA is ambiguous", "boolean value of NA is ambiguous"),
    (r"Length of values \(\d+\) does not match length of index \(\d+\)", "length of values does not match the index"),
    (r"All arrays must be of the same length", "all arrays must be of the same length"),
    (r"Length mismatch: Expected axis has \d+ elements, new values have \d+ elements", "length mismatch of an axis"),
    (r"Columns must be same length as key", "columns must be same length as key"),
    (r"You are trying to merge on .*", "merge on columns of different dtypes"),
    (r"(?:Index contains|cannot reindex on an axis with) duplicate \w+.*", "duplicate labels in an index"),
    (r"Unknown datetime string format.*|Unable to parse string.*", "a text cannot be parsed as a time or number"),
    (r"time data .* doesn't match format .*", "a text does not match the format of times"),
    (r"Out of bounds nanosecond timestamp.*", "out of bounds nanosecond timestamp"),
    (r"Can only use \.(dt|str|cat) accessor with .*", "the accessor does not fit the values' dtype"),
    (r"Cannot (?:compare|subtract) tz-naive.*|Invalid comparison between dtype=.*", "values do not compare"),
    (r"'[<>]=?' not supported between instances of .*", "values of two types do not compare"),
    (r"unsupported operand type\(s\) for .*", "unsupported operand types"),
    (r"can only concatenate str .*|must be str, not .*", "can only concatenate str to str"),
    (r"'\w+' object is not (?:subscriptable|callable|iterable)", "an object of another type than expected"),
    (r"'NoneType' object has no attribute .*", "None where an object was expected"),
    (r"(?:max|min)\(\) (?:arg is an empty sequence|iterable argument is empty)", "max() or min() of nothing"),
    (r"(?:attempt to get argm(?:ax|in) of an empty sequence|No objects to concatenate)", "nothing to work on"),
    (
        r"(?:agg function failed|cannot perform).*|.*does not support operation.*",
        "an operation that the dtype does not support",
    ),
    (r"unhashable type: .*", "unhashable type"),
)  # fmt: skip
"""Fixed messages of Python and pandas, and their texts without quoted values."""

_ENCODING_FAULTS: tuple[tuple[str, str], ...] = (
    ("has the time zone", "a time zone that has no name to send"),
    ("has the frequency", "a frequency that has no name to send"),
    ("is nested", "nested too deeply"),
    ("not valid Unicode", "text that is not valid Unicode"),
    ("has the dtype", "a dtype that cannot cross"),
    ("numpy dtype", "a dtype that cannot cross"),
    ("is a link", "a link instead of a file"),
    ("regular file", "no regular file"),
    ("too large", "a file that is too large"),
    ("same name", "a name that stands twice"),
    ("which cannot cross", "a value that cannot cross"),
)


@dataclass(frozen=True)
class Redaction:
    """Decides what may be passed on about runs of one solution on real data.

    Args:
        names: the names that the model knows: inputs, outputs and their columns.
        secrets: the values of secrets and variables, by name. Outputs of a program can contain them.
    """

    share: Share
    code: str = ""
    names: frozenset[str] = frozenset()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def over(
        cls, share: Share, code: str, names: Iterable[object], secrets: Mapping[str, str] | None = None
    ) -> Redaction:
        """A redaction with the names of a request."""
        return cls(share, code, frozenset(map(str, names)), secrets or {})

    @property
    def shows_values(self) -> bool:
        """Whether masked values of the data may be passed on."""
        return self.share == "rows"

    def masked(self, text: str) -> str:
        """A text without private values and without the values of secrets."""
        return Masker().mask(without_secrets(text, self.secrets))

    def found(self, value: Any) -> Any:
        """The findings of a program of ours, as JSON values, without the values of secrets."""
        if isinstance(value, str):
            return without_secrets(value, self.secrets)
        if isinstance(value, dict):
            return {key: self.found(part) for key, part in value.items()}
        return [self.found(part) for part in value] if isinstance(value, list) else value

    def words(self, text: str, limit: int = 0) -> str:
        """A text that may contain values: masked and truncated to `limit` characters (0: no limit), or withheld."""
        if not self.shows_values:
            return WITHHELD if text else ""
        masked = self.masked(text)
        return f"{masked[:limit]}…" if 0 < limit < len(masked) else masked

    def error(self, error: Exception) -> str:
        return self.masked(str(error) if self.shows_values else self._without_values(error))

    def _without_values(self, error: Exception) -> str:
        if isinstance(error, SolutionError):
            return self._exception(error)
        what = str(getattr(error, "what", "The program failed."))
        if isinstance(error, WrongType):
            return f"{what} {self._mismatch(error.why)}"
        if isinstance(error, SandboxCrash):
            place = _AT_LINE.findall(error.why)
            where = self._place(int(place[-1])) if place else ""
            return f"{what} It did so{where}." if where else what
        return what

    def traceback(self, error: Exception) -> str:
        """The traceback in the solution, if values may be passed on; otherwise ""."""
        return self.masked(str(getattr(error, "traceback", ""))) if self.shows_values else ""

    def _exception(self, error: SolutionError) -> str:
        kind = error.exception_type if self._is_known(error.exception_type) else "An exception"
        message = error.what.removeprefix(f"The function raised {error.exception_type}: ")
        text = self._message(error.exception_type, message)
        hint = f" {error.hint}" if error.hint else ""
        return f"{kind}{self._place(error.line)}{f': {text}.' if text else f'. {WITHHELD}'}{hint}"

    def _message(self, kind: str, message: str) -> str:
        """The message, if it is known to quote only declared names; otherwise ""."""
        if kind == "KeyError":
            quoted = (message, message.strip('"').removesuffix(" not in index").strip("[]"))
            name = next((name for name in sorted(self.names) if repr(name) in quoted), None)
            return f"there is no {name!r}" if name is not None else ""
        return next((text for pattern, text in _COMMON_MESSAGES if re.fullmatch(pattern, message, re.DOTALL)), "")

    def _mismatch(self, why: str) -> str:
        """The faults of an output, rebuilt from declared names and dtypes."""
        output = next((name for name in sorted(self.names, key=len, reverse=True) if why.startswith(repr(name))), None)
        if output is None:
            return WITHHELD
        missing, _, rest = why.partition("missing columns ")[2].partition(";")
        faults = [f"no column {name!r}" for name in sorted(self.names) if repr(name) in missing.split(", ")]
        if faults and rest.strip().startswith("the index has that name"):
            faults.append("the index has that name, reset it")
        if extra := _UNDECLARED.search(why):
            kinds = [kind if _DTYPE.fullmatch(kind) else "another dtype" for kind in extra.group(2).split(", ")]
            faults.append(f"{int(extra.group(1))} columns that are not declared, of {', '.join(kinds)}")
        for name in sorted(self.names):
            _, found, after = why.partition(f"column {name!r} is declared ")
            declared, _, dtype = after.partition(" and is ")
            if found and _DTYPE.fullmatch(declared) and (kind := _DTYPE.match(dtype)):
                faults.append(f"column {name!r} is declared {declared} and is {kind.group()}")
        if not faults and "cannot be handed over" in why:
            reason = next((text for phrase, text in _ENCODING_FAULTS if phrase in why), "something that cannot cross")
            faults.append(f"it holds {reason}")
        return f"{output!r}: {'; '.join(faults)}." if faults else f"{output!r} is not what it should be. {WITHHELD}"

    def _place(self, line: int | None) -> str:
        lines = self.code.splitlines()
        return f" in line {line}, `{lines[line - 1].strip()}`" if line and 0 < line <= len(lines) else ""

    def _is_known(self, kind: str) -> bool:
        module, _, name = kind.rpartition(".")
        if not module:
            return isinstance(getattr(builtins, kind, None), type) or kind in self._own_classes
        return (module in _LIBRARIES and name in _LIBRARIES[module]) or kind in _LIBRARIES[""]

    @cached_property
    def _own_classes(self) -> frozenset[str]:
        try:
            tree = parse(self.code)
        except SyntaxError:
            return frozenset()
        return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


_LIBRARIES: dict[str, frozenset[str]] = {
    "pandas.errors": frozenset((
        "MergeError", "ParserError", "EmptyDataError", "IntCastingNaNError", "InvalidIndexError", "DataError",
        "DtypeWarning", "OutOfBoundsDatetime", "OutOfBoundsTimedelta", "UndefinedVariableError", "UnsortedIndexError",
        "IncompatibleFrequency", "SpecificationError", "ChainedAssignmentError", "PerformanceWarning",
    )),
    "numpy.exceptions": frozenset(("AxisError", "DTypePromotionError", "ComplexWarning", "TooHardError")),
    "": frozenset((
        "json.decoder.JSONDecodeError", "decimal.InvalidOperation", "decimal.DivisionByZero", "re.error",
        "re.PatternError", "zoneinfo._common.ZoneInfoNotFoundError", "numpy.linalg.LinAlgError", "_csv.Error",
        "pandas._libs.tslibs.np_datetime.OutOfBoundsDatetime", "pandas._libs.tslibs.parsing.DateParseError",
        "pandas._libs.tslibs.period.IncompatibleFrequency", "pyarrow.lib.ArrowInvalid",
    )),
}  # fmt: skip
"""Exceptions of libraries by module. A program can name its own classes freely, so only full names are accepted."""
