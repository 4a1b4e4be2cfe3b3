"""The names of tools and frames mean what the user passed, whatever the code does."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from autocoder_jupyter.codemode.interpreter import runnable
from tests.cases import each
from tests.codemode.conftest import Ask, block, error_of

BINDINGS = {
    "assigns": "price = send",
    "assigns with others": "a, (b, *price) = 1, (2, send)",
    "assigns with a type": "price: object = send",
    "assigns in an expression": "print(price := send)",
    "adds": "price += send",
    "defines": "def price(s): send(s)",
    "defines an async function": "async def price(s): send(s)",
    "defines inside of a function": "def other():\n    def price(s): send(s)\n    return price",
    "defines a class": "class price: pass",
    "defines in a class": "class Other:\n    price = send",
    "names a parameter": "def other(price): return price('a')",
    "names a parameter by position only": "def other(price, /): return price('a')",
    "names a parameter by keyword only": "def other(*, price): return price('a')",
    "collects parameters": "def other(*price): return price[0]('a')",
    "collects named parameters": "def other(**price): return price",
    "names a parameter of a lambda": "(lambda price: price('a'))(send)",
    "loops": "for price in [send]: price('a')",
    "loops in a comprehension": "[price('a') for price in [send]]",
    "loops in a generator": "list(price('a') for price in [send])",
    "loops in a dict": "{1: price('a') for price in [send]}",
    "loops over pairs": "[price('a') for _, price in [(1, send)]]",
    "imports": "import price",
    "imports under this name": "import math as price",
    "imports a part": "import price.other",
    "imports from": "from math import price",
    "imports from under this name": "from math import sqrt as price",
    "imports everything": "from math import *",
    "catches": "try:\n    1 / 0\nexcept ZeroDivisionError as price:\n    pass",
    "opens": "with open('a') as price:\n    pass",
    "matches": "match send:\n    case price: price('a')",
    "matches a part": "match [send]:\n    case [price]: price('a')",
    "matches as": "match send:\n    case object() as price: price('a')",
    "matches the rest": "match [1, send]:\n    case [1, *price]: price[0]('a')",
    "matches the other keys": "match {}:\n    case {**price}: pass",
    "declares global": "def other():\n    global price\n    price = send",
    "declares nonlocal": "def other():\n    nonlocal price",
    "deletes": "del price",
    "deletes a part": "del price.name",
    "changes an attribute": "price.name = send",
    "changes an item": "price['a'] = send",
    "changes a part of a part": "price.a[0].b = send",
    "changes an attribute by a function": "setattr(price, 'name', send)",
    "writes it with other letters": "\uff50rice = send",
    "runs text": "exec('price = send')",
    "computes text": "eval('(price := send)')",
    "runs text by another name": "run = exec\nrun('price = send')",
    "changes all names": "globals()['price'] = send",
}


@each("code", BINDINGS.values(), ids=BINDINGS)
def test_code_does_not_run_that(code: str) -> None:
    with pytest.raises(SyntaxError):
        runnable(code, ["price"])


def test_a_tool_whose_name_python_writes_in_another_way_is_bound_by_neither() -> None:
    for code in ("ﬁle = 1", "file = 1"):
        with pytest.raises(SyntaxError):
            runnable(code, ["ﬁle"])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python reads this from 3.12 on")
@pytest.mark.parametrize("code", ["type price = int", "def other[price](x: price): pass", "class Other[*price]: pass"])
def test_code_does_not_run_that_names_a_type(code: str) -> None:
    with pytest.raises(SyntaxError):
        runnable(code, ["price"])


@each(
    "code",
    [
        "price('a')",
        "other = price\nother('a')",
        "row.price = row['price'] = 1",
        "order(price=1)",
        "dict(price=price('a'))['price']",
        "prices = [price(name) for name in 'ab']",
        "'price'",
        "import asyncio\nawait asyncio.gather(price('a'))",
        "import re\nre.compile('a')",
    ],
)
def test_code_runs_that_only_uses_the_name(code: str) -> None:
    assert runnable(code, ["price"]) == code


def test_what_python_cannot_read_does_not_run(ask: Ask) -> None:
    called: list[str] = []

    def price(name: str) -> None:
        called.append(name)

    # The parser of the sandbox reads newer Python than that of the notebook, and the names could not be checked.
    result = ask([block("price('a')\nexcept A, B: price = 1"), "No."], [price])
    assert error_of(result.blocks[0]).startswith("SyntaxError: ")
    assert called == []


def test_the_model_is_told_which_name_it_took(ask: Ask) -> None:
    code = "x = 1\nsales = sales.filter('a', '>', 1)"
    result = ask([block(code), block("sales.count()"), "Done."], frames={"sales": pd.DataFrame({"a": [1, 2]})})
    assert result.value == 2
    assert (
        "Your block was not run:\nSyntaxError: 'sales' is the name of a tool or a frame." in result.blocks[0].observed
    )
    assert "choose another name (line 2)" in result.blocks[0].observed


def test_the_name_with_which_tools_are_called_at_once_cannot_be_taken(ask: Ask) -> None:
    result = ask([block("to_thread = 1"), "No."])
    assert "'to_thread' is the name of a tool or a frame" in error_of(result.blocks[0])
