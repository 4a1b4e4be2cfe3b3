"""Programs that other interpreters run are files that are read as text; importing one here has no effect."""

from __future__ import annotations

import importlib
import importlib.util
import json
import marshal
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from autocoder_jupyter.sandbox import programs
from autocoder_jupyter.sandbox.host.bundle import bundle
from autocoder_jupyter.sandbox.programs import (
    confinement_trial,
    container_trial,
    ignore_failure,
    interpreter_facts,
    loader,
    program_text,
)

NAMES = sorted(file.stem for file in Path(programs.__file__).parent.glob("*.py") if file.stem != "__init__")


def python(program: str, *arguments: str, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", "-S", "-B", "-c", program, *arguments]
    return subprocess.run(command, input=input, capture_output=True, timeout=60)


@pytest.mark.parametrize("name", NAMES)
def test_importing_a_program_does_nothing(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    importlib.reload(importlib.import_module(f"{programs.__name__}.{name}"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", NAMES)
def test_a_container_can_run_it_behind_the_one_that_connects_the_streams(name: str) -> None:
    compile(f"{program_text('socket_streams')}\n{program_text(name)}", name, "exec")


def as_code(sources: dict[str, str]) -> dict[str, CodeType]:
    return {name: compile(source, "<a name>", "exec") for name, source in sources.items()}


def frame(magic: bytes, code: bytes, sources: dict[str, str]) -> bytes:
    """The first frame of a worker, with its length."""
    packed = zlib.compress(code)
    body = magic + len(packed).to_bytes(4, "big") + packed + zlib.compress(json.dumps(sources).encode())
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("form", [dict, as_code], ids=["sources", "code"])
def test_the_loader_makes_them_importable(
    form: Callable[[dict[str, str]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {"shipped_example.__init__": "here = __name__", "shipped_example.part": "from . import here\n"}
    monkeypatch.setattr(sys, "meta_path", [loader.Modules(form(sources)), *sys.meta_path])
    part = importlib.import_module("shipped_example.part")
    assert part.here == "shipped_example" and not hasattr(part, "__file__")
    for name in ("shipped_example", "shipped_example.part"):
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("magic", "code", "said"),
    [
        pytest.param(importlib.util.MAGIC_NUMBER, "print('from code')", b"from code", id="the same bytecode"),
        pytest.param(b"\1\2\r\n", "print('never')", b"from source", id="another version"),
    ],
)
def test_the_loader_starts_what_it_read(magic: bytes, code: str, said: bytes) -> None:
    def modules(text: str) -> dict[str, str]:
        return {"autocoder_worker.__init__": "", "autocoder_worker.start": f"def main():\n    {text}"}

    compiled = marshal.dumps(as_code(modules(code)))
    done = python(program_text("loader"), input=frame(magic, compiled, modules("print('from source')")))
    assert (done.stdout, done.stderr, done.returncode) == (said + b"\n", b"", 0)


def test_bytecode_of_another_version_is_not_read() -> None:
    sources = {"autocoder_worker.__init__": "", "autocoder_worker.start": "def main():\n    print('started')"}
    done = python(program_text("loader"), input=frame(b"\1\2\r\n", b"no marshal of this version", sources))
    assert (done.stdout, done.stderr, done.returncode) == (b"started\n", b"", 0)


def test_every_module_of_the_worker_is_shipped_as_code_and_as_source() -> None:
    body = bundle()[4:]
    assert int.from_bytes(bundle()[:4], "big") == len(body)
    code, sources = loader.unpack(body), loader.unpack(b"\1\2\r\n" + body[4:])
    assert (
        code.keys()
        == sources.keys()
        > {"autocoder_worker.__init__", "autocoder_worker.start", "autocoder_codec.columns"}
    )
    for name, source in sources.items():
        assert isinstance(source, str)
        assert code[name] == compile(source, f"<{name.removesuffix('.__init__')}>", "exec", dont_inherit=True)
    assert files_of(*code.values()) == {f"<{name.removesuffix('.__init__')}>" for name in code}


def files_of(*constants: object) -> set[str]:
    """The file names of all code objects in these constants. None may be a path of this machine."""
    codes = [each for each in constants if isinstance(each, CodeType)]
    return {code.co_filename for code in codes}.union(*(files_of(*code.co_consts) for code in codes))


def test_the_loader_ends_when_the_host_hangs_up() -> None:
    done = python(program_text("loader"), input=b"\0\0\1\0{")
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


def test_the_trial_of_confinement_tells_what_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    there = tmp_path / "canary"
    there.write_text("text")
    nowhere = str(tmp_path / "nowhere" / "file")
    answers = confinement_trial.answers(str(there), nowhere, nowhere, "autocode-nobody-listens", 1, 1 << 30)
    assert {what for what, worked in answers.items() if worked} == {
        *confinement_trial.MUST_WORK,
        confinement_trial.SEEN,
        "read a file of the notebook's user",
        "empty a file of the notebook's user",
        "empty a file by opening it",
    }
    assert there.read_bytes() == b""


def test_a_process_of_another_namespace_is_not_the_notebook() -> None:
    with pytest.raises(ProcessLookupError):
        confinement_trial.notebook_pid(os.getpid())


def test_the_trial_of_a_container_tells_its_python() -> None:
    facts = container_trial.facts()
    assert facts["python_version"] == list(sys.version_info[:2])
    assert facts["standard_library"] == str(Path(os.__file__).parent) and facts["bytecode"] is True
    assert json.loads(json.dumps(facts)) == facts


def test_a_limit_that_no_file_tells_is_empty(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text(" 12\n")
    assert container_trial.first(tmp_path / "no", tmp_path / "memory") == "12"
    assert container_trial.first(tmp_path / "no") == ""


def test_an_interpreter_tells_its_prefixes(capsys: pytest.CaptureFixture[str]) -> None:
    interpreter_facts.main()
    assert json.loads(capsys.readouterr().out) == [sys.base_prefix, sys.base_exec_prefix, sys.version]


def test_a_command_that_fails_fails_nothing() -> None:
    ignore_failure.main([sys.executable, "-c", "raise SystemExit(3)"])
    assert python(program_text("ignore_failure"), sys.executable, "-c", "raise SystemExit(3)").returncode == 0
