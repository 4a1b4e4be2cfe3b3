"""The records that all packages share, and the values and type names of `kinds`.

Field names are those of Flyte's code-generation plugin, if it has the field.

The records that all packages share, by subject.
"""

from autocoder_jupyter.kinds.table import INPUT_TYPE_NAMES, TYPE_NAMES, type_name
from autocoder_jupyter.kinds.values import Dir, Figure, FigureKind, File, TypeName
from autocoder_jupyter.types.environment import ImageConfig, Resources, Secret, parse_memory
from autocoder_jupyter.types.evidence import (
    BLIND,
    Changes,
    CheckOutcome,
    Difference,
    Evidence,
    Outcome,
    OutputChange,
    Reading,
    SecondOpinion,
    TestChoice,
    TestOutcome,
)
from autocoder_jupyter.types.interface import CodePlan, ColumnSpec, InputSpec, OutputSpec, PlanQuestion
from autocoder_jupyter.types.record import Count, Elements
from autocoder_jupyter.types.report import Attempt, Author, Report, Step, ToolClass, ToolOutcome, ToolUse, Trace
from autocoder_jupyter.types.solution import (
    STOPPED,
    CodeSolution,
    Edit,
    ErrorDiagnosis,
    ErrorType,
    Exchange,
    TestFailure,
    Usage,
)
from autocoder_jupyter.types.strength import CodeChange, Dependence, LayerCost, Relation, Strength

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
