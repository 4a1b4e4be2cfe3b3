from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autocoder_jupyter import engine, magics
from autocoder_jupyter.errors import AuthenticationFailed, GenerationFailed, InvalidRequest, PriceUnknown, UnknownModel
from autocoder_jupyter.magics import cell
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.magics.line import SUBCOMMANDS
from autocoder_jupyter.magics.options import OPTIONS
from autocoder_jupyter.run.events import SourceWritten, StageStarted, ToolCalled, ToolEnded, TurnBegun
from autocoder_jupyter.settings.choices import SandboxMinimum
from autocoder_jupyter.settings.setting import Option
from autocoder_jupyter.types import Resources
from tests.interrupts import interrupt_in

CELL = "%%autocode growth\nMonthly revenue of @sales; {x} $y me@example.org"
FRAME = "import pandas as pd; sales = pd.DataFrame({'a': [1, 2]})"


@pytest.fixture
def sales(shell: Any) -> None:
    shell.run(FRAME)


@pytest.mark.usefixtures("sales")
def test_the_name_is_bound_at_once_to_the_pending_result(shell: Any, jobs: Any) -> None:
    assert shell.run(CELL) is None
    assert shell.user_ns["growth"] is jobs.last.result
    assert not jobs.last.done


@pytest.mark.usefixtures("sales")
def test_the_request_is_what_the_cell_says(shell: Any, jobs: Any) -> None:
    shell.run(
        '%%autocode growth -o m:DataFrame -i "n: int = 5" -c "never negative"\n'
        '--check "n > 0" --schema EUR -m x/y -p a\n'
        "Monthly revenue of @sales; {x} $y me@example.org"
    )
    request, config = jobs.last.request, jobs.last.config
    assert request.prompt == "Monthly revenue of @sales; {x} $y me@example.org"
    assert list(request.samples) == ["sales"]
    assert [spec.name for spec in (*request.inputs, *request.outputs)] == ["n", "m"]
    assert (request.constraints, request.checks, request.schema) == (("never negative",), ("n > 0",), "EUR")
    assert (config.model, config.approved_packages) == ("x/y", ("a",))


@pytest.mark.usefixtures("sales")
def test_a_card_is_shown_with_an_id_to_update_it_by(shell: Any) -> None:
    shell.run(CELL)
    card = shell.display_pub.outputs[0]
    assert "text/html" in card["data"]
    assert card["transient"]["display_id"]


def test_another_variable_is_not_shadowed(shell: Any, jobs: Any) -> None:
    shell.run("growth = 1")
    with pytest.raises(InvalidRequest, match="already a variable"):
        shell.run("%%autocode growth\nWords")
    assert jobs.submitted == []
    shell.run("%%autocode growth --replace\nWords")
    shell.run("%%autocode growth\nOther words")
    assert len(jobs.submitted) == 2


