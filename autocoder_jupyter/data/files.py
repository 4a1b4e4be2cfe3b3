"""Describe a file or a folder for the model: its format, how to read it, its size and its contents."""

from __future__ import annotations

import html
import importlib
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from autocoder_jupyter.data.dialects import (
    DELIMITED_SUFFIXES,
    HEAD_BYTES,
    compression_of,
    count_records,
    decode,
    encoding_of,
    lines_of,
    not_numbers,
    read_call,
    read_head,
    sniff,
)
from autocoder_jupyter.data.profile import FrameProfile, profile_frame
from autocoder_jupyter.data.rendering import Rendered, TableText, TableView, cost, neutral
from autocoder_jupyter.data.sample import mentioned, sample_rows
from autocoder_jupyter.data.table_formats import format_of
from autocoder_jupyter.data.text_formats import RAW_CHARACTERS, shorten
from autocoder_jupyter.data.workbooks import read_sheets, require_moderate
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.redaction.masking import FilePlaceholders, Masker, suffixes_of
from autocoder_jupyter.request import Share
from autocoder_jupyter.types import Dir, File

READ_ROWS = 10_000
"""Rows of a file that are used for statistics. The number of rows is that of the whole file."""

TEXT_LINES = 1_000
"""Lines of a text file that are kept for display."""

DIR_ENTRIES = 10_000
"""Maximum number of files of a folder that are listed."""

_JSON_BYTES = 50 * 2**20
_LINE_CHARACTERS = 2_000

_MAGIC = (
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"FEA1", "Feather (version 1)"),
    (b"\x89PNG", "PNG picture"),
    (b"\xff\xd8\xff", "JPEG picture"),
    (b"GIF8", "GIF picture"),
    (b"%PDF", "PDF"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"SQLite format 3", "SQLite database"),
    (b"\x89HDF", "HDF5"),
    (b"\xd0\xcf\x11\xe0", "old Microsoft Office file"),
    (b"\x80\x04", "pickle"),
    (b"\x80\x05", "pickle"),
    (b"\x7fELF", "ELF program"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"7z\xbc\xaf", "7z archive"),
    (b"\x93NUMPY", "numpy array"),
)


@dataclass(frozen=True)
class FileProfile:
    """The description of one file.

    Args:
        size: the size on disk in bytes.
        kind: `delimited text`, `Parquet`, `JSON` …
        facts: phrases about encoding, reading and irregularities. They contain no values of the data.
        frame: its first rows, if it is a table.
        rows: the number of rows of the whole table; None if it is not a table.
        lines: the first lines of a text file, truncated to 2,000 characters.
        contents: phrases that contain values of the data.
    """

    name: str
    size: int
    kind: str
    facts: tuple[str, ...] = ()
    frame: pd.DataFrame | None = None
    rows: int | None = None
    lines: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()


@dataclass(frozen=True)
class DirProfile:
    """The description of a folder.

    Args:
        entries: relative paths and sizes of its files, sorted.
        examples: the description of the first file of each data format.
        table: the format of the table that it is, if a log says which of its files count; else "".
    """

    name: str
    entries: tuple[tuple[str, int], ...]
    complete: bool
    suffixes: tuple[tuple[str, int], ...]
    examples: tuple[tuple[str, FileProfile], ...]
    table: str = ""


def describe_path(value: File | Dir, request: str = "") -> FileProfile | DirProfile:
    """Describe a file or a folder. A broken file is described as broken. The request may name a sheet."""
    path = value.path
    wrong = not (path.is_dir() if isinstance(value, Dir) else path.is_file())
    if wrong:
        kind = "folder" if isinstance(value, Dir) else "file"
        hint = f"There is a {'file' if kind == 'folder' else 'folder'} of that name." if path.exists() else ""
        raise InvalidRequest(f"There is no {kind} {str(path)!r}.", hint=hint)
    try:
        return _describe_dir(path, request) if isinstance(value, Dir) else describe_file(path, request)
    except PermissionError as error:
        raise InvalidRequest(f"{str(path)!r} may not be read.", why=str(error)) from None


