"""The programs that the engine runs in the sandbox are files that can be imported and called here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.engine.programs import checker, matcher, program_text, stub
from autocoder_jupyter.kinds.table import KINDS


def test_constants_are_set_below_the_source() -> None:
    module: dict[str, Any] = {"__name__": "shipped"}
    exec(program_text("checker", EXPRESSIONS=["x == 'a\\n\"'"], SHOW_VALUES=False), module)
    assert module["run"](x='a\n"') == [{"passed": True, "message": ""}]


def test_a_check_says_what_it_is_and_no_more_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "EXPRESSIONS", ["x > 1", "x < 1", "y", "'a' * 100 == 'b'", "'a' * 100 and 0 * 'b'"])
    monkeypatch.setattr(checker, "LONGEST", 20)
    told = checker.run(x=2)
    assert [outcome["passed"] for outcome in told] == [True, False, False, False, False]
    assert told[0]["message"] == "" and told[1]["message"] == "it is False"
    assert told[2]["message"] == "NameError: name 'y' …(+14)"


def test_a_pattern_is_looked_for_at_the_start() -> None:
    assert [*matcher.run("a+", pd.Series(["aab", "ba", ""]))] == [True, False, False]


def test_every_type_has_a_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert stub.DEFAULTS.keys() | {"DataFrame"} == KINDS.keys()
    monkeypatch.setattr(stub, "OUTPUTS", [("DataFrame", [("a", "int64"), ("b", "no dtype")]), ("int", [])])
    table, number = stub.run(anything=1)
    assert [*table.dtypes.astype(str)] == ["int64", "float64"] and number == 0
    monkeypatch.setattr(stub, "OUTPUTS", [("str", [])])
    assert stub.run() == ""
