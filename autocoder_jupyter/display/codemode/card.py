"""The card of a run of code mode: one block of HTML, and the same as text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocoder_jupyter.display.card import COLOURS, ENDS
from autocoder_jupyter.display.codemode.charts import chart_html, chart_line
from autocoder_jupyter.display.codemode.state import BlockState, CallState, CodeState
from autocoder_jupyter.display.fitting import fit
from autocoder_jupyter.display.sample_outputs import glimpse_html, glimpse_lines
from autocoder_jupyter.display.tool_calls import call_row
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted, duration, spending
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

MAX_CHARACTERS = 19_100
"""Characters of HTML without charts; with its outline a card stays under 20 KB in a saved notebook."""

MOST_CALLS = 20
"""Calls that the card lists; earlier calls are counted."""

CALLS_CHARACTERS = 7_000
"""Characters of HTML for the calls; if they need more, fewer are listed."""

MOST_BLOCKS = 10
"""Blocks of code in collapsible parts; earlier blocks are counted."""

MOST_CHARTS = 4

_LINE = re.compile(r", line (\d+)(?:, in <module>)?$", re.MULTILINE)
"""The line number in an error message."""

_MARKS = {
    "ok": ("✓", markup.GOOD),
    "failed": ("✗", markup.BAD),
    "denied": ("⊘", markup.WARN),
    "cancelled": ("–", markup.QUIET),
    "uncertain": ("?", markup.WARN),
}


def render_html(state: CodeState) -> Html:
    """The card. Text of the model, its code or a tool is cut to a length and escaped."""
    questions = markup.row("Questions", _approval_html(state))
    view = (
        markup.head(state.name, title(state), COLOURS[state.phase], _facts(state)),
        markup.row("Note", markup.text_lines(state.notice)),
        markup.row("Continues", escape(state.continues)),
        questions,
        markup.row("Status", escape("; ".join(waits_for(state)))),
        markup.row("Reason", markup.paragraphs(_reason(state), 1_000)),
        markup.row("Answer", _prose(markup.clipped(state.summary, 3_000))),
        markup.row("Value", glimpse_html(state.value) if state.value else EMPTY),
        markup.row("Calls", _calls_html(state)),
    )
    # The questions are complete, and are gone when they are answered.
    folded = _folds(state, MAX_CHARACTERS - sum(map(len, view)) + len(questions))
    charts = markup.row("Charts", _charts_html(state))
    below = element("div", folded, style="margin-top:8px")
    return markup.frame("autocode-card", COLOURS[state.phase], *view, charts, below)


def render_text(state: CodeState) -> str:
    """The card in a few lines of text."""
    lines = [" · ".join((f"● {state.name}  {title(state)}", *_facts(state)))]
    lines.extend(f"  {line}" for line in (*waits_for(state), *state.notice))
    lines.extend([f"  continues {state.continues}"] if state.continues else [])
    lines.extend([f"  {_reason(state)}"] if _reason(state) else [])
    lines.extend(f"  {line}" for line in question_lines(state))
    lines.extend(f"  {call_line(call)}" for call in state.calls[-MOST_CALLS:])
    if state.finished:
        numbered = enumerate(state.blocks, 1)
        lines.extend(f"  {block_title(number, block)}" for number, block in numbered if not block.ok)
        lines.extend(f"  {line}" for line in (glimpse_lines(state.value) if state.value else ()))
        charts = enumerate(state.charts[:MOST_CHARTS], 1)
        lines.extend(f"  {chart_line(chart, number, state.name)}" for number, chart in charts)
        lines.extend([f"  {markup.clipped(state.summary, 4_000)}"] if state.summary else [])
    return markup.lines(lines)


def status_line(state: CodeState) -> str:
    """The current step in one line of text."""
    return markup.line(f"{state.name}  {title(state)}", *waits_for(state), *_facts(state))


def title(state: CodeState) -> str:
    """The state in a few words."""
    if state.phase == "ready":
        return "Ready"
    if state.phase != "running":
        return ENDS[state.phase]
    if state.under_way:
        return f"Calling {', '.join(dict.fromkeys(call.tool for call in state.under_way))}"
    if state.block is not None:
        return "Running its code"
    return "Writing" if state.written else "Asking the model" if state.turn else "Starting"


def waits_for(state: CodeState) -> list[str]:
    """What it waits for: the import of the model client, or the model's service."""
    loading = ["Loading the model client; this takes some seconds, once per kernel"] if state.loading else []
    return [*loading, *([f"{state.fault[:1].upper()}{state.fault[1:]}"] if state.fault else [])]