def describe_file(path: Path, request: str = "") -> FileProfile:
    """Describe one file by its bytes. The suffix is used only if the bytes are ambiguous."""
    size = path.stat().st_size
    if size == 0:
        return FileProfile(path.name, 0, "empty file")
    compression = compression_of(path)
    try:
        head = read_head(path, compression)
    except (OSError, EOFError, ValueError) as error:
        return FileProfile(path.name, size, f"broken {compression} file", (type(error).__name__,))
    magic = next((name for start, name in _MAGIC if head.startswith(start)), "")
    encoding = None if magic else encoding_of(head)
    if encoding is None:
        return _describe_binary(path, size, compression, magic, request)
    return _describe_text(path, size, compression, encoding, head)


# Binary files


def _describe_binary(path: Path, size: int, compression: str, magic: str, request: str) -> FileProfile:
    inside = f" in {compression}" if compression else ""
    try:
        if magic == "Parquet" and not compression:
            return _describe_parquet(path, size)
        if magic in ("Arrow", "Feather (version 1)") and not compression:
            return _describe_arrow(path, size)
        if magic == "ZIP archive" and not compression:
            return _describe_zip(path, size, request)
    except Exception as error:
        # Readers of binary formats may raise any exception on a damaged file.
        return FileProfile(path.name, size, f"broken {magic} file", (f"cannot be read: {type(error).__name__}",))
    return FileProfile(path.name, size, (magic or "binary file of unknown kind") + inside)


def _describe_parquet(path: Path, size: int) -> FileProfile:
    pa: Any = importlib.import_module("pyarrow")
    pq: Any = importlib.import_module("pyarrow.parquet")
    with pq.ParquetFile(path) as file:
        batches = list(islice(file.iter_batches(batch_size=READ_ROWS), 1))
        table = pa.Table.from_batches(batches, schema=file.schema_arrow)
        rows = file.metadata.num_rows
        facts = ("read with pd.read_parquet(path)", f"{file.num_row_groups} row groups")
    return FileProfile(path.name, size, "Parquet", facts, table.to_pandas(), rows)


def _describe_arrow(path: Path, size: int) -> FileProfile:
    pa: Any = importlib.import_module("pyarrow")
    feather: Any = importlib.import_module("pyarrow.feather")
    try:
        with pa.memory_map(str(path)) as source:
            file = pa.ipc.open_file(source)
            rows, kept = 0, []
            for number in range(file.num_record_batches):
                batch = file.get_batch(number)
                if rows < READ_ROWS:
                    kept.append(batch.slice(0, READ_ROWS - rows))
                rows += batch.num_rows
            table = pa.Table.from_batches(kept, schema=file.schema)
            frame = table.to_pandas()
    except pa.ArrowInvalid:
        whole = feather.read_table(path)
        rows, frame = whole.num_rows, whole.slice(0, READ_ROWS).to_pandas()
    return FileProfile(path.name, size, "Feather", ("read with pd.read_feather(path)",), frame, rows)


def _describe_zip(path: Path, size: int, request: str) -> FileProfile:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "xl/workbook.xml" not in names:
            shown = ", ".join(sorted(names)[:20])
            return FileProfile(path.name, size, f"ZIP archive of {len(names)} entries", contents=(f"entries {shown}",))
        with archive.open("xl/workbook.xml") as file:
            workbook = file.read(2**20).decode("utf-8", "replace")
    sheets = [html.unescape(name) for name in re.findall(r"<(?:\w+:)?sheet\b[^<>]*?\bname=\"([^\"]*)\"", workbook)]
    facts = [f"{len(sheets)} sheets: {', '.join(repr(sheet) for sheet in sheets[:20])}"]
    if importlib.util.find_spec("openpyxl") is None:
        facts.append(
            "needs the package openpyxl to be read; it is not installed here, so the contents were not looked at"
        )
        return FileProfile(path.name, size, "Excel workbook", tuple(facts))
    try:
        require_moderate(path)
    except ValueError as error:
        facts.append(f"the contents were not looked at: {error}")
        return FileProfile(path.name, size, "Excel workbook", tuple(facts))
    found = read_sheets(path)
    chosen = _named_sheet([sheet.name for sheet in found], request)
    frame = pd.read_excel(path, sheet_name=chosen, nrows=1_000)
    which = f", sheet_name={found[chosen].name!r}" if chosen else ""
    below = f"the sheet {found[chosen].name!r}" if chosen else "the first sheet"
    facts.append(f"read with pd.read_excel(path{which}), which needs the package openpyxl; below: {below}")
    if len(found) > 1:
        facts += [sheet.words for sheet in found[:_MOST_SHEETS]]
    facts += found[chosen].remarks
    return FileProfile(path.name, size, "Excel workbook", tuple(facts), frame, max(0, found[chosen].rows - 1))


