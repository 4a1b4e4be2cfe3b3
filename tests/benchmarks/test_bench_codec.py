"""The time to encode and decode a frame with the codec, compared with pickle 5 and Feather.

pytest tests/benchmarks/test_bench_codec.py --benchmark-only
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest

from autocoder_jupyter.codec import decode, encode

ROWS = (1_000, 100_000, 1_000_000)


def floats(rows: int) -> pd.DataFrame:
    values = np.random.default_rng(0).random((rows, 10))
    return pd.DataFrame({f"c{place}": values[:, place] for place in range(10)})


def mixed(rows: int) -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{place}": random.random(rows) for place in range(6)})
    frame["name"] = pd.Series(random.integers(0, 10**6, rows)).astype(str).astype("str")
    frame["city"] = pd.Series(random.choice(["Berlin", "Kyoto", "Lima"], rows), dtype="str")
    frame["grade"] = pd.Categorical(random.choice(["a", "b", "c"], rows))
    frame["when"] = pd.Timestamp("2024") + pd.to_timedelta(random.integers(0, 10**6, rows), unit="s")
    return frame


def by_codec(frame: pd.DataFrame) -> pd.DataFrame:
    """Encode and decode. The copy over the pipes between them is measured separately."""
    encoded = encode(frame, "DataFrame")
    return _received(encoded.header, _wire(encoded))


def by_pickle(frame: pd.DataFrame) -> pd.DataFrame:
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(frame, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(head, buffers=[bytearray(buffer) for buffer in buffers])


def by_feather(frame: pd.DataFrame) -> pd.DataFrame:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(frame, sink, compression="uncompressed")
    return pyarrow.feather.read_feather(io.BytesIO(sink.getvalue()))


def _wire(encoded: Any) -> memoryview:
    payload, start = memoryview(np.empty(encoded.size, dtype="u1").data), 0
    for piece in encoded.buffers:
        payload[start : start + piece.nbytes] = piece
        start += piece.nbytes
    return payload


def _received(header: dict[str, Any], payload: memoryview) -> pd.DataFrame:
    back: pd.DataFrame = decode(header, payload, folder=Path("never-written"), trusted=False)
    return back


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("make", [floats, mixed])
@pytest.mark.parametrize("way", [by_codec, by_pickle, by_feather])
def test_there_and_back_with_the_copy(
    benchmark: Any, way: Callable[..., Any], make: Callable[..., Any], rows: int
) -> None:
    frame = make(rows)
    back = benchmark.pedantic(way, (frame,), rounds=10, warmup_rounds=2)
    pd.testing.assert_frame_equal(frame, back)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("make", [floats, mixed])
def test_encode(benchmark: Any, make: Callable[..., Any], rows: int) -> None:
    benchmark.pedantic(encode, (make(rows), "DataFrame"), rounds=10, warmup_rounds=2)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("make", [floats, mixed])
def test_decode_from_a_stranger(benchmark: Any, make: Callable[..., Any], rows: int) -> None:
    encoded = encode(make(rows), "DataFrame")

    def arrived() -> Any:
        return (encoded.header, _wire(encoded)), {}

    benchmark.pedantic(_received, setup=arrived, rounds=10, warmup_rounds=2)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("make", [floats, mixed])
def test_digest(benchmark: Any, make: Callable[..., Any], rows: int) -> None:
    benchmark.pedantic(encode(make(rows), "DataFrame").digest, rounds=10, warmup_rounds=2)


@pytest.mark.parametrize("make", [floats, mixed])
def test_a_million_rows_are_encoded_and_decoded_in_time(benchmark: Any, make: Callable[..., Any]) -> None:
    """The target is 40 ms for floats, without the copy over the pipes."""
    encoded = encode(frame := make(1_000_000), "DataFrame")

    def arrived() -> Any:
        return (_wire(encoded),), {}

    def both(payload: memoryview) -> Any:
        encode(frame, "DataFrame")
        return _received(encoded.header, payload)

    benchmark.pedantic(both, setup=arrived, rounds=10, warmup_rounds=2)
    if make is floats:
        assert benchmark.stats.stats.median < 0.04
