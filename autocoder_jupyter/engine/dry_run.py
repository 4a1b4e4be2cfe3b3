"""Shows exactly what would be sent to the model, before anything is sent."""

from __future__ import annotations

import json

from autocoder_jupyter.engine.ask import first_question
from autocoder_jupyter.engine.conversation import Messages
from autocoder_jupyter.engine.plan_answer import PlanAnswer
from autocoder_jupyter.engine.prepare import prepare
from autocoder_jupyter.engine.surroundings import versions, with_versions
from autocoder_jupyter.models.answers import with_schema
from autocoder_jupyter.models.protocol import answer_form
from autocoder_jupyter.models.questions import response_format
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import InputSpec
from autocoder_jupyter.view.amounts import amount


def preview(request: Request, config: AgentConfig) -> str:
    """The first question to the model: each message exactly as sent, the schema of the answer, and what was masked.

    Every later question begins with the same request and data. It adds only what the model itself wrote and the
    results of running that.

    Raises:
        AutocodeError: the same errors as a real run before its first question.
    """
    prepared = prepare(request, config)
    told = with_versions(prepared.context.text, versions(config, prepared.pinned))
    messages, answer = asked_first(request, prepared.inputs, told, asks=config.ask)
    masked = ", ".join(f"{count} {kind}" for kind, count in sorted(prepared.context.masked.items())) or "nothing"
    size = _size(messages)
    head = (
        f"To {config.model}: {size:,} characters, ~{size // 4:,} tokens; share: {config.share}; masked: {masked}.\n"
        "Every later question repeats the request and the data below and adds only what the model wrote and how it ran."
        f"\n{of_effort(config, messages)}"
    )
    schema = json.dumps(response_format("json_schema", answer_form(answer)), ensure_ascii=False)
    parts = [(message["role"], message["content"]) for message in messages]
    parts.append(("response_format, where the model takes one", schema))
    return "\n\n".join([head, *(f"───── {title} ─────\n{content}" for title, content in parts)])


def asked_first(
    request: Request, inputs: tuple[InputSpec, ...], data_context: str, *, asks: bool
) -> tuple[Messages, type[PlanAnswer]]:
    """See `first_question`; with the schema of the answer in it, as it is sent."""
    question, answer = first_question(request, inputs, data_context, asks=asks)
    return with_schema(question, answer), answer


def of_effort(config: AgentConfig, first: Messages) -> str:
    """What the effort asks and takes, in one sentence; `first` is the first question."""
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
