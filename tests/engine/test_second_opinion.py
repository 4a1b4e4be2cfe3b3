"""A second solution: what it shows, what follows from it, and that its failures do no harm."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.display.live import card_html, card_text, document_of
from autocoder_jupyter.display.verified import opinion_blocks
from autocoder_jupyter.engine.evidence.readings import name_other_choices
from autocoder_jupyter.engine.evidence.second_opinion import SecondOpinionStage
from autocoder_jupyter.request import Example
from autocoder_jupyter.run.events import Event, Finished, FunctionVerified, OpinionGiven, SourceWritten, VersionBegun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.types import InputSpec, OutputSpec, Reading, Report, Secret, TypeName
from autocoder_jupyter.versions.store import Versions
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced
from tests.scripted_model import Answer, Script, prompt_of

pytestmark = pytest.mark.local_sandbox

ON = {"second_opinion": "on"}
AGREEING = f'"""How it is read:\n\n- a missing price counts as zero\n"""\n\nOUTPUTS = {{"total": "float"}}\n\n{CODE}'
OTHERWISE = AGREEING.replace('"""How', '"""How it is read:\n\n- revenue is the price alone\n\nHow').replace(
    ' * sales["quantity"]', ""
)
FALTERING = AGREEING.replace("    return", '    if "_all_outputs" in globals():\n        return 0.0\n    return')
"""The same, but it gives another answer when the tests call it."""
NAMED = json.dumps(
    {"readings": [{"assumption": 1, "words": "as the price alone", "line": "Revenue is the price, without quantity."}]}
)


def derived(*values: object, place: str = "total", decided: bool = True) -> str:
    told = {"derivation": "1 * 2 = 2", "sentence": "Total revenue of @sales.", "decided": decided}
    return json.dumps({**told, "values": [{"place": place, "values": list(values)}]})


def script(code: str = CODE, tests: str = TESTS, **more: Script) -> dict[str, Script]:
    return {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(tests)], **more}


async def test_a_second_solution_that_agrees_is_told_with_what_was_tried(runner: Runner) -> None:
    produced = await runner.begin(script(second=[fenced(AGREEING)]), settings=ON)
    opinion = produced.opinion
    assert produced.report.success and opinion.state == "agree" and not opinion.differences
    assert opinion.tried[0] == "with shuffled rows" and len(opinion.tried) >= 4
    assert 0 < opinion.usage.input_tokens < produced.report.usage.input_tokens
    assert [event.opinion for event in produced.of(OpinionGiven)] == [opinion]


async def test_it_sees_neither_plan_nor_code_nor_tests_and_is_asked_after_what_is_shown_first(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocoder_jupyter.engine.loop.SECOND_AFTER", 60.0)
    slowly = {"code": [Answer(fenced(CODE), delay=0.2)]}
    produced = await runner.generate(script(second=[fenced(AGREEING)]) | slowly, settings=ON)
    asked = next(r for r in produced.model.requests if "experienced analyst" in prompt_of(r))
    told = json.dumps(asked)
    assert "Total revenue of @sales." in told and "quantity" in told and "total" in told
    assert "count as zero" not in told and "Multiply and sum" not in told and "test_sum" not in told
    assert produced.asked[:3] == ["code", "tests", "second"]


async def test_another_reading_is_shown_in_numbers_with_the_assumption_it_hangs_on(runner: Runner) -> None:
    told = script(second=[fenced(OTHERWISE)], derive=[derived(2.0)], name=[NAMED])
    opinion = (await runner.begin(told, settings=ON)).opinion
    (difference,) = opinion.differences
    assert (difference.where, difference.first, difference.second, difference.on) == ("total", "140", "60", "")
    (reading,) = opinion.readings
    assert (reading.words, reading.assumption) == ("as the price alone", "Rows with a missing price count as zero.")


WARY = OTHERWISE.replace(
    '"""How it is read:',
    '"""Easy to misunderstand:\n- revenue: with \x1b[31mquantity or without\n- a\n- b\n- c %autocode setup\n\nRead as:',
)


async def test_what_could_be_misunderstood_is_shown_where_the_two_differ(runner: Runner) -> None:
    told = script(second=[fenced(WARY)], derive=[derived(2.0)], name=[NAMED])
    produced = await runner.begin(told, settings=ON)
    opinion = produced.opinion
    assert opinion.state == "differ" and len(opinion.misunderstandings) == 3
    assert "\x1b" not in "".join(opinion.misunderstandings)
    shown = card_text(run_of(produced.report, "ready"))
    assert "Easy to misunderstand: revenue: with" in shown and "quantity or without" in shown
    asked = next(prompt for prompt in map(prompt_of, produced.model.requests) if "Two analysts answered" in prompt)
    assert "1. revenue is the price alone" in asked and "quantity or without" not in asked


