from __future__ import annotations

from autocoder_jupyter.engines.claude.suite_watch import OUTSIDE, SuiteWatch
from tests.cases import each

FIRST = '''import pandas as pd
import pytest
from solution import run

LIMIT = 1e-9
CASES = [(1.0, 1.0), (2.0, 2.0)]


def close(one, other):
    return abs(one - other) <= LIMIT


def test_sum():
    """The sum."""
    assert close(run(sales=pd.DataFrame({"v": [1.0, 2.0]})), 3.0)


@pytest.mark.parametrize("value", [1.0, 2.0, 3.0])
def test_each(value):
    assert run(sales=pd.DataFrame({"v": [value]})) == value


class TestMissing:
    least = 0.0
    most = 1.0

    def test_none(self):
        assert run(sales=pd.DataFrame({"v": [None]})) == 0.0
'''


def changed(*versions: str) -> tuple[str, ...]:
    watch = SuiteWatch()
    for version in versions:
        watch.see(version)
    return watch.changed


@each(
    ("before", "after", "names"),
    [
        ("3.0)", "3.5)", ("test_sum",)),
        ("def test_sum():", "@pytest.mark.skip\ndef test_sum():", ("test_sum",)),
        ("def test_sum", "def test_total", ("test_sum",)),
        ("[1.0, 2.0, 3.0])", "[1.0])", ("test_each",)),
        ("== 0.0", "is not None", ("TestMissing::test_none",)),
        ("class TestMissing:", "@pytest.mark.skip\nclass TestMissing:", (OUTSIDE,)),
        ("least = 0.0", "least = -1e9", (OUTSIDE,)),
        ("1e-9", "1e9", (OUTSIDE,)),
        ("<= LIMIT", "<= LIMIT or True", (OUTSIDE,)),
        ("import pytest\n", "import pytest\npytestmark = pytest.mark.skip\n", (OUTSIDE,)),
        ("import pytest\n", "import pytest\npytest.approx = lambda x: x\n", (OUTSIDE,)),
        ("LIMIT = 1e-9\n", "LIMIT = 1e-9\n\n\ndef run(sales):\n    return 3.0\n", (OUTSIDE,)),
        ("LIMIT = 1e-9\n", "LIMIT = 1e-9\n\n\ndef abs(x):\n    return 0\n", (OUTSIDE,)),
        ("LIMIT = 1e-9\n", "LIMIT = 1e-9\n@pytest.fixture(autouse=True)\ndef fake():\n    ...\n", (OUTSIDE,)),
    ],
)
def test_a_test_that_is_not_as_it_was_first_written_is_named_whatever_ran(
    before: str, after: str, names: tuple[str, ...]
) -> None:
    assert before in FIRST
    assert changed(FIRST, FIRST.replace(before, after)) == names


@each(
    "new",
    [
        "from helper import *",
        "X = (close := lambda *a: True)",
        "X = globals().update(close=lambda *a: True)",
        "X = setattr(test_sum, '__code__', (lambda: None).__code__)",
        "X = pytest.__dict__.update(approx=abs)",
        "def made(x=globals().pop('close')): ...",
        "class Made:\n    globals()['LIMIT'] = 1e9",
        "class TestNew:\n    def setup_class(self):\n        global LIMIT\n        LIMIT = 1e9",
        "def test_0():\n    global LIMIT\n    LIMIT = 1e9",
        "def test_0():\n    pytest.approx = abs",
        "def setup_module():\n    ...",
        "def setup_function(f):\n    ...",
        "def setUpModule():\n    ...",
        "__test__ = False",
        "test_sum = None",
        "class test_sum: ...",
        "import LIMIT",
        "X = CASES.clear()",
        "X = CASES.extend(CASES)",
        "class TestNew:\n    CASES[0] = (1.0, 3.0)",
        "class TestNew:\n    del CASES[0]",
        "import builtins\n\n\nclass TestNew:\n    builtins.abs = lambda x: 0",
        "import builtins\nX = builtins.exec('close = max')",
        "from builtins import exec as do\nX = do('close = max')",
        "from builtins import globals as names\nX = names()",
        "X = getattr(pytest, 'ex' + 'it')",
        "import sys\n\n\nclass TestNew:\n    sys.modules['tests'].close = max",
        "import tests\n\n\nclass TestNew:\n    tests.close = max",
        "import tests as these\n\n\nclass TestNew:\n    these.CASES[:] = []",
        "import sys\n\n\ndef made(frame=sys._getframe()):\n    frame.f_globals['close'] = max",
        "from unittest import mock\nX = mock.patch('tests.close').start()",
        "from unittest.mock import patch as put\nX = put('tests.close').start()",
        "X = pytest.MonkeyPatch().setattr('tests.close', max)",
        "import operator\nX = operator.setitem(CASES, 0, (1.0, 3.0))",
        "X = list.clear(CASES)",
        "import gc\nX = gc.get_referrers(close)[0].update(close=max)",
        "X = pytest.importorskip('nothing')",
        "X = pytest.skip('later', allow_module_level=True)",
    ],
)
def test_something_new_that_changes_what_others_test_is_a_change(new: str) -> None:
    assert changed(FIRST, f"{FIRST}\n{new}\n") == (OUTSIDE,)


def test_where_a_name_is_bound_twice_the_order_counts() -> None:
    twice = FIRST.replace("LIMIT = 1e-9\n", "SMALL = 1e-9\nLIMIT = SMALL\nSMALL = 1e9\n")
    later = twice.replace("LIMIT = SMALL\nSMALL = 1e9\n", "SMALL = 1e9\nLIMIT = SMALL\n")
    assert changed(twice, later) == (OUTSIDE,)
    assert changed(twice, twice) == ()


def test_new_tests_layout_and_what_new_tests_need_are_no_change() -> None:
    grown = FIRST.replace("import pytest\n", "import numpy as np\nimport pytest\n") + (
        "\n\nTABLE = pd.DataFrame()\n\n\ndef made():\n    return np.zeros(1)\n"
        "\n\ndef test_more():\n    assert made()[0] == 0\n"
    )
    assert changed(FIRST, grown) == ()
    own = (
        "\n\nTABLE = pd.DataFrame(CASES)\nROWS = sorted(CASES)\n\n\ndef test_own():\n    table = TABLE.copy()\n"
        "    table.columns = ['v', 'w']\n    table['x'] = table.pop('w')\n    rows = [1]\n    rows.append(2)\n"
        "    assert run(sales=table) == 3.0\n\n\nclass TestOwn:\n    def test_it(self):\n        self.value = 3.0\n"
        "        assert run(sales=TABLE) == self.value\n"
    )
    assert changed(FIRST, FIRST + own) == ()
    assert changed(FIRST, FIRST.replace("def test_sum", "# a comment\n\n\ndef test_sum")) == ()
    assert changed(FIRST, grown, grown.replace("== 0\n", ">= 0\n")) == ("test_more",)


def test_what_is_as_it_was_again_or_was_written_by_others_is_no_change() -> None:
    weak = FIRST.replace("3.0)", "3.5)")
    assert changed(FIRST, weak, FIRST) == ()
    assert changed(FIRST, "def test_sum(:", FIRST) == ()
    watch = SuiteWatch()
    watch.see(FIRST)
    watch.take(weak)
    watch.see(weak)
    assert watch.changed == ()
