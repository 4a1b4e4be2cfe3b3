"""No name that a file holds is looked up in the kernel: neither a variable, nor an attribute, nor a module.

A file of a folder may come from somebody else. This test lists every function of the package that looks a computed name
up, with the origin of the name. A new one fails it: answer *who wrote the name?* before it is added here. A name from a
record, a report or an answer of a model must not be looked up; it is compared with what the user passed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import autocoder_jupyter
from tests.cases import each

PACKAGE = Path(autocoder_jupyter.__file__).parent

CODE = "our own code"
TABLE = "a table in our own code"
USER = "the user: a cell, a line, or a choice in a form"
KERNEL = "the notebook's own variables, all of them"
BUILTIN = "only asked whether Python or pandas has the name; nothing is done with it"
INSIDE = "it runs in the sandbox"
SOURCE = "the source of a function of this kernel that the user refers to: what it uses is passed with it"
FLYTE = "the command with which Flyte starts a task on a cluster: the user's script sent it"

ORIGINS = {
    "__init__.py::__getattr__": CODE,
    "agent/generation.py::_engine": CODE,
    "agent/settings.py::freeze": CODE,
    "codemode/tables.py::Frames._operated": CODE,
    "codemode/interpreter_process.py::_Kernel.operate": CODE,
    "codemode/limits.py::Limits.__post_init__": CODE,
    "codemode/tools.py::_tool": CODE,
    "data/checks.py::condition_text": CODE,
    "data/definitions.py::_label": CODE,
    "data/helpers.py::_Capture._define": SOURCE,
    "magics/line/replies.py::_send": USER,
    "magics/problems.py::_of_variables": USER,
    "magics/references.py::collect_helpers": USER,
    "magics/references.py::helper_names": USER,
    "sandbox/worker/calls.py::ModulesInMemory.exec_module": INSIDE,
    "kinds/table.py::_only_has_the_name": CODE,
    "data/sources.py::duckdb_query": CODE,
    "data/table_formats.py::opened_table": CODE,
    "engine/__init__.py::__getattr__": CODE,
    "engine/prepare.py::request_record": CODE,
    "engines/claude/session.py::_grammars_compiled_later": CODE,
    "engines/claude/session.py::_is_valid_syntax": CODE,
    "lab/messages.py::_of_launch": CODE,
    "magics/codemode/cell.py::agent_settings": CODE,
    "models/library.py::_load_tokenizer": CODE,
    "models/library.py::load_client": CODE,
    "models/response.py::install": CODE,
    "run/of_report.py::facts_of": CODE,
    "run/of_report.py::run_of": CODE,
    "magics/versions.py::given_fields": CODE,
    "magics/settings.py::AutocodeTraits.given": CODE,
    "magics/settings.py::defaults": CODE,
    "sandbox/host/redaction.py::RedactingWorker._outcome": CODE,
    "sandbox/choice.py::_get": CODE,
    "types/of_flyte.py::_require_none": CODE,
    "types/of_flyte.py::_resources": CODE,
    "versions/request_fields.py::field_records": CODE,
    "versions/request_fields.py::joined": CODE,
    "versions/request_fields.py::key_parts": CODE,
    "versions/request_fields.py::texts_of": CODE,
    "codec/frames.py::_columns_of": TABLE,
    "codemode/operations.py::_aggregate": TABLE,
    "codemode/operations.py::_text.condition": TABLE,
    "contracts/describing.py::check_record": TABLE,
    "contracts/sample_schema.py::_check": TABLE,
    "contracts/sample_schema.py::_row_check": TABLE,
    "data/capture.py::is_table": TABLE,
    "kinds/values.py::of_pandas.check": TABLE,
    "kinds/values.py::Kind.python_type": TABLE,
    "magics/line/dispatch.py::run_line": TABLE,
    "magics/no_data.py::_forgotten": USER,
    "magics/no_data.py::_list": USER,
    "magics/references.py::describe_unmarked": USER,
    "magics/references.py::unmarked": USER,
    "magics/references.py::kind_of": TABLE,
    "redaction/masking.py::_confirmed_by.check": TABLE,
    "codemode/calls.py::_builtin_error": BUILTIN,
    "data/columns_read.py::_Flow._attribute": BUILTIN,
    "engine/acceptance.py::_message": BUILTIN,
    "redaction/messages.py::Redaction._is_known": BUILTIN,
    "magics/cell.py::ask": USER,
    "magics/cell.py::refuse_to_shadow": USER,
    "magics/codemode/cell.py::earlier_of": USER,
    "magics/codemode/cell.py::_found": USER,
    "magics/completion.py::_names": USER,
    "magics/contracts.py::_found": USER,
    "magics/versions.py::_bound_since": USER,
    "magics/examples.py::_evaluated": USER,
    "magics/line/dispatch.py::show": USER,
    "magics/notebook.py::find_result": USER,
    "magics/notebook.py::is_answer": USER,
    "magics/line/results.py::_rename": USER,
    "magics/references.py::columns_of": USER,
    "magics/references.py::_evaluated": USER,
    "magics/references.py::read_schema": USER,
    "magics/references.py::referred": USER,
    "magics/versions.py::bind": USER,
    "engine/programs/alternatives.py::run": INSIDE,
    "engine/programs/checker.py::run": INSIDE,
    "engine/programs/properties.py::run": INSIDE,
    "engine/programs/row_counts.py::Follower._note_call": INSIDE,
    "engine/programs/row_counts.py::Follower._note_of_pandas": INSIDE,
    "engine/programs/row_counts.py::Follower.found": INSIDE,
    "engine/programs/row_counts.py::Follower.method": INSIDE,
    "engine/programs/row_counts.py::_definitions": INSIDE,
    "engine/programs/look.py::evaluated": INSIDE,
    "engine/programs/look.py::followed": INSIDE,
    "engine/programs/row_counts.py::run": INSIDE,
    "sandbox/programs/loader.py::Modules.exec_module": INSIDE,
    "sandbox/worker/calls.py::load": INSIDE,
    "sandbox/worker/tester.py::_exception_of": INSIDE,
    "sandbox/worker/tester.py::Tests._getobj": INSIDE,
    "sandbox/worker/warmup.py::warm_up": INSIDE,
    "tasks/flyte.py::TaskResolver.load_task": FLYTE,
    "tasks/script_parts.py::_cli_open": CODE,
}

NAMESPACES = {"namespace", "_namespace", "user_ns"}


def lookups(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The functions in which a computed name is looked up, with the place."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            inner = function
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{function}.{child.name}".lstrip(".")
            if looks_up(child):
                yield inner, child
            yield from walk(child, inner)

    return walk(tree, "")


def looks_up(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return named(node.value) in NAMESPACES and isinstance(node.ctx, ast.Load) and not is_constant(node.slice)
    if not isinstance(node, ast.Call):
        return False
    called = named(node.func)
    if called == "get" and isinstance(node.func, ast.Attribute):
        return named(node.func.value) in NAMESPACES and not is_constant(node.args[0])
    if called == "hasattr" and named(node.args[0]) == "builtins":
        return False
    if called in ("getattr", "hasattr"):
        return not is_constant(node.args[1])
    if called in ("attrgetter", "methodcaller", "import_module", "__import__", "find_spec"):
        return not all(map(is_constant, node.args))
    return called in ("eval", "exec") and isinstance(node.func, ast.Name)


@each(
    "code",
    [
        "def f(record, namespace):\n    return namespace[record['tool']]",
        "def f(record, namespace):\n    return namespace.get(record['tool'])",
        "def f(self, record):\n    return self.shell.user_ns[record['tool']]",
        "def f(record, value):\n    for part in record['tool'].split('.'):\n        value = getattr(value, part)",
        "def f(record):\n    return importlib.import_module(record['module'])",
        "def f(record):\n    return operator.attrgetter(record['tool'])",
        "def f(record):\n    return eval(record['tool'])",
    ],
)
def test_each_way_to_look_a_name_up_is_found(code: str) -> None:
    assert [function for function, _ in lookups(ast.parse(code))] == ["f"]


def named(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def found() -> set[str]:
    return {
        f"{file.relative_to(PACKAGE).as_posix()}::{function}"
        for file in PACKAGE.rglob("*.py")
        for function, _ in lookups(ast.parse(file.read_text("utf-8")))
    }


def test_the_origin_of_every_name_that_is_looked_up_is_known() -> None:
    assert found() == set(ORIGINS)
