from __future__ import annotations

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
from autocoder_jupyter.sandbox.docker.detection import Candidate, candidates, connect, find_engine
from autocoder_jupyter.sandbox.docker.engine import DockerEngine, release
from autocoder_jupyter.sandbox.docker.products import Machine
from tests.sandbox.docker.engine_service import service

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

    def start(**about: Any) -> str:
        path = tmp_path / f"{len(servers)}.sock"
        server = socketserver.ThreadingUnixStreamServer(str(path), service(**about))
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
from autocoder_jupyter.sandbox.docker.detection import Candidate, connect
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
