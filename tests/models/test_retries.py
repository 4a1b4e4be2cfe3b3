from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocoder_jupyter.errors import ModelUnavailable
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.protocol import ModelConfig, Question

PATIENCE = RetryPolicy(tries=5, first=1.0, longest=30.0, total=60.0)


@given(st.integers(1, 4))
def test_pauses_grow_and_are_spread(failures: int) -> None:
    pause = PATIENCE.pause(failures, 0.0, None)
    assert pause is not None
    assert 0.5 * 2 ** (failures - 1) <= pause <= 2 ** (failures - 1)


def test_the_wish_of_the_service_is_honoured_and_one_that_is_too_long_ends_it() -> None:
    assert PATIENCE.pause(1, 0.0, 12.0) == 12.0
    assert PATIENCE.pause(1, 0.0, 45.0) == 45.0, "an earlier call would be refused as well"
    assert PATIENCE.pause(1, 20.0, 45.0) is None
    assert PATIENCE.pause(1, 0.0, 3600.0) is None


def test_a_fault_may_have_fewer_tries() -> None:
    assert PATIENCE.pause(1, 0.0, None, tries=2) is not None
    assert PATIENCE.pause(2, 0.0, None, tries=2) is None
    assert PATIENCE.pause(5, 0.0, None, tries=9) is None


def test_it_ends_after_so_many_tries() -> None:
    assert PATIENCE.pause(5, 0.0, None) is None


def test_no_call_begins_after_so_many_seconds() -> None:
    assert PATIENCE.pause(2, 59.9, None) is None


@pytest.mark.parametrize(("model", "tries"), [("openai/gpt-nope", 2), ("openai/gpt-4.1", 3)])
async def test_without_a_connection_a_model_that_is_not_known_is_not_asked_for_long(
    question: Question, model: str, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    with socket.socket() as taken:  # bound, but nothing listens
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_API_BASE", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(ModelUnavailable, match=f"did not answer in {tries} tries") as caught:
            await LiteLLMModel(ModelConfig(model), RetryPolicy(tries=3, first=0.01)).ask(question)
    assert ("litellm does not know this model." in str(caught.value)) == (tries == 2)
    assert "Did you mean" not in str(caught.value)
    assert "Is this machine online?" in caught.value.hint
