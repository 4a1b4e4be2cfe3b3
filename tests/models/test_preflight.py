"""Certain failures are reported before litellm is imported, and nothing is refused that litellm would accept."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from autocoder_jupyter.errors import AuthenticationFailed, ModelError, ModelUnavailable, UnknownModel
from autocoder_jupyter.models import catalogue, library, preflight
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.protocol import ModelConfig, Question
from autocoder_jupyter.models.replay import ReplayingModel
from autocoder_jupyter.types import Exchange, Usage
from tests.cases import each as each_case
from tests.scripted_model import Answer, ScriptedModel

HASTE = RetryPolicy(tries=3, first=0.001, longest=0.05)


class Imported(Exception):
    """Raised when litellm would be imported."""


@pytest.fixture
def no_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise Imported

    monkeypatch.setattr(library, "preload", refuse)


@pytest.fixture(autouse=True)
def no_addresses_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OLLAMA_API_BASE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "USE_LITELLM_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port on which nothing listens, and which no other process gets."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


async def refusal(config: ModelConfig, question: Question) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await LiteLLMModel(config).ask(question)
    return caught.value


# Keys


@pytest.mark.parametrize("model", ["openai/gpt-4.1", "gpt-4.1", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"])
async def test_a_missing_key_is_said_without_litellm(no_litellm: None, question: Question, model: str) -> None:
    error = await refusal(ModelConfig(model), question)
    assert isinstance(error, AuthenticationFailed)
    assert "_API_KEY is not set" in error.why and "%autocode setup" in error.hint


async def test_an_empty_key_is_a_missing_one(
    no_litellm: None, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    assert isinstance(await refusal(ModelConfig("openai/gpt-4.1"), question), AuthenticationFailed)


async def test_a_named_variable_that_is_not_set_is_said_without_litellm(no_litellm: None, question: Question) -> None:
    error = await refusal(ModelConfig("openai/gpt-4.1", api_key="MY_KEY"), question)
    assert isinstance(error, AuthenticationFailed) and "MY_KEY" in error.why


async def test_an_answer_of_the_journal_needs_no_key(no_litellm: None, question: Question) -> None:
    recorded = Exchange(stage="plan", key="k", model="m", messages=(), answer="said before", usage=Usage(), seconds=1.0)

    class Store:
        is_empty = False

        def find(self, key: str) -> Exchange:
            return recorded

        def add(self, exchange: Exchange) -> None: ...

    model = ReplayingModel(LiteLLMModel(ModelConfig("openai/gpt-4.1")), Store())
    assert (await model.ask(question)).answer == "said before"


def test_the_keys_are_those_that_litellm_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = library.load()
    for provider, variables in preflight.KEYS.items():
        config = ModelConfig(f"{provider}/some-model")
        for variable in variables:
            monkeypatch.delenv(variable, raising=False)
        with pytest.raises(AuthenticationFailed):
            preflight.find_key(config, litellm)
        for variable in variables:
            with monkeypatch.context() as one:
                one.setenv(variable, "sesame")
                assert preflight.find_key(config, litellm) is None
                preflight.require_key(config)


@each_case(
    "config",
    [
        ModelConfig("openai/gpt-4.1", params={"api_key": "sesame"}),
        ModelConfig("openai/gpt-4.1", params={"api_base": "http://127.0.0.1:1/v1"}),
        ModelConfig("openai/gpt-4.1", params={"extra_headers": {"Authorization": "sesame"}}),
        ModelConfig("openai/gpt-4.1", api_base="http://127.0.0.1:1/v1"),
        ModelConfig("openai/gpt-4.1", params={"custom_llm_provider": "ollama"}),
        ModelConfig("bedrock/anthropic.claude-v2"),
        ModelConfig("azure/ours"),
        ModelConfig("vertex_ai/gemini-2.5-pro"),
        ModelConfig("ollama/qwen3-coder"),
    ],
)
def test_where_another_credential_may_do_no_key_is_asked_for(config: ModelConfig) -> None:
    preflight.require_key(config)


def test_what_was_told_to_litellm_itself_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = library.load()
    monkeypatch.setattr(litellm, "api_key", "sesame")
    preflight.require_key(ModelConfig("openai/gpt-4.1"))
    monkeypatch.setattr(litellm, "custom_provider_map", [{"provider": "ours", "custom_handler": object()}])
    preflight.require_provider(ModelConfig("ours/model"))


# Providers


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("opnai/gpt-4.1", "openai/gpt-4.1"),
        ("antropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("anthropc/claude-sonet-4", "Did you mean anthropic/claude-sonnet-4-"),
        ("gtp-4.1-mini", "gpt-4.1-mini"),
        ("olama/qwen3", "Did you mean ollama/…"),
        ("xyzzy", ""),
    ],
)
async def test_an_unknown_provider_is_said_without_litellm(
    no_litellm: None, question: Question, model: str, meant: str
) -> None:
    error = await refusal(ModelConfig(model), question)
    assert isinstance(error, UnknownModel)
    assert repr(model) in error.what and meant in error.hint and "provider/model" in error.hint


@pytest.mark.parametrize(
    "model",
    ["anthropc/claude-sonet-4", "opnai/my-model", "openai/my-model", "ollama/qwen3:4b", "gtp-4.1-mini", "claude-x"],
)
def test_only_known_models_are_suggested_as_a_whole(model: str) -> None:
    close = catalogue.near_names(model)
    assert len(close) <= 3 and set(close) <= {*catalogue.known_models(), *catalogue._owners()}
    assert ("my-model" in model or "qwen3" in model or "claude-x" in model) == (not close)
    assert "openai/" not in catalogue.unlisted("openai/my-model")


def test_the_providers_are_those_of_litellm() -> None:
    litellm = library.load()
    from litellm.llms.openai_like.json_loader import JSONProviderRegistry

    theirs = {str(getattr(each, "value", each)) for each in litellm.provider_list}
    assert catalogue.provider_names() == theirs | set(JSONProviderRegistry.list_providers())


def test_no_model_is_refused_that_litellm_would_ask() -> None:
    litellm = library.load()
    no_words = {name for name in litellm.model_list if name.startswith(("dall-e", "veo-"))} | litellm.baseten_models
    refused = []
    for name in {*litellm.model_cost, *litellm.model_list, *litellm.petals_models, *litellm.maritalk_models} - no_words:
        try:
            preflight.require_provider(ModelConfig(name))
        except UnknownModel:
            refused.append(name)
    for name in refused:
        with pytest.raises(litellm.exceptions.BadRequestError):
            litellm.get_llm_provider(name)


@each_case(
    "config",
    [
        ModelConfig("whatever/name", api_base="http://127.0.0.1:1/v1"),
        ModelConfig("whatever/name", params={"custom_llm_provider": "openai"}),
        ModelConfig("meta/llama-2-70b-chat:02e509c789964a7ea8736978a43525956ef40397be9033abf9fd2badfe68c9e3"),
        ModelConfig("ft:gpt-4.1:ours::abc"),
        ModelConfig("claude-newest-9"),
        ModelConfig("gpt-77"),
    ],
)
def test_what_litellm_may_find_a_provider_for_is_left_to_it(config: ModelConfig) -> None:
    preflight.require_provider(config)


def test_without_a_list_of_providers_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "provider_names", frozenset)
    preflight.require_provider(ModelConfig("whatever/name"))


# Addresses


async def test_a_stopped_ollama_is_said_without_litellm(
    no_litellm: None, question: Question, dead_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_BASE", f"http://localhost:{dead_port}")
    error = await refusal(ModelConfig("ollama/qwen3-coder"), question)
    assert isinstance(error, ModelUnavailable)
    assert f"localhost:{dead_port}" in error.what and "ollama serve" in error.hint


async def test_an_address_that_refuses_is_said_without_litellm(
    no_litellm: None, question: Question, dead_port: int
) -> None:
    for config in (
        ModelConfig("openai/ours", api_base=f"http://127.0.0.1:{dead_port}/v1"),
        ModelConfig("openai/ours", params={"base_url": f"http://127.0.0.1:{dead_port}/v1"}),
    ):
        error = await refusal(config, question)
        assert isinstance(error, ModelUnavailable)
        assert f"127.0.0.1:{dead_port}" in error.what and "refused" in error.why


async def test_an_address_without_a_machine_is_said_without_litellm(
    no_litellm: None, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = await refusal(ModelConfig("openai/ours", api_base="http://models.invalid/v1"), question)
    assert isinstance(error, ModelUnavailable) and "models.invalid" in error.why


async def test_a_slow_look_at_an_address_decides_nothing(
    no_litellm: None, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_slow(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", too_slow)
    with pytest.raises(Imported):
        await LiteLLMModel(ModelConfig("openai/ours", api_base="http://10.0.0.1/v1")).ask(question)


def test_behind_a_proxy_no_address_is_looked_at(dead_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
    preflight.require_address(ModelConfig("openai/ours", api_base=f"http://models.invalid:{dead_port}/v1"))


async def test_only_the_first_question_looks_so_that_later_faults_are_waited_out(
    question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[ModelConfig] = []
    monkeypatch.setattr(preflight, "check", looked.append)
    with ScriptedModel(["yes", Answer(status=503), "yes"]) as endpoint:
        model = LiteLLMModel(endpoint.config(), HASTE)
        await model.ask(question)
        await model.ask(question)
    assert looked == [endpoint.config()]


# The client


async def test_it_is_told_while_the_client_is_loaded(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    with ScriptedModel(["yes", Answer("yes")]) as endpoint:
        model = LiteLLMModel(endpoint.config(), on_loading=told.append)
        library.load()
        await model.ask(question)
        assert told == []
        monkeypatch.setattr(library, "_litellm", None)
        await model.ask(question)
        assert told == [True, False]


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_proxy_between_this_machine_and_a_model_on_it_is_told(
    variable: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://user:sesame@proxy.invalid:3128")
    monkeypatch.setenv("NO_PROXY", "intern.example")
    config = ModelConfig("openai/small", api_base=f"http://{host}:8000/v1")
    with pytest.raises(ModelUnavailable, match="would go to a proxy") as caught:
        preflight.check(config)
    assert variable in caught.value.why and f"%env NO_PROXY=intern.example,{host}," in caught.value.hint
    assert "sesame" not in str(caught.value)


def test_a_proxy_that_does_not_come_between_is_not_told(dead_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel() as endpoint:
        monkeypatch.setenv("HTTP_PROXY", f"127.0.0.1:{endpoint.port}")  # a proxy on this machine
        preflight.check(endpoint.config())
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{dead_port}")
        with pytest.raises(ModelUnavailable, match="would go to a proxy"):
            preflight.check(endpoint.config())
        monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        preflight.check(endpoint.config())
