"""The tab *Run*: a form for the inputs of a function, the call in the background, its outputs and its code."""

from __future__ import annotations

import asyncio
import concurrent.futures
import datetime as dt
import importlib
import json
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.display.inspector.subject import Caller, InputVariable
from autocoder_jupyter.display.outputs import error_html, outputs_html
from autocoder_jupyter.display.parts import source_block
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.kinds.table import KINDS, misfit
from autocoder_jupyter.types import Dir, File, InputSpec
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import clock, duration
from autocoder_jupyter.view.as_html import blocks_html
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, html_widget, join

if TYPE_CHECKING:
    from autocoder_jupyter.types import Report


# Code of the call


@dataclass(frozen=True)
class Argument:
    """An argument from the form.

    Args:
        value: its value; None for a variable, which is captured later.
        variable: the name of a variable, or "".
    """

    source: str
    value: Any = None
    variable: str = ""

    @classmethod
    def of_value(cls, value: Any) -> Argument:
        """A value with a literal."""
        return cls(repr(value), value)

    @classmethod
    def of_variable(cls, name: str) -> Argument:
        """A variable of the notebook."""
        return cls(name, variable=name)


def call_code(name: str, inputs: Sequence[InputSpec], given: Mapping[str, Argument]) -> str:
    """`growth.run(sales_2025, min_orders=3)`, after the imports that it needs.

    Variables are positional arguments as long as possible; all others are keyword arguments.
    """
    arguments: list[str] = []
    by_position = True
    odd: dict[str, str] = {}
    for spec in inputs:
        argument = given.get(spec.name)
        if argument is None:
            by_position = False
            continue
        by_position = by_position and bool(argument.variable)
        if by_position:
            arguments.append(argument.source)
        elif spec.name.isidentifier():
            arguments.append(f"{spec.name}={argument.source}")
        else:
            odd[spec.name] = argument.source
    if odd:
        arguments.append(f"**{{{', '.join(f'{key!r}: {source}' for key, source in odd.items())}}}")
    imports = _imports([argument.value for argument in given.values()])
    return "\n".join([*imports, f"{variable_name(name)}.run({', '.join(arguments)})"])


def call_line(name: str, inputs: Sequence[InputSpec], variables: Container[str]) -> str:
    """`growth.run(sales, limit=...)`: variables with the names of inputs, and `...` for values to fill in."""
    needed = [spec for spec in inputs if spec.required]
    tables = [spec for spec in needed if KINDS[spec.type].is_data]
    given = {spec.name: Argument("...") for spec in needed if spec not in tables}
    if all(spec.name.isidentifier() and spec.name in variables for spec in tables):
        given |= {spec.name: Argument.of_variable(spec.name) for spec in tables}
    return call_code(name, inputs, given)


def variable_name(name: str) -> str:
    """The name of a result if it is an identifier, or `result`; the name of a loaded result is untrusted."""
    return name if name.isidentifier() else "result"


def _imports(values: Sequence[Any]) -> list[str]:
    kinds = [kind.__name__ for kind in (Dir, File) if any(isinstance(value, kind) for value in values)]
    lines = ["import datetime"] if any(isinstance(value, dt.date | dt.timedelta) for value in values) else []
    return [*lines, f"from autocoder_jupyter import {', '.join(kinds)}"] if kinds else lines


# Values as text


def read(spec: InputSpec, text: str) -> Any:
    """The value of a text."""
    kind = KINDS[spec.type]
    if kind.parse is None:
        raise ValueError(f"{spec.name} is a {spec.type}; it cannot be typed in. Choose a variable.")
    try:
        value = kind.parse(text if spec.type == "str" else text.strip())
    except (ValueError, TypeError, RecursionError) as error:
        why = f" ({error.msg}, line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise ValueError(f"{spec.name} must be {kind.expects}, not {_shown(text)}{why}.") from None
    if problem := misfit(value, spec.elements):
        raise ValueError(f"{spec.name} must be a {spec.written_type}: {problem}.")
    return value


def written(spec: InputSpec, value: Any) -> str:
    """The text from which `read` makes this value."""
    return KINDS[spec.type].show(value)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…") if text.strip() else "empty"


# Fields

_EXACT = 2**53
"""Integers up to this size are exact in a browser."""

_ABSENT = object()

Reader = Callable[[Any], "Argument | None"]
"""Converts the value of the control to the argument; None omits it. Raises ValueError with a message."""


