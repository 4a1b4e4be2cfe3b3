"""Values of secrets and of variables, taken out of words: a program that sees one may print it or raise it."""

from __future__ import annotations

from collections.abc import Mapping

from autocoder_jupyter.errors import AutocodeError

SHORTEST = 4
"""A variable's value that is shorter stays: `1` or `UTC` stands in any text, and tells nothing."""


def hidden_values(secrets: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """What must not be told, by name: every secret, and the variables whose value could be one."""
    return {name: value for name, value in variables.items() if len(value) >= SHORTEST} | dict(secrets)


def without_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """The text with `<NAME>` in the place of each value, also where `repr` had escaped it."""
    written = [(form, name) for name, value in secrets.items() for form in {value, repr(value)[1:-1]} if form]
    for form, name in sorted(written, key=lambda item: -len(item[0])):  # one may hold another
        text = text.replace(form, f"<{name}>")
    return text


def redact(error: AutocodeError, secrets: Mapping[str, str]) -> None:
    """Take the values out of everything that an error says."""
    for attribute, content in vars(error).items():
        if isinstance(content, str):
            setattr(error, attribute, without_secrets(content, secrets))
    error.args = (error.what, error.why, error.hint)
