"""Checks that outputs satisfy the user's schemas: on the sample, and in each call that a test makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.contracts.applying import Breach, apply_contract
from autocoder_jupyter.engine.sample_run import SampleRun
from autocoder_jupyter.redaction.messages import Redaction, without_secrets
from autocoder_jupyter.request import Contract
from autocoder_jupyter.types import CheckOutcome


class ContractWatch:
    """Watches the calls of tests. A call whose input breaks its own contract is not checked.

    Args:
        contracts: by the name of their input or output.
        secrets: secret values by name. They are redacted from messages, because a program may have returned them.
    """

    def __init__(self, contracts: Mapping[str, Contract], secrets: Mapping[str, str]) -> None:
        self._contracts = contracts
        self._secrets = secrets
        self._calls: dict[str, int] = {}
        self._broken: dict[str, list[Breach]] = {}

    def __call__(self, given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Note one call: its arguments, and what it returned."""
        agreed = (
            apply_contract(name, self._contracts[name], given[name])[1] for name in given if name in self._contracts
        )
        if any(breach is not None for breach in agreed):
            return
        for name in values:
            if name in self._contracts:
                self._calls[name] = self._calls.get(name, 0) + 1
                _, breach = apply_contract(name, self._contracts[name], values[name])
                if breach is not None:
                    self._broken.setdefault(name, []).append(breach)

    def outcomes(self, redaction: Redaction) -> tuple[CheckOutcome, ...]:
        """The outcome for each output that the calls of tests returned."""
        return tuple(self._outcome(name, calls, redaction) for name, calls in self._calls.items())

    def _outcome(self, name: str, calls: int, redaction: Redaction) -> CheckOutcome:
        broken = self._broken.get(name, [])
        head = f"In {len(broken)} of {calls} call{'s' if calls > 1 else ''}; in the first:\n"
        title = f"{name} satisfies {self._contracts[name].title} in the calls of the tests"
        return _outcome_of(title, broken[0] if broken else None, redaction, self._secrets, head)


async def judged_on_sample(
    contracts: Mapping[str, Contract], sample: SampleRun, redaction: Redaction, secrets: Mapping[str, str]
) -> tuple[dict[str, Any], tuple[CheckOutcome, ...]]:
    """The outputs on the sample after their contracts were applied, as the user gets them; and whether these hold.

    The sample run keeps the original outputs: these are compared with other versions.
    """
    values, outcomes = dict(sample.values), []
    for name in (name for name in sample.values if name in contracts):
        accepted, breach = await call_blocking(_application(name, contracts[name], values[name]))
        values[name] = accepted
        title = f"{name} satisfies {contracts[name].title} on the sample"
        outcomes.append(_outcome_of(title, breach, redaction, secrets))
    return values, tuple(outcomes)


def _application(name: str, contract: Contract, value: Any) -> Any:
    return lambda: apply_contract(name, contract, value)


def _outcome_of(
    title: str, breach: Breach | None, redaction: Redaction, secrets: Mapping[str, str], head: str = ""
) -> CheckOutcome:
    if breach is None:
        return CheckOutcome(name=title, passed=True)
    told = without_secrets(breach.words(values=redaction.shows_values), secrets)
    said = redaction.words(told) if redaction.shows_values else told
    return CheckOutcome(name=title, passed=False, message=head + said, in_full=head + breach.words(values=True))


def watch_of(
    contracts: Mapping[str, Contract], outputs: Sequence[str], secrets: Mapping[str, str]
) -> ContractWatch | None:
    """A watch, if an output has a contract."""
    return ContractWatch(contracts, secrets) if any(name in contracts for name in outputs) else None
