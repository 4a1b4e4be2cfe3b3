from __future__ import annotations

import pytest

from autocoder_jupyter.view.numbers import alike, rounded
from tests.cases import each


@each(
    ("texts", "beside", "shown"),
    [
        (("5863.3", "5805.28"), (), ("5863.30", "5805.28")),
        (("5863.3", "5805.0"), ("22118.38", "5035.11"), ("5863.30", "5805.00")),
        (("12 rows", "3.5"), (), ("12 rows", "3.5")),
        (("150", "152"), ("150", "181"), ("150", "152")),
        (("nothing", "0.019206"), ("0.0192", "-0.1330"), ("nothing", "0.0192")),
        (("1e-10", "2.0"), (), ("1e-10", "2")),  # of too different sizes for the same decimals
        ((), ("1.0",), ()),
    ],
)
def test_numbers_of_a_column_have_the_same_decimals_in_a_sentence(
    texts: tuple[str, ...], beside: tuple[str, ...], shown: tuple[str, ...]
) -> None:
    assert tuple(alike(texts, beside)) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("22118.38", "22118.38"),
        ("0.123456789", "0.123457"),
        ("140.0", "140"),
        ("1e+16", "1e+16"),
        ("x", "x"),
        ("7", "7"),
    ],
)
def test_a_number_alone_keeps_its_whole_part_and_two_decimals(text: str, shown: str) -> None:
    assert rounded(text) == shown
