from __future__ import annotations

import asyncio
import copy
import datetime as dt
import inspect
import json
import pickle
import pydoc
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from autocoder_jupyter.calls.function import Interface
from autocoder_jupyter.calls.options import OPTIONS, CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import AuthenticationFailed, Cancelled, GenerationFailed, InvalidRequest, UnsupportedData
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.run.events import EndState
from autocoder_jupyter.types import (
    TYPE_NAMES,
    Attempt,
    CodePlan,
    CodeSolution,
    Dir,
    Evidence,
    Exchange,
    File,
    ImageConfig,
    InputSpec,
    OutputSpec,
    Report,
    Resources,
    Secret,
    TestOutcome,
    ToolUse,
    Trace,
    Usage,
)
from tests.cases import each
from tests.hostile_folder import HOSTILE
from tests.interrupts import interrupt_in

CODE = "def run(sales, least=5):\n    return 1.0\n"


def report(**more: Any) -> Report:
    fields: dict[str, Any] = {
        "name": "growth",
        "run_id": "abc",
        "prompt": "what is asked",
        "success": True,
        "solution": CodeSolution(code=CODE),
        "tests": "def test_a(): ...",
        "plan": CodePlan(description="Growth.", approach="sum", assumptions=("ties",)),
        "declared_inputs": (InputSpec(name="sales", type="DataFrame"),),
        "declared_outputs": (OutputSpec(name="total", type="float"),),
        "evidence": Evidence(tests=tuple(TestOutcome(id=f"t{n}", outcome="passed") for n in range(9))),
        "usage": Usage(input_tokens=900, output_tokens=100, cost=0.0412),
        "python_version": (3, 11),
        "started": dt.datetime(2025, 3, 1, tzinfo=dt.UTC),
        "conversation_history": (
            Exchange(
                stage="plan",
                key="k",
                model="m",
                messages=({"role": "system", "content": "s"}, {"role": "user", "content": "u"}),
                answer="a",
                usage=Usage(input_tokens=9, output_tokens=1),
            ),
        ),
    }
    return Report(**{**fields, **more})


def result(
    given: Report | None = None, state: EndState = "ready", exception: Exception | None = None, **more: Any
) -> CodeGenEvalResult:
    given = given or report()
    return CodeGenEvalResult(given.name, Pending.resolved(Resolution(state, given, exception)), **more)


