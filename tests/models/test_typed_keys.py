"""Keys that a person typed: where they are sent, and where they are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

from autocoder_jupyter.errors import AuthenticationFailed, InvalidRequest
from autocoder_jupyter.models import keys, preflight
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.process import Order, RemoteModel
from autocoder_jupyter.models.protocol import ModelConfig, Question
from tests.cases import each
from tests.scripted_model import Answer, ScriptedModel

KEY = "sk-typed-by-a-person"
QUESTION = Question("plan", ({"role": "user", "content": "How are you?"},))
GPT = ModelConfig("openai/gpt-4.1")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "USE_LITELLM_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(keys, "_typed", {})
    monkeypatch.setattr(keys, "_looked_up", set())
    yield


def at(model: ScriptedModel) -> ModelConfig:
    return replace(model.config(), api_key=None, params={})


def ask(config: ModelConfig) -> RemoteModel:
    return RemoteModel(LiteLLMModel(config, RetryPolicy(tries=1)))


@each(
    ("config", "variables", "is_found"),
    [
        (GPT, {}, True),
        (ModelConfig("gpt-4.1"), {}, True),
        (ModelConfig("openai/gpt-5"), {}, True),
        (ModelConfig("anthropic/claude-sonnet-4-5"), {}, False),
        (replace(GPT, api_base="http://elsewhere/v1"), {}, False),
        (replace(GPT, params={"base_url": "http://elsewhere/v1"}), {}, False),
        (replace(GPT, params={"custom_llm_provider": "groq"}), {}, False),
        (GPT, {"OPENAI_BASE_URL": "http://elsewhere/v1"}, False),
        (GPT, {"OPENAI_API_BASE": "http://elsewhere/v1"}, False),
        (GPT, {"USE_LITELLM_PROXY": "true"}, False),
        (GPT, {"ANTHROPIC_BASE_URL": "http://elsewhere/v1"}, True),
    ],
    ids=str,
)
def test_a_key_belongs_to_one_provider_at_one_address(
    config: ModelConfig, variables: dict[str, str], is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.use(GPT, KEY)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (keys.typed(config) == KEY) == is_found


async def test_it_is_sent_to_its_address_and_to_no_other() -> None:
    with ScriptedModel(["one"]) as meant, ScriptedModel(["two"]) as other:
        keys.use(at(meant), KEY)
        await ask(at(meant)).ask(QUESTION)
        await ask(at(other)).ask(QUESTION)
        assert meant.headers[0]["authorization"] == f"Bearer {KEY}"
        assert KEY not in str(other.headers)
        keys.use(at(meant), "")
    assert keys.typed(at(meant)) is None


async def test_it_takes_the_place_of_a_variable_that_is_not_set() -> None:
    keys.use(replace(GPT, api_key="NO_SUCH_VARIABLE"), KEY)
    preflight.require_key(replace(GPT, api_key="NO_SUCH_VARIABLE"))
    preflight.require_key(GPT)
    with pytest.raises(AuthenticationFailed):
        preflight.require_key(ModelConfig("anthropic/claude-sonnet-4-5"))


async def test_an_error_does_not_repeat_it() -> None:
    refusal = Answer(status=401, error=f"Incorrect API key provided: {KEY}.")
    with ScriptedModel([refusal, refusal]) as model:
        keys.use(at(model), KEY)
        for asked in (ask(at(model)), LiteLLMModel(at(model), RetryPolicy(tries=1))):
            with pytest.raises(AuthenticationFailed, match="refuses the key that was typed") as caught:
                await asked.ask(QUESTION)
            assert "Incorrect API key provided: <key>" in str(caught.value)
            assert KEY not in str(caught.value)
    assert KEY not in repr(Order(GPT, RetryPolicy(), False, QUESTION, False, key=KEY))


@pytest.mark.parametrize("text", ["two words", "a\r\nx-header: 1", "clé-secrète", "abc"])
def test_what_cannot_be_a_key_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot be a key") as caught:
        keys.use(GPT, text)
    assert text not in str(caught.value)


# The system's keyring


class Backend:
    """Stands for a keyring of a system, which no test machine has."""

    held: dict[tuple[str, str], str]

    def set_password(self, service: str, name: str, key: str) -> None:
        self.held[service, name] = key

    def get_password(self, service: str, name: str) -> str | None:
        return self.held.get((service, name))


def install(monkeypatch: pytest.MonkeyPatch, module: str) -> Any:
    kind: Any = type("Keyring", (Backend,), {"__module__": module, "held": {}})
    backend = kind()
    library: Any = ModuleType("keyring")
    library.get_keyring = lambda: backend
    library.__spec__ = ModuleSpec("keyring", None)
    monkeypatch.setitem(sys.modules, "keyring", library)
    return backend


def test_a_key_in_the_systems_keyring_is_found_by_the_next_kernel_for_the_same_place_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = install(monkeypatch, "keyring.backends.SecretService")
    assert keys.keyring_name() == "the system's keyring"
    keys.use(GPT, KEY)
    assert backend.held == {}, "only where a person wants it"
    keys.keep(GPT)
    assert backend.held == {("autocoder-jupyter", "openai "): KEY}
    keys._typed.clear()
    elsewhere = replace(GPT, params={"base_url": "http://elsewhere/v1"})
    assert not preflight.recall_key(elsewhere)
    assert preflight.recall_key(GPT)
    assert keys.typed(GPT) == KEY


@pytest.mark.parametrize("module", ["keyrings.alt.file", "keyring.backends.fail", "keyring.backends.null"])
def test_a_keyring_that_may_write_a_file_is_not_used(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    backend = install(monkeypatch, module)
    keys.use(GPT, KEY)
    assert keys.keyring_name() == ""
    with pytest.raises(InvalidRequest, match="could not be written"):
        keys.keep(GPT)
    assert backend.held == {}


def test_a_locked_keyring_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = install(monkeypatch, "keyring.backends.macOS")
    backend.get_password = lambda service, name: 1 / 0
    assert not preflight.recall_key(GPT)
