"""Where a setting comes from: flag, then `%config`, pyproject.toml, JupyterLab's page, environment, default."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traitlets import TraitError, TraitType
from traitlets.config import Configurable

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.options import SETTINGS, Option
from autocoder_jupyter.magics.suggestions import did_you_mean

if TYPE_CHECKING:
    from autocoder_jupyter.request import AgentConfig


class _Setting(TraitType[Any, Any]):
    """A trait made from an option. None means *not set here*."""

    allow_none = True
    default_value = None

    def __init__(self, option: Option) -> None:
        super().__init__(help=f"{option.help}. {option.expects[0].upper()}{option.expects[1:]}.")
        self.option = option
        self.info_text = option.expects

    def validate(self, obj: Any, value: Any) -> Any:
        """Refuse what the option does not take, and remember it: `%config` reports a refusal in passing only."""
        try:
            checked = self.option.check(value)
        except ValueError:
            obj.refused[self.option.name] = value
            raise TraitError(
                f"Autocode.{self.option.name} takes {self.option.expects}, not {self.option.quoted(value)}"
            ) from None
        obj.refused.pop(self.option.name, None)
        return checked


class AutocodeTraits(Configurable):
    """Settings of %%autocode, for this notebook. None means that pyproject.toml, environment or default decide."""

    def __init__(self, **kwargs: Any) -> None:
        self.refused: dict[str, Any] = {}
        super().__init__(**kwargs)

    def given(self) -> dict[str, Any]:
        """The settings that are set here."""
        values = {name: getattr(self, name) for name in SETTINGS}
        return {name: value for name, value in values.items() if value is not None}


Autocode: type[AutocodeTraits] = type(
    "Autocode",
    (AutocodeTraits,),
    {
        "__doc__": AutocodeTraits.__doc__,
        "__module__": __name__,
        **{option.name: _Setting(option).tag(config=True) for option in SETTINGS.values()},
    },
)
"""One trait a setting, so that `%config Autocode.share = "stats"` works, and completes."""


@dataclass(frozen=True)
class Settings:
    """What holds for one cell: each setting's value, and where it comes from ("flag", "%config" …)."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def agent_config(self) -> AgentConfig:
        """The same as the engine takes it, checked as an agent's settings are.

        Raises:
            InvalidRequest: a value that a setting cannot have.
        """
        from autocoder_jupyter.agent.settings import agent_config
        from autocoder_jupyter.types import ImageConfig, Resources

        values = self.values
        major, _, minor = (values["python_version"] or "").partition(".")
        python_version = (int(major), int(minor)) if minor else None
        plain = [option for option in SETTINGS.values() if option.field and "." not in option.field]
        fields = {option.field: values[option.name] for option in plain}
        fields["secrets"] = tuple(values["secrets"])
        return agent_config(
            **fields,
            resources=Resources(cpu=values["cpu"], memory=values["memory"]),
            image_config=ImageConfig(python_version=python_version, base_image=values["base_image"]),
            block_network=not values["allow_network"],
            approved_packages=tuple(values["packages"]),
        )


def resolve(
    flags: Mapping[str, Any],
    traits: Mapping[str, Any],
    folder: Path,
    environ: Mapping[str, str],
    lab: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings that hold.

    Args:
        flags: what the cell gives.
        traits: what `%config` gives.
        folder: where the search for the nearest pyproject.toml begins, upwards.
        environ: environment variables.
        lab: what JupyterLab's settings page gives, checked.

    Raises:
        InvalidRequest: pyproject.toml or the environment give something that cannot be used.
    """
    layers = (
        ("flag", flags),
        ("%config", traits),
        ("pyproject.toml", read_pyproject(folder)),
        ("JupyterLab", lab or {}),
        ("environment", read_environment(environ)),
        ("default", defaults()),
    )
    values, origins = {}, {}
    for name in SETTINGS:
        origins[name], values[name] = next((origin, layer[name]) for origin, layer in layers if name in layer)
    return Settings(values, origins)


def defaults() -> dict[str, Any]:
    """What holds when nobody says anything; those of `AgentConfig`, and False for the rest."""
    from autocoder_jupyter.request import AgentConfig

    config = AgentConfig()
    return {option.name: attrgetter(option.field)(config) if option.field else False for option in SETTINGS.values()}


def read_pyproject(folder: Path) -> dict[str, Any]:
    """`[tool.autocode]` of the nearest pyproject.toml that can be reached upwards from a folder.

    Raises:
        InvalidRequest: the file is not TOML, or a key or a value of the table is wrong. A misspelled limit must not
            be a limit that silently does not hold.
    """
    path = next((place / "pyproject.toml" for place in (folder, *folder.parents) if _is_file(place)), None)
    if path is None:
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("autocode", {})
    except (OSError, ValueError) as error:
        raise InvalidRequest("pyproject.toml cannot be read.", why=f"{path}: {error}") from None
    where = f"[tool.autocode] in {path}"
    if not isinstance(table, dict):
        raise InvalidRequest(f"{where} is not a table.")
    values = {}
    for key, value in table.items():
        option = SETTINGS.get(key)
        if option is None:
            raise InvalidRequest(
                f"There is no setting {key!r}.", why=f"It stands under {where}.", hint=did_you_mean(key, SETTINGS)
            )
        try:
            values[key] = option.check(value)
        except ValueError:
            raise InvalidRequest(
                f"{key} takes {option.expects}, not {option.quoted(value)}.", why=f"It stands under {where}."
            ) from None
    return values


def read_lab(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings that JupyterLab's settings page gives; None and "" give nothing.

    Returns:
        What can be used, by name; and of what cannot, one sentence each. A page cannot be made to fail as a cell can,
        and one wrong value must not take the others with it.
    """
    usable, refused = {}, {}
    for name, value in values.items():
        if value is None or value == "":
            continue
        option = SETTINGS.get(name)
        if option is None:
            refused[name] = f"There is no setting {name!r}. {did_you_mean(name, SETTINGS)}".strip()
            continue
        try:
            usable[name] = option.check(value)
        except (ValueError, TypeError):
            refused[name] = f"{name} takes {option.expects}, not {option.quoted(value)}."
    return usable, refused


def read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings that `AUTOCODE_…` variables give; an empty one gives nothing.

    Raises:
        InvalidRequest: a value cannot be used.
    """
    values = {}
    for option in SETTINGS.values():
        text = environ.get(option.variable, "")
        if not text:
            continue
        try:
            values[option.name] = option.from_text(text)
        except ValueError:
            raise InvalidRequest(
                f"The environment variable {option.variable} takes {option.expects}, not {option.quoted(text)}."
            ) from None
    return values


def _is_file(folder: Path) -> bool:
    try:
        return (folder / "pyproject.toml").is_file()
    except OSError:
        return False
