"""The request parameters that a model supports: first from litellm's tables, then from its refusals."""

from __future__ import annotations

import copy
import re
from types import ModuleType
from typing import Any, Literal

from autocoder_jupyter.models.cache_marks import wants_marks
from autocoder_jupyter.models.protocol import ModelConfig, Question
from autocoder_jupyter.models.schemas import AnswerForm

Format = Literal["json_schema", "json_object", "text"]
_WEAKER: dict[Format, Format] = {"json_schema": "json_object", "json_object": "text"}

_FORMAT_WORDS = re.compile(r"response_format|json_schema|json_object|json mode|output_format|schema", re.IGNORECASE)
_OPTIONAL = ("temperature", "max_tokens", "stream_options")

_learned: dict[tuple[str, str | None], Dialect] = {}


class Dialect:
    """The optional parts of a request that a model supports.

    Args:
        format: the strictest supported way to request JSON. The prompt requests it too, so that the question and its
            key are the same for every model.
        marks: whether the part that other questions share is marked for the provider's cache.
    """

    def __init__(self, format: Format, *, marks: bool = False) -> None:
        self.format: Format = format
        self.marks = marks
        self._refused: set[str] = set()

    def optional(self, question: Question, room: int, *, structured: bool) -> dict[str, Any]:
        """The optional arguments for `question`, with `room` tokens for the answer."""
        arguments: dict[str, Any] = {
            "temperature": question.temperature,
            "max_tokens": room,
            "stream_options": {"include_usage": True},
        }
        if structured and question.form is not None and self.format != "text":
            arguments["response_format"] = response_format(self.format, question.form)
        return {name: value for name, value in arguments.items() if name not in self._refused}

    def learn(self, error: Exception, offered: dict[str, Any]) -> bool:
        """Whether `error` refuses one of the `offered` options. Then the option is left out from now on.

        Calls are concurrent, so another call may have learned the same.
        """
        if getattr(error, "status_code", None) not in (400, 422):
            return False
        said = str(error)
        if self.marks and "cache_control" in said:
            self.marks = False
            return True
        for name in _OPTIONAL:
            if name in offered and name in said:
                self._refused.add(name)
                return True
        if "response_format" in offered and _FORMAT_WORDS.search(said):
            if self.format == offered["response_format"]["type"]:
                self.format = _WEAKER[self.format]
            return True
        return False


def dialect_of(config: ModelConfig, litellm: ModuleType) -> Dialect:
    """The dialect of a model at an address. It is kept as long as the process runs. Blocks."""
    place = (config.model, config.api_base)
    if place not in _learned:
        _learned[place] = Dialect(_best_format(config.model, litellm), marks=wants_marks(config.model, litellm))
    return _learned[place]


def _best_format(model: str, litellm: ModuleType) -> Format:
    if litellm.supports_response_schema(model):
        return "json_schema"
    try:
        taken = litellm.get_supported_openai_params(model) or ()
    except litellm.exceptions.BadRequestError:
        return "text"
    return "json_object" if "response_format" in taken else "text"


def response_format(format: Format, form: AnswerForm) -> dict[str, Any]:
    """The `response_format` argument for a record, in addition to the prompt."""
    if format == "json_object":
        return {"type": "json_object"}
    schema = copy.deepcopy(form.strict or form.schema)  # a client may change it
    return {"type": "json_schema", "json_schema": {"name": form.name, "schema": schema, "strict": bool(form.strict)}}