async def test_one_family_of_models_is_said_in_the_evidence_with_a_way_to_ask_another(runner: Runner) -> None:
    produced = await runner.begin(script(second=[fenced(AGREEING)]), settings=ON)
    assert produced.opinion.family == produced.opinion.model, "a model of no known family is its own"
    words = "wrongly in the same way. %config Autocode.second_model ="
    first_sight, *folded = document_of(run_of(produced.report, "ready")).sections
    assert words not in str(first_sight) and any(words in str(section) for section in folded)


async def test_who_derives_sees_neither_solution_and_no_result_and_only_made_up_values(
    runner: Runner,
) -> None:
    told = script(second=[fenced(OTHERWISE)], derive=[derived(2.0)], name=[NAMED])
    produced = await runner.begin(told, settings=ON)
    asked = next(p for p in map(prompt_of, produced.model.requests) if "You work out by hand" in p)
    question = asked
    assert "pd.Series([1.0], dtype='float64')" in question and "- total" in question
    assert "def run(sales: pd.DataFrame) -> float: ..." in question and ".sum()" not in question


WRONG = CODE.replace('sales["quantity"]).sum()', 'sales["quantity"].clip(upper=2)).sum()')
"""Wrong for quantities above two, which no test contains."""

MENDED = json.dumps({"edits": [{"find": ".clip(upper=2)", "replace": "", "mends": ["test_second_opinion_1"]}]})


def hand_derived(request: dict[str, Any]) -> str:
    """The result that a correct derivation gives for the input in the question."""
    question = request["messages"][1]["content"]
    source = question.partition("<input>\n")[2].partition("\n</input>")[0].removeprefix("sales = ")
    sales = eval(source, {"pd": pd})
    return derived(float((sales["price"] * sales["quantity"]).sum()))


NO_READING = [json.dumps({"readings": []})]


async def test_an_input_on_which_the_code_is_wrong_becomes_a_test_and_the_code_is_mended(
    runner: Runner,
) -> None:
    told = script(
        WRONG, second=[fenced(AGREEING)], derive=hand_derived, again=hand_derived, name=NO_READING, fix_code=[MENDED]
    )
    produced = await runner.generate(told, settings=ON)
    report = produced.report
    assert report.success and report.attempts == 2 and "clip" not in produced.code
    assert "test_second_opinion_1" in {outcome.id for outcome in report.evidence.tests}
    assert produced.opinion.state == "agree" and produced.opinion.tests == ("test_second_opinion_1",)
    assert "diagnose" not in produced.asked and produced.opinion.stays == ""
    before, taken_back, after = runner.offered
    assert before is not None and taken_back is None and after is not None and before.solution is not None
    assert before.success and "clip" in before.solution.code
    assert before.second_opinion is not None and before.second_opinion.state == "running"
    first, second = Versions(runner.root, "growth").all()
    assert (second.id, second.report.parent) == (report.run_id, first.id) and first.is_good and second.is_good
    assert first.report.solution == before.solution and first.report.second_opinion is not None
    assert (first.report.second_opinion.state, first.report.second_opinion.confirms) == ("differ", "second")
    assert report.change == "the second opinion found an error in version 1" and produced.changes.outputs
    assert not any(event.is_new_request for event in produced.of(VersionBegun)), "it is not written from scratch"
    again = await runner.generate({}, settings=ON)
    assert again.asked == [] and again.report.run_id == second.id and "clip" not in again.code


async def test_who_mends_the_code_sees_the_tables_of_run_on_the_input_on_which_the_two_differ(runner: Runner) -> None:
    told = script(
        WRONG.replace("    return float((", "    worth = (").replace(").sum())", ")\n    return float(worth.sum())"),
        second=[fenced(AGREEING)],
        derive=hand_derived,
        again=hand_derived,
        name=NO_READING,
        fix_code=[MENDED],
        more_tests=[fenced("# none")],
    )
    produced = await runner.begin(told, settings={**ON, "effort": "normal"})
    (asked,) = (prompt for prompt in map(prompt_of, produced.model.requests) if "You fix one Python module" in prompt)
    tables = asked.partition("In test_second_opinion_1:")[2].partition("</tables>")[0]
    assert "After line 5, `worth = " in tables and "\nworth: " in tables


async def test_who_derives_again_is_asked_in_other_words_and_sees_no_first_answer(runner: Runner) -> None:
    told = script(
        WRONG, second=[fenced(AGREEING)], derive=hand_derived, again=hand_derived, name=NO_READING, fix_code=[MENDED]
    )
    produced = await runner.begin(told, settings=ON)
    (asked,) = (
        prompt for prompt in map(prompt_of, produced.model.requests) if "small exercise in arithmetic" in prompt
    )
    assert "You work out by hand" not in asked and "1 * 2 = 2" not in asked and ".sum()" not in asked


def off_by_one(request: dict[str, Any]) -> str:
    value = json.loads(hand_derived(request))["values"][0]["values"][0]
    return derived(value + 1)


