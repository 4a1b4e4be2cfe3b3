"""The processor time to encode and decode cells of lists and dicts, beside that of the same values as plain columns, of
cells that are written one by one, and of pickle, which makes the same objects.

    pytest tests/benchmarks/test_bench_nested.py -s
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.codec import decode
from autocoder_jupyter.codec.frames import write_frame
from tests.benchmarks.test_bench_codec import _wire

ROWS = 20_000
ROUNDS = 5


def _objects(values: list[Any]) -> pd.Series:
    return pd.Series(values, dtype=object)


def tags() -> tuple[list[Any], pd.DataFrame]:
    cells = [[f"t{n % 97}", f"t{n % 89}", f"t{n % 83}"] for n in range(ROWS)]
    return cells, pd.DataFrame({"tag": _objects([tag for cell in cells for tag in cell])})


def places() -> tuple[list[Any], pd.DataFrame]:
    cells = [{"x": n / 7, "y": n / 3, "label": f"p{n % 100}"} for n in range(ROWS)]
    return cells, pd.DataFrame(cells).astype({"label": object})


def orders() -> tuple[list[Any], pd.DataFrame]:
    cells = [[{"sku": f"s{k}", "pieces": k % 7, "price": k / 3} for k in (n, n + 1)] for n in range(ROWS)]
    return cells, pd.DataFrame([line for cell in cells for line in cell]).astype({"sku": object})


def records() -> tuple[list[Any], pd.DataFrame]:
    """Keys that are missing now and then."""
    cells = [{"id": n, "name": "a" if n % 3 else None, **({"note": [1, 2.5]} if n % 2 else {})} for n in range(ROWS)]
    plain = {"id": [cell["id"] for cell in cells], "name": _objects([cell["name"] for cell in cells])}
    return cells, pd.DataFrame(plain | {"note": _objects([str(cell.get("note")) for cell in cells])})


def processor_milliseconds(frame: pd.DataFrame, *, may_nest: bool = True) -> tuple[float, Any]:
    """The best time of a way there and back, and what has come back."""
    best, back = float("inf"), None
    for _ in range(ROUNDS):
        began = time.process_time()
        encoded = write_frame(frame, may_nest=may_nest)
        spent = time.process_time() - began
        header, payload = json.loads(json.dumps(encoded.header)), _wire(encoded)
        began = time.process_time()
        back = decode(header, payload, folder=Path("never-written"), trusted=False)
        best = min(best, spent + time.process_time() - began)
    return best * 1e3, back


def pickle_milliseconds(cells: list[Any]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        pickle.loads(pickle.dumps(cells, protocol=5))
        best = min(best, time.process_time() - began)
    return best * 1e3


@pytest.mark.parametrize("make", [tags, places, orders, records])
def test_nested_beside_plain_and_beside_cell_by_cell(make: Callable[[], tuple[list[Any], pd.DataFrame]]) -> None:
    cells, plain_frame = make()
    frame = pd.DataFrame({"cells": _objects(cells)})
    nested, back = processor_milliseconds(frame)
    by_cell, _ = processor_milliseconds(frame, may_nest=False)
    plain, _ = processor_milliseconds(plain_frame)
    pickled = pickle_milliseconds(cells)
    print(
        f"\n{make.__name__:8}nested {nested:6.1f} ms = {nested / plain:4.1f} x plain;"
        f" cell by cell {by_cell:7.1f} ms = {by_cell / plain:5.1f} x plain, {by_cell / nested:4.1f} x nested;"
        f" pickle {pickled / plain:4.1f} x plain"
    )
    assert back["cells"].tolist() == cells
    assert nested < by_cell / 3
