"""The live part of the strip below a card: a clock, and a window with the current step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from autocoder_jupyter.display import folds, parts
from autocoder_jupyter.run.function_run import AgentState, FunctionRun, StreamedAnswer
from autocoder_jupyter.types import TestOutcome
from autocoder_jupyter.types.records import STAGES, Live, StageName
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import clock, so_far
from autocoder_jupyter.view.as_html import pieces_html
from autocoder_jupyter.view.markup import Html, element, escape, join

# Clock and window
#
# The window has a fixed height. Each update replaces all of it, so the animation of the pulse is positioned by the
# clock, and text that grows is shown from its end, without scrolling.

LINES = 6
"""Lines of text in the window, whose height is in `styles.css`."""

QUIET_SECONDS = 3.0
"""Seconds without an event after which the strip shows the time since the last one."""

SHOWN_CHARACTERS = 1200
"""Characters of an answer that are shown; more do not fit into the window."""

_STYLE = element(
    "style",
    escape(
        "@keyframes autocode-beat{0%,100%{opacity:1}50%{opacity:.3}}"
        "@media (prefers-reduced-motion:reduce){.autocode-beat{animation:none !important}}"
        # JupyterLab turns scroll anchoring off for its cells; on, the page does not jump when something above grows.
        ".jp-Notebook:has(.autocode-live) .jp-Cell{overflow-anchor:auto !important}"
    ),
)

LAST_HTML = element("div", _STYLE, class_="autocode-live")
"""The last content. It has no height, so nothing on the page moves when the strip is removed."""


@dataclass(frozen=True)
class WindowColumn:
    """One side of the window; `content` has the window's height."""

    heading: str
    content: Html


def frame(columns: Sequence[WindowColumn], progress: float, seconds: float, quiet: float, *, is_waiting: bool) -> Html:
    """The clock and the window. The height is the same in every state; content that does not fit is cut."""
    cells = (
        element(
            "div",
            element("div", escape(column.heading), look="one-line window-heading muted"),
            column.content,
            look="window-column",
        )
        for column in columns
    )
    grid = f"grid-template-columns:repeat({len(columns)},minmax(0,1fr))"
    return element(
        "div",
        _STYLE,
        element(
            "div",
            _bar(progress),
            *_pulse(seconds, quiet, is_waiting=is_waiting),
            look="window-head",
        ),
        element("div", *cells, look="window-columns", style=grid),
        class_="autocode-live",
        look="text window-lines within",
    )


def newest(text: str) -> Html:
    """The end of a text that grows."""
    shown = "\n".join(text[-SHOWN_CHARACTERS:].rstrip().split("\n")[-LINES:])
    # Auto margins take what room is left, so a short text stands at the top; a long one overflows upwards.
    return element("div", escape(shown), look="code-font window-lines window-text")


def window(*content: Html) -> Html:
    """The window; content that does not fit is cut at the top."""
    return element("div", *content, look="code-font window-lines window")


def lines(entries: Iterable[Html]) -> Html:
    """The window with lines in it, from the top."""
    return window(element("div", *entries, look="from-top"))


def line(words: str, look: str = "") -> Html:
    """One line of text."""
    return row(escape(words), look)


def text(words: str, look: str = "") -> Html:
    """A text to read, which may take several lines."""
    return element("div", escape(words), look=f"code-font window-lines kept-lines {look}")


def row(content: Html, look: str = "") -> Html:
    """One line."""
    return element("div", content, look=f"code-font window-lines one-line {look}")


def _bar(progress: float) -> Html:
    percent = round(100 * progress)
    done = element("span", look="progress-done", style=f"width:{percent}%")
    return element("span", done, role="progressbar", aria_label="progress", aria_valuenow=str(percent), look="progress")


def _pulse(seconds: float, quiet: float, *, is_waiting: bool) -> tuple[Html, Html]:
    """The pulse and the clock. The pulse stops soon after the last update, so it shows that the kernel is alive."""
    beat = f"animation-delay:-{seconds % 2:.2f}s"
    tone = "warn" if is_waiting else "busy"
    text = f"last update {so_far(quiet)} ago" if quiet >= QUIET_SECONDS else ""
    if is_waiting:
        text = f"waiting for {so_far(quiet)}"
    words = " · ".join(filter(None, (clock(seconds), text)))
    return (
        element("span", escape("●"), class_="autocode-beat", aria_hidden="true", look=f"beat {tone}", style=beat),
        element("span", escape(words), look="one-line muted digits"),
    )


WAITING = WindowColumn("Waiting for you", lines((text("The question above has buttons.", "muted"),)))


# The current step of a generation


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
    calls = [row(pieces_html(folds.short_line(use, runs=True).pieces)) for _, use in agent.under_way]
    calls = calls or [row(pieces_html(folds.short_line(use).pieces)) for use in agent.trace.calls[-1:]]
    heading = f"The agent · {folds.turns(agent.trace, finished=False)}"
    if answer.fault or not (calls or agent.text):
        return WindowColumn(heading, lines((_no_text_yet(state, answer), *calls)))
    return WindowColumn(heading, window(newest(agent.text), element("div", *calls, look="fixed")))


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
