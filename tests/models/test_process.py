"""The process of models: the same answers and errors as here, and a kernel that does not import litellm."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import pickle
import signal
import site
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import autocoder_jupyter
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.errors import (
    AuthenticationFailed,
    BudgetSpent,
    InvalidRequest,
    ModelError,
    ModelUnavailable,
    UnusableAnswer,
)
from autocoder_jupyter.models import process, serving, spawn
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy, exchange_of
from autocoder_jupyter.models.process import ModelProcess, Order, RemoteModel
from autocoder_jupyter.models.protocol import Listener, ModelConfig, Question, WorstCase, answer_form
from autocoder_jupyter.models.questions import SentRequest
from autocoder_jupyter.models.replay import ReplayingModel
from autocoder_jupyter.types import CodePlan, Exchange
from tests.model_faults import chunk, for_ever
from tests.scripted_model import Answer, ScriptedModel, always

pytestmark = pytest.mark.slow

QUESTION = Question("plan", ({"role": "user", "content": "How are you?"},), max_tokens=400)
ONCE = RetryPolicy(tries=1)
SAID = [chunk({"content": f"word {number} "}) for number in range(500)]


@pytest.fixture(autouse=True)
def _in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a kernel that has not imported litellm."""
    monkeypatch.setattr(process, "uses_process", lambda config: process._is_plain(config.params))


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    yield
    if process._process is not None:
        os.kill(process._process._process.pid, signal.SIGKILL)


def remote_model(*args: Any, **more: Any) -> RemoteModel:
    return RemoteModel(LiteLLMModel(*args, **more))


async def asked(endpoint: ScriptedModel, question: Question = QUESTION, *, meter: Any = None, **config: Any) -> Any:
    listener = Listener(meter=meter) if meter is not None else Listener()
    return await remote_model(endpoint.config(**config), ONCE).ask(question, listener)


def running() -> int:
    assert process._process is not None
    return process._process._process.pid


async def until(is_so: Callable[[], bool]) -> None:
    def wait() -> None:
        while not is_so():
            time.sleep(0.01)

    await asyncio.to_thread(wait)


async def test_an_answer_comes_in_pieces_while_it_is_written() -> None:
    release, heard = threading.Event(), list[str]()
    begun = asyncio.Event()

    def hear(piece: str) -> None:
        heard.append(piece)
        begun.set()

    with ScriptedModel([Answer("word by word", piece=4, hold=release, hold_after=4)]) as endpoint:
        asking = asyncio.ensure_future(remote_model(endpoint.config()).ask(QUESTION, Listener(on_text=hear)))
        await begun.wait()
        assert heard == ["word"] and not asking.done()
        release.set()
        exchange = await asking
    assert exchange.answer == "word by word" == "".join(heard)
    assert exchange.usage.output_tokens and exchange.messages[0]["content"] == "How are you?"


async def test_a_form_and_all_else_of_a_question_arrive() -> None:
    question = Question("plan", QUESTION.messages, answer_form(CodePlan), max_tokens=77, temperature=0.7)
    with ScriptedModel(["{}"]) as endpoint:
        await asked(endpoint, question, model="openai/gpt-4.1", params={"top_p": 0.5})
        (request,) = endpoint.requests
    assert request["response_format"]["json_schema"]["name"] == "CodePlan"
    assert (request["max_tokens"], request["temperature"], request["top_p"]) == (77, 0.7, 0.5)


async def test_a_request_is_reported_before_it_is_sent() -> None:
    seen: list[tuple[str, int]] = []
    with ScriptedModel(["fine", "fine"]) as endpoint:

        def note(request: SentRequest) -> None:
            seen.append((request.body["messages"][0]["content"], len(endpoint.requests)))

        await remote_model(endpoint.config(), ONCE, on_send=note).ask(QUESTION)
        assert seen == [("How are you?", 0)]


async def test_an_error_of_the_report_ends_the_question() -> None:
    def full(request: SentRequest) -> None:
        raise OSError("the disk is full")

    with ScriptedModel(["fine"]) as endpoint:
        with pytest.raises(ModelUnavailable, match="the disk is full"):
            await remote_model(endpoint.config(), ONCE, on_send=full).ask(QUESTION)
        assert not endpoint.requests


