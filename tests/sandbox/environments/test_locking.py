"""Lock files: the exact content of an environment, and the error if it cannot be resolved."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import sys
import time
from pathlib import Path

import pytest

from autocoder_jupyter.errors import PackageError, PackageRefused
from autocoder_jupyter.sandbox.environments import locking, uv
from autocoder_jupyter.sandbox.environments.locking import PYTEST, environment_key, install_target, lock, pin_of
from autocoder_jupyter.sandbox.protocol import BuildWatch, EnvironmentSpec
from autocoder_jupyter.trust import agree
from tests.sandbox.wheelhouse import as_index, make_wheel, make_wheelhouse

HERE = sys.version_info[:2]


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose pip uses only a folder of wheels."""
    folder = make_wheelhouse(tmp_path / "wheels")
    configuration = tmp_path / "pip.conf"
    configuration.write_text(f"[global]\nno-index = true\nfind-links = {folder}\nextra-index-url =\n", "utf-8")
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(configuration))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return folder


def pins(spec: EnvironmentSpec) -> list[str]:
    return [pin_of(line) for line in lock(spec)]


def _spec(*packages: str, **more: object) -> EnvironmentSpec:
    return EnvironmentSpec(packages, HERE, **more)  # type: ignore[arg-type]


def test_the_base_packages_are_in_every_lock_in_the_notebooks_versions(wheelhouse: Path) -> None:
    found = pins(_spec())
    assert {pin.partition("==")[0] for pin in found} == {"numpy", "pandas", "pyarrow", "pytest"}
    for name in ("pandas", "pyarrow"):
        assert f"{name}=={importlib.metadata.version(name)}" in found
    assert PYTEST in found  # although the index has a newer one
    assert "pytest==99.0" in pins(_spec("pytest>90"))


def test_a_lock_is_the_same_whatever_the_order_and_spelling(wheelhouse: Path) -> None:
    assert lock(_spec("alpha", "beta")) == lock(_spec("Beta", "ALPHA", "beta"))


def test_dependencies_decide_versions(wheelhouse: Path) -> None:
    assert "alpha==2.0" in pins(_spec("alpha"))
    assert "alpha==1.0" in pins(_spec("alpha", "beta"))


def test_pandas_gives_way_to_a_package_that_needs_another(wheelhouse: Path) -> None:
    assert "pandas==0.1" in pins(_spec("oldfashioned"))


def test_a_lock_holds_no_addresses(wheelhouse: Path) -> None:
    assert not any("/" in line or "@" in line for line in lock(_spec("beta")))


def test_a_lock_holds_the_hash_of_each_file_so_that_it_holds_on_every_platform(
    wheelhouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheelhouse, "alpha", "2.0", tag="cp311-cp311-win_amd64")
    monkeypatch.setenv("UV_DEFAULT_INDEX", as_index(wheelhouse, tmp_path / "simple"))
    (line,) = [line for line in lock(_spec("alpha")) if line.startswith("alpha")]
    files = [hashlib.sha256(file.read_bytes()).hexdigest() for file in wheelhouse.glob("alpha-2.0-*")]
    assert len(files) == 2
    assert sorted(line.split()[1:]) == sorted(f"--hash=sha256:{digest}" for digest in files)
    assert line.split()[0] == "alpha==2.0"


def test_a_lock_that_is_given_is_used_as_it_is(wheelhouse: Path) -> None:
    given = ("alpha==1.0 --hash=sha256:" + "0" * 64,)
    assert lock(_spec("ignored", lock=given)) == given


