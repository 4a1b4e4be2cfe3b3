from __future__ import annotations

import pytest

from autocoder_jupyter.tasks.export import places, renamed
from tests.cases import each


@each(
    ("code", "expected"),
    [
        pytest.param("def run(a):\n    return a\n", "def growth(a):\n    return a\n", id="definition"),
        pytest.param(
            "é = 'ü'; x = 1\n@cache\ndef  run(a):\n    return 'ü', run(a - 1)\n",
            "é = 'ü'; x = 1\n@cache\ndef  growth(a):\n    return 'ü', growth(a - 1)\n",
            id="recursion behind wide characters",
        ),
        pytest.param(
            "class E:\n    def run(self):\n        return self.run\n\ndef run(a):\n    return E().run() # run\n",
            "class E:\n    def run(self):\n        return self.run\n\ndef growth(a):\n    return E().run() # run\n",
            id="a method of that name stays",
        ),
        pytest.param("def run(a):\n    return f(run=1)\n", "def growth(a):\n    return f(run=1)\n", id="keyword stays"),
    ],
)  # fmt: skip
def test_the_function_gets_the_name_of_its_result(code: str, expected: str) -> None:
    assert renamed(code, "growth") == expected


@each(
    "code",
    [
        pytest.param("def growth(a): ...\ndef run(a):\n    return growth(a)\n", id="a helper has the name"),
        pytest.param("def run(growth):\n    return 1\n", id="an input has the name"),
        pytest.param("from subprocess import run\ndef run(a): ...\n", id="an import is called run"),
        pytest.param("def run(a):\n    run = 1\n    return run\n", id="a variable is called run"),
        pytest.param("def run(a):\n    def f(run): return run\n", id="a parameter is called run"),
        pytest.param("def run(a):\n    def run(): ...\n", id="a function inside is called run"),
        pytest.param("def run(a): ...\nrun = cache(run)\n", id="it is bound again"),
        pytest.param("try:\n    x\nexcept E as run:\n    y\ndef run(a): ...\n", id="an exception is called run"),
        pytest.param("match x:\n    case [*run]: y\ndef run(a): ...\n", id="a pattern is called run"),
        pytest.param("def f():\n    global run\ndef run(a): ...\n", id="it is global somewhere"),
        pytest.param("def run(a:\n", id="no Python"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_another_name_would_change_stays_as_it_is(code: str) -> None:
    assert renamed(code, "growth") == code and places(code, "growth") == ()


@each("name", ["no name", "class", "list", ""])
def test_a_name_that_code_cannot_take_is_not_taken(name: str) -> None:
    assert renamed("def run(a): ...\n", name) == "def run(a): ...\n"
