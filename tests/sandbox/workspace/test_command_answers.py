"""A worker's report about a command may be written by the command itself."""

from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.errors import OutputRefused, SandboxError
from autocoder_jupyter.sandbox.host.replies import CallAnswer
from autocoder_jupyter.sandbox.worker.commands import DEPTH, FILE_BYTES, MOST_FILES
from autocoder_jupyter.sandbox.workspace import workspace

HONEST: dict[str, Any] = {
    "kind": "command",
    "exit_code": 0,
    "stopped": "",
    "output": "said",
    "files": [{"path": "a/b.txt", "size": 2}],
    "left_out": [{"path": "link", "reason": "a link"}],
    "more_left_out": 3,
}


def answer(payload: bytes = b"xy", **changes: Any) -> CallAnswer:
    return CallAnswer({**HONEST, **changes}, memoryview(payload), "", "", "/tmp/autocode-1")


def files(*entries: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"path": path, "size": size} for path, size in entries]


def test_an_honest_answer_is_read() -> None:
    outcome = workspace.command_outcome(answer())
    assert outcome.files == {"a/b.txt": b"xy"} and outcome.output == "said"
    assert outcome.left_out == ("link (a link)", "3 more")


@pytest.mark.parametrize(
    "lie",
    [
        {"kind": "result"},
        {"exit_code": "0"},
        {"exit_code": True},
        {"exit_code": None},
        {"output": None},
        {"output": ["said"]},
        {"stopped": 5},
        {"files": None},
        {"files": ["a"]},
        {"files": files(("/etc/passwd", 2))},
        {"files": files(("../a", 2))},
        {"files": files(("./a", 2))},
        {"files": files(("a\n", 2))},
        {"files": files(("~/.bashrc", 2))},
        {"files": files(("/".join("d" * (DEPTH + 1)), 2))},
        {"files": files((None, 2))},
        {"files": files(("a", 3))},
        {"files": files(("a", -1))},
        {"files": files(("a", True))},
        {"files": files(("a", 1), ("a", 1))},
        {"files": files(("a", 1), ("a/b", 1))},
        {"files": files(*((str(number), 0) for number in range(MOST_FILES + 1)))},
        {"left_out": {}},
        {"left_out": [{"path": 5, "reason": "x"}]},
        {"more_left_out": "3"},
    ],
    ids=lambda lie: str(lie)[:40],
)
def test_a_lie_is_refused(lie: dict[str, Any]) -> None:
    with pytest.raises(OutputRefused):
        workspace.command_outcome(answer(**lie))


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(OutputRefused):
        workspace.command_outcome(answer(bytes(FILE_BYTES + 1), files=files(("a", FILE_BYTES + 1))))


def test_words_are_bounded_and_their_hidden_signs_spelled_out() -> None:
    outcome = workspace.command_outcome(
        answer(
            output="\x1b]0;x\x07" + "y" * 10**6 + "/tmp/autocode-1/42/left",
            stopped="\x1b[2J" * 10**5,
            left_out=[{"path": "\u202e" * 10**5, "reason": "\x1b" * 10**5}] * 10**3,
        )
    )
    assert outcome.output.startswith("\\x1b]0;x\\x07y") and len(outcome.output) < 70_000
    assert all(part.isprintable() and len(part) < 2_000 for part in (outcome.stopped, *outcome.left_out))
    assert len(outcome.left_out) < 30


def test_a_workspace_that_cannot_be_laid_out_is_told_with_its_reason() -> None:
    told = answer(kind="error", error="Workspace", message="No space left\x1b on device" * 1_000)
    with pytest.raises(SandboxError) as raised:
        workspace.command_outcome(told)
    assert "No space left\\x1b" in str(raised.value) and len(str(raised.value)) < 1_000
