"""The reference pages of the documentation: examples are valid values, defaults are shown as a user writes them."""

from __future__ import annotations

import shlex
import tomllib

import pytest

from autocoder_jupyter.magics.options import OPTIONS
from autocoder_jupyter.settings.setting import Option
from tests.cases import each as each_case
from tools import reference

ALL = [pytest.param(option, id=option.name) for option in OPTIONS]


@each_case("option", ALL)
def test_an_option_has_an_example_that_it_takes(option: Option) -> None:
    assert bool(option.example) == option.takes_value
    assert reference.value_of(option) is not None


@each_case("option", [each for each in ALL if isinstance(each.values[0], Option) and each.values[0].is_setting])
def test_a_setting_is_shown_as_each_place_takes_it(option: Option) -> None:
    page = reference.pages()["settings.md"]
    part = page.partition(f"\n## `{option.name}`\n")[2].partition("\n## ")[0]
    value = reference.value_of(option)
    toml = part.partition("```toml\n")[2].partition("```")[0]
    assert option.checked(tomllib.loads(toml)["tool"]["autocode"][option.name]) == value
    if option.kind != "mapping":
        (_, assignment) = shlex.split(part.partition("```bash\n")[2].partition("```")[0])
        assert option.from_text(assignment.partition("=")[2]) == value


def test_every_option_has_a_heading() -> None:
    pages = reference.pages()
    headings = {line for page in pages.values() for line in page.splitlines() if line.startswith("## ")}
    for option in OPTIONS:
        assert (f"## `{option.name}`" if option.is_setting else f"## `{option.flags[-1]}`") in headings


def test_a_default_is_shown_as_a_user_writes_it() -> None:
    page = reference.pages()["settings.md"]
    part = page.partition("\n## `sandbox_minimum`\n")[2].partition("\n## ")[0]
    assert "default `any`" in part and "SandboxMinimum" not in part
