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

from autocoder_jupyter.models import catalogue
from autocoder_jupyter.models.protocol import AnswerForm, ModelConfig, Question, bounded

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


def has_closed_block(text: str) -> bool:
    """Whether a text has fenced blocks, and the last of them has its end."""
    return _fences(text) > 0 and not _inside_fence(text)


def _inside_fence(text: str) -> bool:
    return _fences(text) % 2 == 1


def _fences(text: str) -> int:
    return len(re.findall(r"^[ \t]*(?:```|~~~)", text, re.MULTILINE))


# Parameters that a model supports: first from litellm's tables, then from its refusals

Format = Literal["json_schema", "json_object", "text"]
_WEAKER: dict[Format, Format] = {"json_schema": "json_object", "json_object": "text"}

_FORMAT_WORDS = re.compile(
    r"response_format|json_schema|json_object|json mode|output_format|schema|grammar|structured output", re.IGNORECASE
)
_BOUND_WORDS = re.compile(r"maxItems|maxLength|repetition|too many states|too complex", re.IGNORECASE)
_OPTIONAL = ("temperature", "stream_options")
_LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the parameter that limits the length of an answer; most services know only one."""

_OWN_SERVERS = frozenset(
    {"custom_openai", "docker_model_runner", "hosted_vllm", "lemonade", "llamafile", "lm_studio", "ollama"}
    | {"ollama_chat", "openai_like", "vllm", "xinference"}
)
"""Providers of servers that people run themselves. They generate by a schema, and litellm does not know it of most."""

_OLLAMA = frozenset({"ollama", "ollama_chat"})
_SMALLEST_CONTEXT = 8192
"""Ollama's windows are multiples of this by two. It loads the model anew for another one."""

LEAST_ROOM = 256
"""The least tokens of an answer for which it is asked in a small window."""

_SPARE = 16

_learned: dict[tuple[str, str | None], Dialect] = {}


class Dialect:
    """The optional parts of a request that a model supports.

    Args:
        format: the strictest supported way to request JSON. The prompt requests it too, so that the question and its
            key are the same for every model.
        marks: whether the part that other questions share is marked for the provider's cache.
        is_own: whether a server of the user is likely. Its schemas have bounds, and if it takes only JSON mode, it gets
            the schema beside that, as the servers of llama.cpp read it.
        provider: litellm's name of it.
    """

    def __init__(self, format: Format, *, marks: bool = False, is_own: bool = False, provider: str = "") -> None:
        self.format: Format = format
        self.marks = marks
        self.bounds = self.inlines = is_own
        self.window: int | None = None
        """The context window in tokens, if a refusal has named it."""
        self._most: int | None = None
        self._limit = _LIMITS[0]
        self._refused: set[str] = set()
        self._context = 0 if provider not in _OLLAMA else _SMALLEST_CONTEXT

    def optional(self, question: Question, room: int, *, structured: bool) -> dict[str, Any]:
        """The optional arguments for `question`, with `room` tokens for the answer."""
        arguments: dict[str, Any] = {
            "temperature": question.temperature,
            self._limit: room,
            "stream_options": {"include_usage": True},
        }
        if structured and question.form is not None and self.format != "text":
            arguments["response_format"] = response_format(
                self.format, question.form, bounds=self.bounds, inlined=self.inlines
            )
        return {name: value for name, value in arguments.items() if name not in self._refused}

    def context(self, tokens: int) -> int | None:
        """The window for Ollama, which would cut a longer question off; None for other services."""
        while 0 < self._context < tokens:
            self._context *= 2
        return self._context or None

    def fitting(self, room: int, asked: int) -> int:
        """At most `room` tokens for an answer to a question of about `asked` tokens."""
        room = min(room, self._most or room)
        return room if self.window is None else min(room, max(self.window - asked, LEAST_ROOM))

    def smaller_room(self, error: Exception, room: int) -> int | None:
        """The tokens that are left for an answer, if `error` says that `room` are too many; else None."""
        message = str(error)
        if (most := _number(_MOST, message)) is not None and LEAST_ROOM <= most < room:
            self._most = most
            return most
        window, asked = _number(_WINDOW, message), _number(_ASKED, message)
        if window is None or asked is None:
            return None
        self.window = window
        left = window - asked - _SPARE
        return left if LEAST_ROOM <= left < room else None

    def learn(self, error: Exception, offered: dict[str, Any], left_out: set[str]) -> bool:
        """Whether `error` refuses one of the `offered` options. Then the option is left out from now on.

        The limit of the answer is left out only in this question (`left_out`), if no name of it is accepted. Calls are
        concurrent, so another call may have learned the same.
        """
        status, message = getattr(error, "status_code", None), str(error)
        if status in (400, 422):
            if self.marks and "cache_control" in message:
                self.marks = False
                return True
            for name in _OPTIONAL:
                if name in offered and name in message:
                    self._refused.add(name)
                    return True
            limit = next((name for name in _LIMITS if name in offered and name in message), None)
            if limit is not None and not _WINDOW.search(message):
                left_out.add(limit)
                other = _LIMITS[1 - _LIMITS.index(limit)]
                self._limit = other if other not in left_out else _LIMITS[0]
                return True
        if "response_format" in offered and status in (400, 422, 500, 501) and _FORMAT_WORDS.search(message):
            return self._learn_format(offered["response_format"], message)
        return False

    def _learn_format(self, sent: Mapping[str, Any], message: str) -> bool:
        if self.bounds and sent["type"] == "json_schema" and _BOUND_WORDS.search(message):
            self.bounds = False
        elif "schema" in sent:
            self.inlines = False
        elif self.format == sent["type"]:
            self.format = _WEAKER[self.format]
        return True


