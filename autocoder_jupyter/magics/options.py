"""The table of all options of `%%autocode`.

The parser, the `%config` traits, the settings file, the environment, completion and the help text are all made from
`OPTIONS`. An option is either about *this function* (`-o`, `-c` …; only in a cell) or about *how* it is made
(`--model`, `--share` …; also `%config Autocode.model`, `[tool.autocode] model`, `AUTOCODE_MODEL`). The latter are
defined with the settings of `AgentConfig` (`settings/config.py`), the rest here.

The pyproject.toml of a folder is not trusted until the user agrees. The `rule` of an option defines what it may do
there.
"""

from __future__ import annotations

from collections.abc import Mapping

from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.settings.setting import BOTH, TOOLS, Option

_OF_SETTINGS = tuple(option for record in RECORDS.values() for option in record.options)

_FUNCTION = (
    Option(
        "output",
        'declare an output, as in -o "monthly: DataFrame"',
        flags=("-o", "--output"),
        placeholder='"NAME: TYPE"',
        repeatable=True,
        is_setting=False,
        example='"monthly: DataFrame"',
    ),
    Option(
        "input",
        'declare an input, as in -i "min_orders: int = 5"',
        flags=("-i", "--input"),
        placeholder='"NAME: TYPE [= DEFAULT]"',
        repeatable=True,
        is_setting=False,
        example='"min_orders: int = 5"',
    ),
    Option(
        "sample",
        "pass data under a name; without an expression, the variable of that name",
        flags=("-s", "--sample"),
        placeholder="NAME[=EXPRESSION]",
        repeatable=True,
        is_setting=False,
        modes=BOTH,
        example="sales=orders[orders.year==2024]",
    ),
    Option(
        "constraint",
        "a sentence that must be true",
        flags=("-c", "--constraint"),
        placeholder='"SENTENCE"',
        repeatable=True,
        is_setting=False,
        example='"revenue is never negative"',
    ),
    Option(
        "check",
        "a Python expression over inputs and outputs that must be true on the sample",
        flags=("--check",),
        placeholder='"EXPRESSION"',
        repeatable=True,
        is_setting=False,
        example='"len(monthly) <= 12"',
    ),
    Option(
        "example",
        "inputs and the expected outputs, as frames or values; compared by value",
        flags=("--example",),
        placeholder='"[NAME=]INPUT, … -> [NAME=]OUTPUT, …"',
        repeatable=True,
        is_setting=False,
        example='"orders=@few, min_orders=3 -> @expected"',
    ),
    Option(
        "schema",
        "the meaning of the data, as free text; @NAME is a variable with the text or a pandera schema",
        flags=("--schema",),
        placeholder="TEXT|[INPUT=]@NAME",
        is_setting=False,
        example="@column_notes",
    ),
    Option(
        "contract",
        "a pandera schema or DataFrameModel that an input or output must satisfy, here and in each call",
        flags=("--contract",),
        placeholder="NAME=@MODEL",
        repeatable=True,
        is_setting=False,
        example="monthly=@MonthlySchema",
    ),
    Option(
        "rename",
        "the name that a column has in the data, if the function reads it under another one; kept with the function",
        flags=("--rename",),
        placeholder="READS=HAS",
        repeatable=True,
        is_setting=False,
        example="price=unit_price",
    ),
    Option(
        "split",
        "how the function must be able to be called for pieces of its largest table: any rows, groups, or merge",
        flags=("--split",),
        placeholder="KIND[:COLUMNS]",
        is_setting=False,
        example="groups:customer",
    ),
)
"""Options that describe the function."""

_CODE_MODE = (
    Option(
        "mode",
        "function: build a tested function; tools: answer once, by code that calls the functions of --tool",
        flags=("--mode",),
        kind="choice",
        choices=BOTH,
        is_setting=False,
        modes=BOTH,
        example="tools",
    ),
    Option(
        "tool",
        "a function or result of the notebook that the code may call; ALIAS= renames it",
        flags=("--tool",),
        placeholder="[ALIAS=]NAME",
        repeatable=True,
        is_setting=False,
        modes=TOOLS,
        example="prices=fetch_prices",
    ),
    Option(
        "continue",
        "continue the conversation of this name, with its messages, its tools, and what its code defined",
        flags=("--continue",),
        placeholder="NAME",
        is_setting=False,
        modes=TOOLS,
        example="rates",
    ),
)
"""Options of code mode."""

_CELL = (
    Option(
        "wait",
        "wait in the cell until it is done",
        flags=("--wait",),
        kind="flag",
        rule="free",
        modes=BOTH,
    ),
    Option(
        "refresh",
        "ask the model again although a function is recorded",
        flags=("--refresh",),
        kind="flag",
        is_setting=False,
        modes=BOTH,
    ),
    Option(
        "dry_run",
        "show what would be sent to the model, and send nothing",
        flags=("--dry-run",),
        kind="flag",
        rule="stricter",
        order=(False, True),
        risk="the model is asked although you wanted to see it first",
        modes=BOTH,
    ),
    Option(
        "refine",
        "start from the existing function of this name; the text below says what to change",
        flags=("--refine",),
        kind="flag",
        is_setting=False,
    ),
    Option(
        "replace",
        "use the name even if another variable has it",
        flags=("--replace",),
        kind="flag",
        rule="stricter",
        order=(True, False),
        risk="a result replaces a variable of yours",
        modes=BOTH,
    ),
    Option(
        "help",
        "the options that are used most; -h all: all options, settings and subcommands",
        flags=("-h", "--help"),
        kind="flag",
        is_setting=False,
        modes=BOTH,
    ),
)
"""Options that describe the cell."""

_IN_CELLS = (*_FUNCTION, *_OF_SETTINGS, *_CODE_MODE, *_CELL)

_MOST_USED = (
    "output",
    "constraint",
    "check",
    "example",
    "model",
    "max_cost",
    "share",
    "hide",
    "dry_run",
    "packages",
)

MOST_USED: tuple[Option, ...] = tuple(
    next(option for option in _IN_CELLS if option.name == name) for name in _MOST_USED
)
"""The options that most people use, in the order of the help."""

MORE: Mapping[str, tuple[Option, ...]] = {
    title: tuple(option for option in group if option.is_current and option not in MOST_USED)
    for title, group in {
        "What the function is": _FUNCTION,
        "How the cell runs": _CELL,
        "How the function is made, and what the model sees": _OF_SETTINGS,
        "Code mode": _CODE_MODE,
    }.items()
}
"""The other options of a cell, by what they are about."""

OPTIONS: tuple[Option, ...] = (
    *MOST_USED,
    *(option for group in MORE.values() for option in group),
    *(option for option in _OF_SETTINGS if not option.is_current),
)
"""All options, by use: completion has this order."""

SETTINGS: dict[str, Option] = {option.name: option for option in OPTIONS if option.is_setting}
"""The options that can be set outside of a cell, by name."""

FLAGS: dict[str, Option] = {flag: option for option in OPTIONS for flag in option.flags}
"""The options that can be written in a cell, by flag; also former spellings."""
