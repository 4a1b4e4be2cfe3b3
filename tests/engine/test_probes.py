"""Probes: what a model may ask of the data, what it is told, and what it is not. The sandbox is real."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine import planning
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.first_answer import FirstAnswer, first_messages
from autocoder_jupyter.engine.generation import GenerationSetup
from autocoder_jupyter.engine.journal import Journal, sent_record
from autocoder_jupyter.engine.plan import reading
from autocoder_jupyter.engine.planning import DataProbes, preview
from autocoder_jupyter.engine.prepare import prepare
from autocoder_jupyter.engine.probes import (
    LONGEST,
    DescribedValue,
    NotAProbe,
    probed_names,
    probes_in,
    reply_of,
    tables_used,
)
from autocoder_jupyter.engine.programs import look
from autocoder_jupyter.engine.sandbox_session import Services
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.events import TokensUsed
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.protocol import Sandbox
from autocoder_jupyter.settings.choices import Share
from autocoder_jupyter.types import OutputSpec, Resources
from tests.first_answers import joined
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced
from tests.scripted_model import ScriptedModel

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

Look = Callable[..., list[str]]

MARK = "```probe"
"""What the first question has only where probes are offered."""


def orders() -> pd.DataFrame:
    count = 400
    return pd.DataFrame(
        {
            "order_id": range(count),
            "status": ["paid", "refunded", "open", "paid"] * (count // 4),
            "refund_date": pd.to_datetime(["", "2024-03-01", "", ""] * (count // 4)),
            "mail": [f"customer.{number}@example.com" for number in range(count)],
            "diagnosis": [f"illness-{number}" for number in range(count)],
            "salary": [50_000.0 + number for number in range(count)],
        }
    )


@pytest.fixture
def ask(tmp_path: Path, sandbox: Sandbox) -> Look:
    """Evaluates probes as a generation does; returns what the model is told of each."""

    def looked(*lines: str, samples: Mapping[str, Any] | None = None, rounds: int = 1, **settings: Any) -> list[str]:
        return asyncio.run(_looked(tmp_path, sandbox, lines, samples or {"orders": orders()}, rounds, settings))

    return looked


async def _looked(
    root: Path, sandbox: Sandbox, lines: Sequence[str], samples: Mapping[str, Any], rounds: int, settings: Any
) -> list[str]:
    request = Request(name="x", prompt="p", samples=samples)
    config = AgentConfig(**{"model": "openai/none", "timeout": 60.0, **settings})
    journal = Journal(root / ".autocode", "x")
    journal.begin("run-1")
    services = Services(
        model=LiteLLMModel(ScriptedModel().config()),
        sandbox=sandbox,
        pool=shared_pool(sandbox),
        journal=journal,
        tracker=RunTracker(FunctionRun("x"), lambda event: None),
        approve=lambda names: asyncio.sleep(0, True),
    )
    setup = GenerationSetup.of(request, config, services, prepare(request, config), Budget())
    await setup.session.provide((), ())
    probes = DataProbes(setup, probed_names(samples, config), lambda: asyncio.sleep(0))
    for _ in range(rounds):
        _, told = await probes.look(lines, True)
    return [part.rpartition("\n</data>")[0] for part in told["content"].split("<data name=")[1:]]


# What a model could try

HOSTILE = [
    "open('/etc/passwd').read()",
    "orders.__class__.__init__.__globals__",
    "__import__('os').getpid()",
    "pd.io.common.os.environ",
    "[pd][0].io.common.os.environ",
    "pd.read_csv('/etc/passwd')",
    "np.load('/etc/passwd', allow_pickle=True)",
    "orders.to_csv('/tmp/x')",
    "orders.to_pickle('/tmp/x')",
    "orders.eval('status')",
    "orders.query('@pd.io.common.os.environ')",
    "orders.query('status.__class__ == 1')",
    "orders.pipe(print)",
    "'{0.__class__.__mro__}'.format(orders)",
    "orders._mgr",
    "eval('1')",
    "exec('import os')",
    "getattr(orders, 'to_csv')('/tmp/x')",
    "globals()",
    "vars(orders)",
    "(lambda f: f.__globals__)(lambda: orders)",
    "(x := orders).to_parquet('/tmp/x')",
    "x = orders",
    "import os",
    "1 + 1",
    "customers.head()",
    "(" * 400 + "orders" + ")" * 400,
    "orders" + ".T" * 450 + "._x",
    "orders + " * 110 + "orders; 1",
]


@pytest.mark.parametrize("expression", HOSTILE)
def test_what_no_question_about_data_needs_is_not_evaluated(expression: str) -> None:
    with pytest.raises(NotAProbe):
        tables_used(expression, ["orders"])


@pytest.mark.parametrize(
    "expression",
    [
        "orders.loc[orders.refund_date.notna(), 'status'].value_counts()",
        "orders.groupby('status')['salary'].agg(['min', 'max'])",
        "orders.query('status == \"paid\"').shape",
        "{status: len(part) for status, part in orders.groupby('status')}",
        "orders.apply(lambda row: row['salary'] > 1, axis=1).sum()",
        "pd.to_datetime(orders['refund_date']).dt.tz is None",
        "np.isnan(orders['salary']).sum()",
        "orders.order_id.is_unique",
        "sorted(set(orders.status))[:5]",
        "orders.head(3).to_dict()",
        "f'{len(orders)} rows'",
    ],
)
def test_questions_about_data_are_evaluated(expression: str) -> None:
    assert tables_used(expression, ["orders", "other"]) == {"orders"}


def test_the_sandbox_confines_what_the_first_check_lets_pass(ask: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check of the text, nothing of this machine can be reached either."""
    monkeypatch.setattr(planning, "tables_used", lambda line, names: frozenset(names))
    monkeypatch.setattr(planning, "BUILTINS", ("open", "__import__", "str", "len"))
    monkeypatch.setenv("PROBE_SECRET", "hunter2-hunter2")
    told = ask(
        "open('/etc/passwd').read()",
        f"open({__file__!r}).read()",
        "str(__import__('os').environ)",
        "open('/proc/1/environ').read()",
        "__import__('socket').create_connection(('127.0.0.1', 80), 1)",
    )
    assert "hunter2" not in "".join(told) and "What a model could try" not in "".join(told)
    for place in (0, 1, 4):
        assert "It failed" in told[place], told[place]


