"""Formats counts, costs and durations for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocoder_jupyter.types import Usage


def amount(count: int) -> str:
    """`950`, `12.3K`, `1.2M`."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}K" if count < 999_950 else f"{count / 1e6:.1f}M"


def counted(count: int, what: str) -> str:
    """`1 attempt`, `3 attempts`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def dollars(cost: float | None) -> str:
    """`$0.031`, or `cost unknown`."""
    if cost is None:
        return "cost unknown"
    return f"${cost:.3f}" if cost < 1 else f"${cost:.2f}"


def clock(seconds: float) -> str:
    """`00:41`, `1:02:03`: for a running clock, because the width stays the same."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def duration(seconds: float) -> str:
    """`0.8 s`, `41 s`, `3 min 20 s`, `1 h 2 min`: for a finished run."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return so_far(round(seconds))


def so_far(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `1 h 2 min`: in whole seconds, for a run that is active."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def spending(usage: Usage, max_cost: float | None) -> str:
    """`12.3K tokens in (8.1K cached), 1.9K out · $0.031 of $0.50`; empty if no tokens were used."""
    if not usage.input_tokens and not usage.output_tokens:
        return ""
    cached = f" ({amount(usage.cached_tokens)} cached)" if usage.cached_tokens else ""
    limit = "" if max_cost is None else f"{' of' if usage.cost is not None else ', limit'} ${max_cost:.2f}"
    words = f"{amount(usage.input_tokens)} tokens in{cached}, {amount(usage.output_tokens)} out"
    return f"{words} · {dollars(usage.cost)}{limit}"
