"""Setup of all tests: the marks for what each needs, their order, and their distribution over workers."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import tests.light_jsonschema  # noqa: F401  (before nbformat)
from tests.magics.kernel import Kernel
from tests.magics.warm import SOURCES, WarmKernel
from tests.selection import is_extended

NEEDS = {
    "chromium": "browser",
    "runner": "local_sandbox",
    "lend_kernel": "kernel",
    "kernel": "kernel",
    "executed": "kernel",
    "local_kernel": "kernel",
    "any_kernel": "kernel",
    "image": "docker",
    "containers_of": "docker",
    "dangling": "docker",
}
"""Fixtures that start a process, and the mark of every test that uses one."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell that starts the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.set_threshold(50_000, 10, 10)
"""Seven thousand tests are collected; Python would look through all of them for garbage again and again."""

SEVERAL_PROCESSES = ("browser", "kernel")
"""Marks of tests with several processes, which can fail on a loaded machine.

In CI they are run once more if they fail, and listed at the end. Other tests, above all the hostile programs, are not
run again.
"""

LONGEST_FIRST = ("browser", "kernel", "docker", "local_sandbox", "slow")
"""The slowest groups start first, so that the workers end at about the same time."""

ENGINE = re.compile(r"[\[-]docker[\]-]")
"""Part of the id of a test that runs with a Docker engine."""


LONG = (
    "tests/codec/test_hostile.py",
    "tests/data/test_context.py",
    "tests/magics/test_line.py",
    "tests/sandbox/host/test_channel.py",
    "tests/sandbox/local/test_environments.py",
    "tests/sandbox/worker/test_calls.py",
    "tests/sandbox/worker/test_pytest.py",
    "tests/tasks/test_export.py",
    "tests/test_hostile_text.py",
)
"""The files outside of these groups that take more than ten seconds. They start before the others of their group."""


IN_MAKE_TEST = pytest.StashKey[dict[str, bool]]()
"""For each collected function, without its parameters, whether `make test` runs a case of it."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> Iterator[None]:
    """Mark tests that need a kernel, an engine or a browser, before `-m` selects; put the slowest groups first."""
    selected = session.stash.setdefault(IN_MAKE_TEST, {})
    for item in items:
        for marker in {NEEDS[name] for name in getattr(item, "fixturenames", ()) if name in NEEDS}:
            item.add_marker(marker)
        if os.environ.get("CI") == "true" and any(item.get_closest_marker(marker) for marker in SEVERAL_PROCESSES):
            item.add_marker(pytest.mark.flaky(reruns=1))
        needs = {mark.name for mark in item.iter_markers()} | ({"docker"} if ENGINE.search(item.nodeid) else set())
        is_left_out = is_extended(item.nodeid, needs)
        if is_left_out:
            item.add_marker("extended")
        function = item.nodeid.partition("[")[0].removeprefix("tests/")
        selected[function] = selected.get(function, False) or not is_left_out
    yield
    ranks: dict[str, int] = {}
    for item in items:
        group = group_of(item.nodeid)
        ranks[group] = min(ranks.get(group, len(LONGEST_FIRST)), rank_of(item))
    items.sort(key=lambda item: (ranks[group := group_of(item.nodeid)], group not in LONG))


SLOW_TO_IMPORT = {"altair", "claude_agent_sdk", "jsonschema", "litellm", "matplotlib", "mcp", "nbformat", "sklearn"}

IMPORTED = pytest.StashKey[set[str]]()
"""The slow modules that were imported during collection."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exclude the collected tests from garbage collection: they are needed until the end."""
    session.stash[IMPORTED] = SLOW_TO_IMPORT & sys.modules.keys()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Show a failure with its source. In Python 3.11 this fails if another thread parses at the same time."""
    try:
        return (yield)
    except SystemError:
        return pytest.TestReport.from_item_and_call(item, call)


COLLECTED = pytest.StashKey[float]()
"""Processor seconds of the collection, in all workers."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Measure the collection: each worker pays for one."""
    started = time.process_time()
    collected = yield
    session.config.stash[COLLECTED] = time.process_time() - started
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["collected"] = session.config.stash[COLLECTED]
    return collected


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what the collection of a worker of pytest-xdist took."""
    node.config.stash[COLLECTED] += getattr(node, "workeroutput", {}).get("collected", 0.0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print why tests were run again, and one line for each reason to skip tests.

    With AUTOCODE_TEST_TIMES, write how long each file took.
    """
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"RERUN {report.nodeid}", "-")
        terminalreporter.write_line(report.longreprtext)
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped"))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED [{count}] {reason}")
    if "AUTOCODE_TEST_TIMES" in os.environ:
        seconds, cases = defaultdict[str, float](float), Counter[str]()
        for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
            if isinstance(report, pytest.TestReport):
                file = report.nodeid.partition("::")[0]
                seconds[file] += report.duration
                cases[file] += report.when == "call"
        lines = [
            f"{seconds[file]:.2f}\t{cases[file]}\t{file}\n" for file in sorted(seconds, key=seconds.__getitem__)[::-1]
        ]
        collected = f"{config.stash.get(COLLECTED, 0.0):.2f}\t\tcollection, of the processor\n"
        Path(os.environ["AUTOCODE_TEST_TIMES"]).write_text("".join([collected, *lines]))


