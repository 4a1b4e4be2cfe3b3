"""A setting is defined once, and everything derived from it is consistent."""

from __future__ import annotations

import inspect
import subprocess
import sys

from autocoder_jupyter import AutoCoderAgent, CodeModeAgent
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.settings import defaults
from autocoder_jupyter.settings.config import RECORDS, AgentConfig
from tests.cases import each


@each("name", RECORDS)
def test_a_setting_can_have_its_default(name: str) -> None:
    default = getattr(AgentConfig(), name)
    assert RECORDS[name].checked(default) == default


@each("name", [name for name, value in defaults().items() if value is not None])
def test_the_default_can_be_written_where_the_setting_can(name: str) -> None:
    default = defaults()[name]
    assert SETTINGS[name].checked(default if name != "secrets" else ()) == default


def test_the_page_calls_each_choice_by_a_name() -> None:
    for record in RECORDS.values():
        choices = tuple(choice for option in record.options for choice in option.choices)
        assert record.page is None or tuple(record.page.choices) == choices, record.name


def test_code_mode_takes_what_it_shares_in_the_same_form() -> None:
    function, tools = (inspect.signature(agent).parameters for agent in (AutoCoderAgent, CodeModeAgent))
    shared = RECORDS.keys() & tools.keys() - {"name"}
    assert {"model", "max_cost", "share", "cache"} <= shared
    for name in shared:
        assert tools[name] == function[name], name


def test_the_records_are_light() -> None:
    script = "import sys, autocoder_jupyter.magics.options; print({'pydantic', 'pandas', 'litellm'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "set()\n"