def test_a_table_is_never_told_whole(ask: Look) -> None:
    whole, text, listed, cells = ask(
        "orders[['order_id', 'status']]",
        "'y' * (10 * 2**20) + str(len(orders))",
        "orders.diagnosis.tolist()",
        "orders.assign(long='z' * 2**20)",
    )
    assert "DataFrame, 400 rows × 2 columns: order_id int64, status str" in whole
    assert whole.count("\n") < 20 and "… and 390 more" in whole
    assert all(len(told) < LONGEST + 300 for told in (whole, text, listed, cells))
    assert "illness-300" not in listed


def test_a_probe_has_no_network_even_if_the_function_may_have_one(ask: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "tables_used", lambda line, names: frozenset(names))
    monkeypatch.setattr(planning, "BUILTINS", ("__import__",))
    with ScriptedModel() as listening:
        connecting = f"__import__('socket').create_connection(('127.0.0.1', {listening.port}), 5).getpeername()"
        (told,) = ask(connecting, block_network=False)
    assert "It failed" in told


def test_a_probe_that_fills_the_memory_is_told_as_a_failure(ask: Look) -> None:
    too_large, after = ask("'y' * (10**10 * len(orders))", "len(orders)", resources=Resources(memory="512Mi"))
    assert "It failed" in too_large and "int: 400" in after


def test_what_never_ends_is_stopped(ask: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "SECONDS", 1.0)
    endless, after = ask("sum(len(orders) for each in range(10**12))", "len(orders)")
    assert "It failed: it took more than 1 s." in endless
    assert "int: 400" in after


