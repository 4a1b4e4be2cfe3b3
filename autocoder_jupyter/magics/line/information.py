"""Subcommands about what a generation would use here."""

from __future__ import annotations

from autocoder_jupyter.display import markup
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.doctor import examine
from autocoder_jupyter.magics.help import help_text
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.project import NAME
from autocoder_jupyter.untrusted.visible import visible


def models(notebook: Notebook, arguments: Arguments) -> None:
    """The model that is set, and names that could be."""
    from autocoder_jupyter.models.catalogue import known_models

    settings = notebook.settings()
    provider = arguments.positional[0] if arguments.positional else settings["model"].partition("/")[0]
    names = known_models(provider)
    print(f"{settings['model']} is used ({settings.origins['model']}).")
    if not names:
        print(f"No models of {provider!r} are known; any name that litellm accepts can be tried.")
        return
    notebook.show(markup.code("\n".join(names)), markup.plain("\n".join(names)))


def doctor(notebook: Notebook, arguments: Arguments) -> None:
    """What will be used here, and why."""
    rows = examine(notebook.settings())
    notebook.show(markup.table(("", "", ""), rows), markup.columns(rows))


def config(notebook: Notebook, arguments: Arguments) -> None:
    """Every setting: its value, and where that comes from."""
    settings = notebook.settings()
    refused = notebook.traits.refused
    waiting = {
        permission.name: f"{NAME}, not trusted, asks for {visible(permission.value)}" for permission in settings.waiting
    }
    rows = [
        (
            name,
            _shown(settings[name]),
            settings.origins[name],
            f"refused: {option.quoted(refused[name])}; it takes {option.expects}"
            if name in refused
            else waiting.get(name, option.help),
        )
        for name, option in SETTINGS.items()
    ]
    notebook.show(markup.table(("setting", "value", "from", ""), rows), markup.columns(rows))


def help(notebook: Notebook, arguments: Arguments) -> None:
    """All options and subcommands."""
    print(help_text())


def _shown(value: object) -> str:
    """A value for the table; of a dictionary the keys only, because values may be secrets."""
    if value is None:
        return "–"
    if isinstance(value, tuple | list):
        return ", ".join(str(item) for item in value) or "–"
    if isinstance(value, dict):
        return ", ".join(value) or "–"
    return str(value)
