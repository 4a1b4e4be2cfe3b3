from __future__ import annotations

from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter

CURSOR = "|"


def completed(shell: Any, text: str) -> list[str]:
    """What a front end would offer at the bar: the texts, applied to what stands before the cursor."""
    offset = text.index(CURSOR)
    cell = text.replace(CURSOR, "")
    with provisionalcompleter():
        return [cell[: c.start] + c.text for c in shell.Completer.completions(cell, offset) if c.type == "autocode"]


@pytest.fixture
def frames(shell: Any) -> None:
    shell.run("import pandas as pd; sales = pd.DataFrame(); sales_2024 = pd.DataFrame(); limit = 5")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("%%autocode g --max|\n", ["%%autocode g --max-iterations", "%%autocode g --max-cost"], id="flag"),
        pytest.param(
            "%%autocode g --share s|\n", ["%%autocode g --share stats", "%%autocode g --share schema"], id="value"
        ),
        pytest.param("%%autocode g --share=r|\n", ["%%autocode g --share=rows"], id="value after an equals sign"),
        pytest.param('%%autocode g -o "m: Da|', ['%%autocode g -o "m: DataFrame'], id="type of an output"),
        pytest.param('%%autocode g -i "m: Fig|', [], id="no figures as inputs"),
        pytest.param("%%autocode g -s sal|\n", ["%%autocode g -s sales", "%%autocode g -s sales_2024"], id="sample"),
        pytest.param("%%autocode g --wait --wai|\n", [], id="a flag is offered once"),
        pytest.param("%%autocode g\n--sandbox do|\nx", ["%%autocode g\n--sandbox docker"], id="option line"),
        pytest.param(
            "%%autocode g\njoin @sal|", ["%%autocode g\njoin @sales", "%%autocode g\njoin @sales_2024"], id="reference"
        ),
        pytest.param("%%autocode g\nme@sal|", [], id="mail address"),
        pytest.param("%%autocode g\n@li|", [], id="no reference to a number"),
        pytest.param("%autocode sta|", ["%autocode status"], id="subcommand"),
        pytest.param("%autocode show gro|", ["%autocode show growth"], id="name"),
        pytest.param("%autocode show growth --co|", ["%autocode show growth --code"], id="flag of a subcommand"),
        pytest.param("x = 'sa|'", [], id="other cells are left alone"),
    ],
)
@pytest.mark.usefixtures("frames")
def test_what_is_offered_at_the_cursor(text: str, expected: list[str], shell: Any) -> None:
    shell.run("%%autocode growth\nWords")
    assert completed(shell, text) == expected
