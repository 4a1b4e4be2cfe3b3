"""How many values of a corpus of private values are found, by kind, and that values that are not private are kept."""

from __future__ import annotations

from autocoder_jupyter.redaction.masking import Masker
from tests.redaction.corpus import INNOCENT, PLANTED

FOUND = {"card": 8, "token": 16, "iban": 4, "email": 8, "phone": 9, "id": 8, "address": 5, "ip": 5}
"""Found values, of 8 cards, 17 tokens, 4 IBANs, 8 e-mails, 10 phones, 9 ids, 6 addresses and 6 network addresses."""


def test_the_corpus_is_of_68_and_68() -> None:
    assert sum(map(len, PLANTED.values())) == 68 and len(set(INNOCENT)) == 68


def test_so_many_of_each_kind_are_found() -> None:
    found = {kind: sum(part not in Masker().mask(text) for text, part in planted) for kind, planted in PLANTED.items()}
    assert found == FOUND
    assert sum(found.values()) >= 60


def test_what_is_not_private_is_left_alone() -> None:
    assert [text for text in INNOCENT if Masker().mask(text) != text] == []
