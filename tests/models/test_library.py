from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from autocoder_jupyter.models import library


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
        from autocoder_jupyter.models import client, code, dialect, faults, prices, replay, structured
        print(sorted({"litellm", "openai", "pandas", "httpx"} & set(sys.modules)))
    """
    assert run(program, tmp_path) == "[]\n"


def test_loading_leaves_the_environment_alone_and_asks_no_network(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FROM_DOTENV=1\n")
    program = """
        import os, socket, sys
        def refuse(*args, **more):
            raise AssertionError(f"network: {args}")
        socket.getaddrinfo = socket.socket.connect = refuse
        del sys.argv[:]
        before = dict(os.environ)
        from autocoder_jupyter.models import library
        litellm = library.load()
        print(dict(os.environ) == before, len(litellm.model_cost) > 1000)
    """
    assert run(program, tmp_path) == "True True\n"


def test_the_import_looks_for_garbage_rarely_and_leaves_that_as_it_was(tmp_path: Path) -> None:
    program = """
        import gc
        from autocoder_jupyter.models import library
        before, collections = gc.get_threshold(), gc.get_stats()[0]["collections"]
        library.load()
        print(gc.get_threshold() == before, gc.get_stats()[0]["collections"] - collections < 100)
        gc.set_threshold(0, 5, 5)  # a person who switched it off
        with library._collecting_rarely():
            print(gc.get_threshold())
            gc.set_threshold(9, 9, 9)
        print(gc.get_threshold())
    """
    assert run(program, tmp_path) == "True True\n(0, 5, 5)\n(9, 9, 9)\n"


async def test_the_event_loop_goes_on_while_litellm_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = library.load()
    monkeypatch.setattr(library, "_litellm", None)
    preload = asyncio.create_task(library.preload())
    await asyncio.sleep(0)
    assert not preload.done()
    assert await preload is loaded


def test_the_client_of_a_model_is_imported_before_its_first_request(tmp_path: Path) -> None:
    needed = {
        "openai/gpt-4.1": True,
        "deepseek/deepseek-chat": True,
        "anthropic/claude-sonnet-4-5": False,
        "nobody-knows-this": False,
    }
    program = f"""
        import os, sys
        from autocoder_jupyter.models import library
        library.load()
        for model in {list(needed)}:
            if not os.fork():  # each sees what the others have not imported
                library.load_client(model)
                print(model, "openai.resources" in sys.modules, flush=True)
                os._exit(0)
            os.wait()
    """
    assert run(program, tmp_path) == "".join(f"{model} {imported}\n" for model, imported in needed.items())
