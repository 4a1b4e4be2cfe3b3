"""Rows of calls on new data: they are counted after the answer, in the real local sandbox."""

from __future__ import annotations

import base64
import gc
import pickle
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.calls import row_counts
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.row_counts import ROWS, differences
from autocoder_jupyter.concurrency.spare_time import SPARE_TIME
from autocoder_jupyter.errors import DriftWarning
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodeSolution, Evidence, InputSpec, OutputSpec, Report, RowStep, RowsUsed
from tests.conftest import LendKernel
from tests.engine.test_rows_used import function

pytestmark = pytest.mark.local_sandbox

CODE = function('s = sales[sales["status"] != "cancelled"]\nreturn s.dropna(subset=["country"])')
LINE = "after line 6, 25 % of 40 rows are left (30 with status cancelled); 75 % of the sample's were."


def sales(cancelled: int, *, rows: int = 40, amount: float = 1.0) -> pd.DataFrame:
    status = ["cancelled"] * cancelled + ["paid"] * (rows - cancelled)
    return pd.DataFrame({"status": status, "country": "CH", "amount": amount})


SAMPLE = sales(10)


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def built(code: str = CODE, *, rows: RowsUsed | None = None, **options: Any) -> CodeGenEvalResult:
        report = Report(
            name="growth",
            run_id="abc",
            prompt="…",
            success=True,
            solution=CodeSolution(code=code),
            declared_inputs=(InputSpec(name="sales", type="DataFrame"),),
            declared_outputs=(OutputSpec(name="kept", type="DataFrame"),),
            sandbox="local",
            evidence=Evidence(rows_used=rows),
        )
        return CodeGenEvalResult(
            "growth",
            Pending.resolved(Resolution("ready", report)),
            samples={"sales": SAMPLE},
            options=CallOptions(sandbox="local", **options),
            root=tmp_path / ".autocode",
        )

    monkeypatch.setattr(row_counts, "QUIET_SECONDS", 0.0)
    ROWS.begin_again()
    return built


@pytest.fixture
def growth(build: Any) -> CodeGenEvalResult:
    return build(rows=rows_of_sample(build))


def rows_of_sample(build: Any) -> RowsUsed:
    found = build().rows_used(SAMPLE)
    assert found is not None and found.line == "40 rows → 30 used; 10 with status cancelled"
    return found


def wait() -> None:
    """Until nothing waits to be counted."""
    while ROWS.is_running:
        time.sleep(0.01)


