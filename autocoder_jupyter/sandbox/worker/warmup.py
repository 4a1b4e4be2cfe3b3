"""Import the libraries that programs need and use them once, so that lazy parts are loaded in the zygote too."""

from __future__ import annotations

import datetime as dt
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from . import calls, commands, outputs, remote, tester
from .codec import encode

__all__ = ["commands", "outputs", "pytest", "rehearse", "remote", "tester", "warm_up"]


_SPECS = [{"name": "frame", "type": "DataFrame"}]


def warm_up() -> None:
    """Take a small frame, with a column of each common kind, through what pandas and the codec load lazily."""
    frame = _small_frame()
    rehearse()
    entries, payload = _packed()
    calls.decode_all(entries, payload, Path(), trusted=False)
    encode(frame, "DataFrame").digest()
    frame.groupby("kind", observed=True)["number"].sum().reset_index().merge(frame, on="kind").sort_values("text")


def rehearse() -> None:
    """Take a small frame in and out, as a call does.

    A forked child does it while it waits for its first request: what the way in and out writes to is then already
    copied from the zygote's memory. The frame itself is packed once, in the zygote: making it would copy four times as
    much as it saves.
    """
    entries, payload = _packed()
    calls.encode_all(calls.decode_all(entries, payload, Path()), _SPECS)


@functools.cache
def _packed() -> tuple[list[dict[str, Any]], memoryview]:
    packed = calls.encode_all({"frame": _small_frame()}, _SPECS)
    return packed.entries, memoryview(bytearray(b"".join(packed.pieces)))


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
