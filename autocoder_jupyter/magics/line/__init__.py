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


def _budget(word: str, what: str) -> tuple[Option, ...]:
    """The options that limit what several runs may cost together."""
    units = {"max_cost": "US dollars", "max_tokens": "tokens"}
    return tuple(
        dataclasses.replace(SETTINGS[name], help=f"with {word}: most {unit} for all {what} together")
        for name, unit in units.items()
    )


_ALL = (
    Subcommand("status", "jobs", "", "list running and finished generations"),
    Subcommand(
        "show",
        "results",
        "NAME [--code|--tests|--report|--trace|--timeline|--sent]",
        "show the function and its evidence, or a part of it",
        1,
        1,
        True,
        (
            _flag("code", "only the code"),
            _flag("tests", "only the tests"),
            _flag("report", "only the evidence"),
            _flag("trace", "the tool calls of an agent (--backend claude), in order"),
            _flag("timeline", "how long each step took"),
            _flag("sent", "what the last run sent to the model"),
        ),
        BOTH,
    ),
    Subcommand(
        "reply",
        "replies",
        "NAME [yes WHAT|no|ANSWERS|use NUMBER|keep|wait|again|model] [--always]",
        "answer what it asks: about packages or a tool call, which a yes names, its plan, its result, a silent model",
        1,
        99,
        True,
        (_flag("always", "with yes: all calls of this tool until the run ends"),),
        BOTH,
    ),
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
        "export",
        "results",
        "NAME PATH [--plain|--package|--flyte]",
        "write a script with a command line and its tests, the plain function, or a package",
        2,
        2,
        True,
        (
            _flag("plain", "the function and its imports only"),
            _flag("package", "a folder that can be installed: from NAME import NAME"),
            _flag("flyte", "such a folder, with a task of Flyte: NAME/flyte_task.py"),
        ),
    ),
    Subcommand("insert", "results", "NAME", "put the code into a new cell", 1, 1, True),
    Subcommand(
        "versions",
        "results",
        "NAME [pin [VERSION|--off]|restore VERSION|remove VERSION|remove --all|rename NEW]",
        "list the versions; keep one although the request changes, make an earlier one current, delete, or rename",
        1,
        3,
        True,
        (_flag("off", "with pin: stop pinning the version"), _flag("all", "with remove: all versions")),
        BOTH,
    ),
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
        "diff",
        "results",
        "NAME [A B]",
        "show the differences of two versions (1 3), or of two attempts of one version (2.1 2.2)",
        1,
        3,
        True,
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
        "take",
        "jobs",
        "NAME VERSION [DATA]",
        "take an edit of another version over into the current one, and test that, without a model",
        2,
        99,
        True,
    ),
    Subcommand(
        "setup",
        "first_steps",
        "[check|settings]",
        "choose model, key variable, sharing and sandbox; check: what will be used, and why; settings: each value",
        0,
        1,
    ),
    Subcommand(
        "models",
        "information",
        "[PROVIDER]|try [MODEL] [--max-cost DOLLARS|--max-tokens N]",
        "list models; try runs a dozen small tasks with known answers",
        0,
        2,
        options=_budget("try", "tasks"),
    ),
    Subcommand(
        "rules",
        "rules",
        "[test [FOLDER]] [--max-cost DOLLARS|--max-tokens N]",
        "list the house rules in autocode.md; test asks questions with known answers, and says which answers changed",
        0,
        2,
        options=_budget("test", "questions"),
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
        "help",
        "information",
        "[all|SUBCOMMAND|OPTION|ERROR]",
        "show the help, all of it, or what a subcommand, an option or an error means",
        0,
        1,
    ),
)

SUBCOMMANDS: dict[str, Subcommand] = {command.name: command for command in _ALL}
"""The subcommands, by name, in the order of use: the help and completion have this order."""

FORMER: dict[str, str] = {
    "approve": "reply NAME yes …",
    "decline": "reply NAME no",
    "answer": "reply NAME …",
    "reading": "reply NAME use …",
    "pin": "versions NAME pin …",
    "restore": "versions NAME restore …",
    "remove": "versions NAME remove …",
    "rename": "versions NAME rename …",
    "preview": "show NAME --sent",
    "doctor": "setup check",
    "config": "setup settings",
}
"""What to write instead of a former subcommand; `…` are the words behind the name. They work for one more release."""
