"""DataFrames and Series as the program has them: handles, whose rows stay in the notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.request import Share


class Frame:
    """A table of the notebook, of which the program sees what its methods give."""

    METHODS = frozenset({"head"})

    def __init__(self, table: Any, name: str, frames: Frames) -> None:
        self._table = table
        self._name = name
        self._frames = frames

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return [str(column) for column in self._table.columns]

    def head(self, n: int = 5) -> list[dict[str, Any]]:
        """The first rows."""
        return self._table.head(n).to_dict("records")  # type: ignore[no-any-return]


class Frames:
    """All handles of one run."""

    def __init__(self, share: Share, tables: Mapping[str, Any]) -> None:
        self._share = share
        self._tables = tables
        self._count = 0

    def globals(self) -> dict[str, Any]:
        """The handles that the program finds by name."""
        return {name: self.handle(table, name) for name, table in self._tables.items()}

    def wrap(self, table: Any) -> Any:
        """What stands for a table in the sandbox."""
        self._count += 1
        return self.handle(table, f"table-{self._count}")

    def handle(self, table: Any, name: str) -> Any:
        """The same for a table that has a name."""
        from pydantic_monty import ClassInstance

        return ClassInstance(Frame(table, name, self), eager_attrs=["columns"], allowed_methods=Frame.METHODS)

    def unwrap(self, value: Any) -> Any:
        """The table of a handle."""
        if isinstance(value, Frame):
            return value._table
        raise LookupError

    def key_form(self, value: Any) -> Any:
        """How a handle stands in the key of a call."""
        return {"$type": "frame", "value": value._name} if isinstance(value, Frame) else {"$type": str(type(value))}


STUB = """
class Frame:
    columns: list[str]
    def head(self, n: int = 5) -> list[dict[str, Any]]: ...
"""


def described(frames: Mapping[str, Any], share: Share) -> str:
    """The tables of a request, for the model."""
    return "\n".join(f"{name}: Frame" for name in frames)


ABOUT = ""


def about_functions(functions: Mapping[str, Any]) -> str:
    """The functions that `call` knows, for the model."""
    return ""


def checked_functions(functions: Mapping[str, Any] | None) -> dict[str, Any]:
    """The functions by name."""
    return dict(functions or {})


def checked_frames(frames: Mapping[str, Any] | None, taken: Mapping[str, Any]) -> dict[str, Any]:
    """The frames by name."""
    return dict(frames or {})


def function_tools(functions: Mapping[str, Any]) -> dict[str, Any]:
    """`call` as a tool."""
    return {}
