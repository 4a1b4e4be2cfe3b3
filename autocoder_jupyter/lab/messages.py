"""Messages from the kernel to a page. `labextension/src/link/tokens.ts` and `messages.ts` define them in TypeScript.

A test compares both. Messages from a page have no type here, because they are untrusted until `link` has checked them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from autocoder_jupyter.view.as_text import PageDocument

if TYPE_CHECKING:
    from autocoder_jupyter.lab.vocabulary import Vocabulary
    from autocoder_jupyter.magics.variables import Variable
    from autocoder_jupyter.run.function_run import Phase


class JobState(PageDocument):
    """What is shown of a job: its document, what it asks the user, what can be done, what it cost.

    `question` identifies what it `asks`. `cost` is None if it is not known, and 0 if nothing was spent.
    """

    name: str
    phase: Phase
    asks: str
    question: str
    cost: float | None
    progress: float
    step: str
    actions: list[str]
    buttons: dict[str, str]


class JobRun(TypedDict):
    """The start of a job; mostly empty for a result that no cell of this kernel started."""

    started: float
    seconds: float
    cell_id: str | None
    run_id: str
    limit: str
    limit_value: float | None
    limit_next: float | None


class JobMessage(JobState, JobRun):
    """One job, or a result in the namespace without a job."""


class Welcome(TypedDict):
    """The answer to a page's hello."""

    kind: Literal["welcome"]
    client: str
    protocol: int
    version: str
    vocabulary: Vocabulary


class SettingValue(TypedDict):
    """The value of a setting, and where it was set."""

    value: Any
    origin: str


class TakenSettings(TypedDict):
    """The effective settings after a page sent its own, and an error message for each refused one.

    If another source has an error, such as a broken pyproject.toml, `settings` is empty and `error` has the message.
    """

    settings: dict[str, SettingValue]
    refused: dict[str, str]
    error: NotRequired[str]


class SettingsMessage(TakenSettings):
    """The same, as a message."""

    kind: Literal["settings"]


class JobsMessage(TypedDict):
    """All jobs and results."""

    kind: Literal["jobs"]
    jobs: list[JobMessage]


class NotebookData(TypedDict):
    """The variables that a request can refer to, and the types of the others by name."""

    variables: list[Variable]
    others: dict[str, str]


class Data(NotebookData):
    """The same, as a message."""

    kind: Literal["data"]


class CellProblem(TypedDict):
    """A problem of a cell that is being written; places are as in `magics/problems.CellPlace`."""

    severity: Literal["error", "warning", "info"]
    what: str
    hint: str
    instead: str
    area: Literal["command", "quote", "word", "request"]
    word: int
    start: int
    end: int | None


class CheckedPart(TypedDict):
    """A row of `%autocode doctor`, as texts; the others are as in `magics/doctor_row.DoctorRow`."""

    name: str
    state: str
    more: str
    level: int
    used: bool
    bad: bool


class ReadyModels(TypedDict):
    """Models that can be asked now, and why. `api_base` is the address that they need; empty for the usual one.

    A server at such an address needs no key and costs nothing.
    """

    text: str
    models: list[str]
    api_base: str


class RequestOutcome(TypedDict):
    """The outcome of a request: a value if it is `ok`, otherwise an error message for the user."""

    ok: bool
    value: NotRequired[str | None]
    error: NotRequired[str]


class ReplyMessage(RequestOutcome):
    """The same, as a message; `id` is the request's."""

    kind: Literal["reply"]
    id: str


Message = Welcome | SettingsMessage | JobsMessage | Data | ReplyMessage
