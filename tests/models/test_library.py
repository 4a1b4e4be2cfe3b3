from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.models import library
from tests.scripted_model import ScriptedModel


def run(program: str, folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout


def test_our_modules_do_not_import_litellm(tmp_path: Path) -> None:
    program = """
        import sys
        from autocoder_jupyter.models import client
        from autocoder_jupyter.models import answers as code
        from autocoder_jupyter.models import questions as dialect
        from autocoder_jupyter.models import faults
        from autocoder_jupyter.models import library as prices
        from autocoder_jupyter.models import replay
        from autocoder_jupyter.models import answers as structured
        print(sorted({"litellm", "openai", "pandas", "httpx"} & set(sys.modules)))
    """
    assert run(program, tmp_path) == "[]\n"


NEEDED = {
    "openai/gpt-4.1": True,
    "deepseek/deepseek-chat": True,
    "anthropic/claude-sonnet-4-5": False,
    "nobody-knows-this": False,
}
"""Models, and whether they are asked with OpenAI's client."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Facts about one process that imports litellm, which takes seconds."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / ".env").write_text("FROM_DOTENV=1\n")
    with ScriptedModel(["fine"]) as model:
        return loaded_with(model, folder)


def loaded_with(model: ScriptedModel, folder: Path) -> dict[str, Any]:
    program = f"""
        import asyncio, gc, json, os, socket, sys, threading, time
        def refuse(*args, **more):
            raise AssertionError(f"network: {{args}}")
        lookup, connect = socket.getaddrinfo, socket.socket.connect
        socket.getaddrinfo = socket.socket.connect = refuse
        del sys.argv[:]
        from autocoder_jupyter.models import library
        environment, threshold, collections = dict(os.environ), gc.get_threshold(), gc.get_stats()[0]["collections"]
        litellm = library.load()
        seen = {{
            "environment as before": dict(os.environ) == environment,
            "threshold as before": gc.get_threshold() == threshold,
            "collections": gc.get_stats()[0]["collections"] - collections,
            "models": len(litellm.model_cost),
            "client": {{}},
        }}
        for model in {list(NEEDED)}:
            reader, writer = os.pipe()
            if not os.fork():  # each sees what the others have not imported
                library.load_client(model)
                os.write(writer, b"imported" if "openai.resources" in sys.modules else b"not")
                os._exit(0)
            os.wait()
            seen["client"][model] = os.read(reader, 10) == b"imported"
        reader, writer = os.pipe()
        if not os.fork():
            from autocoder_jupyter.models.client import LiteLLMModel
            from autocoder_jupyter.models.protocol import ModelConfig, Question
            socket.getaddrinfo, socket.socket.connect = lookup, connect
            library.load_client("openai/scripted")
            before, sent = set(sys.modules), []
            config = ModelConfig("openai/scripted", api_base={model.url!r})
            asked = LiteLLMModel(config, on_send=lambda request: sent.append(library._TOKENIZER in sys.modules))
            asyncio.run(asked.ask(Question(stage="plan", messages=({{"role": "user", "content": "?"}},))))
            while any(thread.name == "autocode-prepare" for thread in threading.enumerate()):
                time.sleep(0.01)
            facts = [sorted(set(sys.modules) - before), sent, os.environ.get("TIKTOKEN_CACHE_DIR")]
            os.write(writer, json.dumps(facts).encode())
            os._exit(0)
        os.wait()
        seen["imported by a request"], seen["tokenizer"], seen["cache"] = json.loads(os.read(reader, 60_000))
        gc.set_threshold(0, 5, 5)  # a person who switched it off
        with library.collecting_rarely():
            seen["threshold while loading"] = gc.get_threshold()
            gc.set_threshold(9, 9, 9)
        seen["threshold that was set meanwhile"] = gc.get_threshold()
        print(json.dumps(seen))
    """
    return dict(json.loads(run(program, folder)))


@pytest.mark.slow
def test_loading_leaves_the_environment_alone_and_asks_no_network(loaded: dict[str, Any]) -> None:
    assert loaded["environment as before"] and loaded["models"] > 1000


@pytest.mark.slow
def test_the_import_looks_for_garbage_rarely_and_leaves_that_as_it_was(loaded: dict[str, Any]) -> None:
    assert loaded["threshold as before"] and loaded["collections"] < 100
    assert loaded["threshold while loading"] == [0, 5, 5]
    assert loaded["threshold that was set meanwhile"] == [9, 9, 9]


@pytest.mark.slow
def test_the_client_of_a_model_is_imported_before_its_first_request(loaded: dict[str, Any]) -> None:
    assert loaded["client"] == NEEDED


@pytest.mark.slow
def test_the_first_request_imports_little_and_not_the_server_of_litellm(loaded: dict[str, Any]) -> None:
    imported = loaded["imported by a request"]
    assert len(imported) < 15 and not [name for name in imported if name.startswith("litellm.proxy")], imported


@pytest.mark.slow
def test_a_request_does_not_wait_for_the_tokenizer(loaded: dict[str, Any]) -> None:
    assert loaded["tokenizer"] == [False] and library._TOKENIZER in loaded["imported by a request"]
    assert loaded["cache"] is None


@pytest.mark.slow
def test_messages_with_files_are_still_changed_by_litellm() -> None:
    library.load()
    from litellm.main import update_messages_with_model_file_ids as update

    named = {"type": "file", "file": {"file_id": "ours"}}
    (message,) = update([{"role": "user", "content": [named]}], "m", {"ours": {"m": "theirs"}})
    assert message["content"][0]["file"]["file_id"] == "theirs"


async def test_the_event_loop_goes_on_while_litellm_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = library.load()
    monkeypatch.setattr(library, "_litellm", None)
    preload = asyncio.create_task(library.preload())
    await asyncio.sleep(0)
    assert not preload.done()
    assert await preload is litellm
