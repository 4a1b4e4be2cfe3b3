"""A user's own `pylock.toml`: its versions and hashes are installed, and nothing else of it is used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from autocoder_jupyter.errors import InvalidRequest, PackageError, PackageRefused
from autocoder_jupyter.sandbox.environments import locking
from autocoder_jupyter.sandbox.environments.locking import name_of, pin_of, read_pylock
from autocoder_jupyter.sandbox.local.environments import build
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from tests.sandbox.wheelhouse import only_a_wheelhouse

HERE = sys.version_info[:2]
A, B = "a" * 64, "b" * 64


def written(folder: Path, packages: str, head: str = 'lock-version = "1.0"\ncreated-by = "test"') -> Path:
    (folder / "pylock.toml").write_text(f"{head}\n{packages}")
    return folder / "pylock.toml"


def package(name: str, version: str, *hashes: str, more: str = "") -> str:
    wheels = ", ".join(f'{{url = "https://evil.example/x.whl", hashes = {{sha256 = "{one}"}}}}' for one in hashes)
    return f'[[packages]]\nname = "{name}"\nversion = "{version}"\nwheels = [{wheels}]\n{more}\n'


def test_versions_and_hashes_are_read_and_addresses_are_not(tmp_path: Path) -> None:
    file = written(tmp_path, package("Alpha.Beta", "1.0", B, A) + package("gamma", "2.0", A))
    assert read_pylock(file, HERE) == (
        f"alpha-beta==1.0 --hash=sha256:{A} --hash=sha256:{B}",
        f"gamma==2.0 --hash=sha256:{A}",
    )


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = written(tmp_path, package("alpha", "1.0", A) + "# more\n" * 700_000)
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read_pylock(file, HERE)


def test_of_two_versions_the_one_for_this_python_is_taken(tmp_path: Path) -> None:
    old = package("alpha", "1.0", A, more="marker = \"python_version < '3.11'\"")
    new = package("alpha", "2.0", A, more="marker = \"python_version >= '3.11'\"")
    file = written(tmp_path, old + new)
    assert [pin_of(line) for line in read_pylock(file, (3, 12))] == ["alpha==2.0"]
    assert [pin_of(line) for line in read_pylock(file, (3, 10))] == ["alpha==1.0"]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        pytest.param("not = [toml", InvalidRequest, "is not TOML", id="no TOML"),
        pytest.param("a = 1", InvalidRequest, "is not a pylock.toml", id="another file"),
        pytest.param('lock-version = "2.0"\npackages = []', InvalidRequest, "is not a pylock", id="a later format"),
        pytest.param(
            f'lock-version = "1.0"\nrequires-python = ">=3.99"\n{package("alpha", "1.0", A)}',
            InvalidRequest,
            "made for Python >=3.99",
            id="another Python",
        ),
        pytest.param(
            'lock-version = "1.0"\n[[packages]]\nname = "alpha"\nversion = "1"\n[packages.vcs]\nurl = "https://x"\n',
            PackageRefused,
            "alpha of the pylock.toml has no wheel",
            id="a repository",
        ),
        pytest.param(
            f'lock-version = "1.0"\n{package("alpha", "1.0 --index-url=https://evil.example", A)}',
            InvalidRequest,
            "is not a pylock.toml",
            id="an option in the place of a version",
        ),
        pytest.param(
            f'lock-version = "1.0"\n{package("alpha", "1.0", "abc")}', InvalidRequest, "is not a py", id="half a hash"
        ),
        pytest.param('lock-version = "1.0"\npackages = [1, 2]', InvalidRequest, "is not a pylock", id="no tables"),
        pytest.param(
            f'lock-version = "1.0"\n{package("alpha", "1.0", A) * 2}', InvalidRequest, "is not a pylock", id="twice"
        ),
    ],
)
def test_what_is_no_lock_is_refused(tmp_path: Path, text: str, kind: type[Exception], message: str) -> None:
    (tmp_path / "pylock.toml").write_text(text)
    with pytest.raises(kind, match=message):
        read_pylock(tmp_path / "pylock.toml", HERE)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot be read: No such file"):
        read_pylock(tmp_path / "pylock.toml", HERE)


def test_an_environment_holds_these_versions_and_what_else_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_a_wheelhouse(tmp_path, monkeypatch)
    true = locking.lock(EnvironmentSpec(("alpha==1.0",), HERE))
    hashed = next(line for line in true if name_of(line) == "alpha").rpartition(":")[2]
    own = read_pylock(written(tmp_path, package("alpha", "1.0", hashed)), HERE)
    lock = locking.lock(EnvironmentSpec((), HERE, pinned=own))
    assert own[0] in lock and {"pandas", "pytest"} <= {name_of(line) for line in lock}
    build(EnvironmentSpec((), HERE, pinned=own))


def test_a_file_of_the_index_that_has_another_hash_than_the_own_lock_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_a_wheelhouse(tmp_path, monkeypatch)
    own = read_pylock(written(tmp_path, package("alpha", "1.0", A)), HERE)
    with pytest.raises(PackageError, match="alpha on the package index is not the one that the lock names"):
        build(EnvironmentSpec((), HERE, pinned=own))
