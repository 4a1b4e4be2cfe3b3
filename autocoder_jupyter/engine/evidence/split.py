"""Finds out how a function may be split: the freest kind for which no comparison speaks against it.

A whole that is refused while its pieces are accepted is a difference, and so is the opposite. What both refuse says
nothing. A kind is only accepted if enough was compared, the sample among it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.engine.evidence.code_numbers import (
    REACH,
    SMALL,
    code_with,
    counts_rows,
    large_enough,
    numbers_in,
    numbers_of,
    small_numbers,
    value_with,
    with_refused_products,
    with_small_products,
)
from autocoder_jupyter.engine.evidence.enlarged import enlarged
from autocoder_jupyter.engine.evidence.pieces import (
    Division,
    below,
    by_groups,
    by_numbers,
    by_rows,
    compared_tables,
    deviation,
    difference,
    numbered,
    tied,
)
from autocoder_jupyter.engine.evidence.plants import planted, plants, spelled, with_rows_planted, words_in
from autocoder_jupyter.engine.evidence.solution_worker import Answer, SolutionStopped, SolutionWorker
from autocoder_jupyter.engine.evidence.table_rows import taken
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import Variation, emptied, trimmed, zeroed
from autocoder_jupyter.engine.evidence.ways import OUTPUT, BranchCondition, Way, watched, way_of
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.settings.parameters import suggestion
from autocoder_jupyter.types import CheckOutcome, InputSpec
from autocoder_jupyter.types.evidence import TIME_IS_UP
from autocoder_jupyter.types.interface import DeclaredSplit, Split, SplitKind, demand
from autocoder_jupyter.untrusted.visible import visible

SECONDS = 120.0
"""Processor time that a check may take, here and in the function. What is not compared by then is not accepted."""

LEAST = 4
"""Comparisons without which no kind is accepted."""

GROWTH = 1.5
"""How much larger the answer to a `merge` may become with four times as many rows."""

_IN_ONE = {"if values were missing in one ": emptied, "if numbers were 0 in one ": zeroed}
"""Changes of one row, or of one group, by their names."""

_SPELLED = "if there were other spellings of "
"""Begins the name of a table whose keys have several spellings."""

MOST_KEYS = 12
MOST_PAIRS = 24

PLANTED_ROWS = 40
"""Rows of a table in which other values are planted."""

MOST_PLANTED = 12
"""Columns in which they are."""

MOST_TRIGGERS = 24
"""Planted values with which a condition has another outcome, that are compared with all others."""

Ask = Callable[[Program, Mapping[str, Any], TimeLimit], Answer]
"""Calls a function: its program, inputs by name, and the limit of the check."""


@dataclass(frozen=True)
class _Kind:
    """A way to split that may hold."""

    kind: SplitKind
    keys: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"groups of {', '.join(self.keys)}" if self.keys else self.kind

    @property
    def words(self) -> str:
        return DeclaredSplit(input="", kind=self.kind, keys=self.keys).words


@dataclass
class _Found:
    """What was compared for one kind."""

    comparisons: int = 0
    on_sample: bool = False
    against: str = ""

    @property
    def is_too_little(self) -> bool:
        return not self.against and (self.comparisons < LEAST or not self.on_sample)


@dataclass
class _Ways:
    """What is known of the conditions of the code, for one kind.

    Args:
        differed: those that had another outcome for a piece than for the whole, whose answers were the same.
        of_parts: those that are decided for each row or group: as often in the pieces together as in the whole.
        reached: those that were reached in any call.
    """

    differed: set[int] = field(default_factory=set)
    of_parts: set[int] = field(default_factory=set)
    reached: set[int] = field(default_factory=set)

    def add(self, whole: Way, parts: Sequence[Way]) -> None:
        """Note the ways of a comparison in which the answers were the same."""
        self.reached |= whole.keys()
        for place, outcomes in whole.items():
            theirs = [part[place] for part in parts if place in part]
            if any(other.keys() != outcomes.keys() for other in theirs):
                self.differed.add(place)
            count = sum(map(sum, (other.values() for other in theirs)))
            if len(theirs) == len(parts) > 1 and count == sum(outcomes.values()):
                self.of_parts.add(place)


@dataclass
class SplitCheck:
    """Checks one function.

    Args:
        output: the name of the output that is compared; a table.
        inputs: the inputs by name, among them the sample of the table that is split.
        limit: what it may take.
        in_order: whether the rows of the answers must have the same order, where the pieces follow each other.
        on_try: is called with each way to split that is tried, in a few words.
    """

    ask: Ask
    program: Program
    output: str
    inputs: Mapping[str, Any]
    table: str
    limit: TimeLimit = field(default_factory=lambda: TimeLimit(SECONDS))
    in_order: bool = True
    on_try: Callable[[str], object] = lambda words: None
    _answers: dict[int, Answer] = field(default_factory=dict)
    _variations: list[Variation] = field(default_factory=list)
    _conditions: Mapping[int, BranchCondition] = field(default_factory=dict)
    _code: str = ""
    _ways: _Ways = field(default_factory=_Ways)
    _rows: int = 0
    _ordered: bool | None = None
    _small: SplitCheck | None = None
    _small_words: str = ""

    def run(self, demanded: DeclaredSplit | None = None) -> Split:
        """The freest kind that holds."""
        tables = {name: value for name, value in self.inputs.items() if isinstance(value, pd.DataFrame | pd.Series)}
        others = {name: value for name, value in self.inputs.items() if name not in tables}
        try:
            self._code = self.program.code
            numbers = [*numbers_in(self._code), *numbers_of(others)]
            watch = watched(self.program, tables)
        except SyntaxError:
            return self._split(_Kind("whole"), 0, {"whole": "its code cannot be read"}, ordered=True)
        self._rows = large_enough(numbers)
        self._variations = list(compared_tables(tables, self.table, self._rows))
        against: dict[str, str] = {}
        comparisons = 0
        try:
            first = self._asked(tables)
            if first.error:
                return self._split(_Kind("whole"), 0, {"whole": f"on the sample: {visible(first.error)}"}, ordered=True)
            self.program, self._conditions = watch.program, watch.conditions
            first = self._whole(0)
            if first.error:
                why = f"its conditions cannot be recorded: {visible(first.error)}"
                return self._split(_Kind("whole"), 0, {"whole": why}, ordered=True)
            self._variations += self._planted()
            small = small_numbers(numbers)
            if small or self._has_large_products(first):
                self._use_small(small, others)
            kinds = [_Kind(demanded.kind, demanded.keys)] if demanded else self._kinds()
            for kind in kinds:
                self.on_try(kind.words)
                found = self._tried(kind)
                comparisons += found.comparisons + bool(found.against)
                if found.is_too_little:
                    found.against = "too little could be compared"
                if not found.against:
                    ordered = self._is_ordered() or (self._small is not None and self._small._is_ordered())
                    return self._split(kind, found.comparisons, against, ordered=ordered)
                if kind.kind not in against:
                    against[kind.kind] = f"{kind.label}: {found.against}"
        except SolutionStopped as ended:
            stopped = {"whole": f"the check did not end: {ended}", **against}
            return self._split(_Kind("whole"), comparisons, stopped, ordered=True).model_copy(
                update={"complete": False}
            )
        return self._split(_Kind("whole"), comparisons, against, ordered=True)

    def on(
        self, tables: Mapping[str, Any], demanded: DeclaredSplit, limit: TimeLimit, divisions: int | None = None
    ) -> str | None:
        """What speaks against a way to split on one input; "" if nothing does, None if nothing was compared.

        Raises:
            SolutionStopped: the time was up.
        """
        self._variations, self.limit = [Variation("", dict(tables))], limit
        self._answers.clear()
        kind = _Kind(demanded.kind, demanded.keys)
        compared: str | None = None
        for division in itertools.islice(self._divisions(kind, tables[self.table]), divisions):
            problem = self._compared(kind, 0, division)
            if problem:
                return problem
            compared = problem if compared is None else compared
        return compared

    def _split(self, kind: _Kind, comparisons: int, against: Mapping[str, str], *, ordered: bool) -> Split:
        return Split(
            input=self.table,
            kind=kind.kind,
            keys=kind.keys,
            ordered=ordered,
            comparisons=comparisons,
            against=dict(against),
        )

    def _kinds(self) -> Iterator[_Kind]:
        """The kinds that may hold, the freest first."""
        yield _Kind("rows")
        table = self._variations[0].tables[self.table]
        if isinstance(table, pd.DataFrame):
            for keys in self._keys(table):
                yield _Kind("groups", keys)
            yield _Kind("merge")

    def _keys(self, table: pd.DataFrame) -> Iterator[tuple[str, ...]]:
        """Columns that the code reads, those with more values first; pairs; all of them."""
        reads = columns_read(self._code, self.program.inputs)
        sizes = {
            name: _values_of(table[name])
            for name in table.columns
            if reads.covers(repr(name)) and _is_name(table, name)
        }
        names = sorted((name for name in sizes if sizes[name] > 1), key=lambda name: -sizes[name])[:MOST_KEYS]
        in_table = [name for name in table.columns if name in names]
        yield from ((name,) for name in names)
        yield from itertools.islice(itertools.combinations(in_table, 2), MOST_PAIRS)
        if len(in_table) > 2:
            yield tuple(in_table)

    def _tried(self, kind: _Kind) -> _Found:
        """Compare on all tables, until one speaks against the kind, and then look at the conditions of the code."""
        self._ways = _Ways()
        found = self._compared_all(kind)
        if not found.against and not found.is_too_little and (unproven := self._unproven()):
            found.against = f"whether {unproven} may differ between a piece and the whole, and no comparison shows it"
        return found

    def _compared_all(self, kind: _Kind) -> _Found:
        found = _Found()
        added = self._add_odd_pieces(kind)
        places = list(range(len(self._variations)))
        if added:  # they speak against many kinds, so they are tried soon
            places[1:] = [*places[-added:], *places[1:-added]]
        for place in places:
            variation = self._variations[place]
            for division in self._divisions(kind, variation.tables[self.table], variation.pieces):
                problem = self._compared(kind, place, division)
                if problem is None:
                    continue
                if problem:
                    found.against = f"{variation.name + ', ' if variation.name else ''}{division.name}: {problem}"
                    return found
                found.comparisons += 1
                found.on_sample = found.on_sample or place == 0
        if found.is_too_little:
            return found
        if self._small_words:
            found.against = self._with_small(kind)
        if kind.kind == "merge" and not found.against and self._small is None:
            found.against = self._growth()
        return found

    def _add_odd_pieces(self, kind: _Kind) -> int:
        """Add tables of which the first row, or the first group, has nothing but keys, or only zeros: a column that is
        left out if it is empty, or if it has only zeros, is then not in each piece. Returns how many there are.
        """
        before = [each for each in self._variations if not each.name.startswith((*_IN_ONE, _SPELLED))]
        for place in range(len(before), len(self._variations)):
            self._answers.pop(place, None)
        self._variations = before
        tables = before[0].tables
        table, first = trimmed(tables[self.table]), np.arange(1)
        if kind.keys:
            groups, _, missing = numbered(table, kind.keys)
            first = np.flatnonzero((groups == 0) & ~missing)
        added = []
        for words, change in _IN_ONE.items():
            changed = change(table, first) if len(table) else None
            if changed is not None:
                if kind.keys:
                    changed = changed.assign(**{key: table[key] for key in kind.keys})
                name = f"{words}{'group' if kind.keys else 'row'}"
                added.append(Variation(name, {**tables, self.table: changed}))
        added += self._spelled(kind.keys)
        self._variations = [*before, *added]
        return len(added)

    def _spelled(self, keys: Sequence[str]) -> Iterator[Variation]:
        """Tables whose keys have several spellings: all of them, or each alone if the function refuses one."""
        tables = self._variations[0].tables
        table = taken(tables[self.table], np.arange(min(len(tables[self.table]), PLANTED_ROWS)))
        words = words_in(self._code, list(table.columns) if keys else ())
        for key in keys:
            made = spelled(table, key, self._code, words)
            if made is None:
                continue
            together, numbers = made
            label = f"{_SPELLED}{key}"
            if not self._asked({**tables, self.table: together}).error:
                yield Variation(label, {**tables, self.table: together}, pieces=numbers)
                continue
            for number in range(1, int(numbers.max()) + 1):
                rows = np.flatnonzero((numbers == 0) | (numbers == number))
                yield Variation(label, {**tables, self.table: taken(together, rows)}, pieces=numbers[rows])

    def _planted(self) -> list[Variation]:
        """Tables with one row that takes another way through the code than the others, and a table with all values that
        do not.
        """
        tables = self._variations[0].tables
        if not isinstance(table := tables[self.table], pd.DataFrame) or not len(table):
            return []
        table = taken(table, np.arange(min(len(table), PLANTED_ROWS)))
        reads = columns_read(self._code, self.program.inputs)
        names = [name for name in table.columns if reads.covers(repr(name)) and _is_name(table, name)][:MOST_PLANTED]
        words = words_in(self._code, names)
        given = [(name, value) for name in names for value in plants(self._code, table[name], words)]
        usual = self._asked({**tables, self.table: table})
        together = self._all_planted(tables, table, given)
        if together is not None and not self._reached(self._asked(together.tables)) and not self._reached(usual):
            return [together]  # there is no other way, so all may be in one table
        quiet, triggers = list[tuple[str, Any]](), list[tuple[str, Any]]()
        for name, value in given:
            changed = planted(table, 0, name, value)
            answer = Answer(error="-") if changed is None else self._asked({**tables, self.table: changed})
            if not answer.error:
                flips = not usual.error and self._differing(usual, answer)
                (triggers if flips else quiet).append((name, value))
        together = self._all_planted(tables, table, quiet)
        ordinary = table if together is None else together.tables[self.table]
        found = [] if together is None else [together]
        for name, value in triggers[:MOST_TRIGGERS]:
            for base in (ordinary, table):
                changed = planted(base, 0, name, value)
                if changed is not None and not self._asked({**tables, self.table: changed}).error:
                    found.append(self._one_planted(tables, changed, name))
                    break
        for name, value in quiet if together is None else ():
            if (changed := planted(table, 0, name, value)) is not None:
                found.append(self._one_planted(tables, changed, name))
        return found

    def _all_planted(self, tables: Mapping[str, Any], table: Any, given: Sequence[tuple[str, Any]]) -> Variation | None:
        """The table with a further row for each value; None if the function refuses it."""
        if not given:
            return None
        whole = {**tables, self.table: with_rows_planted(table, given)}
        pieces = np.r_[np.zeros(len(table), dtype="int64"), 1 + np.arange(len(given)) % 2]
        return None if self._asked(whole).error else Variation("if there were other values", whole, pieces=pieces)

    def _one_planted(self, tables: Mapping[str, Any], changed: Any, name: str) -> Variation:
        pieces = np.minimum(np.arange(len(changed)), 1)
        return Variation(f"if {name} had another value in one row", {**tables, self.table: changed}, pieces=pieces)

    def _reached(self, answer: Answer) -> set[int]:
        """The conditions that the call came to."""
        return set() if answer.error else self._conditions.keys() & _way(answer).keys()

    def _differing(self, one: Answer, other: Answer) -> set[int]:
        """The conditions that had other outcomes, those of rows and groups too."""
        first, second = (way_of(answer.values[OUTPUT]) for answer in (one, other))
        return {place for place in self._conditions if first.get(place, {}).keys() != second.get(place, {}).keys()}

    def _unproven(self) -> str:
        """A condition whose outcome may depend on which rows are there, although it never did; "" if there is none."""
        ways = self._ways
        for place in sorted((self._conditions.keys() & ways.reached) - ways.differed - ways.of_parts):
            condition = self._conditions[place]
            if not (condition.asks_if_empty and self._has_nothing_for_nothing(place)):
                return condition.words
        return ""

    def _has_nothing_for_nothing(self, place: int) -> bool:
        """Whether the answer for no rows has no rows, and the condition another outcome than for the sample."""
        tables, whole = self._variations[0].tables, self._whole(0)
        nothing = self._asked({**tables, self.table: tables[self.table].iloc[:0]})
        if nothing.error or len(nothing.values[self.output]):
            return False
        same_columns = not deviation(whole.values[self.output], [nothing.values[self.output]])
        return same_columns and place in self._differing(whole, nothing)

    def _use_small(self, small: Mapping[int | float, int], others: Mapping[str, Any]) -> None:
        """Prepare the same check with small numbers in place of those that no table reaches.

        *The first 300,000 rows* may not be split by rows, which only a larger table shows, or a smaller number.
        """
        old, new = (", ".join(f"{number:,}" for number in numbers) for numbers in (small, small.values()))
        self._small_words = f"with {new} in place of {old}" if small else "with small products of numbers"
        try:
            code = code_with(self.program.code, small) if small else self.program.code
            code = with_small_products(code, self._rows / REACH, SMALL) or code
        except SyntaxError:
            return
        inputs = {**self.inputs, **value_with(others, small)}
        check = replace(self, program=replace(self.program, code=code), inputs=inputs, _answers={}, _small_words="")
        if not check._whole(0).error:
            self._small = check

    def _has_large_products(self, answer: Answer) -> bool:
        """Whether the function multiplies numbers, not columns, and gets one that no table reaches."""
        try:
            code = with_refused_products(self.program.code, self._rows / REACH, "a large product")
        except SyntaxError:
            return False
        if not code:
            return False
        found = self._asked_of(replace(self.program, code=code), self._variations[0].tables)
        if found.error:
            return True
        return bool(difference(answer.values[self.output], found.values[self.output], in_order=True))  # it was caught

    def _with_small(self, kind: _Kind) -> str:
        """What speaks against a kind if numbers are small, see `_use_small`; "" for nothing.

        If the function then fails, or gives nothing to compare, such a number is taken for a limit if rows are counted.
        """
        if self._small is not None:
            self._small._ways = self._ways
            found = self._small._compared_all(kind)
            if not found.is_too_little:
                return found.against and f"{self._small_words}, {found.against}"
        counted = counts_rows(self._code)
        return counted and f"{self._small_words} it shows nothing, and its code counts rows ({counted})"

    def _divisions(self, kind: _Kind, table: Any, pieces: Any = None) -> Iterable[Division]:
        if pieces is None and kind.kind == "groups":
            return by_groups(table, kind.keys)
        divisions = by_rows(len(table)) if pieces is None else by_numbers(table, pieces, kind.keys)
        ordered = kind.kind == "merge" and self._is_ordered()
        return (division for division in divisions if division.in_order or not ordered)

    def _compared(self, kind: _Kind, place: int, division: Division) -> str | None:
        """What speaks against the kind here: "" for nothing, None if nothing was compared."""
        whole, variation = self._whole(place), self._variations[place]
        table = variation.tables[self.table]
        parts, ways = [], []
        for piece in division.pieces:
            part = self._asked({**variation.tables, self.table: taken(table, piece)})
            if part.error and (variation.pieces is not None or variation.name.startswith(tuple(_IN_ONE))):
                return None  # to refuse a piece without any values, or with odd ones, is not a wrong answer
            if part.error:
                return None if whole.error else f"a piece is refused ({visible(part.error)[:120]}), the whole is not"
            parts.append(part.values[self.output])
            ways.append(_way(part))
        if whole.error:
            return f"the whole is refused ({visible(whole.error)[:120]}), its pieces are not"
        answer = whole.values[self.output]
        if problem := deviation(answer, parts):
            return problem
        together = below(parts)
        if kind.kind == "merge":
            merged = self._asked({**variation.tables, self.table: together})
            if merged.error:
                return f"its answer is refused as an input ({visible(merged.error)[:120]})"
            together = merged.values[self.output]
        in_order = self.in_order and kind.kind != "groups" and division.in_order
        problem = difference(answer, together, in_order=in_order)
        if not problem:
            self._ways.add(_way(whole), ways)
        return problem or ("" if len(answer) else None)  # an answer without rows says nothing

    def _growth(self) -> str:
        """What shows that the answer of a merge grows with the table; "" if it does not."""
        tables = self._variations[0].tables
        base, few, many = trimmed(tables[self.table]), self._rows // 4, self._rows
        for name in ("other", "similar"):
            sizes = []
            for rows in (few, many):
                answer = self._asked({**tables, self.table: enlarged(base, rows, is_similar=name == "similar")})
                if answer.error:
                    return f"{rows:,} rows with {name} values: {visible(answer.error)[:120]}"
                sizes.append(len(answer.values[self.output]))
            if sizes[1] > GROWTH * max(sizes[0], 1):
                return f"its answer grows with the table: {sizes[0]:,} rows, {sizes[1]:,} for four times as many"
        return ""

    def _is_ordered(self) -> bool:
        if self._ordered is None:
            self._ordered = self._depends_on_order()
        return self._ordered

    def _depends_on_order(self) -> bool:
        """Whether the answer depends on the order of the rows of the table."""
        for place, variation in enumerate(self._variations):
            if self._depends_on_order_of(self._whole(place), variation.tables):
                return True
        tables = self._variations[0].tables
        return any(
            self._depends_on_order_of(self._asked(with_ties), with_ties)
            for with_ties in ({**tables, self.table: table} for table in tied(tables[self.table]))
        )

    def _depends_on_order_of(self, whole: Answer, tables: Mapping[str, Any]) -> bool:
        """Whether the answer for these tables is another one if the rows are shuffled."""
        table = tables[self.table]
        if whole.error or len(table) < 2:
            return False
        shuffled = self._asked({**tables, self.table: taken(table, np.random.default_rng(0).permutation(len(table)))})
        if shuffled.error:
            return True
        one, other = whole.values[self.output], shuffled.values[self.output]
        return bool(deviation(one, [other]) or difference(one, other, in_order=False))

    def _whole(self, place: int) -> Answer:
        if place not in self._answers:
            self._answers[place] = self._asked(self._variations[place].tables)
        return self._answers[place]

    def _asked(self, tables: Mapping[str, Any]) -> Answer:
        return self._asked_of(self.program, tables)

    def _asked_of(self, program: Program, tables: Mapping[str, Any]) -> Answer:
        if self.limit.is_over:
            raise SolutionStopped(TIME_IS_UP)
        return self.ask(program, {**self.inputs, **tables}, self.limit)


def _way(answer: Answer) -> Way:
    return way_of(answer.values[OUTPUT]) if OUTPUT in answer.values else {}


def _is_name(table: pd.DataFrame, name: Any) -> bool:
    return isinstance(name, str) and isinstance(table[name], pd.Series)


def _values_of(column: Any) -> int:
    """How many values a column has; 0 if it is not a key, as measured numbers and lists are not."""
    if column.dtype.kind in "fc":
        return 0
    try:
        return int(column.nunique())
    except TypeError:
        return 0


# A split that the user demands
#
# It is a condition of success, which is checked in each attempt that runs on the sample.

_LONGEST_MESSAGE = 500
"""Characters of a counter-example."""


def largest_table(inputs: Iterable[InputSpec], values: Mapping[str, Any]) -> str:
    """The table that is split: the one with the most rows, the first if two have as many; "" if there is none."""
    tables = [spec.name for spec in inputs if isinstance(values.get(spec.name), pd.DataFrame | pd.Series)]
    return max(tables, key=lambda name: len(values[name]), default="")


def require_split_columns(text: str, inputs: Iterable[InputSpec], samples: Mapping[str, Any]) -> None:
    """Check that a demanded split names columns of the table that is split."""
    split = declared(text, inputs, samples)
    if not split.input:
        raise InvalidRequest(
            f"--split {visible(text)} needs a table as a sample.", hint="Name one in the request: @orders."
        )
    require_keys(split, samples[split.input])


def declared(text: str, inputs: Iterable[InputSpec], samples: Mapping[str, Any]) -> DeclaredSplit:
    """A demanded split with the table that is split, which is "" if no sample is one."""
    kind, keys = demand(text)
    return DeclaredSplit(input=largest_table(inputs, samples), kind=kind, keys=keys)


def require_keys(split: DeclaredSplit, table: Any) -> None:
    """Check that a table has the keys of a split.

    Raises:
        InvalidRequest: it lacks one.
    """
    names = [str(name) for name in table.columns] if isinstance(table, pd.DataFrame) else []
    for key in split.keys:
        if key not in names:
            hint = suggestion(key, names) or f"Its columns: {', '.join(map(visible, names[:20])) or 'none'}."
            what = f"--split {split.kind}:{','.join(map(visible, split.keys))}"
            raise InvalidRequest(f"{what}: {visible(split.input)} has no column {visible(key)!r}.", hint=hint)


async def run_split(
    session: SandboxSession, text: str, program: Program, samples: Mapping[str, Any], redaction: Redaction
) -> tuple[CheckOutcome, ...]:
    """Compare the answers for whole tables with those for their pieces, for each output that is a table.

    The model will see the messages; `redaction` decides what they may contain.
    """
    if not text:
        return ()
    demanded = declared(text, program.inputs, samples)
    name = f"{demanded.input} may be split: {demanded.words}"
    outputs = [spec.name for spec in program.outputs if spec.type == "DataFrame"]
    if not outputs or len(outputs) < len(program.outputs):
        message = "only tables can be put together from pieces, and it returns something else"
        return (CheckOutcome(name=name, passed=False, message=message),)

    def work(worker: Worker) -> list[Split]:
        side = SolutionWorker("the function", worker, program)
        return [
            SplitCheck(side.running, program, output, dict(samples), demanded.input).run(demanded) for output in outputs
        ]

    found = await session.work(work)
    against = next((split for split in found if split.kind == "whole"), None)
    if against is None:
        order = "counts" if any(split.ordered for split in found) else "does not count"
        message = f"{sum(split.comparisons for split in found)} comparisons; the order of rows {order}"
        return (CheckOutcome(name=name, passed=True, message=message),)
    message = redaction.words(against.counterexample, _LONGEST_MESSAGE)
    return (CheckOutcome(name=name, passed=False, message=message or "pieces give another answer than the whole"),)
