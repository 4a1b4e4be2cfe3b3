"""Commands of a shell in a worker: files in, words and files out, and nothing that stays."""

from __future__ import annotations

from autocoder_jupyter.sandbox.protocol import CommandOutcome, Worker


def run(worker: Worker, command: str, seconds: float = 15.0, **files: str) -> CommandOutcome:
    """The outcome of a command; `files` are named by their stems and are Python's."""
    given = {f"{stem}.py": text.encode() for stem, text in files.items()}
    return worker.command(command, given, seconds=seconds)


def test_a_command_finds_the_files_and_gives_back_what_it_made_of_them(worker: Worker) -> None:
    outcome = run(worker, "cat solution.py && mkdir -p a && echo new > a/b.txt && rm other.py", solution="x", other="y")
    assert (outcome.exit_code, outcome.output) == (0, "x")
    assert outcome.files == {"solution.py": b"x", "a/b.txt": b"new\n"}


def test_python_is_the_environments_with_its_packages(worker: Worker) -> None:
    outcome = run(
        worker,
        "python solution.py && python -c 'import numpy; print(numpy.array([2]))'",
        solution="import pandas\nprint(pandas.Series([1]).sum())",
    )
    assert (outcome.exit_code, outcome.output) == (0, "1\n[2]\n"), outcome.output


def test_its_place_is_not_told(worker: Worker) -> None:
    outcome = run(worker, "pwd; python broken.py", broken="1 / 0")
    assert outcome.output.startswith('.\nTraceback (most recent call last):\n  File "broken.py", line 1'), (
        outcome.output
    )
    assert outcome.exit_code == 1
