"""A package index on disk with tiny wheels, so that tests need no network."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.environments.locking import PYTEST


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    tag: str = "py3-none-any",
    modules: Mapping[str, str | bytes] | None = None,
    sized: bool = False,
    recorded: Mapping[str, int] | None = None,
) -> Path:
    """Write a wheel with one package that contains its version, and `modules`: further files, content by name.

    `sized` records the sizes of its files, as in the wheels of an index; `recorded` are the sizes of some files.
    """
    wheel = folder / f"{name}-{version}-{tag}.whl"
    information = f"{name}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    files: dict[str, str | bytes] = {
        f"{name}/__init__.py": f"version = {version!r}\n",
        f"{name}/tests/__init__.py": "",
        f"{information}/METADATA": "\n".join(metadata) + "\n",
        f"{information}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    files |= modules or {}
    sizes = {path: len(text) if sized else "" for path, text in files.items()} | dict(recorded or {})
    record = "".join(f"{path},,{size}\n" for path, size in sizes.items())
    record += f"{information}/RECORD,,\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{information}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


def make_wheelhouse(folder: Path) -> Path:
    """The base packages in the notebook's versions, and some packages that are compatible with them or not."""
    folder.mkdir()
    for name in ("pandas", "pyarrow"):
        make_wheel(folder, name, importlib.metadata.version(name))
    make_wheel(folder, "pandas", "0.1")
    make_wheel(folder, "numpy", "2.0")
    make_wheel(folder, "pytest", PYTEST.partition("==")[2])
    make_wheel(folder, "pytest", "99.0")
    make_wheel(folder, "alpha", "1.0")
    make_wheel(folder, "alpha", "2.0")
    make_wheel(folder, "beta", "1.0", requires=["alpha<2"])
    make_wheel(folder, "oldfashioned", "1.0", requires=["pandas<1"])
    make_wheel(folder, "elsewhere", "1.0", tag="cp311-cp311-win_amd64")
    (folder / "gamma-1.0.tar.gz").write_bytes(b"never opened")
    return folder


def as_index(wheels: Path, folder: Path) -> str:
    """An index of these wheels with their hashes. Returns its address."""
    for wheel in wheels.glob("*.whl"):
        page = folder / wheel.name.partition("-")[0] / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        with page.open("a") as file:
            file.write(f'<a href="{wheel.as_uri()}#sha256={digest}">{wheel.name}</a>\n')
    return folder.as_uri()


def only_a_wheelhouse(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make uv use only the packages of a test's wheelhouse, with separate caches."""
    wheels = make_wheelhouse(folder / "wheels")
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(folder / "uv"))
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(folder / "cache"))
    monkeypatch.chdir(folder)
    return wheels


def make_eager_wheel(folder: Path, ran: Path, *, recorded: Mapping[str, int] | None = None) -> Path:
    """Write the wheel `eager`. Its code that Python runs at each start writes files whose names begin with `ran`.

    `recorded`: see `make_wheel`.
    """
    leave_trace = "import pathlib; pathlib.Path({!r}).touch()\n"
    modules = {
        "eager.pth": leave_trace.format(f"{ran}-pth"),
        "sitecustomize.py": leave_trace.format(f"{ran}-sitecustomize"),
        # Debian's `sitecustomize`, which is found before any other, imports this.
        "apport_python_hook.py": leave_trace.format(f"{ran}-hook"),
    }
    return make_wheel(folder, "eager", "1.0", modules=modules, recorded=recorded)
