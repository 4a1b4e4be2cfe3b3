"""Checks of the arguments of `AutoCoderAgent`, `run()` and `as_task()`.

Each function takes the value as given and returns a frozen copy in canonical form. Its `InvalidRequest` names the
parameter. `%load_ext` imports this module, so pydantic is imported where a record is made of a dict.
"""

from __future__ import annotations

import datetime as dt
import difflib
import keyword
import math
import numbers
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.settings.choices import MinimumTier, SandboxMinimum
from autocoder_jupyter.untrusted.visible import hides, visible

if TYPE_CHECKING:
    from pydantic import BaseModel

    from autocoder_jupyter.types import ImageConfig, Resources, Secret

Model = TypeVar("Model", bound="BaseModel")

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PYTHON = re.compile(r"3\.\d{1,2}")
_LONGEST_QUOTE = 200
_LONGEST_REQUEST = 100_000

ADDRESS = r"https?://[^/@]+(?:/.*)?"
"""The address of a service, for Python and JavaScript; without a user or a password, because settings are files."""

_KEY_PREFIXES = ("sk-", "sk_", "gsk_", "xai-", "AIza", "hf_", "ghp_", "glpat-", "Bearer ")


def is_input_name(name: str) -> bool:
    """Whether a name is valid for an input, which is an argument, and no name of Python's own, as `__builtins__`."""
    is_special = name.startswith("__") and name.endswith("__")
    return name.isidentifier() and not keyword.iskeyword(name) and not hides(name) and not is_special


def is_output_name(name: str) -> bool:
    """Whether a name is valid for an output. It is also a file name, so it must not be hidden or contain a path, nor
    end with a dot or a blank, which Windows leaves out.
    """
    return re.fullmatch(r"\w(?:[\w.\- ]*[\w-])?", name) is not None and ".." not in name and not hides(name)


def looks_like_key(value: object) -> bool:
    """Whether a value begins as a key of a service does."""
    return isinstance(value, str) and value.strip().startswith(_KEY_PREFIXES)


def quoted(value: object) -> str:
    """A value for an error message. One that looks like a key is not repeated, because the message may be saved."""
    if looks_like_key(value):
        return "what is set, which looks like a key"
    try:
        shown = repr(value)
    except ValueError:  # Python refuses to convert an int with thousands of digits
        return "what is set"
    return shown if len(shown) <= _LONGEST_QUOTE else f"{shown[:_LONGEST_QUOTE]} …"


def seconds(parameter: str, value: float | dt.timedelta) -> float:
    """A positive, finite number of seconds, or a timedelta."""
    number = value.total_seconds() if isinstance(value, dt.timedelta) else value
    if not _is_finite(number) or number <= 0:
        raise InvalidRequest(f"{parameter} must be a number of seconds above 0, not {quoted(value)}.")
    return float(number)


def positive(parameter: str, value: Any) -> float:
    """A positive, finite number."""
    if not _is_finite(value) or value <= 0:
        raise InvalidRequest(f"{parameter} must be a number above 0, not {quoted(value)}.")
    return float(value)


def count(parameter: str, value: Any, *, least: int) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidRequest(f"{parameter} must be a whole number of at least {least}, not {quoted(value)}.")
    return int(value)


def flag(parameter: str, value: Any) -> bool:
    """True or False, and no other type."""
    if not isinstance(value, bool):
        raise InvalidRequest(f"{parameter} must be true or false, not {quoted(value)}.")
    return value


def positive_number(text: str) -> float:
    """A number of a command line.

    Raises:
        ValueError: it is none, or neither positive nor finite.
    """
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def text(parameter: str, value: Any) -> str:
    """A string that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidRequest(f"{parameter} must be a non-empty string, not {quoted(value)}.")
    require_unicode(parameter, value)
    return value


def request(parameter: str, value: Any) -> str:
    """The text of a request."""
    require_short(parameter, text(parameter, value))
    return str(value)


def require_short(what: str, value: str) -> None:
    """Refuse the text of a request that is probably data: every question to the model would repeat it, and be paid."""
    if len(value) > _LONGEST_REQUEST:
        raise InvalidRequest(
            f"{what} has {len(value):,} characters, and at most {_LONGEST_REQUEST:,} are sent.",
            why="Every question to the model would repeat them.",
            hint="Put data into a variable or a file, and refer to it with @name: the model gets a description.",
        )


def require_unicode(what: str, value: str) -> None:
    """Refuse a text that cannot be encoded for a file or a request."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{what} contains {value[error.start]!r}, which is invalid Unicode.") from None


