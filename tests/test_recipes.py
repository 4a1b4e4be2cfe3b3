"""Each test adds something in the way that `CONTRIBUTING.md` says, and uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.display import card, pane
from autocoder_jupyter.display.state import CardState, StageState
from autocoder_jupyter.engine.events import Event
from autocoder_jupyter.engines.staged.writer import StagedWriter
from autocoder_jupyter.errors import Locked
from autocoder_jupyter.models.locked import LockedModel
from autocoder_jupyter.models.protocol import ModelConfig, Question
from autocoder_jupyter.types.stages import STAGES, Stage
from tests import theatre
from tests.theatre import CODE, PLAN, TESTS, Theatre, fenced

REVIEW = Stage(
    "Review",
    doing="Reviewing the code",
    heading="The review, as the model writes it",
    asks="to review the code",
    is_optional=True,
)


async def test_a_stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    review: Any = "review"
    monkeypatch.setitem(STAGES, review, REVIEW)
    monkeypatch.setitem(theatre.MARKERS, review, "You review one Python module")
    write = StagedWriter.write

    async def write_and_review(writer: StagedWriter) -> None:
        await write(writer)
        setup = writer._state.setup
        messages = ({"role": "user", "content": "You review one Python module."},)
        await setup.stages.run(review, lambda: setup.talk.code(review, messages))

    monkeypatch.setattr(StagedWriter, "write", write_and_review)
    states = [CardState("growth")]

    def shown(event: Event) -> None:
        states.append(states[-1].apply(event, 1.0))

    script = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)], "review": [fenced("x = 1")]}
    played = await Theatre(tmp_path, "local").play(script, hear=shown)
    assert played.report.success, played.error
    during = [state for state in states if state.stage_state(review) == StageState("running")]
    assert during
    for state in during:
        assert "Reviewing the code" in card.render_text(state)
        assert "Review</span>" in card.render_html(state)
        assert "The review, as the model writes it" in pane.render_html(state)
    assert "✓ Review" in card.render_html(states[-1])
    assert [step.name for step in played.report.timeline if step.name == review]
    with pytest.raises(Locked, match="must be asked to review the code"):
        await LockedModel(ModelConfig("openai/x")).ask(Question(stage=review, messages=()))
