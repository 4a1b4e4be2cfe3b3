"""The command line of an exported script, as Python text made for one interface.

It is placed below the solution and does not need this package. All its names begin with `_cli_`, and its imports are
inside its functions, so that it cannot shadow a name of the solution. It contains only the parts that the interface
needs. The parts that do not depend on the interface are taken from `script_parts`.

In a container that follows Flyte's convention, inputs are found as `/var/inputs/<name>` and outputs are written as
`/var/outputs/<name>`.
"""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from autocoder_jupyter.data.categories import recorded_dtype, source_of_dtype
from autocoder_jupyter.data.columns_read import EVERY_COLUMN, MASKED, ColumnsRead
from autocoder_jupyter.data.periods import details_of, patterns, usual_dtype
from autocoder_jupyter.data.shapes import KNOWN_OBJECTS
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.untrusted.parsing import literal as read_literal
from autocoder_jupyter.untrusted.parsing import parse
from autocoder_jupyter.untrusted.plain_json import shortened
from autocoder_jupyter.untrusted.visible import visible

# Untrusted text in a script: only as a comment of one line, or as a literal


def comment(text: str) -> str:
    """One line of comment. Line breaks and hidden characters are escaped."""
    return f"# {visible(text)}".rstrip()


def literal(value: str) -> str:
    """A string literal on one line. Hidden characters are escaped."""
    return visible(repr(value))  # `repr` escapes what is not printable; some printable characters are blank


# The command line


def command_line(
    inputs: Sequence[InputSpec],
    outputs: Sequence[OutputSpec],
    *,
    function: str = "run",
    description: str = "",
    contracts: Mapping[str, str] | None = None,
    shapes: Mapping[str, Mapping[str, Any]] | None = None,
    reads: ColumnsRead = EVERY_COLUMN,
    renames: Mapping[str, str] | None = None,
) -> str:
    """The source below the solution: readers and a writer for these types, and `_cli_main`."""
    used = {KINDS[spec.type].reader for spec in inputs} & functions().keys()
    if used - {"_cli_bool"}:
        used.add("_cli_argument")
    if used & {"_cli_table", "_cli_series"}:
        used |= {"_cli_table", "_cli_rows", "_cli_recorded", "_cli_fitted", "_cli_converted", "_cli_has_zone"}
        used |= {"_cli_open", "_cli_is_text", "_cli_dialect", "_cli_categories", "_cli_objects"}
        used |= {"_cli_periods", "_cli_words"}
    if inputs:
        used.add("_cli_mounted")
    parts = [source for name, source in functions().items() if name in used]
    forms = {KINDS[spec.whole].form for spec in outputs}
    parts.append(_writer(forms | ({"parts"} if any(spec.whole != spec.type for spec in outputs) else set())))
    if contracts:
        parts.append(_contracts(contracts))
    tables = recorded_tables(inputs, shapes or {}, reads, renames or {})
    parts.append(_main(inputs, outputs, function, description, tables, bool(contracts)))
    return "\n\n\n".join(parts) + "\n"


def entered(code: str) -> str:
    """The solution with an entry point: run as a script, the file loads itself as the module that was tested.

    So the solution is never `__main__`, and the command line runs no code that was not run in the tests. The entry
    point is at the top, after a docstring and imports from `__future__`, which must be first.
    """
    return below_the_head(code, _entry_point())


def below_the_head(code: str, inserted: str) -> str:
    """A module with lines after its docstring and its imports from `__future__`, which must be first."""
    first, column = 0, 0
    for node in parse(code).body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")):
            column = node.col_offset if node.lineno == first else 0  # on the same line, after a semicolon
            break
        first = node.end_lineno or 0
    lines = re.split("\r\n|\r|\n", code)  # Python's lines
    if column:
        line = lines[first - 1].encode()  # the parser counts columns in bytes
        lines[first - 1 : first] = [line[:column].decode().rstrip("; \t\f"), line[column:].decode()]
    head, rest = "\n".join(lines[:first]), "\n".join(lines[first:])
    return "\n\n".join(part.strip("\n") for part in (head, inserted, rest) if part.strip())


@functools.cache
def functions() -> dict[str, str]:
    """The sources of the functions of `script_parts` by name, in the same order."""
    text, tree = _parts()
    return {node.name: _source(text, node) for node in tree.body if isinstance(node, ast.FunctionDef)}


