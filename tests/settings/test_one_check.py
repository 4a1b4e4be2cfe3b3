"""A setting is checked by the same rule, and refused with the same words, wherever it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from traitlets import TraitError

from autocoder_jupyter import AutoCoderAgent
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import read_flags
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.settings import Autocode, read_environment, read_lab, read_project
from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.settings.setting import Option
from tests.cases import each

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz"
HUGE = 10**5000

BAD: dict[str, tuple[Any, ...]] = {
    "text": ("", 3, "\ud800", KEY),
    "integer": (-1, 1.5, True, "many", HUGE * -1),
    "number": (0, -1, True, float("nan"), float("inf"), HUGE, "cheap"),
    "choice": ("nothing", 3, KEY, [], HUGE),
    "flag": ("maybe", 3, KEY, HUGE),
    "names": ("a b", [1], ["\ud800"], 3),
    "columns": ("a", [1], ["\ud800"], 3),
    "mapping": ("a", 3, KEY),
    "variable": ("no name", KEY, 3),
    "variables": (["no name"], [KEY], "A", 3),
    "size": ("4 gigs", True, 0, KEY, HUGE),
    "version": (3.12, "3", "2.7", KEY),
}
"""Values that no setting of a kind takes."""

OWN: dict[str, tuple[Any, ...]] = {
    "model": ("http://localhost:8000",),
    "second_model": ("https://example.org",),
    "api_base": ("localhost:8000", "ftp://example.org", "http://", f"https://me:{KEY}@example.org/v1"),
    "env_vars": ({"A": 3}, {"no name": "x"}, {"A": "\0"}),
    "packages": (["https://example.org/a.whl"], ["not a name"]),
    "max_iterations": (0,),
    "max_tokens": (0,),
}
TAKEN = {("system_prompt", KEY), ("log", KEY), ("packages_from", KEY), ("base_image", KEY)}
"""Texts of any kind, which are never sent as a key and never shown in an error."""

CASES = [
    (option, value)
    for option in SETTINGS.values()
    for value in (*BAD[option.kind], *OWN.get(option.name, ()))
    if not (isinstance(value, str) and (option.name, value) in TAKEN)
]


def _words(error: Exception) -> str:
    return str(error).split("\n")[0]


def _refused(option: Option, value: Any, called: str) -> str:
    with pytest.raises(InvalidRequest) as caught:
        option.checked(value, called)
    return caught.value.what


@each(("option", "value"), CASES, ids=[f"{option.name}-{number}" for number, (option, _) in enumerate(CASES)])
def test_a_wrong_value_is_refused_everywhere_in_the_same_words(option: Option, value: Any) -> None:
    said = _refused(option, value, "IT")
    assert said.startswith("IT") and KEY not in said and len(said) < 600

    traits: Any = Autocode()
    with pytest.raises(TraitError) as caught:
        setattr(traits, option.name, value)
    assert _words(caught.value) == said.replace("IT", f"Autocode.{option.name}", 1)
    assert traits.refused == {option.name: _words(caught.value)} and traits.given() == {}

    if value != "":  # in both forms, an empty text means "not set"
        assert read_lab({option.name: value}) == ({}, {option.name: said.replace("IT", option.name, 1)})

    record = RECORDS.get(option.field)
    if record is not None and record.name == option.name:
        with pytest.raises(InvalidRequest) as raised:
            AutoCoderAgent(**{option.name: value})
        assert raised.value.what == said.replace("IT", option.name, 1)
    assert KEY not in str(caught.value)


@each(
    ("name", "text"),
    [
        ("max_cost", "0"),
        ("max_cost", "nan"),
        ("max_cost", "cheap"),
        ("model", "http://localhost"),
        ("model", KEY),
        ("api_base", "localhost:8000"),
        ("api_base", KEY),
        ("share", "all"),
        ("memory", "4 gigs"),
        ("cpu", "0"),
        ("max_iterations", "0"),
        ("max_iterations", "x"),
        ("timeout", "soon"),
        ("packages", "https://example.org/a.whl"),
        ("api_key", KEY),
        ("secrets", KEY),
        ("python_version", "3"),
    ],
)
def test_a_wrong_text_is_refused_in_a_cell_a_file_and_the_environment_in_the_same_words(
    name: str, text: str, tmp_path: Path
) -> None:
    option = SETTINGS[name]
    with pytest.raises(InvalidRequest) as caught:
        option.from_text(text, "IT")
    said = caught.value.what
    assert KEY not in str(caught.value)
    with pytest.raises(InvalidRequest) as caught:
        read_environment({option.variable: text})
    assert caught.value.what == said.replace("IT", f"The environment variable {option.variable}", 1)
    if option.flags:
        flag = option.flags[-1]
        _, written = read_flags(["g", flag, text], {flag: option})
        error = written[0].error
        assert error is not None and error.what == said.replace("IT", flag, 1)
    if option.kind in ("text", "choice", "variable", "size", "version"):
        (tmp_path / "pyproject.toml").write_text(f'[tool.autocode]\n{name} = "{text}"\n')
        with pytest.raises(InvalidRequest) as caught:
            read_project(tmp_path)
        assert caught.value.what == said.replace("IT", name, 1) and KEY not in str(caught.value)
