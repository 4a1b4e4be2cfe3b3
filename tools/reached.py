"""A pytest plugin that writes which functions of the package each test enters. It needs Python 3.12 (`sys.monitoring`).

Load it with `-p reached`, with this folder on PYTHONPATH and REACHED set to a folder. Each process appends lines of
`test, file, first line of the function`; a process that a test starts does so if its interpreter imports this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

TOOL = 4
monitoring: Any = getattr(sys, "monitoring", None)
if monitoring is None:
    raise ImportError("sys.monitoring needs Python 3.12 or later; use PYTHON=python3.12.")
DISABLE = monitoring.DISABLE
ROOT = f"{Path(__file__).parents[1]}/"
PACKAGE = f"{ROOT}autocoder_jupyter/"
lines = os.open(
    Path(os.environ["REACHED"], f"{os.getpid()}.tsv"), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666
)
test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]


def entered(code: CodeType, offset: int) -> Any:
    """Write the function, and ask not to be told of it again before the next test."""
    if test and code.co_filename.startswith(PACKAGE):
        os.write(lines, f"{test}\t{code.co_filename.removeprefix(ROOT)}\t{code.co_firstlineno}\n".encode())
    return DISABLE


monitoring.use_tool_id(TOOL, "reached")
monitoring.register_callback(TOOL, monitoring.events.PY_START, entered)
monitoring.set_events(TOOL, monitoring.events.PY_START)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Functions that earlier tests entered are told again."""
    global test
    test = item.nodeid
    monitoring.restart_events()
    return (yield)
