"""The live part of the strip: a clock that beats, and a window of a fixed height on what is going on at this moment.

Pure: a state in, HTML out. It is replaced as a whole on every update, so what moves (the beat) finds its place by the
clock, and what grows (an answer, the list of tests) is shown from its end without any scrolling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from autocoder_jupyter.display import markup, parts, tool_calls
from autocoder_jupyter.display.agent_state import AgentState
from autocoder_jupyter.display.amounts import clock, so_far
from autocoder_jupyter.display.state import AGENT_STAGES, Answer, CardState
from autocoder_jupyter.engine.events import Stage
from autocoder_jupyter.types import TestOutcome

LINES = 6
"""How many lines of text the window holds."""

LINE_EM = 1.35

QUIET_SECONDS = 3.0
"""From when on it is said how long nothing happened."""

SHOWN_CHARACTERS = 1200
"""The most that is sent of an answer; more does not fit into the window."""

_STYLE = (
    "<style>@keyframes autocode-beat{0%,100%{opacity:1}50%{opacity:.3}}"
    "@media (prefers-reduced-motion:reduce){.autocode-beat{animation:none !important}}"
    # JupyterLab's cells take no part in keeping what a person reads in its place when something above it grows.
    ".jp-Notebook:has(.autocode-live) .jp-Cell{overflow-anchor:auto !important}</style>"
)

LAST_HTML = f'<div class="autocode-live">{_STYLE}</div>'
"""What is left at the end, for a moment and without any height: nobody's place in the notebook moves when it goes."""

HEADINGS: dict[Stage, str] = {
    "plan": "The plan, as the model writes it",
    "code": "The code, as the model writes it",
    "tests": "The tests, as the model writes them",
    "environment": "The sandbox",
    "verify": "The checks",
    "second": "The second opinion, as the model writes it",
    "diagnose": "The diagnosis, as the model writes it",
    "fix": "The mending, as the model writes it",
}


def render_html(state: CardState) -> str:
    """The clock and the window. The height is the same in every state, and what does not fit is cut."""
    columns = _columns(state)
    cells = "".join(
        f'<div style="min-width:0"><div style="{_HEADING}">{markup.text(column.heading)}</div>{column.content}</div>'
        for column in columns
    )
    grid = f"display:grid;grid-template-columns:repeat({len(columns)},minmax(0,1fr));column-gap:16px"
    return (
        f'<div class="autocode-live" style="{markup.FONT};line-height:{LINE_EM}">{_STYLE}'
        f'<div style="display:flex;align-items:center;column-gap:10px;height:20px">{_bar(state.progress)}'
        f"{_pulse(state)}</div>"
        f'<div style="{grid};border:1px solid {markup.LINE};border-radius:2px;padding:4px 10px 6px">{cells}</div></div>'
    )


@dataclass(frozen=True)
class _Column:
    """One side of the window; `content` is HTML of the window's height."""

    heading: str
    content: str


def _columns(state: CardState) -> list[_Column]:
    if state.questions:
        words = "The plan asks before any code is written. What you leave open it decides by itself."
        return [_Column("It waits for you", _lines((_line(words, markup.MUTED),)))]
    if state.phase == "waiting":
        question = f"May it install {', '.join(state.approval)}?"
        why = "The code imports it, and it is not among the packages that are known here."
        return [_Column("It waits for you", _lines((_line(question), _line(why, markup.MUTED))))]
    running = [stage for stage, how in state.stages if how.status == "running"]
    columns = [_column(state, stage) for stage in running]
    if state.building and "environment" not in running:
        columns.append(_environment(state, "environment"))
    return columns[:2] or [_Column("", _lines(()))]


def _column(state: CardState, stage: Stage) -> _Column:
    if state.agent is not None and stage in AGENT_STAGES:
        return _agent(state, state.agent, stage)
    return _COLUMNS.get(stage, _answer)(state, stage)


def _agent(state: CardState, agent: AgentState, stage: Stage) -> _Column:
    """What an agent says, and below it the call that runs, or the last one that ended."""
    answer = _answer_in(state, stage)
    calls = [_row(tool_calls.short_html(use, runs=True)) for _, use in agent.under_way]
    calls = calls or [_row(tool_calls.short_html(use)) for use in agent.trace.calls[-1:]]
    heading = f"The agent · {tool_calls.turns(agent.trace, finished=False)}"
    if answer.fault or not (calls or agent.said):
        return _Column(heading, _lines((_why_nothing(state, answer), *calls)))
    return _Column(heading, _window(f'{_newest(agent.said)}<div style="flex:none">{"".join(calls)}</div>'))


def _newest(text: str) -> str:
    """The end of a text that grows."""
    said = "\n".join(text[-SHOWN_CHARACTERS:].rstrip().split("\n")[-LINES:])
    # Auto margins take what room is left, so a short text stands at the top; a long one overflows upwards.
    shape = f"{_CODE};white-space:pre-wrap;overflow-wrap:anywhere;margin-bottom:auto"
    return f'<div style="{shape}">{markup.text(said)}</div>'


