"""No text of five megabytes from outside stops the other threads of the notebook, and none takes long to be read."""

from __future__ import annotations

import contextlib
import gc
import itertools
import sys
from pathlib import Path

import pytest

from tests.deadline import at_most
from tests.readers.readers import ELSEWHERE, READERS, REFUSALS
from tests.readers.search import functions_that_read
from tests.readers.watch import LONGEST, Watch, require_short

SECONDS = 8
"""Processor time for reading five megabytes. Work in quadratic time would take minutes."""

CASES = [(reader, name) for reader in READERS for name in READERS[reader].inputs]


@pytest.fixture(autouse=True, scope="module")
def what_other_tests_left_is_not_collected() -> None:
    """Exclude the objects of earlier tests from garbage collection; to visit all of them takes half a second."""
    gc.collect()
    gc.freeze()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads another thread's clock")
@pytest.mark.parametrize(("reader", "text"), CASES, ids=[f"{reader}: {text}" for reader, text in CASES])
def test_nothing_from_outside_stops_the_other_threads(reader: str, text: str, tmp_path: Path) -> None:
    given = READERS[reader].inputs[text]()
    folders = itertools.count()

    def read() -> float:
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        with Watch() as watch, at_most(SECONDS), contextlib.suppress(*REFUSALS):
            READERS[reader].read(given, folder)
        return watch.longest

    require_short(read, LONGEST / 2)


def test_every_function_that_reads_is_on_the_list() -> None:
    """A new one is added to `READERS` with hostile input, or to `ELSEWHERE` with the reason."""
    found = functions_that_read()
    measured = {function for reader in READERS.values() for function in reader.functions}
    explained = {name for names in ELSEWHERE.values() for name in names}
    packages = tuple(name.removesuffix("*") for name in explained if name.endswith("*"))
    unlisted = {name for name in found - measured - explained if not name.startswith(packages)}
    gone = (measured | {name for name in explained if not name.endswith("*")}) - found
    assert (sorted(unlisted), sorted(gone)) == ([], [])
