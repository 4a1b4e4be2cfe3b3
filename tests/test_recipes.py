"""Each test adds something in the way that `CONTRIBUTING.md` says, and uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.display import strip
from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.engines.staged.writer import StagedWriter
from autocoder_jupyter.errors import Locked
from autocoder_jupyter.models.protocol import ModelConfig, Question
from autocoder_jupyter.models.replay import LockedModel
from autocoder_jupyter.request import Request
from autocoder_jupyter.run.events import Event
from autocoder_jupyter.run.function_run import FunctionRun, StageState
from autocoder_jupyter.types.records import STAGES, Stage
from autocoder_jupyter.versions.request_fields import RequestKey
from tests import runner
from tests.runner import CODE, PLAN, TESTS, Runner, fenced

ROOT = Path(__file__).parents[1]


def project(folder: Path) -> Path:
    """A copy of the project, to add something to its files."""
    unused = shutil.ignore_patterns("node_modules", "lib", "static")  # with bytecode, which would take seconds to make
    shutil.copytree(ROOT / "autocoder_jupyter", folder / "autocoder_jupyter", ignore=unused)
    shutil.copytree(ROOT / "tools", folder / "tools", ignore=unused)
    for path in ("labextension/schema/plugin.json", "labextension/src/vocabulary.json"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    return folder


def added(folder: Path, file: str, before: str, text: str) -> None:
    """Insert text into a file of the copy, before a line."""
    path = folder / file
    source = path.read_text("utf-8")
    assert source.count(before) == 1
    path.write_text(source.replace(before, f"{text}{before}"), "utf-8")


def run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))), "AUTOCODE_TONE": ""}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


TONE = """\
    tone: Annotated[
        str,
        Setting("the tone of the documentation", shapes="the tone"),
        Option(flags=("--tone",), placeholder="TONE", rule="free", modes=BOTH, example="dry"),
        Page("Tone", "The tone of the documentation. {default} by default."),
    ] = "plain"
"""

USED = """
import json, pathlib
import pytest
from autocoder_jupyter import AutoCoderAgent
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.magics.settings import read_project
from autocoder_jupyter.magics.settings import Autocode, read_environment, read_lab, resolve
from autocoder_jupyter.magics.problems import find_problems
from autocoder_jupyter.request import Request
from autocoder_jupyter.versions.request_fields import changes, written_otherwise
from autocoder_jupyter.versions.request_fields import RequestKey

here = pathlib.Path.cwd()
assert AutoCoderAgent(tone="dry").tone == "dry"
assert "tone: the tone of the documentation" in AutoCoderAgent.__init__.__doc__
command = parse_cell("g --tone dry", "Count.")
assert resolve(command.settings, {}, here, {}).agent_config().tone == "dry"
traits = Autocode(tone="dry")
assert resolve({}, traits.given(), here, {}).agent_config().tone == "dry"
assert read_environment({"AUTOCODE_TONE": "dry"}) == {"tone": "dry"}
(here / "pyproject.toml").write_text('[tool.autocode]\\ntone = "dry"\\n')
assert read_project(here).values == {"tone": "dry"}
assert read_lab({"tone": "dry"}) == ({"tone": "dry"}, {})
for wrong in (lambda: AutoCoderAgent(tone=3), lambda: Autocode(tone=3), lambda: parse_cell("g --tone ''", "Count.")):
    with pytest.raises(Exception, match="tone must be a non-empty string"):
        wrong()
assert [one.what for one in find_problems("%%autocode g --tone ''\\nCount.", {})] == [
    "--tone must be a non-empty string, not ''."
]
assert RequestKey.of(Request("g", "p"), ()).id == "KEY"
before, now = {"settings": {"tone": "plain"}}, {"settings": {"tone": "dry"}}
assert changes(before, now) == written_otherwise(before, now) == "the tone: plain → dry"
assert any(option["name"] == "tone" for option in json.loads(
    (here / "labextension/src/vocabulary.json").read_text())["options"])
page = json.loads((here / "labextension/schema/plugin.json").read_text())
assert page["properties"]["tone"]["description"].endswith("plain by default.")
"""


@pytest.mark.slow
def test_a_setting(folder: Path) -> None:
    earlier = RequestKey.of(Request("g", "p"), ()).id
    (folder / "used.py").write_text(textwrap.dedent(USED).replace("KEY", earlier), "utf-8")
    run(folder, "used.py")


ENGINE = """
from autocoder_jupyter.engines.staged.writer import StagedWriter

created = []

def require(model):
    pass

class EchoWriter(StagedWriter):
    async def write(self):
        created.append(self)
        await super().write()

