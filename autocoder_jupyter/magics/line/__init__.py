"""The table of the subcommands `%autocode SUBCOMMAND …`. Each names the module that implements it."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.settings.option import BOTH, FUNCTION, Mode, Option


@dataclass(frozen=True)
class Subcommand:
    """One subcommand.

    Args:
        name: its name, and the name of the function that implements it.
        module: the module of that function, in `magics.line`. The function takes the notebook and the `Arguments`.
        usage: its arguments, for the help text.
        help: a description in one line.
        least, most: the minimum and maximum number of words that follow, without flags.
        takes_name: whether the first word is the name of a result.
        options: its flags.
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
    Subcommand("status", "control", "", "what runs, and what ran"),
    Subcommand(
        "show",
        "results",
        "NAME [--code|--tests|--report|--trace|--timeline]",
        "the function and what its success rests on",
        1,
        1,
        True,
        (
            _flag("code", "the code only"),
            _flag("tests", "the tests only"),
            _flag("report", "the evidence only"),
            _flag("trace", "the tool calls of an agent (--backend claude), in order"),
            _flag("timeline", "what took how long"),
        ),
        BOTH,
    ),
    Subcommand(
        "diff",
        "results",
        "NAME [A B]",
        "what changed between two versions by number, or two attempts of one (2.1 2.2)",
        1,
        3,
        True,
    ),
    Subcommand(
        "cancel",
        "control",
        "NAME|--all",
        "stop a generation",
        0,
        1,
        True,
        (_flag("all", "all that run"),),
        BOTH,
    ),
    Subcommand("wait", "control", "NAME", "wait until it is done", 1, 1, True, modes=BOTH),
    Subcommand("retry", "control", "NAME", "the same request again, with new answers", 1, 1, True, modes=BOTH),
    Subcommand("retest", "edits", "NAME", "test code and tests as you edited them, without a model", 1, 1, True),
    Subcommand(
        "approve",
        "control",
        "NAME [PACKAGES] [--always]",
        "allow the packages, or the call of a tool, that it waits for",
        1,
        99,
        True,
        (_flag("always", "all calls of that tool, until it is done"),),
        BOTH,
    ),
    Subcommand("decline", "control", "NAME", "refuse it", 1, 1, True, modes=BOTH),
    Subcommand("answer", "control", "NAME [ANSWERS]", "answer what its plan asks, by number or in words", 1, 4, True),
    Subcommand("reading", "readings", "NAME [NUMBER]", "how else it can be read; a number refines it so", 1, 2, True),
    Subcommand("export", "results", "NAME PATH", "write a script with a command line, and its tests", 2, 2, True),
    Subcommand("insert", "results", "NAME", "put the code into a new cell", 1, 1, True),
    Subcommand("preview", "runs", "NAME", "what the last run sent to the model", 1, 1, True, modes=BOTH),
    Subcommand(
        "history",
        "versions",
        "NAME",
        "its versions: who made them, why, and what they rest on; of a conversation, what was said",
        1,
        1,
        True,
        modes=BOTH,
    ),
    Subcommand("restore", "versions", "NAME VERSION", "let an earlier version count again", 2, 2, True),
    Subcommand(
        "pin",
        "versions",
        "NAME [VERSION|--off]",
        "hold on to a version, whatever the request says",
        1,
        2,
        True,
        (_flag("off", "let go of it"),),
    ),
    Subcommand("rename", "versions", "NAME NEW", "another name for the function and all its versions", 2, 2, True),
    Subcommand(
        "remove",
        "versions",
        "NAME VERSION|--all",
        "remove a version, or all of them, from disk",
        1,
        2,
        True,
        (_flag("all", "all of them"),),
        BOTH,
    ),
    Subcommand(
        "trust",
        "folder",
        "[--show|--withdraw]",
        "what this folder's files ask for, and whether you agree",
        options=(_flag("show", "show it, and ask nothing"), _flag("withdraw", "take your yes back")),
    ),
    Subcommand(
        "cache",
        "cache",
        "[prune] [--all] [--runs]",
        "what environments, outcomes and runs take on this disk, and removing what is not used",
        0,
        1,
        options=(
            _flag("all", "with prune: all that no kernel uses, however new"),
            _flag("runs", "with prune: runs of this folder that gave no function, too"),
        ),
    ),
    Subcommand("models", "information", "[PROVIDER]", "models that can be asked", 0, 1),
    Subcommand("doctor", "information", "", "which sandbox and model will be used, and why"),
    Subcommand("config", "information", "", "every setting, and where its value comes from"),
    Subcommand("help", "information", "", "all options and subcommands"),
)

SUBCOMMANDS: dict[str, Subcommand] = {command.name: command for command in _ALL}
"""The subcommands, by name."""
