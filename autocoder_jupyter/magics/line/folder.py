"""`%autocode trust`: grant the permissions that a folder asks for, or withdraw them."""

from __future__ import annotations

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.permissions import FolderPermissions, collected, rows
from autocoder_jupyter.trust import agree, withdraw
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import join

YES = "yes"


def trust(notebook: Notebook, arguments: Arguments) -> None:
    """Show the permissions that the folder asks for, and ask the user to grant them.

    Only a typed answer counts, because a notebook that somebody else wrote can contain this line.
    """
    if arguments.given.get("show") and arguments.given.get("withdraw"):
        raise InvalidRequest("--show and --withdraw cannot be used together.")
    if arguments.given.get("withdraw"):
        _withdraw(notebook)
        return
    found = collected(notebook)
    if not found:
        print("This folder needs no permission.")
    for asking in found:
        _show(notebook, asking)
        if not asking.agreed and not arguments.given.get("show"):
            _ask(notebook, asking)


def _withdraw(notebook: Notebook) -> None:
    folders = dict.fromkeys((notebook.settings().folder, notebook.journal_root.parent))
    withdrawn = [folder for folder in folders if withdraw(folder)]
    for folder in withdrawn:
        print(f"{visible(folder)} is no longer trusted.")
    if not withdrawn:
        print("There was no permission to withdraw.")


def _show(notebook: Notebook, asking: FolderPermissions) -> None:
    how = "You agreed to this:" if asking.agreed else "You have not agreed to this, so it is not used:"
    title = f"{visible(asking.folder)} has settings that need your permission. {how}"
    shown = rows(asking.permissions)
    notebook.show(
        join(markup.text_lines([title]), markup.table(("asks for", "value", "if you agree"), shown)),
        f"{markup.plain(title)}\n{markup.columns(shown)}",
    )


def _ask(notebook: Notebook, asking: FolderPermissions) -> None:
    if notebook.is_headless:
        raise InvalidRequest(
            "There is no user who could agree.",
            why="A notebook cannot agree by itself, because somebody else may have written it.",
            hint="Run %autocode trust in this folder in an interactive notebook. It applies to all runs here.",
        )
    try:
        answer = input(f"Type {YES} if you agree, anything else if not: ")
    except EOFError:
        answer = ""
    if answer.strip().casefold() != YES:
        print("You did not agree.")
        return
    agree(asking.folder, asking.permissions)
    print("You agreed. This is valid until one of these values changes. %autocode trust --withdraw withdraws it.")