def model(parameter: str, value: Any) -> str:
    """The name of a model. An address is refused: some providers would send the key to it."""
    if looks_like_key(text(parameter, value)):
        raise InvalidRequest(
            f"{parameter} takes the name of a model. What is set looks like a key, so it is not shown.",
            hint="Set the key as a variable before the notebook starts, and name the variable in api_key.",
        )
    if "://" in value:
        raise InvalidRequest(
            f"{parameter} takes the name of a model, not an address.",
            hint="Give the address in api_base, as with %config Autocode.api_base = …",
        )
    return str(value)


def folder(parameter: str, value: Any) -> Path:
    """A path; `~` is expanded."""
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise InvalidRequest(f"{parameter} must be the path of a folder, not {quoted(value)}.")
    return _local(parameter, value).expanduser()


def path(parameter: str, value: Any) -> str:
    """The path of a file."""
    return os.fspath(_local(parameter, text(parameter, value)))


def _local(parameter: str, value: str | os.PathLike[str]) -> Path:
    try:
        return local_path(value)
    except InvalidRequest as error:
        raise InvalidRequest(f"{parameter}: {error.what}", hint=error.hint) from None


def address(parameter: str, value: Any) -> str:
    """The address of a service."""
    if not isinstance(value, str) or not re.fullmatch(ADDRESS, value):
        raise InvalidRequest(
            f"{parameter} must be an address that begins with http:// or https://, without a user or a password.",
            why="What is set is not shown, because it may be a key.",
            hint=f'Write for instance {parameter}="http://localhost:8000/v1".',
        )
    return value


def choice(parameter: str, value: Any, allowed: Sequence[str]) -> Any:
    """One of some strings."""
    value = _of_flyte(parameter, value)
    if value not in allowed:
        raise InvalidRequest(
            f"{parameter} must be one of {', '.join(map(repr, allowed))}, not {quoted(value)}.",
            hint=suggestion(value, allowed) if isinstance(value, str) else "",
        )
    return value


def record(parameter: str, value: Model | Mapping[str, Any], kind: type[Model]) -> Model:
    """A pydantic record, or a dict of its fields."""
    from pydantic import ValidationError

    value = _of_flyte(parameter, value)
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{parameter} must be a {kind.__name__} or a dict of its fields, not {quoted(value)}.")
    unknown = [str(key) for key in value if key not in kind.model_fields]
    if unknown:
        raise InvalidRequest(
            f"{parameter} has no field {unknown[0]!r}.",
            hint=suggestion(unknown[0], kind.model_fields) or f"Fields: {', '.join(kind.model_fields)}.",
        )
    try:
        return kind.model_validate(dict(value))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InvalidRequest(f"{parameter}: {field}: {first['msg']}.") from None


def memory(parameter: str, value: Any) -> int | str:
    """A number of bytes, or a quantity such as `"512Mi"`."""
    from autocoder_jupyter.types import parse_memory

    try:
        if isinstance(value, int | str) and not isinstance(value, bool):
            parse_memory(value)
            return value
    except (ValueError, OverflowError):
        pass
    raise InvalidRequest(f"{parameter} must be an amount of memory such as 512Mi or 2Gi, not {quoted(value)}.")


def python_version(parameter: str, value: Any) -> str:
    """A version of Python as text."""
    if not isinstance(value, str) or not _PYTHON.fullmatch(value):
        raise InvalidRequest(f"{parameter} must be a Python version such as '3.12', as a string, not {quoted(value)}.")
    return value


def resources(parameter: str, value: Resources | Mapping[str, Any] | None) -> Resources:
    """Limits of a sandbox; None means the default ones."""
    from autocoder_jupyter.types import Resources

    limits = Resources() if value is None else record(parameter, value, Resources)
    memory(f"{parameter}.memory", limits.memory)
    return limits


def image_config(parameter: str, value: ImageConfig | Mapping[str, Any] | None) -> ImageConfig:
    """The base of Docker images; None means the default."""
    from autocoder_jupyter.types import ImageConfig

    image = ImageConfig() if value is None else record(parameter, value, ImageConfig)
    variable_name(f"{parameter}.registry_secret", image.registry_secret)
    return image


