"""The live part below the card of code mode: the clock, the answer or the running code, and the tool calls."""

from __future__ import annotations

from autocoder_jupyter.display.phases import waits_for
from autocoder_jupyter.display.window import LINES, WAITING, WindowColumn, frame, line, lines, newest, window
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.markup import Html


def render_html(state: CodeRun) -> Html:
    """The clock and the window, of the same height in every state."""
    is_waiting = state.phase == "waiting"
    return frame(_columns(state), state.progress, state.seconds, state.quiet, is_waiting=is_waiting)


def _columns(state: CodeRun) -> list[WindowColumn]:
    if state.waiting:
        return [WAITING]
    calls = [line(f"{'◐' if call.outcome is None else '·'} {call.words}") for call in state.calls[-LINES:]]
    listed = WindowColumn(f"{counted(len(state.calls), 'tool call')}", lines(calls)) if calls else None
    return [_doing(state), *([listed] if listed else [])]


def _doing(state: CodeRun) -> WindowColumn:
    if state.block is not None:
        return WindowColumn("Running code", window(newest(state.block.code)))
    if state.tail:
        return WindowColumn(
            f"The answer, as the model writes it · {state.written:,} characters", window(newest(state.tail))
        )
    why = waits_for(state.loading, [state.fault] if state.fault else []) or ["Nothing has arrived yet."]
    return WindowColumn("The answer, as the model writes it", lines(line(words, "muted") for words in why))
