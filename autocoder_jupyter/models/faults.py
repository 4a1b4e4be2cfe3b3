"""Failures of a model's service: what an error means, answers that were cut off, and when a request is retried."""

from __future__ import annotations

import math
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import ModuleType

from autocoder_jupyter.errors import (
    AuthenticationFailed,
    AutocodeError,
    BudgetSpent,
    ModelError,
    UnknownModel,
    UnusableAnswer,
)
from autocoder_jupyter.models import keys, preflight
from autocoder_jupyter.models.catalogue import did_you_mean
from autocoder_jupyter.models.preflight import HOW_TO_NAME, unknown_provider
from autocoder_jupyter.models.protocol import AnswerLimits, Grant, Meter, ModelConfig, Question, WorstCase, question_key
from autocoder_jupyter.types import STOPPED, Exchange, Usage
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view.amounts import so_far

# The meaning of an error

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429, *range(500, 600)})
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE)
_NO_CREDENTIALS = re.compile(
    r"missing credentials|unable to locate credentials|default credentials|must be set.{0,40}api_key", re.IGNORECASE
)
_NOT_SENT = re.compile(r"No module named|must be installed|not JSON serializable", re.IGNORECASE)
_NO_CONNECTION = re.compile(r"connection error|cannot connect|connect call failed|name or service", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"LLM Provider NOT provided|isn't mapped|model_not_found"
    r"|model\b.{0,80}(?:not found|does ?n[o']t exist|not exist|unknown|invalid|not supported)"
    r"|(?:unknown|invalid|no such) model",
    re.IGNORECASE | re.DOTALL,
)
_NO_PROVIDER = "LLM Provider NOT provided"
_CONTEXT = re.compile(
    r"context.{0,20}(?:length|window)|maximum context|prompt is too long|too many tokens|`inputs` (?:tokens|must)",
    re.IGNORECASE,
)
_OVERFLOW = re.compile(
    r"exceeds? the (?:available )?context|exceed_context_size|exceed context window|context the overflows"
    r"|greater than the context length|context length of only|longer than the maximum model length|input is too large"
    r"|(?:prompt|input).{0,40}(?:exceeds?|longer than|too long).{0,40}(?:context|n_ctx)",
    re.IGNORECASE,
)
"""What servers say in a stream that has begun, or with the status of an error of their own."""
_FILTERED = re.compile(r"content.?(?:policy|filter|management)|safety system|responsible ?ai", re.IGNORECASE)
_ADDRESSES = re.compile(r" ?(?:ssl:)?<[^<>]* object at 0x[0-9a-f]+>")
_PREFIXES = re.compile(r"^(?:litellm\.\w+: |\w*(?:Error|Exception)\w*: |\w+Exception - )+")

_INTERRUPTED = re.compile(r"payload is not completed|incomplete chunked read|peer closed connection", re.IGNORECASE)

DOES_NOT_FIT = "The question does not fit into the context window"
NO_CONNECTION = "no connection to the service"
_INCOMPLETE = "the answer broke off"

_EMPTY_TRIES = 2
_WEB_PAGE_TRIES = 2
"""A login page stays until somebody logs in."""


@dataclass(frozen=True)
class TransientFault:
    """A transient fault.

    Args:
        retry_after: the pause that the service asks for, in seconds.
        tries: the maximum number of calls, if more would not help.
        hint: what the user can do if it stays.
    """

    reason: str
    retry_after: float | None = None
    tries: int | None = None
    hint: str = ""

    @property
    def why(self) -> str:
        """The reason in a sentence, with the pause that the service asks for."""
        pause = so_far(math.ceil(self.retry_after)) if self.retry_after else ""
        return f"Last: {self.reason}{f'; the service asks for a pause of {pause}' if pause else ''}."


class ResponseFault(Exception):
    """A response without a complete answer. `classify_error` knows its meaning."""


class EndedEarly(ResponseFault):
    """The stream ended without a finish reason."""


class Nothing(EndedEarly):
    """The stream ended without any content."""


