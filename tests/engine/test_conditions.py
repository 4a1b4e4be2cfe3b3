"""What a verified function depends on besides its inputs, and which changes of the data matter to it."""

from __future__ import annotations

import json
import sys
import types
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.display.inspector.evidence import evidence_section
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.display.parts import warning_lines
from autocoder_jupyter.engine.evidence.conditions import (
    CHANCE,
    CLOCK,
    FIXED_CLOCK,
    VARIABLES,
    hidden_inputs,
    may_remember,
    reads,
)
from autocoder_jupyter.engine.evidence.invariants import (
    APART,
    COLUMN,
    INDEX,
    ORDER,
    REPEATED,
    as_test,
    order_may_count,
    splits,
    try_invariants,
)
from autocoder_jupyter.engine.evidence.small_inputs import SmallInput
from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import VariedSample
from autocoder_jupyter.run.of_report import verified
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import ColumnSpec, HiddenInput, InputSpec, OutputSpec, TypeName
from autocoder_jupyter.types.evidence import ZONE
from tests.cases import each
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced
from tests.scripted_model import Script

pytestmark = pytest.mark.real_sandbox

HEAD = """\
from __future__ import annotations

import datetime
import os
import time

import numpy as np
import pandas as pd


"""


@each(
    ("expression", "what"),
    [
        ("pd.Timestamp.now()", CLOCK),
        ("datetime.date.today()", CLOCK),
        ("pd.to_datetime('today')", FIXED_CLOCK),
        ("time.time()", CLOCK),
        ("os.environ['USER']", VARIABLES),
        ("np.random.rand(3)", CHANCE),
        ("np.random.default_rng()", CHANCE),
        ("x.sample(3)", CHANCE),
        ("sys.modules", "the modules that are loaded"),
        ("gc.get_objects()", "the garbage collector"),
        ("sys._getframe()", "the frames of its callers"),
    ],
)
def test_what_the_code_reads_is_found_with_its_line(expression: str, what: str) -> None:
    assert reads(f"def run(x):\n    return {expression}\n") == {what: (2,)}