_MOST_SHEETS = 20


def _named_sheet(names: list[str], request: str) -> int:
    """The position of the sheet that the request names; the first if it names none."""
    places = mentioned(names, request)
    return max(places, key=lambda place: len(names[place])) if places else 0


# Text files


def _describe_text(path: Path, size: int, compression: str, encoding: str, head: bytes) -> FileProfile:
    suffix = _suffix(path, compression)
    facts = tuple(
        f"{what}" for what in ((f"compressed with {compression}" if compression else ""), _coding(encoding)) if what
    )
    text = decode(head, encoding)
    whole_lines = text if len(head) < HEAD_BYTES else text.rpartition("\n")[0]
    if suffix in (".jsonl", ".ndjson") or _looks_like_json_lines(whole_lines, suffix):
        found = _describe_json_lines(path, size, compression, encoding, facts)
    elif suffix in (".json", ".geojson") or text.lstrip("\ufeff \r\n\t")[:1] in ("[", "{"):
        found = _describe_json(path, size, compression, encoding, facts)
    else:
        found = None
    if found is None and suffix != ".log":
        found = _describe_delimited(path, size, compression, encoding, whole_lines, facts)
    return found or _describe_plain(path, size, compression, encoding, facts)


def _suffix(path: Path, compression: str) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if compression and len(suffixes) > 1 and suffixes[-1] in (".gz", ".bz2", ".xz"):
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def _coding(encoding: str) -> str:
    return {"utf-8": "", "cp1252": "encoding cp1252 (latin-1)"}.get(encoding, f"encoding {encoding}")


def _describe_delimited(
    path: Path, size: int, compression: str, encoding: str, head: str, facts: tuple[str, ...]
) -> FileProfile | None:
    dialect = sniff(head, certain=_suffix(path, compression) in DELIMITED_SUFFIXES)
    if dialect is None:
        return None
    arguments, call = read_call(dialect, encoding)
    packing: Any = compression or None
    try:
        frame = pd.read_csv(path, nrows=READ_ROWS, compression=packing, low_memory=False, **arguments)  # type: ignore[call-overload]
        plain: dict[str, Any] = {key: part for key, part in arguments.items() if key not in ("decimal", "thousands")}
        cells = pd.read_csv(path, nrows=READ_ROWS, compression=packing, dtype=str, **plain)
        if labels := not_numbers(frame, cells):
            frame = _with_texts(frame, cells, labels)
            call = read_call(dialect, encoding, labels)[1]
            facts = (*facts, "some columns look like numbers and are texts, such as digits with leading zeros")
    except Exception as error:
        # Ragged lines or wrong encodings further down: the file is then described as plain text.
        return _describe_plain(path, size, compression, encoding, (*facts, f"{call} fails: {type(error).__name__}"))
    if len(frame) < READ_ROWS:
        rows = len(frame)
    else:
        records = count_records(path, compression, encoding, quoted=True)
        rows = records - int(dialect.header) - _filled_lines(head, dialect.skip)
    explicit = ", compression=" + repr(compression) if compression and path.suffix not in (".gz", ".bz2", ".xz") else ""
    reading = f"read with {call.removesuffix(')')}{explicit})"
    details = (*facts, *(() if dialect.header else ("no header line",)), reading)
    return FileProfile(path.name, size, "delimited text", details, frame, rows)


