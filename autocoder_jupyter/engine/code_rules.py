"""Rules for a module that depend on the types of its inputs and outputs."""

from __future__ import annotations

from autocoder_jupyter.engine.figures import how_to_draw
from autocoder_jupyter.types import CodePlan

_OF_TYPES: dict[tuple[str, ...], str] = {
    ("File", "Dir"): "- sees File and Dir as pathlib.Path: inputs are read-only copies; outputs are written to the "
    "current folder and their path is returned.",
}


def code_rules(plan: CodePlan) -> str:
    """The rules that apply because of the types of inputs and outputs, besides the general ones."""
    used = {spec.type for spec in plan.inputs} | {spec.whole for spec in plan.outputs}
    rules: dict[tuple[str, ...], str] = {**_OF_TYPES, ("Figure",): how_to_draw(plan)}
    told = [rule for types, rule in rules.items() if not used.isdisjoint(types)]
    return "\n".join(["The module also:", *told]) if told else ""