def _answer(state: CardState, stage: Stage) -> _Column:
    answer = _answer_in(state, stage)
    if not answer.tail:
        return _Column(HEADINGS[stage], _lines((_why_nothing(state, answer),)))
    return _Column(f"{HEADINGS[stage]} · {answer.written:,} characters", _window(_newest(answer.tail)))


def _answer_in(state: CardState, stage: Stage) -> Answer:
    return next((answer for answer in state.answers if answer.stage == stage), Answer(stage))


def _why_nothing(state: CardState, answer: Answer) -> str:
    if answer.fault:
        return _line(f"The service of the model: {answer.fault}.", f"color:{markup.WARN}")
    words = "The model client is being loaded, once in a kernel." if state.loading else "Nothing has arrived yet."
    return _line(words, markup.MUTED)


def _tests(state: CardState, stage: Stage) -> _Column:
    waiting = [_line(f"○ {name}", markup.MUTED) for name in state.pending]
    if waiting and stage == "run":
        waiting[0] = _line(f"◐ {state.pending[0]}", f"color:{markup.BUSY}")
    reported = [_reported(outcome) for outcome in state.outcomes]
    first = max(min(len(reported) - LINES + 2, len(reported) + len(waiting) - LINES), 0)
    told = f"{len(reported)} of {state.test_count} tests reported" if state.test_count else "The tests"
    return _Column(told, _lines([*reported, *waiting][first : first + LINES]))


def _reported(outcome: TestOutcome) -> str:
    good = outcome.outcome == "passed"
    mark = markup.coloured(parts.MARKS[outcome.outcome], markup.GOOD if good else markup.BAD)
    words = outcome.sentence if good else parts.complaint(outcome)
    return _row(f"{mark} {markup.text(outcome.id)} {markup.muted(words)}")


def _verification(state: CardState, stage: Stage) -> _Column:
    return _Column(HEADINGS[stage], _lines((_line("Runs it once more on the sample, then the checks."),)))


def _environment(state: CardState, stage: Stage) -> _Column:
    told = state.building or ("Looks for the packages that the code imports.",)
    return _Column(HEADINGS[stage], _lines(_line(text) for text in told[-LINES:]))


_COLUMNS: dict[Stage, Callable[[CardState, Stage], _Column]] = {
    "environment": _environment,
    "run": _tests,
    "verify": _verification,
}
"""What is shown of a stage; of the others, the model's answer."""


def _bar(progress: float) -> str:
    percent = round(100 * progress)
    shape = f"flex:0 0 140px;height:8px;border-radius:4px;overflow:hidden;background:{markup.LINE}"
    return (
        f'<span role="progressbar" aria-label="progress" aria-valuenow="{percent}" style="{shape}">'
        f'<span style="display:block;height:100%;width:{percent}%;background:{markup.BUSY}"></span></span>'
    )


def _pulse(state: CardState) -> str:
    """The beat and the clock. The beat ends by itself soon after the last update: it tells that the kernel lives."""
    colour = markup.WARN if state.phase == "waiting" else markup.BUSY
    beat = f"color:{colour};animation:autocode-beat 2s ease-in-out 2;animation-delay:-{state.seconds % 2:.2f}s"
    quiet = f"last sign of life {so_far(state.quiet)} ago" if state.quiet >= QUIET_SECONDS else ""
    if state.phase == "waiting":
        quiet = f"waits for you since {so_far(state.quiet)}"
    words = " · ".join(filter(None, (clock(state.seconds), quiet)))
    return (
        f'<span class="autocode-beat" aria-hidden="true" style="{beat}">●</span>'
        f'<span style="{_ONE_LINE};{markup.MUTED};font-variant-numeric:tabular-nums">{markup.text(words)}</span>'
    )


_ONE_LINE = "white-space:pre;overflow:hidden;text-overflow:ellipsis"
_HEADING = f"{_ONE_LINE};height:{LINE_EM}em;{markup.MUTED}"
_CODE = f"{markup.CODE_FONT};line-height:{LINE_EM}"


def _window(content: str) -> str:
    shape = f"{_CODE};height:{LINES * LINE_EM:g}em;overflow:hidden"
    return f'<div style="{shape};display:flex;flex-direction:column;justify-content:flex-end">{content}</div>'


def _lines(lines: Iterable[str]) -> str:
    return _window(f'<div style="margin-bottom:auto">{"".join(lines)}</div>')


def _line(words: str, style: str = "") -> str:
    return _row(markup.text(words), style)


def _row(content: str, style: str = "") -> str:
    return f'<div style="{_CODE};{_ONE_LINE}{f";{style}" if style else ""}">{content}</div>'
