"""What the command says if it cannot serve."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from autocoder_jupyter.mcp.__main__ import main


def test_without_the_sdk_the_line_that_installs_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))  # of which `main` removes the current folder
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main([]) == 2
    said = capsys.readouterr().err
    assert "The package mcp is not installed." in said and 'pip install "autocoder-jupyter[mcp]"' in said
