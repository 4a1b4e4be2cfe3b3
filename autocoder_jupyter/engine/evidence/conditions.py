"""What the result of a function must not depend on: the clock, chance, its process.

The source shows what the code reads. Whether the result depends on it is decided by runs on another day, in a process
with other environment variables, modules, objects and callers, and with another seed. Code that may keep something from
one call to the next is called twice in one process.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from autocoder_jupyter.engine.evidence.mutants import LONGEST_CODE
from autocoder_jupyter.engine.evidence.solution_worker import SolutionStopped, SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.prompt import FUNCTION
from autocoder_jupyter.equality import equal
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import HiddenInput
from autocoder_jupyter.untrusted.parsing import parse

SEED = 1
"""Another seed than that of the run to compare with."""

MOST_LINES = 5

CLOCK, VARIABLES, CHANCE = "the clock", "environment variables", "random numbers without a seed"
FIXED_CLOCK = "the clock with a text"
"""As in `pd.Timestamp("now")`. pandas and numpy ask the system itself, so no run can be on another day."""

_READS: dict[str, tuple[str, ...]] = {
    CLOCK: (
        *(f"datetime.{name}" for name in ("now", "today", "utcnow")),
        *(f"Timestamp.{name}" for name in ("now", "today", "utcnow")),
        *(f"time.{name}" for name in ("time", "monotonic", "perf_counter", "localtime", "gmtime")),
        "date.today",
    ),
    VARIABLES: ("os.environ", "os.getenv"),
    "the modules that are loaded": ("sys.modules",),
    "the garbage collector": ("gc.get_objects", "gc.get_referrers", "gc.collect"),
    "the frames of its callers": ("sys._getframe", "inspect.currentframe", "inspect.stack"),
}
"""By what is read: the ends of the names that read it."""

_SEEDED = ("seed", "default_rng", "RandomState", "Generator", "Random", "SeedSequence", "PCG64")


def reads(code: str) -> dict[str, tuple[int, ...]]:
    """What a module reads that is not an input, and in which lines."""
    if len(code) > LONGEST_CODE:
        return {}
    found: dict[str, dict[int, None]] = {}
    for node in ast.walk(parse(code)):
        for what in _what(node):
            found.setdefault(what, {})[getattr(node, "lineno", 0)] = None
    return {what: tuple(sorted(lines)) for what, lines in found.items()}


def _what(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        name = ".".join(_end(node))
        yield from (what for what, names in _READS.items() if name in names)
    if isinstance(node, ast.Call):
        *_, owner, name = ("", "", *_end(node.func))
        is_given = bool(node.args or node.keywords)
        is_random = owner == "random" and (name not in _SEEDED or not is_given)
        is_sample = name == "sample" and owner != "random" and isinstance(node.func, ast.Attribute)
        if is_random or (is_sample and not any(keyword.arg == "random_state" for keyword in node.keywords)):
            yield CHANCE
        elif name in ("Timestamp", "to_datetime", "datetime64") and node.args and _is_now(node.args[0]):
            yield FIXED_CLOCK


def _end(node: ast.AST) -> tuple[str, ...]:
    """The last two parts of a name with dots."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if not isinstance(node, ast.Attribute):
        return ()
    owner = node.value
    before = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return (before, node.attr)