@functools.cache
def _entry_point() -> str:
    text, tree = _parts()
    return next(_source(text, node) for node in tree.body if isinstance(node, ast.If))


def _parts() -> tuple[str, ast.Module]:
    text = Path(__file__).with_name("script_parts.py").read_text("utf-8")
    return text, parse(text)


def _source(text: str, node: ast.stmt) -> str:
    return "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])


def _writer(forms: Collection[str]) -> str:
    """The writer without the regions for forms of output that the function does not have."""
    kept, skipping = [], False
    for line in functions()["_cli_write"].splitlines():
        mark = line.strip()
        if mark.startswith("# region "):
            skipping = mark.removeprefix("# region ") not in forms
        elif mark == "# endregion":
            skipping = False
        elif not skipping:
            kept.append(line)
    return "\n".join(kept)


def _contracts(contracts: Mapping[str, str]) -> str:
    made = "".join(f"{literal(name)}: {source},\n" for name, source in contracts.items())
    lines = [
        "def _cli_agreed(name, value):",
        '    """A table as the schema gives it back that it must satisfy; pandera raises where it does not."""',
        "    import pandera.pandas as pa",
        "",
        "    contracts = {",
        textwrap.indent(made.rstrip("\n"), " " * 8),
        "    }",
        "    return contracts[name].validate(value, lazy=True) if name in contracts else value",
    ]
    return "\n".join(lines)


def _main(
    inputs: Sequence[InputSpec],
    outputs: Sequence[OutputSpec],
    function: str,
    description: str,
    tables: Sequence[str],
    has_contracts: bool,
) -> str:
    lines = [
        "def _cli_main():",
        '    """Read the arguments, call the function, hand over what it returns."""',
        "    import argparse",
        "    import pathlib",
        "",
        *tables,
        # An input with the name of one of our options, or `help`, replaces the option.
        f'    parser = argparse.ArgumentParser(description={_help(description)}, conflict_handler="resolve")',
        *_output_dir(),
        *(f"    {line}" for spec in inputs for line in _argument(spec)),
        "    given = vars(parser.parse_args())",
        '    chosen = given.pop("_cli_output_dir", None)',
    ]
    if inputs:
        lines += _mounted_inputs(inputs)
    lines += [
        "    arguments = {name: value for name, value in given.items() if value is not None}",
        *(["    arguments = {name: _cli_agreed(name, value) for name, value in arguments.items()}"] * has_contracts),
        "",
        '    everything = chosen is None and pathlib.Path("/var/outputs").is_dir()',
        '    folder = pathlib.Path("/var/outputs") if everything else pathlib.Path(chosen or ".")',
        "    folder.mkdir(parents=True, exist_ok=True)",
        f"    returned = {function}(**arguments)",
        f"    names = [{', '.join(literal(spec.name) for spec in outputs)}]",
        "    values = (returned,) if len(names) == 1 else returned",
        "    for name, value in zip(names, values, strict=True):",
        f"        _cli_write(name, {'_cli_agreed(name, value)' if has_contracts else 'value'}, folder, everything)",
    ]
    return "\n".join(lines)


def _argument(spec: InputSpec) -> list[str]:
    option = f"--{spec.name.replace('_', '-')}"
    needed = f"required=_cli_mounted({literal(spec.name)}) is None" if spec.required else "default=None"
    note = f"{spec.written_type}. {spec.meaning}".strip().rstrip(".")
    if not spec.required and spec.default is not None:
        note += f" (default: {shortened(spec.default)})"
    if spec.type == "bool":
        how = "action=argparse.BooleanOptionalAction"
    else:
        reader = _reader(spec)
        ours = KINDS[spec.type].reader in functions()
        how = f'type={f"_cli_argument({reader})" if ours else reader}, metavar="{KINDS[spec.type].metavar}"'
    return [
        "parser.add_argument(",
        f"    {literal(option)}, dest={literal(spec.name)}, {how},",
        f"    {needed}, help={_help(note)},",
        ")",
    ]


def _output_dir() -> list[str]:
    return [
        "    parser.add_argument(",
        '        "--output-dir", dest="_cli_output_dir", metavar="FOLDER", default=None,',
        '        help="where tables, pictures and files are written (default: /var/outputs if it exists, else here)",',
        "    )",
    ]


