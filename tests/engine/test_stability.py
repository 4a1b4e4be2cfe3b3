"""Whether the conclusion of a function is stable."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from autocoder_jupyter.display.distribution import distribution
from autocoder_jupyter.display.live import card_text
from autocoder_jupyter.display.parts import findings
from autocoder_jupyter.engine.evidence.resamples import CannotBeDrawn, Draws
from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
from autocoder_jupyter.engine.evidence.stability import at_most, stability
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.run.of_report import run_of, verified
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import Conclusion, Evidence, InputSpec, LabelCount, OutputSpec, Stability, Strength
from autocoder_jupyter.types.evidence import TIME_IS_UP
from autocoder_jupyter.view.document import Drawing
from tests.engine.concluding_functions import CASES, STABLE, Case, clustered, months, paired, trial
from tests.runner import PLAN, Runner, fenced

SOME = ["an effect like a coin flip", "an effect on whole schools", "months that are alike"]
FEW = (*SOME, "a mean of all rows", "a verdict that noise gives too", "an effect that departments make")


def found(worker: Worker, case: Case, seconds: float = 60.0) -> Stability:
    program = Program(case.code, (InputSpec(name="x", type="DataFrame"),), (case.output,))
    conclusion = Conclusion.read(case.conclusion, program.outputs)
    side = SolutionWorker("f", worker, program)
    return stability(side, conclusion, {"x": case.data()}, TimeLimit(seconds), str)


def require_said(record: Stability, said: tuple[str, ...]) -> None:
    words = record.concern.split("; ") if record.concern else []
    assert record.resamples == 100, record
    assert len(words) == len(said), record
    assert all(one.startswith(beginning) for one, beginning in zip(words, said, strict=True)), record


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_what_is_alarming_is_said_and_nothing_else(worker: Worker, name: str) -> None:
    require_said(found(worker, CASES[name]), CASES[name].said)


def test_of_a_ranking_more_than_its_first_entry_must_stay_the_same(worker: Worker) -> None:
    """A table by city always begins with the first city."""
    body = "return x.groupby('site')['y'].mean().reset_index()"
    record = found(worker, Case(body, "ranking out, outcome y", trial(1.0), kind="DataFrame"))
    assert not record.alarms and record.why.startswith("the result is the same in any order of the outcome")


@pytest.mark.local_sandbox
@pytest.mark.real_sandbox
def test_it_is_found_in_the_sandbox(worker: Worker) -> None:
    for name in SOME:
        record = found(worker, CASES[name])
        require_said(record, CASES[name].said)
        assert found(worker, CASES[name]) == record  # the seeds are fixed


# What is drawn


def draws(conclusion: str, frame: Any, **others: Any) -> Draws:
    asked = Conclusion.read(conclusion, (OutputSpec(name="out", type="float"),))
    return Draws.of(asked, {"x": frame, **others})


def test_a_resample_has_the_dtypes_the_categories_and_the_kind_of_index() -> None:
    table = months(0)()
    dated = table.set_axis(pd.date_range("2024-01-01", periods=len(table)))
    for frame in (table, dated):
        drawn = draws("effect out, outcome sales", frame)
        for tables in (drawn.resampled(3), drawn.shuffled(3)):
            assert (tables["x"].dtypes == frame.dtypes).all() and len(tables["x"]) == len(frame)
            assert list(tables["x"]["month"].cat.categories) == list(frame["month"].cat.categories)
            assert type(tables["x"].index) is type(frame.index)
            assert not tables["x"].equals(frame)
        assert drawn.resampled(3)["x"].equals(drawn.resampled(3)["x"])
        assert not drawn.resampled(3)["x"].equals(drawn.resampled(4)["x"])
        shuffled = drawn.shuffled(3)["x"]
        assert shuffled["month"].equals(frame["month"])
        assert sorted(shuffled["sales"]) == sorted(frame["sales"])


def test_groups_are_drawn_whole_and_a_copy_has_a_name_of_its_own() -> None:
    frame = clustered(1.0, of_group=1.0)()
    drawn = draws("effect out, outcome y, groups school", frame)
    table = drawn.resampled(1)["x"]
    assert set(table.groupby("school").size()) == {40} and table["school"].nunique() == 12
    assert set(table["school"].str.partition("-")[0]) < set(frame["school"])
    joined = draws("effect out, outcome y, groups school", frame, sizes=frame[["school"]].drop_duplicates())
    assert set(joined.resampled(1)["x"]["school"]) < set(frame["school"])  # the other table must still match


def test_groups_change_their_outcomes_with_each_other() -> None:
    frame = paired(1.0)().assign(age=lambda one: one["patient"] * 2)
    table = draws("effect out, outcome y, groups patient", frame).shuffled(1)["x"]
    pairs = {tuple(one) for one in frame["y"].to_numpy().reshape(-1, 2)}
    assert {tuple(one) for one in table["y"].to_numpy().reshape(-1, 2)} == pairs
    ages = draws("effect out, outcome age, groups patient", frame.iloc[:-1]).shuffled(1)["x"]
    assert (ages.groupby("patient")["age"].nunique() == 1).all()  # groups of several sizes, with one outcome each


def test_a_missing_outcome_stays_where_it_is() -> None:
    frame = trial(1.0)()
    frame.loc[::7, "y"] = np.nan
    table = draws("effect out, outcome y", frame).shuffled(1)["x"]
    assert table["y"].isna().equals(frame["y"].isna()) and not table["y"].equals(frame["y"])


def test_values_may_be_lists() -> None:
    values = [[number % 3] if number % 7 else None for number in range(200)]
    frame = trial(1.0)().assign(tags=values)
    drawn = draws("effect out, outcome tags, groups site", frame)
    for tables in (drawn.shuffled(1), drawn.constant(), drawn.mirrored(), *drawn.otherwise()):
        assert tables is not None and tables["x"]["tags"].isna().equals(frame["tags"].isna())
    grouped = draws("effect out, outcome y, groups tags", frame)
    assert grouped.groups.max() + 1 == 3 + frame["tags"].isna().sum()  # a row without a group is one of its own


def test_rows_of_many_groups_are_drawn_within_each_in_a_short_time() -> None:
    frame = pd.DataFrame({"customer": np.arange(400_000) % 50_000, "y": 1.0})
    drawn = draws("ranking out, outcome y, groups customer", frame)
    drawn = replace(drawn, drawn="rows of each group", renamed=None)
    before = time.process_time()
    table = drawn.resampled(1)["x"]
    assert time.process_time() - before < 5
    assert (table["customer"].value_counts() == 8).all() and not table.index.duplicated().any()


@pytest.mark.parametrize(
    ("conclusion", "frame", "why"),
    [
        ("effect out, outcome z", trial(1.0)(), "no table has z"),
        ("effect out, outcome y", trial(1.0)().head(9), "too few to resample: 9 rows"),
        ("effect out, outcome y, groups site", trial(1.0)().head(12), "too few to resample: 12 rows in"),
    ],
)
def test_what_cannot_be_drawn_is_said(conclusion: str, frame: Any, why: str) -> None:
    with pytest.raises(CannotBeDrawn, match=why):
        draws(conclusion, frame)


# What is said of it


def test_resamples_without_a_result_are_counted_apart(worker: Worker) -> None:
    body = "if x['y'].duplicated().sum() > 75:\n    raise ValueError('x')\n" + STABLE["an effect"].body
    record = found(worker, Case(body, "effect out, outcome y", trial(1.0)))
    assert record.resamples + record.failed == 100 and 0 < record.failed < 100
    assert f"{record.failed} more gave no result (ValueError)." in record.sentences and not record.alarms


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return float(np.random.default_rng().random())", "the function gives other results for the same data"),
        ("return float('nan')", "out has no effect that could change"),
        ("return float(x['y'].nunique())", "rows that come twice shift the result, so resamples say nothing"),
    ],
)
def test_what_cannot_be_tried_is_said(worker: Worker, body: str, why: str) -> None:
    record = found(worker, Case(body, "effect out", trial(1.0)))
    assert (record.resamples, record.why, record.concern) == (0, why, "")


STOPS = "import os\nimport sys\nprint(list(x['y']), file=sys.stderr, flush=True)\nos._exit(3)\n"


@pytest.mark.real_sandbox
@pytest.mark.parametrize("when", ["True", "x['y'].duplicated().any()"])
def test_of_a_program_that_ends_neither_the_last_words_are_recorded_nor_that_it_was_slow(
    worker: Worker, when: str
) -> None:
    body = f"if {when}:\n    {STOPS.replace(chr(10), chr(10) + '    ')}\n{STABLE['an effect'].body}"
    record = found(worker, Case(body, "effect out", trial(1.0)))
    assert (record.resamples, record.why) == (0, "f was stopped (SandboxCrash)")


def test_a_p_value_is_no_estimate(worker: Worker) -> None:
    outputs = (OutputSpec(name="p_value", type="float"),)
    program = Program("def run(x):\n    return 0.001\n", (InputSpec(name="x", type="DataFrame"),), outputs)
    conclusion = Conclusion.read("p_value, outcome y", outputs)
    side = SolutionWorker("f", worker, program)
    record = stability(side, conclusion, {"x": trial(1.0)()}, TimeLimit(60.0), str)
    assert record.why.startswith("p_value is a p-value") and not record.alarms


BETTER = "means = x.groupby('arm')['y'].mean()\n"


@pytest.mark.parametrize(
    ("body", "kind", "result"),
    [
        ("return f'{means.idxmax()} wins by {means.max():.2f} ({means.max():.1%})'", "str", "b wins by … (…)"),
        ("return means.sort_values(ascending=False).index.to_series().reset_index(drop=True)", "Series", "b"),
    ],
)
def test_a_conclusion_is_a_name_and_neither_a_size_nor_a_place(
    worker: Worker, body: str, kind: str, result: str
) -> None:
    record = found(
        worker, Case(BETTER + body, f"{'verdict' if kind == 'str' else 'ranking'} out", trial(1.0), kind=kind)
    )
    assert (record.result, record.same, record.alarms) == (result, 100, ())


def test_the_name_of_one_row_is_no_conclusion(worker: Worker) -> None:
    def data() -> Any:
        return trial(1.0)().assign(invoice=[f"R{number}" for number in range(200)])

    record = found(worker, Case("return x['invoice'].iloc[-1]", "verdict out", data, kind="str"))
    assert (record.resamples, record.why) == (0, "too few to resample: an entry has fewer than five rows of its own")


def test_the_counts_are_those_that_there_was_time_for(worker: Worker) -> None:
    record = found(worker, STABLE["an effect"], seconds=0.0)
    assert (record.resamples, record.why) == (0, TIME_IS_UP)


def test_a_count_is_alarming_only_if_it_is_more_than_chance() -> None:
    assert at_most(2, 3, 0.5) == pytest.approx(7 / 8) and at_most(3, 3, 0.5) == 1
    assert at_most(62, 100, 0.9) < 0.01 < at_most(84, 100, 0.9)
    assert at_most(17, 20, 0.9) > 0.01  # of a few resamples, fewer may differ


def evidence(record: Stability) -> Evidence:
    return Evidence(strength=Strength(stability=record))


COIN = Stability(
    conclusion=Conclusion(kind="effect", output="lift", outcome="revenue"),
    resamples=100,
    same=62,
    shuffled=100,
    alike=40,
    alarms=("resampled", "shuffled"),
    numbers=(-1.0, 0.5, 2.0),
    shuffled_numbers=(-3.0, 1e300),
)


def test_an_alarm_is_one_question_and_a_stable_conclusion_is_none() -> None:
    words = (
        "the sign of lift holds in 62 of 100 resamples; data with revenue shuffled give as large an effect in 40 of 100"
    )
    assert COIN.concern == words
    assert [one.words for one in verified(evidence(COIN), None, 1).questions] == [words]
    assert list(findings(evidence(COIN), "invariants")) == [f"T{words[1:]}."]
    calm = COIN.model_copy(update={"alarms": ()})
    assert not verified(evidence(calm), None, 1).questions and not list(findings(evidence(calm), "invariants"))
    assert len(calm.sentences) == 2


def test_each_sentence_has_its_own_line() -> None:
    assert repr(COIN).split("\n") == list(COIN.sentences) and len(COIN.sentences) > 1
    assert "\\n" in repr(COIN.model_copy(update={"why": "a\nb"}))


def test_a_picture_shows_both_distributions() -> None:
    (drawing,) = distribution(COIN)
    assert isinstance(drawing, Drawing)
    assert 'src="data:image/svg+xml' in drawing.html and "resamples: -1 to 2; shuffled: -3 to 1e+300" in drawing.text
    assert not distribution(COIN.model_copy(update={"numbers": (), "shuffled_numbers": ()}))
    assert not distribution(COIN.model_copy(update={"numbers": (-1.7e308, 1.7e308)}))
    one = COIN.model_copy(update={"numbers": (2.0,), "shuffled_numbers": ()})
    for result in ("2.0", "nan", "1e999", "x"):  # a file may say anything
        assert distribution(one.model_copy(update={"result": result}))
    labels = (LabelCount(label="<b>", resampled=3), LabelCount(label="y" * 150, shuffled=2))
    (drawing,) = distribution(one.model_copy(update={"numbers": (), "tallies": labels}))
    assert isinstance(drawing, Drawing) and drawing.text.startswith("<b>: 3 of the resamples")
    source = base64.b64decode(drawing.html.partition("base64,")[2].partition('"')[0]).decode()
    assert "&lt;b&gt;" in source and "<b>" not in source


HOSTILE: list[Mapping[str, Any]] = [
    {"resamples": 2**53},
    {"numbers": [1.0] * 1001},
    {"numbers": ["inf"]},
    {"alarms": ["resampled"] * 9},
    {"tallies": [{"label": "x"}] * 9},
    {"conclusion": {"kind": "effect", "output": "x" * 301}},
    {"conclusion": {"kind": "effect", "output": "x", "groups": ["g"] * 9}},
]


@pytest.mark.parametrize("change", HOSTILE)
def test_a_record_of_others_is_bounded(change: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Stability.model_validate({**COIN.model_dump(), **change})


# How it is named


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("effect lift, outcome revenue, groups customer", ("effect", "lift", "revenue", ("customer",))),
        ("ranking of `by_shop`; outcome: a price; groups: a, b.", ("ranking", "by_shop", "a price", ("a", "b"))),
        ("better", ("verdict", "better", "", ())),
        ("Effect: lift, outcome = price, group: a", ("effect", "lift", "price", ("a",))),
        ("lift, outcome none", ("number", "lift", "", ())),
    ],
)
def test_a_conclusion_is_read(text: str, read: tuple[str, str, str, tuple[str, ...]]) -> None:
    kinds = {"lift": "float", "by_shop": "DataFrame", "better": "bool"}
    outputs = [OutputSpec.model_validate({"name": name, "type": kind}) for name, kind in kinds.items()]
    conclusion = Conclusion.read(text, outputs)
    assert (conclusion.kind, conclusion.output, conclusion.outcome, conclusion.groups) == read
    assert Conclusion.read(conclusion.text, outputs) == conclusion


@pytest.mark.parametrize("text", ["", "effect", "effect of something", "lift because it is so"])
def test_what_names_no_output_is_no_conclusion(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is no conclusion of this function, whose outputs are lift"):
        Conclusion.read(text, [OutputSpec(name="lift", type="float")])


LIFT = fenced(
    STABLE["an effect"]
    .code.replace("run(x)", "run(sales: pd.DataFrame) -> float")
    .replace("x.groupby", "sales.groupby")
)
LIFT_TESTS = fenced(
    "import pandas as pd\nfrom solution import run\n\n\ndef test_difference():\n"
    '    """b minus a."""\n    sales = pd.DataFrame({"arm": ["a", "b", "b"], "y": [1.0, 2.0, 4.0]})\n'
    "    assert run(sales=sales) == 2.0\n"
)


async def test_a_plan_that_names_its_conclusion_has_it_tried_once_and_success_stays(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = {name: replace(effort, seconds=300.0 * effort.is_examined) for name, effort in EFFORTS.items()}
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.examiner.EFFORTS", longer)
    plan = json.dumps({**json.loads(PLAN), "conclusion": "effect total, outcome y"})
    settings = {"effort": "normal", "second_opinion": "off"}
    samples = {"sales": trial(0.02)()}
    script = {"plan": [plan], "code": [LIFT], "tests": [LIFT_TESTS]}
    first = await runner.generate(script, samples=samples, settings=settings)
    assert first.report.success and first.report.evidence.strength
    record = first.report.evidence.strength.stability
    assert record is not None and record.alarms == ("resampled", "shuffled") and record.numbers
    words = record.concern[1:]
    assert f"T{words}" in card_text(run_of(first.report, "ready"))
    assert any(cost.layer == "resamples and shuffled data" for cost in first.report.evidence.costs)
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.examiner.stability", None)  # it is not tried again
    second = await runner.generate({}, samples=samples, settings={**settings, "locked": True})
    assert second.asked == [] and second.report.evidence.strength
    assert second.report.evidence.strength.stability == record


async def test_without_rows_no_value_is_recorded(runner: Runner) -> None:
    plan = json.dumps({**json.loads(PLAN), "conclusion": "effect total, outcome y"})
    settings = {"effort": "normal", "second_opinion": "off", "share": "stats"}
    script = {"plan": [plan], "code": [LIFT], "tests": [LIFT_TESTS]}
    found = (await runner.generate(script, samples={"sales": trial(0.02)()}, settings=settings)).report.evidence
    assert found.strength is not None and found.strength.stability is not None
    record = found.strength.stability
    assert record.resamples and not (record.result or record.numbers or record.tallies)
