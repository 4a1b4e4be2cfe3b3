"""What a function loses or multiplies: functions that lose rows are asked about, and right ones are not."""

from __future__ import annotations

import copy
import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.display.inspector.evidence import evidence_section
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.engine.evidence.losses import losses as losses_of
from autocoder_jupyter.engine.evidence.losses import never_read
from autocoder_jupyter.engine.evidence.row_steps import Place
from autocoder_jupyter.engine.evidence.rows_used import Spoken, followed
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.run.of_report import run_of, verified_run
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.types import InputSpec, Loss, OutputSpec, Report
from tests.engine.losing_functions import GUILTY_AFTER, GUILTY_BEFORE, INNOCENT_AFTER, INNOCENT_BEFORE, Losing, movies
from tests.engine.test_mutation import NORMAL
from tests.runner import PLAN, Runner, fenced

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

CASES: Mapping[str, Losing] = {**GUILTY_BEFORE, **INNOCENT_BEFORE, **GUILTY_AFTER, **INNOCENT_AFTER}


def losses(worker: Worker, case: Losing, may_show: Callable[[str], str] | None = str) -> tuple[Loss, ...]:
    tables = case.tables()
    body = textwrap.indent(textwrap.dedent(case.body).strip(), "    ")
    code = f"import numpy as np\nimport pandas as pd\n\n\ndef run({', '.join(tables)}):\n{body}\n"
    program = Program(
        code,
        tuple(InputSpec(name=name, type="DataFrame") for name in tables),
        (OutputSpec(name="out", type="DataFrame"),),
    )
    values = worker.call(program, copy.deepcopy(tables)).values
    spoken = Spoken((case.request,), case.assumptions, may_show)
    return followed(worker, program, tables, values, TimeLimit(60.0), spoken).losses


@pytest.mark.parametrize("name", CASES)
def test_losses_are_asked_about_and_right_functions_are_not(worker: Worker, name: str) -> None:
    case = CASES[name]
    found = losses(worker, case)
    asked = [loss.words for loss in found if loss.asks]
    if case.asks:
        assert any(case.asks in words for words in asked), found
    else:
        assert not asked


# On the card


ACTION = """\
import pandas as pd


def run(sales: pd.DataFrame) -> float:
    movies = sales[sales["genre"] == "Action"]
    return float(movies["gross"].sum())
"""
TESTED = """\
import pandas as pd
from solution import run


def test_action():
    \"\"\"Only the gross of action counts.\"\"\"
    sales = pd.DataFrame({"genre": ["Action", "Drama"], "gross": [1.0, 2.0]})
    assert run(sales=sales) == 1.0
"""
QUESTION = "genre == 'Action' takes 82 rows; 184 more contain it"
NAMES = ": 'Action, Comedy', 'Action, Drama'"


async def generated(runner: Runner, assumptions: Sequence[str] = (), share: str = "rows") -> Report:
    plan = json.dumps({**json.loads(PLAN), "assumptions": list(assumptions)})
    script = {"plan": [plan], "code": [fenced(ACTION)], "tests": [fenced(TESTED)]}
    made = await runner.generate(
        script,
        prompt="The gross of Action in @sales.",
        samples={"sales": movies()["movies"]},
        settings={**NORMAL, "share": share},
    )
    assert made.report.success, made.error
    return made.report


async def test_a_loss_of_which_nothing_speaks_is_a_question_with_its_number(runner: Runner) -> None:
    report = await generated(runner)
    run = run_of(report, "ready")
    assert [question.words for question in verified_run(run).questions if question.about == "losses"] == [
        f"{QUESTION}{NAMES}"
    ]
    assert f"{QUESTION[:1].upper()}{QUESTION[1:]}{NAMES} (line 5)." in card_text(run)
    assert Report.model_validate_json(report.model_dump_json()).evidence.losses[0].words == f"{QUESTION}{NAMES}"


async def test_a_loss_that_the_plan_states_stands_beside_its_assumption(runner: Runner) -> None:
    assumed = "Movies that have the genre Action alone count."
    report = await generated(runner, [assumed])
    run = run_of(report, "ready")
    assert not any(question.about == "losses" for question in verified_run(run).questions)
    assert f"{assumed} ({QUESTION}{NAMES})" in card_text(run)


