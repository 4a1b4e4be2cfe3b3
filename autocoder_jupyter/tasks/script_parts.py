"""Parts of an exported script: the way in, readers of arguments, and the writer of outputs. Read as text by `harness`.

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
    return pandas.read_csv(path, sep="\t" if kind == ".tsv" else ",")


def _cli_series(text):
    """The only column of a table."""
    table = _cli_table(text)
    if len(table.columns) != 1:
        raise ValueError(f"{text} has {len(table.columns)} columns, and one was expected")
    return table.iloc[:, 0]


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
