from __future__ import annotations

import ast
import contextlib
import gc
import io
import subprocess
import sys
import threading
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import autocoder_jupyter
from autocoder_jupyter.untrusted import parsing
from tests.cases import each

DEEP = "x = " + "-" * 20_000 + "1"
LONG = "\n".join(
    f"def f{n}(a):\n    return [x + {n} for x in a if x > {n}] or {{'k': a * (a + {n})}}" for n in range(60)
)


@pytest.fixture
def restless_collector() -> Iterator[None]:
    """Lets other threads run during allocations, as a finalizer written in Python does."""

    def give_way(*_: object) -> None:
        sum(range(100))

    before, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(50)
    sys.setswitchinterval(1e-6)
    gc.callbacks.append(give_way)
    yield
    gc.callbacks.remove(give_way)
    gc.set_threshold(*before)
    sys.setswitchinterval(interval)


def test_two_threads_can_parse_at_once(restless_collector: None) -> None:
    raised: list[BaseException] = []

    def work() -> None:
        try:
            for number in range(15):
                parsing.parse(f"{LONG}\n# {threading.get_ident()} {number}")  # a tree that is kept is not parsed again
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert raised == []


@pytest.fixture
def failing_parser(monkeypatch: pytest.MonkeyPatch) -> list[SystemError]:
    """Raises the exceptions of a list before it parses."""
    failures: list[SystemError] = []
    real = ast.parse

    def parse(source: str, file: str) -> ast.Module:
        if failures:
            raise failures.pop()
        return real(source, file)

    monkeypatch.setattr(ast, "parse", parse)
    return failures


def test_a_failure_of_the_interpreter_is_no_failure_of_the_source(failing_parser: list[SystemError]) -> None:
    failing_parser.append(SystemError("AST constructor recursion depth mismatch (before=18, after=11)"))
    assert isinstance(parsing.parse("failing = 1").body[0], ast.Assign)


def test_it_is_not_tried_for_ever(failing_parser: list[SystemError]) -> None:
    failing_parser.extend(SystemError() for _ in range(1_000))
    with pytest.raises(SyntaxError, match="again and again"):
        parsing.parse("always_failing = 1")


@pytest.mark.parametrize("source", ["x = (", DEEP, "x = '\0'"])
def test_what_is_no_python_is_a_syntax_error(source: str) -> None:
    with pytest.raises(SyntaxError):
        parsing.parse(source)
    with pytest.raises(SyntaxError):
        parsing.require_expression(source.removeprefix("x = "))


def test_a_complaint_says_the_line_where_there_is_one() -> None:
    for source, words in (("\nx = (", "'(' was never closed (line 2)"), (DEEP, "it is nested too deeply")):
        with pytest.raises(SyntaxError) as caught:
            parsing.parse(source)
        assert parsing.complaint(caught.value) == words


def test_comments_and_layout_are_no_substance() -> None:
    assert parsing.same_code("x=1", "x = 1  # one")
    assert not parsing.same_code("x = 1", "x = 2")


def test_trees_that_are_too_deep_to_be_compared_are_compared_as_texts() -> None:
    deep = "x = " + "-" * 600 + "1"
    assert parsing.same_code(deep, deep)
    assert not parsing.same_code(deep, f"{deep}1")


@each(
    "source",
    [
        pytest.param("x" * (parsing.CHARACTERS + 1), id="characters"),
        pytest.param("a;" * parsing.TOKENS, id="signs"),
        pytest.param("a\n" * parsing.TOKENS, id="lines"),
        pytest.param("a or " * parsing.TOKENS + "a", id="words"),
    ],
)
def test_a_source_that_takes_long_to_parse_is_refused_before_it_is_read(source: str) -> None:
    for read in (parsing.parse, parsing.parse_expression, parsing.require_expression):
        with pytest.raises(parsing.TooLong, match=r"at most [\d,]+ can be read"):
            read(source)


def test_no_token_is_missed_by_the_estimate() -> None:
    """Every file of the standard library's first folder has fewer tokens than the estimate."""
    for path in sorted(Path(ast.__file__).parent.glob("*.py"))[:60]:
        source = path.read_text("utf-8")
        kinds = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
        read = tokenize.generate_tokens(io.StringIO(source).readline)
        tokens = sum(token.type not in kinds for token in read)
        with contextlib.suppress(parsing.TooLong):
            parsing.require_readable(source, tokens - 1)
            raise AssertionError(f"{path.name} has {tokens} tokens")


def test_a_tree_is_kept_and_read_once() -> None:
    source = "kept = 1"
    assert parsing.parse(source) is parsing.parse(source)
    for number in range(300):
        parsing.parse(f"other_{number} = '{'x' * 1_000}'")
    assert parsing.parse(source) is not None


def test_doubtful_literals_of_a_source_print_no_warning() -> None:
    program = "from autocoder_jupyter.untrusted.parsing import parse; parse('x = 1or 2')"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stderr == ""


def test_all_of_ours_goes_through_this_door() -> None:
    """Code that runs inside of a sandbox has one thread, and does not need it."""
    package = Path(autocoder_jupyter.__file__).parent
    inside = (package / "sandbox" / "worker", package / "codec", package / "engine" / "programs")
    others = {
        path.relative_to(package)
        for path in package.rglob("*.py")
        if "ast.parse(" in path.read_text() and not any(path.is_relative_to(folder) for folder in inside)
    }
    assert others == {Path("untrusted/parsing.py")}
