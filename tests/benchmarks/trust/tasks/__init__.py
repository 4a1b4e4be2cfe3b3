"""The tasks, a module for each family."""

from __future__ import annotations

from collections.abc import Mapping

from tests.benchmarks.trust.task import Task
from tests.benchmarks.trust.tasks import (
    checks,
    dates,
    figures,
    flows,
    gaps,
    joins,
    later,
    money,
    orders,
    ranks,
    series,
    shapes,
    shared,
    texts,
    torn,
)

BEFORE: Mapping[str, tuple[Task, ...]] = {
    "orders": orders.TASKS,
    "joins": joins.TASKS,
    "dates": dates.TASKS,
    "gaps": gaps.TASKS,
    "ranks": ranks.TASKS,
    "series": series.TASKS,
}
"""The families with which the layers were measured before the loop checked its tests with changed code."""

AFTER: Mapping[str, tuple[Task, ...]] = {
    "texts": texts.TASKS,
    "figures": figures.TASKS,
    "shapes": shapes.TASKS,
    "flows": flows.TASKS,
    "money": money.TASKS,
    "checks": checks.TASKS,
    "shared": shared.TASKS,
    "later": later.TASKS,
    "torn": torn.TASKS,
}
"""The families that were kept back until then: nothing in the loop was made with them in view."""

FAMILIES: Mapping[str, tuple[Task, ...]] = {**BEFORE, **AFTER}
