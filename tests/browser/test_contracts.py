"""`--contract` in JupyterLab: what a user sees if the output of a function violates the schema."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open

pytestmark = [
    pytest.mark.browser,
    pytest.mark.local_sandbox,
    pytest.mark.usefixtures("extension"),
]

PATIENCE = 60_000

SCHEMA = """\
import pandera.pandas as pa

class Monthly(pa.DataFrameModel):
    revenue: float = pa.Field(lt=20_000)
    growth: float = pa.Field(ge=0, nullable=True)"""

CELL = scripts.CELL.replace("\n-c", " --contract monthly=@Monthly --max-iterations 1\n-c", 1)


def test_a_broken_contract_is_one_readable_error_with_the_worst_rows(notebook: Open) -> None:
    page = notebook(SCHEMA, CELL, "growth")
    page.run(1)
    page.wait_for_prompt(1)
    page.run(2)
    card = page.output(2)
    broken = "This does not hold: monthly satisfies Monthly on the sample."
    card.get_by_text(broken).first.wait_for(timeout=PATIENCE)
    take_picture(card, "card")
    page.run(3)
    result = page.output(3)
    result.get_by_role("tab", name="Function").wait_for(timeout=PATIENCE)
    take_picture(result, "inspector")
    rules = {"revenue: less_than(max_value=20000)", "growth: greater_than_or_equal_to(min_value=0)"}
    for output in (card, result):
        said = output.inner_text()
        assert said.count(broken) == 1
        reason = said[said.index(broken) :]
        assert all(re.search(rf"{re.escape(rule)}: 5 of 12 rows \(row \d+: \S+, row ", reason) for rule in rules)
        assert "Traceback" not in said and "SchemaError" not in said


def take_picture(output: Any, name: str) -> None:
    ARTIFACTS.mkdir(exist_ok=True)
    output.screenshot(path=ARTIFACTS / f"contract-{name}.png")
