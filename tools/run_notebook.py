"""Execute a notebook in a real kernel and print the output of each cell. Only --save changes the notebook.

python tools/run_notebook.py notebooks/quickstart.ipynb [--html artifacts/quickstart.html] [--save | --copy FILE]
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

_DURATION = re.compile(r"(?: ·|  )(?: \d+ min)? ?[\d.]+ s(?= ·|\n|<|$)|(?<=>)[\d.]+ s(?=<)")
"""A duration as a card shows it: between other figures, at the end of a call's line, or alone in an element."""
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def main() -> int:
    """Run the notebook. Returns the exit code: 1 if a cell fails."""
    parser = argparse.ArgumentParser(description="Execute a notebook and print the outputs of its cells.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--html", type=Path, help="also write the executed notebook as HTML")
    parser.add_argument("--save", action="store_true", help="save the outputs in the notebook, without durations")
    parser.add_argument("--copy", type=Path, metavar="FILE", help="save the notebook with its outputs to FILE instead")
    parser.add_argument("--timeout", type=int, default=600, help="timeout of one cell in seconds")
    options = parser.parse_args()
    notebook = nbformat.read(options.notebook, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=options.timeout,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(options.notebook.parent)}},
        on_cell_executed=_print_cell,
    )
    began = time.monotonic()
    failed = False
    try:
        client.execute()
    except CellExecutionError as error:
        print(_ESCAPES.sub("", str(error)), file=sys.stderr)
        failed = True
    if (options.save or options.copy) and not failed:
        _save(notebook, options.copy or options.notebook)
    if options.html:
        _write_html(notebook, options.html)
    print(f"\n{'FAILED' if failed else 'done'} in {time.monotonic() - began:.1f} s")
    return int(failed)


def _print_cell(cell: Any, **_: Any) -> None:
    if cell.cell_type != "code":
        return
    print("\n" + "\n".join(f"▌ {line}" for line in cell.source.splitlines()), flush=True)
    for output in cell.outputs:
        text = _text_of(output)
        if text:
            print(_ESCAPES.sub("", text).rstrip(), flush=True)


def _text_of(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return "\n".join(output.traceback)
    data = output.data
    if "image/png" in data:
        return f"[picture, {len(data['image/png']) * 3 // 4:,} bytes of PNG]"
    if "application/vnd.jupyter.widget-view+json" in data:
        return ""
    return str(data.get("text/plain", ""))


def _save(notebook: Any, path: Path) -> None:
    """Save the outputs without durations, which differ in each run, and without widgets, which need a live kernel."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            data.pop("application/vnd.jupyter.widget-view+json", None)
            for kind in ("text/plain", "text/html"):
                if kind in data:
                    data[kind] = _DURATION.sub("", data[kind])
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def _write_html(notebook: Any, path: Path) -> None:
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter().from_notebook_node(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
