from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.docker import DockerSandbox
from autocoder_jupyter.sandbox.docker import engine as detection
from autocoder_jupyter.sandbox.docker.engine import Candidate, DockerEngine, candidates, connect, find_engine, release
from autocoder_jupyter.sandbox.docker.products import Machine
from tests.sandbox.docker.engine_service import USUAL, service
from tests.sandbox.docker.engine_service import answering as of_bytes

A_MOMENT = 30.0
"""Seconds that are enough on a busy machine, and far fewer than the program itself would need."""


def words(error: pytest.ExceptionInfo[SandboxUnavailable]) -> str:
    return str(error.value)


@pytest.fixture
def no_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "no-config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Any]:
    """Starts services at a Unix socket that answer with these facts about an engine."""
    servers: list[socketserver.UnixStreamServer] = []

    def start(handler: Any = None, **about: Any) -> str:
        path = tmp_path / f"{len(servers)}.sock"
        server = socketserver.ThreadingUnixStreamServer(str(path), handler or service(**about))
        server.daemon_threads = True
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"unix://{path}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_docker_host_is_the_only_candidate(no_context: None) -> None:
    found = list(candidates(Machine({"DOCKER_HOST": "tcp://elsewhere:2375"})))
    assert [(c.source, c.chosen) for c in found] == [("DOCKER_HOST", True)]
    assert "elsewhere" in found[0].url


def test_the_current_context_is_the_only_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meta = tmp_path / "contexts" / "meta" / hashlib.sha256(b"colima").hexdigest()
    meta.mkdir(parents=True)
    endpoint = {"Host": "unix:///somewhere/colima.sock", "SkipTLSVerify": False}
    (meta / "meta.json").write_text(json.dumps({"Name": "colima", "Metadata": {}, "Endpoints": {"docker": endpoint}}))
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "colima"}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    found = list(candidates(Machine({})))
    assert [(c.source, c.url, c.chosen) for c in found] == [
        ("the Docker context 'colima'", "unix:///somewhere/colima.sock", True)
    ]


def test_a_context_that_does_not_exist_is_named(no_context: None) -> None:
    with pytest.raises(SandboxUnavailable) as error:
        list(candidates(Machine({"DOCKER_CONTEXT": "gone"})))
    assert "'gone'" in words(error) and "docker context use default" in words(error)


def test_usual_sockets_are_found_where_they_exist(tmp_path: Path, no_context: None) -> None:
    places = [tmp_path / ".colima/default/docker.sock", tmp_path / "run/podman/podman.sock"]
    for place in places:
        place.parent.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
    found = [c.url for c in candidates(Machine({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}))]
    assert [url for url in found if str(tmp_path) in url] == [f"unix://{place}" for place in places]


