"""Add to the state of a card what no event contains: the answer, a short form of the value, charts, sent requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from autocoder_jupyter.jobs.code_job import CodeJob, CodeModeResult
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.steps import Steps
from autocoder_jupyter.types.records import Glimpse


def completed(state: CodeRun, job: CodeJob, journal_root: Path) -> CodeRun:
    """The last state of a run, with the answer and the requests that were sent."""
    return replace(outcome_of(state, job.result.result), sent=read_sent_messages(journal_root, job))


def outcome_of(state: CodeRun, result: Any) -> CodeRun:
    """A state, with the answer of a result."""
    return replace(state, summary=result.summary, value=_glimpse(_beside_the_answer(result)), charts=result.charts)


def state_of(result: CodeModeResult) -> CodeRun:
    """The last state of the card, rebuilt from a result."""
    done = result.result
    state = CodeRun(
        result.name,
        notice=done.notes,
        phase=done.state,
        reason=done.error or "",
        seconds=done.seconds,
        turn=done.turns,
        blocks=done.blocks,
        calls=done.calls,
        steps=Steps(done.timeline),
        usage=done.usage,
        exchanges=len(done.exchanges),
        replayed_exchanges=sum(exchange.replayed for exchange in done.exchanges),
    )
    return outcome_of(state, done)


def read_sent_messages(journal_root: Path, job: CodeJob) -> str:
    """The complete last request that a run sent to the model, below a line of facts; "" if nothing was sent."""
    from autocoder_jupyter.engine.journal import sent_record

    requests = sent_record(journal_root, job.conversation, job.run_id).get("requests", [])
    if not requests:
        return ""
    last = requests[-1]
    body = last.get("body", {}) if isinstance(last, dict) else {}
    facts = f"requests: {len(requests)} · to: {last.get('to', '')}" if isinstance(last, dict) else ""
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list):
        return f"{facts}\n\n{json.dumps(body, indent=1, ensure_ascii=False)}"
    return "\n\n".join([facts, *(_message(message) for message in messages)])


def _message(message: Any) -> str:
    if not isinstance(message, dict):
        return str(message)
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, indent=1, ensure_ascii=False)
    return f"[{message.get('role', '')}]\n{text}"


def _beside_the_answer(result: CodeModeResult) -> Any:
    """The value without the summary and the charts, which the card shows on their own; None if nothing is left."""
    value = result.value
    if not isinstance(value, Mapping) or str(value.get("summary", "")).strip() != result.summary:
        return value
    return {key: part for key, part in value.items() if key not in ("summary", "charts")} or None


def _glimpse(value: Any) -> Glimpse | None:
    if value is None:
        return None
    from autocoder_jupyter.data.overview import glimpses

    return glimpses({"value": value}, {})[0]
