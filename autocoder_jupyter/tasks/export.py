"""Export a function as a script: the code unchanged, provenance, inline metadata (PEP 723), a command line, tests; or
as plain code.

`uv run growth.py --sales sales.parquet` runs it with exactly the versions that it was tested with. It does not need
this package.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import itertools
import keyword
import re
import sys
import textwrap
import tomllib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.codec import figure_data
from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.engine.packages import requirement_name
from autocoder_jupyter.errors import InvalidRequest, writing
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.sandbox.environments.locking import check_pins, name_of, pin_of
from autocoder_jupyter.tasks.command_line import below_the_head, command_line, comment, entered
from autocoder_jupyter.types import HELPERS, Report
from autocoder_jupyter.untrusted.folder import Folder, is_staged
from autocoder_jupyter.untrusted.parsing import TooLong, parse, require_readable
from autocoder_jupyter.untrusted.visible import readable_code, visible, visible_block

# Code without hidden characters, for a place where a person reads it: a cell, or a script


def readable(code: str, name: str) -> str:
    """Code without hidden characters: in strings and comments they become escapes with the same meaning.

    Raises:
        InvalidRequest: the escapes would change the code.
    """
    try:
        require_readable(code)
    except TooLong as error:
        raise InvalidRequest(f"The code of {name} is too long to be shown.", why=f"{error.msg}.") from None
    shown = readable_code(code)
    if visible_block(shown) != shown:
        raise InvalidRequest(
            f"The code of {name} contains invisible characters, or characters that change its direction.",
            hint=f"%autocode show {name} --code shows them.",
        )
    return shown


# The script and its tests

_FIRST_LINE = "#!/usr/bin/env -S uv run --script"
_METADATA = "# /// script"
_WRITTEN_BY = "written by a language model"
_TESTS_OF = "# The tests of {}, "
_RUN_THEM = "Run them with the versions that were tested:"
_FIGURES_HEAD = "# Figures as the tests of a function get them."

_ABOUT = rf"[^\n]*, {_WRITTEN_BY}[^\n]* by autocoder-jupyter\.\n"
_EXPORTED = re.compile(
    rf"(?:{re.escape(_FIRST_LINE)}\n(?:# /// script\n(?:#[^\n]*\n)*?# ///\n)?)?#\n# {_ABOUT}"
    rf"|# \w+\n\n    {_ABOUT}"
    r"|" + _TESTS_OF.format(r"[\w.]+") + rf"[a-z ]+\. {_RUN_THEM}\n|{_FIGURES_HEAD}\n"
)
"""The beginnings of the files of an export: code, text about it, tests, and what these import."""

FIGURES = "figures_as_data.py"
"""The file beside exported tests that shows them figures as they were tested."""

_MOST_OF_A_BEGINNING = 30_000
_FOUND_BY_NAME = frozenset(
    {
        "conftest",
        "sitecustomize",
        "usercustomize",
        "pluggy",
        "iniconfig",
        "packaging",
        "pygments",
        "colorama",
        "py",
        "_pytest",
    }
)
"""Modules that pytest or Python import because of their name."""

_NEVER_IMPORTED = frozenset({"test", "idlelib", "turtle", "turtledemo", "this", "antigravity", "solution"})
"""Names in `_modules_of` that no program imports without being asked to, and that folders may well have."""

_MODULE_ENDINGS = tuple(importlib.machinery.all_suffixes())
_COMPILED, _UNCHECKED = "__pycache__", 1
_CACHES = ("__pycache__", ".pytest_cache")
"""Folders that Python and pytest make. Compiled files are run in the place of a module."""

_SOURCES = frozenset({"index", "index-url", "extra-index-url", "find-links", "index-strategy", "sources"})

PYTEST = "python -IB -m pytest -c /dev/null --rootdir . -p no:cacheprovider --noconftest --import-mode=append {}"
"""The command for exported tests. It takes no settings, and no modules but those that are installed or exported."""

_ALWAYS_NEEDED = frozenset({"numpy", "pandas", "pyarrow"})
"""Packages that the command line needs, in addition to those that the code imports."""

_READS_EXCEL = "openpyxl>=3.1"
"""What the command line needs to read a table from Excel."""


def export(report: Report, function: Function, path: Path, *, tests: bool = True) -> Path:
    """Write the script to `path`, and its tests beside it as `test_<stem>.py`.

    Raises:
        InvalidRequest: the name cannot be imported, or hides a module that the code needs; the path cannot be
            written; or the code contains lines that are not allowed in a script.
    """
    path = path.expanduser()
    require_importable(path, function, report.tests if tests else "")
    home = f"{path.stem}_{HELPERS}"
    _, helpers = with_helpers("", function, home)
    head = "\n".join(map(comment, (*_origin(report, function), "", f"What {path.name} imports.")))
    written = {path.name: script(report, function, home)}
    written |= {name: f"{head}\n\n{source}" for name, source in helpers.items()}
    if tests and report.tests:
        source, version = readable(report.tests, report.name), function.environment.python_version
        draws = any(spec.whole == "Figure" for spec in function.outputs)
        tested, _ = with_helpers(without_metadata(source, report.name), function, home)
        how = (
            f"#   uv run --no-config --no-project --python {'.'.join(map(str, version))} --with pytest "
            f"--with-requirements {path.name} {PYTEST.format(f'test_{path.name}')}"
        )
        written[f"test_{path.name}"] = tests_for(tested, path.stem, how, passed=not function.unverified, draws=draws)
        if draws:
            written[FIGURES] = figures_as_data()
    with writing(f"The script of {report.name}", path):
        files = Folder(path.parent)  # it does not follow an existing link
        _require_first(files, written, function, report.tests)
        require_exports(files, home)
        for name in written:
            require_own(files, name)
        files.write_all({name: text.encode() for name, text in written.items()})
    return path


def export_plain(report: Report, function: Function, path: Path) -> Path:
    """Write the function under its own name, with its imports, to `path`, and nothing else.

    Raises:
        InvalidRequest: the name cannot be imported, or hides a module that the code needs; or the path cannot be
            written.
    """
    path = path.expanduser()
    require_importable(path, function)
    text = "\n".join((*map(comment, _origin(report, function)), "", insertable(function.code, report.name).strip(), ""))
    with writing(f"The function {report.name}", path):
        files = Folder(path.parent)
        require_own(files, path.name)
        files.write_all({path.name: text.encode()})
    return path


def _require_first(files: Folder, written: Iterable[str], function: Function, tests: str) -> None:
    """Refuse a folder where Python, pytest or uv would take something else first: a package of the same name, a module
    of a library, a `conftest.py`, settings of uv.
    """
    stems = {name.removesuffix(".py") for name in written}
    for name in files.names(""):
        stem, _, ending = name.partition(".")
        is_module = f".{ending}".endswith(_MODULE_ENDINGS) if ending else _is_package(files, name)
        if stem in stems:
            is_taken = (files.is_folder(name) or is_module) and name not in written
        else:
            is_taken = is_module and stem in _modules_of(function, tests) - _NEVER_IMPORTED
        if is_taken:
            raise InvalidRequest(
                f"{visible(str(files.root / name))} would be imported in the place of a module that the script needs.",
                why="Python looks for modules in the folder of a script first.",
                hint="Choose another folder, or move that away.",
            )
        if name == _COMPILED:
            _require_no_compiled(files, stems)
    for folder in (files.root.absolute(), *files.root.absolute().parents):
        if settings := _steers_uv(folder):
            raise InvalidRequest(
                f"{visible(str(settings))} decides from where `uv run` installs the packages of a script below it.",
                hint="Choose another folder, or move that file away.",
            )


def _is_package(files: Folder, name: str) -> bool:
    return any(one.partition(".")[0] == "__init__" for one in files.names(name))


def _require_no_compiled(files: Folder, stems: Collection[str]) -> None:
    """Refuse compiled files of these modules that Python does not compare with the source."""
    for name in files.names(_COMPILED):
        if name.partition(".")[0] in stems:
            path = f"{_COMPILED}/{name}"
            try:
                flags = int.from_bytes(files.read_bytes(path)[4:8], "little")
            except OSError:
                flags = _UNCHECKED
            if flags == _UNCHECKED:
                raise InvalidRequest(
                    f"{visible(str(files.root / path))} would be run in the place of the script.",
                    hint="Choose another folder, or move that file away.",
                )


def _steers_uv(folder: Path) -> Path | None:
    """The file in a folder with settings of uv about the sources of packages."""
    if (folder / "uv.toml").is_symlink() or (folder / "uv.toml").exists():
        return folder / "uv.toml"
    with suppress(OSError, ValueError):
        settings = tomllib.loads(Folder(folder).read_text("pyproject.toml")).get("tool", {}).get("uv", {})
        if _SOURCES & settings.keys():
            return folder / "pyproject.toml"
    return None


def require_own(files: Folder, name: str) -> None:
    """Refuse to replace a file that no export wrote: it may be the user's work. A link is replaced."""
    path = files.root / name
    is_file = files.exists(name) and not path.is_symlink() and not path.is_dir()
    if is_file and not is_of_export(files, name):
        raise InvalidRequest(
            f"{path} exists, and no export wrote it.",
            why="An export would replace it.",
            hint="Choose another name, or move that file away.",
        )


