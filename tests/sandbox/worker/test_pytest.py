from __future__ import annotations

from typing import Any, Protocol

import pytest

from autocoder_jupyter.sandbox.host.channel import ChannelWorker
from autocoder_jupyter.sandbox.protocol import TestRun, TestSpec
from autocoder_jupyter.types import TestOutcome as Outcome
from tests.sandbox.conftest import MakeProgram, StartPlain

HEAD = "import pandas as pd, pytest\nfrom solution import run\n"
DOUBLE = "def run(x):\n    return 2 * x\n"


class RunTests(Protocol):
    def __call__(
        self, code: str, tests: str, *expected: str, inputs: str = "x: int", outputs: str = "y: int"
    ) -> tuple[dict[str, str], TestRun]: ...


@pytest.fixture
def outcomes(worker: ChannelWorker, callee: ChannelWorker, program: MakeProgram) -> RunTests:
    """Runs tests against a solution. Gives each outcome by its id."""

    def run(
        code: str, tests: str, *expected: str, inputs: str = "x: int", outputs: str = "y: int"
    ) -> tuple[dict[str, str], TestRun]:
        result = worker.test(program(code, inputs, outputs), TestSpec(HEAD + tests, expected), callee=callee)
        return {one.id: one.outcome for one in result.outcomes}, result

    return run


def test_passing_failing_and_missing_tests_are_told_apart(outcomes: RunTests) -> None:
    tests = "def test_a(): assert run(2) == 4\ndef test_b(): assert run(x=2) == 5\n"
    found, result = outcomes(DOUBLE, tests, "test_a", "test_b", "test_c")
    assert found == {"test_a": "passed", "test_b": "failed", "test_c": "missing"}
    assert not result.passed and result.exit_code == 1
    assert "assert 4 == 5" in result.outcomes[1].message


def test_a_run_passes_only_when_all_expected_tests_passed(outcomes: RunTests) -> None:
    _, result = outcomes(DOUBLE, "def test_a(): assert run(2) == 4\n", "test_a")
    assert result.passed and result.exit_code == 0
    _, result = outcomes(DOUBLE, "def test_a(): assert run(2) == 4\n")
    assert not result.passed


def test_a_run_without_tracebacks_still_names_the_error(worker: ChannelWorker, program: MakeProgram) -> None:
    tests = HEAD + "def test_a(): assert run(2) == 5\n"
    spec = TestSpec(tests, ["test_a"], traceback=False)
    (outcome,) = worker.test(program(DOUBLE, "x: int", "y: int"), spec, callee=None).outcomes
    assert outcome.outcome == "failed" and "assert 4 == 5" in outcome.message and "test_solution" not in outcome.message


def test_a_stub_leaves_the_files_of_the_tests_alone(worker: ChannelWorker, program: MakeProgram) -> None:
    tests = (
        "def test_a(tmp_path):\n    (tmp_path / 'a').write_text('a')\n    assert run(2) == 4\n"
        "    assert (tmp_path / 'a').read_text() == 'a'\n"
        "def test_b(tmp_path): assert run(1) == 2 and tmp_path.is_dir()\n"
    )
    result = worker.test(program(DOUBLE, "x: int", "y: int"), TestSpec(HEAD + tests, ["test_a", "test_b"]), callee=None)
    assert [one.outcome for one in result.outcomes] == ["passed", "passed"], result.output


def test_the_cases_of_a_parametrised_test_count_together(outcomes: RunTests) -> None:
    tests = (
        "@pytest.mark.parametrize('x, y', [(1, 2), (2, 5)])\ndef test_a(x, y): assert run(x) == y\n"
        "@pytest.mark.parametrize('s', ['a::b', 'c[d]'])\ndef test_b(s): assert run(1) == 2\n"
        "class TestC:\n    def test_x(self): assert run(0) == 0\n"
    )
    found, result = outcomes(DOUBLE, tests, "test_a", "test_b", "TestC::test_x")
    assert found == {"test_a": "failed", "test_b": "passed", "TestC::test_x": "passed"}
    assert result.outcomes[0].message.startswith("test_a[2-5]: ")


