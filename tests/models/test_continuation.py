from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocoder_jupyter.models.questions import join


def test_the_second_half_follows_the_first() -> None:
    assert join("def run():\n    re", "turn 1\n") == "def run():\n    return 1\n"


def test_a_repeated_end_is_not_doubled() -> None:
    partial = "first line\nsecond line of the answer"
    assert join(partial, "second line of the answer goes on") == "first line\nsecond line of the answer goes on"


def test_short_repetitions_are_kept() -> None:
    assert join("1000", "000\n") == "1000000\n"
    assert join("a\n                ", "                b") == "a\n                " + "                b"


def test_a_fence_that_is_opened_again_is_dropped() -> None:
    assert join("```python\nx = (", "```python\n1)\n```") == "```python\nx = (1)\n```"


def test_a_fence_that_is_opened_for_good_is_kept() -> None:
    assert join("Here it is:\n", "```python\nx\n```") == "Here it is:\n```python\nx\n```"


def test_an_answer_that_starts_anew_takes_the_place_of_the_old() -> None:
    whole = "import pandas as pd\n\n\ndef run(sales: pd.DataFrame) -> int:\n    return 1\n"
    assert join(whole[:60], whole) == whole


def test_nothing_before_is_nothing_lost() -> None:
    assert join("", "```python\nx\n```") == "```python\nx\n```"


@given(st.text(alphabet="ab \n", max_size=200), st.integers(0, 200))
def test_a_text_without_long_repetitions_is_put_together_as_it_was(text: str, cut: int) -> None:
    text = "".join(f"{number}{character}" for number, character in enumerate(text))
    assert join(text[:cut], text[cut:]) == text
