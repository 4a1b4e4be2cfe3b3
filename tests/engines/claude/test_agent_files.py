"""Which files of the agent are used for a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocoder_jupyter.run.events import ApprovalNeeded
from tests.engines.claude.scripted_agent import GOOD, TESTS, ScriptedRun, bash, calls, write

pytestmark = pytest.mark.local_sandbox


def test_a_module_beside_the_function_is_no_package_and_the_agent_hears_that_it_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")
    helped = GOOD.replace("import pandas as pd\n", "import pandas as pd\nfrom helpers import add\n")
    beside = [write("helpers.py", "def add(x): return x\n"), write("solution.py", helped), write("tests.py", TESTS)]
    produced = ScriptedRun(tmp_path / ".autocode").run_script(
        [
            calls(*beside, bash("python -c 'import solution'")),
            "All is there.",
            calls(write("solution.py", GOOD), bash("pytest -q")),
            "Now it is.",
        ]
    )
    told = "solution.py imports helpers, another file of the workspace"
    assert told in produced.calls[3].observed and produced.calls[3].outcome == "failed"
    assert told in str(produced.asked_as_agent[2]["messages"][-1]), "it is reminded"
    assert produced.report.success, produced.report.error
    assert not produced.of(ApprovalNeeded), "nobody is asked for a package of that name"