@each(
    "expression",
    ["np.random.default_rng(3)", "x.sample(3, random_state=1)", "pd.to_datetime(x['day'])", "x['now'].today", "x.time"],
)
def test_what_has_a_seed_or_is_data_is_not(expression: str) -> None:
    assert reads(f"def run(x):\n    return {expression}\n") == {}


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine finds the same."""
    longer = {name: replace(effort, seconds=300.0 * effort.is_examined) for name, effort in EFFORTS.items()}
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.examiner.EFFORTS", longer)
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.invariants.SEARCH_SECONDS", 60.0)


def program(body: str, kind: TypeName = "float") -> Program:
    code = f"{HEAD}def run(x: pd.DataFrame):\n    {body}\n"
    return Program(code, (InputSpec(name="x", type="DataFrame"),), (OutputSpec(name="out", type=kind),))


def frame() -> pd.DataFrame:
    return pd.DataFrame({"g": ["a", "b", "a", "c", "b"], "n": [3.0, 1.0, 2.0, 5.0, 1.0]})


def found(worker: Worker, body: str) -> list[HiddenInput]:
    return list(hidden_inputs(SolutionWorker("f", worker, program(body)), {"x": frame()}, TimeLimit(60)))


BOMBS = [
    "return float(x['n'].sum() if datetime.date.today().year < 2040 else 0)",
    "return float(x['n'].sum() if datetime.datetime.now() < datetime.datetime(2040, 1, 1) else 0)",
    "return float(x['n'].sum() if pd.Timestamp.now() < pd.Timestamp('2040') else 0)",
    "return float(x['n'].sum() if time.time() < 2.2e9 else 0)",
    "return float(x['n'].sum() if time.gmtime().tm_year < 2040 else 0)",
    "return float(x['n'].sum() if time.localtime().tm_year < 2040 else 0)",
]


@pytest.mark.local_sandbox
@pytest.mark.parametrize("body", BOMBS)
def test_a_result_that_changes_with_the_date_is_found(worker: Worker, body: str) -> None:
    (one,) = found(worker, body)
    assert one.differs and one.on == "the date" and one.lines == (12,)
    assert one.words == "The code reads the clock (line 12), and the result depends on it."


@pytest.mark.local_sandbox
def test_reading_the_clock_is_noted_if_the_result_is_the_same(worker: Worker) -> None:
    (one,) = found(worker, "start = time.time(); total = float(x['n'].sum()); print(time.time() - start); return total")
    assert (
        not one.differs and one.words == "The code reads the clock (line 12); the result was the same when it changed."
    )


@pytest.mark.local_sandbox
def test_variables_and_chance_are_found(worker: Worker) -> None:
    (one,) = found(worker, "return 1.0 if os.environ.get('USER') == 'somebody' else 2.0")
    assert one.differs and one.on == "the process that runs it" and one.reads == (VARIABLES,)
    (other,) = found(worker, "return float(np.random.rand())")
    assert other.differs and other.on == "chance"


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("'pytest' in sys.modules", "the modules that are loaded"),
        ("len(gc.get_objects()) > 20_000", "the garbage collector"),
        ("len(sys._getframe(1).f_code.co_name)", "the frames of its callers"),
        ("len(inspect.stack())", "the frames of its callers"),
    ],
)
def test_the_process_is_another_one_in_what_the_code_can_read_of_it(worker: Worker, expression: str, what: str) -> None:
    (one,) = found(worker, f"import gc, inspect, sys; return float({expression})")
    assert one.differs and one.on == "the process that runs it" and one.reads == (what,)


@pytest.mark.local_sandbox
def test_of_a_clock_that_no_run_can_move_it_is_said_that_nothing_is_known(worker: Worker) -> None:
    body = "return float(x['n'].sum() if pd.Timestamp('now').year < 2040 else np.datetime64('today').astype(int))"
    (one,) = found(worker, body)
    said = "The code reads the clock with a text (line 12)."
    assert (
        not one.differs
        and one.words == f"{said} No trial run could change that, so check whether the result depends on it."
    )


@pytest.mark.local_sandbox
def test_what_the_source_hides_is_found_by_the_run(worker: Worker) -> None:
    body = "now = getattr(getattr(datetime, 'date'), 'today')(); return float(x['n'].sum() if now.year < 2040 else 0)"
    (one,) = found(worker, body)
    assert one.differs and one.words == "The result depends on the date."


@pytest.mark.local_sandbox
def test_a_function_of_its_inputs_alone_depends_on_nothing(worker: Worker) -> None:
    assert found(worker, "return float(x['n'].sum())") == []


def broken(
    worker: Worker, body: str, kind: TypeName = "float", data: Any = None, holds: str = "", *, with_order: bool = True
) -> Any:
    side = SolutionWorker("f", worker, program(body, kind))
    table = frame() if data is None else data
    promised = holds.split()
    all_tried = list(
        try_invariants(side, VariedSample({"x": table}, 60), {}, TimeLimit(60), with_order=with_order, holds=promised)
    )
    assert all_tried
    return {one.name: one for one in all_tried if one.where}


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return float(x['n'].sum())", "float"),
        ("return x[x['n'] > 1]", "DataFrame"),
        ("return x.groupby('g')['n'].sum().reset_index()", "DataFrame"),
        ("return x.groupby('g')['n'].mean()", "Series"),
        ("return x.loc[x['n'] > 1, 'g'].tolist()", "list"),
        ("return x.groupby('g')['n'].sum().to_dict()", "dict"),
        ("return x.sort_values('n')", "DataFrame"),
        ("return x.drop_duplicates('n')", "DataFrame"),
        ("return x.nlargest(1, 'n')", "DataFrame"),
    ],
)
def test_right_functions_keep_the_invariants(worker: Worker, body: str, kind: TypeName) -> None:
    assert broken(worker, body, kind) == {}


@pytest.mark.local_sandbox
def test_a_function_that_hangs_on_the_order_is_found_with_a_small_input(worker: Worker) -> None:
    one = broken(worker, "return float(x['n'].iloc[0])")[ORDER]
    assert one.where == "out" and one.tables is not None and len(one.tables["x"]) <= 3
    assert ORDER not in broken(worker, "return float(x['n'].iloc[0])", with_order=False)


@pytest.mark.local_sandbox
def test_a_further_column_and_another_index_are_tried(worker: Worker) -> None:
    assert set(broken(worker, "return float(x.shape[1])")) == {COLUMN}
    assert set(broken(worker, "return float(x.loc[0, 'n'])", with_order=False)) == {INDEX}


SHARES = "return x.assign(n=x['n'] / x.groupby('g')['n'].transform('sum'))"


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("body", "kind", "holds"),
    [
        ("return x.assign(n=x['n'] * 2).sort_values('n')", "DataFrame", "rows groups:g"),
        (SHARES, "DataFrame", "order groups:g groups:none"),
        ("return x.groupby('g')['n'].sum()", "Series", "groups:g"),
        ("return x.groupby('g', as_index=False)['n'].sum().sort_values('n')", "DataFrame", "groups:g merge"),
        ("return float(x['n'].sum())", "float", "groups:g"),
        ("if len(x) < 5: raise ValueError('too few')\n    return x", "DataFrame", "rows"),
        ("return float(x['n'].median() + x['n'].mean() / 3 + x['n'].std(ddof=0))", "float", "twice"),
        ("return x.groupby('g')['n'].mean() / x['n'].mean()", "Series", "twice order"),
        ("return x.loc[x['n'] > 1, 'g'].unique().tolist()", "list", "twice"),
        ("return x.groupby('g', as_index=False)['n'].max()", "DataFrame", "twice"),
        ("if x.duplicated().any(): raise ValueError('a row twice')\n    return float(x['n'].max())", "float", "twice"),
    ],
)
def test_right_functions_keep_what_their_plan_says(worker: Worker, body: str, kind: TypeName, holds: str) -> None:
    assert broken(worker, body, kind, many(), holds) == {}


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("body", "holds", "rows"),
    [
        ("return x.assign(n=x['n'] / x['n'].sum())", "groups:g", 2),  # of all, not of its group
        (SHARES, "rows", 2),
        ("return x if len(x) > 4 else x.assign(n=0)", "groups:g", 5),
    ],
)
def test_a_part_whose_answer_hangs_on_the_others_is_found(worker: Worker, body: str, holds: str, rows: int) -> None:
    one = broken(worker, body, "DataFrame", many(), holds)[APART]
    assert one.where == "out" and one.tables is not None and len(one.tables["x"]) <= rows
    small = SmallInput.of(one.tables, {"x": many()})
    assert small is not None
    test = as_test("test_relation_1", one, small, program(body, "DataFrame").outputs)
    assert [passes(test, code) for code in (body, "return x")] == [False, True]


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("body", "right"),
    [
        ("return float((x['n'] > 1).sum() / x['g'].nunique())", "return float((x['n'] > 1).mean())"),
        ("return float(x['n'].std())", "return float(x['n'].std(ddof=0))"),
        ("return float(x['n'].sum())", "return float(x.drop_duplicates()['n'].sum())"),
    ],
)
def test_a_repeated_sample_that_changes_the_answer_is_found_where_the_plan_says_that_it_does_not(
    worker: Worker, body: str, right: str
) -> None:
    assert broken(worker, body) == {}  # nothing says that it must hold
    one = broken(worker, body, holds="twice")[REPEATED]
    assert one.where == "out" and one.is_of_plan and one.words == "each row twice in x" and len(one.tables["x"]) <= 2
    small = SmallInput.of(one.tables, {"x": frame()})
    assert small is not None
    test = as_test("test_relation_1", one, small, program(body).outputs)
    assert [passes(test, code) for code in (body, right)] == [False, True]


@pytest.mark.local_sandbox
def test_of_two_tables_only_the_largest_is_repeated(worker: Worker) -> None:
    code = f"{HEAD}def run(x, y):\n    return float(len(y) + x['n'].mean()), len(x)\n"
    inputs = tuple(InputSpec(name=name, type="DataFrame") for name in ("x", "y"))
    both = Program(code, inputs, (OutputSpec(name="kept", type="float"), OutputSpec(name="rows", type="int")))
    sample = VariedSample({"y": frame()[:2], "x": many()}, 60)
    all_tried = try_invariants(
        SolutionWorker("f", worker, both), sample, {}, TimeLimit(60), with_order=False, holds=("twice",)
    )
    (one,) = (one for one in all_tried if one.name == REPEATED)
    assert one.where == "rows" and one.words == "each row twice in x" and one.tables is not None
    assert len(one.tables["y"]) <= 1 >= len(one.tables["x"])


@pytest.mark.local_sandbox
def test_an_order_that_does_not_count_for_the_plan_is_tried_in_any_case(worker: Worker) -> None:
    body = "return float(x['n'].iloc[0])"
    assert set(broken(worker, body, holds="order", with_order=False)) == {ORDER}


@pytest.mark.local_sandbox
def test_what_depends_on_the_index_of_a_few_rows_is_found_on_a_part(worker: Worker) -> None:
    body = "return float(x.loc[0, 'n'] if len(x) < 21 else x['n'].sum())"
    assert set(broken(worker, body, data=many(), with_order=False)) == {INDEX}


def many() -> pd.DataFrame:
    return pd.DataFrame({"g": list("abcb") * 10, "n": [3.0, 1.0, 2.0, 5.0, 8.0] * 8})


def passes(test: str, body: str) -> bool:
    """Whether a test passes on a function, here."""
    solution = types.ModuleType("solution")
    exec(f"{HEAD}def run(x):\n    {body}\n", solution.__dict__)
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "solution", solution)
        exec(test, names)
        try:
            names["test_relation_1"]()
        except AssertionError:
            return False
    return True


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return x.isna().mean().rename_axis('column').rename('share').reset_index()", "DataFrame"),
        ("return x.isna().mean()", "Series"),
        ("return {name: int(x[name].isna().sum()) for name in x}", "dict"),
        ("return list(x)", "list"),
    ],
)
def test_a_function_of_all_columns_may_tell_of_a_further_one(worker: Worker, body: str, kind: TypeName) -> None:
    assert broken(worker, body, kind) == {}


@pytest.mark.local_sandbox
def test_a_function_that_passes_on_all_columns_may_have_one_more_than_declared(worker: Worker) -> None:
    columns = (ColumnSpec(name="g", dtype="str"), ColumnSpec(name="n", dtype="float64"))
    plain = program("return x.assign(n=x['n'] * 2)", "DataFrame")
    declared = replace(plain, outputs=(OutputSpec(name="out", type="DataFrame", columns=columns),))
    found = try_invariants(
        SolutionWorker("f", worker, declared),
        VariedSample({"x": frame()}, 60),
        {},
        TimeLimit(60),
        with_order=False,
    )
    assert {one.name: one.where for one in found} == {COLUMN: "", INDEX: ""}


@pytest.mark.local_sandbox
def test_a_function_of_all_columns_must_keep_what_it_says_of_the_others(worker: Worker) -> None:
    share = "return {name: 1 / x.shape[1] for name in x}"
    assert set(broken(worker, share, "dict")) == {COLUMN}


@pytest.mark.local_sandbox
@pytest.mark.parametrize(("name", "tried"), [("user_id", True), ("userId", True), ("year", False), ("paid", False)])
def test_rows_that_are_sorted_by_an_id_may_come_in_another_order(worker: Worker, name: str, tried: bool) -> None:
    data = pd.DataFrame({name: range(2001, 2012), "n": [3.0, 1.0, 2.0, 5.0] * 2 + [7.0, 8.0, 9.0]})
    assert (ORDER in broken(worker, "return float(x['n'].iloc[0])", data=data)) is tried


@pytest.mark.local_sandbox
def test_the_same_instants_in_another_zone_are_tried(worker: Worker) -> None:
    moments = pd.to_datetime(["2024-01-01 23:00", "2024-01-02 01:00"], utc=True)
    data = pd.DataFrame({"at": moments, "n": [1.0, 2.0]})
    assert ZONE in broken(worker, "return float(x['at'].dt.date.nunique())", data=data)
    assert ZONE not in broken(worker, "return float(x['n'].sum())", data=data)


@pytest.mark.parametrize(
    ("text", "may"),
    [("The first purchase of each customer.", True), ("A running total.", True), ("Total of all orders.", False)],
)
def test_a_request_that_speaks_of_an_order_is_known(text: str, may: bool) -> None:
    assert order_may_count(text) is may


async def test_a_time_bomb_is_verified_only_in_part(runner: Runner) -> None:
    code = CODE.replace("    return", "    if pd.Timestamp.now().year > 2040:\n        return 0.0\n    return")
    script = {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(TESTS)]}
    produced = await runner.generate(script, settings={"effort": "normal", "second_opinion": "off"})
    line = verified(produced.report.evidence, None, 1)
    assert produced.report.success and "depends on the date" in line.weaknesses


NUMBERED = CODE.replace("    return", "    sales = sales.loc[list(range(len(sales)))]\n    return")
"""A function that takes the index for row numbers."""

LAST = CODE.replace(".sum())", ".iloc[-1])")
"""A function for which the order of the rows counts."""


ONE_ROW = '''\
import pandas as pd
from solution import run


def test_one():
    """Total revenue of @sales."""
    assert run(sales=pd.DataFrame({"price": [2.0], "quantity": [3]})) == 6.0'''


A_SHARE = '''\
def test_share():
    """Shares."""
    assert list(run(sales=pd.DataFrame({"shop": ["a", "a"], "n": [1.0, 3.0]}))["share"]) == [0.25, 0.75]'''


def twice(code: str, second: str, **more: Script) -> dict[str, Script]:
    told = f'"""How it is read:\n"""\n\nOUTPUTS = {{"total": "float"}}\n\n{second}'
    return {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(ONE_ROW)], "second": [fenced(told)], **more}


async def test_a_broken_invariant_that_the_second_solution_keeps_is_a_test_that_fails(runner: Runner) -> None:
    edit = {"find": "    sales = sales.loc[list(range(len(sales)))]\n", "replace": "", "mends": ["test_relation_1"]}
    told = twice(NUMBERED, CODE, fix_code=[json.dumps({"edits": [edit]})])
    produced = await runner.generate(told, settings={"effort": "normal", "second_opinion": "on"})
    report = produced.report
    assert report.success and report.attempts == 2 and "loc" not in produced.code and "diagnose" not in produced.asked
    assert "test_relation_1" in {outcome.id for outcome in report.evidence.tests}
    assert report.evidence.strength is not None and not report.evidence.strength.broken
    assert report.change == "a change of the data found an error in version 1"


async def test_what_the_plan_says_of_parts_is_tried_and_told(runner: Runner) -> None:
    plan = {**json.loads(PLAN), "outputs": [], "holds": ["groups:shop"]}
    code = "import pandas as pd\n\n\ndef run(sales):\n    return pd.DataFrame({'share': sales['n'] / sales['n'].sum()})"
    test = f"import pandas as pd\nfrom solution import run\n\n\n{A_SHARE}"
    told = {"plan": [json.dumps(plan)], "code": [fenced(code)], "tests": [fenced(test)]}
    data = {"sales": pd.DataFrame({"shop": ["a", "b"] * 10, "n": [1.0, 2.0, 3.0, 4.0, 5.0] * 4})}
    alone = {"effort": "normal", "second_opinion": "off", "max_iterations": 1}
    outputs = (OutputSpec(name="shares", type="DataFrame"),)
    produced = await runner.generate(told, samples=data, outputs=outputs, settings=alone)
    assert produced.report.plan is not None and produced.report.plan.holds == ("groups:shop",)
    found = produced.report.evidence.strength
    assert found is not None, produced.error
    (one,) = found.broken
    assert (
        one.words
        == "an answer for each part of the rows (whole groups of shop) changes shares, which the plan rules out"
    )
    assert one.smallest.count("'a'") == one.smallest.count("'b'") == 1
    line = verified(produced.report.evidence, None, 1)
    assert one.words in line.weaknesses and "One is wrong." in told_of(produced)
    second = f'"""How it is read:\n"""\n\nOUTPUTS = {{"shares": "DataFrame"}}\n\n{code}'
    beside = {"effort": "normal", "second_opinion": "on", "max_iterations": 1, "cache": "disable"}
    told["second"] = [fenced(second)]
    produced = await runner.generate(told, samples=data, outputs=outputs, settings=beside)
    report = produced.report
    assert report.success and report.evidence.strength is not None, produced.error
    assert not report.evidence.strength.broken, "a doubt about the plan is none about the function"
    assert verified(report.evidence, report.second_opinion, 1).weaknesses == ()
    assert "Two agreeing solutions contradict this." in told_of(produced)


async def test_of_a_total_that_the_plan_calls_the_same_for_a_repeated_sample_two_solutions_say_not(
    runner: Runner,
) -> None:
    plan = {**json.loads(PLAN), "holds": ["twice"]}
    script = twice(CODE, CODE, plan=[json.dumps(plan)])
    produced = await runner.generate(script, settings={"effort": "normal", "second_opinion": "on"})
    found = produced.report.evidence.strength
    assert produced.report.success and produced.plan.holds == ("twice",) and found is not None, produced.error
    (one,) = found.wrong_plan
    assert one.words == "each row twice in sales changes total, which the plan rules out"
    assert "each row twice in sales. Two agreeing solutions contradict this." in told_of(produced)


def told_of(produced: Generated) -> str:
    """The warnings of the card and the changes of the data in the inspector."""
    report = produced.report
    return f"{[*warning_lines(report.evidence)]} {evidence_section(Subject(report, 'ready'))}"


async def test_a_function_stays_if_its_invariant_cannot_be_kept_or_the_second_solution_breaks_it_too(
    runner: Runner,
) -> None:
    useless = json.dumps({"edits": [{"find": "loc[list(", "replace": "loc[tuple(", "mends": ["test_relation_1"]}]})
    both = {"effort": "normal", "second_opinion": "on", "max_iterations": 2, "cache": "disable"}
    data = {"sales": pd.DataFrame({"price": [3.0, 1.0, 2.0, 5.0], "quantity": [2, 1, 2, 1]})}
    for code, second, name, fixes in ((NUMBERED, CODE, INDEX, 1), (LAST, LAST, ORDER, 0)):
        produced = await runner.generate(twice(code, second, fix_code=[useless]), settings=both, samples=data)
        found = produced.report.evidence.strength
        assert produced.report.success and produced.code.strip() == code and produced.asked.count("fix_code") == fixes
        assert found is not None and [one.name for one in found.broken] == [name]
        assert "test_relation" not in (produced.report.tests or "")


def test_a_property_of_a_record_that_is_none_hides_no_other_one() -> None:
    """A record may have been written by somebody else."""
    table = pd.DataFrame({"shop": ["a", "b"]})
    found = list(splits({"sales": table}, ("order", "no property", "groups:gone", "rows")))
    assert [(split.input, split.kind) for split in found] == [("sales", "rows")]


@each(
    ("code", "may"),
    [
        ("seen = []\n\n\ndef run(x):\n    seen.append(len(x))\n    return float(len(seen))", True),
        ("def run(x, seen=[]):\n    seen.append(len(x))\n    return float(len(seen))", True),
        ("known = {}\n\n\ndef run(x):\n    return known.setdefault(len(x), float(x['n'].iloc[0]))", True),
        ("def run(x):\n    run.calls = getattr(run, 'calls', 0) + 1\n    return float(run.calls)", True),
        ("total = 0.0\n\n\ndef run(x):\n    global total\n    total += x['n'].sum()\n    return total", True),
        ("RATES = {'a': 2.0}\n\n\ndef run(x):\n    return float(x['n'].sum() * RATES['a'])", False),
    ],
)
def test_what_a_call_leaves_to_the_next_one_is_told(worker: Worker, code: str, may: bool) -> None:
    """Also what only a call with as many rows uses again."""
    program = Program(code, (InputSpec(name="x", type="DataFrame"),), (OutputSpec(name="out", type="float"),))
    data = pd.DataFrame({"n": [1.0, 2.0, 5.0]})
    found = hidden_inputs(SolutionWorker("f", worker, program), {"x": data}, TimeLimit(60.0))
    assert may_remember(code) and [one.on for one in found if one.differs] == ["earlier calls in its process"] * may


def test_a_function_that_keeps_nothing_is_not_called_again() -> None:
    assert not may_remember("LIMIT = 3\n\n\ndef run(x):\n    kept = []\n    kept.append(x)\n    return kept[:LIMIT]")
