"""Exports OpenTelemetry spans of a finished generation, if the process uses OpenTelemetry. It does not import it.

Spans have only names of stages, tests and tools, times and numbers of tokens.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from autocoder_jupyter.types import Report
from autocoder_jupyter.version import VERSION


def export_spans(report: Report) -> None:
    """Export the timeline of a report to the configured tracer, if there is one. Never raises."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or report.started is None:
        return
    with suppress(Exception):  # an error of an exporter must not lose the function
        began = report.started.timestamp()
        tracer = trace.get_tracer("autocoder_jupyter", VERSION)
        whole = tracer.start_span(f"autocode {report.name}", start_time=_nanoseconds(began))
        whole.set_attributes(
            {
                "autocode.success": report.success,
                "autocode.version": report.run_id,
                "autocode.attempts": report.attempts,
                "gen_ai.usage.input_tokens": report.usage.input_tokens,
                "gen_ai.usage.output_tokens": report.usage.output_tokens,
            }
        )
        inside = trace.set_span_in_context(whole)
        for step in report.timeline:
            start, end = began + step.begin, began + step.begin + step.seconds
            span = tracer.start_span(f"{step.kind} {step.name}", context=inside, start_time=_nanoseconds(start))
            span.set_attributes({"autocode.attempt": step.attempt, "autocode.replayed": step.replayed})
            if step.kind == "tool":
                span.set_attributes({"gen_ai.tool.name": step.name, "autocode.tool.class": step.detail})
            if not step.ok:
                span.set_status(trace.StatusCode.ERROR)
            span.end(_nanoseconds(end))
        if not report.success:
            whole.set_status(trace.StatusCode.ERROR)
        whole.end(_nanoseconds(began + report.seconds))


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
