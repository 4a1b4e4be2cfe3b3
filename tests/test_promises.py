"""The tests that SECURITY.md and PRIVACY.md name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["SECURITY.md", "PRIVACY.md"])
def test_every_named_test_exists(page: str) -> None:
    named = re.findall(r"`((?:\w+/)*test_\w+\.py)(?:::(\w+))?`", (ROOT / page).read_text(encoding="utf-8"))
    of_a_run = (("test_solution.py", ""), ("test_blind.py", ""), ("test_own.py", ""))
    named = [one for one in named if one not in of_a_run]
    assert len(named) > 15
    for path, name in named:
        source = (ROOT / "tests" / path).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in source, f"{path}::{name}"
