"""Answers on a line and at a prompt: by number, as text, or left to the plan."""

from __future__ import annotations

import builtins
import getpass
from types import SimpleNamespace
from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.line.first_steps import _typed
from autocoder_jupyter.magics.progress import ask_at_prompt, read_answers
from autocoder_jupyter.models import catalogue, preflight
from autocoder_jupyter.models.catalogue import known_models
from autocoder_jupyter.models.offers import _EXAMPLES
from autocoder_jupyter.run.events import NoAnswerYet, QuestionsAsked
from autocoder_jupyter.types import PlanQuestion
from tests.cases import each
from tests.scripted_model import ScriptedModel

QUESTIONS = (
    PlanQuestion(text="Which date counts?", options=("order_date", "ship_date"), assumed="order_date"),
    PlanQuestion(text="And gaps?", options=("zero", "left out")),
)


@each(
    ("words", "answers"),
    [
        ([], ("", "")),
        (["2", "-"], ("ship_date", "")),
        (["the day it was paid"], ("the day it was paid", "")),
        (["", "1"], ("", "zero")),
    ],
)
def test_answers_on_a_line(words: list[str], answers: tuple[str, ...]) -> None:
    assert read_answers(QUESTIONS, words) == answers


@pytest.mark.parametrize(
    ("words", "complaint"), [(["3"], "no option 3"), (["0"], "no option 0"), (["1", "1", "1"], "3 answers")]
)
def test_what_no_question_takes(words: list[str], complaint: str) -> None:
    with pytest.raises(InvalidRequest, match=complaint):
        read_answers(QUESTIONS, words)


def test_a_prompt_asks_again_after_a_wrong_number_and_the_end_of_input_leaves_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["7", "2"])

    def read(_: str) -> str:
        for word in typed:
            return word
        raise EOFError

    monkeypatch.setattr(builtins, "input", read)
    answered: list[Any] = []
    job: Any = SimpleNamespace(name="growth", pending_questions=QUESTIONS, answer=answered.append)
    ask_at_prompt(job)
    assert answered == [["ship_date", ""]]
    shown = capsys.readouterr().out
    assert "1  order_date  (as planned)" in shown and "has no option 7" in shown


def test_the_line_magic_answers_what_the_card_shows(shell: Any, jobs: Any) -> None:
    shell.run("%%autocode growth --ask\nTotal.")
    assert jobs.last.config.ask
    with pytest.raises(InvalidRequest, match="'1' is no answer for growth, which is"):
        shell.run("%autocode reply growth 1")
    jobs.last.pending_questions = QUESTIONS
    jobs.last.tell(QuestionsAsked(QUESTIONS))
    state = jobs.last.tracker.run
    assert state.phase == "waiting" and state.questions == QUESTIONS
    with pytest.raises(InvalidRequest, match="no option 9"):
        shell.run("%autocode reply growth 9")
    shell.run('%autocode reply growth 2 "as the books do"')
    assert jobs.last.asked == [("ship_date", "as the books do")]


