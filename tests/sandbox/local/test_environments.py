"""Virtual environments are built once, and completely or not at all."""

from __future__ import annotations

import errno
import hashlib
import io
import multiprocessing
import py_compile
import shutil
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from autocoder_jupyter.concurrency.file_locks import lock_if_unused
from autocoder_jupyter.errors import PackageError
from autocoder_jupyter.sandbox.environments import locking, uv
from autocoder_jupyter.sandbox.environments.locking import pin_of
from autocoder_jupyter.sandbox.local import environments as local_environments
from autocoder_jupyter.sandbox.local.environments import build, examine, find_interpreter, interpreter_of, python_of
from autocoder_jupyter.sandbox.protocol import BuildWatch, Environment, EnvironmentSpec
from tests.sandbox.wheelhouse import as_index, make_eager_wheel, make_wheel, only_a_wheelhouse

HERE = sys.version_info[:2]


@pytest.fixture(autouse=True)
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return only_a_wheelhouse(tmp_path, monkeypatch)


def _spec(*packages: str) -> EnvironmentSpec:
    return EnvironmentSpec(packages, HERE)


def _version_of(environment: Environment, module: str) -> str:
    code = f"import {module}; print({module}.version)"
    return subprocess.check_output([python_of(environment), "-I", "-c", code], text=True).strip()


def test_an_environment_holds_what_its_lock_says() -> None:
    environment = build(_spec("beta"))
    assert _version_of(environment, "alpha") == "1.0"
    assert "alpha==1.0" in map(pin_of, environment.lock)


def test_two_requests_with_the_same_lock_share_an_environment() -> None:
    assert build(_spec("alpha>=1.5")).location == build(_spec("alpha>1.6")).location
    assert build(_spec("alpha<2")).location != build(_spec("alpha")).location