def test_a_wrong_docker_host_is_said(no_context: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(SandboxUnavailable) as error:
        find_engine()
    assert "DOCKER_HOST" in words(error) and "No such file" in words(error) and "unset DOCKER_HOST" in words(error)


def test_an_engine_that_was_stopped_is_said(tmp_path: Path) -> None:
    path = tmp_path / "stopped.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    with pytest.raises(SandboxUnavailable) as error:
        connect(Candidate("the system's socket", f"unix://{path}"))
    assert "Connection refused" in words(error) and "Start that engine, or point DOCKER_HOST" in words(error)


@pytest.mark.parametrize(
    "about",
    [b"null", b"[]", b"<html>", b"{}", b"[" * 100_000, b'{"ApiVersion": 5}', b'{"ApiVersion": "1.x"}', b"9" * 5000],
)
def test_what_does_not_answer_as_an_engine_is_none(answering: Any, about: bytes) -> None:
    with pytest.raises(SandboxUnavailable) as error:
        connect(Candidate("DOCKER_HOST", answering(of_bytes(about))))
    assert "It answers, but" in words(error)


@pytest.mark.parametrize("odd", [{"Components": 5}, {"Platform": "x"}, {"Components": ["x", {"Name": 5}]}])
def test_an_engine_with_an_odd_product_is_one(answering: Any, odd: dict[str, Any]) -> None:
    assert connect(Candidate("DOCKER_HOST", answering(**odd))).product == "Docker"


def test_of_an_answer_without_end_little_is_read(answering: Any) -> None:
    written: list[int] = []

    class Endless(of_bytes(b"")):  # type: ignore[misc]  # a class that a function made
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while len(written) < 100:
                    written.append(self.wfile.write(b" " * 2**20))

    with pytest.raises(SandboxUnavailable) as error:
        connect(Candidate("DOCKER_HOST", answering(Endless)))
    assert "It answers, but" in words(error) and len(written) < 20


def test_an_answer_that_comes_byte_by_byte_is_given_up(answering: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "ANSWER_SECONDS", 1.0)
    done = threading.Event()
    written: list[int] = []

    class Slow(of_bytes(b"")):  # type: ignore[misc]  # a class that a function made
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while not done.wait(0.2):
                    written.append(self.wfile.write(b" "))

    with pytest.raises(SandboxUnavailable) as error:
        connect(Candidate("DOCKER_HOST", answering(Slow)))
    done.set()
    assert "not complete after 1 seconds" in words(error) and len(written) < 50


@pytest.mark.parametrize("otherwise", [b"null", b"[]", b"{}", b'"x"', b'[{"Id": 5}]'])
def test_where_an_engine_answers_strangely_the_next_sandbox_is_asked(
    answering: Any, no_context: None, monkeypatch: pytest.MonkeyPatch, otherwise: bytes
) -> None:
    monkeypatch.setenv("DOCKER_HOST", answering(of_bytes(json.dumps(USUAL).encode(), otherwise)))
    probe = DockerSandbox().probe()
    assert not probe.available and "not a usable Docker engine" in probe.reason


def test_a_hung_engine_is_given_up_after_two_seconds(tmp_path: Path) -> None:
    path = tmp_path / "hung.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        began = time.monotonic()
        with pytest.raises(SandboxUnavailable) as error:
            connect(Candidate("the system's socket", f"unix://{path}"))
    assert "did not answer within 2 seconds" in words(error)
    assert time.monotonic() - began < A_MOMENT


def test_a_remote_engine_that_is_not_there_is_said() -> None:
    with pytest.raises(SandboxUnavailable) as error:
        connect(Candidate("DOCKER_HOST", "tcp://127.0.0.1:1", chosen=True))
    assert "tcp://127.0.0.1:1" in words(error) and "refused" in words(error)


@pytest.mark.skipif(os.getuid() != 0, reason="needs to become another user")
def test_permission_denied_is_told_apart_from_not_running(tmp_path: Path) -> None:
    path = tmp_path / "closed.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o600)
        code = f"""
import os
from autocoder_jupyter.sandbox.docker import DockerSandbox, engine as detection
from autocoder_jupyter.sandbox.docker.engine import Candidate, connect
import docker
os.setuid(65534)
try:
    connect(Candidate("the system's socket", "unix://{path}"))
except Exception as error:
    print(error)
"""
        for folder in (path.parent, *path.parent.parents):
            if folder.stat().st_uid == os.getuid() and folder.stat().st_mode & 0o001 == 0:
                folder.chmod(folder.stat().st_mode | 0o011)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ})
    assert "Permission denied" in done.stdout and "group `docker`" in done.stdout, done.stderr


def test_windows_containers_are_refused(answering: Any) -> None:
    with pytest.raises(SandboxUnavailable) as error:
        connect(Candidate("a test", answering(Os="windows")))
    assert "Windows containers" in words(error)


def test_podman_is_recognised(answering: Any) -> None:
    engine = connect(Candidate("a test", answering(Components=[{"Name": "Podman Engine"}])))
    assert engine.podman and engine.same_host and engine.warnings == ()


def test_docker_desktop_is_not_taken_for_this_host(answering: Any) -> None:
    engine = connect(Candidate("a test", answering(Platform={"Name": "Docker Desktop 4.50.0"})))
    assert not engine.same_host


def test_an_engine_with_a_known_hole_is_warned_about() -> None:
    def warnings(version: str) -> tuple[str, ...]:
        return DockerEngine("unix:///x", "a test", version, "1.41", "amd64", "Docker").warnings

    assert "CVE-2026-31431" in warnings("20.10.24+dfsg1")[0]
    assert warnings("29.4.3") == ()
    assert release("29.5.0-rc.1") == (29, 5, 0)


@pytest.mark.docker
def test_the_engine_here_is_found(engine: DockerEngine) -> None:
    assert engine.version and engine.api_version and engine.info["Containers"] >= 0
