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
from autocoder_jupyter.types import OutputSpec
from tests.benchmarks.ambiguous import CASES, Ambiguous
from tests.benchmarks.test_second_opinion import blind_tests, plan, solution
from tests.runner import Generated, Runner, fenced

pytestmark = [pytest.mark.local_sandbox, pytest.mark.timeout(1800)]


def only_first(case: Ambiguous) -> str:
    """The first test alone."""
    return blind_tests(replace(case, tests=dict(list(case.tests.items())[:1])))


async def timed(root: Path, case: Ambiguous, tests: str, effort: str) -> tuple[Generated, float]:
    verified: list[float] = []

    def hear(event: object) -> None:
        if isinstance(event, EvidenceGathered | Finished):
            verified.append(time.monotonic())

    kind = case.output if isinstance(case.output, str) else "DataFrame"
    played = await Runner(root, "local").generate(
        {"plan": [plan(case)], "code": [fenced(solution(case.first))], "tests": [tests]},
        prompt=f"{case.prompt} The data are @data.",
        samples={"data": case.sample()},
        outputs=(OutputSpec.model_validate({"name": "answer", "type": kind}),),
        settings={"second_opinion": "off", "effort": effort, "cache": "disable"},
        hear=hear,
    )
    return played, verified[-1] - verified[0]


async def test_what_the_tests_notice(tmp_path: Path) -> None:
    seconds = []
    for number, case in enumerate(CASES):
        told = []
        for kind, tests in (("written", blind_tests(case)), ("first", only_first(case))):
            played, took = await timed(tmp_path / f"{number}{kind}", case, tests, "normal")
            strength = played.report.evidence.strength
            if not played.report.success or strength is None:
                told.append(f"{kind}: {played.error.splitlines()[0][:60]}")
                continue
            seconds.append(took)
            told.append(f"{kind}: {strength.noticed} of {len(strength.changes)} {strength.ended} {took:.2f} s")
            if kind == "written":
                told += [f"\n        {change.words}" for change in strength.survivors]
        print(f"{case.name:30}", *told)
    print(f"median {median(seconds):.2f} s, longest {max(seconds):.2f} s")
