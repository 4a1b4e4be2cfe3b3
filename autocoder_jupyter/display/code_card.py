"""The card of a run of code mode, and the live part below it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocoder_jupyter.display.actions import ASKED, WORDS, approval_row, model_row, silent_row, silent_status
from autocoder_jupyter.display.charts import chart_block
from autocoder_jupyter.display.folds import ASKS, MARKS, RUNS
from autocoder_jupyter.display.outputs import glimpse_blocks
from autocoder_jupyter.display.parts import (
    PHASE_TONES,
    no_answer,
    reason_of,
    typed,
    untyped,
    waits_for,
)
from autocoder_jupyter.display.strip import LINES, WAITS, Strip, Tab, newest, strip, window
from autocoder_jupyter.display.strip import line as window_line
from autocoder_jupyter.display.strip import lines as window_lines
from autocoder_jupyter.run import code_run
from autocoder_jupyter.run.code_run import CodeRun, ToolCall
from autocoder_jupyter.view.amounts import counted, duration, spending
from autocoder_jupyter.view.as_html import markdown_html
from autocoder_jupyter.view.as_text import item_text
from autocoder_jupyter.view.document import (
    Block,
    Document,
    Drawing,
    Item,
    Items,
    Row,
    Section,
    Source,
    Span,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import clipped

# The card

MOST_CALLS = 20
"""Calls that the card lists; earlier calls are counted."""

MOST_BLOCKS = 10
"""Blocks of code in collapsible parts; earlier blocks are counted."""

MOST_CHARTS = 4

ELSEWHERE = (muted("Too long for a saved notebook."),)
SENT = "What was sent to the model"

_LINE = re.compile(r", line (\d+)(?:, in <module>)?$", re.MULTILINE)
"""The line number in an error message."""


def card(state: CodeRun) -> Document:
    """The document. Text of the model, its code or a tool is cut to a length. Charts and questions do not count for its
    size: a chart has its own limit, and questions are complete, and gone when they are answered.
    """
    reason = reason_of(untyped(state), title(state))
    answer = clipped(state.summary, 3_000)
    above = (
        Row("Note", lines(map(clipped, state.notice)), prefix=""),
        Row("Continues", lines([state.continues])),
    )
    below = (
        silent_row(state),
        Row("Reason", lines(clipped(reason, 1_000).splitlines()), prefix=""),
        Row("", lines(typed(state)), prefix="", kind=WORDS),
        model_row(state),
        Row("Answer", (Drawing(markdown_html(answer), answer),) if answer else (), prefix=""),
        Row("Value", glimpse_blocks(state.value) if state.value else (), prefix=""),
    )
    return Document(
        state.name,
        title(state),
        "warn" if state.asked_at_end else PHASE_TONES[state.phase],
        facts=tuple(_facts(state)),
        is_under_way=not state.finished,
        status=(*_status(state), *silent_status(state)),
        sections=(
            Section("", above, folded=False),
            Section("Questions", _question_rows(state), folded=False, is_counted=False),
            Section("Outcome", below, folded=False),
            Section("Calls", _calls(state, MOST_CALLS), folded=False),
            Section("Charts", (Row("Charts", _charts(state), prefix=""),), folded=False, is_counted=False),
            *_blocks(state),
            Section(SENT, (Source(state.sent),), only="html"),
        ),
        shorter=tuple(_shorter(state)),
    )


def title(state: CodeRun) -> str:
    """The state in a few words."""
    if state.phase != "running":
        return state.headline
    if state.under_way:
        return f"Calling {', '.join(dict.fromkeys(call.tool for call in state.under_way))}"
    if state.block is not None:
        return "Running its code"
    return "Writing" if state.written else "Asking the model" if state.turn else "Starting"


def question_lines(state: CodeRun) -> Iterator[str]:
    """The questions to the user."""
    for number, call in enumerate(state.waiting, 1):
        more = f" ({number} of {len(state.waiting)})" if len(state.waiting) > 1 else ""
        yield f"May it call {call.words}?{more}"


def why_it_asks(state: CodeRun) -> str:
    """Why it asks, and where all of the arguments are; "" without a question."""
    if not state.waiting:
        return ""
    why = "This tool asks before each call."
    if any(call.recorded for call in state.waiting):
        why = "The code, or the conversation before it, comes from a record, perhaps from somebody else."
    whole = f" {state.name}.asked has the complete arguments." if any(call.is_cut for call in state.waiting) else ""
    return why + whole


def call_line(call: ToolCall) -> str:
    """A call in one line of text."""
    return item_text(_call(call))


def _status(state: CodeRun) -> tuple[str, ...]:
    return waits_for(state, [state.fault] if state.fault else [])


def _facts(state: CodeRun) -> Iterator[str]:
    if state.turn:
        yield counted(state.turn, "turn") if state.finished else f"turn {state.turn} of {state.of}"
    if state.calls:
        yield counted(len(state.calls), "call")
    if state.finished:
        yield duration(state.seconds)
    if spent := spending(state.usage, state.max_cost):
        yield spent
    if state.replayed:
        yield "replayed from the journal"
    if repeated := sum(call.replayed for call in state.calls):
        yield f"{counted(repeated, 'call')} not repeated"


def _question_rows(state: CodeRun) -> tuple[Row, ...]:
    is_all_at_the_buttons = len(state.waiting) == 1 and not state.waiting[0].is_cut
    kind = ASKED if is_all_at_the_buttons else ""
    return Row("Questions", _questions(state), prefix="", kind=kind), approval_row(state)


def _questions(state: CodeRun) -> tuple[Block, ...]:
    shown: list[Block] = []
    for words, call in zip(question_lines(state), state.waiting, strict=True):
        shown += [line(Span(words, "warn")), *_arguments(call)]
    return (*shown, *lines([why_it_asks(state)]))


def _arguments(call: ToolCall) -> tuple[Block, ...]:
    """All arguments of a call, if they do not fit into its line, each in a box with a scroll bar."""
    if not call.is_cut:
        return ()
    boxes = [
        block
        for argument in call.asked
        for block in (muted(f"{argument.name}: {argument.facts}"), Source(argument.text, label=argument.name))
    ]
    return (Row("", tuple(boxes), only="html"),)


def _charts(state: CodeRun) -> tuple[Block, ...]:
    shown = [chart_block(chart, number, state.name) for number, chart in enumerate(state.charts[:MOST_CHARTS], 1)]
    more = len(state.charts) - MOST_CHARTS
    return (*shown, *lines([f"and {more} more in {state.name}.charts"] if more > 0 else [], "muted"))


def _calls(state: CodeRun, most: int) -> tuple[Block, ...]:
    shown = state.calls[-most:]
    before = len(state.calls) - len(shown)
    earlier = lines([counted(before, "earlier call")] if before else [], "muted")
    return (Row("Calls", (*earlier, Items(tuple(map(_call, shown)))), prefix=""),) if shown else ()


def _call(call: ToolCall) -> Item:
    sign, tone = ASKS if call.waits else MARKS[call.outcome] if call.outcome else RUNS
    outcome = call.outcome or ("asks" if call.waits else "runs")
    took = "from the journal" if call.replayed else duration(call.seconds) if call.outcome == "ok" else ""
    return Item(
        Span(f"{sign} {outcome}", tone),
        (Span(f"{call.tool}({clipped(call.argument, 200)})", "code"),),
        clipped(call.observed, 160),
        " · ".join(filter(None, ("allowed" if call.allowed else "", took))),
        edge=call.outcome == "denied",
    )


def _blocks(state: CodeRun) -> Iterator[Section]:
    """The blocks of code with their output. In a terminal, those that failed."""
    numbered = list(enumerate(state.blocks, 1))[-MOST_BLOCKS:]
    before = len(state.blocks) - len(numbered)
    earlier = lines([f"{counted(before, 'earlier block')}, see {state.name}.blocks"] if before else [], "muted")
    yield Section("Earlier blocks", earlier, folded=False, only="html")
    if state.finished:
        failed = lines(block_title(number, block) for number, block in enumerate(state.blocks, 1) if not block.ok)
        yield Section("Failed blocks", failed, folded=False, only="text")
    for number, block in numbered:
        output = (muted("Output sent to the model"), Source(block.observed)) if block.observed else ()
        opened = not state.finished and number == len(state.blocks)
        shown = (Source(block.code, python=True), *output)
        yield Section(block_title(number, block), shown, opened=opened, only="html")


def _shorter(state: CodeRun) -> Iterator[tuple[str, tuple[Block, ...]]]:
    """Shorter forms, the least important first. The newest block is the last to be shortened."""
    yield SENT, (muted(f"%autocode show {state.name} --sent shows all of it."),)
    blocks = [(block_title(number, block), block) for number, block in enumerate(state.blocks, 1)][-MOST_BLOCKS:]
    *earlier, newest = blocks or [("", code_run.Block(0, ""))]
    yield from ((title, _brief(block)) for title, block in earlier)
    yield "Calls", _calls(state, MOST_CALLS // 2)
    yield from ((title, ELSEWHERE) for title, _ in earlier)
    yield "Calls", _calls(state, MOST_CALLS // 4)
    yield newest[0], _brief(newest[1])
    yield "Calls", _calls(state, 2)
    yield newest[0], ELSEWHERE


def _brief(block: code_run.Block) -> tuple[Block, ...]:
    return Source(clipped(block.code, 1_500)), Source(clipped(block.observed, 500))


def block_title(number: int, block: code_run.Block) -> str:
    """`✗ Code 2: ZeroDivisionError: division by zero`."""
    mark = {None: "◐", True: "✓", False: "✗"}[block.ok]
    return f"{mark} Code {number}{f': {_what_failed(block.error)}' if block.ok is False else ''}"


def _what_failed(error: str | None) -> str:
    """The last line of an error message, and the line number in the block."""
    error = error or ""
    last = next((words.strip() for words in reversed(error.splitlines()) if words.strip()), "it was stopped")
    where = _LINE.findall(error)
    return clipped(last, 160) + (f" (line {where[-1]})" if where else "")


# The live part
#
# It has the answer or the running code, and the tool calls.


def render(state: CodeRun) -> Strip:
    """What the strip shows of an answer by code."""
    is_waiting = state.phase == "waiting"
    return strip(_tabs(state), _words(state), state.progress, state.seconds, state.quiet, is_waiting=is_waiting)


def _words(state: CodeRun) -> tuple[str, ...]:
    """What happens now, and what it waits for."""
    if state.waiting:
        return (WAITS,)
    silent = state.block is None and not state.tail
    waits = waits_for(state, [state.fault] if state.fault else [])
    return (title(state), *(waits or ((no_answer(state) or "waiting for the model",) if silent else ())))


def _tabs(state: CodeRun) -> list[Tab]:
    if state.waiting:
        return []
    calls = [window_line(f"{'◐' if call.outcome is None else '·'} {call.words}") for call in state.calls[-LINES:]]
    label, written = ("Answer", state.tail) if state.block is None else ("Code", state.block.code)
    return [Tab(label, window(newest(written))), *([Tab("Calls", window_lines(calls))] if calls else [])]