async def test_keys_are_those_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """`%env` is used after the process has started."""
    with ScriptedModel(["one", "two"]) as endpoint:
        for key in ("first", "second"):
            monkeypatch.setenv("MY_KEY", key)
            await asked(endpoint, api_key="MY_KEY")
        assert [headers["authorization"] for headers in endpoint.headers] == ["Bearer first", "Bearer second"]
        monkeypatch.delenv("MY_KEY")
        with pytest.raises(AuthenticationFailed, match="MY_KEY, which is not set"):
            await asked(endpoint, api_key="MY_KEY")


async def test_errors_are_the_same_with_cause_and_hint() -> None:
    with (
        ScriptedModel([Answer(status=401, error="wrong key")]) as endpoint,
        pytest.raises(AuthenticationFailed) as caught,
    ):
        await asked(endpoint)
    assert caught.value.hint and "scripted" in caught.value.what
    with ScriptedModel(always(Answer(wire=for_ever(*SAID)))) as endpoint, pytest.raises(UnusableAnswer) as stopped:
        await asked(endpoint)
    assert (cut := exchange_of(stopped.value)) is not None and cut.answer.startswith("word 0 word 1 ")


async def test_a_recorded_answer_that_was_cut_off_is_known_in_the_kernel_too() -> None:
    store = dict[str, Exchange]()
    found = SimpleNamespace(find=store.get, add=lambda exchange: store.update({exchange.key: exchange}), is_empty=False)
    with ScriptedModel(always(Answer(wire=for_ever(*SAID)))) as endpoint:
        model = ReplayingModel(remote_model(endpoint.config(), ONCE), found)
        for _ in range(2):
            with pytest.raises(UnusableAnswer) as caught:
                await model.ask(QUESTION, Listener(meter=Budget()))
            kept = exchange_of(caught.value)
            assert kept is not None and kept.answer.startswith("word 0 word 1 ")
        assert len(endpoint.requests) == 1


async def test_the_budget_allows_each_request_and_is_charged() -> None:
    budget = Budget(tokens=600)
    with ScriptedModel(
        [Answer("fine", usage={"prompt_tokens": 100, "completion_tokens": 450}), "not asked"]
    ) as endpoint:
        await asked(endpoint, meter=budget)
        assert (budget.used.input_tokens, budget.used.output_tokens) == (100, 450)
        with pytest.raises(BudgetSpent, match="max_tokens"):
            await asked(endpoint, meter=budget)
        assert len(endpoint.requests) == 1


async def test_an_answer_that_outgrows_the_budget_is_stopped() -> None:
    budget = Budget(tokens=600)
    with ScriptedModel(always(Answer(wire=for_ever(*SAID)))) as endpoint:
        with pytest.raises((UnusableAnswer, BudgetSpent)):
            await asked(endpoint, meter=budget)
        await asyncio.to_thread(endpoint.wait_for_hang_ups, 1)
    assert 500 <= budget.used.output_tokens <= 620


async def test_a_cancel_hangs_up_and_counts_what_came() -> None:
    budget, begun = Budget(), asyncio.Event()
    with ScriptedModel(always(Answer(wire=for_ever(*SAID, pace=0.001)))) as endpoint:
        listener = Listener(on_text=lambda _: begun.set(), meter=budget)
        asking = asyncio.ensure_future(remote_model(endpoint.config(), ONCE).ask(QUESTION, listener))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.to_thread(endpoint.wait_for_hang_ups, 1)
    assert budget.used.output_tokens > 0 and not budget._held


