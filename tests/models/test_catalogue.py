from __future__ import annotations

import subprocess
import sys

import pytest

from autocoder_jupyter.models import catalogue
from autocoder_jupyter.models.catalogue import known_models, known_providers, shared_family
from autocoder_jupyter.models.library import load


def test_models_are_listed_as_they_are_given() -> None:
    openai = known_models("openai")
    assert "openai/gpt-4.1" in openai
    assert all(model.startswith("openai/") for model in openai)
    assert openai == sorted(openai)
    assert "anthropic/claude-sonnet-4-5" in known_models()
    assert known_models("nobody") == []
    assert {"openai", "anthropic", "ollama"} <= set(known_providers())


def test_they_are_those_of_litellm_and_it_is_not_loaded_for_them() -> None:
    script = "import sys; from autocoder_jupyter.models.catalogue import known_models; print(len(known_models()), "
    done = subprocess.run(
        [sys.executable, "-c", f"{script}'litellm' in sys.modules)"], capture_output=True, text=True, check=True
    )
    chat = {
        (facts["litellm_provider"], name)
        for name, facts in load().model_cost.items()
        if facts.get("mode") == "chat" and facts.get("litellm_provider")
    }
    count, loaded = done.stdout.split()
    assert loaded == "False"
    assert 1000 < int(count) <= len(chat)


def test_without_a_table_no_names_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue._chat_models.cache_clear()
    monkeypatch.setattr(catalogue, "_TABLE", "no_such_file.json")
    assert known_models() == []
    catalogue._chat_models.cache_clear()


@pytest.mark.parametrize(
    ("one", "other", "family"),
    [
        ("anthropic/claude-sonnet-4-5", "bedrock/us.anthropic.claude-3-7-sonnet-20250219-v1:0", "Claude"),
        ("openai/gpt-4.1", "azure/o3-mini", "GPT"),
        ("openai/chatgpt-4o-latest", "openai/gpt-4.1", "GPT"),
        ("groq/deepseek-r1-distill-llama-70b", "deepseek/deepseek-chat", "DeepSeek"),
        ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5", ""),
        ("openai/our-own", "openai/our-own", "openai/our-own"),
        ("openai/our-own", "openai/another", ""),
    ],
)
def test_models_of_one_family_are_found_by_their_names(one: str, other: str, family: str) -> None:
    assert shared_family(one, other) == family
