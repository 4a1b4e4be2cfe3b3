from __future__ import annotations

import re

from autocoder_jupyter.display.timeline import SHOWN, render_html, render_text
from autocoder_jupyter.types import Step

STEPS = (
    Step(kind="stage", name="plan", begin=0.0, seconds=2.0),
    Step(kind="model", name="plan", begin=0.0, seconds=2.0, detail="10 tokens in, 2 out"),
    Step(kind="sandbox", name="environment", begin=0.5, seconds=3.0),
    Step(kind="stage", name="run", begin=4.0, seconds=4.0, attempt=2, ok=False),
    Step(kind="model", name="code", begin=4.0, replayed=True),
    Step(kind="tool", name="Bash", begin=4.5, seconds=0.5, detail="intercepted"),
)


def test_each_step_has_a_line_with_its_bar_and_its_time() -> None:
    lines = render_text("growth", STEPS, 8.0).splitlines()
    assert lines[0] == "growth: 8.0 s; 1 question to the model 2.0 s, environments 3.0 s"
    assert len(lines) == 7
    assert re.search(r"tool +Bash +0\.5 s +intercepted", lines[6])
    assert re.search(r"^0\.0 s +█{10}·{30} +stage +plan +2\.0 s", lines[1])
    assert re.search(r"^4\.0 s +·* *█{20} +stage +run \(attempt 2\) +4\.0 s, failed", lines[4])
    assert "replayed" in lines[5]


def test_the_chart_draws_no_word_of_others_as_markup() -> None:
    html = render_html("growth", (Step(kind="sandbox", name="<img src=x>", detail='"><script>', seconds=1),), 1.0)
    assert "<img" not in html and "<script" not in html and "&lt;img" in html


def test_of_very_many_steps_the_longest_are_drawn() -> None:
    many = [Step(kind="sandbox", name=f"test_{number}", begin=number, seconds=number) for number in range(500)]
    html = render_html("growth", many, 1000.0)
    assert html.count('role="listitem"') == SHOWN and "test_499" in html and "test_3 " not in html


def test_nothing_at_all_is_no_division_by_zero() -> None:
    assert render_text("growth", (Step(kind="stage", name="plan"),), 0.0).startswith("growth: 0.0 s")
