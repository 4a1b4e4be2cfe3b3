from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from traitlets import TraitError

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.options import OPTIONS, SETTINGS
from autocoder_jupyter.magics.settings import Autocode, read_lab, resolve
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.settings.choices import SandboxMinimum
from autocoder_jupyter.trust import agree
from autocoder_jupyter.types import ImageConfig, Resources, Secret
from tests.cases import each


def write(folder: Path, table: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.autocode]\n{table}\n")


@each(
    ("flags", "traits", "toml", "environ", "value", "origin"),
    [
        pytest.param({"model": "f"}, {"model": "c"}, 'model = "p"', {"AUTOCODE_MODEL": "e"}, "f", "flag", id="flag"),
        pytest.param({}, {"model": "c"}, 'model = "p"', {"AUTOCODE_MODEL": "e"}, "c", "%config", id="config"),
        pytest.param({}, {}, 'model = "p"', {"AUTOCODE_MODEL": "e"}, "p", "pyproject.toml", id="pyproject"),
        pytest.param({}, {}, "", {"AUTOCODE_MODEL": "e"}, "e", "environment", id="environment"),
        pytest.param({}, {}, "", {"AUTOCODE_MODEL": ""}, AgentConfig().model, "default", id="default"),
    ],
)
def test_the_nearest_setting_wins(
    tmp_path: Path,
    flags: dict[str, Any],
    traits: dict[str, Any],
    toml: str,
    environ: dict[str, str],
    value: str,
    origin: str,
) -> None:
    write(tmp_path, toml)
    agree(tmp_path, resolve({}, {}, tmp_path, {}).permissions)
    settings = resolve(flags, traits, tmp_path, environ)
    assert (settings["model"], settings.origins["model"]) == (value, origin)


def test_jupyterlab_stands_between_pyproject_and_the_environment(tmp_path: Path) -> None:
    write(tmp_path, 'share = "stats"')
    environ = {"AUTOCODE_SHARE": "rows", "AUTOCODE_MODEL": "e"}
    settings = resolve({}, {}, tmp_path, environ, {"share": "rows", "model": "lab"})
    assert (settings["share"], settings.origins["share"]) == ("stats", "pyproject.toml")
    assert (settings["model"], settings.origins["model"]) == ("lab", "JupyterLab")


def test_what_jupyterlab_gives_is_checked_value_by_value() -> None:
    given = {"model": "", "max_cost": None, "sandbox": "local", "max_iterations": 3, "timeout": 5, "wait": False}
    assert read_lab(given) == ({"sandbox": "local", "max_iterations": 3, "timeout": 5.0, "wait": False}, {})
    usable, refused = read_lab({"modle": "x", "max_cost": "1", "share": ["rows"], "api_key": "sk-proj-1", "cpu": 1})
    assert usable == {"cpu": 1.0}
    assert refused == {
        "modle": "There is no setting 'modle'. Did you mean model?",
        "max_cost": "max_cost must be a number above 0, not '1'.",
        "share": "share must be one of 'rows', 'stats', 'schema', not ['rows'].",
        "api_key": "api_key takes the NAME of an environment variable, not its value.",
    }


def test_a_link_to_a_pyproject_is_followed_and_a_device_is_not_one(tmp_path: Path) -> None:
    write(tmp_path, 'share = "schema"')
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "pyproject.toml").symlink_to(tmp_path / "pyproject.toml")
    assert resolve({}, {}, tmp_path / "linked", {})["share"] == "schema"
    (tmp_path / "endless").mkdir()
    (tmp_path / "endless" / "pyproject.toml").symlink_to("/dev/zero")
    (tmp_path / "waiting").mkdir()
    os.mkfifo(tmp_path / "waiting" / "pyproject.toml")
    for place in ("endless", "waiting"):  # as if there were none: the file above it is used
        assert resolve({}, {}, tmp_path / place, {})["share"] == "schema"


def test_the_nearest_pyproject_upwards_counts(tmp_path: Path) -> None:
    write(tmp_path, 'share = "stats"')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert resolve({}, {}, inner, {})["share"] == "stats"
    write(tmp_path / "a", 'share = "schema"')
    assert resolve({}, {}, inner, {})["share"] == "schema"


@each(
    ("toml", "message"),
    [
        pytest.param("max_cots = 1", "Did you mean max_cost?", id="misspelled key"),
        pytest.param('max_cost = "1"', "must be a number above 0", id="text for a number"),
        pytest.param("max_cost = true", "must be a number above 0", id="bool for a number"),
        pytest.param('share = "row"', "must be one of 'rows'", id="unknown choice"),
        pytest.param('memory = "4 gigs"', "must be an amount of memory", id="no amount of memory"),
        pytest.param("memory = true", "must be an amount of memory", id="bool for memory"),
        pytest.param("cpu = 0", "must be a number above 0", id="no processor"),
        pytest.param("python_version = 3.12", "must be a Python version", id="number for a version"),
        pytest.param('secrets = ["not a name"]', "takes the NAME of an environment variable", id="secret for its name"),
        pytest.param("packages = [1]", "must be a non-empty string", id="list of numbers"),
        pytest.param("model = ", "cannot be read", id="no TOML"),
        pytest.param(f"max_cost = 0x{'f' * 9000}", "must be a number above 0", id="number without an end"),
        pytest.param(f"{'x' * 5000} = 1", f"There is no setting '{'x' * 60}'.", id="endless key"),
        pytest.param(f"packages = {'[' * 20_000}", "cannot be read", id="nested without an end"),
        pytest.param(f"# {' ' * 2**19}", "larger than", id="too large"),
    ],
)
def test_a_mistake_in_pyproject_is_an_error(tmp_path: Path, toml: str, message: str) -> None:
    write(tmp_path, toml)
    with pytest.raises(InvalidRequest) as caught:
        resolve({}, {}, tmp_path, {})
    assert message in str(caught.value)
    assert "pyproject.toml" in str(caught.value)