def test_hidden_columns_and_private_values_are_not_in_the_tables(ask: Look) -> None:
    frame = orders()
    frame.attrs = {"secret": "illness"}
    told = ask(
        "list(orders.columns)",
        "orders.diagnosis.iloc[0]",
        "orders['salary'].max()",
        "orders.mail.str.split('@').str[0].iloc[0]",
        "orders.attrs",
        samples={"orders": frame},
        hide=["diagnosis"],
        mask=["salary"],
    )
    assert "['order_id', 'status', 'refund_date', 'mail']" in told[0]
    assert "AttributeError" in told[1] and "KeyError" in told[2]
    assert "illness" not in "".join(told) and "50399" not in "".join(told) and "customer.0" not in "".join(told)
    assert "email-" in told[3]
    assert told[4].endswith("dict: {}")


def test_a_private_value_keeps_the_placeholder_of_the_description(ask: Look) -> None:
    frame = pd.DataFrame({"mail": ["a@example.com", "b@example.com", "b@example.com"] * 10, "n": range(30)})
    counts, joined_up = ask(
        "orders.mail.value_counts()",
        "orders.n.map(lambda n: f'user{n}' + '@' + 'example.org').iloc[0]",
        samples={"orders": frame},
    )
    config = AgentConfig(model="openai/none")
    shown = prepare(Request(name="x", prompt="p", samples={"orders": frame}), config).context.text
    first = "<email-1> ×10" in shown
    assert ("<email-1>,10" if first else "<email-1>,20") in counts
    assert "user0@example.org" not in joined_up and "<email-" in joined_up


def test_numbers_and_labels_can_be_private_too(ask: Look) -> None:
    frame = pd.DataFrame(
        {"card": [4111111111111111, 5500005555555559] * 5, "boss@example.com": range(10)},
        index=pd.Index([f"p{number}@example.com" for number in range(10)], name="who"),
    )
    card, labels, index = ask(
        "orders.card.astype(str).str[-4:].unique()",
        "list(orders.columns)",
        "orders.index.str.upper()",
        samples={"orders": frame},
    )
    assert "1111" not in card and "boss@" not in labels and "EXAMPLE.COM" not in index


def test_a_failure_is_told_and_masked(ask: Look) -> None:
    missing, raised, kept = ask(
        "orders.no_such", "orders.set_index('status').loc['me@example.com']", "orders.status.nunique()"
    )
    assert "It failed: AttributeError: 'DataFrame' object has no attribute 'no_such'" in missing
    assert "KeyError" in raised and "me@example.com" not in raised.partition("\n>>>")[2].partition("\n")[2]
    assert "int: 3" in kept