def test_reports_stream_with_the_sentence_that_each_test_checks(
    worker: ChannelWorker, callee: ChannelWorker, program: MakeProgram
) -> None:
    tests = HEAD + "def test_a():\n    '''Doubles its input.'''\n    assert run(2) == 4\n"
    seen: list[Outcome] = []
    worker.test(program(DOUBLE, "x: int"), TestSpec(tests, ["test_a"], on_report=seen.append), callee=callee)
    assert [(one.id, one.outcome, one.sentence) for one in seen] == [("test_a", "passed", "Doubles its input.")]


def test_an_exception_of_the_solution_arrives_as_its_builtin_kind_with_its_lines(outcomes: RunTests) -> None:
    code = "class Odd(ValueError): pass\ndef run(x):\n    raise Odd('no, thanks')\n"
    tests = "def test_a():\n    with pytest.raises(ValueError, match='no, thanks'): run(1)\ndef test_b(): run(1)\n"
    found, result = outcomes(code, tests, "test_a", "test_b")
    assert found == {"test_a": "passed", "test_b": "failed"}
    assert "raise Odd('no, thanks')" in result.outcomes[1].message


def test_a_key_error_keeps_its_key(outcomes: RunTests) -> None:
    found, _ = outcomes(
        "def run(x): return {}[x]", "def test_a():\n    with pytest.raises(KeyError, match='^7$'): run(7)\n", "test_a"
    )
    assert found == {"test_a": "passed"}


def test_what_the_solution_prints_is_shown_at_its_test(outcomes: RunTests) -> None:
    _, result = outcomes(
        "def run(x):\n    print('seen', x)\n    return x", "def test_a(): assert run(1) == 2\n", "test_a"
    )
    assert "seen 1" in result.output


def test_a_solution_that_changes_its_argument_fails(outcomes: RunTests) -> None:
    code = "def run(f):\n    f['new'] = 1\n    return len(f)\n"
    found, result = outcomes(
        code, "def test_a(): assert run(pd.DataFrame({'x': [1]})) == 1\n", "test_a", inputs="f: DataFrame"
    )
    assert found == {"test_a": "failed"} and "changed its argument 'f' in place" in result.outcomes[0].message


def test_a_wrong_output_type_fails_with_the_declaration(outcomes: RunTests) -> None:
    found, result = outcomes("def run(x): return 'x'", "def test_a(): run(1)\n", "test_a")
    assert found == {"test_a": "failed"} and "declared int" in result.outcomes[0].message


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit(0)\ndef run(x): return 2 * x",
        "import os; os._exit(0)\ndef run(x): return 2 * x",
        "import os\ndef run(x): os._exit(0)",
        "import sys\ndef run(x): sys.exit(0)",
        "import os, signal\ndef run(x): os.kill(os.getppid(), signal.SIGKILL); return 0",
        "import atexit, os\natexit.register(os._exit, 0)\ndef run(x): return 0",
        "class E:\n    __eq__ = lambda s, o: True\n    __bool__ = lambda s: True\ndef run(x): return E()",
        "class E(int):\n    __eq__ = lambda s, o: True\n    __hash__ = int.__hash__\ndef run(x): return E(3)",
        "import pytest, builtins, _pytest.runner\n_pytest.runner.call_runtest_hook = None\n"
        "pytest.fail = print\nbuiltins.AssertionError = type('A', (Exception,), {})\ndef run(x): return 0",
        "import _pytest.reports\n_pytest.reports.TestReport.failed = False\n_pytest.reports.TestReport.passed = True\n"
        "def run(x): return 0",
        "import os\ndef run(x):\n    for fd in range(3, 200):\n        try: os.write(fd, b'\\0\\0\\0\\2{}')\n"
        "        except OSError: pass\n    return 0",
        "import os\nopen('../conftest.py', 'w').write('import os; os._exit(0)')\n"
        "open('../test_solution.py', 'w').write('def test_a(): pass')\ndef run(x): return 0",
        "def run(x): raise KeyboardInterrupt",
        "import pytest\ndef run(x): pytest.skip('no need')",
        "import pytest\ndef run(x): pytest.exit('done', 0)",
    ],
)
def test_no_trick_of_a_solution_makes_a_test_pass(
    worker: ChannelWorker, callee: ChannelWorker, program: MakeProgram, code: str
) -> None:
    tests = HEAD + "def test_a(): assert run(2) == 4\n"
    result = worker.test(program(code, "x: int", "y: int"), TestSpec(tests, ["test_a"]), callee=callee)
    assert not result.passed
    assert result.outcomes[0].outcome in ("failed", "missing", "error")