def test_the_line_magic_replies_to_a_model_that_says_nothing(
    shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run("%%autocode growth\nTotal.")
    with pytest.raises(InvalidRequest, match="growth waits for no model"):
        shell.run("%autocode reply growth again")
    jobs.last.tell(NoAnswerYet(("code",)))
    capsys.readouterr()
    shell.run("%autocode reply growth")
    assert capsys.readouterr().out == "No answer yet\nWrite %autocode reply growth wait, again or model.\n"
    for word in ("wait", "again", "model"):
        shell.run(f"%autocode reply growth {word}")
    assert jobs.last.asked == ["again", "wait", "again", "model"]
    assert "asks the model again" in capsys.readouterr().out
    with pytest.raises(InvalidRequest, match="no further words"):
        shell.run("%autocode reply growth again please")


def test_nobody_is_asked_in_a_headless_run(shell: Any, jobs: Any) -> None:
    shell.kernel._allow_stdin = False
    jobs.ending = lambda job: job.end()
    shell.run("%%autocode growth --ask -i x:int\nTotal.")
    assert not jobs.last.config.ask


@pytest.mark.parametrize("left_by", [EOFError, KeyboardInterrupt])
def test_the_first_steps_can_be_left_at_any_question(
    monkeypatch: pytest.MonkeyPatch, left_by: type[BaseException]
) -> None:
    def read(_: str) -> str:
        raise left_by

    monkeypatch.setattr(builtins, "input", read)
    with pytest.raises(InvalidRequest, match="Nothing was changed"):
        _typed("Model: ")


def test_the_first_steps_set_the_address_of_a_local_server_and_send_no_key_to_it(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-persons-own-key")
    with ScriptedModel(["ready"], models=["qwen3"]) as model:
        monkeypatch.setattr(catalogue, "PORTS", {model.port: "LM Studio"})
        answers = iter(["openai/qwen3", "", "", "yes"])
        asked: list[str] = []
        monkeypatch.setattr(builtins, "input", lambda question: asked.append(question) or next(answers))
        shell.run("%autocode setup")
        printed = capsys.readouterr().out
        assert f"LM Studio answers on this machine at {model.url}. For example openai/qwen3" in printed
        assert "OPENAI_API_KEY is set. For example openai/gpt-4.1" in printed
        assert [question.split(" ")[0] for question in asked] == ["Model,", "What", "Sandbox", "Send"]
        assert "✓ openai/qwen3 answers (" in printed and f"c.Autocode.api_base = '{model.url}'" in printed
        assert model.requests[0]["model"] == "qwen3"
        assert model.headers[0]["authorization"] == "Bearer not-needed"
        traits = shell.magics_manager.registry["AutocodeMagics"].notebook.traits
        assert (traits.model, traits.api_base) == ("openai/qwen3", model.url)
        answers = iter(["openai/gpt-4.1", "", "", ""])
        shell.run("%autocode setup")
        assert (traits.model, traits.api_base, traits.litellm_params) == ("openai/gpt-4.1", None, {})


def test_the_first_steps_ask_for_the_address_of_an_own_server_until_it_is_one_and_can_remove_it(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalogue, "PORTS", {})
    monkeypatch.setenv("OUR_KEY", "sk-ours")
    asked: list[str] = []

    def set_up(*answers: str) -> str:
        typed = iter(answers)
        asked.clear()
        monkeypatch.setattr(builtins, "input", lambda question: asked.append(question) or next(typed))
        monkeypatch.setattr(getpass, "getpass", builtins.input)
        shell.run("%autocode setup")
        return capsys.readouterr().out

    with ScriptedModel(["ready"]) as model:
        wrong = model.url.replace("http://", "http://me:secret@")
        printed = set_up("openai/ours", "localhost:8000", wrong, model.url, "0", "0", "", "", "yes")
        assert printed.count("api_base must be an address") == 2 and "secret" not in printed
        assert model.requests[0]["model"] == "ours" and f"c.Autocode.api_base = '{model.url}'" in printed
    traits = shell.magics_manager.registry["AutocodeMagics"].notebook.traits
    assert traits.api_base == model.url
    set_up("", "usual", "OUR_KEY", "", "", "")
    assert f"Press Enter to keep {model.url}" in asked[1] and traits.api_base is None
    monkeypatch.setenv("AUTOCODE_API_BASE", "http://127.0.0.1:9/v1")
    set_up("anthropic/claude-sonnet-4-5", "", "", "", "")  # the requests would go to that address
    assert "127.0.0.1:9/v1 (environment)" in asked[1] and "usual" not in asked[1]
    monkeypatch.delenv("AUTOCODE_API_BASE")
    set_up("anthropic/claude-sonnet-4-5", "OUR_KEY", "", "", "")
    assert "address" not in asked[1].casefold()


def test_the_examples_of_the_first_steps_are_models_that_exist() -> None:
    assert set(_EXAMPLES.values()) <= set(known_models()) and set(_EXAMPLES) <= set(preflight.KEYS)