def _mounted_inputs(inputs: Sequence[InputSpec]) -> list[str]:
    lines = ["    readers = {"]
    lines += [f"        {literal(spec.name)}: ({_reader(spec)}, {KINDS[spec.type].is_data})," for spec in inputs]
    lines += [
        "    }",
        "    for name, (read, from_file) in readers.items():",
        "        path = _cli_mounted(name)",
        "        if given[name] is None and path is not None:",
        "            try:",
        '                given[name] = read(str(path) if from_file else path.read_text(encoding="utf-8"))',
        "            except Exception as error:",
        '                parser.error(f"{path} cannot be read: {error}")',
    ]
    return lines


def _reader(spec: InputSpec) -> str:
    """The expression of a reader of an input. That of a table knows its recorded columns."""
    reader = KINDS[spec.type].reader
    return f"_cli_recorded({reader}, *tables[{literal(spec.name)}])" if KINDS[spec.type].form == "table" else reader


def recorded_tables(
    inputs: Sequence[InputSpec],
    shapes: Mapping[str, Mapping[str, Any]],
    reads: ColumnsRead,
    renames: Mapping[str, str],
) -> list[str]:
    """The dict of the recorded tables: the dtypes of their columns and of the levels of their index, the columns that
    are not read, the names in the data of columns that are read by another name, and the dtypes of columns that are
    taken by a pattern (`data.periods`).
    """
    tables = [spec for spec in inputs if KINDS[spec.type].form == "table"]
    if not tables:
        return []
    lines = ["    tables = {"]
    for spec in tables:
        shape = shapes.get(spec.name, {})
        columns, index = _dtypes(shape.get("columns"), shape), _dtypes(shape.get("index"))
        if any(label == "None" for label, _ in shape.get("index", ())):
            index = {}  # a level without a name cannot be found in a file
        taken = {
            found: group
            for found, group in patterns(shape.get("columns", ()), reads).items()
            if spec.type != "Series" and group.keys() <= columns.keys()
        }
        spare = [
            written for label, (written, _) in columns.items() if spec.type != "Series" and not reads.covers(label)
        ]
        lines += [f"        {literal(spec.name)}: (", *_dict(columns), *_dict(index)]
        lines += [
            "            (",
            *(f"                {written}," for written in spare),
            "            ),",
            *_dict({has: (literal(reads), literal(has)) for reads, has in renames.items()}),
            *_dict({found: (literal(found), _pattern_dtype(group, shape)) for found, group in taken.items()}),
            "        ),",
        ]
    imports = ["    import pandas", ""] if any("pandas." in line for line in lines) else []
    return [*imports, *lines, "    }"]


def _dtypes(pairs: Any, shape: Mapping[str, Any] = MappingProxyType({})) -> dict[str, tuple[str, str]]:
    """By recorded label: name and dtype as they are written in the script. Left out are names that a file cannot have,
    and names that are masked.
    """
    found = {}
    for label, dtype in pairs or ():
        with suppress(ValueError):
            name = read_literal(str(label))
            if isinstance(name, str | int | float) and not MASKED.search(str(name)):
                written = literal(name) if isinstance(name, str) else repr(name)
                found[str(label)] = (written, _dtype(str(label), str(dtype), shape))
    return found


def _dtype(label: str, dtype: str, shape: Mapping[str, Any]) -> str:
    """The dtype as it is written in the script: a category with its categories, objects with their kind."""
    record, kind = shape.get("categories", {}).get(label), shape.get("objects", {}).get(label)
    if dtype == "category" and isinstance(record, Mapping):
        known = recorded_dtype(record)
        if known is not None and (source := source_of_dtype(known)):
            return source
        return literal("ordered category" if record.get("ordered") is True else dtype)
    return literal(f"object of {kind}" if dtype == "object" and kind in KNOWN_OBJECTS and kind != "string" else dtype)


def _pattern_dtype(group: Mapping[str, str], shape: Mapping[str, Any]) -> str:
    """The dtype of further columns of a pattern as it is written in the script."""
    usual = usual_dtype(group)
    return _dtype("", usual, {key: {"": detail} for key, detail in details_of(group, usual, shape).items()})


def _dict(written: Mapping[str, tuple[str, str]]) -> list[str]:
    pairs = [f"                {name}: {dtype}," for name, dtype in written.values()]
    return ["            {", *pairs, "            },"]


def _help(text: str) -> str:
    """A literal for argparse, with percent signs escaped."""
    return literal(" ".join(text.split()).replace("%", "%%"))