def _with_texts(frame: pd.DataFrame, cells: pd.DataFrame, labels: list[Any]) -> pd.DataFrame:
    for place, label in enumerate(frame.columns):
        if label in labels:
            column: Any = cells.iloc[:, place]
            frame.isetitem(place, column)
    return frame


def _filled_lines(head: str, skip: int) -> int:
    return sum(bool(line.strip()) for line in head.splitlines()[:skip])


def _looks_like_json_lines(text: str, suffix: str) -> bool:
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    if suffix in (".csv", ".tsv") or len(lines) < 2:
        return False
    try:
        return all(isinstance(json.loads(line), dict) for line in lines)
    except ValueError:
        return False


def _describe_json_lines(
    path: Path, size: int, compression: str, encoding: str, facts: tuple[str, ...]
) -> FileProfile | None:
    records, broken = [], 0
    for line in islice(lines_of(path, compression, encoding), READ_ROWS):
        if line.strip():
            try:
                records.append(json.loads(line))
            except (ValueError, RecursionError):
                broken += 1
    if not records:
        return None
    rows = count_records(path, compression, encoding, quoted=False)
    details = [*facts, "one JSON value a line; read with pd.read_json(path, lines=True)"]
    if broken:
        details.append(f"{broken} of the first lines are not JSON")
    return _json_profile(path, size, "JSON lines", tuple(details), records, rows)


def _describe_json(
    path: Path, size: int, compression: str, encoding: str, facts: tuple[str, ...]
) -> FileProfile | None:
    if size > _JSON_BYTES:
        return _describe_plain(
            path, size, compression, encoding, (*facts, "JSON, too large to be looked at as a whole")
        )
    try:
        value = json.loads(b"".join(lines_of(path, compression, encoding)).decode(_after_lines(encoding), "replace"))
    except (ValueError, RecursionError):
        return None
    details = (*facts, "one JSON value; read with json.load")
    if isinstance(value, list):
        return _json_profile(path, size, "JSON", details, value, len(value))
    return FileProfile(
        path.name, size, "JSON", (*details, f"structure {_json_structure(value)}"), contents=(_json_beginning(value),)
    )


def _after_lines(encoding: str) -> str:
    """The encoding of the lines of `lines_of`, which converts UTF-16 to UTF-8."""
    return "utf-8" if encoding == "utf-16" else encoding


def _json_profile(
    path: Path, size: int, kind: str, facts: tuple[str, ...], records: list[Any], rows: int
) -> FileProfile:
    details = (*facts, f"structure {_json_structure(records)}")
    if records and all(isinstance(record, dict) for record in records):
        return FileProfile(path.name, size, kind, details, pd.DataFrame(records[:READ_ROWS]), rows)
    return FileProfile(path.name, size, kind, (*details, f"{rows} items"), contents=(_json_beginning(records),))


def _json_structure(value: Any, depth: int = 0) -> str:
    """The structure of a JSON value: names and types, no values."""
    if isinstance(value, dict):
        if depth >= 4:
            return "object"
        inner = [
            f"{shorten(str(key), RAW_CHARACTERS)}: {_json_structure(one, depth + 1)}"
            for key, one in islice(value.items(), 25)
        ]
        more = f", … {len(value) - 25} more" if len(value) > 25 else ""
        return "{" + ", ".join(inner) + more + "}"
    if isinstance(value, list):
        if depth >= 4 or not value:
            return "list"
        return f"list of {_merged_structure(value[:200], depth + 1)}"
    return {"NoneType": "null", "str": "text"}.get(type(value).__name__, type(value).__name__)


