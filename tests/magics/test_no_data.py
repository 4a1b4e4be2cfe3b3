"""Requests that name tables without an at sign, or pass no data: one question before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import OutputSpec, Report


@pytest.fixture
def sales(shell: Any) -> None:
    shell.run("import pandas as pd; sales = pd.DataFrame({'a': [1, 2]})")


each_answer = pytest.mark.parametrize(("word", "submitted"), [("yes", 1), ("", 0), ("no", 0)])
"""What the user types, and how many requests are sent."""


def answers(monkeypatch: pytest.MonkeyPatch, word: str) -> list[str]:
    """The user types a word at each prompt. The prompts are collected."""
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt: asked.append(prompt) or word)
    return asked


@pytest.mark.usefixtures("sales")
@each_answer
def test_a_request_without_data_in_a_notebook_with_tables_asks_before_it_costs(
    shell: Any,
    jobs: Any,
    word: str,
    submitted: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = answers(monkeypatch, word)
    result = shell.run_cell("%%autocode growth\nMonthly revenue of sales.")
    assert len(asked) == 1 and len(jobs.submitted) == submitted and result.success == bool(submitted)
    printed = capsys.readouterr().out
    assert "The request of growth passes no data, and the notebook has sales." in printed
    assert asked[0].startswith("Use sales (") and " rows)? Type yes" in asked[0]
    if submitted:
        (request,) = [job.request for job in jobs.submitted]
        assert request.prompt == "Monthly revenue of @sales." and list(request.samples) == ["sales"]


@pytest.mark.usefixtures("sales")
@pytest.mark.parametrize(
    ("prose", "word", "prompt"),
    [
        ("Revenue of the Sales table.", "yes", "Revenue of the @sales table."),
        ("Revenue of sales.", "without", "Revenue of sales."),
        ("The first ten primes.", "yes", "The first ten primes."),
        ("The first ten primes.", "without", ""),
    ],
)
def test_the_answer_decides_what_is_passed(
    shell: Any, jobs: Any, prose: str, word: str, prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, word)
    shell.run_cell(f"%%autocode growth\n{prose}")
    assert len(asked) == 1 and [job.request.prompt for job in jobs.submitted] == [prompt] * bool(prompt)


@pytest.mark.usefixtures("sales")
def test_without_a_user_the_line_to_write_has_the_at_signs(
    shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocoder_jupyter.magics.notebook.Notebook.is_headless", True)
    with pytest.raises(InvalidRequest, match="passes no data") as caught:
        shell.run("%%autocode growth\nRevenue of the sales table.")
    assert caught.value.hint.splitlines()[0] == "Write it so: Revenue of the @sales table."
    assert jobs.submitted == []


@pytest.mark.usefixtures("sales")
def test_without_a_user_a_request_without_data_is_refused_with_the_line_to_write(
    shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocoder_jupyter.magics.notebook.Notebook.is_headless", True)
    with pytest.raises(InvalidRequest, match="passes no data") as caught:
        shell.run("%%autocode growth\nMonthly revenue.")
    assert "Write @sales in the request to pass it." in str(caught.value) and '-i "text: str"' in str(caught.value)
    assert jobs.submitted == []


@pytest.mark.usefixtures("sales")
@pytest.mark.parametrize(
    "cell",
    [
        '%%autocode growth -i "text: str"\nThe digits of text.',
        "%%autocode growth\nTotal of @sales.",
        "%%autocode growth -s data=sales\nThe total.",
        "%%autocode growth --dry-run\nThe total.",
    ],
)
def test_a_request_with_data_or_inputs_and_a_preview_ask_nothing(
    shell: Any, cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, "no")
    assert shell.run_cell(cell).success and asked == []


def recorded(here: Path, name: str, prompt: str, version: str, **values: Any) -> None:
    """A version of a function is recorded."""
    journal = Journal(here / ".autocode", name)
    journal.begin(version)
    journal.write_report(Report(name=name, run_id=journal.run_id, prompt=prompt, success=True, **values))


@pytest.mark.usefixtures("sales")
def test_a_request_that_is_recorded_is_not_asked_about_again(
    shell: Any, jobs: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(here, "growth", "The total.", "a")
    recorded(here, "revenue", "Revenue of @sales.", "a", sample_schemas={"sales": {}})
    asked = answers(monkeypatch, "no")
    shell.run("%%autocode growth\nThe total.")
    shell.run("%%autocode revenue\nRevenue of sales.")
    assert asked == [] and len(jobs.submitted) == 2
    assert jobs.last.request.prompt == "Revenue of @sales." and list(jobs.last.request.samples) == ["sales"]


@pytest.fixture
def stores(shell: Any, sales: Any) -> None:
    """Two tables, and others of which names could be meant."""
    shell.run(
        "stores = pd.DataFrame({'shop': [1, 2], 'region': ['N', 'S']}); monthly = stores.copy(); orders = sales.copy()"
        "; same = sales; df_sales = sales.copy(); total_paid = sales['a'].rename('total')"
    )


@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize(
    ("word", "prompt"),
    [
        ("yes", "Join @sales with the @stores table."),
        ("no", "Join @sales with the stores table."),
        ("", ""),
        ("what", ""),
    ],
)
def test_a_table_that_is_named_beside_passed_data_is_asked_about_before_it_costs(
    shell: Any, jobs: Any, word: str, prompt: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = answers(monkeypatch, word)
    result = shell.run_cell("%%autocode growth\nJoin @sales with the stores table.")
    assert asked == ["Use stores (2 rows) too? Type yes, no (run the cell as it is) or nothing (stop): "]
    assert "The request of growth names stores and does not pass it." in capsys.readouterr().out
    assert [job.request.prompt for job in jobs.submitted] == [prompt] * bool(prompt) and result.success == bool(prompt)
    assert [list(job.request.samples) for job in jobs.submitted] == [
        ["sales", "stores"][: 1 + (word == "yes")] for _ in range(bool(prompt))
    ]


@pytest.mark.usefixtures("stores")
def test_without_a_user_a_table_that_is_named_with_certainty_is_refused_with_the_line_to_write(
    shell: Any, jobs: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocoder_jupyter.magics.notebook.Notebook.is_headless", True)
    with pytest.raises(InvalidRequest, match="names stores and does not pass it") as caught:
        shell.run("%%autocode growth\nJoin @sales with the stores table.")
    assert "Write it so: Join @sales with the @stores table." in caught.value.hint and jobs.submitted == []
    assert "use another word" in caught.value.hint
    recorded(here, "growth", "Join @sales with the stores table.", "a")
    jobs.ending = lambda job: job.end()  # a cell without a user waits
    shell.run("%%autocode growth\nJoin @sales with the stores table.")
    assert len(jobs.submitted) == 1


@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize(
    "cell",
    [
        "%%autocode growth\nJoin @sales with stores.",  # a word, which may mean something else
        "%%autocode growth\nRevenue of @sales as a stores table.",
        '%%autocode growth -o "stores: DataFrame"\nRevenue of @sales, by store. The stores table is sorted.',
        '%%autocode growth -i "stores: DataFrame"\nJoin @sales with the stores table.',
        "%%autocode stores_\nRevenue of @sales. Sort the table of stores_.",
        "%%autocode growth -s data=stores\nJoin @sales with data. The stores table has the region.",
        '%%autocode growth --example "sales=@sales -> @stores"\nRevenue of @sales, like the stores table.',
        "%%autocode growth --rename stores=a -s data=sales\nRevenue of the stores table.",
        "%%autocode growth\nRevenue of @sales. The same table has refunds.",  # another name of what is passed
        "%%autocode growth\nRevenue of @df_sales. The sales table has refunds.",
        "%%autocode growth\nRevenue of @sales, from total_paid.",  # a Series has the name of a column
        "%%autocode growth --dry-run\nJoin @sales with the stores table.",
    ],
)
def test_what_is_passed_made_or_only_a_word_is_not_asked_about(
    shell: Any, cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, "")
    assert shell.run_cell(cell).success and asked == []


@pytest.mark.usefixtures("stores")
def test_an_output_of_an_earlier_version_is_no_table_that_was_forgotten(
    shell: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = "%%autocode growth\nRevenue of @sales. Sort the monthly table."
    asked = answers(monkeypatch, "no")
    assert shell.run_cell(cell).success and len(asked) == 1
    recorded(here, "growth", "Revenue.", "a", declared_outputs=(OutputSpec(name="monthly", type="DataFrame"),))
    assert shell.run_cell(cell).success and len(asked) == 1


@each_answer
def test_a_request_without_data_in_a_notebook_without_tables_asks_too(
    shell: Any,
    jobs: Any,
    word: str,
    submitted: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = answers(monkeypatch, word)
    result = shell.run_cell("%%autocode growth\nMonthly revenue of the sales table.")
    assert asked == ["Type yes to go on without data, anything else to stop: "]
    assert len(jobs.submitted) == submitted and result.success == bool(submitted)
    printed = capsys.readouterr().out
    assert "passes no data, and the notebook has no table. Perhaps the cell that loads the data was not run." in printed


def test_without_a_user_and_without_tables_a_request_without_data_is_refused(
    shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocoder_jupyter.magics.notebook.Notebook.is_headless", True)
    with pytest.raises(InvalidRequest, match="the notebook has no table") as caught:
        shell.run("%%autocode growth\nMonthly revenue.")
    assert "Perhaps the cell" in caught.value.hint and '-i "text: str"' in caught.value.hint and jobs.submitted == []


def test_a_function_that_was_written_without_data_is_changed_without_a_question(
    shell: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, "yes")
    shell.run("%%autocode digits\nThe digits of a text.")
    recorded(here, "digits", "The digits of a text.", "a")
    shell.run("%%autocode digits\nThe digits of a text, as numbers.")
    assert len(asked) == 1
    recorded(here, "growth", "Revenue of @sales.", "a", sample_schemas={"sales": {}})
    shell.run("%%autocode growth\nRevenue by month.")
    assert len(asked) == 2


def test_a_declared_input_says_that_no_data_is_meant(shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answers(monkeypatch, "")
    shell.run('%%autocode duration -i "text: str"\nParse an ISO duration.')
    assert asked == [] and len(jobs.submitted) == 1
