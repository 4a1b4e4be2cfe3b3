"""An output that says nothing on a full sample is told to a person, and the result is not green."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.display.card import tone
from autocoder_jupyter.display.inspector import document
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.engine.sample_run import remarks
from autocoder_jupyter.run.events import EvidenceGathered, Finished
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import headline, verified
from autocoder_jupyter.types import OutputSpec
from tests.cases import each
from tests.runner import Runner, fenced

DATA = {"data": pd.DataFrame({"shop": ["a", "b", "c", "a", "b", "c"], "v": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})}
FULL = pd.DataFrame({"shop": list("abcabc"), "share": [0.1, 0.2, 0.3, 0.1, 0.2, 0.1]})


@each(
    ("value", "said"),
    [
        ({}, "out is empty"),
        ([], "out is empty"),
        (FULL.iloc[:0], "out is empty"),
        (pd.Series([], dtype="float64"), "out is empty"),
        (float("nan"), "out is missing"),
        (pd.NaT, "out is missing"),
        ({"a": None, "b": float("nan")}, "all values of out are missing"),
        (FULL.assign(share=None), "all values of out.share are missing"),
        (FULL.assign(share=0.0), "all values of out.share are the same"),
        (FULL.assign(shop="a"), "all values of out.shop are the same"),
    ],
)
def test_an_output_that_says_nothing_is_remarked(value: Any, said: str) -> None:
    assert remarks({"out": value}, DATA, None) == (f"{said} on 6 rows of data",)


@each(
    "value",
    [
        FULL,
        FULL.assign(currency="EUR"),
        {"a": 1},
        [0],
        0,
        0.0,
        "",
        False,
        FULL.iloc[:1],
        FULL.head(2).assign(share=0.0),
    ],
)
def test_other_outputs_are_not(value: Any) -> None:
    assert remarks({"out": value}, DATA, None) == ()


def test_nothing_is_remarked_where_there_are_no_rows_and_no_name_that_may_not_be_told() -> None:
    assert remarks({"out": {}}, {"data": DATA["data"].iloc[:0]}, None) == () == remarks({"out": {}}, {"n": 3}, None)
    private = FULL.rename(columns={"share": "Ada"}).assign(Ada=None)
    assert remarks({"out": private}, DATA, {"shop"}) == ("all values of a column of out are missing on 6 rows of data",)


@pytest.mark.local_sandbox
async def test_a_function_that_everything_agrees_on_is_not_green_if_its_answer_is_empty(runner: Runner) -> None:
    plan = json.dumps({"description": "d", "approach": "a", "outputs": [{"name": "totals", "type": "dict"}]})
    code = "def run(data):\n    return {s: float(v) for s, v in zip(data['shop'], data['v']) if s == 'A'}"
    tests = (
        "import pandas as pd\nfrom solution import run\n\n\ndef test_a():\n"
        "    assert run(data=pd.DataFrame({'shop': ['A'], 'v': [1.0]})) == {'A': 1.0}"
    )
    second = f"OUTPUTS = {{'totals': 'dict'}}\n\n\n{code}"
    produced = await runner.generate(
        {"plan": [plan], "code": [fenced(code)], "tests": [fenced(tests)], "second": [fenced(second)]},
        prompt="Totals of shop A in @data.",
        samples=DATA,
        outputs=(OutputSpec(name="totals", type="dict"),),
        settings={"second_opinion": "on"},
    )
    report = produced.report
    assert report.success and report.evidence.remarks == ("totals is empty on 6 rows of data",)
    state = FunctionRun("growth").apply(EvidenceGathered(1, report.evidence)).apply(Finished("ready"))
    assert headline(state) == "Ready, with a question for you" and tone(state) == "warn"
    said = "Totals is empty on 6 rows of data."
    for shown in (card_html(state), card_text(state), document.render_text(Subject(report, "ready"))):
        assert said in shown
    assert [one.whole for one in verified(report.evidence, report.second_opinion, 1).questions] == [
        "totals is empty on 6 rows of data"
    ]
