from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from autocoder_jupyter import jobs, magics
from tests.magics.conftest import RaisingShell
from tests.scripted_model import ScriptedModel

TOOLS = """
import pandas as pd
from autocoder_jupyter import tool

orders = pd.DataFrame({"symbol": ["AAPL", "MSFT"], "count": [2, 1]})
calls = []

def fetch_price(symbol: str) -> float:
    "Price of a share in dollars."
    calls.append(symbol)
    return {"AAPL": 2.0, "MSFT": 3.0}[symbol]

async def latest_fx(currency: str) -> float:
    "Dollars for one unit of a currency."
    return 0.5

@tool(effects=True)
def order(symbol: str) -> str:
    "Order a share."
    calls.append(f"ordered {symbol}")
    return "ordered"

@tool(ask=True)
def send_mail(to: str) -> str:
    "Send a mail."
    calls.append(f"sent to {to}")
    return "sent"
"""


@pytest.fixture
def run_script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ScriptedModel]]:
    """Starts a model with these answers, and configures the cells to ask it."""
    with ExitStack() as stack:

        def begin(*answers: Any) -> ScriptedModel:
            model = stack.enter_context(ScriptedModel(list(answers)))
            monkeypatch.setenv("AUTOCODE_MODEL", "openai/scripted")
            monkeypatch.setenv("AUTOCODE_API_BASE", model.url)
            return model

        yield begin


class Notebook:
    """A shell with the real jobs, like a notebook with a user.

    Args:
        shell: runs the cells.
    """

    def __init__(self, shell: RaisingShell) -> None:
        self.shell = shell
        self.run = shell.run

    def value(self, expression: str) -> Any:
        return eval(expression, self.shell.user_ns)

    def is_headless(self) -> None:
        """From now on, it behaves like a run without a user."""
        self.shell.kernel = SimpleNamespace(_allow_stdin=False)

    def is_terminal(self) -> None:
        """From now on, it behaves like IPython in a terminal."""
        self.shell.kernel = None

    def restarted(self) -> None:
        """Restart: only the variables of the cells that define tools exist."""
        for job in jobs.all_jobs():
            self.shell.user_ns.pop(job.name, None)
            jobs.forget(job.name)
        self.run(TOOLS)

    @property
    def card(self) -> str:
        """The newest card, as HTML."""
        assert isinstance(self.shell.display_pub, CapturingDisplayPublisher)
        found = [output["data"].get("text/html", "") for output in self.shell.display_pub.outputs if "data" in output]
        return next(html for html in reversed(found) if "autocode-card" in html)


@pytest.fixture
def notebook(here: Path) -> Iterator[Notebook]:
    config = Config()
    config.HistoryManager.enabled = False
    shell = RaisingShell(config=config, display_pub_class=CapturingDisplayPublisher)
    kept: Any = InteractiveShell
    kept._instance = RaisingShell._instance = shell
    shell.kernel = SimpleNamespace(_allow_stdin=True)
    magics.register(shell)
    room = Notebook(shell)
    room.run(TOOLS)
    yield room
    magics.unregister(shell)
    for job in jobs.all_jobs():
        jobs.forget(job.name)
    kept._instance = RaisingShell._instance = None
    atexit.unregister(shell.atexit_operations)
