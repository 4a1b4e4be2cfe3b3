"""`autocoder_jupyter.load("growth")`: a recorded function, callable without its cell and without a model."""

from __future__ import annotations

import os
from pathlib import Path

from autocoder_jupyter.agent.place import journal_root as default_journal_root
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.recorded import result_of
from autocoder_jupyter.settings.parameters import did_you_mean, is_input_name
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import visible_block
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.verification import shown

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
        journal_root: the `.autocode` folder; beside the notebook, or in the current folder, by default.
        trusted: whether packages that are not well known may be installed for it. The folder may be untrusted.

    Raises:
        InvalidRequest: there is no such function.
    """
    root = default_journal_root() if journal_root is None else Path(journal_root)
    versions = Versions(root, name)
    found = versions.last_good() if version is None else versions.numbered(str(version))
    if found is None:
        known = [other for other in Folder(root.parent).names(root.name) if is_input_name(other)]
        if version is None and name in known:
            raise _unfinished(name, root, versions)
        what = name if version is None else f"version {version} of {name}"
        raise InvalidRequest(
            f"There is no recorded {what} in {root}.",
            hint=did_you_mean(name, known) or "Run its cell first; only a finished function can be loaded.",
        )
    return result_of(found, root, CallOptions(), trusted=trusted)


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
