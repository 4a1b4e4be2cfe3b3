"""How far a call with many pieces or items is: for `progress=`, and for the line below a waiting cell."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from autocoder_jupyter.concurrency.awaited import Awaited, Wait, watched
from autocoder_jupyter.view.amounts import amount, so_far

Progress = Callable[[int, int], object]
"""Called in the calling thread with the number of items that are done, and of all; of a table with the numbers of
pieces, where that of all is about right until the last piece is made, and 0 if it cannot be known before."""

_look: ContextVar[Callable[[], None]] = ContextVar("autocoder_jupyter_look", default=lambda: None)


def look() -> None:
    """Show how far the call is, if that is due. Called now and then while it waits."""
    _look.get()()


class Tally:
    """Counts what is done. What an earlier call has kept takes no time, so it does not count for the rate.

    Args:
        name: of the call: `growth.over`.
        of: how many pieces or items there are; None if that is not known.
        rows: those of a table, by which time is measured; None if that is not known.
        now: a clock in seconds.
    """

    def __init__(
        self,
        name: str,
        progress: Progress | None,
        *,
        unit: str,
        of: int | None = None,
        rows: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._progress, self._unit = name, progress, unit
        self._of, self._rows = of, rows
        self._now = now
        self._began = now()
        self._made = self._made_rows = 0
        self._done = self._kept = self._done_rows = self._kept_rows = 0
        self._told: tuple[int, int] | None = None
        self.step = "the rows are read"
        """What is done before anything is computed."""

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Inside of this context a notebook shows how far the call is."""
        wait = Wait(Awaited(self._name, lambda: self.step or self.words(), "interrupt to stop it"))
        with watched(wait) as show:
            token = _look.set(show)
            try:
                yield
            finally:
                _look.reset(token)

    def begin(self, of: int | None = None) -> None:
        """From now on something is computed."""
        self._of, self.step, self._began = of or self._of, "", self._now()

    def make(self, rows: int = 0) -> None:
        """One more piece was made."""
        self._made += 1
        self._made_rows += rows

    def count(self, done: int = 1, rows: int = 0, *, kept: int = 0) -> None:
        """So many more are done, of which some were kept. These are told with the first that was not."""
        self._done += done
        self._done_rows += rows
        self._kept += kept
        self._kept_rows += rows if kept else 0
        if self._kept == self._done:
            self._began = self._now()
        else:
            self._tell()

    def finish(self) -> None:
        """All are done."""
        self._of = self._done
        self._tell()

    @property
    def total(self) -> int:
        """How many there are, about; 0 if that is not known."""
        if self._of is not None:
            return self._of
        if not self._rows or not self._made_rows:
            return 0
        left = max(0, self._rows - self._made_rows)
        return self._made + math.ceil(left * self._made / self._made_rows)

    def words(self) -> str:
        """`3 of 9 pieces, 1 of them kept from before, 410.0K rows/s, 20 s left`."""
        parts = [f"{self._done:,} of {self.total or '?'} {self._unit}"]
        if self._kept:
            parts.append(f"{self._kept:,} of them kept from before")
        done, of, what = (
            (self._done_rows - self._kept_rows, self._rows, "rows")
            if self._rows
            else (self._done - self._kept, self.total, self._unit)
        )
        seconds = self._now() - self._began
        if done and seconds > 0:
            rate = done / seconds
            parts.append(f"{amount(round(rate)) if rate >= 10 else f'{rate:.1f}'} {what}/s")
            if of:
                parts.append(f"{so_far(max(0, of - (self._done_rows if self._rows else self._done)) / rate)} left")
        return ", ".join(parts)

    def _tell(self) -> None:
        told = self._done, self.total
        if self._progress is not None and told != self._told:
            self._told = told
            self._progress(*told)
