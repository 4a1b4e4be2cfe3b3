"""The benchmark of the evidence runs its tasks through the real loop and sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.trust.__main__ import produced
from tests.benchmarks.trust.known import answer, is_right
from tests.benchmarks.trust.run_script import ScriptedRun
from tests.benchmarks.trust.table import Row, settles, table
from tests.benchmarks.trust.tasks import gaps, orders

REVENUE, GAPS = orders.TASKS[0], gaps.TASKS[1]
MEAN = next(task for task in orders.TASKS if task.name == "mean order by month")


@pytest.mark.local_sandbox
@pytest.mark.slow
async def test_right_functions_are_accepted_and_wrong_ones_are_seen_by_the_layers_that_know(tmp_path: Path) -> None:
    wrong, empty = REVENUE.wrong["all statuses"], GAPS.wrong["empty text is there"]
    rows = [
        Row("orders", "right", "right", ScriptedRun(REVENUE, REVENUE.right, "strong")),
        Row("orders", "wrong", "all statuses", ScriptedRun(REVENUE, wrong, "weak")),
        Row("orders", "wrong", "all statuses", ScriptedRun(REVENUE, wrong, "strong")),
        Row("orders", "wrong", "the mean price", ScriptedRun(MEAN, MEAN.wrong["the mean price"], "derived")),
        Row("orders", "wrong", "all statuses", ScriptedRun(REVENUE, wrong, "weak", REVENUE.same)),
        Row("orders", "wrong", "all statuses", ScriptedRun(REVENUE, wrong, "strong", REVENUE.same)),
        Row("gaps", "pair", "right, same", ScriptedRun(GAPS, GAPS.right, "strong", GAPS.same)),
        Row("gaps", "wrong", "empty text is there", ScriptedRun(GAPS, empty, "weak", GAPS.same)),
    ]
    done = await produced(rows, tmp_path)
    outcomes = {(row.family, row.kind, row.setting): outcome for row, outcome in done}
    assert outcomes["orders", "right", ("strong", False)].is_plainly_green
    assert outcomes["orders", "wrong", ("weak", False)].accepted
    assert outcomes["orders", "wrong", ("strong", False)].seen_by == {"tests"}
    assert outcomes["orders", "wrong", ("derived", False)].seen_by == {"further"}
    assert "second" in outcomes["orders", "wrong", ("weak", True)].seen_by
    assert outcomes["orders", "wrong", ("strong", True)] == outcomes["orders", "wrong", ("strong", False)]
    assert outcomes["gaps", "pair", ("strong", True)].is_plainly_green  # further tests have a share of a half
    assert "second" in outcomes["gaps", "wrong", ("weak", True)].seen_by
    text = table(done)
    assert "3 tasks, 8 generations" in text
    assert "right functions accepted         2 of 2 (100 %)" in text
    assert settles(rows[5], done) is not None and settles(rows[4], done) is None


def test_an_answer_is_compared_with_the_known_one_on_the_sample_and_on_new_rows() -> None:
    for task in (REVENUE, GAPS):
        for tables in (task.sample(), task.new_rows()):
            assert is_right(task, answer(task, task.same, tables), tables)
            assert not any(is_right(task, answer(task, change, tables), tables) for change in task.wrong.values())
    assert not REVENUE.sample()["orders"].equals(REVENUE.new_rows()["orders"])
