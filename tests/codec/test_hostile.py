"""Hostile messages are read as a value or refused as `Corrupt`, and nothing else happens."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocoder_jupyter.codec import Corrupt, decode, encode
from autocoder_jupyter.codec.columns import note_of_each
from tests.cases import each
from tests.deadline import at_most

HERE = Path(__file__).parent / "never-written"


def stream(*arrays: Any, options: Any = None, metadata: Any = None) -> bytes:
    fields = [pa.field(str(n), array.type, metadata=metadata) for n, array in enumerate(arrays)]
    schema = pa.schema(fields)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(list(arrays), schema=schema))
    return sink.getvalue().to_pybytes()


def series_header(rows: int, size: int, note: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "Series",
        "rows": rows,
        "size": size,
        "numbers": [],
        "texts": [],
        "streams": [[rows, size]],
        "index": {"kind": "range", "name": None, "range": [0, rows, 1]},
        "name": None,
        "values": [note],
    }


def receive(payload: bytes, note: dict[str, Any], rows: int, **changes: Any) -> Any:
    header = {**series_header(rows, len(payload), note), **changes}
    return decode(header, memoryview(bytearray(payload)), folder=HERE, trusted=False)


ARROW = {"kind": "arrow", "at": [2, 0]}
TWO = pa.array([1, 2])


def test_the_frame_of_these_tests_is_sound() -> None:
    assert list(receive(stream(TWO), ARROW, 2)) == [1, 2]


def test_offsets_that_point_outside_are_refused() -> None:
    payload = bytearray(stream(pa.array(["abcd", "efgh"], type=pa.large_string())))
    place = payload.find(np.array([0, 4, 8], dtype="i8").tobytes())
    payload[place : place + 24] = np.array([0, 5, 10_000_000], dtype="i8").tobytes()
    assert place > 0
    with pytest.raises(Corrupt):
        receive(bytes(payload), ARROW, 2)


def test_text_that_is_not_utf8_is_refused() -> None:
    payload = stream(pa.array(["abcd", "efgh"], type=pa.large_string())).replace(b"abcd", b"\xff\xfe\xfd\xfc")
    with pytest.raises(Corrupt):
        receive(payload, ARROW, 2)


class Executed:
    ran = False

    def __reduce__(self) -> Any:
        return (setattr, (Executed, "ran", True))


def test_a_pickled_extension_type_is_refused_and_not_run() -> None:
    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Executed()),
    }
    with pytest.raises(Corrupt, match="extension"):
        receive(stream(TWO, metadata=metadata), ARROW, 2)
    assert not Executed.ran


def test_a_registered_extension_type_is_refused_before_its_class_is_asked() -> None:
    class Asked(pa.ExtensionType):
        asked = False

        def __init__(self) -> None:
            super().__init__(pa.int64(), "test.asked")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: Any, serialized: Any) -> Any:
            cls.asked = True
            return cls()

    kind = Asked()
    payload = stream(pa.ExtensionArray.from_storage(kind, TWO))
    pa.register_extension_type(kind)
    try:
        with pytest.raises(Corrupt, match="extension"):
            receive(payload, ARROW, 2)
    finally:
        pa.unregister_extension_type("test.asked")
    assert not Asked.asked


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_compressed_batch_is_refused_because_it_could_grow_without_bound(codec: str) -> None:
    bomb = stream(pa.array(np.zeros(1_000_000)), options=pa.ipc.IpcWriteOptions(compression=codec))
    with pytest.raises(Corrupt, match="compressed"):
        receive(bomb, {"kind": "arrow", "at": [1_000_000, 0]}, 1_000_000)


@each(
    "array",
    [
        pa.array(["a", "b"]).dictionary_encode(),
        pa.nulls(2),
        pa.array([{}, {}], type=pa.struct([])),
        pa.array([b"", b""], type=pa.binary(0)),
        pa.array([[], []], type=pa.list_(pa.int8(), 0)),
        pa.array(["a", "b"], type=pa.string_view()),
        pa.RunEndEncodedArray.from_arrays([2], [1]),
        pa.UnionArray.from_sparse(pa.array([0, 0], type=pa.int8()), [TWO]),
        pa.MonthDayNano and pa.array([(1, 2, 3), (1, 2, 3)], type=pa.month_day_nano_interval()),
    ],
    ids=lambda array: str(array.type)[:20],
)
def test_arrow_types_beyond_the_plain_ones_are_refused(array: Any) -> None:
    with pytest.raises(Corrupt):
        receive(stream(array), ARROW, 2)


def test_deep_nesting_is_refused() -> None:
    kind = pa.int8()
    for _ in range(40):
        kind = pa.list_(kind)
    with pytest.raises(Corrupt):
        receive(stream(pa.array([None, None], type=kind)), ARROW, 2)


def test_two_arrays_that_share_bytes_are_refused() -> None:
    numbers: dict[Any, Any] = {
        0: pd.array([0, 1, 2], "Int64"),
        1: pd.array([3, 9, 9], "Int64"),
    }  # 0, 1, 2, 3 are valid offsets
    frame = pd.DataFrame({**numbers, "b": ["x" * 5_000, "y", "z"]})
    encoded = encode(frame, "DataFrame")
    payload = bytearray(b"".join(encoded.buffers))
    # The batch's metadata lists (offset, length) of each buffer: 24 bytes of numbers, then 32 of offsets into text.
    start, place = next(
        (start, place)
        for start in range(48, 128, 8)
        if (place := payload.find(np.array([start, 32], dtype="i8").tobytes())) > 0
    )
    payload[place : place + 8] = (start - 48).to_bytes(8, "little")
    with pytest.raises(Corrupt, match="share"):
        decode(encoded.header, memoryview(payload), folder=HERE, trusted=False)


def test_an_array_outside_of_its_stream_is_refused() -> None:
    encoded = encode(pd.DataFrame({"a": [0, 0, 0, 0], "b": ["x" * 5_000, "y", "z", ""]}), "DataFrame")
    assert encoded.header["numbers"] == [[4, 8, 0, 1]]
    payload = bytearray(b"".join(encoded.buffers))
    place = payload.find(np.array([0, 40], dtype="i8").tobytes(), 32)  # the offsets of the texts
    assert place > 0
    for start in (-len(payload), -200, -8):  # where the numbers are, which are valid offsets, and between
        payload[place : place + 8] = start.to_bytes(8, "little", signed=True)
        with pytest.raises(Corrupt):
            decode(encoded.header, memoryview(bytearray(payload)), folder=HERE, trusted=False)


def test_a_bool_is_one_bit() -> None:
    note = {"kind": "numpy", "dtype": "|b1", "at": [8, 0]}
    assert receive(bytes([0, 1] * 4), note, 8, numbers=[[8, 1, 0, 1]], streams=[]).sum() == 4
    with pytest.raises(Corrupt, match="neither true nor false"):
        receive(bytes([0, 2] * 4), note, 8, numbers=[[8, 1, 0, 1]], streams=[])


def test_columns_that_do_not_follow_each_other_are_refused() -> None:
    encoded = encode(pd.DataFrame({"a": [1], "b": [2], "c": [3]}), "DataFrame")
    header = copy.deepcopy(encoded.header)
    header["values"] = note_of_each(header["values"][0])
    header["values"][0], header["values"][2] = header["values"][2], header["values"][0]
    with pytest.raises(Corrupt, match="other places"):
        decode(header, memoryview(b"".join(encoded.buffers)), folder=HERE, trusted=False)


def test_an_array_cannot_be_two_columns() -> None:
    encoded = encode(pd.DataFrame({"a": [1], "b": [2]}), "DataFrame")
    header = copy.deepcopy(encoded.header)
    header["values"] = note_of_each(header["values"][0])
    header["values"][1]["at"] = header["values"][0]["at"]
    with pytest.raises(Corrupt, match="twice"):
        decode(header, memoryview(b"".join(encoded.buffers)), folder=HERE, trusted=False)


@each("count", [3, 0, -1, 2**62, 1.0, True, "2", None, [2]])
def test_a_note_of_several_columns_has_their_number(count: Any) -> None:
    encoded = encode(pd.DataFrame({"a": [1], "b": [2]}), "DataFrame")
    header = copy.deepcopy(encoded.header)
    header["values"][0]["count"] = count
    with pytest.raises(Corrupt):
        decode(header, memoryview(b"".join(encoded.buffers)), folder=HERE, trusted=False)


def test_only_numbers_have_one_note_for_several_columns() -> None:
    encoded = encode(pd.DataFrame({"a": ["x"]}), "DataFrame")
    header = copy.deepcopy(encoded.header)
    header["values"][0]["count"] = 2
    with pytest.raises(Corrupt, match="2 columns in one note"):
        decode(header, memoryview(b"".join(encoded.buffers)), folder=HERE, trusted=False)


HEADERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no type": lambda h: h.pop("type"),
    "an unknown type": lambda h: h.update(type="pickle"),
    "a type that is no text": lambda h: h.update(type=["DataFrame"]),
    "another size": lambda h: h.update(size=h["size"] + 1),
    "another number of rows": lambda h: h.update(rows=7),
    "more streams than bytes": lambda h: h["streams"].append([1, 8]),
    "a negative stream": lambda h: h["streams"][0].__setitem__(1, -8),
    "a stream of other length": lambda h: h["streams"][0].__setitem__(0, 9),
    "more numbers than bytes": lambda h: h["numbers"].append([3, 8, 9, 10**6]),
    "fewer numbers than bytes": lambda h: h["numbers"][0].__setitem__(3, 1),
    "numbers of no width": lambda h: h["numbers"].append([3, 0, 9, 1]),
    "a negative number of numbers": lambda h: h["numbers"].insert(0, [-3, 8, 9, 1]),
    "a negative number of columns": lambda h: h["numbers"].insert(0, [3, 8, 9, -1]),
    "a million columns of no rows": lambda h: h["numbers"].extend([[0, 8, 0, 200_000]] * 5),
    "a billion columns of no rows": lambda h: h["numbers"].extend([[0, 8, 0, 10**9], [0, 8, 0, -(10**9)]]),
    "a fraction of a number": lambda h: h["numbers"][0].__setitem__(0, 3.0),
    "fewer texts than labels": lambda h: h["texts"][0][2].pop(),
    "texts that are numbers": lambda h: h["texts"][0].__setitem__(2, [1, 2, 3, 4]),
    "a text that is not Unicode": lambda h: h["texts"][0][2].__setitem__(0, "\udc80"),
    "100,001 columns": lambda h: h.update(values=h["values"] * 33_334),
    "a million streams": lambda h: h.update(streams=[[0, 0]] * 1_000_000),
    "an unknown kind": lambda h: h["values"][0].update(kind="pickle"),
    "a dtype of objects": lambda h: h["values"][0].update(dtype="O"),
    "a wider dtype": lambda h: h["values"][0].update(dtype="<c16"),
    "another dtype": lambda h: h["values"][0].update(dtype="<u4"),
    "a dtype with fields": lambda h: h["values"][0].update(dtype="i4,O"),
    "a missing label": lambda h: h["values"].pop(),
    "a range of 2**62 rows": lambda h: h.update(index={"kind": "range", "name": None, "range": [0, 2**62, 1]}),
    "a range of no step": lambda h: h["index"].update(range=[0, 3, 0]),
    "a range beyond 64 bits": lambda h: h["index"].update(range=[0, 2**80, 2**79]),
    "2**40 rows of nothing": lambda h: h.update(
        rows=2**40,
        index={"kind": "flat", "name": None, "values": {"kind": "arrow nulls", "length": 2**40}},
        values=[{"kind": "arrow nulls", "length": 2**40}] * 3,
    ),
    "a number of rows that is none": lambda h: h["values"].__setitem__(0, {"kind": "arrow nulls", "length": True}),
    "a name that is a list": lambda h: h["index"].update(name=[1]),
    "a zone that is a path": lambda h: h["values"][1].update(zone={"zone": "../../etc/passwd"}),
    "a zone that is absolute": lambda h: h["values"][1].update(zone={"zone": "/etc/localtime"}),
    "a zone of nowhere": lambda h: h["values"][1].update(zone={"zone": "Nowhere/None"}),
    "a unit of nothing": lambda h: h["values"][1].update(unit="generic"),
    "codes beyond the levels": lambda h: h["values"][2].update(
        levels={"kind": "range", "name": None, "range": [0, 1, 1]}
    ),
    "levels of 2**62": lambda h: h["values"][2].update(levels={"kind": "range", "name": None, "range": [0, 2**62, 1]}),
    "levels deep in levels": lambda h: h["values"][2].update(levels=h["values"][2]),
    "attrs of an unknown kind": lambda h: h.update(attrs={"$": "os.system", "v": "id"}),
    "attrs that are a list": lambda h: h.update(attrs=[1]),
}


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in HEADERS.items()])
def test_a_header_that_does_not_fit_is_refused(change: Any, trusted: bool) -> None:
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, 3.0], "b": pd.to_datetime(["2024"] * 3, utc=True), "c": pd.Categorical(["x", "y", "z"])}
    )
    frame["d"] = pd.array([1, 2, None], "Int64")
    encoded = encode(frame, "DataFrame")
    header = json.loads(json.dumps(encoded.header))
    change(header)
    with pytest.raises(Corrupt):
        decode(header, memoryview(b"".join(encoded.buffers)), folder=HERE, trusted=trusted)


@each(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"a":' * 10_000,
        "NaN",
        '{"$":"pickle","v":"gASV"}',
        '{"$":["int"],"v":1}',
        '{"$":"int"}',
        '{"$":"int","v":"zz"}',
        '{"$":"float","v":[]}',
        '{"$":"Decimal","v":"x"}',
        '{"$":"ndarray","dtype":"O","shape":[1000000000000],"items":[]}',
        '{"$":"ndarray","dtype":"<f8","shape":[-1],"bytes":""}',
        '{"$":"ndarray","dtype":"|O","shape":[1],"bytes":"AAAAAAAAAAA="}',
        '{"$":"ndarray","dtype":"<U999999999","shape":[1],"bytes":""}',
        '{"$":"numpy","dtype":"<U0","item":"x"}',
        '{"$":"dict","v":[[[1],2]]}',
        '{"$":"set","v":[[]]}',
        '{"$":"datetime","v":["2024-01-01T00:00:00+01:00",0,null]}',
        '{"$":"Timestamp","v":[1,"generic",null]}',
        '{"$":"Timestamp","v":[99999999999999999999999,"ns",null]}',
        '{"$":"Period","v":[1,"bogus"]}',
        '{"$":"bytes","v":"*"}',
        '{"$":"UUID","v":"1"}',
        '"text where a list belongs"',
        "1" * 5000,
    ],
    ids=lambda text: text[:30],
)
def test_values_that_are_not_ours_are_refused(text: str) -> None:
    payload = text.encode()
    with pytest.raises(Corrupt):
        decode({"type": "list", "size": len(payload)}, memoryview(payload), folder=HERE, trusted=False)


def test_a_value_of_another_type_than_declared_is_refused() -> None:
    with pytest.raises(Corrupt):
        decode({"type": "int", "size": 4}, memoryview(b"true"), folder=HERE, trusted=False)


def everything() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "f": [1.5, np.nan, -0.0],
            "i": [1, 2, 3],
            "b": [True, False, True],
            "c": [1j, 2j, 3j],
            "s": ["a", None, "c"],
            "o": pd.Series(["a", None, pd.NA], dtype=object),
            "m": pd.Series([[1], {"k": Decimal("1.1")}, dt.date(2024, 1, 1)], dtype=object),
            "d": pd.Series([dt.date(2024, 1, 1), None, pd.NaT], dtype=object),
            "n": pd.array([1, None, 3], dtype="Int64"),
            "bn": pd.array([True, None, False], dtype="boolean"),
            "t": pd.to_datetime(["2024-01-01", None, "2024-01-03"]).tz_localize("Europe/Berlin"),  # type: ignore[arg-type]
            "td": pd.to_timedelta([1, 2, None]),
            "p": pd.period_range("2024", periods=3, freq="M"),
            "v": pd.interval_range(0, 3),
            "k": pd.Categorical(["x", "y", None], categories=["y", "x", "z"], ordered=True),
            "z": pd.arrays.SparseArray([0, 0, 1], fill_value=0),
            "w": pd.Series([np.array([1.0]), np.array([]), np.array([2.0, 3.0])], dtype=object),
            "a": pd.Series(pd.arrays.ArrowExtensionArray(pa.array([[1], None, [2, 3]]))),
        },
        index=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", None)], names=["x", None]),
    )
    frame.attrs = {"a": [1, 2]}
    return frame


ENCODED = encode(everything(), "DataFrame")
PAYLOAD = b"".join(ENCODED.buffers)
HEADER_TEXT = json.dumps(ENCODED.header)


def exercise(value: pd.DataFrame) -> None:
    """Use an accepted value as a notebook would. A wrong offset or code would crash here."""
    try:
        repr(value)
        value.copy().to_dict("list")
        encode(value, "DataFrame").digest()
    except Exception:  # pandas may refuse unusual but valid values; the interpreter must not crash
        pass


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, len(PAYLOAD) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_changed_bytes_are_refused_or_harmless(changes: Any) -> None:
    payload = bytearray(PAYLOAD)
    for place, byte in changes:
        payload[place] = byte
    try:
        value = decode(ENCODED.header, memoryview(payload), folder=HERE, trusted=False)
    except Corrupt:
        return
    exercise(value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(HEADER_TEXT) - 1), st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=3))
def test_a_changed_header_is_refused_or_harmless(place: Any, text: Any) -> None:
    try:
        header = json.loads(HEADER_TEXT[:place] + text + HEADER_TEXT[place + 1 :])
    except ValueError:
        return
    try:
        value = decode(header, memoryview(bytearray(PAYLOAD)), folder=HERE, trusted=False)
    except Corrupt:
        return
    exercise(value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda v: st.lists(v, max_size=3)
)


def spots(value: Any, path: tuple[Any, ...] = ()) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from spots(item, (*path, key))


SPOTS = sorted(spots(ENCODED.header), key=repr)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SPOTS), json_values | st.sampled_from(SPOTS))
def test_any_part_of_a_header_may_be_anything(spot: Any, other: Any) -> None:
    header = json.loads(HEADER_TEXT)
    if isinstance(other, tuple):  # another part of the same header
        source = json.loads(HEADER_TEXT)
        for key in other:
            source = source[key]
        other = source
    target = header
    for key in spot[:-1]:
        target = target[key]
    target[spot[-1]] = other
    try:
        value = decode(header, memoryview(bytearray(PAYLOAD)), folder=HERE, trusted=False)
    except Corrupt:
        return
    exercise(value)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(PAYLOAD)))
def test_a_payload_cut_short_is_refused(length: Any) -> None:
    header = {**ENCODED.header, "size": length}
    if length < len(PAYLOAD):
        with pytest.raises(Corrupt):
            decode(header, memoryview(PAYLOAD[:length]), folder=HERE, trusted=False)


def text_of(text: bytes, type_name: str = "list") -> Any:
    header = {"type": type_name, "size": len(text)}
    return decode(header, memoryview(text), folder=HERE, trusted=False)


@each("piece", [b"[],", b"{},", b"[[],[]],", b'{"a":{}},', b"[ ] ,"])
def test_text_that_would_become_millions_of_lists_is_refused_before_one_is_made(piece: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(Corrupt, match="lists and dicts"):
            text_of(b"[" + piece * (10_000_000 // len(piece)) + b"0]")
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_cells_that_would_together_become_millions_of_lists_are_refused() -> None:
    cells = ["[" + "[]," * 3_000 + "0]"] * 100
    with pytest.raises(Corrupt, match="lists and dicts"):
        receive(stream(pa.array(cells, type=pa.large_string())), {"kind": "cells", "at": [100, 0]}, 100)


def test_deep_text_is_refused() -> None:
    with pytest.raises(Corrupt, match="levels"):
        text_of(b"[" * 100_000 + b"]" * 100_000)


def test_long_text_of_many_commas_and_brackets_is_one_value() -> None:
    text = ',[]{}"\\' * 500_000
    assert text_of(json.dumps(text).encode(), "str") == text
    assert text_of(json.dumps([text]).encode()) == [text]


NUMBERS = list(range(200_000))


@each(
    "value",
    [
        NUMBERS,
        [[NUMBERS]],
        {"a": {"b": NUMBERS}, "c": "x" * 200_000},
        {f'"{n}\\': [n, {"é": None}] for n in range(20_000)},
        ["\\" * n + '"' * n for n in range(500)],
    ],
    ids=["numbers", "nested numbers", "nested dicts", "many dicts", "quotes"],
)
def test_long_text_is_read_in_parts_and_gives_the_same_value(value: Any) -> None:
    kind = type(value).__name__
    encoded = encode(value, kind)
    assert text_of(b"".join(encoded.buffers), kind) == value


@each("end", [b"", b"}", b"1", b"]]", b'"'])
def test_long_text_that_is_no_json_is_refused(end: bytes) -> None:
    with pytest.raises(Corrupt):
        text_of(b"[" + b"1," * 200_000 + b"1" + end)


@pytest.mark.parametrize("kind", ["set", "frozenset", "dict"])
def test_keys_that_are_made_to_collide_are_refused(kind: str) -> None:
    prime = 2**61 - 1
    keys = [{"$": "int", "v": hex(number * prime)} for number in range(3_000)]
    entries = [[key, 0] for key in keys] if kind == "dict" else keys
    with pytest.raises(Corrupt, match="collide"):
        text_of(json.dumps([{"$": kind, "v": entries}]).encode())


ROWS = 2**27


def claims(values: list[dict[str, Any]], index: dict[str, Any]) -> Any:
    header = {
        "type": "DataFrame",
        "rows": ROWS,
        "size": 0,
        "numbers": [],
        "texts": [],
        "streams": [],
        "index": index,
        "columns": {"kind": "range", "name": None, "range": [0, len(values), 1]},
        "values": values,
    }
    return decode(header, memoryview(b""), folder=HERE, trusted=False)


RANGE = {"kind": "range", "name": None, "range": [0, ROWS, 1]}


@pytest.mark.parametrize("values", [[], [{"kind": "arrow nulls", "length": ROWS}] * 8], ids=["no column", "nulls"])
def test_no_bytes_that_claim_a_hundred_million_rows_are_refused(values: Any) -> None:
    with pytest.raises(Corrupt, match="came without bytes"):
        claims(values, RANGE)


def test_labels_that_came_without_bytes_are_bounded() -> None:
    levels = {"kind": "range", "name": None, "range": [0, ROWS, 1]}
    note = {"kind": "category", "ordered": False, "width": "int8", "at": [2, 0], "levels": levels}
    with pytest.raises(Corrupt, match="came without bytes"):
        receive(bytes(8), note, 2, numbers=[[2, 1, 0, 1]], streams=[])


def test_columns_of_nulls_beside_columns_with_bytes_cross(cross: Callable[..., Any]) -> None:
    rows = 100_000
    frame = pd.DataFrame({"a": np.zeros(rows, dtype=bool)})
    for name in "bcd":
        frame[name] = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.nulls(rows)])))
    assert cross(frame).shape == (rows, 4)


@pytest.mark.parametrize("note", [{"kind": "period", "at": [2, 0]}, {"kind": "flat", "values": ARROW}])
def test_a_frequency_of_a_million_characters_is_refused(note: dict[str, Any]) -> None:
    note = {**note, "freq": "1" * 1_000_000}
    if note["kind"] == "period":
        with pytest.raises(Corrupt, match="frequency"):
            receive(stream(TWO), note, 2)
        return
    ticks = {"kind": "datetime", "unit": "ns", "at": [2, 0]}
    index = {"kind": "flat", "name": None, "values": ticks, "freq": note["freq"]}
    with pytest.raises(Corrupt, match="frequency"):
        receive(bytes(16), {"kind": "arrow nulls", "length": 2}, 2, index=index, numbers=[[2, 8, 0, 1]], streams=[])


MANY = 200_000
"""Number of labels for which a hash table that compares each with all others would need hours."""


def colliding_integers() -> Any:
    """Integers that pandas' hash of a number maps to 0: `(n >> 33) ^ n ^ (n << 11)`, of which 32 bits count."""
    high = np.arange(MANY, dtype="uint64")
    low = high
    for _ in range(3):
        low = (high ^ (low << np.uint64(11))) & np.uint64(2**32 - 1)
    return np.random.default_rng(0).permutation((high << np.uint64(33)) | low).view("int64")


