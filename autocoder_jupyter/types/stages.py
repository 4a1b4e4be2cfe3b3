"""The stages of a generation. The record of a stage holds everything that depends on its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StageName = Literal["plan", "code", "tests", "environment", "run", "verify", "second", "diagnose", "fix"]

Asking = StageName | Literal["tools"]
"""What a question to a model is for: a stage of a generation, or a turn of `--mode tools`."""

Live = Literal["answer", "log", "tests", "note"]
"""What is shown of a running stage: the model's answer, the log of the environment, the tests, or one sentence."""


@dataclass(frozen=True)
class Stage:
    """One stage.

    Args:
        label: its name in the list of stages.
        doing: the title of a card while it runs.
        heading: stands above what is shown of it while it runs.
        live: what is shown there.
        note: the sentence, for `live="note"`.
        finds: what it finds out. It is marked as failed if a test or a condition fails.
        asks: completes "the model must be asked …"; "" if it asks no model.
        is_optional: many generations do not need it; it is listed when it begins.
        is_writing: it writes what a version is made of; a kept version has it already.
        has_agent: an agent works in it, if an agent writes the code.
        runs_beside: it runs beside the others, and is stopped if they end before it.
    """

    label: str
    doing: str
    heading: str
    live: Live = "answer"
    note: str = ""
    finds: Literal["tests", "conditions"] | None = None
    asks: str = ""
    is_optional: bool = False
    is_writing: bool = False
    has_agent: bool = False
    runs_beside: bool = False


STAGES: dict[StageName, Stage] = {
    "plan": Stage(
        "Plan",
        doing="Planning",
        heading="The plan, as the model writes it",
        asks="to plan the function",
        is_writing=True,
    ),
    "code": Stage(
        "Code",
        doing="Writing code and tests",
        heading="The code, as the model writes it",
        asks="to write the code",
        is_writing=True,
        has_agent=True,
    ),
    "tests": Stage(
        "Tests",
        doing="Writing code and tests",
        heading="The tests, as the model writes them",
        asks="to write the tests",
        is_writing=True,
    ),
    "environment": Stage("Environment", doing="Preparing the sandbox", heading="The sandbox", live="log"),
    "run": Stage("Run", doing="Running the tests", heading="The tests", live="tests", finds="tests"),
    "verify": Stage(
        "Verify",
        doing="Verifying",
        heading="The checks",
        live="note",
        note="Running the function on the sample again, then the checks.",
        finds="conditions",
    ),
    "second": Stage(
        "Second opinion",
        doing="Getting a second opinion",
        heading="The second opinion, as the model writes it",
        asks="for a second opinion",
        is_optional=True,
        runs_beside=True,
    ),
    "diagnose": Stage(
        "Diagnose",
        doing="Diagnosing the failure",
        heading="The diagnosis, as the model writes it",
        asks="why tests fail",
        is_optional=True,
    ),
    "fix": Stage(
        "Fix",
        doing="Fixing",
        heading="The fix, as the model writes it",
        asks="to fix failures",
        is_optional=True,
        has_agent=True,
    ),
}
"""The stages by name, in the order of a first attempt. The second opinion begins with the code."""
