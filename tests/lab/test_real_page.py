"""Pages on a real kernel: the messages they get, their requests, and that they never disturb the kernel."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.display.live import AT_ONCE, UPDATE_SECONDS
from autocoder_jupyter.lab.messages import vocabulary
from autocoder_jupyter.version import VERSION
from tests.lab.conftest import CELL, DATA, ScriptedRun
from tests.lab.page import Page
from tests.magics.forked_kernels import run_all
from tests.magics.kernel import Kernel
from tests.runner import CODE, fenced
from tests.scripted_model import Answer, ScriptedModel

pytestmark = pytest.mark.local_sandbox

OpenPage = Callable[[], Page]
UNKNOWN_PACKAGE = fenced(CODE.replace("import pandas as pd\n", "import fiscalmonths\nimport pandas as pd\n", 1))


@pytest.fixture
def page(kernel: Kernel, open_page: OpenPage) -> Page:
    """A page that was open when the extension was loaded, and has sent hello."""
    page = open_page()
    loaded = kernel.run("%load_ext autocoder_jupyter")
    assert (loaded.status, loaded.text, loaded.displays) == ("ok", "", [])
    page.wait_for_open()
    page.hello()
    return page


def phase(page: Page, wanted: str, name: str = "growth") -> dict[str, Any]:
    """Wait until the job is in this phase. Returns the job."""

    def job(data: dict[str, Any]) -> dict[str, Any]:
        return next((job for job in data["jobs"] if job["name"] == name), {"phase": ""})

    return job(page.wait_for("jobs", lambda data: job(data)["phase"] == wanted))


def held(answer: str = fenced(CODE)) -> tuple[threading.Event, Answer]:
    release = threading.Event()
    return release, Answer(answer, hold=release)


def test_a_page_is_welcomed_and_told_what_there_is(kernel: Kernel, open_page: OpenPage) -> None:
    page = open_page()
    kernel.run("%load_ext autocoder_jupyter")
    page.wait_for_open()
    assert page.opening == {"protocol": 2, "version": VERSION}
    kernel.run(DATA)
    page.listen(0.5)
    assert [m for m in page.traffic if m["msg_type"] == "comm_msg"] == []  # nothing before a hello
    welcome = page.hello()
    assert welcome["vocabulary"] == json.loads(json.dumps(vocabulary()))
    assert page.wait_for("jobs")["jobs"] == []
    described = {
        "name": "sales",
        "type": "DataFrame",
        "rows": 3,
        "columns": [{"name": "price", "dtype": "float64"}, {"name": "quantity", "dtype": "int64"}],
        "column_count": 2,
    }
    assert page.wait_for("data")["variables"] == [described]


def test_a_job_is_followed_to_its_end(kernel: Kernel, page: Page) -> None:
    kernel.run(DATA)
    kernel.run(CELL)
    job = phase(page, "ready")
    assert (job["title"], job["progress"]) == ("Ready, not fully checked", 1.0) and "2 of 2 tests passed" in job[
        "facts"
    ]
    assert job["rows"]["Call"] == ["growth.run(sales: DataFrame) -> total: float"]
    assert job["rows"]["Verified"][0].startswith("verified in part: 2 tests")
    assert job["seconds"] > 0 and job["cell_id"] is None
    assert "replayed from the journal" not in job["facts"]
    assert job["cost"] is None  # a scripted model has no known price


def test_the_id_of_the_cell_is_told(kernel: Kernel, page: Page) -> None:
    kernel.run(DATA)
    kernel.finish(kernel.start(CELL, cell_id="cell-7"))
    assert phase(page, "ready")["cell_id"] == "cell-7"


def test_data_is_told_after_a_cell_that_changed_it_and_only_then(kernel: Kernel, page: Page) -> None:
    kernel.run(DATA)
    page.wait_for("data", lambda data: len(data["variables"]) == 1)
    del page.traffic[:]
    kernel.run("1 + 1")
    kernel.run("sales.loc[0, 'price'] = 5.0")
    kernel.run("other = sales.head(2)")
    told = page.wait_for("data")
    assert [(variable["name"], variable["rows"]) for variable in told["variables"]] == [("sales", 3), ("other", 2)]
    assert len(page.heard("data")) == 1


def test_settings_hold_between_pyproject_and_the_environment(kernel: Kernel, page: Page, tmp_path: Path) -> None:
    told = page.set(model="openai/mine", max_cost=0.5, max_iterations=3)
    assert told["settings"]["model"] == {"value": "openai/mine", "origin": "JupyterLab"}
    assert told["settings"]["max_iterations"] == {"value": 3, "origin": "JupyterLab"}  # the environment says 1
    assert told["settings"]["sandbox"] == {"value": "local", "origin": "environment"}
    assert told["settings"]["timeout"]["origin"] == "default"
    shown = kernel.run("%autocode setup settings").displays[0]["text/plain"]
    assert "openai/mine" in shown and "JupyterLab" in shown
    (tmp_path / "pyproject.toml").write_text('[tool.autocode]\nmodel = "openai/project"\nmax_iterations = 2\n')
    told = page.set(model="openai/mine", max_iterations=3)
    assert told["settings"]["max_iterations"] == {"value": 2, "origin": "pyproject.toml"}
    assert told["settings"]["model"]["origin"] == "JupyterLab"  # the user has not agreed to another one
    kernel.run("%config Autocode.model = 'openai/config'")
    told = page.set(model="openai/mine")
    assert told["settings"]["model"] == {"value": "openai/config", "origin": "%config"}
    assert told["settings"]["max_cost"]["origin"] == "default"  # a setting that is no longer sent is no longer set


def test_refused_settings_are_named_and_the_others_hold(page: Page) -> None:
    told = page.set(max_cost="x", shar="rows", share="stats", model="")
    assert told["refused"] == {
        "max_cost": "max_cost must be a number above 0, not 'x'.",
        "shar": "There is no setting 'shar'. Did you mean share?",
    }
    assert told["settings"]["share"] == {"value": "stats", "origin": "JupyterLab"}
    assert told["settings"]["model"]["origin"] == "environment"


def test_a_page_that_is_told_of_us_says_its_settings_before_the_next_cell_reads_them(
    kernel: Kernel, open_page: OpenPage
) -> None:
    page = open_page()
    subshell = page.new_subshell()
    first = kernel.start("%load_ext autocoder_jupyter")
    second = kernel.start(
        f"import pandas as pd\n{DATA}\nget_ipython().run_cell_magic('autocode', 'growth', 'Total of @sales.')",
        cell_id="cell-2",
    )
    page.wait_for_open()
    page.say({"kind": "hello", "client": "page"}, subshell)
    page.say({"kind": "settings", "values": {"max_cost": 0.25}}, subshell)
    kernel.finish(first)
    kernel.finish(second)
    assert kernel.printed("growth._pending is not None") == "True"
    assert page.wait_for("jobs", lambda data: bool(data["jobs"]))
    assert kernel.printed("__import__('autocoder_jupyter').jobs.current('growth').config.max_cost") == "0.25"


@pytest.mark.parametrize("cell_id", ["", "vscode-notebook-cell:/growth.ipynb#W0sZmlsZQ%3D%3D"])
def test_a_front_end_that_cannot_have_the_extension_is_not_waited_for(kernel: Kernel, cell_id: str) -> None:
    kernel.run(f"%load_ext autocoder_jupyter\nimport autocoder_jupyter.lab.link as link\nimport pandas as pd\n{DATA}")
    kernel.run("seconds, link.SETTLING_SECONDS = link.SETTLING_SECONDS, 600.0")
    told = kernel.finish(kernel.start(CELL, cell_id=cell_id))
    kernel.run("link.SETTLING_SECONDS = seconds")  # the kernel is lent to other tests
    assert told.status == "ok" and told.seconds < 60


def test_approve_lets_a_package_in_and_decline_does_not(kernel: Kernel, page: Page, run_script: ScriptedRun) -> None:
    run_script(code=UNKNOWN_PACKAGE)
    kernel.run(DATA)
    kernel.run(CELL)
    job = phase(page, "waiting")
    assert (job["asks"], job["title"]) == ("May it install fiscalmonths?", "Waiting for approval")
    assert page.ask("decline", "growth")["ok"]
    phase(page, "failed")
    refused = page.ask("approve", "growth")
    assert (refused["ok"], refused["error"]) == (False, "growth is not waiting for approval; it is failed.")


def test_cancel_code_tests_and_export(kernel: Kernel, page: Page, run_script: ScriptedRun, tmp_path: Path) -> None:
    release, answer = held()
    run_script(code=answer)
    kernel.run(DATA)
    kernel.run(CELL)
    phase(page, "running")
    assert page.ask("code", "growth")["error"] == "growth is not done yet. Wait until it is ready."
    cancelled = page.ask("cancel", "growth")
    assert (cancelled["ok"], cancelled["value"]) == (True, None)
    phase(page, "cancelled")
    release.set()
    run_script()
    del page.traffic[:]
    kernel.run(CELL)
    phase(page, "ready")
    assert "def growth(sales" in page.ask("code", "growth")["value"]
    exported = page.ask("export", "growth", path="scripts/growth.py")
    assert Path(tmp_path / exported["value"]).read_text().startswith("#!/usr/bin/env")
    assert page.ask("cancel", "growth")["error"] == "growth has ended already (ready)."
    assert "Did you mean growth?" in page.ask("code", "grwth")["error"]


def test_a_busy_kernel_answers_on_a_subshell(kernel: Kernel, page: Page) -> None:
    kernel.run(DATA)
    kernel.run(CELL)
    phase(page, "ready")
    subshell = page.new_subshell()
    busy = kernel.start("import time\nfor _ in range(200): time.sleep(0.1)")
    assert "def growth" in page.ask("code", "growth", subshell)["value"]
    assert page.hello(subshell)["client"] == page.name
    del page.traffic[:]
    page.listen(0.5)
    assert not any(message["msg_type"] == "status" and idle(message, busy) for message in page.traffic)
    kernel.interrupt()
    kernel.finish(busy)


def idle(message: dict[str, Any], of: str) -> bool:
    return message["parent_header"].get("msg_id") == of and message["content"]["execution_state"] == "idle"


JUNK: tuple[Any, ...] = (
    None,
    3,
    "hello",
    [],
    {},
    {"kind": "hello"},
    {"kind": ["hello"], "client": "c"},
    {"kind": "settings", "values": 3},
    {"kind": "request"},
    {"kind": "request", "id": {"a": 1}, "action": "code", "name": "growth"},
)


def test_what_is_not_understood_is_ignored_and_nobody_sees_it(kernel: Kernel, page: Page) -> None:
    page.wait_for("data")
    del page.traffic[:]
    for junk in JUNK:
        page.say(junk)
    assert page.ask("code", "nothing")["ok"] is False  # what comes after it is answered
    assert kernel.run("1 + 1").text == ""
    assert not any(m["msg_type"] in ("stream", "error") for m in page.traffic)
    assert page.heard("welcome") == page.heard("settings") == []
    assert len(page.heard("reply")) == 1


IMPOSSIBLE: tuple[tuple[dict[str, Any], str], ...] = (
    ({"kind": "dance"}, "does not know this request"),
    ({"kind": "request"}, "There is no action None."),
    ({"kind": "request", "action": "cancl", "name": "x"}, "Did you mean cancel?"),
    ({"kind": "request", "action": ["code"], "name": "x"}, "There is no action"),
    ({"kind": "request", "action": "code"}, "code needs the name of a result."),
    ({"kind": "request", "action": "code", "name": "../../etc"}, "There is no result named"),
    ({"kind": "request", "action": "approve", "name": "x"}, "There is no job named 'x'."),
)


def answers(number: int) -> Callable[[dict[str, Any]], bool]:
    return lambda data: bool(data["id"] == str(number))


def test_what_cannot_be_done_is_answered_with_a_sentence(page: Page) -> None:
    for number, (asked, words) in enumerate(IMPOSSIBLE):
        page.say({"id": str(number), **asked})
        reply = page.wait_for("reply", answers(number))
        assert reply["ok"] is False
        assert words in reply["error"] and "\n" not in reply["error"]


def test_a_second_page_finds_the_comm_and_both_are_told(kernel: Kernel, page: Page, open_page: OpenPage) -> None:
    kernel.run(DATA)
    second = open_page()
    assert second.find() and second.comm == page.comm
    second.hello()
    assert second.wait_for("data", lambda data: bool(data["variables"]))["variables"][0]["name"] == "sales"
    kernel.run(CELL)
    assert phase(page, "ready")["started"] == phase(second, "ready")["started"]
    page.close()  # no message comes from a page that is closed
    del second.traffic[:]
    kernel.run("more = sales")
    second.wait_for("data")


def test_a_page_without_the_extension_closes_the_comm_and_the_others_keep_it(
    kernel: Kernel, page: Page, open_page: OpenPage
) -> None:
    ignorant = open_page()
    assert ignorant.find()
    ignorant.say({}, kind="comm_close")
    assert kernel.run(DATA).text == ""
    page.wait_for("data", lambda data: bool(data["variables"]))
    assert "There is no result" in page.ask("code", "growth")["error"]
    assert not any(m["msg_type"] in ("comm_open", "comm_close") for m in ignorant.traffic)
    later = open_page()
    assert later.find() and later.comm == page.comm


@pytest.mark.own_kernel
def test_reload_ext_opens_a_new_comm_and_unload_ext_leaves_none(kernel: Kernel, page: Page) -> None:
    first = page.comm
    del page.traffic[:]
    assert kernel.run("%reload_ext autocoder_jupyter").text == ""
    page.wait_for_open()
    assert page.comm != first
    page.hello()
    assert kernel.run("%unload_ext autocoder_jupyter").text == ""
    assert not page.find()
    hooks = "[f for f in get_ipython().events.callbacks['post_run_cell'] if 'autocoder' in f.__module__]"
    assert kernel.printed(hooks) == "[]"


def test_a_result_from_disk_is_listed_and_goes_with_its_variable(kernel: Kernel, page: Page) -> None:
    kernel.run(DATA)
    kernel.run(CELL)
    phase(page, "ready")
    kernel.run("growth.save('kept')")
    kernel.run("from autocoder_jupyter import CodeGenEvalResult; old = CodeGenEvalResult.load('kept')")
    job = phase(page, "ready", "old")
    assert job["cell_id"] is None and "2 of 2 tests passed" in job["facts"]
    assert job["started"] > 1e9
    del page.traffic[:]
    kernel.run("del old")
    assert [job["name"] for job in page.wait_for("jobs")["jobs"]] == ["growth"]


def test_a_headless_run_has_no_comm(kernel: Kernel, open_page: OpenPage) -> None:
    page = open_page()
    kernel.run("%load_ext autocoder_jupyter", allow_stdin=False)
    kernel.run(DATA, allow_stdin=False)
    page.listen(0.5)
    assert not any(m["msg_type"].startswith("comm_") for m in page.traffic)
    assert not page.find()
    kernel.run("1 + 1")  # a user arrived
    page.wait_for_open()


def test_an_executed_notebook_holds_no_remains_of_the_link(
    run_script: ScriptedRun, model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat

    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.setenv("AUTOCODE_MODEL", "openai/scripted")
    monkeypatch.setenv("AUTOCODE_API_BASE", model.url)
    monkeypatch.setenv("AUTOCODE_SANDBOX", "local")
    monkeypatch.setenv("AUTOCODE_SECOND_OPINION", "off")
    monkeypatch.setenv("AUTOCODE_EFFORT", "quick")
    cells = ["%load_ext autocoder_jupyter", DATA, CELL, "growth.run()"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    run_all(notebook, tmp_path)
    assert "widgets" not in notebook.metadata
    text = nbformat.writes(notebook)
    assert "vnd.jupyter.widget" not in text and "vnd.autocoder" not in text and "comm_id" not in text
    assert notebook.cells[3].outputs[0].data["text/plain"] == "140.0"


def test_tokens_that_stream_fast_make_no_storm_of_messages(kernel: Kernel, page: Page, run_script: ScriptedRun) -> None:
    """Many small pieces come each second; the number of messages for each shown thing is limited."""
    letters = (
        f"{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(500)
    )  # what only counts is stopped
    words = "".join(f"# word {letter} of a long explanation before the code\n" for letter in letters)
    run_script(code=Answer(f"{words}{fenced(CODE)}", piece=8))
    kernel.run(DATA)
    page.wait_for("data", lambda data: bool(data["variables"]))
    del page.traffic[:]
    kernel.run(CELL)
    phase(page, "ready")
    assert kernel.printed("growth.total_output_tokens > 5_000") == "True"
    page.listen(0.5)
    sent: dict[str, list[float]] = {}
    for message in page.traffic:
        if message["msg_type"] in ("comm_msg", "update_display_data"):
            sent.setdefault(shown(message), []).append(message["header"]["date"].timestamp())
    assert len(sent[page.comm]) > 3 and len(sent) > 3  # our comm, the card, the strip and its parts
    # The function is written in less than a second, so what is shown at once comes in the same second: unverified and
    # verified rows, a function that can be used, and the end.
    most = round(1 / UPDATE_SECONDS) + 1 + len(AT_ONCE) + 1
    assert {name: busiest(times) for name, times in sent.items() if busiest(times) > most} == {}


def shown(message: dict[str, Any]) -> str:
    """The subject of a message: one comm (a widget or our link), or one display."""
    content = message["content"]
    return str(content.get("comm_id") or content["transient"]["display_id"])


def busiest(times: list[float]) -> int:
    """The largest number of messages in one second, by the kernel's clock."""
    return max(sum(begin <= time < begin + 1.0 for time in times) for begin in times)