ANOTHER = (
    TESTS
    + """


def test_at_most_two_count():
    sales = pd.DataFrame({"price": [1.0], "quantity": [5]})
    assert run(sales=sales) == 2.0
"""
)


@pytest.mark.parametrize(
    ("tests", "again", "second", "why"),
    [
        (TESTS, off_by_one, AGREEING, "Asked again in other words, the derivation did not say so."),
        (TESTS, "no JSON", AGREEING, "The derivation could not be asked again."),
        (ANOTHER, hand_derived, AGREEING, "The test test_at_most_two_count contradicts it."),
        (
            TESTS,
            hand_derived,
            FALTERING,
            "A test of the difference could not be shown to pass for the value that it asserts.",
        ),
    ],
    ids=["not confirmed", "not answered", "contradicted", "not shown to pass"],
)
async def test_one_derivation_does_not_overturn_a_function_that_passed(
    runner: Runner, tests: str, again: Any, second: str, why: str
) -> None:
    told = script(WRONG, tests, second=[fenced(second)], derive=hand_derived, again=again, name=[NAMED])
    produced = await runner.generate(told, settings={**ON, "max_iterations": 3})
    opinion = produced.opinion
    assert produced.report.success and produced.report.attempts == 1 and "clip" in produced.code
    assert (opinion.state, opinion.confirms, opinion.tests) == ("differ", "second", ())
    assert opinion.stays == why and opinion.readings
    assert "test_second_opinion" not in (produced.report.tests or "")


async def test_a_function_that_was_verified_is_not_lost_if_no_change_of_it_passes(runner: Runner) -> None:
    useless = json.dumps({"edits": [{"find": "upper=2", "replace": "upper=1", "mends": ["test_second_opinion_1"]}]})
    told = script(
        WRONG, second=[fenced(AGREEING)], derive=hand_derived, again=hand_derived, name=NO_READING, fix_code=useless
    )
    for settings in ({"max_iterations": 1}, {"max_iterations": 3, "cache": "disable"}):
        produced = await runner.generate(told, settings={**ON, **settings})
        assert produced.report.success and produced.error == "" and "upper=2" in produced.code
        assert "test_second_opinion" not in produced.report.tests and len(produced.report.evidence.tests) == 2
        opinion = produced.opinion
        assert (opinion.state, opinion.tests) == ("differ", ()) and opinion.confirms == "second"
        assert opinion.stays == "No change of the function passed this and all other tests."
        before = runner.offered[-2]
        assert before is not None and runner.offered[-1] is None and before.run_id == produced.report.run_id
        assert produced.of(Finished)[-1].state == "ready" and produced.of(OpinionGiven)[-1].opinion == opinion
    first, second = Versions(runner.root, "growth").all()  # the run without a record has left none
    assert first.report.second_opinion is not None and first.report.second_opinion.stays
    assert first.is_good and not second.is_good and second.report.parent == first.id


async def test_the_card_of_a_function_that_stays_is_that_of_the_attempt_that_passed(runner: Runner) -> None:
    halved = json.dumps({"edits": [{"find": "upper=2", "replace": "upper=1", "mends": ["test_second_opinion_1"]}]})
    told = script(
        WRONG, second=[fenced(AGREEING)], derive=hand_derived, again=hand_derived, name=NO_READING, fix_code=[halved]
    )
    produced = await runner.generate(told, settings={**ON, "max_iterations": 2})
    state, doubted = FunctionRun("growth"), ""
    for event in produced.events:
        state = state.apply(event)
        if isinstance(event, FunctionVerified) and not event.beside:
            doubted = card_text(state)
    assert produced.report.success and "upper=2" in produced.code
    assert "not verified yet" in doubted and "output total: 110" in doubted
    shown = card_text(state)
    assert (
        "Ready, with a question for you · 2 of 2 tests passed" in shown
        and "output total: 110" in shown
        and "not verified" not in shown
    )
    assert "test_second_opinion_1" not in state.expected
    assert "upper=2" in state.solution and "what the last fix changed" not in card_html(state), "nothing was fixed"
    assert "openai/scripted" in card_html(state)


async def test_the_draft_of_a_function_that_is_doubted_is_its_own_code(runner: Runner) -> None:
    first = WRONG.replace('sales["price"] * ', "")
    priced = {"find": 'sales["quantity"].clip', "replace": 'sales["price"] * sales["quantity"].clip'}
    edits = [json.dumps({"edits": [{**priced, "mends": ["test_sum"]}]}), MENDED]
    failure = {"test_name": "test_sum", "error_message": "?", "error_type": "logic", "suggested_fix": "Use the price."}
    told = script(
        first,
        second=[fenced(AGREEING)],
        derive=hand_derived,
        again=hand_derived,
        name=NO_READING,
        diagnose=[json.dumps({"failures": [failure]})],
        fix_code=edits,
    )
    drafts: list[Report] = []

    def hear(event: Event) -> None:
        if isinstance(event, FunctionVerified) and not event.beside:
            drafts.append(checked(runner.drafts[-1]))

    produced = await runner.generate(told, settings=ON, hear=hear)
    assert produced.report.success and produced.report.attempts == 3, produced.error
    (draft,) = drafts
    assert draft.solution is not None and draft.solution.code.strip() == WRONG and not draft.success


