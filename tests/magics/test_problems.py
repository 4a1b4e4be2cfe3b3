"""The problems of a cell that is being written, with their positions, as the editor gets them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.magics.command import split_cell, split_words
from autocoder_jupyter.magics.problems import Problem, find_problems
from tests.cases import each

SALES = pd.DataFrame({"prices": [1.0]})


def problems(text: str, **namespace: Any) -> list[Problem]:
    return find_problems(text, namespace)


def marked(text: str, problem: Problem) -> str:
    """The part of the cell that is underlined."""
    line, _, body = text.removeprefix("%%autocode").partition("\n")
    options, prompt = split_cell(line, body)
    if problem.at.area in ("command", "quote"):
        return problem.at.area
    whole = prompt if problem.at.area == "request" else split_words(options)[problem.at.word]
    return whole[problem.at.start : problem.at.end]


def parts(text: str, **namespace: Any) -> list[str]:
    return [marked(text, problem) for problem in problems(text, **namespace)]


def test_the_option_the_value_or_the_type_is_underlined() -> None:
    text = '%%autocode f --modle x --sandbox dockr -o "monthly: DataFrme" --share=all\nDo it.'
    assert parts(text) == ["--modle", "dockr", "all", "DataFrme"]


def test_the_text_is_offered_that_would_mend_it() -> None:
    text = '%%autocode sum --moddel x --sandbox dockr -o "monthly: DataFrme"\nRows of @saless.'
    assert [one.instead for one in problems(text, sales=SALES)] == ["--model", "docker", "sum_", "DataFrame", "@sales"]


def test_data_that_is_not_there_is_a_warning_at_every_mention() -> None:
    text = "%%autocode f -s other=orders\nRows of @saless, @sales and @saless."
    found = problems(text, sales=SALES)
    assert [one.severity for one in found] == ["warning"] * 3
    assert [marked(text, one) for one in found] == ["@saless", "@saless", "other=orders"]
    assert found[0].hint == "Did you mean @sales? If it is not a variable, write @@saless."


def test_names_that_the_cell_itself_brings_are_known() -> None:
    text = '%%autocode f -i "min_orders: int = 5" -s logs=File("a.csv")\nUse @min_orders and @logs.'
    assert problems(text) == []


def test_what_is_still_missing_is_no_error_while_a_cell_is_begun() -> None:
    assert [(one.severity, one.at.area) for one in problems("%%autocode")] == [("info", "command")] * 2


@each(
    ("option", "what"),
    [
        ("--max-cost 0", "--max-cost must be a number above 0, not 0.0."),
        ("--max-cost abc", "--max-cost must be a number above 0, not 'abc'."),
        ("--max-iterations 0", "--max-iterations must be a whole number of at least 1, not 0."),
        ("--memory lots", "--memory must be an amount of memory such as 512Mi or 2Gi, not 'lots'."),
        ("--timeout=soon", "--timeout must be a number of seconds above 0, not 'soon'."),
        ('--check "x = 1"', "--check 'x = 1' is not a Python expression."),
        ('-i "n: int = a"', "The default of 'n', a, is not of type int."),
        ('--example "3"', "--example '3' has 0 arrows instead of one."),
        ("--refresh --cache disable", "--refresh and --cache disable cannot be used together."),
    ],
)
def test_what_running_the_cell_would_refuse_is_an_error(option: str, what: str) -> None:
    assert [(one.severity, one.what) for one in problems(f"%%autocode f {option}\nDo it.")] == [("error", what)]


@pytest.mark.parametrize(
    ("option", "part"), [('--check "x = 1"', "x = 1"), ('--check="x = 1"', "x = 1"), ('-i "n: int = a"', "a")]
)
def test_a_value_is_underlined_without_its_quotes(option: str, part: str) -> None:
    assert parts(f"%%autocode f {option}\nDo it.") == [part]


def test_nothing_is_evaluated() -> None:
    called: list[int] = []
    text = '%%autocode f -s x=touch() --check "touch()" --example "touch() -> touch()"\nDo it.'
    assert problems(text, touch=lambda: called.append(1)) == []
    assert called == []


def test_a_name_that_something_else_has_is_a_warning_unless_it_may_be_replaced() -> None:
    text = "%%autocode limit\nDo it."
    [found] = problems(text, limit=5)
    assert (found.severity, found.what) == ("warning", "'limit' is already a variable of the notebook (int).")
    assert marked(text, found) == "limit"
    assert problems("%%autocode limit --replace\nDo it.", limit=5) == []
    assert find_problems(text, {"limit": 5}, lambda: True) == []


CODE = "or to a function, class or module of yours, or a verified function"


def test_a_number_behind_an_at_sign_is_said_to_be_one() -> None:
    text = "%%autocode f\n@sales above @limit."
    [found] = problems(text, sales=SALES, limit=5)
    data = "a DataFrame, a Series, File(…), Dir(…) or a connection to a database"
    assert found.what == f"@limit is an int; a request can refer to {data}, {CODE}."
    assert found.hint == 'Declare it as an input, -i "limit: int = 5", or write the value itself.'
    assert problems('%%autocode f -i "limit: int = 5"\n@limit', limit=5) == []


def test_data_without_an_at_sign_is_hinted_at_once_and_offered() -> None:
    text = "%%autocode f\n\nGrowth of sales; sales are weekly."
    [found] = problems(text, sales=SALES)
    assert (found.severity, found.instead, found.at.start) == ("info", "@sales", 10)
    assert found.what == "sales is a DataFrame of the notebook, and the request does not pass it."


@pytest.mark.parametrize(
    "prose",
    [
        "Growth of @sales; sales are weekly.",
        "Write to me@sales, sales@example.org or x.sales about presales.",
        "The mean of prices in @sales.",
    ],
)
def test_nothing_is_hinted_at_where_a_word_means_something_else(prose: str) -> None:
    assert problems(f"%%autocode f\n{prose}", sales=SALES, prices=SALES["prices"]) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--mode tools -o a:int --tool f()", ["-o", "f()"]),
        ("--mode tools --tool a.x --tool x --tool y", ["x"]),
        ("--continue f", ["f"]),
    ],
)
def test_options_of_code_mode_are_checked(options: str, expected: list[str]) -> None:
    assert parts(f"%%autocode f {options}\nDo it.") == expected


def test_what_would_hide_is_spelled_out() -> None:
    [found] = problems("%%autocode f --sandbox \u202edockr\nDo it.")
    assert "\u202e" not in found.what and "\\u202e" in found.what
