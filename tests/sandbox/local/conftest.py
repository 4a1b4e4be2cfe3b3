"""Fixtures for the tests of the local sandbox."""

from __future__ import annotations

import pytest

from autocoder_jupyter.sandbox.local import trial
from autocoder_jupyter.sandbox.protocol import Environment
from tests.sandbox.sandboxes import base_spec, open_sandbox


@pytest.fixture(scope="module")
def environment() -> Environment:
    """An environment with the base packages."""
    return open_sandbox("local").build(base_spec("local"))


@pytest.fixture
def forgetful_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next trial is a new one."""
    monkeypatch.setattr(trial, "_answer", None)
