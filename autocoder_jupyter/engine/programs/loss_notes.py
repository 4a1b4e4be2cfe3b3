"""Notes what the calls of an instrumented module lose or multiply.

This is the second part of the program `row_counts`, whose `Follower` calls it. What the notes mean is decided by
`engine.evidence.losses`. A call that cannot be noted is left out.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

MOST_NOTES, MOST_OF_PLACE = 100, 3
MOST_TEXTS, MOST_NAMES, LONGEST_TEXT = 100, 8, 60
MOST_DIFFERENT = 20_000
"""Different values of a column that are looked through."""

SEPARATORS = re.compile(r"[,;|/+&]|\band\b")

KEPT = 8
"""Tables and means that are remembered."""

FIRST_YEAR, LAST_YEAR = 1800, 2200
FEWEST_LABELS = 5

BY_PLACE = frozenset(("diff", "pct_change", "shift", "rolling"))
"""Methods that take the row before for the period before."""

MEANS = frozenset(("mean", "agg", "aggregate"))

PER_ROW_OF_GROUPS = frozenset(("transform", "cumcount", "cumsum", "shift", "diff", "rank", "head", "tail", "ngroup"))


class LossNotes:
    """The notes, each a list of a kind, a place and plain values."""

    def __init__(self) -> None:
        self.notes: list[list[Any]] = []
        self.aggregated = 0
        """The number of notes at the last aggregation."""
        self.filtered = 0
        """The number of notes at the last filter."""
        self._calls: dict[int, int] = {}
        self._frames: list[pd.DataFrame] = []
        self._means: list[tuple[Any, int, int, int]] = []

    def called(
        self, place: int, owner: Any, name: str, given: tuple[Any, ...], named: dict[str, Any], value: Any
    ) -> None:
        """Note a call: `owner.name(*given, **named)` gave `value`."""
        is_table, is_of_groups = isinstance(owner, pd.DataFrame | pd.Series), hasattr(owner, "ngroup")
        if is_of_groups and name not in PER_ROW_OF_GROUPS:
            self.aggregated = len(self.notes)
        if is_table and name in ("sum", "mean", "median", "count", "min", "max", "agg", "pivot_table", "value_counts"):
            self.aggregated = len(self.notes)
        if is_table and name in ("query", "head", "tail", "nlargest", "nsmallest", "drop_duplicates", "sample"):
            self.filtered = len(self.notes)
        note: Callable[..., None] | None = None
        if owner is pd:
            note = {"to_datetime": self._of_parse, "to_numeric": self._of_parse, "merge": self._of_join}.get(name)
        elif is_of_groups:
            note = self._of_group_means if name in MEANS else None
        elif is_table:
            note = {"merge": self._of_join, "join": self._of_join, "groupby": self._of_keys}.get(name)
            note = note or {"dropna": self._of_dropna, "drop_duplicates": self._of_repeated}.get(name)
            note = note or {"reindex": self._of_reindex, "map": self._of_map}.get(name)
            note = note or (self._of_means if name in MEANS else self._of_gaps if name in BY_PLACE else None)
            if name == "query" and given:
                for column, word in _conditions(given[0]):
                    self.compared(place, owner[column], True, [word])
            if name in ("eq", "ne", "isin") and given:
                words = [given[0]] if name != "isin" else given[0]
                self.compared(place, owner, name != "ne", words)
        elif name in ("contains", "startswith", "match", "fullmatch"):
            note = self._of_pattern
        if note is not None:
            self._noted(place, note, owner, name, given, named, value)

    def found(self) -> dict[str, Any]:
        """All that was noted, and after how many notes rows were last aggregated and filtered."""
        return {"notes": self.notes, "aggregated": self.aggregated, "filtered": self.filtered}

    def compared(self, place: int, owner: Any, is_equal: bool, words: Any) -> None:
        """Note a comparison of a column with words."""
        if type(owner) is pd.Series and isinstance(words, list | tuple | set) and 0 < len(words) <= MOST_NAMES:
            self._noted(place, self._of_words, owner, is_equal, words)

    def item(self, owner: Any, key: Any, value: Any) -> None:
        """Note `owner[key]`."""
        if isinstance(owner, pd.DataFrame) and type(value) is pd.Series:
            if not any(one is owner for one in self._frames):
                self._frames = [*self._frames[1 - KEPT :], owner]
        elif isinstance(owner, pd.DataFrame | pd.Series) and type(value) is type(owner) and len(value) < len(owner):
            self.filtered = len(self.notes)

    def _noted(self, place: int, note: Callable[..., None], *given: Any) -> None:
        self._calls[place] = self._calls.get(place, 0) + 1
        if len(self.notes) < MOST_NOTES and self._calls[place] <= MOST_OF_PLACE:
            try:
                note(place, *given)
            except Exception:  # what cannot be noted must not be an error of the function
                return

    # Values

    def _of_parse(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        source = given[0] if given else named.get("arg")
        if not isinstance(source, pd.Series) or type(value) is not pd.Series or len(source) != len(value):
            return
        filled = source.notna() & (source.astype(str).str.strip() != "")
        lost = source[(filled & value.isna()).to_numpy()].astype(str)
        texts = lost.value_counts()
        of, count = int(filled.sum()), len(lost)
        self.notes.append(["parse", place, name == "to_datetime", of, count, _texts(texts.index, MOST_TEXTS, 64)])

    def _of_words(self, place: int, owner: pd.Series, is_equal: bool, words: Sequence[Any]) -> None:
        texts = [one for one in words if isinstance(one, str) and one.strip()]
        counts = owner.value_counts()
        if not texts or len(counts) > MOST_DIFFERENT:
            return
        folded = [text.strip().casefold() for text in texts]
        labels = [label for value in counts.index if isinstance(value, str) for label in set(_labels(value))]
        several = pd.Series(labels, dtype=object).value_counts()
        others = [
            [value[:LONGEST_TEXT], int(count), len(_labels(value)) > 1 and all(several[_labels(value)] > 1)]
            for value, count in counts.items()
            if isinstance(value, str) and value not in texts and any(one in value.casefold() for one in folded)
        ]
        taken = int(owner.isin(texts).sum())
        listed = [text[:LONGEST_TEXT] for text in texts]
        column = "" if owner.name is None else str(owner.name)[:LONGEST_TEXT]
        self.notes.append(["words", place, is_equal, column, listed, taken, others[:MOST_TEXTS]])

    def _of_pattern(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        texts, pattern = owner._parent, given[0] if given else named.get("pat")
        if type(texts) is not pd.Series or type(value) is not pd.Series or not isinstance(pattern, str):
            return
        if named.get("case") is False or named.get("flags") or name != "contains":
            return
        taken = value.fillna(False).to_numpy(dtype=bool)
        is_regex = named.get("regex", True)
        wider = texts.str.contains(pattern, case=False, na=False, regex=is_regex).to_numpy(dtype=bool)
        others = texts[wider & ~taken].value_counts()
        listed = [[str(one)[:LONGEST_TEXT], int(count)] for one, count in others.head(MOST_NAMES).items()]
        self.notes.append(["case", place, pattern[:LONGEST_TEXT], int(taken.sum()), int(others.sum()), listed])

    def _of_map(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        by = given[0] if given else named.get("arg")
        if type(owner) is not pd.Series or not isinstance(by, dict | pd.Series) or type(value) is not pd.Series:
            return
        known = set(by) if isinstance(by, dict) else set(by.index)
        counts = owner.value_counts()
        missed = counts[[label not in known for label in counts.index]]
        rows = [int(owner.notna().sum()), int(missed.sum())]
        self.notes.append(["map", place, *rows, len(counts), len(missed), _texts(missed.index)])

    # Rows

    def _of_dropna(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        if type(owner) is not pd.DataFrame or given or set(named) - {"ignore_index"} or value is None:
            return
        missing = owner.isna()
        gone, lacking = missing.any(axis=1), missing.sum(axis=1)
        alone = {str(column)[:LONGEST_TEXT]: int((missing[column] & (lacking == 1)).sum()) for column in missing}
        most = sorted(alone.items(), key=lambda pair: -pair[1])[:MOST_NAMES]
        self.notes.append(["dropna", place, len(owner), int(gone.sum()), [list(pair) for pair in most]])

    def _of_repeated(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        if type(owner) is pd.DataFrame and not given and named.get("subset") is None and value is not None:
            columns = [str(column)[:LONGEST_TEXT] for column in owner.columns[:200]]
            self.notes.append(["repeated", place, len(owner), len(owner) - len(value), columns])

    def _of_keys(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        numbers = value.ngroup()
        self.notes.append(["keys", place, len(numbers), int((numbers.isna() | (numbers < 0)).sum())])

    def _of_reindex(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        if (not given and "index" not in named and "labels" not in named) or named.get("axis") in (1, "columns"):
            return
        target = given[0] if given else named.get("index", named.get("labels"))
        is_written = isinstance(target, list | tuple | range | pd.DatetimeIndex | pd.PeriodIndex)
        lost, new = owner.index[~owner.index.isin(value.index)], value.index[~value.index.isin(owner.index)]
        self.notes.append(["reindex", place, is_written and len(new) > 0, len(owner), len(lost), _texts(lost)])

    def _of_join(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        found = _joined(owner, name, given, named)
        if found is None:
            return
        (left, ours), (right, theirs), how, label = found
        keys = [f"autocode_key_{number}" for number in range(ours.shape[1])]
        sides = []
        for frame in (ours, theirs):
            frame.columns = keys
            sides.append(frame.dropna().value_counts().rename("rows").reset_index())
        both = sides[0].merge(sides[1], on=keys, how="outer", indicator=True, suffixes=("", "_of_other"))
        missed = [both[both["_merge"] == one] for one in ("left_only", "right_only")]
        rows = [int(missed[0]["rows"].sum()), int(missed[1]["rows_of_other"].sum())]
        counts = [
            [len(table), len(side), len(lone), lost, bool(side["rows"].max() <= 1)]
            for table, side, lone, lost in zip((left, right), sides, missed, rows, strict=True)
        ]
        names = [_texts(_in_one(lone[keys])) for lone in missed]
        near = [{_folded(text) for text in _texts(_in_one(lone[keys]), MOST_DIFFERENT, 200)} for lone in missed]
        is_itself = left is right or (len(ours) == len(theirs) and bool((ours.to_numpy() == theirs.to_numpy()).all()))
        alike = len(near[0] & near[1])
        self.notes.append(["join", place, how, label, *counts, *names, alike, len(value), is_itself])

    # Sequences and means

    def _of_gaps(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        if name == "rolling" and not isinstance(given[0] if given else named.get("window"), int):
            return
        tables = [one for one in [owner, *self._frames] if one.index.is_(owner.index)]
        sequences = [owner.index.to_series()] if not isinstance(owner.index, pd.RangeIndex) else []
        for table in tables:
            sequences += [table[column] for column in table.columns[:50]] if type(table) is pd.DataFrame else []
        if type(owner) is pd.Series and _ordinals(owner) is not None:
            self.notes.append(["looked", place])  # at the steps of the sequence itself
            return
        for sequence in sequences:
            if type(sequence) is not pd.Series or (numbers := _ordinals(sequence)) is None:
                continue
            gaps = np.flatnonzero(np.diff(numbers) > 1)
            missing = int(numbers[-1] - numbers[0] + 1 - len(numbers))
            if len(gaps) and 5 * missing <= len(numbers):
                at = int(gaps[0])
                ends = [str(sequence.iloc[one])[:LONGEST_TEXT].removesuffix(" 00:00:00") for one in (at, at + 1)]
                self.notes.append(["gap", place, name, missing, *ends, int(numbers[at + 1] - numbers[at] - 1)])
            return

    def _of_group_means(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        if name != "mean" and given[:1] != ("mean",):
            return
        sizes = owner.size()
        columns = [value] if type(value) is pd.Series else [value[one] for one in value.columns[:20]]
        for column in columns:
            if column.dtype.kind in "fi" and len(column) > 1 and sizes.min() < sizes.max():
                kept = np.sort(column.dropna().to_numpy()), len(column), int(sizes.min()), int(sizes.max())
                self._means = [*self._means[1 - KEPT :], kept]

    def _of_means(self, place: int, owner: Any, name: str, given: Any, named: dict[str, Any], value: Any) -> None:
        if type(owner) is pd.Series and owner.dtype.kind in "fi" and (name == "mean" or given[:1] == ("mean",)):
            values = np.sort(owner.dropna().to_numpy())
            for means, groups, smallest, largest in self._means:
                if np.array_equal(values, means):
                    self.notes.append(["means", place, groups, smallest, largest])
                    return


def _conditions(query: Any) -> list[tuple[str, str]]:
    """The columns of a query that must equal a text."""
    try:
        nodes = list(ast.walk(ast.parse(query, mode="eval")))
    except (SyntaxError, TypeError, ValueError):
        return []
    found = []
    for node in nodes:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            column, word = node.left, node.comparators[0]
            if isinstance(column, ast.Name) and isinstance(word, ast.Constant) and isinstance(word.value, str):
                found.append((column.id, word.value))
    return found


def _labels(value: str) -> list[str]:
    """The labels in a cell: `rain` and `snow` in `Rain, Snow`."""
    return [label for label in map(str.strip, SEPARATORS.split(value.casefold())) if label]


def _texts(values: Any, most: int = MOST_NAMES, longest: int = LONGEST_TEXT) -> list[str]:
    return [str(value)[:longest].removesuffix(" 00:00:00") for value in list(values[:most])]


def _in_one(keys: pd.DataFrame) -> list[str]:
    return [" / ".join(map(str, row)) for row in keys.itertuples(index=False)]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold().lstrip("0").removesuffix(".0")


def _joined(owner: Any, name: str, given: Any, named: dict[str, Any]) -> Any:
    """The tables of a join with their keys, how they are joined, and the name of the key; None if it has none."""
    if name == "join":
        bound = inspect.signature(pd.DataFrame.join).bind(owner, *given, **named).arguments
        left, right, on = owner, bound.get("other"), bound.get("on")
        if not isinstance(right, pd.DataFrame | pd.Series):
            return None
        ours = left.index.to_frame(index=False) if on is None else left[_listed(on)].reset_index(drop=True)
        theirs, how = right.index.to_frame(index=False), bound.get("how", "left")
        label = " and ".join(map(str, _listed(on) if on is not None else ours.columns))
    else:
        given = given if owner is pd else (owner, *given)
        bound = inspect.signature(pd.merge).bind(*given, **named).arguments
        left, right, how = bound["left"], bound["right"], bound.get("how", "inner")
        on = bound.get("on")
        if on is None and not any(bound.get(one) is not None for one in ("left_on", "right_on")):
            on = [] if bound.get("left_index") else [one for one in left.columns if one in right.columns]
        sides = [
            _keys(table, on or bound.get(f"{side}_on"), is_index=bool(bound.get(f"{side}_index")))
            for table, side in ((left, "left"), (right, "right"))
        ]
        ours, theirs = sides
        label = " and ".join(map(str, ours.columns))
    if how == "cross" or ours.shape[1] != theirs.shape[1] or not ours.shape[1]:
        return None
    return (left, ours), (right, theirs), how, label[:LONGEST_TEXT]


def _keys(table: Any, on: Any, *, is_index: bool) -> pd.DataFrame:
    if is_index:
        return pd.DataFrame(table.index.to_frame(index=False))
    columns = {}
    for number, key in enumerate(_listed(on)):
        if isinstance(key, str | int | tuple):
            levels = table.index.names if isinstance(table, pd.Series) or key not in table.columns else []
            columns[key] = table.index.get_level_values(key) if key in levels else table[key].to_numpy()
        else:
            columns[getattr(key, "name", None) or f"key {number}"] = np.asarray(key)
    return pd.DataFrame(columns)


def _listed(keys: Any) -> list[Any]:
    return list(keys) if isinstance(keys, list | tuple) else [keys]


def _ordinals(sequence: pd.Series) -> Any:
    """The numbers of years, months or days that rise strictly; None if it is no such sequence."""
    if len(sequence) < FEWEST_LABELS or sequence.isna().any():
        return None
    numbers: Any = None
    if pd.api.types.is_integer_dtype(sequence.dtype):
        numbers = sequence.to_numpy(dtype="int64")
        if numbers.min() < FIRST_YEAR or numbers.max() > LAST_YEAR:
            return None
    elif isinstance(sequence.dtype, pd.PeriodDtype):
        numbers = np.array([one.ordinal for one in sequence])
    elif pd.api.types.is_datetime64_any_dtype(sequence.dtype):
        if (sequence.dt.day == 1).all():
            numbers = (12 * sequence.dt.year + sequence.dt.month).to_numpy()
        elif (sequence == sequence.dt.normalize()).all():
            numbers = sequence.dt.tz_localize(None).to_numpy(dtype="datetime64[D]").astype("int64")
    elif sequence.astype(str).str.fullmatch(r"(?:18|19|20|21)\d\d-(?:0[1-9]|1[0-2])").all():
        parts = sequence.astype(str).str.split("-", expand=True).astype("int64")
        numbers = (12 * parts[0] + parts[1]).to_numpy()
    if numbers is None:
        return None
    steps = np.diff(numbers)
    is_regular = steps.min() > 0 and 10 * (steps == 1).sum() >= 7 * len(steps)
    return numbers if is_regular else None