class Silent(ResponseFault):
    """No content arrived for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no content for {seconds:g} s")
        self.seconds = seconds


class WebPage(ResponseFault):
    """A web page came instead of an answer.

    Args:
        title: its title; "" if it has none.
    """

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.title = title


class NoAnswer(ResponseFault):
    """The response was stopped at a limit, and nothing in it was an answer. The message says which limit."""


def classify_error(error: Exception, config: ModelConfig, litellm: ModuleType) -> TransientFault | ModelError:
    """What an exception of a call means: a transient fault, or an error for the user."""
    if isinstance(error, Nothing):
        return TransientFault(
            "the answer was empty",
            tries=_EMPTY_TRIES,
            hint="Some servers send nothing if the question is longer than their context window: start the server with "
            "a larger one, or share less of the data (--share schema).",
        )
    if isinstance(error, EndedEarly):
        return TransientFault(_INCOMPLETE)
    if isinstance(error, Silent):
        return TransientFault(f"no answer within {error.seconds:g} s")
    if isinstance(error, WebPage):
        title = f" ({visible(error.title)!r})" if error.title else ""
        return TransientFault(
            f"a web page{title} came instead of an answer; a proxy or a login may be between",
            tries=_WEB_PAGE_TRIES,
            hint="Log in to the network or the proxy, or correct the address (api_base).",
        )
    if isinstance(error, NoAnswer):
        return ModelError(
            f"{config.model} sent no answer, and was stopped.",
            why=str(error),
            hint="Is the address (api_base) that of a language model? Try again with %autocode retry.",
        )
    status = getattr(error, "status_code", None)
    message = _service_message(error)
    code = str(getattr(error, "code", "") or "")
    if status in (401, 403) or _NO_CREDENTIALS.search(message):
        return _refused_key(status, message, config, litellm)
    if status == 402 or (status == 429 and _QUOTA.search(f"{message} {code}")):
        return AuthenticationFailed(f"The account behind {config.model} has no credit left.", why=message)
    if (
        isinstance(error, litellm.exceptions.ContextWindowExceededError)
        or _rejects(status, _CONTEXT, message)
        or _OVERFLOW.search(message)
    ):
        return UnusableAnswer(
            f"{DOES_NOT_FIT} of {config.model}.",
            why=message,
            hint="Share less of the data (--share stats or --share schema), start a server of your own with a larger "
            "context window, or choose another model with -m.",
        )
    if isinstance(error, litellm.exceptions.ContentPolicyViolationError) or _rejects(status, _FILTERED, message):
        return filtered(config, message)
    if status == 404 or _rejects(status, _NO_MODEL, message):
        return _unknown_model(message, config)
    if isinstance(error, litellm.exceptions.Timeout):
        return TransientFault(f"no answer within {AnswerLimits.of(config).silence:g} s")
    if _NOT_SENT.search(message):  # litellm reports this as a 500, too
        return ModelError(f"{config.model} cannot be asked from here.", why=message)
    if status in _TRANSIENT_STATUS or isinstance(error, (litellm.exceptions.APIConnectionError, OSError)):
        return TransientFault(_reason(status, message), _retry_after(error))
    return ModelError(f"{config.model} refused the question.", why=message, hint="See litellm_params and -m.")


def filtered(config: ModelConfig, why: str = "") -> UnusableAnswer:
    """The error if the provider's filter stopped the answer."""
    return UnusableAnswer(
        f"The content filter of {config.model}'s provider stopped the answer.",
        why=why,
        hint="Reword the request, share less of the data (--share schema), or choose another model.",
    )


def _rejects(status: int | None, pattern: re.Pattern[str], message: str) -> bool:
    return status in (400, 413, 422) and pattern.search(message) is not None


def _refused_key(status: int | None, message: str, config: ModelConfig, litellm: ModuleType) -> AuthenticationFailed:
    variable = preflight.key_variable(config, litellm)
    if status == 403:
        return AuthenticationFailed(
            f"The key for {config.model} may not be used for it.",
            why=message,
            hint=f"Allow it in the account of the provider, choose another model with -m, or another key"
            f"{f' in {variable}' if variable else ''}.",
        )
    where = f"the key in {variable}" if variable else "the credentials"
    if keys.typed(config):
        where, variable = "the key that was typed", ""
    hint = f"Set {variable} to a valid key" if variable else "Name the variable that holds a valid key with api_key=…"
    return AuthenticationFailed(f"The provider of {config.model} refuses {where}.", why=message, hint=f"{hint}.")


def _unknown_model(message: str, config: ModelConfig) -> UnknownModel:
    if _NO_PROVIDER in message:
        return unknown_provider(config)
    meant = f"{did_you_mean(config.model)} ".lstrip()
    if config.api_base:
        meant += f"Is {config.api_base} the right address (most end in /v1)? "
    return UnknownModel(
        f"There is no model {config.model!r}.",
        why=message,
        hint=f"{meant}{HOW_TO_NAME}",
    )


