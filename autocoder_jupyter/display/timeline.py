"""The steps of a generation and their durations: as text, and as a small chart without scripts."""

from __future__ import annotations

from collections.abc import Sequence

from autocoder_jupyter.types import Step
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted, duration
from autocoder_jupyter.view.markup import Html, element, escape, join

SHOWN = 120
"""Steps that are shown; if there are more, the longest ones."""

_WIDTH = 40
_TONES = {"stage": "busy", "model": "warn", "sandbox": "good", "tool": "quiet"}


def render_text(name: str, steps: Sequence[Step], seconds: float) -> str:
    """One line per step: start, bar, kind, name, duration."""
    shown, whole = _shown(steps), _whole(steps, seconds)
    rows = [
        (f"{step.begin:.1f} s", _bar(step, whole), step.kind, _label(step), _took(step), step.detail) for step in shown
    ]
    return "\n".join([markup.plain(summary(name, steps, seconds)), markup.columns(rows)])


def render_html(name: str, steps: Sequence[Step], seconds: float) -> Html:
    """The same as HTML, with drawn bars."""
    shown, whole = _shown(steps), _whole(steps, seconds)
    drawn = (_drawn(step, whole) for step in shown)
    legend = (join(element("span", escape("■"), look=tone), escape(kind), between=" ") for kind, tone in _TONES.items())
    return markup.frame(
        "autocode-timeline",
        "quiet",
        markup.text_lines([summary(name, steps, seconds)]),
        element("div", join(*legend, between=" ")),
        element("div", *drawn, role="list", aria_label=f"Timeline of {name}"),
    )


def summary(name: str, steps: Sequence[Step], seconds: float) -> str:
    """One sentence: the total time, and the time of the model and of building environments."""
    asked = [step for step in steps if step.kind == "model" and not step.replayed]
    built = sum(step.seconds for step in steps if step.name == "environment" and step.kind == "sandbox")
    model = f"{counted(len(asked), 'question')} to the model {duration(sum(step.seconds for step in asked))}"
    return f"{name}: {duration(seconds)}; {model}, environments {duration(built)}"


def _shown(steps: Sequence[Step]) -> list[Step]:
    longest = sorted(steps, key=lambda step: step.seconds, reverse=True)[:SHOWN]
    return sorted(longest, key=lambda step: step.begin)


def _whole(steps: Sequence[Step], seconds: float) -> float:
    return max([seconds, *(step.begin + step.seconds for step in steps), 0.001])


def _bar(step: Step, whole: float) -> str:
    begin = min(int(_WIDTH * step.begin / whole), _WIDTH - 1)
    length = max(1, min(round(_WIDTH * step.seconds / whole), _WIDTH - begin))
    return (" " * begin + "█" * length).ljust(_WIDTH, "·")


def _drawn(step: Step, whole: float) -> Html:
    left, width = 100 * step.begin / whole, max(100 * step.seconds / whole, 0.3)
    tone = _TONES[step.kind] if step.ok else "bad"
    bar = f"margin-left:{min(left, 99.7):.2f}%;width:{min(width, 100 - left):.2f}%"
    return element(
        "div",
        element("div", escape(f"{_label(step)} {_took(step)}"), look="step-name"),
        element("div", element("div", look=f"step {tone}", style=bar), look="steps"),
        role="listitem",
        look="step-line",
        title=step.detail,
    )


def _label(step: Step) -> str:
    attempt = f" (attempt {step.attempt})" if step.attempt > 1 else ""
    return f"{step.name}{attempt}"


def _took(step: Step) -> str:
    return "replayed" if step.replayed else duration(step.seconds) if step.ok else f"{duration(step.seconds)}, failed"
