"""The servers of models on this machine that answer, and their models. Nothing is asked beyond this machine.

All of them, Ollama too, list their models under `/v1/models`, with the protocol of OpenAI. Any program can answer at
these ports, so an answer is bounded in size and time, and the names in it are only shown and offered.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from autocoder_jupyter.models.catalogue import known_models
from autocoder_jupyter.untrusted.plain_json import parse

HOST = "127.0.0.1"
PORTS = {11434: "Ollama", 1234: "LM Studio", 8000: "vLLM", 8080: "llama.cpp"}
"""The usual port of each server."""

_OLLAMA = "Ollama"
_SECONDS = 1.0
_BYTES = 2**20
_MOST = 20
"""Models of a server that are offered."""

_NAME = re.compile(r"[\w.:/@+-]{1,200}", re.ASCII)
_QUESTION = f"GET /v1/models HTTP/1.0\r\nHost: {HOST}\r\nAccept: application/json\r\nConnection: close\r\n\r\n".encode()


@dataclass(frozen=True)
class LocalServer:
    """A server that answers.

    Args:
        name: the program whose usual port it has. Another program may have it.
        models: the names of its models, as `-m` takes them; those for embeddings come last. Names of OpenAI's own
            models are left out, because they stand for these.
        api_base: its address for these models; None if litellm knows it.
    """

    name: str
    models: tuple[str, ...]
    api_base: str | None


async def local_servers() -> tuple[LocalServer, ...]:
    """The servers that answer, in the order of `PORTS`. All are asked at the same time, for a second at most."""
    known = set(known_models("openai"))
    answers = await asyncio.gather(*map(_asked, PORTS))
    found = []
    for (port, name), models in zip(PORTS.items(), answers, strict=True):
        if models is not None and name == _OLLAMA:
            found.append(LocalServer(name, tuple(f"ollama_chat/{model}" for model in models), None))
        elif models is not None:
            named = (f"openai/{model}" for model in models)
            own = tuple(model for model in named if model not in known)
            found.append(LocalServer(name, own, f"http://{HOST}:{port}/v1"))
    return tuple(found)


async def _asked(port: int) -> tuple[str, ...] | None:
    """The models of the server at a port; None if none of models answers."""
    writer = None
    try:
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(_QUESTION)
            answer = await _read(reader)
        return read_models(answer)
    except (OSError, ValueError):  # TimeoutError is an OSError
        return None
    finally:
        if writer is not None:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while part := await reader.read(_BYTES):
        answer += part
        if len(answer) > _BYTES:
            raise ValueError("the answer is too long")
    return bytes(answer)


def read_models(answer: bytes) -> tuple[str, ...]:
    """The names of models in an answer with its head. What cannot be a name, and further ones, are left out.

    Raises:
        ValueError: it is not a list of models.
    """
    head, _, body = answer.partition(b"\r\n\r\n")
    if not re.match(rb"HTTP/1\.[01] 200\b", head):
        raise ValueError("the server does not list models")
    record = parse(body)
    listed = record.get("data", "") if isinstance(record, dict) else ""
    if not isinstance(listed, list | None):  # None: Ollama without models
        raise ValueError("the answer does not list models")
    names = [each["id"] for each in listed or () if isinstance(each, dict) and isinstance(each.get("id"), str)]
    good = [name for name in dict.fromkeys(names) if _NAME.fullmatch(name)]
    return tuple(sorted(good, key=lambda name: "embed" in name.casefold())[:_MOST])
