"""From the request to the brief: the plan, questions to the user, and which tests of an earlier version stay.

`preview` shows what would be sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from autocoder_jupyter.engine.conversation import Messages
from autocoder_jupyter.engine.generation import GenerationSetup
from autocoder_jupyter.engine.plan import PlanAnswer, make_plan, plan_messages, reading
from autocoder_jupyter.engine.prepare import environment_text, prepare, with_environment
from autocoder_jupyter.engine.prompt import Brief, extended
from autocoder_jupyter.engine.tests import read_suite, sort_tests, unreachable
from autocoder_jupyter.models.answers import with_schema
from autocoder_jupyter.models.protocol import answer_form
from autocoder_jupyter.models.questions import response_format
from autocoder_jupyter.request import AgentConfig, Earlier, Request
from autocoder_jupyter.run.events import QuestionsAnswered, QuestionsAsked
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import InputSpec, PlanQuestion, TestChoice
from autocoder_jupyter.versions.request_fields import content_key
from autocoder_jupyter.view.amounts import amount

# Questions to the user (`--ask`)
#
# Up to three, before code is written; the answers become lines of the request. The plan already assumes an answer to
# each, so no second plan is needed if the user agrees or is absent. Answers are kept in the journal: the same questions
# are not asked twice. A contradiction between the request and the data is a question too, before the others.

MOST_QUESTIONS = 3
MOST_OPTIONS = 4
LONGEST = 300
"""Characters of a question, an option or an answer."""

_STEP = "answers"

_DATA, _REQUEST = "the data", "the request"
"""The answers to a question about a contradiction between the two."""

_ASKING = """\
The person can be asked before anything is written. Beside the plan, put up to three questions: only where the request
leaves open what changes the numbers that come out, the most important first, and none where it decides. Each has two
to four short options that a data scientist can choose from at a glance, and `assumed` is the option that your plan
takes meanwhile, letter for letter. What you ask about stands among the assumptions too."""


class _Question(BaseModel):
    text: str
    options: list[str] = Field(default_factory=list)
    assumed: str = ""


class _AskingPlan(PlanAnswer):
    """The plan of one function, and what to ask the person about it."""

    questions: list[_Question] = Field(default_factory=list)


async def ask_for_brief(setup: GenerationSetup, context: str) -> Brief:
    """Ask for the plan. If the user may be asked, the answers become part of the brief's request.

    If the request contradicts the data, the plan has an assumption that the data are followed, unless the user decided
    otherwise.
    """
    brief = await _asked_brief(setup, context)
    refused = {answer.removesuffix(f" {_REQUEST}") for answer in brief.request.answers if answer.endswith(_REQUEST)}
    conflicts = (one for one in setup.prepared.context.conflicts if _about_conflict(one).text not in refused)
    unfit = tuple(f"{conflict}: the data are followed." for conflict in conflicts)
    new = tuple(line for line in unfit if line not in brief.plan.assumptions)
    if not new:
        return brief
    return replace(brief, plan=brief.plan.model_copy(update={"assumptions": (*new, *brief.plan.assumptions)}))


async def _asked_brief(setup: GenerationSetup, context: str) -> Brief:
    request, inputs = setup.request, setup.prepared.inputs
    if not setup.config.ask:
        return await _planned_brief(setup, request, context)
    read = reading(request, inputs)
    messages, answer_type = first_question(request, inputs, context, asks=True)
    answer = await setup.conversation.structured("plan", messages, answer_type, require=read)
    own = map(_about_conflict, setup.prepared.context.conflicts)
    questions = (*own, *questions_of(getattr(answer, "questions", ())))[:MOST_QUESTIONS]
    answers = await _answers(setup, questions) if questions else ()
    given = [(question, answer) for question, answer in zip(questions, answers, strict=False) if answer]
    if not given:
        return Brief(request, read(answer), context)
    lines = tuple(f"{question.text} {answer}" for question, answer in given)
    answered = replace(request, answers=(*request.answers, *lines))
    setup.emit(QuestionsAnswered(lines))
    agreed = all(answer == question.assumed for question, answer in given)
    return Brief(answered, read(answer), context) if agreed else await _planned_brief(setup, answered, context)


def _about_conflict(conflict: str) -> PlanQuestion:
    """The question about a contradiction between the request and the data."""
    return PlanQuestion(text=_short(f"{conflict}. Which holds?"), options=(_DATA, _REQUEST), assumed=_DATA)


async def _planned_brief(setup: GenerationSetup, request: Request, context: str) -> Brief:
    return Brief(request, await make_plan(setup.conversation, request, setup.prepared.inputs, context), context)


def first_question(
    request: Request, inputs: tuple[InputSpec, ...], data_context: str, *, asks: bool
) -> tuple[Messages, type[PlanAnswer]]:
    """The first question to the model, and the type of its answer. A preview shows the same."""
    messages = plan_messages(request, inputs, data_context)
    return (extended(messages, _ASKING), _AskingPlan) if asks else (messages, PlanAnswer)


def questions_of(asked: Sequence[_Question]) -> tuple[PlanQuestion, ...]:
    """The questions as they are shown: cut to fit a card, without those that have fewer than two options."""
    found = []
    for question in asked:
        options = tuple(dict.fromkeys(short for option in question.options if (short := _short(option))))[:MOST_OPTIONS]
        if _short(question.text) and len(options) > 1:
            assumed = _short(question.assumed)
            found.append(
                PlanQuestion(text=_short(question.text), options=options, assumed=assumed if assumed in options else "")
            )
    return tuple(found[:MOST_QUESTIONS])


def _short(text: object) -> str:
    return " ".join(str(text).split())[:LONGEST]


async def _answers(setup: GenerationSetup, questions: tuple[PlanQuestion, ...]) -> tuple[str, ...]:
    """The recorded answers, or those that the user gives now; () if there is no user to ask."""
    journal = setup.services.journal
    key = content_key(setup.request.prompt, setup.request.wishes, [question.model_dump() for question in questions])
    recorded = journal.find_step(_STEP, key) if setup.config.cache == "auto" else None
    answers_before = recorded.get("said") if recorded else None
    if isinstance(answers_before, list) and len(answers_before) == len(questions):
        return tuple(map(_short, answers_before))
    setup.emit(QuestionsAsked(questions))
    now = await setup.services.ask(questions)
    if now is None:
        setup.emit(QuestionsAnswered(()))
        return ()
    answers = tuple(map(_short, now))
    if setup.config.cache != "disable":
        journal.add_step(_STEP, key, {"said": list(answers)})
    return answers


# Planning


@dataclass(frozen=True)
class Planned:
    """The outcome of planning.

    Args:
        brief: the request, the plan and the data context.
        choices: for each test of the earlier version whether it is kept or dropped; empty if there is no such version.
    """

    brief: Brief
    choices: tuple[TestChoice, ...] = ()


async def make_brief(setup: GenerationSetup, context: str) -> Planned:
    """Ask for the plan and, at the same time, which earlier tests stay, so that neither answer sees the other."""
    earlier = setup.request.earlier
    if earlier is None:
        return Planned(await ask_for_brief(setup, context))
    async with asyncio.TaskGroup() as group:
        sorting = group.create_task(_sorted(setup, context, earlier))
        brief = await ask_for_brief(setup, context)
    return Planned(brief, unreachable(sorting.result(), earlier.plan.inputs, brief.plan.inputs))


async def _sorted(setup: GenerationSetup, context: str, earlier: Earlier) -> tuple[TestChoice, ...]:
    if setup.config.skip_tests or not earlier.tests:
        return ()
    return await sort_tests(setup.conversation, Brief(setup.request, earlier.plan, context), read_suite(earlier.tests))


# Preview


def preview(request: Request, config: AgentConfig) -> str:
    """The first question to the model: each message exactly as sent, the schema of the answer, and what was masked.

    Every later question begins with the same request and data. It adds only what the model itself wrote and the
    results of running that.
    """
    prepared = prepare(request, config)
    context = with_environment(prepared.context.text, environment_text(config, prepared.pinned))
    messages, answer = first_question_as_sent(prepared.request, prepared.inputs, context, asks=config.ask)
    masked = ", ".join(f"{count} {kind}" for kind, count in sorted(prepared.context.masked.items())) or "nothing"
    size = _size(messages)
    head = (
        f"To {config.model}: {size:,} characters, ~{size // 4:,} tokens; share: {config.share}; masked: {masked}.\n"
        "Every later question repeats the request and the data below and adds only what the model wrote and how it ran."
        f"\n{effort_summary(config, messages)}"
    )
    head = "\n".join([head, *prepared.left_out])
    schema = json.dumps(response_format("json_schema", answer_form(answer)), ensure_ascii=False)
    parts = [(message["role"], message["content"]) for message in messages]
    parts.append(("response_format, where the model takes one", schema))
    return "\n\n".join([head, *(f"───── {title} ─────\n{content}" for title, content in parts)])


def first_question_as_sent(
    request: Request, inputs: tuple[InputSpec, ...], data_context: str, *, asks: bool
) -> tuple[Messages, type[PlanAnswer]]:
    """See `first_question`; with the schema of the answer in it, as it is sent."""
    question, answer = first_question(request, inputs, data_context, asks=asks)
    return with_schema(question, answer), answer


def effort_summary(config: AgentConfig, first: Messages) -> str:
    """How many questions, tokens and seconds the effort takes, in one sentence; `first` is the first question."""
    effort, size = EFFORTS[config.effort], _size(first)
    own = effort.questions - effort.has_second_opinion + config.wants_second_opinion - config.skip_tests
    more = ", one more if the tests are weak" if effort.is_examined and not config.skip_tests else ""
    takes = f", and up to {effort.seconds:g} s of checks" if effort.is_examined else ""
    return (
        f"Effort {config.effort}: {own} questions to the model if the first attempt passes{more}, "
        f"~{amount(own * size // 4)} tokens and the answers{takes}."
    )


def _size(messages: Messages) -> int:
    return sum(len(message["content"]) for message in messages)
