"""`growth.ask("Why did March fall?")`: what is sent, what is answered, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import AutoCoderAgent, magics
from autocoder_jupyter.errors import InvalidRequest
from tests.magics.test_completion import offered
from tests.runner import MARKERS, fenced
from tests.scripted_model import ScriptedModel, by_marker

SALES = pd.DataFrame({"month": ["2024-02", "2024-03", "2024-03"], "price": [5.0, 1.0, 2.0], "buyer": ["A", "B", "C"]})

MONTHLY = '''\
"""Revenue per month.

Outputs:
- monthly (DataFrame): one row per month
    - month (str)
    - price (float64): the sum
"""
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    return sales.groupby("month", as_index=False)["price"].sum()
'''
TEST_MONTHLY = '''\
import pandas as pd
from solution import run


def test_sum():
    """Prices are added per month."""
    sales = pd.DataFrame({"month": ["a", "a"], "price": [1.0, 2.0], "buyer": ["x", "y"]})
    assert list(run(sales=sales)["price"]) == [3.0]
'''
WHY = '''\
"""Why March fell.

Outputs:
- answer (str): a sentence with both sums
- evidence (DataFrame): the months
    - month (str)
    - price (float64)
"""
import pandas as pd

from helpers import growth


def run(sales: pd.DataFrame, monthly: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    found = growth(sales)
    text = f"March has {found['price'].iloc[-1]:.1f}, February {found['price'].iloc[0]:.1f}." if len(found) else ""
    return text, found
'''
TEST_WHY = '''\
import pandas as pd
from solution import run


def test_both_sums():
    """Both sums are named."""
    sales = pd.DataFrame({"month": ["2024-02", "2024-03"], "price": [1.0, 2.0], "buyer": ["x", "y"]})
    answer, evidence = run(sales=sales, monthly=sales[["month", "price"]])
    assert answer == "March has 2.0, February 1.0." and len(evidence) == 2
'''


def model() -> ScriptedModel:
    def answer(one: str, other: str) -> Any:
        return lambda request: other if "This is a question about the result" in json.dumps(request) else one

    return ScriptedModel(
        by_marker(
            {
                MARKERS["code"]: answer(fenced(MONTHLY), fenced(WHY)),
                MARKERS["tests"]: answer(fenced(TEST_MONTHLY), fenced(TEST_WHY)),
            }
        )
    )


@pytest.fixture
def real(shell: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The shell with the real `jobs`, and a model that answers."""
    magics.register(shell)
    shell.user_ns["sales"] = SALES
    with model() as scripted:
        monkeypatch.setenv("AUTOCODE_MODEL", "openai/scripted")
        monkeypatch.setenv("AUTOCODE_API_BASE", scripted.url)
        monkeypatch.setenv("AUTOCODE_EFFORT", "quick")
        shell.model = scripted
        yield shell


@pytest.mark.local_sandbox
def test_a_question_is_answered_by_a_function_that_stands_on_the_one_it_is_about(real: Any) -> None:
    real.run("%%autocode growth --wait --hide buyer -o monthly:DataFrame\nRevenue per month of @sales.")
    growth = real.user_ns["growth"]
    assert offered(real, "%%autocode g\nby @gro|") == [("%%autocode g\nby @growth", "verified function")]
    why = growth.ask("Why did March fall?").wait()
    assert why.success, why.error
    assert why.name == "growth_why_did_march_fall" and real.user_ns[why.name] is why
    assert why.run().answer == "March has 3.0, February 5.0."
    assert list(why.run().evidence["month"]) == ["2024-02", "2024-03"]
    assert [one.name for one in why.report.helpers.given] == ["growth"]
    asked = [json.dumps(request) for request in real.model.requests if "Why did March" in json.dumps(request)]
    assert "`growth(sales)`, which gave monthly." in asked[0]
    assert not any("buyer" in text for text in asked), "what was hidden when the function was made stays hidden"
    cards = [one["data"]["text/html"] for one in real.display_pub.outputs if "text/html" in one["data"]]
    assert any("autocode-card" in card and why.name in card for card in cards)


@pytest.mark.local_sandbox
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(real: Any, here: Path) -> None:
    real.run("%%autocode growth --wait -o monthly:DataFrame\nRevenue per month of @sales.")
    growth, sent = real.user_ns["growth"], len(real.model.requests)
    for question in ("", "  ", "x" * 10_001):
        with pytest.raises(InvalidRequest, match="A question must be a text"):
            growth.ask(question)
    with pytest.raises(InvalidRequest, match="stores is not an input of growth"):
        growth.ask("Why?", stores=SALES)
    from autocoder_jupyter import load

    loaded = load("growth")
    with pytest.raises(InvalidRequest, match="has no data here"):
        loaded.ask("Why?")
    real.user_ns["growth_why"] = 3
    with pytest.raises(InvalidRequest, match="already a variable"):
        growth.ask("Why?")
    assert len(real.model.requests) == sent
    magics.unregister(real)
    with pytest.raises(InvalidRequest, match=r"AutoCoderAgent\(…\).answer\(growth"):
        growth.ask("Why?")


@pytest.mark.local_sandbox
def test_a_script_asks_with_an_agent(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model() as scripted:
        agent = AutoCoderAgent(**{**scripted.settings, "effort": "quick"})
        growth = agent.generate(
            "Revenue per month.", samples={"sales": SALES}, outputs={"monthly": pd.DataFrame}, name="growth"
        )
        assert growth.success, growth.error
        why = agent.answer(growth, "Why did March fall?", sales=SALES[SALES.month == "2024-03"])
        assert why.success, why.error
    assert why.run().answer == "March has 3.0, February 3.0."
