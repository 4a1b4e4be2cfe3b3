"""Every task holds what its format promises. Not collected by `make test`; run it after a task was added.

python -m pytest tests/benchmarks/trust
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping

import pytest

from tests.benchmarks.trust.known import answer, is_right, shows_on
from tests.benchmarks.trust.task import Change, Task
from tests.benchmarks.trust.tasks import FAMILIES

TASKS = [pytest.param(task, id=task.name.replace(" ", "-")) for tasks in FAMILIES.values() for task in tasks]


def passes(task: Task, change: Change, tests: Mapping[str, str]) -> bool:
    """Whether a solution passes tests, here."""
    module = types.ModuleType("solution")
    module.run = task.function(change)  # type: ignore[attr-defined]
    names: dict[str, object] = {}
    before = sys.modules.get("solution")
    sys.modules["solution"] = module
    try:
        exec(task.test_module(tests), names)
        for name, test in names.items():
            if name.startswith("test_") and callable(test):
                test()
    except (Exception, pytest.fail.Exception):
        return False
    finally:
        sys.modules.pop("solution")
        if before is not None:
            sys.modules["solution"] = before
    return True


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("ignore")
def test_the_right_solutions_are_right_the_wrong_ones_are_not_and_the_tests_know_it(task: Task) -> None:
    given = answer(task, task.right, task.sample())
    kind = type(given).__name__
    assert kind == task.kind
    if not isinstance(task.returns, str):
        assert {name: str(dtype) for name, dtype in given.dtypes.items()} == dict(task.returns)
    assert shows_on(task, task.same) == ()
    assert {label for label, change in {**task.wrong, **task.other}.items() if not shows_on(task, change)} == set()
    assert {label: shows_on(task, change) for label, change in task.later.items()} == dict.fromkeys(
        task.later, ("edge",)
    )
    assert not is_right(task, ValueError(), task.sample())
    all_tests = {**task.weak, **task.strong}
    for change in (task.right, task.same):
        assert passes(task, change, task.tests_of_types)
        assert passes(task, change, all_tests)
    assert all(passes(task, change, task.weak) for change in task.later.values())
    noticed = [label for label, change in task.wrong.items() if not passes(task, change, all_tests)]
    assert len(noticed) >= len(task.wrong) - 1


def test_functions_that_cheat_can_be_compiled() -> None:
    cheats = [(task, change) for tasks in FAMILIES.values() for task in tasks for change in task.cheats.values()]
    assert len(cheats) == 18 and all(compile(task.module(change), "solution.py", "exec") for task, change in cheats)


def test_names_are_told_apart() -> None:
    names = [task.name for tasks in FAMILIES.values() for task in tasks]
    assert len(set(names)) == len(names)
