"""Parse and evaluate `--example "orders=@few, min_orders=3 -> best='2024-03'"`: inputs and the expected outputs."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.settings import suggestion
from autocoder_jupyter.request import Example, Request
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.untrusted.parsing import parse

_PIECES = re.compile(r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<arrow>->)|@(?=[A-Za-z_])""", re.DOTALL)

_SYNTAX = 'Write --example "@in -> @out", or with names: --example "orders=@few, min_orders=3 -> best=\'2024-03\'".'

_A_VALUE = "a value of an example"
"""How it is named while it is fetched."""

_LONGEST = 200
"""Characters of an example in an error."""

Values = tuple[tuple[str, str], ...]
"""(name, expression) pairs; the name is "" if it is not given."""


@dataclass(frozen=True)
class ExampleOption:
    """An example as it is written. The expressions are not evaluated yet."""

    text: str
    given: Values
    expected: Values


def parse_example(text: str) -> ExampleOption:
    """Parse both sides of an example. The `@` before a name is optional."""
    sides, start = [""], 0
    for piece in _PIECES.finditer(text):
        sides[-1] += text[start : piece.start()] + (piece["text"] or "")
        start = piece.end()
        if piece["arrow"]:
            sides.append("")
    sides[-1] += text[start:]
    if len(sides) != 2:
        raise InvalidRequest(f"--example {text!r} has {len(sides) - 1} arrows instead of one.", hint=_SYNTAX)
    given, expected = (_values(side, text) for side in sides)
    if not expected:
        raise InvalidRequest(f"--example {text!r} has no expected output.", hint=_SYNTAX)
    return ExampleOption(text.strip(), given, expected)


def _values(side: str, text: str) -> Values:
    try:
        (statement,) = parse(f"_({side})").body
    except (SyntaxError, ValueError):
        raise InvalidRequest(f"--example {text!r} is not valid.", hint=_SYNTAX) from None
    call = statement.value if isinstance(statement, ast.Expr) else None
    simple = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    if not isinstance(call, ast.Call) or not simple or any(isinstance(one, ast.Starred) for one in call.args):
        raise InvalidRequest(f"--example {text!r} is not valid.", hint=_SYNTAX)
    named = [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    if any(not name for name, _ in named) or len(dict(named)) < len(named):
        raise InvalidRequest(f"--example {text!r} is not valid.", hint=_SYNTAX)
    try:
        return tuple((name, ast.unparse(value)) for name, value in [*(("", value) for value in call.args), *named])
    except (ValueError, RecursionError):  # an integer of thousands of digits; nested too deeply
        raise InvalidRequest(
            f"--example {_short(text)!r} has a value that is too long.", hint="Assign it to a variable: @in -> @out."
        ) from None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def collect_example(option: ExampleOption, namespace: Mapping[str, Any]) -> Example:
    """Evaluate an example. The values are captured as they are now."""
    given = tuple((name, _held(option, expression, namespace)) for name, expression in option.given)
    expected = tuple((name, _expected(option, expression, namespace)) for name, expression in option.expected)
    return Example(option.text, given, expected)


def require_fit(request: Request) -> None:
    """Check that the examples fit the declared inputs and outputs, before the model is asked."""
    if request.examples:
        from autocoder_jupyter.engine.acceptance import check_examples
        from autocoder_jupyter.engine.prepare import settle_inputs

        check_examples(request.examples, settle_inputs(request), request.outputs, request.samples)


def _expected(option: ExampleOption, expression: str, namespace: Mapping[str, Any]) -> Any:
    from autocoder_jupyter.equality import is_comparable

    value = _held(option, expression, namespace)
    if not is_comparable(value):
        raise InvalidRequest(
            f"--example {option.text!r}: an output cannot be compared with a {type(value).__name__}.",
            hint="Expect a DataFrame, a Series, a plain value, or a list or dict of these; test the rest with --check.",
        )
    return value


def _held(option: ExampleOption, expression: str, namespace: Mapping[str, Any]) -> Any:
    from autocoder_jupyter.data.capture import captured_value
    from autocoder_jupyter.magics.references import on_this_machine

    value = _evaluated(option, expression, namespace)
    return captured_value(on_this_machine({_A_VALUE: value})[_A_VALUE])


def _evaluated(option: ExampleOption, expression: str, namespace: Mapping[str, Any]) -> Any:
    if expression.isidentifier() and expression not in namespace and expression not in ("None", "True", "False"):
        names = [name for name in namespace if not name.startswith("_")]
        raise InvalidRequest(
            f"--example {option.text!r}: there is no {expression!r} in the notebook.",
            hint=suggestion(expression, names, mark="@"),
        )
    try:
        return eval(expression, {"File": File, "Dir": Dir, **namespace})
    except Exception as error:
        raise InvalidRequest(
            f"--example {option.text!r}: {expression} fails.", why=f"{type(error).__name__}: {error}"
        ) from error
