from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autocoder_jupyter.display.live import FOLLOWED
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.lab.messages import CellProblem, RequestOutcome, listed
from autocoder_jupyter.lab.requests import answer, problems, sentence
from autocoder_jupyter.magics.doctor import DoctorRow
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.references import describe
from autocoder_jupyter.models import catalogue, preflight
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.events import NoAnswerYet, PlanReady, PriceAsked, SampleOutputs
from autocoder_jupyter.types import (
    CodePlan,
    Difference,
    Evidence,
    OutputSpec,
    SecondOpinion,
    Strength,
    TestOutcome,
)
from autocoder_jupyter.types.interface import FoundSplit, Split
from autocoder_jupyter.types.records import Glimpse
from tests.lab.conftest import ScriptedJobs
from tests.lab.test_link import wait_until
from tests.lab.test_results import finished
from tests.scripted_model import ScriptedModel

TOLD = json.loads((Path(__file__).parents[1] / "labextension" / "told.json").read_text(encoding="utf-8"))
"""A notebook, and what the kernel tells a page of it; the TypeScript tests of the editor use the same table."""


def asked(notebook: Notebook, action: str, name: str = "growth", **more: Any) -> RequestOutcome:
    return answer(notebook, {"action": action, "name": name, **more})


@pytest.mark.parametrize("action", ["approve", "decline"])
def test_a_package_is_allowed_or_refused(shell: Any, notebook: Notebook, jobs: ScriptedJobs, action: str) -> None:
    shell.run("%%autocode growth\nWords")
    jobs.last.ask("fiscalmonths")
    late = asked(notebook, action, question="pandas-extra")
    assert late == {"ok": False, "error": "growth asks something else now. Read the new question."}
    (told,) = listed(notebook)
    assert asked(notebook, action, question=told["question"]) == {"ok": True, "value": None}
    assert jobs.last.asked == [action]


def test_a_question_about_a_function_is_answered_by_its_key(
    shell: Any, notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / name)
    opinion = SecondOpinion(state="differ", differences=(Difference(where="total", first="1", second="2"),))
    checked = Evidence(tests=(TestOutcome(id="test_a", outcome="passed"),), strength=Strength())
    shell.user_ns["growth"] = finished("growth", second_opinion=opinion, evidence=checked)
    (told,) = listed(notebook)
    assert told["title"] == "Ready, with a question for you" and told["question"] and "keep" in told["actions"]
    other = asked(notebook, "keep", question="of an older card")
    assert other == {"ok": False, "error": "growth asks something else now. Read the new question."}
    assert asked(notebook, "keep", question=told["question"]) == {"ok": True, "value": None}
    (told,) = listed(notebook)
    assert (told["title"], told["tone"], told["question"]) == ("Ready", "good", "") and "keep" not in told["actions"]
    assert asked(notebook, "keep")["error"] == "Nothing is asked about growth."


@pytest.mark.parametrize("reply", ["wait", "again", "model"])
def test_a_model_that_says_nothing_is_waited_for_or_not(
    shell: Any, notebook: Notebook, jobs: ScriptedJobs, reply: str
) -> None:
    shell.run("%%autocode growth\nWords")
    action = f"silent-{reply}"
    assert asked(notebook, action) == {"ok": False, "error": "growth waits for no model any more."}
    jobs.last.tell(NoAnswerYet(("code",)))
    (told,) = listed(notebook)
    assert action in told["actions"] and asked(notebook, action) == {"ok": True, "value": None}
    assert jobs.last.asked == [reply, reply]


