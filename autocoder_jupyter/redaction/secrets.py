"""Remove the values of secrets and environment variables from messages: a program can print or raise them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.redaction.masking import Masker

SHORTEST = 4
"""A shorter value of a variable is not removed: `1` or `UTC` occurs in many texts and is not private."""


def hidden_values(secrets: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """The values to remove, by name: all secrets, and variables whose value could be a secret."""
    return {name: value for name, value in variables.items() if len(value) >= SHORTEST} | dict(secrets)


def without_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """The text with `<NAME>` instead of each value, also if `repr` has escaped it."""
    written = [(form, name) for name, value in secrets.items() for form in {value, repr(value)[1:-1]} if form]
    for form, name in sorted(written, key=lambda item: -len(item[0])):  # one value may contain another
        text = text.replace(form, f"<{name}>")
    return text


def redact(error: AutocodeError, secrets: Mapping[str, str]) -> None:
    """Remove the values from all texts of an error."""
    _change(error, lambda text: without_secrets(text, secrets))


def without_anything_secret(error: AutocodeError) -> None:
    """Mask what looks like a key or a password in all texts of an error, whoever it belongs to."""
    masker = Masker()
    _change(error, lambda text: masker.mask(text, secrets_only=True))


def _change(error: AutocodeError, change: Callable[[str], str]) -> None:
    for attribute, content in vars(error).items():
        if isinstance(content, str):
            setattr(error, attribute, change(content))
    error.args = (error.what, error.why, error.hint)