def require_exports(files: Folder, within: str = "") -> None:
    """Refuse a folder with anything that no export wrote: Python, pip or uv may take it before a file of the package.

    Python does so with a folder `solution` beside `solution.py`, and with its compiled files; pip with `hatch.toml`.
    """
    for name in files.names(within):
        path = f"{within}/{name}" if within else name
        if files.is_folder(path) and name not in _CACHES:
            require_exports(files, path)
        elif not (is_staged(name) or is_of_export(files, path)):
            where = visible(str(files.root / path))
            raise InvalidRequest(
                f"{where} exists, and no export wrote it.",
                why="An export goes only into a new folder, or over an earlier export: of other files, Python or pip "
                "might take one in the place of a file of the export.",
                hint=f"Remove {where}." if name in _CACHES else "Choose another folder, or move that file away.",
            )


def is_of_export(files: Folder, name: str) -> bool:
    """Whether an export wrote a file, or it is empty. What cannot be read, for instance a FIFO, is the user's."""
    try:
        content = files.read_bytes(name)
    except OSError:
        return False
    beginning = content[:_MOST_OF_A_BEGINNING].decode("utf-8", "replace")
    return not content.strip() or _EXPORTED.match(beginning) is not None


def with_helpers(code: str, function: Function, module: str) -> tuple[str, dict[str, str]]:
    """Code that imports its helpers from another module, and the files of that module by their path."""
    if not function.helpers:
        return code, {}
    files = {
        path.replace(HELPERS, module.replace(".", "/"), 1): with_module_renamed(
            readable(source, function.name), HELPERS, module
        )
        for path, source in function.helpers.files().items()
    }
    return with_module_renamed(code, HELPERS, module), files


