"""What the verdict on a verified function is worth: its tests are examined, and a second opinion is got beside."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.attempt import Trials
from autocoder_jupyter.engine.evidence.examiner import LAYERS, Examiner
from autocoder_jupyter.engine.evidence.second_opinion import Adviser
from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.engine.report import sources_of
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.version_record import VerifiedTurn, VersionRecord
from autocoder_jupyter.run.events import EvidenceGathered, TestsCollected
from autocoder_jupyter.run.of_report import SECOND, TRIAL
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import Exchange, LayerCost, Report, Strength, Usage
from autocoder_jupyter.versions.edits import shown


class Examination:
    """Examines the verified functions of one generation, with its second opinion.

    Args:
        setup: the setup of the generation.
        adviser: gets the second opinion.
        record: the record of the generation; the function that can be used already is offered there.
    """

    def __init__(self, setup: GenerationSetup, adviser: Adviser, record: VersionRecord) -> None:
        self._setup = setup
        self._adviser = adviser
        self._record = record
        self._seconds_left = setup.config.second_opinion_seconds
        """How long verified functions of this generation may still wait. While one is changed, none waits."""
        self.examiner = Examiner(setup)

    async def of(self, state: GenerationState, trials: Trials, verdict: Verdict) -> tuple[VerifiedTurn, Verdict]:
        """Find out what the verdict on a verified function is worth, and get the second opinion meanwhile.

        Args:
            state: the function and its tests. Tests may be added.
            trials: tests the function with added tests.
            verdict: the verdict on the last attempt.

        Returns:
            The attempt that passed; and the verdict, which is a failed one if the second opinion shows an error.
        """
        record, suite, turn = self._record, state.suite, self._record.turns[-1]
        until = time.monotonic() + self._seconds_left
        known = await call_blocking(self._verified_before)
        found = known.evidence.strength if known is not None else None
        is_examined = EFFORTS[self._setup.config.effort].is_examined and found is None
        beside = (*((SECOND,) if self._adviser.is_wanted else ()), *((TRIAL,) if is_examined else ()))
        if beside:
            await record.offer_verified(beside)
        examining = asyncio.create_task(self._strength(state, found))
        try:
            weighed = await self._adviser.weigh(state, verdict, self._seconds_left, may_doubt=record.may_be_changed)
            strength = await examining
        finally:
            examining.cancel()
        self._seconds_left = max(until - time.monotonic(), 0.0)
        if strength is not None:
            strength = await self.examiner.judged(strength, self._adviser.agreed)
        verified = VerifiedTurn(replace(turn, verdict=replace(verdict, strength=strength)), suite)
        weighed = replace(weighed, strength=strength)
        if weighed.success and strength is not None and record.may_be_changed:
            fault = await self.examiner.doubt(state, self._adviser.agreed)
            if fault is not None:
                weighed = replace(weighed, failures=(*weighed.failures, fault))
            else:
                weighed = await self._with_further_tests(state, trials, weighed, strength)
        before = {cost.layer: _paid_before(cost) for cost in (known.evidence.costs if known is not None else ())}
        now = {cost.layer: cost for cost in self._costs(weighed)}
        weighed = replace(weighed, costs=tuple({**now, **before}.values()))
        self._setup.emit(EvidenceGathered(turn.number, weighed.evidence))
        return verified, weighed

    def _verified_before(self) -> Report | None:
        """The report of a kept function that was verified here before: it has the same tests."""
        kept, versions = self._record.start.kept, self._setup.services.journal.versions
        known = shown(versions, kept) if kept is not None else None
        return known[1] if known is not None and known[0] == "ready" else None

    async def _strength(self, state: GenerationState, found: Strength | None) -> Strength | None:
        """What the tests are worth; of a kept function, what was found before. One of less effort is examined now."""
        return await self.examiner.examine(state) if found is None else found

    async def _with_further_tests(
        self, state: GenerationState, trials: Trials, verdict: Verdict, strength: Strength
    ) -> Verdict:
        """Add tests of changes that no test noticed, and test the function with them."""
        before = state.suite
        suite, strength = await self.examiner.further_tests(state, strength, self._seconds_left)
        if suite is None or before is None:
            return replace(verdict, strength=strength)
        state.set_suite(suite)
        wider = None
        with suppress(Exception):  # a sandbox that fails now loses no function that was verified
            wider = await trials.attempt(verdict.tests_changed, shows_rows=False)
        if wider is None or not wider.success:  # each new test passed alone; the function stays as it was verified
            state.set_suite(before)
            self._setup.emit(TestsCollected(before.all_ids))
            return replace(verdict, strength=strength.model_copy(update={"added": ()}))
        _, tests, blind = sources_of(state)
        self._record.change_last(tests=tests, blind=blind)
        return replace(wider, strength=await self.examiner.again(suite, strength))

    def _costs(self, verdict: Verdict) -> tuple[LayerCost, ...]:
        """What each layer of the evidence took, the tests first."""
        setup, tests = self._setup, verdict.evidence.tests
        asked = [exchange for exchange in setup.talk.exchanges if exchange.stage == "tests"]
        ran = _cost("tests", asked, sum(outcome.seconds for outcome in tests))
        second = _cost(SECOND, setup.second_talk.exchanges, self._adviser.seconds)
        took = self.examiner.seconds
        others = (_cost(layer, (), took[layer]) for layer in LAYERS if layer in took)
        has_second = second.tokens or second.recorded or second.seconds
        return (*((ran,) if tests else ()), *((second,) if has_second else ()), *others)


def _cost(layer: str, asked: Sequence[Exchange], seconds: float) -> LayerCost:
    """What a layer took, with its questions."""
    paid, recorded = (_tokens(usages) for usages in ([e.usage for e in asked], [e.recorded for e in asked]))
    return LayerCost(layer=layer, tokens=paid, recorded=recorded, seconds=seconds)


def _tokens(usages: Iterable[Usage]) -> int:
    return sum(usage.input_tokens + usage.output_tokens for usage in usages)


def _paid_before(cost: LayerCost) -> LayerCost:
    """A cost that an earlier run had."""
    return cost.model_copy(update={"tokens": 0, "recorded": cost.tokens + cost.recorded})
