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
    """A table by its suffix: .parquet, .feather, .csv, .tsv, .xlsx, .json, .jsonl; by its first bytes without one. The
    files of a folder are read one below the other.

    It gets the recorded dtypes of columns and index, the columns that are not read, the names in the data of columns
    that are read by another name, and the dtypes of columns that are taken by a pattern. A column of text is read as
    text: `00123` keeps its zeros.
    """
    import pathlib

    import pandas

    path = pathlib.Path(text)
    if path.is_dir():
        for place in (path, *path.resolve().parents):
            logs = any((place / log).is_dir() for log in ("_delta_log", ".hoodie", "_spark_metadata"))
            if logs or any((place / "metadata").glob("*.metadata.json")):
                raise ValueError(f"{place} is a table with a log, as of Delta, which says which of its files count")
        entries = sorted(entry for entry in path.iterdir() if entry.name[0] not in "._")
        if not entries or any(entry.is_dir() or entry.is_symlink() for entry in entries):
            raise ValueError("only a folder of files is read as one table")
        parts = [_cli_table(str(entry), columns, index, spare, renames, patterns) for entry in entries]
        if any(list(part.columns) != list(parts[0].columns) for part in parts):
            raise ValueError("its files have different columns")
        return pandas.concat(parts, ignore_index=not index)
    with path.open("rb") as file:
        first = file.read(6)
    packed = {b"\x1f\x8b": "gzip", b"BZ": "bz2", b"\xfd7": "xz"}.get(first[:2])
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if packed and len(suffixes) > 1:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else {b"PAR1": ".parquet", b"ARRO": ".feather"}.get(first[:4], "")
    if not kind and first.lstrip()[:1] in (b"[", b"{"):
        kind = ".json"
    dtypes = {**{has: columns[reads] for reads, has in renames.items() if reads in columns}, **columns, **index}
    if any(str(dtype).startswith("geometry") for dtype in columns.values()):
        import geopandas

        table = geopandas.read_parquet(path) if kind in (".parquet", ".pq") else geopandas.read_file(path)
    elif kind in (".parquet", ".pq"):
        table = pandas.read_parquet(path)
    elif kind in (".feather", ".arrow"):
        table = pandas.read_feather(path)
    elif kind in (".json", ".jsonl", ".ndjson"):
        if not dtypes:
            return pandas.read_json(path, lines=kind != ".json", compression=packed)
        table = _cli_rows(path, packed, is_lines=kind != ".json")
        recorded = _cli_periods(table.columns, dtypes, patterns)
        for label in table.columns:  # pandas writes a time as milliseconds since 1970
            dtype = str(recorded.get(label, ""))
            if dtype.startswith(("datetime64", "timestamp[")) and pandas.api.types.is_numeric_dtype(table[label]):
                table[label] = pandas.to_datetime(table[label], unit="ms", utc=_cli_has_zone(dtype))
    elif kind in (".xlsx", ".xls", ".ods"):
        labels = pandas.read_excel(path, nrows=0).columns
        table = pandas.read_excel(path, dtype=_cli_words(labels, dtypes, patterns))
    else:
        names = [{str(label), str(renames.get(label, label))} for label in columns]
        found = _cli_dialect(path, packed, kind, names, patterns)
        labels = pandas.read_csv(path, nrows=0, **found).columns
        table = pandas.read_csv(path, dtype=_cli_words(labels, dtypes, patterns), **found)
    return _cli_fitted(table, columns, index, spare, renames, patterns)


def _cli_open(path, packed, mode, **options):
    """An open file; one that is compressed gives what it holds."""
    import importlib

    library = {"gzip": "gzip", "bz2": "bz2", "xz": "lzma"}.get(packed, "builtins")
    return importlib.import_module(library).open(path, mode, **options)


def _cli_is_text(dtype):
    """Whether a column with a recorded dtype is read as text from a file without types."""
    if hasattr(dtype, "categories"):
        return all(isinstance(category, str) for category in dtype.categories)
    return dtype.startswith(("str", "large_str", "datetime", "timestamp", "timedelta", "duration", "ordered")) or (
        dtype in ("category", "object", "object of date", "object of decimal")
    )


def _cli_words(labels, dtypes, patterns):
    """The columns of a file without types that are read as text."""
    recorded = _cli_periods(labels, dtypes, patterns)
    words = {str(label) for label, dtype in recorded.items() if _cli_is_text(dtype)}
    return {label: "str" for label in labels if str(label) in words}


def _cli_periods(labels, dtypes, patterns):
    """The recorded dtypes, and those of further columns that are taken by a pattern."""
    import re

    known = set(map(str, dtypes))
    new = [label for label in labels if str(label) not in known]
    found = {name: dtype for name in new for pattern, dtype in patterns.items() if re.fullmatch(pattern, str(name))}
    return {**dtypes, **found}


