from __future__ import annotations

import asyncio
from typing import Any

import pytest

from autocoder_jupyter.errors import ModelError
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.protocol import Question
from tests.scripted_model import Answer, ScriptedModel, by_marker, prompt_of


def asking(text: str) -> Question:
    return Question("code", ({"role": "system", "content": "Be brief."}, {"role": "user", "content": text}))


async def test_calls_side_by_side_each_get_their_own_answer() -> None:
    routes = {"CODE": ["code 1", "code 2"], "TESTS": ["tests 1"]}
    with ScriptedModel(by_marker(routes)) as endpoint:
        model = LiteLLMModel(endpoint.config())
        asked = [asking("the TESTS"), asking("the CODE"), asking("the CODE again")]
        tests, *codes = [each.answer for each in await asyncio.gather(*map(model.ask, asked))]
    assert tests == "tests 1"
    assert sorted(codes) == ["code 1", "code 2"]


async def test_a_function_may_answer() -> None:
    def script(request: dict[str, Any]) -> str | Answer:
        return prompt_of(request).upper()

    with ScriptedModel(script) as endpoint:
        assert (await LiteLLMModel(endpoint.config()).ask(asking("hi"))).answer == "BE BRIEF.\nHI"


async def test_what_is_not_foreseen_is_kept_and_never_retried() -> None:
    with ScriptedModel(by_marker({"CODE": []})) as endpoint:
        model = LiteLLMModel(endpoint.config())
        for text in ("nothing known", "the CODE"):
            with pytest.raises(ModelError):
                await model.ask(asking(text))
    assert [prompt_of(request) for request in endpoint.unforeseen] == [
        "Be brief.\nnothing known",
        "Be brief.\nthe CODE",
    ]


def test_waiting_for_requests_that_never_come_ends() -> None:
    with ScriptedModel() as endpoint, pytest.raises(TimeoutError, match="0 of 1"):
        endpoint.wait_for_requests(1, timeout=0.01)
