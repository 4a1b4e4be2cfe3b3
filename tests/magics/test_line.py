from __future__ import annotations

import datetime as dt
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.agent.agent import load
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.errors import Cancelled, InvalidRequest
from autocoder_jupyter.magics.doctor import DoctorRow
from autocoder_jupyter.magics.line import SUBCOMMANDS
from autocoder_jupyter.run.events import PriceAsked, StageStarted, TurnBegun
from autocoder_jupyter.types import (
    Attempt,
    CodeSolution,
    Evidence,
    OutputSpec,
    PlanQuestion,
    Report,
    Step,
    TestOutcome,
    Usage,
)
from autocoder_jupyter.versions.request_lock import lock_of

CELL = "%%autocode growth\nWords"

QUESTIONS = (
    PlanQuestion(text="Which date counts?", options=("order_date", "ship_date"), assumed="order_date"),
    PlanQuestion(text="And gaps?", options=("zero", "left out")),
)


def record(root: Path, run_id: str, code: str, **fields: Any) -> None:
    journal = Journal(root / ".autocode", "growth")
    journal.begin(run_id)
    journal.write_request({"prompt": "Words"}, {"text": f"sent in {run_id}"})
    started = dt.datetime(2026, 1, int(run_id[-1]), 12)
    values: dict[str, Any] = {"success": True, "solution": CodeSolution(code=code), "started": started, **fields}
    journal.write_report(Report(name="growth", run_id=run_id, prompt="Words", **values))


@pytest.fixture
def started(shell: Any) -> None:
    shell.run(CELL)


def test_every_subcommand_has_its_function() -> None:
    import importlib

    for name, command in SUBCOMMANDS.items():
        assert callable(getattr(importlib.import_module(f"autocoder_jupyter.magics.line.{command.module}"), name))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("stauts", "Did you mean status?", id="unknown subcommand"),
        pytest.param("show", "Write %autocode show NAME", id="too few words"),
        pytest.param("insert a b", "Write %autocode insert NAME", id="too many words"),
        pytest.param("show growth --cod", "Did you mean --code?", id="unknown flag"),
        pytest.param("show growth --code --tests", "cannot be used together", id="two parts"),
        pytest.param("show grwth", "Did you mean growth?", id="unknown result"),
        pytest.param("wait grwth", "Did you mean growth?", id="unknown job"),
        pytest.param("cancel", "cancel NAME, or %autocode cancel --all", id="cancel nothing"),
        pytest.param("cancel growth --all", "cancel NAME, or %autocode cancel --all", id="cancel both"),
        pytest.param("reply growth yes a", "is not waiting for approval", id="allow nothing"),
        pytest.param("reply growth no", "is not waiting for approval", id="refuse nothing"),
        pytest.param("reply growth maybe", "An answer begins with yes or no or use", id="no answer"),
        pytest.param("retry nothing", "There is no job named 'nothing'", id="retry what never ran"),
        pytest.param("insert growth", "not done yet", id="insert too early"),
        pytest.param("diff growth", "not done yet", id="diff too early"),
        pytest.param("diff growth 1", "A diff needs two versions", id="diff of one"),
        pytest.param("show growth --sent", "has nothing that growth sent", id="preview without a journal"),
        pytest.param("history nothing", "There is no result named", id="history of nothing"),
        pytest.param("cache purge", "Write %autocode cache prune", id="another word for prune"),
        pytest.param("cache --all", "Write %autocode cache prune", id="what to remove, and not that"),
        pytest.param('show "gro', "is not closed", id="open quote"),
    ],
)
@pytest.mark.usefixtures("started")
def test_a_wrong_line_says_what_to_write(line: str, message: str, shell: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        shell.run(f"%autocode {line}")
    assert message in str(caught.value)


def test_an_answer_that_was_interrupted_is_in_the_table(shell: Any) -> None:
    run = Path(".autocode/rates/tools-0123456789ab")
    run.mkdir(parents=True)
    (run / "conversation.jsonl").write_text("{}\n")
    shell.run("%autocode status")
    assert "rates" in shell.shown and "interrupted" in shell.shown and "run its cell again" in shell.shown


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("interrupted", "Its last run was interrupted"),
        ("failed", "Its last run failed. two tests"),
        ("answer", "no answers of --mode tools"),
    ],
)
def test_a_name_without_a_finished_function_is_not_loaded_and_it_says_why(shell: Any, made: str, why: str) -> None:
    if made == "failed":
        record(Path.cwd(), "run-1", "", success=False, error="two tests fail")
    elif made == "interrupted":
        journal = Journal(Path.cwd() / ".autocode", "growth")
        journal.begin("run-1")
        journal.write_request({"prompt": "Words"}, {"text": ""})
    else:
        Path(".autocode/growth/tools-0123456789ab").mkdir(parents=True)
    with pytest.raises(InvalidRequest, match=r"No finished function of growth is recorded in .*\.autocode") as refused:
        load("growth")
    assert why in refused.value.why and "Run its cell" in refused.value.hint


