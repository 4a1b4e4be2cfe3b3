from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from autocoder_jupyter.lab.link import PageLink
from autocoder_jupyter.lab.messages import Message
from autocoder_jupyter.magics.notebook import Notebook
from tests.conftest import LendKernel
from tests.lab.page import Page
from tests.magics.conftest import RaisingShell, ScriptedJobs, here, jobs, means_no_data, shell
from tests.magics.kernel import Kernel
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced
from tests.scripted_model import Answer, ScriptedModel, always, by_marker

__all__ = ["here", "jobs", "means_no_data", "shell"]

ScriptedRun = Callable[..., ScriptedModel]

DATA = "import pandas as pd; sales = pd.DataFrame({'price': [10.0, 20.0, 30.0], 'quantity': [1, 2, 3]})"
CELL = '%%autocode growth -o "total: float"\nTotal revenue of @sales.'


class ScriptedChannel:
    """Replaces the comm: records what the kernel sent, and sends messages of a page."""

    def __init__(self, heard: Callable[[Any], None], refused: Callable[[], None]) -> None:
        self.opening: dict[str, Any] = {}
        self.say = heard
        self.refuse = refused
        self.closed = False
        self.said: list[Any] = []
        self.times: list[float] = []
        self._came = threading.Condition()

    def open(self, data: dict[str, Any]) -> None:
        self.opening = data

    def send(self, message: Message) -> None:
        with self._came:
            self.said.append(message)
            self.times.append(time.monotonic())
            self._came.notify_all()

    def close(self) -> None:
        self.closed = True

    def of(self, kind: str) -> list[dict[str, Any]]:
        with self._came:
            return [message for message in self.said if message["kind"] == kind]

    def wait_for(self, kind: str, holds: Callable[[dict[str, Any]], bool] = lambda message: True) -> dict[str, Any]:
        """Wait for the newest message of a kind that satisfies a condition."""

        def found() -> list[dict[str, Any]]:
            return [message for message in self.said if message["kind"] == kind and holds(message)]

        with self._came:
            assert self._came.wait_for(found, 60), self.said
            return found()[-1]

    def ask(self, action: object, name: object, **more: Any) -> dict[str, Any]:
        """Send a request. Returns the reply."""
        identity = f"request-{len(self.said)}"
        self.say({"kind": "request", "id": identity, "action": action, "name": name, **more})
        return self.wait_for("reply", lambda message: message["id"] == identity)


@pytest.fixture
def notebook(shell: RaisingShell) -> Notebook:
    return shell.magics_manager.registry["AutocodeMagics"].notebook


@pytest.fixture
def channels() -> list[ScriptedChannel]:
    """All channels that were opened."""
    return []


@pytest.fixture
def link(notebook: Notebook, channels: list[ScriptedChannel]) -> Iterator[PageLink]:
    def opened(*how: Any) -> ScriptedChannel:
        channels.append(ScriptedChannel(*how))
        return channels[-1]

    link = PageLink(notebook, opened)
    link.start()
    yield link
    link.stop()


@pytest.fixture
def page(link: PageLink, channels: list[ScriptedChannel]) -> ScriptedChannel:
    """The channel, after a page has sent hello and has got the first messages."""
    channels[0].say({"kind": "hello", "client": "page"})
    channels[0].wait_for("data")
    return channels[0]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(lambda request: Answer(status=400)) as model:
        yield model


@pytest.fixture
def run_script(model: ScriptedModel) -> ScriptedRun:
    """Runs a generation with scripted answers; `code` replaces the answer with the module."""

    def produced(code: Any = None) -> ScriptedModel:
        answers = {"plan": PLAN, "code": code or fenced(CODE), "tests": fenced(TESTS)}
        model._answer = by_marker({MARKERS[stage]: always(said) for stage, said in answers.items()})
        return model

    produced()
    return produced


@pytest.fixture
def kernel(run_script: ScriptedRun, model: ScriptedModel, lend_kernel: LendKernel) -> Iterator[Kernel]:
    """A real kernel that has not loaded the extension."""
    env = {
        "AUTOCODE_MODEL": "openai/scripted",
        "AUTOCODE_API_BASE": model.url,
        "AUTOCODE_SANDBOX": "local",
        "AUTOCODE_SECOND_OPINION": "off",
        "AUTOCODE_EFFORT": "quick",
        "AUTOCODE_MAX_ITERATIONS": "1",
    }
    with lend_kernel(env) as kernel:
        yield kernel


@pytest.fixture
def open_page(kernel: Kernel) -> Iterator[Callable[[], Page]]:
    """Opens pages on the kernel. Each has its own connections, as browser tabs have."""
    opened: list[Page] = []

    def open_one() -> Page:
        opened.append(Page(kernel))
        return opened[-1]

    yield open_one
    for page in opened:
        page.close()


__all__ += ["ScriptedJobs"]
