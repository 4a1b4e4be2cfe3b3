"""The inspector as a widget: the sections in tabs, each created when it is first opened.

It uses only widgets of ipywidgets, so it works wherever they work. A tab is as high as its content.
Every result has one inspector. When the result is superseded, or too many inspectors are open, it is frozen: the
static form replaces the tabs, and all but two of its widgets are closed.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Sequence
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
    EVIDENCE,
    HISTORY,
    RESULT,
    SENT,
    head,
    made_by,
    render_html,
    result_section,
)
from autocoder_jupyter.display.inspector.evidence import attempts_section, changes_blocks, evidence_section
from autocoder_jupyter.display.outputs import error_html
from autocoder_jupyter.display.verified import OFFER, can_be_checked
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import blocks_html, head_html
from autocoder_jupyter.view.document import Block, Fold, Line, Row, Span, Tone
from autocoder_jupyter.view.markup import EMPTY, Html, HtmlWidget, element, escape, html_widget, style

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Splitter, Subject, VersionActions


# The versions, in the tab *History*


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


class Inspector:
    """One result in tabs. `widget` is the inspector, `subject` the result.

    Args:
        splitter: finds out how the function may be split; None if it cannot be called.
        version_manager: manages the versions of the name; None if there are none.

    Raises:
        ImportError: ipywidgets is not installed.
    """

    def __init__(
        self, subject: Subject, splitter: Splitter | None, version_manager: VersionActions | None = None
    ) -> None:
        self._ipywidgets: Any = importlib.import_module("ipywidgets")
        self.subject = subject
        self._splitter = splitter
        self._version_manager = version_manager
        self._frozen = False
        sections: dict[str, Callable[[], tuple[Any, ...]]] = {
            RESULT: self._result,
            EVIDENCE: lambda: (self._blocks(evidence_section(subject, in_full=True)),),
            SENT: self._sent,
            HISTORY: self._history,
        }
        self._makers = list(sections.values())
        pages = [self._ipywidgets.VBox() for _ in sections]
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

    def freeze(self) -> None:
        """Replace the tabs by the static form and close all other widgets."""
        if self._frozen:
            return
        self._frozen = True
        children, layout = self.widget.children, self.widget.layout
        self.widget.layout = {}
        self.widget.children = (html_widget(render_html(self.subject)),)
        for child in (*children, layout):
            _close(child)

    def _open(self, number: int | None) -> None:
        """Create a page when it is first opened."""
        if number is None or self._frozen:
            return
        page = self._tabs.children[number]
        if not page.children:
            page.children = self._makers[number]()

    def _html(self, content: Html) -> HtmlWidget:
        return html_widget(_framed(content), {"margin": "0", "min_width": "0", "flex": "none"})

    def _blocks(self, blocks: Iterable[Block]) -> HtmlWidget:
        return self._html(blocks_html(blocks))

    def _result(self) -> tuple[Any, ...]:
        """The rows and the code, and the button that asks how the function may be split."""
        page = self._blocks(result_section(self.subject))
        if self._splitter is None:
            return (page,)
        splitter = self._splitter
        check = self._ipywidgets.Button(
            description=OFFER,
            tooltip="Compare the answer for the whole sample with those for its pieces; no model is asked",
            layout={"width": "auto", "flex": "none", "align_self": "flex-start"},
        )
        check.on_click(lambda _: splitter.check_split())

        def show() -> None:
            if not self._frozen:
                page.value = _framed(blocks_html(result_section(self.subject)))
                check.layout.display = "" if can_be_checked(self.subject.run) else "none"

        show()
        splitter.on_split(show)
        return page, check

    def _sent(self) -> tuple[Any, ...]:
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

    def _history(self) -> tuple[Any, ...]:
        report = self.subject.report
        versions = (VersionsPage(self._version_manager).widget,) if self._version_manager else ()
        conversation = Fold("Conversation", conversation_section(report, CONVERSATION_LIVE))
        return (
            self._blocks(made_by(self.subject)),
            *self._titled("Versions", *versions),
            *self._titled("Attempts", *self._attempts()),
            *self._titled("Tool calls", *self._calls()),
            self._blocks((conversation,)),
        )

    def _titled(self, title: str, *content: Any) -> tuple[Any, ...]:
        heading = Line((Span(title, "strong"),))
        return (self._blocks((Row("", (heading,)),)), *content) if content else ()

    def _calls(self) -> tuple[Any, ...]:
        """The calls of an agent, with a menu of classes if there are several."""
        report = self.subject.report
        if report.trace is None:
            return ()
        calls = report.trace.calls
        listed = self._blocks(trace_section(report, TRACE_LIVE))
        kinds = [kind for kind in CLASSES if any(call.kind == kind for call in calls)]
        if len(kinds) < 2:
            return (listed,)
        counts = (f"{kind} ({sum(call.kind == kind for call in calls)})" for kind in kinds)
        choice = self._menu((f"all {len(calls)} calls", *counts), 0, "Show", "Calls of one class only")

        def show(_: object = None) -> None:
            kind = kinds[choice.index - 1] if choice.index else None
            listed.value = _framed(blocks_html(trace_section(report, TRACE_LIVE, kind)))

        choice.observe(show, names="index")
        return choice, listed

    def _attempts(self) -> tuple[Any, ...]:
        history = self.subject.report.history
        listed = self._blocks(attempts_section(self.subject.report))
        if len(history) < 2:
            return (listed,)
        names = [f"attempt {attempt.number}" for attempt in history]
        before = self._menu(names, len(names) - 2, "Compare", "The attempt on the left")
        after = self._menu(names, len(names) - 1, "with", "On the right")
        changes = self._html(EMPTY)

        def compare(_: object = None) -> None:
            chosen = history[before.index], history[after.index]
            changes.value = _framed(blocks_html(changes_blocks(*chosen, saved=False)))

        before.observe(compare, names="index")
        after.observe(compare, names="index")
        compare()
        choice = self._ipywidgets.HBox(
            (before, after), layout={"margin": "8px 0 0", "flex_flow": "row wrap", "flex": "none"}
        )
        return listed, choice, changes

    def _menu(self, options: Sequence[str], index: int, words: str, tooltip: str) -> Any:
        return self._ipywidgets.Dropdown(
            options=tuple(options),
            index=index,
            description=words,
            tooltip=tooltip,
            style={"description_width": "initial"},
            layout={"width": "16em", "flex": "none"},
        )


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
