from __future__ import annotations

import ast
from typing import Any

import pytest

from autocoder_jupyter.agent.arguments import build_request
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import CellCommand, SampleOption, parse_cell, parse_output, straight
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.cases import each

PROSE = "Monthly revenue of @sales."


@each(
    ("line", "expected"),
    [
        pytest.param("growth", {}, id="name alone"),
        pytest.param("-m x/y growth", {"settings": {"model": "x/y"}}, id="name after options"),
        pytest.param('growth -o "m: DataFrame"', {"outputs": (OutputSpec(name="m", type="DataFrame"),)}, id="output"),
        pytest.param("growth -o m:str", {"outputs": (OutputSpec(name="m", type="str"),)}, id="output without blank"),
        pytest.param(
            'growth --output="m: pd.DataFrame"',
            {"outputs": (OutputSpec(name="m", type="DataFrame"),)},
            id="long option with equals sign, dotted type",
        ),
        pytest.param(
            "growth -o a:int -o b:Figure",
            {"outputs": (OutputSpec(name="a", type="int"), OutputSpec(name="b", type="Figure"))},
            id="two outputs in order",
        ),
        pytest.param("growth -i n:int", {"inputs": (InputSpec(name="n", type="int"),)}, id="required input"),
        pytest.param('growth -c "a b" -c c', {"constraints": ("a b", "c")}, id="constraints"),
        pytest.param('growth -c "isn\'t empty"', {"constraints": ("isn't empty",)}, id="apostrophe in quotes"),
        pytest.param(r'growth -c "say \"x\""', {"constraints": ('say "x"',)}, id="escaped quotes"),
        pytest.param('growth --check "(m >= 0).all()"', {"checks": ("(m >= 0).all()",)}, id="check"),
        pytest.param('growth --schema "amount in EUR"', {"schema": "amount in EUR"}, id="schema text"),
        pytest.param("growth --schema @notes", {"schema": "@notes"}, id="schema variable"),
        pytest.param("growth -s sales", {"samples": (SampleOption("sales", "sales"),)}, id="sample by name"),
        pytest.param(
            'growth -s logs=File("my logs.txt")',
            {"samples": (SampleOption("logs", 'File("my logs.txt")'),)},
            id="sample expression keeps its quotes",
        ),
        pytest.param(
            'growth -s "x=df[df.a > 3]"',
            {"samples": (SampleOption("x", "df[df.a > 3]"),)},
            id="quoted sample expression",
        ),
        pytest.param("growth -s x=f(a=1)", {"samples": (SampleOption("x", "f(a=1)"),)}, id="sample with keyword"),
        pytest.param("growth -p a -p b", {"settings": {"packages": ("a", "b")}}, id="packages"),
        pytest.param("growth --max-cost 0.5", {"settings": {"max_cost": 0.5}}, id="max cost"),
        pytest.param("growth --max-iterations=3", {"settings": {"max_iterations": 3}}, id="max iterations"),
        pytest.param("growth --timeout 60", {"settings": {"timeout": 60.0}}, id="timeout"),
        pytest.param("growth --share stats", {"settings": {"share": "stats"}}, id="share"),
        pytest.param("growth --backend claude", {"settings": {"backend": "claude"}}, id="backend"),
        pytest.param(
            "growth --effort none", {"settings": {"skip_tests": True, "effort": "quick"}}, id="nothing checked"
        ),
        pytest.param("growth --effort high", {"settings": {"skip_tests": False, "effort": "high"}}, id="effort"),
        pytest.param(
            "growth --allow-network --wait --dry-run --replace",
            {"settings": dict.fromkeys(("allow_network", "wait", "dry_run", "replace"), True)},
            id="flags",
        ),
    ],
)
def test_a_first_line_is_understood(line: str, expected: dict[str, Any]) -> None:
    assert parse_cell(line, PROSE) == CellCommand(name="growth", prompt=PROSE, **expected)


@each(
    ("text", "default"),
    [
        pytest.param("n: int = 5", 5, id="int"),
        pytest.param("n: int=-5", -5, id="negative without blanks"),
        pytest.param("n: float = 5", 5.0, id="float from a whole number"),
        pytest.param("n: bool = True", True, id="bool"),
        pytest.param("n: str = 'a = b: c'", "a = b: c", id="text with separators"),
        pytest.param("n: date = 2024-01-31", "2024-01-31", id="date"),
        pytest.param("n: date = '2024-01-31'", "2024-01-31", id="quoted date"),
        pytest.param("n: datetime = 2024-01-31T12:00+02:00", "2024-01-31T12:00:00+02:00", id="datetime"),
        pytest.param("n: timedelta = PT36H", "PT36H", id="timedelta"),
        pytest.param("n: list = [1, 'a']", [1, "a"], id="list"),
        pytest.param("n: dict = {'a': [1]}", {"a": [1]}, id="dict"),
    ],
)
def test_an_input_default_is_a_literal_of_its_type(text: str, default: object) -> None:
    (spec,) = parse_cell(f'g -i "{text}"', PROSE).inputs
    assert (spec.required, spec.default, type(spec.default)) == (False, default, type(default))


