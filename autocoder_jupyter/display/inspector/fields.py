"""The fields of the form: for each input a control for its type, and a message if the value is not valid."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from autocoder_jupyter.display.inspector.call_code import Given
from autocoder_jupyter.display.inspector.reading import read, written
from autocoder_jupyter.display.inspector.subject import Caller, InputVariable
from autocoder_jupyter.display.widgets import html_widget
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.types import InputSpec
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join

_EXACT = 2**53
"""Integers up to this size are exact in a browser."""

_ABSENT = object()

Reader = Callable[[Any], "Given | None"]
"""Converts the value of the control to the argument; None leaves it out. Raises ValueError with a message."""


class Field:
    """One input: its control, and the message beside it.

    Args:
        ipywidgets: the library.
        spec: the input.
        control: a widget with a `value`.
        reader: converts that value.
    """

    def __init__(self, ipywidgets: Any, spec: InputSpec, control: Any, reader: Reader) -> None:
        self.spec = spec
        self.control = control
        self._reader = reader
        self._message = html_widget(layout={"flex": "1 1 14em", "min_width": "0"})
        self.row = ipywidgets.HBox(
            (control, self._message), layout={"align_items": "flex-start", "flex_flow": "row wrap", "flex": "none"}
        )

    def given(self) -> Given | None:
        """The argument; None if it is left out.

        Raises:
            ValueError: the value is not valid; the message says why.
        """
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

    def _chosen(self, value: str) -> Given | None:
        if value:
            return Given.of_variable(value)
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

    def _chosen(self, value: str) -> Given | None:
        text = value.strip()
        if not text and self._may_be_empty:
            return None
        if text in self._variables:
            return Given.of_variable(text)
        if not text:
            raise ValueError(f"{self.spec.name} needs {KINDS[self.spec.type].expects}.")
        return None if text == self.spec.default else Given.of_value(read(self.spec, text))


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


def _typed(spec: InputSpec, default: Any, text: str) -> Given | None:
    if not text.strip() and not (spec.type == "str" and isinstance(default, str)):
        if default is _ABSENT:
            raise ValueError(f"{spec.name} is required.")
        return None
    return _unless_default(default, read(spec, text))


def _picked(spec: InputSpec, default: Any, value: Any) -> Given | None:
    if value is None:
        if default is _ABSENT:
            raise ValueError(f"{spec.name} is required.")
        return None
    if isinstance(value, float) and spec.type == "float" and value != value:
        raise ValueError(f"{spec.name} must be a number.")
    if isinstance(value, dt.datetime):
        value = value.replace(microsecond=0)
    return _unless_default(default, value)


def _unless_default(default: Any, value: Any) -> Given | None:
    same = default is not _ABSENT and type(default) is type(value) and default == value
    return None if same else Given.of_value(value)