def script(report: Report, function: Function, home: str = HELPERS) -> str:
    """The text of the script. Everything except the function's code is in it only as comments and literals.

    It begins with the function. The metadata are below it, but above all other text: uv looks at the first place in a
    file where they seem to begin. `home` is the module of its helpers.
    """
    code, _ = with_helpers(without_metadata(readable(function.code, report.name), report.name), function, home)
    tested = "recorded" if function.unverified else "tested"
    parts = [
        _FIRST_LINE,
        *map(comment, (*_origin(report, function), "Its packages, request, evidence and command line stand below it.")),
        "",
        entered(code),
        "",
        "",
        _metadata(function),
        "#",
        *map(comment, _account(report, function)),
        "",
        f"# The command line. The code above is the function as it was {tested}, and its entry point.",
        "",
        "",
        command_line(
            function.inputs,
            function.outputs,
            function="run",
            description=function.description,
            contracts=written_contracts(function),
            shapes=function.shapes,
            reads=columns_read(function.code, function.inputs),
            renames=function.renames,
        ),
    ]
    return "\n".join(parts)


def without_metadata(source: str, name: str) -> str:
    """The source, if it has no script metadata: packages and addresses from which `uv run` would install."""
    if _METADATA in source or re.search(r"^# /// ", source, re.MULTILINE):
        raise InvalidRequest(
            f"The code of {name} already has script metadata, and a script can have only one.",
            hint="Ask for the function without such comments (# /// …).",
        )
    return source


