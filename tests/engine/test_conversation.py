"""What the engine's conversation tells about answers that did not come to their end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.conversation import Conversation
from autocoder_jupyter.engine.journal import Journal, conversation
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import CUT_OFF, RetryPolicy
from autocoder_jupyter.models.protocol import Listener, Question
from autocoder_jupyter.run.events import Event, Noticed, TokensUsed
from autocoder_jupyter.types import STOPPED
from tests.model_faults import WORDS, chunk, for_ever
from tests.scripted_model import Answer, ScriptedModel, always

SAID = [chunk({"content": word}) for word in WORDS]
ASKED = Question("code", ({"role": "user", "content": "Write it."},), max_tokens=200)


def used(events: list[Event]) -> list[TokensUsed]:
    return [event for event in events if isinstance(event, TokensUsed)]


async def test_an_answer_without_end_is_shown_with_its_tokens_and_kept() -> None:
    events: list[Event] = []
    budget = Budget()
    with ScriptedModel(always(Answer(wire=for_ever(*SAID)))) as endpoint, pytest.raises(UnusableAnswer):
        conversation = Conversation(LiteLLMModel(endpoint.config(), RetryPolicy(tries=1)), budget, events.append)
        await conversation.ask(ASKED)
    (told,) = used(events)
    assert told.usage == told.total == budget.used and told.usage.output_tokens > 200
    (kept,) = conversation.exchanges
    assert kept.finish_reason == CUT_OFF and kept.answer.startswith(WORDS[0])


async def test_the_tokens_before_a_cancel_are_shown() -> None:
    events: list[Event] = []
    budget, begun = Budget(), asyncio.Event()
    with ScriptedModel(always(Answer(wire=for_ever(*SAID, pace=0.001)))) as endpoint:
        conversation = Conversation(LiteLLMModel(endpoint.config(), RetryPolicy(tries=1)), budget, events.append)
        asking = asyncio.ensure_future(conversation.ask(ASKED, Listener(on_text=lambda _: begun.set())))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    (told,) = used(events)
    assert told.usage == budget.used and told.usage.output_tokens > 0
    (kept,) = conversation.exchanges
    assert (kept.finish_reason, kept.usage) == (STOPPED, budget.used)


async def test_a_question_that_was_stopped_before_anything_came_is_in_the_conversation_and_in_the_tokens() -> None:
    events: list[Event] = []
    budget = Budget()
    with ScriptedModel(always(Answer(wire=for_ever(b": keep-alive\n\n", pace=0.01)))) as endpoint:
        conversation = Conversation(LiteLLMModel(endpoint.config(), RetryPolicy(tries=1)), budget, events.append)
        asking = asyncio.ensure_future(asyncio.wait_for(conversation.ask(ASKED), 60))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    (told,), (kept,) = used(events), conversation.exchanges
    assert kept.finish_reason == STOPPED and kept.messages == ({"role": "user", "content": "Write it."},)
    assert told.usage == kept.usage == budget.used == conversation.spent
    assert kept.usage.input_tokens > 0


async def test_a_question_that_was_stopped_is_in_the_conversation_after_a_restart_and_is_asked_again(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / ".autocode", "growth")
    journal.begin("k")
    with ScriptedModel(always(Answer(wire=for_ever(b": keep-alive\n\n", pace=0.01)))) as endpoint:
        model = LiteLLMModel(endpoint.config(), RetryPolicy(tries=1))
        asking = asyncio.ensure_future(Conversation(model, Budget(), lambda _: None, journal.add_stopped).ask(ASKED))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    after = Journal(tmp_path / ".autocode", "growth")
    after.begin("k")
    (shown,) = conversation(after.root, "growth", "k")
    assert (shown.stage, shown.finish_reason, shown.replayed) == ("code", STOPPED, True)
    assert shown.messages == ({"role": "user", "content": "Write it."},)
    assert after.find(shown.key) is None and after.is_empty


async def test_a_fault_before_anything_arrived_shows_no_tokens() -> None:
    events: list[Event] = []
    with ScriptedModel([Answer(status=400)]) as endpoint, pytest.raises(Exception, match="refused the question"):
        await Conversation(LiteLLMModel(endpoint.config()), Budget(), events.append).ask(ASKED)
    assert not used(events)


async def test_it_is_noticed_once_that_the_server_has_cut_off_questions() -> None:
    events: list[Event] = []
    count = {"prompt_tokens": 2048, "completion_tokens": 9, "total_tokens": 2057}
    long = ({"role": "user", "content": "One of many words. " * 2000},)
    with ScriptedModel([Answer("Fine.", usage=count)] * 2) as endpoint:
        conversation = Conversation(LiteLLMModel(endpoint.config(), RetryPolicy(tries=1)), Budget(), events.append)
        for stage in ("code", "tests"):
            await conversation.ask(Question(stage, long))
    (told,) = [event for event in events if isinstance(event, Noticed)]
    assert "counted 2,048 tokens of a question of 38," in told.text and "larger context window" in told.text
