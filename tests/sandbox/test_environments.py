"""Locks: what exactly an environment holds, and whose fault it is when it cannot be had."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import time
from pathlib import Path

import pytest

from autocoder_jupyter.errors import PackageError, PackageRefused
from autocoder_jupyter.sandbox import environments
from autocoder_jupyter.sandbox.environments import environment_key, install_target, lock
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from tests.sandbox.wheelhouse import make_wheelhouse

HERE = sys.version_info[:2]


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose pip is configured for a folder of wheels and nothing else."""
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


def _spec(*packages: str, **more: object) -> EnvironmentSpec:
    return EnvironmentSpec(packages, HERE, **more)  # type: ignore[arg-type]


def test_the_base_packages_are_in_every_lock_in_the_notebooks_versions(wheelhouse: Path) -> None:
    pins = lock(_spec())
    assert {pin.partition("==")[0] for pin in pins} == {"numpy", "pandas", "pyarrow", "pytest"}
    for name in ("pandas", "pyarrow"):
        assert f"{name}=={importlib.metadata.version(name)}" in pins


def test_a_lock_is_the_same_whatever_the_order_and_spelling(wheelhouse: Path) -> None:
    assert lock(_spec("alpha", "beta")) == lock(_spec("Beta", "ALPHA", "beta"))


def test_dependencies_decide_versions(wheelhouse: Path) -> None:
    assert "alpha==2.0" in lock(_spec("alpha"))
    assert "alpha==1.0" in lock(_spec("alpha", "beta"))


def test_pandas_gives_way_to_a_package_that_needs_another(wheelhouse: Path) -> None:
    assert "pandas==0.1" in lock(_spec("oldfashioned"))


def test_a_lock_holds_no_addresses(wheelhouse: Path) -> None:
    assert not any("/" in pin or "@" in pin or " " in pin for pin in lock(_spec("beta")))


def test_a_lock_that_is_given_is_used_as_it_is(wheelhouse: Path) -> None:
    assert lock(_spec("ignored", lock=("alpha==1.0",))) == ("alpha==1.0",)


def test_a_given_lock_with_anything_but_exact_versions_is_refused(wheelhouse: Path) -> None:
    with pytest.raises(PackageRefused):
        lock(_spec(lock=("alpha>=1",)))
    with pytest.raises(PackageRefused):
        lock(_spec(lock=("--index-url=https://evil.example",)))


def test_a_known_request_asks_nobody_again(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lock(_spec("alpha"))
    monkeypatch.setattr(environments, "run_uv", None)
    assert lock(_spec("alpha")) == first


def test_a_remembered_lock_grows_old(wheelhouse: Path, tmp_path: Path) -> None:
    lock(_spec("alpha"))
    (remembered,) = (tmp_path / "cache" / "locks").glob("*.json")
    remembered.write_text('["alpha==1.0"]', "utf-8")
    assert lock(_spec("alpha")) == ("alpha==1.0",)
    week_ago = time.time() - environments.LOCK_SECONDS - 1
    os.utime(remembered, (week_ago, week_ago))
    assert "alpha==2.0" in lock(_spec("alpha"))


def test_a_damaged_memory_of_a_lock_is_passed_over(wheelhouse: Path, tmp_path: Path) -> None:
    lock(_spec("alpha"))
    (remembered,) = (tmp_path / "cache" / "locks").glob("*.json")
    remembered.write_text('["alp', "utf-8")
    assert "alpha==2.0" in lock(_spec("alpha"))


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
        lock(_spec("delta"), on_progress=told.append)
    assert "cannot be reached" in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert "password" not in str(caught.value)
    assert any("cache" in line for line in told)


def test_a_target_folder_is_filled_for_another_python(wheelhouse: Path, tmp_path: Path) -> None:
    install_target(("alpha==1.0",), (3, 12), None, tmp_path / "target")
    assert "1.0" in (tmp_path / "target" / "alpha" / "__init__.py").read_text("utf-8")


def test_a_target_folder_is_filled_for_another_platform(wheelhouse: Path, tmp_path: Path) -> None:
    install_target(("elsewhere==1.0",), (3, 11), "x86_64-pc-windows-msvc", tmp_path / "target")
    assert (tmp_path / "target" / "elsewhere").is_dir()


def test_the_key_changes_with_each_part() -> None:
    keys = {
        environment_key((3, 11), "linux", ("a==1",)),
        environment_key((3, 12), "linux", ("a==1",)),
        environment_key((3, 11), "mac", ("a==1",)),
        environment_key((3, 11), "linux", ("a==2",)),
        environment_key((3, 11), "linux", ("a==1",), ("libgomp1",)),
    }
    assert len(keys) == 5
    assert environment_key((3, 11), "linux", ("b==1", "a==1")) == environment_key((3, 11), "linux", ("a==1", "b==1"))