def colliding_floats() -> Any:
    """Floats that 64 bit MurmurHash2 maps to one value: the second half reverses the effect of the first."""
    factor, bits = np.uint64(0x5BD1E995), np.uint64(2**32 - 1)
    undo = np.uint64(pow(0x5BD1E995, -1, 2**32))

    def stirred(half: Any, by: Any) -> Any:
        half = half * by & bits
        return (half ^ (half >> np.uint64(24))) * by & bits

    low = np.arange(MANY, dtype="uint64")
    state = ((np.uint64(0xC70F6907 ^ 4) * factor & bits) ^ stirred(low, factor)) * factor & bits
    values = (low | (stirred(state, undo) << np.uint64(32))).view("float64")
    return np.random.default_rng(0).permutation(values[np.isfinite(values)])


def colliding_objects() -> Any:
    """Integers as objects with the same hash; pandas uses `(n >> 32) ^ n`."""
    high = np.random.default_rng(0).permutation(MANY).astype("int64")
    return ((high << 32) | high).astype(object)


COLLIDING: dict[str, Callable[[], Any]] = {
    "integers": lambda: pd.Index(colliding_integers()),
    "floats": lambda: pd.Index(colliding_floats()),
    "objects": lambda: pd.Index(colliding_objects(), dtype=object),
    "instants": lambda: pd.DatetimeIndex(colliding_integers().view("M8[ns]")),
    "nullable integers": lambda: pd.Index(pd.array(colliding_integers(), dtype="Int64")),
    "intervals": lambda: pd.IntervalIndex.from_arrays(colliding_integers(), colliding_integers()),
}


