"""The display of a result as the last line of a cell, in each kind of front end."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import magics
from autocoder_jupyter.display.inspector.document import render_text
from autocoder_jupyter.display.live import FOLLOWED, OUR_WIDGET, WIDGET
from autocoder_jupyter.magics import result_display
from autocoder_jupyter.magics.result_display import Inspectors, card_of, subject_of
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.run.events import ModelRefused, OptionOffered, PriceAsked, SampleOutputs
from autocoder_jupyter.types import CodeSolution, InputSpec, OutputSpec, Report
from autocoder_jupyter.types.records import Glimpse
from autocoder_jupyter.view.as_html import data_address


def finished(name: str = "growth", state: Any = "ready", **fields: Any) -> CodeGenEvalResult:
    report = Report(
        name=name,
        run_id="r",
        prompt="p",
        success=state == "ready",
        solution=CodeSolution(code="def run(sales): return 1\n"),
        declared_inputs=(InputSpec(name="sales", type="DataFrame"),),
        declared_outputs=(OutputSpec(name="value", type="int"),),
        **fields,
    )
    return CodeGenEvalResult(
        name, Pending.resolved(Resolution(state, report)), samples={"sales": pd.DataFrame({"secret_price": [4711]})}
    )


def shown(shell: Any, result: object) -> dict[str, Any]:
    data, _ = shell.display_formatter.format(result)
    return data


def test_a_live_notebook_gets_the_widget_and_the_static_form(shell: Any) -> None:
    data = shown(shell, finished())
    assert set(data) == {WIDGET, "text/html", "text/plain"}
    assert data[WIDGET]["version_major"] == 2 and data[WIDGET]["model_id"]
    assert "autocode-result" in data["text/html"] and data["text/plain"].startswith("<autocode growth ready")


def test_a_page_of_ours_gets_what_only_it_can_render(shell: Any) -> None:
    notebook = magics._registered[id(shell)][0].notebook
    notebook.front_end.has_page = lambda: True
    data = shown(shell, finished())
    assert set(data) == {OUR_WIDGET, "text/html", "text/plain"}
    assert set(data[OUR_WIDGET]) == {"model_id"} and data[OUR_WIDGET]["model_id"]


def test_where_nobody_sits_there_is_the_static_form_only(shell: Any) -> None:
    shell.kernel._allow_stdin = False
    assert set(shown(shell, finished())) == {"text/html", "text/plain"}


def test_without_ipywidgets_there_is_the_static_form_only(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert set(shown(shell, finished())) == {"text/html", "text/plain"}


def test_a_terminal_gets_the_evidence_and_the_code_as_text(shell: Any) -> None:
    shell.kernel = None
    data = shown(shell, finished())
    assert set(data) == {"text/plain"}
    assert "def run(sales): return 1" in data["text/plain"] and "growth" in data["text/plain"]


def pending_result(state: Any = "running") -> tuple[Pending[Any], CodeGenEvalResult]:
    pending: Pending[Any] = Pending(lambda: state)
    return pending, CodeGenEvalResult("growth", pending)


@pytest.mark.parametrize("state", ["running", "waiting for approval"])
def test_a_pending_result_is_one_line_where_nobody_sits(shell: Any, state: Any) -> None:
    shell.kernel._allow_stdin = False
    data = shown(shell, pending_result(state)[1])
    assert set(data) == {"text/html", "text/plain"}
    assert f"autocode growth {state}" in data["text/html"]


def wait_for_outputs(shell: Any, count: int) -> list[Any]:
    deadline = time.monotonic() + 60
    while len(shell.display_pub.outputs) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    return list(shell.display_pub.outputs)


@pytest.mark.parametrize("line", ["", "%autocode show "])
@pytest.mark.parametrize("end", ["ready", "failed"])
def test_a_pending_result_appears_in_its_place_when_it_is_done(shell: Any, line: str, end: Any) -> None:
    pending, result = pending_result()
    shell.user_ns["growth"] = result
    if line:
        shell.run(f"{line}growth")
    else:
        assert shown(shell, result) == {}  # an output of its own, which can be updated
    (first,) = shell.display_pub.outputs
    assert "growth is running: it is shown here when it is ready." in first["data"]["text/html"]
    assert "shown here when it is ready" in first["data"]["text/plain"]
    pending.resolve(Resolution(end, finished(state=end).report))
    _, last = wait_for_outputs(shell, 2)
    assert last["update"] and last["transient"] == first["transient"]
    assert set(last["data"]) == {WIDGET, "text/html", "text/plain"}
    assert f"● {end.capitalize()}" in last["data"]["text/html"]
    assert WIDGET in shown(shell, result)  # from now on it is a value like others


@pytest.mark.parametrize("has_page", [True, False])
@pytest.mark.parametrize("replaced", [True, False])
def test_a_page_of_ours_is_told_which_run_a_pending_result_is_of(
    shell: Any, jobs: Any, has_page: bool, replaced: bool
) -> None:
    notebook = magics._registered[id(shell)][0].notebook
    notebook.front_end.has_page = lambda: has_page
    shell.run("%%autocode growth\nWords")
    result = jobs.last.result
    if replaced:
        shell.run("%%autocode growth --replace\nOther words")
    shown(shell, result)
    followed = shell.display_pub.outputs[-1]["data"].get(FOLLOWED)
    if replaced or not has_page:
        assert followed is None
    else:
        started = notebook.launched["growth"].started
        expected = {"shows": "result", "name": "growth", "started": started, "step": "", "finished": False}
        assert followed == expected


def test_a_part_of_a_pending_result_is_not_there_yet(shell: Any) -> None:
    _, shell.user_ns["growth"] = pending_result()
    shell.run("%autocode show growth --code")
    (output,) = shell.display_pub.outputs
    assert output["data"]["text/plain"] == "<autocode growth running>"


def test_a_result_that_cannot_be_shown_hurts_nobody(
    shell: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pending, result = pending_result()
    shown(shell, result)
    monkeypatch.setattr(Inspectors, "of", lambda *_: 1 / 0)
    pending.resolve(Resolution("ready", finished().report))
    deadline = time.monotonic() + 60
    while "growth could not be shown" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "growth could not be shown" in caplog.text
    assert result.success and len(shell.display_pub.outputs) == 1


@pytest.mark.parametrize(
    ("state", "words"), [("failed", "Failed"), ("cancelled", "Cancelled"), ("over_budget", "Out of budget")]
)
def test_how_it_ended_is_said(shell: Any, state: Any, words: str) -> None:
    assert f"● {words}" in shown(shell, finished(state=state))["text/html"]


def test_show_publishes_the_same_and_says_more_in_words(shell: Any) -> None:
    shell.user_ns["growth"] = finished()
    shell.run("%autocode show growth")
    (output,) = shell.display_pub.outputs
    assert set(output["data"]) == {WIDGET, "text/html", "text/plain"}
    assert "def run(sales)" in output["data"]["text/plain"]


PNG = b"\x89PNG of a chart"


def test_the_inspector_begins_with_the_outputs_on_the_sample_that_the_card_shows(shell: Any, jobs: Any) -> None:
    notebook = magics._registered[id(shell)][0].notebook
    shell.run("%%autocode growth\nWords")
    result = jobs.last.result
    seen = (Glimpse("chart", "bar chart of sales", picture=PNG), Glimpse("best", "2024-12"))
    jobs.last.tell(SampleOutputs(seen))
    jobs.last.end()
    html = shown(shell, result)["text/html"]
    assert html.index(">Outputs<") < html.index(data_address(PNG, "image/png")) < html.index("2024-12")
    assert html.index("2024-12") < html.index("def")
    words = render_text(subject_of(result, card_of(notebook, result)))
    assert words.index("output chart: bar chart of sales") < words.index("def run()")
    shell.run("%%autocode growth --replace\nOther words")
    assert card_of(notebook, result) is None


@pytest.mark.parametrize(
    ("event", "headline"),
    [
        (OptionOffered("--rename price=amount"), "Renamed?"),
        (ModelRefused(()), "Which model?"),
        (PriceAsked(), "What does it cost?"),
    ],
)
def test_the_inspector_of_a_run_that_ended_with_a_question_has_the_headline_of_its_card(
    shell: Any, jobs: Any, event: Any, headline: str
) -> None:
    shell.run("%%autocode growth\nWords")
    jobs.last.tell(event)
    jobs.last.end("failed", error="It ended.")
    assert headline in shown(shell, jobs.last.result)["text/html"]


def test_a_result_that_is_shown_twice_has_one_inspector(shell: Any) -> None:
    result = finished()
    assert shown(shell, result)[WIDGET] == shown(shell, result)[WIDGET]


def test_a_newer_result_of_that_name_freezes_the_older_inspector() -> None:
    inspectors, old, new = Inspectors(), finished(), finished()
    first = inspectors.of(old)
    assert inspectors.of(old) is first and len(first.widget.children) == 2
    second = inspectors.of(new)
    assert second is not first and "autocode-result" in first.widget.children[0].value


def test_a_result_that_was_verified_meanwhile_is_shown_as_it_is_now() -> None:
    inspectors, growth = Inspectors(), finished(state="not_verified")
    first = inspectors.of(growth)
    assert "Not verified here" in str(first.widget.children[0].value)
    growth._pending = finished()._pending
    second = inspectors.of(growth)
    assert "Ready" in str(second.widget.children[0].value) and len(first.widget.children) == 1


def test_only_so_many_are_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_display, "MAX_OPEN", 2)
    inspectors, results = Inspectors(), [finished(name) for name in "abc"]
    a, b = inspectors.of(results[0]), inspectors.of(results[1])
    inspectors.of(results[0])  # shown again, so b is now the one that was shown longest ago
    inspectors.of(results[2])
    assert len(b.widget.children) == 1 and len(a.widget.children) == 2


def test_unloading_freezes_and_forgets(shell: Any) -> None:
    result = finished()
    shown(shell, result)
    display = magics._registered[id(shell)][2]
    inspector = display._inspectors.of(result)
    magics.unregister(shell)
    assert len(inspector.widget.children) == 1
    assert set(shown(shell, result)) == {"text/plain"}


@pytest.mark.parametrize(("share", "told"), [("rows", True), ("stats", True), ("schema", False), (None, False)])
def test_the_saved_form_tells_of_the_sample_what_the_model_was_told(
    shell: Any, here: Path, share: str | None, told: bool
) -> None:
    shell.kernel._allow_stdin = False
    if share:
        folder = here / ".autocode" / "growth" / "r"
        folder.mkdir(parents=True)
        (folder / "sent.json").write_text(f'{{"share": "{share}", "text": "what was sent"}}')
    html = shown(shell, finished())["text/html"]
    assert "secret_price" in html and ("4711" in html) is told
    assert ("what was sent" in html) is (share is not None)
