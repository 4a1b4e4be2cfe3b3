"""Whole generations in a real kernel, with the real sandbox; only the model's answers are scripted."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import autocoder_jupyter
from tests.conftest import ONE_OPINION, LendKernel
from tests.magics.forked_kernels import run_all
from tests.magics.kernel import PATIENCE, Kernel
from tests.scripted_model import CODE_MARKER, PLAN_MARKER, Answer, ScriptedModel, by_marker

pytestmark = pytest.mark.local_sandbox

PLAN = json.dumps(
    {
        "description": "Total of the amounts.",
        "approach": "Sum the column.",
        "outputs": [{"name": "total", "type": "int", "meaning": "sum of all amounts"}],
        "assumptions": ["there are no refunds"],
    }
)
CODE = '''```python
import pandas as pd


def run(sales: pd.DataFrame) -> int:
    """Sum of all amounts."""
    return int(sales["amount"].sum())
```'''
TESTS = '''```python
import pandas as pd
from solution import run


def test_amounts_are_summed():
    """Total of @sales."""
    assert run(sales=pd.DataFrame({"amount": [1, 2, 4]})) == 7


def test_order_does_not_matter():
    """There is one total."""
    assert run(sales=pd.DataFrame({"amount": [4, 1]})) == run(sales=pd.DataFrame({"amount": [1, 4]})) == 5
```'''
DATA = "import pandas as pd; sales = pd.DataFrame({'amount': [10, 20]})"
CELL = '%%autocode growth -o "total: int"\nTotal of @sales.'

Reply = Callable[..., ScriptedModel]


def environment(model: ScriptedModel) -> dict[str, str]:
    """Environment variables with which a kernel finds the scripted model, and this package if it is not installed."""
    return {
        "AUTOCODE_MODEL": "openai/scripted",
        "AUTOCODE_API_BASE": model.url,
        "AUTOCODE_SANDBOX": "local",
        "AUTOCODE_MAX_ITERATIONS": "1",
        "PYTHONPATH": str(Path(autocoder_jupyter.__file__).parents[1]),
    }


@pytest.fixture
def reply() -> Iterator[Reply]:
    """Starts a scripted model; `code` replaces the module, or is a function of the request."""
    with ScriptedModel(lambda request: Answer(status=400)) as model:

        def generated(plan: Any = PLAN, code: Any = CODE, tests: Any = TESTS) -> ScriptedModel:
            def says(answer: Any) -> Callable[[dict[str, Any]], Any]:
                return answer if callable(answer) else lambda request: answer

            model._answer = by_marker(
                {
                    PLAN_MARKER: says(plan),
                    CODE_MARKER: says(code),
                    "You write the tests of one Python function": says(tests),
                }
            )
            return model

        generated()
        yield generated


@pytest.fixture
def kernel(reply: Reply, lend_kernel: LendKernel) -> Iterator[Kernel]:
    with lend_kernel(environment(reply())) as kernel:
        loaded = kernel.run("%load_ext autocoder_jupyter")
        assert (loaded.status, loaded.text) == ("ok", ""), loaded.error
        kernel.run(DATA)
        yield kernel


def held() -> tuple[threading.Event, Answer]:
    release = threading.Event()
    return release, Answer(CODE, hold=release)


@pytest.mark.cold_kernel
def test_the_extension_loads_nothing_heavy(kernel: Kernel, tmp_path: Path) -> None:
    loaded = kernel.run(
        "import sys; print([m for m in ('litellm', 'docker', 'pyarrow', 'pydantic', 'autocoder_jupyter.view.document')"
        " if m in sys.modules])"
    )
    assert loaded.text.strip() in ("[]", "['pyarrow']")  # pandas itself may bring pyarrow


def test_a_cell_binds_a_function_that_works(kernel: Kernel) -> None:
    cell = kernel.run(CELL)
    assert (cell.status, cell.text) == ("ok", "")
    assert not any("execute_result" in data for data in cell.displays)
    other = "growth.run(pd.DataFrame({'amount': [5]}))"
    assert kernel.printed(f"growth.wait().state, growth.run(), {other}") == "ready 30 5"
    card = kernel.wait_for_card("Ready")
    assert "there are no refunds" in card
    assert "2 of 2 tests passed" in card
    assert "Sent" in card


NET = 'RATE = 1\n\n\ndef net(sales):\n    """Amounts without tax."""\n    return sales["amount"] // RATE\n'
ON_NET = CODE.replace("import pandas as pd\n", "import pandas as pd\nfrom helpers import net\n").replace(
    'sales["amount"].sum()', "net(sales).sum()"
)
ON_GROWTH = CODE.replace("import pandas as pd\n", "import pandas as pd\nfrom helpers import growth\n").replace(
    'int(sales["amount"].sum())', "growth(sales)"
)


def test_functions_build_on_a_helper_and_on_each_other(kernel: Kernel, reply: Reply) -> None:
    kernel.run(NET)
    kernel.run("from dataclasses import dataclass\n\n\n@dataclass\nclass Money:\n    cents: int = 0\n")
    model = reply(code=ON_NET)
    assert kernel.run('%%autocode growth -o "total: int"\nTotal of @sales by @net, as @Money.').status == "ok"
    assert kernel.printed("growth.wait().state, growth.run()") == "ready 30"
    assert re.search(r"net \([0-9a-f]{8}\)", kernel.wait_for_card("Ready"))
    reply(code=ON_GROWTH)
    assert kernel.run('%%autocode again -o "total: int"\nThe @growth of @sales.').status == "ok"
    assert kernel.printed("again.wait().state, again.run()") == "ready 30"
    asked = len(model.requests)
    kernel.run(NET.replace("// RATE", "* RATE"))  # another text, the same values
    kernel.run('%%autocode growth -o "total: int"\nTotal of @sales by @net, as @Money.')
    changed = kernel.printed("growth.wait().state, growth.run(), growth.report.change")
    assert changed == "ready 30 net has changed; version 1 satisfies it unchanged"
    assert len(model.requests) == asked
    loaded = kernel.printed("__import__('autocode_functions').again.run(sales)")
    assert loaded == "30"
    assert "builds on growth" in str(kernel.run("%autocode").displays)
    kernel.run("from math import floor")
    refused = kernel.run("%%autocode more\nTotal of @sales by @floor.")
    assert refused.status == "error" and "@floor is of the library 'math'" in refused.error


DRAWN = {**json.loads(PLAN), "outputs": [{"name": "noise", "type": "Figure", "meaning": "the amounts"}]}
DRAWS = '''```python
import random
import struct
import zlib

import pandas as pd


class Noise:
    """A figure without a library, which no compression makes small."""

    def savefig(self, target, **options):
        pixels = b"".join(b"\\0" + random.Random(line).randbytes(300) for line in range(150))
        target.write(b"\\x89PNG\\r\\n\\x1a\\n")
        header = struct.pack(">IIBBBBB", 300, 150, 8, 0, 0, 0, 0)
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")):
            target.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))


def run(sales: pd.DataFrame) -> object:
    return Noise()
```'''
DRAWN_TESTS = '''```python
import pandas as pd
from solution import run


def test_it_draws():
    """The amounts as a picture."""
    assert run(sales=pd.DataFrame({"amount": [1]})).width == 300
```'''


def test_a_picture_is_sent_once_while_the_run_goes_on(kernel: Kernel, reply: Reply) -> None:
    release = threading.Event()
    reply(plan=json.dumps(DRAWN), code=DRAWS, tests=lambda request: Answer(DRAWN_TESTS, hold=release))
    kernel.run('%%autocode growth -o "noise: Figure"\nThe amounts of @sales as a picture.')
    pictures, progress, card, sent = list[str](), list[int](), "", ""
    while "<summary>Sent<" not in re.sub(r"<summary[^>]*>", "<summary>", sent):  # the last card has it
        message = kernel.client.get_iopub_msg(timeout=PATIENCE)
        sent = json.dumps(message["content"], ensure_ascii=False)
        card = sent if "autocode-card" in sent else card
        if "data:image/png" in sent:
            pictures.append(message["msg_type"])
        elif pictures and message["msg_type"] in ("comm_msg", "update_display_data"):
            progress.append(len(sent))
        if len(progress) == 5 and not release.is_set():  # the clock goes on
            assert "not verified yet" in card and "a picture of 300 × 150 pixels" in card
            release.set()
    assert pictures == ["comm_msg", "update_display_data"]  # of the strip, and the last card
    assert max(progress) < 20_000


def test_the_first_rows_are_seen_and_the_draft_runs_before_there_are_tests(kernel: Kernel, reply: Reply) -> None:
    release = threading.Event()
    reply(tests=lambda request: Answer(TESTS, hold=release))
    kernel.run(CELL)
    card = kernel.wait_for_card("not verified yet")
    assert "30" in card.partition("not verified yet")[2] and "Writing code and tests" in card
    drafted = kernel.run("print(growth.draft(), growth.draft(pd.DataFrame({'amount': [5]})), growth.state)")
    assert "30 5 running" in drafted.text.splitlines(), drafted
    assert "growth is not verified: growth.draft ran code that has not passed its tests." in drafted.text
    release.set()
    assert kernel.printed("growth.run(), growth.draft(), growth.success") == "30 30 True"
    assert "not verified" not in kernel.wait_for_card("Ready")


SECOND = CODE.replace(
    "```python\n", '```python\n"""How it is read:\n\n- plainly\n"""\n\nOUTPUTS = {"total": "int"}\n\n'
)


def test_a_verified_function_is_used_while_its_second_opinion_runs(kernel: Kernel, reply: Reply) -> None:
    release = threading.Event()
    model = reply()
    known = model._answer
    model._answer = lambda request: (
        Answer(SECOND, hold=release) if "experienced analyst" in json.dumps(request) else known(request)
    )
    kernel.run(CELL.replace("growth", "growth --second-opinion on", 1))
    card = kernel.wait_for_card("Ready")
    assert card.count("second opinion running") == 1
    told = "growth.run(), growth.success, growth.state, growth.done, growth.report.second_opinion.state"
    assert kernel.printed(told) == "30 True ready False running"
    kernel.run("from autocoder_jupyter import load")
    assert kernel.printed("load('growth').run(sales=sales)") == "30"
    shown = kernel.run("growth")
    assert any("second opinion running" in str(data) for data in shown.displays)
    release.set()
    assert kernel.printed("growth.wait().report.second_opinion.state, growth.done, growth.run()") == "agree True 30"
    assert "opinion running" not in kernel.wait_for_card("second opinion agrees on 1 of 1 output")


def test_the_kernel_is_free_meanwhile_and_the_later_cell_waits(kernel: Kernel, reply: Reply) -> None:
    release, answer = held()
    reply(code=lambda request: answer)
    kernel.run(CELL)
    kernel.wait_for_card("Writing code")
    free = kernel.run("1 + 1")
    assert free.displays[0]["text/plain"] == "2"
    assert "running" in kernel.run("print(growth)").text
    later = kernel.start("print(growth.run())")
    release.set()
    assert kernel.finish(later).text.strip() == "30"


def test_shift_tab_and_tab_show_the_function_before_it_is_ready_and_after(kernel: Kernel, reply: Reply) -> None:
    release, answer = held()
    reply(code=lambda request: answer)
    kernel.run(CELL)
    kernel.wait_for_card("Writing code")
    assert "growth(sales: pandas.DataFrame = <sample>) -> int" in kernel.inspected("growth")
    assert "It was asked for:" in kernel.inspected("growth.run")
    assert {"run", "state", "wait"} <= kernel.completed("growth.")
    assert "sales=" in kernel.completed("growth.run(sa")
    release.set()
    assert kernel.printed("growth(sales.head(1)), growth()") == "10 30"
    assert "Total of the amounts." in kernel.inspected("growth.run.aio")
    assert "sum of all amounts" in kernel.inspected("growth")
    kernel.run("from autocoder_jupyter import AutoCoderAgent; agent = AutoCoderAgent()")
    assert "prompt: 'str'," in kernel.inspected("agent.generate.aio")
    assert "sales=" in kernel.completed("growth(sa") & kernel.completed("growth.run.aio(sa")


def test_a_frame_is_captured_when_the_cell_runs(kernel: Kernel, reply: Reply) -> None:
    release, answer = held()
    reply(code=lambda request: answer)
    kernel.run(CELL)
    kernel.run("sales.loc[0, 'amount'] = 1000")
    release.set()
    assert kernel.printed("growth.run()") == "30"


def test_updates_come_at_most_four_a_second_and_carry_no_print(kernel: Kernel, reply: Reply) -> None:
    release, answer = held()
    reply(code=lambda request: answer)
    kernel.run(CELL)
    assert kernel.run("import time; time.sleep(2); print('mine')").text == "mine\n"
    release.set()
    kernel.wait_for_card("Ready")
    times = [when for when, _ in kernel.updates]
    assert len(times) >= 3
    assert len(times) <= (times[-1] - times[0]) * 4 + 2


def test_cancel_ends_the_job_and_the_result_says_so(kernel: Kernel, reply: Reply) -> None:
    release, answer = held()
    model = reply(code=lambda request: answer)
    kernel.run(CELL)
    kernel.wait_for_card("Writing code")
    assert "is being cancelled" in kernel.run("%autocode cancel growth").text
    kernel.wait_for_card("Cancelled")
    assert model.hung_up.wait(60)
    failed = kernel.run("growth.run()")
    assert "Cancelled" in failed.error and "Traceback" not in failed.error
    release.set()


def test_two_jobs_run_side_by_side(kernel: Kernel) -> None:
    kernel.run(CELL)
    kernel.run(CELL.replace("growth", "other"))
    assert kernel.printed("growth.run(), other.run()") == "30 30"
    status = kernel.run("%autocode status").displays[0]["text/plain"]
    assert [line.replace(",", " ").split()[:2] for line in status.splitlines()] == [
        ["growth", "ready"],
        ["other", "ready"],
    ]


def test_an_interrupt_in_a_waiting_cell_leaves_the_job_running(kernel: Kernel, reply: Reply) -> None:
    release, answer = held()
    reply(code=lambda request: answer)
    waiting = kernel.start(CELL.replace("growth", "growth --wait"))
    kernel.wait_for_card("Writing code")
    kernel.interrupt()
    cell = kernel.finish(waiting)
    assert cell.status == "ok"
    assert "continues in the background" in cell.text
    release.set()
    assert kernel.printed("growth.run()") == "30"


def waiting_lines(kernel: Kernel) -> list[str]:
    """The current text of the lines under waiting cells."""
    kernel.card()  # processes the messages that have come
    return [data["text/plain"] for data in kernel.shown.values() if "autocode-wait" in data.get("text/html", "")]


def test_who_waits_for_a_pending_result_sees_what_for_until_it_is_there(kernel: Kernel, reply: Reply) -> None:
    release, answer = held()
    reply(code=lambda request: answer)
    kernel.run(CELL)
    kernel.wait_for_card("Writing code")
    waiting = kernel.start("growth.run()")
    deadline = time.monotonic() + 60
    while not waiting_lines(kernel):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert re.fullmatch(
        r"growth · \d+ s · attempt 1 of 1, step \w+ · interrupt to stop waiting, it goes on", waiting_lines(kernel)[0]
    )
    release.set()
    assert kernel.finish(waiting).displays[-1]["text/plain"] == "30"
    assert waiting_lines(kernel) == []


def test_an_interrupt_ends_an_await_and_the_job_goes_on(kernel: Kernel, reply: Reply) -> None:
    release, answer = held()
    reply(code=lambda request: answer)
    kernel.run(CELL)
    kernel.wait_for_card("Writing code")
    waiting = kernel.start("print('begun', flush=True)\nawait growth")
    kernel.wait_for_print(waiting, "begun")
    kernel.interrupt()
    assert kernel.finish(waiting).status == "error"
    assert "running" in kernel.run("print(growth)").text
    release.set()
    assert kernel.printed("growth.run()") == "30"


def test_a_headless_cell_waits_and_the_next_run_is_replayed(kernel: Kernel, reply: Reply) -> None:
    model = reply()
    assert kernel.run(CELL, allow_stdin=False).status == "ok"
    assert "Ready" in kernel.card()
    asked = len(model.requests)
    assert kernel.run(CELL, allow_stdin=False).status == "ok"
    assert len(model.requests) == asked
    assert "kept: verified on" in kernel.card()


def test_a_failed_generation_fails_a_headless_cell_and_keeps_the_best_attempt(kernel: Kernel, reply: Reply) -> None:
    reply(code=CODE.replace(".sum()", ".max()"))
    cell = kernel.run(CELL, allow_stdin=False)
    assert cell.status == "error"
    assert "GenerationFailed" in cell.error and "Traceback" not in cell.error
    assert "%autocode show growth shows the best attempt" in cell.error
    assert "test_amounts_are_summed" in kernel.card() and "The best attempt is kept below" in kernel.card()
    assert ".max()" in kernel.run("print(growth.solution.code)").text


def test_no_key_is_said_in_the_cell_that_waits(kernel: Kernel) -> None:
    kernel.run("%env AUTOCODE_API_BASE=")
    kernel.run("%env OPENAI_API_KEY=")
    cell = kernel.run(CELL.replace("growth", "growth --wait"))
    assert "AuthenticationFailed" in cell.error, cell.text
    assert "OPENAI_API_KEY" in kernel.wait_for_card("Which model?")


def test_a_dry_run_shows_what_would_be_sent_and_asks_nobody(kernel: Kernel, reply: Reply) -> None:
    model = reply()
    cell = kernel.run(CELL.replace("growth", "growth --dry-run"))
    assert "Total of @sales." in cell.displays[0]["text/plain"], cell.error
    assert model.requests == []


def test_own_tests_before_and_after_the_cell_hold_in_a_run_of_all_cells(kernel: Kernel, reply: Reply) -> None:
    model = reply()
    own = "%%autocode_test growth\ndef test_{0}():\n    assert growth(pd.DataFrame({{'amount': [{1}]}})) == {2}\n"
    example = CELL.replace("growth", 'growth --example "@sales -> 30"')
    for cell in (own.format("before", 3, 3), example, own.format("after", 4, 4)):
        answered = kernel.run(cell, allow_stdin=False)
        assert answered.status == "ok", answered.error
    asked = len(model.requests)
    held = kernel.printed("[(one.name, one.passed) for one in growth.report.evidence.acceptance]")
    assert held == str(
        [("your example @sales -> 30", True), ("your test test_before", True), ("your test test_after", True)]
    )
    assert "expected: 30" in str(model.requests[0]) and "test_before" not in str(model.requests)
    failed = kernel.run(own.format("wrong", 1, 2), allow_stdin=False)
    assert failed.status == "error" and "refused the question" in failed.error
    assert "assert 1 == 2" in str(model.requests[asked:])  # the model is asked to mend what the added test has shown


def test_a_console_is_told_that_a_cell_goes_on(kernel: Kernel) -> None:
    assert kernel.is_complete("%%autocode growth") == ("incomplete", "")
    assert kernel.is_complete(f"{CELL}\n  in euros")[0] == "incomplete"
    assert kernel.is_complete(f"{CELL}\n\n")[0] == "complete"


def test_preview_shows_what_a_run_sent(kernel: Kernel) -> None:
    kernel.run(CELL, allow_stdin=False)
    assert "sales" in kernel.run("%autocode show growth --sent").displays[0]["text/plain"]
    history = kernel.run("%autocode history growth").displays[0]["text/plain"]
    assert "ready" in history and "1 attempt" in history


def test_export_writes_a_script(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(CELL, allow_stdin=False)
    said = kernel.run("%autocode export growth growth_script.py")
    assert "Written to" in said.text, said.error
    assert "def run" in (tmp_path / "growth_script.py").read_text()


def test_the_card_is_in_an_executed_and_exported_notebook(reply: Reply, tmp_path: Path, monkeypatch: Any) -> None:
    import nbconvert
    import nbformat

    model = reply()
    for name, value in {**ONE_OPINION, **environment(model)}.items():
        monkeypatch.setenv(name, value)
    cells = ["%load_ext autocoder_jupyter", DATA, CELL, "print('total', growth.run())"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    run_all(notebook, tmp_path)
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    assert "autocode-card" in page and "Ready" in page and "there are no refunds" in page
    assert "total 30" in page
    assert not any("widget-view" in str(output) for cell in notebook.cells for output in cell.get("outputs", ()))


def test_a_terminal_session_waits_in_plain_text(reply: Reply, tmp_path: Path) -> None:
    script = tmp_path / "session.ipy"
    script.write_text(
        f"%load_ext autocoder_jupyter\n{DATA}\n"
        + "get_ipython().run_cell_magic('autocode', 'growth', 'Total of @sales.')\nprint(growth.run())\n"
    )
    model = reply()
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--colors=nocolor", str(script)],
        cwd=tmp_path,
        env={**os.environ, **ONE_OPINION, **environment(model)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "growth  Plan" in done.stdout, done.stdout + done.stderr
    assert "● growth  Ready" in done.stdout
    assert done.stdout.rstrip().endswith("30")
    assert "<div" not in done.stdout


def test_a_notebook_of_a_stranger_runs_without_what_its_folder_asks_for_until_a_person_types_yes(
    kernel: Kernel, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = tmp_path_factory.mktemp("own")
    kernel.run(f"import os; os.environ['XDG_CONFIG_HOME'] = {str(own)!r}")
    with ScriptedModel(lambda request: Answer(status=401)) as attacker:
        wanted = f'[tool.autocode]\napi_base = "{attacker.url}"\n'
        (tmp_path / "pyproject.toml").write_text(wanted)
        kernel.run(CELL)
        assert kernel.printed("growth.wait().state") == "ready"
        assert f"api_base = {attacker.url}" in kernel.wait_for_card("Ready")

        by_itself = kernel.run("%autocode trust", allow_stdin=False)
        assert "There is no user who could agree" in by_itself.error
        assert (attacker.requests, list(own.rglob("trusted.json"))) == ([], [])

        asking = kernel.start("%autocode trust")
        assert "Type yes" in kernel.client.get_stdin_msg(timeout=PATIENCE)["content"]["prompt"]
        kernel.client.input("yes")
        agreed = kernel.finish(asking)
        assert attacker.url in agreed.displays[0]["text/html"]
        assert "You agreed" in agreed.text
        kernel.run(f"{CELL} And again.")
        assert "AuthenticationFailed" in kernel.run("growth.wait()").error
        assert len(attacker.requests) == 1


def answered_by(kernel: Kernel, code: str, *typed: str) -> tuple[list[str], Any]:
    """Run a cell and type an answer to each of its questions. Returns the questions and the cell."""
    cell, asked = kernel.start(code), []
    for word in typed:
        asked.append(kernel.client.get_stdin_msg(timeout=PATIENCE)["content"]["prompt"])
        kernel.client.input(word)
    return asked, kernel.finish(cell)


def test_a_table_that_is_named_without_an_at_sign_is_passed_after_one_question(kernel: Kernel) -> None:
    (question,), cell = answered_by(
        kernel, '%%autocode growth -o "total: int" --wait\nTotal of the Sales table.', "yes"
    )
    assert question.startswith("Use sales (") and cell.status == "ok", cell.error
    assert kernel.printed("growth.report.prompt, list(growth.report.sample_schemas)") == (
        "Total of the @sales table. ['sales']"
    )


def test_the_first_steps_ask_make_a_test_call_and_say_how_to_keep_the_settings(kernel: Kernel) -> None:
    with ScriptedModel(["ready"]) as model:
        kernel.run(f"%config Autocode.api_base = {model.url!r}")
        answers = ("openai/other", "", "2", "8", "all", "stats", "", "yes")
        asked, cell = answered_by(kernel, "%autocode setup", *answers)
        assert cell.status == "ok", cell.error
        assert len(model.requests) == 1 and model.requests[0]["model"] == "other"
        assert [message["content"] for message in model.requests[0]["messages"]] == [
            "Answer with the single word: ready"
        ]
    words = (
        "Model",
        "Address",
        "million input",
        "million output",
        "What is sent",
        "What is sent",
        "Sandbox",
        "Send one short",
    )
    assert [word in question for word, question in zip(words, asked, strict=True)] == [True] * 8
    assert "✓ openai/other answers (" in cell.text and "No file was written" in cell.text
    assert "c.Autocode.model = 'openai/other'" in cell.text and "c.Autocode.share = 'stats'" in cell.text
    assert "c.Autocode.sandbox" not in cell.text
    config = kernel.run("%autocode setup settings").displays[0]["text/plain"]
    assert "openai/other" in config
    kernel.run("%config Autocode.api_base = None")
    refused = kernel.run("%autocode setup", allow_stdin=False)
    assert "there is no user to answer them" in refused.error


def test_first_steps_that_fail_change_nothing(kernel: Kernel) -> None:
    with ScriptedModel(lambda request: Answer(status=401)) as model:
        kernel.run(f"%config Autocode.api_base = {model.url!r}")
        _, cell = answered_by(kernel, "%autocode setup", "openai/other", "", "0", "0", "rows", "", "yes", "")
    assert "AuthenticationFailed" in cell.error
    assert "openai/other" not in kernel.run("%autocode setup settings").displays[0]["text/plain"]