def rank_of(item: pytest.Item) -> int:
    """The position of a group among the slow ones; fast groups come last."""
    names = {mark.name for mark in item.iter_markers()}
    return next((rank for rank, name in enumerate(LONGEST_FIRST) if name in names), len(LONGEST_FIRST))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run all tests of a module on one worker, in their order, and so all tests that use the engine or the browser.

    A second browser, with another JupyterLab, would take half a minute of processor time before its first test.
    """
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return GroupScheduling(config, log)


def group_of(nodeid: str) -> str:
    """The group of tests that run on the same worker."""
    path, _, name = nodeid.partition("::")
    if path.startswith("tests/browser/"):
        return "browser"
    if path.startswith(("tests/sandbox/docker/", "tests/wheel/")) or ENGINE.search(name):
        return "docker"
    return path


@pytest.fixture(scope="session", autouse=True)
def configuration_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The folder of the user's key and permissions is not that of the user who runs the tests."""
    place = tmp_path_factory.mktemp("configuration")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("platformdirs.user_config_path", lambda name: place / name)
        yield


LendKernel = Callable[[dict[str, str]], AbstractContextManager[Kernel]]


ONE_OPINION = {"AUTOCODE_SECOND_OPINION": "off", "AUTOCODE_EFFORT": "quick"}
"""Most scripts have no answers for a second solution, and most tests are not about what tests are worth."""


@pytest.fixture(scope="session")
def warm_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmKernel]:
    warm = WarmKernel(tmp_path_factory.mktemp("kernel"))
    yield warm
    warm.close()


@pytest.fixture
def lend_kernel(warm_kernel: WarmKernel, tmp_path: Path, request: pytest.FixtureRequest) -> LendKernel:
    """Gives a test a reused kernel, in its folder and with its environment variables.

    A test marked `own_kernel` gets a new one; a test marked `cold_kernel` gets one whose process has imported nothing
    before.
    """

    def lend(env: dict[str, str]) -> AbstractContextManager[Kernel]:
        (tmp_path / "pyproject.toml").write_text("")  # so that no settings of a parent folder apply
        if request.node.get_closest_marker("own_kernel"):
            return Kernel(tmp_path, {**SOURCES, **ONE_OPINION, **env})
        if request.node.get_closest_marker("cold_kernel"):
            return Kernel(tmp_path, {**SOURCES, **ONE_OPINION, **env}, cold=True)
        return warm_kernel.lent(tmp_path, {**ONE_OPINION, **env})

    return lend