async def test_a_cancel_while_the_budget_is_waited_for_sends_nothing() -> None:
    budget, waiting = Budget(tokens=500), threading.Event()

    class Told:
        def reserve(self, worst: WorstCase) -> Any:
            waiting.set()
            return budget.reserve(worst)

    answers = [Answer("slow", hold=(release := threading.Event())), Answer("not asked")]
    with ScriptedModel(answers) as endpoint:
        first = asyncio.ensure_future(asked(endpoint, meter=budget))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        second = asyncio.ensure_future(asked(endpoint, meter=Told()))
        await asyncio.wait_for(asyncio.to_thread(waiting.wait), 60)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        release.set()
        assert (await first).answer == "slow" and len(endpoint.requests) == 1


async def test_what_a_listener_raises_ends_the_question() -> None:
    def fail(_: str) -> None:
        raise LookupError("a defect of ours")

    with ScriptedModel(always(Answer(wire=for_ever(*SAID, pace=0.001)))) as endpoint:
        with pytest.raises(LookupError, match="a defect of ours"):
            await remote_model(endpoint.config(), ONCE).ask(QUESTION, Listener(on_text=fail))
        await asyncio.to_thread(endpoint.wait_for_hang_ups, 1)


async def test_pauses_are_told() -> None:
    pauses: list[tuple[str, float]] = []
    answers = [Answer(status=429, headers={"retry-after": "0"}), Answer("fine")]
    with ScriptedModel(answers) as endpoint:
        model = remote_model(endpoint.config(), RetryPolicy(first=0.01))
        await model.ask(QUESTION, Listener(on_retry=lambda reason, seconds: pauses.append((reason, seconds))))
    assert len(pauses) == 1 and pauses[0][0]


async def test_questions_side_by_side_do_not_wait_for_each_other() -> None:
    with ScriptedModel([Answer("slow", hold=(release := threading.Event())), "fast"]) as endpoint:
        slow = asyncio.ensure_future(asked(endpoint))
        await asyncio.to_thread(endpoint.wait_for_requests, 1)
        assert (await asked(endpoint)).answer == "fast" and not slow.done()
        release.set()
        assert (await slow).answer == "slow"


def test_a_reply_to_a_question_that_was_cancelled_is_ignored() -> None:
    server = serving._Server(io.BytesIO(), io.BytesIO())
    for error in (None, BudgetSpent("nothing is left")):
        server.request(1, "reserve", None).cancel()
        server._do(1, "reply", 100, error)
    assert not server._replies


async def test_a_cancelled_question_does_not_hold_up_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cancelled while the process is busy, and followed no more when the process reports the request."""
    at, gate = tmp_path / "at", tmp_path / "gate"
    busy = f"""
        import os, time
        from autocoder_jupyter.models import serving
        on_send = serving._RemoteListener.on_send
        def busy(*args):
            open({str(at)!r}, "w").close()
            while not os.path.exists({str(gate)!r}):
                time.sleep(0.01)
            return on_send(*args)
        serving._RemoteListener.on_send = busy
        serving.serve()
    """
    monkeypatch.setattr(spawn, "_START", spawn._START.replace("serve()", textwrap.dedent(busy)))
    monkeypatch.setattr(process, "_process", None)
    monkeypatch.setattr(process, "CLOSING_SECONDS", 0.01)
    with ScriptedModel(lambda request: "fine") as endpoint:
        model = remote_model(endpoint.config(), ONCE, on_send=lambda request: None)
        asking = asyncio.ensure_future(model.ask(QUESTION))
        await until(at.exists)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        gate.touch()
        assert (await asyncio.wait_for(model.ask(QUESTION), 60)).answer == "fine"
        assert len(endpoint.requests) == 1
    os.kill(running(), signal.SIGKILL)


async def test_a_question_that_nobody_follows_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its order was written after the cancel."""
    cancelled = threading.Event()
    with ScriptedModel(["fine"]) as endpoint:
        one = process._shared()
        assert one is not None
        send = one._outbox.send

        def watched(number: int, kind: str, *about: Any) -> None:
            send(number, kind, *about)
            if (number, kind) == (1_000_000, "cancel"):
                cancelled.set()

        monkeypatch.setattr(one._outbox, "send", watched)
        one._order(1_000_000, Order(endpoint.config(), ONCE, False, QUESTION, True))
        assert await asyncio.to_thread(cancelled.wait, 60)
        assert (await asked(endpoint)).answer == "fine" and len(endpoint.requests) == 1


