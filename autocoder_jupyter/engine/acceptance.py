"""Runs the user's examples and the user's own tests, before all other tests."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.engine.examples import bind, run_examples
from autocoder_jupyter.engine.own_tests import failures_in, outcomes_of, own_module, why_broken
from autocoder_jupyter.engine.sample_run import failures_of
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.request import Request
from autocoder_jupyter.sandbox.protocol import OnCall, Program, TestSpec, Worker
from autocoder_jupyter.types import CheckOutcome, CodePlan, TestFailure


@dataclass(frozen=True)
class Acceptance:
    """The results of the examples and the user's tests.

    Args:
        outcomes: the outcomes of each example and test.
        failures: the failed ones, as failures of the function.
        broken: why the user's tests cannot run with any function; "" if they can.
    """

    outcomes: tuple[CheckOutcome, ...] = ()
    failures: tuple[TestFailure, ...] = ()
    broken: str = ""


def run_acceptance(
    worker: Worker,
    callee: Worker,
    program: Program,
    request: Request,
    plan: CodePlan,
    redaction: Redaction,
    on_call: OnCall | None = None,
) -> Acceptance:
    """Run the examples and the user's tests. Each call runs in the function's own worker. Blocks.

    Args:
        worker: runs the tests.
        callee: runs the function.
        program: the function.
        request: has the examples and the user's tests.
        plan: the interface.
        redaction: decides what messages may contain.
        on_call: called for each call that a test makes.

    Raises:
        InvalidRequest: an example does not fit the interface.
    """
    bound = [bind(example, plan.inputs, plan.outputs, request.samples) for example in request.examples]
    examples = run_examples(callee, program, bound, redaction)
    outcomes, failures = examples, failures_of(examples)
    if not request.own_tests:
        return Acceptance(outcomes, failures)
    suite = own_module(request.own_tests, request.name, plan)
    run = worker.test(program, TestSpec(suite.source, suite.ids, on_call=on_call), callee=callee)
    if broken := why_broken(run, redaction):
        return Acceptance(outcomes, failures, broken)
    tested, wrong = outcomes_of(suite, run, redaction), failures_in(suite, run, redaction)
    return Acceptance((*outcomes, *tested), (*failures, *wrong))
