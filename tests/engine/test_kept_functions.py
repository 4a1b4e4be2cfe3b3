"""A function is pinned to its request and the schema of its samples: what is kept, what is asked again, and why."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.display.parts import checks
from autocoder_jupyter.engine.start import verified_on
from autocoder_jupyter.request import Earlier
from autocoder_jupyter.run.events import Finished, KeptVerified, SuiteChanged, TestReported, VersionBegun, WaitsForRun
from autocoder_jupyter.types import CodeSolution, File, OutputSpec, Report, Trace
from autocoder_jupyter.versions import Versions
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced, sales

pytestmark = pytest.mark.local_sandbox

SCRIPT = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
MORE = pd.DataFrame({"price": [10.0, 20.0, 30.0, 40.0], "quantity": [1, 2, 3, 4]})
FRAGILE = CODE.replace("return float(", 'assert len(sales) < 4, "too long"\n    return float(')


Keep = Callable[[str], Report]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Report]]:
    """A finished generation with each code: its `.autocode` folder, and its report."""
    made = {}
    for code in (CODE, FRAGILE):
        root = tmp_path_factory.mktemp("recorded") / ".autocode"
        produced = asyncio.run(Runner(root, "local").generate({**SCRIPT, "code": [fenced(code)]}))
        assert produced.report.success, produced.error
        made[code] = (root, produced.report)
    return made


@pytest.fixture
def keep(recorded: dict[str, tuple[Path, Report]], runner: Runner) -> Keep:
    """Puts the finished generation with a code into the folder of `runner`, and returns its report."""

    def put(code: str) -> Report:
        root, report = recorded[code]
        shutil.copytree(root, runner.root)
        return report

    return put


def begun(produced: Generated) -> list[tuple[str, str, bool]]:
    return [(event.version, event.why, event.kept) for event in produced.of(VersionBegun)]


def files(runner: Runner) -> dict[str, bytes]:
    return {str(path.relative_to(runner.root)): path.read_bytes() for path in runner.root.rglob("*") if path.is_file()}


async def test_a_folder_recorded_with_other_prompts_is_kept_without_a_question(keep: Keep, runner: Runner) -> None:
    """As after an upgrade: a function depends on its request, and not on the words of a prompt."""
    report = keep(CODE)
    (journal,) = runner.root.rglob("journal.jsonl")
    entries = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    for number, entry in enumerate(entries):
        if "exchange" in entry:
            entry["exchange"] |= {"key": f"{number:064}", "messages": [{"role": "user", "content": "an older prompt"}]}
    journal.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), "utf-8")
    again = await runner.generate({})
    assert again.report.success and again.asked == []
    assert (again.report.run_id, again.report.solution) == (report.run_id, report.solution)


async def test_new_rows_ask_no_model_and_all_the_evidence_is_gathered_on_them(runner: Runner) -> None:
    first = await runner.generate(SCRIPT, checks=("total > 0",))
    before = files(runner)
    again = await runner.generate({}, samples={"sales": MORE}, checks=("total > 0",))
    assert again.report.success and again.asked == []
    assert again.report.kept == "4 rows" and [event.verified_on for event in again.of(KeptVerified)] == ["4 rows"]
    assert again.report.run_id == first.report.run_id == first.report.request_key
    assert again.report.sample_shapes["sales"]["rows"] == 4
    names = [check.name for check in again.report.evidence.conditions if check.passed]
    assert names == [check.name for check in first.report.evidence.conditions] and "total > 0" in names
    assert len(again.of(TestReported)) == 2 and again.of(Finished)[-1].state == "ready"
    assert again.report.history == first.report.history and again.report.usage.input_tokens == 0
    said = [(said.stage, said.answer) for said in again.report.conversation_history]
    assert sorted(said) == sorted((said.stage, said.answer) for said in first.report.conversation_history)
    assert files(runner) == before


async def test_a_kept_function_still_tells_that_an_agent_changed_its_tests(runner: Runner, keep: Keep) -> None:
    first = keep(CODE)
    file = runner.root / "growth" / "versions" / first.run_id / "report.json"
    trace = Trace(turns=3, max_turns=50, suite_changed=("test_sum",))
    file.write_text(first.model_copy(update={"trace": trace}).model_dump_json())
    again = await runner.generate({})
    assert again.report.kept and again.report.trace == trace
    assert [event.tests for event in again.of(SuiteChanged)] == [("test_sum",)]


async def test_a_kept_function_that_fails_on_new_rows_is_mended_in_a_version_of_its_own(
    runner: Runner, keep: Keep
) -> None:
    first = keep(FRAGILE)
    edit = {
        "find": 'assert len(sales) < 4, "too long"\n    return',
        "replace": "return",
        "mends": ["runs on the sample"],
    }
    script = {"fix_code": [json.dumps({"edits": [edit]})]}
    mended = await runner.generate(script, samples={"sales": MORE}, settings={"max_iterations": 1})
    assert mended.report.success and mended.asked == ["fix_code"] and mended.report.kept is None
    assert [attempt.code for attempt in mended.report.history] == [FRAGILE + "\n", CODE + "\n"]
    assert mended.report.tests == first.tests
    key = first.request_key
    assert (mended.report.run_id, mended.report.parent) == (f"{key}-2", key)
    assert begun(mended)[0] == (key, "", True)
    version, why, kept = begun(mended)[1]
    assert (version, kept) == (f"{key}-2", False) and "version 1 fails on this data" in why
    assert "too long" in why and mended.report.change == why
    versions = Versions(runner.root, "growth")
    assert [known.report.success for known in versions.all()] == [True, True]
    again = await runner.generate({}, samples={"sales": MORE})
    assert again.asked == [] and again.report.run_id == f"{key}-2" and again.report.kept == "4 rows"


async def test_a_kept_function_that_cannot_be_mended_leaves_the_good_version_as_it_was(
    runner: Runner, keep: Keep
) -> None:
    first = keep(FRAGILE)
    before = files(runner)
    edit = {"find": "len(sales) < 4", "replace": "len(sales) < 3", "mends": ["runs on the sample"]}
    script = {"fix_code": [json.dumps({"edits": [edit]})]}
    failed = await runner.generate(script, samples={"sales": MORE}, settings={"max_iterations": 1})
    assert not failed.report.success and failed.report.run_id == f"{first.run_id}-2"
    assert {name: content for name, content in files(runner).items() if name in before} == before
    back = await runner.generate({})
    assert back.asked == [] and back.report.kept == "3 rows" and back.report.run_id == first.run_id


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        pytest.param(sales().rename(columns={"price": "amount"}), "lacks 'price', has the new 'amount'", id="gone"),
        pytest.param(sales().astype({"price": "str"}), "'price' (float64 → str)", id="other dtype"),
    ],
)
async def test_a_schema_that_matters_asks_the_model_and_says_what_changed(
    runner: Runner, keep: Keep, samples: pd.DataFrame, why: str
) -> None:
    keep(CODE)
    again = await runner.generate(SCRIPT, samples={"sales": samples}, settings={"max_iterations": 1})
    assert "code" in again.asked
    assert why in begun(again)[0][1]


async def test_a_new_column_that_nobody_speaks_of_changes_nothing(runner: Runner, keep: Keep) -> None:
    first = keep(CODE)
    again = await runner.generate({}, samples={"sales": sales().assign(region="north")})
    assert again.asked == [] and again.report.kept == "3 rows" and again.report.run_id == first.run_id


async def test_a_new_column_that_the_request_names_matters(runner: Runner) -> None:
    prompt = "Total revenue of @sales, of the region north where there is a region."
    await runner.generate(SCRIPT, prompt=prompt)
    again = await runner.generate(SCRIPT, prompt=prompt, samples={"sales": sales().assign(region="north")})
    assert sorted(again.asked) == ["code", "tests"]
    assert begun(again)[0][1] == "sales has the new 'region'"


async def test_a_changed_request_says_what_changed(runner: Runner, keep: Keep) -> None:
    keep(CODE)
    again = await runner.generate(SCRIPT, prompt="Revenue of @sales in all.", checks=("total > 0",))
    assert begun(again)[0][1] == again.report.change == "new wording; a new check: total > 0"
    assert again.of(VersionBegun)[0].is_new_request
    assert again.report.run_id == again.report.request_key


async def test_asking_anew_makes_a_version_that_counts_from_then_on(runner: Runner, keep: Keep) -> None:
    first = keep(CODE)
    key = first.request_key
    await runner.generate({**SCRIPT, "code": [fenced(FRAGILE)]}, settings={"cache": "override"})
    versions = Versions(runner.root, "growth")
    assert [version.id for version in versions.all()] == [key, f"{key}-2"]
    assert [version.report.change for version in versions.all()] == ["", "generated again (--refresh)"]
    assert "too long" in (await runner.generate({})).code
    versions.choose(key, key)
    assert "too long" not in (await runner.generate({})).code


async def test_what_is_not_to_be_recorded_is_no_version(runner: Runner) -> None:
    first = await runner.generate(SCRIPT, settings={"cache": "disable"})
    assert first.report.success and Versions(runner.root, "growth").all() == []
    again = await runner.generate(SCRIPT)
    assert len(again.asked) == 2 and again.report.kept is None
    third = await runner.generate(SCRIPT, settings={"cache": "disable"})
    assert len(third.asked) == 2 and len(Versions(runner.root, "growth").all()) == 1


async def test_a_pinned_version_is_used_whatever_the_request_says_and_never_mended(runner: Runner, keep: Keep) -> None:
    first = keep(FRAGILE)
    versions = Versions(runner.root, "growth")
    versions.pin(first.run_id)
    other = await runner.generate({}, prompt="Something else about @sales.")
    assert other.asked == [] and other.report.run_id == first.run_id
    assert begun(other) == [(first.run_id, "version 1 is pinned", True)]
    refined = await runner.generate({}, wishes=("Also the mean.",), earlier=Earlier.of(first))
    assert refined.asked == [] and begun(refined)[0][1] == (
        "version 1 is pinned, so it is not refined (Also the mean.): %autocode versions growth pin --off unpins it"
    )
    failed = await runner.generate({}, samples={"sales": MORE})
    assert not failed.report.success and failed.asked == [] and "too long" in (failed.report.error or "")


async def test_constraints_that_a_model_read_are_not_asked_about_again(runner: Runner) -> None:
    read = {"constraints": [{"number": 1, "table": "total", "column": "", "kind": "none"}]}
    sentence = ("every sale is counted in some way",)
    await runner.generate({**SCRIPT, "constraints": [json.dumps(read)]}, constraints=sentence)
    again = await runner.generate({}, samples={"sales": MORE}, constraints=sentence)
    assert again.asked == [] and again.report.kept


async def test_the_condition_that_somebody_elses_record_tests_for_a_constraint_is_shown(
    runner: Runner,
) -> None:
    plan = json.loads(PLAN)
    plan["outputs"] = [{"name": "table", "type": "DataFrame", "columns": [{"name": "price", "dtype": "float64"}]}]
    code = (
        "import pandas as pd\n\n\ndef run(sales: pd.DataFrame) -> pd.DataFrame:\n"
        "    return pd.DataFrame({'price': sales['price']})"
    )
    tests = (
        "import pandas as pd\nfrom solution import run\n\n\ndef test_rows():\n    '''One row per sale.'''\n"
        "    sales = pd.DataFrame({'price': [1.0], 'quantity': [1]})\n    assert len(run(sales=sales)) == 1\n"
    )
    read = {"number": 1, "table": "table", "column": "price", "kind": "at_most", "value": 15.0}
    sentence = "nothing is dearer than a coffee with cake"
    asked: dict[str, Any] = {"outputs": (OutputSpec(name="table", type="DataFrame"),), "constraints": (sentence,)}
    script = {"plan": [json.dumps(plan)], "code": [fenced(code)], "tests": [fenced(tests)]}
    script["constraints"] = [json.dumps({"constraints": [read]})]
    first = await runner.generate(script, samples={"sales": sales().head(1)}, **asked)
    [journal] = runner.root.rglob("journal.jsonl")
    journal.write_text(journal.read_text().replace("15.0", "1e9"))
    again = await runner.generate({}, samples={"sales": sales()}, **asked)
    assert again.asked == [] and again.report.success
    for produced, bound in ((first, "15.0"), (again, "1000000000.0")):
        [held] = [check for check in produced.report.evidence.checks if check.name == sentence]
        assert held.message == f"A model translated it. Tested: column 'price' of table is at most {bound}."
        assert held.message in repr(checks([held]))


async def test_two_kernels_on_the_same_request_pay_once(runner: Runner) -> None:
    first, second = await asyncio.gather(runner.generate(SCRIPT), runner.generate(SCRIPT))
    assert first.report.success and second.report.success
    assert sorted(first.asked + second.asked) == ["code", "tests"]
    assert sorted((first.report.kept or "", second.report.kept or "")) == ["", "3 rows"]
    told = [event.words for produced in (first, second) for event in produced.of(WaitsForRun)]
    own = "Your earlier run of this request has not ended yet. This one waits for that, and uses what it recorded."
    assert told == [own, ""], "it is no other kernel, and is not said for longer than the wait"


async def test_a_restored_version_counts_for_the_wording_of_the_newest_one_too(runner: Runner, keep: Keep) -> None:
    first = keep(CODE)
    other: dict[str, Any] = {"prompt": "Revenue of @sales in all."}
    await runner.generate(SCRIPT, **other)
    versions = Versions(runner.root, "growth")
    versions.restore(versions.all()[0])
    back = await runner.generate({}, **other)
    assert back.asked == [] and back.report.run_id == first.run_id
    assert begun(back) == [(first.run_id, "version 1 was restored", True)]


def test_what_it_was_verified_on_names_each_sample(tmp_path: Any) -> None:
    frame = pd.DataFrame({"a": range(5061)})
    assert verified_on({"sales": frame}) == "5,061 rows"
    assert verified_on({"sales": frame[:1], "b": frame}) == "1 row of sales and 5,061 rows of b"
    assert verified_on({"log": File("log.txt"), "b": frame[:2]}) == "2 rows of b and log"
    assert verified_on({}) == "its own tests"


def test_a_damaged_version_is_passed_over(tmp_path: Any) -> None:
    home = tmp_path / ".autocode" / "growth" / "abc"
    home.mkdir(parents=True)
    report = Report(name="growth", run_id="abc", prompt="p", success=True, solution=CodeSolution(code="<<<<<<< HEAD"))
    (home / "report.json").write_text(report.model_copy(update={"request_key": "abc"}).model_dump_json())
    assert Versions(tmp_path / ".autocode", "growth").chosen("abc") is None