def _service_message(error: Exception) -> str:
    """The service's own message, without litellm's class names and the repeated cause."""
    text = keys.hidden(str(error))[:4_000].split(" Original exception:")[0].split(". Handle with `")[0]
    text = _ADDRESSES.sub("", text.split("Traceback (most")[0])
    return " ".join(_PREFIXES.sub("", text.strip()).split())[:400]


def _reason(status: int | None, message: str) -> str:
    if status == 429:
        return "rate limit"
    if status in (503, 529):
        return "the service is overloaded"
    if not message or _NO_CONNECTION.search(message):
        return NO_CONNECTION
    if _INTERRUPTED.search(message):
        return _INCOMPLETE
    return f"the service failed: {message[:160].rstrip('.')}"


def _retry_after(error: Exception) -> float | None:
    headers = getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", None), "headers", {}
    )
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(headers[name]) * unit
        except (KeyError, ValueError, TypeError):
            continue
    return None


# Answers that were cut off
#
# They are paid for and not usable. They are recorded, so that no run pays for the same answer again.

CUT_OFF = "cut off"
"""The finish reason of an answer that was cut off."""

_KEPT = "It was paid for, so a run of the same cell does not ask again."

FOR_SMALL_MODELS = (
    "A small model may need less to do (--effort quick), or a larger context window, with which its server is started."
)


class CutOff(Exception):
    """The cause of the error for an answer that was cut off.

    Args:
        exchange: the exchange, with the part that arrived.
    """

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange.finish_reason)
        self.exchange = exchange

    def __reduce__(self) -> tuple[object, ...]:
        return CutOff, (self.exchange,)


def cut_off_error(exchange: Exchange, why: str, *, shortened: bool) -> AutocodeError:
    """The error for an answer that was cut off. Its cause is a `CutOff`."""
    error: AutocodeError
    if shortened:
        error = BudgetSpent(
            f"An answer of {exchange.model} was stopped, because no more of the budget was left for it.",
            why=why,
            hint=f"{_KEPT} Raise max_tokens or max_cost, and run the cell again.",
        )
    else:
        error = UnusableAnswer(
            f"An answer of {exchange.model} was stopped, because it did not end.",
            why=why,
            hint=f"{_KEPT} Ask again with %autocode retry, or choose another model with -m. {FOR_SMALL_MODELS}",
        )
    error.__cause__ = CutOff(exchange)
    return error


def exchange_of(error: BaseException) -> Exchange | None:
    """The exchange with the answer that was cut off, if that is the cause of this error."""
    return error.__cause__.exchange if isinstance(error.__cause__, CutOff) else None


def stopped(question: Question, config: ModelConfig, spent: Usage, seconds: float) -> Exchange:
    """The exchange of a question whose caller stopped waiting. It is recorded, and asked again."""
    return Exchange(
        stage=question.stage,
        key=question_key(question, config),
        model=config.model,
        messages=tuple(dict(message) for message in question.messages),
        answer="",
        finish_reason=STOPPED,
        usage=spent,
        seconds=seconds,
    )


@dataclass(frozen=True)
class OnlyLonger:
    """A meter that allows a question only if its answer may be longer than the one that was cut off."""

    meter: Meter
    cut: Exchange

    @asynccontextmanager
    async def reserve(self, worst: WorstCase) -> AsyncIterator[Grant]:
        """Permission for one request.

        Raises:
            UnusableAnswer, BudgetSpent: the answer would be cut off again.
        """
        async with self.meter.reserve(worst) as grant:
            room = self.cut.room or 0
            if grant.room <= room:
                recorded = self.cut.as_replayed()
                why = f"It had {room:,} tokens. That is recorded in the journal."
                raise cut_off_error(recorded, why, shortened=room < worst.answer.output_tokens)
            yield grant


# Retries

_jitter = random.Random()
"""A separate generator: retries must not change the user's seeded sequence of random numbers."""


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with jitter.

    Args:
        tries: the maximum number of calls, including the first.
        first: seconds before the second call; doubled for each further call.
        longest: the maximum seconds of one pause that the service did not ask for.
        total: seconds after the start of the first call in which calls may begin.
    """

    tries: int = 6
    first: float = 1.0
    longest: float = 30.0
    total: float = 300.0

    def pause(self, failures: int, elapsed: float, retry_after: float | None, tries: int | None = None) -> float | None:
        """Seconds to wait after this many failures and `elapsed` seconds; None to give up."""
        if failures >= min(self.tries, tries or self.tries):
            return None
        backoff = min(self.first * 2.0 ** (failures - 1) * _jitter.uniform(0.5, 1.0), self.longest)
        seconds = max(backoff, retry_after or 0.0)
        return seconds if elapsed + seconds <= self.total else None
