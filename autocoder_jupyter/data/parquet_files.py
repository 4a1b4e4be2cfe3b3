"""Parquet files at a path that the user names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

MOST_FILES = 100_000


def parquet_dataset(path: Path) -> Any:
    """A Parquet file, or a folder of them, whose folders may be named `year=2024`, as a dataset of PyArrow.

    A link that the user names is followed. Links inside a folder are refused: somebody else may have made them, to
    files that the user did not mean, or to the folder itself, whose rows would be read again and again.

    Raises:
        InvalidRequest: there are none, too many, or a link.
    """
    from pyarrow import dataset

    shown = visible(path.name or str(path))
    if not (path.is_file() or path.is_dir()):
        raise InvalidRequest(f"There is no file or folder {visible(str(path))!r}.")
    path = path.resolve()
    hive = dataset.HivePartitioning.discover() if path.is_dir() else None  # a file has the columns that are in it
    found = dataset.dataset(path, format="parquet", partitioning=hive)
    if not found.files:
        raise InvalidRequest(f"There are no Parquet files in {shown}.")
    if len(found.files) > MOST_FILES:
        raise InvalidRequest(f"{shown} has more than {MOST_FILES:,} files.")
    for file in map(Path, found.files):
        if file.resolve() != file:
            raise InvalidRequest(
                f"{shown} has a link: {visible(str(file.relative_to(path)))}.",
                why="Who made the folder decides where it leads.",
                hint="Put the files themselves into the folder, or name a list of them with pyarrow.dataset.",
            )
    return found
