"""Serve verified functions to an agent that speaks MCP, over the standard input and output.

    python -P -m autocoder_jupyter.mcp --folder ~/sales --share schema --max-cost 1
    python -P -m autocoder_jupyter.mcp --server http://localhost:8888/ --notebook sales.ipynb

Without a kernel it works on the files of the first folder and on the functions that were recorded there. Python's -P
keeps it from importing files of the current folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.settings.choices import Share
from autocoder_jupyter.settings.parameters import positive_number

if TYPE_CHECKING:
    from autocoder_jupyter.mcp.link import Link


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client closes the input. Returns 0, or 2 if an argument is not usable."""
    given = options().parse_args(arguments)
    if not sys.flags.safe_path and sys.path[:1] == [str(Path.cwd())]:  # a file there must not stand for a package
        del sys.path[0]
    try:
        if importlib.util.find_spec("mcp") is None:
            raise InvalidRequest("The package mcp is not installed.", hint='pip install "autocoder-jupyter[mcp]"')
        serve(given)
    except AutocodeError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def serve(given: argparse.Namespace) -> None:
    from autocoder_jupyter.mcp.server import SessionBudget, Tools, server_of

    link, folders = _link(given), tuple(given.folder)
    if not given.server:  # its folders may be on another machine
        folders = tuple(str(Path(folder).expanduser().resolve()) for folder in folders)
    if folders and not (given.kernel or given.server):
        try:
            os.chdir(folders[0])
        except OSError as error:
            raise InvalidRequest(f"--folder {given.folder[0]} cannot be used.", why=str(error.strerror)) from None
    server_of(Tools(link, given.share, folders, SessionBudget(given.max_cost))).run("stdio")


def _link(given: argparse.Namespace) -> Link:
    from autocoder_jupyter.mcp.link import FileLink, ProcessLink, ServerLink

    if given.kernel:
        return FileLink(given.kernel)
    if given.server:
        return ServerLink(given.server, given.notebook, os.environ.get(given.token, ""))
    return ProcessLink()


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autocoder_jupyter.mcp", description=(__doc__ or "").partition("\n")[0]
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--kernel", type=Path, metavar="FILE", help="the connection file of a running kernel")
    place.add_argument("--server", metavar="URL", help="the address of a Jupyter server")
    parser.add_argument(
        "--notebook", default="", metavar="PATH", help="with --server: the notebook, if several are open"
    )
    parser.add_argument(
        "--token",
        default="JUPYTER_TOKEN",
        metavar="VARIABLE",
        help="with --server: the NAME of the variable with its token",
    )
    parser.add_argument(
        "--folder",
        action="append",
        default=[],
        help="a folder whose files the agent may name, and their subfolders; may be given more than once; by default "
        "the current one",
    )
    parser.add_argument(
        "--share",
        choices=get_args(Share),
        default="schema",
        help="how much of the data the agent and the model may see; never more than the settings allow (schema)",
    )
    parser.add_argument(
        "--max-cost",
        type=positive_number,
        metavar="DOLLARS",
        help="for all functions that the agent has made, until this server ends; without it, none can be made",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
