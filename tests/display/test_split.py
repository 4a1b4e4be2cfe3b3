"""What the card shows of how a function may be split, and when it can be asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autocoder_jupyter.display.actions import buttons
from autocoder_jupyter.display.live import FOLLOWED, card_bundle, card_html, card_text, step
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import CodePlan, InputSpec, OutputSpec
from autocoder_jupyter.types.interface import DeclaredSplit, FoundSplit, KnownSplits, Split

PLAN = CodePlan(
    description="",
    approach="",
    inputs=(InputSpec(name="sales", type="DataFrame"),),
    outputs=(OutputSpec(name="monthly", type="DataFrame"),),
)
READY = FunctionRun("growth", phase="ready", plan=PLAN)
BY_CUSTOMER = Split(
    input="sales",
    kind="groups",
    keys=("customer",),
    ordered=False,
    comparisons=38,
    against={"rows": "rows: two halves: 3 rows, 6 in pieces"},
)
OFFER = "Large tables: check how it may be split"


def known(split: Split = BY_CUSTOMER, output: str = "monthly", **others: Any) -> FunctionRun:
    return replace(READY, splits=KnownSplits((FoundSplit(output, split, **others),)))


def with_outputs(state: FunctionRun, *outputs: OutputSpec) -> FunctionRun:
    assert state.plan is not None
    return replace(state, plan=state.plan.model_copy(update={"outputs": outputs}))


def test_the_card_shows_kind_keys_order_comparisons_and_the_counter_example(read: Any) -> None:
    words = (
        "sales may be split: whole groups of customer · in any order of rows · 38 comparisons · "
        "not more freely, because rows: two halves: 3 rows, 6 in pieces"
    )
    assert f"Split ✓ {words}" in read(card_html(known())).text
    assert words in " ".join(card_text(known()).split())
    whole = Split(input="sales", kind="whole", comparisons=3, against={"rows": "rows: two halves: 1 row, 2 in pieces"})
    told = read(card_html(known(whole))).text
    assert "sales cannot be split · 3 comparisons · because rows: two halves" in told
    assert "order" not in told
    assert "Split" not in read(card_html(READY)).text
    assert "may be split" not in read(card_html(replace(known(), phase="running"))).text


def test_of_several_outputs_and_of_a_call_it_says_which(read: Any) -> None:
    both = with_outputs(known(), OutputSpec(name="monthly", type="DataFrame"), OutputSpec(name="best", type="str"))
    assert "✓ monthly: sales may be split" in read(card_html(both)).text
    assert "with names and rate as in a call" in read(card_html(known(fixed=("names", "rate")))).text


@pytest.mark.parametrize("words", ["<script>alert(1)</script>", "\x1b[31m"])
def test_what_a_record_says_is_shown_as_text(words: str) -> None:
    state = known(BY_CUSTOMER.model_copy(update={"keys": (words,), "against": {"rows": words}}))
    assert words not in card_html(state) and words[0] + words[1:3] not in card_text(state).replace("<scr", "")


def test_it_is_offered_while_it_is_not_known() -> None:
    def is_offered(state: FunctionRun) -> bool:
        assert (OFFER in buttons(state).values()) == ("growth.split" in card_text(state))
        return OFFER in buttons(state).values()

    assert is_offered(READY)
    assert is_offered(known(fixed=("names",))), "with a value of a call it may be another"
    assert is_offered(known(Split(input="sales", kind="whole", complete=False))), "the check did not end"
    assert is_offered(replace(READY, splits=KnownSplits(failed="the sandbox is gone")))
    assert not is_offered(known())
    assert not is_offered(replace(READY, splits=KnownSplits(doing="any batch of rows")))
    assert not is_offered(replace(READY, phase="running"))
    assert not is_offered(replace(READY, plan=None))
    assert not is_offered(with_outputs(READY, OutputSpec(name="best", type="str")))
    demanded = PLAN.model_copy(update={"split": DeclaredSplit(input="sales", kind="rows")})
    assert not is_offered(replace(READY, plan=demanded)), "its check is part of the evidence"
    no_table = PLAN.model_copy(update={"inputs": (InputSpec(name="count", type="int"),)})
    assert not is_offered(replace(READY, plan=no_table))


def test_while_it_is_checked_the_card_says_so_and_a_page_follows_it(read: Any) -> None:
    busy = replace(READY, splits=KnownSplits(doing="whole groups of customer"))
    failed = replace(READY, splits=KnownSplits(failed="there is none of sales."))
    assert "checking how it may be split: whole groups of customer …" in read(card_html(busy)).text
    assert "how it may be split could not be checked: there is none of sales." in read(card_html(failed)).text
    assert len({step(state) for state in (READY, busy, failed, known())}) == 4
    shown = [card_bundle(state, 1.0, for_page=True)[FOLLOWED]["finished"] for state in (READY, busy, known())]
    assert shown == [True, False, True]