def _cli_dialect(path, packed, kind, names, patterns):
    """The arguments of `read_csv` with which a file of text has these columns, each of which may have other names, or
    columns of a pattern: separator, decimal sign, encoding, lines above the header.
    """
    import csv
    import re

    with _cli_open(path, packed, "rb") as file:
        head = file.read(262144)
    encoding = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb": "utf-8-sig"}.get(head[:2], "utf-8")
    try:
        text = head.decode(encoding)
    except UnicodeDecodeError as error:
        is_cut = encoding != "utf-8" or error.start > 262140
        text, encoding = (head.decode(encoding, "ignore"), encoding) if is_cut else (head.decode("cp1252"), "cp1252")
    lines, known = text.splitlines()[:60], dict.fromkeys(name for each in names for name in each)
    most, sep, skip, numbers = (0, 0), "\t" if kind in (".tsv", ".tab") else ",", 0, {}
    for sign in ",;\t|":
        for place, line in enumerate(lines):
            there = next(csv.reader([line], delimiter=sign), [])
            periods = len(_cli_periods(there, known, patterns)) - len(known)
            count = sum(not each.isdisjoint(there) for each in names), periods  # a value can look like a year
            if count > most:
                cells = [cell.strip() for row in csv.reader(lines[place + 1 :], delimiter=sign) for cell in row]
                commas = sum(bool(re.fullmatch(r"-?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+", cell)) for cell in cells)
                points = sum(bool(re.fullmatch(r"-?\d+\.\d+", cell)) for cell in cells)
                numbers = {"decimal": ",", "thousands": "."} if sign != "," and commas > points else {}
                most, sep, skip = count, sign, place
    return {"sep": sep, "skiprows": skip, **numbers, "encoding": encoding, "compression": packed}


def _cli_rows(path, packed, is_lines):
    """A table in JSON: one object per row, or one per column. No value is converted."""
    import json

    import pandas

    with _cli_open(path, packed, "rt", encoding="utf-8") as file:
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


def _cli_categories(column, dtype):
    """A column as a category with the recorded categories and order, if it has no other order and no value changes."""
    import pandas

    known, own = dtype.categories, column.dtype if hasattr(column.dtype, "categories") else None
    if own is not None and own.ordered == dtype.ordered and own.categories.equals(known):
        return column
    names = own.categories if own is not None else pandas.Index(column.dropna().unique())
    by_text = {str(category): category for category in known}
    if isinstance(known, pandas.DatetimeIndex):
        by_text |= {category.isoformat(): category for category in known} | {str(day)[:10]: day for day in known}
    if all(isinstance(name, str) for name in names) and not all(isinstance(name, str) for name in known):
        pairs = {name: by_text.get(name, name) for name in names}
    else:
        pairs = {name: name for name in names}
    new = [value for value in pairs.values() if value not in known]
    places = [known.get_loc(value) for value in pairs.values() if value in known]
    if own is not None and own.ordered:
        if places != sorted(places):
            raise ValueError(f"its categories have another order: {list(names)[:10]} instead of {list(known)[:10]}")
        if dtype.ordered and new and len(places) == len(known):
            return column
    if dtype.ordered and new:
        raise ValueError(f"{new[0]!r} is not in the recorded order {list(known)[:10]}")
    try:
        new = sorted(new)
        merged = sorted([*known, *new]) if known.is_monotonic_increasing else [*known, *new]
    except TypeError:
        merged = [*known, *new]
    made = pandas.Index(merged, dtype=known.dtype) if not new else pandas.Index(merged)
    values = [pairs.get(value) if here else None for value, here in zip(column, column.notna(), strict=True)]
    return pandas.Series(pandas.Categorical(values, made, ordered=dtype.ordered), index=column.index, name=column.name)


def _cli_has_zone(dtype):
    """Whether a dtype of times has a time zone."""
    return "," in dtype or "tz=" in dtype


def _cli_converted(column, dtype):
    """A column with the recorded dtype, if no value changes by that."""
    import pandas

    kinds = pandas.api.types
    if hasattr(dtype, "categories"):
        return _cli_categories(column, dtype)
    if dtype == "ordered category":
        if not getattr(column.dtype, "ordered", False):
            raise ValueError("its order is not in this script; give a file that has it, such as Parquet")
        return column
    if dtype.startswith("object of "):
        return _cli_objects(column, dtype.removeprefix("object of "))
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
            if present.astype(str).str.strip().str.isdigit().any():
                raise ValueError("it holds digits alone, not times; write them as 2024-01-31")
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


def _cli_objects(column, kind):
    """A column of Python objects of one kind."""
    import datetime
    import decimal

    import pandas

    made = column.astype(object).where(column.notna(), float("nan"))
    if kind in ("date", "decimal"):
        values = [
            (datetime.date.fromisoformat(value[:10]) if kind == "date" else decimal.Decimal(value))
            if isinstance(value, str)
            else value
            for value in made
        ]
        made = pandas.Series(values, index=made.index, name=made.name, dtype=object)
    found = pandas.api.types.infer_dtype(made, skipna=True)
    numbers = ("integer", "floating", "mixed-integer-float")
    if found not in (kind, "empty") and not (kind in numbers and found in numbers):
        raise ValueError(f"it holds {found} values, not {kind} ones")
    return made


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
