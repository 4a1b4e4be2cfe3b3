"""The inspector as a widget: the sections in tabs, each created when it is first opened.

It uses only widgets of ipywidgets, so it works wherever they work. A tab is as high as its content, up to a limit.
Every result has one inspector. When the result is superseded, or too many inspectors are open, it is frozen: the
static form replaces the tabs, and all but two of its widgets are closed.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.display.folds import CLASSES
from autocoder_jupyter.display.inspector.conversation import (
    CONVERSATION_LIVE,
    TRACE_LIVE,
    conversation_section,
    trace_section,
)
from autocoder_jupyter.display.inspector.data import data_tab, profiles
from autocoder_jupyter.display.inspector.document import (
    environment_section,
    function_section,
    head,
    record_of,
    render_html,
)
from autocoder_jupyter.display.inspector.evidence import (
    attempts_section,
    changes_blocks,
    evidence_section,
    opinion_section,
)
from autocoder_jupyter.display.inspector.form import RunForm
from autocoder_jupyter.display.live import card_html
from autocoder_jupyter.display.outputs import error_html
from autocoder_jupyter.display.verified import OFFER, can_be_checked
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.untrusted.visible import visible_block
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import blocks_html, head_html
from autocoder_jupyter.view.document import Block, Row, Tone
from autocoder_jupyter.view.markup import EMPTY, Html, HtmlWidget, element, escape, html_widget, join, style

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Caller, Editor, Subject, VersionActions
    from autocoder_jupyter.run.function_run import FunctionRun


# The tab *Edit*
#
# The text of the user is never lost: it is saved as a new version before it is tested.

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
    """Code and tests of a version in two text fields, and the result of testing them. `widget` is the form.

    Args:
        editor: reads the sources and tests the edited ones.
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
            self._show(markup.muted("Nothing was changed yet."))
            return
        try:
            self._editor.retest(*written, self.show)
        except AutocodeError as error:
            self._show(error_html(error))

    def undo(self) -> None:
        """Restore the recorded text."""
        self._code.value, self._tests.value = self._recorded
        self._show(EMPTY)

    def show(self, state: FunctionRun) -> None:
        """Show the card of the test; called from the thread of the card."""
        self._retest.disabled = not state.finished
        self._show(card_html(state))

    def _show(self, shown: Html) -> None:
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


# The tab *Versions*


class VersionsPage:
    """The versions of a name, with buttons to manage and compare them. `widget` is the page."""

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
        compare.on_click(lambda _: self._show_result(self._difference))
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
        button.on_click(lambda _: self._show_result(lambda: escape(act())))
        return button

    def _show_result(self, act: Callable[[], Html]) -> None:
        """Call `act` and show its result or its error."""
        try:
            shown = act()
        except AutocodeError as error:
            shown = error_html(error)
        self._message.value = element("div", shown, look="text spaced within")
        self.refresh()


# The tabs

HEIGHT = "max(34em, 65vh)"
"""Largest height of a page; longer content scrolls."""