def test_a_price_is_set_for_the_model_of_the_run(shell: Any, notebook: Notebook, jobs: ScriptedJobs) -> None:
    shell.run("%%autocode growth -m openai/mine\nWords")
    jobs.last.tell(PriceAsked())
    jobs.last.end("failed", error="The price is not known.\nIf it is free: %config …")
    (told,) = listed(notebook)
    assert (told["title"], told["tone"]) == ("What does it cost?", "warn")
    assert [told["buttons"].get(action) for action in ("free", "set-price", "retry")] == [
        "It is free",
        "Set a price",
        None,
    ]
    mine = ModelConfig("openai/mine")
    try:
        for wrong in (None, [1], [0, "1"], [0, -1], [True, 0]):
            assert not asked(notebook, "price", prices=wrong)["ok"] and preflight.own_prices(mine) is None
        assert asked(notebook, "price", prices=[2, 8.0]) == {"ok": True, "value": None}
        assert preflight.own_prices(mine) == (2e-6, 8e-6)
    finally:
        preflight.use_prices(mine, None)


def test_cancel_stops_what_runs_and_nothing_else(shell: Any, notebook: Notebook, jobs: ScriptedJobs) -> None:
    shell.run("%%autocode growth\nWords")
    assert asked(notebook, "cancel")["ok"]
    assert jobs.last.asked == ["cancel"]
    assert asked(notebook, "cancel")["error"] == "growth has ended already (cancelled)."
    assert jobs.last.asked == ["cancel"]


def test_the_card_is_as_it_is_now_and_goes_with_what_the_list_says(
    shell: Any, notebook: Notebook, jobs: ScriptedJobs
) -> None:
    shell.run("%%autocode growth\nWords")
    jobs.last.ask("fiscalmonths")
    (listed_job,) = listed(notebook)
    card = json.loads(str(asked(notebook, "card")["value"]))
    assert card[FOLLOWED] == {
        "shows": "card",
        "name": "growth",
        "started": listed_job["started"],
        "step": listed_job["step"],
        "finished": False,
    }
    assert "May it install fiscalmonths?" in card["text/html"]
    jobs.last.end()
    assert notebook.launched["growth"].card.wait(60)
    card = json.loads(str(asked(notebook, "card")["value"]))
    assert card[FOLLOWED]["finished"] and "● growth  Ready" in card["text/plain"]


def test_a_result_is_given_as_an_output_shows_it_when_it_is_there(
    shell: Any, notebook: Notebook, jobs: ScriptedJobs
) -> None:
    shell.run("%%autocode growth\nWords")
    assert asked(notebook, "result")["error"] == "growth is not done yet. Wait until it is ready."
    jobs.last.end()
    shell.user_ns["growth"] = 7  # this means the run, not the current result of the name
    output = json.loads(str(asked(notebook, "result")["value"]))
    assert output["text/plain"].startswith("<autocode growth ready")
    assert "growth.run()" in output["text/html"]


@pytest.mark.parametrize("action", ["card", "result"])
def test_there_is_nothing_of_what_no_cell_started(notebook: Notebook, action: str) -> None:
    assert asked(notebook, action)["error"] == "No cell of this kernel started growth. Run its cell."


def test_what_has_no_code_says_why(shell: Any, notebook: Notebook, jobs: ScriptedJobs) -> None:
    shell.run("%%autocode growth\nWords")
    jobs.last.end("failed", solution=None, error="The model said nothing.")
    assert asked(notebook, "code")["error"] == "growth has no code. The model said nothing."


