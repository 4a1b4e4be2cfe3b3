"""The live part of the strip: the current step. A pure function from a state to HTML."""

from __future__ import annotations

from collections.abc import Callable

from autocoder_jupyter.display import parts, tool_calls
from autocoder_jupyter.display.window import LINES, WAITING, WindowColumn, frame, line, lines, newest, row, text, window
from autocoder_jupyter.run.function_run import AgentState, FunctionRun, StreamedAnswer
from autocoder_jupyter.types import TestOutcome
from autocoder_jupyter.types.records import STAGES, Live, StageName
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import pieces_html
from autocoder_jupyter.view.markup import Html, element, escape, join


def render_html(state: FunctionRun) -> Html:
    """The clock and the window. The height is the same in every state; content that does not fit is cut."""
    is_waiting = state.phase == "waiting"
    return frame(_columns(state), state.progress, state.seconds, state.quiet, is_waiting=is_waiting)


def _columns(state: FunctionRun) -> list[WindowColumn]:
    if state.questions:
        words = "The plan has questions before code is written. Without an answer, the plan decides."
        return [WindowColumn("Waiting for you", lines((text(words, "muted"),)))]
    if state.phase == "waiting":
        return [WAITING]
    running = [stage for stage, how in state.stages if how.status == "running"]
    columns = [_column(state, stage) for stage in running]
    if state.building and "environment" not in running:
        columns.append(_environment(state, "environment"))
    return columns[:2] or [WindowColumn("", lines(()))]


def _column(state: FunctionRun, stage: StageName) -> WindowColumn:
    if state.agent is not None and STAGES[stage].has_agent:
        return _agent(state, state.agent, stage)
    return _COLUMNS[STAGES[stage].live](state, stage)


def _agent(state: FunctionRun, agent: AgentState, stage: StageName) -> WindowColumn:
    """The text of an agent, and below it the running tool call, or the last one."""
    answer = _answer_in(state, stage)
    calls = [row(pieces_html(tool_calls.short_line(use, runs=True).pieces)) for _, use in agent.under_way]
    calls = calls or [row(pieces_html(tool_calls.short_line(use).pieces)) for use in agent.trace.calls[-1:]]
    heading = f"The agent · {tool_calls.turns(agent.trace, finished=False)}"
    if answer.fault or not (calls or agent.said):
        return WindowColumn(heading, lines((_no_text_yet(state, answer), *calls)))
    return WindowColumn(heading, window(newest(agent.said), element("div", *calls, look="fixed")))


def _answer(state: FunctionRun, stage: StageName) -> WindowColumn:
    answer = _answer_in(state, stage)
    if not answer.tail:
        return WindowColumn(STAGES[stage].heading, lines((_no_text_yet(state, answer),)))
    return WindowColumn(f"{STAGES[stage].heading} · {answer.written:,} characters", window(newest(answer.tail)))


def _answer_in(state: FunctionRun, stage: StageName) -> StreamedAnswer:
    return next((answer for answer in state.answers if answer.stage == stage), StreamedAnswer(stage))


def _no_text_yet(state: FunctionRun, answer: StreamedAnswer) -> Html:
    if answer.fault:
        return text(f"Model service: {answer.fault}.", "warn")
    words = "The model client is being loaded, once per kernel." if state.loading else "Nothing has arrived yet."
    return line(words, "muted")


def _tests(state: FunctionRun, stage: StageName) -> WindowColumn:
    waiting = [line(f"○ {name}", "muted") for name in state.pending]
    if waiting:
        waiting[0] = line(f"◐ {state.pending[0]}", "busy")
    reported = [_reported(outcome) for outcome in state.outcomes]
    first = max(min(len(reported) - LINES + 2, len(reported) + len(waiting) - LINES), 0)
    heading = f"{len(reported)} of {state.test_count} tests reported" if state.test_count else STAGES[stage].heading
    return WindowColumn(heading, lines([*reported, *waiting][first : first + LINES]))


def _reported(outcome: TestOutcome) -> Html:
    good = outcome.outcome == "passed"
    mark = markup.coloured(parts.MARKS[outcome.outcome], "good" if good else "bad")
    words = outcome.sentence if good else parts.error_line(outcome)
    return row(join(mark, escape(outcome.id), markup.muted(words), between=" "))


def _note(state: FunctionRun, stage: StageName) -> WindowColumn:
    return WindowColumn(STAGES[stage].heading, lines((line(STAGES[stage].note),)))


def _environment(state: FunctionRun, stage: StageName) -> WindowColumn:
    log = state.building or ("Looking for the packages that the code imports.",)
    return WindowColumn(STAGES[stage].heading, lines(line(words) for words in log[-LINES:]))


_COLUMNS: dict[Live, Callable[[FunctionRun, StageName], WindowColumn]] = {
    "answer": _answer,
    "log": _environment,
    "tests": _tests,
    "note": _note,
}
