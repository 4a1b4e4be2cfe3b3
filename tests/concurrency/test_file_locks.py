from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autocoder_jupyter.concurrency import file_locks
from autocoder_jupyter.errors import Cancelled

HOLDER = """
import os, sys
from pathlib import Path
from autocoder_jupyter.concurrency import file_locks
descriptor = file_locks.open_lock(Path(sys.argv[1]))
file_locks.take_shared(descriptor) if sys.argv[2] == "shared" else file_locks.try_exclusive(descriptor)
print("held", flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(not file_locks.SUPPORTED, reason="no flock here")


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
def test_another_process_holds_it_until_it_dies(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "below" / "a.lock"
    command = [sys.executable, "-c", HOLDER, str(file), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        descriptor = file_locks.open_lock(file)
        assert not file_locks.try_exclusive(descriptor)
        holder.kill()
        holder.wait()
        assert file_locks.try_exclusive(descriptor)
        os.close(descriptor)


def test_waiting_for_it_can_be_ended(tmp_path: Path) -> None:
    looks: list[None] = []

    def look() -> None:
        looks.append(None)
        if len(looks) == 3:
            raise Cancelled("enough")

    with (
        file_locks.exclusive(tmp_path / "a.lock", lambda: None),
        pytest.raises(Cancelled),
        file_locks.exclusive(tmp_path / "a.lock", look),
    ):
        pass
    with file_locks.exclusive(tmp_path / "a.lock", lambda: None):
        assert len(looks) == 3
