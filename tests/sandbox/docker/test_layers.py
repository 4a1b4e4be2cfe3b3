from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.errors import Cancelled, PackageError
from autocoder_jupyter.sandbox.docker import DockerSandbox, environments
from autocoder_jupyter.sandbox.docker.container import ContainerStart, run_once
from autocoder_jupyter.sandbox.docker.engine import DockerEngine
from autocoder_jupyter.sandbox.docker.environments import (
    Recipe,
    apt_error,
    build_network,
    check_system_packages,
    compile_step,
    dockerfile,
    host_authorities,
    host_proxies,
    path_line,
)
from autocoder_jupyter.sandbox.docker.images import Base, Image, find_base, find_image
from autocoder_jupyter.sandbox.docker.trial import ImageTrial
from autocoder_jupyter.sandbox.environments import locking
from autocoder_jupyter.sandbox.environments.locking import pin_of
from autocoder_jupyter.sandbox.protocol import BuildWatch, CancellationToken, Environment, EnvironmentSpec, WorkerLimits
from autocoder_jupyter.types import ImageConfig
from tests.sandbox.wheelhouse import make_eager_wheel, only_a_wheelhouse


def base(
    machine: str = "x86_64", libc: tuple[str, str] = ("glibc", "2.36"), user: str = "", bytecode: bool = True
) -> Base:
    found = ImageTrial((3, 11), machine, libc, "/usr/lib/site", "/usr/lib/python", bytecode, "sockets", (), (), {})
    return Base(Image("python", "sha256:base", {}, user), found)


def test_the_platform_of_wheels_is_the_images_own() -> None:
    assert base().platform == "x86_64-manylinux_2_36"
    assert base("aarch64", ("glibc", "2.41")).platform == "aarch64-manylinux_2_40"
    assert base(libc=("", "")).platform == "x86_64-unknown-linux-musl"


@pytest.mark.parametrize(
    "name", ["x; rm -rf /", "$(id)", "-o", "--force", "a b", "a\nb", "libc6-", "UPPER", "", "a", "a&b", "../a"]
)
def test_what_is_no_debian_package_is_refused_before_anything_runs(name: str) -> None:
    with pytest.raises(PackageError) as error:
        check_system_packages([name])
    assert error.value.package == name


def test_debian_packages_come_in_order_and_once() -> None:
    assert check_system_packages(["libmagic1", "g++", "libmagic1", "gdal-bin=3.6.2+dfsg-1"]) == (
        "g++",
        "gdal-bin=3.6.2+dfsg-1",
        "libmagic1",
    )


def test_proxies_and_authorities_of_the_host_go_into_the_build(tmp_path: Path) -> None:
    found = host_proxies({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "localhost"})
    assert found == {
        "https_proxy": "http://proxy:3128",
        "HTTPS_PROXY": "http://proxy:3128",
        "no_proxy": "localhost",
        "NO_PROXY": "localhost",
    }
    assert build_network(found) is None
    assert build_network(host_proxies({"http_proxy": "http://127.0.0.1:3128"})) == "host"
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(b"certificates")
    assert host_authorities({"SSL_CERT_FILE": str(tmp_path / "gone"), "CURL_CA_BUNDLE": str(bundle)}) == b"certificates"
    assert host_authorities({}) is None


def test_what_apt_says_becomes_an_error_with_the_package() -> None:
    assert apt_error("100", "E: Package 'gone' has no installation candidate\n").package == "gone"
    assert apt_error("100", "E: Version '9' for 'curl' was not found\n").package == "curl"
    unreachable = apt_error("100", "W: Failed to fetch http://mirror  Temporary failure resolving\nE: Some\n")
    assert unreachable.package is None and "mirror cannot be reached" in unreachable.what
    assert "no space left" in str(apt_error("no space left on device", ""))


