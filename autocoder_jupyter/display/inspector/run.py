"""The tab *Run*: a form for the declared inputs, a call in the background, its outputs, and the code of the call.

A callback reads the controls, captures the current values of variables, and passes the call to the background loop; it
never waits. That loop then changes traits of widgets and nothing else.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.display.inspector.call_code import Given, call_code
from autocoder_jupyter.display.inspector.fields import FrameField, PathField, make_field
from autocoder_jupyter.display.inspector.outputs import error_html, outputs_html
from autocoder_jupyter.display.inspector.source import source
from autocoder_jupyter.display.widgets import html_widget
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import clock, duration
from autocoder_jupyter.view.as_html import blocks_html
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Caller
    from autocoder_jupyter.types import Report

TICK_SECONDS = 0.5


class RunForm:
    """The form. `widget` is the form.

    Args:
        report: the report of the function.
        caller: calls the function.

    Raises:
        ImportError: ipywidgets is not installed.
    """

    def __init__(self, report: Report, caller: Caller) -> None:
        ipywidgets: Any = importlib.import_module("ipywidgets")
        self._report = report
        self._caller = caller
        self._fields = [make_field(ipywidgets, spec, caller) for spec in report.declared_inputs]
        self._running = False
        self._call: concurrent.futures.Future[None] | None = None
        self._run = _button(ipywidgets, "Run", "Run the function in its sandbox", "primary")
        self._cancel = _button(ipywidgets, "Cancel", "Cancel the call and kill its process")
        self._again = _button(ipywidgets, "Refresh", "Read the variables of the notebook again")
        self._status = html_widget(layout={"margin": "0 8px"})
        self._code = html_widget(layout={"flex": "none"})
        self._output = html_widget(layout={"flex": "none"})
        self._cancel.disabled = True
        self._run.on_click(lambda _: self.start())
        self._cancel.on_click(lambda _: self.cancel())
        self._again.on_click(lambda _: self.refresh())
        for field in self._fields:
            field.control.observe(lambda _: self._follow(), names="value")
        choosing = any(isinstance(field, FrameField | PathField) for field in self._fields)
        buttons = (self._run, self._cancel, *((self._again,) if choosing else ()), self._status)
        self.widget = ipywidgets.VBox(
            (
                *(field.row for field in self._fields),
                ipywidgets.HBox(
                    buttons,
                    layout={"align_items": "center", "margin": "4px 0 0", "flex": "none", "flex_flow": "row wrap"},
                ),
                self._code,
                self._output,
            ),
            layout={"flex": "none"},
        )
        self._follow()

    def refresh(self) -> None:
        """Read the variables of the notebook again."""
        for field in self._fields:
            if isinstance(field, FrameField | PathField):
                field.refresh()
        self._follow()

    def start(self) -> None:
        """Call the function with the values of the form."""
        if self._running:
            return
        try:
            arguments = {name: self._value(given) for name, given in self._given().items()}
        except (AutocodeError, ValueError) as error:
            self._output.value = _framed(error_html(error) if isinstance(error, AutocodeError) else EMPTY)
            self._follow()
            return
        self._running = True
        self._run.disabled, self._cancel.disabled = True, False
        self._output.value = EMPTY
        self._say(f"Running · {clock(0)}")
        self._call = background.submit(self._called(arguments))

    def cancel(self) -> None:
        """Cancel the call, if one is running."""
        if self._call is not None:
            self._call.cancel()

    def _given(self) -> dict[str, Given]:
        found = {field.spec.name: field.given() for field in self._fields}
        return {name: given for name, given in found.items() if given is not None}

    def _value(self, given: Given) -> Any:
        return self._caller.captured(given.variable) if given.variable else given.value

    def _follow(self) -> None:
        """Update the messages beside the fields, the button and the code."""
        checked = [field.check() for field in self._fields]  # a list, because each check shows its own message
        self._run.disabled = self._running or not all(checked)
        if all(checked):
            code = call_code(self._report.name, self._report.declared_inputs, self._given())
            self._code.value = _framed(blocks_html([source(code)]))
        else:
            self._code.value = _framed(markup.muted("When every field is valid, the code for this call is shown here."))

    async def _called(self, arguments: Mapping[str, Any]) -> None:
        began = time.monotonic()
        ticking = asyncio.create_task(self._tick(began))
        shown, ending = EMPTY, "Cancelled"
        try:
            values = await self._caller.call(arguments)
            shown = await background.call_blocking(lambda: self._shown(values))
            ending = "Done"
        except Exception as error:  # any error: nothing else reports it
            shown, ending = error_html(error), "Failed"
        finally:
            ticking.cancel()
            self._running = False
            self._output.value = _framed(shown)
            self._say(f"{ending} after {duration(time.monotonic() - began)}")
            self._cancel.disabled = True
            self._follow()

    def _shown(self, values: Mapping[str, Any]) -> Html:
        return outputs_html(self._report.name, values, self._caller.excerpt)

    async def _tick(self, began: float) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._say(f"Running · {clock(time.monotonic() - began)}")

    def _say(self, words: str) -> None:
        self._status.value = element("span", escape(words), role="status", look="text muted digits")


def _framed(shown: Html) -> Html:
    return element("div", shown, look="text spaced within") if shown else EMPTY


def _button(ipywidgets: Any, words: str, tooltip: str, style: str = "") -> Any:
    return ipywidgets.Button(description=words, tooltip=tooltip, button_style=style, layout={"width": "auto"})
