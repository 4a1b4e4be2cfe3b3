"""What the kernel says to a page. `labextension/src/link/tokens.ts` and `messages.ts` say the same in TypeScript.

A test holds one to the other. What a page says has no type here: it is a stranger's until `link` has looked at it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

if TYPE_CHECKING:
    from autocoder_jupyter.display.run_state import Phase
    from autocoder_jupyter.lab.vocabulary import Vocabulary
    from autocoder_jupyter.magics.variables import Variable


class Progress(TypedDict):
    """How far it is, which functions and answers of `--mode tools` say differently."""

    mode: str
    stage: str | None
    attempt: int
    of: int
    passed: int
    tests: int
    tests_changed: bool
    signature: str
    held: list[str]
    warnings: list[str]
    agent: str


class JobState(Progress):
    """How far it is, and what came of it."""

    name: str
    phase: Phase
    title: str
    input_tokens: int
    output_tokens: int
    cost: float | None
    max_cost: float | None
    approval: list[str]
    reason: str
    progress: float
    step: str


class JobRun(TypedDict):
    """When and where it was started. Little is known of a result that no cell of this kernel started."""

    started: float
    seconds: float
    cell_id: str | None
    run_id: str
    replayed: bool
    limit: str
    limit_value: float | None


class Job(JobState, JobRun):
    """One generation, or a result that the namespace holds without one."""


class Welcome(TypedDict):
    """The answer to a page's hello."""

    kind: Literal["welcome"]
    client: str
    protocol: int
    version: str
    vocabulary: Vocabulary


class Setting(TypedDict):
    """What holds for a setting, and where that was said."""

    value: Any
    origin: str


class TakenSettings(TypedDict):
    """What came of the settings of a page: what holds now, and a sentence for each that cannot be used.

    Where another source is at fault, such as a broken pyproject.toml, there are no settings and `error` says why.
    """

    settings: dict[str, Setting]
    refused: dict[str, str]
    error: NotRequired[str]


class Settings(TakenSettings):
    """The same, as a message."""

    kind: Literal["settings"]


class Jobs(TypedDict):
    """All jobs and results."""

    kind: Literal["jobs"]
    jobs: list[Job]


class NotebookData(TypedDict):
    """What a request can refer to, and the types of what it cannot, by name."""

    variables: list[Variable]
    others: dict[str, str]


class Data(NotebookData):
    """The same, as a message."""

    kind: Literal["data"]


class Outcome(TypedDict):
    """What came of a request: a value if it is `ok`, else a sentence for the person."""

    ok: bool
    value: NotRequired[str | None]
    error: NotRequired[str]


class Reply(Outcome):
    """The same, as a message; `id` is the request's."""

    kind: Literal["reply"]
    id: str


Message = Welcome | Settings | Jobs | Data | Reply
