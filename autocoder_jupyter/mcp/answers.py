"""What the tools return, as structured content."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class NamedFunction(BaseModel):
    """A function, in a line."""

    name: str
    signature: str
    headline: str = Field(description="The verdict, with the words of its card")
    does: str = Field(default="", description="What it does; empty if --share does not allow to say it")


class NamedTable(BaseModel):
    """A table in the kernel or in a file."""

    name: str = Field(description="The name of the frame, or the path of the file")
    rows: int | None = None
    columns: int | None = None
    size: int | None = Field(default=None, description="Bytes of a file")


class Listing(BaseModel):
    """What can be described and called."""

    share: str = Field(description="How much of the data you may see: rows, stats or schema")
    functions: list[NamedFunction]
    frames: list[NamedTable]
    files: list[NamedTable]
    budget: float | None = Field(default=None, description="US dollars left for make; null if nothing may be made")


class Description(BaseModel):
    """A function or a table."""

    name: str
    kind: str
    text: str = Field(description="A function's signature and documentation; or the description of a table")
    code: str = Field(default="", description="The source of a function; empty if --share does not allow to show it")
    withheld: str = Field(default="", description="Why something is not shown")


class Output(BaseModel):
    """One value that a function returned. It stays where the data are."""

    output: str
    kind: str
    name: str = Field(default="", description="Its name in the kernel, or in this session: an input of later calls")
    file: str = Field(default="", description="The file that has it")
    rows: int | None = None
    columns: list[str] = Field(default_factory=list, description="Names of columns that may be shown")
    column_count: int | None = None
    value: Any = Field(default=None, description="A value, or the first rows; null if they may not be shown")
    withheld: str = Field(default="", description="Why something is not shown")


class CallOutputs(BaseModel):
    """The outputs of a call."""

    function: str
    headline: str = Field(description="The verdict on the function")
    outputs: list[Output]
    notes: list[str] = Field(default_factory=list, description="Warnings, for instance of data that differ")


class Counts(BaseModel):
    """What the evidence counts."""

    tests_passed: int = 0
    tests: int = 0
    mutations_noticed: int = 0
    mutations: int = 0
    second_opinion: str = "none"


class FunctionVerdict(BaseModel):
    """How far a function was verified, or how its making goes."""

    name: str
    state: str
    headline: str = Field(description="In the words of the card, such as: Ready, not fully checked")
    doing: str = Field(default="", description="What it does now, while it is made")
    done: bool
    verified: str = Field(default="", description="`verified` or `verified in part`")
    rests_on: list[str] = Field(default_factory=list, description="What speaks for it")
    questions: list[str] = Field(default_factory=list, description="What only the person can decide")
    unchecked: list[str] = Field(default_factory=list, description="What was not checked, or shows little")
    evidence: Counts = Counts()
    waiting_for: str = Field(default="", description="What the person must do. No tool can do it.")
    error: str = ""
    cost: float | None = Field(default=0.0, description="US dollars spent on it; null if the price is unknown")
