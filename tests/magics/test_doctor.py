from __future__ import annotations

import os
from pathlib import Path

import pytest

from autocoder_jupyter.magics import doctor
from autocoder_jupyter.magics.doctor import DoctorRow
from autocoder_jupyter.magics.settings import Settings, resolve
from autocoder_jupyter.sandbox import choice
from autocoder_jupyter.sandbox.protocol import Probe


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two environments of 1 MB that share files by hard links."""
    for key in ("one", "two"):
        (tmp_path / "environments" / key).mkdir(parents=True)
        (tmp_path / "environments" / f"{key}.use").touch()
    module = tmp_path / "environments" / "one" / "module.py"
    module.write_bytes(b"x" * 1_000_000)
    os.link(module, tmp_path / "environments" / "two" / "module.py")
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_cache_is_told_with_its_place_its_size_and_what_becomes_of_it(cache: Path) -> None:
    rows = list(doctor._caches())
    assert rows[0] == DoctorRow("cache", "1.0 MB", str(cache))
    assert rows[1][:2] == ("environments", "2") and "30 days" in rows[1].more and rows[1].level == 1


def test_a_cache_that_is_not_there_yet_is_empty(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(cache / "nowhere"))
    assert [row[1] for row in doctor._caches()] == ["0.0 MB", "0", "0.0 MB"]


def test_a_folder_that_takes_too_long_to_count_gives_what_was_counted(cache: Path) -> None:
    for number in range(50):
        folder = cache / "zzz" / str(number)
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"x")
    (cache / "first").write_bytes(b"x" * 2_000_000)
    assert doctor._size(cache, seconds=0.0) == "more than 2.0 MB"


@pytest.fixture
def landlocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without an engine, where only Landlock works. Gives the folder of an administrator's file."""
    probes = [Probe("docker", False, "No engine answers."), Probe("local", True, tier="landlock")]
    monkeypatch.setattr(choice, "probe_all", lambda: probes)
    monkeypatch.setattr(doctor, "_engines", lambda works: ())
    monkeypatch.setattr(choice, "config_folders", lambda: (tmp_path,))
    return tmp_path


def sandbox_rows(folder: Path, **flags: str) -> list[DoctorRow]:
    settings: Settings = resolve(flags, {}, folder, {})
    return list(doctor._sandboxes(settings))


def test_the_sandbox_that_will_be_used_is_told_with_its_tier(landlocked: Path) -> None:
    used, engine, local = sandbox_rows(landlocked)
    assert used[1] == "local will be used"
    assert engine[1:3] == ("does not work here", "No engine answers.")
    assert local[1] == "works" and local[2].startswith("local, tier landlock (Landlock alone): your files and")


def test_a_minimum_is_told_with_who_demands_it_and_whether_anything_here_meets_it(landlocked: Path) -> None:
    used, minimum, *_ = sandbox_rows(landlocked, sandbox_minimum="landlock")
    assert (used[1], minimum) == (
        "local will be used",
        DoctorRow("minimum", "landlock", "by --sandbox-minimum of the cell", level=1),
    )
    path = landlocked / choice.FILE
    path.write_text('{"Autocode": {"sandbox_minimum": "docker"}}')
    used, minimum, *_ = sandbox_rows(landlocked)
    assert used[1] == "none can be used; generated code cannot run"
    assert minimum[1:3] == ("docker: no sandbox here meets it", f"by the administrator, in {path}")


def test_an_administrators_file_that_cannot_be_understood_is_told(landlocked: Path) -> None:
    path = landlocked / choice.FILE
    path.write_text("sandbox_minimum = docker")
    (row,) = sandbox_rows(landlocked)
    assert row[1] == "none can be used; generated code cannot run"
    assert str(path) in row[2]


def test_where_docker_host_names_an_engine_that_does_not_answer_no_other_engine_is_suggested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    assert list(doctor._engines(works=False)) == []
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("PATH", "")
    assert list(doctor._engines(works=False)) != [], "without it, the rows say what can be installed or started"


def test_a_key_is_said_to_be_missing_only_where_one_is_needed_and_to_go_where_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(wanted: str = "key", **settings: object) -> DoctorRow:
        rows = doctor._model(resolve({"model": "openai/ours", **settings}, {}, tmp_path, {}))
        return next(row for row in rows if row.name == wanted)

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = "http://127.0.0.1:9/v1"
    assert key().bad and "OPENAI_API_KEY is not set" in key().state
    assert key(api_base=server)[1:3] == (
        "none is sent",
        "OPENAI_API_KEY is not set; a server of your own may need none",
    )
    assert key(api_base=server, api_key="NO_SUCH_KEY").bad, "it is named, so it is needed"
    assert key(litellm_params={"api_key": "sk-2"}).state == "in litellm_params"
    unneeded = ("none is sent", "the settings say that none is needed")
    free = {"api_key": "not-needed", "input_cost_per_token": 0, "output_cost_per_token": 1.5e-7}
    assert key(litellm_params=free)[1:3] == unneeded
    assert key("price", litellm_params=free)[1:3] == ("$0 in, $0.15 out", "per million tokens")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert key(api_base=server).more == f"it is sent to {server}" and key().more == ""


def test_a_model_without_a_provider_and_a_server_that_does_not_answer_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_BASE", "http://127.0.0.1:9")
    (unknown,) = doctor._model(resolve({"model": "opnai/gpt-4.1"}, {}, tmp_path, {}))
    assert unknown.bad and "Did you mean openai/gpt-4.1" in unknown.more
    rows = doctor._model(resolve({"model": "ollama/qwen3-coder"}, {}, tmp_path, {}))
    (silent,) = [row for row in rows if row.bad]
    assert silent.name == "address" and "nothing answers at http://127.0.0.1:9" in silent.more
    assert "ollama serve" in silent.more


def test_a_proxy_between_this_machine_and_a_model_on_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    rows = doctor._model(resolve({"model": "openai/ours", "api_base": "http://127.0.0.1:9/v1"}, {}, tmp_path, {}))
    (told,) = [row for row in rows if row.bad]
    assert told.name == "address" and "would go to a proxy" in told.more and "NO_PROXY=127.0.0.1" in told.more
