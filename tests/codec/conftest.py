from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.codec import decode, encode


def joined(encoded: Any) -> bytearray:
    payload = bytearray(b"".join(encoded.buffers))
    assert len(payload) == encoded.size
    return payload


@pytest.fixture(params=[False, True], ids=["from_a_stranger", "from_us"])
def trusted(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def cross(tmp_path: Path) -> Callable[..., Any]:
    """Encode and decode: the header through JSON, the bytes through one private buffer."""

    def send(value: Any, type_name: str = "DataFrame", *, trusted: bool = False) -> Any:
        encoded = encode(value, type_name)
        header = json.loads(json.dumps(encoded.header, allow_nan=False))
        return decode(header, memoryview(joined(encoded)), folder=tmp_path / "files", trusted=trusted)

    return send


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal in type and value, including the bits of floats and the kind of missing values."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return repr(left) == repr(right)
    if isinstance(left, complex):
        return repr(left) == repr(right)
    if left is None or left is pd.NA or left is pd.NaT:
        return left is right
    if isinstance(left, np.ndarray):
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        return all(same(a, b) for a, b in zip(left.ravel().tolist(), right.ravel().tolist(), strict=True))
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, pd.Timestamp):
        return left == right and left.unit == right.unit and str(left.tz) == str(right.tz)
    if hasattr(left, "as_tuple"):  # Decimal: 1.10 is not 1.1
        return bool(left.as_tuple() == right.as_tuple())
    if left != left and right != right:
        return True
    if getattr(left, "tzinfo", None) is not None and str(left.tzinfo) != str(right.tzinfo):
        return False
    return bool(left == right)


def assert_same_index(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    pd.testing.assert_index_equal(left, right, exact=True, check_names=True)
    assert same(list(left.names), list(right.names))
    if isinstance(left, pd.MultiIndex):
        for one, other in zip(left.levels, right.levels, strict=True):
            assert_same_index(one, other)
        assert [list(codes) for codes in left.codes] == [list(codes) for codes in right.codes]
    elif left.dtype == object:
        assert same(list(left), list(right))
    assert getattr(left, "freq", None) == getattr(right, "freq", None)


def assert_same_series(left: Any, right: Any) -> None:
    assert left.dtype == right.dtype, f"{left.dtype} became {right.dtype}"
    assert repr(left.dtype) == repr(right.dtype)
    assert same(left.name, right.name)
    assert_same_index(left.index, right.index)
    if left.dtype == object:
        assert same(list(left), list(right))
    elif isinstance(left.dtype, np.dtype) and left.dtype.kind in "fc":
        assert same(list(left.to_numpy()), list(right.to_numpy()))
    else:
        pd.testing.assert_series_equal(left, right, check_exact=True, check_freq=True)
    if isinstance(left.dtype, pd.CategoricalDtype):
        assert_same_index(left.cat.categories, right.cat.categories)
        assert left.cat.ordered == right.cat.ordered
    assert left.attrs == right.attrs


def assert_same_frame(left: Any, right: Any) -> None:
    assert left.shape == right.shape
    assert_same_index(left.index, right.index)
    assert_same_index(left.columns, right.columns)
    for place in range(left.shape[1]):
        one, other = left.iloc[:, place], right.iloc[:, place]
        one.attrs, other.attrs = {}, {}
        assert_same_series(one, other)
    assert left.attrs == right.attrs


@pytest.fixture
def assert_crosses(cross: Callable[..., Any]) -> Callable[..., Any]:
    """Check that the value is unchanged after encoding and decoding with each decoder, and so is its digest."""

    def check(value: Any, type_name: str = "DataFrame") -> Any:
        before = encode(value, type_name).digest()
        for trusted in (True, False):
            back = cross(value, type_name, trusted=trusted)
            if type_name == "DataFrame":
                assert_same_frame(value, back)
            elif type_name == "Series":
                assert_same_series(value, back)
            else:
                assert same(value, back), f"{value!r} became {back!r}"
            assert encode(back, type_name).digest() == before
        return back

    return check
