"""`%autocode models try [MODEL]`: run the tasks with known answers, with a budget that is asked for first."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.view.as_html import blocks_html
from autocoder_jupyter.view.document import Block, Fold, Source, Table, muted
from autocoder_jupyter.view.markup import element

if TYPE_CHECKING:
    from autocoder_jupyter.evaluate.trial import TaskScore
    from autocoder_jupyter.request import AgentConfig


def try_models(notebook: Notebook, arguments: Arguments) -> None:
    """Run the tasks with a model and show the table.

    Raises:
        InvalidRequest: no budget was given, and there is no user to ask.
        AutocodeError: the model cannot be asked, or there is no sandbox.
    """
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.models import preflight

    model = arguments.positional[1] if len(arguments.positional) > 1 else notebook.settings()["model"]
    config = notebook.settings({"model": model}).agent_config()
    preflight.check(reached(config, model))
    given = arguments.given
    max_cost, max_tokens = given.get("max_cost"), given.get("max_tokens")

    from autocoder_jupyter.evaluate.trial import SHIPPED, SPENT, markdown, read_tasks, try_model

    tasks = read_tasks(SHIPPED)
    if max_cost is None and max_tokens is None:
        max_cost, max_tokens = _asked(notebook, config, len(tasks))

    scores: list[TaskScore] = []

    def hear(score: TaskScore) -> None:
        scores.append(score)
        words = "right" if score.on_sample and score.on_new_rows else f"failed: {score.failed_stage}"
        if score.failed_stage != SPENT:
            print(f"{score.task}: {words}, {score.tokens:,} tokens, {score.seconds:.0f} s", flush=True)

    config = dataclasses.replace(config, max_cost=None, max_tokens=None)
    try:
        try_model(tasks, config, max_cost=max_cost, max_tokens=max_tokens, hear=hear)
    finally:  # also after an interrupt: these are paid for
        if scores:
            page = element("div", blocks_html(_blocks(scores, config)), look="text spaced")
            notebook.show(page, markdown(scores, config))


def _blocks(scores: Sequence[TaskScore], config: AgentConfig) -> tuple[Block, ...]:
    """The tables for the page. Tasks for which the budget was too small are named once, below."""
    from autocoder_jupyter.evaluate.trial import MODEL_HEADINGS, SPENT, TASK_HEADINGS, markdown, model_rows, task_rows

    tried = task_rows([score for score in scores if score.failed_stage != SPENT])
    unfinished = ", ".join(score.task for score in scores if score.failed_stage == SPENT)
    # All tasks are of the model that the first table names.
    tasks = Table(TASK_HEADINGS[1:], tuple(row[1:] for row in tried), _numeric(TASK_HEADINGS[1:]), "tasks")
    return (
        Table(MODEL_HEADINGS, tuple(model_rows(scores)), _numeric(MODEL_HEADINGS), "model"),
        *((tasks,) if tried else ()),
        *((muted(f"The budget was too small for: {unfinished}."),) if unfinished else ()),
        Fold("Markdown, for an issue", (Source(markdown(scores, config)),)),
    )


def _numeric(headings: Sequence[str]) -> tuple[bool, ...]:
    return tuple(heading in ("tokens", "dollars", "seconds") for heading in headings)


def _asked(notebook: Notebook, config: AgentConfig, count: int) -> tuple[float | None, int | None]:
    """The budget that the user types: dollars, or tokens if the price is not known.

    Raises:
        InvalidRequest: there is no user, or no number was typed.
    """
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.evaluate.trial import USUAL_TOKENS
    from autocoder_jupyter.models.library import describe

    line = f"%autocode models try {config.model}"
    if notebook.is_headless:
        raise InvalidRequest(
            "A trial of a model costs money, and there is no user who could set the budget.",
            hint=f"Write it: {line} --max-cost 1 (US dollars), or --max-tokens {count * USUAL_TOKENS}.",
        )
    known = describe(reached(config, config.model))
    price = known["input_price"]
    tokens = count * USUAL_TOKENS
    about = f"about ${tokens * max(price, known['output_price'] or 0) / 1e6:.2f} or less" if price is not None else ""
    usual = f"usually up to {tokens:,} tokens" + (f", {about}" if about else "; its price is not known")
    print(f"{count} small tasks will be sent to {visible(config.model)}: {usual}. The tables are ours, not yours.")
    unit = "tokens" if price is None else "US dollars"
    try:
        answer = input(f"How many {unit} may it spend at most? (Enter alone: send nothing) ").strip().replace(",", "")
    except EOFError:
        answer = ""
    try:
        amount = float(answer)
    except ValueError:
        amount = 0.0
    if not (math.isfinite(amount) and amount > 0):
        raise InvalidRequest("Nothing was sent.", why="No budget was given.", hint=f"{line} --max-cost 1")
    return (None, int(amount)) if price is None else (amount, None)
