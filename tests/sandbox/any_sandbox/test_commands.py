"""Shell commands in a worker: files go in, output and files come out, nothing stays or escapes."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from autocoder_jupyter.engines.claude.classify import classify_command
from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import CommandOutcome, Environment, TestSpec, Worker, WorkerLimits, WorkerSpec
from autocoder_jupyter.sandbox.worker.commands import DEPTH, MOST_FILES, OUTPUT_BYTES
from tests.sandbox.sandboxes import program, say, survivors

SECRET = "canary-" + secrets.token_hex(8)

SLEEPER = "import ctypes, sys, time; ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0); time.sleep(600)"
"""A program with a recognizable name that does not end."""


def run(worker: Worker, command: str, seconds: float = 15.0, **files: str) -> CommandOutcome:
    """The outcome of a command. `files` are Python files, named by their stems."""
    given = {f"{stem}.py": text.encode() for stem, text in files.items()}
    return worker.command(command, given, seconds=seconds)


def works(worker: Worker) -> bool:
    return run(worker, "echo yes").output == "yes\n"


@pytest.fixture(autouse=True, scope="module")
def secret_in_the_notebook() -> Iterator[None]:
    """A secret in this process's environment variables, like a key."""
    os.environ["CANARY_API_KEY"] = SECRET
    yield
    del os.environ["CANARY_API_KEY"]


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file of the notebook's user."""
    file = tmp_path / "canary.txt"
    file.write_text(SECRET, "utf-8")
    for place in (file, tmp_path):
        place.chmod(0o755)
    return file


# What works


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
    assert list(outcome.files) == ["solution.py"]


def test_its_place_is_not_told(worker: Worker) -> None:
    outcome = run(worker, "pwd; python broken.py", broken="1 / 0")
    assert outcome.output.startswith('.\nTraceback (most recent call last):\n  File "broken.py", line 1'), (
        outcome.output
    )
    assert outcome.exit_code == 1
    assert run(worker, 'python -c \'import tempfile; print(tempfile.mkdtemp(prefix="", dir=".."))\'').output[0] != "/"
    assert not run(worker, "cd ..; pwd; ls -d $HOME/workspace $TMPDIR").output.startswith("/")


def test_a_command_that_takes_too_long_is_stopped_and_its_files_stay(worker: Worker) -> None:
    outcome = run(worker, "echo made > a.txt; echo said; sleep 600", seconds=1.0)
    assert (outcome.stopped, outcome.output, outcome.files) == ("timed out", "said\n", {"a.txt": b"made\n"})
    assert works(worker)


def test_ten_megabytes_of_words_keep_their_head_and_tail(worker: Worker) -> None:
    outcome = run(worker, "echo first; yes | head -c 10000000; echo last")
    assert outcome.output.startswith("first\ny\n") and outcome.output.endswith("y\nlast\n")
    assert "bytes left out" in outcome.output and len(outcome.output) < OUTPUT_BYTES + 100


def test_words_without_end_stop_the_command(worker: Worker) -> None:
    outcome = run(worker, "yes")
    assert outcome.stopped == "flooded" and len(outcome.output) < OUTPUT_BYTES + 100
    assert works(worker)


def test_signs_that_act_on_a_terminal_are_spelled_out(worker: Worker) -> None:
    assert run(worker, r"printf 'a\033[2Jb\000c\377'").output == "a\\x1b[2Jb\\x00c\ufffd"


# Files that are not taken over


def test_only_plain_files_that_fit_are_taken_and_the_others_are_named(worker: Worker) -> None:
    deep = "/".join("d" * (DEPTH + 1))
    outcome = run(
        worker,
        f"""
        echo fine > fine.txt; ln fine.txt same.txt
        ln -s /etc/passwd link.txt; ln -s / root; ln -s . here; ln -s fine.txt inside.txt
        mkdir -p {deep} __pycache__; echo x > {deep}/x; echo x > __pycache__/x.pyc
        head -c 2000000 /dev/urandom > large.bin
        touch "$(printf 'odd\\nname')" "$(printf 'un\\377readable')" ' ' '~backup'; mkdir '~'; touch '~/y'
        """,
    )
    assert outcome.files == {"fine.txt": b"fine\n", "same.txt": b"fine\n"}
    told = "\n".join(outcome.left_out)
    for entry in ("here (a link)", "inside.txt (a link)", "link.txt (a link)", "root (a link)"):
        assert entry in told
    for part in ("(deeper than 8 folders)", "large.bin (larger than 1 MiB)", "odd\\nname (its name", "readable ("):
        assert part in told
    for part in (" (its name", "~backup (its name", "~/y (its name"):
        assert part in told


def test_no_more_files_than_a_workspace_holds_are_taken(worker: Worker) -> None:
    outcome = run(worker, f"for i in $(seq {MOST_FILES + 50}); do echo $i > f$i.txt; done")
    assert len(outcome.files) == MOST_FILES
    assert outcome.left_out[-1] == "30 more" and "more than 200 files" in outcome.left_out[0]


