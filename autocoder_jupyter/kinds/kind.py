"""What there is to know of a kind of value, such as `DataFrame` or `date`."""

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
"""What an input or an output of a solution can be."""

Form = Literal["single", "time", "container", "path", "table", "figure"]
"""What kinds have in common: one value, a time in ISO format, a dict or list, files, tables, figures."""

REFUSED = object()
"""What a check gives for a value of another kind."""


@dataclass(frozen=True)
class Kind:
    """One kind of value. How it crosses into the sandbox is said in `codec`, which is shipped there.

    Args:
        python: the class in a person's notebook, as `module:name`; the module is imported when it is asked for.
        annotation: how it is written in a solution.
        form: what it has in common with others.
        words: how models call it, folded and without separators.
        aliases: names of other classes that a person may mean it by.
        accept: a value as it crosses, or `REFUSED` for one of another kind. Tables are of pandas already.
        hint: what to write instead, from the name of an input and the refused value; "" when there is nothing to say.
        json: types of its default in JSON; none for what cannot be a parameter with a default.
        from_json: the value of such a default. Raises ValueError or TypeError for one that is none.
        source: such a default as an expression in a solution.
        from_iso: a time in ISO format in its canonical form. Raises ValueError for what is no such time.
        iso_example: how to write that.
        parse: the value of what a person typed into a form. Raises ValueError or TypeError; None for what is not typed.
        expects: what a person may type there.
        placeholder: what stands in the empty field.
        show: the text that `parse` makes the value of.
        empty: what an output is where there is nothing to tell; "" where nothing can stand for that.
        reader: the function that reads it on the command line of an exported script.
        metavar: what stands for it in the help of that.
        way_out: what to do when a sample cannot cross.
        is_input: whether an input can be one.
        is_compared: whether two of them can be compared by what they hold.
        names_columns: whether its value can hold the name of a column.
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
        """The class in a person's notebook."""
        module, _, name = self.python.partition(":")
        return getattr(import_module(module), name)

    @property
    def is_data(self) -> bool:
        """Whether a person hands it over as data: a table or files."""
        return self.form in ("table", "path")

    @property
    def stands_alone(self) -> bool:
        """Whether it crosses on its own only, not as a part of a list or dict."""
        return self.is_data or self.form == "figure"

    def takes_json(self, value: Any) -> bool:
        """Whether a value of JSON can be its default. True and False are no numbers here."""
        return isinstance(value, self.json) and isinstance(value, bool) == (bool in self.json)