@pytest.mark.parametrize("line", [CELL, "%autocode status", "%autocode history growth", "load"])
def test_a_working_folder_that_is_gone_is_named_with_what_to_do(
    shell: Any, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InvalidRequest, match="folder in which this kernel works is gone") as refused:
        load("growth") if line == "load" else shell.run(line)
    assert "%cd PATH" in refused.value.hint


@pytest.mark.parametrize("line", ["%autocode", "%autocode status"])
def test_status_lists_jobs_and_what_they_do(line: str, shell: Any, jobs: Any) -> None:
    shell.run(CELL)
    jobs.last.tell(StageStarted("tests", 2, 4))
    shell.run(line)
    assert "growth  running  Writing code and tests · 00:00 · attempt 2 of 4" in shell.shown


def test_status_has_the_words_of_the_card_at_the_end(shell: Any, jobs: Any) -> None:
    shell.run(CELL)
    jobs.last.tell(PriceAsked())
    jobs.last.end("failed", InvalidRequest("The price is not known."))
    shell.run("%autocode status")
    assert "growth  what does it cost?  " in shell.shown


def test_status_names_the_backend_where_it_is_not_the_usual_one(shell: Any, jobs: Any) -> None:
    shell.run("%%autocode other --backend claude\nWords")
    jobs.last.tell(StageStarted("code", 1, 3))
    jobs.last.tell(TurnBegun(4, 50))
    shell.run("%autocode status")
    assert "Writing code and tests · 00:00 · backend: claude · turn 4 of 50" in shell.shown
    shell.run("%autocode retry other")
    assert jobs.last.config.backend == "claude"


