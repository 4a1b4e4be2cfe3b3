"""One generation, from request to resolution: chooses the model and the sandbox and passes them to the engine."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from autocoder_jupyter.calls.runtime import runtime_for
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, Cancelled, InvalidRequest, ModelError
from autocoder_jupyter.models.protocol import ConfiguredModel, ModelConfig
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.result.pending import Resolution
from autocoder_jupyter.run.events import EndState, LoadingClient
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker, write_log
from autocoder_jupyter.settings.choices import ENGINES
from autocoder_jupyter.types import PlanQuestion, Report
from autocoder_jupyter.types.evidence import MORE_TIME
from autocoder_jupyter.version import VERSION

if TYPE_CHECKING:
    from autocoder_jupyter.engine.start import Draft
    from autocoder_jupyter.models.silence import SilenceWatch


# OpenTelemetry spans
#
# OpenTelemetry is never imported here, only used if the process has imported it. Spans have names of stages, tests and
# tools, times and numbers of tokens, and nothing of the data.


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


# The generation

Approve = Callable[[tuple[str, ...]], Awaitable[bool]]
Ask = Callable[[tuple[PlanQuestion, ...]], Awaitable[tuple[str, ...] | None]]


async def generate_report(
    request: Request,
    config: AgentConfig,
    *,
    journal: Journal,
    tracker: RunTracker[FunctionRun],
    approve: Approve,
    ask: Ask | None = None,
    draft: Draft | None = None,
    offer: Callable[[Report | None], object] | None = None,
    silence: SilenceWatch | None = None,
) -> Report:
    """Run the engine. A cancel stops the model's answer and kills the sandbox.

    Raises:
        AutocodeError: no generation is possible: no key, no sandbox, data that cannot be sent to it.
    """
    from autocoder_jupyter.models.client import LiteLLMModel
    from autocoder_jupyter.models.offers import offer_others
    from autocoder_jupyter.models.process import RemoteModel
    from autocoder_jupyter.models.replay import LockedModel, ReplayingModel

    _require_lock_can_hold(config)
    write_log(tracker, config.log, lambda: journal.run_id)

    def client(model: ModelConfig) -> ConfiguredModel:
        if config.locked:
            return LockedModel(model)
        here = LiteLLMModel(
            model,
            limited=config.max_cost is not None,
            on_send=lambda request: services.add_sent(request),
            on_loading=lambda begins: tracker(LoadingClient(done=not begins)),
        )
        return RemoteModel(here)

    model = client(reached(config, config.model))
    asks = draft is None or not draft.as_is
    if asks and (config.cache != "auto" or not journal.has_runs):  # before slower steps
        _engine(config).require(reached(config, config.model))
        if isinstance(model, RemoteModel):
            try:
                await model.preflight()
            except ModelError as error:
                await offer_others(error, tracker)
                raise
    from autocoder_jupyter import engine
    from autocoder_jupyter.engine.sandbox_session import without_answers, without_offer

    runtime = await background.call_blocking(
        lambda: runtime_for(config.sandbox, config.image_config, config.sandbox_minimum)
    )
    services = engine.Services(
        model=ReplayingModel(model, journal, config.cache),
        sandbox=runtime.sandbox,
        pool=runtime.pool,
        tier=runtime.tier,
        journal=journal,
        tracker=tracker,
        approve=approve,
        second_model=_second_model(config, lambda second: ReplayingModel(client(second), journal, config.cache)),
        ask=ask or without_answers,
        offer=offer or without_offer,
        silence=silence,
    )
    writers = _engine(config).writers(reached(config, config.model))
    report = await engine.generate(request, config, services, writers, draft)
    export_spans(report)
    return report


async def completed_report(request: Request, config: AgentConfig, root: Path, before: Report) -> Report | None:
    """A report with more evidence, if a run without a model completes what the time has cut; else None."""
    from autocoder_jupyter.engine.sandbox_session import without_answers
    from autocoder_jupyter.engine.start import Draft
    from autocoder_jupyter.versions import Versions

    version = await background.call_blocking(lambda: Versions(root, request.name).get(before.run_id))
    if version is None or before.plan is None or before.solution is None:
        return None
    draft = Draft(before.plan, before.solution.code, before.tests, before.blind_tests, as_is=True, kept=version)
    seconds = MORE_TIME * config.second_opinion_seconds
    config = replace(config, locked=True, cache="auto", second_opinion_seconds=seconds, max_seconds=None, log=None)
    journal, tracker = Journal(root, request.name), RunTracker(FunctionRun(request.name))

    async def approve(packages: tuple[str, ...]) -> bool:
        """What the function needs was agreed to."""
        return {*packages} <= {*before.detected_packages}

    after = await generate_report(
        request, config, journal=journal, tracker=tracker, approve=approve, ask=without_answers, draft=draft
    )
    if not after.success or after.run_id != before.run_id:
        return None
    return before.model_copy(update={"evidence": after.evidence, "second_opinion": after.second_opinion})


def require_names(config: AgentConfig) -> None:
    """Check the name of the model, and its price if the cost is limited, as a generation does. Asks nobody.

    Raises:
        UnknownModel: certainly no provider serves it.
        PriceUnknown: its price is certainly not known.
    """
    from autocoder_jupyter.models import preflight

    if not config.locked:
        model = reached(config, config.model)
        preflight.require_provider(model)
        if config.max_cost is not None:
            preflight.require_price(model)


def _require_lock_can_hold(config: AgentConfig) -> None:
    if config.locked and config.cache != "auto":
        raise InvalidRequest(
            f"A locked run asks no model, so it cannot ignore recorded answers ({config.cache}).",
            hint="Leave out --locked (AUTOCODE_LOCKED), or the option that asks again (--refresh).",
        )


def _engine(config: AgentConfig) -> ModuleType:
    """The package of the engine that `backend` names; see `settings.choices.Engine`."""
    return importlib.import_module(ENGINES[config.backend].package)


def _second_model(config: AgentConfig, made: Callable[[ModelConfig], ConfiguredModel]) -> ConfiguredModel | None:
    """The model of the second opinion; None if it is the first model."""
    return None if config.second_model in (None, config.model) else made(reached(config, config.second_model or ""))


def reached(config: AgentConfig, model: str) -> ModelConfig:
    """A model with its key, address and parameters.

    Those in the settings are for the provider of the first model. Another provider must not get them.
    """
    if model.partition("/")[0] != config.model.partition("/")[0]:
        return ModelConfig(model=model)
    return ModelConfig(
        model=model, api_key=config.api_key, api_base=config.api_base, params=dict(config.litellm_params)
    )


def resolution_of(report: Report, finished: EndState | None) -> Resolution:
    """The resolution of a generation with a report; `finished` is the state in its last event, if any."""
    if report.success:
        return Resolution("ready", report)
    state: EndState = finished if finished in ("cancelled", "over_budget") else "failed"
    return Resolution(state, report)


def resolution_of_error(request: Request, run_id: str, error: Exception) -> Resolution:
    """The resolution of a generation that raised an error: the error, and a report with its text."""
    state: EndState = "failed"
    if isinstance(error, Cancelled):
        state = "cancelled"
    elif isinstance(error, BudgetSpent):
        state = "over_budget"
    text = str(error) if isinstance(error, AutocodeError) else f"{type(error).__name__}: {error}"
    report = Report(
        name=request.name,
        run_id=run_id,
        prompt=request.prompt,
        success=False,
        error=text,
        declared_inputs=request.inputs,
        declared_outputs=request.outputs,
    )
    return Resolution(state, report, error)
