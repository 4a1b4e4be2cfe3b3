"""`%autocode models try` in a notebook: what is asked first, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest, UnknownModel
from tests.scripted_model import ScriptedModel

LINE = "models try ollama_chat/small"


@pytest.fixture(autouse=True)
def a_model_that_could_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocoder_jupyter.models.preflight.require_address", lambda config: None)


def test_a_provider_that_does_not_exist_is_refused_before_a_question(shell: Any) -> None:
    with pytest.raises(UnknownModel, match="There is no model 'nope/x'"):
        shell.run("%autocode models try nope/x")


def test_without_a_user_the_budget_must_stand_in_the_line(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocoder_jupyter.magics.notebook.Notebook.is_headless", True)
    with pytest.raises(InvalidRequest, match="no user who could set the budget") as refused:
        shell.run(f"%autocode {LINE}")
    assert f"%autocode {LINE} --max-cost 1" in refused.value.hint


@pytest.mark.parametrize("typed", ["", "no", "0", "-3", "nan", "inf"])
def test_nothing_is_sent_without_a_budget(
    shell: Any, typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or typed)
    with pytest.raises(InvalidRequest, match="Nothing was sent"):
        shell.run(f"%autocode {LINE}")
    assert len(asked) == 1 and "at most" in asked[0]
    assert "12 small tasks will be sent to ollama_chat/small" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["models openai --max-cost 1", "models openai again"])
def test_a_budget_is_only_for_a_trial(shell: Any, line: str) -> None:
    with pytest.raises(InvalidRequest, match="only for a trial"):
        shell.run(f"%autocode {line}")


@pytest.mark.local_sandbox
def test_the_table_is_shown_also_if_the_budget_is_too_small_for_a_question(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModel() as model:
        monkeypatch.setenv("AUTOCODE_API_BASE", model.url)
        shell.run("%autocode models try openai/scripted --max-tokens 10")
        assert model.requests == []
    assert "0 of 12" in shell.shown and "| net revenue | – | – | budget |" in shell.shown
    page = [one["data"]["text/html"] for one in shell.display_pub.outputs if "text/html" in one["data"]][-1]
    assert page.count("openai/scripted</td>") == 1 and "too small for: back within a week, " in page