def test_an_error_is_two_lines_and_fails_the_cell(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = shell.run_cell("%%autocode growth --moddel x\nWords")
    printed = capsys.readouterr().out
    assert not result.success
    assert "InvalidRequest: There is no option --moddel." in printed
    assert "Did you mean --model?" in printed
    assert "Traceback" not in printed


KEY = f"sk-ant-api03-{'Zq9' * 20}"


@pytest.mark.usefixtures("sales")
@pytest.mark.parametrize(
    "cell",
    [
        *(
            f"%%autocode growth {options}\nTotal of @sales"
            for options in (
                "-o KEY", "-o 'x: KEY'", "-o 'KEY: int'", "-i KEY", "-i 'x: int = KEY'", "--hide KEY", "--mask KEY",
                "--contract KEY", "--contract x=@KEY", "--example KEY", "--example 'x=@KEY -> 1'", "-s KEY", "-s x=KEY",
                "--KEY", "KEY", "--packages-from KEY", "--refine KEY", "--mode tools --continue KEY",
                "--mode tools --tool x=KEY", "--mode tools --tool KEY.x", "-m KEY", "--share KEY", "--max-cost KEY",
            )
        ),
        *(f"%autocode {line} KEY" for line in ("show", "approve", "insert", "", "models", "config")),
        "%%autocode_test KEY\ndef test_it(): pass",
    ],
)  # fmt: skip
def test_a_key_in_any_option_is_not_repeated(cell: str, shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(cell.replace("KEY", KEY))
    assert KEY not in capsys.readouterr().out + str(shell.shown)


def test_a_key_in_a_setting_is_not_in_the_list_of_settings(shell: Any) -> None:
    shell.run(f"%config Autocode.packages = ['{KEY}']")
    shell.run("%autocode setup settings")
    assert "packages" in shell.shown and KEY not in shell.shown


@pytest.mark.parametrize(
    "cell",
    [
        "%%autocode -h",
        "%%autocode --help\n",
        "%autocode help",
        "%autocode -h",
        "%autocode ?",
        "%autocode?",
        "%%autocode?",
    ],
)
def test_the_help_has_the_options_that_people_use_and_says_how_to_see_the_rest(
    cell: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run(cell)
    shown = capsys.readouterr().out
    options = re.findall(r"^  (?:-\w, )?(--?[\w-]+)", shown, re.MULTILINE)
    assert options == [
        *("--output", "--constraint", "--check", "--example", "--model"),
        *("--max-cost", "--share", "--hide", "--dry-run", "--package"),
    ]
    assert "%autocode -h all" in shown and len(shown.split()) < 210


@pytest.mark.parametrize(
    "cell", ["%%autocode -h all", "%autocode -h all", "%autocode help all", "%autocode help more", "%%autocode -h more"]
)
def test_all_of_the_help_is_one_word_away(cell: str, shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run(cell)
    shown = capsys.readouterr().out
    for option in (option for option in OPTIONS if option.flags):
        said = [bool(re.search(rf"^  (?:-\w, )?{flag}\b(?!-)", shown, re.MULTILINE)) for flag in option.flags]
        assert said == [option.is_current] * len(said), option.name
    assert all(f"\n  {name}" in shown for name in SUBCOMMANDS)
    assert "\nCode mode\n  --mode" in shown and "\n  second_model " in shown


@pytest.mark.parametrize(
    ("written", "setting", "value", "now"),
    [
        ("--skip-tests", "skip_tests", True, "--effort none"),
        ("--second-opinion off", "second_opinion", "off", ""),
        ("--cache override", "cache", "override", "--refresh"),
        ("--cache disable", "cache", "disable", ""),
        ("--sandbox local", "sandbox", "local", ""),
        ("--sandbox-minimum full", "sandbox_minimum", SandboxMinimum("full"), ""),
        ("--cpu 2", "resources", Resources(cpu=2), ""),
        ("--drift off", "drift", "off", ""),
        ("--packages-from pylock.toml", "packages_from", "pylock.toml", ""),
        ("--blind-tests off", "blind_tests", "off", ""),
    ],
)
def test_a_former_spelling_is_used_and_hints_once(
    written: str, setting: str, value: object, now: str, shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        shell.run(f"%%autocode growth {written}\nWords")
        assert getattr(jobs.last.config, setting) == value
    printed = capsys.readouterr().out
    assert printed.count(f"{written} is now {now or 'the setting %config Autocode.'}") == 1
    assert printed.count("The old spelling works for one more release.") == 1


@pytest.mark.parametrize(
    "option", [option for option in OPTIONS if option.instead is not None], ids=lambda option: option.name
)
def test_the_setting_that_a_hint_names_is_the_one_of_the_flag(option: Option, shell: Any) -> None:
    (flag,) = option.flags
    hints = parse_cell(f"growth {flag} {option.example}", "Words").hints
    if (setting := re.search(r"%config .*(?=\. The old)", hints[0])) is not None:
        shell.run(setting[0])
        traits = shell.magics_manager.registry["AutocodeMagics"].notebook.traits
        assert getattr(traits, option.name) == option.from_text(option.example)
    else:
        assert "--refresh" in hints[0] or "--effort none" in hints[0]


def test_the_effort_of_a_cell_says_whether_there_are_tests(shell: Any, jobs: Any) -> None:
    shell.run("%config Autocode.skip_tests = True")
    shell.run("%%autocode growth\nWords")
    assert jobs.last.config.skip_tests
    shell.run("%%autocode growth --effort normal\nWords")
    assert not jobs.last.config.skip_tests and jobs.last.config.effort == "normal"
    shell.run("%config Autocode.second_opinion = 'on'")
    shell.run("%%autocode growth --effort none\nWords")
    assert jobs.last.config.skip_tests and jobs.last.config.wants_second_opinion


def test_a_cell_without_a_body_gets_our_own_words(shell: Any) -> None:
    with pytest.raises(InvalidRequest, match="has no request"):
        shell.run("%%autocode growth")


@pytest.mark.usefixtures("sales")
def test_a_dry_run_shows_what_would_be_sent_and_binds_nothing(
    shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "preview", lambda request, config: f"<b>{request.name}</b>", raising=False)
    shell.run("%%autocode growth --dry-run\nWords")
    assert "&lt;b&gt;growth" in shell.shown
    assert jobs.submitted == []
    assert "growth" not in shell.user_ns


@pytest.mark.usefixtures("sales")
def test_a_dry_run_refuses_what_a_run_would_refuse_before_it_asks(
    shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "preview", lambda request, config: "what is sent", raising=False)
    monkeypatch.delitem(sys.modules, "litellm", raising=False)  # which would know more
    with pytest.raises(UnknownModel, match="There is no model 'anthropc/claude-sonet-4'"):
        shell.run("%%autocode growth --dry-run -m anthropc/claude-sonet-4\nTotal of @sales.")
    with pytest.raises(PriceUnknown, match="max_cost cannot be kept"):
        shell.run("%%autocode growth --dry-run -m openai/of-our-own --max-cost 1\nTotal of @sales.")
    assert "what is sent" not in shell.shown and jobs.submitted == []
    shell.run("%%autocode growth --dry-run -m openai/of-our-own\nTotal of @sales.")
    assert "Nothing was sent." in shell.shown


@pytest.mark.usefixtures("sales")
def test_a_forgotten_at_sign_is_said_with_the_card_and_with_a_dry_run(
    shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = "sales is a DataFrame of the notebook, and the request does not pass it. Write @sales to pass it."
    monkeypatch.setattr("builtins.input", lambda prompt: "without")
    shell.run("%%autocode growth\nGrowth of sales")
    assert hint in shell.shown and jobs.last.request.samples == {}
    monkeypatch.setattr(engine, "preview", lambda request, config: "…", raising=False)
    shell.run("%%autocode other --dry-run\nGrowth of sales")
    assert shell.shown.count(hint) >= 2 and len(jobs.submitted) == 1


@pytest.mark.parametrize("option", ["--agent-max-turns 20", "--blind-tests off"])
def test_an_option_of_the_other_backend_is_said_to_have_no_effect(
    option: str, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f"{option.split()[0]} has no effect here: it is only for --backend claude."
    shell.run(f"%%autocode growth {option}\nWords")
    assert said in shell.shown
    monkeypatch.setattr(engine, "preview", lambda request, config: "…", raising=False)
    shell.run(f"%%autocode other --dry-run {option}\nWords")
    assert shell.shown.count(said) >= 2


@pytest.mark.parametrize(
    ("typed", "status"),
    [
        ("%%autocode growth", "incomplete"),
        ("%%autocode growth\n-o 'total: float'", "incomplete"),
        ("%%autocode growth\nThe total\nof @sales.", "incomplete"),
        ("%%autocode growth\nThe total of @sales.\n\n", "complete"),
        ("%%autocode -h\n\n", "complete"),
        ("%autocode status", "complete"),
    ],
)
def test_a_cell_that_is_typed_goes_on_until_an_empty_line(typed: str, status: str, shell: Any) -> None:
    assert shell.input_transformer_manager.check_complete(typed)[0] == status


def test_a_table_without_rows_is_said(shell: Any, jobs: Any) -> None:
    sentence = "none has no rows, so the function is not tried on any row of yours."
    shell.run("import pandas as pd; some = pd.DataFrame({'x': [1]}); none = some.iloc[:0]")
    shell.run("%%autocode growth\nJoin @some and @none")
    assert sentence in shell.shown and "some has no rows" not in shell.shown and len(jobs.submitted) == 1


def test_a_headless_cell_waits(shell: Any, jobs: Any) -> None:
    shell.kernel._allow_stdin = False
    jobs.ending = lambda job: threading.Timer(0.1, job.end).start()
    shell.run("%%autocode growth -i x:int\nWords")
    assert jobs.last.done
    assert "Ready" in shell.shown


def test_a_headless_cell_does_not_wait_for_consent_that_nobody_can_give(shell: Any, jobs: Any) -> None:
    shell.kernel._allow_stdin = False
    jobs.ending = lambda job: (job.ask("emoji"), setattr(job, "decline", lambda: job.end("failed", error="declined")))
    with pytest.raises(GenerationFailed, match="declined"):
        shell.run("%%autocode growth -i x:int\nWords")


@pytest.mark.parametrize(("flag", "variable", "waited"), [("--wait", "", True), ("", "1", True), ("", "", False)])
def test_a_cell_waits_when_told_to(
    flag: str, variable: str, waited: bool, shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOCODE_WAIT", variable)
    jobs.ending = lambda job: threading.Timer(0.1, job.end).start() if waited else None
    shell.run(f"%%autocode growth {flag}\nWords")
    assert jobs.last.done == waited


def test_a_headless_cell_can_be_told_not_to_wait(shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.kernel._allow_stdin = False
    monkeypatch.setenv("AUTOCODE_WAIT", "0")
    shell.run("%%autocode growth -i x:int\nWords")
    assert not jobs.last.done


def test_a_failed_generation_fails_the_waiting_cell_and_keeps_the_result(shell: Any, jobs: Any) -> None:
    jobs.ending = lambda job: job.end("failed", error="2 tests failed")
    with pytest.raises(GenerationFailed, match="2 tests failed") as caught:
        shell.run("%%autocode growth --wait\nWords")
    assert caught.value.hint == "", "the run has written no code, so there is no attempt to look at"
    assert repr(shell.user_ns["growth"]) == "<autocode growth failed · 2 tests failed>"
    assert shell.user_ns["growth"].solution.code.startswith("def run")


def test_what_the_generation_raised_is_what_the_waiting_cell_raises(shell: Any, jobs: Any) -> None:
    jobs.ending = lambda job: job.end("failed", AuthenticationFailed("There is no key."))
    with pytest.raises(AuthenticationFailed):
        shell.run("%%autocode growth --wait\nWords")


NO_KEY = AuthenticationFailed("There is no key.", why="GEMINI_API_KEY is not set.", hint="Set it.")


@pytest.mark.parametrize(
    ("place", "has_code", "is_whole"),
    [
        ("notebook", False, False),
        ("headless", False, True),  # the log of such a run has the error only
        ("terminal", False, True),
        ("terminal", True, False),
    ],
)
def test_an_error_below_a_card_does_not_repeat_it(
    place: str, has_code: bool, is_whole: bool, shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.kernel = None if place == "terminal" else SimpleNamespace(_allow_stdin=place != "headless")

    def end(job: Any) -> None:
        if has_code:
            job.tell(SourceWritten("solution", 1, "def run(x): ..."))
        job.end("failed", NO_KEY, error=str(NO_KEY))

    jobs.ending = end
    with pytest.raises(AuthenticationFailed) as caught:
        shell.run("%%autocode growth --wait -i x:int\nWords")
    assert caught.value.why == NO_KEY.why, "scripts can read it all"
    whole = [f"AuthenticationFailed: {NO_KEY.what}", f"  {NO_KEY.why}", f"  {NO_KEY.hint}"]
    assert caught.value._render_traceback_() == (whole if is_whole else whole[:1])
    seen = [output["data"].get("text/html", "") for output in shell.display_pub.outputs] + [capsys.readouterr().out]
    assert "".join(seen).count(NO_KEY.why) == (2 if place == "headless" else 1)
    with pytest.raises(AuthenticationFailed) as caught:
        shell.run("growth.run(1)")
    assert caught.value._render_traceback_() == whole, "this cell has no card"


def test_a_first_interrupt_lets_the_job_go_on(
    shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocoder_jupyter.magics.cell.SECOND_CHANCE", 0.1)
    jobs.ending = lambda job: interrupt_in(cell._until_done)
    shell.run("%%autocode growth --wait\nWords")
    assert not jobs.last.done
    assert "%autocode cancel growth cancels it" in capsys.readouterr().out


def test_a_second_interrupt_cancels(shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocoder_jupyter.magics.cell.SECOND_CHANCE", 60.0)
    jobs.ending = lambda job: interrupt_in(cell._until_done, times=2)
    shell.run("%%autocode growth --wait\nWords")
    assert jobs.last.asked == ["cancel"]
    assert jobs.last.state == "cancelled"


def test_a_terminal_gets_lines_of_text_and_waits(shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.kernel = None

    def end(job: Any) -> None:
        job.tell(StageStarted("plan", 1, 3))
        threading.Timer(0.5, job.end).start()

    jobs.ending = end
    shell.run("%%autocode growth\nWords")
    printed = capsys.readouterr().out
    assert "growth  Planning · 00:00 · attempt 1 of 3" in printed
    assert "● growth  Ready" in printed
    assert shell.display_pub.outputs == []


def test_a_terminal_prints_each_tool_call_of_an_agent_once(
    shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.kernel = None

    def end(job: Any) -> None:
        job.tell(StageStarted("code", 1, 3))
        job.tell(TurnBegun(1, 50))
        job.tell(ToolCalled("1", 1, "Bash", "curl x.example", "denied", "no network"))
        job.tell(ToolEnded("1", "denied"))
        threading.Timer(0.5, lambda: job.tell(ToolCalled("2", 1, "Write", "solution.py", "safe"))).start()
        threading.Timer(0.7, lambda: job.tell(ToolEnded("2", "ok"))).start()
        threading.Timer(1.0, job.end).start()

    jobs.ending = end
    shell.run("%%autocode growth --backend claude\nWords")
    working, _, card = capsys.readouterr().out.partition("● growth  Ready")
    told = [line for line in working.splitlines() if line.startswith("  ")]
    assert told == ["  ⊘ denied  Bash curl x.example  no network", "  ✓ ok  Write solution.py  safe"]
    assert "denied" not in card


def test_unloading_takes_everything_out_and_cancels(shell: Any, jobs: Any) -> None:
    before = len(shell.configurables)
    shell.run("%%autocode growth\nWords")
    magics.unregister(shell)
    assert jobs.last.asked == ["cancel"]
    assert "autocode" not in shell.magics_manager.magics["cell"]
    assert shell.Completer.custom_matchers == []
    assert len(shell.configurables) == before - 2
    assert "CodeGenEvalResult" not in str(shell.display_formatter.mimebundle_formatter.deferred_printers)
    magics.unregister(shell)
    magics.register(shell, jobs)


def test_config_reaches_the_next_cell(shell: Any, jobs: Any) -> None:
    shell.run("%config Autocode.share = 'stats'")
    shell.run("%%autocode growth\nWords")
    assert jobs.last.config.share == "stats"


def test_pyproject_reaches_the_next_cell(shell: Any, jobs: Any, here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.autocode]\nmax_cost = 0.25\n")
    shell.run("%%autocode growth\nWords")
    assert jobs.last.config.max_cost == 0.25
    assert "of $0.25" not in shell.shown  # nothing is spent yet


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("-p ../x", "-p: '../x' is not a requirement"),
        ("-p git+https://example.org/x", "is not a requirement"),
        ("-m huggingface/https://evil.example/v1", "not an address"),
    ],
)
def test_an_option_that_the_agent_refuses_fails_the_cell(shell: Any, option: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        shell.run(f"%%autocode growth {option}\nWords")
    assert "growth" not in shell.user_ns


def test_a_waiting_cell_says_once_that_it_waits_for_consent(
    shell: Any, jobs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def ending(job: Any) -> None:
        job.ask("emoji")
        threading.Timer(0.7, job.end).start()

    jobs.ending = ending
    shell.run("%%autocode growth --wait\nWords")
    assert capsys.readouterr().out.count("waits for consent") == 1


def test_a_renamed_column_has_the_name_that_the_function_reads(shell: Any, jobs: Any) -> None:
    shell.run("import pandas as pd; sales = pd.DataFrame({'unit_price': [1.0]})")
    shell.run("%%autocode growth --rename price=unit_price\nTotal of @sales")
    request = jobs.last.request
    assert request.renames == {"price": "unit_price"} and list(request.samples["sales"].columns) == ["price"]
    assert list(shell.user_ns["sales"].columns) == ["unit_price"]
    with pytest.raises(InvalidRequest, match="There is no column 'amount' to be read as 'net'"):
        shell.run("%%autocode growth --rename net=amount\nTotal of @sales")


def test_a_recorded_rename_is_used_for_data_that_are_passed_again(shell: Any) -> None:
    import pandas as pd

    from autocoder_jupyter.magics.versions import recorded_request
    from autocoder_jupyter.types import Report
    from autocoder_jupyter.versions import Version, Versions

    class Recorded(Versions):
        def request(self, version: str) -> dict[str, Any]:
            return {"samples": {"sales": "DataFrame"}, "renames": {"price": "unit_price", "x": 3}}

    report = Report(name="growth", run_id="r", prompt="Total of @sales", success=True)
    passed = {"sales": pd.DataFrame({"unit_price": [1.0]})}
    request = recorded_request(Recorded(Path(".autocode"), "growth"), Version("r", 1, report), passed, "")
    assert request.renames == {"price": "unit_price"} and list(request.samples["sales"].columns) == ["price"]


@pytest.mark.usefixtures("sales")
def test_the_limit_of_tokens_that_messages_recommend_can_be_written_in_a_cell(shell: Any, jobs: Any) -> None:
    shell.run("%%autocode growth --max-tokens 200_000\nTotal of @sales.")
    assert jobs.last.config.max_tokens == 200_000
    with pytest.raises(InvalidRequest, match="max-tokens"):
        shell.run("%%autocode growth --max-tokens 0\nTotal of @sales.")


def test_evidence_is_completed_later_only_where_a_user_sees_it(shell: Any, jobs: Any) -> None:
    jobs.ending = lambda job: job.end()
    shell.run("%%autocode growth -i x:int\nWords")
    eventually = time.monotonic() + 60
    while not jobs.completed and time.monotonic() < eventually:
        time.sleep(0.01)
    assert jobs.completed == ["growth"]
    shell.kernel._allow_stdin = False
    shell.run("%%autocode other -i x:int\nWords")
    assert jobs.completed == ["growth"]
