"""From the request to the brief: the plan, questions to the user, and which tests of an earlier version stay.

`preview` shows what would be sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.data.rendering import neutral
from autocoder_jupyter.data.withheld import WithheldColumns, shareable_tables
from autocoder_jupyter.engine.conversation import Messages
from autocoder_jupyter.engine.first_answer import FirstAnswer, first_messages
from autocoder_jupyter.engine.generation import GenerationSetup
from autocoder_jupyter.engine.plan import PlannedQuestion, reading
from autocoder_jupyter.engine.prepare import Prepared, environment_text, prepare, with_environment
from autocoder_jupyter.engine.probes import (
    BUILTINS,
    LONGEST,
    MOST_PROBES,
    MOST_ROWS,
    REPLY,
    ROUNDS,
    SECONDS,
    DescribedValue,
    NotAProbe,
    cut,
    offer_text,
    probed_names,
    reply_of,
    shown,
    tables_used,
    texts_in,
)
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.prompt import Brief
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.engine.tests import read_suite, sort_tests, unreachable
from autocoder_jupyter.errors import AutocodeError, OutOfMemory, SandboxTimeout, UnsupportedData, was_killed
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.request import AgentConfig, Earlier, Request
from autocoder_jupyter.run.events import QuestionsAnswered, QuestionsAsked, TextStreamed
from autocoder_jupyter.sandbox.protocol import CallSpec, Program
from autocoder_jupyter.settings.choices import EFFORTS, ENGINES
from autocoder_jupyter.types import InputSpec, PlanQuestion, TestChoice, type_name
from autocoder_jupyter.versions.request_fields import content_key
from autocoder_jupyter.view.amounts import amount, counted

# Questions to the user (`--ask`)
#
# Up to three, before code is used; the answers become lines of the request. The plan already assumes an answer to each,
# so nothing is asked again if the user agrees or is absent. Answers are kept in the journal: the same questions are not
# asked twice. A contradiction between the request and the data is a question too, before the others.

MOST_QUESTIONS = 3
MOST_OPTIONS = 4
LONGEST_QUESTION = 300
"""Characters of a question, an option or an answer."""

_STEP = "answers"

_DATA, _REQUEST = "the data", "the request"
"""The answers to a question about a contradiction between the two."""


async def ask_for_brief(setup: GenerationSetup, context: str, asked: Asked) -> Brief:
    """Ask for plan and code; the plan is complete first. If the user may be asked, the answers become part of the
    brief's request.

    If the request contradicts the data, the plan has an assumption that the data are followed, unless the user decided
    otherwise.
    """
    brief = await _asked_brief(setup, context, asked)
    refused = {answer.removesuffix(f" {_REQUEST}") for answer in brief.request.answers if answer.endswith(_REQUEST)}
    conflicts = (one for one in setup.prepared.context.conflicts if _about_conflict(one).text not in refused)
    unfit = tuple(f"{conflict}: the data are followed." for conflict in conflicts)
    new = tuple(line for line in unfit if line not in brief.plan.assumptions)
    if not new:
        return brief
    return replace(brief, plan=brief.plan.model_copy(update={"assumptions": (*new, *brief.plan.assumptions)}))


async def _asked_brief(setup: GenerationSetup, context: str, asked: Asked) -> Brief:
    request = setup.request
    head = await asked.anew(setup, request, context, asks=setup.config.ask).head()
    if not setup.config.ask:
        return Brief(request, head.plan, context)
    own = map(_about_conflict, setup.prepared.context.conflicts)
    questions = (*own, *questions_of(head.answer.questions))[:MOST_QUESTIONS]
    answers = await _answers(setup, questions) if questions else ()
    given = [(question, answer) for question, answer in zip(questions, answers, strict=False) if answer]
    if not given:
        return Brief(request, head.plan, context)
    lines = tuple(f"{question.text} {answer}" for question, answer in given)
    answered = replace(request, answers=(*request.answers, *lines))
    setup.emit(QuestionsAnswered(lines))
    if any(answer != question.assumed for question, answer in given):
        head = await asked.anew(setup, answered, context, asks=False).head()
    return Brief(answered, head.plan, context)


def _about_conflict(conflict: str) -> PlanQuestion:
    """The question about a contradiction between the request and the data."""
    return PlanQuestion(text=_short(f"{conflict}. Which holds?"), options=(_DATA, _REQUEST), assumed=_DATA)


def questions_of(asked: Sequence[PlannedQuestion]) -> tuple[PlanQuestion, ...]:
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
    return " ".join(str(text).split())[:LONGEST_QUESTION]


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


# Probes of the first answer
#
# A model wrote what runs here. So it runs in the sandbox only, without network and secrets, on tables that have nothing
# that the description of the data withholds; what comes back is bounded, not believed, and masked.

_PROBE_STEP = "probe"
_UNREADABLE = "its result cannot be shown"


class DataProbes:
    """Evaluates the probes of one generation.

    Args:
        names: the tables that may be probed.
        ready: waits for the environment.
    """

    def __init__(self, setup: GenerationSetup, names: Sequence[str], ready: Callable[[], Awaitable[None]]) -> None:
        self._setup = setup
        self._names = names
        self._ready = ready
        self._masker = setup.prepared.context.masker
        self._withheld = WithheldColumns.of(setup.config.hide, setup.config.mask)
        self._tables: Mapping[str, Any] = {}

    async def look(self, lines: Sequence[str], is_last: bool) -> Messages:
        """The further messages of the conversation: the probes, and what they give."""
        probes = lines[:MOST_PROBES]
        results = []
        for number, line in enumerate(probes, start=1):
            expression, result = cut(neutral(line)), await self._result(line)
            results.append(f'<data name="probe {number}">\n>>> {expression}\n{result}\n</data>')
        if len(lines) > len(probes):
            results.append(f"Only the first {MOST_PROBES} were evaluated.")
        self._setup.emit(TextStreamed("plan", "\n" + "\n".join(results) + "\n"))
        asked = "\n".join(["```probe", *map(cut, probes), "```"])
        next_step = prompt("first_answer.no more probes") if is_last else prompt("first_answer.results of probes")
        told = "\n\n".join([*results, next_step])
        return ({"role": "assistant", "content": asked}, {"role": "user", "content": told})

    async def _result(self, line: str) -> str:
        """What a probe gives, as it is recorded or found out now."""
        journal, cache = self._setup.services.journal, self._setup.config.cache
        withheld = [sorted(self._withheld.hidden), sorted(self._withheld.masked)] if self._withheld else []
        key = content_key(self._setup.prepared.context.text, MOST_ROWS, line, *withheld)
        recorded = (journal.find_step(_PROBE_STEP, key) or {}).get("told") if cache == "auto" else None
        if isinstance(recorded, str):
            told = cut("\n".join(map(neutral, recorded.splitlines())))
        else:
            told = await self._evaluated(line)
            if cache != "disable":
                journal.add_step(_PROBE_STEP, key, {"told": told})
        journal.add_probe(line, told)
        return told

    async def _evaluated(self, line: str) -> str:
        try:
            tables = await self._tables_of(tables_used(line, self._names))
            reply = reply_of(await self._run(line, tables))
            if (error := reply.get("error")) is not None:
                (text,) = texts_in([error], 1)
                return f"It failed: {shown(text, self._masker, LONGEST)}"
            return DescribedValue.read(reply.get("value")).written(self._masker)
        except NotAProbe as error:
            return f"It was not evaluated: {shown(str(error), self._masker, LONGEST)}."
        except SandboxTimeout:
            return f"It failed: it took more than {SECONDS:g} s."
        except OutOfMemory:
            return "It failed: it needs too much memory."
        except (*PROGRAM_FAILURES, UnsupportedData, ValueError) as error:
            if isinstance(error, AutocodeError) and was_killed(error):
                raise
            return f"It failed: {_UNREADABLE}."

    async def _tables_of(self, names: frozenset[str]) -> dict[str, Any]:
        if not self._tables:
            samples = {name: self._setup.request.samples[name] for name in self._names}
            self._tables = await call_blocking(lambda: shareable_tables(samples, self._withheld, self._masker))
        return {name: table for name, table in self._tables.items() if name in names}

    async def _run(self, line: str, tables: Mapping[str, Any]) -> Any:
        await self._ready()
        code = program_text("look", EXPRESSION=line.strip(), ROWS=MOST_ROWS, BUILTINS=list(BUILTINS))
        inputs = tuple(InputSpec(name=name, type=type_name(type(table))) for name, table in tables.items())
        program, spec = (
            Program(code, inputs, (REPLY,)),
            CallSpec(seed=0, seconds=SECONDS, processor_seconds=SECONDS),
        )
        outcome = await self._setup.session.work(lambda worker: worker.call(program, tables, spec), is_offline=True)
        return outcome.values[REPLY.name]


# Planning


class Asked:
    """The first answer of a generation: the newest, if the user's answers made another one necessary.

    Args:
        plan_only: whether somebody else writes the code.
        ready: waits for the environment in which probes are evaluated.
    """

    def __init__(self, *, plan_only: bool, ready: Callable[[], Awaitable[None]]) -> None:
        self._plan_only = plan_only
        self._ready = ready
        self.answer: FirstAnswer | None = None

    def anew(self, setup: GenerationSetup, request: Request, context: str, *, asks: bool) -> FirstAnswer:
        """Ask for an answer in place of the one before, which is ended."""
        self.stop()
        inputs, names = setup.prepared.inputs, probed_names(request.samples, setup.config)
        messages = first_messages(
            request,
            inputs,
            context,
            asks=asks,
            plan_only=self._plan_only,
            system_prompt=setup.config.system_prompt or "",
            probes=offer_text(names),
        )
        read, look = reading(request, inputs), DataProbes(setup, names, self._ready).look if names else None
        self.answer = FirstAnswer(setup.conversation, messages, read, plan_only=self._plan_only, look=look)
        return self.answer

    def stop(self) -> None:
        """End the answer, if it still arrives."""
        if self.answer is not None:
            self.answer.stop()


@dataclass(frozen=True)
class Planned:
    """The outcome of planning.

    Args:
        brief: the request, the plan and the data context.
        choices: for each test of the earlier version whether it is kept or dropped; empty if there is no such version.
        answer: the answer that has the code too; None if there is none.
    """

    brief: Brief
    choices: tuple[TestChoice, ...] = ()
    answer: FirstAnswer | None = None


async def make_brief(setup: GenerationSetup, context: str, asked: Asked) -> Planned:
    """Ask for the plan and, at the same time, which earlier tests stay, so that neither answer sees the other."""
    earlier = setup.request.earlier
    if earlier is None:
        return Planned(await ask_for_brief(setup, context, asked), answer=asked.answer)
    async with asyncio.TaskGroup() as group:
        sorting = group.create_task(_sorted(setup, context, earlier))
        brief = await ask_for_brief(setup, context, asked)
    choices = unreachable(sorting.result(), earlier.plan.inputs, brief.plan.inputs)
    return Planned(brief, choices, asked.answer)


async def _sorted(setup: GenerationSetup, context: str, earlier: Earlier) -> tuple[TestChoice, ...]:
    if setup.config.skip_tests or not earlier.tests:
        return ()
    return await sort_tests(setup.conversation, Brief(setup.request, earlier.plan, context), read_suite(earlier.tests))


# Preview


_PROBED = (
    f"If the model looks at the data first, what up to {ROUNDS * MOST_PROBES} of its expressions give is sent too, "
    "without what is hidden or masked."
)


def preview(request: Request, config: AgentConfig) -> str:
    """The first question to the model: each message exactly as sent, and what was masked.

    Every later question begins with the same request and data. It adds only what the model itself wrote and the
    results of running that.
    """
    prepared = prepare(request, config)
    context = with_environment(prepared.context.text, environment_text(config, prepared.pinned))
    messages = first_question(prepared, config, context)
    may_probe = probed_names(prepared.request.samples, config)
    probed = f" {_PROBED}" if may_probe else ""
    masked = ", ".join(f"{count} {kind}" for kind, count in sorted(prepared.context.masked.items())) or "nothing"
    size = _size(messages)
    head = (
        f"To {config.model}: {size:,} characters, ~{size // 4:,} tokens; share: {config.share}; masked: {masked}.\n"
        "Every later question repeats the request and the data below and adds only what the model wrote and how it ran."
        f"{probed}\n{effort_summary(config, messages, may_probe=bool(may_probe))}"
    )
    head = "\n".join([head, *prepared.left_out])
    parts = [(message["role"], message["content"]) for message in messages]
    return "\n\n".join([head, *(f"───── {title} ─────\n{content}" for title, content in parts)])


def first_question(prepared: Prepared, config: AgentConfig, data_context: str) -> Messages:
    """See `first_messages`."""
    return first_messages(
        prepared.request,
        prepared.inputs,
        data_context,
        asks=config.ask,
        plan_only=ENGINES[config.backend].plans_only,
        system_prompt=config.system_prompt or "",
        probes=offer_text(probed_names(prepared.request.samples, config)),
    )


def effort_summary(config: AgentConfig, first: Messages, *, may_probe: bool) -> str:
    """How many questions, tokens and seconds the effort takes, in one sentence; `first` is the first question."""
    effort, size = EFFORTS[config.effort], _size(first)
    own = effort.questions - effort.has_second_opinion + config.wants_second_opinion - config.skip_tests
    more = f", up to {ROUNDS} more if it looks at the data first" if may_probe else ""
    more += ", one more if the tests are weak" if effort.is_examined and not config.skip_tests else ""
    takes = f", and up to {effort.seconds:g} s of checks" if effort.is_examined else ""
    name = "none" if config.skip_tests and not effort.is_examined else config.effort
    return (
        f"Effort {name}: {counted(own, 'question')} to the model if the first attempt passes{more}, "
        f"~{amount(own * size // 4)} tokens and the answers{takes}."
    )


def _size(messages: Messages) -> int:
    return sum(len(message["content"]) for message in messages)
