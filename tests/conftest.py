"""What holds for all tests: which machinery each needs, and which run side by side."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.magics.kernel import Kernel
from tests.magics.warm import SOURCES, WarmKernel

NEEDS = {
    "chromium": "browser",
    "theatre": "local_sandbox",
    "lend_kernel": "kernel",
    "kernel": "kernel",
    "executed": "kernel",
    "house": "kernel",
    "any_house": "kernel",
    "image": "docker",
    "containers_of": "docker",
    "dangling": "docker",
}
"""Fixtures that start something, and the marker of every test that uses one."""

gc.set_threshold(50_000, 10, 10)
"""Seven thousand tests are collected; Python would look through all of them for garbage again and again."""

SEVERAL_PROCESSES = ("browser", "kernel")
"""A page, a server and a kernel on a loaded machine: in CI, what fails is run once more, and listed at the end.

What needs none of them, the hostile programs above all, has one chance."""

LONGEST_FIRST = ("browser", "kernel", "docker", "local_sandbox", "slow")
"""What takes most of the time begins first, so that the workers end together."""

ENGINE = re.compile(r"[\[-]docker[\]-]")
"""In the id of a test that a Docker engine runs."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark what needs a kernel, an engine or a browser before `-m` chooses, and put the longest rooms first."""
    for item in items:
        for marker in {NEEDS[name] for name in getattr(item, "fixturenames", ()) if name in NEEDS}:
            item.add_marker(marker)
        if os.environ.get("CI") == "true" and any(item.get_closest_marker(marker) for marker in SEVERAL_PROCESSES):
            item.add_marker(pytest.mark.flaky(reruns=1))
    yield
    ranks: dict[str, int] = {}
    for item in items:
        room = room_of(item.nodeid)
        ranks[room] = min(ranks.get(room, len(LONGEST_FIRST)), rank_of(item))
    items.sort(key=lambda item: ranks[room_of(item.nodeid)])


SLOW_TO_IMPORT = {"altair", "claude_agent_sdk", "jsonschema", "litellm", "matplotlib", "mcp", "nbformat", "sklearn"}

IMPORTED = pytest.StashKey[set[str]]()
"""What of these was imported when all tests were collected."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected stays until the end, and is no garbage."""
    session.stash[IMPORTED] = SLOW_TO_IMPORT & sys.modules.keys()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A failure is shown with its source, for which Python 3.11 fails when another thread parses at that moment."""
    try:
        return (yield)
    except SystemError:
        return pytest.TestReport.from_item_and_call(item, call)


def rank_of(item: pytest.Item) -> int:
    """The place among what takes long; what is quick comes last."""
    names = {mark.name for mark in item.iter_markers()}
    return next((rank for rank, name in enumerate(LONGEST_FIRST) if name in names), len(LONGEST_FIRST))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of one module stay on one worker, in their order, and so do all that look at one engine or browser.

    There are two browsers, each for half of their tests: together they would take longer than all that runs beside.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Rooms(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return room_of(nodeid)

    return Rooms(config, log)


def room_of(nodeid: str) -> str:
    """The part of the suite that a test shares its worker with."""
    path, _, name = nodeid.partition("::")
    if path.startswith("tests/browser/"):
        return f"browser {1 if path < 'tests/browser/test_l' else 2}"
    if path.startswith(("tests/sandbox/docker/", "tests/wheel/")) or ENGINE.search(name):
        return "docker"
    return path


LendKernel = Callable[[dict[str, str]], AbstractContextManager[Kernel]]


ONE_OPINION = {"AUTOCODE_SECOND_OPINION": "off"}
"""Most scripts of a model have no second solution."""


@pytest.fixture(scope="session")
def warm_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmKernel]:
    warm = WarmKernel(tmp_path_factory.mktemp("kernel"))
    yield warm
    warm.close()


@pytest.fixture
def lend_kernel(warm_kernel: WarmKernel, tmp_path: Path, request: pytest.FixtureRequest) -> LendKernel:
    """Lends a kernel in the test's folder, by its environment variables.

    Marked `own_kernel`, a test gets a new one; marked `cold_kernel`, one whose process has imported nothing before.
    """

    def lend(env: dict[str, str]) -> AbstractContextManager[Kernel]:
        (tmp_path / "pyproject.toml").write_text("")  # the settings of whoever runs the tests are not meant
        if request.node.get_closest_marker("own_kernel"):
            return Kernel(tmp_path, {**SOURCES, **ONE_OPINION, **env})
        if request.node.get_closest_marker("cold_kernel"):
            return Kernel(tmp_path, {**SOURCES, **ONE_OPINION, **env}, cold=True)
        return warm_kernel.lent(tmp_path, {**ONE_OPINION, **env})

    return lend