def test_a_workspace_that_is_removed_or_replaced_is_empty(worker: Worker) -> None:
    for command in ("rm -rf ../workspace", "cd ..; mv workspace gone; ln -s / workspace", 'rm -rf "$PWD" "$HOME"'):
        outcome = run(worker, command, solution="x")
        assert not set(outcome.files) - {"solution.py"}, outcome
    assert works(worker)


# What remains


def test_nothing_that_was_started_outlives_the_call(worker: Worker) -> None:
    names = [f"c-{secrets.token_hex(5)}" for _ in range(4)]
    starts = zip(("", "nohup", "setsid", "trap '' TERM HUP INT;"), names, strict=True)
    command = "\n".join(f"{how} python sleeper.py {name} > /dev/null 2>&1 &" for how, name in starts)
    outcome = run(worker, f"{command}\nsleep 0.5; jobs | wc -l; echo done", sleeper=SLEEPER)
    assert outcome.output.endswith("done\n")
    assert not [name for name in names if survivors(name)]


def test_what_holds_the_output_open_does_not_hold_the_call(worker: Worker) -> None:
    assert run(worker, "sleep 600 & echo done", seconds=60.0).output == "done\n"


def test_the_next_command_finds_nothing_of_the_one_before(worker: Worker) -> None:
    places = '. .. ../.. "$HOME" "$TMPDIR" /tmp /var/tmp /dev/shm /dev/mqueue'
    planting = f"for place in {places}; do echo {SECRET} > $place/planted.py; mkdir -p $place/planted; done 2>/dev/null"
    run(worker, f"{planting}; ls")
    found = run(worker, f"ls -aR {places} 2>/dev/null; grep -r {SECRET[:-1]} {places} 2>/dev/null; env")
    assert "planted" not in found.output and SECRET not in found.output
    assert not found.files


def test_no_file_of_one_workspace_is_in_another(pool: Pool, environment: Environment, limits: WorkerLimits) -> None:
    leaving = f"for place in . $HOME /tmp /dev/shm; do echo {SECRET} > $place/left.py; done; sleep 600"
    below = ["*.py", "*/*.py", "*/*/*.py", "*/*/*/*.py"]
    places = [f"{folder}/{files}" for folder in {"/tmp", tempfile.gettempdir()} for files in below]
    search = f"sleep 0.5; cat {' '.join(places)} /dev/shm/* /proc/[0-9]*/cwd/*.py"
    with (
        pool.lease(WorkerSpec(environment, limits)) as one,
        pool.lease(WorkerSpec(environment, limits), other_than=[one.id]) as other,
        ThreadPoolExecutor() as threads,
    ):
        left = threads.submit(run, one, leaving, 3.0)
        assert SECRET not in run(other, search).output
        assert SECRET.encode() in left.result().files["left.py"]


# Escapes


@pytest.mark.parametrize(
    "command",
    [
        "env; export -p; set",
        "cat /proc/self/environ /proc/$PPID/environ /proc/1/environ | tr '\\0' '\\n'",
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'",
        "python -c 'import os; print(dict(os.environ))'",
        "cat {canary}",
        "ln -s {canary} a.txt; cat a.txt; cp -L a.txt b.txt; cat b.txt",
        "ln {canary} a.txt; cat a.txt",
        "cat /proc/self/root{canary} /proc/$PPID/root{canary} /proc/$PPID/cwd/../../..{canary}",
        "cd /; find . -name canary.txt -exec cat {{}} +",
        'awk \'BEGIN{{system("cat {canary}")}}\'; eval "$(echo Y2F0IA== | base64 -d){canary}"',
        "python -c 'print(open(\"{canary}\").read())'",
        "grep -rs canary- {canary} $HOME/.. ~root /root /home",
        "tar -cf - {canary}",
    ],
)
def test_neither_a_variable_nor_a_file_of_the_person_is_reached(worker: Worker, canary: Path, command: str) -> None:
    outcome = run(worker, f"( {command.format(canary=canary)} ) 2>&1; true")
    assert SECRET not in outcome.output
    assert not any(SECRET.encode() in content for content in outcome.files.values())


@pytest.mark.parametrize(
    "command",
    [
        "echo x > {canary}",
        "rm -f {canary}",
        "chmod 777 {canary}; touch -d 2001-01-01 {canary}",
        "mv -f /dev/null {canary}",
        "ln -s {canary} a; echo x > a",
        "echo x > {folder}/new.txt",
    ],
)
def test_no_file_of_the_person_is_changed(worker: Worker, canary: Path, command: str) -> None:
    before = canary.stat()
    run(worker, command.format(canary=canary, folder=canary.parent))
    after = canary.stat()
    assert (after.st_mode, after.st_mtime, canary.read_text()) == (before.st_mode, before.st_mtime, SECRET)
    assert [file.name for file in canary.parent.iterdir()] == ["canary.txt"]


