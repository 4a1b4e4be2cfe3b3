"""The tests. They are written from the request, the data and the signature, without the solution."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeGuard

from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.figures import how_it_comes_back
from autocoder_jupyter.engine.interface import FUNCTION
from autocoder_jupyter.engine.prompt import extended
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import BLIND
from autocoder_jupyter.untrusted.parsing import TESTS, TooLong, parse

_INSTRUCTIONS = """\
You test one Python function, `run`, which somebody else writes at this moment. Your tests decide whether it may be
trusted: a wrong expectation does as much harm as a missing one. Keep to the rules for the tests above. Answer with the
whole module in one ```python block, and nothing else."""

_REFUSAL = (
    "{problem} Write the whole test module again.",
    "This is the last try. {problem} Without tests that can fail the function cannot be trusted. Write the whole test "
    "module again.",
)


@dataclass(frozen=True)
class TestSuite:
    """The source of the tests, the ids that pytest must report, and the sentence that each test checks.

    `blind` contains further tests, by a model that saw neither the code nor the first tests. It is a separate module
    that runs in separate processes, so that the first module cannot influence it.
    """

    __test__ = False

    source: str
    sentences: dict[str, str]
    blind: TestSuite | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the test functions, in order: `test_x`, `TestC::test_x`."""
        return tuple(self.sentences)

    @property
    def modules(self) -> tuple[TestSuite, ...]:
        """The first module, and the module of the blind tests if there is one."""
        return (self, self.blind) if self.blind else (self,)

    @property
    def all_ids(self) -> tuple[str, ...]:
        """The ids of both modules. Those of blind tests are marked."""
        return (*self.ids, *map(blind_id, self.blind.ids if self.blind else ()))


def blind_id(test: str) -> str:
    """The marked id of a blind test."""
    return f"{BLIND}{test}"


def read_suites(source: str, blind: str = "") -> TestSuite:
    """Read a module of tests, and one of blind tests if given."""
    return replace(read_suite(source), blind=read_suite(blind)) if blind else read_suite(source)


def with_tests(suite: TestSuite, written: str) -> TestSuite:
    """A suite with further tests at its end; if it has blind tests, at the end of these."""
    if suite.blind is not None:
        return replace(suite, blind=with_tests(suite.blind, written))
    return read_suite(f"{suite.source.rstrip()}\n\n\n{written}")


def read_suite(source: str) -> TestSuite:
    """Find the tests in a module by pytest's default rules, without running it.

    Raises:
        SyntaxError: it does not parse, or has more than `TESTS` tests.
    """
    sentences: dict[str, str] = {}
    for node in parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for member in node.body:
                if _is_test(member):
                    sentences[f"{node.name}::{member.name}"] = _sentence(member)
        elif _is_test(node):
            sentences[node.name] = _sentence(node)
    if len(sentences) > TESTS:
        raise TooLong(f"it has {len(sentences):,} tests, at most {TESTS:,} can be run")
    return TestSuite(source, sentences)


def _is_test(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def _sentence(node: ast.AST) -> str:
    text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return (text or "").strip().partition("\n")[0].strip()


def suite_problem(suite: TestSuite) -> str:
    """Why a suite proves nothing, as text for the model; "" if there is no problem."""
    if not suite.ids:
        return "The module holds no test function."
    called = {node.func for node in ast.walk(parse(suite.source)) if isinstance(node, ast.Call)}
    if not any(isinstance(node, ast.Name) and node.id == FUNCTION for node in called):
        return f"No test calls `{FUNCTION}`."
    return ""


_HOW_IT_COMES_BACK = {
    "File": "A File comes back as the pathlib.Path of a file that can be read.",
    "Dir": "A Dir comes back as the pathlib.Path of a folder that can be read.",
}


def tests_messages(brief: Brief) -> Messages:
    """The question for the tests. It must never contain the solution."""
    plan = brief.plan
    told = {"Figure": how_it_comes_back(plan), **_HOW_IT_COMES_BACK}
    notes = [told[kind] for kind in told if any(output.whole == kind for output in plan.outputs)]
    return brief.question(*notes, _INSTRUCTIONS)


async def write_tests(
    talk: Conversation,
    brief: Brief,
    *,
    refused: str = "",
    previous: str = "",
    variant: int = 0,
    also: str = "",
    suite_of: Callable[[str], TestSuite] | None = None,
) -> TestSuite:
    """Ask for tests until they can fail.

    Args:
        talk: the conversation with the model.
        brief: the request, the plan and the data context.
        refused: why an earlier suite was rejected.
        previous: the source of that suite.
        variant: another variant asks the same question again.
        also: text for the end of the question.
        suite_of: makes a suite from an answer. It raises ValueError with text for the model if the answer is unusable.

    Raises:
        UnusableAnswer: no answer had such tests.
    """
    messages = extended(tests_messages(brief), also)
    problem, source = refused, previous
    for refusal in ("", *_REFUSAL):
        if problem:
            text = refusal or _REFUSAL[0]
            messages = (
                *messages,
                {"role": "assistant", "content": f"```python\n{source}\n```"},
                {"role": "user", "content": text.format(problem=problem)},
            )
        source = await talk.code("tests", messages, variant=variant)
        problem = suite_problem(read_suite(source))
        if problem:
            continue
        try:
            return (suite_of or read_suite)(source)
        except ValueError as error:
            problem = str(error)
    raise UnusableAnswer(f"The model writes no usable tests. {problem}", hint="Try another model.")
