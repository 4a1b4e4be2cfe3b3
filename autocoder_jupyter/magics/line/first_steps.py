"""`%autocode setup`: choose a model and the other settings by answering questions, and make one test call; or show what
is chosen, and whether it works.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.errors import AuthenticationFailed, InvalidRequest
from autocoder_jupyter.magics.command import Arguments
from autocoder_jupyter.magics.doctor import examine, shown
from autocoder_jupyter.magics.line.information import show_check, show_settings
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.settings import suggestion
from autocoder_jupyter.settings.config import NO_KEY, OWN_PRICES
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.models.protocol import ModelConfig
    from autocoder_jupyter.run.events import ModelOffer
    from autocoder_jupyter.types import Exchange

YES = "yes"

_OF_A_MODEL = ("model", "api_key", "api_base", "litellm_params")

TRIAL_SECONDS = 60.0
"""How long a test call waits for the first word."""

TEST = "Answer with the single word: ready"

_USUAL = "usual"
"""The answer that removes an address."""

_SHOWN = 3
"""Models of a local server that are printed."""


def setup(notebook: Notebook, arguments: Arguments) -> None:
    """Choose the settings, or show what is chosen and whether it works."""
    part = arguments.positional[0] if arguments.positional else ""
    if part not in _PARTS:
        raise InvalidRequest(f"%autocode setup has no {visible(part)!r}.", hint=suggestion(part, filter(None, _PARTS)))
    _PARTS[part](notebook)


def _ask_all(notebook: Notebook) -> None:
    """Ask for the settings, make a test call, use them in this session, and show how to keep them.

    A key that is typed stays in the memory of this kernel. No file is written.
    """
    if notebook.is_headless:
        raise InvalidRequest(
            "%autocode setup asks questions, and there is no user to answer them.",
            hint="%autocode setup check shows what is set. Set the rest: %config Autocode.model = 'provider/model'.",
        )
    from autocoder_jupyter.concurrency import background
    from autocoder_jupyter.models.offers import offers

    chosen: dict[str, Any] = {}
    found = background.run(offers())
    for one in found:
        print(_line(one))
    if not found:
        print("No key of a provider is set, and no local server answers. %autocode models PROVIDER lists models.")
    _ask_for(notebook, chosen, "model", "Model, as provider/model")
    if not _use_address(notebook, chosen, found):
        _ask_for_address(notebook, chosen, found)
    has_typed = _ask_for_key(notebook, chosen)
    _ask_for_price(notebook, chosen)
    _ask_for(notebook, chosen, "share", f"What is sent of your data ({', '.join(SETTINGS['share'].choices)})")
    _ask_for(notebook, chosen, "sandbox", f"Sandbox ({', '.join(SETTINGS['sandbox'].choices)})")
    model = notebook.settings(chosen)["model"]
    if _typed(f"Send one short question to {visible(model)} as a test? Type {YES}, or nothing to skip it: ") == YES:
        has_typed = _try(notebook, chosen) or has_typed
    if has_typed:
        _offer_to_keep(_config(notebook, chosen))
    for name, value in chosen.items():
        setattr(notebook.traits, name, value)
    notebook.show(*shown([row for row in examine(notebook.settings()) if row.used]))
    _show_how_to_keep(notebook, chosen)


def _line(one: ModelOffer) -> str:
    more = f" and {len(one.models) - _SHOWN} more" if len(one.models) > _SHOWN else ""
    return visible(one.text + (f" For example {', '.join(one.models[:_SHOWN])}{more}" if one.models else ""))


def _use_address(notebook: Notebook, chosen: dict[str, Any], found: Sequence[ModelOffer]) -> bool:
    """Set the address of the chosen model, if a server on this machine has it. It costs nothing and gets no key;
    without that setting, it would get the key of OpenAI, if there is one.

    The address of such a server, that was set before, is not kept for a model of another. Returns whether this decided
    the address.
    """
    settings = notebook.settings(chosen)
    model, set_before = settings["model"], settings["api_base"]
    address = next((one.api_base for one in found if one.api_base and model in one.models), "")
    if "model" not in chosen or address == (set_before or ""):
        return bool(address)
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


def _ask_for_address(notebook: Notebook, chosen: dict[str, Any], found: Sequence[ModelOffer]) -> None:
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


def _ask_for_key(notebook: Notebook, chosen: dict[str, Any]) -> bool:
    """Ask for a key if there is none. Returns whether one was typed."""
    from autocoder_jupyter.models import preflight

    config = _config(notebook, chosen)
    preflight.require_provider(config)
    try:
        preflight.recall_key(config)
        preflight.require_key(config)
    except AuthenticationFailed as error:
        print(error.why)
        return _read_key(chosen, config)
    return False


def _read_key(chosen: dict[str, Any], config: ModelConfig) -> bool:
    """Ask for a key, which is not shown, or for the name of a variable that holds it. Returns whether one was typed."""
    from autocoder_jupyter.models import keys

    place = visible(" at ".join(filter(None, keys.place_of(config))))
    words = f"Key for {place}, or the NAME of a variable that holds it (what you type is not shown): "
    while typed := _typed(words, getpass.getpass):
        try:
            if os.environ.get(typed):
                chosen["api_key"] = SETTINGS["api_key"].checked(typed, "api_key")
                return False
            keys.use(config, typed)
            return True
        except InvalidRequest as wrong:
            print(wrong)
    return False


def _offer_to_keep(config: ModelConfig) -> None:
    """Write a key into the system's keyring, if there is one and the user wants that."""
    from autocoder_jupyter.models import keys

    keyring = keys.keyring_name()
    words = f"Keep it in {keyring}? Type {YES}, or nothing to use it until this kernel ends: "
    if keyring and _typed(words) == YES:
        keys.keep(config)
    else:
        print("It is in the memory of this kernel until that ends, and in no file.")


