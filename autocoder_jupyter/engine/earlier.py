"""The part of a prompt about the version that a refinement starts from."""

from __future__ import annotations

from autocoder_jupyter.engine.prompt import plan_text
from autocoder_jupyter.request import Earlier
from autocoder_jupyter.types import Evidence

_PLAN = """\
There is a function already, in which everything is granted but the last line under <wishes>.

<present_function>
{plan}

Approach: {approach}

{evidence}
</present_function>

<present_code>
{code}
</present_code>

Plan the function as it is to be now. Grant the last wish, and change nothing that it does not touch: outputs, columns,
parameters and assumptions that stay keep their names, their order and their words, letter for letter. What the wish
adds comes after what is there. An assumption that the wish contradicts goes; what the wish leaves open is assumed."""


def plan_addition(earlier: Earlier) -> str:
    """The end of the question for the plan."""
    evidence = evidence_text(earlier.evidence)
    plan = earlier.plan
    return _PLAN.format(plan=plan_text(plan), approach=plan.approach, evidence=evidence, code=earlier.code.strip())


def evidence_text(evidence: Evidence) -> str:
    """The evidence of a success, for the model: the sentences that tests check, and the checks that passed."""
    tested = [f"- {test.sentence or test.id} ({test.outcome})" for test in evidence.tests]
    checked = [f"- {check.name} ({'holds' if check.passed else 'does not hold'})" for check in evidence.checks]
    return "\n".join(["What is known to hold:", *tested, *checked]) if tested or checked else "It was not tested."
