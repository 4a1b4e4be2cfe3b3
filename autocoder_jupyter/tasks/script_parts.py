"""Parts of an exported script: entry point, readers of arguments, writer of outputs. `command_line` reads it as text.

An exported script has those that its interface uses, as they stand here: without annotations, and with imports inside
of functions, so that no name of the solution is shadowed.
"""

if __name__ == "__main__":  # run as a script, this file is loaded as the module that was tested
    import importlib.util
    import sys

    _cli_spec = importlib.util.spec_from_file_location("solution", __file__)
    sys.modules["solution"] = importlib.util.module_from_spec(_cli_spec)
    _cli_spec.loader.exec_module(sys.modules["solution"])
    sys.exit(sys.modules["solution"]._cli_main())


def _cli_bool(text):
    """`true`, `false`, `1`, `0`, `yes`, `no`."""
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    return words[text.strip().lower()]


def _cli_datetime(text):
    """An ISO time such as `2025-03-01T12:00:00+01:00`."""
    import datetime

    return datetime.datetime.fromisoformat(text.strip())


def _cli_date(text):
    """An ISO date such as `2025-03-01`."""
    import datetime

    return datetime.date.fromisoformat(text.strip())


def _cli_timedelta(text):
    """A duration such as `90s`, `2 days 03:00:00` or `P1DT2H`; a bare number is seconds."""
    import pandas

    text = text.strip()
    try:
        return pandas.Timedelta(float(text), unit="s").to_pytimedelta()
    except ValueError:
        return pandas.Timedelta(text).to_pytimedelta()


def _cli_path(text):
    """A file or a folder that exists."""
    import pathlib

    path = pathlib.Path(text)
    if not path.exists():
        raise ValueError(f"{path} does not exist")
    return path


def _cli_table(text, columns, index, spare, renames, patterns):
    """A table by its suffix: .parquet, .feather, .csv, .tsv, .xlsx, .json, .jsonl; by its first bytes without one.

    It gets the recorded dtypes of columns and index, the columns that are not read, the names in the data of columns
    that are read by another name, and the dtypes of columns that are taken by a pattern. A column of text is read as
    text: `00123` keeps its zeros.
    """
    import pathlib

    import pandas

    path = pathlib.Path(text)
    with path.open("rb") as file:
        first = file.read(6)
    kind = path.suffix.lower() or {b"PAR1": ".parquet", b"ARRO": ".feather"}.get(first[:4], "")
    if not kind and first.lstrip()[:1] in (b"[", b"{"):
        kind = ".json"
    dtypes = {**{has: columns[reads] for reads, has in renames.items() if reads in columns}, **columns, **index}
    words = {str(label): "str" for label, dtype in dtypes.items() if dtype.startswith(("str", "object", "large_str"))}
    if any(dtype.startswith("geometry") for dtype in columns.values()):
        import geopandas

        table = geopandas.read_parquet(path) if kind in (".parquet", ".pq") else geopandas.read_file(path)
    elif kind in (".parquet", ".pq"):
        table = pandas.read_parquet(path)
    elif kind in (".feather", ".arrow"):
        table = pandas.read_feather(path)
    elif kind in (".json", ".jsonl", ".ndjson"):
        if not dtypes:
            return pandas.read_json(path, lines=kind != ".json")
        table = _cli_rows(path, is_lines=kind != ".json")
        for label in table.columns:  # pandas writes a time as milliseconds since 1970
            dtype = dtypes.get(label, "")
            if dtype.startswith(("datetime64", "timestamp[")) and pandas.api.types.is_numeric_dtype(table[label]):
                table[label] = pandas.to_datetime(table[label], unit="ms", utc=_cli_has_zone(dtype))
    elif kind in (".xlsx", ".xls", ".ods"):
        table = pandas.read_excel(path, dtype=words)
    else:
        table = pandas.read_csv(path, sep="\t" if kind in (".tsv", ".tab") else ",", dtype=words)
    return _cli_fitted(table, columns, index, spare, renames, patterns)


def _cli_rows(path, is_lines):
    """A table in JSON: one object per row, or one per column. No value is converted."""
    import json

    import pandas

    with path.open(encoding="utf-8") as file:
        read = [json.loads(line) for line in file if line.strip()] if is_lines else json.load(file)
    if isinstance(read, dict):
        read = {name: list(column.values()) if isinstance(column, dict) else column for name, column in read.items()}
    return pandas.DataFrame(read)


