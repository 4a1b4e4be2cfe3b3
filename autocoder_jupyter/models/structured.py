"""Structured answers: requested with a schema, parsed tolerantly, checked with pydantic."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from autocoder_jupyter.models.answers import objects_in
from autocoder_jupyter.models.listener import SILENT, Listener
from autocoder_jupyter.models.protocol import LanguageModel, Question
from autocoder_jupyter.models.repair import Unreadable, ask_until_readable
from autocoder_jupyter.models.schemas import answer_form, schema_in_words
from autocoder_jupyter.types import Exchange
from autocoder_jupyter.untrusted.valid_unicode import valid_record

T = TypeVar("T", bound=BaseModel)

_SHOWN_ERRORS = 6


async def ask_structured(
    model: LanguageModel,
    question: Question,
    answer_type: type[T],
    *,
    require: Callable[[T], object] | None = None,
    listener: Listener = SILENT,
) -> tuple[T, tuple[Exchange, ...]]:
    """Ask for a record of `answer_type`.

    The prompt always contains the schema as text, so that the question and its key are the same for every model. If the
    model supports it, the client also sends the schema as `response_format`.

    Args:
        model: the model to ask.
        question: the question.
        answer_type: the type of the record.
        require: raises `Unreadable` for a record that fits the schema but cannot be used.
        listener: follows all its answers.

    Returns:
        The record, and the exchanges that were needed.

    Raises:
        UnusableAnswer: no answer fits, also after the repairs.
        ModelError: see `LanguageModel.ask`.
    """
    messages = with_schema(question.messages, answer_type)
    asked = dataclasses.replace(question, messages=messages, form=answer_form(answer_type))

    def read(answer: str) -> T:
        record = read_record(answer, answer_type)
        if require is not None:
            require(record)
        return record

    return await ask_until_readable(model, asked, read, listener=listener)


def read_record(answer: str, answer_type: type[T]) -> T:
    """The record in an answer: the largest JSON object that fits.

    Raises:
        Unreadable: no object fits; the message says what is wrong with the largest.
    """
    complaints = []
    for candidate in objects_in(answer):
        given = valid_record(_without_nulls(_unwrapped(candidate, answer_type), answer_type))
        if not given:  # else a part of a broken answer would pass as a record with only defaults
            complaints.append(f"It has none of the fields {', '.join(answer_type.model_fields)}.")
            continue
        try:
            return answer_type.model_validate(given)
        except ValidationError as error:
            complaints.append(_complaint(error))
    raise Unreadable(complaints[0] if complaints else "There is no JSON object in it.")


def _unwrapped(candidate: Mapping[str, Any], answer_type: type[BaseModel]) -> Mapping[str, Any]:
    """The record without a wrapper such as `{"plan": {…}}`."""
    if any(name in candidate for name in answer_type.model_fields):
        return candidate
    inner = [value for value in candidate.values() if isinstance(value, dict)]
    return inner[0] if len(inner) == 1 else candidate


def _without_nulls(candidate: Mapping[str, Any], answer_type: type[BaseModel]) -> dict[str, Any]:
    """The known fields without nulls, because models write null for a default."""
    fields = answer_type.model_fields
    return {
        name: value
        for name, value in candidate.items()
        if name in fields and (value is not None or fields[name].is_required())
    }


def with_schema(messages: Sequence[Mapping[str, Any]], answer_type: type[BaseModel]) -> tuple[Mapping[str, Any], ...]:
    """The messages of a request for a record: the last one ends with the schema as text."""
    *before, message = messages
    words, content = schema_in_words(answer_type), message["content"]
    if isinstance(content, str):
        return (*before, {**message, "content": f"{content}\n\n{words}"})
    return (*before, {**message, "content": [*content, {"type": "text", "text": words}]})


def _complaint(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"- {'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}" for problem in problems]
    more = [f"- and {len(lines) - _SHOWN_ERRORS} more"] if len(lines) > _SHOWN_ERRORS else []
    return "\n".join(["It does not fit the schema:", *lines[:_SHOWN_ERRORS], *more])
