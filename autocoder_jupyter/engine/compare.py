"""How a version differs from its parent version: in its outputs on the sample, and in its tests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.difference_words import changes
from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.engine.kept_tests import same_test
from autocoder_jupyter.engine.sample_run import run_on_sample
from autocoder_jupyter.equality import compare
from autocoder_jupyter.request import Earlier
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import Changes, OutputChange, TestChoice


async def changes_since(
    state: GenerationState,
    earlier: Earlier,
    values: Mapping[str, Any],
    tests: str,
    choices: tuple[TestChoice, ...],
) -> Changes:
    """Run the earlier version on the same sample, and compare.

    Args:
        state: the state of the generation of the new version.
        earlier: its parent version.
        values: the outputs of the new version on the sample; empty if it did not run on it.
        tests: the final tests of the new version.
        choices: which tests of the earlier version were kept or dropped when the new one was planned.
    """
    return Changes(
        plan=earlier.plan,
        code=earlier.code,
        tests=_in_the_end(choices, earlier.tests, tests),
        outputs=await _outputs(state, earlier, values),
    )


def _in_the_end(choices: tuple[TestChoice, ...], before: str, now: str) -> tuple[TestChoice, ...]:
    """The final choices: a test that was to be kept but was re-derived later counts as changed."""
    return tuple(
        choice if choice.fate == "dropped" or same_test(before, now, choice.id) else _rederived(choice)
        for choice in choices
    )


def _rederived(choice: TestChoice) -> TestChoice:
    return choice.model_copy(update={"fate": "changed", "reason": "It did not hold, and was derived anew."})


async def _outputs(
    state: GenerationState, earlier: Earlier, values: Mapping[str, Any]
) -> tuple[OutputChange, ...] | None:
    if not values:
        return None
    now = state.program()
    program = Program(earlier.code, earlier.plan.inputs, earlier.plan.outputs, env_vars=now.env_vars)
    run = await run_on_sample(state.setup.session, program, state.brief.request.samples, state.redaction)
    if run is None or run.error is not None:
        return None
    shows = state.redaction.shows_values
    changed = []
    for name in (name for name in values if name in run.values):
        before, after = run.values[name], values[name]
        found = await call_blocking(partial(compare, before, after))
        lines = changes(found, show_values=shows)
        if lines:
            changed.append(OutputChange(name=name, lines=lines))
    return tuple(changed)