def _cli_series(text, columns, index, spare, renames, patterns):
    """The only column of a table, with the recorded dtype."""
    table = _cli_table(text, {}, {}, (), {}, {})
    if len(table.columns) != 1:
        raise ValueError(f"{text} has {len(table.columns)} columns, and one was expected")
    column = table.iloc[:, 0]
    for dtype in columns.values():
        column = _cli_converted(column, dtype)
    return column


def _cli_recorded(read, columns, index, spare, renames, patterns):
    """A reader of a table that is to have these columns and index levels: their names and dtypes."""
    return lambda text: read(text, columns, index, spare, renames, patterns)


def _cli_fitted(table, columns, index, spare, renames, patterns):
    """The table with the recorded dtypes. All that is missing or cannot be converted is named at once, without columns
    that the function does not read (`spare`). A column that it lacks is that of another name, if there is one
    (`renames`). Columns of a pattern (`patterns`), such as years, may be others.
    """
    import re

    given = list(table.columns)
    own = {has: reads for reads, has in renames.items() if reads not in given and given.count(has) == 1}
    table = table.rename(columns=own)
    labels = {str(label): label for label in (*columns, *index)}  # a text file has no names that are numbers
    table = table.rename(columns={text: label for text, label in labels.items() if label not in table.columns})
    missing = [label for label in columns if label not in table.columns and label not in spare]
    missing += [label for label in index if label not in table.columns and label not in table.index.names]
    columns = dict(columns)
    for pattern, dtype in patterns.items():
        known = [label for label in columns if re.fullmatch(pattern, str(label))]
        taken = [label for label in table.columns if re.fullmatch(pattern, str(label))]
        if all(isinstance(label, int) for label in known):
            table = table.rename(columns={label: int(label) for label in taken})
            taken = list(map(int, taken))
        missing = [label for label in missing if not taken or label not in known]
        columns.update({label: dtype for label in taken if label not in columns})
    problems = []
    if missing:
        there = ", ".join(map(repr, list(table.columns)[:20])) or "no columns"
        problems.append(f"it lacks {', '.join(map(repr, missing))} (it has {there})")
    for label, dtype in {**columns, **index}.items():
        if label not in table.columns:
            continue
        if list(table.columns).count(label) > 1:
            if label not in spare:
                problems.append(f"it has more than one {label!r}")
            continue
        try:
            table[label] = _cli_converted(table[label], dtype)
        except Exception as error:
            if label not in spare:
                why = (str(error).splitlines() or [""])[0][:200]
                problems.append(f"{label!r} cannot be converted to {dtype}: {why}")
    if problems:
        raise ValueError("; ".join(problems))
    if index and all(label in table.columns for label in index):
        table = table.set_index(list(index))
    return table


def _cli_has_zone(dtype):
    """Whether a dtype of times has a time zone."""
    return "," in dtype or "tz=" in dtype


