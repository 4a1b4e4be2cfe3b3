"""The messages about a program that failed on real data, by sharing level."""

from __future__ import annotations

from autocoder_jupyter.errors import OutputRefused, SandboxCrash, SandboxTimeout, SolutionError, WrongType
from autocoder_jupyter.redaction.masking import FilePlaceholders, suffixes_of
from autocoder_jupyter.redaction.messages import Redaction, hidden_values, redacted_record, without_secrets
from tests.cases import each

CELL = "zelda-cell-77"
CODE = "class NoSales(ValueError): ...\n\n\ndef run(sales):\n    return sales['price'].sum()\n"


def raised(kind: str, message: str, line: int | None = 5) -> SolutionError:
    return SolutionError(f"The function raised {kind}: {message}", exception_type=kind, line=line, source=f"# {CELL}")


def mismatch(why: str) -> WrongType:
    return WrongType("The function does not return what it declares.", why=why)


def told(error: Exception, share: str = "schema") -> str:
    return Redaction.over(share, CODE, ["sales", "total", "price", "growth"]).error(error)  # type: ignore[arg-type]


LEAKING = [
    raised("ValueError", f"bad row: {CELL}"),
    raised(CELL, "x"),
    raised(f"pandas.errors.{CELL}", "x"),
    raised("KeyError", repr(CELL)),
    raised("KeyError", f"\"['{CELL}'] not in index\""),
    raised("ValueError", f"could not convert string to float: '{CELL}'"),
    raised("ValueError", f"time data '{CELL}' doesn't match format '%Y'"),
    raised("TypeError", f"'{CELL}' object is not callable"),
    mismatch(f"'growth': columns that are not declared: '{CELL}'"
              f" (1 in all, of {CELL})"),
    mismatch(f"'growth' is declared DataFrame and came back as {CELL}"),
    mismatch(f"'growth' cannot be handed over: the attrs.{CELL}: holds"),
    mismatch(f"'growth' cannot be handed over: has the time zone {CELL}"),
    mismatch(f"column 'price' is declared {CELL} and is {CELL}"),
    SandboxCrash("It ended.", why=f"sys.exit('{CELL}') at line 5: {CELL}"),
    SandboxCrash("The interpreter died of an abort (SIGABRT).", why=f"terminated: {CELL}"),
    OutputRefused("What the program sent back is not acceptable.", why=f"output 'growth': two columns {CELL}"),
]  # fmt: skip


@each("share", ["stats", "schema"])
@each("error", LEAKING, ids=range(len(LEAKING)))
def test_no_cell_is_told_where_values_are_withheld(error: Exception, share: str) -> None:
    said = told(error, share)
    assert CELL not in said and said
    assert not Redaction.over(share, CODE, []).traceback(error)  # type: ignore[arg-type]


@each("error", LEAKING, ids=range(len(LEAKING)))
def test_with_rows_the_words_are_told(error: Exception) -> None:
    assert CELL in told(error, "rows")


def test_with_rows_they_are_masked() -> None:
    assert told(raised("ValueError", "bad row of alice@example.com, 4111 1111 1111 1111"), "rows") == (
        "The function raised ValueError: bad row of <email-1>, <card-1>"
    )


@each(
    ("error", "words"),
    [
        (raised("KeyError", "'price'"), "KeyError in line 5, `return sales['price'].sum()`: there is no 'price'."),
        (raised("KeyError", "\"['price'] not in index\""), "there is no 'price'"),
        (raised("ValueError", f"could not convert string to float: '{CELL}'"), "could not convert string to float"),
        (raised("NoSales", "nothing"), "NoSales in line 5"),
        (raised("pandas.errors.MergeError", "?"), "pandas.errors.MergeError in line 5"),
        (raised(CELL, "?", line=99), "An exception. What it says is withheld"),
        (mismatch("'growth': missing columns 'price'; the index has that name, reset it"),
         "'growth': no column 'price'; the index has that name, reset it."),
        (mismatch(f"'growth': columns that are not declared: '{CELL}', 'y' (2 in all, of float64, object)"),
         "'growth': 2 columns that are not declared, of float64, object."),
        (mismatch("'growth': column 'total' is declared int64 and is float64"),
         "'growth': column 'total' is declared int64 and is float64."),
        (mismatch(f"'growth' cannot be handed over: column '{CELL}': has the time zone x"),
         "The function does not return what it declares. 'growth': it holds a time zone that has no name to send."),
        (SandboxCrash("It ended.", why=f"sys.exit('{CELL}') at line 5: {CELL}"),
         "It ended. It did so in line 5, `return sales['price'].sum()`."),
        (SandboxTimeout("The program ran longer than 3 s and was stopped."), "longer than 3 s"),
    ],
)  # fmt: skip
def test_what_the_mender_needs_is_still_told(error: Exception, words: str) -> None:
    assert words in told(error)


def test_a_private_name_of_a_column_is_masked_also_where_it_is_declared() -> None:
    redaction = Redaction.over("schema", CODE, ["alice@example.com"])
    assert "there is no '<email-1>'" in redaction.error(raised("KeyError", "'alice@example.com'"))


def test_values_of_variables_and_secrets_are_replaced_by_their_names_also_escaped() -> None:
    hidden = hidden_values({"TOKEN": "x"}, {"DB_URL": "it's\na secret", "DEBUG": "1"})
    assert without_secrets("it's\na secret, 1, x", hidden) == "<DB_URL>, 1, <TOKEN>"
    assert without_secrets(repr("it's\na secret"), hidden) == '"<DB_URL>"'


def test_what_was_said_in_a_report_is_masked_on_its_way_to_a_file() -> None:
    said = {
        "error": "of alice@example.com",
        "history": [{"evidence": {"checks": [{"message": "4111 1111 1111 1111"}]}}],
    }
    assert redacted_record(said) == {
        "error": "of <email-1>",
        "history": [{"evidence": {"checks": [{"message": "<card-1>"}]}}],
    }
    assert redacted_record({"solution": {"code": "x = 'alice@example.com'"}}) == {
        "solution": {"code": "x = 'alice@example.com'"}
    }


@each(
    ("name", "suffix"),
    [
        ("a.csv", ".csv"),
        ("b.tar.gz", ".tar.gz"),
        ("Smith.John.csv", ".csv"),
        ("x.2024", ""),
        ("x.alice_smith", ""),
        ("x", ""),
    ],
)
def test_of_a_files_name_only_its_ending_is_told(name: str, suffix: str) -> None:
    assert suffixes_of(name) == suffix


def test_names_of_a_folder_have_stable_placeholders() -> None:
    names = FilePlaceholders()
    assert [names.of(path) for path in ("smith/a.csv", "smith/b.json", "smith/a.csv", "c.csv")] == [
        "folder-1/file-1.csv", "folder-1/file-2.json", "folder-1/file-1.csv", "file-3.csv",
    ]  # fmt: skip
