from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from autocoder_jupyter.models.protocol import Question


@pytest.fixture
def question() -> Question:
    return Question(stage="plan", messages=({"role": "user", "content": "How are you?"},))


@pytest.fixture(autouse=True)
def no_keys_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    yield
