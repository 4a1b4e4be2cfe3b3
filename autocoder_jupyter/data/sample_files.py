"""Sample rows as files for an agent: never all the data, and nothing that is withheld."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import pandas as pd

from autocoder_jupyter.data.cells import label_literal
from autocoder_jupyter.data.excerpt import texts_of
from autocoder_jupyter.data.profile import as_frame, is_default_index
from autocoder_jupyter.data.sample import sample_rows
from autocoder_jupyter.data.withheld import NOTHING_WITHHELD, WithheldColumns
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Share

MOST_CELLS = 20_000
"""Maximum size of one file. Wide tables have fewer rows."""


def sample_files(
    samples: Mapping[str, Any], *, share: Share, max_sample_rows: int, withheld: WithheldColumns = NOTHING_WITHHELD
) -> dict[str, bytes]:
    """Sampled rows as CSV by path (`data/sales.csv`). The data context shows some of the same rows.

    Private values are masked as in the context. A missing cell is empty, and a long one is truncated.

    Args:
        samples: by input name; there are files for DataFrames and Series.
        share: the sharing level; there are files only for `rows`.
        max_sample_rows: the maximum number of rows of a table.
        withheld: the hidden and masked columns.
    """
    if share != "rows":
        return {}
    masker = Masker()
    files = {}
    for name, value in withheld.told(samples).items():
        if not name.isidentifier() or not isinstance(value, pd.DataFrame | pd.Series):
            continue
        frame = as_frame(value)
        count = min(max_sample_rows, MOST_CELLS // max(frame.shape[1], 1))
        if count > 0:
            rows = withheld.of_table(samples[name]).rows(sample_rows(frame, count))
            files[f"data/{name}.csv"] = _csv(rows, masker, indexed=not is_default_index(frame.index))
    return files


def _csv(rows: pd.DataFrame, masker: Masker, *, indexed: bool) -> bytes:
    columns: list[tuple[Any, pd.Series[Any]]] = [(label, rows.iloc[:, place]) for place, label in enumerate(rows)]
    if indexed:
        levels = [pd.Series(rows.index.get_level_values(place)) for place in range(rows.index.nlevels)]
        columns = [("index" if level.name is None else level.name, level) for level in levels] + columns
    names = [label if isinstance(label, str) else label_literal(label) for label, _ in columns]
    texts = [texts_of(column, missing="") for _, column in columns]
    mask_name = masker.for_column(name for name in names if name.isdigit())
    told = [map(mask_name, names), *zip(*(map(masker.for_column(cells), cells) for cells in texts), strict=True)]
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(told)
    return file.getvalue().encode("utf-8", "backslashreplace")
