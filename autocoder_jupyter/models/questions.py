"""How a question becomes a request: marks for caching, the parameters that a model supports, and what is reported."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal
from urllib.parse import urlsplit

from autocoder_jupyter.models.protocol import AnswerForm, ModelConfig, Question

# Prompt caching
#
# Most providers cache beginnings automatically. Anthropic's models cache only text up to a mark (`cache_control`), for
# five minutes. Writing to the cache costs a quarter more than uncached input; reading from it costs a tenth.

SHARED = "shared"
"""Key of a message besides `content`: the number of characters at its start that other questions share."""

_MARK = {"type": "ephemeral"}

_ALWAYS = frozenset({"anthropic"})
_WHERE_LISTED = frozenset({"azure_ai", "bedrock", "bedrock_converse", "openrouter", "vertex_ai"})
"""Providers that pass a mark on. For models that are not Anthropic's a mark has another meaning, or costs storage."""


def wants_marks(model: str, litellm: ModuleType) -> bool:
    """Whether a model caches only marked beginnings. Blocks, because it reads litellm's tables."""
    try:
        _, provider, _, _ = litellm.get_llm_provider(model)
    except Exception:  # of many types; the call itself reports an unknown provider
        return False
    if provider in _ALWAYS:
        return True
    return provider in _WHERE_LISTED and "claude" in model.lower() and bool(_lists_caching(model, litellm))


def _lists_caching(model: str, litellm: ModuleType) -> bool:
    return bool(litellm.utils.supports_prompt_caching(model))


def as_sent(message: Mapping[str, Any], *, marked: bool) -> dict[str, Any]:
    """A message in litellm's form: its shared part is marked if `marked`, else the information is dropped."""
    plain = {name: value for name, value in message.items() if name != SHARED}
    length, content = message.get(SHARED, 0), message.get("content")
    if not (marked and length and isinstance(content, str)):
        return plain
    parts = [{"type": "text", "text": content[:length], "cache_control": _MARK}]
    parts += [{"type": "text", "text": content[length:]}] if content[length:] else []
    return {**plain, "content": parts}


# Continuations of answers that were cut off at the token limit

CONTINUE = (
    "Your answer was cut off. Continue it from the exact character where it stopped: "
    "repeat nothing, add no remark and no new code fence."
)

_OVERLAP = 12
_RESTART = 40
_FENCE_LINE = re.compile(r"[ \t]*(```|~~~)[^\n]*\n")


def join(partial: str, continuation: str) -> str:
    """`partial` and its continuation as one text.

    Models do not always follow `CONTINUE`: a repeated end, a second opening fence, and an answer that starts from the
    beginning are detected. Short repetitions are kept, because they are more likely part of the answer.
    """
    if not partial:
        return continuation
    if len(partial) >= _RESTART and continuation.startswith(partial[:_RESTART]):
        return continuation
    fence = _FENCE_LINE.match(continuation)
    if fence and _inside_fence(partial):
        continuation = continuation[fence.end() :]
    return partial + continuation[_overlap(partial, continuation) :]


def _overlap(partial: str, continuation: str) -> int:
    """Length of the longest end of `partial` with which `continuation` begins; 0 if it may be a coincidence."""
    for length in range(min(len(partial), len(continuation), 4000), _OVERLAP - 1, -1):
        if partial.endswith(continuation[:length]):
            return length if continuation[:length].strip() else 0
    return 0


def _inside_fence(text: str) -> bool:
    return len(re.findall(r"^[ \t]*(?:```|~~~)", text, re.MULTILINE)) % 2 == 1


# Parameters that a model supports: first from litellm's tables, then from its refusals

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
        message = str(error)
        if self.marks and "cache_control" in message:
            self.marks = False
            return True
        for name in _OPTIONAL:
            if name in offered and name in message:
                self._refused.add(name)
                return True
        if "response_format" in offered and _FORMAT_WORDS.search(message):
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
        supported = litellm.get_supported_openai_params(model) or ()
    except litellm.exceptions.BadRequestError:
        return "text"
    return "json_object" if "response_format" in supported else "text"


