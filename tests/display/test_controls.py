from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from autocoder_jupyter.display.controls import Controls
from autocoder_jupyter.display.state import CardState


class Job:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def cancel(self) -> None:
        self.asked.append("cancel")

    def approve(self) -> bool:
        self.asked.append("approve")
        return True

    def decline(self) -> bool:
        self.asked.append("decline")
        return True


STATE = CardState("growth")


def labels(strip: Controls) -> list[str]:
    return [child.description for child in strip._box.children if child.description]


def note(strip: Controls) -> str:
    return str(strip._note.value)


def test_buttons_ask_the_job_and_nothing_else() -> None:
    job = Job()
    strip = Controls(job)
    for button in (strip._cancel, strip._approve, strip._decline):
        button.click()
    assert job.asked == ["cancel", "approve", "decline"]


def test_approve_and_decline_are_there_while_they_are_needed() -> None:
    strip = Controls(Job())
    assert labels(strip) == ["Cancel"]
    strip(replace(STATE, phase="waiting", approval=("x",)))
    assert labels(strip) == ["Cancel", "Approve", "Decline"]
    strip(STATE)
    assert labels(strip) == ["Cancel"]


def test_the_strip_has_the_clock_and_counts_what_the_model_writes() -> None:
    strip = Controls(Job())
    strip(replace(STATE, seconds=41.0, written=1204))
    assert note(strip) == "00:41 · 1,204 characters written"


def test_the_strip_closes_at_the_end_and_stays_closed() -> None:
    strip = Controls(Job())
    strip(replace(STATE, phase="ready"))
    assert strip._box.comm is None
    strip(STATE)


def test_without_ipywidgets_there_is_no_strip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError):
        Controls(Job())