def written_contracts(function: Function) -> dict[str, str]:
    """The contracts that can be written as source. A contract that is only recorded is untrusted and is left out."""
    return {name: contract.source for name, contract in function.contracts.items() if contract.source}


def _not_written(report: Report, function: Function) -> list[str]:
    written = written_contracts(function)
    return [name for name in dict.fromkeys((*function.contracts, *report.contracts)) if name not in written]


def tests_for(tests: str, module: str, command: str, *, passed: bool = True, draws: bool = False) -> str:
    """The tests, importing the function from its module; only their import statements differ from what ran."""
    how = "as they passed" if passed else "not verified here"
    note = f"{_TESTS_OF.format(module)}{how}. {_RUN_THEM}\n{command}"
    renamed = with_module_renamed(tests, "solution", module).strip()
    return f"{note}\n\n{_with_figures(renamed, module) if draws else renamed}\n"


def _with_figures(tests: str, stem: str) -> str:
    """The tests, after a line that lets the function of the script return its figures as data."""
    lines = [
        f"import {stem} as _script",
        f"from {FIGURES.removesuffix('.py')} import as_tested as _as_tested",
        "",
        "_script.run = _as_tested(_script.run)",
    ]
    return below_the_head(tests, "\n".join(lines))


def figures_as_data() -> str:
    """The text of the file that shows figures to exported tests. It is the same for each function."""
    data, shown = Path(figure_data.__file__), Path(__file__).with_name(FIGURES)
    below = shown.read_text("utf-8").partition("specification\n\n\n")[2]
    above = data.read_text("utf-8").rstrip().replace("import Iterator", "import Callable, Iterator")
    return f"{_FIGURES_HEAD}\n\n{above}\n\n\n{below}"