def question_lines(state: CodeState) -> Iterator[str]:
    """The questions to the user, and how to answer."""
    for number, call in enumerate(state.waiting, 1):
        more = f" ({number} of {len(state.waiting)})" if len(state.waiting) > 1 else ""
        yield f"May it call {call.words}?{more}"
    if state.waiting:
        recorded = any(call.recorded for call in state.waiting)
        why = (
            "The code, or the conversation before it, comes from a record, perhaps from somebody else."
            if recorded
            else "This tool asks before each call."
        )
        whole = f" {state.name}.asked has the complete arguments." if any(call.is_cut for call in state.waiting) else ""
        yield (
            f"{why} Allow it with %autocode approve {state.name}, refuse it with %autocode decline {state.name}.{whole}"
        )


def _facts(state: CodeState) -> list[str]:
    repeated = sum(call.replayed for call in state.calls)
    facts = (
        (f"turn {state.turn} of {state.of}" if not state.finished else counted(state.turn, "turn"))
        if state.turn
        else "",
        counted(len(state.calls), "call") if state.calls else "",
        duration(state.seconds) if state.finished else "",
        spending(state.usage, state.max_cost),
        "replayed from the journal" if state.replayed else "",
        f"{counted(repeated, 'call')} not repeated" if repeated else "",
    )
    return [fact for fact in facts if fact]


def _reason(state: CodeState) -> str:
    """The reason; "" if it only repeats the title."""
    return "" if state.reason.strip(".").casefold() == title(state).casefold() else state.reason


def _approval_html(state: CodeState) -> Html:
    *questions, how = list(question_lines(state)) or [""]
    asked = zip(questions, state.waiting, strict=True)
    shown = (join(element("div", markup.coloured(line, markup.WARN)), _arguments_html(call)) for line, call in asked)
    return join(*shown, escape(how))


def _arguments_html(call: CallState) -> Html:
    """All arguments of a call, if they do not fit into its line, each in a box with a scroll bar."""
    if not call.is_cut:
        return EMPTY
    return join(
        *(
            join(
                markup.muted_line(f"{argument.name}: {argument.facts}"),
                element(
                    "div",
                    markup.code(argument.text),
                    style="max-height:16em;overflow:auto",
                    tabindex="0",
                    role="region",
                    aria_label=argument.name,
                ),
            )
            for argument in call.asked
        )
    )


def _prose(words: str) -> Html:
    return element("div", escape(words), style="white-space:pre-wrap") if words else EMPTY


def _charts_html(state: CodeState) -> Html:
    shown = [chart_html(chart, number, state.name) for number, chart in enumerate(state.charts[:MOST_CHARTS], 1)]
    more = len(state.charts) - MOST_CHARTS
    return join(*shown, *([markup.muted(f"and {more} more in {state.name}.charts")] if more > 0 else []))