class EchoWriters:
    async def prepare(self):
        pass
    def create(self, state, packages):
        return EchoWriter(state, packages)

def writers(model):
    return EchoWriters()
"""

SANDBOX = """
import dataclasses
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox

class AgainSandbox(LocalSandbox):
    name = "again"

    def probe(self):
        return dataclasses.replace(super().probe(), name=self.name)
"""

CALLED = """
import json
from autocoder_jupyter import AutoCoderAgent
from autocoder_jupyter.engines import echo
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.magics.doctor import examine
from autocoder_jupyter.magics.settings import resolve
from autocoder_jupyter.sandbox import choice
from autocoder_jupyter.types import ImageConfig
from tests.scripted_model import ScriptedModel, by_marker
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced, sales
import pathlib

script = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
with ScriptedModel(by_marker({MARKERS[stage]: answers for stage, answers in script.items()})) as model:
    agent = AutoCoderAgent(backend="echo", sandbox="again", effort="quick", **model.settings)
    result = agent.generate("Total revenue of @sales.", samples={"sales": sales()}, outputs={"total": "float"}).wait()
    assert result.success, result.error
    assert len(echo.created) == 1
    assert result.report.sandbox == "again" and result.run(sales()) == 140.0
assert parse_cell("g --backend echo", "Count.").settings["backend"] == "echo"
assert "`echo`, the stages again" in AutoCoderAgent.__init__.__doc__
assert [probe.name for probe in choice.probe_all()] == ["docker", "local", "again"]
try:
    choice.choose("again", ImageConfig(base_image="python:3.12"))
except Exception as error:
    assert "again: it has no images" in str(error)
else:
    raise AssertionError
assert parse_cell("g --sandbox again", "Count.").settings["sandbox"] == "again"
rows = examine(resolve({}, {}, pathlib.Path.cwd(), {}))
assert [1] == [row.level for row in rows if row.name == "again"]
page = json.load(open("labextension/schema/plugin.json"))["properties"]
assert {"const": "echo", "title": "The stages again"} in page["backend"]["oneOf"]
assert {"const": "again", "title": "Again"} in page["sandbox"]["oneOf"]
"""


NOTES = {
    "versions/request_fields.py": ('    "schema": RequestField(', '    "notes": _lines("note"),\n'),
    "magics/options.py": (
        '    Option(\n        "schema",',
        "    Option(\n"
        '        "note",\n        "a note for the model",\n        flags=("--note",),\n        placeholder="TEXT",\n'
        '        repeatable=True,\n        is_setting=False,\n        example="short",\n    ),\n',
    ),
    "agent/arguments.py": ('    "own_tests": partial(', '    "notes": partial(check.texts, "notes"),\n'),
    "agent/agent.py": ("        name: str | None = None,", "        notes: Iterable[str] | None = None,\n"),
    "engine/prompt.py": (
        "    if request.checks:",
        '    if request.notes:\n        parts.append(block("notes", _bullets(request.notes)))\n',
    ),
    "magics/command.py": ("        examples=tuple(parse", '        notes=given.get("note", ()),\n'),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more setting, engine, sandbox and field of a request, each as its recipe says."""
    folder = project(tmp_path_factory.mktemp("recipes") / "project")
    settings, package = "autocoder_jupyter/settings", folder / "autocoder_jupyter"
    added(folder, f"{settings}/config.py", "    api_key: Annotated[\n", TONE)
    (package / "engines" / "echo").mkdir()
    (package / "engines" / "echo" / "__init__.py").write_text(ENGINE, "utf-8")
    record = 'Engine("autocoder_jupyter.engines.echo", help="the stages again", title="The stages again")'
    added(folder, f"{settings}/choices.py", '"litellm", "claude"]', '"echo", ')
    added(folder, f"{settings}/choices.py", '}\n"""The engines by', f'    "echo": {record},\n')
    (package / "sandbox" / "again.py").write_text(SANDBOX, "utf-8")
    record = 'SandboxRecord("autocoder_jupyter.sandbox.again", "AgainSandbox", title="Again")'
    sandboxes = package / "settings" / "choices.py"
    names = sandboxes.read_text("utf-8").replace('"docker", "local"]', '"docker", "local", "again"]')
    sandboxes.write_text(names, "utf-8")
    added(folder, f"{settings}/choices.py", '}\n"""The sandboxes by name', f'    "again": {record},\n')
    for file, (before, text) in NOTES.items():
        added(folder, f"autocoder_jupyter/{file}", before, text)
    before, text = "    schema: str | None = None\n", "    notes: tuple[str, ...] = ()\n"
    for file in ("request.py", "magics/command.py"):
        added(folder, f"autocoder_jupyter/{file}", before, text)
    run(folder, "tools/generated.py")
    return folder


