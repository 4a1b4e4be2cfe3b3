from __future__ import annotations

import logging
import re
import time
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter

from autocoder_jupyter import magics

CURSOR = "|"
OURS = re.compile("(option|value|type|subcommand|word|provider|model)$|DataFrame|result, ")


def offered(shell: Any, text: str) -> list[tuple[str, str]]:
    """The completions of a front end at the bar: texts, applied to the text before the cursor, and types."""
    offset = text.index(CURSOR)
    cell = text.replace(CURSOR, "")
    with provisionalcompleter():
        return [(cell[: c.start] + c.text, c.type) for c in shell.Completer.completions(cell, offset)]


def completed(shell: Any, text: str) -> list[str]:
    """The completions of this package; without any, IPython's are offered too."""
    return [word for word, kind in offered(shell, text) if OURS.match(kind)]


@pytest.fixture
def frames(shell: Any) -> None:
    shell.run("import pandas as pd; sales = pd.DataFrame(); sales_2024 = pd.DataFrame(); limit = 5")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "%%autocode g --max|\n",
            [f"%%autocode g --max-{what}" for what in ("cost", "iterations", "tokens")],
            id="flag",
        ),
        pytest.param(
            "%%autocode g --share s|\n", ["%%autocode g --share stats", "%%autocode g --share schema"], id="value"
        ),
        pytest.param("%%autocode g --sec|\n", [], id="no former spelling"),
        pytest.param(
            "%%autocode g --effort |\n",
            [f"%%autocode g --effort {effort}" for effort in ("none", "quick", "normal", "high")],
            id="values that only a cell has",
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
        pytest.param(
            "%autocode versions growth re|",
            [f"%autocode versions growth {change}" for change in ("restore", "remove", "rename")],
            id="word behind a name",
        ),
        pytest.param(
            "%autocode setup |", ["%autocode setup check", "%autocode setup settings"], id="word without a name"
        ),
        pytest.param("%autocode show gro|", ["%autocode show growth"], id="name"),
        pytest.param("%autocode show growth --co|", ["%autocode show growth --code"], id="flag of a subcommand"),
        pytest.param("%%autocode g -m mis|\n", ["%%autocode g -m mistral/"], id="provider"),
    ],
)
@pytest.mark.usefixtures("frames")
def test_what_is_offered_at_the_cursor(text: str, expected: list[str], shell: Any) -> None:
    shell.run("%%autocode growth\nTotal of @sales")
    assert completed(shell, text) == expected


def test_the_code_of_the_user_is_offered_and_that_of_libraries_is_not(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "finance.py").write_text("RATE = 0.19\n")
    shell.run(f"import sys; sys.path.insert(0, {str(tmp_path)!r})")
    shell.run(
        "import finance, json as f_json\nfrom functools import lru_cache as f_cache\nfrom json import dumps as f_dumps"
    )
    shell.run("def f_net(x): return x\nclass f_Rate: pass\nf_total = sum\nf_number = 5")
    shell.run("%%autocode f_growth\nTotal")  # it runs, so it is not verified
    assert offered(shell, "%%autocode g\nwith @f|") == [
        ("%%autocode g\nwith @finance", "module"),
        ("%%autocode g\nwith @f_net", "function"),
        ("%%autocode g\nwith @f_Rate", "class"),
    ]


def test_a_value_that_cannot_be_looked_at_leaves_the_others(shell: Any) -> None:
    shell.run("def f_loop(): pass\nf_loop.__wrapped__ = f_loop")
    shell.run("import types; f_nameless = types.ModuleType('x'); f_nameless.__name__ = 5")
    assert offered(shell, "%%autocode g\nwith @f|") == [("%%autocode g\nwith @f_loop", "function")]


def test_other_cells_are_left_alone(shell: Any) -> None:
    assert completed(shell, "x = 'sa|'") == completed(shell, "@sal|") == []


def test_models_are_offered_by_provider(shell: Any) -> None:
    names = completed(shell, "%%autocode g -m openai/gpt-4.1|\n")
    assert "%%autocode g -m openai/gpt-4.1" in names and "%%autocode g -m openai/gpt-4.1-mini" in names
    shell.run("%config Autocode.model = 'openrouter/some/thing'")
    assert completed(shell, "%%autocode g -m openr|\n")[0] == "%%autocode g -m openrouter/some/thing"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("%%autocode g\n@sal|", "DataFrame 2 × 2: price float64, amount int64"),
        ("%%autocode g -s sal|\n", "DataFrame 2 × 2: price float64, amount int64"),
        ("%%autocode g --timeo|\n", "option"),
        ("%%autocode g --share r|\n", "value"),
        ('%%autocode g -o "m: Da|', "type"),
        ("%autocode sta|", "subcommand"),
        ("%autocode show gro|", "result, running"),
    ],
)
def test_the_type_says_what_a_word_is(shell: Any, text: str, kind: str) -> None:
    shell.run("import pandas as pd; sales = pd.DataFrame({'price': [1.0, 2.0], 'amount': [1, 2]})")
    shell.run("%%autocode growth\nTotal of @sales")
    assert [kind for _, kind in offered(shell, text)] == [kind]


def test_what_is_used_most_is_offered_first(shell: Any) -> None:
    offers = [word.rpartition(" ")[2] for word in completed(shell, "%%autocode g -|\n")]
    assert offers[:8] == ["-o", "--output", "-c", "--constraint", "--check", "--example", "-m", "--model"]
    assert offers.index("--package") < offers.index("--input") < offers.index("--wait") < offers.index("--timeout")
    assert completed(shell, "%autocode |")[:2] == ["%autocode status", "%autocode show"]


def test_a_terminal_shows_a_line_on_each(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "kernel", None)
    assert offered(shell, "%%autocode g --max-c|\n") == [("%%autocode g --max-cost", "maximum cost in US dollars")]
    assert offered(shell, "%autocode stat|") == [("%autocode status", "list running and finished generations")]
    assert offered(shell, "%autocode show g --cod|") == [("%autocode show g --code", "only the code")]


def wait_for_preparation(jobs: Any) -> list[tuple[str, str]]:
    deadline = time.monotonic() + 60
    while not jobs.prepared and time.monotonic() < deadline:
        time.sleep(0.01)
    return list(jobs.prepared)


def test_who_writes_a_cell_has_ready_what_it_needs(shell: Any, jobs: Any) -> None:
    completed(shell, "x = 'sa|'")
    completed(shell, "%autocode sta|")
    assert not magics._registered[id(shell)][0].notebook.prepared.is_set()
    shell.run("%config Autocode.model = 'openai/mine'")
    completed(shell, "%%autocode g --max|\n")
    completed(shell, "%%autocode g --max-c|\n")
    once_and_not_on_the_thread_of_cells = [("openai/mine", "autocode-prepare")]
    assert wait_for_preparation(jobs) == once_and_not_on_the_thread_of_cells


def test_what_cannot_be_prepared_is_said_by_the_cell_that_runs(
    shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(jobs, "prepare", lambda model: 1 / 0)
    with caplog.at_level(logging.INFO):
        assert completed(shell, "%%autocode g --max-c|\n")
        deadline = time.monotonic() + 60
        while "nothing could be prepared" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "nothing could be prepared" in caplog.text
