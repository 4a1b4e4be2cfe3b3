"""Workers on other machines: their environments, their versions, and what is left of a worker that was killed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import dask.dataframe as dd
import pytest
from distributed import Client, LocalCluster
from distributed.cfexecutor import ClientExecutor

from autocoder_jupyter.errors import InvalidRequest, NoWorkersWarning, PackageError, VersionsDiffer
from autocoder_jupyter.scaling import prepare, running
from autocoder_jupyter.scaling.running import pool_of
from tests.scaling.conftest import Build
from tests.scaling.test_over import BY_ROWS, SAMPLE

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]


@contextmanager
def machine(folder: Path, **variables: str) -> Iterator[Client]:
    """A worker on a machine whose cache is empty."""
    own = {"AUTOCODE_CACHE_DIR": str(folder / "cache"), **variables}
    with (
        dask.config.set({"distributed.admin.tick.limit": "60s"}),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, local_directory=str(folder), env=own
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def environments(folder: Path) -> list[Path]:
    return list((folder / "cache" / "environments").glob("*/autocode.json"))


def test_an_empty_machine_builds_the_environment_ahead(built: Build, tmp_path: Path) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, lock=True)
    with machine(tmp_path) as client:
        (address,) = growth.prepare(client)
        assert address.startswith("tcp://") and len(environments(tmp_path)) == 1
        (made,) = environments(tmp_path)
        when = made.stat().st_mtime_ns
        assert growth.prepare(client) == (address,)
        mapped = growth.map([SAMPLE.head(20), SAMPLE.tail(20)], executor=client)
        assert not mapped.errors and [len(table) for table in mapped] == [20, 20]
        assert environments(tmp_path) == [made] and made.stat().st_mtime_ns == when


def test_a_machine_without_a_package_index_says_that(built: Build, tmp_path: Path) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, lock=True)
    away = {
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple",
        "UV_HTTP_RETRIES": "0",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
    }
    with machine(tmp_path, **away) as client:
        with pytest.raises(PackageError, match=r"worker tcp://.*: The package index cannot be reached") as said:
            growth.prepare(client)
        assert "index configuration" in said.value.hint
        with pytest.raises(PackageError, match="The package index cannot be reached"):
            growth.map([SAMPLE.head(20)], executor=client)
        with pytest.raises(PackageError, match="The package index cannot be reached"):
            growth.over(dd.from_pandas(SAMPLE, npartitions=2, sort=False)).compute()


def test_a_worker_without_this_package_is_said_before_anything_is_sent(built: Build, tmp_path: Path) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, lock=True)
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_THIS_PACKAGE)
    with (
        LocalCluster(n_workers=0, dashboard_address=":0", local_directory=str(tmp_path)) as cluster,
        Client(cluster) as client,
    ):
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
        )
        try:
            client.wait_for_workers(1)
            calls: list[Callable[[], Any]] = [
                lambda: growth.prepare(client),
                lambda: growth.map([SAMPLE], executor=client),
                lambda: growth.map([SAMPLE], executor=client.get_executor()),
                lambda: growth.over(dd.from_pandas(SAMPLE, npartitions=2, sort=False)),
            ]
            for call in calls:
                with pytest.raises(VersionsDiffer, match="1 of 1 workers do not have autocoder-jupyter") as said:
                    call()
                assert "Install" in said.value.hint
        finally:
            worker.kill()
            worker.wait()
    with pytest.raises(InvalidRequest, match="The cluster does not answer"):
        growth.prepare(client)
    with pytest.raises(InvalidRequest, match="The executor does not accept calls"):
        growth.map([SAMPLE], executor=client)


WITHOUT_THIS_PACKAGE = """
import sys


class Missing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "autocoder_jupyter":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing)
"""


def test_a_cluster_without_workers_is_said_at_once(built: Build, tmp_path: Path) -> None:
    """It may have some later, so it is no error: a cluster that adapts starts without."""
    growth = built(BY_ROWS, {"sales": SAMPLE}, lock=True)
    with (
        LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        Client(cluster) as client,
    ):
        with pytest.warns(NoWorkersWarning, match="has no workers yet, so calls wait until it has one") as told:
            answer = growth.over(dd.from_pandas(SAMPLE, npartitions=2, sort=False))
        assert [said.filename for said in told] == [__file__]
        cluster.adapt(minimum=0, maximum=1, wait_count=1_000)
        for executor in (client, client.get_executor()):
            with pytest.warns(NoWorkersWarning):
                assert pool_of(executor) is not None
            with warnings.catch_warnings(), pytest.raises(NoWorkersWarning):
                warnings.simplefilter("error", NoWorkersWarning)
                pool_of(executor)
        with pytest.warns(NoWorkersWarning):
            mapped = growth.map([SAMPLE.head(20)], executor=client)
        assert [len(table) for table in mapped] == [20]
        with warnings.catch_warnings():
            warnings.simplefilter("error", NoWorkersWarning)
            assert not growth.map([SAMPLE.head(20)], executor=client.get_executor()).errors
        assert len(answer.compute()) == len(SAMPLE)


def test_an_executor_of_an_asynchronous_client_is_refused(built: Build) -> None:
    client = SimpleNamespace(register_plugin=pytest.fail, asynchronous=True)
    with pytest.raises(InvalidRequest, match="map waits for the workers, so it does not accept an asynchronous client"):
        built(BY_ROWS, {"sales": SAMPLE}).map([SAMPLE], executor=ClientExecutor(client))


def test_prepare_takes_a_client_that_waits(built: Build) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE})
    with pytest.raises(InvalidRequest, match="prepare takes a client of Dask, not ThreadPoolExecutor"):
        growth.prepare(ThreadPoolExecutor(1))
    awaited = SimpleNamespace(register_plugin=pytest.fail, asynchronous=True)
    with pytest.raises(InvalidRequest, match="it does not accept an asynchronous client"):
        growth.prepare(awaited)


def test_another_version_stops_at_once(built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE})
    here = prepare.versions_here()
    assert set(here) == {"autocoder-jupyter", "Python", "pandas", "PyArrow"} and here["Python"].count(".") == 1
    monkeypatch.setattr(running, "versions_here", lambda: {**here, "pandas": "1.0"})
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(VersionsDiffer, match=rf"pandas 1\.0 and {here['pandas']}\.") as said,
    ):
        growth.map([SAMPLE.head(20)] * 300, executor=executor)
    assert "Python" not in said.value.what
    assert pickle.loads(pickle.dumps(said.value)).what == said.value.what