NOTED = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from autocoder_jupyter import AutoCoderAgent
from autocoder_jupyter.engine import preview
from autocoder_jupyter.magics.cell import build_request
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.magics.versions import recorded_request
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.request_fields import changes
from autocoder_jupyter.versions.request_fields import RequestKey
from autocoder_jupyter.versions.request_fields import joined
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced, sales
from tests.scripted_model import ScriptedModel, by_marker

script = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
with ScriptedModel(by_marker({MARKERS[stage]: answers for stage, answers in script.items()})) as model:
    agent = AutoCoderAgent(sandbox="local", effort="quick", **model.settings)
    result = agent.generate(
        "Total revenue of @sales.", samples={"sales": sales()}, outputs={"total": "float"}, notes=["be calm"],
        name="growth", journal_root=".autocode",
    ).wait()
    assert result.success, result.error
    assert all("be calm" in str(request) for request in model.requests)

notebook = SimpleNamespace(namespace={}, own_tests_of=lambda name: "")
request = build_request(parse_cell("g --note short --note 'be calm'", "Count."), notebook)
assert request.notes == ("short", "be calm")
assert "- short" in preview(request, AgentConfig())
assert RequestKey.of(request, ()).id != RequestKey.of(Request("g", "Count."), ()).id
assert RequestKey.of(Request("g", "p"), ()).id == "KEY"
assert changes({"notes": []}, {"notes": ["short"]}) == "a new note: short"
assert joined(Request("g", "Count.", notes=("calm",)), {"notes": ("short",)}) == {"notes": ("calm", "short")}
versions = Versions(Path(".autocode"), "growth")
again = recorded_request(versions, versions.last_good(), {"sales": sales()}, "")
assert again.notes == ("be calm",)
options = json.loads(Path("labextension/src/vocabulary.json").read_text())["options"]
assert any("--note" in option["flags"] for option in options)
"""


@pytest.mark.slow
@pytest.mark.local_sandbox
def test_an_engine_a_sandbox_and_a_field_of_the_request(folder: Path) -> None:
    """In one process, which imports for several seconds."""
    noted = NOTED.replace("KEY", RequestKey.of(Request("g", "p"), ()).id)
    (folder / "used.py").write_text(CALLED + noted, "utf-8")
    run(folder, "used.py")


MOOD = {
    "run/events.py": (
        "@dataclass(frozen=True)\nclass Finished:",
        '@dataclass(frozen=True)\nclass MoodFound:\n    """The mood of the code."""\n\n    mood: str\n\n\n',
    ),
    "run/function_run.py": (
        "@_after.register\ndef _(event: events.TurnBegun",
        "@_after.register\ndef _(event: events.MoodFound, state: FunctionRun) -> FunctionRun:\n"
        "    return replace(state, mood=event.mood)\n\n\n",
    ),
    "display/card.py": ('        Row("Changes",', '        Row("Mood", lines([clipped(state.mood)])),\n'),
    "types/report.py": ("    kept: str | None = None", '    mood: str = ""\n'),
    "run/of_report.py": ('"author", "changes"', '"mood", '),
}

FOUND = """
from autocoder_jupyter.display.inspector import document as static
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.run.events import Finished, MoodFound
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import facts_of, run_of
from autocoder_jupyter.types import Report

run = FunctionRun("growth").apply(MoodFound("calm"), 1.0).apply(Finished("ready"), 2.0)
saved = Report(name="growth", run_id="r", prompt="x", success=True, **facts_of(run)).model_dump_json()
report = Report.model_validate_json(saved)
subject = Subject(report, "ready")
after = run_of(report, "ready")
for text in (card_text(run), card_text(after), static.render_text(subject)):
    assert "calm" in text, text
for html in (card_html(run), card_html(after), static.render_html(subject)):
    assert "Mood" in html and "calm" in html
"""


def test_a_fact(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    for file, (before, text) in MOOD.items():
        added(folder, f"autocoder_jupyter/{file}", before, text)
    record = folder / "autocoder_jupyter/run/function_run.py"
    field = "    changes: Changes | None = None\n"
    record.write_text(record.read_text("utf-8").replace(field, f'{field}    mood: str = ""\n'), "utf-8")
    (folder / "found.py").write_text(FOUND, "utf-8")
    run(folder, "found.py")


STAR = """
    {
      action: 'star',
      label: 'Mark',
      caption: 'Mark the result.',
      icon: ACT_ICONS.approve,
      execute: ({ entry }) => app.commands.execute('marked', { name: entry.name })
    },"""

OFFERED = """
import json
from autocoder_jupyter.lab.messages import _message
from autocoder_jupyter.run.function_run import FunctionRun

