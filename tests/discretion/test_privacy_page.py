"""PRIVACY.md names a test for what it promises; they must be there, and its figures those of the corpus."""

from __future__ import annotations

import re
from pathlib import Path

from tests.discretion.corpus import PLANTED
from tests.discretion.test_corpus import FOUND

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "PRIVACY.md").read_text(encoding="utf-8")


def test_every_named_test_exists():
    named = re.findall(r"`(\w+/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 15
    for path, name in named:
        source = (ROOT / "tests" / path).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in source, f"{path}::{name}"


def test_its_figures_are_those_of_the_corpus():
    told = {(int(found), int(planted)) for found, planted in re.findall(r"\| (\d+) of (\d+) \|", PAGE)}
    assert told == {(FOUND[kind], len(planted)) for kind, planted in PLANTED.items()}
