"""Damaged files of an environment are found, repaired and reported. The code is not blamed, and nothing is paid for."""

from __future__ import annotations

import json
import resource
import shutil
import sys
from pathlib import Path

import pytest

from autocoder_jupyter.run.events import Event, EvidenceGathered, Finished, Noticed, StageStarted
from autocoder_jupyter.sandbox.choice import choose
from autocoder_jupyter.sandbox.local import forks as local_loading
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

GOOD = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}

NEEDS = "    import pandas.io.sas.sas_xport  # loaded when it is first needed\n\n"
LATE = CODE.replace("    return", f"{NEEDS}    return")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A separate cache whose files a test may damage: its packages are copied, not linked."""
    place = tmp_path_factory.mktemp("cache")
    built = Path(choose("local").build(EnvironmentSpec((), sys.version_info[:2])).location)
    shutil.copytree(built, place / "environments" / built.name, symlinks=True)
    return place


@pytest.fixture(autouse=True)
def cache(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(copied))
    monkeypatch.setenv("UV_LINK_MODE", "copy")
    return copied


def environments(cache: Path) -> list[Path]:
    return [marker.parent for marker in (cache / "environments").glob("*/autocode.json")]


def noticed(produced: Generated) -> list[str]:
    return [event.text for event in produced.of(Noticed)]


async def test_an_environment_with_a_file_cut_short_is_built_anew_and_the_run_goes_on(
    runner: Runner, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert noticed(await runner.generate(GOOD)) == []
    (environment,) = environments(cache)
    (library,) = environment.glob("lib/python*/site-packages/numpy/__init__.py")
    library.write_bytes(library.read_bytes()[:200])
    runner.sandbox = LocalSandbox()  # another kernel's: it has no workers yet, and nothing loaded to fork them from
    monkeypatch.setattr(local_loading, "_slots", {})
    again = await runner.generate({})
    assert again.report.success and again.asked == []
    assert noticed(again) == ["The environment was damaged (its file __init__.py is damaged) and has been built again."]


async def test_a_cache_that_is_wiped_under_living_workers_costs_no_fix(runner: Runner, cache: Path) -> None:
    await runner.generate(GOOD)
    shutil.rmtree(cache)
    produced = await runner.generate({**GOOD, "code": [fenced(LATE)]}, prompt="Total revenue of @sales, again.")
    assert produced.report.success, produced.report.error
    assert sorted(produced.asked) == ["code", "tests"]


async def test_an_environment_that_is_wiped_in_the_middle_of_a_run_is_not_blamed_on_the_code(
    runner: Runner, cache: Path
) -> None:
    """The fix needs a removed file. Unlike the first code, nothing runs it before the environment was checked."""
    edit = {
        "find": "    return float((",
        "replace": f"{NEEDS}    return float((sales['price'] * ",
        "mends": ["test_sum"],
    }
    script = {
        **GOOD,
        "code": [fenced(CODE.replace('sales["price"] * ', ""))],
        "diagnose": [
            json.dumps({"failures": [{"test_name": "test_sum", "error_message": "?", "error_type": "logic"}]})
        ],
        "fix_code": [json.dumps({"edits": [edit]})],
    }

    def wipe(event: Event) -> None:
        if isinstance(event, StageStarted) and event.stage == "run" and event.attempt == 2:
            (cache / "environments").rename(cache / "wiped")  # in one step, as it may be built again meanwhile

    runner.sandbox = LocalSandbox()
    produced = await runner.generate(script, prompt="Total revenue of @sales, once more.", hear=wipe)
    assert produced.report.success, produced.report.error
    assert produced.report.attempts == 2
    assert sorted(produced.asked) == ["code", "diagnose", "fix_code", "tests"]
    assert (cache / "wiped").exists()


async def test_a_disk_that_is_full_at_the_end_does_not_lose_the_function(runner: Runner) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(event: Event) -> None:
        if isinstance(event, EvidenceGathered):  # from here on no file grows beyond a few bytes
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
        elif isinstance(event, Finished):
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    try:
        produced = await runner.generate(GOOD, hear=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert produced.report.success and produced.of(Finished)[-1].state == "ready"
    (said,) = noticed(produced)
    assert "report of growth could not be written (File too large)" in said and "asks no model" in said
    again = await runner.generate({})
    assert again.report.success and again.asked == []
    assert list(runner.root.glob("growth/versions/*/report.json"))
