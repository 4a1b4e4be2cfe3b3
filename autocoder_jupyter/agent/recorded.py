"""`autocoder_jupyter.load("growth")`: a recorded function, callable without its cell and without a model."""

from __future__ import annotations

import os
from pathlib import Path

from autocoder_jupyter.agent.place import journal_root as default_journal_root
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.recorded import result_of
from autocoder_jupyter.settings.parameters import did_you_mean
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.versions import Versions


def load(
    name: str,
    version: int | str | None = None,
    *,
    journal_root: str | os.PathLike[str] | None = None,
    trusted: bool = False,
) -> CodeGenEvalResult:
    """A recorded function as a callable result: `growth = autocoder_jupyter.load("growth")`.

    No model is asked. The samples are not recorded, so a call needs all inputs. The function was verified on its
    original samples; its cell verifies it on today's.

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
        known = [other for other in Folder(root.parent).names(root.name) if other.isidentifier()]
        what = name if version is None else f"version {version} of {name}"
        raise InvalidRequest(
            f"There is no recorded {what} in {root}.",
            hint=did_you_mean(name, known) or "Run its cell first; only a finished function can be loaded.",
        )
    return result_of(found, root, CallOptions(), trusted=trusted)
