"""The length of the questions of a generation, and the part of the later ones that a provider's cache can serve.

python -m pytest tests/benchmarks/test_questions.py -s
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data.tokens import estimate_tokens
from tests.questions import shared, texts_of_all_stages
from tests.tables import mixed_table

FIRST_ATTEMPT = ("code", "tests")


@pytest.mark.parametrize("columns", [5, 20, 179])
def test_share_of_the_questions_that_a_cache_can_serve(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    asked = texts_of_all_stages(_table(columns))
    seen: list[str] = []
    served: dict[str, int] = {}
    for stage, text in asked.items():
        before = seen[:1] if stage == "tests" else seen  # asked in parallel with the code, before that is cached
        served[stage] = max((estimate_tokens(shared(one, text)) for one in before), default=0)
        seen.append(text)
    tokens = {stage: estimate_tokens(text) for stage, text in asked.items()}
    with capsys.disabled():
        print(f"\n{columns} columns")
        for stage in asked:
            print(f"  {stage:9} {len(asked[stage]):6} characters {tokens[stage]:6} tokens, {served[stage]:6} shared")
        _tell("code, tests", FIRST_ATTEMPT, asked, tokens, served)
        _tell("with one mending", tuple(asked), asked, tokens, served)
    later = FIRST_ATTEMPT[1:]
    assert sum(served[stage] for stage in later) >= 0.8 * sum(tokens[stage] for stage in later)


def _tell(
    what: str, stages: tuple[str, ...], asked: dict[str, str], tokens: dict[str, int], served: dict[str, int]
) -> None:
    later = sum(tokens[stage] for stage in stages[1:])
    share = sum(served[stage] for stage in stages[1:]) / later
    characters = sum(len(asked[stage]) for stage in stages)
    whole = sum(tokens[stage] for stage in stages)
    paid = whole - 0.9 * sum(served[stage] for stage in stages)  # a token from the cache costs a tenth
    print(f"  {what}: {characters} characters, {whole} tokens, {share:.0%} of later ones shared, cost of {paid:.0f}")


def _table(columns: int) -> pd.DataFrame:
    """The mixed table with a given number of columns."""
    mixed = mixed_table(1_000)
    if columns <= mixed.shape[1]:
        return mixed[["when", *[name for name in mixed.columns if name != "when"]][:columns]]
    more = columns - mixed.shape[1]
    sensors = np.random.default_rng(3).normal(size=(1_000, more))
    return pd.concat([mixed, pd.DataFrame(sensors, columns=[f"sensor_{i}" for i in range(more)])], axis=1)
