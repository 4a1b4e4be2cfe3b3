"""The live part of the strip below a card: a line that says what happens, and a pane with the current step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from autocoder_jupyter.display import folds, parts
from autocoder_jupyter.run.function_run import AgentState, FunctionRun, StreamedAnswer
from autocoder_jupyter.types import TestOutcome
from autocoder_jupyter.types.records import STAGES, Live, StageName
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import clock, so_far
from autocoder_jupyter.view.as_html import pieces_html
from autocoder_jupyter.view.markup import Html, element, escape, join

# Line and pane
#
# The pane has a fixed height. Each update replaces all of it, so the animation of the pulse is positioned by the
# clock, and text that grows is shown from its end, without scrolling. Of two tabs the page itself shows the one whose
# button is pressed, so a click works while the kernel is busy.

LINES = 9
"""Lines of text in the pane, whose height is in `styles.css`."""

QUIET_SECONDS = 3.0
"""Seconds without an event after which the line shows the time since the last one."""

SHOWN_CHARACTERS = 1800
"""Characters of an answer that are shown; more do not fit into the pane."""

MOST_TABS = 2

TABS = "autocode-tabs"
"""The class of the buttons of the tabs."""

_SECOND = f".autocode-strip:has(.{TABS} button:nth-child(2).mod-active)"

_STYLE = element(
    "style",
    escape(
        "@keyframes autocode-beat{0%,100%{opacity:1}50%{opacity:.3}}"
        "@media (prefers-reduced-motion:reduce){.autocode-beat{animation:none !important}}"
        f"{_SECOND} .autocode-pane-0,.autocode-strip:not({_SECOND.removeprefix('.autocode-strip')}) .autocode-pane-1"
        "{display:none !important}"
        # JupyterLab turns scroll anchoring off for its cells; on, the page does not jump when something above grows.
        ".jp-Notebook:has(.autocode-live) .jp-Cell{overflow-anchor:auto !important}"
    ),
)

LAST_HTML = element("div", _STYLE, class_="autocode-live")
"""The last content. It has no height, so nothing on the page moves when the strip is removed."""


@dataclass(frozen=True)
class Tab:
    """One tab of the pane; `content` has its height."""

    label: str
    content: Html


@dataclass(frozen=True)
class Strip:
    """What the strip shows.

    Args:
        now: what happens now, and what it waits for, with a clock and the progress.
        pane: the contents of the tabs.
        labels: the labels of the tabs.
    """

    now: Html
    pane: Html
    labels: tuple[str, ...]


def strip(
    tabs: Sequence[Tab], words: Iterable[str], progress: float, seconds: float, quiet: float, *, is_waiting: bool
) -> Strip:
    """The line and the pane. The height of the pane is always the same, and content that does not fit is cut; there is
    none while it waits for an answer and nothing is written.
    """
    beats = _pulse(seconds, quiet, words, is_waiting=is_waiting)
    now = element("div", _bar(progress), *beats, class_="autocode-now", look="text window-head within")
    shown = tabs[:MOST_TABS] or (() if is_waiting else (Tab("", lines(())),))
    several = len(shown) > 1
    panes = (
        element("div", tab.content, class_=f"autocode-pane-{number}" if several else None, look="pane")
        for number, tab in enumerate(shown)
    )
    pane = element("div", _STYLE, *panes, class_="autocode-live", look="text window-lines within")
    return Strip(now, pane, tuple(tab.label for tab in tabs[:MOST_TABS]))


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


def row(content: Html, look: str = "") -> Html:
    """One line."""
    return element("div", content, look=f"code-font window-lines one-line {look}")


def _bar(progress: float) -> Html:
    percent = round(100 * progress)
    done = element("span", look="progress-done", style=f"width:{percent}%")
    return element("span", done, role="progressbar", aria_label="progress", aria_valuenow=str(percent), look="progress")


def _pulse(seconds: float, quiet: float, words: Iterable[str], *, is_waiting: bool) -> tuple[Html, Html]:
    """The pulse, and the clock with the words. The pulse stops soon after the last update, so it shows that the kernel
    is alive.
    """
    beat = f"animation-delay:-{seconds % 2:.2f}s"
    tone = "warn" if is_waiting else "busy"
    if is_waiting:
        told = (f"waiting for you for {so_far(quiet)}", *words)
    else:
        told = (*words, f"last update {so_far(quiet)} ago" if quiet >= QUIET_SECONDS else "")
    text = " · ".join(filter(None, (clock(seconds), *told)))
    return (
        element("span", escape("●"), class_="autocode-beat", aria_hidden="true", look=f"beat {tone}", style=beat),
        element("span", escape(text), look="one-line muted digits", title=text),
    )


WAITS = "the buttons are above"


# The current step of a generation


def render(state: FunctionRun) -> Strip:
    """What the strip shows of a generation."""
    is_waiting = state.phase == "waiting"
    tabs = () if is_waiting else _tabs(state)
    return strip(tabs, _words(state), state.progress, state.seconds, state.quiet, is_waiting=is_waiting)


def _words(state: FunctionRun) -> Iterator[str]:
    """What happens now, and what it waits for."""
    if state.questions:
        yield "without an answer, the plan decides"
        return
    if state.phase == "waiting":
        yield WAITS
        return
    running = _running(state)
    yield from dict.fromkeys(STAGES[stage].doing for stage in running)
    if state.test_count and "run" in running:
        yield f"{len(state.outcomes)} of {state.test_count} tests reported"
    asked = [stage for stage in running if STAGES[stage].live == "answer"]
    silent = asked and not state.agent and not any(_answer_in(state, stage).tail for stage in asked)
    if waits := parts.waits_for(state, state.faults):
        yield from waits
    elif words := parts.no_answer(state) or ("waiting for the model" if silent else ""):
        yield words
    if not state.silent:
        yield from parts.effort(state)  # the longest, which a narrow page cuts


def _running(state: FunctionRun) -> list[StageName]:
    found = [stage for stage, how in state.stages if how.status == "running"]
    if state.building and "environment" not in found:
        found.append("environment")
    return found


def _tabs(state: FunctionRun) -> list[Tab]:
    return [Tab(STAGES[stage].label, _content(state, stage)) for stage in _running(state)]


def _content(state: FunctionRun, stage: StageName) -> Html:
    if state.agent is not None and STAGES[stage].has_agent:
        return _agent(state.agent)
    return _CONTENTS[STAGES[stage].live](state, stage)


def _agent(agent: AgentState) -> Html:
    """The text of an agent, and below it the running tool call, or the last one."""
    calls = [row(pieces_html(folds.short_line(use, runs=True).pieces)) for _, use in agent.under_way]
    calls = calls or [row(pieces_html(folds.short_line(use).pieces)) for use in agent.trace.calls[-1:]]
    return window(newest(agent.text), element("div", *calls, look="fixed"))


def _answer(state: FunctionRun, stage: StageName) -> Html:
    return window(newest(_answer_in(state, stage).tail))


def _answer_in(state: FunctionRun, stage: StageName) -> StreamedAnswer:
    return next((answer for answer in state.answers if answer.stage == stage), StreamedAnswer(stage))


def _tests(state: FunctionRun, stage: StageName) -> Html:
    waiting = [line(f"○ {name}", "muted") for name in state.pending]
    if waiting:
        waiting[0] = line(f"◐ {state.pending[0]}", "busy")
    reported = [_reported(outcome) for outcome in state.outcomes]
    first = max(min(len(reported) - LINES + 2, len(reported) + len(waiting) - LINES), 0)
    return lines([*reported, *waiting][first : first + LINES])


def _reported(outcome: TestOutcome) -> Html:
    good = outcome.outcome == "passed"
    mark = markup.coloured(parts.MARKS[outcome.outcome], "good" if good else "bad")
    words = outcome.sentence if good else parts.error_line(outcome)
    return row(join(mark, escape(outcome.id), markup.muted(words), between=" "))


def _note(state: FunctionRun, stage: StageName) -> Html:
    return lines((line(STAGES[stage].note),))


def _environment(state: FunctionRun, stage: StageName) -> Html:
    log = state.building or ("Looking for the packages that the code imports.",)
    return lines(line(words) for words in log[-LINES:])


_CONTENTS: dict[Live, Callable[[FunctionRun, StageName], Html]] = {
    "answer": _answer,
    "log": _environment,
    "tests": _tests,
    "note": _note,
}