def test_results_are_recorded_and_not_evaluated_again(
    ask: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask("orders.status.value_counts()")
    assert "paid,200" in first[0]
    monkeypatch.setattr(planning, "program_text", lambda *args, **named: pytest.fail("it was evaluated again"))
    assert ask("orders.status.value_counts()") == first
    assert sent_record(tmp_path / ".autocode", "x", "run-1")["probes"][0][0] == "orders.status.value_counts()"


def test_what_was_told_before_a_column_was_withheld_is_not_told_again(ask: Look) -> None:
    """Tables that are too many are not described, so the description can be the same."""
    many = {f"t{n}": pd.DataFrame({f"column_{n}_{m}": ["secret"] * 5 for m in range(40)}) for n in range(60)}
    line, column = "t59.column_59_39.iloc[0]", "column_59_39"
    assert "secret" in ask(line, samples=many)[0]
    for settings in ({"mask": [column]}, {"hide": [column]}):
        assert "secret" not in ask(line, samples=many, **settings)[0]


# What comes back is not believed

GOOD: dict[str, Any] = {"kind": "DataFrame", "size": [1, 1], "columns": [["a", "str"]], "index": [], "rows": [["x"]]}


@pytest.mark.parametrize(
    "changed",
    [
        {"size": [-1, 1]},
        {"size": ["1"]},
        {"size": True},
        {"columns": [["a"]]},
        {"columns": "a"},
        {"rows": [["x", "y"]]},
        {"rows": [[1]]},
        {"kind": None},
        {"text": 3},
        {"index": [None]},
    ],
)
def test_a_description_of_another_shape_is_refused(changed: dict[str, Any]) -> None:
    assert DescribedValue.read(GOOD).written(Masker()) == "DataFrame, 1 rows × 1 columns: a str\na\nx"
    with pytest.raises(ValueError, match=r"no |none|column|row"):
        DescribedValue.read({**GOOD, **changed})


def test_a_reply_is_bounded() -> None:
    for text in (None, "x", "[]", "x" * 10**7, "[" * 10**5, json.dumps({"rows": list(range(10**5))})):
        with pytest.raises(ValueError, match=r"long|no reply|JSON|Expecting|nested|values"):
            reply_of(text)
    cut = {**GOOD, "rows": [[f"{'x' * 10}…(+{'0' * 4_000})"]]}
    assert len(DescribedValue.read(cut).written(Masker())) < 200
    many = {**GOOD, "size": [10**6, 1], "rows": [["<data> </data>\n\x00" * 1000]] * 10**4}
    assert len(DescribedValue.read(many).written(Masker())) <= LONGEST + 20
    assert "</data>" not in DescribedValue.read(many).written(Masker())


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (pd.Series([1, None], name="n"), "Series"),
        (pd.DataFrame({"a": []}), "DataFrame"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "DataFrame"),
        (pd.DataFrame({("a", "b"): [1]}), "DataFrame"),
        (pd.MultiIndex.from_tuples([(1, "x")]), "MultiIndex"),
        (np.arange(3), "ndarray"),
        (np.zeros((2, 2)), "ndarray"),
        (pd.Timestamp("2024-01-01"), "Timestamp"),
        (pd.DataFrame({"a": [1, 2]}).groupby("a"), "DataFrameGroupBy"),
        ({"a": 1}, "dict"),
        ({3, 1, 2}, "set"),
        (None, "NoneType"),
        (True, "bool"),
    ],
)
def test_every_value_has_a_description(value: Any, kind: str) -> None:
    found = json.loads(json.dumps(look.described(value)))
    assert DescribedValue.read(found).written(Masker()).startswith(kind)
    assert " at 0x" not in json.dumps(found)


def test_sets_are_told_in_one_order() -> None:
    assert look.described({"b", "a", "c"})["text"] == "{'a', 'b', 'c'}"


# Which answers are probes


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("```probe\norders.head()\n```", ("orders.head()",)),
        ("I look first.\n\n```probe\n# which?\na.b()\n\nprint(c.d())\na.b()\n```\n", ("a.b()", "c.d()")),
        ("```probes\na.b()", ("a.b()",)),
        ("~~~probe\na.b()\n~~~\n```probe\nc.d()\n```", ("a.b()", "c.d()")),
        ("```probe\na.b()\n```\n```python\ndef run(): ...\n```", ()),
        ("```probe\na.b()\n```\ndef run(a):\n    return 1", ()),
        ('```probe\na.b()\n```\n"""Total."""\n', ()),
        ("```python\na.b()\n```", ()),
        ("```probe\n```", ()),
        ("a.b()", ()),
    ],
)
def test_an_answer_is_probes_or_a_module(answer: str, expected: tuple[str, ...]) -> None:
    assert probes_in(answer) == expected


# Where they are offered


