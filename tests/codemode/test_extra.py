"""Code mode is an extra, and imports its dependencies only when it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autocoder_jupyter import CodeModeAgent
from tests.codemode.conftest import block


def test_without_the_extra_one_sentence_says_what_to_install(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    result = CodeModeAgent(call_llm=lambda *_: block("1")).run("Do it.", journal_root=root)
    assert result.error == (
        'Code mode needs the package pydantic-monty, which is not installed.\npip install "autocoder-jupyter[codemode]"'
    )


@pytest.mark.slow
def test_to_import_the_names_loads_neither_the_sandbox_nor_pandas_nor_a_client() -> None:
    code = (
        "import sys, autocoder_jupyter\nfrom autocoder_jupyter import CodeModeAgent, AgentResult, tool\n"
        "agent = CodeModeAgent([tool(print_it := lambda: 1)] and {'one': print_it})\nagent.system_prompt\n"
        "print([name for name in ('pandas', 'litellm', 'pydantic_monty', 'docker', 'pyarrow') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