def response_format(format: Format, form: AnswerForm) -> dict[str, Any]:
    """The `response_format` argument for a record, in addition to the prompt."""
    if format == "json_object":
        return {"type": "json_object"}
    schema = copy.deepcopy(form.strict or form.schema)  # a client may change it
    return {"type": "json_schema", "json_schema": {"name": form.name, "schema": schema, "strict": bool(form.strict)}}


# Reports of requests
#
# The body of each request is reported before it is sent, also of continuations, repairs and retries.
#
# litellm calls `logger_fn` with the request, in the form of each provider. For some providers it adds a flag
# afterwards; then the report is corrected when the service has answered.

_REPORTED_ARGUMENTS = ("model", "messages", "response_format", "max_tokens", "temperature")
_NOT_IN_BODY = frozenset({"extra_headers", "extra_query", "extra_body", "timeout", "api_key"})


@dataclass(frozen=True)
class SentRequest:
    """One request.

    Args:
        to: address of the service, without passwords and keys.
        body: the JSON that is sent, without headers, because these contain keys.
        number: the id of the request. A second report with the same number corrects the first.
    """

    stage: str
    key: str
    to: str
    body: Mapping[str, Any]
    number: int


_numbers = itertools.count(1)


OnSend = Callable[[SentRequest], Awaitable[object] | None]
"""Called with each request before it is sent. If it returns something to wait for, that is awaited before, too."""


class RequestReporter:
    """A `logger_fn` for one request. litellm calls it after the answer, too.

    Args:
        stage, key: stage and key of the question.
    """

    def __init__(self, stage: str, key: str, on_send: OnSend) -> None:
        self._stage = stage
        self._key = key
        self._on_send = on_send
        self._number = next(_numbers)
        self._address = ""
        self._body: Mapping[str, Any] = {}
        self._reported: dict[str, Any] | None = None
        self._fault: Exception | None = None
        self._noting: list[Awaitable[object]] = []

    def __call__(self, details: Mapping[str, Any]) -> None:
        """Take litellm's details of the request, and report it."""
        known = details.get("additional_args") or {}
        body = known.get("complete_input_dict")
        if (
            self._reported is not None
            or details.get("log_event_type") != "pre_api_call"
            or not isinstance(body, Mapping)
        ):
            return
        self._address, self._body = str(known.get("api_base") or ""), body
        self._report(_whole(body))

    def report_changes(self) -> None:
        """After the answer: report the request again if litellm changed it before it was sent."""
        if self._reported is not None and _whole(self._body) != self._reported:
            self._report(_whole(self._body))

    def require_reported(self, arguments: Mapping[str, Any]) -> None:
        """If litellm did not report the request, report the arguments instead."""
        if self._reported is None:
            self._address = str(arguments.get("api_base") or "")
            self._report({name: arguments[name] for name in _REPORTED_ARGUMENTS if name in arguments})

    async def noted(self) -> None:
        """Wait until the request is noted. An error of `on_send` is raised."""
        noting, self._noting = self._noting, []
        for one in noting:
            try:
                await one
            except Exception as error:
                self._fault = error
        self.require_noted()

    def require_noted(self) -> None:
        """Raise the error of `on_send`, if there was one."""
        if self._fault is not None:
            raise self._fault

    def _report(self, body: dict[str, Any]) -> None:
        self._reported = body
        try:
            noting = self._on_send(SentRequest(self._stage, self._key, place(self._address), body, self._number))
        except Exception as error:
            self._fault = error
        else:
            self._noting += [] if noting is None else [noting]


def _whole(body: Mapping[str, Any]) -> dict[str, Any]:
    whole = {name: value for name, value in body.items() if name not in _NOT_IN_BODY}
    return whole | dict(body.get("extra_body") or {})


def place(address: str) -> str:
    """The address without user, password and query."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else ""
