from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.engine.repair import PatchError, excerpt, replace_tests
from autocoder_jupyter.engines.staged.writer import add_imports, apply_edits, changed_in_substance
from autocoder_jupyter.types import Edit
from tests.cases import each

MODULE = "import math\n\n\ndef run(x: int) -> int:\n    # keep me\n    y = x + 1   \n    return y\n"

TESTS = '''\
import pytest
from solution import run

# sums worked out by hand


@pytest.mark.parametrize("x", [1, 2])
def test_adds(x):
    """Adds one."""
    assert run(x=x) == x + 2


# between the tests
LIMIT = 3


class TestEdges:
    def test_zero(self):
        assert run(x=0) == 0

    async def test_later(self):
        assert run(x=1)


def test_last():
    assert run(x=2) == 3
'''


def test_an_edit_replaces_the_one_place_where_its_text_stands() -> None:
    assert "y = x + 2" in apply_edits(MODULE, [Edit(find="y = x + 1", replace="y = x + 2")])


def test_an_edit_forgives_trailing_white_space() -> None:
    edited = apply_edits(MODULE, [Edit(find="    y = x + 1\n    return y", replace="    return x + 2\n")])
    assert edited.endswith("    # keep me\n    return x + 2\n")


def test_what_no_edit_touches_stays_as_it_is_to_the_last_blank() -> None:
    source = 'TABLE = """a  \n\tb """   \n\n\ndef run():\n    return 1\n'
    assert apply_edits(source, [Edit(find="return 1", replace="return 2")]) == source.replace("1", "2")


@each(
    ("edits", "complaint"),
    [
        pytest.param([], "no edit", id="none"),
        pytest.param([Edit(find="  \n", replace="x")], "nothing to find", id="blank"),
        pytest.param([Edit(find="nowhere", replace="x")], "stands 0 times", id="absent"),
        pytest.param([Edit(find="y", replace="z")], "stands 2 times", id="ambiguous"),
        pytest.param([Edit(find="return y", replace="return (")], "does not parse", id="syntax"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused_with_the_reason(edits: list[Any], complaint: str) -> None:
    with pytest.raises(PatchError, match=complaint):
        apply_edits(MODULE, edits)


def test_comments_and_layout_are_no_change_in_substance() -> None:
    assert not changed_in_substance(MODULE, MODULE.replace("# keep me", "# another remark"))
    assert changed_in_substance(MODULE, MODULE.replace("+ 1", "+ 2"))


def test_replacing_a_test_leaves_all_other_text_as_it_is() -> None:
    new = replace_tests(TESTS, {"test_last": "def test_last():\n    assert run(x=2) == 4"})
    assert new == TESTS.replace("assert run(x=2) == 3", "assert run(x=2) == 4")


def test_a_decorated_test_is_replaced_with_its_decorators() -> None:
    new = replace_tests(TESTS, {"test_adds": "def test_adds():\n    assert run(x=1) == 2"})
    assert "parametrize" not in new
    assert "# between the tests\nLIMIT = 3" in new


def test_methods_of_test_classes_and_async_tests_are_replaced_in_place() -> None:
    new = replace_tests(
        TESTS,
        {
            "TestEdges::test_zero": "def test_zero(self):\n    assert run(x=0) == 1",
            "TestEdges::test_later": "async def test_later(self):\n    assert run(x=1) == 2",
        },
    )
    assert "    def test_zero(self):\n        assert run(x=0) == 1\n" in new
    assert "        assert run(x=1) == 2\n" in new


def test_a_test_can_be_dropped() -> None:
    new = replace_tests(TESTS, {"test_adds": None})
    assert "test_adds" not in new and "parametrize" not in new and "test_last" in new


@each(
    ("replacements", "complaint"),
    [
        pytest.param({"test_unknown": "def test_unknown(): ..."}, "no test 'test_unknown'", id="unknown"),
        pytest.param({"test_last": "def test_other(): ..."}, "must be that one function", id="other name"),
        pytest.param({"test_last": "import os\ndef test_last(): ..."}, "must be that one function", id="more code"),
        pytest.param({"test_last": "def test_last(:"}, "does not parse", id="syntax"),
        pytest.param({"TestEdges::test_zero": None, "TestEdges::test_later": None}, "do not parse", id="empty class"),
    ],
)
def test_a_replacement_that_does_not_fit_is_refused(
    replacements: dict[str, None] | dict[str, str], complaint: str
) -> None:
    with pytest.raises(PatchError, match=complaint):
        replace_tests(TESTS, replacements)


def test_an_excerpt_holds_the_named_tests_with_their_helpers_and_no_other_test() -> None:
    text = excerpt(TESTS, ["test_last", "TestEdges::test_zero"])
    assert "def test_zero" in text and "def test_last" in text and "LIMIT = 3" in text
    assert "def test_adds" not in text and "test_later" not in text and "parametrize" not in text


@each(
    ("source", "imports", "expected"),
    [
        ("import pandas as pd\n", ["import re"], "import re\nimport pandas as pd\n"),
        ('"""Doc."""\n\nx = 1\n', ["import re"], '"""Doc."""\nimport re\n\nx = 1\n'),
        (
            "from __future__ import annotations\nimport os\n",
            ["import re"],
            "from __future__ import annotations\nimport re\nimport os\n",
        ),
        ("import pandas as pd\n", ["import pandas as pd", "import pandas  as pd"], "import pandas as pd\n"),
        ("x = 1\n", ["import re\nfrom math import pi"], "import re\nfrom math import pi\nx = 1\n"),
        ("x = 1\n", ["import re", "import re"], "import re\nx = 1\n"),
        ("x = 1\n", [], "x = 1\n"),
    ],
)
def test_imports_come_to_the_top_once(source: str, imports: list[Any] | list[str], expected: str) -> None:
    assert add_imports(source, imports) == expected


@pytest.mark.parametrize("text", ["x = 1", "import", "import re\nprint(1)"])
def test_only_imports_are_added(text: str) -> None:
    with pytest.raises(PatchError):
        add_imports("x = 1\n", [text])
