"""`%autocode rules`: what it lists, and which answers to known questions a changed rule changes."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import magics
from autocoder_jupyter.agent.rules import TASKS
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.evaluate.trial import write_task
from tests.evaluate.test_trial import REVENUE, STREAK, model_of

RULES = "# Net revenue\nRevenue is net of returns.\n"


def agree(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "input", lambda question: "yes")
    shell.run("%autocode trust")


def test_the_list_says_to_what_each_rule_applies_and_whether_it_is_used(
    shell: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run("%autocode rules")
    assert "There is no autocode.md" in capsys.readouterr().out
    (here / "autocode.md").write_text(f"Amounts are in euros.\n\n{RULES}")
    shell.run("%autocode rules")
    assert "Amounts are in euros." in shell.shown and "every request" in shell.shown
    assert "net, revenue" in shell.shown and "not used: you have not agreed to this text" in shell.shown
    agree(shell, monkeypatch)
    shell.run("%autocode rules")
    assert shell.display_pub.outputs[-1]["data"]["text/plain"].count("used") == 2


def test_rules_are_tested_only_if_they_are_used_and_there_are_questions(
    shell: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "autocode.md").write_text(RULES)
    with pytest.raises(InvalidRequest, match="you have not agreed to this text"):
        shell.run("%autocode rules test")
    agree(shell, monkeypatch)
    with pytest.raises(InvalidRequest, match="tasks in"):
        shell.run("%autocode rules test")
    for line in ("rules nonsense", "rules --max-cost 1"):
        with pytest.raises(InvalidRequest, match="There is nothing to do with"):
            shell.run(f"%autocode {line}")


@pytest.mark.local_sandbox
@pytest.mark.slow
def test_a_changed_rule_asks_again_only_where_it_applies_and_says_which_answers_changed(
    shell: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    magics.register(shell)
    for task in (REVENUE, STREAK):
        write_task(here / TASKS, task.known())
    (here / "autocode.md").write_text(RULES)
    agree(shell, monkeypatch)
    assert "%autocode rules test says which answers" in capsys.readouterr().out
    wrong = next(iter(REVENUE.wrong.values()))
    line = "%autocode rules test --max-tokens 400000"
    monkeypatch.setenv("AUTOCODE_EFFORT", "quick")
    with model_of([(REVENUE, REVENUE.right), (STREAK, STREAK.right)]) as model:
        monkeypatch.setenv("AUTOCODE_MODEL", "openai/scripted")
        monkeypatch.setenv("AUTOCODE_API_BASE", model.url)
        shell.run(line)
        assert "2 of 2 answers right." in shell.shown and len(model.requests) == 4
        shell.run(line)
        assert "2 of 2 answers right; 0 of 2 answers changed since the last test." in shell.shown
        assert len(model.requests) == 4, "nothing changed, so nothing is asked"
    (here / "autocode.md").write_text(RULES.replace("net of returns", "before returns"))
    agree(shell, monkeypatch)
    with model_of([(REVENUE, wrong), (STREAK, STREAK.right)]) as model:
        monkeypatch.setenv("AUTOCODE_API_BASE", model.url)
        shell.run(line)
        assert "1 of 2 answers right; 1 of 2 answers changed since the last test." in shell.shown
        assert len(model.requests) > 0 and STREAK.request[:30] not in str(model.requests)