def _merged_structure(values: list[Any], depth: int) -> str:
    """One structure for all items of a list. Keys that some objects do not have are marked with `?`."""
    objects = [value for value in values if isinstance(value, dict)]
    kinds = list(dict.fromkeys(_json_structure(value, depth) for value in values if not isinstance(value, dict)))[:4]
    if objects:
        keys = list(dict.fromkeys(key for one in objects for key in one))
        inner = []
        for key in keys[:25]:
            present = [one[key] for one in objects if key in one]
            name = shorten(str(key), RAW_CHARACTERS)
            mark = "?" if len(present) < len(objects) else ""
            inner.append(f"{name}{mark}: {_merged_structure(present[:50], depth + 1)}" if depth < 5 else name)
        more = f", … {len(keys) - 25} more" if len(keys) > 25 else ""
        kinds.insert(0, "{" + ", ".join(inner) + more + "}")
    return " or ".join(kinds) or "nothing"


def _json_beginning(value: Any) -> str:
    return "begins " + shorten(json.dumps(value, ensure_ascii=False), 600)


_TIMESTAMP = re.compile(
    r"\[?\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}"
    r"|\[?\d{1,2}/[A-Z][a-z]{2}/\d{4}:"
    r"|[A-Z][a-z]{2} +\d{1,2} \d{2}:\d{2}"
)
_LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b")


def _describe_plain(path: Path, size: int, compression: str, encoding: str, facts: tuple[str, ...]) -> FileProfile:
    shown: list[str] = []
    total = 0
    for raw in lines_of(path, compression, encoding):
        total += 1
        if len(shown) < TEXT_LINES:
            line = decode(raw, _after_lines(encoding)).rstrip("\r\n").removeprefix("\ufeff")
            more = f"…(+{len(line) - _LINE_CHARACTERS})" if len(line) > _LINE_CHARACTERS else ""
            shown.append(line[:_LINE_CHARACTERS] + more)
    details = [*facts, f"{total} lines", *_log_facts(shown)]
    return FileProfile(path.name, size, "text", tuple(details), lines=tuple(shown))


def _log_facts(lines: Iterable[str]) -> Iterable[str]:
    filled = [line for line in lines if line.strip()]
    stamped = sum(bool(_TIMESTAMP.match(line)) for line in filled)
    if not filled or stamped < 0.5 * len(filled):
        return
    levels = Counter(match.group(1) for line in filled if (match := _LEVEL.search(line[:200])))
    yield f"a log: {stamped} of the first {len(filled)} lines begin with a time"
    if levels:
        yield "levels " + ", ".join(f"{level} ×{count}" for level, count in sorted(levels.items()))


# Folders


def _describe_dir(path: Path, request: str) -> DirProfile:
    found = list(islice((entry for entry in _walk(path)), DIR_ENTRIES + 1))
    entries = sorted((entry.relative_to(path).as_posix(), entry.stat().st_size) for entry in found[:DIR_ENTRIES])
    suffixes = Counter(Path(name).suffix.lower() or "(none)" for name, _ in entries)
    ranked = sorted(suffixes.items(), key=lambda pair: (-pair[1], pair[0]))
    examples = []
    for suffix, _ in ranked[:3]:
        first = next(name for name, _ in entries if (Path(name).suffix.lower() or "(none)") == suffix)
        examples.append((first, describe_file(path / first, request)))
    is_complete = len(found) <= DIR_ENTRIES
    return DirProfile(path.name, tuple(entries), is_complete, tuple(ranked), tuple(examples), format_of(path))


def _walk(path: Path) -> Iterable[Path]:
    """The files of a folder, sorted. Links are not followed, because they may lead out of the folder."""
    for entry in sorted(path.iterdir()):
        if entry.is_symlink():
            continue
        if entry.is_dir():
            yield from _walk(entry)
        elif entry.is_file():
            yield entry


# Text for the model: masked, escaped, and within its budget

_LISTED = 40
_SHOWN_CHARACTERS = 300


def profiles_of(profile: FileProfile | DirProfile, request: str) -> dict[str, FrameProfile]:
    """The profiles of the tables in a file or a folder, by the file's name. The request may mention their columns."""
    files = dict(profile.examples) if isinstance(profile, DirProfile) else {profile.name: profile}
    frames = {name: file.frame for name, file in files.items() if file.frame is not None}
    return {name: profile_frame(frame, named=mentioned(frame.columns, request)) for name, frame in frames.items()}


