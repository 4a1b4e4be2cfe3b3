from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocoder_jupyter.models.retries import Patience

PATIENCE = Patience(tries=5, first=1.0, longest=30.0, total=60.0)


@given(st.integers(1, 4))
def test_pauses_grow_and_are_spread(failures: int) -> None:
    pause = PATIENCE.pause(failures, 0.0, None)
    assert pause is not None
    assert 0.5 * 2 ** (failures - 1) <= pause <= 2 ** (failures - 1)


def test_the_wish_of_the_service_is_honoured_up_to_a_cap() -> None:
    assert PATIENCE.pause(1, 0.0, 12.0) == 12.0
    assert PATIENCE.pause(1, 0.0, 3600.0) == 30.0


def test_it_ends_after_so_many_tries() -> None:
    assert PATIENCE.pause(5, 0.0, None) is None


def test_no_call_begins_after_so_many_seconds() -> None:
    assert PATIENCE.pause(2, 59.9, None) is None
