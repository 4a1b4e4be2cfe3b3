"""The records of kinds of values are complete, and are used everywhere."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest

from autocoder_jupyter.codec import encode
from autocoder_jupyter.codec.values import KINDS as CROSSING
from autocoder_jupyter.engine.plan import meant_type
from autocoder_jupyter.engine.tests import stub_program
from autocoder_jupyter.kinds.table import KINDS, type_name
from autocoder_jupyter.kinds.values import REFUSED, TypeName
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.tasks import command_line
from autocoder_jupyter.types import CodePlan, Dir, Figure, File, OutputSpec
from tests.cases import each

VALUES: dict[TypeName, Any] = {
    "str": "a",
    "int": 3,
    "float": 2.5,
    "bool": True,
    "datetime": dt.datetime(2025, 1, 31, 13, 30),
    "date": dt.date(2025, 1, 31),
    "timedelta": dt.timedelta(days=1, seconds=3),
    "File": File("a.csv"),
    "Dir": Dir("data"),
    "DataFrame": pd.DataFrame({"a": [1]}),
    "Series": pd.Series([1]),
    "dict": {"a": 1},
    "list": [1],
    "Figure": Figure(b"", 1, 1),
}


def test_every_kind_has_a_record_and_a_way_into_the_sandbox() -> None:
    assert tuple(KINDS) == get_args(TypeName)
    assert set(CROSSING) == set(KINDS)


@each("name", KINDS)
def test_a_kind_is_found_by_its_class_its_name_and_what_models_call_it(name: TypeName) -> None:
    kind = KINDS[name]
    assert type_name(kind.python_type) == type_name(name) == name
    assert isinstance(VALUES[name], kind.python_type)
    assert {meant_type(word).name for word in kind.words.split()} == {name}


@each("name", KINDS)
def test_a_kind_accepts_its_own_values_and_no_others(name: TypeName) -> None:
    also = {"float": {"int"}}.get(name, set())
    accepted = {other for other, value in VALUES.items() if KINDS[name].accept(value) is not REFUSED}
    assert accepted == ({name} | also if KINDS[name].is_input else set())


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.from_iso])
def test_a_default_in_iso_text_is_the_same_value_here_and_in_the_solution(name: TypeName) -> None:
    kind = KINDS[name]
    assert kind.from_iso is not None
    text = kind.from_iso({"timedelta": "P1DT3S"}.get(name) or VALUES[name].isoformat())
    assert kind.takes_json(text) and kind.from_json(text) == VALUES[name]
    assert eval(kind.source(text), {"datetime": dt}) == VALUES[name]


@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.parametrize("name", [name for name in KINDS if name != "Figure"])
def test_what_a_stub_returns_crosses_as_that_kind(
    name: TypeName, is_empty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = CodePlan(description="", approach="", outputs=(OutputSpec(name="made", type=name),))
    program = stub_program(plan, Program("", (), plan.outputs), is_empty=is_empty)
    module: dict[str, Any] = {}
    exec(program.code, module)
    assert encode(module["run"](), name).header["type"] == name


def test_every_input_can_be_given_on_the_command_line_of_a_script() -> None:
    plain = {"str", "int", "float"}
    for name, kind in KINDS.items():
        assert not kind.is_input or kind.reader in command_line.functions().keys() | plain, name
        assert kind.metavar or not kind.is_input or name == "bool"  # --flag and --no-flag take nothing


def test_the_records_are_light() -> None:
    script = "import sys, autocoder_jupyter.kinds.table; print({'pydantic', 'pandas', 'numpy'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "set()\n"