class Recorded:
    """Replaces the call into the sandbox, and records its arguments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[CallOptions, tuple[Any, ...], dict[str, Any]]] = []
        monkeypatch.setattr("autocoder_jupyter.calls.callable.call", self)

    async def __call__(
        self, function: Any, options: CallOptions, positional: Any, keywords: Any, notes: Any, **_: Any
    ) -> str:
        self.calls.append((options, positional, keywords))
        return "the outputs"


def test_a_result_says_in_one_line_how_it_stands() -> None:
    assert repr(result()) == "<autocode growth ready, not fully checked · 9/9 tests · $0.04>"
    assert repr(result(report(usage=Usage(input_tokens=1, cost=None)))).endswith("· cost unknown>")
    assert repr(CodeGenEvalResult("growth", Pending())) == "<autocode growth running>"


def test_every_field_of_the_reference_is_there() -> None:
    whole = result(samples={"sales": pd.DataFrame({"a": [1]})})
    fields = (
        "success solution tests output exit_code error attempts image detected_packages detected_system_packages "
        "generated_schemas data_context original_samples total_input_tokens total_output_tokens conversation_history "
        "plan declared_inputs declared_outputs report evidence trace usage cost history code state done name "
        "blind_tests"
    )
    for field in fields.split():
        getattr(whole, field)
    assert (whole.code, whole.cost, whole.total_input_tokens) == (CODE, 0.0412, 900)
    assert list(whole.original_samples) == ["sales"]


def test_the_conversation_is_whole_and_in_order() -> None:
    history = result().conversation_history
    assert [(message["role"], message["content"], message["stage"]) for message in history] == [
        ("system", "s", "plan"),
        ("user", "u", "plan"),
        ("assistant", "a", "plan"),
    ]
    assert history[-1]["input_tokens"] == 9


def test_an_interrupt_while_waiting_leaves_the_job_running() -> None:
    pending: Pending[Any] = Pending()
    waiting = CodeGenEvalResult("growth", pending)
    interrupt_in(background.wait)
    with pytest.raises(KeyboardInterrupt):
        waiting.wait()
    assert (waiting.state, waiting.done) == ("running", False)
    pending.resolve(Resolution("ready", report()))
    assert waiting.wait() is waiting


def test_an_interrupt_in_run_on_a_pending_result_leaves_the_job_running() -> None:
    pending: Pending[Any] = Pending()
    waiting = CodeGenEvalResult("growth", pending)
    interrupt_in(background.wait)
    with pytest.raises(KeyboardInterrupt):
        waiting.run()
    assert waiting.state == "running"
    pending.resolve(Resolution("ready", report()))
    assert waiting.wait().success


def test_a_field_of_a_pending_result_waits() -> None:
    pending: Pending[Any] = Pending()
    waiting = CodeGenEvalResult("growth", pending)
    threading.Timer(0.05, lambda: pending.resolve(Resolution("ready", report()))).start()
    assert waiting.success is True


def test_run_on_a_pending_result_waits_and_then_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    Recorded(monkeypatch)
    pending: Pending[Any] = Pending()
    waiting = CodeGenEvalResult("growth", pending)
    threading.Timer(0.05, lambda: pending.resolve(Resolution("ready", report()))).start()
    assert waiting.run(pd.DataFrame()) == "the outputs"


async def test_run_works_where_a_loop_is_running(monkeypatch: pytest.MonkeyPatch) -> None:
    Recorded(monkeypatch)
    assert await result().run.aio(1) == "the outputs"
    assert result().run(1) == "the outputs"  # as in a notebook's cell
    assert await result() is not None


def test_a_failed_generation_is_given_back_by_wait_and_refused_by_run() -> None:
    failed = result(report(success=False, error="2 of 9 tests fail"), "failed")
    assert failed.wait() is failed
    assert failed.error == "2 of 9 tests fail"
    for use in (failed.run, lambda: failed.as_task("t"), lambda: failed.export("x.py")):
        with pytest.raises(GenerationFailed, match="2 of 9 tests fail") as refused:
            use()
        assert isinstance(refused.value, ValueError)
        assert "growth" in refused.value.hint


def test_what_the_generation_raised_is_raised_by_wait_and_await_and_run() -> None:
    broken = result(report(success=False), "failed", AuthenticationFailed("No key."))
    for use in (broken.wait, broken.run, lambda: asyncio.run(_awaited(broken))):
        with pytest.raises(AuthenticationFailed):
            use()
    assert broken.success is False


def test_options_and_inputs_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(monkeypatch)
    inputs = (InputSpec(name="sales", type="DataFrame"), InputSpec(name="timeout", type="int"))
    named = result(report(declared_inputs=inputs))
    named.with_options(timeout=9, name="nightly").run(1, timeout=3, retries=2)
    options, positional, keywords = recorded.calls[0]
    assert (options.timeout, options.retries, options.name) == (9, 2, "nightly")
    assert (positional, keywords) == ((1,), {"timeout": 3})


def test_a_view_with_options_shares_everything_else() -> None:
    pending: Pending[Any] = Pending()
    original = CodeGenEvalResult("growth", pending)
    view = original.with_options(timeout=1)
    pending.resolve(Resolution("ready", report()))
    assert view.report is original.report
    assert view.state == "ready"


def test_a_wrong_option_is_named() -> None:
    for wrong in ({"timeout": 0}, {"retries": -1}, {"cache": "never"}, {"resources": {"memory": "lots"}}):
        with pytest.raises(InvalidRequest, match=next(iter(wrong))):
            result().with_options(**wrong)


def test_the_options_of_a_call_are_named_wherever_they_can_be_given() -> None:
    ready = result()
    view, task = (inspect.signature(method).parameters for method in (ready.with_options, ready.as_task))
    assert set(view) == set(OPTIONS) and set(task) == set(OPTIONS) - {"output_dir"}
    assert all(view[name].default is None for name in OPTIONS)
    for name in OPTIONS:
        assert f"    {name}: {OPTIONS[name].help}." in (inspect.getdoc(ready.with_options) or "")
        assert name in (inspect.getdoc(ready.run) or "")
    for method, option in ((ready.with_options, {"timeot": 1}), (partial(ready.as_task, "t"), {"output_dir": "x"})):
        with pytest.raises(TypeError, match=next(iter(option))):
            method(**option)


def test_the_callers_dicts_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    Recorded(monkeypatch)
    samples, variables, resources = {"sales": pd.DataFrame()}, {"A": "1"}, {"cpu": 2}
    kept = result(samples=samples).with_options(env_vars=variables, resources=resources)
    samples["more"] = pd.DataFrame()
    variables["B"] = "2"
    resources["cpu"] = 4
    kept.run()
    assert list(kept.original_samples) == ["sales"]
    assert kept._options.env_vars == {"A": "1"}
    assert kept._options.resources.cpu == 2


def test_run_documents_itself() -> None:
    for called in (result(), result().run, result().run.aio):
        assert "Returns:\n    total: float." in (inspect.getdoc(called) or "")
        assert str(inspect.signature(called)) == "(sales: pandas.DataFrame) -> float"
    assert "sales: DataFrame" in pydoc.render_doc(result().run, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    assert "declared order" in (inspect.getdoc(CodeGenEvalResult.run) or "")
    assert "first pending" in (inspect.getdoc(CodeGenEvalResult) or "")
    assert "declared" in inspect.signature(CodeGenEvalResult).parameters


def test_a_pending_run_shows_what_was_declared_without_waiting() -> None:
    declared = Interface("Growth.", (InputSpec(name="sales", type="DataFrame"),), (), ("sales",))
    waiting = CodeGenEvalResult("growth", Pending(), declared=declared)
    assert str(inspect.signature(waiting.run)) == "(sales: pandas.DataFrame = <sample>)"
    assert (inspect.getdoc(waiting.run.aio) or "").startswith("Growth.")


def test_a_failed_result_shows_what_was_declared() -> None:
    failed = result(report(success=False, error="no"), "failed", declared=Interface("Growth."))
    assert (inspect.getdoc(failed.run) or "").startswith("Growth.")


@pytest.fixture
def shell() -> InteractiveShell:
    return InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))


@pytest.mark.parametrize("use_jedi", [True, False])
def test_notebooks_complete_its_attributes_and_the_keywords_of_a_call(shell: InteractiveShell, use_jedi: bool) -> None:
    shell.Completer.use_jedi = use_jedi
    pending = CodeGenEvalResult(
        "later", Pending(), declared=Interface("", (InputSpec(name="sales", type="DataFrame"),))
    )
    shell.user_ns.update(growth=result(), task=result().as_task("task"), later=pending)

    def completed(text: str) -> set[str]:
        with provisionalcompleter():
            return {completion.text.lstrip(".") for completion in shell.Completer.completions(text, len(text))}

    for name in ("growth", "later"):
        assert {"run", "state", "done", "code", "plan", "report", "with_options"} <= completed(f"{name}.")
        assert "aio" in completed(f"{name}.run.")
        for call in (f"{name}(", f"{name}.run(", f"{name}.run.aio("):
            assert "sales=" in completed(f"{call}sa")
    assert "sales=" in completed("task(sa")
    assert "sales=" in completed("task.aio(sa")


def test_what_shift_tab_shows_is_the_functions_own(shell: InteractiveShell) -> None:
    shell.user_ns["growth"] = result()
    for name in ("growth", "growth.run", "growth.run.aio"):
        shown = shell.object_inspect_text(name)
        assert f"{name}(sales: pandas.DataFrame) -> float" in shown
        assert "total: float" in shown


def test_a_result_is_called_like_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(monkeypatch)
    assert result()(1, least=2, timeout=3) == "the outputs"
    ((options, positional, keywords),) = recorded.calls
    assert (options.timeout, positional, keywords) == (3, (1,), {"least": 2})


def test_a_pending_run_says_why_it_does_not_pickle() -> None:
    with pytest.raises(TypeError, match="growth is still pending"):
        pickle.dumps(CodeGenEvalResult("growth", Pending()).run)


@each("kind", TYPE_NAMES)
def test_a_result_survives_json_with_any_type_of_output(kind: Any) -> None:
    options = CallOptions(timeout=9, secrets=(Secret(key="TOKEN"),), env_vars={"A": "1"}, output_dir=Path("out"))
    original = result(
        report(
            declared_outputs=(OutputSpec(name="summary.csv", type=kind),),
            history=(Attempt(number=1, code="c", tests="t", evidence=Evidence()),),
            sample_shapes={"sales": {"columns": [["'a'", "int64"]]}},
        ),
        options=options,
    )
    text = original.model_dump_json()
    again = CodeGenEvalResult.model_validate_json(text, trusted=True)
    assert again.report == original.report
    assert (again.state, again._options) == ("ready", options)
    assert again.model_dump_json() == text
    assert json.loads(text)["success"] is True
    assert original.model_dump()["name"] == "growth"


def test_a_file_from_a_stranger_gets_at_no_secret_network_folder_or_registry(tmp_path: Path) -> None:
    reaching = CallOptions(
        timeout=9,
        secrets=(Secret(key="HOME"),),
        network=True,
        output_dir=Path.home(),
        image_config=ImageConfig(registry="registry.example", registry_secret="HOME"),
    )
    original = result(options=reaching)
    original.save(tmp_path)
    for again in (
        CodeGenEvalResult.load(tmp_path),
        CodeGenEvalResult.model_validate_json(original.model_dump_json()),
    ):
        assert again._options == CallOptions(timeout=9)
    assert CodeGenEvalResult.load(tmp_path, trusted=True)._options == reaching


def test_a_strangers_file_raises_no_limit_and_lowers_any(tmp_path: Path) -> None:
    greedy = CallOptions(
        timeout=1e9,
        worker_seconds=1e9,
        retries=99,
        reuse=True,
        sandbox="local",
        resources=Resources(cpu=64, memory="900Gi"),
    )
    modest = CallOptions(timeout=9, worker_seconds=8, sandbox="docker", resources=Resources(cpu=0.5, memory="64Mi"))
    for options, held in ((greedy, CallOptions()), (modest, modest)):
        text = result(options=options).model_dump_json()
        assert CodeGenEvalResult.model_validate_json(text)._options == held
        assert CodeGenEvalResult.model_validate_json(text, trusted=True)._options == options
    endless = result(options=greedy).model_dump_json().replace("1000000000.0", "NaN")
    assert CodeGenEvalResult.model_validate_json(endless)._options == CallOptions()


@each("memory", ["inf", "nan", 10**400, "9" * 400])
def test_an_amount_of_memory_that_no_machine_has_is_refused_as_a_wrong_result(memory: int | str) -> None:
    data = json.loads(result().model_dump_json())
    data["options"]["resources"]["memory"] = memory
    with pytest.raises(InvalidRequest, match="not the JSON of a result"):
        CodeGenEvalResult.model_validate_json(json.dumps(data))


def test_a_strangers_packages_are_not_installed_before_somebody_agreed(tmp_path: Path) -> None:
    wants = result(
        report(
            detected_packages=("pandas", "evil-package", "\u202eno requirement"),
            detected_system_packages=("netcat",),
            lock=("pandas==3.0.0", "evil-package==1.0"),
        )
    )
    wants.save(tmp_path)
    loaded = CodeGenEvalResult.load(tmp_path)
    with pytest.raises(InvalidRequest, match="packages that were not approved") as caught:
        loaded.run()
    assert "evil-package, \\u202eno requirement, netcat" in str(caught.value)
    assert "trusted=True" in str(caught.value)
    for kind, path in (("script", "wants.py"), ("package", "wants")):  # what is exported is installed with its packages
        with pytest.raises(InvalidRequest, match="packages that were not approved"):
            loaded.export(tmp_path / path, kind=kind)  # type: ignore[arg-type]
        assert not (tmp_path / path).exists()
    assert loaded.report.lock == ()
    loaded.save(tmp_path / "again")
    agreed = CodeGenEvalResult.load(tmp_path / "again", trusted=True)
    assert agreed._options.withheld == ()
    assert CodeGenEvalResult.load(tmp_path, trusted=True).report.lock == wants.report.lock


def test_well_known_packages_of_a_file_need_no_yes(tmp_path: Path) -> None:
    lock = ("pandas==3.0.0", "numpy==2.0.0")
    loaded = CodeGenEvalResult.model_validate_json(
        result(report(detected_packages=("pandas",), lock=lock)).model_dump_json()
    )
    assert (loaded._options.withheld, loaded.report.lock) == ((), lock)


def test_neither_loading_nor_saving_a_result_writes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("content")
    original = result(samples={"file": File(tmp_path / "in.txt")})
    original.save(tmp_path / "saved")
    home = tmp_path / "home"
    home.mkdir()
    (home / "profile").write_text("the person's own")
    (tmp_path / "saved" / "samples" / "0.files").symlink_to(home)
    for _ in ("with the link", "and again"):
        sample = CodeGenEvalResult.load(tmp_path / "saved").original_samples["file"]
        assert Path(sample).read_text() == "content"
    (tmp_path / "saved" / "result.json").unlink()
    (tmp_path / "saved" / "result.json").symlink_to(home / "profile")
    original.save(tmp_path / "saved")
    assert {path.name: path.read_text() for path in home.iterdir()} == {"profile": "the person's own"}


@each("content", ["[]", '{"a": {}}', '{"a": 1}', "[" * 100_000], ids=["list", "empty", "number", "deep"])
def test_samples_that_say_nonsense_are_refused(content: str, tmp_path: Path) -> None:
    result(samples={"sales": pd.DataFrame({"a": [1]})}).save(tmp_path)
    (tmp_path / "samples" / "samples.json").write_text(content)
    with pytest.raises(InvalidRequest, match="cannot be read"):
        CodeGenEvalResult.load(tmp_path)


def test_an_error_survives_json() -> None:
    original = result(report(success=False), "cancelled", Cancelled("growth was cancelled.", why="A newer run."))
    again = CodeGenEvalResult.model_validate_json(original.model_dump_json())
    assert again.state == "cancelled"
    with pytest.raises(Cancelled, match="A newer run"):
        again.wait()


@each("text", ["", "[]", "{}", '{"format": 0}', '{"format": "2"}', '{"format": 1, "state": "ready"}', "\x00"])
def test_json_of_something_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="not the JSON of a result"):
        CodeGenEvalResult.model_validate_json(text)


def test_a_result_in_another_format_is_refused_although_all_else_is_right() -> None:
    record = json.loads(result(report()).model_dump_json())
    with pytest.raises(InvalidRequest) as refused:
        CodeGenEvalResult.model_validate_json(json.dumps(record | {"format": 0}))
    assert "it is not in format" in refused.value.why


def test_a_saved_result_has_its_samples_when_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("content")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_text("x")
    index = pd.DatetimeIndex(["2025-01-01", "2025-01-02"], tz="Europe/Berlin", name="day")
    sales = pd.DataFrame({"a": pd.Categorical(["x", "y"], ["y", "x"], ordered=True), "b": [1, 2]}, index=index)
    samples = {"sales": sales, "s": sales["b"], "file": File(tmp_path / "in.txt"), "dir": Dir(tmp_path / "d")}
    result(samples=samples).save(tmp_path / "saved")
    again = CodeGenEvalResult.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(again.original_samples["sales"], sales)
    pd.testing.assert_series_equal(again.original_samples["s"], sales["b"])
    assert Path(again.original_samples["file"]).read_text() == "content"
    assert (again.original_samples["dir"].path / "x").read_text() == "x"


def test_the_trace_of_an_agent_survives_saving(tmp_path: Path) -> None:
    call = ToolUse(turn=2, tool="Bash", argument="curl x", kind="denied", reason="network", outcome="denied")
    trace = Trace(calls=(call,), turns=3, max_turns=50, session="s", suite_changed=("test_a",))
    result(report(trace=trace)).save(tmp_path / "saved")
    assert CodeGenEvalResult.load(tmp_path / "saved").trace == trace
    assert result().trace is None


@pytest.mark.parametrize(
    "wrong", [{"turns": -1}, {"calls": [{"turn": 1, "tool": "Bash", "argument": "", "kind": "allowed"}]}]
)
def test_a_trace_that_no_agent_of_ours_leaves_is_refused(wrong: dict[str, Any]) -> None:
    data = json.loads(result(report(trace=Trace())).model_dump_json())
    data["trace"].update(wrong)
    with pytest.raises(InvalidRequest, match="not the JSON of a result"):
        CodeGenEvalResult.model_validate_json(json.dumps(data))


def test_saving_says_what_is_wrong_with_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a_file").write_text("")
    for place in (tmp_path / "a_file", tmp_path / "a_file" / "below", Path("/proc/nobody")):
        with pytest.raises(InvalidRequest, match=f"cannot be written to {place}") as caught:
            result(samples={"sales": pd.DataFrame({"a": [1]})}).save(place)
        assert caught.value.why and "Choose a place" in caught.value.hint


def test_loading_says_what_is_wrong_with_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no saved result"):
        CodeGenEvalResult.load(tmp_path)
    result(samples={"sales": pd.DataFrame({"a": [1, 2]})}).save(tmp_path)
    (tmp_path / "samples" / "0.bin").write_bytes(b"broken")
    with pytest.raises(InvalidRequest, match="cannot be read"):
        CodeGenEvalResult.load(tmp_path)


@each("kind", HOSTILE)
@each("name", ["result.json", "samples/samples.json", "samples/0.bin"])
def test_a_file_of_a_saved_result_that_is_no_plain_file_is_not_opened(tmp_path: Path, kind: str, name: str) -> None:
    folder, outside = tmp_path / "saved", tmp_path / "mine"
    result(samples={"sales": pd.DataFrame({"a": [1]})}).save(folder)
    (folder / name).rename(outside)  # so that reading it would work
    before = outside.read_bytes()
    HOSTILE[kind](folder / name, outside)
    with pytest.raises(InvalidRequest, match=r"it is (a link|not a regular file)|No such file"):
        CodeGenEvalResult.load(folder)
    if kind != "a folder":
        result(samples={"sales": pd.DataFrame({"a": [2]})}).save(folder)
        assert CodeGenEvalResult.load(folder).original_samples["sales"]["a"].tolist() == [2]
    assert outside.read_bytes() == before


def test_a_folder_of_a_saved_result_that_is_a_link_is_neither_read_nor_written(tmp_path: Path) -> None:
    result(samples={"sales": pd.DataFrame({"a": [1]})}).save(tmp_path / "saved")
    (tmp_path / "saved" / "samples").rename(tmp_path / "mine")
    (tmp_path / "saved" / "samples").symlink_to(tmp_path / "mine")
    before = {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    with pytest.raises(InvalidRequest, match="it is a link"):
        CodeGenEvalResult.load(tmp_path / "saved")
    with pytest.raises(InvalidRequest, match="it is a link"):
        result(samples={"sales": pd.DataFrame({"a": [2]})}).save(tmp_path / "saved")
    assert {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == before


HASHED = f" --hash=sha256:{'0' * 64}"


@each(
    "field",
    [
        {"lock": ('x==1"\n# evil = ["',)},
        {"lock": ("--index-url=https://evil.example",)},
        {"lock": (f"x==1{HASHED}\nimport os",)},
        {"declared_inputs": (InputSpec(name='x"): os.system("id")', type="int"),)},
        {"declared_inputs": (InputSpec(name="class", type="int"),)},
        {"declared_outputs": (OutputSpec(name="../../.bashrc", type="File"),)},
        {"declared_outputs": (OutputSpec(name=".bashrc", type="File"),)},
        {"declared_outputs": (OutputSpec(name="a\nb", type="File"),)},
        {"plan": CodePlan(description="", approach="", outputs=(OutputSpec(name="/etc/x", type="File"),))},
        {"detected_system_packages": ("x\nRUN id",)},
        {"conversation_history": (Exchange(stage="plan", key="k", model="m\nimport os", messages=(), answer=""),)},
        {"trace": Trace(calls=(ToolUse(turn=1, tool="Bash\x1b[2J", argument="ls", kind="safe"),))},
        {"trace": Trace(session="a\nb")},
        {"trace": Trace(suite_changed=("test_a\u202e",))},
        {"name": "growth\nimport os"},
        {"name": "growth\u202e"},
        {"run_id": "\x1b[2J"},
    ],
)
def test_a_field_that_no_result_of_ours_holds_is_refused(field: dict[str, Any]) -> None:
    text = result(report(**field)).model_dump_json()
    for trusted in (False, True):
        with pytest.raises(InvalidRequest, match="not the JSON of a result") as caught:
            CodeGenEvalResult.model_validate_json(text, trusted=trusted)
        assert "\n" not in caught.value.why and "\x1b" not in caught.value.why and "\u202e" not in caught.value.why


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "9" * 5_000 + "}", '{"a":' * 500 + "1" + "}" * 500])
def test_json_that_is_made_to_break_its_reader_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="not the JSON of a result"):
        CodeGenEvalResult.model_validate_json(text)


def test_a_sample_that_cannot_be_saved_unchanged_is_refused_by_name(tmp_path: Path) -> None:
    odd = pd.DataFrame({"a": [object()], "b": [1]})
    with pytest.warns(UserWarning, match="The sample sales is saved without column 'a'"):
        result(samples={"sales": odd}).save(tmp_path)
    assert list(CodeGenEvalResult.load(tmp_path).original_samples["sales"]) == ["b"]
    with pytest.raises(UnsupportedData, match="sales"):
        result(samples={"sales": pd.DataFrame({"a": [object()]})}).save(tmp_path)


def test_a_resolved_result_pickles_and_copies() -> None:
    original = result(samples={"sales": pd.DataFrame({"a": [1]})}, options=CallOptions(timeout=9))
    for again in (pickle.loads(pickle.dumps(original)), copy.deepcopy(original), copy.copy(original)):
        assert again.report == original.report
        assert again._options == original._options
        pd.testing.assert_frame_equal(again.original_samples["sales"], original.original_samples["sales"])
    broken = result(report(success=False), "failed", AuthenticationFailed("No key.", hint="Set it."))
    with pytest.raises(AuthenticationFailed, match="Set it"):
        pickle.loads(pickle.dumps(broken)).wait()


def test_a_pending_result_does_not_pickle() -> None:
    with pytest.raises(TypeError, match="still pending"):
        pickle.dumps(CodeGenEvalResult("growth", Pending()))


async def _awaited(waiting: CodeGenEvalResult) -> CodeGenEvalResult:
    return await waiting
