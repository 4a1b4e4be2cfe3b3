"""How many small changes of a function its tests notice, and what finding that out takes.

    python -m pytest tests/benchmarks/test_mutation.py -s

The requests, functions and tests are those of the benchmark of the second opinion: the tests that a good model wrote,
and for comparison the first of them alone. The seconds are those from the verdict to the end of the run, without a
second opinion.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from autocoder_jupyter.run.events import EvidenceGathered, Finished
from autocoder_jupyter.run.of_report import verified
from autocoder_jupyter.types import OutputSpec
from tests.benchmarks.ambiguous import CASES, Ambiguous
from tests.benchmarks.test_second_opinion import blind_tests, plan, second, solution
from tests.runner import Generated, Runner, fenced

pytestmark = [pytest.mark.local_sandbox, pytest.mark.timeout(1800)]


def only_first(case: Ambiguous) -> str:
    """The first test alone."""
    return blind_tests(replace(case, tests=dict(list(case.tests.items())[:1])))


async def timed(root: Path, case: Ambiguous, tests: str, *, code: str = "", other: str = "") -> tuple[Generated, float]:
    """A generation with normal effort, and the seconds from its verdict to its end.

    Args:
        root: the folder of the journal.
        case: the request.
        tests: the answer with the tests.
        code: the body of the function; by default the right one.
        other: the body of a second solution; "" for none.
    """
    verified: list[float] = []

    def hear(event: object) -> None:
        if isinstance(event, EvidenceGathered | Finished):
            verified.append(time.monotonic())

    kind = case.output if isinstance(case.output, str) else "DataFrame"
    produced = await Runner(root, "local").generate(
        {
            "plan": [plan(case)],
            "code": [fenced(solution(code or case.first))],
            "tests": [tests],
            **({"second": [second(case, other, case.assumption)]} if other else {}),
        },
        prompt=f"{case.prompt} The data are @data.",
        samples={"data": case.sample()},
        outputs=(OutputSpec.model_validate({"name": "answer", "type": kind}),),
        settings={"second_opinion": "on" if other else "off", "effort": "normal", "cache": "disable"},
        hear=hear,
    )
    return produced, verified[-1] - verified[0]


async def test_what_the_tests_notice(tmp_path: Path) -> None:
    seconds = []
    for number, case in enumerate(CASES):
        told = []
        for kind, tests in (("written", blind_tests(case)), ("first", only_first(case))):
            produced, took = await timed(tmp_path / f"{number}{kind}", case, tests)
            strength = produced.report.evidence.strength
            if not produced.report.success or strength is None:
                told.append(f"{kind}: {produced.error.splitlines()[0][:60]}")
                continue
            seconds.append(took)
            told.append(f"{kind}: {strength.noticed} of {len(strength.changes)} {strength.ended} {took:.2f} s")
            if kind == "written":
                told += [f"\n        {change.words}" for change in strength.survivors]
        print(f"{case.name:30}", *told)
    print(f"median {median(seconds):.2f} s, longest {max(seconds):.2f} s")


async def test_what_right_and_wrong_functions_rest_on(tmp_path: Path) -> None:
    """Each right function beside another right solution, then each wrong one that its tests accept, without one."""
    seconds = []
    for number, case in enumerate(CASES):
        produced, took = await timed(tmp_path / f"{number}", case, blind_tests(case), other=case.same)
        report = produced.report
        seconds.append(took)
        assert report.success and report.second_opinion is not None
        print(f"{case.name:32}{took:5.2f} s  {verified(report.evidence, report.second_opinion, 1).line}")
        if report.second_opinion.state != "agree":
            print(" " * 40, report.second_opinion.differences[:2], report.second_opinion.note)
        if case.slip[0]:
            wrong = case.first.replace(*case.slip)
            produced, _ = await timed(tmp_path / f"{number}w", case, blind_tests(case), code=wrong)
            told = (
                verified(produced.report.evidence, None, 1).line if produced.report.success else "caught by the tests"
            )
            print(f"    wrong: {told}")
    print(f"median {median(seconds):.2f} s, longest {max(seconds):.2f} s")