async def test_the_person_reads_values_that_no_file_holds_if_rows_are_not_shared(runner: Runner) -> None:
    report = await generated(runner, share="stats")
    (loss,) = report.evidence.losses
    assert (loss.words, loss.in_full) == (QUESTION, f"{QUESTION}{NAMES}")
    assert "Comedy" not in report.evidence.model_dump_json()
    run = run_of(report, "ready")
    assert QUESTION[1:] in card_text(run) and "Comedy" not in card_text(run) + card_html(run)  # a notebook keeps it
    subject = Subject(report, "ready")
    assert NAMES in str(evidence_section(subject, in_full=True))
    assert "Comedy" not in str(evidence_section(subject))


PEOPLE = ["Ann"] * 5 + ["ann", "Ann, Bob", "Bob, Ann", "Bob"]
COMPUTED = {
    "isin": """
        names = list(df["name"].value_counts().index[:1])
        return df[df["name"].isin(names)]
    """,
    "query": """
        name = df["name"].mode()[0]
        return df.query(f"name == {name!r}")
    """,
    "contains": """
        name = df["name"].mode()[0]
        return df[df["name"].str.contains(name, regex=False)]
    """,
    "renamed": """
        column = df["name"].rename(df["name"].iloc[0])
        return df[column.eq("Bob")]
    """,
    "dropna": """
        wide = pd.DataFrame({df["name"].iloc[0]: [1, None, 3], "day": [0, 1, 2]})
        return wide.dropna()[["day"]]
    """,
    "merge": """
        name = df["name"].iloc[0]
        one, other = pd.DataFrame({name: [1, 1, 2, 3, 4]}), pd.DataFrame({name: [1, 1, 2, 3, 5]})
        return one.merge(other, on=name)
    """,
}


@pytest.mark.parametrize("name", COMPUTED)
def test_values_that_the_function_computes_are_in_no_file_if_rows_are_not_shared(worker: Worker, name: str) -> None:
    table = pd.DataFrame({"name": PEOPLE, "day": range(len(PEOPLE))})
    case = Losing("Do it.", lambda: {"df": table}, COMPUTED[name])
    kept = losses(worker, case, may_show=None)
    assert kept and not any(re.search("ann", loss.words, re.I) for loss in kept)
    assert any("Ann" in loss.in_full for loss in kept)
    assert not any("\0" in f"{loss.words}{loss.in_full}" for loss in kept)


NOTE = ["words", 0, True, "genre", ["Action"], 82, [["Action, Comedy", 184, True]]]
GARBAGE = [
    None,
    {},
    {"notes": [NOTE]},
    {"notes": [NOTE] * 1_000, "aggregated": 0, "filtered": 0},
    {"notes": [NOTE], "aggregated": -1, "filtered": 0},
    *(
        {"notes": [[*NOTE[:place], value, *NOTE[place + 1 :]]], "aggregated": 0, "filtered": 0}
        for place, value in ((0, "other"), (0, []), (1, 9), (1, "0"), (2, 1), (3, "x" * 99), (4, "Action"), (5, 2**60))
    ),
    {"notes": [[*NOTE[:6], [["Action, Comedy", 184]]]], "aggregated": 0, "filtered": 0},
    {"notes": [NOTE[:6]], "aggregated": 0, "filtered": 0},
    {"notes": [[]], "aggregated": 0, "filtered": 0},
    {"notes": [["join", 0, "inner", "x", [1, 2], [], [], [], 0, 0, True]], "aggregated": 0, "filtered": 0},
]


def test_notes_that_have_not_their_form_say_nothing() -> None:
    places = [Place(5, "==")]
    said: tuple[Any, ...] = ACTION, ["The gross of Action."], [], {}, str
    right = {"notes": [NOTE], "aggregated": 0, "filtered": 0}
    assert [loss.words for loss in losses_of(right, places, *said)] == [f"{QUESTION}: 'Action, Comedy'"]
    for garbage in GARBAGE:
        assert losses_of(garbage, places, *said) == (), garbage


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return df.query('n >= @least')", []),
        ("return df.eval(f'm = n * @least')", []),
        ("return df[df.n >= least]", []),
        ("return df[df.n >= 5]", [(1, "least")]),
    ],
)
def test_an_input_that_a_query_names_is_read(body: str, told: list[tuple[int, str]]) -> None:
    assert list(never_read(f"def run(df, least=5):\n    {body}\n")) == told
