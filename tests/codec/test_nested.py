"""Cells of lists, dicts and mixed values come back as they were, as if each had been written by itself."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import random
import tracemalloc
from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocoder_jupyter.codec import Corrupt, Unencodable, decode, encode
from autocoder_jupyter.codec.nested import LEAST_CELLS, MOST_PARTS
from tests.cases import each
from tests.codec.conftest import joined, same
from tests.codec.test_columns import KINDS, MORE

HERE = Path(__file__).parent / "never-written"
NAN = float("nan")


def column(cells: Any) -> pd.Series:
    """A column of these cells, repeated so often that they are written as arrays."""
    cells = list(cells)
    count = max(len(cells), LEAST_CELLS)
    values = np.empty(count, dtype=object)
    for place, cell in zip(range(count), itertools.cycle(cells), strict=False):
        values[place] = cell
    return pd.Series(values, dtype=object)


def sent(series: pd.Series) -> tuple[dict[str, Any], bytearray]:
    encoded = encode(series, "Series")
    return json.loads(json.dumps(encoded.header, allow_nan=False)), joined(encoded)


def received(header: dict[str, Any], payload: bytes | bytearray, *, trusted: bool = False) -> Any:
    return decode(header, memoryview(bytearray(payload)), folder=HERE, trusted=trusted)


def kind_of(series: pd.Series) -> str:
    return str(encode(series, "Series").header["values"][0]["kind"])


OBJECTS = {name: each for name, each in (KINDS | MORE).items() if each.dtype == object}

REGULAR = {
    "lists of ints": [[1, 2], [], [3]],
    "lists of lists": [[[1], []], [], [[2, 3]]],
    "lists of dicts": [[{"a": 1, "b": "x"}], [], [{"a": 2, "b": "y"}, {"a": 3, "b": ""}]],
    "dicts": [{"a": 1, "b": 2.5}, {"a": -1, "b": -0.0}],
    "dicts of one key": [{"a": 1}, {"a": 2}],
    "empty dicts": [{}],
    "empty lists": [[]],
}

TRICKY: dict[str, list[Any]] = {
    "ints beside floats": [[1, 1.0], [1.0, 1], [True, 1]],
    "bools beside ints": [[True, False], [1, 0]],
    "None beside NaN": [[None, NAN], [NAN, None, pd.NA, pd.NaT], None, NAN, pd.NA, pd.NaT],
    "the order of keys": [{"a": 1, "b": 2}, {"b": 1, "a": 2}],
    "a missing key and a key without a value": [{"a": 1}, {"a": 1, "b": None}, {}],
    "more sequences of keys than parts": [{f"k{n}": n, "all": str(n)} for n in range(2 * MOST_PARTS)],
    "keys that are no text": [{1: "a"}, {"1": "a"}, {(1, 2): "a", None: 1}],
    "keys of numpy": [{np.str_("a"): 1}, {"a": 1}],
    "equal keys of several types": [{1: "a"}, {True: "a"}, {1.0: "a"}],
    "ints beyond 64 bits": [[2**63], [1], [2**200, -(2**63)]],
    "floats": [[0.1 + 0.2, 1e-310, float("inf"), float("-inf"), -0.0]],
    "lone surrogates": [["a\ud800"], ["b"], {"\ud800": 1}],
    "the text of a null": [["a\0b", "\U0001f600", ""]],
    "keys like ours": [{"$": "int", "v": "0x1"}, {"$": 1}],
    "rare types": [[Decimal("1.10"), dt.date(2024, 1, 1)], (1, [2]), {3, 1}, np.array([1.0]), [np.int64(1)]],
    "tuples in lists": [[(1, 2)], [[1, 2]]],
    "bytes": [[b"\xff", b""], [b"a"]],
    "a value for each type": [1, 1.5, "a", True, None, b"x", [1], {"a": 1}, NAN, pd.NA, pd.NaT],
    "nested deeply": [json.loads("[" * 60 + "1" + "]" * 60)],
}


@each("cells", [pytest.param(cells, id=name) for name, cells in (REGULAR | TRICKY).items()])
def test_cells_come_back_as_they_were(cells: list[Any], assert_crosses: Callable[..., Any]) -> None:
    assert_crosses(column(cells), "Series")


@each("cells", [pytest.param(cells, id=name) for name, cells in OBJECTS.items() if len(cells)])
def test_each_kind_of_objects_comes_back_if_there_are_many(cells: Any, assert_crosses: Callable[..., Any]) -> None:
    assert_crosses(column(cells), "Series")


@each("cells", [pytest.param(cells, id=name) for name, cells in REGULAR.items()])
def test_lists_and_dicts_are_arrays_and_few_are_not(cells: list[Any]) -> None:
    assert kind_of(column(cells)) == "nested"
    assert kind_of(column(cells)[: LEAST_CELLS - 1]) == "cells"


def test_a_column_that_would_need_too_long_a_note_is_written_by_cell() -> None:
    cells = column([{f"{n}{'k' * 2_000}": n for n in range(20)}])
    assert kind_of(cells) == "cells"
    assert same(list(cells), list(received(*sent(cells))))


def test_a_refused_value_is_named_with_its_place() -> None:
    cells = column([{"a": [1, 2]}] * 99 + [{"a": [1, OrderedDict()]}])
    with pytest.raises(Unencodable, match=r"\['a'\]\[1\].*OrderedDict"):
        encode(cells, "Series")
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(Unencodable, match="contains itself"):
        encode(column([endless]), "Series")


def test_trees_that_know_their_parents_are_refused_before_they_fill_the_memory() -> None:
    def tree() -> dict[str, Any]:
        root: dict[str, Any] = {"parent": None, "children": []}
        root["children"] += [{"parent": root, "children": []} for _ in range(3)]
        return root

    tracemalloc.start()
    try:
        with pytest.raises(Unencodable, match=r"\['parent'\].*contains itself"):
            encode(pd.Series([tree() for _ in range(LEAST_CELLS)], dtype=object), "Series")
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_how_deep_a_cell_may_be_does_not_depend_on_the_number_of_rows() -> None:
    """Rare types too are counted from the cell: otherwise it crosses, but has no digest."""
    cell: Any = (1,)
    for _ in range(40):
        cell = (cell,)
    for _ in range(40):
        cell = [cell]
    for count in (LEAST_CELLS - 1, LEAST_CELLS):
        with pytest.raises(Unencodable, match="nested deeper"):
            encode(column([cell])[:count], "Series")


def test_what_many_cells_share_comes_back_in_each() -> None:
    shared = {"a": [1, {"b": []}]}
    cells = column([{"x": {"y": shared}, "n": n} for n in range(3_000)])
    assert same(list(cells), list(received(*sent(cells))))


def test_a_table_has_the_digest_of_earlier_versions() -> None:
    """Keys of kept functions have the digests of their examples."""
    cells = [[1, 2.5, "x"], {"a": 1, "b": None}] * 40
    frame = pd.DataFrame({0: cells, 1: range(80)}).set_axis(pd.Index([0, 1]), axis=1)
    assert encode(frame, "DataFrame").header["values"][0]["kind"] == "nested"
    assert encode(frame, "DataFrame").digest() == "4221a1442d987e3ec656daac2446faa3e076d3a2b7dd89fc6d5ca52715444127"


def test_many_values_are_read_in_parts() -> None:
    cells = [[n, str(n), {"a": None}] if n % 3 else {"a": n, "b": [n / 7]} for n in range(70_000)]
    back = received(*sent(column(cells)))
    assert list(back) == cells
    assert all(type(one) is type(other) for one, other in zip(back, cells, strict=True))


texts = st.text(st.characters(codec="utf-8"), max_size=3)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers(-(2**70), 2**70)
    | st.floats(width=32)
    | texts
    | st.text(max_size=2)
    | st.binary(max_size=3)
    | st.sampled_from([pd.NA, pd.NaT, Decimal("1.10"), (1, 2), np.float32(0.5), dt.date(2024, 2, 29)])
)
keys = st.sampled_from(["a", "b", "c"]) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(values, min_size=1, max_size=8))
def test_any_cells_come_back_as_from_cells_written_by_themselves(cells: list[Any]) -> None:
    series = column(cells)
    encoded = encode(series, "Series")
    if encoded.by_cell is not None:
        by_cell = encoded.by_cell()
        assert by_cell.header["values"][0]["kind"] == "cells"
        assert same(list(received(by_cell.header, joined(by_cell))), list(series))
        assert encoded.digest() == by_cell.digest()
    for trusted in (True, False):
        back = received(*sent(series), trusted=trusted)
        assert same(list(back), list(series))
        assert encode(back, "Series").digest() == encoded.digest()


# What others wrote


def note_with(of: Any, *, rows: int = LEAST_CELLS, at: Any = ()) -> tuple[dict[str, Any], bytearray]:
    """A column of which another program wrote the note."""
    header, payload = sent(column([[1, 2], {"a": True, "b": "x"}]))
    note = header["values"][0]
    note |= {"of": of, "rows": rows} | ({"at": at} if at else {})
    header["rows"] = rows
    header["index"] = {"kind": "range", "name": None, "range": [0, rows, 1]}
    return header, payload


def test_the_column_of_these_tests_is_sound() -> None:
    header, payload = sent(column([[1, 2], {"a": True, "b": "x"}]))
    assert header["values"][0]["of"] == [
        "union",
        0,
        [["dict", ["a", "b"], [["bool", 1], ["str", 2]]], ["list", 3, ["int", 4]]],
    ]
    assert len(received(header, payload)) == LEAST_CELLS


DICTS, LISTS = ["dict", ["a", "b"], [["bool", 1], ["str", 2]]], ["list", 3, ["int", 4]]


@each(
    "of",
    [
        ["union", 0, [DICTS]],
        ["union", 0, [DICTS, ["list", 3, ["float", 3]]]],
        ["union", 0, [["dict", ["a", "a"], [["bool", 1], ["str", 2]]], LISTS]],
        ["union", 0, [["dict", ["a"], [["bool", 1], ["str", 2]]], LISTS]],
        ["union", 0, [["dict", ["a", 1], [["bool", 1], ["str", 2]]], LISTS]],
        ["union", 0, [["dict", ["a", "b"], [["str", 2], ["bool", 1]]], ["str", 2]]],
        ["union", 0, [["map", 3, ["int", 4], ["int", 4]], LISTS]],
        ["bool", 3],
        ["int", 0],
        ["int", 99],
        ["code", 0],
        [],
        None,
        {"union": 0},
    ],
)
def test_a_note_that_does_not_fit_is_refused(of: Any) -> None:
    with pytest.raises(Corrupt):
        received(*note_with(of))


def test_bytes_that_are_no_bool_and_lengths_that_do_not_fit_are_refused() -> None:
    for cells, changed in ((column([[True]]), 2), (column([[1], [2]]), 255)):
        header, payload = sent(cells)
        for place in range(len(payload)):
            other = bytearray(payload)
            other[place] = changed
            try:
                back = received(header, other)
            except Corrupt:
                continue
            assert all(type(item) in (bool, int) for cell in back for item in cell)


@each(
    "of",
    [["dict", [], []], ["None"], ["dict", ["a", "b"], [["None"], ["None"]]], ["dict", ["a"], [["dict", [], []]]]],
)
def test_cells_that_would_become_millions_of_objects_without_bytes_are_refused_before_one_is_made(of: Any) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(Corrupt, match=r"lists and dicts|without bytes"):
            received(*note_with(of, rows=200_000_000))
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_a_note_that_is_nested_too_deeply_is_refused() -> None:
    of: Any = ["None"]
    for _ in range(300):
        of = ["dict", ["a"], [of]]
    with pytest.raises(Corrupt, match="too deeply"):
        received(*note_with(of))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_changed_bytes_and_notes_are_refused_or_harmless(chance: random.Random) -> None:
    header, payload = sent(column(list(itertools.chain(*TRICKY.values()))))
    for _ in range(chance.randrange(3)):
        payload[chance.randrange(len(payload))] = chance.randrange(256)
    text = json.dumps(header["values"])
    place = chance.randrange(len(text))
    with contextlib.suppress(ValueError):
        header["values"] = json.loads(text[:place] + chance.choice('0159-[]"{},anist') + text[place + 1 :])
    try:
        back = received(header, payload)
    except Corrupt:
        return
    repr(back.tolist())