def _calls_html(state: CodeState) -> Html:
    listed = (_listed_calls(state, most) for most in (MOST_CALLS, MOST_CALLS // 2, MOST_CALLS // 4))
    return next((html for html in listed if len(html) <= CALLS_CHARACTERS), _listed_calls(state, 2))


def _listed_calls(state: CodeState, most: int) -> Html:
    shown = state.calls[-most:]
    before = len(state.calls) - len(shown)
    earlier = markup.muted_line(f"{counted(before, 'earlier call')}") if before else EMPTY
    return join(earlier, element("div", *map(_call_html, shown), role="list")) if shown else EMPTY


def _call_html(call: CallState) -> Html:
    sign, colour = _mark(call)
    about = " · ".join(filter(None, (markup.clipped(call.observed, 160), _took(call))))
    argument = markup.inline_code(markup.clipped(call.argument, 200))
    content = join(element("strong", escape(call.tool)), escape("("), argument, escape(") "), markup.muted(about))
    edge = colour if call.outcome == "denied" else ""
    return call_row(markup.coloured(f"{sign} {_outcome(call)}", colour), content, edge)


def call_line(call: CallState) -> str:
    """A call in one line of text."""
    parts = (f"{_mark(call)[0]} {_outcome(call)}", markup.clipped(call.words, 120), markup.clipped(call.observed, 120))
    return markup.line("  ".join(filter(None, (*parts, _took(call)))))


def _mark(call: CallState) -> tuple[str, str]:
    if call.waits:
        return "?", markup.WARN
    return _MARKS[call.outcome] if call.outcome else ("◐", markup.BUSY)


def _outcome(call: CallState) -> str:
    return call.outcome or ("asks" if call.waits else "runs")


def _took(call: CallState) -> str:
    allowed = "allowed" if call.allowed else ""
    took = "from the journal" if call.replayed else duration(call.seconds) if call.outcome == "ok" else ""
    return " · ".join(filter(None, (allowed, took)))


def _folds(state: CodeState, room: int) -> Html:
    """The blocks of code with their output, and the text sent. The newest block is the last to be shortened."""
    numbered = list(enumerate(state.blocks, 1))[-MOST_BLOCKS:]
    blocks = {block_title(number, block): block for number, block in numbered}
    newest = list(blocks)[-1:]
    full = {name: _block(block) for name, block in blocks.items()} | {_SENT: markup.code(state.sent)}
    elsewhere = markup.muted_line("Too long for a saved notebook.")
    preview = markup.muted_line(f"%autocode preview {state.name} shows all of it.")
    earlier = [name for name in blocks if name not in newest]
    shorter = (
        (_SENT, preview),
        *((name, _short_block(blocks[name])) for name in earlier),
        *((name, elsewhere) for name in earlier),
        *((name, _short_block(blocks[name])) for name in newest),
        *((name, elsewhere) for name in newest),
    )
    parts = fit(full, shorter, room).items()
    before = len(state.blocks) - len(numbered)
    earlier_blocks = (
        markup.muted_line(f"{counted(before, 'earlier block')}, see {state.name}.blocks") if before else EMPTY
    )
    folded = (markup.details(name, content, opened=not state.finished and name in newest) for name, content in parts)
    return join(earlier_blocks, *folded)


_SENT = "What was sent to the model"


def _block(block: BlockState) -> Html:
    output = (markup.muted_line("Output sent to the model"), markup.code(block.observed)) if block.observed else ()
    return join(markup.python(block.code), *output)


def _short_block(block: BlockState) -> Html:
    return join(markup.code(markup.clipped(block.code, 1_500)), markup.code(markup.clipped(block.observed, 500)))


def block_title(number: int, block: BlockState) -> str:
    """`✗ Code 2: ZeroDivisionError: division by zero`."""
    mark = {None: "◐", True: "✓", False: "✗"}[block.ok]
    return f"{mark} Code {number}{'' if block.ok is not False else f': {_what_failed(block.error)}'}"


def _what_failed(error: str) -> str:
    """The last line of an error message, and the line number in the block."""
    last = next((line.strip() for line in reversed(error.splitlines()) if line.strip()), "it was stopped")
    where = _LINE.findall(error)
    return markup.clipped(last, 160) + (f" (line {where[-1]})" if where else "")
