"""Keeps what is known of how a function may be split, and tells whoever shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from autocoder_jupyter.types.split import FoundSplit, KnownSplits

TOLD_SECONDS = 2.0
"""Least time between two words about a check that runs: each of them closes the parts of a card that are open."""


class SplitWatch:
    """What is known of one function. Every method may be called from any thread.

    Args:
        now: a clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._known = KnownSplits()
        self._code = ""
        self._listeners: tuple[Callable[[], object], ...] = ()
        self._now = now
        self._not_before = 0.0
        self._lock = threading.Lock()

    def known(self, code: str) -> KnownSplits:
        """What is known now of the function with this code: a second opinion may have changed it meanwhile."""
        return self._known if code == self._code else replace(self._known, found=())

    def listen(self, listener: Callable[[], object]) -> None:
        """Call a listener after each change. It must return at once."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

    def begin(self, words: str) -> bool:
        """A check begins; its words. False if one runs already."""
        with self._lock:
            if self._known.doing:
                return False
            self._known = replace(self._known, doing=words, failed="")
            self._not_before = self._now() + TOLD_SECONDS
        self._tell()
        return True

    def goes_on(self, words: str) -> None:
        """What the check that runs tries now. It is not told if it told something a moment ago."""
        with self._lock:
            if not self._known.doing or self._now() < self._not_before:
                return
            self._known = replace(self._known, doing=words)
            self._not_before = self._now() + TOLD_SECONDS
        self._tell()

    def end(self, failed: str = "") -> None:
        """The check has ended; the reason if it failed."""
        with self._lock:
            self._known = replace(self._known, doing="", failed=failed)
        self._tell()

    def keep(self, found: FoundSplit, code: str) -> None:
        """Keep what was found for an output, in place of what was found for it before.

        Args:
            found: what was found.
            code: of the function.
        """
        with self._lock:
            others = [other for other in self.known(code).found if other.output != found.output]
            self._known, self._code = replace(self._known, found=(*others, found)), code
        self._tell()

    def forget(self) -> None:
        """Forget everything: the samples are others."""
        with self._lock:
            self._known = KnownSplits()
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def __reduce__(self) -> tuple[Any, ...]:
        return SplitWatch, ()