def test_the_steps_put_system_packages_below_and_give_the_user_back(tmp_path: Path) -> None:
    (tmp_path / "humanize").mkdir()
    (tmp_path / "humanize-4.dist-info").mkdir()
    parent = Image("shared", "sha256:shared", {})
    lock = tuple(f"{pin} --hash=sha256:{'0' * 64}" for pin in ("humanize==4", "numpy==2"))
    recipe = Recipe("env:1", parent, lock[:1], lock, ("libmagic1",))
    steps = dockerfile(recipe, base(user="app"), tmp_path, authorities=True).splitlines()
    assert [step.split()[0] for step in steps] == ["FROM", "USER", "COPY", "RUN", "COPY", "RUN", "LABEL", "USER"]
    assert steps[0] == "FROM sha256:shared" and steps[1] == "USER 0:0" and steps[-1] == "USER app"
    assert "apt-get" in steps[3] and steps[3].endswith("/tmp/authorities.crt")
    assert "humanize" in steps[5] and "dist-info" not in steps[5]
    assert re.search('lock="humanize==4@[0-9a-f]{16} numpy==2@[0-9a-f]{16}"', steps[6])


@pytest.mark.parametrize(
    ("parent", "bytecode", "steps"),
    [
        ("sha256:base", False, ["/usr/lib/python"]),
        ("sha256:base", True, []),
        ("sha256:shared", False, []),
    ],
    ids=["not compiled", "compiled", "the parent has it"],
)
def test_the_standard_library_is_compiled_once_for_an_image_without_its_bytecode(
    parent: str, bytecode: bool, steps: list[str], tmp_path: Path
) -> None:
    recipe = Recipe("env:1", Image("parent", parent, {}), (), ())
    lines = dockerfile(recipe, base(bytecode=bytecode), tmp_path, authorities=False).splitlines()
    assert [json.loads(line.removeprefix("RUN "))[-1] for line in lines if line.startswith("RUN ")] == steps


