"""`tools/old_kernel` on a machine where it cannot run. CI shows that it works elsewhere by running it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools/old_kernel"


@pytest.mark.parametrize(("variables", "code"), [({}, 77), ({"CI": "true"}, 1)], ids=["elsewhere", "in CI"])
def test_a_machine_that_cannot_do_it_says_so_and_only_ci_fails(variables: dict[str, str], code: int) -> None:
    command = [sys.executable, str(TOOL), "--kernel", "6.1", "--fetch"]
    done = subprocess.run(command, env={"PATH": "/nowhere", **variables}, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith("Not run on Linux 6.1: ")
