"""The tasks, a module for each family."""

from __future__ import annotations

from collections.abc import Mapping

from tests.benchmarks.trust.task import Task
from tests.benchmarks.trust.tasks import dates, gaps, joins, orders, ranks, series

BEFORE: Mapping[str, tuple[Task, ...]] = {
    "orders": orders.TASKS,
    "joins": joins.TASKS,
    "dates": dates.TASKS,
    "gaps": gaps.TASKS,
    "ranks": ranks.TASKS,
    "series": series.TASKS,
}
"""The families that were written before the loop had its checks of the tests themselves."""

FAMILIES: Mapping[str, tuple[Task, ...]] = {**BEFORE}