async def test_a_second_solution_with_packages_of_its_own_gets_them_and_the_function_does_not(runner: Runner) -> None:
    second = AGREEING.replace("import pandas as pd", "import pandas as pd\nimport tabulate")
    produced = await runner.generate(script(second=[fenced(second)]), settings=ON)
    assert produced.opinion.state == "agree"
    assert not any("tabulate" in line for line in produced.report.lock)


async def test_a_second_solution_with_an_unknown_package_is_not_run_and_nobody_is_asked(runner: Runner) -> None:
    second = AGREEING.replace("import pandas as pd", "import pandas as pd\nimport who_knows_this")
    produced = await runner.generate(script(second=[fenced(second)]), settings=ON)
    assert produced.report.success and runner.approvals == []
    assert "who-knows-this, which is not a well-known package" in produced.opinion.note


async def test_a_question_that_failed_is_asked_again_by_the_next_run_and_its_absence_is_told(runner: Runner) -> None:
    down = Answer(status=401, error="no such key")
    first = await runner.generate(script(second=[down]), settings=ON)
    assert first.report.success and first.opinion.unanswered == ("a second solution",)
    again = await runner.generate({"second": [fenced(OTHERWISE)], "derive": [down], "name": [down]}, settings=ON)
    assert again.report.kept and set(again.asked) == {"second", "derive", "name"}
    assert again.opinion.state == "differ"
    assert set(again.opinion.unanswered) == {"the correct output of a small input", "what is read otherwise"}
    third = await runner.generate({"derive": [derived(2.0)], "name": [NAMED]}, settings=ON)
    assert set(third.asked) == {"derive", "name"} and third.opinion.readings and not third.opinion.unanswered
    fourth = await runner.generate({}, settings=ON)
    assert fourth.asked == [] and fourth.opinion.readings and fourth.report.success


async def test_a_derivation_that_decides_nothing_changes_nothing(runner: Runner) -> None:
    told = script(second=[fenced(OTHERWISE)], derive=[derived(99.0)], name=[NAMED])
    produced = await runner.generate(told, settings=ON)
    assert produced.report.success and produced.report.attempts == 1 and produced.opinion.confirms == ""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(status=401, error="no such key"), "No second solution was written."),
        (fenced("OUTPUTS = 3\n\ndef run(sales):\n    raise ValueError('it cannot')"), "the second solution raises"),
        (fenced("def run(sales):\n    while True: pass"), "could not be run side by side"),
        (Answer(fenced(AGREEING), hold=threading.Event()), "did not come in time"),
    ],
    ids=["refused", "raises", "never ends", "late"],
)
async def test_an_opinion_that_does_not_come_says_why_and_spoils_nothing(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, answer: Any, said: str
) -> None:
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.comparison.SECONDS", 2.0)
    is_late = said == "did not come in time"
    limit = {"second_opinion_seconds": 0.2} if is_late else {}
    produced = await runner.generate(script(second=[answer]), settings={**ON, **limit})
    assert produced.report.success and produced.of(Finished)[-1].state == "ready"
    assert produced.opinion.state == "none" and said in produced.opinion.note
    assert ("It was cut after 0.2 s (second_opinion_seconds); " in produced.opinion.note) == is_late


@pytest.mark.real_sandbox
async def test_a_comparison_that_is_cut_is_named_and_says_nothing_of_tokens(runner: Runner) -> None:
    endless = AGREEING.replace("    return", "    while True: pass\n    return")
    settings = {**ON, "second_opinion_seconds": 1.0}
    produced = await runner.generate(script(second=[fenced(endless)]), settings=settings)
    assert produced.report.success and produced.opinion.state == "none"
    assert produced.opinion.note == (
        "The comparison did not end in time. It was cut after 1 s (second_opinion_seconds)."
    )


async def test_verified_functions_of_one_run_share_the_seconds_of_the_second_opinion(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    later, compare = 0.0, SecondOpinionStage.compare

    async def slowly(*arguments: Any, **more: Any) -> Any:
        nonlocal later
        compared = await compare(*arguments, **more)
        later += 1000.0
        return compared

    monkeypatch.setattr(SecondOpinionStage, "compare", slowly)
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + later)
    monkeypatch.setattr("autocoder_jupyter.engine.attempt.time", clock)
    told = script(
        WRONG, second=[fenced(AGREEING)], derive=hand_derived, again=hand_derived, name=NO_READING, fix_code=[MENDED]
    )
    produced = await runner.generate(told, settings={**ON, "second_opinion_seconds": 900.0})
    assert produced.report.success and produced.report.attempts == 2 and "clip" not in produced.code
    first, second = (event.opinion.note for event in produced.of(OpinionGiven))
    assert (
        not first and second == "The comparison did not end in time. It was cut after 900 s (second_opinion_seconds)."
    )