async def test_the_reports_of_questions_do_not_wait_for_each_other() -> None:
    release, waits = asyncio.Event(), asyncio.Event()

    def slow(request: SentRequest) -> Any:
        waits.set()
        return release.wait()

    with ScriptedModel(lambda request: "fine") as endpoint:
        first = asyncio.ensure_future(remote_model(endpoint.config(), ONCE, on_send=slow).ask(QUESTION))
        await waits.wait()
        second = remote_model(endpoint.config(), ONCE, on_send=lambda request: None)
        assert (await asyncio.wait_for(second.ask(QUESTION), 60)).answer == "fine" and len(endpoint.requests) == 1
        release.set()
        assert (await first).answer == "fine"


async def test_an_error_that_only_one_side_knows_ends_no_process() -> None:
    class Full(OSError):
        """An error of a user's class."""

    def full(request: SentRequest) -> None:
        raise Full("the disk is full")

    with ScriptedModel(["fine"]) as endpoint:
        with pytest.raises(ModelError) as caught:
            await remote_model(endpoint.config(), ONCE, on_send=full).ask(QUESTION)
        assert "the disk is full" in caught.value.why
        before = running()
        assert (await asked(endpoint)).answer == "fine" and running() == before and len(endpoint.requests) == 1
    assert type(process.portable(UnicodeDecodeError("utf-8", b"", 0, 1, "?"))) is UnicodeDecodeError
    assert type(process.portable(pytest.UsageError("not of this package"))) is RuntimeError


def test_a_question_that_ends_at_once_is_answered_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(coroutine: Any) -> Future[None]:
        done = Future[None]()
        try:
            asyncio.run(coroutine)
        except Exception as error:
            done.set_exception(error)
        return done

    monkeypatch.setattr(background, "submit", at_once)
    server = serving._Server(io.BytesIO(), sink := io.BytesIO())
    invalid = ModelConfig("openai/x", params={"seed": object()})
    server._do(1, "ask", Order(invalid, ONCE, False, QUESTION, False))
    while not (written := sink.getvalue()):
        time.sleep(0.01)
    sink = io.BytesIO(written)
    assert isinstance(messages_in(sink)[-1][2], InvalidRequest) and not server._asked


def messages_in(stream: io.BytesIO) -> list[Any]:
    found = []
    with contextlib.suppress(EOFError):
        while True:
            found.append(pickle.load(stream))
    return found


# Its end


async def test_a_process_that_ended_is_replaced_and_nobody_notices() -> None:
    with ScriptedModel(["one", "two"]) as endpoint:
        await asked(endpoint)
        before = running()
        os.kill(before, signal.SIGKILL)
        assert (await asked(endpoint)).answer == "two" and running() != before


async def test_a_process_that_ends_amid_an_answer_is_an_error_and_its_tokens_are_charged() -> None:
    budget, begun = Budget(), asyncio.Event()
    with ScriptedModel([Answer("a long answer", piece=6, hold=threading.Event(), hold_after=6), "again"]) as endpoint:
        listener = Listener(on_text=lambda _: begun.set(), meter=budget)
        asking = asyncio.ensure_future(remote_model(endpoint.config(), ONCE).ask(QUESTION, listener))
        await begun.wait()
        os.kill(running(), signal.SIGKILL)
        with pytest.raises(ModelUnavailable, match="ended before the answer"):
            await asking
        assert budget.used.input_tokens and not budget._held
        assert (await asked(endpoint)).answer == "again"


@pytest.fixture
def soon_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "ALIVE_SECONDS", 0.2)
    monkeypatch.setattr(process, "SILENT_SECONDS", 8.0)
    monkeypatch.setattr(process, "_process", None)


@pytest.mark.usefixtures("soon_silent")
async def test_a_process_that_is_stopped_before_a_request_is_replaced_and_nobody_notices() -> None:
    with ScriptedModel(["one", "two"]) as endpoint:
        await asked(endpoint)
        os.kill(before := running(), signal.SIGSTOP)
        long = replace(QUESTION, messages=({"role": "user", "content": "word " * 200_000},))  # it fills the pipe
        assert (await asked(endpoint, long)).answer == "two" and running() != before
        assert len(endpoint.requests) == 2


