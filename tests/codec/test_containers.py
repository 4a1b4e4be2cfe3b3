"""Lists of figures or tables and dicts of them: unchanged on the way, and bounded if a stranger wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.codec import Corrupt, Picture, Unencodable, decode, encode
from autocoder_jupyter.codec.values import MOST_PARTS
from tests.cases import each
from tests.codec.conftest import assert_same_frame, joined

FRAMES = {
    "north": pd.DataFrame({"price": [1.5, 2.5, 3.5], "shop": ["a", "b", None]}),
    "south": pd.DataFrame({"day": pd.to_datetime(["2024-05-01"])}),
}


def sent(value: Any, kind: str) -> tuple[dict[str, Any], bytearray]:
    encoded = encode(value, kind, is_output=True)
    return json.loads(json.dumps(encoded.header)), joined(encoded)


def received(header: dict[str, Any], payload: bytes | bytearray) -> Any:
    return decode(header, memoryview(payload), folder=Path(), trusted=False)


def test_a_dict_of_frames_comes_back_and_its_numbers_can_be_changed() -> None:
    back = received(*sent(FRAMES, "dict"))
    assert list(back) == list(FRAMES)
    for name, frame in FRAMES.items():
        assert_same_frame(frame, back[name])
    back["north"].loc[0, "price"] = 9.0
    assert back["north"]["price"].tolist() == [9.0, 2.5, 3.5]


def test_a_list_of_figures_and_series_comes_back() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1), dpi=50)
    figure.subplots().plot([1, 2, 3])
    first, second = received(*sent([figure, pd.Series([1, 2], name="n")], "list"))
    assert isinstance(first, Picture) and first.png.startswith(b"\x89PNG")
    assert second.tolist() == [1, 2] and second.name == "n"


def test_lists_and_dicts_of_anything_else_are_as_before() -> None:
    assert sent([1, "a"], "list") == sent_plainly([1, "a"], "list")
    assert sent({}, "dict") == sent_plainly({}, "dict")


def sent_plainly(value: Any, kind: str) -> tuple[dict[str, Any], bytearray]:
    encoded = encode(value, kind)
    return encoded.header, joined(encoded)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([FRAMES["north"], 1], "holds a DataFrame and other values"),
        ({1: FRAMES["north"]}, "key that is no text"),
        ([pd.Series([1])] * (MOST_PARTS + 1), "at most 256"),
    ],
)
def test_what_cannot_cross_is_said(value: Any, words: str) -> None:
    with pytest.raises(Unencodable, match=words):
        encode(value, type(value).__name__, is_output=True)


def test_an_input_may_hold_none() -> None:
    with pytest.raises(Unencodable, match="cannot cross"):
        encode(FRAMES, "dict")


@each(
    "change",
    [
        lambda header: header.update(keys=["north"]),
        lambda header: header.update(keys=["north", "north"]),
        lambda header: header.update(keys=["north", 2]),
        lambda header: header.update(of=header["of"][:1]),
        lambda header: header.update(of=[]),
        lambda header: header.update(of=header["of"] * MOST_PARTS),
        lambda header: header["of"][0].update(size=-8),
        lambda header: header["of"][1].update(size=10**12),
        lambda header: header["of"][0].update(type="File"),
        lambda header: header["of"].insert(0, {"type": "dict", "of": [], "keys": [], "size": 0}),
    ],
)
def test_a_hostile_header_is_refused(change: Any) -> None:
    header, payload = sent(FRAMES, "dict")
    change(header)
    with pytest.raises(Corrupt):
        received(header, payload)


def test_all_parts_share_the_memory_that_one_value_may_take() -> None:
    """A range of labels has no bytes. Each of many parts could else take as much memory as a whole value."""
    header, payload = sent([pd.DataFrame(index=pd.RangeIndex(10**6))] * 100, "list")
    with pytest.raises(Corrupt, match="without bytes"):
        received(header, payload)
