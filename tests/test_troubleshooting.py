"""Every error for users has a section in *Troubleshooting*, and its name leads there."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from autocoder_jupyter import errors
from autocoder_jupyter.version import DOCUMENTATION

ROOT = Path(__file__).parents[1]
KINDS = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, Exception)]


def test_every_kind_of_error_has_its_part_and_no_part_is_about_another() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == sorted(
        kind.__name__ for kind in KINDS if kind is not errors.AutocodeError
    )
    assert sorted(errors.kinds()) == sorted(kind.__name__ for kind in KINDS if kind is not errors.AutocodeError)


def test_a_notebook_shows_an_error_without_an_address_and_once() -> None:
    error = errors.SandboxUnavailable("No sandbox works here.", why="There is no engine.", hint="Start one.")
    assert error._render_traceback_() == [
        "SandboxUnavailable: No sandbox works here.",
        "  There is no engine.",
        "  Start one.",
    ]
    assert str(error).splitlines() == ["No sandbox works here.", "There is no engine.", "Start one."]
    below = error.below_its_card()
    assert below._render_traceback_() == ["SandboxUnavailable: No sandbox works here."]
    assert (str(below), type(below), error.is_shown) == (str(error), type(error), False)


@pytest.mark.parametrize("name", errors.kinds())
def test_the_name_of_an_error_says_what_it_means_and_where_more_is(name: str) -> None:
    meaning, address = errors.explanation(name).splitlines()
    assert meaning.startswith(f"{name}: ") and meaning.endswith(".")
    assert address == f"  {DOCUMENTATION}/troubleshooting.html#{name.lower()}"


def test_the_address_of_the_documentation_is_the_projects() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert urls["Documentation"] == DOCUMENTATION
