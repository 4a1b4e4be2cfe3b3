"""Memory and processor time of `over` for a file that is larger than its memory, beside the same pieces without it.

    python -m pytest tests/benchmarks/test_bench_over.py -s

It prints one line for each. Processor seconds and memory are those of this process with its sandboxes: memory is the
proportional set size, looked at four times a second, above what was there before. `AUTOCODE_BENCH_ROWS` and
`AUTOCODE_BENCH_MEMORY` (bytes) choose another size; 500 million rows are 20 GB.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow import parquet

from autocoder_jupyter.scaling.partition import partition
from autocoder_jupyter.scaling.sources import Batches, source_of
from tests.sandbox.sandboxes import open_sandbox
from tests.scaling.conftest import Build, built  # noqa: F401  (a fixture)
from tests.scaling.test_over import SAMPLE, plain

ROWS = int(os.environ.get("AUTOCODE_BENCH_ROWS", "16_000_000"))
MEMORY = int(os.environ.get("AUTOCODE_BENCH_MEMORY", 2**29))
BODY = "return sales.groupby('shop', as_index=False)['units'].median()"


@dataclass
class Used:
    """What was used: processor seconds, and bytes at most."""

    seconds: float = 0.0
    most: int = 0


def seconds() -> float:
    """Of this process and those below it, also those that have ended."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def memory() -> int:
    total = 0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total


@contextmanager
def measured(name: str) -> Iterator[Used]:
    used, ended, before = Used(), threading.Event(), memory()

    def look() -> None:
        while not ended.wait(0.25):
            used.most = max(used.most, memory() - before)

    thread = threading.Thread(target=look)
    thread.start()
    begun = seconds()
    try:
        yield used
    finally:
        ended.set()
        thread.join()
        used.seconds = seconds() - begun
        print(f"{name}: {used.seconds:.1f} s of processor, at most {used.most / 2**20:,.0f} MiB")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Rows of 24 bytes in a hundred thousand groups."""
    path, draw = tmp_path / "sales.parquet", np.random.default_rng(0)
    schema = pa.schema([("shop", pa.string()), ("units", pa.int64()), ("price", pa.float64()), ("note", pa.int64())])
    names = pa.array([f"shop {number}" for number in range(100_000)])
    with parquet.ParquetWriter(path, schema) as writer:
        for _ in range(0, ROWS, 10**6):
            shops = names.take(pa.array(draw.integers(0, len(names), 10**6)))
            numbers = [draw.integers(0, 10**6, 10**6), draw.random(10**6), draw.integers(0, 10**9, 10**6)]
            writer.write_table(pa.table([shops, *numbers], schema=schema))
    return path


def test_over_beside_the_same_pieces_in_this_process(built: Build, file: Path, tmp_path: Path) -> None:  # noqa: F811
    open_sandbox("local")
    source = source_of(file)
    assert isinstance(source, Batches)
    columns = ["shop", "units"]
    with measured(f"{ROWS:,} rows divided by their key") as divided:
        batches = (batch.table for batch in source.read(columns))
        expected, folder = source.expected_bytes(columns), tmp_path / "buckets"
        buckets = partition(batches, ["shop"], folder, expected=expected, limit=MEMORY // 8, workers=2)
    assert divided.seconds / (ROWS / 10**6) < 2 and divided.most < 2**29
    with measured(f"{len(buckets)} pieces in this process") as inside:
        groups = sum(len(plain(BODY, bucket.table().to_pandas())) for bucket in buckets)
    growth = built(BODY, {"sales": SAMPLE})
    assert growth.split.kind == "groups"
    with measured(f"over, with {MEMORY / 2**20:.0f} MiB") as over:
        answer = growth.over(file, memory=MEMORY, workers=2)
    assert len(answer) == groups
    ratio = over.seconds / (divided.seconds + inside.seconds)
    print(
        f"{divided.seconds / (ROWS / 10**6):.2f} s a million rows to divide; over: {ratio:.2f} times the processor time"
    )
    assert ratio < 3