@pytest.fixture(params=COLLIDING)
def colliding(request: pytest.FixtureRequest) -> Any:
    return COLLIDING[request.param]()


def at_once(encoded: Any, kind: str) -> Any:
    """Decode a hostile message; fail if it takes longer than some seconds."""
    with at_most(30):
        payload = memoryview(bytearray(b"".join(encoded.buffers)))
        return decode({**encoded.header, "type": kind}, payload, folder=HERE, trusted=False)


def test_categories_that_collide_in_a_hash_table_are_read_in_linear_time(colliding: Any) -> None:
    codes = np.arange(len(colliding), dtype="int32")
    known: Any = pd.CategoricalDtype
    made = pd.Categorical.from_codes(codes, dtype=known._from_fastpath(colliding, False))
    back = at_once(encode(pd.Series(made), "Series"), "Series")
    assert back.cat.categories.equals(colliding) and list(back.cat.codes[:3]) == [0, 1, 2]


def test_levels_that_collide_in_a_hash_table_are_read_in_linear_time(colliding: Any) -> None:
    codes = np.arange(len(colliding))
    index = pd.MultiIndex(levels=[colliding, ["a"]], codes=[codes, codes * 0], verify_integrity=False)  # type: ignore[list-item]
    back = at_once(encode(pd.DataFrame({"a": codes}, index=index), "DataFrame"), "DataFrame")
    assert back.index.levels[0].equals(colliding) and back.index[1] == (colliding[1], "a")


