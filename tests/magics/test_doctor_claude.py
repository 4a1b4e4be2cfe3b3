"""`%autocode setup check` for the Claude backend, with the real SDK and its program if they are installed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.engines.claude import session
from autocoder_jupyter.magics.doctor import claude_rows
from autocoder_jupyter.magics.settings import resolve

CLAUDE = {"model": "anthropic/claude-sonnet-4-5", "backend": "claude"}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def rows(here: Path, **flags: Any) -> dict[str, tuple[str, str]]:
    found = claude_rows(resolve({**CLAUDE, **flags}, {}, here, {}))
    return {row.name: (row.state, row.more) for row in found}


needs_sdk = pytest.mark.skipif(importlib.util.find_spec("claude_agent_sdk") is None, reason="the SDK is not installed")


@needs_sdk
def test_the_program_is_started_and_says_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-that-is-not-shown")
    told = rows(tmp_path)
    assert told["claude backend"] == ("will be used", "'claude' is set (flag)")
    assert re.match(r"\d+\.\d+\.\d+", told["program"][0]) and told["program"][1].endswith("claude")
    assert re.match(r"\d+\.\d+\.\d+", told["sdk"][0])
    assert told["model"] == ("anthropic/claude-sonnet-4-5", "") and told["key"] == ("is set", "")
    assert "a-key-that-is-not-shown" not in str(told)


@needs_sdk
def test_a_missing_key_and_another_providers_model_are_said_with_what_to_do(tmp_path: Path) -> None:
    told = rows(tmp_path)
    assert told["claude backend"][0] == "cannot be used"
    assert told["key"][0] == "is missing" and "%autocode setup asks for the key" in told["key"][1]
    assert rows(tmp_path, api_base="http://127.0.0.1:9")["key"] == ("not needed", "api_base is set")
    told = rows(tmp_path, model="openai/gpt-4.1")
    assert "-m anthropic/claude" in told["model"][1] and "key" not in told


@needs_sdk
def test_who_uses_the_other_backend_is_told_how_to_change(tmp_path: Path) -> None:
    assert rows(tmp_path, backend="litellm")["claude backend"] == ("not in use", "--backend claude uses it")


@needs_sdk
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("#!/bin/sh\necho this machine is too old >&2; exit 3", "ended with 3: this machine is too old"),
        ("#!/nowhere/sh\n", "ended with"),
    ],
)
def test_a_program_that_does_not_start_says_why(
    script: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "claude"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setattr(session, "require_program", lambda: str(program))
    told = rows(tmp_path)
    assert told["program"][0] == "does not start" and why in told["program"][1]
    assert told["claude backend"][0] == "cannot be used"


def test_without_the_sdk_the_line_that_installs_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "claude_agent_sdk" else find(name, *rest)
    )
    told = rows(tmp_path)
    assert list(told) == ["claude backend"]
    assert told["claude backend"][0] == "cannot be used"
    assert 'pip install "autocoder-jupyter[agent]"' in told["claude backend"][1]
    assert rows(tmp_path, backend="litellm") == {"claude backend": ("not in use, and not installed", "")}