@pytest.mark.parametrize("kind", ["StopIteration", "StopAsyncIteration", "type('E', (StopIteration,), {})"])
def test_a_solution_does_not_end_the_loop_of_a_test(outcomes: RunTests, kind: str) -> None:
    tests = (
        "def test_a():\n    for want, got in zip([2, 4], map(run, [1, 2])): assert got == want\n"
        "def test_b():\n    assert not [x for x in filter(lambda x: run(x) != 2 * x, iter([1, 2]))]\n"
    )
    found, _ = outcomes(f"def run(x): raise {kind}", tests, "test_a", "test_b")
    assert found == {"test_a": "failed", "test_b": "failed"}


def test_skipped_and_expected_failures_have_shown_nothing(outcomes: RunTests) -> None:
    tests = (
        "@pytest.mark.skip(reason='later')\ndef test_a(): pass\n"
        "@pytest.mark.xfail\ndef test_b(): assert False\n"
        "@pytest.mark.xfail\ndef test_c(): pass\n"
    )
    found, _ = outcomes(DOUBLE, tests, "test_a", "test_b", "test_c")
    assert found == {"test_a": "failed", "test_b": "failed", "test_c": "failed"}


def test_a_broken_fixture_is_an_error(outcomes: RunTests) -> None:
    tests = "@pytest.fixture\ndef f(): 1 / 0\ndef test_a(f): pass\n"
    found, _ = outcomes(DOUBLE, tests, "test_a")
    assert found == {"test_a": "error"}


@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("import nosuch.part\ndef run(x): return x", "def test_a(): run(1)\n"),
        (DOUBLE, "import nosuch.part\ndef test_a(): pass\n"),
    ],
)
def test_a_missing_import_is_named_whoever_wanted_it(outcomes: RunTests, code: Any, tests: str) -> None:
    found, result = outcomes(code, tests, "test_a")
    assert result.missing_module == "nosuch"
    assert "No module named 'nosuch'" in result.collection_error and found == {"test_a": "missing"}


def test_a_missing_import_inside_the_function_is_named_too(outcomes: RunTests) -> None:
    found, result = outcomes("def run(x):\n    import nosuch", "def test_a(): run(1)\n", "test_a")
    assert (found, result.missing_module) == ({"test_a": "failed"}, "nosuch")


def test_a_syntax_error_in_the_tests_is_a_collection_error(outcomes: RunTests) -> None:
    found, result = outcomes(DOUBLE, "def test_a(:\n", "test_a")
    assert "SyntaxError" in result.collection_error and found == {"test_a": "missing"}


def test_a_syntax_error_in_the_solution_is_a_collection_error(outcomes: RunTests) -> None:
    _, result = outcomes("def run(:", "def test_a(): run(1)\n", "test_a")
    assert "SyntaxError" in result.collection_error and not result.passed


def test_two_runs_of_a_failure_give_the_same_text_without_places_and_times(
    worker: ChannelWorker, callee: ChannelWorker, program: MakeProgram
) -> None:
    code = "import os\ndef run(x): raise ValueError(os.getcwd() + repr(object()))"
    tests = HEAD + "import json\ndef test_a(): run(1)\ndef test_b(): json.loads('{')\n"
    wrong = program(code, "x: int", "y: int")
    either_way = ((worker, callee), (callee, worker))
    results = [one.test(wrong, TestSpec(tests, ["test_a", "test_b"]), callee=other) for one, other in either_way]
    texts = [result.output + "".join(one.message for one in result.outcomes) for result in results]
    assert texts[0] == texts[1]
    assert (
        "0x…" in texts[0] and "/tmp" not in texts[0] and " in 0." not in texts[0] and "/site-packages" not in texts[0]
    )


