"""What the agent is asked: first, when something it must leave is missing, and when what it left does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from autocoder_jupyter.engine.brief import plan_text, question
from autocoder_jupyter.engine.code import code_rules
from autocoder_jupyter.engine.figures import how_it_comes_back
from autocoder_jupyter.engine.fix_code import told
from autocoder_jupyter.engine.work import Work
from autocoder_jupyter.types import TestFailure

SOLUTION, TESTS, PACKAGES = "solution.py", "tests.py", "packages.txt"

_PART = """\
Your part: write that function{tests_too} on your own, in a workspace with the tools Bash, Read, Write and Edit.

Leave these files in the workspace:
- solution.py: the module, as described below.
{tests_file}- packages.txt: only if solution.py needs more than pandas, numpy and the standard library; the names of the
  distributions on the package index, one a line. They are installed before the next command, if they may be.

{code_rules}
{tests_rules}
The workspace:
- Bash runs a command in a sandbox: `python` is there, no network, nothing can be installed, and nothing outside of the
  workspace can be read or written. A file must be written by a tool or a command to be there for the next one.
- the person's data is not there: make small frames by hand, with the columns and dtypes under <data>.{pytest}

When you have finished, say in one sentence what you left, and stop. Then it is decided without you whether the function
can be trusted: {decided}."""

_TESTS_FILE = "- tests.py: its tests, one pytest module.\n"

_TESTS_RULES = """
The tests:
- `from solution import run`, called with keyword arguments. It runs in another process: nothing can be patched, only
  values and exceptions come back, and a call that changes its inputs fails by itself.
- 4 to 8 tests. Each checks one sentence of the request, a constraint or an assumption, which is its docstring, in one
  line. At least one must fail on a function that returns empty defaults.
- work expected values out by hand from the request, never from what your function returns. When a test fails, find out
  first which of the two departs from the request; a test that you change after it failed is shown to the person.
"""

_PYTEST = """
- `pytest` runs tests.py as it will be run in the end; conftest.py, plugins and options change nothing there."""

_DECIDED = "by your tests, by tests of somebody who has not seen yours, and by runs on the real data"
_DECIDED_WITHOUT = "by runs on the real data"

_EARLIER = """\
solution.py{tests} in the workspace are from an earlier version, in which everything is granted but the last line under
<wishes>. Change only what that wish asks for; what it does not touch stays as it is, line by line."""

_BEFORE = """\
solution.py{tests} in the workspace are there already. They were good, and on the data of today this does not hold:

{failures}

Mend it in the workspace, and nothing else."""

_MEND = """\
That does not hold yet:

{failures}

{again}Mend it at its cause in the workspace, and nothing else; never special-case an input. Then say in one sentence
what was wrong, and stop."""

_AGAIN = (
    "The same failure is there after an earlier mending, so the cause is not where it was looked for. Work the "
    "expected value out by hand and follow the code line by line to where it departs from that. "
)

_MISSING = "You stopped, and this is not there yet: {problem}. Put it right in the workspace, then stop."


def first_question(work: Work, *, earlier: bool = False, failures: Sequence[TestFailure] = ()) -> tuple[str, str]:
    """The system text and the first question.

    Args:
        work: the generation, with its plan.
        earlier: whether the files of an earlier version are in the workspace, which a wish is to change.
        failures: what is wrong with the files that are there already.
    """
    plan, tested = work.plan, not work.config.skip_tests
    files = f" and {TESTS}" if tested else ""
    begun = ""
    if failures:
        begun = _BEFORE.format(tests=files, failures=told(failures))
    elif earlier:
        begun = _EARLIER.format(tests=files)
    notes = [how_it_comes_back(plan)] if tested and any(output.type == "Figure" for output in plan.outputs) else []
    part = _PART.format(
        tests_too=" and its tests" if tested else "",
        tests_file=_TESTS_FILE if tested else "",
        code_rules=code_rules(plan),
        tests_rules=_TESTS_RULES if tested else "",
        pytest=_PYTEST if tested else "",
        decided=_DECIDED if tested else _DECIDED_WITHOUT,
    )
    parts = [plan_text(plan), f"Approach: {plan.approach}", *notes, part, begun]
    system, *rest = question(work.request, work.context, *parts, system_prompt=work.config.system_prompt)
    return system["content"], "\n\n".join(message["content"] for message in rest)


def mending_question(failures: Sequence[TestFailure], *, again: bool) -> str:
    """What the agent is told of a verdict.

    Args:
        failures: what does not hold.
        again: whether the same was told before.
    """
    return _MEND.format(failures=told(failures), again=_AGAIN if again else "")


def missing_question(problem: str) -> str:
    """What the agent is told when it stopped too early."""
    return _MISSING.format(problem=problem)
