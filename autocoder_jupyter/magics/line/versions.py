"""Subcommands that list and change the versions of a function."""

from __future__ import annotations

import keyword

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.line.lookup import find_result, versions_of
from autocoder_jupyter.magics.notebook import Notebook, is_result
from autocoder_jupyter.magics.version_manager import HEADINGS, VersionManager, bind, require_idle
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.versions.edits import rename as rename_versions
from autocoder_jupyter.view import markup


def history(notebook: Notebook, arguments: Arguments) -> None:
    """Show the versions of a name, oldest first, with author, reason, evidence, request and cost."""
    name = arguments.positional[0]
    rows = VersionManager(notebook, name).rows()
    if not rows:
        find_result(notebook, name)
        print(f"The journal has no finished run of {name}.")
        return
    notebook.show(markup.table(HEADINGS, rows), markup.columns(rows))


def restore(notebook: Notebook, arguments: Arguments) -> None:
    """Make an earlier version the current one, and bind the name to it."""
    name, word = arguments.positional
    print(VersionManager(notebook, name).restore(word))


def pin(notebook: Notebook, arguments: Arguments) -> None:
    """Pin a version, so that it is used for any request, or unpin it."""
    name, *words = arguments.positional
    if arguments.given.get("off"):
        if words:
            raise InvalidRequest("--off takes no version.", hint=f"Write %autocode pin {name} --off.")
        print(VersionManager(notebook, name).unpin())
    else:
        print(VersionManager(notebook, name).pin(*words))


def rename(notebook: Notebook, arguments: Arguments) -> None:
    """Rename a function and all its versions."""
    old, new = arguments.positional
    versions = versions_of(notebook, old)
    if not versions.folders():
        find_result(notebook, old)
        raise InvalidRequest(f"There is no record of {old}.", hint=f"Write {new} = {old} in a cell.")
    if not new.isidentifier() or keyword.iskeyword(new):
        raise InvalidRequest(f"{visible(new)!r} cannot be the name of a variable.")
    if new in notebook.namespace and not is_result(notebook.namespace[new]):
        raise InvalidRequest(f"{new!r} is already a variable of the notebook.", hint="Choose another name.")
    require_idle(notebook, old)
    versions = rename_versions(versions, new)
    notebook.jobs.forget(old)
    notebook.launched.pop(old, None)
    if (own_tests := notebook.own_tests.pop(old, None)) is not None:
        notebook.own_tests[new] = own_tests
    held = notebook.namespace[old] if is_result(notebook.namespace.get(old)) else None
    if held is not None:
        del notebook.namespace[old]
    for note in versions.show_current():
        print(note)
    if (counting := versions.last_good() or next(iter(reversed(versions.all())), None)) is not None:
        bind(notebook, new, counting, held)
    print(f"{old} is now {new}. Write %%autocode {new} in its cell.")


def remove(notebook: Notebook, arguments: Arguments) -> None:
    """Remove one version or all versions from disk."""
    name, *words = arguments.positional
    everything = bool(arguments.given.get("all"))
    if everything == bool(words):
        raise InvalidRequest(f"Write %autocode remove {name} VERSION, or %autocode remove {name} --all.")
    if not everything:
        print(VersionManager(notebook, name).remove(words[0]))
        return
    require_idle(notebook, name)
    versions = versions_of(notebook, name)
    if not versions.folders():
        find_result(notebook, name)
    versions.remove_all()
    print(f"The record of {name} is removed. The variable in the notebook can still be called.")