def _cli_converted(column, dtype):
    """A column with the recorded dtype, if no value changes by that."""
    import pandas

    kinds = pandas.api.types
    if str(column.dtype) == "geometry" and dtype.startswith("geometry["):
        code = column.crs.to_authority(min_confidence=100) if column.crs else None
        system = ":".join(code) if code else getattr(column.crs, "name", "no coordinate system")
        if f"geometry[{system}]" != dtype:
            raise ValueError(f"it has {system}")
        return column
    if str(column.dtype) == dtype:
        return column
    is_text = column.dtype == object or kinds.is_string_dtype(column.dtype)
    present = column.dropna()
    if dtype.startswith(("datetime64", "timestamp[")):
        made = column
        if not kinds.is_datetime64_any_dtype(column.dtype):
            if len(present) and not is_text:
                raise ValueError(f"it holds {column.dtype}, not times; write them as 2024-01-31")
            has_zone = _cli_has_zone(dtype)
            zones = present.astype(str).str.contains(r"(?:Z|[+-]\d\d:?\d\d)$")
            if not (zones == has_zone).all():
                other = present[zones != has_zone].iloc[0]
                raise ValueError(f"{other!r} has {'no' if has_zone else 'a'} time zone")
            made = pandas.to_datetime(column, format="ISO8601", utc=has_zone)  # 03/04/2024 could be two days
        return made.astype(dtype)
    if dtype.startswith(("timedelta64", "duration[")):
        return pandas.to_timedelta(column).astype(dtype)
    if dtype.startswith("bool"):
        words = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
        strange = [value for value in present if str(value).strip().lower() not in words]
        if strange or (len(present) < len(column) and dtype == "bool"):
            raise ValueError(f"{strange[0]!r} is neither true nor false" if strange else "values are missing")
        return column.map(lambda value: words[str(value).strip().lower()], na_action="ignore").astype(dtype)
    if dtype.lower().startswith(("int", "uint", "float", "double", "halffloat")):
        numbers = pandas.to_numeric(column) if is_text else column
        if not kinds.is_numeric_dtype(numbers.dtype):
            raise ValueError(f"it holds {column.dtype}")
        if dtype.lower().startswith(("int", "uint")):
            known = numbers.dropna()
            if not (known == known.round()).all():
                raise ValueError(f"{known[known != known.round()].iloc[0]} is not whole")
            if len(known) < len(numbers) and dtype[0] in "iu" and "[" not in dtype:
                return numbers  # whole numbers with gaps are floats, as in a call in the notebook
        made = numbers.astype(dtype)
        if not dtype.lower().startswith("float") and not (made.dropna() == numbers.dropna()).all():
            raise ValueError("a value is too large")
        return made
    if dtype == "object":
        return column
    if dtype.startswith(("str", "large_str")) and len(present) and not is_text:
        raise ValueError(f"it holds {column.dtype}, not text")
    return column.astype(dtype)


def _cli_json(text):
    """A value in JSON."""
    import json

    return json.loads(text)


def _cli_argument(read):
    """A reader for argparse: what cannot be read is said in one line."""
    import argparse

    def reader(text):
        try:
            return read(text)
        except Exception as error:
            raise argparse.ArgumentTypeError(f"{text!r} cannot be read: {error}") from None

    return reader


def _cli_mounted(name):
    """The file or folder of an input that a container was given, if any."""
    import pathlib

    found = sorted(pathlib.Path("/var/inputs").glob(name)) or sorted(pathlib.Path("/var/inputs").glob(f"{name}.*"))
    return found[0] if found else None


def _cli_write(name, value, folder, everything):
    """Put one output into the folder, and say so; short values are printed, and written only in a container."""
    import json

    exact = folder / name
    # region parts
    if isinstance(value, (dict, list)) and value:
        exact.mkdir(exist_ok=True)
        for number, (key, part) in enumerate(value.items() if isinstance(value, dict) else enumerate(value), start=1):
            part_name = "".join(sign if sign.isalnum() else "_" for sign in str(key))[:80]
            _cli_write(f"{number}-{part_name}" if isinstance(value, dict) else str(number), part, exact, False)
        return
    # endregion
    # region table
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
    # endregion
    # region path
    if hasattr(value, "is_dir"):
        import shutil

        target = exact if everything or exact.suffix == value.suffix else exact.with_name(name + value.suffix)
        if value.is_dir():
            shutil.copytree(value, target, dirs_exist_ok=True)
        elif value.resolve() != target.resolve():
            shutil.copyfile(value, target)
        print(f"{name}: {target}")
        return
    # endregion
    # region figure
    if hasattr(value, "savefig") or hasattr(value, "figure"):
        picture = value if hasattr(value, "savefig") else value.figure
        target = exact if everything or exact.suffix else exact.with_name(f"{name}.png")
        picture.savefig(target, format=target.suffix[1:] or "png", bbox_inches="tight")
        print(f"{name}: {target}")
        return
    if hasattr(value, "to_json") and hasattr(value, "to_dict"):  # of Plotly or Altair, which a page draws
        target = exact if everything or exact.suffix else exact.with_name(f"{name}.json")
        target.write_text(value.to_json(), encoding="utf-8")
        print(f"{name}: {target}")
        return
    # endregion
    import sys

    sys.set_int_max_str_digits(0)  # an int of any length is written
    if isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False, default=str)
    else:
        text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    if everything:
        exact.write_text(text, encoding="utf-8")
    print(f"{name}: {text}")
