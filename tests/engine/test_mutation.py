"""Whether the tests of a verified function notice small changes of it."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.display.inspector.evidence import evidence_section
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.display.live import card_text
from autocoder_jupyter.engine.evidence.mutants import mutants
from autocoder_jupyter.engine.evidence.mutation import MutationRun, TriedMutant
from autocoder_jupyter.engine.evidence.solution_worker import KnownAnswers
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import VariedSample
from autocoder_jupyter.engine.programs import alternatives
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.result.recorded import last_good
from autocoder_jupyter.run.events import TestReported
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import SECOND, verified
from autocoder_jupyter.sandbox.choice import choose
from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec, Program, WorkerLimits, WorkerSpec
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import InputSpec, OutputSpec, Strength, TestOutcome
from autocoder_jupyter.versions.store import Versions
from autocoder_jupyter.versions.verification import rename, without_others_evidence
from autocoder_jupyter.view.document import Row, Table
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced
from tests.scripted_model import Script, prompt_of

pytestmark = pytest.mark.local_sandbox

PLACE = "autocoder_jupyter.engine.evidence"


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine finds the same."""
    longer = {name: replace(effort, seconds=300.0 * effort.is_examined) for name, effort in EFFORTS.items()}
    monkeypatch.setattr(f"{PLACE}.examiner.EFFORTS", longer)
    monkeypatch.setattr(f"{PLACE}.mutation.CALL_SECONDS", 60.0)
    monkeypatch.setattr(f"{PLACE}.mutation.SEARCH_SECONDS", 120.0)
    monkeypatch.setattr(f"{PLACE}.invariants.SEARCH_SECONDS", 60.0)


NORMAL = {"effort": "normal", "second_opinion": "off"}

FILTERED = """\
import pandas as pd


def run(sales: pd.DataFrame) -> float:
    big = sales[sales["quantity"] >= 2]
    return float((big["price"] * big["quantity"]).sum())"""

BOUND = '''\
import pandas as pd
from solution import run


def test_bound():
    """Orders of two pieces or more count."""
    sales = pd.DataFrame({"price": [1.0, 10.0, 100.0], "quantity": [1, 2, 3]})
    assert run(sales=sales) == 320.0'''

WEAK = '''\
import pandas as pd
from solution import run


def test_type():
    """It is a number."""
    assert run(sales=pd.DataFrame({"price": [1.0], "quantity": [5]})) == 5.0'''


def script(code: str = CODE, tests: str = TESTS, **more: Script) -> dict[str, Script]:
    return {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(tests)], **more}


def strength(produced: Generated) -> Strength:
    found = produced.report.evidence.strength
    assert produced.report.success and found is not None, produced.error
    return found


def orders() -> pd.DataFrame:
    return pd.DataFrame({"price": [10.0, 20.0, 30.0, 7.0] * 5, "quantity": [1, 2, 3, 5] * 5})


async def test_good_tests_notice_the_changes_and_the_card_knows_which(runner: Runner) -> None:
    found = strength(await runner.begin(script(FILTERED, BOUND), samples={"sales": orders()}, settings=NORMAL))
    told = {change.words: change.noticed_by for change in found.changes}
    assert told["line 5: sales['quantity'] > 2 instead of sales['quantity'] >= 2"] == "test_bound"
    assert "line 5: sales instead of sales[sales['quantity'] >= 2]" in told
    assert found.noticed == len(found.changes) >= 4 and found.ended == ""


async def test_weak_tests_let_changes_pass(runner: Runner) -> None:
    found = strength(await runner.begin(script(FILTERED, WEAK), samples={"sales": orders()}, settings=NORMAL))
    told = {change.words for change in found.survivors}
    assert "line 5: sales['quantity'] > 2 instead of sales['quantity'] >= 2" in told
    assert 0 < found.noticed < len(found.changes)


