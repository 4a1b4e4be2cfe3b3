"""`autocoder_jupyter.load("growth")`: a recorded function, callable without its cell and without a model."""

from __future__ import annotations

import os
from pathlib import Path

from autocoder_jupyter.agent.place import places
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.recorded import result_of
from autocoder_jupyter.settings.parameters import did_you_mean, is_input_name
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import visible_block
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.edits import shown

LONGEST = 500
"""Characters of the reason of a failed run."""


def load(
    name: str,
    version: int | str | None = None,
    *,
    journal_root: str | os.PathLike[str] | None = None,
    trusted: bool = False,
) -> CodeGenEvalResult:
    """A recorded function as a callable result: `growth = autocoder_jupyter.load("growth")`.

    No model is asked. The samples are not recorded, so a call needs all inputs. The function was verified on its
    original samples; its cell, or `verify` with other samples, verifies it on those. A function that no run of this
    user verified is `not_verified`: it can be called, and `verify` tests it.

    Args:
        name: the name of the result.
        version: its number in `%autocode history`, or its id; by default the version that counts.
        journal_root: the `.autocode` folder. By default the first that has the function: beside the notebook or in the
            current folder, beside the script that runs, or above these, up to the root of the project.
        trusted: whether packages that are not well known may be installed for it. The folder may be untrusted.

    Raises:
        InvalidRequest: there is no such function.
    """
    roots = places() if journal_root is None else (Path(journal_root),)
    for root in roots:
        versions = Versions(root, name)
        found = versions.last_good() if version is None else versions.numbered(str(version))
        if found is not None:
            return result_of(found, root, CallOptions(), trusted=trusted)
    known = {root: [other for other in Folder(root.parent).names(root.name) if is_input_name(other)] for root in roots}
    if version is None and (begun := next((root for root in roots if name in known[root]), None)) is not None:
        raise _unfinished(name, begun, Versions(begun, name))
    what = name if version is None else f"version {version} of {name}"
    here, *others = [root.absolute() for root in roots]
    also = f"These were looked at too: {', '.join(map(str, others))}." if others else ""
    way = "Run its cell first; only a finished function can be loaded. One of another folder: journal_root=…."
    raise InvalidRequest(
        f"There is no recorded {what} in {here}.",
        why=also,
        hint=did_you_mean(name, [other for names in known.values() for other in names]) or way,
    )


def loadable() -> list[str]:
    """The names of the functions that `load` finds, sorted."""
    known = {(root, name) for root in places() for name in Folder(root.parent).names(root.name) if is_input_name(name)}
    return sorted({name for root, name in known if Versions(root, name).last_good() is not None})


def _unfinished(name: str, root: Path, versions: Versions) -> InvalidRequest:
    """The error for a name that is recorded without a good function."""
    what = f"No finished function of {name} is recorded in {root}."
    if versions.interrupted():
        return InvalidRequest(
            what,
            why="Its last run was interrupted.",
            hint="Run its cell again: it continues, and recorded answers are not paid for again.",
        )
    if failed := versions.all():
        why = f"Its last run failed. {visible_block(shown(versions, failed[-1])[1].error or '')[:LONGEST]}".strip()
        return InvalidRequest(what, why=why, hint="Run its cell again.")
    return InvalidRequest(what, why="Only functions can be loaded, no answers of --mode tools.", hint="Run its cell.")