@contextmanager
def heard() -> Iterator[list[Any]]:
    """The warnings, also those that come later."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found
        wait()
    found[:] = [one for one in found if one.category is DriftWarning]


def test_a_filter_that_drops_more_than_of_the_sample_is_told_after_the_answer(growth: CodeGenEvalResult) -> None:
    march = sales(30)
    with heard() as found:
        kept = growth.run(march)
        kept["total"] = 0.0  # what the caller does with the answer and the input is no other answer
        march.drop(columns="amount", inplace=True)
    assert len(kept) == 10
    (warning,) = found
    assert str(warning.message) == f"growth: {LINE}"
    assert warning.filename == __file__
    assert growth.drift == (LINE,)
    taken = ROWS.taken
    assert repr(growth.rows_used(sales(30))) == "RowsUsed('40 rows → 10 used; 30 with status cancelled')"
    with heard() as found:
        growth.run(sales(30))  # another object with the same content
        wait()
        growth.run(sales(8))  # as of the sample
    assert not found and growth.drift == (LINE,)
    assert ROWS.taken > taken and growth.rows_used(sales(8)) is not None


async def test_it_is_told_of_a_call_on_the_callers_loop(growth: CodeGenEvalResult) -> None:
    with heard() as found:
        await growth.run.aio(sales(30))
    assert [(str(one.message), one.filename) for one in found] == [(f"growth: {LINE}", __file__)]


def test_the_same_input_is_counted_once(growth: CodeGenEvalResult) -> None:
    march = sales(30)
    growth.run(march)
    wait()
    taken = ROWS.taken
    assert taken > 0
    for frame in (march, sales(30), SAMPLE):
        growth.run(frame)
        wait()
    assert ROWS.taken == taken


def test_nothing_is_counted_where_it_is_off_or_the_function_reaches_further(build: Any) -> None:
    rows = rows_of_sample(build)
    growth = build(rows=rows)
    growth.run(sales(30), drift="off")
    growth.run()
    build(rows=rows, drift="off").run(sales(30))
    build(rows=rows, network=True).run(sales(30))
    build().run(sales(30))
    assert not ROWS.is_running and ROWS.taken == 0


def test_calls_of_threads_have_their_own_rows(growth: CodeGenEvalResult) -> None:
    frames = [sales(number, amount=number) for number in range(12)]
    threads = [threading.Thread(target=growth.run, args=[frame]) for frame in frames]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait()
    taken = ROWS.taken
    used = [growth.rows_used(frame) for frame in frames]
    assert [one and one.used for one in used] == [40 - number for number in range(12)]
    assert ROWS.taken == taken  # each was counted before


def test_an_item_of_a_map_is_named(growth: CodeGenEvalResult) -> None:
    with heard() as found:
        growth.map([sales(9), sales(30), sales(31)])
    assert [str(one.message) for one in found] == [f"growth.map[1]: {LINE}"]  # of each line once
    assert growth.drift == (LINE.replace("25", "22").replace("30", "31"),)


def test_no_table_is_held(growth: CodeGenEvalResult) -> None:
    march = sales(30)
    kept = growth.run(march)
    wait()
    gone = [weakref.ref(march), weakref.ref(kept)]
    columns = weakref.ref(march._mgr)
    del march, kept
    gc.collect()
    assert [one() for one in (*gone, columns)] == [None] * 3


@pytest.mark.parametrize(("what", "value"), [("MOST_CELLS", 100), ("MOST_WAITING", 0), ("FIRST_SECONDS", -1.0)])
def test_beyond_the_budget_the_calls_are_only_numbered(
    growth: CodeGenEvalResult, monkeypatch: pytest.MonkeyPatch, what: str, value: float
) -> None:
    monkeypatch.setattr(row_counts, what, value)
    growth.run(sales(30))
    growth.run(sales(31))
    wait()
    assert ROWS.taken == 0
    assert growth.drift == ("The rows of 2 calls were not counted, to save time.",)


def test_while_others_wait_for_answers_nothing_is_counted(
    growth: CodeGenEvalResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_counts, "LONGEST_WAIT", 0.2)
    with SPARE_TIME.in_use():
        growth.run(sales(30))
        wait()
    assert ROWS.taken == 0
    assert growth.drift == ("The rows of 1 call were not counted, to save time.",)


@pytest.mark.parametrize(
    "body",
    [
        "import random\nreturn sales.sample(frac=random.random())",  # another answer each time
        'if "item" in run.__code__.co_names:\n    raise ValueError\nreturn sales[sales["status"] == "paid"]',
        'import time\nif "item" in run.__code__.co_names:\n    time.sleep(60)\nreturn sales[sales["status"] == "paid"]',
    ],
)
def test_of_a_copy_that_does_something_else_nothing_is_said(
    build: Any, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr(row_counts, "SECONDS", 1.0)
    growth = build(function(body), rows=RowsUsed(before=40, used=40))
    with heard() as found:
        growth.run(sales(30))
    assert not found and growth.drift == () and ROWS.taken > 0


@pytest.mark.own_kernel
def test_a_notebook_shows_it_below_the_answer(lend_kernel: LendKernel, growth: CodeGenEvalResult) -> None:
    with lend_kernel({"AUTOCODE_SANDBOX": "local"}) as kernel:
        kernel.run("import pickle, base64, pandas as pd")
        for name, value in {"growth": growth.as_task("growth"), "march": sales(30)}.items():
            text = base64.b64encode(pickle.dumps(value)).decode()
            assert kernel.run(f"{name} = pickle.loads(base64.b64decode('{text}'))").status == "ok"
        kernel.run("from autocoder_jupyter.concurrency.spare_time import SPARE_TIME")
        kernel.run("others = SPARE_TIME.in_use(); others.__enter__()")
        called = kernel.start("len(growth(march))")
        kernel.start("others.__exit__(None, None, None)")  # another cell runs before it is told
        kernel.wait_for_print(called, LINE)


def test_a_process_ends_while_rows_are_counted() -> None:
    script = """
    from tests.calls.test_row_counts import *
    code = function("import time\\nif 'method' in run.__code__.co_names:\\n    time.sleep(300)\\nreturn sales")
    report = Report(name="growth", run_id="abc", prompt="…", success=True, solution=CodeSolution(code=code),
        declared_inputs=(InputSpec(name="sales", type="DataFrame"),), sandbox="local",
        declared_outputs=(OutputSpec(name="kept", type="DataFrame"),),
        evidence=Evidence(rows_used=RowsUsed(before=40, used=40)))
    growth = CodeGenEvalResult("growth", Pending.resolved(Resolution("ready", report)))
    row_counts.SECONDS = 600.0
    print(len(growth.run(sales(30))))
    time.sleep(1)
    print(ROWS.is_running)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=200, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "40\nTrue\n", "")


# Differences


def rows(*steps: RowStep, before: int = 1_000, after_line: int = 0, table: str = "") -> RowsUsed:
    used = steps[-1].after if steps else before
    return RowsUsed(before=before, used=used, steps=steps, after_line=after_line, table=table)


def step(before: int, after: int, line: int = 6, *, by_value: bool = True, **more: Any) -> RowStep:
    return RowStep(line=line, before=before, after=after, reason="with a b", by_value=by_value, **more)


def said(then: RowsUsed, now: RowsUsed) -> list[str]:
    return [words for _, words in differences(then, now)]


def test_a_line_that_leaves_out_none_in_one_of_them_is_told() -> None:
    assert said(rows(), rows(step(1_000, 480))) == [
        "after line 6, 48 % of 1,000 rows are left (520 with a b); 100 % of the sample's were."
    ]
    assert said(rows(step(1_000, 480)), rows(before=500)) == [
        "after line 6, 100 % of 500 rows are left; 48 % of the sample's were (520 with a b)."
    ]


def test_steps_in_one_line_are_one() -> None:
    then = rows(step(1_000, 900), step(900, 810))
    assert said(then, rows(step(500, 250), step(250, 125))) == [
        "after line 6, 25 % of 500 rows are left (250 with a b, 125 with a b); 81 % of the sample's were."
    ]


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (rows(step(1_000, 480)), rows(step(2_000, 1_000))),  # about the same
        (rows(step(20, 20), before=20), rows(step(20, 5), before=20)),  # of a few rows
        (rows(step(1_000, 900, by_value=False)), rows(step(1_000, 100, by_value=False))),  # such as `head`
        (rows(), rows(step(1_000, 100, of_groups=True))),
        (rows(after_line=4), rows(step(1_000, 100))),  # the sample was not followed as far
        (rows(table="sales"), rows(step(1_000, 100, table="stores"), table="sales")),
        (rows(table="sales"), rows(step(1_000, 100, table="stores"), table="stores")),
    ],
)
def test_what_may_have_another_cause_is_not_told(then: RowsUsed, now: RowsUsed) -> None:
    assert said(then, now) == []
