"""The pages of the documentation: what they tell a reader to write is what this version takes."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from autocoder_jupyter import CodeGenEvalResult
from autocoder_jupyter.magics.command import parse_cell, read_arguments, split_words
from autocoder_jupyter.magics.line import SUBCOMMANDS
from autocoder_jupyter.magics.options import OPTIONS
from autocoder_jupyter.mcp.__main__ import options as server_options
from autocoder_jupyter.run.of_report import NOT_FULLY_CHECKED, READY, WITH_QUESTION
from autocoder_jupyter.run.record import HEADLINES
from tests.cases import each as each_case
from tests.pages import FENCED, NOT_EXECUTED, PAGES, ROOT, examples, programs

SETTINGS = {option.name: option for option in OPTIONS if option.is_setting}


def how_to() -> list[str]:
    """The pages that tell a user what to do, from the table of contents."""
    listed = PAGES["index.md"].partition(":caption: How-to")[2].partition(":caption:")[0]
    return [f"{name}.md" for name in re.findall(r"^(?:.* <)?([a-z-]+)>?$", listed, re.MULTILINE)]


def found(pattern: str, *, on: Iterable[str] = PAGES) -> Iterator[Any]:
    """What matches in a line of code or between backticks, with the page."""
    for name in on:
        text = PAGES[name]
        code = [block for _, block in FENCED.findall(text)]
        code += re.findall(r"`([^`\n]+)`", FENCED.sub("", text))
        for piece in code:
            for match in re.findall(pattern, piece, re.MULTILINE):
                yield pytest.param(match, id=f"{name}: {match if isinstance(match, str) else ' '.join(match)}")


def cells() -> Iterator[Any]:
    for name, text in PAGES.items():
        for _, block in FENCED.findall(text):
            if block.startswith("%%autocode "):
                yield pytest.param(block, id=f"{name}: {block.splitlines()[0]}")


def blocks() -> Iterator[Any]:
    for name, text in PAGES.items():
        for language, block in FENCED.findall(text):
            if language == "python":
                yield pytest.param(block, id=f"{name}: {block.splitlines()[0]}")


@each_case("block", blocks())
def test_a_block_of_python_is_valid_and_imports_what_is_there(block: str) -> None:
    source = re.sub("^%.*$", "", block, flags=re.MULTILINE)
    tree = compile(source, "page", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("autocoder_jupyter"):
            module = importlib.import_module(str(node.module))
            assert [one.name for one in node.names if not hasattr(module, one.name)] == []


@each_case("cell", cells())
def test_a_cell_is_one_that_can_be_run(cell: str) -> None:
    line, _, body = cell.removeprefix("%%autocode ").partition("\n")
    assert parse_cell(line, body).name


@each_case("setting", found(r"^%config Autocode\.(\w+) = (.+)$"))
def test_a_setting_takes_the_value(setting: tuple[str, str]) -> None:
    name, value = setting
    SETTINGS[name].checked(ast.literal_eval(value))


@each_case("line", found(r"^%autocode (\w.*)$"))
def test_a_line_has_a_subcommand_and_its_words(line: str) -> None:
    name, *words = split_words(line)
    command = SUBCOMMANDS[name]
    flags = {flag: option for option in command.options for flag in option.flags}
    given = read_arguments(words, flags).positional
    assert len(given) <= command.most
    assert len(given) >= command.least or line == name  # a mention without its words, such as `%autocode retry`


@each_case("flag", found(r"^(--?[a-z][\w-]*)", on=[*how_to(), "README.md", "success.md"]))
def test_an_option_exists(flag: str) -> None:
    of_lines = {flag for command in SUBCOMMANDS.values() for option in command.options for flag in option.flags}
    of_server = server_options().format_help().split()
    assert flag in of_lines | {*of_server} | {flag for option in OPTIONS for flag in option.flags}


@each_case("name", found(r"\bgrowth\.(?!py\b|d\b)(\w+)"))
def test_a_result_has_what_the_pages_name(name: str) -> None:
    assert hasattr(CodeGenEvalResult, name)


def test_each_example_of_each_page_is_executed_by_a_test_or_says_why_not() -> None:
    tests = [
        path.read_text("utf-8")
        for folder in ("acceptance", "scaling")
        for path in (ROOT / "tests" / folder).rglob("test_*.py")
    ]
    for page in PAGES:
        if examples(page):
            assert any(f'examples("{page}")' in test for test in tests), page
    for page, start in NOT_EXECUTED:
        assert len([text for _, text in programs(page) if text.startswith(start)]) == 1, (page, start)


def test_a_page_says_first_whom_it_is_for() -> None:
    assert len(how_to()) > 8
    for page in (*how_to(), "success.md", "comparison.md"):
        assert re.match(r"# [^\n]+\n\n\*For you if ", PAGES[page]), page


def test_each_headline_of_a_function_that_ended_is_explained() -> None:
    of_others = {"Waiting for approval", "Cancelled"}
    for headline in (READY, WITH_QUESTION, NOT_FULLY_CHECKED, *{*HEADLINES.values()} - of_others):
        assert f"*{headline}*" in PAGES["success.md"]
