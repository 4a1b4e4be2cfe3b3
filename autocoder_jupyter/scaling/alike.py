"""Whether tables may be put together: they have the same columns, in the same order."""

from __future__ import annotations

import pandas as pd

from autocoder_jupyter.engine.splitting.answers import deviation
from autocoder_jupyter.equality.tables import has_own_index
from autocoder_jupyter.untrusted.visible import visible


class Alike:
    """Compares tables with those before them. Of each only a row is kept."""

    def __init__(self) -> None:
        self._first: pd.DataFrame | None = None

    def deviation(self, table: pd.DataFrame) -> str:
        """How a table deviates from those before it, as a few words without values; "" if it does not.

        A table without rows has any index.
        """
        first = self._first
        if first is not None and (said := deviation(first, [table])):
            return said.removesuffix(" in a piece")
        if first is None or (len(table) and not len(first)):
            self._first = table.head(1).copy()
        elif len(table) and has_own_index(table) and table.index.names != first.index.names:
            return f"its index is {_named(table.index)} and not {_named(first.index)}"
        return ""


def _named(index: pd.Index) -> str:
    return visible(", ".join("unnamed" if name is None else str(name) for name in index.names))[:60]
