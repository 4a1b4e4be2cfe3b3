"""`--ask`: up to three questions before any code. Answers become lines of the request, and are asked for once."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Sequence

import pytest

from autocoder_jupyter.engine.plan import PlannedQuestion
from autocoder_jupyter.engine.planning import LONGEST_QUESTION, preview, questions_of
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.events import QuestionsAnswered, QuestionsAsked, SourceWritten
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced, sales
from tests.scripted_model import Script, prompt_of

QUESTIONS = [
    {"text": "Which price counts?", "options": ["gross", "net"], "assumed": "gross"},
    {"text": "What becomes of gaps?", "options": ["zero", "left out"], "assumed": "zero"},
]
ASKING = json.dumps({**json.loads(PLAN), "questions": QUESTIONS})
SECOND = json.dumps({**json.loads(PLAN), "assumptions": ["Net prices count."]})


def run_script(runner: Runner, plans: Sequence[str] = (ASKING, SECOND), ask: bool = True) -> Awaitable[Generated]:
    answers: dict[str, Script] = {"plan": list(plans), "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
    return runner.generate(answers, settings={"ask": ask})


@pytest.mark.local_sandbox
async def test_answers_become_lines_of_the_request_and_are_not_asked_for_twice(runner: Runner) -> None:
    runner.answers = ("net", "")
    produced = await run_script(runner)
    assert produced.report.success and produced.report.answers == ("Which price counts? net",)
    assert [question.assumed for question in runner.questions[0]] == ["gross", "zero"]
    assert produced.plan.assumptions == ("Net prices count.",)
    first, *later = map(prompt_of, produced.model.requests)
    assert "up to three questions" in first and "<answers>" not in first
    assert all("<answers>" in prompt and "- Which price counts? net" in prompt for prompt in later)
    kinds = [type(event) for event in produced.events]
    assert kinds.index(QuestionsAsked) < kinds.index(QuestionsAnswered) < kinds.index(SourceWritten)
    again = await run_script(runner)
    assert again.asked == [] and len(runner.questions) == 1
    assert again.report.answers == produced.report.answers


@pytest.mark.local_sandbox
@pytest.mark.parametrize(("answer", "is_followed"), [("the data", True), ("the request", False), ("", True)])
async def test_what_the_request_says_and_the_data_contradict_is_a_question_of_its_own(
    runner: Runner, answer: str, is_followed: bool
) -> None:
    runner.answers = (answer, "", "")
    answers: dict[str, Script] = {"plan": [ASKING, SECOND], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
    frame = sales().assign(day=["03.04.2024", "13.05.2024", "21.02.2023"])
    wanted = "Total revenue of @sales; day is written as YYYY-MM-DD."
    produced = await runner.generate(answers, prompt=wanted, samples={"sales": frame}, settings={"ask": True})
    said = "The request says YYYY-MM-DD, but the dates in sales.day have the format %d.%m.%Y"
    (asked,) = runner.questions
    assert asked[0].text == f"{said}. Which holds?" and asked[0].options == ("the data", "the request")
    assert asked[1].text == "Which price counts?" and asked[0].assumed == "the data"
    assert (f"{said}: the data are followed." in produced.plan.assumptions) is is_followed
    assert produced.asked.count("code") == (1 if is_followed else 2)


@pytest.mark.local_sandbox
@pytest.mark.parametrize("answers", [None, ("", ""), ("gross", "zero")])
async def test_who_is_not_there_or_agrees_waits_for_no_second_plan(
    runner: Runner, answers: tuple[str, ...] | None
) -> None:
    runner.answers = answers
    produced = await run_script(runner, [ASKING])
    assert produced.report.success and produced.asked.count("code") == 1
    assert len(produced.report.answers) == (2 if answers == ("gross", "zero") else 0)


@pytest.mark.local_sandbox
async def test_nothing_is_asked_unless_it_was_wanted(runner: Runner) -> None:
    produced = await run_script(runner, [ASKING], ask=False)
    assert produced.report.success and runner.questions == []
    assert "questions" not in prompt_of(produced.model.requests[0])


def test_questions_fit_a_card_and_have_something_to_choose() -> None:
    asked = [
        PlannedQuestion(text="One?", options=["a"]),
        PlannedQuestion(text="  ", options=["a", "b"]),
        PlannedQuestion(text="Two\n?", options=["a", " a ", "b", "c", "d", "e"], assumed="z"),
        *(PlannedQuestion(text="x" * 999, options=["a", "b"]) for _ in range(9)),
    ]
    found = questions_of(asked)
    assert len(found) == 3 and found[0].text == "Two ?" and found[0].options == ("a", "b", "c", "d")
    assert found[0].assumed == "" and len(found[1].text) == LONGEST_QUESTION


def test_a_dry_run_shows_the_question_that_lets_the_model_ask_the_person() -> None:
    request = Request(name="growth", prompt="Total revenue.")
    shown = preview(request, AgentConfig(ask=True))
    assert "up to three questions" in shown and "\nQuestions:\n" in shown
    assert "up to three questions" not in preview(request, AgentConfig())
