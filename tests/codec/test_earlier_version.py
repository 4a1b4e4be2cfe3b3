"""A value that version 0.1.0 has saved can still be read."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.codec import Corrupt, decode

HEADER = (
    '{"type": "DataFrame", "rows": 3, "index": {"kind": "flat", "name": "row", "values": {"kind": "string", "'
    'storage": "pyarrow", "missing": "nan", "at": [3, 0]}}, "columns": {"kind": "flat", "name": null, "values'
    '": {"kind": "string", "storage": "pyarrow", "missing": "nan", "at": [10, 0]}}, "values": [{"kind": "nump'
    'y", "dtype": "<i8", "at": [3, 1]}, {"kind": "numpy", "dtype": "<i8", "at": [3, 2]}, {"kind": "numpy", "d'
    'type": "<f8", "at": [3, 3]}, {"kind": "numpy", "dtype": "|b1", "at": [3, 4]}, {"kind": "numpy", "dtype":'
    ' "|b1", "at": [3, 5]}, {"kind": "datetime", "unit": "us", "at": [3, 6]}, {"kind": "category", "ordered":'
    ' false, "width": "int8", "at": [3, 7], "levels": {"kind": "flat", "name": null, "values": {"kind": "stri'
    'ng", "storage": "pyarrow", "missing": "nan", "at": [2, 0]}}}, {"kind": "string", "storage": "pyarrow", "'
    'missing": "nan", "at": [3, 8]}, {"kind": "numpy", "dtype": "<c16", "at": [3, 9]}, {"kind": "numpy", "dty'
    'pe": "|i1", "at": [3, 10]}], "size": 2320, "streams": [[3, 1592], [10, 408], [2, 320]]}'
)
BYTES = (
    "eJzVVb1uE0EQnj1fLqdwiJOwIiO5MF0KCgcIP1WuQFQUFBQuaIziIsI2Eb7CoSFFHoEiBYXLRAKJB6BASkORgiISLQ9AQUnFMrM74zuPfBch"
    "JCRGmhvPfd/87O54z1pr9wKAFEjWIIEIViDGXygmRB/Qi/EZ8hPgEmoTY84MwFvUIeoD1Dbqd8Q+or5Bvc38jV/WYrKAajT5HQmmgM0uwFOH"
    "g6H8Tzw3JV6buZgWWmzvY38xvo04/tDzGylzJDfZ3Xwwot/rljgBfPDcpu6D8t5DnSF+XtErce7SXtiiV7DV3Du0fuZm+LjhudEy7hatFfHH"
    "NRzaywzx3C5fL3Fuub2J3N7Qemc1/d1EPS/1d1bithV3081AgrrqZkBiUsxK9VbdlKQ8Q35/dW9d54fzd1jOHge+L5IE1nnyEpcNGqHLERsm"
    "4ES2EAl5Nt8ZP7MNKOQaVEtHWYnbUDzxW2wzhWcK7ym8p/A9hYsvy5oqfKrwA4WLL/mPFC6+rG+m8h2z7bD9zHaF7ReVr8rvygujCGaxPkmi"
    "fI3/S99U4NEF8SISHyjey0lei8vcyz4v1vu27e3P1/wiE57EQed6+vUyRn3aev8wnUcfLNvvch1tT09OT8Zz1o9tqQe1Emcm8BWsvzOcpVn+"
    "k+8GtdqEv783juDie6P4Xy3eG4+457XS6qrOmqSnbPmOMSoPKIxEz4GcHN+j7ltKcoXtVbayPqk3Hk33B5Pxi53+/vPd8U4+mOavJqP+cMj4"
    "/3IunfkOLT+XAAqpO5eWsuU4o3xQWJnff1b0T/Y34Vihcw=="
)
"""Compressed, and in base64."""


def payload() -> memoryview:
    return memoryview(bytearray(zlib.decompress(base64.b64decode(BYTES))))


@pytest.mark.parametrize("trusted", [True, False])
def test_a_table_of_an_earlier_version_is_read(trusted: bool) -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2, 3],
            "m": [4, 5, 6],
            "x": [0.5, float("nan"), 2.0],
            "yes": [True, False, True],
            "no": [False, False, True],
            "day": pd.to_datetime(["2024-01-01", "2024-02-01", "NaT"]),
            "kind": pd.Categorical(["a", "b", "a"]),
            "text": ["één", "", None],
            "z": [1 + 2j, 0, 3j],
            "small": np.array([1, 2, 3], "int8"),
        },
        index=pd.Index(["r", "s", "t"], name="row"),
    )
    back = decode(json.loads(HEADER), payload(), folder=Path(), trusted=trusted)
    pd.testing.assert_frame_equal(back, frame)
    back.loc["r", "n"] = 9  # it can be written to
    assert back["n"].tolist() == [9, 2, 3] and back["m"].tolist() == [4, 5, 6]


def test_numbers_of_another_kind_are_refused_there_too() -> None:
    header = json.loads(HEADER)
    header["values"][0]["dtype"] = "<u8"
    with pytest.raises(Corrupt, match="uint64 without nulls"):
        decode(header, payload(), folder=Path(), trusted=False)