async def test_a_function_of_which_no_change_matters_is_not_said_to_have_tests_that_notice(runner: Runner) -> None:
    once = "def run(sales):\n    return float(sales['price'].sum())"
    alike = pd.DataFrame({"price": [0.0] * 20, "quantity": [1] * 20})
    produced = await runner.generate(
        script(once, WEAK.replace("5.0", "1.0")), samples={"sales": alike}, settings=NORMAL
    )
    found = strength(produced)
    assert found.changes == () and found.ended == "no small change of it gives another answer"
    assert f"tests not tried on mutated code: {found.ended}" in verified(produced.report.evidence, None, 1).weaknesses


COUNTS = '''\
import builtins
from solution import run


def test_once():
    """It is not run a second time."""
    import pandas as pd

    builtins.runs = getattr(builtins, "runs", 0) + 1
    assert run(sales=pd.DataFrame({"price": [1.0], "quantity": [5]})) == 5.0 and builtins.runs == 1'''


async def test_tests_that_only_fail_because_others_ran_before_notice_nothing(runner: Runner) -> None:
    plain, counting = [
        strength(await runner.generate(script(FILTERED, tests), samples={"sales": orders()}, settings=NORMAL))
        for tests in (WEAK, COUNTS)
    ]
    assert [bool(change.noticed_by) for change in counting.changes] == [bool(one.noticed_by) for one in plain.changes]


SLOW = f"import time\n{BOUND}".replace("    sales =", "    time.sleep(4)\n    sales =")