def test_a_given_lock_without_hashes_gets_those_that_the_index_has(wheelhouse: Path) -> None:
    digest = hashlib.sha256((wheelhouse / "alpha-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    assert lock(_spec("ignored", lock=("alpha==1.0",))) == (f"alpha==1.0 --hash=sha256:{digest}",)


def test_a_given_lock_with_anything_but_exact_versions_is_refused(wheelhouse: Path) -> None:
    with pytest.raises(PackageRefused):
        lock(_spec(lock=("alpha>=1",)))
    with pytest.raises(PackageRefused):
        lock(_spec(lock=("--index-url=https://evil.example",)))
    with pytest.raises(PackageRefused):
        lock(_spec(lock=("alpha==1.0 --index-url=https://evil.example",)))


def test_a_known_request_asks_nobody_again(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lock(_spec("alpha"))
    monkeypatch.setattr(locking, "run_uv", None)
    assert lock(_spec("alpha")) == first


def test_a_remembered_lock_grows_old(wheelhouse: Path, tmp_path: Path) -> None:
    old = lock(_spec("alpha"))
    make_wheel(wheelhouse, "alpha", "3.0")
    assert lock(_spec("alpha")) == old
    (remembered,) = (tmp_path / "cache" / "locks").glob("*.json")
    week_ago = time.time() - locking.LOCK_SECONDS - 1
    os.utime(remembered, (week_ago, week_ago))
    assert "alpha==3.0" in pins(_spec("alpha"))


def test_what_one_index_gave_is_not_remembered_for_another(
    wheelhouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock(_spec("alpha"))
    make_wheel(make_wheelhouse(tmp_path / "theirs"), "alpha", "3.0")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "theirs"))
    assert "alpha==3.0" in pins(_spec("alpha"))


_HASHED = " --hash=sha256:" + "0" * 64


@pytest.mark.parametrize(
    "content",
    [
        '["alp',
        json.dumps(["--index-url=https://evil.example"]),
        json.dumps([f"alpha==1.0{_HASHED} --index-url=https://evil.example"]),
        json.dumps([f"alpha==1.0{_HASHED}\n--index-url=https://evil.example"]),
        json.dumps(["alpha @ https://evil.example/alpha.whl"]),
        json.dumps(["alpha==1.0"]),
        json.dumps([f"alpha>=1.0{_HASHED}"]),
        json.dumps({"alpha": 1}),
        json.dumps([["alpha"]]),
        "[" * 100_000,
    ],
)
def test_a_memory_of_a_lock_that_holds_anything_else_is_passed_over(
    wheelhouse: Path, tmp_path: Path, content: str
) -> None:
    found = lock(_spec("alpha"))
    (remembered,) = (tmp_path / "cache" / "locks").glob("*.json")
    remembered.write_text(content, "utf-8")
    assert lock(_spec("alpha")) == found


@pytest.mark.parametrize(
    "text",
    [
        "alpha @ https://example.org/alpha.whl",
        "git+https://example.org/alpha",
        "./alpha",
        "/tmp/alpha.whl",
        "-r requirements.txt",
        "--index-url https://example.org",
        "-e .",
        "alpha; rm -rf /",
        "",
    ],
)
def test_anything_but_a_name_with_versions_is_refused(wheelhouse: Path, text: str) -> None:
    with pytest.raises(PackageRefused) as caught:
        lock(_spec(text))
    assert caught.value.package == text


def test_an_unknown_package_is_named(wheelhouse: Path) -> None:
    with pytest.raises(PackageError) as caught:
        lock(_spec("alpha", "no-such-thing"))
    assert caught.value.package == "no-such-thing"
    assert "no package no-such-thing" in caught.value.what


def test_a_name_spelled_nearly_like_an_installed_one_gets_a_suggestion(wheelhouse: Path) -> None:
    with pytest.raises(PackageError) as caught:
        lock(_spec("pydanticc"))
    assert caught.value.hint == "Did you mean pydantic?"


def test_a_lock_that_cannot_be_fetched_is_not_called_a_conflict(
    wheelhouse: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = tuple(line for line in lock(_spec("alpha")) if line.startswith("alpha"))

    def said() -> str:
        with pytest.raises(PackageError) as caught:
            install_target(known, HERE, None, tmp_path / "target")
        assert "index configuration" in caught.value.hint
        return caught.value.what

    for wheel in wheelhouse.glob("alpha-2*"):
        wheel.unlink()
    assert said() == "The package index has no alpha==2.0."
    (tmp_path / "pip.conf").write_text("[global]\nno-index = true\n", "utf-8")
    assert said() == "There is no package alpha in the configured folders, and no package index is asked."
    (tmp_path / "pip.conf").write_text("", "utf-8")
    monkeypatch.setenv("UV_OFFLINE", "1")
    assert said().startswith("The package index cannot be reached")


def test_a_package_that_the_index_lacks_is_not_said_to_be_misspelled(wheelhouse: Path) -> None:
    with pytest.raises(PackageError) as caught:
        lock(_spec("pydantic"))
    assert caught.value.hint.startswith("The configured index does not have it")


def test_a_package_without_a_wheel_is_never_built(wheelhouse: Path) -> None:
    with pytest.raises(PackageRefused) as caught:
        lock(_spec("gamma"))
    assert caught.value.package == "gamma"


def test_a_wheel_for_another_platform_does_not_count(wheelhouse: Path) -> None:
    with pytest.raises(PackageRefused) as caught:
        lock(_spec("elsewhere"))
    assert caught.value.package == "elsewhere"


def test_a_conflict_is_told_in_uvs_sentence(wheelhouse: Path) -> None:
    with pytest.raises(PackageError) as caught:
        lock(_spec("beta", "alpha>=2"))
    assert caught.value.package in ("alpha", "beta")
    assert caught.value.why.startswith("Because")
    assert len(caught.value.why) <= 600


def test_an_index_that_does_not_answer_is_told_without_its_address(
    wheelhouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://user:password@127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    told: list[str] = []
    with pytest.raises(PackageError) as caught:
        lock(_spec("delta"), watch=BuildWatch(told.append))
    assert "cannot be reached" in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert "password" not in str(caught.value)
    assert any("cache" in line for line in told)


def test_a_target_folder_is_filled_for_another_python(wheelhouse: Path, tmp_path: Path) -> None:
    install_target(lock(_spec(lock=("alpha==1.0",))), (3, 12), None, tmp_path / "target")
    assert "1.0" in (tmp_path / "target" / "alpha" / "__init__.py").read_text("utf-8")


def test_a_target_folder_is_filled_for_another_platform(wheelhouse: Path, tmp_path: Path) -> None:
    windows = "x86_64-pc-windows-msvc"
    locked = lock(EnvironmentSpec((), (3, 11), lock=("elsewhere==1.0",)), platform=windows)
    install_target(locked, (3, 11), windows, tmp_path / "target")
    assert (tmp_path / "target" / "elsewhere").is_dir()


def test_the_key_changes_with_each_part() -> None:
    keys = {
        environment_key((3, 11), "linux", ("a==1",), index=""),
        environment_key((3, 12), "linux", ("a==1",), index=""),
        environment_key((3, 11), "mac", ("a==1",), index=""),
        environment_key((3, 11), "linux", ("a==2",), index=""),
        environment_key((3, 11), "linux", ("a==1",), ("libgomp1",), index=""),
        environment_key((3, 11), "linux", ("a==1",), index="theirs"),
    }
    assert len(keys) == 6
    one, other = (environment_key((3, 11), "linux", lock, index="") for lock in (("b==1", "a==1"), ("a==1", "b==1")))
    assert one == other


@pytest.mark.parametrize("file", ["uv.toml", "pyproject.toml"])
def test_the_index_of_a_strangers_folder_is_not_used_until_the_person_agrees(
    wheelhouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    theirs = make_wheelhouse(tmp_path / "theirs")
    make_wheel(theirs, "alpha", "6.6.6")
    project = tmp_path / "project"
    project.mkdir()
    text = f'find-links = ["{theirs}"]\nno-index = true\n'
    (project / file).write_text(text if file == "uv.toml" else f"[tool.uv]\n{text}")
    monkeypatch.chdir(project)
    usual = uv.index_identity()
    assert "alpha==2.0" in pins(_spec("alpha"))
    agree(project, uv.index_permissions(project))
    assert "alpha==6.6.6" in pins(_spec("alpha"))
    assert uv.index_identity() != usual
    (project / file).write_text((project / file).read_text().replace(str(theirs), str(wheelhouse)))
    assert uv.index_identity() == usual


@pytest.mark.parametrize(
    "content",
    [
        'exclude-newer = "1970-01-01"',
        'required-version = "==0.0.1"',
        'override-dependencies = ["alpha==1.0"]',
        "[pip]\nonly-binary = []\nno-binary = [':all:']",
        "no toml at all [",
    ],
)
def test_nothing_else_of_the_folders_uv_toml_reaches_uv(wheelhouse: Path, content: str) -> None:
    Path("uv.toml").write_text(content)
    Path(".python-version").write_text("2.7")
    assert "alpha==2.0" in pins(_spec("alpha"))


def test_what_the_person_says_relative_to_the_notebook_stays_there(
    wheelhouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_FIND_LINKS", wheelhouse.name)
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_CACHE_DIR", "their-own-cache")
    assert "alpha==2.0" in pins(_spec("alpha"))
    assert Path("their-own-cache").is_dir()
