"""Widgets that show HTML. ipywidgets is imported when one is made, because it may be missing."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

from autocoder_jupyter.view.markup import EMPTY, Html


class HtmlWidget(Protocol):
    """A widget of ipywidgets that shows its `value`."""

    value: Html

    def close(self) -> None:
        """Close it on the page and in the kernel."""
        ...


def html_widget(value: Html = EMPTY, layout: Mapping[str, str] | None = None) -> HtmlWidget:
    """A widget that shows HTML.

    Args:
        value: what it shows first.
        layout: its CSS properties as ipywidgets names them, such as `min_width`.

    Raises:
        ImportError: ipywidgets is not installed.
    """
    ipywidgets: Any = importlib.import_module("ipywidgets")
    shown: HtmlWidget = ipywidgets.HTML(value, **({} if layout is None else {"layout": dict(layout)}))
    return shown