async def test_where_an_input_has_no_sample_nothing_can_be_compared_and_nothing_is_asked(
    runner: Runner,
) -> None:
    plan = json.dumps({"description": "d", "approach": "a", "outputs": [{"name": "total", "type": "int"}]})
    code = "def run(x: int) -> int:\n    return 2 * x"
    tests = "from solution import run\n\n\ndef test_two():\n    assert run(x=2) == 4"
    produced = await runner.generate(
        {"plan": [plan], "code": [fenced(code)], "tests": [fenced(tests)]},
        prompt="Twice x.",
        samples={},
        inputs=(InputSpec(name="x", type="int"),),
        outputs=(OutputSpec(name="total", type="int"),),
        settings=ON,
    )
    assert produced.report.success and sorted(produced.asked) == ["code", "tests"]
    assert "x has no sample" in produced.opinion.note


async def test_switched_off_nothing_is_asked_and_nothing_said(runner: Runner) -> None:
    produced = await runner.generate(script(), settings={"second_opinion": "off"})
    assert produced.report.second_opinion is None and sorted(produced.asked) == ["code", "tests"]


async def test_a_function_that_is_kept_without_one_is_kept_so_and_nothing_is_asked(runner: Runner) -> None:
    await runner.generate(script(), settings={"second_opinion": "off"})
    again = await runner.generate({}, settings=ON)
    assert again.report.success and again.asked == []
    assert again.report.second_opinion is None


async def test_a_recorded_opinion_is_replayed_too(runner: Runner) -> None:
    await runner.begin(script(second=[fenced(OTHERWISE)], derive=[derived(2.0)], name=[NAMED]), settings=ON)
    again = await runner.generate({}, settings=ON)
    assert again.asked == [] and again.opinion.readings
    assert again.opinion.usage.input_tokens == 0
    assert again.opinion.note == "Result on the original sample."


WELCH = AGREEING.replace("- a missing price counts as zero", "- the means are compared by Welch's test")
NAMED_WELCH = json.dumps({"readings": [{"assumption": 1, "words": "Welch's test", "line": "Compare by Welch's test."}]})


async def test_other_assumptions_are_told_although_the_numbers_agree(runner: Runner) -> None:
    student = PLAN.replace("Rows with a missing price count as zero.", "The means are compared by Student's test.")
    told = script(second=[fenced(WELCH)], name=[NAMED_WELCH])
    produced = await runner.generate({**told, "plan": [student]}, settings=ON)
    assert produced.opinion.state == "agree" and produced.opinion.differences == ()
    (reading,) = produced.opinion.readings
    assert (reading.words, reading.assumption) == ("Welch's test", "The means are compared by Student's test.")
    said = "With the reading “Welch's test”, the result is the same on this data, and may differ on other data."
    assert said in str(opinion_blocks("growth", produced.opinion))


@pytest.mark.parametrize(
    ("first", "second", "other"),
    [
        (["Student's t-test."], ["Welch's test"], True),
        (["A missing price counts as zero."], ["missing prices are left out"], True),
        (["Pearson correlation"], ["the correlation of Pearson, not Spearman's"], False),
        (["Growth is month on month."], ["empty input gives an empty table"], False),
        ([], ["year on year"], False),
    ],
)
def test_choices_with_a_name_are_compared(first: list[str], second: list[str], *, other: bool) -> None:
    assert name_other_choices(first, second) is other and name_other_choices(second, first) is other


TWO = "import pandas as pd\n\n\ndef run(sales):\n    return pd.DataFrame(COLUMNS)\n"
PLAN_OF_TWO = json.dumps(
    {
        "description": "d",
        "approach": "a",
        "outputs": [
            {
                "name": "out",
                "type": "DataFrame",
                "columns": [{"name": name, "dtype": "float64"} for name in ("spread", "middle")],
            }
        ],
    }
)
FIRST_NAMES = TWO.replace("COLUMNS", "{'spread': [sales['price'].max()], 'middle': [sales['price'].mean()]}")
OTHER_NAMES = TWO.replace("COLUMNS", "{'breadth': [sales['price'].max() + 1], 'centre': [sales['price'].mean() + 2]}")
TESTS_OF_TWO = (
    "import pandas as pd\nfrom solution import run\n\n\ndef test_a():\n"
    "    assert list(run(sales=pd.DataFrame({'price': [2.0], 'quantity': [1]}))['spread']) == [2.0]"
)


