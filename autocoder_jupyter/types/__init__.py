"""The records that all packages share, and the values and type names of `kinds`.

Field names are those of Flyte's code-generation plugin, if it has the field. The package may import `kinds` and what is
below it.

- `records`: the base of all records, stages, resources of a sandbox, overviews
- `interface`: inputs, outputs, the plan, splits
- `databases`: databases of a request, and their tables
- `helpers`: code of the user and verified functions that a function may import
- `evidence`: answers of the model, tests, checks, the second opinion
- `report`: the report of a generation
- `of_flyte`: types of Flyte, converted
"""

import warnings

from autocoder_jupyter.kinds.table import INPUT_TYPE_NAMES, TYPE_NAMES, type_name
from autocoder_jupyter.kinds.values import Dir, Figure, FigureKind, File, TypeName
from autocoder_jupyter.types.databases import DatabaseColumn, DatabaseTable, SampledDatabase
from autocoder_jupyter.types.evidence import (
    BLIND,
    STOPPED,
    Changes,
    CheckOutcome,
    CodeChange,
    CodeSolution,
    Difference,
    Edit,
    ErrorDiagnosis,
    ErrorType,
    Evidence,
    Exchange,
    HiddenInput,
    Invariant,
    LabelCount,
    LayerCost,
    Loss,
    Outcome,
    OutputChange,
    Reading,
    RowStep,
    RowsUsed,
    SecondOpinion,
    Stability,
    Strength,
    TestChoice,
    TestFailure,
    TestOutcome,
    Usage,
)
from autocoder_jupyter.types.helpers import HELPERS, Helper, Helpers
from autocoder_jupyter.types.interface import CodePlan, ColumnSpec, Conclusion, InputSpec, OutputSpec, PlanQuestion
from autocoder_jupyter.types.records import Count, Elements, ImageConfig, Resources, Secret, parse_memory
from autocoder_jupyter.types.report import Attempt, Author, Report, Step, ToolClass, ToolOutcome, ToolUse, Trace

__all__ = [
    "BLIND",
    "HELPERS",
    "INPUT_TYPE_NAMES",
    "STOPPED",
    "TYPE_NAMES",
    "Attempt",
    "Author",
    "Changes",
    "CheckOutcome",
    "CodeChange",
    "CodePlan",
    "CodeSolution",
    "ColumnSpec",
    "Conclusion",
    "Count",
    "DatabaseColumn",
    "DatabaseTable",
    "Difference",
    "Dir",
    "Edit",
    "Elements",
    "ErrorDiagnosis",
    "ErrorType",
    "Evidence",
    "Exchange",
    "Figure",
    "FigureKind",
    "File",
    "Helper",
    "Helpers",
    "HiddenInput",
    "ImageConfig",
    "InputSpec",
    "Invariant",
    "LabelCount",
    "LayerCost",
    "Loss",
    "Outcome",
    "OutputChange",
    "OutputSpec",
    "PlanQuestion",
    "Reading",
    "Report",
    "Resources",
    "RowStep",
    "RowsUsed",
    "SampledDatabase",
    "SecondOpinion",
    "Secret",
    "Stability",
    "Step",
    "Strength",
    "TestChoice",
    "TestFailure",
    "TestOutcome",
    "ToolClass",
    "ToolOutcome",
    "ToolUse",
    "Trace",
    "TypeName",
    "Usage",
    "parse_memory",
    "type_name",
]

_RENAMED = {"Dependence": HiddenInput, "Relation": Invariant}


def __getattr__(name: str) -> type:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = _RENAMED[name]
    warnings.warn(f"{name} was renamed to {new.__name__}, and will be removed.", DeprecationWarning, stacklevel=2)
    return new
