"""The tab *Edit*: code and tests of a version in two text fields, and the result of testing them.

The text of the user is never lost: it is saved as a new version before it is tested.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display.inspector.outputs import error_html
from autocoder_jupyter.display.shown import card_html
from autocoder_jupyter.display.widgets import html_widget
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.untrusted.parsing import visible_block
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Editor
    from autocoder_jupyter.run.function_run import FunctionRun

_STYLE = element(
    "style",
    escape(
        ".autocode-editor .widget-label{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}"
        ".autocode-editor textarea{font-family:var(--jp-code-font-family,monospace);"
        "font-size:var(--jp-code-font-size,13px);white-space:pre;overflow:auto;tab-size:4}"
    ),
)
_HELP = (
    "Your text is tested in the sandbox as it is. No model is asked, and nothing is fixed. The text becomes a new "
    "version; the earlier version is kept."
)

_HIDDEN = (
    "The text contains invisible characters or characters that change its direction. The tabs Function and Evidence "
    "show them as escapes."
)


class EditForm:
    """The fields and the button. `widget` is the form.

    Args:
        editor: reads the sources and tests the edited ones.

    Raises:
        ImportError: ipywidgets is not installed.
    """

    def __init__(self, editor: Editor) -> None:
        ipywidgets: Any = importlib.import_module("ipywidgets")
        self._editor = editor
        self._recorded = editor.sources()
        self._code, self._tests = (
            _field(ipywidgets, text, words) for text, words in zip(self._recorded, ("Code", "Tests"), strict=True)
        )
        self._retest = ipywidgets.Button(
            description="Re-test", button_style="primary", tooltip=_HELP, layout={"width": "auto"}
        )
        self._undo = ipywidgets.Button(
            description="Undo", tooltip="Discard the edits that were not tested", layout={"width": "auto"}
        )
        self._retest.on_click(lambda _: self.retest())
        self._undo.on_click(lambda _: self.undo())
        self._shown = html_widget(layout={"flex": "none"})
        titles = [html_widget(element("div", escape(words), look="text")) for words in ("Code", "Tests")]
        hides = any(visible_block(text) != text for text in self._recorded)
        warning = [markup.coloured(_HIDDEN, "warn")] if hides else []
        help_line = element("div", join(markup.muted(_HELP), *warning, between=" "), look="text spaced")
        intro = html_widget(join(_STYLE, help_line), {"flex": "none"})
        buttons = ipywidgets.HBox((self._retest, self._undo), layout={"flex": "none"})
        rows = (intro, buttons, self._shown, titles[0], self._code, titles[1], self._tests)
        self.widget = ipywidgets.VBox(rows, layout={"flex": "none"})

    def retest(self) -> None:
        """Test the text in the fields."""
        written = self._code.value, self._tests.value
        if written == self._recorded:
            self._say(markup.muted("Nothing was changed yet."))
            return
        try:
            self._editor.retest(*written, self.show)
        except AutocodeError as error:
            self._say(error_html(error))

    def undo(self) -> None:
        """Restore the recorded text."""
        self._code.value, self._tests.value = self._recorded
        self._say(EMPTY)

    def show(self, state: FunctionRun) -> None:
        """Show the card of the test; called from the thread of the card."""
        self._retest.disabled = not state.finished
        self._say(card_html(state))

    def _say(self, shown: Html) -> None:
        self._shown.value = element("div", shown, look="text spaced within") if shown else EMPTY


def _field(ipywidgets: Any, text: str, words: str) -> Any:
    field = ipywidgets.Textarea(
        value=text,
        continuous_update=False,
        description=words,
        rows=min(max(text.count("\n") + 2, 8), 20),
        layout={"width": "98%", "flex": "none"},
    )
    field.add_class("autocode-editor")
    return field