class PathText:
    """Renders a file or a folder in more or less detail. `tables` are the profiles of its tables, see `profiles_of`."""

    def __init__(
        self,
        profile: FileProfile | DirProfile,
        tables: Mapping[str, FrameProfile],
        share: Share,
        masker: Masker,
        max_rows: int,
    ) -> None:
        self._profile = profile
        self._tables = tables
        self._share = share
        self._masker = masker
        self._max_rows = max_rows
        self._names = FilePlaceholders()

    def render(self, budget: int) -> Rendered:
        """The most detailed text that fits."""
        if isinstance(self._profile, DirProfile):
            return self._dir(self._profile, budget)
        name = self._profile.name
        return self._file(self._profile, self._tables.get(name), budget, f"file file-1{suffixes_of(name)}")

    def _file(self, profile: FileProfile, table: FrameProfile | None, budget: int, word: str) -> Rendered:
        head = [f"{word}, {profile.size} bytes, {profile.kind}", *map(self._text, profile.facts)]
        line = shorten("; ".join(head), 3_000)
        if profile.frame is not None and table is not None:
            rows = sample_rows(profile.frame, self._max_rows) if self._share == "rows" else None
            view = TableView(table, rows, (line,), profile.rows)
            return TableText(view, self._share, self._masker, self._max_rows).render(budget)
        if self._share != "rows":
            return Rendered(line)
        body = [shorten(self._text(text), 700) for text in profile.contents]
        return self._with_lines([line, *body], profile.lines, budget)

    def _with_lines(self, head: list[str], lines: tuple[str, ...], budget: int) -> Rendered:
        wanted = lines[: self._max_rows]
        if not wanted:
            return Rendered("\n".join(head))
        room = min(budget - sum(map(cost, head)) - 10, budget * 2 // 3)
        shown: list[str] = []
        for line in wanted:
            text = shorten(neutral(self._masker.mask(line)), _SHOWN_CHARACTERS)
            room -= cost(text)
            if room < 0:
                break
            shown.append(text)
        left_out = (f"{len(wanted) - len(shown)} of {len(wanted)} lines",) if len(shown) < len(wanted) else ()
        return Rendered("\n".join([*head, f"first {len(shown)} lines:", *shown]), left_out)

    def _dir(self, profile: DirProfile, budget: int) -> Rendered:
        total = sum(size for _, size in profile.entries)
        count = f"{len(profile.entries)} files" if profile.complete else f"more than {len(profile.entries)} files"
        kinds = ", ".join(f"{self._suffix(suffix)} ×{number}" for suffix, number in profile.suffixes[:10])
        head = [f"folder, {count}, {total} bytes" + (f": {kinds}" if kinds else "")]
        if profile.table:
            head.append(f"a table of {profile.table}: its log says which files count; others were removed or replaced")
        listed = [f"{self._name(name)} {size}" for name, size in profile.entries[:_LISTED]]
        if len(profile.entries) > _LISTED:
            listed.append(f"and {len(profile.entries) - _LISTED} more")
        head.append(shorten("files and bytes: " + ", ".join(listed), 2_000))
        room = budget - sum(map(cost, head))
        left_out: tuple[str, ...] = ()
        for left, (name, example) in enumerate(profile.examples):
            fair = room // (len(profile.examples) - left)
            part = self._file(example, self._tables.get(name), fair, f"for instance {self._name(name)}")
            head.append(part.text)
            left_out += part.left_out
            room -= cost(part.text)
        return Rendered("\n".join(head), left_out)

    def _name(self, path: str) -> str:
        """The path of a file in a folder. Code may need it, so it is shown at levels that show values."""
        return self._text(path) if self._share == "rows" else self._names.of(path)

    def _suffix(self, suffix: str) -> str:
        return suffixes_of(f"x{suffix}") or "others"

    def _text(self, text: str) -> str:
        return neutral(self._masker.mask(text))
