"""Parquet files at a path that the user names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.parsing import visible

MOST_ENTRIES = 100_000
"""Files and folders that are looked at."""

_HIDDEN = (".", "_")
"""How names begin that are no data, as PyArrow and Spark have it: `_SUCCESS`, `_delta_log`."""


def parquet_dataset(path: Path) -> Any:
    """A Parquet file, or a folder of them, whose folders may be named `year=2024`, as a dataset of PyArrow.

    A link that the user names is followed. Links inside a folder are refused: somebody else may have made them, to
    files that the user did not mean, or to the folder itself. PyArrow would follow these: two of them in one folder
    have 2**40 paths, so the files are looked for here.

    Raises:
        InvalidRequest: there are none, too many, or a link.
    """
    from pyarrow import fs
    from pyarrow.dataset import (
        FileSystemDatasetFactory,
        FileSystemFactoryOptions,
        HivePartitioning,
        ParquetFileFormat,
    )

    shown = visible(path.name or str(path))
    if not (path.is_file() or path.is_dir()):
        raise InvalidRequest(f"There is no file or folder {visible(str(path))!r}.")
    path = path.resolve()
    files, options = [str(path)], FileSystemFactoryOptions()  # a file has the columns that are in it
    if path.is_dir():
        files = _files_in(path, shown)
        options = FileSystemFactoryOptions(partition_base_dir=str(path), partitioning=HivePartitioning.discover())
    if not files:
        raise InvalidRequest(f"There are no Parquet files in {shown}.")
    return FileSystemDatasetFactory(fs.LocalFileSystem(), files, ParquetFileFormat(), options).finish()


def _files_in(folder: Path, shown: str) -> list[str]:
    """The files in a folder and its folders, sorted; what is neither file, folder nor link is left out."""
    found, folders, seen = [], [str(folder)], 0
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                seen += 1
                if seen > MOST_ENTRIES:
                    raise InvalidRequest(
                        f"{shown} has more than {MOST_ENTRIES:,} files and folders.",
                        hint="Name a part of it, or a dataset of PyArrow that you made.",
                    )
                if entry.name.startswith(_HIDDEN):
                    continue
                if entry.is_symlink():
                    raise InvalidRequest(
                        f"{shown} has a link: {visible(str(Path(entry.path).relative_to(folder)))}.",
                        why="Who made the folder decides where it leads.",
                        hint="Put the files themselves into the folder, or name a list of them with pyarrow.dataset.",
                    )
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.is_file():
                    found.append(entry.path)
    return sorted(found)
