from __future__ import annotations

import base64
import hashlib
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest, SandboxUnavailable
from autocoder_jupyter.sandbox.docker import DockerSandbox
from autocoder_jupyter.sandbox.docker.engine import DockerEngine
from autocoder_jupyter.sandbox.docker.images import BuildFailed, progress_lines, push
from autocoder_jupyter.types import ImageConfig

pytestmark = pytest.mark.docker


class Registry(http.server.ThreadingHTTPServer):
    """The part of a registry that a push needs, with one user."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.manifests: dict[str, bytes] = {}
        self.blobs: dict[str, int] = {}
        self.uploaded = 0
        self.name = f"127.0.0.1:{self.server_port}"


class _Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Registry
    credentials = "Basic " + base64.b64encode(b"ada:secret").decode()

    def _reply(self, status: int, *, size: int = 0, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        whole = b""
        while size := int(self.rfile.readline(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def _any(self) -> None:
        body = self._body()
        if self.headers.get("Authorization") != self.credentials:
            return self._reply(401, WWW_Authenticate='Basic realm="test"')
        path = self.path.partition("?")[0]
        digest = path.rpartition("/")[2]
        if self.command == "HEAD" and digest in self.server.blobs:
            return self._reply(200, size=self.server.blobs[digest], Docker_Content_Digest=digest)
        if self.command in ("GET", "HEAD"):
            return self._reply(200 if path == "/v2/" else 404)
        if self.command == "POST":
            self.server.uploaded += 1
            return self._reply(202, Location=f"{path}{self.server.uploaded}", Docker_Upload_UUID="1")
        if self.command == "PATCH":
            self.server.blobs[path] = len(body)
            return self._reply(202, Location=path, Range=f"0-{len(body)}", Docker_Upload_UUID="1")
        if "/manifests/" in path:
            self.server.manifests[path] = body
            return self._reply(201, Docker_Content_Digest="sha256:" + hashlib.sha256(body).hexdigest())
        given = self.path.partition("digest=")[2].replace("%3A", ":")
        self.server.blobs[given] = self.server.blobs.get(path, 0) + len(body)
        return self._reply(201, Docker_Content_Digest=given, Location=path)

    do_GET = do_HEAD = do_POST = do_PATCH = do_PUT = _any

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def tiny(engine: DockerEngine, registry: Registry) -> Iterator[str]:
    """A small image with a name in the registry."""
    client = engine.client()
    name = f"{registry.name}/team/tiny"
    client.import_image_from_data(b"\0" * 10240, repository=name, tag="1")
    yield f"{name}:1"
    client.remove_image(f"{name}:1", force=True)
    client.close()


def test_a_push_reaches_the_registry_with_the_secret(
    engine: DockerEngine, registry: Registry, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not engine.same_host:
        pytest.skip("the engine cannot reach a registry on this machine")
    monkeypatch.setenv("TEST_REGISTRY_LOGIN", "ada:secret")
    push(engine, tiny, "TEST_REGISTRY_LOGIN")
    assert list(registry.manifests) == ["/v2/team/tiny/manifests/1"]


def test_a_refused_push_is_said_without_the_password(
    engine: DockerEngine, registry: Registry, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not engine.same_host:
        pytest.skip("the engine cannot reach a registry on this machine")
    monkeypatch.setenv("TEST_REGISTRY_LOGIN", "ada:mistaken")
    with pytest.raises(SandboxUnavailable, match="cannot be pushed") as error:
        push(engine, tiny, "TEST_REGISTRY_LOGIN")
    assert "mistaken" not in str(error.value)


def test_a_registry_secret_that_is_not_set_is_said(engine: DockerEngine) -> None:
    with pytest.raises(InvalidRequest, match="user:password"):
        push(engine, "127.0.0.1:1/a:1", "NO_SUCH_VARIABLE_HERE")


def test_a_base_image_that_nobody_has_is_said_with_a_way_out(engine: DockerEngine) -> None:
    probe = DockerSandbox(ImageConfig(base_image="127.0.0.1:1/no/such:image")).probe()
    assert not probe.available
    assert "127.0.0.1:1/no/such:image is not here and cannot be pulled" in probe.reason
    assert "AUTOCODE_BASE_IMAGE" in probe.reason


def test_the_environment_names_a_base_image(engine: DockerEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCODE_BASE_IMAGE", "127.0.0.1:1/from/environment:1")
    assert "from/environment" in DockerSandbox().probe().reason


def test_a_base_image_with_another_python_is_refused(engine: DockerEngine, image: str) -> None:
    probe = DockerSandbox(ImageConfig(base_image=image, python_version=(3, 9))).probe()
    assert "Python 3.9 is required" in probe.reason and "python_version=(3, 11)" in probe.reason


def test_an_error_in_the_middle_of_a_stream_is_raised_with_what_came_before() -> None:
    stream = iter([{"stream": "Step 1\n"}, {"stream": "\x1b[91mE\x1b[0m\x1b[91m: no\n\x1b[0m"}, {"error": "failed"}])
    with pytest.raises(BuildFailed) as error:
        list(progress_lines(stream))
    assert (str(error.value), error.value.output) == ("failed", "Step 1\nE: no\n")
