"""The tab *Versions*: the versions of a name, the current one, and the changes between two versions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display.inspector.outputs import error_html
from autocoder_jupyter.display.widgets import html_widget
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.view.markup import Html, element, escape

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import VersionActions


class VersionsPage:
    """The table and the buttons. `widget` is the page.

    Args:
        version_manager: manages the versions of the name.

    Raises:
        ImportError: ipywidgets is not installed.
    """

    def __init__(self, version_manager: VersionActions) -> None:
        ipywidgets: Any = importlib.import_module("ipywidgets")
        self._version_manager = version_manager
        self._table, self._message = (
            html_widget(layout={"flex": "none", "margin": "0", "min_width": "0", "max_width": "100%"}) for _ in range(2)
        )
        self._version, self._other = (
            ipywidgets.Dropdown(
                description=words, tooltip=tooltip, style={"description_width": "initial"}, layout={"width": "11em"}
            )
            for words, tooltip in (
                ("Version", "The version that the buttons act on"),
                ("with", "The version to compare with"),
            )
        )
        buttons = (
            (
                "Restore",
                "Make this version current and bind the name to it",
                lambda: version_manager.restore(self._chosen),
            ),
            ("Pin", "Keep this version current even if the request changes", lambda: version_manager.pin(self._chosen)),
            ("Unpin", "Let the request choose the current version again", version_manager.unpin),
            ("Remove", "Delete it from disk", lambda: version_manager.remove(self._chosen)),
        )
        made = [self._button(ipywidgets, words, tooltip, act) for words, tooltip, act in buttons]
        compare = ipywidgets.Button(
            description="Compare", tooltip="Compare request, assumptions and code", layout={"width": "auto"}
        )
        compare.on_click(lambda _: self._tell(self._difference))
        rows = (
            ipywidgets.HBox((self._version, *made), layout={"flex": "none", "flex_flow": "row wrap"}),
            ipywidgets.HBox((self._other, compare), layout={"flex": "none", "flex_flow": "row wrap"}),
        )
        self.widget = ipywidgets.VBox((self._table, *rows, self._message), layout={"flex": "none"})
        self.refresh()

    def refresh(self) -> None:
        """Read the versions again."""
        numbers = [row[0] for row in self._version_manager.rows()]
        self._table.value = element("div", self._version_manager.table(), look="text wide")
        for dropdown, place in ((self._version, -1), (self._other, -2)):
            chosen = dropdown.value
            dropdown.options = numbers
            if numbers:
                dropdown.value = chosen if chosen in numbers else numbers[max(place, -len(numbers))]

    def _difference(self) -> Html:
        return self._version_manager.difference(str(self._other.value or ""), self._chosen)

    @property
    def _chosen(self) -> str:
        return str(self._version.value or "")

    def _button(self, ipywidgets: Any, words: str, tooltip: str, act: Callable[[], str]) -> Any:
        button = ipywidgets.Button(description=words, tooltip=tooltip, layout={"width": "auto"})
        button.on_click(lambda _: self._tell(lambda: escape(act())))
        return button

    def _tell(self, act: Callable[[], Html]) -> None:
        """Call `act` and show its result or its error."""
        try:
            shown = act()
        except AutocodeError as error:
            shown = error_html(error)
        self._message.value = element("div", shown, look="text spaced within")
        self.refresh()