def _is_now(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in ("now", "today")


def hidden_inputs(side: SolutionWorker, inputs: Mapping[str, Any], limit: TimeLimit) -> Iterator[HiddenInput]:
    """What the code reads that is not an input, and on which of it the result depends. Blocks."""
    program = side.program
    found = reads(program.code)
    of_process = [what for what in found if what not in (CLOCK, FIXED_CLOCK, CHANCE)]
    others = {
        "the date": (_on_another_day(program), 0, [CLOCK]),
        "the process that runs it": (_in_another_process(program), 0, of_process),
        "chance": (program, SEED, [CHANCE]),
    }
    plain = _values(side, inputs, limit, kept=True)
    for on, (changed, seed, what) in others.items():
        other = SolutionWorker(side.label, side.worker, changed)
        given = _values(other, inputs, limit, seed=seed) if plain is not None else None
        differs = plain is not None and given is not None and not _agree(program, plain, given)
        read = [one for one in what if one in found]
        if differs or read:
            yield _hidden_input(on, read, found, differs=differs, tried=given is not None)
    if (
        plain is not None
        and may_remember(program.code)
        and not _agree(program, plain, _after_a_call(side, inputs, limit, plain))
    ):
        yield HiddenInput(on="earlier calls in its process", reads=(), lines=(), differs=True, tried=True)
    if FIXED_CLOCK in found:
        yield _hidden_input("the date", [FIXED_CLOCK], found, differs=False, tried=False)


def may_remember(code: str) -> bool:
    """Whether a module may keep something from one call to the next: what it assigns beside its local variables."""
    if len(code) > LONGEST_CODE:
        return False
    tree = parse(code)
    makes = ast.List | ast.Dict | ast.Set | ast.Call | ast.ListComp | ast.DictComp
    at_top = (node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))
    if any(isinstance(value, makes) for value in at_top):
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.Global) or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)):
            return True
        if isinstance(node, ast.FunctionDef) and (
            any(isinstance(value, makes) for value in (*node.args.defaults, *node.args.kw_defaults))
            or any("cache" in ast.unparse(one) for one in node.decorator_list)
        ):
            return True
        if isinstance(node, ast.Call) and _end(node.func)[-1:] in (("setattr",), ("globals",), ("setdefault",)):
            return True
    return False


def _after_a_call(
    side: SolutionWorker, inputs: Mapping[str, Any], limit: TimeLimit, plain: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The outputs after a call with the rows in the opposite order, in the same process; `plain` if there are none."""
    turned = {
        name: value.iloc[::-1] if isinstance(value, pd.DataFrame | pd.Series) else value
        for name, value in inputs.items()
    }
    try:
        side.on(turned, limit, reuse=True)
        answer = side.on(inputs, limit, reuse=True)
    except SolutionStopped:
        return plain
    return plain if answer.error else answer.values


def _hidden_input(
    on: str, read: Sequence[str], found: Mapping[str, tuple[int, ...]], *, differs: bool, tried: bool
) -> HiddenInput:
    lines = sorted({line for one in read for line in found[one]})[:MOST_LINES]
    return HiddenInput(on=on, reads=tuple(read), lines=tuple(lines), differs=differs, tried=tried)


def _values(
    side: SolutionWorker, inputs: Mapping[str, Any], limit: TimeLimit, *, seed: int = 0, kept: bool = False
) -> Mapping[str, Any] | None:
    """The outputs; None if there are none."""
    if limit.is_over or not side.worker.alive:
        return None
    try:
        answer = side.on(inputs, limit, seed=seed, kept=kept)
    except SolutionStopped:
        return None
    return None if answer.error else answer.values


def _agree(program: Program, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    compared = (spec.name for spec in program.outputs if KINDS[spec.whole].is_compared)
    return all(equal(one[name], other[name]) for name in compared)


def _on_another_day(program: Program) -> Program:
    return _below(program, f"{program_text('date_shift')}\nset_clock()")


def _in_another_process(program: Program) -> Program:
    other = program_text("date_shift", PASSED=sorted(program.env_vars))
    below = replace(program, code=f"{program.code}\n{FUNCTION} = called_from_another_function({FUNCTION})\n")
    return _below(below, f"{other}\nset_process()")


def _below(program: Program, text: str) -> Program:
    """The program with another text first. Its `from __future__` imports must stay before everything else."""
    lines, place = program.code.split("\n"), 0
    for node in parse(program.code).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        place = node.end_lineno or place
    return replace(program, code="\n".join([*lines[:place], text, *lines[place:]]))
