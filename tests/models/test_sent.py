"""The record of a request is what arrives at the service. It is written before the request, and contains no key."""

from __future__ import annotations

import pytest

from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.protocol import ModelConfig, Question
from autocoder_jupyter.models.questions import RequestReporter, SentRequest
from tests.scripted_model import Answer, ScriptedModel

QUESTION = Question("plan", ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße?"}))


@pytest.mark.parametrize("model", ["openai/scripted", "anthropic/claude-sonnet-4-5"])
async def test_each_request_is_noted_as_it_arrives(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-person-0123456789")
    noted: dict[int, SentRequest] = {}
    before: set[int] = set()

    def note(request: SentRequest) -> None:
        noted[request.number] = request
        if len(endpoint.requests) < len(noted):
            before.add(request.number)

    script: list[str | Answer] = [Answer(status=503), Answer("first half", finish_reason="length"), " and second"]
    with ScriptedModel(script) as endpoint:
        base = endpoint.root if model.startswith("anthropic") else endpoint.settings["api_base"]
        client = LiteLLMModel(ModelConfig(model, api_base=base), RetryPolicy(first=0.01), on_send=note)
        await client.ask(QUESTION)
    assert [dict(request.body) for request in noted.values()] == endpoint.requests
    assert len(noted) == 3 and before == set(noted)
    assert all(request.stage == "plan" and request.to.startswith(endpoint.root) for request in noted.values())
    assert "sk-of-the-person" not in repr(noted)


async def test_a_persons_further_parameters_are_noted_where_they_are_sent() -> None:
    noted: list[SentRequest] = []
    params = {"extra_body": {"user_tag": "t"}, "extra_headers": {"X-Key": "a-secret-of-mine"}}
    with ScriptedModel(["yes"]) as endpoint:
        await LiteLLMModel(endpoint.config(params=params), on_send=noted.append).ask(QUESTION)
    assert dict(noted[0].body) == endpoint.requests[0] and noted[0].body["user_tag"] == "t"
    assert "a-secret-of-mine" not in repr(noted)


async def test_who_cannot_note_a_request_says_so() -> None:
    def full(_: SentRequest) -> None:
        raise OSError("no space left")

    with ScriptedModel(["yes"]) as endpoint, pytest.raises(Exception, match="no space left"):
        await LiteLLMModel(endpoint.config(), RetryPolicy(tries=1), on_send=full).ask(QUESTION)


def test_what_litellm_does_not_announce_is_noted_as_it_was_handed_over() -> None:
    noted: list[SentRequest] = []
    reporter = RequestReporter("plan", "k", noted.append)
    reporter({"log_event_type": "post_api_call", "additional_args": None})
    reporter.require_reported(
        {"model": "m", "messages": [1], "api_key": "sk-1", "api_base": "https://me:pw@host.example:8/v1?key=abc"}
    )
    (request,) = noted
    assert (request.to, request.body) == ("https://host.example:8/v1", {"model": "m", "messages": [1]})
