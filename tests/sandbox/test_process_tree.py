"""What a worker's tree of processes uses, counted from outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox import process_tree

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads Linux's /proc")

MIB = 2**20


def test_a_file_that_two_processes_hold_open_counts_once(tmp_path: Path) -> None:
    with (tmp_path / "gone").open("wb") as file:
        file.write(b"x" * MIB)
        file.flush()
        (tmp_path / "gone").unlink()
        silent: dict[str, int] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        holders = [subprocess.Popen(["sleep", "60"], pass_fds=[file.fileno()], **silent) for _ in range(2)]
    use = process_tree.disk(tmp_path, [holder.pid for holder in holders], 1000)
    for holder in holders:
        holder.kill()
        holder.wait()
    assert use.bytes == MIB
    assert use.entries == 1


_COUNT = """
import os
if os.getuid() == 0:
    os.setuid(65534)
os.makedirs("closed/in")
open("closed/in/file", "w").close()
print(process_tree.disk(".", [], 1000).hidden, end=" ")
os.chmod("closed", 0o300)
print(process_tree.disk(".", [], 1000).hidden)
"""


def test_a_folder_that_nobody_can_look_into_is_noticed(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    source = Path(process_tree.__file__).read_text("utf-8")
    load = "import sys, types\nprocess_tree = sys.modules['tree'] = types.ModuleType('tree')\n"
    load += f"exec({source!r}, process_tree.__dict__)\n"
    said = subprocess.check_output([sys.executable, "-I", "-c", load + _COUNT], cwd=tmp_path, text=True)
    assert said == "False True\n"