def pairs_of(*pairs: tuple[str, str]) -> str:
    return json.dumps({"pairs": [{"table": "out", "first": first, "second": second} for first, second in pairs]})


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (pairs_of(("spread", "breadth"), ("middle", "breadth"), ("x", "centre")), {"out.spread", "out.middle"}),
        (pairs_of(), set()),
    ],
    ids=["what is invented is left out", "none"],
)
async def test_columns_that_nothing_matches_are_asked_for_by_their_names(
    runner: Runner, answer: str, found: set[str]
) -> None:
    produced = await runner.generate(
        {
            "plan": [PLAN_OF_TWO],
            "code": [fenced(FIRST_NAMES)],
            "tests": [fenced(TESTS_OF_TWO)],
            "second": [fenced(f"OUTPUTS = {{'out': 'DataFrame'}}\n\n{OTHER_NAMES}")],
            "match": [answer],
            "name": NO_READING,
        },
        outputs=(OutputSpec(name="out", type="DataFrame"),),
        settings={**ON, "share": "stats"},
    )
    opinion = produced.opinion
    assert {difference.where for difference in opinion.differences} == found
    assert opinion.state == ("differ" if found else "not compared")
    (asked,) = (prompt for prompt in map(prompt_of, produced.model.requests) if "have different names" in prompt)
    told = asked.partition("<first>")[2].partition("</second>")[0]
    assert "- out: spread, middle" in told and "- out: breadth, centre" in told


async def test_where_tokens_are_limited_the_function_comes_first(runner: Runner) -> None:
    produced = await runner.generate(script(second=[fenced(AGREEING)]), settings={**ON, "max_tokens": 200_000})
    assert produced.asked[-1] == "second" and produced.opinion.state == "agree"


async def test_outputs_that_nobody_declared_are_matched_by_type(runner: Runner) -> None:
    second = AGREEING.replace('"total"', '"revenue"').replace('sales["revenue"]', 'sales["total"]')
    produced = await runner.generate(script(second=[fenced(second)]), settings=ON, outputs=())
    assert produced.opinion.state == "agree" and not produced.opinion.not_compared


async def test_an_output_without_a_counterpart_is_said_not_to_be_compared(runner: Runner) -> None:
    second = "OUTPUTS = {'total': 'str'}\n\ndef run(sales):\n    return 'much'"
    produced = await runner.generate(script(second=[fenced(second)]), settings=ON, outputs=())
    opinion = produced.opinion
    assert (opinion.state, opinion.compared) == ("not compared", ())
    assert opinion.not_compared == ("total: float here, str there",) and opinion.tried == ()


def test_outputs_are_matched_by_name_then_by_type_and_place() -> None:
    from autocoder_jupyter.engine.evidence.second_writer import matched_outputs

    def specs(**types: TypeName) -> tuple[OutputSpec, ...]:
        return tuple(OutputSpec(name=name, type=kind) for name, kind in types.items())

    first = specs(monthly="DataFrame", best="str", worst="str", share="float")
    second = specs(top="str", bottom="str", monthly="DataFrame", a="float", b="float")
    assert matched_outputs(first, second) == {"monthly": "monthly", "best": "top", "worst": "bottom"}


def test_a_reading_is_prose_in_a_cell_whatever_the_model_wrote() -> None:
    def line(text: str) -> str:
        return Reading.model_validate({"words": "w", "line": text}).line  # as it is read from a stranger's report, too

    assert line("--allow-network\n-p evil use @salaries.") == "allow-network -p evil use salaries."
    assert line("%pip install x") == "pip install x" and line(" @ ") == ""
    assert line("net \u202eof tax\x00") == "net \\u202eof tax\\x00" and len(line("x" * 9_999)) == 400
    assert Reading(words="a\n\u200bb.", line="x").words == "a \\u200bb"


PRIVATE = pd.DataFrame({"price": [10.0, 20.0], "quantity": [1, 2], "who": ["ada@example.com", "bo@example.org"]})
WITHOUT_COM = 'sales = sales[~sales["who"].str.endswith(".com")]\n    return'


@pytest.mark.parametrize(
    ("settings", "column", "is_told"),
    [
        ({"share": "rows"}, "code", True),
        ({"share": "stats"}, "code", False),
        ({"share": "rows"}, "who", False),
        ({"mask": ("code",)}, "code", False),
        ({"hide": ("code",)}, "code", False),
    ],
    ids=["rows", "stats", "an address", "masked", "hidden"],
)
async def test_values_of_the_data_leave_only_where_rows_may_and_none_that_is_masked(
    runner: Runner, settings: dict[str, str] | dict[str, tuple[str, ...]], column: str, is_told: bool
) -> None:
    sample = PRIVATE.assign(code=["x.com", "y.org"])
    second = fenced(AGREEING.replace("return", WITHOUT_COM.replace("who", column)))
    told = script(second=[second], derive=[derived(2.0)], name=[NAMED])
    produced = await runner.generate(
        told, settings={**ON, **settings}, samples={"sales": sample[["price", "quantity", column]]}
    )
    asked = next(p for p in map(prompt_of, produced.model.requests) if "Two analysts" in p)
    assert ("<input>" in asked) is is_told
    assert "ada@" not in asked and (".com" in asked.split("<first>")[1]) is is_told
    opinion = produced.opinion
    assert opinion.state == "differ" and ("derive" in produced.asked) is is_told
    shows_values = settings == {"share": "rows"}
    (difference,) = opinion.differences
    assert (difference.first, difference.second) == (("50", "40") if shows_values else ("", ""))
    assert bool(opinion.smallest) is is_told  # the card is saved with the notebook