class Field:
    """One input: its control, and the message beside it.

    Args:
        control: a widget with a `value`.
    """

    def __init__(self, ipywidgets: Any, spec: InputSpec, control: Any, reader: Reader) -> None:
        self.spec = spec
        self.control = control
        self._reader = reader
        self._message = html_widget(layout={"flex": "1 1 14em", "min_width": "0"})
        self.row = ipywidgets.HBox(
            (control, self._message), layout={"align_items": "flex-start", "flex_flow": "row wrap", "flex": "none"}
        )

    def given(self) -> Argument | None:
        """The argument; None if it is left out."""
        return self._reader(self.control.value)

    def check(self, note: Html = EMPTY) -> bool:
        """Show beside the control whether its value is valid, and return that. `note` is always shown."""
        wrong = self._wrong()
        meaning = f"{self.spec.written_type}{f' · {self.spec.meaning}' if self.spec.meaning else ''}"
        shown = markup.marked("✗", "bad", wrong) if wrong else markup.muted(meaning)
        self._message.value = element("div", shown, note, role="status", look="text field-note")
        return not wrong

    def _wrong(self) -> str:
        try:
            self.given()
        except ValueError as error:
            return str(error)
        return ""


class FrameField(Field):
    """A DataFrame or Series: the variables of the notebook that match, and why others do not."""

    def __init__(self, ipywidgets: Any, spec: InputSpec, caller: Caller) -> None:
        self._caller = caller
        self._misfits: tuple[InputVariable, ...] = ()
        sample = caller.sample(spec.name)
        self._may_be_empty = bool(sample) or not spec.required
        left_out = "nothing" if self._may_be_empty else "choose …"
        self._first = (f"the sample · {sample}" if sample else left_out, "")
        super().__init__(ipywidgets, spec, ipywidgets.Dropdown(options=[self._first], **_common(spec)), self._chosen)
        self.refresh()

    def refresh(self) -> None:
        """Read the variables of the notebook again; the selected one stays selected while it matches."""
        variables = self._caller.variables(self.spec)
        self._misfits = tuple(variable for variable in variables if variable.misfit)
        fitting = [variable for variable in variables if not variable.misfit]
        options = (self._first, *((f"{variable.name} · {variable.about}", variable.name) for variable in fitting))
        if options != tuple(self.control.options):
            chosen = self.control.value
            self.control.options = options
            self.control.value = chosen if chosen in {name for _, name in options} else ""

    def check(self, note: Html = EMPTY) -> bool:
        """As in `Field`; also lists the variables of this type that do not match, each with the reason."""
        if not self._misfits:
            return super().check(note)
        listed = markup.items(
            join(markup.inline_code(variable.name), markup.muted(variable.misfit), between=" ")
            for variable in self._misfits[:8]
        )
        more = len(self._misfits) - 8
        counted = escape(f" and {more} more" if more > 0 else "")
        title = escape(f"{len(self._misfits)} {'does' if len(self._misfits) == 1 else 'do'} not match")
        return super().check(join(note, element("details", element("summary", title), listed, counted)))

    def _chosen(self, value: str) -> Argument | None:
        if value:
            return Argument.of_variable(value)
        if not self._may_be_empty:
            raise ValueError(f"{self.spec.name} needs a {self.spec.type} from the notebook. Choose a variable.")
        return None


class PathField(Field):
    """A File or Dir: a path, or the name of a variable with a path."""

    def __init__(self, ipywidgets: Any, spec: InputSpec, caller: Caller) -> None:
        self._caller = caller
        self._variables: Sequence[str] = ()
        sample = caller.sample(spec.name)
        self._may_be_empty = bool(sample) or not spec.required
        hint = f"the sample · {sample}" if sample else "a path, or the name of a variable"
        control = ipywidgets.Combobox(placeholder=hint, ensure_option=False, continuous_update=False, **_common(spec))
        super().__init__(ipywidgets, spec, control, self._chosen)
        if spec.default is not None and not sample:
            control.value = str(spec.default)
        self.refresh()

    def refresh(self) -> None:
        """Read the variables of the notebook again."""
        self._variables = [variable.name for variable in self._caller.variables(self.spec) if not variable.misfit]
        if tuple(self.control.options) != tuple(self._variables):
            self.control.options = tuple(self._variables)

    def _chosen(self, value: str) -> Argument | None:
        text = value.strip()
        if not text and self._may_be_empty:
            return None
        if text in self._variables:
            return Argument.of_variable(text)
        if not text:
            raise ValueError(f"{self.spec.name} needs {KINDS[self.spec.type].expects}.")
        return None if text == self.spec.default else Argument.of_value(read(self.spec, text))


def make_field(ipywidgets: Any, spec: InputSpec, caller: Caller) -> Field:
    """The field for an input."""
    form = KINDS[spec.type].form
    if form == "table":
        return FrameField(ipywidgets, spec, caller)
    if form == "path":
        return PathField(ipywidgets, spec, caller)
    default = _default(spec)
    control = _control(ipywidgets, spec, default)
    if isinstance(control.value, str):
        return Field(ipywidgets, spec, control, lambda text: _typed(spec, default, text))
    return Field(ipywidgets, spec, control, lambda value: _picked(spec, default, value))


