"""Questions to which a model says nothing. The test is the clock: time passes when it says so."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.conversation import Conversation
from autocoder_jupyter.models import response
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.process import RemoteModel
from autocoder_jupyter.models.protocol import ConfiguredModel, Listener, ModelConfig, Question
from autocoder_jupyter.models.silence import SILENT_SECONDS, SilenceWatch
from autocoder_jupyter.run.events import NoAnswerYet
from autocoder_jupyter.types import STOPPED
from tests.model_faults import chunk, for_ever
from tests.scripted_model import Answer, ScriptedModel

ASKED = Question("code", ({"role": "user", "content": "Write it."},), max_tokens=200)
OTHER = Question("tests", ({"role": "user", "content": "Test it."},), max_tokens=200)


class Clock:
    """Calls what is due when the test lets the time pass."""

    def __init__(self) -> None:
        self.due: dict[object, tuple[float, Callable[[], None]]] = {}

    def later(self, seconds: float, act: Callable[[], None]) -> Handle:
        handle = Handle(self)
        self.due[handle] = (seconds, act)
        return handle

    def passes(self, seconds: float = SILENT_SECONDS) -> None:
        for handle, (after, act) in list(self.due.items()):
            if after <= seconds:
                del self.due[handle]
                act()


class Handle:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def cancel(self) -> None:
        self._clock.due.pop(self, None)


class Desk:
    """A conversation, what is said about silence, and the user's replies."""

    def __init__(self, model: ConfiguredModel) -> None:
        self.clock, self.budget = Clock(), Budget()
        self.told: list[NoAnswerYet] = []
        self.silence = SilenceWatch(self.told.append, self.clock.later)
        self.talk = Conversation(model, self.budget, lambda event: None, silence=self.silence)

    @property
    def silent(self) -> list[tuple[str, ...]]:
        return [event.stages for event in self.told]


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def model_of(endpoint: ScriptedModel) -> LiteLLMModel:
    return LiteLLMModel(endpoint.config(), RetryPolicy(tries=1))


async def test_the_user_is_asked_until_the_answer_begins(release: threading.Event) -> None:
    with ScriptedModel([Answer("x = 1", hold=release)]) as endpoint:
        desk = Desk(model_of(endpoint))
        asking = asyncio.ensure_future(desk.talk.ask(ASKED))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        desk.clock.passes(SILENT_SECONDS - 0.1)
        assert desk.silent == []
        desk.clock.passes()
        assert desk.silent == [("code",)]
        release.set()
        assert (await asking).answer == "x = 1"
    assert desk.silent == [("code",), ()] and not desk.clock.due
    assert desk.silence.reply("again") is False


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
@pytest.mark.parametrize("remote", [False, True])
async def test_nobody_is_asked_while_text_or_thoughts_arrive(
    field: str, remote: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocoder_jupyter.models.process.uses_process", lambda config: remote)
    begun = asyncio.Event()
    with ScriptedModel([Answer(wire=for_ever(*(chunk({field: f"{n} "}) for n in range(99)), pace=0.01))]) as endpoint:
        desk = Desk(RemoteModel(model_of(endpoint)))
        asking = asyncio.ensure_future(desk.talk.ask(ASKED, Listener(on_sign=begun.set)))
        await asyncio.wait_for(begun.wait(), 60)
        desk.clock.passes()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert desk.silent == []


async def test_keep_alives_are_no_answer() -> None:
    with ScriptedModel(
        [Answer(wire=for_ever(b": keep-alive\n\n", chunk({"role": "assistant"}), pace=0.01))]
    ) as endpoint:
        desk = Desk(model_of(endpoint))
        asking = asyncio.ensure_future(desk.talk.ask(ASKED))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        desk.clock.passes()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert desk.silent == [("code",), ()]


async def test_who_waits_is_asked_again_after_twice_the_time(release: threading.Event) -> None:
    with ScriptedModel([Answer("x = 1", hold=release)]) as endpoint:
        desk = Desk(model_of(endpoint))
        asking = asyncio.ensure_future(desk.talk.ask(ASKED))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        desk.clock.passes()
        assert desk.silence.reply("wait") is True
        await asyncio.sleep(0)
        desk.clock.passes()
        assert desk.silent == [("code",), ()]
        desk.clock.passes(2 * SILENT_SECONDS)
        assert desk.silent == [("code",), (), ("code",)]
        release.set()
        await asking


async def test_asked_again_the_first_request_is_cancelled_and_both_are_counted(release: threading.Event) -> None:
    with ScriptedModel([Answer("x = 1", hold=release), "x = 2"]) as endpoint:
        desk = Desk(model_of(endpoint))
        asking = asyncio.ensure_future(desk.talk.ask(ASKED))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        desk.clock.passes()
        assert desk.silence.reply("again") is True
        await asyncio.to_thread(endpoint.wait_for_hang_ups, 1)
        assert (await asking).answer == "x = 2"
    first, second = desk.talk.exchanges
    assert (first.finish_reason, first.key) == (STOPPED, second.key) and first.usage.input_tokens > 0
    assert first.usage + second.usage == desk.budget.used
    assert desk.silent == [("code",), ()]


async def test_a_request_that_was_never_sent_costs_nothing_when_it_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connecting: asyncio.Queue[None] = asyncio.Queue()

    class Watched(response.Received):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if (name, value) == ("is_connecting", True):
                connecting.put_nowait(None)

    monkeypatch.setattr(response, "Received", Watched)
    with ExitStack() as opened:
        deaf = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # no further connection is taken
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(deaf.getsockname())
        config = ModelConfig("openai/scripted", api_base=f"http://127.0.0.1:{deaf.getsockname()[1]}/v1")
        desk = Desk(LiteLLMModel(config, RetryPolicy(tries=1), checked=True))
        asking = asyncio.ensure_future(desk.talk.ask(ASKED))
        for _ in range(2):
            await asyncio.wait_for(connecting.get(), 60)
            desk.clock.passes()
            assert desk.silence.reply("again") is True
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert desk.silent == [("code",), ()] * 2
    assert desk.budget.used.input_tokens == 0 and desk.talk.exchanges == []


async def test_a_reply_is_for_the_silent_questions_only(release: threading.Event) -> None:
    begun = asyncio.Event()
    held = Answer("the tests of it", hold=release, hold_after=4, piece=4)
    with ScriptedModel([held, Answer("x = 1", hold=release), "x = 2"]) as endpoint:
        desk = Desk(model_of(endpoint))
        testing = asyncio.ensure_future(desk.talk.ask(OTHER, Listener(on_text=lambda _: begun.set())))
        await asyncio.wait_for(begun.wait(), 60)
        coding = asyncio.ensure_future(desk.talk.ask(ASKED))
        await asyncio.to_thread(endpoint.wait_for_requests, 2)
        desk.clock.passes()
        assert desk.silent == [("code",)]
        desk.silence.reply("again")
        assert (await coding).answer == "x = 2"
        release.set()
        assert (await testing).answer == "the tests of it"
    assert len(endpoint.requests) == 3
