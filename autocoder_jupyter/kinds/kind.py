"""The properties of a type of inputs and outputs, such as `DataFrame` or `date`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

TypeName = Literal[
    "str",
    "int",
    "float",
    "bool",
    "datetime",
    "date",
    "timedelta",
    "File",
    "Dir",
    "DataFrame",
    "Series",
    "dict",
    "list",
    "Figure",
]
"""The types of inputs and outputs of a solution."""

Form = Literal["single", "time", "container", "path", "table", "figure"]
"""Groups of types: scalars, times in ISO format, dicts and lists, files, tables, figures."""

REFUSED = object()
"""The result of a check for a value of another type."""


@dataclass(frozen=True)
class Kind:
    """One type of inputs and outputs. How it is sent to the sandbox is defined in `codec`, which also runs there.

    Args:
        python: the class in the notebook, as `module:name`; the module is imported when it is needed.
        annotation: how it is written in a solution.
        form: its group.
        words: names that models use for it, in lower case and without separators.
        aliases: names of other classes that also mean this type.
        accept: returns a value in the form that is sent, or `REFUSED` for a value of another type. Tables were
            converted to pandas before.
        hint: returns what to write instead, from the name of an input and the refused value; "" if there is no hint.
        json: the JSON types of a default; empty if it cannot have a default.
        from_json: converts a default from JSON. Raises ValueError or TypeError if it is not valid.
        source: such a default as an expression in a solution.
        from_iso: returns a time in canonical ISO format. Raises ValueError if it is not valid.
        iso_example: an example of that format.
        parse: parses the text of a form field. Raises ValueError or TypeError. None if it cannot be typed.
        expects: a description of the text that `parse` accepts.
        placeholder: the placeholder of an empty form field.
        show: formats a value as text that `parse` accepts.
        empty: the output for an empty result; "" if there is none.
        reader: the function that reads it on the command line of an exported script.
        metavar: its placeholder in the help of the script.
        way_out: the hint if a sample cannot be sent to the sandbox.
        is_input: whether it can be the type of an input.
        is_compared: whether two values can be compared by their content.
        names_columns: whether its value can contain the name of a column.
    """

    python: str
    annotation: str
    form: Form
    words: str
    accept: Callable[[Any], Any]
    aliases: tuple[str, ...] = ()
    hint: Callable[[str, Any], str] = lambda name, value: ""
    json: tuple[type, ...] = ()
    from_json: Callable[[Any], Any] = lambda default: default
    source: Callable[[Any], str] = repr
    from_iso: Callable[[str], str] | None = None
    iso_example: str = ""
    parse: Callable[[str], Any] | None = None
    expects: str = ""
    placeholder: str = ""
    show: Callable[[Any], str] = str
    empty: str = ""
    reader: str = ""
    metavar: str = ""
    way_out: str = "Convert or drop that column first, then run the cell again."
    is_input: bool = True
    is_compared: bool = True
    names_columns: bool = True

    @property
    def python_type(self) -> Any:
        """The class in the notebook."""
        module, _, name = self.python.partition(":")
        return getattr(import_module(module), name)

    @property
    def is_data(self) -> bool:
        """Whether it is data: a table or files."""
        return self.form in ("table", "path")

    @property
    def stands_alone(self) -> bool:
        """Whether it cannot be an element of a list or dict."""
        return self.is_data or self.form == "figure"

    def takes_json(self, value: Any) -> bool:
        """Whether a JSON value can be its default. True and False are not numbers here."""
        return isinstance(value, self.json) and isinstance(value, bool) == (bool in self.json)