@pytest.mark.usefixtures("soon_silent")
async def test_a_process_that_is_stopped_amid_an_answer_is_an_error_and_its_tokens_are_charged() -> None:
    budget, begun = Budget(), asyncio.Event()
    with ScriptedModel([Answer("a long answer", piece=6, hold=threading.Event(), hold_after=6), "again"]) as endpoint:
        listener = Listener(on_text=lambda _: begun.set(), meter=budget)
        asking = asyncio.ensure_future(remote_model(endpoint.config(), ONCE).ask(QUESTION, listener))
        await begun.wait()
        os.kill(running(), signal.SIGSTOP)
        with pytest.raises(ModelUnavailable, match="ended before the answer") as stopped:
            await asking
        assert stopped.value.why == "It did not respond for 8 seconds, so it was ended."
        assert budget.used.input_tokens and not budget._held and len(endpoint.requests) == 1
        assert (await asked(endpoint)).answer == "again"


async def test_a_process_that_is_slow_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(["one", "two"]) as endpoint:
        await asked(endpoint)
        monkeypatch.setattr(process, "ALIVE_SECONDS", 0.1)
        one = process._shared()
        assert one is not None
        os.kill(before := running(), signal.SIGSTOP)
        asking = asyncio.ensure_future(asked(endpoint))
        await until(lambda: one._silent >= 4)
        os.kill(before, signal.SIGCONT)
        assert (await asking).answer == "two" and running() == before and not one._ended


async def test_a_question_to_a_stopped_process_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CLOSING_SECONDS", 0.01)
    with ScriptedModel(["one", "two"]) as endpoint:
        await asked(endpoint)
        os.kill(running(), signal.SIGSTOP)
        long = replace(QUESTION, messages=({"role": "user", "content": "word " * 200_000},))
        asking = asyncio.ensure_future(asked(endpoint, long))
        await asyncio.sleep(0.2)  # its order fills the pipe
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        os.kill(running(), signal.SIGCONT)
        assert (await asked(endpoint)).answer == "two" and len(endpoint.requests) == 2


def test_a_process_whose_loop_is_blocked_ends(tmp_path: Path) -> None:
    program = """
        stuck = '''
        import time
        from autocoder_jupyter.concurrency import background
        from autocoder_jupyter.models import serving
        serving.STUCK_SECONDS = serving.ALIVE_SECONDS = 0.2
        background.loop().call_soon_threadsafe(time.sleep, 3600)
        serving.serve()
        '''
        spawn._START = spawn._START.replace("serve()", textwrap.dedent(stuck))
        print(process.ModelProcess()._process.wait())
    """
    assert alone("import textwrap\n" + textwrap.dedent(program), tmp_path) == "0\n"