@pytest.mark.parametrize(
    "command",
    [
        "echo x > /dev/tcp/127.0.0.1/{port}",
        "python -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'",
        "python -c 'import urllib.request; urllib.request.urlopen(\"http://127.0.0.1:{port}\", timeout=2)'",
        "perl -e 'use IO::Socket; IO::Socket::INET->new(\"127.0.0.1:{port}\") or die'",
        "python -m pip download --no-deps --timeout 2 --retries 0 six",
    ],
)
def test_there_is_no_network(worker: Worker, command: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(0.1)
        assert run(worker, command.format(port=listener.getsockname()[1])).exit_code != 0
        with pytest.raises(TimeoutError):
            listener.accept()


SLIPS = [
    "python -c 'print(open(chr(47) + \"{tail}\").read())'",
    'python -c \'print(getattr(__import__("os"), "env" + "iron"))\'',
    "python -c 'import socket as s; f = s.create_connection; f((\"127.0.0.1\", {port}), 2)'",
    "git -c alias.x='!cat {canary}; env' x",
    "printf 'all:\\n\\tcat {canary}; env\\n' > Makefile; make",
    "printf 'import os, sys\\nprint(vars(os)[sys.argv[1]], open(sys.argv[2] + sys.argv[3]).read())' > show.py\n"
    "python show.py environ $'\\x2f' {tail}; rm show.py",
]


def test_the_classification_of_calls_overlooks_something() -> None:
    kinds = [classify_command(command.format(canary="c", tail="c", port=1)).kind for command in SLIPS]
    assert kinds.count("safe") >= 2  # the sandbox is the boundary; see the test below


@pytest.mark.parametrize("command", SLIPS)
def test_what_the_classification_of_calls_overlooks_or_may_overlook_gets_nothing_either(
    worker: Worker, canary: Path, command: str
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(0.1)
        written = command.format(canary=canary, tail=str(canary)[1:], port=listener.getsockname()[1])
        assert SECRET not in run(worker, f"( {written} ) 2>&1").output
        with pytest.raises(TimeoutError):
            listener.accept()


def test_the_environment_cannot_be_changed(worker: Worker) -> None:
    shelf = "$(python -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')"
    planting = f"cd {shelf} && for name in evil.pth sitecustomize.py; do echo 'import os' > $name; done"
    run(worker, planting)
    assert run(worker, f"cd {shelf} && echo there").output == "there\n"
    assert run(worker, f"cd {shelf} && ls evil.pth sitecustomize.py").exit_code == 2


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 -1; kill -9 $PPID",
        "for fd in /proc/$PPID/fd/*; do head -c 64 /dev/urandom > $fd; done",
        ":(){ :|:& };: ; sleep 1",
        "for i in $(seq 40); do head -c 4000000 /dev/urandom > f$i; done",
        "mkdir d; cd d; for i in $(seq 1500); do mkdir d; cd d; done; chmod 0 . $HOME",
    ],
)
def test_who_comes_after_a_command_that_does_harm_does_not_notice(
    pool: Pool, environment: Environment, limits: WorkerLimits, command: str
) -> None:
    with pool.lease(WorkerSpec(environment, limits)) as worker:
        try:
            run(worker, command, seconds=5.0, solution="x")
        except SandboxError as error:
            assert str(error)
    with pool.lease(WorkerSpec(environment, limits)) as worker:
        assert works(worker)
        assert say(worker, "return 'yes'") == "yes"


# Verdicts

PLANTED = """
    for place in . .. "$HOME" "$TMPDIR" /tmp; do
        (
            cd "$place" || exit
            printf 'def pytest_runtest_makereport(item, call):\\n    raise SystemExit(0)\\n' > conftest.py
            printf '[pytest]\\naddopts = --collect-only\\n' > pytest.ini
            for name in sitecustomize.py usercustomize.py pytest.py solution.py; do
                printf 'import os\\nos._exit(0)\\n' > $name
            done
            echo 'import os; os._exit(0)' > evil.pth
            printf '[tool:pytest]\\naddopts = -p no:python\\n' > setup.cfg
        ) 2>/dev/null
    done
    export PYTEST_ADDOPTS=--collect-only PYTHONPATH=.
    ls
"""

TESTS = "from solution import run\n\n\ndef test_it():\n    assert run() == 'right'\n"


def test_what_is_planted_for_the_runner_of_tests_changes_no_verdict(worker: Worker, callee: Worker) -> None:
    """A verdict uses two source files only, and no other file of the workspace."""
    for one in (worker, callee):
        assert "conftest.py" in run(one, PLANTED).files
    for said, outcome in (("wrong", "failed"), ("right", "passed")):
        tested = worker.test(program(f"return {said!r}"), TestSpec(TESTS, ["test_it"]), callee=callee)
        assert [case.outcome for case in tested.outcomes] == [outcome], tested.output


def test_a_solution_that_writes_over_its_tests_when_it_runs_changes_no_verdict(worker: Worker, callee: Worker) -> None:
    solution = """
        for name in ('tests.py', 'test_solution.py', 'conftest.py', '../tests.py', '../test_solution.py'):
            try:
                Path(name).write_text('def test_it(): pass')
            except OSError:
                pass
        return 'wrong'
    """
    tested = worker.test(program(solution), TestSpec(TESTS, ["test_it"]), callee=callee)
    assert [case.outcome for case in tested.outcomes] == ["failed"]
