"""The models that can be asked now: those whose key is there, and those of servers on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable

from autocoder_jupyter.errors import AuthenticationFailed, PriceUnknown, UnknownModel
from autocoder_jupyter.models import catalogue, keys, preflight
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.run.events import ModelOffer, ModelRefused, PriceAsked

_EXAMPLES = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-pro",
    "openai": "openai/gpt-4.1",
}
"""A model of these providers that writes code well; of others, the first one is named."""


async def offers() -> tuple[ModelOffer, ...]:
    """What can be asked. Takes a second at most."""
    found = []
    for provider, variables in preflight.KEYS.items():
        first = _EXAMPLES.get(provider) or next(iter(catalogue.known_models(provider)), "")
        given = next((name for name in variables if os.environ.get(name, "").strip()), "")
        if given or keys.typed(ModelConfig(first)):
            why = f"{given} is set." if given else f"The key for {provider} is in this kernel."
            found.append(ModelOffer(why, (first,) if first else ()))
    if os.environ.get(preflight.OLLAMA_ADDRESS, "").strip():  # it may be another machine, which is not looked at
        found.append(ModelOffer(f"{preflight.OLLAMA_ADDRESS} is set.", ()))
    for server in await catalogue.local_servers():
        where = f" at {server.api_base}" if server.api_base else ""
        has = "" if server.models else ", and has no model"
        text = f"{server.name} answers on this machine{where}{has}."
        found.append(ModelOffer(text, server.models, server.api_base or ""))
    return tuple(found)


async def offer_others(error: Exception, emit: Callable[[ModelRefused | PriceAsked], object]) -> None:
    """If an error means that a model cannot be asked with the key that is set, say which ones can; if it only has no
    price, ask for that.
    """
    if isinstance(error, PriceUnknown):
        emit(PriceAsked())
    if isinstance(error, AuthenticationFailed | UnknownModel):
        emit(ModelRefused(await offers()))