running, ready = (_message("growth", FunctionRun("growth", phase=phase)) for phase in ("running", "ready"))
assert "star" not in running["actions"] and "star" not in running["buttons"]
assert "star" in ready["actions"]
print(json.dumps(ready["buttons"]))
"""

CLICKED = """
import { CommandRegistry } from '@lumino/commands';

import { job } from '../../link/__tests__/fakes';
import { Strip } from '../../outputs/strip';
import { acts } from '../acts';
import { commandOf } from '../ids';

// JupyterLab's notebooks take a minute to compile, and this action does not need them.
jest.mock('../../cells/place', () => ({}));
jest.mock('../../icons', () => ({ ACT_ICONS: {} }));
jest.mock('../exporting', () => ({}));
jest.mock('../limits', () => ({}));

it('executes the command of the button that the kernel names', () => {
  const execute = jest.fn();
  const star = acts({ app: { commands: { execute } } } as never).find(act => act.action === 'star')!;
  const commands = new CommandRegistry();
  const entry = { name: 'growth', cellId: 'c', job: null };
  commands.addCommand(commandOf(star.action), { execute: () => star.execute({ entry } as never) });
  const strip = new Strip(commands);
  strip.offer(job({ name: 'growth', cell_id: 'c', buttons: BUTTONS }));
  strip.node.querySelector<HTMLElement>('[aria-label="Star: growth"]')!.click();
  expect(execute.mock.calls).toEqual([['marked', { name: 'growth' }]]);
});
"""


@pytest.mark.slow
def test_an_action(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    added(
        folder, "autocoder_jupyter/display/actions.py", '    Action("inspect",', '    Action("star", _ready, "Star"),\n'
    )
    (folder / "offered.py").write_text(OFFERED, "utf-8")
    buttons = run(folder, "offered.py")
    page, modules = folder / "labextension", ROOT / "labextension" / "node_modules"
    if not modules.is_dir() and os.environ.get("CI") != "true":
        pytest.skip("the packages of the lab extension are not installed")
    shutil.copytree(ROOT / "labextension/src", page / "src", dirs_exist_ok=True)
    for file in ("jest.config.cjs", "jest.empty.cjs", "jest.setup.cjs", "jest.transform.mjs", "package.json"):
        shutil.copy(ROOT / "labextension" / file, page)
    (page / "node_modules").symlink_to(modules.resolve())
    source = page / "src/commands/acts.ts"
    source.write_text(source.read_text("utf-8").replace("  return [", f"  return [{STAR}", 1), "utf-8")
    (page / "src/commands/__tests__/star.spec.ts").write_text(CLICKED.replace("BUTTONS", buttons), "utf-8")
    jest = [str(modules / "jest/bin/jest.js"), "--silent", "star.spec"]
    done = subprocess.run(["node", *jest], cwd=page, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


REVIEW = Stage(
    "Review",
    doing="Reviewing the code",
    asks="to review the code",
    is_optional=True,
)


async def test_a_stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    review: Any = "review"
    monkeypatch.setitem(STAGES, review, REVIEW)
    monkeypatch.setitem(runner.MARKERS, review, "You review one Python module")
    write = StagedWriter.write

    async def write_and_review(writer: StagedWriter) -> None:
        await write(writer)
        setup = writer._state.setup
        messages = ({"role": "user", "content": "You review one Python module."},)
        await setup.stages.run(review, lambda: setup.conversation.code(review, messages))

    monkeypatch.setattr(StagedWriter, "write", write_and_review)
    states = [FunctionRun("growth")]

    def shown(event: Event) -> None:
        states.append(states[-1].apply(event, 1.0))

    script = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)], "review": [fenced("x = 1")]}
    produced = await Runner(tmp_path, "local").generate(script, hear=shown)
    assert produced.report.success, produced.error
    during = [state for state in states if state.stage_state(review) == StageState("running")]
    assert during
    for state in during:
        assert "Reviewing the code" in card_text(state)
        assert "Review</span>" in card_html(state)
        assert "Reviewing the code" in strip.render(state).now and "Review" in strip.render(state).labels
    assert "✓ Review" in card_html(states[-2])  # a ready card has no ticks
    assert [step.name for step in produced.report.timeline if step.name == review]
    with pytest.raises(Locked, match="must be asked to review the code"):
        await LockedModel(ModelConfig("openai/x")).ask(Question(stage=review, messages=()))
