"""Every function that reads what comes from outside, with the input that takes it the longest.

`test_readers.py` measures each, and compares the list with what a search of the package finds. A new reader therefore
needs a line here: as a `Reader`, or under `ELSEWHERE` with the reason why it has none.
"""

from __future__ import annotations

import contextlib
import functools
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.agent import rules
from autocoder_jupyter.agent.arguments import _expressions
from autocoder_jupyter.agent.rules import rule_files, with_rules
from autocoder_jupyter.codec.pictures import png_size
from autocoder_jupyter.codemode import values as codemode_values
from autocoder_jupyter.codemode.conversation import read_answer
from autocoder_jupyter.codemode.interpreter import runnable
from autocoder_jupyter.codemode.journal import ConversationJournal
from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.data.files import describe_file
from autocoder_jupyter.data.readers import read_table
from autocoder_jupyter.data.table_formats import opened_table
from autocoder_jupyter.data.workbooks import require_moderate
from autocoder_jupyter.display.charts import specification
from autocoder_jupyter.display.inspector import document
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.engine import acceptance, tests
from autocoder_jupyter.engine.evidence.code_numbers import (
    code_with,
    counts_rows,
    largest_number,
    numbers_in,
    small_numbers,
    with_small_products,
)
from autocoder_jupyter.engine.evidence.conditions import _below, may_remember, reads
from autocoder_jupyter.engine.evidence.examiner import is_general, raised_in
from autocoder_jupyter.engine.evidence.losses import _written, losses, never_read
from autocoder_jupyter.engine.evidence.mutants import LONGEST_CODE, mutants, row_count_mutants
from autocoder_jupyter.engine.evidence.pace import may_be_slow
from autocoder_jupyter.engine.evidence.plants import words_in
from autocoder_jupyter.engine.evidence.properties import TriedProperty, _properties, added_as_test
from autocoder_jupyter.engine.evidence.row_steps import Place, instrumented
from autocoder_jupyter.engine.evidence.second_writer import askable, read_second
from autocoder_jupyter.engine.evidence.small_inputs import SmallInput
from autocoder_jupyter.engine.evidence.solution_worker import SolutionStopped
from autocoder_jupyter.engine.evidence.ways import watched, way_of
from autocoder_jupyter.engine.first_answer import docstring_in, plan_in, read_docstring, without_plan
from autocoder_jupyter.engine.journal import Journal, conversation, sent_record
from autocoder_jupyter.engine.packages import imported_modules
from autocoder_jupyter.engine.probes import DescribedValue, probes_in, reply_of, tables_used
from autocoder_jupyter.engine.prompt import Brief, interface_problem, without_entry
from autocoder_jupyter.engine.queries import queries_of
from autocoder_jupyter.engine.repair import excerpt, replace_tests
from autocoder_jupyter.engine.run_folder import RunFolder
from autocoder_jupyter.engine.sample_run import checks_of
from autocoder_jupyter.engine.start import _with_default, tests_problem
from autocoder_jupyter.engine.tests import read_suite, with_tests
from autocoder_jupyter.engines.claude.suite_watch import SuiteWatch
from autocoder_jupyter.engines.claude.wire import EventReader, Message
from autocoder_jupyter.engines.staged.writer import add_imports, apply_edits, changed_in_substance
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.evaluate.trial import read_tasks
from autocoder_jupyter.jobs.code_job import load_record
from autocoder_jupyter.kinds.table import KINDS, elements_of
from autocoder_jupyter.kinds.values import Kind
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.magics.settings import read_project
from autocoder_jupyter.models.answers import extract_code, read_record
from autocoder_jupyter.models.catalogue import read_models
from autocoder_jupyter.models.thoughts import without_thoughts
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.request import Request
from autocoder_jupyter.result import storage
from autocoder_jupyter.sandbox.environments.locking import _read_lock, read_pylock
from autocoder_jupyter.sandbox.environments.uv import folder_indexes
from autocoder_jupyter.sandbox.host.exchange import Malformed, _parse
from autocoder_jupyter.sandbox.host.testing import sentences
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.tasks.command_line import entered
from autocoder_jupyter.tasks.export import insertable, renamed, tests_for, with_module_renamed
from autocoder_jupyter.types import CodePlan, CodeSolution, Edit, Exchange, InputSpec, OutputSpec, Report
from autocoder_jupyter.untrusted import parsing, plain_json, plain_toml
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.versions import verification
from autocoder_jupyter.versions.edits import TopFiles, edit_of
from autocoder_jupyter.versions.lost_edits import _merged
from autocoder_jupyter.versions.report_check import check_report
from autocoder_jupyter.versions.store import Choice, Version, Versions
from autocoder_jupyter.view import source
from autocoder_jupyter.view.source import side_by_side
from tests.readers import hostile

Input = Callable[[], str]


@dataclass(frozen=True)
class Reader:
    """One way from outside into the package.

    Args:
        read: reads a text. It may use an empty folder. It may refuse the text with one of `REFUSALS`.
        inputs: the hostile texts by name.
        functions: `module:function` of the functions that parse there, as `search` finds them.
    """

    read: Callable[[str, Path], object]
    inputs: Mapping[str, Input]
    functions: tuple[str, ...]


REFUSALS = (ValueError, SyntaxError, AutocodeError, OSError, Malformed)


def _json(*names: str) -> dict[str, Input]:
    return {name: functools.partial(hostile.json_of, name) for name in names or hostile.JSON}


def _examined(text: str, _: Path) -> object:
    """A verified function is examined."""
    part = text[:LONGEST_CODE].rpartition("\n")[0]
    return (
        reads(text),
        may_remember(text),
        may_be_slow(text),
        largest_number(text),
        raised_in(text),
        is_general(text, ()),
        mutants(text, ["a"]),
        row_count_mutants(text),
        mutants(part, ["a"]),
        row_count_mutants(part),
        instrumented(text),
        instrumented(part),
        list(never_read(text)),
        _written(text),
        _below(Program(text, (), ()), "pass"),
    )


def _way_of(text: str) -> object:
    try:
        return way_of(text)
    except SolutionStopped as error:
        raise ValueError(str(error)) from None


def _losses(text: str) -> object:
    found = {"notes": json.loads(text), "aggregated": 0, "filtered": 0}
    return losses(found, [Place(1, "==", of="a")], "def run(a): return a", ["A sentence."], [], {}, str)


