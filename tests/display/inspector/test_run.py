"""The form: a field for each input, a call in the background, its outputs, and the equivalent line of code."""

from __future__ import annotations

import asyncio
import datetime as dt
import html
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.display.inspector.form import RunForm
from autocoder_jupyter.magics.result_display import NotebookCaller
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodeSolution, Dir, File, InputSpec, OutputSpec, Report
from tests.display.inspector.results import HOSTILE

PATIENCE = 60.0

FRAME = InputSpec(name="sales", type="DataFrame", meaning="one row an order")
COUNT = InputSpec(name="min_orders", type="int", required=False, default=5)
SALES = pd.DataFrame({"price": [1.0, 2.0], "region": ["N", "S"]})


def plain(widget: Any) -> str:
    """The text of an HTML widget."""
    return html.unescape(re.sub(r"<[^>]+>", " ", widget.value))


class Form:
    """A form of a result, in a notebook with these variables."""

    def __init__(self, result: CodeGenEvalResult, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.form = RunForm(result.report, NotebookCaller(result, namespace))
        *rows, buttons, code, output = self.form.widget.children
        self.fields = {row.children[0].description: row.children[0] for row in rows}
        self.messages = {row.children[0].description: row.children[1] for row in rows}
        self.run, self.cancel, *_, self.status = buttons.children
        self._code, self._output = code, output

    @property
    def code(self) -> str:
        return plain(self._code).strip().replace(" ", "")

    @property
    def output(self) -> str:
        return plain(self._output)

    def said(self, name: str) -> str:
        return plain(self.messages[name])

    def options(self, name: str) -> list[str]:
        return [label for label, _ in self.fields[name].options]

    def click_and_wait(self) -> str:
        self.run.click()
        self.wait()
        return self.output

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while "after" not in plain(self.status):
            assert time.monotonic() < deadline, plain(self.status)
            time.sleep(0.01)


@pytest.fixture
def form(tmp_path: Path) -> Callable[..., Form]:
    def make(
        inputs: tuple[InputSpec, ...],
        code: str = "",
        outputs: dict[str, Any] | None = None,
        samples: dict[str, Any] | None = None,
        shapes: dict[str, Any] | None = None,
        **namespace: Any,
    ) -> Form:
        report = Report(
            name="growth",
            run_id="r",
            prompt="p",
            success=True,
            solution=CodeSolution(code=code),
            declared_inputs=inputs,
            declared_outputs=tuple(OutputSpec(name=n, type=t) for n, t in (outputs or {"value": "str"}).items()),
            sandbox="local",
            sample_shapes=shapes or {},
        )
        pending = Pending.resolved(Resolution("ready", report))
        options = CallOptions(sandbox="local", timeout=20)
        result = CodeGenEvalResult("growth", pending, samples=samples, options=options, root=tmp_path / ".autocode")
        return Form(result, dict(namespace))

    return make


# What can be chosen


def shape() -> dict[str, Any]:
    from autocoder_jupyter.data.shapes import shape_of

    return {"sales": shape_of(SALES)}


def test_variables_that_fit_are_offered_and_the_others_say_why_not(form: Any) -> None:
    wrong = pd.DataFrame({"region": ["N"]})
    made = form(
        (FRAME,),
        samples={"sales": SALES},
        shapes=shape(),
        sales_2025=SALES.head(1),
        customers=wrong,
        n=3,
        _hidden=SALES,
        prices=SALES["price"],
    )
    assert made.options("sales") == ["the sample · 2 × 2", "sales_2025 · 1 × 2"]
    said = made.said("sales")
    assert "1 does not match" in said and "customers" in said and "lacks 'price'" in said and "sales lacks" not in said
    assert "one row an order" in said and "prices" not in said


def test_a_frame_that_is_needed_must_be_chosen(form: Any) -> None:
    made = form((FRAME,), shapes=shape(), sales=SALES)
    assert made.run.disabled and "sales needs a DataFrame from the notebook." in made.said("sales")
    made.fields["sales"].value = "sales"
    assert not made.run.disabled and made.code == "growth.run(sales)"


def test_variables_that_came_later_are_found_and_the_choice_stays(form: Any) -> None:
    made = form((FRAME,), shapes=shape(), sales=SALES)
    made.fields["sales"].value = "sales"
    made.namespace["later"] = SALES
    made.form.refresh()
    assert made.options("sales") == ["choose …", "sales · 2 × 2", "later · 2 × 2"]
    assert made.fields["sales"].value == "sales"
    del made.namespace["sales"]
    made.form.refresh()
    assert made.run.disabled and made.fields["sales"].value == ""


def test_a_variable_that_is_gone_is_said_when_it_is_used(form: Any) -> None:
    made = form((FRAME,), shapes=shape(), sales=SALES)
    made.fields["sales"].value = "sales"
    del made.namespace["sales"]
    made.run.click()
    assert "There is no 'sales' in the notebook any more." in made.output


@pytest.mark.parametrize(
    ("spec", "control", "start", "value", "code"),
    [
        (COUNT, "IntText", 5, 3, "growth.run(min_orders=3)"),
        (InputSpec(name="x", type="int"), "Text", "", "12", "growth.run(x=12)"),
        (InputSpec(name="x", type="int", required=False, default=2**60), "Text", str(2**60), "1", "growth.run(x=1)"),
        (InputSpec(name="x", type="float", required=False, default=0.5), "FloatText", 0.5, 2.0, "growth.run(x=2.0)"),
        (
            InputSpec(name="x", type="bool", required=False, default=True),
            "Checkbox",
            True,
            False,
            "growth.run(x=False)",
        ),
        (InputSpec(name="x", type="bool"), "Dropdown", "", "True", "growth.run(x=True)"),
        (InputSpec(name="x", type="str", required=False, default="a"), "Text", "a", "", "growth.run(x='')"),
        (
            InputSpec(name="x", type="date", required=False, default="2025-01-31"),
            "DatePicker",
            dt.date(2025, 1, 31),
            dt.date(2025, 2, 1),
            "importdatetime\n\ngrowth.run(x=datetime.date(2025,2,1))",
        ),
        (
            InputSpec(name="x", type="datetime"),
            "NaiveDatetimePicker",
            None,
            dt.datetime(2025, 2, 1, 3),
            "importdatetime\n\ngrowth.run(x=datetime.datetime(2025,2,1,3,0))",
        ),
        (
            InputSpec(name="x", type="timedelta", required=False, default=60),
            "Text",
            "PT1M",
            "90",
            "importdatetime\n\ngrowth.run(x=datetime.timedelta(seconds=90))",
        ),
        (
            InputSpec(name="x", type="list", required=False, default=[1]),
            "Textarea",
            "[1]",
            "[1, 2]",
            "growth.run(x=[1,2])",
        ),
    ],
)
def test_each_type_has_its_control_and_its_default(
    form: Any, spec: InputSpec, control: str, start: Any, value: Any, code: str
) -> None:
    made = form((spec,))
    field = made.fields[spec.name]
    assert type(field).__name__ == control and field.value == start
    if not spec.required:
        assert made.code == "growth.run()"
    else:
        assert made.run.disabled and f"{spec.name} is required." in made.said(spec.name)
    field.value = value
    assert made.code.replace("\n", "") == code.replace("\n", "") and not made.run.disabled


@pytest.mark.parametrize(
    ("kind", "default"), [("float", 5), ("int", "5"), ("int", "many"), ("date", "soon"), ("list", 1)]
)
def test_a_default_of_another_type_breaks_nothing(form: Any, kind: Any, default: Any) -> None:
    made = form((InputSpec(name="x", type=kind, required=False, default=default),))
    assert made.code == "growth.run()" and not made.run.disabled


def test_what_does_not_hold_is_said_beside_the_field(form: Any) -> None:
    made = form((InputSpec(name="x", type="int"), InputSpec(name="config", type="dict")))
    made.fields["x"].value = "3.5"
    made.fields["config"].value = "{"
    assert "x must be a whole number, not '3.5'." in made.said("x")
    assert "config must be a JSON object" in made.said("config")
    assert made.run.disabled
    made.fields["x"].value, made.fields["config"].value = "3", "{}"
    assert "✗" not in made.said("x") + made.said("config") and not made.run.disabled


def test_a_path_is_typed_or_the_name_of_a_variable(form: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    made = form((InputSpec(name="source", type="File"),), kept=File(tmp_path / "a.csv"), folder=Dir(tmp_path))
    assert made.fields["source"].options == ("kept",) and made.run.disabled
    made.fields["source"].value = "kept"
    assert made.code == "growth.run(kept)"
    made.fields["source"].value = str(tmp_path / "a.csv")
    assert made.code.endswith(f"growth.run(source=File('{tmp_path}/a.csv'))")


def test_nothing_of_the_notebook_becomes_markup(form: Any, read: Any) -> None:
    spec = InputSpec(name=HOSTILE, type="DataFrame", meaning=HOSTILE)
    made = form((spec,), samples={HOSTILE: SALES}, shapes={HOSTILE: shape()["sales"]}, bad=pd.DataFrame({HOSTILE: [1]}))
    for widget in (*made.messages.values(), made._code):
        page = read(widget.value)
        assert "script" not in page.tags and "\x1b" not in page.text


# A real run


@pytest.mark.local_sandbox
def test_it_runs_on_another_frame_and_shows_what_comes_out(form: Any) -> None:
    code = "def run(sales, min_orders=5): return sales.head(1), f'{min_orders} of {len(sales)}'"
    made = form(
        (FRAME, COUNT), code, {"first": "DataFrame", "said": "str"}, {"sales": SALES}, shape(), sales_2025=SALES.head(1)
    )
    assert "5 of 2" in made.click_and_wait()
    made.fields["sales"].value, made.fields["min_orders"].value = "sales_2025", 3
    assert made.code == "growth.run(sales_2025,min_orders=3)"
    output = made.click_and_wait()
    assert "3 of 1" in output and "1 rows × 2 columns" in output
    assert not made.run.disabled and made.cancel.disabled


@pytest.mark.local_sandbox
def test_values_are_those_of_the_moment_of_the_click(form: Any) -> None:
    made = form(
        (FRAME,),
        "import time\ndef run(sales): time.sleep(0.3); return str(sales['price'].sum())",
        None,
        None,
        shape(),
        sales=SALES.copy(),
    )
    made.fields["sales"].value = "sales"
    made.run.click()
    made.namespace["sales"].loc[:, "price"] = 100.0
    made.wait()
    assert "3.0" in made.output


@pytest.mark.local_sandbox
def test_data_of_flyte_is_fetched_when_it_is_used(form: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    from flyte import io

    (tmp_path / "a.txt").write_text("hello")
    made = form(
        (FRAME, InputSpec(name="source", type="File")),
        "def run(sales, source): return f'{len(sales)} {source.read_text()}'",
        shapes=shape(),
        frame=io.DataFrame.from_df(SALES),
        note=io.File(path=str(tmp_path / "a.txt")),
        gone=io.File(path="nosuch://b/a.txt"),
    )
    assert (made.options("sales"), made.fields["source"].options) == (
        ["choose …", "frame · DataFrame"],
        ("note", "gone"),
    )
    made.fields["sales"].value, made.fields["source"].value = "frame", "note"
    assert "2 hello" in made.click_and_wait()
    made.fields["source"].value = "gone"
    assert "Flyte could not fetch the File" in made.click_and_wait()


@pytest.mark.local_sandbox
def test_the_click_returns_at_once_and_cancel_kills_the_call(form: Any) -> None:
    made = form((), "import time\ndef run(): time.sleep(60); return ''")
    made.run.click()
    assert made.run.disabled and not made.cancel.disabled
    made.run.click()  # a second click does nothing
    assert plain(made.status).strip().startswith("Running · 00:0")
    made.cancel.click()
    made.wait()
    assert "Cancelled after" in plain(made.status) and made.output.strip() == ""
    assert not made.run.disabled


@pytest.mark.local_sandbox
def test_errors_are_one_sentence_with_what_to_do(form: Any) -> None:
    made = form((), "def run(): raise KeyError('month')")
    output = made.click_and_wait()
    assert "✗ SolutionError" in output and "KeyError" in output and "Traceback" not in output
    assert "Failed after" in plain(made.status)


def test_an_error_of_another_kind_is_shown_as_well(form: Any) -> None:
    made = form(())

    async def broken(arguments: Any) -> Any:
        raise ZeroDivisionError("by zero")

    made.form._caller.call = broken
    assert made.click_and_wait().split() == ["✗", "ZeroDivisionError", "by", "zero"]


def test_the_time_is_told_while_it_runs(form: Any) -> None:
    made, release = form(()), threading.Event()

    async def slow(arguments: Any) -> Any:
        await asyncio.to_thread(release.wait, PATIENCE)
        return {"value": "x"}

    made.form._caller.call = slow
    made.run.click()
    deadline = time.monotonic() + PATIENCE
    while "00:01" not in plain(made.status):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    release.set()
    made.wait()
    assert "x" in made.output
