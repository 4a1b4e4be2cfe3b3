"""Each worker collects all tests, so collection must be fast; long files start first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import IMPORTED, LONG


def test_what_is_slow_to_import_is_imported_by_the_tests_that_need_it(request: pytest.FixtureRequest) -> None:
    assert request.session.stash[IMPORTED] == set()


def test_the_files_that_start_first_exist() -> None:
    assert [file for file in LONG if not Path(__file__).parents[1].joinpath(file).is_file()] == []
