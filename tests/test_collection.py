"""Each worker collects all tests, so collection must be fast."""

from __future__ import annotations

import pytest

from tests.conftest import IMPORTED


def test_what_is_slow_to_import_is_imported_by_the_tests_that_need_it(request: pytest.FixtureRequest) -> None:
    assert request.session.stash[IMPORTED] == set()