def _config(notebook: Notebook, chosen: Mapping[str, Any]) -> ModelConfig:
    """The model of the settings with what was chosen."""
    from autocoder_jupyter.agent.generation import reached

    config = notebook.settings(chosen).agent_config()
    return reached(config, config.model)


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


def try_model(config: ModelConfig) -> Exchange:
    """Ask a model one short question, without further tries.

    Raises:
        ModelError: it cannot be asked. A key that was typed and is refused is forgotten.
    """
    from autocoder_jupyter.concurrency import background
    from autocoder_jupyter.models import keys
    from autocoder_jupyter.models.client import LiteLLMModel
    from autocoder_jupyter.models.faults import RetryPolicy
    from autocoder_jupyter.models.process import RemoteModel
    from autocoder_jupyter.models.protocol import Question

    config = replace(config, seconds=TRIAL_SECONDS)
    model = RemoteModel(LiteLLMModel(config, RetryPolicy(tries=1)))
    question = Question("test", ({"role": "user", "content": TEST},), max_tokens=1000)
    try:
        return background.run(model.ask(question))
    except AuthenticationFailed:
        keys.use(config, "")
        raise


def _try(notebook: Notebook, chosen: dict[str, Any]) -> bool:
    """Make a test call; ask for another key if the one that was sent is refused. Returns whether one was typed."""
    has_typed = False
    while True:
        try:
            exchange = try_model(_config(notebook, chosen))
            break
        except AuthenticationFailed as error:
            print(error)
            has_typed = _read_key(chosen, _config(notebook, chosen))
            if not has_typed and "api_key" not in chosen:
                raise
    cost = "cost unknown" if exchange.usage.cost is None else f"${exchange.usage.cost:.4f}"
    print(f"{answers(exchange)}, {exchange.usage.input_tokens + exchange.usage.output_tokens} tokens, {cost}")
    return has_typed


def choose(notebook: Notebook, given: Mapping[str, Any], key: str, *, keeps: bool) -> str:
    """Use a model of a form, with a key if one was typed, if it answers. Returns that, in words.

    `given` has the settings of the model; what is not set elsewhere already is set for this session. With `keeps`, the
    system's keyring gets the key.

    Raises:
        ModelError: it cannot be asked.
        InvalidRequest: a setting has an invalid value, or the keyring refuses.
    """
    from autocoder_jupyter.models import keys

    chosen = {name: SETTINGS[name].checked(given[name], name) for name in _OF_A_MODEL if given.get(name)}
    config = _config(notebook, chosen)
    if key:
        address = keys.place_of(config).address
        if address != str(chosen.get("api_base", "")).rstrip("/"):  # a key goes only where its user said
            raise InvalidRequest(
                f"Requests to this model go to {visible(address)}, and the key would too.",
                why="This address is set elsewhere. Nothing was sent.",
                hint="Fill it in under 'a server of your own' if you mean it. %autocode setup settings says where "
                "api_base is set.",
            )
        keys.use(config, key)
    exchange = try_model(config)
    if key and keeps:
        keys.keep(config)
    now = notebook.settings()
    for name, value in chosen.items():
        if now[name] != value:
            setattr(notebook.traits, name, value)
    return answers(exchange)


def answers(exchange: Exchange) -> str:
    """`✓ openai/gpt-4.1 answers (1.2 s)`."""
    return f"✓ {visible(exchange.model)} answers ({exchange.seconds:.1f} s)"


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


_PARTS: Mapping[str, Callable[[Notebook], None]] = {"": _ask_all, "check": show_check, "settings": show_settings}


def _typed(question: str, ask: Callable[[str], str] | None = None) -> str:
    try:
        return (ask or input)(question).strip()
    except (EOFError, KeyboardInterrupt):
        raise InvalidRequest(
            "Nothing was changed, because not all questions were answered.", hint="%autocode setup asks again."
        ) from None