def test_what_another_index_gave_is_another_environment(
    wheelhouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = build(_spec("alpha"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(shutil.copytree(wheelhouse, tmp_path / "theirs")))
    other = build(_spec("alpha"))
    assert other.lock == one.lock and other.location != one.location


def test_the_environment_of_another_interpreter_is_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    one = build(_spec("alpha"))
    monkeypatch.setattr(sys, "version", sys.version.replace(".", ".9", 1))
    assert build(_spec("alpha")).location != one.location


def test_a_wheel_whose_content_is_not_the_locks_is_not_installed(
    wheelhouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = locking.lock(_spec("alpha"))
    make_wheel(wheelhouse, "alpha", "2.0", requires=["something-else"])
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "another machine's"))
    with pytest.raises(PackageError, match="alpha on the package index is not the one that the lock names"):
        build(EnvironmentSpec((), HERE, lock=lock))


def test_a_known_environment_is_found_without_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    known = build(_spec("alpha"))

    def refuse(*command: object, **_: object) -> None:
        raise AssertionError(f"{command} was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert build(_spec("alpha")) == known


def test_modules_are_compiled_ahead_but_for_tests() -> None:
    (module,) = Path(build(_spec("alpha")).location).glob("lib/python*/site-packages/alpha")
    assert list((module / "__pycache__").glob("*.pyc"))
    assert not (module / "tests" / "__pycache__").exists()


@pytest.mark.parametrize("wish", ["variable", "file"])
def test_nothing_of_a_package_runs_while_it_is_installed_outside_of_the_sandbox(
    wish: str, wheelhouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if uv is configured to compile what it installs, which executes the package's `.pth` files."""
    if wish == "variable":
        monkeypatch.setenv("UV_COMPILE_BYTECODE", "1")
    else:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(wheelhouse))
        (wheelhouse / "uv").mkdir()
        (wheelhouse / "uv" / "uv.toml").write_text("[pip]\ncompile-bytecode = true\n", "utf-8")
    make_eager_wheel(wheelhouse, wheelhouse / "ran")
    environment = build(_spec("eager"))
    assert not list(wheelhouse.glob("ran-*"))
    subprocess.run([python_of(environment), "-c", ""], check=True)
    assert list(wheelhouse.glob("ran-*"))  # so these are files that would run


def test_nothing_of_a_package_runs_when_it_is_installed_again(wheelhouse: Path) -> None:
    """Its record of sizes is wrong, so it is taken for damaged. uv asks an interpreter for its properties each time."""
    make_eager_wheel(wheelhouse, wheelhouse / "ran", recorded={"eager/__init__.py": 7})
    build(_spec("eager"))
    assert not list(wheelhouse.glob("ran-*"))


def test_nothing_of_a_package_runs_when_another_one_fails_as_if_the_network_did(
    wheelhouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then uv runs a second time; without a cache it asks the interpreter again."""
    monkeypatch.setenv("UV_NO_CACHE", "1")
    make_eager_wheel(wheelhouse, wheelhouse / "ran")
    entry = {"late-1.0.dist-info/entry_points.txt": "[console_scripts]\n../dns error = late:run\n"}
    make_wheel(wheelhouse, "late", "1.0", modules=entry)
    with suppress(PackageError):
        build(_spec("eager", "late"))
    assert not list(wheelhouse.glob("ran-*"))


def test_a_locked_source_distribution_is_not_built_and_a_line_without_hash_not_installed(
    wheelhouse: Path, tmp_path: Path
) -> None:
    """A recorded lock can have the hash of a source distribution, which runs code of its own when it is built."""
    backend = f"import pathlib; pathlib.Path({str(wheelhouse / 'ran')!r}).touch()\n"
    project = '[project]\nname = "delta"\nversion = "1.0"\n[build-system]\nrequires = []\n'
    project += 'build-backend = "backend"\nbackend-path = ["."]\n'
    with tarfile.open(wheelhouse / "delta-1.0.tar.gz", "w:gz") as archive:
        metadata = "Metadata-Version: 2.1\nName: delta\nVersion: 1.0\n"
        for name, text in {"pyproject.toml": project, "backend.py": backend, "PKG-INFO": metadata}.items():
            entry = tarfile.TarInfo(f"delta-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    digest = hashlib.sha256((wheelhouse / "delta-1.0.tar.gz").read_bytes()).hexdigest()
    for lock in (f"delta==1.0 --hash=sha256:{digest}",), ("alpha==1.0",):
        with pytest.raises(PackageError):
            locking.install_target(lock, HERE, None, tmp_path / "target")
    assert not list(wheelhouse.glob("ran*")) and not list((tmp_path / "target").glob("[!.]*"))


def test_bytecode_is_taken_over_from_a_neighbour() -> None:
    one, other = build(_spec("alpha")), build(_spec("alpha", "pytest<10"))
    assert one.location == other.location
    other = build(_spec("alpha", "oldfashioned"))
    pattern = "lib/python*/site-packages/alpha/__pycache__/*.pyc"
    (first,), (second,) = Path(one.location).glob(pattern), Path(other.location).glob(pattern)
    assert first.samefile(second)
    assert _version_of(other, "pandas") == "0.1"


def test_bytecode_that_a_package_brought_along_is_neither_run_nor_taken_over(wheelhouse: Path, tmp_path: Path) -> None:
    """It is beside another package's source, and is marked so that Python does not compare the two."""
    (tmp_path / "hostile.py").write_text("version = 'hostile'\n")
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compiled = Path(py_compile.compile(str(tmp_path / "hostile.py"), invalidation_mode=unchecked) or "")
    name = f"alpha/__pycache__/__init__.{sys.implementation.cache_tag}.pyc"
    make_wheel(wheelhouse, "hostile", "1.0", modules={name: compiled.read_bytes()})
    assert _version_of(build(_spec("alpha", "hostile")), "alpha") == "2.0"
    assert _version_of(build(_spec("alpha", "oldfashioned")), "alpha") == "2.0"


def test_an_environment_that_was_made_otherwise_gives_no_bytecode() -> None:
    old = build(_spec("alpha"))
    marker = Path(old.location) / "autocode.json"
    marker.write_text(marker.read_text().replace(f'"format": {locking.FORMAT}', '"format": 1'))
    assert list(local_environments._finished(Path("elsewhere"))) == []
    assert list(local_environments._finished(Path(old.location).with_name("new"))) == []


@pytest.mark.parametrize("damage", ["marker", "interpreter", "package"])
def test_a_damaged_environment_is_built_again(damage: str) -> None:
    environment = build(_spec("alpha"))
    folder = Path(environment.location)
    if damage == "marker":
        (folder / "autocode.json").write_text("{", "utf-8")
    elif damage == "interpreter":
        python_of(environment).unlink()
    else:
        next(folder.glob("lib/python*/site-packages/alpha-*")).rename(folder / "elsewhere")
    with pytest.raises(PackageError):
        interpreter_of(environment)
    assert build(_spec("alpha")).location == environment.location
    assert _version_of(environment, "alpha") == "2.0"


def test_a_build_that_broke_off_leaves_nothing_that_is_taken_for_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as context:
        context.setattr(local_environments, "_compile", breaks)
        with pytest.raises(OSError, match="no space"):
            build(_spec("alpha"))
    assert not [path for path in (tmp_path / "cache" / "environments").iterdir() if path.is_dir()]
    assert _version_of(build(_spec("alpha")), "alpha") == "2.0"


def test_a_full_disk_is_said_and_no_package_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(local_environments, "_compile", breaks)
    with pytest.raises(PackageError, match=r"no room on the disk.*\n.*\n.*autocode cache prune") as caught:
        build(_spec("alpha"))
    assert caught.value.package is None
    told = "error: Failed to install: alpha-2.0\n  Caused by: No space left on device (os error 28)"
    assert uv.package_error(told, ["alpha"]).what == caught.value.what


def test_left_overs_of_a_killed_build_are_removed(tmp_path: Path) -> None:
    environment = build(_spec("alpha"))
    left_over = Path(f"{environment.location}.tmp-killed")
    left_over.mkdir()
    (Path(environment.location) / "autocode.json").unlink()
    build(_spec("alpha"))
    assert not left_over.exists()


def _build_in_another_kernel(said: multiprocessing.Queue[tuple[str, list[str]]]) -> None:
    progress: list[str] = []
    environment = build(_spec("alpha", "beta"), watch=BuildWatch(progress.append))
    said.put((environment.location, [line for line in progress if line.startswith("installing")]))


def test_two_kernels_build_an_environment_once() -> None:
    context = multiprocessing.get_context("fork")
    said = context.Queue()
    kernels = [context.Process(target=_build_in_another_kernel, args=(said,)) for _ in range(2)]
    for kernel in kernels:
        kernel.start()
    answers = [said.get(timeout=60) for _ in kernels]
    for kernel in kernels:
        kernel.join()
    assert len({location for location, _ in answers}) == 1
    assert sum(len(installs) for _, installs in answers) == 1


def test_the_interpreter_is_the_one_below_a_virtual_environment() -> None:
    interpreter = find_interpreter(HERE)
    assert not (Path(interpreter.python).parent.parent / "pyvenv.cfg").exists()
    assert sys.base_prefix in interpreter.prefixes


def test_a_python_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"no Python 3\.99"):
        build(EnvironmentSpec((), (3, 99)))


def _files_of(environment: Environment, pattern: str) -> list[Path]:
    return sorted(Path(environment.location).glob(f"lib/python*/site-packages/{pattern}"))


def test_a_file_that_is_cut_short_is_found_and_fetched_anew_although_uvs_own_copy_is_cut_short_with_it() -> None:
    environment = build(_spec("alpha"))
    (source,) = _files_of(environment, "alpha/__init__.py")
    assert source.stat().st_nlink > 1  # uv's copy is the same file
    with source.open("r+") as file:
        file.truncate(3)
    assert examine(environment) == "its file __init__.py is damaged"
    again = build(_spec("alpha"))
    assert again.location == environment.location and again != environment
    assert _version_of(again, "alpha") == "2.0"
    assert examine(again) == ""


def test_bytecode_that_is_cut_short_is_made_anew_and_not_taken_over_by_a_neighbour() -> None:
    environment = build(_spec("alpha"))
    (compiled,) = _files_of(environment, "alpha/__pycache__/__init__*.pyc")
    with compiled.open("r+b") as file:
        file.truncate(20)
    neighbour = build(_spec("alpha", "oldfashioned"))
    assert _version_of(neighbour, "alpha") == "2.0"
    assert "pyc is damaged" in examine(environment)
    assert _version_of(build(_spec("alpha")), "alpha") == "2.0"


def test_packages_that_are_damaged_in_uvs_cache_are_fetched_anew_for_a_new_environment(wheelhouse: Path) -> None:
    make_wheel(wheelhouse, "sized", "1.0", sized=True)
    (source,) = _files_of(build(_spec("sized")), "sized/__init__.py")
    with source.open("r+") as file:
        file.truncate(3)
    assert _version_of(build(_spec("sized", "alpha")), "sized") == "1.0"


def test_an_environment_that_was_made_anew_in_its_place_is_another_one_for_those_who_used_it() -> None:
    old = build(_spec("alpha"))
    shutil.rmtree(old.location)
    assert examine(old) == "parts of it were removed"
    new = build(_spec("alpha"))
    assert examine(old) == "it was built again while it was in use" and examine(new) == ""


def test_a_cache_that_is_wiped_takes_the_lock_along_and_it_is_made_anew(tmp_path: Path) -> None:
    environment = build(_spec("alpha"))
    shutil.rmtree(tmp_path / "cache")
    again = build(_spec("alpha"))
    with lock_if_unused(Path(again.location).with_suffix(".use")) as unused:
        assert not unused
    assert again != environment and _version_of(again, "alpha") == "2.0"


def test_a_version_that_its_authors_withdrew_is_installed_and_said(
    wheelhouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = locking.lock(_spec("alpha"))
    index = as_index(wheelhouse, tmp_path / "index")
    page = tmp_path / "index" / "alpha" / "index.html"
    page.write_text(page.read_text().replace("<a ", '<a data-yanked="it loses rows" '))
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("UV_DEFAULT_INDEX", index)
    told: list[str] = []
    build(EnvironmentSpec((), HERE, lock=lock), watch=BuildWatch(told.append))
    assert "withdrawn from the package index: alpha==2.0, because: it loses rows" in told


def test_an_environment_that_is_removed_while_it_is_built_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def removed(_environment: Environment, folder: Path, _watch: BuildWatch) -> None:
        shutil.rmtree(folder)

    monkeypatch.setattr(local_environments, "_install", removed)
    with pytest.raises(FileNotFoundError, match="folder of its packages was removed"):
        build(_spec("alpha"))
