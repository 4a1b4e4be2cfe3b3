"""The records that all packages share, and the values and type names of `kinds`.

Field names are those of Flyte's code-generation plugin, if it has the field. The package may import `kinds` and what is
below it.

- `records`: the base of all records, stages, resources of a sandbox, overviews
- `interface`: inputs, outputs, the plan, splits
- `evidence`: answers of the model, tests, checks, the second opinion
- `report`: the report of a generation
- `of_flyte`: types of Flyte, converted
"""

from autocoder_jupyter.kinds.table import INPUT_TYPE_NAMES, TYPE_NAMES, type_name
from autocoder_jupyter.kinds.values import Dir, Figure, FigureKind, File, TypeName
from autocoder_jupyter.types.evidence import (
    BLIND,
    STOPPED,
    Changes,
    CheckOutcome,
    CodeChange,
    CodeSolution,
    Dependence,
    Difference,
    Edit,
    ErrorDiagnosis,
    ErrorType,
    Evidence,
    Exchange,
    LayerCost,
    Outcome,
    OutputChange,
    Reading,
    Relation,
    SecondOpinion,
    Strength,
    TestChoice,
    TestFailure,
    TestOutcome,
    Usage,
)
from autocoder_jupyter.types.interface import CodePlan, ColumnSpec, InputSpec, OutputSpec, PlanQuestion
from autocoder_jupyter.types.records import Count, Elements, ImageConfig, Resources, Secret, parse_memory
from autocoder_jupyter.types.report import Attempt, Author, Report, Step, ToolClass, ToolOutcome, ToolUse, Trace

__all__ = [
    "BLIND",
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
    "Count",
    "Dependence",
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
    "ImageConfig",
    "InputSpec",
    "LayerCost",
    "Outcome",
    "OutputChange",
    "OutputSpec",
    "PlanQuestion",
    "Reading",
    "Relation",
    "Report",
    "Resources",
    "SecondOpinion",
    "Secret",
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
