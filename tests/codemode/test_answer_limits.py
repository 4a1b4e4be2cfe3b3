"""Answers of a model that do not end, in code mode."""

from __future__ import annotations

from autocoder_jupyter.run.events import Event, TokensUsed
from tests.codemode.conftest import Ask
from tests.model_faults import chunk, for_ever, varied_lines
from tests.scripted_model import Answer

LINES = varied_lines()


def test_an_answer_without_end_ends_the_run_and_is_not_paid_for_again(ask: Ask) -> None:
    events: list[Event] = []
    endless = Answer(wire=for_ever(*LINES))
    result = ask([endless], on_event=events.append)
    assert result.state == "failed" and "did not end" in str(result.error)
    assert result.summary == "" and result.usage.output_tokens > 8_000
    assert [event.total for event in events if isinstance(event, TokensUsed)] == [result.usage]
    again = ask([endless])
    assert again.error and "did not end" in again.error and not ask.requests
    assert again.usage.output_tokens == 0


def test_an_answer_without_end_keeps_to_the_tokens_of_the_run(ask: Ask) -> None:
    result = ask([Answer(wire=for_ever(*LINES))], max_tokens=5_000)
    assert result.state == "over_budget" and "max_tokens" in str(result.error)
    assert result.usage.input_tokens + result.usage.output_tokens <= 5_000 + 120


def test_an_answer_that_repeats_itself_is_no_final_answer(ask: Ask) -> None:
    loop = Answer(wire=for_ever(chunk({"content": "The sum is the sum of the sums. "})))
    result = ask([loop] * 9, max_retries=2)
    assert result.state == "failed" and "could not be run" in str(result.error) and result.summary == ""
    assert "repeated itself" in str(result.error)