def _sources(*names: str) -> dict[str, Input]:
    inputs: dict[str, Input] = {
        name: functools.partial(hostile.source_of, name, readable=True) for name in names or hostile.SOURCES
    }
    return {**inputs, "megabytes": lambda: hostile.source_of("names", readable=False)}


def _as_text(text: str, *around: str) -> str:
    """A JSON object whose texts are long."""
    before, after = around
    return f"{before}{json.dumps(text)}{after}"


def _file(path: str, read: Callable[[Path], object]) -> Callable[[str, Path], object]:
    def written_and_read(text: str, folder: Path) -> object:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return read(folder)

    return written_and_read


def _workbook(part: Path, name: str, read: Callable[[Path], object]) -> None:
    """Read a workbook with this part."""
    archive = part.with_name("archive.xlsx")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as parts:
        parts.write(part, name)
    read(archive)


PLAN = CodePlan(
    description="d",
    approach="a",
    inputs=(InputSpec(name="sales", type="DataFrame"),),
    outputs=(OutputSpec(name="total", type="float"),),
)
REPORT = Report(name="growth", run_id="r1", prompt="p", success=True, solution=CodeSolution(code="x = 1"), plan=PLAN)
EXCHANGE = Exchange(stage="code", key="k", model="m", messages=({"role": "user", "content": "q"},), answer="a")


def _report_with(field: str, value: str) -> str:
    """The JSON of a report with a field of megabytes. `value` is JSON."""
    record = REPORT.model_dump(mode="json") | {field: "HERE"}
    return json.dumps(record).replace('"HERE"', value)


_ATTEMPT = '{"number":1,"code":"x","tests":"y","evidence":{}}'
_STEP = '{"kind":"stage","name":"code","seconds":1}'
_OUTCOME = '{"id":"test_a","outcome":"passed"}'