def test_unique_row_labels_that_collide_in_a_hash_table_are_read_in_linear_time(colliding: Any) -> None:
    encoded = encode(pd.DataFrame({"a": np.arange(len(colliding)), "b": "x"}, index=colliding), "DataFrame")
    encoded.header["unique_labels"] = True
    back = at_once(encoded, "DataFrame")
    assert not back.flags.allows_duplicate_labels and back.index.equals(colliding)


TWICE: list[Any] = [
    pd.Index([1, 2, 1]),
    pd.Index([1.5, 2.0, 1.5]),
    pd.Index(["a", "b", "a"]),
    pd.Index([1, "b", 1], dtype=object),
    pd.DatetimeIndex(["2024", "2025", "2024"]),
    pd.IntervalIndex.from_tuples([(0, 1), (1, 2), (0, 1)]),
    pd.Index(pd.array([1, 2, 1], dtype="Int64")),
    pd.Index(pd.array(["a", "b", "a"], dtype=pd.ArrowDtype(pa.string()))),  # type: ignore[call-overload]
]


@each("labels", TWICE, ids=lambda labels: f"{type(labels).__name__} {labels.dtype}")
@each("place", ["categories", "levels", "rows"])
def test_a_label_that_is_there_twice_is_refused_where_each_must_differ(labels: Any, place: str) -> None:
    flat = encode(pd.Series([1, 2, 3], index=labels), "Series")
    header = json.loads(json.dumps(flat.header))
    if place == "rows":
        header["unique_labels"] = True
    else:
        levels = header["index"]
        header["index"] = {"kind": "range", "name": None, "range": [0, 3, 1]}
        codes = header["values"][0]["at"]
        if place == "categories":
            header["values"] = [{"kind": "category", "ordered": False, "width": "int64", "at": codes, "levels": levels}]
        else:
            header["index"] = {"kind": "multi", "names": [None], "levels": [levels], "codes": [codes]}
    with pytest.raises(Corrupt, match="there twice"):
        decode(header, memoryview(bytearray(b"".join(flat.buffers))), folder=HERE, trusted=False)


@pytest.mark.parametrize("labels", [["a", "b"], [1, 2]])
def test_a_name_of_labels_can_be_hashed(labels: list[Any]) -> None:
    encoded = encode(pd.DataFrame([[1, 2]], columns=labels), "DataFrame")
    header = copy.deepcopy(encoded.header)
    header["columns"]["name"] = ["no", "name"]
    with pytest.raises(Corrupt):
        decode(header, memoryview(b"".join(encoded.buffers)), folder=HERE, trusted=False)


@pytest.mark.parametrize("series", [pd.Series([True, None] * 400_000, dtype="boolean"), pd.Series([True] * 800_000)])
def test_packed_bits_count_as_the_memory_that_they_take(series: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = encode(series, "Series")
    payload = memoryview(b"".join(encoded.buffers))
    assert len(decode(encoded.header, payload, folder=HERE, trusted=False)) == 800_000
    monkeypatch.setattr("autocoder_jupyter.codec.ipc.UNBACKED_BYTES", 1 << 16)
    if len(payload) < 800_000:
        with pytest.raises(Corrupt, match="came without bytes"):
            decode(encoded.header, payload, folder=HERE, trusted=False)