def _default(spec: InputSpec) -> Any:
    """The default as a value of the type; None without a valid default, `_ABSENT` for a required input."""
    if spec.required:
        return _ABSENT
    if spec.default is None:
        return None
    try:
        return read(spec, written(spec, spec.default_value()))  # a model may say 5 for a float, or "5" for an int
    except (ValueError, TypeError):
        return None


def _control(ipywidgets: Any, spec: InputSpec, default: Any) -> Any:
    common = _common(spec)
    has_default = default is not None and default is not _ABSENT
    match spec.type:
        case "bool" if has_default:
            return ipywidgets.Checkbox(value=bool(default), indent=True, **common)
        case "bool":
            nothing = ("choose …" if spec.required else "nothing", "")
            return ipywidgets.Dropdown(options=[nothing, ("True", "True"), ("False", "False")], **common)
        case "int" if has_default and abs(default) < _EXACT:
            return ipywidgets.IntText(value=int(default), **common)
        case "float" if has_default:
            return ipywidgets.FloatText(value=float(default), **common)
        case "date":
            return ipywidgets.DatePicker(value=default if has_default else None, **common)
        case "datetime" if not has_default or default.tzinfo is None:
            return ipywidgets.NaiveDatetimePicker(value=default if has_default else None, **common)
        case "dict" | "list":
            text = written(spec, default) if has_default else ""
            return ipywidgets.Textarea(value=text, placeholder="JSON", continuous_update=False, rows=3, **common)
        case _:
            text = written(spec, default) if has_default else ""
            return ipywidgets.Text(
                value=text, placeholder=KINDS[spec.type].placeholder, continuous_update=False, **common
            )


def _common(spec: InputSpec) -> dict[str, Any]:
    tooltip = f"{spec.name}: {spec.written_type}. {spec.meaning}".strip()
    return {
        "description": spec.name,
        "description_allow_html": False,
        "tooltip": tooltip,
        "style": {"description_width": "9em"},
        "layout": {"width": "30em", "max_width": "calc(100% - 4px)"},  # it has a margin
    }


def _typed(spec: InputSpec, default: Any, text: str) -> Argument | None:
    if not text.strip() and not (spec.type == "str" and isinstance(default, str)):
        if default is _ABSENT:
            raise ValueError(f"{spec.name} is required.")
        return None
    return _unless_default(default, read(spec, text))


def _picked(spec: InputSpec, default: Any, value: Any) -> Argument | None:
    if value is None:
        if default is _ABSENT:
            raise ValueError(f"{spec.name} is required.")
        return None
    if isinstance(value, float) and spec.type == "float" and value != value:
        raise ValueError(f"{spec.name} must be a number.")
    if isinstance(value, dt.datetime):
        value = value.replace(microsecond=0)
    return _unless_default(default, value)


def _unless_default(default: Any, value: Any) -> Argument | None:
    same = default is not _ABSENT and type(default) is type(value) and default == value
    return None if same else Argument.of_value(value)


# The form
#
# A callback reads the controls, captures the current values of variables, and passes the call to the background loop;
# it never waits. That loop then changes traits of widgets and nothing else.

TICK_SECONDS = 0.5


class RunForm:
    """The form. `widget` is the form."""

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
        self._show_status(f"Running · {clock(0)}")
        self._call = background.submit(self._called(arguments))

    def cancel(self) -> None:
        """Cancel the call, if one is running."""
        if self._call is not None:
            self._call.cancel()

    def _given(self) -> dict[str, Argument]:
        found = {field.spec.name: field.given() for field in self._fields}
        return {name: given for name, given in found.items() if given is not None}

    def _value(self, given: Argument) -> Any:
        return self._caller.captured(given.variable) if given.variable else given.value

    def _follow(self) -> None:
        """Update the messages beside the fields, the button and the code."""
        checked = [field.check() for field in self._fields]  # a list, because each check shows its own message
        self._run.disabled = self._running or not all(checked)
        if all(checked):
            code = call_code(self._report.name, self._report.declared_inputs, self._given())
            self._code.value = _framed(blocks_html([source_block(code)]))
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
            self._show_status(f"{ending} after {duration(time.monotonic() - began)}")
            self._cancel.disabled = True
            self._follow()

    def _shown(self, values: Mapping[str, Any]) -> Html:
        return outputs_html(self._report.name, values, self._caller.excerpt)

    async def _tick(self, began: float) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._show_status(f"Running · {clock(time.monotonic() - began)}")

    def _show_status(self, words: str) -> None:
        self._status.value = element("span", escape(words), role="status", look="text muted digits")


def _framed(shown: Html) -> Html:
    return element("div", shown, look="text spaced within") if shown else EMPTY


def _button(ipywidgets: Any, words: str, tooltip: str, style: str = "") -> Any:
    return ipywidgets.Button(description=words, tooltip=tooltip, button_style=style, layout={"width": "auto"})
