"""Subcommands that show models, settings, the state of this machine, and the help text."""

from __future__ import annotations

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.doctor import examine
from autocoder_jupyter.magics.doctor_row import shown
from autocoder_jupyter.magics.help import help_text, subcommand_help
from autocoder_jupyter.magics.line import SUBCOMMANDS
from autocoder_jupyter.magics.line.trial import try_models
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.project import NAME
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.view import markup


def models(notebook: Notebook, arguments: Arguments) -> None:
    """Show the configured model, and the names of other models; or try a model.

    Raises:
        InvalidRequest: a budget or a second word without `try`.
    """
    if arguments.positional[:1] == ("try",):
        try_models(notebook, arguments)
        return
    if arguments.given or len(arguments.positional) > 1:
        raise InvalidRequest("A model or a budget is only for a trial.", hint="Write %autocode models try MODEL.")
    from autocoder_jupyter.models.catalogue import known_models

    settings = notebook.settings()
    provider = arguments.positional[0] if arguments.positional else settings["model"].partition("/")[0]
    names = known_models(provider)
    print(f"{_shown(settings['model'])} is used ({settings.origins['model']}).")
    if not names:
        print(f"No models of {_shown(provider)!r} are known; any name that litellm accepts can be tried.")
        return
    notebook.show(markup.code("\n".join(names)), markup.plain("\n".join(names)))


def doctor(notebook: Notebook, arguments: Arguments) -> None:
    """Show which sandbox and model will be used, and why."""
    notebook.show(*shown(examine(notebook.settings())))


def config(notebook: Notebook, arguments: Arguments) -> None:
    """Show every setting with its value and where the value comes from."""
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
            f"refused: {refused[name]}" if name in refused else waiting.get(name, option.help),
        )
        for name, option in SETTINGS.items()
    ]
    notebook.show(markup.table(("setting", "value", "from", ""), rows), markup.columns(rows))


def help(notebook: Notebook, arguments: Arguments) -> None:
    """Show all options and subcommands, or one subcommand.

    Raises:
        InvalidRequest: there is no such subcommand.
    """
    if not arguments.positional:
        print(help_text())
        return
    name = arguments.positional[0].removeprefix("%autocode").strip()
    command = SUBCOMMANDS.get(name)
    if command is None:
        raise InvalidRequest(f"There is no %autocode {name}.", hint=did_you_mean(name, SUBCOMMANDS))
    print(subcommand_help(command))


def _shown(value: object) -> str:
    """A value for the table. Of a dictionary only the keys, because the values may be secrets. Keys are masked."""
    if value is None:
        return "–"
    words = ", ".join(str(item) for item in value) if isinstance(value, tuple | list | dict) else str(value)
    return Masker().mask(words, secrets_only=True) or "–"
