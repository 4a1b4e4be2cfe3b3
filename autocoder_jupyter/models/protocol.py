"""The interface of a language model: its configuration, questions to it, and who allows and follows them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pydantic import BaseModel

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Exchange, Usage

# Meters
#
# Each request to a model must be allowed before it is sent, also continuations and retries.


@dataclass(frozen=True)
class WorstCase:
    """The highest possible usage of one request: its question, and an answer of full length. Costs in US dollars."""

    question: Usage
    answer: Usage

    def of(self, input_tokens: int, output_tokens: int) -> Usage:
        """The usage of this many tokens, at the same prices. It does not block."""
        costs = (
            _share(self.question.cost, self.question.input_tokens, input_tokens),
            _share(self.answer.cost, self.answer.output_tokens, output_tokens),
        )
        cost = None if None in costs else sum(filter(None, costs))
        return Usage(input_tokens=input_tokens, output_tokens=output_tokens, cost=cost)


def _share(cost: float | None, tokens: int, part: int) -> float | None:
    return None if cost is None else cost * part / tokens if tokens else 0.0


async def _allowed(usage: Usage) -> str:
    return ""


@dataclass(frozen=True)
class Grant:
    """Permission for one request.

    Args:
        room: the maximum number of tokens of its answer.
        spend: called with the usage of the request, once it is known.
        grow: called with the usage so far if it is more than was reserved. It returns the setting whose limit is
            exceeded, or "".
    """

    room: int
    spend: Callable[[Usage], None]
    grow: Callable[[Usage], Awaitable[str]] = _allowed


class Meter(Protocol):
    """Allows requests. The engine's budget is a meter."""

    def reserve(self, worst: WorstCase) -> AbstractAsyncContextManager[Grant]:
        """Permission for one request, as long as the context lasts. Entering it may wait.

        Raises:
            BudgetSpent: too little is left.
        """
        ...


class Unmetered:
    """A meter that allows every request."""

    def reserve(self, worst: WorstCase) -> AbstractAsyncContextManager[Grant]:
        return nullcontext(Grant(worst.answer.output_tokens, lambda usage: None))


class SummingMeter:
    """A meter that also sums up the usage that it allowed.

    Args:
        on_granted: called when a request is allowed, just before it is sent.
    """

    def __init__(self, meter: Meter, on_granted: Callable[[], object] = lambda: None) -> None:
        self._meter = meter
        self._on_granted = on_granted
        self.spent = Usage()

    @asynccontextmanager
    async def reserve(self, worst: WorstCase) -> AsyncIterator[Grant]:
        async with self._meter.reserve(worst) as grant:

            def spend(usage: Usage) -> None:
                self.spent += usage
                grant.spend(usage)

            self._on_granted()
            yield replace(grant, spend=spend)


# Listeners