@pytest.mark.real_sandbox
async def test_tests_that_the_end_of_the_time_cuts_notice_nothing(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine was busy: that says nothing of the tests."""
    efforts = {name: replace(effort, seconds=min(effort.seconds, 2.0)) for name, effort in EFFORTS.items()}
    monkeypatch.setattr(f"{PLACE}.examiner.EFFORTS", efforts)
    found = strength(await runner.generate(script(FILTERED, SLOW), samples={"sales": orders()}, settings=NORMAL))
    assert found.noticed == 0 and found.ended == "the time was up"


async def test_a_change_that_gives_no_other_answer_does_not_count(runner: Runner) -> None:
    samples = {"sales": pd.DataFrame({"price": [10.0, 20.0], "quantity": [5, 7]})}  # none at the bound
    found = strength(await runner.generate(script(FILTERED, BOUND), samples=samples, settings=NORMAL))
    assert not any("> 2 instead" in change.words for change in found.changes)


@pytest.mark.parametrize(
    ("body", "now"),
    [
        ("return a[a.n < 1]", "a.n <= 1"),
        ("return a[a.n.ge(1)]", "a.n.gt(1)"),
        ("return a[a.n.between(1, 3)]", "a.n.between(1, 3, inclusive='left')"),
        ("return a[a.n > 1]", "a"),
        ("return a.query('n > 1')", "a"),
        ("return a.query('n > @least')", "a.query('n >= @least')"),
        ("return a.query(\"n > 1 and m == 'x < y'\")", "a.query(\"n > 1 or m == 'x < y'\")"),
        ("return a.query('n > 1 & m < 2')", "a.query('n > 1 | m < 2')"),
        ("return np.std(a['n'])", "np.std(a['n'], ddof=1)"),
        ("return a.dropna()", "a"),
        ("return a['n'].std()", "a['n'].std(ddof=0)"),
        ("return a['n'].var(ddof=0)", "a['n'].var(ddof=1)"),
        ("return a.merge(b, on='k')", "a.merge(b, on='k', how='left')"),
        ("return a.merge(b, on='k', how='outer')", "a.merge(b, on='k', how='inner')"),
        ("return a['n'].sum()", "a['n'].mean()"),
        ("return a.groupby('k').agg({'n': 'sum'})", "a.groupby('k').agg({'n': 'mean'})"),
        ("return a.groupby('k')['n'].first()", "a.groupby('k')['n'].last()"),
        ("return a.sort_values('n')", "a.sort_values('n', ascending=False)"),
        ("return a.sort_values('n', ascending=False)", "a.sort_values('n', ascending=True)"),
        ("return a['n'] * 1.5", "1.6500000000000001"),
        ("return a['n'].rolling(7).mean()", "6"),
        ("return a['n'].shift(1)", "2"),
        ("return a[(a.n > 1) & (a.m < 2)]", "(a.n > 1) | (a.m < 2)"),
        ("return a['n'] / a['m']", "a['n']"),
        ("return a[a.day < '2024-03-01']", "'2024-03-02'"),
        ("return a[a.day < pd.Timestamp(2024, 3, 1)]", "2"),
        ("return a[(a.n > 1) & (a.m < 2)]", "a.n > 1"),
        ("return a[(a.n > 1) & (a.m < 2)]", "a.m < 2"),
        ("return a if a.n and a.m else 0", "a.n"),
        ("return a['n'] * a['m']", "a['n']"),
        ("return a['n'].mean()", "a['n'].median()"),
        ("return a['n'].sum(min_count=1)", "a['n'].sum()"),
        ("return a['n'].ffill(limit=2)", "a['n'].ffill()"),
        ("return a['n'].str.replace(',', '')", "a['n']"),
        ("return a['n'].mask(a['n'] == -999).sum()", "a['n']"),
        ("x = a.copy()\n    return x", "a.iloc[::-1].reset_index(drop=True)"),
        ("return a", "a.fillna(dict.fromkeys(a.select_dtypes('number'), 0))"),
    ],
)
def test_a_change_is_one_that_somebody_makes_by_mistake(body: str, now: str) -> None:
    found = {mutant.now: mutant for mutant in mutants(f"def run(a):\n    {body}\n", ["a"])}
    assert now in found
    compile(found[now].code, "changed", "exec")


def test_a_function_in_one_line_and_one_with_a_docstring_are_changed_too() -> None:
    assert not any("iloc" in mutant.code for mutant in mutants("def run(a): return a", ["a"]))
    first = next(iter(mutants('def run(a):\n    """It.\n\n    More."""\n    return a\n', ["a"])))
    assert first.line == 5 and first.code.splitlines()[4] == "    a = a.iloc[::-1].reset_index(drop=True)"


def eval_table(source: str) -> pd.DataFrame:
    names: dict[str, pd.DataFrame] = {}
    exec(source.strip(), {"pd": pd}, names)
    return names["sales"]


MORE = '''
def test_two_pieces():
    """Orders of two pieces or more count."""
    assert run(sales=pd.DataFrame({"price": [1.0], "quantity": [2]})) == 2.0


def test_wrong():
    """Orders of one piece count."""
    assert run(sales=pd.DataFrame({"price": [1.0], "quantity": [1]})) == 1.0


def test_broken():
    """Orders of a customer count."""
    assert run(sales=pd.DataFrame({"price": [1.0]})["customer"]) == 1.0
'''


async def test_tests_are_added_for_changes_that_none_notices(runner: Runner) -> None:
    told = script(FILTERED, WEAK, more_tests=[fenced(MORE)])
    produced = await runner.generate(told, samples={"sales": orders()}, settings=NORMAL)
    found = strength(produced)
    assert found.added == ("test_two_pieces",) and found.dropped == ("Orders of one piece count.",)
    assert found.note == "Tests that could not run were not added: Orders of a customer count."
    assert {outcome.id for outcome in produced.report.evidence.tests} == {"test_type", "test_two_pieces"}
    assert "def test_two_pieces" in produced.report.tests and "test_wrong" not in produced.report.tests
    by = {change.words: change.noticed_by for change in found.changes}
    assert by["line 5: sales['quantity'] > 2 instead of sales['quantity'] >= 2"] == "test_two_pieces"
    (asked,) = (prompt for prompt in map(prompt_of, produced.model.requests) if "You add tests for one" in prompt)
    assert "<input>" in asked and "def test_type" in asked and ".sum()" not in asked and ">= 2" not in asked
    assert produced.asked.count("more_tests") == 1
    few, *smallest = re.findall(r"<input>(.*?)</input>", asked, re.DOTALL)  # a part on which many changes matter
    assert len(eval_table(few)) >= 3 and smallest and all(len(eval_table(one)) <= 2 for one in smallest)


async def test_a_function_whose_added_tests_fail_later_is_shown_as_it_was_verified(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def all_passed(*_: object) -> tuple[TestOutcome, ...]:
        return ()

    monkeypatch.setattr("autocoder_jupyter.engine.evidence.mutation._outcomes", all_passed)
    told = script(FILTERED, WEAK, more_tests=[fenced(MORE)])
    produced = await runner.generate(told, samples={"sales": orders()}, settings=NORMAL)
    assert produced.report.success and strength(produced).added == ()
    assert "failed" in {event.outcome.outcome for event in produced.of(TestReported)}
    state = FunctionRun("growth")
    for event in produced.events:
        state = state.apply(event)
    assert "Ready, not fully checked · 1 of 1 test passed" in card_text(state) and "not verified" not in card_text(
        state
    )


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({"hide": ("price",)}, "No input on which they matter may be sent to the model."),
        ({}, "openai/scripted refused the question."),
        ({"second_opinion_seconds": 0.01}, "They did not come within 0.01 s (second_opinion_seconds)."),
    ],
)
async def test_a_function_stays_verified_if_no_tests_can_be_added(
    runner: Runner, settings: dict[str, object], note: str
) -> None:
    told = script(FILTERED, WEAK)
    produced = await runner.begin(told, samples={"sales": orders()}, settings={**NORMAL, **settings})
    assert note in strength(produced).note and [o.id for o in produced.report.evidence.tests] == ["test_type"]


async def test_what_each_layer_took_is_in_the_evidence_and_in_the_inspector(runner: Runner) -> None:
    produced = await runner.begin(script(FILTERED, BOUND), samples={"sales": orders()}, settings=NORMAL)
    costs = {cost.layer: cost for cost in produced.report.evidence.costs}
    own = ["clock, chance and changes of the data", "changes of the code", "other inputs"]
    assert list(costs) == ["tests", "rows used", *own]
    assert costs["tests"].tokens > 0 and all(cost.tokens == 0 for layer, cost in costs.items() if layer != "tests")
    assert all(cost.seconds > 0 and cost.recorded == 0 for cost in costs.values())
    assert costs_shown(produced) == ("", "tokens", "seconds")
    kept = await runner.generate({}, samples={"sales": orders()}, settings=NORMAL)
    paid = [cost.model_copy(update={"tokens": 0, "recorded": cost.tokens}) for cost in costs.values()]
    assert kept.report.kept and strength(kept) == strength(produced), "it has the strength that was found before"
    assert [*kept.report.evidence.costs] == paid, "another run paid for it"
    assert costs_shown(kept) == ("", "tokens", "recorded tokens", "seconds")
    for report in runner.root.rglob("report.json"):
        report.unlink()
    replayed = (await runner.generate({}, samples={"sales": orders()}, settings=NORMAL)).report
    assert not replayed.kept and replayed.evidence.costs[0].recorded == costs["tests"].tokens
    assert replayed.evidence.costs[0].tokens == 0


def costs_shown(produced: Generated) -> tuple[str, ...]:
    """The headings of what the layers took, in the inspector."""
    section = evidence_section(Subject(produced.report, "ready"))
    (row,) = (row for row in section if isinstance(row, Row) and row.label == "Cost")
    (table,) = row.blocks
    assert isinstance(table, Table)
    return table.headings


async def test_a_quick_effort_tries_nothing_and_asks_for_no_second_solution(runner: Runner) -> None:
    produced = await runner.generate(script(), settings={"effort": "quick"})
    assert produced.report.success and produced.report.evidence.strength is None
    assert produced.report.second_opinion is None and "second" not in produced.asked


def raising(*args: object, **more: object) -> None:
    raise RuntimeError("a defect of this layer")


async def test_a_kept_function_of_a_quick_effort_is_examined_when_more_effort_is_asked_for(runner: Runner) -> None:
    samples = {"sales": orders()}
    answers = script(FILTERED, BOUND, second=[fenced(FILTERED)])
    quick = await runner.generate(answers, samples=samples, settings={"effort": "quick", "second_opinion": "on"})
    assert quick.report.evidence.strength is None
    kept = await runner.generate({}, samples=samples, settings=NORMAL)
    assert kept.report.kept and strength(kept).noticed >= 4
    assert {cost.layer for cost in kept.report.evidence.costs} > {"tests", SECOND}
    again = await runner.generate({}, samples=samples, settings={"effort": "quick"})
    assert again.report.kept and strength(again) == strength(kept), "what was found is not lost"
    recorded = last_good(runner.root, "growth", CallOptions())
    assert recorded is not None and recorded.evidence.strength == strength(kept)
    assert recorded.report.second_opinion == quick.report.second_opinion, "what the first run found is not lost either"
    assert recorded.report.second_opinion is not None and recorded.report.second_opinion.state == "agree"
    renamed = rename(Versions(runner.root, "growth"), "rise")
    own = last_good(runner.root, "rise", CallOptions())
    assert own is not None and own.evidence.strength == strength(kept), "nor by another name"
    assert own.report.second_opinion == quick.report.second_opinion
    assert without_others_evidence(renamed, renamed.all()[-1]).second_opinion == quick.report.second_opinion


@pytest.mark.parametrize("layer", ["mutants", "ask_for_tests"])
async def test_a_defect_of_the_examination_loses_no_function_that_was_verified(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    monkeypatch.setattr(f"{PLACE}.examiner.{layer}", raising)
    found = strength(await runner.generate(script(FILTERED, WEAK), samples={"sales": orders()}, settings=NORMAL))
    assert "RuntimeError" in f"{found.ended} {found.note}"


COUNTING = """\
import pandas as pd


def run(sales: pd.DataFrame) -> float:
    n = 0
    while n != 4:
        n = n + 2
    return float(sales["price"].sum() * n)"""


def test_a_change_without_end_ends_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{PLACE}.mutation.CALL_SECONDS", 3.0)
    inputs = (InputSpec(name="sales", type="DataFrame"),)
    program = Program(COUNTING, inputs, (OutputSpec(name="total", type="float"),))
    varied = VariedSample({"sales": pd.DataFrame({"price": [1.0, 2.0, 4.0]})})
    brief: Any = None  # is for tests
    trial = MutationRun(
        *(program, brief, None, varied, {}, Redaction("rows"), KnownAnswers(), 50, TimeLimit(300)),
        [*mutants(COUNTING)],
    )
    changes = {(mutant.was, mutant.now) for mutant in trial.left}
    endless = ("0", "1")
    assert endless in changes
    sandbox = choose("local")
    spec = WorkerSpec(sandbox.build(EnvironmentSpec((), sys.version_info[:2])), WorkerLimits())
    while trial.left:
        with shared_pool(sandbox).lease(spec) as worker:
            trial.search(worker, lambda: True)
    assert {(tried.mutant.was, tried.mutant.now) for tried in trial.differing} == changes - {endless}


def test_a_function_that_needs_its_module_or_a_default_runs_among_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "solution", sys)  # is put back
    monkeypatch.setattr(alternatives, "_made", {})
    code = "from dataclasses import dataclass\n\n\n@dataclass\nclass One:\n    n: 'int'\n\n\n"
    needs, has = f"{code}def run(a, b):\n    return One(a).n + b\n", "def run(a, b=5):\n    return a + b\n"
    monkeypatch.setattr(alternatives, "CODES", [needs, has])
    monkeypatch.setattr(alternatives, "DEFAULTS", {"b": 7})
    assert [alternatives.run(number, a=1) for number in (0, 1, 0)] == [8, 6, 8]
    assert alternatives.run(1, a=1, b=2) == 3


def test_where_a_worker_has_ended_no_test_is_said_to_notice_a_change() -> None:
    """Every call fails there, as on a change that each test notices."""
    program = Program(FILTERED, (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="total", type="float"),))
    mutant, *_ = mutants(FILTERED, ["sales"])
    brief: Any = None  # no test runs
    run = MutationRun(
        *(program, brief, None, VariedSample({"sales": orders()}, 0), {}, Redaction("rows"), KnownAnswers(), 5),
        *(TimeLimit(300), []),
        found=[tried := TriedMutant(mutant, {"sales": orders()})],
    )
    gone: Any = SimpleNamespace(alive=False)
    run.again(gone, gone)
    assert run.found == [tried]
