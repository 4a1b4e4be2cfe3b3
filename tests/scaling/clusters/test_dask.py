"""A thousand partitions of a frame of Dask, of which two processes compute each once, although one is killed."""

from __future__ import annotations

import os
import signal
import time

import pandas as pd
import pytest
from distributed import Client

from tests.scaling.conftest import ROWS, Build
from tests.scaling.test_dask import client, frame  # noqa: F401  (a fixture)
from tests.scaling.test_over import BY_ROWS, SAMPLE, plain, sales

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]


PARTS = 1_000


def test_a_worker_is_killed_half_way(built: Build, client: Client) -> None:  # noqa: F811
    table = sales(4_000, 7)
    answer = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS).over(frame(table, PARTS)).persist()
    futures = client.futures_of(answer)
    assert len(futures) == PARTS
    while (done := sum(future.done() for future in futures)) < PARTS // 2:
        time.sleep(0.02)
    assert done < PARTS
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    pd.testing.assert_frame_equal(answer.compute().reset_index(drop=True), plain(BY_ROWS, table))