def _ignored(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Listener:
    """Follows one question.

    Args:
        on_text: called with pieces of the answer; after `on_retry` they start from the beginning.
        on_retry: called with the reason for a pause and its seconds.
        on_sign: called when the first content of a response arrives, which may be thoughts.
        meter: must allow each request before it is sent, also continuations and retries, and gets its usage. By default
            every request is allowed.
    """

    on_text: Callable[[str], None] = _ignored
    on_retry: Callable[[str, float], None] = _ignored
    meter: Meter = field(default_factory=Unmetered)
    on_sign: Callable[[], None] = _ignored


SILENT: Listener = Listener()
"""For questions whose answer is not followed."""


# Schemas of answers: as text for the prompt, and as a strict JSON schema for the request

_CACHED_TYPES = 64
"""Answer types whose schemas are cached. pydantic builds a schema each time anew, which takes milliseconds."""


@dataclass(frozen=True)
class AnswerForm:
    """The form of a structured answer. Unlike its type it can be sent to another process.

    Args:
        strict: the schema for a strict mode; None if it cannot be strict.
    """

    name: str
    schema: Mapping[str, Any]
    strict: Mapping[str, Any] | None


@functools.lru_cache(_CACHED_TYPES)
def answer_form(answer_type: type[BaseModel]) -> AnswerForm:
    """The form of an answer of this type."""
    return AnswerForm(answer_type.__name__, json_schema(answer_type), strict_schema(answer_type))


@functools.lru_cache(_CACHED_TYPES)
def json_schema(answer_type: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema of an answer, as pydantic writes it. It is cached, so it must not be changed."""
    return answer_type.model_json_schema()


@functools.lru_cache(_CACHED_TYPES)
def schema_in_words(answer_type: type[BaseModel]) -> str:
    """The instruction at the end of a prompt, the same for every model: the record as a TypeScript type.

    It has a third of the length of a JSON schema. Descriptions of fields are comments.
    """
    schema = json_schema(answer_type)
    return f"Answer with one JSON object of this type, and nothing else:\n{_type_text(schema, schema.get('$defs', {}))}"


_SIMPLE = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": "null"}


def _type_text(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    if "$ref" in node:
        return _type_text(definitions[node["$ref"].rpartition("/")[2]], definitions)
    if "enum" in node or "const" in node:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in node.get("enum", [node.get("const")]))
    if "anyOf" in node:
        return " | ".join(_type_text(each, definitions) for each in node["anyOf"])
    match node.get("type"):
        case "object" if "properties" in node:
            return _object_text(node, definitions)
        case "object":
            return "object"
        case "array":
            item = _type_text(node.get("items", {}), definitions)
            return f"({item})[]" if " | " in item and not item.startswith("{") else f"{item}[]"
        case kind:
            return _SIMPLE.get(str(kind), "any")


def _object_text(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    required = node.get("required", [])
    fields = []
    for name, inner in node["properties"].items():
        comment = f" /* {inner['description']} */" if "description" in inner else ""
        fields.append(f"{name}{'' if name in required else '?'}: {_type_text(inner, definitions)}{comment}")
    return "{" + ", ".join(fields) + "}"


def strict_schema(answer_type: type[BaseModel]) -> dict[str, Any] | None:
    """The schema for OpenAI's strict mode; None if it has a free mapping.

    Strict means that every object is closed and all its properties are required. Defaults are left out. A value of any
    type is a text, a number, true, false, null, or a list of these.
    """
    try:
        closed = _closed(json_schema(answer_type))
    except _NotStrict:
        return None
    assert isinstance(closed, dict)
    return closed


class _NotStrict(Exception):
    """The schema cannot be strict."""


_SCALARS: list[Any] = [{"type": kind} for kind in ("string", "number", "boolean", "null")]
_ANY = [*_SCALARS, {"type": "array", "items": {"anyOf": _SCALARS}}]


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    if not set(node) - {"title", "description", "default"}:
        node = {**node, "anyOf": _ANY}
    closed = {key: value for key, value in node.items() if key not in ("default", "title")}
    if node.get("type") == "object":
        if "properties" not in node:
            raise _NotStrict
        closed["required"] = list(node["properties"])
        closed["additionalProperties"] = False
    for names in ("properties", "$defs"):
        if names in closed:
            closed[names] = {name: _closed(inner) for name, inner in closed[names].items()}
    for schemas in ("items", "anyOf", "allOf", "oneOf", "prefixItems"):
        if schemas in closed:
            closed[schemas] = _closed(closed[schemas])
    return closed


_MOST_ITEMS = 100
_MOST_CHARACTERS = 1_500
"""llama.cpp refuses 2,000 repetitions and more."""


def bounded(schema: Any) -> Any:
    """The schema with bounds of texts and lists, so that a server that generates by it cannot go on without end."""
    if isinstance(schema, list):
        return [bounded(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    bounds: dict[str, Any] = {}
    if schema.get("type") == "string" and not schema.keys() & {"enum", "const"}:
        bounds = {"maxLength": _MOST_CHARACTERS}
    elif schema.get("type") == "array":
        bounds = {"maxItems": _MOST_ITEMS}
    return {**bounds, **{name: bounded(inner) for name, inner in schema.items()}}


# Models and questions


@dataclass(frozen=True)
class ModelConfig:
    """The model, its key and its address. See `AgentConfig` for the fields.

    Args:
        model, api_key, api_base, params: see `AgentConfig`; `params` are its `litellm_params`.
        seconds: the maximum seconds without content, unless `params` has a `timeout`. Reasoning models are silent for
            minutes, and the clients of OpenAI and Anthropic wait ten minutes, too.
        total_seconds: the maximum seconds of one answer. A slow local model writes 8,000 tokens in about an hour.
    """

    model: str
    api_key: str | None = None
    api_base: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)  # may contain a key
    seconds: float = 600.0
    total_seconds: float = 3600.0


@dataclass(frozen=True)
class Question:
    """One question to a model.

    Args:
        stage: its purpose; it is shown, but is not part of the key.
        messages: OpenAI-style messages. The key is made from them, the model's name, the parameters and
            `form`.
        form: the form of a structured answer; None for text.
        max_tokens: the maximum number of tokens of the answer.
        variant: distinguishes intentional repetitions of the same question.
    """

    stage: str
    messages: tuple[Mapping[str, Any], ...]
    form: AnswerForm | None = None
    max_tokens: int = 8000
    temperature: float = 0.2
    variant: int = 0


class ExchangeStore(Protocol):
    """Stores exchanges. The engine's journal is an exchange store."""

    def find(self, key: str) -> Exchange | None:
        """The exchange recorded under a key, if any."""
        ...

    def add(self, exchange: Exchange) -> None:
        """Record an exchange durably."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether nothing is recorded at all."""
        ...


class LanguageModel(Protocol):
    """A model that can be asked. It retries transient faults; its errors are final."""

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """One complete answer; truncated answers are continued.

        Raises:
            ModelError: the model gave no usable answer; also its subclasses.
            BudgetSpent: the meter does not allow a request.
        """
        ...


class ConfiguredModel(LanguageModel, Protocol):
    """A `LanguageModel` with a known configuration, on which the keys of questions depend."""

    @property
    def config(self) -> ModelConfig:
        """The model, its key and its address."""
        ...


# The key of a question, with which the journal finds its answer

CARRIAGE = frozenset(
    {
        "api_base",
        "api_key",
        "api_version",
        "azure_ad_token",
        "base_url",
        "caching",
        "custom_llm_provider",
        "default_headers",
        "drop_params",
        "extra_headers",
        "headers",
        "max_retries",
        "metadata",
        "mock_response",
        "num_retries",
        "organization",
        "request_timeout",
        "stream",
        "stream_options",
        "timeout",
        "user",
    }
)
"""Parameters of litellm for the transport. They do not shape the answer."""


def question_key(question: Question, config: ModelConfig) -> str:
    """SHA-256, in hex, of all that shapes the answer; the same on every machine and in every process.

    The address and the key of the model, and the purpose of the question, are left out.

    Raises:
        InvalidRequest: a parameter has no JSON form.
    """
    shape: dict[str, Any] = {
        "model": config.model,
        "params": {
            "max_tokens": question.max_tokens,
            "temperature": question.temperature,
            **{name: value for name, value in config.params.items() if name not in CARRIAGE},
        },
        "messages": question.messages,
        "answer_type": question.form and question.form.schema,
        "variant": question.variant,
    }
    canonical = json.dumps(shape, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """The JSON form of a value that JSON does not support, without memory addresses and the order of sets."""
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "items"):
        return dict(value.items())
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise InvalidRequest(
        "A parameter of the model cannot be sent.",
        why=f"It is of type {type(value).__name__}, which has no JSON form.",
        hint="Give plain values in litellm_params.",
    )


# Limits of one answer in seconds and bytes
#
# The request limits its tokens (`Grant`). A service may ignore that, send keep-alives for ever, or send something that
# is not an answer. Each of these ends here.

SPARE_BYTES = 8 * 2**20
BYTES_PER_TOKEN = 4096
"""Bytes of a response: some for everything around the answer, and some for each token. Services that send one token in
an event need 200 to 1,000 bytes for it."""

SLACK = 2
"""An answer is stopped at this multiple of its tokens. They are estimated as four characters each; an answer in
English with much white space has up to six, and a service that keeps to its limit must not be stopped."""


@dataclass(frozen=True)
class AnswerLimits:
    """The limits of one answer.

    Args:
        silence: seconds between two pieces of content, and before the first. Other signs of life do not count.
        total: seconds from the request to the end of the answer.
    """

    silence: float
    total: float

    @classmethod
    def of(cls, config: ModelConfig) -> AnswerLimits:
        """The limits of a model. A `timeout` in its parameters replaces the seconds of silence, in both engines."""
        silence = _seconds(config.params.get("timeout")) or config.seconds
        return cls(silence, max(config.total_seconds, silence))


def most_bytes(room: int) -> int:
    """The maximum number of bytes of a response to a request for `room` tokens."""
    return SPARE_BYTES + BYTES_PER_TOKEN * max(room, 0)


def most_bytes_in_event(room: int) -> int:
    """The maximum number of bytes of one event, which may contain the whole answer."""
    return SPARE_BYTES // 8 + BYTES_PER_TOKEN // 64 * max(room, 0)


def _seconds(timeout: object) -> float | None:
    """A timeout of litellm in seconds: a number, or httpx's object. None if it is neither."""
    timeout = getattr(timeout, "read", timeout)
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    return float(timeout) if is_number and 0 < timeout < float("inf") else None  # type: ignore[operator, arg-type]
