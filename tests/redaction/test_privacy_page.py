"""The figures in PRIVACY.md are those of the corpus."""

from __future__ import annotations

import re
from pathlib import Path

from tests.redaction.corpus import PLANTED
from tests.redaction.test_corpus import FOUND

PAGE = (Path(__file__).parents[2] / "PRIVACY.md").read_text(encoding="utf-8")


def test_its_figures_are_those_of_the_corpus() -> None:
    told = {(int(found), int(planted)) for found, planted in re.findall(r"\| (\d+) of (\d+) \|", PAGE)}
    assert told == {(FOUND[kind], len(planted)) for kind, planted in PLANTED.items()}
