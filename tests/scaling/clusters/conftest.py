"""Spark and Ray on this machine, started once. `make test-engines` installs them; without them tests are skipped."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import pandas as pd
import psutil
import pytest

from tests.scaling.test_over import sales

SALES = sales(3_000, 7)

KINDS = ("a formula", "running sums", "medians of two keys", "a total", "the first row", "the distance to the mean")
"""Functions of each kind; the order of rows counts for the second and the fifth."""


def engine(name: str) -> Any:
    """A library that carries tables."""
    if os.environ.get("CI") == "true":
        return __import__(name)
    return pytest.importorskip(name)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of Spark with two workers."""
    engine("pyspark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    place = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # Java would compile with all optimizations what runs for seconds only.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.memory": "600m",
        "spark.local.dir": str(place),
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.sql.session.timeZone": "Europe/Vienna",
        "spark.task.maxFailures": "3",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2, 3]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    """Ray with two workers."""
    os.environ.update(RAY_raylet_start_wait_time_s="120", RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0")
    # Ray would end idle workers after a second, and start others for the next test.
    os.environ.update(RAY_idle_worker_killing_time_threshold_ms="600000", RAY_num_workers_soft_limit="6")
    library = engine("ray")
    import ray.data

    for tries_left in (2, 1, 0):  # a part of it has 15 s to start, which are not enough on a loaded machine
        try:
            library.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2**28)
            break
        except Exception:
            library.shutdown()
            if not tries_left:
                raise
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    yield library
    library.shutdown()


def killed_while(compute: Callable[[], pd.DataFrame], is_worker: Callable[[psutil.Process], bool]) -> pd.DataFrame:
    """What a computation gives, although a worker that has a sandbox is killed after a second of work.

    The sandbox must end with its worker.
    """

    def busy() -> list[psutil.Process]:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if is_worker(process) and (sandbox := process.children(recursive=True)):
                    return [process, *sandbox]
        return []

    with ThreadPoolExecutor(1) as executor:
        computed = executor.submit(compute)
        worker, *sandbox = _awaited(busy)
        time.sleep(1)
        assert not computed.done()
        worker.kill()
        _awaited(lambda: not any(process.is_running() and process.status() != "zombie" for process in sandbox))
        return computed.result()


T = TypeVar("T")


def _awaited(look: Callable[[], T]) -> T:
    """What something gives as soon as it is true."""
    deadline = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found
