"""Shows exactly what would be sent to the model, before anything is sent."""

from __future__ import annotations

import json

from autocoder_jupyter.engine.ask import first_question
from autocoder_jupyter.engine.prepare import prepare
from autocoder_jupyter.engine.surroundings import versions, with_versions
from autocoder_jupyter.models.dialect import response_format
from autocoder_jupyter.models.structured import with_schema
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.settings.efforts import EFFORTS


def preview(request: Request, config: AgentConfig) -> str:
    """The first question to the model: each message exactly as sent, the schema of the answer, and what was masked.

    Every later question begins with the same request and data. It adds only what the model itself wrote and the
    results of running that.

    Raises:
        AutocodeError: the same errors as a real run before its first question.
    """
    prepared = prepare(request, config)
    told = with_versions(prepared.context.text, versions(config, prepared.pinned))
    question, answer = first_question(request, prepared.inputs, told, asks=config.ask)
    messages = with_schema(question, answer)
    masked = ", ".join(f"{count} {kind}" for kind, count in sorted(prepared.context.masked.items())) or "nothing"
    size = sum(len(message["content"]) for message in messages)
    head = (
        f"To {config.model}: {size:,} characters, ~{size // 4:,} tokens; share: {config.share}; masked: {masked}.\n"
        "Every later question repeats the request and the data below and adds only what the model wrote and how it ran."
        f"\n{_of_effort(config, size)}"
    )
    schema = json.dumps(response_format("json_schema", answer), ensure_ascii=False)
    parts = [(message["role"], message["content"]) for message in messages]
    parts.append(("response_format, where the model takes one", schema))
    return "\n\n".join([head, *(f"───── {title} ─────\n{content}" for title, content in parts)])


def _of_effort(config: AgentConfig, size: int) -> str:
    """What the effort asks and takes, before anything is sent."""
    effort = EFFORTS[config.effort]
    own = effort.questions - effort.has_second_opinion + config.wants_second_opinion - config.skip_tests
    more = ", one more if the tests are weak" if effort.is_examined and not config.skip_tests else ""
    takes = f", and up to {effort.seconds:g} s of checks" if effort.is_examined else ""
    return (
        f"Effort {config.effort}: {own} questions like this one if the first attempt passes{more}, "
        f"~{own * size // 4:,} tokens and the answers{takes}."
    )
