"""The base of all records, and those that many packages share: stages, resources of a sandbox, overviews of data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from autocoder_jupyter.kinds.table import canonical

# The base of all records, and types of their fields


class Record(BaseModel):
    """A frozen record. Unknown keys are ignored, because models like to add some.

    It may come from a stranger's file, so its numbers are such as can be shown and computed with.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


Count = Annotated[int, Field(ge=0, le=2**53)]
"""A number of things, 0 or more."""


Elements = Annotated[str, AfterValidator(canonical)]
"""The element type of a list or dict; "" if it is not given."""


# Stages of a generation. The record of a stage holds everything that depends on its name.

StageName = Literal["plan", "code", "tests", "environment", "run", "verify", "second", "diagnose", "fix"]

Asking = StageName | Literal["tools"]
"""What a question to a model is for: a stage of a generation, or a turn of `--mode tools`."""

Live = Literal["answer", "log", "tests", "note"]
"""What is shown of a running stage: the model's answer, the log of the environment, the tests, or one sentence."""


@dataclass(frozen=True)
class Stage:
    """One stage.

    Args:
        label: its name in the list of stages, and on its tab while it runs.
        doing: the title of a card while it runs.
        live: what its tab shows.
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
        asks="to plan the function",
        is_writing=True,
    ),
    "code": Stage(
        "Code",
        doing="Writing code and tests",
        asks="to write the code",
        is_writing=True,
        has_agent=True,
    ),
    "tests": Stage(
        "Tests",
        doing="Writing code and tests",
        asks="to write the tests",
        is_writing=True,
    ),
    "environment": Stage("Environment", doing="Preparing the sandbox", live="log"),
    "run": Stage("Run", doing="Running the tests", live="tests", finds="tests"),
    "verify": Stage(
        "Verify",
        doing="Verifying",
        live="note",
        note="Running the function on the sample again, then the checks.",
        finds="conditions",
    ),
    "second": Stage(
        "Second opinion",
        doing="Getting a second opinion",
        asks="for a second opinion",
        is_optional=True,
        runs_beside=True,
    ),
    "diagnose": Stage(
        "Diagnose",
        doing="Diagnosing the failure",
        asks="why tests fail",
        is_optional=True,
    ),
    "fix": Stage(
        "Fix",
        doing="Fixing",
        asks="to fix failures",
        is_optional=True,
        has_agent=True,
    ),
}
"""The stages by name, in the order of a first attempt. The second opinion begins with the code."""


# The sandbox: image, resources, secrets


class ImageConfig(Record):
    """Where a Docker image is built from and kept.

    Args:
        registry: prefix of the image's name; a built image is pushed there when `registry_secret` is given.
        registry_secret: name of an environment variable that holds `user:password` for that registry.
        python_version: (major, minor) inside the sandbox; the notebook's own by default.
        base_image: image to build upon; needs Python of `python_version`.
    """

    registry: str | None = None
    registry_secret: str | None = None
    python_version: tuple[int, int] | None = None
    base_image: str | None = None


class Resources(Record):
    """What a sandbox may use. `memory` is bytes, or a quantity such as `"512Mi"`, `"2Gi"`, `"1G"`."""

    cpu: float = Field(default=1.0, gt=0)
    memory: int | str = "2Gi"


class Secret(Record):
    """A secret, handed to the sandbox under `as_env_var`; `key` names the variable of the notebook that holds it."""

    key: str
    as_env_var: str | None = None


def parse_memory(quantity: int | str) -> int:
    """Bytes of a quantity such as `"512Mi"`, `"2Gi"`, `"1.5G"` or a plain number.

    Raises:
        ValueError: the text is not a quantity, or one that no machine has.
    """
    if isinstance(quantity, int):
        size: float = quantity
    else:
        text = quantity.strip()
        units = {
            "Ki": 2**10,
            "Mi": 2**20,
            "Gi": 2**30,
            "Ti": 2**40,
            "k": 1e3,
            "K": 1e3,
            "M": 1e6,
            "G": 1e9,
            "T": 1e12,
        }
        unit = next((u for u in units if text.removesuffix("B").endswith(u)), "")
        number = text.removesuffix("B").removesuffix(unit)
        try:
            size = float(number) * units.get(unit, 1)
        except ValueError:
            raise ValueError(f"{quantity!r} is not an amount of memory; write for instance '512Mi' or '2Gi'") from None
    if not 1 <= size < 2**63:
        raise ValueError(f"{str(quantity)[:80]!r} is not an amount of memory that a machine can have")
    return int(size)


# Samples of tables whose rows are not in memory


class Drawn(Record):
    """A sample of the rows of a table.

    Args:
        kind: what the table is: `polars LazyFrame`.
        rows: how many rows were drawn.
        of: how many it has.
        seeded: whether they were drawn with a fixed seed. Without one, other rows are drawn the next time.
    """

    kind: str
    rows: Count
    of: Count
    seeded: bool = True

    @property
    def words(self) -> str:
        """`a sample of 10,000 of 41,000,000 rows`."""
        unseeded = "" if self.seeded else ", drawn without a seed: the next time, others are drawn"
        return f"a sample of {self.rows:,} of {self.of:,} rows{unseeded}"


# Overviews for the user: `data` makes them, and `display` draws them. All texts are short and masked.

Drawing = Literal["histogram", "timeline", "ranking", "none"]
"""A histogram over a range of numbers or times; or a ranking with one bar per value, the most frequent first."""


@dataclass(frozen=True)
class Bar:
    """One bar: its range or value, and its number of cells."""

    label: str
    count: int


@dataclass(frozen=True)
class ColumnOverview:
    """One column.

    Args:
        name: its label as Python source.
        dtype: the name of its dtype in pandas.
        missing: the number of missing values; None if they could not be counted.
        distinct: the number of different values; None if they cannot be compared.
        distinct_exact: whether `distinct` is of the whole column, not of a sample.
        facts: further facts as (label, text): smallest, mean, largest.
        drawing: the kind of the chart.
        bars: the bars, at most twelve.
    """

    name: str
    dtype: str
    missing: int | None = None
    distinct: int | None = None
    distinct_exact: bool = True
    facts: tuple[tuple[str, str], ...] = ()
    drawing: Drawing = "none"
    bars: tuple[Bar, ...] = ()


@dataclass(frozen=True)
class Overview:
    """One sample.

    Args:
        kind: `DataFrame`, `Series`, `File` or `Dir`.
        summary: its size and other facts about the whole, as text.
        columns: the first columns.
        more_columns: the number of further columns.
        rows: the number of rows of the whole table.
        looked_at: the number of rows from which bars and distinct values were computed.
    """

    kind: str
    summary: str
    columns: tuple[ColumnOverview, ...] = ()
    more_columns: int = 0
    rows: int = 0
    looked_at: int = 0


@dataclass(frozen=True)
class Excerpt:
    """The first rows of a table as texts.

    Args:
        headings: the headings of the columns; first the levels of the index, unless it is the default one.
        rows: the cells.
        size: `1,000 rows × 20 columns`.
        numeric: for each column, whether it contains numbers.
        cut: whether the table has more rows or columns.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    size: str
    numeric: tuple[bool, ...]
    cut: bool = False


@dataclass(frozen=True)
class Glimpse:
    """A preview of an output of a function: the first rows of a table, the beginning of any other value.

    Args:
        name: the name of the output.
        text: the preview of a value that is not a table.
        table: the first rows of a table; None for any other value.
        picture: a picture as PNG, small enough for a saved notebook; b"" for none.
        chart: the safe parts of a chart of Plotly or Altair, from `untrusted.charts.chart_place`; "" for none.
        left_out: why a figure has neither, in a few words; "" for any other value.
    """

    name: str
    text: str = ""
    table: Excerpt | None = None
    picture: bytes = field(default=b"", repr=False)
    chart: str = field(default="", repr=False)
    left_out: str = ""
