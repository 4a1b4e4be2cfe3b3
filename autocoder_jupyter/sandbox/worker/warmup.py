"""Import the libraries that programs need, and use them once, so that their lazy parts are loaded in the zygote."""

from __future__ import annotations

import datetime as dt
import functools
import importlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from _pytest import config

from . import calls, commands, tester
from .codec import encode

__all__ = ["calls", "commands", "pytest", "rehearsal", "tester", "warm_up"]


_SPECS = [{"name": "frame", "type": "DataFrame"}]


def warm_up() -> None:
    """Use pandas and the codec with a small frame that has a column of each common kind. It loads their lazy parts.

    pytest imports its plugins when it runs, so each run of tests would import them again.
    """
    frame = _small_frame()
    for _ in rehearsal():
        pass
    entries, payload = _packed()
    calls.decode_all(entries, payload, Path(), trusted=False)
    encode(frame, "DataFrame").digest()
    for name in (*(f"_pytest.{plugin}" for plugin in getattr(config, "default_plugins", ())), "pdb"):
        with suppress(ImportError):
            importlib.import_module(name)
    frame.groupby("kind", observed=True)["number"].sum().reset_index().merge(frame, on="kind").sort_values("text")
    _use_texts_and_dates(frame)
    tester.register_module_files()


def _use_texts_and_dates(frame: pd.DataFrame) -> None:
    """Use what most functions need of texts, dates and rows.

    Arrow computes its tables of upper and lower case letters at the first use: in each child this would take longer
    than to fork it.
    """
    text = frame["text"].str.strip().str.lower().fillna("")
    text.str.split(" ", n=1).str[0].str.contains("a").sum()
    text.replace({"a": "b"}).astype("str").drop_duplicates().tolist()
    frame["when"].dt.year.astype("int64").isin([2024]).unique()
    rows = frame.loc[frame["share"].notna() & (frame["number"] > 0)].reset_index(drop=True)
    pd.concat([rows.assign(share=rows["share"].round(1)), frame], ignore_index=True).rename(columns={"share": "part"})


def rehearsal() -> Iterator[None]:
    """Do in short steps what a call does: seed, compile, decode a small frame, encode it, copy it and add a column.

    A forked child does it while it waits for its first request, and stops when that comes. So the memory pages that a
    call writes are already copied from the zygote. The frame is encoded once in the zygote: creating it in a child
    would copy four times as many pages as that saves.
    """
    calls.seed(0)
    compile("def run(frame):\n    return frame\n", "", "exec", dont_inherit=True)
    yield
    entries, payload = _packed()
    values = calls.decode_all(entries, payload, Path())
    yield
    calls.encode_all(values, _SPECS)
    yield
    frame = values["frame"].copy()
    frame["sum"] = frame["number"] + frame["share"]
    yield


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
