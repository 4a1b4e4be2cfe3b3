"""The questions to the agent: the first one, the one about missing files, and the one about failures."""

from __future__ import annotations

from collections.abc import Sequence

from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.prompt import code_rules, how_it_comes_back
from autocoder_jupyter.engine.repair import failures_text
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.types import TestFailure

SOLUTION, TESTS, PACKAGES = "solution.py", "tests.py", "packages.txt"


def first_question(
    state: GenerationState, files: Sequence[str] = (), *, earlier: bool = False, failures: Sequence[TestFailure] = ()
) -> tuple[str, str]:
    """The system text and the first question."""
    plan, setup = state.brief.plan, state.setup
    tested = not setup.config.skip_tests
    both = f" and {TESTS}" if tested else ""
    begun = ""
    if failures:
        begun = prompt("agent.before", tests=both, failures=failures_text(failures))
    elif earlier:
        begun = prompt("agent.earlier", tests=both)
    figure = tested and any(output.whole == "Figure" for output in plan.outputs)
    given = f"\n{prompt('agent.files', files=', '.join(files))}" if files else ""
    part = prompt(
        "agent.part",
        what="that function and its tests" if tested else "that function",
        tests_file=f"{prompt('agent.tests file')}\n" if tested else "",
        files=given,
        pytest=f"\n{prompt('agent.pytest')}" if tested else "",
        decided=prompt("agent.decided" if tested else "agent.decided without tests"),
    )
    notes = [code_rules(plan), how_it_comes_back(plan) if figure else "", setup.config.system_prompt or ""]
    parts = [*notes, part, begun]
    system, *rest = state.brief.question(*parts)
    return system["content"], "\n\n".join(message["content"] for message in rest)


def failure_question(failures: Sequence[TestFailure], *, again: bool) -> str:
    """The question after a failed verdict."""
    return prompt("agent.fix", failures=failures_text(failures), again=f"{prompt('fix.again')}\n\n" if again else "")


def missing_question(problem: str) -> str:
    """The question after the agent stopped without the required files."""
    return prompt("agent.missing", problem=problem)
