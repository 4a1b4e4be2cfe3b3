from __future__ import annotations

import ast

import pytest

from autocoder_jupyter.engine.prompt import entry_problem, without_entry
from tests.cases import each

MODULE = "import sys\n\n\ndef run():\n    return 1\n"


@pytest.mark.parametrize("test", ['__name__ == "__main__"', '"__main__" == __name__', "(__name__ == '__main__')"])
def test_a_part_for_scripts_is_left_out(test: str) -> None:
    assert without_entry(f"{MODULE}\n\nif {test}:\n    print(run())\n    sys.exit()\n") == MODULE
    assert without_entry(f"if {test}: print(1)\n{MODULE}") == MODULE


def test_lines_are_counted_as_python_counts_them() -> None:
    odd = 'A = """\x0c\u2028"""\r\n' + MODULE
    assert without_entry(f'{odd}if __name__ == "__main__":\n    run()\n').endswith(MODULE)


def test_a_module_without_one_stays_as_it_is() -> None:
    assert without_entry(MODULE) == MODULE
    assert entry_problem(ast.parse(MODULE)) == ""


@each(
    "part",
    [
        'if __name__ == "__main__":\n    A = 1\nelse:\n    A = 2',
        'if "__main__" in (__name__,):\n    A = 1',
        'if True:\n    if __name__ == "__main__":\n        A = 1',
        'try:\n    assert __name__ != "__main__"\nexcept AssertionError:\n    A = 1',
        'A = globals()["__name__"]',
        "import sys\nA = sys.modules['__main__']",
        "def f():\n    return __name__",
    ],
)
def test_any_other_use_of_its_own_name_is_a_fault_for_the_model(part: str) -> None:
    code = without_entry(f"{MODULE}\n{part}\n")
    assert "__name__" in code or "__main__" in code
    assert "under every name" in entry_problem(ast.parse(code))


@pytest.mark.parametrize(
    "part", ["A = type(1).__name__", "A = 'the __main__ thing'", "def f(error): return error.__name__"]
)
def test_names_of_other_things_may_be_used(part: str) -> None:
    assert entry_problem(ast.parse(f"{MODULE}\n{part}\n")) == ""
