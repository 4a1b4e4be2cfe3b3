"""An agent and a person in one notebook: a real kernel, the real server, and the client of the MCP SDK."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LendKernel
from tests.magics.kernel import PATIENCE, Kernel
from tests.mcp.agent import CANARY, SALES, Agent, answer, environment, session
from tests.scripted_model import Answer, ScriptedModel

pytestmark = pytest.mark.local_sandbox

DATA = f"import pandas as pd, io; sales = pd.read_csv(io.StringIO({SALES!r})); secret = 'of the person'"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(answer) as model:
        yield model


@pytest.fixture
def notebook(model: ScriptedModel, lend_kernel: LendKernel, tmp_path: Path) -> Iterator[Kernel]:
    """A kernel in which the person has loaded the extension and the data."""
    with lend_kernel(environment(model.url)) as kernel:
        assert kernel.run("%load_ext autocoder_jupyter").status == "ok"
        assert kernel.run(DATA).status == "ok"
        yield kernel


@pytest.fixture
def agent(notebook: Kernel, model: ScriptedModel, tmp_path: Path) -> Iterator[Agent]:
    file = notebook._manager.connection_file
    variables = environment(model.url)
    with session("--kernel", file, "--share", "schema", "--max-cost", "0.5", env=variables, folder=tmp_path) as agent:
        yield agent


def test_it_makes_and_calls_a_function_on_a_frame_of_the_person(agent: Agent, notebook: Kernel) -> None:
    before = notebook.printed("len(In), [name for name in dir() if name[0] != '_' and 'autocode' in name]")
    assert agent.use("list")["frames"] == [{"name": "sales", "rows": 2, "columns": 3, "size": None}]
    text = agent.use("describe", name="sales")["text"]
    assert "2 rows × 3 columns" in text and "'salary' int64" in text and CANARY not in text
    verdict = agent.make("total", "the total", sales="sales")
    assert verdict["done"] and verdict["headline"].startswith("Ready")
    output = agent.use("call", name="total", inputs={"sales": "sales"})["outputs"][0]
    assert (output["name"], output["value"], output["file"]) == ("total_1", None, "")
    assert notebook.printed("total_1, total.state, total.run(sales)") == "30 ready 30"
    told = agent.refused("describe", name="secret")
    assert "There is no function 'secret'" in told
    assert CANARY not in "".join(agent.seen)
    after = notebook.printed("len(In), [name for name in dir() if name[0] != '_' and 'autocode' in name]")
    assert int(after.split()[0]) == int(before.split()[0]) + 2  # the two cells of the person
    assert notebook.run("del total_1").status == "ok"
    refused = agent.refused("make", name="sales", request="Compute the total.", data={"sales": "sales"})
    assert "sales is there already" in refused


def test_a_consent_is_asked_of_the_person_and_never_answered_by_the_agent(agent: Agent, notebook: Kernel) -> None:
    verdict = agent.make("packed", "a package", sales="sales")
    assert not verdict["done"] and verdict["state"] == "waiting for approval"
    assert verdict["waiting_for"].startswith("waiting for the person: consent to install left")
    told = agent.refused("make", name="other", request="Compute the total.", data={"sales": "sales"})
    assert "packed is still being made" in told and "waiting for the person: consent" in told
    told = agent.refused("call", name="packed", inputs={"sales": "sales"})
    assert "packed cannot be called" in told and "waiting for the person" in told
    assert notebook.printed("packed.state") == "waiting for approval"
    assert notebook.run("%autocode reply packed no").status == "ok"
    verdict = agent.until("packed", lambda verdict: verdict["done"])
    assert verdict["state"] == "failed" and verdict["waiting_for"] == ""


def test_the_persons_settings_count_as_soon_as_they_are_changed(agent: Agent, notebook: Kernel) -> None:
    assert notebook.run("%config Autocode.hide = ['salary']").status == "ok"
    assert "salary" not in agent.use("describe", name="sales")["text"]


def test_a_busy_kernel_is_told_as_such_and_nothing_is_asked_of_it_later(
    agent: Agent, notebook: Kernel, model: ScriptedModel
) -> None:
    agent.use("list")
    cell = notebook.start("import time; time.sleep(25)")
    told = agent.refused("make", name="later", request="Compute the total.", data={"sales": "sales"})
    assert "The kernel is busy with a cell." in told and "Ask again" in told
    assert notebook.finish(cell).status == "ok"
    assert notebook.printed("'later' in dir()") == "False" and model.requests == []
    assert agent.use("list")["budget"] == 0.5


def test_a_budget_ends(agent: Agent, notebook: Kernel, model: ScriptedModel) -> None:
    def expensive(request: Any) -> Any:
        made = answer(request)
        text = made if isinstance(made, str) else made.text
        usage = {"prompt_tokens": 1_000_000, "completion_tokens": 1_000, "total_tokens": 1_001_000}
        return Answer(text, usage=usage)

    model._answer = expensive
    verdict = agent.make("total", "the total", sales="sales")
    assert verdict["cost"] > 0.3
    model._answer = answer
    left = agent.use("list")["budget"]
    assert left == pytest.approx(max(0.0, 0.5 - verdict["cost"]))
    asked = len(model.requests)
    if left:
        agent.make("first", "the first place", sales="sales")
        asked = len(model.requests)
    model._answer = expensive
    while agent.use("list")["budget"]:
        agent.make(f"more_{secrets.token_hex(3)}", "the rows", sales="sales")
        asked = len(model.requests)
    told = agent.refused("make", name="last", request="Compute the total.", data={"sales": "sales"})
    assert "The budget is spent." in told and "--max-cost" in told
    assert len(model.requests) == asked


@pytest.mark.own_kernel
def test_a_kernel_that_ends_is_told_as_such_and_what_was_begun_counts_as_spent(
    agent: Agent, notebook: Kernel, model: ScriptedModel
) -> None:
    released = threading.Event()
    model._answer = lambda request: Answer("", hold=released)
    agent.use("make", name="total", request="Compute the total.", data={"sales": "sales"})
    model.wait_for_requests(1)
    notebook.close()
    released.set()
    assert "The kernel has ended." in agent.refused("list")
    again = {"name": "again", "request": "Compute the total.", "data": {"sales": "sales"}}
    assert "The kernel has ended." in agent.refused("make", **again)
    assert "The budget is spent." in agent.refused("make", **again)


def test_a_notebook_without_the_extension_is_not_used(
    lend_kernel: LendKernel, model: ScriptedModel, tmp_path: Path
) -> None:
    variables = environment(model.url)
    with lend_kernel(variables) as kernel:
        with session("--kernel", kernel._manager.connection_file, env=variables, folder=tmp_path) as agent:
            assert "waiting for the person: run %load_ext autocoder_jupyter" in agent.refused("list")
        assert kernel.printed("'sales' in dir()") == "False"


@pytest.mark.slow
def test_it_reaches_the_notebook_of_a_jupyter_server(model: ScriptedModel, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, variables = secrets.token_hex(16), environment(model.url)
    (tmp_path / "pyproject.toml").write_text("")
    flags = [
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={tmp_path}",
        "--allow-root",
        "--ServerApp.open_browser=False",
    ]
    command = [sys.executable, "-m", "jupyter_server", f"--IdentityProvider.token={token}", *flags]
    server = subprocess.Popen(command, env=variables, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        opened = {"path": "sales.ipynb", "name": "sales", "type": "notebook", "kernel": {"name": "python3"}}
        kernel = asked_of_server(port, token, "api/sessions", opened)["kernel"]["id"]
        place = ["--server", f"http://127.0.0.1:{port}", "--notebook", "sales.ipynb"]
        wrong = {**variables, "JUPYTER_TOKEN": "wrong"}
        with session(*place, env=wrong, folder=tmp_path) as stranger:
            told = stranger.refused("list")
            assert "cannot be used" in told and "403" in told and "wrong" not in told
        with session(*place, env={**variables, "JUPYTER_TOKEN": token}, folder=tmp_path) as agent:
            assert "%load_ext autocoder_jupyter" in agent.refused("list")
            from jupyter_client.blocking.client import BlockingKernelClient

            client = BlockingKernelClient()
            client.load_connection_file(connection_file(variables, kernel))
            client.start_channels()
            client.execute_interactive(f"%load_ext autocoder_jupyter\n{DATA}", timeout=PATIENCE, allow_stdin=False)
            client.stop_channels()
            assert agent.use("list")["frames"] == [{"name": "sales", "rows": 2, "columns": 3, "size": None}]
            assert token not in "".join(agent.seen)
    finally:
        server.terminate()
        server.wait(30)


def asked_of_server(port: int, token: str, path: str, body: Any) -> Any:
    deadline = time.monotonic() + PATIENCE
    while True:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/{path}",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"token {token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)
        except (urllib.error.URLError, ConnectionError):
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.2)


def connection_file(variables: dict[str, str], kernel: str) -> str:
    code = "import jupyter_core.paths; print(jupyter_core.paths.jupyter_runtime_dir())"
    found = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    return str(Path(found.stdout.strip()) / f"kernel-{kernel}.json")
