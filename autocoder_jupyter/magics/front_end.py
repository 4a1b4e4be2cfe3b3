"""What a front end that speaks to us adds to a notebook. Most do not, and then all of this is as it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocoder_jupyter.display.live import View


@dataclass
class FrontEnd:
    """Filled in by the room `lab`, which is above this one.

    Args:
        settings: what the person set in JupyterLab's settings page, checked; by the setting's name.
        views: shown every state of every job, beside the card.
        has_page: whether a page of ours is there, which can render what only it knows.
        say_settings: gives a page the chance to say its settings before a cell reads them; returns soon.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    views: list[View[Any]] = field(default_factory=list)
    has_page: Callable[[], bool] = lambda: False
    say_settings: Callable[[], None] = lambda: None
