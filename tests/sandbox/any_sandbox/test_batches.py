"""Several calls in one child: each has an outcome or an error, and a hostile program gets nothing by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from autocoder_jupyter.errors import OutputRefused, SandboxCrash, SandboxError, SolutionError
from autocoder_jupyter.sandbox.host.packing import pack_arguments
from autocoder_jupyter.sandbox.protocol import CallOutcome, Program, Worker
from tests.sandbox.sandboxes import program, say

SECONDS = 60.0


def batch(worker: Worker, made: Program, numbers: Sequence[int], **more: Any) -> Sequence[CallOutcome | SandboxError]:
    return worker.batch(made, [pack_arguments(made, {"n": number}) for number in numbers], SECONDS, **more)


def counting(body: str) -> Program:
    return program(body, {"n": "int"}, {"value": "int"})


def test_each_call_has_its_own_outcome_or_error(worker: Worker) -> None:
    found = batch(worker, counting("return 10 // n"), [1, 0, 5])
    assert [each.values["value"] if isinstance(each, CallOutcome) else type(each) for each in found] == [
        10,
        SolutionError,
        2,
    ]
    assert say(worker, "return 'works'") == "works"


def test_a_batch_begins_in_a_fresh_child_and_leaves_nothing(worker: Worker) -> None:
    keeps = counting("import builtins\nbuiltins.seen = getattr(builtins, 'seen', 0) + 1\nreturn builtins.seen")
    for _ in range(2):
        found = batch(worker, keeps, [1, 1, 1])
        assert [each.values["value"] for each in found if isinstance(each, CallOutcome)] == [1, 2, 3]
    assert say(worker, "import builtins\nreturn str(hasattr(builtins, 'seen'))") == "False"


def test_nothing_is_known_if_the_child_ends(worker: Worker) -> None:
    with pytest.raises(SandboxCrash):
        batch(worker, counting("return n if n else os._exit(3)"), [1, 0, 2])


def test_what_was_answered_before_the_child_ended_is_kept_if_it_is_wanted(worker: Worker) -> None:
    found = batch(worker, counting("return n if n else os._exit(3)"), [1, 4, 0, 2], partly=True)
    assert [each.values["value"] for each in found if isinstance(each, CallOutcome)] == [1, 4]
    with pytest.raises(SandboxCrash):  # there is none
        batch(worker, counting("return n"), [1], partly=True)


def test_all_calls_have_the_seed_that_is_given(worker: Worker) -> None:
    drawn = counting("import random\nreturn random.getrandbits(30)")
    found = [each for _ in range(2) for each in batch(worker, drawn, [1, 1], seed=7)]
    values = [each.values["value"] for each in found if isinstance(each, CallOutcome)]
    assert len(values) == 4 and len(set(values)) == 1


FORGED = """
if n:
    frames = next(module for name, module in sys.modules.items() if name.endswith('.frames'))
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, frames.pack({'kind': 'result', 'outputs': [], 'seconds': 0, 'payload': 0}) * 3)
        except OSError:
            pass
return n
"""
"""Writes answers into every stream that it has."""


def test_frames_that_a_program_writes_itself_are_no_outcomes(worker: Worker) -> None:
    with pytest.raises((OutputRefused, SandboxCrash)):
        batch(worker, counting(FORGED), [1, 1])
    with pytest.raises((OutputRefused, SandboxCrash)):
        batch(worker, counting(FORGED), [0, 1], partly=True)