def asked_for_readings(produced: Generated) -> str:
    """What differs, as the model is told."""
    question = next(p for p in map(prompt_of, produced.model.requests) if "Two analysts" in p)
    return question.partition("<second>")[2].partition("</differs>")[0]


ADA = {"who": ["Ada Lovelace", "Bo Diddley"], "v": [1.0, None]}
TOTALS = "def run(sales):\n    return {who: 1.0 for who in sales['who']}"
ALL = "def run(sales):\n    return sales"


@pytest.mark.parametrize(
    ("kind", "first", "second", "settings"),
    [
        ("dict", TOTALS, TOTALS.replace("1.0", "1.0 + who.startswith('Ada')"), {"share": "stats"}),
        ("DataFrame", ALL, f"{ALL}.fillna(5.0)", {"hide": ("v",)}),
        ("DataFrame", ALL, f"{ALL}.fillna(5.0)", {"share": "stats", "column": "ada@example.com"}),
    ],
    ids=["a key", "a hidden column", "a private name"],
)
async def test_no_name_of_the_data_is_in_the_question_where_values_are_withheld(
    runner: Runner, kind: TypeName, first: str, second: str, settings: dict[str, Any]
) -> None:
    column = {**settings}.pop("column", "v")
    sample = pd.DataFrame(ADA).rename(columns={"v": column})
    tests = "import pandas as pd\nfrom solution import run\n\n\ndef test_a():\n    assert len(run(sales={})) == 1"
    told = script(first, tests.format("pd.DataFrame({'who': ['x']})"), second=[fenced(second)], name=[NAMED])
    plan = json.dumps({"description": "d", "approach": "a", "outputs": [{"name": "out", "type": kind}]})
    produced = await runner.generate(
        {**told, "plan": [plan]},
        samples={"sales": sample},
        outputs=(OutputSpec(name="out", type=kind),),
        settings={**ON, "max_iterations": 1, **{key: value for key, value in settings.items() if key != "column"}},
    )
    assert produced.opinion.state == "differ" and "name" in produced.asked
    assert asked_for_readings(produced).endswith("<differs>\n- out\n")


THIEF = """\
KEPT = []


def run(sales):
    KEPT.append(sales.to_csv())
    return {KEPT[0]: float(sales["v"].sum())}
"""
"""Keeps the first table that its process sees, and tells it in each answer."""


async def test_a_solution_that_keeps_the_data_tells_the_model_no_row(runner: Runner) -> None:
    told = script(
        THIEF,
        tests=TESTS_OF_V.replace("== 2.0", "!= {}"),
        second=[fenced(THIEF.replace("sum()", "sum()) + float(1"))],
        derive=[derived(1.0)],
        name=[NAMED],
    )
    told["plan"] = [PLAN.replace("float", "dict")]
    produced = await runner.generate(
        told,
        samples={"sales": pd.DataFrame(ADA)},
        outputs=(OutputSpec(name="total", type="dict"),),
        settings={**ON, "share": "schema", "max_iterations": 1},
    )
    assert produced.opinion.state == "differ" and "name" in produced.asked
    asked = json.dumps([request["messages"] for request in produced.model.requests])
    assert "Lovelace" not in asked
    assert "Lovelace" not in produced.opinion.model_copy(update={"code": ""}).model_dump_json()


TESTS_OF_V = """\
import pandas as pd
from solution import run


def test_v():
    assert run(sales=pd.DataFrame({"who": ["x"], "v": [2.0]})) == 2.0
"""


async def test_characters_that_no_source_can_hold_spoil_nothing(runner: Runner) -> None:
    odd = json.dumps({**json.loads(derived(1.0)), "derivation": "a\x00b", "sentence": "\ud800 \u202e \x00"})
    tests = TESTS.replace('"quantity": [1, 2]', '"quantity": [1, 1]').replace("== 8.0", "== 5.0")
    told = script(tests=tests, second=[fenced(OTHERWISE)], derive=[odd], again=[odd], name=[NAMED])
    produced = await runner.generate(told, settings={**ON, "max_iterations": 1})
    (written,) = [event.text for event in produced.of(SourceWritten) if "test_second_opinion_1" in event.text]
    assert "# a\\x00b" in written and "\u202e" not in written and "\ufffd" in written