def test_an_endless_test_keeps_what_was_reported_and_ends_the_worker(
    start_plain: StartPlain, callee: ChannelWorker, program: MakeProgram
) -> None:
    worker = start_plain()
    tests = (
        HEAD + "def test_a(): assert run(1) == 2\ndef test_b():\n    import time; time.sleep(600)\ndef test_c(): pass\n"
    )
    result = worker.test(
        program(DOUBLE, "x: int"), TestSpec(tests, ["test_a", "test_b", "test_c"], seconds=5), callee=callee
    )
    assert [one.outcome for one in result.outcomes] == ["passed", "missing", "missing"]
    assert "longer than 5 s" in result.output and not worker.alive and result.exit_code != 0
    again = worker.test(program(DOUBLE, "x: int"), TestSpec(tests, ["test_a"]), callee=callee)
    assert [one.outcome for one in again.outcomes] == ["missing"] and "in an earlier call" in again.output


def test_a_crash_of_the_tests_keeps_what_was_reported(outcomes: RunTests) -> None:
    tests = "import os\ndef test_a(): pass\ndef test_b(): os.abort()\n"
    found, result = outcomes(DOUBLE, tests, "test_a", "test_b")
    assert found == {"test_a": "passed", "test_b": "missing"}
    assert "abort" in result.output and not result.passed


def test_of_a_run_that_sends_what_no_test_run_sends_no_report_counts(
    start_plain: StartPlain, callee: ChannelWorker, program: MakeProgram
) -> None:
    worker = start_plain()
    noise = (
        "for fd in range(3, 64):\n        try: os.write(fd, b'\\0\\0\\0\\x08not json')\n        except OSError: pass\n"
    )
    tests = f"{HEAD}import os\ndef test_a(): assert run(1) == 2\ndef test_b():\n    {noise}"
    result = worker.test(program(DOUBLE, "x: int"), TestSpec(tests, ["test_a", "test_b"], seconds=20), callee=callee)
    assert [one.outcome for one in result.outcomes] == ["missing", "missing"] and not result.passed
    assert all("sent invalid data" in one.message for one in result.outcomes)
    assert "not JSON" in result.output and result.exit_code != 0 and not worker.alive


def test_tests_see_only_the_function(outcomes: RunTests) -> None:
    found, result = outcomes("SECRET = 1\n" + DOUBLE, "from solution import SECRET\ndef test_a(): pass\n", "test_a")
    assert found == {"test_a": "missing"} and "cannot import name 'SECRET'" in result.collection_error


def test_several_outputs_arrive_as_a_tuple(outcomes: RunTests) -> None:
    tests = (
        "def test_a():\n    frame, n = run(pd.DataFrame({'x': [1, 2]}))\n"
        "    pd.testing.assert_frame_equal(frame, pd.DataFrame({'x': [2, 4]}))\n    assert n == 2\n"
    )
    found, result = outcomes(
        "def run(f): return f * 2, len(f)", tests, "test_a", inputs="f: DataFrame", outputs="g: DataFrame, n: int"
    )
    assert found == {"test_a": "passed"}, result.output


def test_bad_arguments_are_type_errors_as_in_the_function_itself(outcomes: RunTests) -> None:
    tests = "".join(
        f"def test_{n}():\n    with pytest.raises(TypeError): run({call})\n"
        for n, call in enumerate(["", "1, 2", "y=1", "1, x=1", "'text'"])
    )
    found, _ = outcomes(DOUBLE, tests, *(f"test_{n}" for n in range(5)))
    assert set(found.values()) == {"passed"}


def test_to_show_a_failure_no_path_of_any_module_is_resolved(outcomes: RunTests) -> None:
    """Resolving needs ten system calls for each module, and a sandbox may inspect each of these calls."""
    tests = (
        "import os, sys\nasked, lstat = [], os.lstat\n"
        "os.lstat = lambda path, **options: (asked.append(path), lstat(path, **options))[1]\n"
        "def test_a(): pd.testing.assert_frame_equal(pd.DataFrame({'a': [run(1)]}), pd.DataFrame({'a': [0]}))\n"
        "def test_b(): assert len(asked) < len(sys.modules)\n"
    )
    found, result = outcomes(DOUBLE, tests, "test_a", "test_b")
    assert found == {"test_a": "failed", "test_b": "passed"}, result.output