@each(
    ("variable", "text", "value"),
    [
        ("AUTOCODE_WAIT", "1", True),
        ("AUTOCODE_WAIT", "off", False),
        ("AUTOCODE_MAX_COST", "0.5", 0.5),
        ("AUTOCODE_PACKAGES", "a, b c", ("a", "b", "c")),
        ("AUTOCODE_MEMORY", "4Gi", "4Gi"),
        ("AUTOCODE_CPU", "2", 2.0),
        ("AUTOCODE_SECRETS", "DB_PASSWORD, DB_USER", ("DB_PASSWORD", "DB_USER")),
        ("AUTOCODE_PYTHON_VERSION", "3.12", "3.12"),
    ],
)
def test_the_environment_gives_text(tmp_path: Path, variable: str, text: str, value: object) -> None:
    write(tmp_path, "")
    assert resolve({}, {}, tmp_path, {variable: text})[variable.removeprefix("AUTOCODE_").lower()] == value


@pytest.mark.parametrize(("variable", "text"), [("AUTOCODE_WAIT", "maybe"), ("AUTOCODE_LITELLM_PARAMS", "{}")])
def test_a_mistake_in_the_environment_names_the_variable(tmp_path: Path, variable: str, text: str) -> None:
    write(tmp_path, "")
    with pytest.raises(InvalidRequest, match=variable):
        resolve({}, {}, tmp_path, {variable: text})


def test_traits_take_what_the_options_take() -> None:
    traits = Autocode(max_iterations=3, packages=["a"], max_cost=1)
    assert traits.given() == {"max_iterations": 3, "packages": ("a",), "max_cost": 1.0}


def test_a_refused_trait_keeps_the_old_value_and_is_remembered() -> None:
    traits: Any = Autocode(share="stats")
    with pytest.raises(TraitError, match="must be one of 'rows'"):
        traits.share = "row"
    assert (traits.share, traits.refused) == (
        "stats",
        {"share": "Autocode.share must be one of 'rows', 'stats', 'schema', not 'row'."},
    )
    traits.share = "rows"
    assert traits.refused == {}


def test_a_key_in_the_place_of_its_name_is_refused_and_not_repeated(tmp_path: Path) -> None:
    key = "sk-proj-0123456789"
    write(tmp_path, f'api_key = "{key}"')
    traits: Any = Autocode(api_key="MY_KEY")
    with pytest.raises(TraitError) as refused:
        traits.api_key = key
    with pytest.raises(InvalidRequest) as in_file:
        resolve({}, {}, tmp_path, {})
    with pytest.raises(InvalidRequest) as in_environment:
        resolve({}, {}, tmp_path.parent, {"AUTOCODE_API_KEY": key})
    for caught in (refused, in_file, in_environment):
        assert "the NAME of an environment variable" in str(caught.value)
        assert key not in str(caught.value)


def test_every_setting_reaches_the_engine(tmp_path: Path) -> None:
    write(tmp_path, "")
    flags = {"allow_network": True, "packages": ("a",), "max_seconds": 9.0, "share": "schema", "timeout": 7.0}
    limits = {"memory": "4Gi", "cpu": 2.0, "secrets": ("DB",), "python_version": "3.12", "base_image": "debian"}
    config = resolve({**flags, **limits}, {}, tmp_path, {}).agent_config()
    assert config == AgentConfig(
        block_network=False,
        base_packages=("a",),
        approved_packages=("a",),
        max_seconds=9.0,
        share="schema",
        timeout=7.0,
        resources=Resources(cpu=2.0, memory="4Gi"),
        secrets=(Secret(key="DB"),),
        image_config=ImageConfig(python_version=(3, 12), base_image="debian"),
    )


def test_the_table_of_options_is_consistent() -> None:
    flags = [flag for option in OPTIONS for flag in option.flags]
    fields = {field.name for field in dataclasses.fields(AgentConfig)}
    assert len(set(flags)) == len(flags)
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)
    assert {option.field.partition(".")[0] for option in SETTINGS.values() if option.field} <= fields
    assert all(option.flags for option in OPTIONS if not option.is_setting)
    assert all(bool(option.choices) == (option.kind == "choice") for option in OPTIONS)


def test_what_is_done_again_meets_what_is_demanded_by_now() -> None:
    job: Any = SimpleNamespace(config=AgentConfig(sandbox_minimum=SandboxMinimum("full", "the cell")))
    for now, held in (("docker", "docker"), ("landlock", "full"), (None, "full")):
        again = Notebook(SimpleNamespace(), Autocode(sandbox_minimum=now)).config_again(job)
        assert again.sandbox_minimum.tier == held