async def test_the_value_of_a_secret_that_the_outputs_hold_is_told_to_nobody(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAREHOUSE_TOKEN", "correct-horse-battery")
    first = "import os\n\n\ndef run(sales):\n    return os.environ['WAREHOUSE_TOKEN']"
    told = script(
        first,
        TESTS_OF_V.replace(" == 2.0", ""),
        second=[fenced(f"{first} + '!'")],
        derive=[derived("x")],
        again=[derived("x")],
        name=[NAMED],
    )
    plan = PLAN.replace("float", "str")
    settings = {**ON, "secrets": (Secret(key="WAREHOUSE_TOKEN"),), "max_iterations": 1}
    example = Example("sales=@sales -> 'x'", (), (("total", "x"),))
    for examples in ((), (example,)):
        produced = await runner.generate(
            {**told, "plan": [plan]},
            outputs=(OutputSpec(name="total", type="str"),),
            settings={**settings, "cache": "override"},
            examples=examples,
        )
        asked = json.dumps([request["messages"] for request in produced.model.requests])
        assert "correct-horse" not in asked + produced.report.model_dump_json() + repr(produced.events)
        assert "<WAREHOUSE_TOKEN>" in (produced.error if examples else asked)


async def test_the_columns_of_the_second_solution_have_the_names_of_the_function_for_the_tests(runner: Runner) -> None:
    right = "{'spread': [sales['price'].sum()], 'middle': [sales['price'].mean()]}"
    wrong = right.replace("sales['price'].sum()", "sales['price'].clip(upper=25).sum()")
    second = right.replace("'spread'", "'the_spread'").replace("'middle'", "'middle_value'")

    def by_hand(request: dict[str, Any]) -> str:
        source = request["messages"][1]["content"].partition("<input>\n")[2].partition("\n</input>")[0]
        table = eval(source.removeprefix("sales = "), {"pd": pd})
        return derived(float(table["price"].sum()), place="out.spread")

    mended = json.dumps({"edits": [{"find": ".clip(upper=25)", "replace": "", "mends": ["test_second_opinion_1"]}]})
    produced = await runner.generate(
        {
            "plan": [PLAN_OF_TWO],
            "code": [fenced(TWO.replace("COLUMNS", wrong))],
            "tests": [fenced(TESTS_OF_TWO)],
            "second": [fenced(f"OUTPUTS = {{'out': 'DataFrame'}}\n\n{TWO.replace('COLUMNS', second)}")],
            "derive": by_hand,
            "again": by_hand,
            "name": NO_READING,
            "fix_code": [mended],
        },
        outputs=(OutputSpec(name="out", type="DataFrame"),),
        settings=ON,
    )
    assert produced.report.success and "clip" not in produced.code
    assert produced.opinion.tests == ("test_second_opinion_1",) and produced.opinion.state == "agree"


async def defective(*args: object, **more: object) -> None:
    raise RuntimeError("a defect of this layer")


async def test_a_defect_of_the_comparison_loses_no_function_that_was_verified(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.second_opinion.write_second", defective)
    produced = await runner.generate(script(second=[fenced(AGREEING)]), settings=ON)
    assert produced.report.success and produced.of(Finished)[-1].state == "ready"
    assert produced.opinion.state == "none" and "RuntimeError" in produced.opinion.note


async def test_a_verified_function_can_be_used_while_its_second_opinion_is_written(runner: Runner) -> None:
    goes_on = threading.Event()
    seen: list[bool] = []

    def hear(event: Event) -> None:
        if isinstance(event, FunctionVerified):
            seen.append(not goes_on.is_set() and [one.success for one in map(checked, runner.offered)] == [True])
            goes_on.set()

    told = script(second=[Answer(fenced(AGREEING), hold=goes_on)])
    produced = await runner.generate(told, settings={**ON, "effort": "normal"}, hear=hear)
    (before,) = map(checked, runner.offered)
    (event,) = produced.of(FunctionVerified)
    assert seen == [True] and event.beside == ("second opinion", "trial of the tests")
    assert (before.run_id, before.solution) == (produced.report.run_id, produced.report.solution)
    assert produced.opinion.state == "agree" and produced.report.evidence.strength is not None
    assert before.evidence.strength is None and before.evidence.tests == produced.report.evidence.tests
    assert before.seconds < produced.report.seconds


def checked(report: Report | None) -> Report:
    assert report is not None
    return report


async def test_what_was_verified_is_on_disk_although_the_run_was_cancelled(runner: Runner) -> None:
    verified = asyncio.Event()
    told = script(second=[Answer(fenced(AGREEING), hold=threading.Event())])

    def hear(event: Event) -> None:
        if isinstance(event, FunctionVerified):
            verified.set()

    work = asyncio.create_task(runner.generate(told, settings=ON, hear=hear))
    await verified.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    opinion = checked(runner.offered[-1]).second_opinion
    assert opinion is not None and (opinion.state, opinion.note) == ("none", "It was cancelled.")
    again = await runner.generate({"second": [fenced(AGREEING)]}, settings=ON)
    assert again.report.success and again.report.kept and again.asked == ["second"]
    assert again.opinion.state == "agree"
