"""Fixes the code by edits. The model cannot change tests, and gets the failures only as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.prompt import FUNCTION, block, code_rules, interface_problem, without_entry
from autocoder_jupyter.engine.repair import Brief, PatchError, failures_text
from autocoder_jupyter.engines.staged.code_edits import add_imports, apply_edits, changed_in_substance
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import CodePlan, Edit, TestFailure

_EDITOR = """\
You mend one Python module, the one under <solution>. Its function departs from what was asked in the ways listed under
<failures>; mend each of them at its cause, and whatever else of the plan or the rules the same lines break. Leave the
other lines as they are, and never special-case the inputs of a test.

Answer with edits. Each has `find`, a piece of the module copied exactly, long enough to stand there only once,
`replace`, the text that takes its place, and `mends`, the names of the failures that it mends. `imports` are lines to
add at the top, such as `import re`."""

_ESCALATIONS = (
    "",
    "That does not do: {problem}. STILL MISSING: {missing}. Answer with edits that mend all of it.",
    "FINAL ATTEMPT. Twice your edits could not be used: {problem}. STILL MISSING: {missing}. Now write the whole "
    "corrected module in one ```python block. Start from the module above, mend every failure that is listed, and keep "
    "the `def` line of `run`.",
)


class _MendingEdit(BaseModel):
    find: str
    replace: str
    mends: list[str] = Field(default_factory=list)


class CodeFix(BaseModel):
    """The edits that mend the module, and the imports that it needs besides."""

    edits: list[_MendingEdit]
    imports: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class FixVerification:
    """Whether the fixes that a diagnosis asked for are in the new code."""

    applied: tuple[str, ...]
    missing: tuple[str, ...]
    problem: str = ""

    @property
    def all_applied(self) -> bool:
        """Whether nothing is missing and nothing else is wrong."""
        return not self.missing and not self.problem


def verify_logic_fixes_applied(
    old: str, new: str, failures: Sequence[TestFailure], fixed: Sequence[str], plan: CodePlan
) -> FixVerification:
    """Check a fix in the text, without a model: each failure has an edit, and the interface is kept.

    Args:
        old: the module before the fix.
        new: the module after it.
        failures: the failures to fix.
        fixed: names of the failures that the applied edits name.
        plan: the planned interface.
    """
    names = [failure.test_name for failure in failures]
    short = {name.rpartition("::")[2] for name in fixed}
    applied = tuple(name for name in names if name in fixed or name.rpartition("::")[2] in short)
    missing = tuple(name for name in names if name not in applied)
    if not changed_in_substance(old, new):
        return FixVerification((), tuple(names), "nothing but comments or layout changed")
    return FixVerification(applied, missing, interface_problem(new, plan))


def fix_messages(brief: Brief, code: str, failures: Sequence[TestFailure], notes: str) -> Messages:
    """The question for edits. It has the failures as text, but not the source of the tests."""
    return brief.question(
        block("solution", code),
        block("failures", failures_text(failures)),
        notes,
        code_rules(brief.plan),
        _EDITOR,
    )


def _fixed(code: str, answer: CodeFix) -> str:
    """The module with the edits and imports of an answer, which may have only imports."""
    edits = [Edit(find=edit.find, replace=edit.replace) for edit in answer.edits]
    edited = apply_edits(code, edits) if edits or not answer.imports else code
    return add_imports(edited, answer.imports)


async def fix_code(
    talk: Conversation,
    brief: Brief,
    code: str,
    failures: Sequence[TestFailure],
    *,
    notes: str = "",
    variant: int = 0,
) -> str:
    """Ask for a fixed module, more forcefully each time. The last answer is used if it has the planned interface.

    Args:
        talk: the conversation with the model.
        brief: the request, the plan and the data context.
        code: the current module.
        failures: the failures to fix.
        notes: further text for the model, such as an earlier fix of the same failure that did not help.
        variant: another variant asks the same question again.

    Returns:
        The new module; the old one if the answers change nothing, which the loop treats as no progress.

    Raises:
        UnusableAnswer: neither edits nor a module could be read.
    """
    messages = fix_messages(brief, code, failures, notes)
    problem, missing, best = "", [failure.test_name for failure in failures], code
    for insistence in _ESCALATIONS[:-1]:
        if insistence:
            content = insistence.format(problem=problem, missing=", ".join(missing) or "nothing more")
            messages = (*messages, {"role": "user", "content": content})
        try:
            answer = await talk.structured("fix", messages, CodeFix, variant=variant)
        except UnusableAnswer:
            problem = "they are not in the form that was asked for"
            messages = (*messages, {"role": "assistant", "content": "(no edits that could be read)"})
            break
        messages = (*messages, {"role": "assistant", "content": answer.model_dump_json()})
        try:
            new = _fixed(code, answer)
        except PatchError as error:
            problem = str(error)
            continue
        fixed = [name for edit in answer.edits for name in edit.mends] if answer.edits else missing
        verdict = verify_logic_fixes_applied(code, new, failures, fixed, brief.plan)
        if verdict.all_applied:
            return new
        problem, missing = verdict.problem or "not every failure is mended", list(verdict.missing)
        if not verdict.problem:
            best = new
    content = _ESCALATIONS[-1].format(problem=problem, missing=", ".join(missing) or "nothing more")
    asking = (*messages, {"role": "user", "content": content})
    try:
        whole = without_entry(await talk.code("fix", asking, must_define=FUNCTION, variant=variant))
    except UnusableAnswer:
        if best == code:
            raise
        return best
    return whole if not interface_problem(whole, brief.plan) else best
