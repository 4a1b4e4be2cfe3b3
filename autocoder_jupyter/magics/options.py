"""Every option of `%%autocode`, said once.

The parser, the `%config` traits, the settings file, the environment, completion and the help text are all made from
`OPTIONS`. An option is either about *this function* (`-o`, `-c` …; only in a cell) or about *how* it is made
(`--model`, `--share` …; also `%config Autocode.model`, `[tool.autocode] model`, `AUTOCODE_MODEL`).

The pyproject.toml of a folder may be a stranger's. What an option may do there, until the person agreed, is its `rule`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "text",
    "integer",
    "number",
    "choice",
    "flag",
    "names",
    "columns",
    "mapping",
    "variable",
    "variables",
    "size",
    "version",
]

Rule = Literal["free", "stricter", "asks"]
"""What a folder that nobody agreed to may do with a setting: use it, because it can hurt nobody; make it stricter than
what holds otherwise, and nothing else; or only ask for it."""

Mode = Literal["function", "tools"]
"""What a cell makes: a tested function, or one answer by code that calls the person's own functions."""

FUNCTION: tuple[Mode, ...] = ("function",)
TOOLS: tuple[Mode, ...] = ("tools",)
BOTH: tuple[Mode, ...] = ("function", "tools")

TRUE_WORDS = ("1", "true", "yes", "on")
FALSE_WORDS = ("0", "false", "no", "off", "")

_LONGEST_QUOTE = 200

_VARIABLE = re.compile(r"[A-Za-z_]\w{0,63}")
_PYTHON = re.compile(r"3\.\d{1,2}")


@dataclass(frozen=True)
class Option:
    """One option.

    Args:
        name: its name as a trait, as a key in pyproject.toml and, upper-cased after `AUTOCODE_`, in the environment.
        help: what it does, one line.
        flags: how it is written in a cell; empty for what only makes sense as a setting.
        kind: what its value is; `names` is a tuple of words, `columns` of names with
            blanks, `mapping` a dictionary, `variable` an environment
            variable's name, `variables` a tuple of them, `size` an amount of memory, `version` a Python as `3.12`.
        placeholder: what stands for its value in the help text.
        choices: the values of a `choice`.
        repeatable: whether a cell may give it more than once.
        is_setting: whether it can be set outside of a cell.
        field: the field of `AgentConfig` that holds it and its default, dotted within a record of it; empty when there
            is no such field.
        minimum: the smallest number allowed.
        rule: what a folder that nobody agreed to may do with it; None for what no folder can set.
        order: of a `stricter` choice or flag its values, from the one that allows most. Of numbers and sizes, the
            smaller is the stricter, and none at all allows most.
        risk: what it means to let a folder have it, in words for a person; empty for what is free.
        modes: the kinds of cells that it can be written in.
    """

    name: str
    help: str
    flags: tuple[str, ...] = ()
    kind: Kind = "text"
    placeholder: str = ""
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    is_setting: bool = True
    field: str = ""
    minimum: float | None = None
    rule: Rule | None = None
    order: tuple[str | bool, ...] = ()
    risk: str = ""
    modes: tuple[Mode, ...] = FUNCTION

    @property
    def takes_value(self) -> bool:
        """Whether something must follow the flag."""
        return self.kind != "flag"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"AUTOCODE_{self.name.upper()}"

    @property
    def expects(self) -> str:
        """What a value of it looks like, in words."""
        if self.kind == "choice":
            return " or ".join(self.choices)
        words = {
            "text": "text",
            "integer": "a whole number",
            "number": "a number",
            "flag": "true or false",
            "names": "a list of names",
            "columns": "a list of columns",
            "mapping": "a dictionary",
            "variable": "the name of an environment variable",
            "variables": "a list of names of environment variables",
            "size": "an amount of memory such as 512Mi or 2Gi",
            "version": "a version of Python such as 3.12, as text",
        }[self.kind]
        return words if self.minimum is None else f"{words}, {self.minimum:g} or more"

    def quoted(self, value: object) -> str:
        """A value for an error message; what may be a secret, put in the wrong place, is not repeated."""
        if self.kind in ("variable", "variables", "mapping"):
            return "what is set"
        try:
            shown = repr(value)
        except ValueError:  # Python writes no number of thousands of digits
            return "what is set"
        return shown if len(shown) <= _LONGEST_QUOTE else f"{shown[:_LONGEST_QUOTE]} …"

    def from_text(self, text: str) -> Any:
        """The value that a word on the command line or in the environment stands for.

        Raises:
            ValueError: it stands for none.
        """
        if self.kind == "integer":
            return self.check(int(text))
        if self.kind == "number":
            return self.check(float(text))
        if self.kind == "flag":
            folded = text.strip().casefold()
            if folded not in TRUE_WORDS + FALSE_WORDS:
                raise ValueError(self.expects)
            return folded in TRUE_WORDS
        if self.kind in ("names", "variables"):
            return self.check(tuple(text.replace(",", " ").split()))
        if self.kind == "columns":
            return self.check(tuple(name.strip() for name in text.split(",") if name.strip()))
        if self.kind == "mapping":
            raise ValueError("a dictionary cannot be written as text; use %config or pyproject.toml")
        return self.check(text)

    def check(self, value: Any) -> Any:
        """A value of the right Python type, as `%config` and TOML give it, made canonical.

        Raises:
            ValueError: it is not of this option's kind.
        """
        if self.kind == "flag" and isinstance(value, bool):
            return value
        if self.kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
            return self._at_least(value)
        if self.kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
            if not math.isfinite(value):
                raise ValueError(self.expects)
            return self._at_least(float(value))
        if self.kind == "choice" and value in self.choices:
            return value
        if self.kind == "text" and isinstance(value, str) and value.strip():
            return value
        if self.kind == "variable" and isinstance(value, str) and _VARIABLE.fullmatch(value):
            return value
        if self.kind == "variables" and isinstance(value, list | tuple) and all(map(_is_variable, value)):
            return tuple(value)
        if self.kind == "size" and isinstance(value, int | str) and not isinstance(value, bool):
            return self._size(value)
        if self.kind == "version" and isinstance(value, str) and _PYTHON.fullmatch(value):
            return value
        if self.kind in ("names", "columns") and isinstance(value, list | tuple) and all(map(_is_text, value)):
            return tuple(value)
        if self.kind == "mapping" and isinstance(value, Mapping):
            return dict(value)
        raise ValueError(self.expects)

    def allows_more(self, value: Any, other: Any) -> bool:
        """Whether one value of a `stricter` option allows more than another."""
        if self.order:
            return self.order.index(value) < self.order.index(other)
        if value is None or other is None:
            return other is not None
        return self._amount(value) > self._amount(other)

    def _amount(self, value: Any) -> float:
        from autocoder_jupyter.types import parse_memory

        return parse_memory(value) if self.kind == "size" else value

    def _size(self, value: int | str) -> int | str:
        from autocoder_jupyter.types import parse_memory

        parse_memory(value)
        return value

    def _at_least(self, value: Any) -> Any:
        if self.minimum is not None and value < self.minimum:
            raise ValueError(self.expects)
        return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_variable(value: object) -> bool:
    return isinstance(value, str) and _VARIABLE.fullmatch(value) is not None