@each(
    ("line", "message"),
    [
        pytest.param("", "no name", id="no name"),
        pytest.param("2fast", "cannot be the name", id="not an identifier"),
        pytest.param("class", "is a keyword", id="keyword"),
        pytest.param("sum", "is a builtin", id="builtin"),
        pytest.param("g Monthly", "'Monthly' on the first line", id="prose on the first line"),
        pytest.param("g --moddel x", "Did you mean --model?", id="unknown option"),
        pytest.param("g -x", "There is no option -x", id="unknown short option"),
        pytest.param("g -m a -m b", "-m is given twice", id="doubled option"),
        pytest.param("g -m a --model b", "--model is given twice", id="doubled by its other name"),
        pytest.param("g --wait --wait", "--wait is given twice", id="doubled flag"),
        pytest.param("g --wait=1", "--wait takes no value", id="flag with a value"),
        pytest.param("g -m", "-m needs a value", id="missing value at the end"),
        pytest.param("g -m --wait", "-m needs a value", id="missing value before a flag"),
        pytest.param("g -c isn't empty", "is not closed", id="unclosed apostrophe"),
        pytest.param('g -o "m: DataFrame', "is not closed", id="unclosed quote"),
        pytest.param("g --share row", "Did you mean rows?", id="unknown choice"),
        pytest.param("g --max-cost cheap", "must be a number above 0", id="not a number"),
        pytest.param("g --max-cost nan", "must be a number above 0", id="not a finite number"),
        pytest.param("g --max-cost -1", "must be a number above 0", id="negative cost"),
        pytest.param("g --max-iterations 0", "at least 1", id="no iterations"),
        pytest.param("g --max-iterations 2.5", "whole number", id="half an iteration"),
        pytest.param("g -o monthly", "has no type", id="output without a type"),
        pytest.param("g -o m:Dataframe", "Did you mean DataFrame?", id="misspelled type"),
        pytest.param("g -o 2m:int", "cannot be a name", id="output with a bad name"),
        pytest.param("g -o m:int=3", "an output cannot have one", id="output with a default"),
        pytest.param("g -i f:Figure", "type is for outputs only", id="figure as an input"),
        pytest.param('g -i "n: int = 5.5"', "is not of type int", id="default of another type"),
        pytest.param('g -i "n: int = True"', "is not of type int", id="bool is no int"),
        pytest.param('g -i "n: str = north"', "Write it in quotes", id="text without quotes"),
        pytest.param('g -i "n: date = 31.1.2024"', "ISO text", id="date that is not ISO"),
        pytest.param('g -i "n: timedelta = P"', "ISO duration", id="empty duration"),
        pytest.param('g -i "n: list = [{1}]"', "is not of type list", id="list that is not JSON"),
        pytest.param('g -i "d: DataFrame = x"', "cannot have a default", id="frame with a default"),
        pytest.param("g -o m:int -o m:str", "-o names 'm' twice", id="output twice"),
        pytest.param("g -i m:int -i m:str", "-i names 'm' twice", id="input twice"),
        pytest.param("g -s m -s m=n", "-s names 'm' twice", id="sample twice"),
        pytest.param("g -o m:int -i m:int", "both an input and an output", id="input and output"),
        pytest.param("g -o m:DataFrame -s m", "both an input and an output", id="sample and output"),
        pytest.param("ﬁt", "for example fit", id="name that Python reads as another"),
        pytest.param("g\u3164", "not the name that Python reads", id="name with a hidden character"),
        pytest.param("g -s 2x", "does not begin with a name", id="sample with a bad name"),
        pytest.param("g -s x=", "no expression", id="sample without an expression"),
        pytest.param('g -s "x=1 +"', "is not a Python expression", id="sample that is no expression"),
        pytest.param('g --check "x = 1"', "is not a Python expression", id="check that is a statement"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(line: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_cell(line, PROSE)
    assert message in str(caught.value)
    assert "\n" not in caught.value.what


@each("body", ["", "\n", "  \n\t\n", "-m x\n"])
def test_a_cell_without_prose_is_refused(body: str) -> None:
    with pytest.raises(InvalidRequest, match="has no request"):
        parse_cell("g", body)


def test_a_text_that_is_probably_data_is_not_sent() -> None:
    assert parse_cell("f", "x" * 100_000)
    with pytest.raises(InvalidRequest, match="The request has 100,001 characters, and at most 100,000") as caught:
        parse_cell("f", "x" * 100_001)
    assert "refer to it with @name" in caught.value.hint
    with pytest.raises(InvalidRequest, match="prompt has 100,001 characters"):
        build_request("x" * 100_001)


@each(
    "prose",
    [
        pytest.param("{x} {{y}} $z ${w} %s %(a)s", id="braces, dollars, percent signs"),
        pytest.param('{"a": [1, "$b"]}', id="json"),
        pytest.param("mail me@example.org \\n \\", id="mail address and backslashes"),
        pytest.param("- skip refunds\n- round to cents", id="a list with dashes"),
        pytest.param("it isn't \"quoted", id="open quotes"),
        pytest.param("  indented\n\n  kept", id="blank lines and indentation"),
        pytest.param("-5 degrees is cold", id="a negative number"),
    ],
)
def test_prose_stays_as_it_was_written(prose: str) -> None:
    assert parse_cell("g", prose).prompt == prose


def test_option_lines_directly_below_the_first_belong_to_it() -> None:
    command = parse_cell("g", '  -o "m: DataFrame" -m x\n--share stats\n\nProse\n--wait is prose here\n')
    assert command.outputs == (OutputSpec(name="m", type="DataFrame"),)
    assert command.settings == {"model": "x", "share": "stats"}
    assert command.prompt == "Prose\n--wait is prose here"


@each(
    ("line", "settings", "hint"),
    [
        ("growth --skip-tests", {"skip_tests": True}, "--skip-tests is now --effort none."),
        (
            "growth --skip-tests --effort high",
            {"skip_tests": True, "effort": "high"},
            "--skip-tests is now --effort none.",
        ),
        ("growth --cache override", {"cache": "override"}, "--cache override is now --refresh."),
        ("growth --cpu 2", {"cpu": 2.0}, "--cpu 2 is now the setting %config Autocode.cpu = 2."),
        (
            "growth --second-opinion on",
            {"second_opinion": "on"},
            "--second-opinion on is now the setting %config Autocode.second_opinion = 'on'.",
        ),
    ],
)
def test_a_former_spelling_is_read_and_names_the_current_one(line: str, settings: dict[str, Any], hint: str) -> None:
    command = parse_cell(line, PROSE)
    assert command.settings == settings
    assert command.hints == (f"{hint} The old spelling works for one more release.",)


def test_the_values_of_a_cell_are_in_its_errors_and_only_there() -> None:
    with pytest.raises(InvalidRequest, match=r"--effort must be one of 'none', 'quick', 'normal', 'high', not 'low'"):
        parse_cell("growth --effort low", PROSE)
    with pytest.raises(InvalidRequest, match=r"effort must be one of 'quick', 'normal', 'high', not 'none'"):
        SETTINGS["effort"].from_text("none")


@each("line", ["-h", "--help", "growth -h", "2bad --help --nonsense"])
def test_help_is_never_an_error(line: str) -> None:
    assert parse_cell(line, "") == CellCommand(help="most")


def test_an_h_inside_a_value_is_no_cry_for_help() -> None:
    assert parse_cell('g -c "-h is a flag"', PROSE).constraints == ("-h is a flag",)


def test_text_that_cannot_be_sent_is_named() -> None:
    with pytest.raises(InvalidRequest, match=r"The request contains '\\ud800', which is invalid Unicode"):
        parse_cell("growth", "Monthly \ud800 revenue")


@pytest.mark.parametrize("mark", ['"""', "'''"])
def test_a_request_in_triple_quotes_is_the_request_and_python(mark: str) -> None:
    """jupytext writes a cell into a script with its first line as a comment, and the rest as it is."""
    prose = "Monthly revenue growth from @sales, one row a month;\nskip months with fewer than 5 orders."
    body = f"{mark}\n{prose}\n{mark}\n"
    ast.parse(f"# %%autocode growth\n{body}")
    assert parse_cell("growth", body).prompt == prose == parse_cell("growth", prose).prompt
    assert parse_cell("growth", f"{mark}{prose}{mark}").prompt == prose


@each("text", ['"""', '""', '"""a""" and """b"""', 'Use """x""".', '"""', "a '''b'''"])
def test_other_quotes_are_prose(text: str) -> None:
    assert parse_cell("growth", text).prompt == text


# What a chat, another editor or another language writes


@each(
    "line, means",
    [
        ("g -o “total: float”", 'g -o "total: float"'),
        ("g -o ‘total: float’", "g -o 'total: float'"),
        ("g -o „total: float“", 'g -o "total: float"'),
        ("g –o total:float", "g -o total:float"),
        ("g —max-tokens 5000", "g --max-tokens 5000"),
        ("g −−dry-run", "g --dry-run"),
        ("g -s x=“a b”", 'g -s x="a b"'),
        ("g --check \"t.name == '“'\"", "g --check \"t.name == '“'\""),
        ('g -c "it’s – fine"', 'g -c "it’s – fine"'),
        ("g -c don’t", "g -c don’t"),
        ("g -c 2019–2021", "g -c 2019–2021"),
    ],
)
def test_quotes_and_dashes_of_a_chat_are_those_of_a_keyboard(line: str, means: str) -> None:
    assert straight(line) == means


@each("line", ["g -o “total: float", 'g -o “total: "float"”'])
def test_a_curly_quote_whose_end_is_not_clear_is_said(line: str) -> None:
    with pytest.raises(InvalidRequest, match="curly quote"):
        straight(line)


def test_an_option_below_the_first_line_may_have_a_long_dash() -> None:
    command = parse_cell("g", "–o “total: float”\n—max-tokens 5000\n– a point of @df\n")
    assert [spec.name for spec in command.outputs] == ["total"] and command.prompt == "– a point of @df"
    assert command.settings["max_tokens"] == 5000


@each(
    "written, type_name, elements",
    [
        ("pd.Timestamp", "datetime", ""),
        ("Timestamp", "datetime", ""),
        ("datetime.datetime", "datetime", ""),
        ("datetime.date", "date", ""),
        ("dt.timedelta", "timedelta", ""),
        ("pd.DataFrame", "DataFrame", ""),
        ("np.float64", "float", ""),
        ("string", "str", ""),
        ("integer", "int", ""),
        ("boolean", "bool", ""),
        ("“float”", "float", ""),
        ("List[str]", "list", "str"),
        ("typing.List[np.int64]", "list", "int"),
        ("Dict[str, float]", "dict", "float"),
        ("list[pd.DataFrame]", "list", "DataFrame"),
        ("plt.Figure", "Figure", ""),
    ],
)
def test_types_as_they_are_called_elsewhere(written: str, type_name: str, elements: str) -> None:
    spec = parse_output(f"total: {written}")
    assert (spec.type, spec.elements) == (type_name, elements)


@each(
    "written, hint",
    [
        ("Optional[float]", 'Write -o "total: float"; a number that is missing is NaN.'),
        ("float | None", 'Write -o "total: float"; a number that is missing is NaN.'),
        ("tuple[int, str]", 'Write -o "total: list[int]", or one -o for each part.'),
        ("np.ndarray", 'Write -o "total: list[str]", or one -o for each part.'),
        ("list of strings", 'Write -o "total: list[str]".'),
        ("list<int>", 'Write -o "total: list[int]".'),
        ("flaot", "Did you mean float?"),
    ],
)
def test_a_type_that_is_none_here_says_what_to_write(written: str, hint: str) -> None:
    with pytest.raises(InvalidRequest, match="is not a type for -o") as caught:
        parse_output(f"total: {written}")
    assert caught.value.hint == hint


@each(
    "sample",
    [r"p=C:\Users\me\data.csv", r"p=File('C:\Users\me\data.csv')", r'p="C:\Users\me\data.csv"', r"p=D:\new\x.csv"],
)
def test_a_windows_path_says_what_to_write(sample: str) -> None:
    with pytest.raises(InvalidRequest, match="Windows path") as caught:
        parse_cell(f"g -s {sample}", "Sum of @p.")
    assert 'File("' in caught.value.hint and ":/" in caught.value.hint and "\\" not in caught.value.hint


def test_curly_quotes_inside_an_expression_are_named() -> None:
    with pytest.raises(InvalidRequest, match="curly quotes or a long dash"):
        parse_cell('g --check "(total[“a”] > 0).all()"', "Sum of @df.")


@each("below", ["g.run(df)", "g(df)", "result = g.run(df)\nresult.head()", "print(g(df))", "await g.run.aio(df)"])
def test_a_call_below_the_request_is_refused(below: str) -> None:
    with pytest.raises(InvalidRequest, match="is Python, and all below the first line is the request") as caught:
        parse_cell("g", f"Sum of @df.\n\n{below}\n")
    assert "a cell of its own" in caught.value.hint


@each(
    "text",
    [
        "Sum of @df.\ng(df) should give a float.",
        "g(df) is a sum",
        "As in log(x):\nlog(df.a)",
        "Like\n    g(df)\nbut fast.",
    ],
)
def test_prose_that_names_a_call_is_a_request(text: str) -> None:
    assert parse_cell("g", text).prompt == text