def env_vars(parameter: str, value: Mapping[str, str] | None) -> dict[str, str]:
    """Environment variables: names that a shell accepts, strings as values."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{parameter} must be a dict of strings, not {type(value).__name__}.")
    for key, content in value.items():
        if not isinstance(key, str) or not _VARIABLE.fullmatch(key):
            raise InvalidRequest(f"{parameter}: {key!r} is not the name of an environment variable.")
        if not isinstance(content, str):
            raise InvalidRequest(
                f"{parameter}: the value of {key} must be a string, not {type(content).__name__}.",
                hint=f"Write {key}=str(…).",
            )
        if "\0" in content:
            raise InvalidRequest(f"{parameter}: the value of {key} contains a NUL character.")
    return dict(value)


def secrets(parameter: str, value: Iterable[Secret | str] | None) -> tuple[Secret, ...]:
    """Secrets, by the name of their environment variable."""
    from autocoder_jupyter.types import Secret

    if value is None:
        return ()
    if isinstance(value, str | Secret | Mapping) or not isinstance(value, Iterable):
        raise InvalidRequest(f"{parameter} must be a list of variable names or Secret.", hint=f"Write {parameter}=[…].")
    found = []
    for item in value:
        secret = Secret(key=item) if isinstance(item, str) else _of_flyte(parameter, item)
        if not isinstance(secret, Secret):
            raise InvalidRequest(f"{parameter} must contain variable names or Secret, not {type(item).__name__}.")
        for name in (secret.key, secret.as_env_var or secret.key):
            _variable_name(parameter, name)
        found.append(secret)
    return tuple(found)


def variable_name(parameter: str, value: str | None) -> str | None:
    """The NAME of an environment variable. A value that looks like a key itself is refused and never shown."""
    return None if value is None else _variable_name(parameter, value)


def _variable_name(parameter: str, value: str) -> str:
    if looks_like_key(value) or not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        raise InvalidRequest(
            f"{parameter} takes the NAME of an environment variable, not its value.",
            why="A key in a notebook ends up in its file, its history and its exports.",
            hint=f'Set the variable before the notebook starts and write for instance {parameter}="OPENAI_API_KEY".',
        )
    return value


def variable_names(parameter: str, value: Any) -> tuple[str, ...]:
    """Names of environment variables."""
    return tuple(secret.key for secret in secrets(parameter, value))


def texts(parameter: str, value: Iterable[str] | None) -> tuple[str, ...]:
    """A list of strings. A single string is refused, because it would be read as a list of characters."""
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidRequest(
            f"{parameter} must be a list of strings.",
            hint="" if looks_like_key(value) else f"Write {parameter}=[{value!r}].",
        )
    items = tuple(value)
    for item in items:
        text(parameter, item)
    return items


def requirements(parameter: str, value: Iterable[str] | None) -> tuple[str, ...]:
    """Requirements by name and version. URLs and paths are refused: only wheels of the index are installed."""
    from packaging.requirements import InvalidRequirement, Requirement

    items = texts(parameter, value)
    for item in items:
        try:
            parsed = Requirement(item)
        except InvalidRequirement:
            raise InvalidRequest(
                f"{parameter}: {quoted(item)} is not a requirement.", hint="Write for instance 'scikit-learn>=1.5'."
            ) from None
        if parsed.url is not None:
            raise InvalidRequest(f"{parameter}: {quoted(item)} is a URL; give the distribution's name.")
    return items


SYSTEM = "apt:"
"""Prefix of Debian packages in a list of Python packages."""


def consents(parameter: str, value: Iterable[str] | None) -> tuple[str, ...]:
    """Requirements and Debian packages (`apt:libpq5`) that are approved in advance."""
    items = texts(parameter, value)
    requirements(parameter, [item for item in items if not item.startswith(SYSTEM)])
    return items


def sandbox_minimum(parameter: str, value: MinimumTier | SandboxMinimum) -> SandboxMinimum:
    """The weakest accepted sandbox, and where it is set."""
    if isinstance(value, SandboxMinimum):
        return value
    return SandboxMinimum(choice(parameter, value, get_args(MinimumTier)), by=f"{parameter}={value!r}")


def mapping(parameter: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """A dict with string keys, as a deep copy."""
    import copy

    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidRequest(f"{parameter} must be a dict with string keys.")
    return copy.deepcopy(dict(value))


def identifier(parameter: str, value: str) -> str:
    """A valid Python identifier."""
    if not isinstance(value, str) or not value.isidentifier():
        raise InvalidRequest(
            f"{parameter}: {quoted(value)} is not a valid Python name.", hint="Use letters, digits and _."
        )
    if keyword.iskeyword(value):
        raise InvalidRequest(f"{parameter}: {value!r} is a Python keyword.", hint=f"Call it {value}_.")
    return value


def suggestion(word: str, known: Collection[str]) -> str:
    """`Did you mean …?`, or "" if no name is similar."""
    near = difflib.get_close_matches(word, [name for name in known if name != word], n=1, cutoff=0.5)
    return f"Did you mean {visible(near[0])}?" if near else ""


def _of_flyte(parameter: str, value: Any) -> Any:
    """A record of Flyte as ours. Its module is imported only if there is one."""
    if type(value).__module__.partition(".")[0] != "flyte":
        return value
    from autocoder_jupyter.types.of_flyte import in_our_form

    key = getattr(value, "key", None) or getattr(value, "registry_secret", None)
    if looks_like_key(key):  # the name of a variable is made of it, in which nobody would see that
        variable_name(parameter, key)
    return in_our_form(parameter, value)


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an int that no float can hold
        return False