def with_module_renamed(code: str, module: str, to: str) -> str:
    """The code, importing from the module `to` what it imports from `module`, or from a module within."""
    lines = re.split(r"\r\n|\r|\n", code)  # the parser's lines; str.splitlines() also splits at other characters
    imports = [node for node in ast.walk(parse(code)) if isinstance(node, ast.ImportFrom | ast.Import)]
    for node in sorted(imports, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        is_from = isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{module}.") and node.level == 0
        is_plain = isinstance(node, ast.Import) and any(alias.name == module for alias in node.names)
        if is_from or is_plain:
            line = lines[node.lineno - 1].encode()  # the parser counts columns in bytes
            before, statement = line[: node.col_offset].decode(), line[node.col_offset :].decode()
            lines[node.lineno - 1] = before + (
                _from(statement, module, to) if is_from else _plain_import(statement, module, to)
            )
    return "\n".join(lines)


def _from(statement: str, module: str, to: str) -> str:
    return re.sub(rf"^from(\s+){module}\b", rf"from\g<1>{to}", statement)


def _plain_import(statement: str, module: str, to: str) -> str:
    end = re.search(r"[;#]|$", statement)
    assert end is not None
    names = re.sub(rf"\b{module}(?=\s+as\s)", to, statement[: end.start()])
    names = re.sub(rf"\b{module}(?=\s*(?:,|\\|$))(?<!as {module})", f"{to} as {module}", names)
    return names + statement[end.start() :]


def _metadata(function: Function) -> str:
    environment = function.environment
    major, minor = environment.python_version
    check_pins(environment.lock)
    needed = (_ALWAYS_NEEDED | {requirement_name(requirement) for requirement in environment.packages}) - {""}
    pins = {requirement_name(pin): pin for pin in map(pin_of, environment.lock)}
    if any(KINDS[spec.type].form == "table" for spec in function.inputs):
        needed, pins = needed | {requirement_name(_READS_EXCEL)}, {requirement_name(_READS_EXCEL): _READS_EXCEL, **pins}
    if written_contracts(function):
        needed, pins = needed | {"pandera"}, {"pandera": "pandera>=0.24", **pins}
    return "\n".join(
        [
            _METADATA,
            f'# requires-python = "=={major:d}.{minor:d}.*"',
            *_toml_list("dependencies", sorted(pins.get(name, name) for name in needed)),
            "#",
            "# [tool.uv]",
            "# # Of what these bring along, the versions that were tested too.",
            *_toml_list("constraint-dependencies", [pin for name, pin in pins.items() if name not in needed]),
            "# ///",
        ]
    )


def _toml_list(name: str, requirements: Iterable[str]) -> list[str]:
    """A list of exact versions and names. They were checked, so nothing needs to be quoted in TOML."""
    return [f"# {name} = [", *(f'#   "{requirement}",' for requirement in requirements), "# ]"]


def provenance(report: Report, function: Function) -> str:
    """Where the code comes from, as a comment: request, model, evidence, assumptions."""
    return "\n".join(map(comment, (*_origin(report, function), "", *_account(report, function))))


def _origin(report: Report, function: Function) -> tuple[str, ...]:
    tested = ", not verified here," if function.unverified else " and tested in a sandbox"
    return "", f"{report.name}, {_WRITTEN_BY}{tested} by autocoder-jupyter."


def _account(report: Report, function: Function) -> list[str]:
    """The request, the model, the evidence and the assumptions."""
    lines = ["The request:", *_wrapped(report.prompt)]
    models = sorted({exchange.model for exchange in report.conversation_history})
    if models:
        lines += ["", f"Model: {', '.join(models)}."]
    if report.started is not None:
        lines.append(f"Date: {report.started:%Y-%m-%d}.")
    lines.append(f"Evidence: {_evidence(report)}." if report.success else str(report.error))
    if report.plan is not None and report.plan.assumptions:
        lines += ["", "It assumes:"]
        for assumption in report.plan.assumptions:
            lines += _wrapped(assumption, bullet="- ")
    if lacking := _not_written(report, function):
        text = f"Not in this script are the contracts of {', '.join(lacking)}: these are code of the notebook."
        lines += ["", *_wrapped(f"{text} Tables are not held to them here.", bullet="! ")]
    if written_contracts(function):
        lines += ["", "The command line holds tables to their contracts; `run` itself does not."]
    if function.renames:
        columns = ", ".join(
            f"{visible(has)!r} is read as {visible(reads)!r}" for reads, has in function.renames.items()
        )
        lines += ["", *_wrapped(f"The column {columns} (--rename); `run` itself does not rename.")]
    if report.detected_system_packages:
        lines += ["", f"It needs system packages (apt): {', '.join(report.detected_system_packages)}."]
    return lines


def _wrapped(text: str, bullet: str = "") -> list[str]:
    lines: list[str] = []
    for paragraph in text.strip().splitlines():
        lines += textwrap.wrap(
            paragraph, width=110, initial_indent="  " + bullet, subsequent_indent="  " + " " * len(bullet)
        ) or [""]
    return lines


def _evidence(report: Report) -> str:
    evidence = report.evidence
    passed = sum(outcome.outcome == "passed" for outcome in evidence.tests)
    held, demanded = sum(check.passed for check in evidence.conditions), len(evidence.conditions)
    summary = f"{passed} of {len(evidence.tests)} tests passed, {held} of {demanded} further checks held"
    if evidence.tests_changed:
        summary += f", {len(evidence.tests_changed)} tests were changed on the way"
    return summary


def require_importable(path: Path, function: Function, tests: str = "") -> None:
    """Refuse a name that cannot be imported, or that hides a module that the function or its tests need."""
    stem = path.stem
    if path.suffix != ".py":
        raise InvalidRequest(f"export() writes a Python script, and {path.name} is not one.", hint=f"Write {stem}.py.")
    if not stem.isidentifier() or keyword.iskeyword(stem):
        suggestion = re.sub(r"\W", "_", stem) + "_" * keyword.iskeyword(stem)
        raise InvalidRequest(f"{path.name} cannot be imported by its tests.", hint=f"Call it {suggestion}.py.")
    if stem in _modules_of(function, tests):
        raise InvalidRequest(f"{path.name} would hide the module {stem} that it needs.", hint=f"Call it my_{stem}.py.")


def _modules_of(function: Function, tests: str) -> frozenset[str]:
    """The modules that the function or its tests may import."""
    locked = {name_of(line).replace("-", "_").lower() for line in function.environment.lock}
    imported = _imported(readable(function.code, function.name)) | _imported(readable(tests, function.name))
    imported -= {HELPERS} if function.helpers else set()  # it gets another name
    return sys.stdlib_module_names | imported | locked | _FOUND_BY_NAME


def _imported(code: str) -> set[str]:
    names: set[str] = {"pandas", "pandera", "pyarrow", "numpy", "pytest", "solution"}
    for node in ast.walk(parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


# The function under the name of its result: `growth`, not `run`

ENTRY = "run"
"""The name of the function in a solution."""


def renamed(code: str, name: str) -> str:
    """The code with its function renamed to `name`; unchanged if the rename would change what it does."""
    for place in reversed(places(code, name)):
        code = code[:place] + name + code[place + len(ENTRY) :]
    return code


def places(code: str, name: str) -> tuple[int, ...]:
    """The offsets in characters where the code names its function; empty if it cannot be renamed."""
    if not name.isidentifier() or keyword.iskeyword(name) or hasattr(builtins, name) or "\r" in code:
        return ()
    try:
        module = parse(code)
    except SyntaxError:
        return ()
    definitions = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY]
    bound = list(_bound(module))
    uses = [node for node in ast.walk(module) if isinstance(node, ast.Name)]
    if len(definitions) != 1 or bound.count(ENTRY) != 1 or name in bound or any(node.id == name for node in uses):
        return ()
    lines = code.split("\n")
    begins = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))

    def offset(node: ast.FunctionDef | ast.Name) -> int:
        """The offset of a node in characters; the parser counts the bytes of a line."""
        line = lines[node.lineno - 1]
        before = node.col_offset if line.isascii() else len(line.encode()[: node.col_offset].decode())
        return begins[node.lineno - 1] + before

    start = offset(definitions[0])
    own = re.compile(rf"def\s+(?={ENTRY}\b)").match(code, start)
    found = [own.end() if own else -1, *(offset(use) for use in uses if use.id == ENTRY)]
    # Python 3.11 has no correct positions for names inside f-strings.
    return tuple(sorted(found)) if all(code.startswith(ENTRY, place) for place in found) else ()


def _bound(module: ast.Module) -> Iterator[str]:
    """Every name that is bound in the module, once per binding; attributes are left out."""
    methods = {id(one) for node in ast.walk(module) if isinstance(node, ast.ClassDef) for one in node.body}
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.MatchMapping):
            yield node.rest or ""
        elif id(node) not in methods or isinstance(node, ast.ClassDef):
            found = getattr(node, "name", None)  # function, class, exception or pattern
            if isinstance(found, str):
                yield found


def insertable(code: str, name: str) -> str:
    """The code of a result for a new cell: readable, and it defines `growth`, not `run`.

    Raises:
        InvalidRequest: as for `readable`; or it uses helpers.
    """
    if HELPERS in _imported(code):
        raise InvalidRequest(
            f"The code of {name} imports its helpers, which are not in a cell.",
            hint=f'Write it with them: {name}.export("{name}.py").',
        )
    return renamed(readable(code, name), name)
