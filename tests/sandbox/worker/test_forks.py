"""How a forked worker applies the Landlock ruleset that its supervisor gives it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

import pytest

from autocoder_jupyter.sandbox.worker import start


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A descriptor that stands for the ruleset."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    monkeypatch.setattr(start, "RULES", descriptor)
    yield descriptor
    try:
        os.close(descriptor)
    except OSError as error:
        assert error.errno == errno.EBADF


@pytest.mark.parametrize(
    "answer", [errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM], ids=lambda code: errno.errorcode[code]
)
def test_without_a_ruleset_a_kernel_without_landlock_is_not_asked(
    rules: int, answer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.close(rules)
    monkeypatch.setattr(start, "_call", lambda *_: answer)
    start._apply_own_layer()


@pytest.mark.parametrize("answer", [errno.ENOSYS, errno.E2BIG], ids=lambda code: errno.errorcode[code])
def test_a_ruleset_that_cannot_be_applied_ends_the_worker(
    rules: int, answer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "_call", lambda *_: answer)
    with pytest.raises(OSError, match="cannot be applied"):
        start._apply_own_layer()


def test_an_applied_ruleset_is_closed(rules: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_call", lambda *_: 0)
    start._apply_own_layer()
    with pytest.raises(OSError):
        os.fstat(rules)
