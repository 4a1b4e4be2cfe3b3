"""`%autocode setup`: choose a model and the other settings by answering questions, and make one test call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter.errors import AuthenticationFailed, InvalidRequest
from autocoder_jupyter.magics.command import Arguments
from autocoder_jupyter.magics.doctor import examine, shown
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.settings.config import NO_KEY, OWN_PRICES
from autocoder_jupyter.untrusted.visible import visible

YES = "yes"
TEST = "Answer with the single word: ready"

_USUAL = "usual"
"""The answer that removes an address."""

_SHOWN = 3
"""Models of a local server that are printed."""

_EXAMPLES = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-pro",
    "openai": "openai/gpt-4.1",
}
"""A model of these providers that writes code well; of others, the first one is named."""


@dataclass(frozen=True)
class Ready:
    """Models that can be asked now.

    Args:
        api_base: the address that must be set for them; None for the usual one.
    """

    text: str
    models: tuple[str, ...]
    api_base: str | None = None


def setup(notebook: Notebook, arguments: Arguments) -> None:
    """Ask for the settings, make a test call, use them in this session, and show how to keep them.

    No key is asked for, only the name of its variable. No file is written.
    """
    if notebook.is_headless:
        raise InvalidRequest(
            "%autocode setup asks questions, and there is no user to answer them.",
            hint="%autocode doctor shows what is set. Set the rest: %config Autocode.model = 'provider/model'.",
        )
    chosen: dict[str, Any] = {}
    found = ready()
    for one in found:
        print(_line(one))
    if not found:
        print("No key of a provider is set, and no local server answers. %autocode models PROVIDER lists models.")
    _ask_for(notebook, chosen, "model", "Model, as provider/model")
    if not _use_address(notebook, chosen, found):
        _ask_for_address(notebook, chosen, found)
    _ask_for_key(notebook, chosen)
    _ask_for_price(notebook, chosen)
    _ask_for(notebook, chosen, "share", f"What is sent of your data ({', '.join(SETTINGS['share'].choices)})")
    _ask_for(notebook, chosen, "sandbox", f"Sandbox ({', '.join(SETTINGS['sandbox'].choices)})")
    model = notebook.settings(chosen)["model"]
    if _typed(f"Send one short question to {visible(model)} as a test? Type {YES}, or nothing to skip it: ") == YES:
        _test(notebook, chosen)
    for name, value in chosen.items():
        setattr(notebook.traits, name, value)
    notebook.show(*shown([row for row in examine(notebook.settings()) if row.used]))
    _show_how_to_keep(notebook, chosen)


def ready() -> list[Ready]:
    """The providers whose key is set, and the servers on this machine that answer. Takes a second at most."""
    from autocoder_jupyter.concurrency import background
    from autocoder_jupyter.models import preflight
    from autocoder_jupyter.models.catalogue import known_models, local_servers

    found = []
    for provider, variables in preflight.KEYS.items():
        given = next((name for name in variables if os.environ.get(name, "").strip()), "")
        if given:
            first = _EXAMPLES.get(provider) or next(iter(known_models(provider)), "")
            found.append(Ready(f"{given} is set.", (first,) if first else ()))
    if os.environ.get(preflight.OLLAMA_ADDRESS, "").strip():  # it may be another machine, which is not looked at
        found.append(Ready(f"{preflight.OLLAMA_ADDRESS} is set.", ()))
    for server in background.run(local_servers()):
        where = f" at {server.api_base}" if server.api_base else ""
        has = "" if server.models else ", and has no model"
        found.append(Ready(f"{server.name} answers on this machine{where}{has}.", server.models, server.api_base))
    return found


def _line(one: Ready) -> str:
    more = f" and {len(one.models) - _SHOWN} more" if len(one.models) > _SHOWN else ""
    return visible(one.text + (f" For example {', '.join(one.models[:_SHOWN])}{more}" if one.models else ""))


def _use_address(notebook: Notebook, chosen: dict[str, Any], found: Sequence[Ready]) -> bool:
    """Set the address of the chosen model, if a server on this machine has it. It costs nothing and gets no key;
    without that setting, it would get the key of OpenAI, if there is one.

    The address of such a server, that was set before, is not kept for a model of another. Returns whether this decided
    the address.
    """
    settings = notebook.settings(chosen)
    model, set_before = settings["model"], settings["api_base"]
    address = next((one.api_base for one in found if one.api_base and model in one.models), None)
    if "model" not in chosen or address == set_before:
        return address is not None
    if address:
        print(f"The server at {address} is asked. It gets no key.")
        chosen["api_base"] = address
        chosen["litellm_params"] = {**settings["litellm_params"], "api_key": NO_KEY, **dict.fromkeys(OWN_PRICES, 0.0)}
    elif set_before in [one.api_base for one in found] and settings.origins["api_base"] == "%config":
        chosen["api_base"] = None
        chosen["litellm_params"] = {
            name: value
            for name, value in settings["litellm_params"].items()
            if name not in OWN_PRICES and (name, value) != ("api_key", NO_KEY)
        }
    return "api_base" in chosen


def _ask_for_address(notebook: Notebook, chosen: dict[str, Any], found: Sequence[Ready]) -> None:
    """Ask for the address of a server, if one is set or the model may have one of its own."""
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.models import preflight

    settings = notebook.settings(chosen)
    config = settings.agent_config()
    preflight.require_provider(reached(config, config.model))
    is_ready = any(config.model in one.models for one in found)
    if not config.api_base and (is_ready or not preflight.may_have_own_server(config.model)):
        return
    removable = bool(config.api_base) and settings.origins["api_base"] == "%config"
    removing = f" Type {_USUAL} for the provider's own." if removable else ""
    words = (
        f"Address of your own server, such as http://localhost:8000/v1; it gets your requests and the key.{removing}"
    )
    _ask_for(notebook, chosen, "api_base", words.removesuffix("."), removed_by=_USUAL if removable else "")


def _ask_for(notebook: Notebook, chosen: dict[str, Any], name: str, words: str, *, removed_by: str = "") -> None:
    """Ask until the answer is valid. An empty answer keeps the current value, and `removed_by` removes it."""
    option, settings = SETTINGS[name], notebook.settings(chosen)
    now = f"{settings[name]} ({settings.origins[name]})" if settings[name] else "not set"
    while answer := _typed(f"{words}. Press Enter to keep {visible(now)}: "):
        try:
            chosen[name] = None if answer == removed_by else option.checked(answer, name)
            return
        except InvalidRequest as error:
            print(error)


def _ask_for_key(notebook: Notebook, chosen: dict[str, Any]) -> None:
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.models import preflight

    config = notebook.settings(chosen).agent_config()
    preflight.require_provider(reached(config, config.model))
    try:
        preflight.require_key(reached(config, config.model))
    except AuthenticationFailed as error:
        print(error.why)
        _ask_for(notebook, chosen, "api_key", "NAME of the environment variable with the key, not the key itself")


def _ask_for_price(notebook: Notebook, chosen: dict[str, Any]) -> None:
    """Ask for the price of a token if it is unknown. Other parameters that are set are left alone."""
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.models.library import describe

    config = notebook.settings(chosen).agent_config()
    if config.litellm_params or describe(reached(config, config.model))["input_price"] is not None:
        return
    prices = [
        _number(_typed(f"The price is not known. US dollars for a million {kind} tokens, 0 if it is free: "))
        for kind in ("input", "output")
    ]
    if None not in prices:
        chosen["litellm_params"] = {name: (price or 0.0) / 1e6 for name, price in zip(OWN_PRICES, prices, strict=True)}
    else:
        print("The price stays unknown, so a limit in dollars (--max-cost) is refused. --max-tokens works.")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e6 else None


def _test(notebook: Notebook, chosen: Mapping[str, Any]) -> None:
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.concurrency import background
    from autocoder_jupyter.models.client import LiteLLMModel
    from autocoder_jupyter.models.process import RemoteModel
    from autocoder_jupyter.models.protocol import Question

    config = notebook.settings(chosen).agent_config()
    model = RemoteModel(LiteLLMModel(reached(config, config.model)))

    async def asked() -> str:
        await model.preflight()
        exchange = await model.ask(Question("test", ({"role": "user", "content": TEST},), max_tokens=1000))
        usage = exchange.usage
        cost = "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"
        return (
            f"It answered: {visible(exchange.answer)[:80]} ({usage.input_tokens + usage.output_tokens} tokens, {cost})"
        )

    print(background.run(asked()))


def _show_how_to_keep(notebook: Notebook, chosen: Mapping[str, Any]) -> None:
    if not chosen:
        print("Nothing was changed.")
        return
    profile = getattr(getattr(notebook.shell, "profile_dir", None), "location", None)
    place = Path(profile) / "ipython_config.py" if profile else Path("ipython_config.py")
    print(f"Used until this kernel ends. No file was written. To keep it, put this into {visible(place)}:")
    print("c = get_config()")
    for name, value in chosen.items():
        print(visible(f"c.Autocode.{name} = {value!r}"))


def _typed(question: str) -> str:
    try:
        return input(question).strip()
    except (EOFError, KeyboardInterrupt):
        raise InvalidRequest(
            "Nothing was changed, because not all questions were answered.", hint="%autocode setup asks again."
        ) from None
