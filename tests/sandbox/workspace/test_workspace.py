"""The workspace of an agent: the results of its file tools, and the files that are taken after a command."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Mapping
from typing import TypeVar

import pytest

from autocoder_jupyter.errors import EngineGone, OutOfMemory
from autocoder_jupyter.sandbox.protocol import CommandOutcome
from autocoder_jupyter.sandbox.worker.commands import ALL_BYTES, DEPTH, FILE_BYTES, MOST_FILES
from autocoder_jupyter.sandbox.workspace.workspace import LONGEST_OBSERVATION, Observation, Workspace

T = TypeVar("T")


def now(call: Awaitable[T]) -> T:
    async def wait() -> T:
        return await call

    return asyncio.run(wait())


async def nothing_runs(command: str, files: Mapping[str, bytes], seconds: float) -> CommandOutcome:
    raise AssertionError("no command is expected")


def workspace(files: Mapping[str, str] | None = None, given: Mapping[str, str] | None = None) -> Workspace:
    def encoded(texts: Mapping[str, str] | None) -> dict[str, bytes]:
        return {path: text.encode() for path, text in (texts or {}).items()}

    return Workspace(nothing_runs, encoded(files), given=encoded(given))


def after(outcome: CommandOutcome, **files: bytes) -> tuple[Workspace, Observation]:
    """A workspace after a command with this outcome."""

    async def run(command: str, files: Mapping[str, bytes], seconds: float) -> CommandOutcome:
        return outcome

    place = Workspace(run, {"solution.py": b"old"}, given={"data/sales.csv": b"rows"})
    return place, now(place.bash("true"))


def test_lines_are_read_with_their_numbers() -> None:
    assert now(workspace({"a.py": "one\n\nthree\n"}).read("a.py")) == Observation(
        "     1\tone\n     2\t\n     3\tthree"
    )


def test_a_part_is_read_by_offset_and_limit_and_says_how_to_go_on() -> None:
    place = workspace({"a.py": "one\ntwo\nthree\nfour\n"})
    assert now(place.read("a.py", 2, 2)).text == "     2\ttwo\n     3\tthree\n[1 more lines; read on with offset 4]"
    assert now(place.read("a.py", 9)) == Observation("a.py has 4 lines; there is no line 9.", ok=False)


def test_what_was_written_is_read() -> None:
    place = workspace()
    assert now(place.write("pkg/a.py", "x = 1\n")).text == "Made pkg/a.py: 1 line."
    assert now(place.write("./pkg//a.py", "x = 2\ny = 3\n")).text == "Wrote over pkg/a.py: 2 lines."
    assert dict(place.files) == {"pkg/a.py": b"x = 2\ny = 3\n"}
    assert place.text("pkg/a.py") == "x = 2\ny = 3\n" and place.text("other.py") is None


def test_an_edit_puts_one_text_in_the_place_of_another_and_shows_it() -> None:
    place = workspace({"a.py": "".join(f"line {number}\n" for number in range(1, 21))})
    told = now(place.edit("a.py", "line 10\n", "ten\nand a half\n"))
    assert told.ok and told.text.startswith("Changed a.py. It reads now:\n     6\tline 6\n")
    assert "    10\tten\n    11\tand a half\n    12\tline 11\n" in told.text
    assert "line 9\nten\nand a half\nline 11\n" in (place.text("a.py") or "")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("y", "z", "does not stand in a.py"),
        ("x", "z", "stands 2 times in a.py"),
        ("x", "x", "are the same"),
        ("", "z", "is empty"),
    ],
)
def test_an_edit_that_is_not_exact_changes_nothing_and_says_why(old: str, new: str, reason: str) -> None:
    place = workspace({"a.py": "x x"})
    told = now(place.edit("a.py", old, new))
    assert not told.ok and reason in told.text and place.text("a.py") == "x x"


def test_all_occurrences_are_replaced_when_that_is_meant() -> None:
    place = workspace({"a.py": "x x"})
    assert now(place.edit("a.py", "x", "z", replace_all=True)).ok and place.text("a.py") == "z z"


def test_an_edit_finds_what_was_read_of_a_file_with_line_ends_of_windows() -> None:
    place = workspace({"a.py": "one\r\ntwo\r\n"})
    assert "\r" not in now(place.read("a.py")).text
    assert now(place.edit("a.py", "one\ntwo", "1\n2")).ok and place.text("a.py") == "1\n2\n"


OUTSIDE = ["/etc/passwd", "~/.ssh/id_rsa", "../other", "a/../../b", "a\0b", "a\nb", "a\u202eb", "a\x1b[2Jb",
           "", " ", ".", "/".join("d" * (DEPTH + 1)), "x" * 300, None, 5, ["a"]]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE, ids=ascii)
def test_no_tool_leaves_the_workspace(path: str) -> None:
    place = workspace({"a.py": "x"})
    for call in (place.read(path), place.write(path, "y"), place.edit(path, "x", "y")):
        told = now(call)
        assert not told.ok and told.text.isprintable(), told
    assert dict(place.files) == {"a.py": b"x"}


def test_a_file_that_is_not_there_is_named_with_those_that_are() -> None:
    told = now(workspace({"b.py": "", "a.py": ""}, {"data/s.csv": ""}).read("c.py"))
    assert told == Observation("There is no c.py in the workspace; there is a.py, b.py, data/s.csv.", ok=False)


def test_a_file_that_is_no_text_is_not_shown() -> None:
    place = Workspace(nothing_runs, {"a.png": b"\x89PNG\xff", "b.bin": b"a\0b"})
    for path in place.files:
        told = now(place.read(path))
        assert not told.ok and "is no text" in told.text


def test_long_files_and_lines_are_cut_and_signs_that_act_are_spelled_out() -> None:
    place = workspace({"long.txt": "y" * 5_000 + "\n", "many.txt": "word " * 20 + "\n", "odd.txt": "a\x1b[2J\u202eb"})
    now(place.write("many.txt", ("word " * 20 + "\n") * 5_000))
    assert now(place.read("long.txt")).text.endswith("y… (+3000 characters)")
    assert len(now(place.read("many.txt")).text) < LONGEST_OBSERVATION + 100
    assert now(place.read("odd.txt")).text == "     1\ta\\x1b[2J\\u202eb"


def test_a_file_cannot_lie_below_a_file() -> None:
    place = workspace({"a": "x"})
    assert "a is one, and no folder" in now(place.write("a/b", "y")).text and "a/b" not in place.files


def test_a_workspace_holds_so_much_and_no_more() -> None:
    place = workspace({f"{number}.txt": "" for number in range(MOST_FILES)})
    assert "files at most" in now(place.write("one more", "")).text
    assert "larger than" in now(place.write("0.txt", "x" * (FILE_BYTES + 1))).text
    told = [now(place.write(f"{number}.txt", "x" * FILE_BYTES)) for number in range(ALL_BYTES // FILE_BYTES + 1)]
    assert [one.ok for one in told] == [True] * (ALL_BYTES // FILE_BYTES) + [False]


def test_text_that_is_no_unicode_is_refused() -> None:
    assert not now(workspace().write("a.txt", "\ud800")).ok


def test_what_is_given_is_read_and_not_changed() -> None:
    place = workspace(given={"data/sales.csv": "a,b\n"})
    assert now(place.read("data/sales.csv")).text == "     1\ta,b"
    assert "is given" in now(place.write("data/sales.csv", "")).text
    assert "is given" in now(place.edit("./data/sales.csv", "a", "c")).text
    assert not place.files and not place.snapshot()


def test_what_a_command_left_takes_the_place_of_the_files_but_not_of_what_is_given() -> None:
    left = {"solution.py": b"new", "data/sales.csv": b"forged"}
    place, told = after(CommandOutcome(0, "done\n", left, ("a (a link)",)))
    assert dict(place.files) == {"solution.py": b"new"}
    assert told == Observation("done\n[left out: a (a link)]\n[given, and as before again: data/sales.csv]")
    assert now(place.read("data/sales.csv")).text == "     1\trows"


def test_a_file_in_the_place_of_a_given_folder_is_not_taken() -> None:
    place, told = after(CommandOutcome(0, "", {"data": b"x", "b.py": b"y"}))
    assert dict(place.files) == {"solution.py": b"old"}
    assert "The files are as they were before this command" in told.text


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (CommandOutcome(2, "no\n", {}), "no\n[exit code 2]"),
        (CommandOutcome(-9, "", {}, (), "timed out"), "(no output)\n[stopped after 60 s]"),
        (CommandOutcome(-9, "y", {}, (), "flooded"), "y\n[stopped: it printed more than 16 MiB]"),
    ],
)
def test_how_a_command_ended_is_told(outcome: CommandOutcome, told: str) -> None:
    place, observation = after(outcome)
    assert not observation.ok and observation.text.startswith(told)
    assert not place.files  # it removed them


def test_a_command_that_breaks_its_sandbox_changes_no_file_and_a_sandbox_that_fails_is_no_observation() -> None:
    async def run(command: str, files: Mapping[str, bytes], seconds: float) -> CommandOutcome:
        raise OutOfMemory("Too much.") if command == "eat" else EngineGone("Gone.")

    place = Workspace(run, {"a.py": b"x"})
    told = now(place.bash("eat"))
    assert not told.ok and told.text.startswith("Too much.\nThe files") and dict(place.files) == {"a.py": b"x"}
    with pytest.raises(EngineGone):
        now(place.bash("true"))


@pytest.mark.parametrize("command", ["", "  ", "a\0b", "x" * 30_000])
def test_what_is_no_command_is_not_run(command: str) -> None:
    assert not now(workspace().bash(command)).ok


def test_no_command_gets_more_time_than_there_is() -> None:
    seen = []

    async def run(command: str, files: Mapping[str, bytes], seconds: float) -> CommandOutcome:
        seen.append(seconds)
        return CommandOutcome(0, "", {})

    place = Workspace(run, most_seconds=90.0)
    for wanted in (None, 5.0, 10_000.0, 0.0, -3.0, float("nan"), float("inf")):
        now(place.bash("true", wanted))
    assert seen == [60.0, 5.0, 90.0, 60.0, 1.0, 60.0, 60.0]


def test_a_file_that_is_written_while_a_command_runs_is_not_lost() -> None:
    async def run(command: str, files: Mapping[str, bytes], seconds: float) -> CommandOutcome:
        await asyncio.sleep(0.01)
        return CommandOutcome(0, "", files)

    async def both() -> None:
        await asyncio.gather(place.bash("true"), place.write("b.py", "y"))

    place = Workspace(run, {"a.py": b"x"})
    asyncio.run(both())
    assert sorted(place.files) == ["a.py", "b.py"]


def test_a_snapshot_gives_the_same_files_again() -> None:
    place = Workspace(nothing_runs, {"a.py": b"x", "b.bin": b"\xff\0"})
    other = workspace()
    assert other.restore(place.snapshot()) and other.files == place.files


@pytest.mark.parametrize(
    "snapshot",
    [
        None,
        [],
        "a.py",
        {"a.py": 5},
        {"a.py": "no base64!"},
        {"../a.py": base64.b64encode(b"x").decode()},
        {"a": "", "a/b": ""},
        {5: ""},
    ],
    ids=ascii,
)
def test_a_strangers_snapshot_changes_nothing(snapshot: object) -> None:
    place = workspace({"a.py": "x"})
    assert not place.restore(snapshot) and dict(place.files) == {"a.py": b"x"}
