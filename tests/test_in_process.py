"""The sandbox in this process gives the values, errors and reports of the embedded one."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from dataclasses import replace
from textwrap import indent
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.errors import SandboxError, SolutionError
from autocoder_jupyter.sandbox.choice import choose
from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.protocol import (
    CallSpec,
    EnvironmentSpec,
    Program,
    TestRun,
    TestSpec,
    Worker,
    WorkerLimits,
    WorkerSpec,
)
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.in_process import IN_PROCESS

pytestmark = pytest.mark.local_sandbox

SALES = pd.DataFrame(
    {
        "day": pd.Series(["2026-01-01", "2026-01-02", None], dtype="datetime64[ns]"),
        "shop": pd.Categorical(["a", "b", "a"], categories=["b", "a"], ordered=True),
        "price": [1.5, None, 3.0],
    }
)


@pytest.fixture
def both() -> Iterator[tuple[tuple[Worker, Worker], tuple[Worker, Worker]]]:
    """Two workers of the embedded sandbox, and two in this process."""
    sandbox = choose("local")
    spec = WorkerSpec(sandbox.build(EnvironmentSpec((), sys.version_info[:2])), WorkerLimits(seconds=60))
    with shared_pool(sandbox).lease(spec) as one, shared_pool(sandbox).lease(spec) as other:
        yield (one, other), (IN_PROCESS.start(spec), IN_PROCESS.start(spec))


def made(body: str, output: str = "float") -> Program:
    return Program(
        f"import pandas as pd\n\n\ndef run(sales):\n{indent(body, '    ')}",
        (InputSpec(name="sales", type="DataFrame"),),
        (OutputSpec.model_validate({"name": "result", "type": output}),),
    )


def told(call: Any) -> Any:
    """The outcome of a call, or its error, without what is of one process."""
    try:
        outcome = call()
    except SandboxError as error:
        facts = (error.line, error.source, error.traceback) if isinstance(error, SolutionError) else ()
        return type(error).__name__, error.what, error.why, error.hint, facts
    return dict(outcome.digests), outcome.mutated, outcome.stdout, outcome.stderr


@pytest.mark.parametrize(
    "body, output",
    [
        ("return float(sales.price.sum())", "float"),
        ("return sales.sort_values('price', ascending=False)", "DataFrame"),
        ("return {'rows': len(sales), 'shops': list(sales.shop.cat.categories)}", "dict"),
        ("print('seen', len(sales))\nreturn 1.0", "float"),
        ("sales['more'] = 1\nreturn 1.0", "float"),
        ("return 'text'", "float"),
        ("return None", "float"),
        ("return float(sales['absent'].sum())", "float"),
        ("raise ValueError(f'{len(sales)} rows')", "float"),
        ("raise SystemExit(3)", "float"),
        ("import absent_module\nreturn 1.0", "float"),
        ("import random\nreturn random.random()", "float"),
    ],
)
def test_a_call_has_the_same_values_and_errors(both: Any, body: str, output: str) -> None:
    program, spec = made(body, output), CallSpec(seed=7, watch_inputs=True)
    real, here = (told(lambda worker=pair[0]: worker.call(program, {"sales": SALES}, spec)) for pair in both)
    assert here == real


@pytest.fixture
def _quiet_collector() -> None:
    """What earlier tests left open warns on stderr when it is collected: here, and not in the compared output."""
    gc.collect()


def told_of_tests(run: TestRun) -> Any:
    outcomes = [one.model_copy(update={"seconds": 0.0}) for one in run.outcomes]
    return replace(run, outcomes=tuple(outcomes), seconds=0.0)


TESTS = """
import pandas as pd
import pytest
from solution import run


@pytest.fixture
def sales():
    return pd.DataFrame({"price": [2.0, 3.0]})


def test_sum(sales):
    '''The sum.'''
    assert run(sales) == 5.0


def test_wrong(sales):
    assert run(sales=sales) == 6.0


@pytest.mark.parametrize("factor", [1, 2])
def test_each(sales, factor):
    assert run(sales * factor) == 5.0 * factor


def test_error():
    with pytest.raises(KeyError):
        run(pd.DataFrame({"cost": [1.0]}))


def test_of_no_test():
    raise RuntimeError("of the test")
"""
NAMES = ["test_sum", "test_wrong", "test_each[1]", "test_each[2]", "test_error", "test_of_no_test", "test_absent"]


@pytest.mark.parametrize(
    "body, tests",
    [
        ("return float(sales['price'].sum())", TESTS),
        ("sales['more'] = 1\nreturn float(sales['price'].sum())", TESTS),
        ("return 'text'", TESTS),
        ("return 1 +", TESTS),
        ("return 1.0", "import absent_module\n"),
        ("return 1.0", "def test_sum(:\n"),
    ],
)
@pytest.mark.usefixtures("_quiet_collector")
def test_tests_have_the_same_report(both: Any, body: str, tests: str) -> None:
    program, spec = made(body), TestSpec(tests, NAMES)
    real, here = (told_of_tests(pair[0].test(program, spec, callee=pair[1])) for pair in both)
    assert here == real
