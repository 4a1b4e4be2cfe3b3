"""The tasks that come with the package: one of each family, as data.

python -m tests.benchmarks.trust.shipped     writes them anew
"""

from __future__ import annotations

import shutil
import sys

from autocoder_jupyter.evaluate.known_task import KnownTask
from autocoder_jupyter.evaluate.task_folder import SHIPPED, write_task
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
    return [tasks[name].known() for name in NAMES]


def main() -> int:
    """Write them into the package."""
    shutil.rmtree(SHIPPED, ignore_errors=True)
    for task in shipped():
        write_task(SHIPPED, task)
    return 0


if __name__ == "__main__":
    sys.exit(main())
