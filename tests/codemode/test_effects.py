"""Each effect happens exactly once, or is reported as uncertain: when processes are killed, when two run at the same
time, and when the disk is full.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import tool
from autocoder_jupyter.concurrency.file_locks import open_lock, try_exclusive
from autocoder_jupyter.run.events import Event
from tests.codemode.conftest import Ask, block, error_of
from tests.codemode.effects_server import EFFECTS, Spec

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and flock")

Rounds = Callable[..., list[Any]]


@pytest.fixture(scope="module")
def run_all() -> Iterator[Rounds]:
    """Runs processes at the same time. Returns their outcomes; None for one that was killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.codemode.effects_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as server:
        assert server.stdin is not None and server.stdout is not None

        def rounds(*specs: Spec) -> list[Any]:
            assert server.stdin is not None and server.stdout is not None
            server.stdin.write(json.dumps(specs) + "\n")
            server.stdin.flush()
            outcomes: list[Any] = json.loads(server.stdout.readline())
            return outcomes

        yield rounds
        server.stdin.close()


def new_folder(tmp_path: Path, number: int = 0) -> Path:
    folder = tmp_path / str(number)
    (folder / "effects").mkdir(parents=True)
    return folder


def effects(folder: Path) -> Counter[str]:
    return Counter(file.name.partition("-")[0] for file in (folder / "effects").iterdir())


def require_once_or_uncertain(folder: Path, outcome: Any) -> int:
    """Check each effect. Returns the number of uncertain ones."""
    happened, uncertain = effects(folder), 0
    for what in EFFECTS:
        if "it is uncertain whether send did what it does" in outcome["value"][what]:
            assert happened[what] <= 1
            uncertain += 1
        else:
            assert (happened[what], outcome["value"][what]) == (1, "sent")
    return uncertain


@pytest.mark.slow
def test_of_a_process_that_is_killed_no_effect_is_repeated_or_lost(run_all: Rounds, tmp_path: Path) -> None:
    uncertain = []
    for kill_at in range(28):
        folder = new_folder(tmp_path, kill_at)
        assert run_all({"folder": str(folder), "kill_at": kill_at}) == [None]
        before = effects(folder)
        [outcome] = run_all({"folder": str(folder)})
        uncertain.append(require_once_or_uncertain(folder, outcome))
        assert not before - effects(folder)
    assert set(uncertain) == {0, 1}  # at most the call that was killed
    assert uncertain.count(1) == len(EFFECTS) * 5  # from its beginning on the disk until its outcome is there


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delay", "modes"),
    [
        (0, ("agent", "agent")),
        (0.05, ("agent", "job")),
        (0.05, ("job", "agent")),
        (0.3, ("agent", "agent")),
        (1, ("agent", "job")),
    ],
)
def test_two_processes_do_each_effect_once(
    run_all: Rounds, tmp_path: Path, delay: float, modes: tuple[str, str]
) -> None:
    folder = new_folder(tmp_path)
    first: Spec = {"folder": str(folder), "differs": True, "pause": 0.1, "mode": modes[0]}
    second: Spec = {**first, "delay": delay, "mode": modes[1]}
    outcomes = run_all(first, second)
    assert [outcome["error"] for outcome in outcomes] == [None, None]
    assert [outcome["value"] for outcome in outcomes] == [dict.fromkeys(EFFECTS, "sent")] * 2
    assert effects(folder) == Counter(EFFECTS)


@pytest.mark.slow
def test_on_a_full_disk_no_effect_is_repeated_or_lost(run_all: Rounds, tmp_path: Path) -> None:
    whole = new_folder(tmp_path, 0)
    run_all({"folder": str(whole)})
    [journal] = whole.rglob("conversation.jsonl")
    size = journal.stat().st_size
    refused = 0
    for number in range(1, 13, 2):
        folder = new_folder(tmp_path, number)
        [full] = run_all({"folder": str(folder), "file_bytes": size * number // 13})
        assert full["error"] is None
        for what in EFFECTS:
            was_refused = "send was not called. It has effects, and it could not be recorded" in full["value"][what]
            assert effects(folder)[what] == (not was_refused)
            refused += was_refused
        [outcome] = run_all({"folder": str(folder)})
        require_once_or_uncertain(folder, outcome)
    assert 3 <= refused < 12


def test_a_beginning_is_on_disk_with_its_folders_before_the_call(
    root: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    at_call: list[list[str]] = []

    @tool(effects=True)
    def send() -> None:
        at_call.append(list(synced))

    monkeypatch.setattr(os, "fsync", noted)
    ask([block("send()"), "Done."], [send])
    [run] = (root / "tools").iterdir()
    [before] = at_call
    assert before[-1] == "conversation.jsonl"
    assert {root.parent.name, root.name, "tools", run.name} <= set(before)


def test_a_run_that_waits_for_another_says_so_and_takes_no_longer_than_it_may(
    root: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @tool(effects=True)
    def send() -> str:
        return "sent"

    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(tmp_path / "cache"))
    ask([block("send()"), "Done."], [send])
    [lock] = (tmp_path / "cache" / "request_locks").glob("*.lock")
    held = open_lock(lock)
    events: list[Event] = []
    try:
        assert try_exclusive(held)
        result = ask([], [send], max_seconds=0.5, on_event=events.append)
    finally:
        os.close(held)
    assert (result.state, ask.requests) == ("over_budget", [])
    assert "Your earlier run of this request has not ended yet. This one waits for that" in str(events)
    assert ask([], [send]).value == "sent"


def test_without_the_lock_nothing_with_effects_is_called(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    called = []

    @tool(effects=True)
    def send() -> None:
        called.append(1)

    file = tmp_path / "a file"
    file.touch()
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(file))
    result = ask([block("send()"), "No."], [send])
    assert called == []
    assert "this run could not be locked against a second one" in error_of(result.blocks[0])
    assert result.calls[0].outcome == "failed"
