"""State that the JupyterLab extension adds to a notebook. Without the extension the defaults stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocoder_jupyter.display.live import View


@dataclass
class FrontEnd:
    """Set by `autocoder_jupyter.lab`, which may import this package; this package does not import it.

    Args:
        settings: the checked values of JupyterLab's settings page, by the setting's name.
        views: they receive every state of every job, in addition to the card.
        has_page: whether a page with the extension is connected, which can render the extension's mime types.
        say_settings: processes settings that a page has sent, before a cell reads them; returns soon.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    views: list[View[Any]] = field(default_factory=list)
    has_page: Callable[[], bool] = lambda: False
    say_settings: Callable[[], None] = lambda: None