def test_export_takes_the_name_as_its_path_and_says_what_is_wrong_with_another(
    shell: Any, notebook: Notebook, jobs: ScriptedJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run("%%autocode growth\nWords")
    jobs.last.end()
    paths: list[Any] = []
    monkeypatch.setattr(type(shell.user_ns["growth"]), "export", lambda self, path: paths.append(path) or path)
    assert asked(notebook, "export") == {"ok": True, "value": "growth.py"}
    assert asked(notebook, "export", path="a/b.py")["value"] == "a/b.py"
    assert paths == ["growth.py", "a/b.py"]
    assert asked(notebook, "export", path=7)["error"] == "The path to export to must be a string."


def test_a_check_of_how_it_may_be_split_is_started_when_there_is_a_function(
    shell: Any, notebook: Notebook, jobs: ScriptedJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run("%%autocode growth\nWords")
    assert asked(notebook, "check-split")["error"] == "growth is not done yet. Wait until it is ready."
    jobs.last.end()
    started: list[Any] = []
    monkeypatch.setattr(type(shell.user_ns["growth"]), "check_split", lambda self: started.append(self.name))
    assert asked(notebook, "check-split") == {"ok": True, "value": None}
    assert started == ["growth"]


def test_the_card_of_a_finished_function_shows_what_a_check_finds(
    shell: Any, notebook: Notebook, jobs: ScriptedJobs
) -> None:
    table = OutputSpec(name="monthly", type="DataFrame")
    shell.run("%%autocode growth\nWords")
    jobs.last.tell(PlanReady(CodePlan(description="", approach="", outputs=(table,))))
    jobs.last.end()
    card, result = notebook.launched["growth"].card, shell.user_ns["growth"]
    assert card.wait(60)
    before = json.loads(str(asked(notebook, "card")["value"]))[FOLLOWED]
    result._splits.begin("any batch of rows")
    shown = json.loads(str(asked(notebook, "card")["value"]))
    assert "checking how it may be split: any batch of rows" in shown["text/plain"] and not shown[FOLLOWED]["finished"]
    found = FoundSplit("monthly", Split(input="sales", kind="whole", ordered=False))
    result._splits.keep(found, result.report.solution.code)
    result._splits.end()
    shown = json.loads(str(asked(notebook, "card")["value"]))
    assert "sales cannot be split" in shown["text/plain"] and shown[FOLLOWED]["finished"]
    assert shown[FOLLOWED]["step"] != before["step"]
    wait_until(lambda: "sales cannot be split" in shell.shown)  # the output of the cell, which is saved


def test_what_nobody_foresaw_is_a_sentence_too(
    shell: Any, notebook: Notebook, jobs: ScriptedJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run("%%autocode growth\nWords")
    monkeypatch.setattr(jobs.last, "cancel", lambda: 1 / 0)
    assert asked(notebook, "cancel")["error"] == "The request failed. ZeroDivisionError: division by zero"
    monkeypatch.undo()


def test_a_sentence_has_what_why_and_what_next_in_one_line() -> None:
    error = InvalidRequest("It fails.", why="Two\nlines.", hint="Try again.")
    assert sentence(error) == "It fails. Two lines. Try again."


def test_a_sentence_hides_nothing() -> None:
    assert sentence(InvalidRequest("No column 'a\u202eb'.", hint="\x1b[2J")) == r"No column 'a\u202eb'. \x1b[2J"


def test_a_page_is_told_what_is_wrong_with_a_cell(shell: Any, notebook: Notebook) -> None:
    shell.run("limit = 5")
    said = problems(notebook, {"cell": "%%autocode limit --sandbox dockr\nDo it."})
    assert [(one["severity"], one["instead"], one["word"]) for one in json.loads(str(said["value"]))] == [
        ("error", "docker", 2),
        ("warning", "", 0),
    ]
    shell.run("%config Autocode.replace = True")
    [found] = json.loads(str(problems(notebook, {"cell": "%%autocode limit --sandbox dockr\nDo it."})["value"]))
    assert set(found) == set(CellProblem.__annotations__)
    assert problems(notebook, {"cell": 3}) == {"ok": False, "error": "The cell must be a string."}


def test_the_page_is_tested_with_what_a_kernel_tells(shell: Any, notebook: Notebook) -> None:
    shell.run(TOLD["notebook"])
    told = {variable["name"]: variable for variable in describe(notebook.namespace)}
    assert [told[variable["name"]] for variable in TOLD["variables"]] == TOLD["variables"]
    for cell in TOLD["cells"]:
        assert json.loads(str(problems(notebook, cell)["value"])) == cell["problems"]


def test_the_first_picture_of_a_result_is_given_with_what_it_shows(
    shell: Any, notebook: Notebook, jobs: ScriptedJobs
) -> None:
    shell.run("%%autocode growth\nWords")
    assert asked(notebook, "picture") == {"ok": True, "value": None}
    drawn = Glimpse("chart", "a picture of 3 × 4 pixels", picture=b"\x89PNG")
    jobs.last.tell(SampleOutputs((Glimpse("total", "7"), drawn)))
    jobs.last.end()
    assert notebook.launched["growth"].card.wait(60)
    shown = {"src": "data:image/png;base64,iVBORw==", "alt": "chart: a picture of 3 × 4 pixels"}
    assert json.loads(str(asked(notebook, "picture")["value"])) == shown
    shell.run("%%autocode drawn\nWords")
    jobs.last.tell(SampleOutputs((Glimpse("bars", "a chart of 3 bars", chart='{"mime": "…"}'),)))
    jobs.last.end()
    assert notebook.launched["drawn"].card.wait(60)
    shown = {"chart": '{"mime": "…"}', "alt": "bars: a chart of 3 bars"}
    assert json.loads(str(asked(notebook, "picture", "drawn")["value"])) == shown
    assert not asked(notebook, "picture", "other")["ok"]


def test_the_first_chart_of_an_answer_is_given_too(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    def picture(*charts: str) -> Any:
        launch = SimpleNamespace(card=SimpleNamespace(state=CodeRun("rates", phase="ready", charts=charts)))
        monkeypatch.setattr("autocoder_jupyter.lab.requests._launched", lambda notebook, name: launch)
        return json.loads(str(asked(notebook, "picture", "rates")["value"] or "null"))

    assert picture("words") is None
    assert picture("words", "<svg><text>Rates</text></svg>")["src"].startswith("data:image/svg+xml;base64,PHN2Zz48")
    drawn = picture(json.dumps({"data": [{"type": "bar", "y": [1, 2]}], "layout": {"title": {"text": "Rates"}}}))
    assert "bar" in drawn["chart"] and "Rates" in drawn["alt"]


def test_the_models_that_can_be_asked_are_told_with_the_address_that_they_need(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-that-nobody-sees")
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", preflight.OLLAMA_ADDRESS):
        monkeypatch.delenv(name, raising=False)
    with ScriptedModel(models=["qwen3"]) as ollama, ScriptedModel(models=["gemma"]) as studio:
        monkeypatch.setattr(catalogue, "PORTS", {ollama.port: "Ollama", studio.port: "LM Studio"})
        told = str(asked(notebook, "ready", "")["value"])
    assert "a-key-that-nobody-sees" not in told
    assert json.loads(told)["offers"] == [
        {"text": "GEMINI_API_KEY is set.", "models": ["gemini/gemini-2.5-pro"], "api_base": ""},
        {"text": "Ollama answers on this machine.", "models": ["ollama_chat/qwen3"], "api_base": ""},
        {
            "text": f"LM Studio answers on this machine at {studio.url}.",
            "models": ["openai/gemma"],
            "api_base": studio.url,
        },
    ]


def test_what_doctor_finds_is_told_as_texts(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        DoctorRow("model", "m/x\u202e", "set by default", used=True),
        DoctorRow("key", "<b>is not set", level=1, used=True),
    ]
    monkeypatch.setattr("autocoder_jupyter.lab.requests.examine", lambda settings: rows)
    model, key = json.loads(str(asked(notebook, "doctor", "")["value"]))
    state = {"state": r"m/x\u202e", "more": "set by default"}
    assert model == {"name": "model", **state, "level": 0, "used": True, "bad": False}
    assert key["state"] == "<b>is not set", "a page shows it as text"
    assert asked(notebook, "cancel", "")["error"] == "cancel needs the name of a result."
