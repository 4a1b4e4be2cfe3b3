from __future__ import annotations

import sys

import pytest

from autocoder_jupyter.errors import InvalidRequest, ModelError
from autocoder_jupyter.models import library, preflight
from autocoder_jupyter.models.catalogue import known_models
from autocoder_jupyter.models.library import cost_of, describe, require_price
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.types import Usage
from tests.cases import each


def test_a_known_model_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sesame-open")
    facts = describe(ModelConfig("anthropic/claude-sonnet-4-5"))
    assert facts == {
        "model": "anthropic/claude-sonnet-4-5",
        "provider": "anthropic",
        "api_base": None,
        "key_variable": "ANTHROPIC_API_KEY",
        "key_typed": False,
        "key_set": True,
        "context_window": 200000,
        "max_output": 64000,
        "input_price": 3.0,
        "output_price": 15.0,
        "structured_output": "json_schema",
    }
    assert "sesame" not in str(facts)


def test_a_key_that_is_missing_is_named() -> None:
    facts = describe(ModelConfig("gpt-4.1"))
    assert (facts["provider"], facts["key_variable"], facts["key_set"]) == ("openai", "OPENAI_API_KEY", False)


def test_the_persons_own_variable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "x")
    facts = describe(ModelConfig("openai/gpt-4.1", api_key="MY_KEY"))
    assert (facts["key_variable"], facts["key_set"]) == ("MY_KEY", True)


@pytest.mark.parametrize("model", ["nonsense", "openai/scripted"])
def test_of_an_unknown_model_nothing_is_made_up(model: str) -> None:
    facts = describe(ModelConfig(model))
    assert facts["context_window"] is None
    assert facts["input_price"] is None


USAGE = Usage(input_tokens=1000, cached_tokens=400, output_tokens=10)


@each(
    ("model", "cost"),
    [
        ("openai/gpt-4.1", (600 * 2 + 400 * 0.5 + 10 * 8) / 1e6),
        ("anthropic/claude-sonnet-4-5", (600 * 3 + 400 * 0.3 + 10 * 15) / 1e6),
        ("ollama/llama3", 0.0),
        ("openai/scripted", None),
        ("heroku/claude-4-sonnet", None),
        ("nonsense", None),
    ],
)
def test_an_unknown_cost_is_not_zero(model: str, cost: float | None) -> None:
    assert cost_of(USAGE, ModelConfig(model), library.load()) == (cost if cost is None else pytest.approx(cost))


def test_the_persons_own_prices_come_first() -> None:
    own = ModelConfig("openai/gpt-4.1", params={"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6})
    assert cost_of(USAGE, own, library.load()) == pytest.approx(1000e-6 + 20e-6)
    assert (describe(own)["input_price"], describe(own)["output_price"]) == (1.0, 2.0)


def test_a_model_of_ones_own_may_cost_nothing() -> None:
    free = ModelConfig("openai/scripted", params={"input_cost_per_token": 0, "output_cost_per_token": 0})
    assert cost_of(USAGE, free, library.load()) == 0.0
    require_price(free, library.load())


def test_prices_that_a_person_chose_are_for_one_model_at_one_address() -> None:
    mine, priced = ModelConfig("openai/mine", api_base="http://127.0.0.1:9/v1"), {"input_cost_per_token": 1.0}
    try:
        preflight.use_prices(mine, (1e-6, 2e-6))
        assert cost_of(USAGE, mine, library.load()) == pytest.approx(1000e-6 + 20e-6)
        assert cost_of(USAGE, ModelConfig("openai/mine"), library.load()) is None
        assert cost_of(USAGE, ModelConfig("openai/other", api_base=mine.api_base), library.load()) is None
        own = ModelConfig("openai/mine", api_base=mine.api_base, params={**priced, "output_cost_per_token": 0})
        assert cost_of(USAGE, own, library.load()) == 1000.0
    finally:
        preflight.use_prices(mine, None)
    assert preflight.own_prices(mine) is None
    for wrong in ((-1.0, 0.0), (0.0, float("inf")), (0.0, float("nan")), (True, 0.0)):
        with pytest.raises(InvalidRequest, match="must be a number"):
            preflight.use_prices(mine, wrong)


@pytest.mark.parametrize(
    "params",
    [{"input_cost_per_token": 1e-6}, dict.fromkeys(("input_cost_per_token", "output_cost_per_token"), "cheap")],
    ids=["half a price", "no number"],
)
def test_what_is_no_price_is_not_taken_for_one(params: dict[str, object]) -> None:
    with pytest.raises(ModelError, match="price of openai/scripted is not known") as error:
        require_price(ModelConfig("openai/scripted", params=params), library.load())
    assert "input_cost_per_token" in error.value.hint


def test_no_price_is_refused_that_litellm_would_find(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = library.load()
    monkeypatch.delitem(sys.modules, "litellm")
    with pytest.raises(ModelError):
        preflight.require_price(ModelConfig("openai/scripted"))
    refused = []
    for name in known_models():
        try:
            preflight.require_price(ModelConfig(name, api_base="http://127.0.0.1:9/v1"))
        except ModelError:
            refused.append(name)
    assert [name for name in refused if cost_of(USAGE, ModelConfig(name), litellm) is not None] == []


def test_the_lines_for_a_price_keep_the_other_parameters_and_do_not_repeat_their_values() -> None:
    hint = preflight.no_price(ModelConfig("openai/mine", params={"api_key": "sk-secret", "top_p": 0.5})).hint
    assert "{'api_key': …, 'top_p': …, 'input_cost_per_token': 0, 'output_cost_per_token': 0}" in hint
    assert "secret" not in hint
