"""Importing what programs need, and using it once, so that what loads lazily is loaded in the zygote."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from . import calls, outputs, remote, tester
from .codec import encode

__all__ = ["outputs", "pytest", "rehearse", "remote", "tester", "warm_up"]


def warm_up() -> None:
    """Take a small frame, with a column of each common kind, through what pandas and the codec load lazily."""
    frame = _small_frame()
    rehearse()
    encode(frame, "DataFrame").digest()
    frame.groupby("kind", observed=True)["number"].sum().reset_index().merge(frame, on="kind").sort_values("text")


def rehearse() -> None:
    """Take a small frame once there and back, as a call does.

    A forked child does it while it waits for its first request: what the way there and back writes to is then already
    copied from the zygote's memory.
    """
    specs = [{"name": "frame", "type": "DataFrame"}]
    entries, pieces = calls.encode_all({"frame": _small_frame()}, specs)
    payload = memoryview(bytearray(b"".join(pieces)))
    for trusted in (True, False):
        calls.encode_all(calls.decode_all(entries, payload, Path(), trusted=trusted), specs)


def _small_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": np.arange(3),
            "share": [0.5, None, 1.0],
            "text": ["a", "b", None],
            "flag": [True, False, True],
            "when": pd.to_datetime([dt.datetime(2024, 1, day) for day in (1, 2, 3)]),
            "kind": pd.Categorical(["x", "y", "x"]),
        }
    )
