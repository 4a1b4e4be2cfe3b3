"""The tasks that come with the package: one of each family, as data.

python -m tests.benchmarks.trust.shipped     writes them anew
"""

from __future__ import annotations

import shutil
import sys
from typing import Any

import pandas as pd

from autocoder_jupyter.evaluate.trial import SHIPPED, KnownCase, KnownTask, write_task
from tests.benchmarks.trust.tasks import FAMILIES

NAMES = (
    "net revenue",
    "revenue by country",
    "members at the end of the month",
    "share of gaps",
    "the best of each category",
    "longest streak",
    "hosts of addresses",
    "values far away",
    "cities beside years",
    "back within a week",
    "costs of teams",
    "keys that contradict",
)


def shipped() -> list[KnownTask]:
    """The tasks, made from their right functions."""
    tasks = {task.name: task for tasks in FAMILIES.values() for task in tasks}
    return [_for_any_pandas(tasks[name].known()) for name in NAMES]


def _for_any_pandas(task: KnownTask) -> KnownTask:
    """The task with text as objects, which pandas 2 can read too."""
    cases = [
        KnownCase({name: _plain(table) for name, table in case.tables.items()}, _plain(case.answer))
        for case in (task.sample, task.new_rows)
    ]
    return KnownTask(task.name, task.request, task.returns, *cases)


def _plain(value: Any) -> Any:
    if not isinstance(value, pd.DataFrame):
        return value
    texts = [name for name, dtype in value.dtypes.items() if isinstance(dtype, pd.StringDtype)]
    plain = value.astype(dict.fromkeys(texts, object))
    plain.columns = pd.Index(list(value.columns), dtype=object)
    return plain


def main() -> int:
    """Write them into the package."""
    shutil.rmtree(SHIPPED, ignore_errors=True)
    for task in shipped():
        write_task(SHIPPED, task)
    return 0


if __name__ == "__main__":
    sys.exit(main())
