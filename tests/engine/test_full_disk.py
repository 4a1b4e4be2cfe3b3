from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from autocoder_jupyter.errors import AutocodeError
from tests.engine.test_damage import GOOD, noticed
from tests.runner import Runner

pytestmark = pytest.mark.real_sandbox

PAGE, PAGES = 4096, 40

LEAST = 2
"""Free pages with which a run begins: `request.json` and `sent.json`."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of `PAGES` pages."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={PAGES * PAGE}", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must be able to mount a small disk")
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=False)


@pytest.mark.parametrize("free", (0, 2, 3, 5, 7, 9, 11, 14, 17))
async def test_a_disk_that_fills_up_loses_no_answer_that_was_paid_for(
    runner: Runner, small_disk: Path, free: int
) -> None:
    runner.root = small_disk / ".autocode"
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (PAGES - free) * PAGE)
    if free < LEAST:  # the request itself finds no place, so nothing is asked
        with pytest.raises(AutocodeError, match="No space left on device"):
            await runner.generate({})
        filler.unlink()
        return
    produced = await runner.generate(GOOD)
    assert produced.report.success, produced.report.error
    again = await runner.generate({})  # the disk is still full
    assert again.report.success and again.asked == []
    filler.unlink()
    last = await runner.generate({})
    assert last.report.success and last.asked == []
    assert list(runner.root.glob("growth/versions/*/report.json"))
    is_complete = "Nothing of growth is recorded" not in " ".join(noticed(produced))
    assert is_complete or "complete again" in " ".join(noticed(last)), noticed(last)