def test_a_compile_step_leaves_out_tests_and_packages_and_continues_after_an_error(tmp_path: Path) -> None:
    for name in ("good.py", "part/good.py", "test/good.py", "site-packages/good.py", "dist-packages/good.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1")
    (tmp_path / "bad.py").write_text("def")
    _, *command = json.loads(compile_step([str(tmp_path)]).removeprefix("RUN "))
    assert subprocess.run([sys.executable, *command], capture_output=True).returncode == 0
    compiled = {path.parent.parent.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.pyc")}
    assert compiled == {".", "part"}


def test_our_packages_go_behind_the_standard_library_and_before_the_images_own(tmp_path: Path) -> None:
    path = ["/usr/lib/python3.11", "/usr/lib/site", "/usr/lib/more"]
    code = path_line("/usr/lib/site").replace("import sys; ", "").replace("sys.path", "path")
    exec(code, {"path": path})
    assert path == ["/usr/lib/python3.11", "/opt/autocode/packages", "/usr/lib/site", "/usr/lib/more"]


@pytest.mark.docker
def test_an_environment_is_found_again_by_its_name(environment: Environment, engine: DockerEngine) -> None:
    said: list[str] = []
    again = DockerSandbox().build(
        EnvironmentSpec(packages=(), python_version=(3, 11), lock=environment.lock), watch=BuildWatch(said.append)
    )
    assert again == environment and said == []
    client = engine.client()
    labels = client.inspect_image(environment.location)["Config"]["Labels"]
    client.close()
    assert [held.partition("@")[0] for held in labels["autocoder-jupyter.lock"].split()] == [
        pin_of(line) for line in environment.lock
    ]


@pytest.mark.docker
def test_another_environment_adds_only_what_it_needs(environment: Environment, engine: DockerEngine) -> None:
    sandbox = DockerSandbox()
    humanize = sandbox.build(EnvironmentSpec(packages=("humanize",), python_version=(3, 11)))
    client = engine.client()
    try:
        layers = [client.inspect_image(name)["RootFS"]["Layers"] for name in (environment.location, humanize.location)]
        assert layers[1][: len(layers[0])] == layers[0]
    finally:
        client.close()
    assert set(humanize.lock) - set(environment.lock) == {pin for pin in humanize.lock if pin.startswith("humanize==")}


@pytest.mark.docker
def test_nothing_of_a_package_runs_while_its_image_is_built(
    environment: Environment, engine: DockerEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Based on an image whose Python reads the package folder when it starts."""
    base, name = find_base(engine, ImageConfig(), (3, 11)), "autocode-test-eager:1"
    make_eager_wheel(only_a_wheelhouse(tmp_path, monkeypatch), Path("/ran"))
    client = engine.client()
    try:
        parent = find_image(client, environment.location)
        assert parent is not None
        eager = locking.lock(EnvironmentSpec((), (3, 11), lock=("eager==1.0",)), platform=base.platform)
        environments._build(engine, base, Recipe(name, parent, eager, eager), BuildWatch())
        look = "import glob, os, eager; os.write(1, repr((eager.version, glob.glob('/ran*'))).encode())"
        start = ContainerStart(engine, name, look, WorkerLimits(), role="trial")
        assert run_once(start, base.trial.transport, seconds=30) == b"('1.0', [])"
    finally:
        if find_image(client, name) is not None:
            client.remove_image(name, force=True)
        client.close()


@pytest.mark.docker
def test_an_unknown_debian_package_is_named_and_leaves_no_image(
    environment: Environment, dangling: Callable[[], set[str]], eventually: Callable[[Callable[[], bool]], bool]
) -> None:
    before = dangling()
    said: list[str] = []
    with pytest.raises(PackageError) as error:
        DockerSandbox().build(
            EnvironmentSpec(packages=(), python_version=(3, 11), system_packages=("no-such-thing-here",)),
            watch=BuildWatch(said.append),
        )
    assert error.value.package == "no-such-thing-here"
    assert any("apt-get" in line for line in said)
    assert eventually(lambda: dangling() <= before)


@pytest.mark.docker
def test_an_unknown_python_package_is_named(image: str) -> None:
    with pytest.raises(PackageError) as error:
        DockerSandbox().build(EnvironmentSpec(packages=("no-such-thing-here-at-all",), python_version=(3, 11)))
    assert error.value.package == "no-such-thing-here-at-all"


@pytest.mark.docker
def test_a_stopped_build_ends_in_the_engine_too_and_leaves_no_layer(
    image: str,
    engine: DockerEngine,
    monkeypatch: pytest.MonkeyPatch,
    dangling: Callable[[], set[str]],
    eventually: Callable[[Callable[[], bool]], bool],
) -> None:
    base, before, token, sleeps = (
        find_base(engine, ImageConfig(), (3, 11)),
        dangling(),
        CancellationToken(),
        threading.Event(),
    )
    steps = f"FROM {base.image.id}\nRUN touch /somewhere\nRUN sleep 123.456\n"
    monkeypatch.setattr(environments, "dockerfile", lambda *_: steps)
    ended: list[Exception] = []

    def build() -> None:
        try:
            recipe = environments.Recipe("autocode-test-stopped:1", base.image, (), ())
            environments._build(
                engine, base, recipe, BuildWatch(lambda line: sleeps.set() if "123.456" in line else None, token)
            )
        except Exception as error:
            ended.append(error)

    building = threading.Thread(target=build, daemon=True)
    building.start()
    client = engine.client()
    try:
        assert sleeps.wait(60)
        assert eventually(lambda: _sleepers(client))
        token.cancel()
        building.join(60)
        assert [type(error) for error in ended] == [Cancelled]
        assert eventually(lambda: not _sleepers(client))
        assert eventually(lambda: dangling() <= before)
        assert find_image(client, "autocode-test-stopped:1") is None
    finally:
        client.close()


def _sleepers(client: Any) -> bool:
    return any("123.456" in container["Command"] for container in client.containers(all=True))
