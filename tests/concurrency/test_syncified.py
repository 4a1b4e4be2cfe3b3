"""`.aio` of a method has the method's signature, for users and for type checkers."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import autocoder_jupyter
from autocoder_jupyter import AutoCoderAgent, CodeModeAgent

TYPED = """
from autocoder_jupyter.concurrency.syncified import Syncified

class Adder:
    @Syncified
    async def add(self, first: int, *, second: str = "") -> float:
        return 1.0

reveal_type(Adder().add.aio)
Adder().add.aio("1")
"""


@pytest.mark.parametrize("method", [AutoCoderAgent().generate, CodeModeAgent([]).run], ids=["generate", "run"])
def test_aio_has_the_signature_and_the_docstring_of_its_method(method: Any) -> None:
    assert inspect.signature(method.aio) == inspect.signature(method)
    assert not {"args", "kwargs"} & inspect.signature(method.aio).parameters.keys()
    assert method.__doc__ and method.aio.__doc__ == method.__doc__
    assert inspect.iscoroutinefunction(method.aio)


def test_shift_tab_shows_them() -> None:
    shell = InteractiveShell()
    shell.user_ns["agent"] = AutoCoderAgent()
    shown = re.sub(r"\x1b\[[\d;]*m", "", shell.object_inspect_text("agent.generate.aio"))
    assert "prompt: 'str'," in shown and "Generate a function and test it in a sandbox" in shown


@pytest.mark.slow
def test_a_type_checker_knows_what_aio_takes_and_gives(tmp_path: Path) -> None:
    source = tmp_path / "typed.py"
    source.write_text(TYPED)
    options = ("--config-file=", "--strict", "--follow-imports=skip", "--cache-dir=/dev/null")
    package = Path(autocoder_jupyter.__file__).parent
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(source), str(package / "concurrency" / "syncified.py")],
        capture_output=True,
        text=True,
        cwd=package.parent,
    ).stdout
    assert '"def (first: int, *, second: str =) -> typing.Coroutine[Any, Any, float]"' in checked
    assert 'Argument 1 has incompatible type "str"; expected "int"' in checked


def test_the_method_of_a_class_has_a_signature_and_can_be_called() -> None:
    from autocoder_jupyter import AutoCoderAgent

    names = list(inspect.signature(AutoCoderAgent.generate).parameters)
    assert names[:2] == ["self", "prompt"] and names[1:] == list(
        inspect.signature(AutoCoderAgent(model="openai/x").generate).parameters
    )
    assert getattr(AutoCoderAgent.generate, "__name__", "") == "generate" and "Args:" in (
        AutoCoderAgent.generate.__doc__ or ""
    )