async def test_a_process_that_never_starts_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> subprocess.Popen[bytes]:
        return subprocess.Popen(["false"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(process, "spawn", broken)
    monkeypatch.setattr(process, "_process", None)
    with ScriptedModel(["fine"]) as endpoint:
        assert (await asked(endpoint)).answer == "fine"


async def test_parameters_that_no_pipe_carries_are_used_here() -> None:
    class Client:
        """An object of a user."""

    monkey = ModelConfig("openai/x", params={"client": Client()})
    assert process.process_for(monkey) is None and process._is_plain({"a": [1, 2.5, None, {"b": True}]})


ALONE = """
    import asyncio, os, signal, sys, time
    from pathlib import Path
    from autocoder_jupyter.models import process, spawn
    from autocoder_jupyter.models.client import LiteLLMModel
    from autocoder_jupyter.models.process import RemoteModel
    from autocoder_jupyter.models.protocol import ModelConfig, Question
    from tests.scripted_model import ScriptedModel
    question = Question("plan", ({"role": "user", "content": "?"},))
    def ask(endpoint):
        return asyncio.run(RemoteModel(LiteLLMModel(endpoint.config())).ask(question)).answer
"""


def alone(program: str, folder: Path, **env: str) -> str:
    """What a new process prints that runs in a folder."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ALONE) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), **env},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("place", ["working folder", "script's folder", "PYTHONPATH", "with packages"])
def test_litellm_is_imported_there_and_no_file_of_the_user_instead(place: str, tmp_path: Path) -> None:
    for name in ("litellm", "openai", "aiohttp", "tiktoken", "dotenv", "httpx", "json5", "yaml", "jinja2"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    if place == "with packages":
        (tmp_path / "own-1.0.dist-info").mkdir()
    program = f"""
        if {place != "working folder"}:
            sys.path.insert(0, {str(tmp_path)!r})
        with ScriptedModel(["fine"]) as endpoint:
            print(ask(endpoint), "litellm" in sys.modules)
    """
    assert alone(program, tmp_path, AUTOCODE_MODEL="openai/x") == "fine False\n"
    assert not (tmp_path / "ran").exists()


def test_packages_that_are_elsewhere_are_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed into a folder of its own, which is on PYTHONPATH."""
    (installed := tmp_path / "installed").mkdir()
    (installed / "litellm-1.0.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(installed)])
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path / "nothing")])
    assert spawn._folders()[1] == [str(installed), str(Path(autocoder_jupyter.__file__).parents[1])]


def test_it_ends_with_the_kernel_also_if_that_is_killed(tmp_path: Path) -> None:
    program = """
        spawn.spawn_early()
        print(spawn._early[1].pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ALONE) + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), "OPENAI_API_KEY": "x"},
        check=False,
    )
    pid = int(ran.stdout)
    for _ in range(600):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.05)
    else:
        raise AssertionError(f"process {pid} still runs")


def test_one_that_was_started_early_is_used_and_a_fork_has_its_own(tmp_path: Path) -> None:
    program = """
        spawn.spawn_early()
        early = spawn._early[1].pid
        with ScriptedModel(lambda request: "fine") as endpoint:
            print(ask(endpoint), process._process._process.pid == early, flush=True)
            if not os.fork():
                print(ask(endpoint), process._process._process.pid == early, flush=True)
                os._exit(0)
            os.wait()
            print(ask(endpoint), process._process._process.pid == early)
    """
    assert alone(program, tmp_path, OPENAI_API_KEY="x") == "fine True\nfine False\nfine True\n"


def test_none_is_started_early_without_a_model_or_beside_litellm(tmp_path: Path) -> None:
    program = """
        spawn.spawn_early()
        print(spawn._early)
        os.environ["OPENAI_API_KEY"] = "x"
        sys.modules["litellm"] = sys
        spawn.spawn_early()
        print(spawn._early, process.process_for(ModelConfig("openai/x")))
    """
    assert alone(program, tmp_path) == "None\nNone None\n"


@pytest.mark.parametrize(("parent", "starts"), [({"header": {}}, [True]), ({}, [])], ids=["cell", "kernel that starts"])
def test_only_the_extension_of_a_cell_starts_one(
    parent: dict[str, Any], starts: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[bool] = []
    monkeypatch.setattr(spawn, "spawn_early", lambda: begun.append(True))
    shell = InteractiveShell()
    monkeypatch.setattr(shell, "get_parent", lambda: parent, raising=False)
    autocoder_jupyter.load_ipython_extension(shell)
    autocoder_jupyter.unload_ipython_extension(shell)
    assert begun == starts


def test_one_that_nobody_asks_ends(tmp_path: Path) -> None:
    program = """
        sooner = "from autocoder_jupyter.models import serving; serving.IDLE_SECONDS = 0.5; serve()"
        spawn._START = spawn._START.replace("serve()", sooner)
        one = process.ModelProcess()
        print(one._process.wait())
    """
    assert alone(program, tmp_path) == "0\n"


def test_a_shared_process_is_one() -> None:
    assert isinstance(process._shared(), ModelProcess) and process._shared() is process._shared()