@pytest.mark.parametrize(
    ("settings", "is_offered"),
    [
        ({}, True),
        ({"effort": "high"}, True),
        ({"effort": "quick"}, False),
        ({"effort": "quick", "skip_tests": True}, False),
        ({"share": "stats"}, False),
        ({"share": "schema"}, False),
        ({"max_sample_rows": 0}, False),
        ({"max_sample_rows": 20}, False),  # orders.status.tolist() would tell more
        ({"hide": ["diagnosis"]}, True),
        ({"backend": "claude", "model": "claude-x"}, True),
    ],
)
def test_probes_are_offered_where_rows_are_shared(settings: dict[str, Any], is_offered: bool) -> None:
    request = Request(
        name="x", prompt="Count @orders by status.", samples={"orders": orders(), "limit": pd.Series([1])}
    )
    shown = preview(request, AgentConfig(**{"model": "openai/none", **settings}))
    assert (MARK in shown) is is_offered
    if is_offered:
        assert shown.count("`orders`, `limit`") == 1 and "illness" not in shown.rpartition(MARK)[2]
    assert ("up to 2 more" in shown) is is_offered


# In a generation

PROBES = "```probe\nsales.price.max()\nsales.no_such\n```"
MODULE = joined(PLAN, fenced(CODE))
NORMAL: dict[str, Any] = {"effort": "normal", "skip_tests": True}


async def generated(runner: Runner, *answers: str, **settings: Any) -> Generated:
    return await runner.generate({"code": list(answers)}, settings={**NORMAL, **settings})


async def test_the_first_answer_may_be_probes(runner: Runner) -> None:
    found = await generated(runner, PROBES, MODULE)
    assert found.report.solution is not None, found.error
    first, second = found.model.requests[:2]
    assert second["messages"][: len(first["messages"])] == first["messages"]
    asked, told = second["messages"][len(first["messages"]) :]
    assert (asked["role"], asked["content"]) == ("assistant", PROBES)
    assert told["role"] == "user" and "float: 30" in told["content"] and "AttributeError" in told["content"]
    counted = [event for event in found.of(TokensUsed) if event.stage == "code"]
    assert len(counted) == 2 and found.report.usage.output_tokens >= sum(one.usage.output_tokens for one in counted)
    assert sent_record(runner.root, "growth", found.report.run_id)["probes"][0] == ("sales.price.max()", "float: 30")

    again = await generated(runner)
    assert again.report.solution is not None and again.model.requests == []


async def test_the_second_round_is_the_last(runner: Runner) -> None:
    other = "```probe\nsales.quantity.min()\n```"
    found = await generated(runner, PROBES, other, PROBES, MODULE)
    assert found.report.solution is not None, found.error
    last = found.model.requests[2]["messages"][-1]["content"]
    assert "int: 1" in last and MARK not in last
    assert "No more probes" in found.model.requests[3]["messages"][-1]["content"]


@pytest.mark.parametrize("share", ["stats", "schema"])
async def test_a_probe_that_was_not_offered_is_not_run(
    runner: Runner, share: Share, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DataProbes, "look", lambda *given: pytest.fail("it was run"))
    found = await generated(runner, PROBES, MODULE, share=share)
    assert "No more probes" in found.model.requests[1]["messages"][-1]["content"]
    assert found.report.solution is not None


async def test_a_module_beside_a_probe_is_the_answer(runner: Runner) -> None:
    found = await generated(runner, f"{PROBES}\n\n{MODULE}")
    assert found.report.solution is not None and len(found.model.requests) == 1


async def test_a_plan_alone_may_be_preceded_by_probes() -> None:
    looked: list[tuple[Sequence[str], bool]] = []

    async def look(lines: Sequence[str], is_last: bool) -> Messages:
        looked.append((lines, is_last))
        return ({"role": "assistant", "content": PROBES}, {"role": "user", "content": "30"})

    request = Request("x", "p", outputs=(OutputSpec(name="total", type="float"),))
    with ScriptedModel([PROBES, PROBES, joined(PLAN, "")]) as endpoint:
        conversation = Conversation(LiteLLMModel(endpoint.config()), Budget(), lambda event: None)
        messages = first_messages(request, (), "", plan_only=True)
        answer = FirstAnswer(conversation, messages, reading(request, ()), plan_only=True, look=look)
        plan = (await answer.head()).plan
        assert await answer.code() == ""
    probes = ("sales.price.max()", "sales.no_such")
    assert looked == [(probes, False), (probes, True)]
    assert plan.outputs[0].meaning == "sum of price times quantity"
    assert [one.stage for one in conversation.exchanges] == ["plan"] * 3


