"""The table of the subcommands `%autocode SUBCOMMAND …`. Each names the module that implements it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.settings.setting import BOTH, FUNCTION, Mode, Option


@dataclass(frozen=True)
class Subcommand:
    """One subcommand.

    Args:
        name: its name, and the name of the function that implements it.
        module: the module of that function, in `magics.line`. The function takes the notebook and the `Arguments`.
        least, most: the minimum and maximum number of words that follow, without flags.
        takes_name: whether the first word is the name of a result.
        modes: whether it applies to functions, to answers of `--mode tools`, or to both.
    """

    name: str
    module: str
    usage: str
    help: str
    least: int = 0
    most: int = 0
    takes_name: bool = False
    options: tuple[Option, ...] = ()
    modes: tuple[Mode, ...] = FUNCTION


def _flag(name: str, text: str) -> Option:
    return Option(name, text, flags=(f"--{name}",), kind="flag")


_ALL = (
    Subcommand("status", "jobs", "", "list running and finished generations"),
    Subcommand(
        "show",
        "results",
        "NAME [--code|--tests|--report|--trace|--timeline]",
        "show the function and its evidence",
        1,
        1,
        True,
        (
            _flag("code", "only the code"),
            _flag("tests", "only the tests"),
            _flag("report", "only the evidence"),
            _flag("trace", "the tool calls of an agent (--backend claude), in order"),
            _flag("timeline", "how long each step took"),
        ),
        BOTH,
    ),
    Subcommand(
        "diff",
        "results",
        "NAME [A B]",
        "show the differences of two versions (1 3), or of two attempts of one version (2.1 2.2)",
        1,
        3,
        True,
    ),
    Subcommand(
        "cancel",
        "jobs",
        "NAME|--all",
        "stop a generation",
        0,
        1,
        True,
        (_flag("all", "all running generations"),),
        BOTH,
    ),
    Subcommand("wait", "jobs", "NAME", "wait until it is done", 1, 1, True, modes=BOTH),
    Subcommand(
        "retry",
        "jobs",
        "NAME [DATA]",
        "send the same request again, for new answers; after a restart, name its data",
        1,
        99,
        True,
        modes=BOTH,
    ),
    Subcommand(
        "retest",
        "jobs",
        "NAME [DATA]",
        "test code and tests as you edited them, without a model; after a restart, name its data",
        1,
        99,
        True,
    ),
    Subcommand(
        "approve",
        "jobs",
        "NAME [PACKAGES] [--always]",
        "allow the packages, or the tool call, that it waits for",
        1,
        99,
        True,
        (_flag("always", "all calls of this tool until the run ends"),),
        BOTH,
    ),
    Subcommand("decline", "jobs", "NAME", "refuse the packages or the tool call", 1, 1, True, modes=BOTH),
    Subcommand(
        "answer", "jobs", "NAME [ANSWERS]", "answer the questions of its plan, by number or in words", 1, 4, True
    ),
    Subcommand(
        "reading",
        "results",
        "NAME [NUMBER]",
        "list other interpretations of the request; a number selects one and refines the function",
        1,
        2,
        True,
    ),
    Subcommand(
        "export",
        "results",
        "NAME PATH [--package] [--flyte]",
        "write a script with a command line, or a package, and its tests",
        2,
        2,
        True,
        (
            _flag("package", "a folder that can be installed: from NAME import NAME"),
            _flag("flyte", "such a folder, with a task of Flyte: NAME/flyte_task.py"),
        ),
    ),
    Subcommand("insert", "results", "NAME", "put the code into a new cell", 1, 1, True),
    Subcommand("preview", "jobs", "NAME", "show what the last run sent to the model", 1, 1, True, modes=BOTH),
    Subcommand(
        "history",
        "results",
        "NAME",
        "list the versions: who made each, why, and its evidence; for a conversation, list its messages",
        1,
        1,
        True,
        modes=BOTH,
    ),
    Subcommand(
        "take",
        "jobs",
        "NAME VERSION [DATA]",
        "take an edit of another version over into the current one, and test that, without a model",
        2,
        99,
        True,
    ),
    Subcommand("restore", "results", "NAME VERSION", "make an earlier version the current one", 2, 2, True),
    Subcommand(
        "pin",
        "results",
        "NAME [VERSION|--off]",
        "keep a version as the current one, also if the request changes",
        1,
        2,
        True,
        (_flag("off", "stop pinning the version"),),
    ),
    Subcommand("rename", "results", "NAME NEW", "rename the function and all its versions", 2, 2, True),
    Subcommand(
        "remove",
        "results",
        "NAME VERSION|--all",
        "delete a version, or all versions, from disk",
        1,
        2,
        True,
        (_flag("all", "all versions"),),
        BOTH,
    ),
    Subcommand(
        "trust",
        "information",
        "[--show|--withdraw]",
        "show the permissions that this folder asks for, and ask whether you agree",
        options=(
            _flag("show", "show the permissions without a question"),
            _flag("withdraw", "withdraw your permission"),
        ),
    ),
    Subcommand(
        "cache",
        "information",
        "[prune] [--all] [--runs]",
        "show how much disk space environments, results and runs use; prune removes unused ones",
        0,
        1,
        options=(
            _flag("all", "with prune: everything that no kernel uses, also recent entries"),
            _flag("runs", "with prune: also runs in this folder that produced no function"),
        ),
    ),
    Subcommand(
        "models",
        "information",
        "[PROVIDER]|try [MODEL] [--max-cost DOLLARS|--max-tokens N]",
        "list models; try runs a dozen small tasks with known answers",
        0,
        2,
        options=(
            dataclasses.replace(SETTINGS["max_cost"], help="with try: most US dollars for all tasks together"),
            dataclasses.replace(SETTINGS["max_tokens"], help="with try: most tokens for all tasks together"),
        ),
    ),
    Subcommand("setup", "first_steps", "", "choose model, key variable, sharing and sandbox by questions; a test call"),
    Subcommand("doctor", "information", "", "show which sandbox and model will be used, and why"),
    Subcommand("config", "information", "", "show every setting, and where its value comes from"),
    Subcommand("help", "information", "[SUBCOMMAND]", "show all options and subcommands, or one subcommand", 0, 1),
)

SUBCOMMANDS: dict[str, Subcommand] = {command.name: command for command in _ALL}
"""The subcommands, by name."""