KEY = "sk-typed-into-the-page"
EVERY_LOG = """
import logging
logging.basicConfig(filename="all.log", level=1, force=True)
logging.getLogger("IPKernelApp").setLevel(1)
logging.getLogger("IPKernelApp").propagate = True
"""
SAYS_WHICH_MODEL = "%config Autocode.api_key = 'NO_SUCH_VARIABLE'\n%config Autocode.log = 'events.jsonl'\n"


@pytest.mark.own_kernel  # a key stays in it
def test_a_key_that_is_typed_into_the_page_makes_the_cell_run_and_is_written_nowhere(
    kernel: Kernel, page: Page, model: ScriptedModel, run_script: ScriptedRun, tmp_path: Path
) -> None:
    scripted = run_script()._answer
    model._answer = lambda request: "ready" if "single word" in str(request) else scripted(request)
    kernel.run(DATA)
    kernel.run(SAYS_WHICH_MODEL + EVERY_LOG)
    kernel.run(CELL)
    job = phase(page, "failed")
    assert job["title"] == "Which model?" and "choose-model" in job["actions"] and not job["buttons"]
    card = kernel.wait_for_card("Which model?")
    assert "NO_SUCH_VARIABLE, which is not set" in card and "%autocode setup" in card and "%env" not in card

    values = {"model": "openai/scripted", "api_base": model.url, "api_key": "NO_SUCH_VARIABLE", "litellm_params": {}}
    model._answer, ours = (lambda request: Answer(status=401, error=f"not {KEY}")), model._answer
    refused = page.ask("try-model", "", values=values, key=KEY)
    assert "refuses the key that was typed" in refused["error"] and KEY not in json.dumps(refused)
    model._answer = ours
    page.say({"kind": "request", "id": 7, "action": "try-model", "name": "", "values": values, "key": KEY})  # no id
    assert "not set" in page.ask("try-model", "", values=values)["error"], "a refused key is forgotten"
    elsewhere = page.ask("try-model", "", values={"model": "openai/scripted"}, key=KEY)["error"]
    assert f"go to {model.url}, and the key would too" in elsewhere, "the environment names that address"
    answer = page.ask("try-model", "", values=values, key=KEY)
    assert answer["ok"] and answer["value"].startswith("✓ openai/scripted answers (")
    kernel.run(CELL)
    phase(page, "ready")
    assert model.headers[-1]["authorization"] == f"Bearer {KEY}"
    assert "typed" in kernel.run("%autocode setup check").displays[0]["text/plain"]

    page.ask("ready", "")
    kernel.run("%history -g -f history.txt\nfrom ipywidgets import Widget\nimport json, pathlib\n")
    kernel.run("pathlib.Path('widgets.json').write_text(json.dumps(Widget.get_manager_state(), default=str))")
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    log = (tmp_path / "all.log").read_text()
    assert log.count("'ready'") > 1 and len(written) > 8, "libraries log the other messages"
    assert [path for path, content in written.items() if KEY.encode() in content] == []
    assert KEY not in json.dumps(page.traffic, default=str) + json.dumps(kernel.shown, default=str)
    assert kernel.printed("'" + KEY[:6] + "' in str(__import__('os').environ)") == "False"
