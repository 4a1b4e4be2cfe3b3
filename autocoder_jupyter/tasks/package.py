"""Export a function as a package that can be installed: `pip install ./growth`, then `from growth import growth`.

    growth/
        pyproject.toml    what it needs, at least as new as it was tested with
        constraints.txt   the exact versions that it was tested with
        README.md         request, assumptions, evidence
        src/growth/       `solution` (the code, unchanged), `contract` (what its tables must have), the command line
        tests/            the tests, if there are any

It is plain code: it runs without a sandbox, without a model, and without this package.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.engine.packages import DISTRIBUTION_OF, KNOWN_DISTRIBUTIONS, requirement_name
from autocoder_jupyter.errors import InvalidRequest, writing
from autocoder_jupyter.sandbox.environments.locking import check_pins, pin_of
from autocoder_jupyter.tasks import export
from autocoder_jupyter.tasks.command_line import command_line, functions, literal, recorded_tables
from autocoder_jupyter.tasks.export import readable
from autocoder_jupyter.types import HELPERS, Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import visible

_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?")
"""A name that a package can have on every index."""

_NEEDED = frozenset({"numpy", "pandas", "pyarrow"})
_PANDERA = "pandera>=0.24"

_CONTRACT_PARTS = ("_cli_fitted", "_cli_converted", "_cli_has_zone", "_cli_categories", "_cli_objects")
"""The functions of an exported script that bring a table to the recorded dtypes."""


def export_package(
    report: Report, function: Function, folder: Path, *, tests: bool = True, more: Mapping[str, str] | None = None
) -> Path:
    """Write the package into a folder, which is created if it does not exist.

    Raises:
        InvalidRequest: the name cannot be that of a package, something in the folder was not written by an export, or
            the folder cannot be written.
    """
    name, folder = report.name, folder.expanduser()
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            f"A package cannot be named {visible(name)!r}.",
            hint=f"%autocode versions {visible(name)} rename NEW, with letters of English, digits and _ between them.",
        )
    _require_own_name(name)
    export.require_importable(Path(f"{name}.py"), function)
    about = export.provenance(report, function)
    written = _files(report, function) | {
        f"src/{name}/{file}": f"{about}\n\n{text}" for file, text in (more or {}).items()
    }
    if tests and report.tests:
        draws = any(spec.whole == "Figure" for spec in function.outputs)
        tested = export.without_metadata(readable(report.tests, name), name)
        source, _ = export.with_helpers(tested, function, f"{name}.{HELPERS}")
        how = "#   uv run --no-config --no-project --with pytest --with . --with-requirements constraints.txt " + (
            export.PYTEST.format("tests")
        )
        written[f"tests/test_{name}.py"] = export.tests_for(
            source, f"{name}.solution", how, passed=not function.unverified, draws=draws
        )
        if draws:
            written[f"tests/{export.FIGURES}"] = export.figures_as_data()
    with writing(f"The package of {name}", folder):
        _write(folder, {path: text.encode() for path, text in written.items()})
    return folder


def _write(folder: Path, written: Mapping[str, bytes]) -> None:
    """Write the files. A new folder gets its name when all are in it."""
    files = Folder(folder)
    if folder.is_symlink() or folder.exists():
        export.require_exports(files)
        for path in written:
            export.require_own(files, path)
        files.write_all(written)
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    staged = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
    try:
        Folder(staged).write_all(written)
        staged.rename(folder)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def _require_own_name(name: str) -> None:
    """Refuse the name of a package that others use: pip would remove that one, or write over its files."""
    modules = {module.lower() for module in DISTRIBUTION_OF}
    if requirement_name(name) in KNOWN_DISTRIBUTIONS or name.lower() in modules:
        raise InvalidRequest(
            f"A package cannot be named {name}.",
            why="A well-known package has this name, and installing this one would remove or damage it.",
            hint=f"%autocode versions {name} rename my_{name}",
        )


def _files(report: Report, function: Function) -> dict[str, str]:
    name, about = report.name, export.provenance(report, function)
    code, home = export.without_metadata(readable(function.code, name), name), f"src/{name}"
    code, helpers = export.with_helpers(code, function, f"{name}.{HELPERS}")
    return {
        **{f"src/{path}": f"{about}\n\n{text}" for path, text in helpers.items()},
        "pyproject.toml": _pyproject(report, function, about),
        "constraints.txt": "\n".join([about, *map(pin_of, function.environment.lock)]).strip() + "\n",
        "README.md": _readme(report, about),
        f"{home}/__init__.py": _module(name, about),
        f"{home}/solution.py": f"{about}\n\n{code.strip()}\n",
        f"{home}/contract.py": _contract(function, about),
        f"{home}/__main__.py": _main(function, about),
        f"{home}/py.typed": "",
    }


def _pyproject(report: Report, function: Function, about: str) -> str:
    environment = function.environment
    check_pins(environment.lock)
    pins = dict(pin_of(line).split("==", 1) for line in environment.lock)
    needed = (_NEEDED | {requirement_name(requirement) for requirement in environment.packages}) - {""}
    required = [_at_least(one, pins.get(one)) for one in sorted(needed)]
    required += [_PANDERA] * bool(export.written_contracts(function))
    begun = report.started
    date = f"{begun.year}.{begun.month}.{begun.day}" if begun is not None else "0"
    lines = [
        about,
        "",
        "[build-system]",
        'requires = ["hatchling"]',
        'build-backend = "hatchling.build"',
        "",
        "[project]",
        f'name = "{report.name}"',
        f'version = "{date}"',
        f"description = {_toml(visible(' '.join(function.description.split())))}",
        'readme = "README.md"',
        f'requires-python = ">={".".join(map(str, environment.python_version))}"',
        f"dependencies = [{', '.join(map(_toml, required))}]",
        "",
        "[project.optional-dependencies]",
        'excel = ["openpyxl>=3.1"]',
        'test = ["pytest"]',
        "",
        "[project.scripts]",
        f'{report.name} = "{report.name}.__main__:_cli_main"',
        "",
        "[tool.hatch.build.targets.wheel]",
        f'packages = ["src/{report.name}"]',
    ]
    return "\n".join(lines) + "\n"


def _at_least(name: str, version: str | None) -> str:
    """A requirement: the version that was tested, or a newer one before the next major version."""
    major = re.match(r"(\d+)[.]", version or "")
    return f"{name}>={version},<{int(major.group(1)) + 1}" if version and major else name


def _toml(text: str) -> str:
    """A text on one line as a string of TOML. It has no hidden characters, so JSON writes the same."""
    return json.dumps(text, ensure_ascii=False)


def _readme(report: Report, about: str) -> str:
    provenance = "\n".join(f"    {line.removeprefix('#').removeprefix(' ')}".rstrip() for line in about.splitlines())
    use = [
        "    pip install .            # or: uv pip install --no-config . -c constraints.txt",
        f"    {report.name} --help",
        "",
    ]
    used = ["```python", f"from {report.name} import {report.name}", "```"]
    return "\n".join([f"# {report.name}", "", provenance.strip("\n"), "", *use, *used]) + "\n"


def _module(name: str, about: str) -> str:
    lines = [
        about,
        "",
        f"from {name}.contract import holding",
        f"from {name}.solution import run",
        "",
        f"{name} = holding(run)",
        "",
        f'__all__ = ["{name}"]',
    ]
    return "\n".join(lines) + "\n"


def _contract(function: Function, about: str) -> str:
    """The module that brings tables to the recorded dtypes, and holds them to the schemas of the function's author."""
    schemas = export.written_contracts(function)
    parts = [
        f"{about}\n",
        '"""What the tables of the function must have. `holding` checks it in each call."""\n',
        "import functools\nimport inspect\nfrom collections.abc import Callable\nfrom typing import ParamSpec, TypeVar",
    ]
    if schemas:
        parts.append("\nimport pandera.pandas as pa")
    parts.append('\n_P = ParamSpec("_P")\n_R = TypeVar("_R")\n')
    reads = columns_read(function.code, function.inputs)
    tables = recorded_tables(function.inputs, function.shapes, reads, function.renames)
    parts.append(textwrap.dedent("\n".join(tables)).replace("tables = ", "TABLES = ", 1) if tables else "TABLES = {}")
    parts.append(
        '"""Dtypes of columns and of the index, columns that are not read, names of columns in the data, patterns."""\n'
    )
    parts.append(_schemas(schemas, [spec.name for spec in function.outputs]))
    parts += [f"\n{functions()[name]}\n" for name in _CONTRACT_PARTS]
    parts.append(_HOLDING)
    return "\n".join(parts)