OPTIONS: tuple[Option, ...] = (
    # What this function is
    Option(
        "output",
        'declare an output, as in -o "monthly: DataFrame"',
        flags=("-o", "--output"),
        placeholder='"NAME: TYPE"',
        repeatable=True,
        is_setting=False,
    ),
    Option(
        "input",
        'declare an input, as in -i "min_orders: int = 5"',
        flags=("-i", "--input"),
        placeholder='"NAME: TYPE [= DEFAULT]"',
        repeatable=True,
        is_setting=False,
    ),
    Option(
        "sample",
        "hand over data under a name; without an expression, the variable of that name",
        flags=("-s", "--sample"),
        placeholder="NAME[=EXPRESSION]",
        repeatable=True,
        is_setting=False,
        modes=BOTH,
    ),
    Option(
        "constraint",
        "a sentence that must hold",
        flags=("-c", "--constraint"),
        placeholder='"SENTENCE"',
        repeatable=True,
        is_setting=False,
    ),
    Option(
        "check",
        "a Python expression over inputs and outputs that must be true on the sample",
        flags=("--check",),
        placeholder='"EXPRESSION"',
        repeatable=True,
        is_setting=False,
    ),
    Option(
        "example",
        "an input and what must come out for it, frames or values, compared by values",
        flags=("--example",),
        placeholder='"[NAME=]INPUT, … -> [NAME=]OUTPUT, …"',
        repeatable=True,
        is_setting=False,
    ),
    Option(
        "schema",
        "what the data means, in free text; @NAME takes it from a variable",
        flags=("--schema",),
        placeholder="TEXT|@NAME",
        is_setting=False,
    ),
    # How it is made
    Option(
        "model",
        "the language model",
        flags=("-m", "--model"),
        placeholder="MODEL",
        field="model",
        rule="asks",
        risk="your requests, and what is shared of your data, go to this model, and you pay for it",
        modes=BOTH,
    ),
    Option(
        "backend",
        "who writes code and tests: our own steps with any model, or Claude as an agent with tools in the sandbox",
        flags=("--backend",),
        kind="choice",
        choices=("litellm", "claude"),
        field="backend",
        rule="asks",
        risk="another program does the work, with your keys, and asks more often",
    ),
    Option(
        "agent_max_turns",
        "turns at most for the agent of --backend claude",
        flags=("--agent-max-turns",),
        kind="integer",
        placeholder="N",
        field="agent_max_turns",
        minimum=1,
        rule="stricter",
        risk="more turns cost more",
    ),
    Option(
        "blind_tests",
        "with --backend claude, have tests written that the agent does not see, and run them beside its own",
        flags=("--blind-tests",),
        kind="choice",
        choices=("on", "off"),
        field="blind_tests",
        rule="asks",
        risk="switched off, only the tests of who wrote the code are run; switched on, more are paid for",
    ),
    Option(
        "packages",
        "install this distribution without asking; apt:NAME allows a Debian package",
        flags=("-p", "--package"),
        kind="names",
        placeholder="PACKAGE",
        repeatable=True,
        field="base_packages",
        rule="asks",
        risk="these are installed without asking you",
    ),
    Option(
        "packages_from",
        "a pylock.toml; its versions, with their hashes, are in every environment",
        flags=("--packages-from",),
        placeholder="FILE",
        field="packages_from",
        rule="asks",
        risk="the packages that this file names are installed",
    ),
    Option(
        "max_iterations",
        "attempts at most",
        flags=("--max-iterations",),
        kind="integer",
        placeholder="N",
        field="max_iterations",
        minimum=1,
        rule="stricter",
        risk="more attempts cost more",
        modes=BOTH,
    ),
    Option(
        "max_cost",
        "US dollars at most",
        flags=("--max-cost",),
        kind="number",
        placeholder="DOLLARS",
        field="max_cost",
        minimum=0,
        rule="stricter",
        risk="a generation may cost you more",
        modes=BOTH,
    ),
    Option(
        "timeout",
        "seconds for one run in the sandbox",
        flags=("--timeout",),
        kind="number",
        placeholder="SECONDS",
        field="timeout",
        minimum=0.1,
        rule="stricter",
        risk="generated code may run longer",
        modes=BOTH,
    ),
    Option(
        "memory",
        "memory of the sandbox at most, such as 2Gi",
        flags=("--memory",),
        kind="size",
        placeholder="SIZE",
        field="resources.memory",
        rule="stricter",
        risk="generated code may use more memory",
        modes=BOTH,
    ),
    Option(
        "cpu",
        "processor cores of the sandbox at most",
        flags=("--cpu",),
        kind="number",
        placeholder="CORES",
        field="resources.cpu",
        minimum=0.1,
        rule="stricter",
        risk="generated code may use more processor cores",
    ),
    Option(
        "skip_tests",
        "write no tests and run none",
        flags=("--skip-tests",),
        kind="flag",
        field="skip_tests",
        rule="stricter",
        order=(True, False),
        risk="what is written is not tested",
    ),
    Option(
        "second_opinion",
        "have a second solution written from the request and the data alone, and show where it differs",
        flags=("--second-opinion",),
        kind="choice",
        choices=("on", "off"),
        field="second_opinion",
        rule="asks",
        risk="switched off, no second solution is compared with the function; switched on, one is paid for",
    ),
    Option(
        "cache",
        "replay the answers in the journal, ask anew, or keep none",
        flags=("--cache",),
        kind="choice",
        choices=("auto", "override", "disable"),
        field="cache",
        rule="asks",
        risk="answers are asked for, and paid for, anew",
        modes=BOTH,
    ),
    Option(
        "locked",
        "ask no model: what is not recorded in .autocode is an error",
        flags=("--locked",),
        kind="flag",
        field="locked",
        rule="stricter",
        order=(False, True),
        risk="the model is asked although it was not to be",
        modes=BOTH,
    ),
    # What it may touch
    Option(
        "sandbox",
        "where generated code runs",
        flags=("--sandbox",),
        kind="choice",
        choices=("auto", "docker", "local"),
        field="sandbox",
        rule="stricter",
        order=("local", "auto", "docker"),
        risk="generated code runs in the sandbox of fewer walls",
    ),
    Option(
        "share",
        "how much of the data the model may see",
        flags=("--share",),
        kind="choice",
        choices=("rows", "stats", "schema"),
        field="share",
        rule="stricter",
        order=("rows", "stats", "schema"),
        risk="the model sees more of your data",
        modes=BOTH,
    ),
    Option(
        "hide",
        "a column that the model is not told of; the function gets it all the same",
        flags=("--hide",),
        kind="columns",
        placeholder="COLUMN",
        repeatable=True,
        field="hide",
        rule="asks",
        risk="other columns may be told of than you said",
        modes=BOTH,
    ),
    Option(
        "mask",
        "a column of which the model is told no value",
        flags=("--mask",),
        kind="columns",
        placeholder="COLUMN",
        repeatable=True,
        field="mask",
        rule="asks",
        risk="values of other columns may be told than you said",
        modes=BOTH,
    ),
    Option(
        "allow_network",
        "let generated code reach the network",
        flags=("--allow-network",),
        kind="flag",
        rule="stricter",
        order=(True, False),
        risk="generated code may send your data anywhere",
    ),
    # Code that calls functions of the notebook
    Option(
        "mode",
        "function: make a tested function; tools: answer once, by code that calls the functions named with --tool",
        flags=("--mode",),
        kind="choice",
        choices=BOTH,
        is_setting=False,
        modes=BOTH,
    ),
    Option(
        "tool",
        "a function of the notebook, or a result, that the code may call; under another name with ALIAS=",
        flags=("--tool",),
        placeholder="[ALIAS=]NAME",
        repeatable=True,
        is_setting=False,
        modes=TOOLS,
    ),
    Option(
        "continue",
        "go on with the conversation of this name: what was said, its tools, and what its code defined",
        flags=("--continue",),
        placeholder="NAME",
        is_setting=False,
        modes=TOOLS,
    ),
    # What the cell does
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
        "ask the model anew although a function is kept; the same as --cache override",
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
        "start from the function that has this name; the text below says what is to be otherwise",
        flags=("--refine",),
        kind="flag",
        is_setting=False,
    ),
    Option(
        "ask",
        "let the plan ask you up to three questions before any code is written",
        flags=("--ask",),
        kind="flag",
        field="ask",
        rule="free",
    ),
    Option(
        "replace",
        "take the name even if another variable has it",
        flags=("--replace",),
        kind="flag",
        rule="stricter",
        order=(True, False),
        risk="a result takes the place of a variable of yours",
        modes=BOTH,
    ),
    Option("help", "this text", flags=("-h", "--help"), kind="flag", is_setting=False, modes=BOTH),
    # Settings without a flag
    Option(
        "second_model",
        "the language model that writes the second solution; the first one's by default",
        field="second_model",
        rule="asks",
        risk="your requests, and what is shared of your data, go to this model too, and you pay for it",
    ),
    Option(
        "api_key",
        "NAME of the environment variable that holds the model's key",
        kind="variable",
        field="api_key",
        rule="asks",
        risk="the value of this environment variable is sent as the key of the model",
    ),
    Option(
        "api_base",
        "address of the model's service, for proxies and local models",
        field="api_base",
        rule="asks",
        risk="your requests, what is shared of your data, and the key of the model go to this address",
    ),
    Option(
        "litellm_params",
        "passed to every call of the model",
        kind="mapping",
        field="litellm_params",
        rule="asks",
        risk="these go with every request; an address or a key among them takes the place of yours",
    ),
    Option(
        "log",
        "file to which the events of generations are written as JSON lines, masked; none by default",
        field="log",
        rule="asks",
        risk="a file of this name is written",
    ),
    Option(
        "system_prompt",
        "instructions to the writer of code, in place of ours",
        field="system_prompt",
        rule="asks",
        risk="these instructions take the place of ours",
    ),
    Option(
        "max_sample_rows",
        "rows of a sample that the model may see",
        kind="integer",
        field="max_sample_rows",
        minimum=0,
        rule="stricter",
        risk="the model sees more rows of your data",
    ),
    Option(
        "max_tokens",
        "tokens at most, in and out",
        kind="integer",
        field="max_tokens",
        minimum=1,
        rule="stricter",
        risk="a generation may cost you more",
    ),
    Option(
        "max_seconds",
        "wall-clock seconds at most",
        kind="number",
        field="max_seconds",
        minimum=1,
        rule="stricter",
        risk="a generation may take longer",
    ),
    Option(
        "env_vars",
        "environment variables of the sandbox",
        kind="mapping",
        field="env_vars",
        rule="asks",
        risk="these environment variables change what programs in the sandbox do",
    ),
    Option(
        "secrets",
        "NAMES of environment variables of the notebook that the sandbox may see",
        kind="variables",
        field="secrets",
        rule="asks",
        risk="generated code reads the values of these variables of yours",
    ),
    Option(
        "python_version",
        "Python inside the sandbox; the notebook's own by default",
        kind="version",
        field="image_config.python_version",
        rule="asks",
        risk="this Python is fetched and used",
    ),
    Option(
        "base_image",
        "Docker image to build upon",
        field="image_config.base_image",
        rule="asks",
        risk="this Docker image is fetched, and generated code runs in it",
    ),
)

SETTINGS: dict[str, Option] = {option.name: option for option in OPTIONS if option.is_setting}
"""The options that can be set outside of a cell, by name."""

FLAGS: dict[str, Option] = {flag: option for option in OPTIONS for flag in option.flags}
"""The options that can be written in a cell, by flag."""