def _many(record: str, most: int = 500_000) -> str:
    return "[" + ",".join([record] * (most // len(record))) + "]"


REPORTS: dict[str, Input] = {
    "a report with very long code": lambda: _report_with("solution", _as_text("a = 1\n" * 400_000, '{"code":', "}")),
    "a report with very long tests": lambda: _report_with("tests", json.dumps("def test_a(): pass\n" * 125_000)),
    "a report with dense code": lambda: _report_with("solution", _as_text("a;" * 200_000, '{"code":', "}")),
    "a report of many attempts": lambda: _report_with("history", _many(_ATTEMPT)),
    "a report of many steps": lambda: _report_with("timeline", _many(_STEP)),
    "a report of many outcomes": lambda: _report_with("evidence", f'{{"tests":{_many(_OUTCOME)}}}'),
    "a report of many wishes": lambda: _report_with("wishes", _many('"wish"')),
    "a report with a long prompt": lambda: _report_with("prompt", json.dumps("prompt " * 350_000)),
    "a report with long output": lambda: _report_with("output", json.dumps("\x1b[/a" * 250_000)),
    "a report of many schemas": lambda: _report_with(
        "sample_schemas", "{" + ",".join(f'"s{n}":{{"a":1}}' for n in range(50_000)) + "}"
    ),
    "a report with a long lock": lambda: _report_with("lock", _many('"pandas==1.0"')),
}


def _saved(text: str) -> object:
    record = json.loads(text) | {"format": storage.FORMAT, "state": "ready", "exception": None, "options": {}}
    return storage.from_json(json.dumps(record))


def _shown(text: str, _: Path) -> None:
    """A report from a file, and everything that is shown of it."""
    report = Report.model_validate(plain_json.parse(text))
    check_report(report)
    subject = Subject(report, "ready")
    document.render_html(subject)
    document.render_text(subject)


def _exchange_with(field: str, value: str) -> str:
    record = {"kind": "exchange", "exchange": EXCHANGE.model_dump(mode="json") | {field: "HERE"}}
    return json.dumps(record).replace('"HERE"', value) + "\n"


JOURNALS: dict[str, Input] = {
    "many exchanges": lambda: _exchange_with("answer", '"a"') * 10_000,
    "many empty records": lambda: "{}\n" * 800_000,
    "an exchange of many messages": lambda: _exchange_with("messages", _many('{"role":"user"}', 2_500_000)),
    "a long answer": lambda: _exchange_with("answer", json.dumps("a\n" * 1_500_000)),
    "numbers": lambda: hostile.json_of("numbers", 4_000_000) + "\n",
    "deep": lambda: hostile.json_of("brackets", 4_000_000) + "\n",
    "colliding outcomes": lambda: (
        json.dumps(
            {
                "kind": "outcome",
                "key": "k",
                "value": {"$type": "set", "value": [n * (2**61 - 1) for n in range(60_000)]},
            }
        )
        + "\n"
    ),
}


def _journal(folder: Path) -> None:
    journal = Journal(folder / ".autocode", "growth")
    journal.begin("r1")
    conversation(folder / ".autocode", "growth", "r1")


def _versions(folder: Path) -> None:
    versions = Versions(folder / ".autocode", "growth")
    for version in versions.all():
        verification.shown(versions, version)
        verification.without_others_evidence(versions, version)
    versions.chosen("k")
    files = RunFolder(folder / ".autocode", "growth", "r1")
    files.holds_report()
    files.holds_json("report.json")


def _events(text: str, _: Path) -> None:
    """The stream of a service in small pieces."""
    reader = EventReader()
    data = text.encode()
    for start in range(0, len(data), 16_384):
        for _event in reader.feed(data[start : start + 16_384]):
            pass


def _tool_call(text: str, _: Path) -> None:
    """The arguments of a tool call, as a service streams them."""
    message = Message()
    message.take({"type": "content_block_start", "content_block": {"type": "tool_use"}})
    for start in range(0, len(text), 100):
        delta = {"type": "input_json_delta", "partial_json": text[start : start + 100]}
        message.take({"type": "content_block_delta", "delta": delta})
    message.take({"type": "content_block_stop"})


def _tests_read(text: str, _: Path) -> None:
    names = list(read_suite(text).ids)
    with_tests(read_suite(text), "def test_more(): assert run() == 1\n")
    excerpt(text, names[:1])
    tests.without_tests(text, names[:1])
    named = read_suite(f"{text}\n\n\ndef property_of_all(x):\n    return x > 0\n")
    for found in _properties(named.source, {"x"}):
        small = SmallInput({}, "x = 1", is_synthetic=True)
        added_as_test(named, TriedProperty(found, on="on the sample", tables={}), small, PLAN)
    tests.with_earlier_outputs(text, (OutputSpec(name="before", type="int"),), PLAN.outputs)
    tests.with_earlier_defaults(text, (InputSpec(name="a", type="int", required=False, default=1),), {"a"})
    for name in names[:1]:
        tests.same_test(text, text, name)
        replace_tests(text, {name: f"def {name}(): assert run() == 1"})
    tests_problem(text)
    sentences(text)


def _joined(text: str, _: Path) -> None:
    tests.joined(text, "def test_other(): pass")
    tests.joined("def test_other(): pass", text)
    tests.joined("def test_a(): pass", "def test_a(): pass\n" * text.count("def ", 0, 100_000))


def _second_read(text: str, _: Path) -> None:
    with contextlib.suppress(SyntaxError):
        askable({PLAN.outputs[0].name: (["a"], ["b"])}, Brief(Request(name="r", prompt="p"), PLAN, ""), text)
    read_second(text, ())


def _own_tests(text: str, _: Path) -> None:
    with contextlib.suppress(AutocodeError):
        acceptance.check_own_tests(text, "growth")
    acceptance.own_module(text, "growth", PLAN)
    acceptance.names_in(text)


def _watched(text: str, _: Path) -> None:
    watch = SuiteWatch()
    watch.take(text)
    watch.see(text + "\n")


def _edited(text: str, _: Path) -> None:
    apply_edits(text, [Edit(find="no such text", replace="a")])


def _opened(text: str, folder: Path) -> None:
    """A user's edit of the files of a version."""
    home = folder / ".autocode" / "growth" / "r1"
    home.mkdir(parents=True)
    (home / "solution.py").write_text(text, "utf-8")
    edit = edit_of(Versions(folder / ".autocode", "growth"), Version("r1", 1, REPORT))
    if edit is not None:
        interface_problem(edit.code, PLAN)
        _with_default(edit.code, "sales", "1")


def _named_at_the_top(folder: Path) -> object:
    return TopFiles(Versions(folder / ".autocode", "growth")).named()


def _ruled(folder: Path) -> None:
    request = with_rules(Request("growth", "Do it."), rule_files(folder))
    checks_of(request, CodePlan(description="", approach=""))


def _example(text: str, _: Path) -> None:
    parse_cell(f"growth --example '@sales -> {text}'", "Do it.")


def _redacted(text: str, _: Path) -> None:
    Redaction("stats", text)._own_classes  # noqa: B018


def _pylock(folder: Path) -> None:
    read_pylock(folder / "pylock.toml", (3, 12))


READERS: dict[str, Reader] = {
    "JSON": Reader(lambda text, _: plain_json.parse(text.encode()), _json(), ("untrusted.plain_json:parse",)),
    "TOML": Reader(lambda text, _: plain_toml.parse(text), hostile.TOML, ("untrusted.plain_toml:parse",)),
    "Python": Reader(lambda text, _: parsing.parse(text), _sources(), ("untrusted.parsing:parse",)),
    "an expression": Reader(
        lambda text, _: (parsing.require_expression(text), parsing.parse_expression(text)),
        _sources("lambdas", "literals", "names that are normalized", "operators"),
        ("untrusted.parsing:parse_expression",),
    ),
    # Files of a folder
    "a report in a folder": Reader(
        _file(".autocode/growth/r1/report.json", _versions),
        {**REPORTS, **_json("empty lists, as many as are read", "keys", "texts")},
        (
            "versions.store:Versions.all",
            "versions.store:_can_be_read",
            "versions.verification:_with_found",
            "versions.verification:_found",
            "engine.run_folder:RunFolder.holds_report",
            "engine.run_folder:RunFolder.holds_json",
        ),
    ),
    "a report that is shown": Reader(_shown, REPORTS, ("view.source:unified",)),
    "a saved result": Reader(
        lambda text, _: _saved(text),
        REPORTS,
        ("result.storage:from_json", "result.handle:CodeGenEvalResult.model_validate_json"),
    ),
    "a folder with a saved result": Reader(
        _file("result.json", lambda folder: (storage._require_replaceable(Folder(folder)), storage.load(folder))),
        _json("numbers", "keys", "brackets"),
        (
            "result.storage:_require_replaceable",
            "result.storage:load",
            "result.storage:_samples",
            "result.handle:CodeGenEvalResult.load",
        ),
    ),
    "a folder of tasks": Reader(
        _file("one/task.json", lambda folder: read_tasks(folder)),
        _json("numbers", "keys", "brackets"),
        ("evaluate.trial:_read", "evaluate.trial:_read.case"),
    ),
    "a request in a folder": Reader(
        _file(
            ".autocode/growth/r1/request.json", lambda folder: Versions(folder / ".autocode", "growth").request("r1")
        ),
        _json("numbers", "keys", "brackets"),
        ("versions.store:Versions.request", "versions.request_fields:_specs", "versions.request_fields:<module>"),
    ),
    "which version has a file": Reader(
        _file(
            ".autocode/growth/versions/r1/same.json",
            lambda folder: Versions(folder / ".autocode", "growth").request("r1"),
        ),
        _json("numbers", "keys", "brackets"),
        ("versions.store:_same", "versions.store:store_once", "versions.store:release"),
    ),
    "which version the files at the top show": Reader(
        _file(
            ".autocode/growth/function.toml", lambda folder: TopFiles(Versions(folder / ".autocode", "growth")).named()
        ),
        {"versions": lambda: 'version = "a"\n' * 250_000, "one line": lambda: 'version = "' + "a" * 3_000_000},
        ("versions.edits:TopFiles.named", "versions.edits:TopFiles._toml_text"),
    ),
    "models of a server on this machine": Reader(
        lambda text, _: read_models(b"HTTP/1.1 200 OK\r\n\r\n" + text.encode()),
        {
            **_json("numbers", "keys", "brackets"),
            "models": lambda: '{"data":' + _many('{"id":"a"}', 1_000_000) + "}",
        },
        ("models.catalogue:read_models",),
    ),
    "what was sent": Reader(
        _file(".autocode/growth/r1/sent.json", lambda folder: sent_record(folder / ".autocode", "growth", "r1")),
        {
            **_json("numbers", "keys", "texts"),
            "requests": lambda: '{"requests":' + hostile.json_of("numbers") + "}",
            "masked": lambda: '{"masked":' + hostile.json_of("keys") + "}",
        },
        ("engine.journal:sent_record",),
    ),
    "a journal": Reader(
        _file(".autocode/growth/r1/journal.jsonl", _journal),
        JOURNALS,
        (
            "engine.journal:RunJournal._open",
            "engine.journal:RunJournal._remember",
            "engine.journal:conversation",
            "engine.journal:recorded_lines",
            "engine.journal:entry_of",
            "untrusted.folder:Folder.lines",
            "untrusted.folder:_skip_line",
        ),
    ),
    "a journal of code mode": Reader(
        _file(
            f".autocode/growth/tools-1/{ConversationJournal.FILE}",
            lambda folder: ConversationJournal(folder / ".autocode", "growth").begin("tools-1", alone=False),
        ),
        JOURNALS,
        (
            "codemode.journal:ConversationJournal._remember",
            "codemode.journal:_outcome",
        ),
    ),
    "a recorded value of a tool": Reader(
        lambda text, _: codemode_values.decode(plain_json.parse(text)),
        {
            **_json("colliding numbers of a recorded set", "keys"),
            "colliding numbers of a recorded dict": lambda: json.dumps(
                {"$type": "dict", "value": [[n * (2**61 - 1), 0] for n in range(150_000)]}
            ),
            "colliding floats": lambda: json.dumps(
                {"$type": "set", "value": [complex_of_hash_zero(n) for n in range(100_000)]}
            ),
            "tuples": lambda: json.dumps(
                {"$type": "set", "value": [{"$type": "tuple", "value": [n * (2**61 - 1), 1]} for n in range(100_000)]}
            ),
            "decimals": lambda: json.dumps(
                {"$type": "set", "value": [_typed("Decimal", str(n * (2**61 - 1))) for n in range(100_000)]}
            ),
        },
        ("codemode.values:decode", "codemode.values:_decoded", "codemode.values:<module>"),
    ),
    "a conversation to continue": Reader(
        _file(".autocode/growth/conversation.json", lambda folder: load_record(folder / ".autocode", "growth")),
        {
            **_json("numbers", "keys", "brackets"),
            "many messages": lambda: '{"history":' + _many('{"role":"user","content":"a"}', 4_500_000) + "}",
        },
        ("jobs.code_job:load_record",),
    ),
    "the choice of a version": Reader(
        _file(
            ".autocode/growth/choice.json",
            lambda folder: Choice.read(Folder(folder), ".autocode/growth"),
        ),
        _json("numbers", "keys"),
        ("versions.store:Choice.read",),
    ),
    "a cached lock": Reader(
        _file("lock.json", lambda folder: _read_lock(folder / "lock.json")),
        _json("texts", "numbers"),
        ("sandbox.environments.locking:_read_lock",),
    ),
    "pyproject.toml": Reader(
        _file("pyproject.toml", lambda folder: read_project(folder)), hostile.TOML, ("magics.settings:_read",)
    ),
    "house rules": Reader(
        _file("autocode.md", _ruled),
        {
            "headings": lambda: "# a\nb\n" * (rules.MOST_BYTES // 7),
            "blanks in headings": lambda: f"# {' #' * (rules.MOST_BYTES // 2 - 9)}x\nb",
            "names": lambda: "`a` " * (rules.MOST_BYTES // 4),
            "blanks before checks": lambda: f"a\n{' ' * (rules.MOST_BYTES - 99)}- check: a",
            "a check": lambda: f"check: {'(' * (rules.MOST_BYTES - 99)}",
            "more than is read": lambda: "a" * hostile.BYTES,
        },
        ("agent.rules:_read", "agent.rules:rules_about", "engine.sample_run:checks_of"),
    ),
    "the indexes of a folder": Reader(
        _file("uv.toml", lambda folder: folder_indexes(folder)),
        hostile.TOML,
        ("sandbox.environments.uv:_indexes_in", "sandbox.environments.uv:_read_indexes"),
    ),
    "pylock.toml": Reader(
        _file("pylock.toml", _pylock),
        hostile.TOML,
        ("sandbox.environments.locking:read_pylock", "untrusted.folder:Folder.read_text"),
    ),
    "code that a user edited": Reader(
        _opened,
        _sources("names", "imports", "brackets"),
        ("versions.store:read_source", "engine.prompt:interface_problem", "engine.start:_with_default"),
    ),
    "code that queries a database": Reader(
        lambda text, _: queries_of(text, ["a"]),
        _sources("names", "imports", "brackets"),
        ("engine.queries:queries_of",),
    ),
    "a file with data": Reader(
        _file("data.json", lambda folder: describe_file(folder / "data.json")),
        _json("empty lists", "numbers", "keys", "texts", "brackets", "long numbers", "a number without end"),
        (
            "data.files:_describe_json",
            "data.files:_describe_json_lines",
            "data.files:_looks_like_json_lines",
            "data.files:_describe_text",
            "data.dialects:lines_of",
            "data.dialects:count_records",
        ),
    ),
    "a file with lines of JSON": Reader(
        _file("data.jsonl", lambda folder: describe_file(folder / "data.jsonl")),
        {
            "two long lines": lambda: (hostile.json_of("keys", 2_500_000) + "\n") * 2,
            "short lines": lambda: '{"a":1}\n' * 600_000,
            "empty lists": lambda: (hostile.json_of("empty lists", 450_000) + "\n") * 11,
        },
        (),
    ),
    "a file with text": Reader(
        _file("data.txt", lambda folder: describe_file(folder / "data.txt")),
        {
            "one line": lambda: "a" * hostile.BYTES,
            "commas": lambda: "," * hostile.BYTES,
            "quotes": lambda: '"' * hostile.BYTES,
            "tabs": lambda: "1\t2\n" * 1_250_000,
        },
        ("data.dialects:_records", "data.files:_describe_delimited", "data.files:_describe_plain"),
    ),
    "a table in JSON": Reader(
        _file("data.json", lambda folder: read_table("sales", folder / "data.json", None)),
        {
            **_json(),
            "rows": lambda: "[" + '{"price":1,"day":"2024-01-31"},' * 150_000 + "{}]",
            "short rows": lambda: "[" + '{"a":1},' * 300_000 + "{}]",
            "a column of each row": lambda: "[" + ",".join(f'{{"{number}":1}}' for number in range(350_000)) + "]",
            "a column": lambda: '{"a":[' + "1," * 1_200_000 + "1]}",
            "a column of two kinds": lambda: '{"a":[' + "1,null," * 350_000 + '"x"]}',
            "columns by row": lambda: '{"a":{' + ",".join(f'"{number}":1' for number in range(200_000)) + "}}",
            "columns of other rows": lambda: (
                "{" + ",".join(f'"{number}":{{"{number}":1}}' for number in range(200_000)) + "}"
            ),
            "lists in lists": lambda: "[" + "[[1],[2]]," * 225_000 + "[]]",
        },
        ("data.json_tables:read_json",),
    ),
    "a table in lines of JSON": Reader(
        _file("data.jsonl", lambda folder: read_table("sales", folder / "data.jsonl", None)),
        {
            "rows": lambda: '{"price":1,"day":"2024-01-31"}\n' * 150_000,
            "short lines": lambda: "1\n" * 2_500_000,
            "one line": lambda: hostile.json_of("keys") + "\n",
            "empty lines": lambda: "\n" * 5_000_000,
        },
        ("data.json_tables:_of_lines",),
    ),
    "the description of a table of Iceberg": Reader(
        _file("metadata/v1.metadata.json", lambda folder: opened_table(folder)),
        {
            **_json(),
            "properties": lambda: '{"format-version":2,"properties":{' + '"a":"b",' * 400_000 + '"a":"b"}}',
            "snapshots": lambda: '{"format-version":2,"snapshots":[' + '{"snapshot-id":1},' * 39_000 + "{}]}",
        },
        ("data.table_formats:_iceberg",),
    ),
    "the sheets of a workbook": Reader(
        _file("workbook.xml", lambda folder: _workbook(folder / "workbook.xml", "xl/workbook.xml", describe_file)),
        {
            "beginnings": lambda: "<sheet " * 150_000,
            "names": lambda: "<sheet " + "name=" * 100_000,
            "no end": lambda: '<sheet name="' + "a" * hostile.BYTES,
        },
        ("data.files:_describe_zip",),
    ),
    "the sheet of a workbook": Reader(
        _file("sheet.xml", lambda folder: _workbook(folder / "sheet.xml", "xl/worksheets/s.xml", require_moderate)),
        {
            "rows": lambda: f"<a>{'<row/>' * 400_000}</a>",
            "cells": lambda: f"<a><row>{'<c/>' * 600_000}</row></a>",
            "names": lambda: "<a " + " ".join(f"a{number}='1'" for number in range(350_000)) + "/>",
            "nested": lambda: "<a>" * 800_000,
            "one text": lambda: f"<a>{'a' * hostile.BYTES}</a>",
            "entities": lambda: "<!DOCTYPE a [<!ENTITY b '" + "b" * 2_500_000 + "'>]><a>" + "&b;" * 500_000 + "</a>",
        },
        ("data.workbooks:require_moderate", "data.workbooks:_SizeOfPart.__init__"),
    ),
    # Answers of a model
    "code in an answer": Reader(
        lambda text, _: extract_code(text, must_define="run"),
        _sources(),
        ("models.answers:_parses", "models.answers:defines", "models.answers:_rank", "models.answers:_code_complaint"),
    ),
    "thoughts in an answer": Reader(
        lambda text, _: without_thoughts(text),
        {
            text: functools.partial(hostile.repeated, text)
            for text in (
                "\n",
                "<",
                "<think>\n",
                "</think>\n",
                "a\n```\n",
                "<|channel|>final",
                "<|end|>" + "a" * 90,
                "[" * 9 + " ",
            )
        },
        (),
    ),
    "the plan in an answer": Reader(
        lambda text, _: (docstring_in(text), read_docstring(text), plan_in(text, ""), without_plan("x = 1")),
        {
            "openings": lambda: '"""\n' * 1_000_000,
            "no end": lambda: '"""' + "a\n" * 2_000_000,
            "outputs": lambda: "Outputs:\n" + "- a: b, c\n" * 500_000,
            "brackets": lambda: "Outputs:\n- a: " + "[," * 2_000_000,
            "parentheses": lambda: "Outputs:\n- " + "a(" * 2_000_000,
            "one item": lambda: "Assumptions:\n- a\n" + "b\n" * 2_000_000,
            "defaults": lambda: "Parameters:\n" + "- a (list = " + "[" * 2_000_000,
            "choices": lambda: "Questions:\n- " + "[a|" * 1_000_000,
        },
        (
            "engine.first_answer:_value",
            "engine.first_answer:plan_in",
            "engine.first_answer:without_plan",
        ),
    ),
    "a record in an answer": Reader(
        lambda text, _: read_record(text, CodePlan),
        {
            **_json(),
            "python dicts": lambda: "{" + "'a': 1, " * 500_000 + "}",
            "colliding python dicts": lambda: "{" + ",".join(f"{n * (2**61 - 1)}:1" for n in range(200_000)) + "}",
        },
        ("models.answers:_validated", "models.answers:_decoded", "models.answers:_python_dict"),
    ),
    "a stream of events": Reader(
        _events,
        {
            "one event": lambda: "data: " + hostile.json_of("numbers", 1_500_000) + "\n",
            "brackets": lambda: "data: " + hostile.json_of("brackets") + "\n",
            "small events": lambda: 'data: {"type":"ping"}\n' * 225_000,
            "empty lists": lambda: "data: " + hostile.json_of("empty lists") + "\n",
            "no line end": lambda: "data: " * 800_000,
        },
        ("engines.claude.wire:EventReader.feed",),
    ),
    "arguments of a tool call": Reader(
        _tool_call,
        _json("empty lists", "keys", "brackets", "a text with escapes"),
        ("engines.claude.wire:_tool_input",),
    ),
    "an answer of code mode": Reader(
        lambda text, _: runnable(getattr(read_answer(text), "source", text), ("price",)),
        {**_sources("names", "fences and code", "brackets"), "fences": lambda: hostile.repeated("```\n")},
        ("codemode.interpreter:runnable",),
    ),
    "edits of code": Reader(_edited, _sources("names", "functions", "imports"), ("engines.staged.writer:apply_edits",)),
    "imports of an edit": Reader(
        lambda text, _: add_imports(text, ["import json"]),
        _sources("names", "imports"),
        ("engines.staged.writer:add_imports",),
    ),
    "a second solution": Reader(
        _second_read,
        {
            **_sources("names", "functions"),
            "colliding outputs": lambda: (
                "def run(): pass\nOUTPUTS = {" + ",".join(f"{n * (2**61 - 1)}:1" for n in range(10_000)) + "}"
            ),
        },
        (
            "engine.evidence.second_writer:read_second",
            "engine.evidence.second_writer:_outputs",
            "engine.evidence.second_writer:askable",
        ),
    ),
    # Code and tests
    "tests": Reader(
        _tests_read,
        _sources("tests", "functions", "classes", "names"),
        (
            "engine.tests:read_suite",
            "engine.tests:read_suites",
            "engine.tests:suite_problem",
            "engine.tests:with_tests",
            "engine.start:tests_problem",
            "engine.tests:without_tests",
            "engine.evidence.properties:_properties",
            "engine.evidence.properties:added_as_test",
            "engine.tests:_with_wrapper",
            "engine.tests:_body_of",
            "engine.repair:replace_tests",
            "engine.repair:excerpt",
            "engine.repair:_function_lines",
            "engine.fault_attribution:FaultAttribution.rederive",
            "sandbox.host.testing:sentences",
        ),
    ),
    "tests of two versions": Reader(
        _joined,
        _sources("tests", "functions", "names"),
        ("engine.tests:joined", "engine.tests:_without_future", "engine.tests:_with_free_names"),
    ),
    "own tests of a cell": Reader(
        _own_tests,
        _sources("tests", "lambdas", "names", "names that are normalized"),
        (
            "engine.acceptance:check_own_tests",
            "engine.acceptance:_free_names",
            "engine.acceptance:names_in",
            "engine.acceptance:own_module",
            "magics.own_tests:_count",
        ),
    ),
    "tests that an agent changes": Reader(
        _watched, _sources("tests", "names", "functions"), ("engines.claude.suite_watch:_parts",)
    ),
    "the end of a module": Reader(
        lambda text, _: without_entry(text),
        {**_sources("names"), "conditions": lambda: 'if __name__ == "__main__": pass\n' * 2_500},
        ("engine.prompt:without_entry",),
    ),
    "imports": Reader(
        lambda text, _: imported_modules(text), _sources("imports", "names"), ("engine.packages:imported_modules",)
    ),
    "code that is changed to try the tests": Reader(
        _examined,
        {
            **_sources("names", "functions", "f-strings"),
            "calls of calls": lambda: "x = a" + ".agg('sum')" * 1_900,
            "conditions": lambda: "x = len(a) > 400\n" * 1_000,
            "masks": lambda: "m = a > 1\n" + "b[m] = b[m].dropna().sum(skipna=True)\n" * 500,
            "dates": lambda: "x = '2024-01-01'\n" * 1_000,
            "queries": lambda: "x = a.query('b > 1 and c[d[e]]')\n" * 600,
            "brackets": lambda: f"x = {'a[b & c, ' * 190}1{']' * 190}\n",
            "brackets of brackets": lambda: f"x = a{'[b > 1]' * 1_900}\n",
        },
        (
            "engine.evidence.losses:never_read",
            "engine.evidence.losses:_written",
            "engine.evidence.row_steps:instrumented",
            "engine.evidence.row_steps:_parsed",
            "engine.evidence.mutants:mutants",
            "engine.evidence.mutants:row_count_mutants",
            "engine.evidence.mutants:_dates",
            "engine.evidence.conditions:reads",
            "engine.evidence.conditions:_below",
            "engine.evidence.conditions:may_remember",
            "engine.evidence.pace:may_be_slow",
            "engine.evidence.code_numbers:numbers_in",
            "engine.evidence.examiner:raised_in",
            "engine.evidence.examiner:is_general",
        ),
    ),
    "conditions in code": Reader(
        lambda text, _: (watched(Program(text, PLAN.inputs, PLAN.outputs), ["sales"]), words_in(text)),
        {
            **_sources("names", "functions", "f-strings"),
            "conditions": lambda: "if sales.any(): pass\n" * 900,
            "names after each other": lambda: "".join(f"a{n + 1} = a{n}\n" for n in range(1_400)),
            "names before each other": lambda: "".join(f"a{n} = a{n + 1}\n" for n in range(1_400)),
        },
        ("engine.evidence.ways:watched", "engine.evidence.plants:words_in"),
    ),
    "probes of an answer": Reader(
        lambda text, _: (probes_in(text), probes_in(f"```probe\n{text}"), tables_used(text, ["sales"])),
        _sources("names", "functions"),
        ("engine.probes:tables_used",),
    ),
    "results of probes": Reader(
        lambda text, _: DescribedValue.read(reply_of(text)), _json(), ("engine.probes:reply_of",)
    ),
    "what a run has lost": Reader(
        lambda text, _: _losses(text),
        {
            "words": lambda: json.dumps([["words", 0, True, "a", ["b" * 60], 1, [["b," * 30, 1, True]] * 100]] * 100),
            "texts": lambda: json.dumps([["parse", 0, True, 9, 9, [f"{n}/{n}/20{n:02}" for n in range(100)]]] * 100),
            "dates": lambda: json.dumps([["gap", 0, "diff", 1, "9" * 64, "9" * 64, 1]] * 100),
        },
        (),
    ),
    "outcomes of conditions": Reader(lambda text, _: _way_of(text), _json(), ("engine.evidence.ways:way_of",)),
    "columns that code reads": Reader(
        lambda text, _: columns_read(text, PLAN.inputs),
        {**_sources(), "labels": lambda: "sales['a_b_c_d_e_f'].x_y_z\n" * 5_000},
        ("data.columns_read:_columns_read",),
    ),
    "numbers in code": Reader(
        lambda text, _: (code_with(text, small_numbers(numbers_in(text))), counts_rows(text)),
        {
            **_sources(),
            "numbers": lambda: f"len((1, 1e300, 1e999, 2**9, 0x7fffffffffffffffffffffff, 0x7{'f' * 400}))\n" * 4_000,
        },
        ("engine.evidence.code_numbers:code_with", "engine.evidence.code_numbers:counts_rows"),
    ),
    "products in code": Reader(
        lambda text, _: with_small_products(text, 1e6, 40),
        {**_sources(), "products": lambda: f"x = {'2 ** ' * 50}9; x *= 1 << 9\n" * 2_000},
        ("engine.evidence.code_numbers:_with_helper",),
    ),
    "classes of exceptions": Reader(
        _redacted, _sources("classes", "names"), ("redaction.messages:Redaction._own_classes",)
    ),
    "two versions of code": Reader(
        lambda text, _: (parsing.same_code(text, text + "\n"), changed_in_substance(text, text + "\n")),
        _sources("names", "f-strings", "names that are normalized"),
        ("untrusted.parsing:same_code", "engines.staged.writer:changed_in_substance"),
    ),
    "code for a cell": Reader(
        lambda text, _: (insertable("# \u202e\n" + text, "growth"), renamed(text, "growth")),
        {
            **_sources("names", "functions"),
            "calls of the function": lambda: "def run(): pass\n" + "run()\n" * 7_000,
        },
        ("untrusted.visible:readable_code", "tasks.export:places"),
    ),
    "code for a script": Reader(
        lambda text, _: (
            entered(text),
            tests_for(text, "growth", "# how"),
            with_module_renamed(text, "helpers", "growth_helpers"),
        ),
        {**_sources("names", "imports", "functions"), "of helpers": lambda: "from helpers import a;" * 1_500},
        (
            "tasks.command_line:below_the_head",
            "tasks.export:_imported",
            "tasks.export:with_module_renamed",
        ),
    ),
    "code in colours": Reader(
        lambda text, _: source.python(text),
        {name: text for name, text in _sources().items() if name != "megabytes"},
        ("view.source:python",),
    ),
    "a difference in lines": Reader(
        lambda text, _: source.colour_diff(text, text.replace("a", "b"), "one", "other"),
        _sources("names", "functions", "a long text"),
        (),
    ),
    "an edit that a merge has left out": Reader(
        lambda text, _: _merged(
            *(changed.split("\n") for changed in (text, text.replace("a", "b"), text.replace("e", "i")))
        ),
        {
            **_sources("names", "functions", "a long text"),
            "few different lines": lambda: "a = 1\ne = 2\nx = 3\n" * 1_600,
            "lines in pairs": lambda: "".join(f"a = {n % 60}\n" for n in range(4_900)),
        },
        ("versions.lost_edits:_changes",),
    ),
    "a difference side by side": Reader(
        lambda text, _: side_by_side(text, text.replace("a", "b"), "one", "other"),
        {
            **_sources("names", "functions", "a long text"),
            "long lines that differ": lambda: ("a b " * 70 + "\n") * 3_000,
        },
        ("view.source:_compared", "view.source:_Marker.marked"),
    ),
    # Words of a cell
    "a check of a cell": Reader(
        lambda text, _: _expressions([text]),
        _sources("lambdas", "literals", "names that are normalized", "operators"),
        ("agent.arguments:_expressions", "magics.command:_compiled"),
    ),
    "a default of a cell": Reader(
        lambda text, _: parse_cell(f'growth -i "a: dict = {text}"', "Do it."),
        {
            **_json("empty lists", "keys", "brackets", "a number without end"),
            "colliding numbers": lambda: "{" + ",".join(f"{n * (2**61 - 1)}:1" for n in range(200_000)) + "}",
        },
        ("untrusted.parsing:literal",),
    ),
    "an example of a cell": Reader(
        _example,
        {"literals": lambda: hostile.repeated("'a',"), "numbers": lambda: "1" * hostile.BYTES},
        ("magics.examples:_values",),
    ),
    "the type of an element": Reader(
        lambda text, _: elements_of(f"list[{text}]"),
        {"brackets": lambda: hostile.repeated("list["), "names": lambda: hostile.repeated("int,")},
        ("kinds.table:elements_of", "kinds.table:misfit", "kinds.table:python_type"),
    ),
    "a default": Reader(
        lambda text, _: [_default(kind, text) for kind in KINDS.values()],
        {
            **_json("empty lists", "numbers", "keys", "a number without end"),
            "digits": lambda: "1" * hostile.BYTES,
            "a duration": lambda: "P" + "1" * hostile.BYTES + "D",
        },
        (
            "kinds.values:iso_date",
            "kinds.values:iso_datetime",
            "kinds.values:duration_from_json",
        ),
    ),
    # Code mode and workers
    "a chart of code mode": Reader(
        lambda text, _: specification(text),
        {
            **_json("keys"),
            "traces": lambda: '{"data":' + _many('{"x":[]}', 495_000) + "}",
            "rows": lambda: '{"mark":"bar","data":{"values":' + _many('{"a":1}', 495_000) + "}}",
        },
        ("display.charts:_parsed",),
    ),
    "a picture": Reader(
        lambda text, _: png_size(text.encode("latin-1")),
        {
            "one colour": lambda: _grey(2_000, 2_000),
            "one row below the other": lambda: _grey(200, 20_000),
            "empty chunks": lambda: _grey(2_000, 2_000, *[hostile.chunk(b"IDAT")] * 100_000),
        },
        (),
    ),
    "a header of a worker": Reader(
        lambda text, _: _parse(memoryview(text.encode())), _json(), ("sandbox.host.exchange:_parse",)
    ),
}


def _default(kind: Kind, text: str) -> None:
    for read in filter(None, (kind.from_iso, kind.from_json)):
        with contextlib.suppress(ValueError, TypeError):
            read(text)


def _grey(width: int, height: int, *chunks: bytes) -> str:
    return hostile.grey_picture(width, height, bytes((width + 1) * height), *chunks).decode("latin-1")


def _typed(kind: str, value: str) -> dict[str, str]:
    return {"$type": kind, "value": value}


def complex_of_hash_zero(number: int) -> dict[str, str]:
    """Complex numbers with the same hash, which is the real part plus 1,000,003 times the imaginary part."""
    return _typed("complex", str(complex(1_000_003.0 * number, -float(number))))


ELSEWHERE: dict[str, tuple[str, ...]] = {
    "queries, bounded in length, tokens and nesting: databases/test_hostile_queries.py": ("databases.queries:parsed",),
    "single values of a database: databases/test_connections.py": (
        "databases.for_sqlite:_literal_time",
        "databases.reading:_converter",
        "databases.reading:_date",
        "databases.reading:_timestamp",
    ),
    "the log of a table: scaling/test_table_formats.py": (
        "data.table_formats:<module>",
        "data.table_formats:_FilesIn.new_input",
        "data.table_formats:_newest",
    ),
    "files in pieces, as in a call: scaling/test_files.py and scaling/test_storage.py": (
        "data.readers:_fetched_table",
        "data.text_pieces:TextFile.__init__",
        "data.text_pieces:TextFile._frames",
        "scaling.files:_ArrowFile.stored_batches",
    ),
    "values of a program of code mode: codemode/test_leaving.py": (
        "codemode.interpreter:CodeInterpreter._decoded",
        "codemode.interpreter:_parsed",
        "codemode.interpreter_process:_Kernel.decoded",
        "codemode.interpreter_process:receive",
    ),
    "names and values that an agent sends, and our own answers: mcp/test_folder.py and mcp/test_handler.py": (
        "mcp.handler:Handler._function",
        "mcp.handler:Handler._input",
        "mcp.handler:Handler._read",
        "mcp.handler:Handler.list",
        "mcp.handler:answer",
        "mcp.server:Tools.make",
        "mcp.server:Tools.verdict",
        "mcp.server:server_of.call",
        "mcp.server:server_of.describe",
        "mcp.server:server_of.list_all",
        "mcp.shown:AgentView._known_names",
        "mcp.shown:AgentView.output",
    ),
    "messages of a Jupyter server that the person named: mcp/test_kernel.py": (
        "mcp.link:ServerLink._connected",
        "mcp.link:ServerLink._receive",
    ),
    "values of a worker: sandbox/any_sandbox/test_freezes.py and codec/test_hostile.py": ("codec.*",),
    "a file of this package, of litellm, or of the user's own arguments": (
        "codemode.agent:_texts",
        "codemode.programs:text",
        "engines.claude.session:_launcher",
        "models.catalogue:_table",
        "models.catalogue:_text",
        "models.catalogue:provider_names",
        "prompts:_sections",
        "models.library:load_client",
        "models.library:describe",
        "magics.command:_is_python",
        "data.definitions:_global_names",
        "data.definitions:_read",
        "data.definitions:_tops",
        "data.readers:delimited",
        "data.readers:_file_table",
        "data.readers:_read_delimited",
        "data.readers:_read_json",
        "data.readers:_read_workbook",
        "data.readers:_with_objects",
        "data.readers:_with_geometry",
        "calls.binding:_read",
        "data.readers:<module>",
        "scaling.partition:_of_bytes",
        "scaling.partition:_opened",
        "scaling.rare_rows:RareRows.groups",
        "scaling.rare_rows:_characters",
        "sandbox.host.bundle:bundle",
        "settings.parameters:record",
        "tasks.command_line:_parts",
        "tasks.export:figures_as_data",
        "versions.request_fields:differences",
        "view.markup:_rules",
    ),
    "a file of the user's machine or of the administrator, or written by a process of this package": (
        "models.process:ModelProcess._listen",
        "models.process:portable",
        "models.serving:_Server._load",
        "models.serving:_Server.run",
        "scaling.sources:_ibis.like",
        "magics.line.information:_packages",
        "sandbox.docker.environments:host_authorities",
        "sandbox.docker.products:Machine.is_wsl",
        "sandbox.docker.engine:_host",
        "sandbox.docker.engine:_start_time",
        "sandbox.docker.trial:_read",
        "sandbox.environments.installed:_recorded",
        "sandbox.environments.installed:read_list",
        "sandbox.environments.uv:_addresses",
        "sandbox.environments.uv:pip_settings",
        "sandbox.host.capacity:free_memory",
        "sandbox.host.capacity:usable_cores",
        "lab.server:can_serve_extension",
        "sandbox.local.confinement.kernel_features:_mounts_below",
        "sandbox.local.control_groups:ControlGroup._kill",
        "sandbox.local.control_groups:ControlGroup.ran_out",
        "sandbox.local.control_groups:_lines",
        "sandbox.local.environments:_read_marker",
        "sandbox.local.environments:find_interpreter",
        "sandbox.local.forking:Forks._take_order",
        "sandbox.local.forks:LoadingProcess.fork",
        "sandbox.local.forking:impurity",
        "sandbox.local.trial:_advice_on_landlock",
        "sandbox.local.trial:_advice_on_namespaces",
        "sandbox.local.trial:_advice_on_profiles",
        "sandbox.local.trial:_own_status",
        "sandbox.local.trial:_run",
        "sandbox.local.messages:StartOrder.read",
        "sandbox.local.process:LocalProcess._read_reason",
        "sandbox.local.limits:WatchedWorker._own_end",
        "sandbox.choice:_settings",
        "trust.own_files:OwnRecord._found",
        "versions.verification:_keep",
        "versions.request_lock:_namespace",
        "versions.request_lock:_stat",
    ),
    "calls a function that is measured above, with the same text": (
        "engine.planning:_sorted",
        "engine.run_folder:RunFolder._is_damaged",
        "engine.run_folder:RunFolder.write",
        "engine.tests:write_tests",
        "engines.claude.agent:Agent._run_tests",
        "engines.claude.agent:Agent._tests_problem",
        "engines.claude.writer:BlindTests.judge",
        "engines.claude.writer:ClaudeWriter._take_tests",
        "engines.staged.writer:Fixer._fix_tests",
        "types.interface:InputSpec.default_value",
    ),
    "bounded by its caller, and not measured here": (
        "calls.outcome_cache:find",
        "scaling.contract:_find",
        "codemode.monty_session:_type_errors",
        "contracts.sample_schema:_label",
        "contracts.sample_schema:_read",
        "data.files:_describe_arrow",
        "data.text_formats:_is_json",
        "data.renames:likely_renames",
        "data.value_drift:recorded_values",
        "data.workbooks:read_sheets",
        "display.outputs:_file",
        "engine.constraints:Constraints.recall",
        "engine.evidence.comparison:Comparer._for_user",
        "engine.evidence.comparison:Comparer._open",
        "equality.comparison:_Walk._file",
        "engines.claude.gateway:_handled",
        "engines.claude.service:_refusal",
        "engines.claude.wire:message_of",
        "models.response:_object",
        "models.response:_limited.UnpackedStream.__aiter__",
        "models.response:_unpacked",
        "sandbox.docker.engine:_about",
        "sandbox.workspace.workspace:Workspace.restore",
        "tasks.export:_require_no_compiled",
        "tasks.export:_steers_uv",
        "tasks.export:is_of_export",
        "versions.edits:TopFiles._has_other_content",
    ),
}