# Tables in a fix

FAULTY = """\
import pandas as pd


def run(sales: pd.DataFrame) -> float:
    kept = sales[sales["quantity"] > 1]
    kept = kept.assign(revenue=kept["price"] * kept["quantity"])
    if kept.empty:
        return 0.0
    return float(kept["revenue"].sum())"""
DIAGNOSIS = json.dumps({"failures": [{"test_name": "test_sum", "error_type": "logic"}]})
FIX = json.dumps({"edits": [{"find": 'sales[sales["quantity"] > 1]', "replace": "sales", "mends": ["test_sum"]}]})
SCRIPT = {"tests": [fenced(TESTS)], "diagnose": [DIAGNOSIS], "fix_code": [FIX], "more_tests": [fenced("")] * 3}


@pytest.mark.parametrize(
    ("settings", "is_shown", "has_rows"),
    [
        ({}, True, True),
        ({"share": "stats"}, True, False),
        ({"mask": ["price"]}, True, False),
        ({"effort": "quick"}, False, False),
    ],
)
async def test_a_fix_sees_the_tables_of_the_failing_test(
    runner: Runner, settings: dict[str, Any], is_shown: bool, has_rows: bool
) -> None:
    script = {**SCRIPT, "code": [joined(PLAN, fenced(FAULTY))]}
    found = await runner.generate(script, settings={"effort": "normal", **settings})
    assert found.report.success, found.error
    asked = found.model.requests[found.asked.index("fix_code")]["messages"][-1]["content"]
    assert ("<tables>" in asked) is is_shown
    if is_shown:
        _, _, tables = asked.partition("In test_sum:\n")
        lines = tables.partition("\n</tables>")[0].splitlines()
        rows = [line for line in lines if not line.startswith(("After", "sales:", "kept:"))]
        assert [line for line in lines if line not in rows] == [
            "After line 4, `def run(sales: pd.DataFrame) -> float:`",
            "sales: DataFrame, 2 rows × 2 columns: price float64, quantity int64",
            'After line 5, `kept = sales[sales["quantity"] > 1]`',
            "kept: DataFrame, 1 rows × 2 columns: price float64, quantity int64",
            'After line 6, `kept = kept.assign(revenue=kept["price"] * kept["quantity"])`',
            "kept: DataFrame, 1 rows × 3 columns: price float64, quantity int64, revenue float64",
        ]
        assert ("index,price,quantity,revenue" in rows and "1,3,2,6" in rows) if has_rows else rows == []
        assert "10,1" not in tables  # a row of the sample


def test_the_tables_of_each_line_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """\
def kept(frame):
    part = frame[frame.n > 1]
    return part
def run(sales):
    for _ in range(3):
        sales["m"] = sales.n + 1
    part = kept(sales)
    part.nothing
"""
    monkeypatch.setattr(look, "CODE", code)
    told = json.loads(look.run(sales=pd.DataFrame({"n": [1, 2, 3]})))
    assert [(line, name, found["size"]) for line, name, found in told["notes"]] == [
        (4, "sales", [3, 1]),
        (6, "sales", [3, 2]),
        (2, "part", [2, 2]),
    ]
    assert told["error"] == "AttributeError"


def test_a_program_that_never_ends_is_followed_for_some_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "def run(sales):\n    for number in range(10_000):\n        sales = sales.assign(n=number)\n    return sales\n"
    )
    monkeypatch.setattr(look, "CODE", code)
    told = json.loads(look.run(sales=pd.DataFrame({"n": [1]})))
    assert len(told["notes"]) == look.MOST_NOTES
