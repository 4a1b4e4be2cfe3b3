"""The cost and the findings of the second opinion, for ambiguous requests that we wrote.

    python -m pytest tests/benchmarks/test_second_opinion.py -s

The answers are prepared (`ambiguous`), so this measures the mechanism: whether a different interpretation is found and
reported, whether two solutions of the same interpretation are reported as equal, and whether an error that the tests do
not find is found and repaired. The baseline is the same request without a second opinion. How often a second model
interprets a request differently depends on the model, and is not measured. Tokens are counted on the prompts as they
are sent; answers come after 0.3 s, at 400 tokens per second.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.types import OutputSpec, Report
from tests.benchmarks.ambiguous import CASES, Ambiguous
from tests.runner import Runner, fenced
from tests.scripted_model import Answer

pytestmark = [pytest.mark.local_sandbox, pytest.mark.timeout(1800)]

HEAD = "import numpy as np\nimport pandas as pd\n\n\n"
DAYS = (
    "def days(*rows):\n    return pd.DataFrame({'day': pd.to_datetime([day for day, _ in rows]), "
    "'region': 'N', 'revenue': [revenue for _, revenue in rows]})\n\n\n"
)
DERIVED_WRONG = {"churn"}
"""Cases in which the derivation makes the same error as the code."""


def solution(body: str, declared: str = "") -> str:
    return f"{declared}{HEAD}def run(data):\n{textwrap.indent(body, '    ')}\n"


def second(case: Ambiguous, body: str, reading: str) -> str:
    kind = case.output if isinstance(case.output, str) else "DataFrame"
    return fenced(solution(body, f'"""How it is read:\n\n- {reading}\n"""\n\nOUTPUTS = {{"answer": "{kind}"}}\n\n'))


def plan(case: Ambiguous) -> str:
    answer: dict[str, Any] = {"name": "answer", "type": case.output, "meaning": case.prompt}
    if not isinstance(case.output, str):
        columns = [{"name": name, "dtype": dtype} for name, dtype in case.output.items()]
        answer = {**answer, "type": "DataFrame", "columns": columns}
    assumptions = ["An empty table gives an empty answer.", case.assumption]
    return json.dumps(
        {
            "description": case.prompt,
            "approach": "Group, add up, compare.",
            "outputs": [answer],
            "assumptions": assumptions,
        }
    )


def blind_tests(case: Ambiguous) -> str:
    functions = [
        f'def test_{number}():\n    """{sentence}"""\n{textwrap.indent(body, "    ")}\n'
        for number, (sentence, body) in enumerate(case.tests.items())
    ]
    return fenced("import pandas as pd\nimport pytest\nfrom solution import run\n\n\n" + DAYS + "\n\n".join(functions))


def derived(case: Ambiguous) -> Callable[[dict[str, Any]], str]:
    """The result that a good model would calculate by hand from the request and the assumption, to four digits."""
    body = case.first.replace(*case.slip) if case.name in DERIVED_WRONG else case.first

    def answer(request: dict[str, Any]) -> str:
        question = request["messages"][1]["content"]
        names: dict[str, Any] = {"pd": pd, "np": np}
        given = re.search(r"<input>\n(.*?)\n</input>", question, re.DOTALL)
        assert given is not None
        exec(solution(body) + given[1], names)
        result = names["run"](names["data"])
        asked = question.partition("<asked>")[2].partition("</asked>")[0]
        places = re.findall(r"^- (answer[^:\n]*)(: its rows, each by its (.*) \(joined)?", asked, re.MULTILINE)
        values = [{"place": place, "values": _values(result, place, keys)} for place, _, keys in places]
        return json.dumps(
            {"derivation": "step by step", "sentence": case.assumption, "decided": True, "values": values}
        )

    return answer


def _values(result: Any, place: str, keys: str) -> list[Any]:
    if keys:
        return [", ".join(_told(row[key]) for key in keys.split(", ")) for _, row in result.iterrows()]
    values = [result] if place == "answer" else list(result[place.partition(".")[2]])
    return [
        None if pd.isna(v) else round(float(v), 4) if isinstance(v, float | np.number) else _told(v) for v in values
    ]


def _told(value: Any) -> str:
    return str(value).removesuffix(" 00:00:00")


def named(case: Ambiguous, *, other: bool) -> str:
    words, line = case.other_reading
    readings = [{"assumption": 2, "words": words, "line": line}] if other else []
    return json.dumps({"readings": readings})


def spoken(answer: Any) -> Any:
    """An answer that streams with a realistic speed."""

    def script(request: dict[str, Any]) -> Answer:
        text = answer(request) if callable(answer) else answer
        return Answer(text, delay=0.3 + len(text) / 4 / 400)

    return script


async def produced(root: Path, case: Ambiguous, code: str, other: str | None = None, *, reading: str = "") -> Report:
    """Run one generation. It has a second opinion if the body of a second solution is given."""
    mended = {"edits": [{"find": case.slip[1], "replace": case.slip[0], "mends": ["test_second_opinion_1"]}]}
    script = {
        "plan": plan(case),
        "code": fenced(solution(code)),
        "tests": blind_tests(case),
        "fix_code": json.dumps(mended),
        "derive": derived(case),
        "again": derived(case),
        "name": named(case, other=other == case.other),
        **({"second": second(case, other, reading)} if other else {}),
    }
    kind = case.output if isinstance(case.output, str) else "DataFrame"
    outcome = await Runner(root, "local").generate(
        {stage: spoken(answer) for stage, answer in script.items()},
        prompt=f"{case.prompt} The data are @data.",
        samples={"data": case.sample()},
        outputs=(OutputSpec.model_validate({"name": "answer", "type": kind}),),
        settings={"second_opinion": "on" if other else "off", "cache": "disable"},
    )
    return outcome.report


def tokens(report: Report) -> int:
    return report.total_input_tokens + report.total_output_tokens


async def test_what_it_costs_and_finds(tmp_path: Path) -> None:
    rows, slips = [], []
    reports: list[tuple[Report, Report, Report]] = []
    for number, case in enumerate(CASES):
        root = tmp_path / str(number)
        without = await produced(root / "a", case, case.first)
        differs = await produced(root / "b", case, case.first, case.other, reading=case.other_reading[1])
        agrees = await produced(root / "c", case, case.first, case.same, reading=case.assumption)
        opinion, quiet = differs.second_opinion, agrees.second_opinion
        assert without.success and differs.success and agrees.success and opinion and quiet
        on = opinion.differences[0].on or "the sample" if opinion.differences else "not found"
        told = "told" if opinion.readings and opinion.readings[0].assumption == case.assumption else "not told"
        quietness = (
            "quiet"
            if quiet.state == "agree"
            else f"{quiet.state}: {quiet.differences[0].where} {quiet.differences[0].on}"
        )
        rows.append((case.name, on, told, opinion.confirms or "-", quietness))
        reports.append((without, differs, agrees))
        if case.slip[0]:
            wrong = case.first.replace(*case.slip)
            alone = await produced(root / "d", case, wrong)
            helped = await produced(root / "e", case, wrong, case.same, reading=case.assumption)
            right = helped.success and helped.solution is not None and case.slip[1] not in helped.solution.code
            slips.append(
                (
                    case.name,
                    "green" if alone.success else "seen",
                    "mended" if right else "green" if helped.success else "failed",
                )
            )
    print(
        f"\n{'request':34}{'differs on':28}{'reading':10}{'derived':9}{'one reading':28}{'tokens':>17}{'seconds':>16}"
    )
    for (name, on, told, confirms, quietness), (without, differs, agrees) in zip(rows, reports, strict=True):
        counts = f"{tokens(without):>6} {tokens(agrees):>6} {tokens(differs):>6}"
        times = f"{without.seconds:>5.1f} {agrees.seconds:>5.1f} {differs.seconds:>5.1f}"
        print(f"{name:34}{on:28}{told:10}{confirms:9}{quietness:28}{counts} {times}")
    for slip, before, after in slips:
        print(f"slip in {slip:30} without: {before:8} with: {after}")
    figures: dict[str, Callable[[Report], float]] = {"tokens": tokens, "seconds": lambda report: report.seconds}
    for what, of in figures.items():
        middle = [median(of(row[place]) for row in reports) for place in (0, 2, 1)]
        print(f"median {what}: {middle[0]:.1f} without, {middle[1]:.1f} agreeing, {middle[2]:.1f} differing")