def _schemas(schemas: Mapping[str, str], outputs: list[str]) -> str:
    made = "".join(f"    {literal(name)}: {source},\n" for name, source in schemas.items())
    listed = ", ".join(map(literal, outputs))
    return f"SCHEMAS = {{\n{made}}}\n\nOUTPUTS = [{listed}]\n" if made else f"SCHEMAS = {{}}\n\nOUTPUTS = [{listed}]\n"


_HOLDING = '''
def holding(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function with checked tables: `ValueError` says what a table lacks, or what cannot be converted."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            bound.arguments[name] = _agreed(name, _fitted(name, value))
        returned = function(*bound.args, **bound.kwargs)
        if not SCHEMAS:
            return returned
        values = [returned] if len(OUTPUTS) == 1 else list(returned)
        values = [_agreed(name, value) for name, value in zip(OUTPUTS, values, strict=True)]
        return values[0] if len(OUTPUTS) == 1 else tuple(values)

    return checked


def _fitted(name, value):
    if name not in TABLES or not hasattr(value, "dtypes"):
        return value
    columns, index, spare, renames, patterns = TABLES[name]
    try:
        if hasattr(value, "columns"):
            return _cli_fitted(value.copy(deep=False), columns, index, spare, renames, patterns)
        for dtype in columns.values():
            value = _cli_converted(value, dtype)
        return value
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _agreed(name, value):
    return SCHEMAS[name].validate(value, lazy=True) if name in SCHEMAS else value
'''


def _main(function: Function, about: str) -> str:
    reads = columns_read(function.code, function.inputs)
    line = command_line(
        function.inputs,
        function.outputs,
        function=function.name,
        description=function.description,
        shapes=function.shapes,
        reads=reads,
        renames=function.renames,
    )
    entry_point = 'if __name__ == "__main__":\n    _cli_main()\n'
    return f"{about}\n\nfrom {function.name} import {function.name}\n\n\n{line}\n\n{entry_point}"