_COUNT = r"`?(\d[\d,]*)"
_MOST = re.compile(
    rf"(?:supports at most|less (?:than )?or equal to|must be at most|maximum allowed is|model limit of) {_COUNT}"
    rf"|range of max_tokens is \[1, {_COUNT}|max_tokens: \d+ > {_COUNT}",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    rf"(?:context (?:length|window|size)|n_ctx)[^\d.]{{0,40}}{_COUNT}|max_new_tokens` must be <= {_COUNT}",
    re.IGNORECASE,
)
_ASKED = re.compile(
    rf"{_COUNT} (?:in the (?:messages|prompt)|(?:input|prompt) tokens|tokens from the input|of text input|`inputs`)",
    re.IGNORECASE,
)


def _number(pattern: re.Pattern[str], message: str) -> int | None:
    found = pattern.search(message)
    return int(next(filter(None, found.groups())).replace(",", "")[:12]) if found else None


def dialect_of(config: ModelConfig, litellm: ModuleType) -> Dialect:
    """The dialect of a model at an address. It is kept as long as the process runs. Blocks."""
    place = (config.model, config.api_base)
    if place not in _learned:
        provider = _provider(config.model, litellm)
        is_own = is_own_server(config.model, provider)
        format = _best_format(config.model, litellm, is_own=is_own)
        marks = wants_marks(config.model, litellm)
        _learned[place] = Dialect(format, marks=marks, is_own=is_own, provider=provider)
    return _learned[place]


def _provider(model: str, litellm: ModuleType) -> str:
    try:
        return str(litellm.get_llm_provider(model)[1])
    except Exception:  # of many types; the call itself reports an unknown provider
        return ""


def is_own_server(model: str, provider: str) -> bool:
    """Whether a server that the user runs is likely."""
    return provider in _OWN_SERVERS or (provider == "openai" and not catalogue.facts_of(model))


def _best_format(model: str, litellm: ModuleType, *, is_own: bool) -> Format:
    if litellm.supports_response_schema(model):
        return "json_schema"
    try:
        supported = litellm.get_supported_openai_params(model) or ()
    except litellm.exceptions.BadRequestError:
        return "text"
    if "response_format" not in supported:
        return "text"
    return "json_schema" if is_own else "json_object"


def response_format(format: Format, form: AnswerForm, *, bounds: bool = False, inlined: bool = False) -> dict[str, Any]:
    """The `response_format` argument for a record, in addition to the prompt."""
    schema = copy.deepcopy(form.strict or form.schema)  # a client may change it
    if format == "json_object":  # without bounds: they end llama-cpp-python's server
        return {"type": "json_object", "schema": schema} if inlined else {"type": "json_object"}
    schema = bounded(schema) if bounds else schema
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