class Inspector:
    """One result in tabs. `widget` is the inspector, `subject` the result.

    Args:
        caller: calls the function; None if it cannot be called.
        editor: tests edited code; None if there is nothing to edit.
        version_manager: manages the versions of the name; None if there are none.

    Raises:
        ImportError: ipywidgets is not installed.
    """

    def __init__(
        self,
        subject: Subject,
        caller: Caller | None,
        editor: Editor | None = None,
        version_manager: VersionActions | None = None,
    ) -> None:
        self._ipywidgets: Any = importlib.import_module("ipywidgets")
        self.subject = subject
        self._caller = caller
        self._form: RunForm | None = None
        self._frozen = False
        sections: dict[str, Callable[[], tuple[Any, ...]]] = {
            "Function": self._function,
            "Evidence": lambda: (self._blocks(evidence_section(subject.report, in_full=True)),),
            **self._opinion(),
            **({"Trace": self._trace} if subject.report.trace is not None else {}),
            "Attempts": self._attempts,
            "Data": self._data,
            "Conversation": lambda: (self._blocks(conversation_section(subject.report, CONVERSATION_LIVE)),),
            "Environment": lambda: (self._blocks(environment_section(subject.report, subject.options)),),
        }
        if caller is not None:
            sections["Run"] = self._run
        if editor is not None:
            sections["Edit"] = lambda: (EditForm(editor).widget,)
        if version_manager is not None:
            sections["Versions"] = lambda: (VersionsPage(version_manager).widget,)
        self._makers = list(sections.values())
        pages = [self._ipywidgets.VBox(layout={"max_height": HEIGHT, "overflow": "auto"}) for _ in sections]
        self._tabs = self._ipywidgets.Tab(pages, titles=tuple(sections), selected_index=0)
        self._tabs.observe(lambda change: self._open(change["new"]), names="selected_index")
        first = head(subject)
        self.widget = self._ipywidgets.VBox((self._html(head_html(first)), self._tabs), layout=_outline(first.tone))
        self.widget.add_class("autocode-inspector")  # for our lab extension's style
        self._open(0)

    @property
    def model_id(self) -> str:
        """The model id of the widget."""
        return str(self.widget.model_id)

    @property
    def form(self) -> RunForm | None:
        """The form; None until its tab is opened."""
        return self._form

    def freeze(self) -> None:
        """Replace the tabs by the static form and close all other widgets. A running call is cancelled."""
        if self._frozen:
            return
        self._frozen = True
        if self._form is not None:
            self._form.cancel()
        children, layout = self.widget.children, self.widget.layout
        self.widget.layout = {}
        self.widget.children = (html_widget(render_html(self.subject)),)
        for child in (*children, layout):
            _close(child)

    def _open(self, number: int | None) -> None:
        """Create a page when it is first opened; the form reads the variables each time."""
        if number is None or self._frozen:
            return
        page = self._tabs.children[number]
        if not page.children:
            page.children = self._makers[number]()
        elif self._form is not None and self._form.widget in page.children:
            self._form.refresh()

    def _html(self, content: Html) -> HtmlWidget:
        return html_widget(_framed(content), {"margin": "0", "min_width": "0", "flex": "none"})

    def _blocks(self, blocks: Iterable[Block]) -> HtmlWidget:
        return self._html(blocks_html(blocks))

    def _function(self) -> tuple[Any, ...]:
        """The rows, then the code; between them the button that asks how the function may be split."""
        if self._caller is None:
            return (self._blocks(function_section(self.subject)),)
        rows, caller = self._html(EMPTY), self._caller
        others = self._blocks(block for block in function_section(self.subject) if not isinstance(block, Row))
        check = self._ipywidgets.Button(
            description=OFFER,
            tooltip="Compare the answer for the whole sample with those for its pieces; no model is asked",
            layout={"width": "auto", "flex": "none", "align_self": "flex-start", "margin": "0 0 8px 12px"},
        )
        check.on_click(lambda _: caller.check_split())

        def show() -> None:
            if self._frozen:
                return
            blocks = function_section(self.subject)
            rows.value = _framed(blocks_html(block for block in blocks if isinstance(block, Row)))
            check.layout.display = "" if can_be_checked(record_of(self.subject)) else "none"

        show()
        caller.on_split(show)
        return rows, check, others

    def _opinion(self) -> dict[str, Callable[[], tuple[Any, ...]]]:
        """The page of the second opinion, if there is one."""
        report = self.subject.report
        if report.second_opinion is None:
            return {}
        return {"Second opinion": lambda: (self._blocks(opinion_section(report)),)}

    def _trace(self) -> tuple[Any, ...]:
        """The calls of an agent, with a menu of classes if there are several."""
        report = self.subject.report
        calls = report.trace.calls if report.trace else ()
        listed = self._blocks(trace_section(report, TRACE_LIVE))
        kinds = [kind for kind in CLASSES if any(call.kind == kind for call in calls)]
        if len(kinds) < 2:
            return (listed,)
        counts = (f"{kind} ({sum(call.kind == kind for call in calls)})" for kind in kinds)
        choice = self._ipywidgets.Dropdown(
            options=(f"all {len(calls)} calls", *counts), index=0, description="Show",
            tooltip="Calls of one class only",
            style={"description_width": "initial"}, layout={"width": "16em", "flex": "none"},
        )  # fmt: skip

        def show(_: object = None) -> None:
            kind = kinds[choice.index - 1] if choice.index else None
            listed.value = _framed(blocks_html(trace_section(report, TRACE_LIVE, kind)))

        choice.observe(show, names="index")
        return choice, listed

    def _attempts(self) -> tuple[Any, ...]:
        report = self.subject.report
        listed = self._blocks(attempts_section(report))
        if len(report.history) < 2:
            return (listed,)
        options = [(f"attempt {attempt.number}", place) for place, attempt in enumerate(report.history)]
        before, after = (
            self._ipywidgets.Dropdown(
                options=options, value=value, description=words, tooltip=tooltip,
                style={"description_width": "initial"}, layout={"width": "14em"},
            )
            for value, words, tooltip in (
                (len(options) - 2, "Compare", "The attempt on the left"), (len(options) - 1, "with", "On the right"),
            )
        )  # fmt: skip
        changes = self._html(EMPTY)

        def compare(_: object = None) -> None:
            chosen = report.history[before.value], report.history[after.value]
            changes.value = _framed(blocks_html(changes_blocks(*chosen, saved=False)))

        before.observe(compare, names="value")
        after.observe(compare, names="value")
        compare()
        choice = self._ipywidgets.HBox(
            (before, after), layout={"margin": "8px 0 0", "flex_flow": "row wrap", "flex": "none"}
        )
        return listed, choice, changes

    def _data(self) -> tuple[Any, ...]:
        waiting = self._html(markup.muted("Reading the samples …"))
        background.submit(self._look_at_samples(waiting))
        return self._blocks(data_tab(self.subject)), waiting

    async def _look_at_samples(self, place: HtmlWidget) -> None:
        try:
            overviews = await background.call_blocking(lambda: self.subject.overviews(None))
            described = profiles(overviews, counts=True)
        except Exception as error:  # untrusted data may raise any error; the rest of the page stays
            described = markup.muted(f"The samples cannot be described: {type(error).__name__}: {error}")
        place.value = _framed(described)

    def _run(self) -> tuple[Any, ...]:
        assert self._caller is not None
        self._form = RunForm(self.subject.report, self._caller)
        return (self._form.widget,)


def _framed(content: Html) -> Html:
    return element("div", content, look="text spaced within")


def _outline(tone: Tone) -> dict[str, str]:
    """The outline of a card, by the names of ipywidgets; its left edge has the colour of the tone.

    The box is not inside an element of the class `text`, so the colours that this class names are written out.
    """
    declarations = dict(entry.split(":", 1) for entry in style(f"text card edge-{tone}").split(";"))
    line, colour = (
        re.sub(r"var\((--a-\w+),\w+\)", lambda name: declarations[name[1]], declarations[part])
        for part in ("border", "border-left-color")
    )
    sides = {f"border_{side}": line for side in ("top", "right", "bottom")}
    kept = {name.replace("-", "_"): declarations[name] for name in ("padding", "margin", "max-width")}
    return {**sides, **kept, "border_left": f"{declarations['border-left']} {colour}"}


def _close(widget: Any) -> None:
    """Close a widget with its children, layout and style, which are widgets too."""
    belongings = (getattr(widget, "layout", None), getattr(widget, "style", None))
    for part in (*getattr(widget, "children", ()), *belongings):
        if part is not None:
            _close(part)
    widget.close()
