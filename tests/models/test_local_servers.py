"""The servers of models on this machine that answer, and answers of others at their ports."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.models import catalogue
from autocoder_jupyter.models.catalogue import LocalServer, read_models
from tests.scripted_model import ScriptedModel

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"


@pytest.fixture
def at_port(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Iterator[bytes]], int]]:
    """Starts a program that answers each connection with these pieces. Gives its port."""
    with ExitStack() as stack:

        def begin(pieces: Iterator[bytes]) -> int:
            door = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def serve() -> None:
                with door.accept()[0] as connection:
                    try:
                        for piece in pieces:
                            connection.sendall(piece)
                    except OSError:
                        pass

            threading.Thread(target=serve, daemon=True).start()
            return int(door.getsockname()[1])

        yield begin


def found(monkeypatch: pytest.MonkeyPatch, ports: dict[int, str]) -> tuple[LocalServer, ...]:
    monkeypatch.setattr(catalogue, "PORTS", ports)
    return background.run(catalogue.local_servers())


def test_the_servers_that_answer_are_listed_with_their_models_as_a_cell_names_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = int(closed.getsockname()[1])
    with (
        ScriptedModel(models=["qwen3-coder:30b"]) as ollama,
        ScriptedModel(models=["text-embedding-nomic", "Qwen/Qwen3-8B", "gpt-4.1", "a\x1b[31m", "b c"]) as studio,
        ScriptedModel(models=[]) as empty,
    ):
        ports = {ollama.port: "Ollama", studio.port: "LM Studio", nobody: "vLLM", empty.port: "llama.cpp"}
        assert found(monkeypatch, ports) == (
            LocalServer("Ollama", ("ollama_chat/qwen3-coder:30b",), None),
            LocalServer("LM Studio", ("openai/Qwen/Qwen3-8B", "openai/text-embedding-nomic"), studio.url),
            LocalServer("llama.cpp", (), empty.url),
        )


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        OK + b"<html>",
        OK + b"[]",
        OK + b'{"data": 3}',
        OK + b'{"models": []}',
        OK + b"{" * 100_000,
        OK + b'{"data": [' + b" " * 2**20 + b"]}",
        OK.replace(b"200 OK", b"302 Found") + b'{"data": []}',
    ],
)
def test_another_program_at_a_port_is_no_server_of_models(
    answer: bytes, at_port: Callable[[Iterator[bytes]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(monkeypatch, {at_port(iter([answer])): "vLLM"}) == ()


def test_a_program_that_never_ends_its_answer_is_not_waited_for(
    at_port: Callable[[Iterator[bytes]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "_SECONDS", 0.2)
    pause = threading.Event()
    drops = (OK if number == 0 else b" " * (1 + pause.wait(0.01)) for number in itertools.count())
    assert found(monkeypatch, {at_port(drops): "vLLM"}) == ()


def test_an_ollama_without_models_answers_with_null_and_others_are_bounded() -> None:
    assert read_models(OK + b'{"object": "list", "data": null}') == ()
    assert read_models(OK + b'{"data": [3, {"id": 4}, {"id": "a"}, {"id": "a"}, {}]}') == ("a",)
    many = [{"id": f"m{number}"} for number in range(1000)] + [{"id": "x" * 300}]
    assert len(read_models(OK + json.dumps({"data": many}).encode())) == 20
