"""The command line of an exported script, as Python text made for one interface.

It stands below the solution and needs nothing of ours. All its names begin with `_cli_`, and its imports are inside
its functions, so that it cannot shadow a name of the solution. Only what the interface uses is written.

In a container that follows Flyte's convention, inputs are found as `/var/inputs/<name>` and outputs are written as
`/var/outputs/<name>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent

from autocoder_jupyter.types import InputSpec, OutputSpec, TypeName

_READERS: dict[TypeName, str] = {
    "str": "str",
    "int": "int",
    "float": "float",
    "bool": "_cli_bool",
    "datetime": "_cli_datetime",
    "date": "_cli_date",
    "timedelta": "_cli_timedelta",
    "File": "_cli_path",
    "Dir": "_cli_path",
    "DataFrame": "_cli_table",
    "Series": "_cli_series",
    "dict": "_cli_json",
    "list": "_cli_json",
}

_METAVARS: dict[TypeName, str] = {
    "str": "TEXT",
    "int": "INT",
    "float": "FLOAT",
    "datetime": "ISO-TIME",
    "date": "ISO-DATE",
    "timedelta": "DURATION",
    "File": "FILE",
    "Dir": "FOLDER",
    "DataFrame": "TABLE",
    "Series": "TABLE",
    "dict": "JSON",
    "list": "JSON",
}

_FROM_FILES = ("File", "Dir", "DataFrame", "Series")

_READER_SOURCES = {
    "_cli_bool": '''
        def _cli_bool(text):
            """`true`, `false`, `1`, `0`, `yes`, `no`."""
            words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
            return words[text.strip().lower()]
        ''',
    "_cli_datetime": '''
        def _cli_datetime(text):
            """An ISO time such as `2025-03-01T12:00:00+01:00`."""
            import datetime

            return datetime.datetime.fromisoformat(text.strip())
        ''',
    "_cli_date": '''
        def _cli_date(text):
            """An ISO date such as `2025-03-01`."""
            import datetime

            return datetime.date.fromisoformat(text.strip())
        ''',
    "_cli_timedelta": '''
        def _cli_timedelta(text):
            """A duration such as `90s`, `2 days 03:00:00` or `P1DT2H`; a bare number is seconds."""
            import pandas

            text = text.strip()
            try:
                return pandas.Timedelta(float(text), unit="s").to_pytimedelta()
            except ValueError:
                return pandas.Timedelta(text).to_pytimedelta()
        ''',
    "_cli_path": '''
        def _cli_path(text):
            """A file or a folder that exists."""
            import pathlib

            path = pathlib.Path(text)
            if not path.exists():
                raise ValueError(f"{path} does not exist")
            return path
        ''',
    "_cli_table": '''
        def _cli_table(text):
            """A table by its suffix: .parquet, .feather, .json, .csv, .tsv; by its first bytes without one."""
            import pathlib

            import pandas

            path = pathlib.Path(text)
            with path.open("rb") as file:
                first = file.read(6)
            kind = path.suffix.lower() or {b"PAR1": ".parquet", b"ARRO": ".feather"}.get(first[:4], "")
            if not kind and first.lstrip()[:1] in (b"[", b"{"):
                kind = ".json"
            if kind in (".parquet", ".pq"):
                return pandas.read_parquet(path)
            if kind in (".feather", ".arrow"):
                return pandas.read_feather(path)
            if kind in (".json", ".jsonl"):
                return pandas.read_json(path, lines=kind == ".jsonl")
            return pandas.read_csv(path, sep="\\t" if kind == ".tsv" else ",")
        ''',
    "_cli_series": '''
        def _cli_series(text):
            """The only column of a table."""
            table = _cli_table(text)
            if len(table.columns) != 1:
                raise ValueError(f"{text} has {len(table.columns)} columns, and one was expected")
            return table.iloc[:, 0]
        ''',
    "_cli_json": '''
        def _cli_json(text):
            """A value in JSON."""
            import json

            return json.loads(text)
        ''',
}

_MOUNTED = '''
    def _cli_mounted(name):
        """The file or folder of an input that a container was given, if any."""
        import pathlib

        found = sorted(pathlib.Path("/var/inputs").glob(name)) or sorted(pathlib.Path("/var/inputs").glob(f"{name}.*"))
        return found[0] if found else None
    '''

_WRITER_HEAD = '''
    def _cli_write(name, value, folder, everything):
        """Put one output into the folder, and say so; short values are printed, and written only in a container."""
        import json

        exact = folder / name
    '''

_WRITERS: dict[str, str] = {
    "table": """
        if hasattr(value, "to_frame") or hasattr(value, "columns"):
            table = value.to_frame(name) if hasattr(value, "to_frame") and not hasattr(value, "columns") else value
            target = exact if everything or exact.suffix else exact.with_name(f"{name}.parquet")
            if target.suffix == ".csv":
                table.to_csv(target, index=False)
            elif target.suffix == ".json":
                table.to_json(target, orient="records", date_format="iso")
            elif target.suffix in (".feather", ".arrow"):
                table.to_feather(target)
            else:
                table.to_parquet(target)
            print(f"{name}: {target} ({len(table)} rows, {len(table.columns)} columns)")
            return
        """,
    "path": """
        if hasattr(value, "is_dir"):
            import shutil

            target = exact if everything or exact.suffix == value.suffix else exact.with_name(name + value.suffix)
            if value.is_dir():
                shutil.copytree(value, target, dirs_exist_ok=True)
            elif value.resolve() != target.resolve():
                shutil.copyfile(value, target)
            print(f"{name}: {target}")
            return
        """,
    "figure": """
        if hasattr(value, "savefig") or hasattr(value, "figure"):
            picture = value if hasattr(value, "savefig") else value.figure
            target = exact if everything or exact.suffix else exact.with_name(f"{name}.png")
            picture.savefig(target, format=target.suffix[1:] or "png")
            print(f"{name}: {target}")
            return
        """,
}

_WRITER_TAIL = """
        if isinstance(value, (dict, list)):
            text = json.dumps(value, ensure_ascii=False, default=str)
        else:
            text = value.isoformat() if hasattr(value, "isoformat") else str(value)
        if everything:
            exact.write_text(text, encoding="utf-8")
        print(f"{name}: {text}")
    """


def command_line(
    inputs: Sequence[InputSpec], outputs: Sequence[OutputSpec], *, function: str = "run", description: str = ""
) -> str:
    """The source below the solution: readers and a writer for these types, and `_cli_main`."""
    readers = {_READERS[spec.type] for spec in inputs} & _READER_SOURCES.keys()
    if any(spec.type == "bool" for spec in inputs):
        readers.add("_cli_bool")
    if "_cli_series" in readers:
        readers.add("_cli_table")
    parts = [_plain(source) for name, source in _READER_SOURCES.items() if name in readers]
    if inputs:
        parts.append(_plain(_MOUNTED))
    parts.append(_writer(outputs))
    parts.append(_main(inputs, outputs, function, description))
    parts.append('if __name__ == "__main__":\n    _cli_main()')
    return "\n\n\n".join(parts) + "\n"


def _plain(source: str) -> str:
    return dedent(source).strip("\n")


def _writer(outputs: Sequence[OutputSpec]) -> str:
    types = {spec.type for spec in outputs}
    blocks = [_WRITER_HEAD]
    if types & {"DataFrame", "Series"}:
        blocks.append(_WRITERS["table"])
    if types & {"File", "Dir"}:
        blocks.append(_WRITERS["path"])
    if "Figure" in types:
        blocks.append(_WRITERS["figure"])
    head, *rest = blocks
    body = [_indented(block) for block in (*rest, _WRITER_TAIL)]
    return "\n".join([_plain(head), *body])


def _indented(block: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in _plain(block).splitlines())


def _main(inputs: Sequence[InputSpec], outputs: Sequence[OutputSpec], function: str, description: str) -> str:
    lines = [
        "def _cli_main():",
        '    """Read the arguments, call the function, hand over what it returns."""',
        "    import argparse",
        "    import pathlib",
        "",
        f"    parser = argparse.ArgumentParser(description={_help(description)})",
        *(f"    {line}" for spec in inputs for line in _argument(spec)),
        *_output_dir(),
        "    given = vars(parser.parse_args())",
        '    chosen = given.pop("_cli_output_dir")',
    ]
    if inputs:
        lines += _mounted_inputs(inputs)
    lines += [
        "    arguments = {name: value for name, value in given.items() if value is not None}",
        "",
        '    everything = chosen is None and pathlib.Path("/var/outputs").is_dir()',
        '    folder = pathlib.Path("/var/outputs") if everything else pathlib.Path(chosen or ".")',
        "    folder.mkdir(parents=True, exist_ok=True)",
        f"    returned = {function}(**arguments)",
        f"    names = {[spec.name for spec in outputs]!r}",
        "    values = (returned,) if len(names) == 1 else returned",
        "    for name, value in zip(names, values, strict=True):",
        "        _cli_write(name, value, folder, everything)",
    ]
    return "\n".join(lines)


def _argument(spec: InputSpec) -> list[str]:
    option = f"--{spec.name.replace('_', '-')}"
    needed = f'required=_cli_mounted("{spec.name}") is None' if spec.required else "default=None"
    note = f"{spec.type}. {spec.meaning}".strip().rstrip(".")
    if not spec.required and spec.default is not None:
        note += f" (default: {spec.default})"
    if spec.type == "bool":
        how = "action=argparse.BooleanOptionalAction"
    else:
        how = f'type={_READERS[spec.type]}, metavar="{_METAVARS[spec.type]}"'
    return [
        "parser.add_argument(",
        f'    "{option}", dest="{spec.name}", {how},',
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
    lines += [f'        "{spec.name}": ({_READERS[spec.type]}, {spec.type in _FROM_FILES}),' for spec in inputs]
    lines += [
        "    }",
        "    for name, (read, from_file) in readers.items():",
        "        path = _cli_mounted(name)",
        "        if given[name] is None and path is not None:",
        '            given[name] = read(str(path) if from_file else path.read_text(encoding="utf-8"))',
    ]
    return lines


def _help(text: str) -> str:
    """A literal for argparse, in which a percent sign would otherwise be a format."""
    return repr(" ".join(text.split()).replace("%", "%%"))
