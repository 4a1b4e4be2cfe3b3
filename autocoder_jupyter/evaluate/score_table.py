"""The table of a trial: a line for each model, then a line for each task; as cells, and as Markdown to paste."""

from __future__ import annotations

from collections.abc import Sequence

from autocoder_jupyter.evaluate.trial import TaskScore
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.version import VERSION

MODEL_HEADINGS = ("model", "right on the sample", "right on new rows", "tokens", "dollars", "seconds")
TASK_HEADINGS = ("model", "task", "sample", "new rows", "failed stage", "tokens", "dollars", "seconds", "error")


def model_rows(scores: Sequence[TaskScore]) -> list[tuple[str, ...]]:
    """A row for each model."""
    rows: list[tuple[str, ...]] = []
    for model in dict.fromkeys(score.model for score in scores):
        own = [score for score in scores if score.model == model]
        costs = [score.cost for score in own]
        cost = None if None in costs else sum(cost or 0.0 for cost in costs)
        rows.append(
            (
                model,
                f"{sum(score.on_sample for score in own)} of {len(own)}",
                f"{sum(score.on_new_rows for score in own)} of {len(own)}",
                f"{sum(score.tokens for score in own):,}",
                _dollars(cost),
                f"{sum(score.seconds for score in own):.0f}",
            )
        )
    return rows


def task_rows(scores: Sequence[TaskScore]) -> list[tuple[str, ...]]:
    """A row for each task."""
    return [
        (
            score.model,
            score.task,
            "right" if score.on_sample else "–",
            "right" if score.on_new_rows else "–",
            score.failed_stage,
            f"{score.tokens:,}",
            _dollars(score.cost),
            f"{score.seconds:.0f}",
            score.error[:120],
        )
        for score in scores
    ]


def markdown(scores: Sequence[TaskScore], config: AgentConfig) -> str:
    """Both tables, for an issue, below the settings that they can only be compared with."""
    settings = f"effort {config.effort}, share {config.share}, at most {config.max_iterations} attempts"
    parts = (_table(MODEL_HEADINGS, model_rows(scores)), _table(TASK_HEADINGS, task_rows(scores)))
    return f"autocoder-jupyter {VERSION}; {settings}\n\n" + "\n\n".join(parts)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    """Text of others as plain text of Markdown: no cell, tag, link or mention begins in it."""
    shown = visible(text).replace("&", "&amp;").replace("<", "&lt;")
    for sign in "\\`|[]@#*_":
        shown = shown.replace(sign, f"\\{sign}")
    return shown


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:.4f}"