def test_status_of_nothing_says_so(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run("%autocode status")
    assert "No jobs yet" in capsys.readouterr().out


@pytest.mark.usefixtures("started")
def test_cancel_ends_one_and_says_when_it_is_over(shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run("%autocode cancel growth")
    shell.run("%autocode cancel growth")
    assert jobs.last.asked == ["cancel"]
    assert "has ended already (cancelled)" in capsys.readouterr().out


def test_cancel_all_ends_what_runs(shell: Any, jobs: Any) -> None:
    shell.run(CELL)
    shell.run("%%autocode other\nWords")
    jobs.submitted[0].end()
    shell.run("%autocode cancel --all")
    assert [job.asked for job in jobs.submitted] == [[], ["cancel"]]


def test_wait_waits_and_raises_how_it_ended(shell: Any, jobs: Any) -> None:
    shell.run(CELL)
    threading.Timer(0.1, jobs.last.end, ("cancelled", Cancelled("growth was cancelled."))).start()
    with pytest.raises(Cancelled):
        shell.run("%autocode wait growth")


@pytest.mark.usefixtures("started")
def test_retry_asks_anew_for_the_same(shell: Any, jobs: Any) -> None:
    shell.run("%autocode retry growth")
    first, second = jobs.submitted
    assert second.request is first.request
    assert (first.config.cache, second.config.cache) == ("auto", "override")
    assert shell.user_ns["growth"] is second.result


@pytest.mark.parametrize(
    ("line", "asked"),
    [("reply growth yes a b", "approve"), ("reply growth yes b, a", "approve"), ("reply growth no", "decline")],
)
@pytest.mark.usefixtures("started")
def test_a_person_decides_about_packages(line: str, asked: str, shell: Any, jobs: Any) -> None:
    jobs.last.ask("a", "b")
    shell.run(f"%autocode {line}")
    assert jobs.last.asked == [asked]


@pytest.mark.usefixtures("started")
def test_a_yes_names_exactly_the_packages_that_are_shown(
    shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.last.ask("a", "b")
    for words, complaint in (("yes a", "not for a"), ("yes a b c", "not for a, b, c"), ("yes", "a yes names what")):
        with pytest.raises(
            InvalidRequest, match=rf"waits for a, b, .*{complaint}[\s\S]*%autocode reply growth yes a b"
        ):
            shell.run(f"%autocode reply growth {words}")
    for line in ("yes a b --always", "no --always", "no a"):
        with pytest.raises(InvalidRequest, match=r"--always is for a yes|A no takes no further words"):
            shell.run(f"%autocode reply growth {line}")
    assert jobs.last.asked == []
    shell.run("%autocode reply growth")
    assert "May it install a, b? Write %autocode reply growth yes a b, or no." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "asked", "now"),
    [
        ("approve growth", ["approve"], "reply NAME yes …"),
        ("approve growth b, a", ["approve"], "reply NAME yes …"),
        ("decline growth", ["decline"], "reply NAME no"),
        ('answer growth 2 "as the books do"', [("ship_date", "as the books do")], "reply NAME …"),
    ],
)
@pytest.mark.usefixtures("started")
def test_former_answers_are_given_and_hint_once(
    line: str, asked: list[Any], now: str, shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    if "answer" in line:
        jobs.last.pending_questions = QUESTIONS
    else:
        jobs.last.ask("a", "b")
    shell.run(f"%autocode {line}")
    shell.run(f"%autocode {line}")
    assert jobs.last.asked == asked * 2
    assert capsys.readouterr().out.count(f"%autocode {line.split()[0]} is now %autocode {now}.") == 1


@pytest.mark.parametrize(
    ("line", "now", "shown"),
    [
        ("preview growth", "show NAME --sent", "sent in aaaa1"),
        ("doctor", "setup check", "python"),
        ("config", "setup settings", "second_model"),
    ],
)
def test_former_lines_show_what_they_showed_and_hint_once(
    line: str, now: str, shown: str, shell: Any, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(here, "aaaa1", "x = 1\n")
    shell.run(f"%autocode {line}")
    shell.run(f"%autocode {line}")
    assert shown in shell.shown.casefold()
    said = f"%autocode {line.split()[0]} is now %autocode {now}. The old spelling works for one more release."
    assert capsys.readouterr().out.count(said) == 1


def test_setup_has_no_other_part(shell: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"%autocode setup has no 'chek'[\s\S]*Did you mean check"):
        shell.run("%autocode setup chek")


@pytest.mark.usefixtures("started")
def test_show_of_a_pending_result_does_not_wait(shell: Any) -> None:
    shell.run("%autocode show growth")
    assert "growth is running" in shell.shown


@pytest.mark.parametrize(
    ("flag", "seen", "unseen"),
    [
        pytest.param("", "SECRET_SOURCE", "no such word", id="all"),
        pytest.param("--code", "SECRET_SOURCE", "test_adds", id="code"),
        pytest.param("--tests", "test_adds", "SECRET_SOURCE", id="tests"),
        pytest.param("--report", "adds up", "SECRET_SOURCE", id="report"),
    ],
)
@pytest.mark.usefixtures("started")
def test_show_shows_the_part_that_is_asked_for(flag: str, seen: str, unseen: str, shell: Any, jobs: Any) -> None:
    outcome = TestOutcome(id="test_adds", outcome="passed", sentence="adds up")
    jobs.last.end(
        solution=CodeSolution(code="SECRET_SOURCE = 1"),
        tests="def test_adds(): ...",
        evidence=Evidence(tests=(outcome,)),
        declared_outputs=(OutputSpec(name="m", type="int"),),
    )
    notebook = shell.magics_manager.registry["AutocodeMagics"].notebook
    assert notebook.launched["growth"].card.wait(60)  # the last update of the card comes from a thread of its own
    before = len(shell.display_pub.outputs)
    shell.run(f"%autocode show growth {flag}")
    page = shell.display_pub.outputs[before]["data"]
    assert seen in page["text/html"] and seen in page["text/plain"]
    assert unseen not in page["text/html"] and unseen not in page["text/plain"]


@pytest.mark.usefixtures("started")
def test_a_result_as_the_last_expression_is_its_page(shell: Any, jobs: Any) -> None:
    assert shell.display_formatter.format(jobs.last.result) == ({}, {})
    assert "growth is running" in shell.shown
    jobs.last.end()
    formats, _ = shell.display_formatter.format(jobs.last.result)
    assert "growth.run()" in formats["text/html"]
    assert formats["text/plain"].startswith("<autocode growth ready")


@pytest.mark.usefixtures("started")
def test_diff_compares_the_attempts_of_the_only_version(shell: Any, jobs: Any) -> None:
    history = tuple(Attempt(number=n, code=f"x = {n}\n", tests="", evidence=Evidence()) for n in (1, 2, 3))
    jobs.last.end(history=history)
    shell.run("%autocode diff growth")
    shell.run("%autocode diff growth 1.1 1.3")
    assert "-x = 2\n+x = 3" in shell.shown.replace("\\n", "\n")
    assert "-x = 1\n+x = 3" in shell.shown.replace("\\n", "\n")
    with pytest.raises(InvalidRequest, match="There is no version '9' of growth with code"):
        shell.run("%autocode diff growth 1 9")
    with pytest.raises(InvalidRequest, match="the same version"):
        shell.run("%autocode diff growth 1 1")


def test_the_journal_alone_serves_show_diff_history_and_preview(shell: Any, here: Path) -> None:
    record(here, "aaaa1", "x = 1\n", usage=Usage(input_tokens=1200, output_tokens=30, cost=None))
    record(here, "bbbb2", "x = 2\n", success=False, error="1 test failed")
    for line in ("show growth", "diff growth", "diff growth 2 aaaa", "history growth", "show growth --sent"):
        shell.run(f"%autocode {line}")
    shown = shell.shown.replace("\\n", "\n")
    assert "-x = 1\n+x = 2" in shown and "-x = 2\n+x = 1" in shown
    assert "aaaa1  2026-01-01 " in shown and "ready" in shown and "1.2K tokens in, 30 out · cost unknown" in shown
    assert "bbbb2  2026-01-02 " in shown and "failed" in shown and "1 test failed" in shown
    assert "sent in bbbb2" in shown


def test_a_result_from_the_journal_cannot_be_exported(shell: Any, here: Path) -> None:
    record(here, "aaaa1", "x = 1\n")
    with pytest.raises(InvalidRequest, match="only in the journal"):
        shell.run("%autocode export growth growth.py")


@pytest.mark.usefixtures("started")
def test_a_plain_export_is_the_function_alone(shell: Any, jobs: Any, here: Path) -> None:
    jobs.last.end(
        solution=CodeSolution(code="import math\n\n\ndef run():\n    return math.pi\n"), tests="def test_a(): ..."
    )
    shell.run("%autocode export growth growth.py --plain")
    _, _, code = (here / "growth.py").read_text().partition("\n\n")
    assert code == "import math\n\n\ndef growth():\n    return math.pi\n" and not list(here.glob("test_*"))
    with pytest.raises(InvalidRequest, match="--plain and --package cannot be used together"):
        shell.run("%autocode export growth growth --plain --package")
    with pytest.raises(InvalidRequest, match="A plain export has no tests"):
        jobs.last.result.export("growth.py", kind="plain", tests=True)


@pytest.mark.usefixtures("started")
def test_diff_of_one_version_says_so(shell: Any, jobs: Any) -> None:
    jobs.last.end()
    with pytest.raises(InvalidRequest, match="only one version"):
        shell.run("%autocode diff growth")


@pytest.mark.usefixtures("started")
def test_insert_offers_the_code_as_the_next_cell(shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    offered: list[str] = []
    monkeypatch.setattr(shell, "set_next_input", lambda text, replace: offered.append(text))
    jobs.last.end()
    shell.run("%autocode insert growth")
    assert offered == ["def growth():\n    return 'growth'\n"]


def test_config_shows_values_origins_and_refusals(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCODE_MAX_COST", "0.5")
    shell.run("%config Autocode.share = 'stats'")
    shell.run("%config Autocode.sandbox = 'dokcer'")
    shell.run("%config Autocode.env_vars = {'TOKEN': 'hunter2'}")
    shell.run("%autocode setup settings")
    text = " ".join(shell.display_pub.outputs[-1]["data"]["text/plain"].split())
    assert "share stats %config" in text
    assert "max_cost 0.5 environment" in text
    assert "sandbox auto default refused: Autocode.sandbox must be one of" in text and "not 'dokcer'" in text
    assert "TOKEN" in text and "hunter2" not in text


def test_doctor_goes_on_when_a_part_cannot_be_examined(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from autocoder_jupyter.magics import doctor

    def broken(settings: Any) -> Any:
        raise OSError("engine gone")

    monkeypatch.setattr(doctor, "_sandboxes", broken)
    monkeypatch.setattr(doctor, "_model", lambda settings: [DoctorRow("model", "m/x", "set by default")])
    shell.run("%autocode setup check")
    text = shell.display_pub.outputs[-1]["data"]["text/plain"]
    assert re.search("could not be checked +OSError: engine gone", text)
    assert "m/x" in text and "ipython" in text and "MB" in text


def test_no_table_of_a_line_makes_a_formula_of_two_prices(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from autocoder_jupyter.magics import doctor

    monkeypatch.setattr(doctor, "examine", lambda settings: [DoctorRow("price", "$3 in, $15 out")])
    monkeypatch.setattr("autocoder_jupyter.magics.line.information.examine", doctor.examine)
    shell.run("%autocode setup check")
    assert '<table class="mathjax_ignore' in shell.display_pub.outputs[-1]["data"]["text/html"]


def test_preview_shows_the_text_itself_with_its_lines(shell: Any, here: Path) -> None:
    record(here, "aaaa1", "x = 1\n")
    sent = {"share": "rows", "text": "first line\nsecond line", "characters": 22, "masked": {}}
    sent["requests"] = [{"stage": "plan", "body": {"messages": ["in full"]}}]
    (here / ".autocode" / "growth" / "versions" / "aaaa1" / "sent.json").write_text(json.dumps(sent))
    shell.run("%autocode show growth --sent")
    text = shell.display_pub.outputs[-1]["data"]["text/plain"]
    assert text == "share: rows · characters: 22 · masked: nothing · requests: 1\n\nfirst line\nsecond line"


def test_config_shows_the_limits_of_the_sandbox(shell: Any) -> None:
    shell.run("%config Autocode.memory = '4Gi'")
    shell.run("%autocode setup settings")
    text = shell.display_pub.outputs[-1]["data"]["text/plain"]
    assert ["memory", "4Gi", "%config"] in [line.split()[:3] for line in text.splitlines()]


@pytest.fixture
def stored(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with an environment, a result and runs; no Docker engine."""
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    environment = tmp_path / "cache" / "environments" / "0a1b2c3d4e5f"
    environment.mkdir(parents=True)
    (environment / "data.bin").write_bytes(b"x" * 2_000_000)
    lock = ["numpy==2.0", "scikit-learn==1.5"]
    (environment / "autocode.json").write_text(json.dumps({"lock": lock}))
    outcome = tmp_path / "cache" / "outcomes" / "ff"
    outcome.mkdir(parents=True)
    (outcome / "0.bin").write_bytes(b"x" * 3_000_000)
    record(tmp_path, "run-1", "a = 1")
    record(tmp_path, "run-2", "a = 2", success=False, error="it failed")
    return tmp_path


def test_the_cache_is_shown_with_sizes_and_age(shell: Any, stored: Path) -> None:
    shell.run("%autocode cache")
    assert "1 environment" in shell.shown and "2 MB" in shell.shown and "scikit-learn" in shell.shown
    assert "1 outcome" in shell.shown and "3 MB" in shell.shown
    assert "2 runs of growth" in shell.shown and "today" in shell.shown
    assert "at most 10.7 GB (AUTOCODE_CACHE_SIZE)" in shell.shown


def test_pruning_keeps_what_is_new_and_every_function(
    shell: Any, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run("%autocode cache prune")
    assert "Environments: 0 MB freed, 1 left." in capsys.readouterr().out
    shell.run("%autocode cache prune --all --runs")
    said = capsys.readouterr().out
    assert "Environments: 2 MB freed, 0 left." in said and "Outcomes of calls: 3 MB freed." in said
    assert "Failed runs: 1 run removed." in said
    assert (stored / ".autocode" / "growth" / "versions" / "run-1").exists()
    assert not (stored / ".autocode" / "growth" / "versions" / "run-2").exists()


def test_pruning_removes_the_lock_files_of_requests(shell: Any, stored: Path) -> None:
    lock = lock_of(stored / "cache", stored / ".autocode", "growth", "key")
    lock.parent.mkdir()
    lock.touch()
    shell.run("%autocode cache prune")
    assert lock.exists()
    shell.run("%autocode cache prune --all")
    assert not lock.exists()


def test_the_timeline_of_a_result_is_shown_and_one_without_times_says_why(shell: Any, jobs: Any) -> None:
    shell.run(CELL)
    jobs.last.end(seconds=4.0, timeline=(Step(kind="model", name="plan", begin=0.0, seconds=2.0),))
    shell.run("%autocode show growth --timeline")
    assert "growth: 4.0 s; 1 question to the model 2.0 s" in shell.shown
    shell.run(CELL)
    jobs.last.end()
    with pytest.raises(InvalidRequest, match="The durations of the steps of growth were not recorded"):
        shell.run("%autocode show growth --timeline")
