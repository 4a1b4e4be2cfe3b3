"""What a program can find out about cells that are not shown to it.

A program gets tables that differ only in what is not shown. Whatever it does, it must see the same: names, dtypes,
figures, cells, errors and their messages. Then nothing that it sees says anything about these cells.

- `schema`: the other tables have other rows, and another number of them.
- `stats`: in the other tables each column is shuffled on its own, so no cell is in the row of the same other cells.
- a masked column: it has other cells in the other tables.
- a hidden column: the other tables do not have it.
"""

from __future__ import annotations

import datetime as dt
import functools
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.codemode import Limits
from autocoder_jupyter.codemode.operations import AGGREGATES, OPERATORS
from autocoder_jupyter.codemode.tables import FailedOnData, Frame, MemoryBudget, NotShared, Visibility, frame_of
from autocoder_jupyter.settings.config import Share
from tests.cases import each as each_case
from tests.codemode.conftest import Ask, block, error_of

Tables = Mapping[str, pd.DataFrame]

NAMES = ["Ann", "Bob", "Cem", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Lea"]
PEOPLE = pd.DataFrame(
    {
        "name": NAMES,
        "dept": ["a"] * 6 + ["b"] * 5 + ["c"],
        "sex": ["f", "m"] * 6,
        "salary": [51.5, 62.25, 73.0, 84.75, 95.5, 16.25, 27.0, 38.75, 49.5, 50.25, 61.0, 972.75],
        "age": [31, 42, 53, 24, 35, 46, 57, 28, 39, 40, 51, 62],
        "boss": [None, "Ann", "Ann", "Ann", "Bob", "Bob", "Bob", "Cem", "Cem", "Cem", "Cem", "Lea"],
        "since": pd.to_datetime(["2020-01-01"] * 6 + ["2021-06-01"] * 5 + ["NaT"]),
        "paid": [Decimal(number) for number in range(12)],
        "level": pd.Categorical(["low"] * 6 + ["mid"] * 5 + ["top"], ["low", "mid", "top"], ordered=True),
        "mixed": ["x", 1, 2.5, None, True, "y", 3, 4, "z", 5, 6, 7],
        "active": [True] * 11 + [False],
        "odd": ["x", 1] * 6,
        "email": [f"{name.lower()}@example.org" for name in NAMES],
    }
)
DEPTS = pd.DataFrame({"dept": ["a", "b", "d"], "budget": [100, 200, 300], "salary": [1.5, 2.5, 3.5]})
TABLES = {"people": PEOPLE, "depts": DEPTS}


def shuffled(table: pd.DataFrame) -> pd.DataFrame:
    """Each column in an order of its own."""
    chance = np.random.default_rng(5)
    return pd.DataFrame({name: table[name].take(chance.permutation(len(table))).array for name in table})


def with_other_rows(table: pd.DataFrame) -> pd.DataFrame:
    """A table with the same columns and dtypes."""
    return pd.concat([shuffled(table).iloc[:4]] * 3 + [table.iloc[-1:]], ignore_index=True)


def without_salary(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(columns=["salary"])


def with_other_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Other cells in the columns that are masked below; some become missing, others do not."""
    changed: dict[str, Any] = {}
    if "email" in table:
        changed["email"] = pd.Series([None, *["x@example.org" * 50] * (len(table) - 1)], dtype=table["email"].dtype)
    if "salary" in table:
        changed["salary"] = pd.Series([1.0, *[float("nan")] * (len(table) - 1)])
    if "level" in table:
        changed["level"] = pd.Categorical(["low"] * len(table), ["low"], ordered=True)
    return table.assign(**changed)


@dataclass(frozen=True)
class World:
    """What may be seen, and how tables can differ without a difference in it."""

    visibility: Visibility
    other: Callable[[pd.DataFrame], pd.DataFrame]

    def frames(self, *, changed: bool, limit: int | None = None) -> dict[str, Frame]:
        memory = MemoryBudget(limit)
        return {
            name: frame_of(self.other(table) if changed else table, name, self.visibility, memory, passed=True)
            for name, table in TABLES.items()
        }


MASKED_COLUMNS = frozenset({"email", "salary", "level"})
WORLDS = {
    "schema": World(Visibility("schema"), with_other_rows),
    "stats": World(Visibility("stats"), shuffled),
    "masked": World(Visibility("rows", mask=MASKED_COLUMNS), with_other_cells),
    "masked and stats": World(Visibility("stats", mask=MASKED_COLUMNS), with_other_cells),
    "hidden": World(Visibility("rows", hide=frozenset({"salary"})), without_salary),
    "hidden and stats": World(Visibility("stats", hide=frozenset({"salary"})), without_salary),
}


def seen_of(frame: Frame) -> list[Any]:
    """Everything that a program sees of a frame."""
    seen: list[Any] = [frame.columns, frame.dtypes]
    for look in (frame.count, lambda: frame.head(100), frame.scalar, lambda: frame.scalar(frame.columns[-1])):
        seen.append(outcome_of(look))
    return seen


def outcome_of(work: Callable[[], Any]) -> Any:
    """What a program sees of an operation."""
    try:
        made = work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return seen_of(made) if isinstance(made, Frame) else repr(made)


def each(values: Iterable[Any], work: Callable[[Any], Any]) -> list[Any]:
    """What a program sees of an operation with each of these values."""
    return [outcome_of(functools.partial(work, value)) for value in values]


Attack = Callable[[Frame, Frame], Any]


def largest(frame: Frame, column: str) -> Frame:
    return frame.sort(column, descending=True)


def repeated(frame: Frame, key: str, times: int) -> Frame:
    for _ in range(times):
        frame = frame.select("name", "dept", "sex").join(frame, key)
    return frame


def misused(people: Any, frame: Any) -> list[Any]:
    """What a program sees if it passes a frame where none belongs."""
    calls: list[Callable[[], Any]] = [
        lambda: people.head(frame),
        lambda: people.scalar(frame),
        lambda: people.filter(frame, "==", 1),
        lambda: people.filter("name", frame, 1),
        lambda: people.filter("name", "==", frame),
        lambda: people.select(frame),
        lambda: people.select(["name", frame]),
        lambda: people.sort(frame),
        lambda: people.sort("age", frame),
        lambda: people.aggregate(frame),
        lambda: people.aggregate({"x": frame}),
        lambda: people.aggregate({"x": (frame, "sum")}),
        lambda: people.aggregate({"x": ("age", frame)}),
        lambda: people.aggregate({"x": ("age", "sum")}, by=frame),
        lambda: people.join(frame, frame),
        lambda: people.join(frame, "dept", frame),
    ]
    return each(calls, lambda call: call())


ATTACKS: dict[str, Attack] = {
    "a table is joined with itself on a repeated key": lambda people, _: people.join(people, "sex").aggregate(
        {"x": ("salary", "max")}, by="name"
    ),
    "a join makes ten rows of one": lambda people, _: (
        people.filter("name", "==", "Ann").join(people, "dept").aggregate({"x": ("salary", "mean")})
    ),
    "the rows of a filter are counted": lambda people, _: (
        people.filter("name", "==", "Ann").filter("salary", ">", 50).count()
    ),
    "all rows but one are counted": lambda people, _: people.filter("name", "!=", "Ann").aggregate(
        {"x": ("salary", "sum"), "y": ("salary", "count")}
    ),
    "two filters differ in one row": lambda people, _: each(
        [[31, 42, 53, 24, 35, 46], [42, 53, 24, 35, 46]],
        lambda ages: people.filter("age", "in", ages).aggregate({"x": ("salary", "sum")}),
    ),
    "a beginning is tried": lambda people, _: each(
        ["a", "an", "b", "x"], lambda text: people.filter("email", "starts with", text).count()
    ),
    "an ending is tried": lambda people, _: people.filter("email", "ends with", "n@example.org").count(),
    "a part is tried": lambda people, _: people.filter("email", "contains", "ann").select("name").head(),
    "a cell is compared": lambda people, _: people.filter("salary", ">=", 80).select("name").head(20),
    "cells are listed": lambda people, _: people.filter("email", "in", ["ann@example.org"]).select("name").head(),
    "missing cells are found": lambda people, _: people.filter("email", "is null").select("name").head(20),
    "missing cells are counted by name": lambda people, _: people.aggregate({"x": ("email", "count")}, by="name"),
    "different cells are counted by group": lambda people, _: people.aggregate({"x": ("email", "nunique")}, by="sex"),
    "rows are sorted by cells": lambda people, _: largest(people, "salary").select("name").head(1),
    "rows are sorted after others": lambda people, _: people.sort(["sex", "salary"]).select("name").head(20),
    "groups of one row": lambda people, _: people.aggregate({"x": ("salary", "sum")}, by="name"),
    "groups of several columns": lambda people, _: people.aggregate({"x": ("salary", "sum")}, by=["dept", "sex"]),
    "groups of enough rows": lambda people, _: people.filter("dept", "in", ["a", "b"]).aggregate(
        {"x": ("salary", "max"), "y": ("salary", "median"), "z": ("salary", "sum")}, by="dept"
    ),
    "groups that overlap": lambda people, _: each(
        ["dept", "sex", "active"], lambda key: people.aggregate({"x": ("age", "sum")}, by=key)
    ),
    "groups by cells": lambda people, _: people.aggregate({"x": ("name", "min")}, by="salary"),
    "figures of groups are joined to rows": lambda people, _: people.join(
        people.aggregate({"x": ("salary", "sum")}, by="name"), "name"
    ),
    "a figure has the name of a column": lambda people, _: people.aggregate({"salary": ("age", "sum")}),
    "a figure with this name is joined": lambda people, _: people.join(
        people.aggregate({"salary": ("age", "sum"), "email": ("age", "max")}, by="name"), "name"
    ),
    "a join renames a column": lambda people, depts: people.join(depts, "dept", "left"),
    "a join renames it twice": lambda people, depts: people.join(depts, "dept").join(depts, "dept"),
    "a column is named as it would be after a join": lambda people, depts: depts.aggregate(
        {"salary_right": ("budget", "sum")}, by="dept"
    ).join(people.join(depts, "dept"), "dept"),
    "a key is a cell": lambda people, _: people.join(people, "email").count(),
    "a key is missing": lambda people, _: people.join(people, "boss", "outer").count(),
    "a join without a partner changes a dtype": lambda people, _: (
        people.select("name", "age").join(people.filter("salary", ">", 90).select("name", "age"), "name", "left").dtypes
    ),
    "the rows of a join are too many": lambda people, _: repeated(people.filter("salary", ">", 90), "sex", 12),
    "the dtype of the largest cell": lambda people, _: people.aggregate({"x": ("mixed", "max"), "y": ("boss", "min")}),
    "the sum of objects": lambda people, _: people.aggregate({"x": ("mixed", "sum")}),
    "the sum of texts": lambda people, _: people.aggregate({"x": ("name", "sum")}),
    "objects are compared": lambda people, _: people.filter("mixed", "<", 3),
    "objects are sorted": lambda people, _: people.sort("mixed"),
    "categories are compared": lambda people, _: each(
        ["low", "top", "none"], lambda text: people.filter("level", "<", text)
    ),
    "the largest text": lambda people, _: people.aggregate({"x": ("name", "max"), "y": ("email", "min")}),
    "all figures of a column": lambda people, _: each(
        [(column, how) for column in people.columns for how in AGGREGATES],
        lambda figure: people.aggregate({"x": figure}),
    ),
    "the values of each column": lambda people, _: each(
        people.columns, lambda column: people.aggregate({"x": (column, "count")}, by=column)
    ),
    "a time is no time": lambda people, _: people.filter("since", ">", "not a time"),
    "a hidden name is tried": lambda people, _: people.filter("salary", ">", 1),
    "a frame is a value of a list": lambda people, depts: people.filter("name", "in", [depts]),
    "a frame is an argument that is quoted": lambda people, depts: misused(people, depts),
    "nothing is left": lambda people, _: people.filter("salary", "<", -1).scalar("name"),
}


@each_case("world", WORLDS)
@each_case("attack", ATTACKS)
def test_a_program_sees_the_same_of_tables_that_differ_in_what_is_not_shown(world: str, attack: str) -> None:
    seen = []
    for changed in (False, True):
        frames = WORLDS[world].frames(changed=changed)
        seen.append(outcome_of(functools.partial(ATTACKS[attack], frames["people"], frames["depts"])))
    assert seen[0] == seen[1]


@each_case("world", WORLDS)
@each_case("seed", [0, 1, 1094])  # in the last one the tables fill their memory
def test_any_chain_of_operations_sees_the_same(world: str, seed: int) -> None:
    seen = [chain(WORLDS[world].frames(changed=changed, limit=200_000), seed) for changed in (False, True)]
    assert seen[0] == seen[1]


def chain(frames: dict[str, Frame], seed: int, steps: int = 35) -> list[Any]:
    """Random operations on the frames and on those that they make. Their choice depends only on what is seen."""
    chance = random.Random(seed)
    known, seen = list(frames.values()), []
    values = [*NAMES, "a", "b", "m", "low", "@", 1, 50, 61.0, 0, True, None, dt.datetime(2021, 1, 1), Decimal(3)]

    def step() -> Any:
        frame = chance.choice(known)
        names = chance.sample(frame.columns, min(len(frame.columns), chance.choice((1, 1, 1, 2))))
        column = chance.choice([*frame.columns, "salary"])
        match chance.choice(("filter", "filter", "sort", "aggregate", "aggregate", "join", "join", "select")):
            case "filter":
                operator = chance.choice(OPERATORS)
                some = chance.sample(values, 3)
                return frame.filter(column, operator, some if operator in ("in", "not in") else some[0])
            case "sort":
                return frame.sort(names, chance.random() < 0.5)
            case "aggregate":
                new = chance.choice(("x", "salary", "email", "salary_right"))
                how = chance.choice(AGGREGATES)
                return frame.aggregate({new: (column, how)}, by=chance.choice(((), names, [column])))
            case "join":
                other = chance.choice(known)
                shared = [name for name in frame.columns if name in other.columns] or names
                return frame.join(other, chance.choice(shared), chance.choice(("inner", "left", "right", "outer")))
            case _:
                return frame.select(*names, column)

    for _ in range(steps):
        made: list[Frame] = []

        def kept(made: list[Frame] = made) -> Any:
            made.append(step())
            return made[0]

        seen.append(outcome_of(kept))
        known += made
    return seen


def test_where_statistics_are_shared_those_of_whole_columns_are_seen() -> None:
    people = WORLDS["stats"].frames(changed=False)["people"]
    assert people.count() == 12
    figures = {"n": ("boss", "count"), "u": ("boss", "nunique"), "s": ("age", "sum"), "m": ("age", "mean")}
    one = people.select("boss", "age").aggregate({**figures, "d": ("age", "std")})
    assert one.head() == [
        {"n": 11, "u": 4, "s": 508, "m": PEOPLE["age"].mean(), "d": pytest.approx(PEOPLE["age"].std())}
    ]
    assert one.sort("n").filter("s", ">", 1).scalar("m") == PEOPLE["age"].mean()
    by = people.aggregate({"n": ("sex", "count")}, by="sex")
    assert by.sort("sex").head() == [{"sex": "f", "n": 6}, {"sex": "m", "n": 6}]


@each_case(
    "work",
    [
        lambda people: people.head(1),
        lambda people: people.filter("sex", "==", "f").count(),
        lambda people: people.sort("name").count(),
        lambda people: people.aggregate({"x": ("salary", "sum")}).scalar(),  # one cell is larger than all others
        lambda people: people.aggregate({"x": ("age", "max")}).scalar(),
        lambda people: people.aggregate({"x": ("age", "median")}).scalar(),
        lambda people: people.aggregate({"x": ("name", "min")}).scalar(),
        lambda people: people.aggregate({"x": ("dept", "count")}, by="dept").head(),  # one occurs once
        lambda people: people.aggregate({"x": ("age", "count")}, by="sex").head(),
        lambda people: people.aggregate({"x": ("age", "sum")}, by="sex").head(),
        lambda people: people.join(people, "sex").count(),
    ],
)
def test_where_statistics_are_shared_other_figures_are_not_seen(work: Callable[[Frame], Any]) -> None:
    with pytest.raises(NotShared, match=r"only statistics are shared here.*A tool can take this table"):
        work(WORLDS["stats"].frames(changed=False)["people"])


def test_a_sum_of_few_cells_is_not_seen() -> None:
    few = frame_of(pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, *[None] * 9]}), "few", Visibility("stats"), passed=True)
    with pytest.raises(NotShared):
        few.aggregate({"x": ("x", "sum")}).scalar()


def test_of_a_table_that_a_tool_made_no_statistics_are_seen() -> None:
    made = frame_of(PEOPLE, "load/0", Visibility("stats"))
    for work in (made.count, made.aggregate({"x": ("age", "sum")}).scalar):
        with pytest.raises(NotShared):
            work()


def test_a_table_that_is_not_seen_is_made_all_the_same() -> None:
    for world in ("schema", "stats", "masked"):
        people = WORLDS[world].frames(changed=False)["people"]
        made = people.filter("salary", ">", 60).aggregate({"top": ("salary", "max")}, by="sex").released()
        assert made.to_dict("list") == {"sex": ["f", "m"], "top": [95.5, 972.75]}


def test_masked_and_hidden_columns_leave_with_their_cells() -> None:
    visibility = Visibility(hide=frozenset({"salary"}), mask=frozenset({"email"}))
    people = frame_of(PEOPLE, "people", visibility)
    made = people.filter("age", ">", 50).sort("age").released()
    expected = PEOPLE[PEOPLE["age"] > 50].sort_values("age").reset_index(drop=True)
    pd.testing.assert_frame_equal(made, expected)
    joined = people.filter("age", ">", 50).join(people, "name", "right").released()
    assert joined["salary_right"].tolist() == PEOPLE["salary"].tolist()
    assert joined["email"].isna().sum() == 8
    pd.testing.assert_frame_equal(people.released(), PEOPLE)


def test_a_masked_cell_is_not_told_from_a_missing_one() -> None:
    frame = frame_of(pd.DataFrame({"k": [1, 2], "m": ["x", None]}), "t", Visibility(mask=frozenset({"m"})))
    assert [row["m"] for row in frame.head()] == ["<masked>", "<masked>"]
    partner = frame.filter("k", "==", 1)
    assert [row["m_right"] for row in frame.join(partner, "k", "left").head()] == ["<masked>", None]


def test_columns_that_a_join_renamed_stay_masked_when_a_tool_gives_them_back() -> None:
    visibility = Visibility(mask=frozenset({"email"}), hide=frozenset({"salary"}))
    frame = frame_of(PEOPLE, "people", visibility)
    back = frame_of(frame.join(frame, "name").join(frame, "name").released(), "tool/0", visibility)
    assert not [name for name in back.columns if name.startswith("salary")]
    assert {row[name] for row in back.head(20) for name in row if name.startswith("email")} == {"<masked>"}


def test_how_many_rows_are_not_shown_is_not_told_by_the_memory_that_they_take() -> None:
    for limit in (3_000, 100_000):
        seen = []
        for changed in (False, True):
            people = WORLDS["masked"].frames(changed=changed, limit=limit)["people"]
            unseen = each(["x"] * 20, functools.partial(people.filter, "email", "contains"))
            seen.append([unseen, outcome_of(people.filter("age", ">", 1).head)])
        assert seen[0] == seen[1]


def test_a_failure_on_rows_that_are_not_shown_is_told_when_the_table_leaves() -> None:
    people = WORLDS["schema"].frames(changed=False)["people"]
    made = people.filter("mixed", "<", 3).select("name")
    with pytest.raises(FailedOnData, match="filter failed with TypeError"):
        made.released()


PROGRAM = """
import json
def look(work):
    try:
        print(work())
    except Exception as error:
        print(type(error).__name__, error)
ann = people.filter('name', '==', 'Ann').filter('salary', '>', 60)
for work in (lambda: people.head(people), lambda: people.filter('name', ann, 1), lambda: people.select(people)):
    look(work)
for frame in (people, ann, people.join(people, 'sex'), people.aggregate({'x': ('salary', 'max')})):
    print(frame, frame.columns, frame.dtypes, frame == people, bool(frame))
    for work in (lambda: frame.count(), lambda: frame.head(), lambda: frame.scalar('x'), lambda: json.dumps(frame)):
        look(work)
[ann, {'x': people.filter('salary', '>', 60)}]
"""


@pytest.mark.parametrize(("share", "mask"), [("schema", []), ("stats", []), ("rows", sorted(MASKED_COLUMNS))])
def test_the_model_is_sent_the_same(ask: Ask, share: Share, mask: list[str]) -> None:
    sent = []
    for table in (PEOPLE, with_other_cells(PEOPLE) if mask else shuffled(PEOPLE)):
        result = ask([block(PROGRAM), "Done."], frames={"people": table}, share=share, mask=mask, cache="disable")
        assert result.state == "ready"
        sent.append([request["messages"] for request in ask.requests])
    assert sent[0] == sent[1]
    assert "[<Frame>, {'x': <Frame>}]" in ask.told


def test_a_failure_on_rows_that_are_not_shown_ends_the_run_and_the_next_one_goes_on(ask: Ask) -> None:
    def take(table: pd.DataFrame) -> int:
        return 1

    for code in ("try:\n    take(people.sort('mixed'))\nexcept Exception:\n    pass\n1", "people.sort('mixed')"):
        result = ask([block(code), "Done."], [take], message=code, frames={"people": PEOPLE}, share="schema")
        assert result.state == "failed"
        assert "sort failed with TypeError" in error_of(result)
        assert len(ask.requests) == 1
        more = ask(
            [block("people.columns[0]"), "Done."],
            [take],
            frames={"people": PEOPLE},
            share="schema",
            history=result.history,
        )
        assert (more.state, more.value) == ("ready", "name")


def test_a_run_that_makes_too_many_unseen_tables_ends(ask: Ask) -> None:
    big = pd.DataFrame({"a": range(100_000)})
    code = "kept = [big.filter('a', '>=', 0) for _ in range(10)]\nkept[-1]"
    result = ask([block(code), "Done."], frames={"big": big}, share="schema", limits=Limits(tables="3Mi"))
    assert "filter failed with MemoryError" in error_of(result)


@each_case("how", ["count", "nunique", "sum", "mean"])
def test_with_statistics_no_figure_of_a_masked_column_is_seen(how: str) -> None:
    table = pd.DataFrame({"salary": range(100), "age": range(100)})
    people = frame_of(table, "people", Visibility("stats", mask=frozenset({"salary"})), passed=True)
    assert people.aggregate({"x": ("age", how)}).scalar("x") is not None
    with pytest.raises(NotShared):
        people.aggregate({"x": ("salary", how)}).scalar("x")
