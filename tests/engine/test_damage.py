"""What is damaged on this machine is found, put right and told; the code is not blamed, and nobody pays for a fix."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autocoder_jupyter.engine.events import Noticed
from autocoder_jupyter.sandbox.local import LocalSandbox
from tests.theatre import CODE, PLAN, TESTS, Theatre, fenced

pytestmark = pytest.mark.local_sandbox

GOOD = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}

LATE = CODE.replace("    return", "    import pandas.io.sas.sas_xport  # loaded when it is first needed\n\n    return")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of this module's own, whose files may be harmed: its packages are copies, no links."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(copied))
    monkeypatch.setenv("UV_LINK_MODE", "copy")
    return copied


def environments(cache: Path) -> list[Path]:
    return [marker.parent for marker in (cache / "environments").glob("*/autocode.json")]


def noticed(played) -> list[str]:
    return [event.text for event in played.of(Noticed)]


async def test_an_environment_with_a_file_cut_short_is_built_anew_and_the_run_goes_on(theatre: Theatre, cache: Path):
    assert noticed(await theatre.play(GOOD)) == []
    (environment,) = environments(cache)
    (library,) = environment.glob("lib/python*/site-packages/numpy/__init__.py")
    library.write_bytes(library.read_bytes()[:200])
    theatre.sandbox = LocalSandbox()  # another kernel's: it has no workers yet
    again = await theatre.play({})
    assert again.report.success and again.asked == []
    assert noticed(again) == ["The environment was damaged (its file __init__.py is damaged) and has been built anew."]


async def test_a_cache_that_is_wiped_under_living_workers_costs_no_fix(theatre: Theatre, cache: Path):
    await theatre.play(GOOD)
    shutil.rmtree(cache)
    played = await theatre.play({**GOOD, "code": [fenced(LATE)]}, prompt="Total revenue of @sales, again.")
    assert played.report.success, played.report.error
    assert sorted(played.asked) == ["code", "plan", "tests"]


async def test_an_environment_that_is_wiped_in_the_middle_of_a_run_is_not_blamed_on_the_code(
    theatre: Theatre, cache: Path
):
    class Wiped(LocalSandbox):
        started = 0

        def start(self, environment, limits, **options):
            worker = super().start(environment, limits, **options)
            self.started += 1
            if self.started == 3:  # as many as a run begins with
                shutil.rmtree(cache / "environments")
            return worker

    theatre.sandbox = Wiped()
    played = await theatre.play({**GOOD, "code": [fenced(LATE)]}, prompt="Total revenue of @sales, once more.")
    assert played.report.success, played.report.error
    assert played.report.attempts == 1 and sorted(played.asked) == ["code", "plan", "tests"]
    assert any("parts of it were removed" in text for text in noticed(played))
