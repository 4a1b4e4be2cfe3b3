"""An address is never a path: no text such as `s3://bucket/sales` becomes a folder of that name, or is read as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autocoder_jupyter
from autocoder_jupyter import AutoCoderAgent, Dir, File
from autocoder_jupyter.codemode.agent import _texts
from autocoder_jupyter.data.readers import read_table
from autocoder_jupyter.data.sampling import sampled
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import local_path, scheme_of
from autocoder_jupyter.kinds.values import Figure
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.scaling.answers import place_of
from autocoder_jupyter.scaling.sources import source_of
from autocoder_jupyter.types import CodeSolution, Report

ADDRESSES = (
    "http://127.0.0.1:9/sales",
    "HTTPS://127.0.0.1:9/sales",
    "ftp://127.0.0.1/sales",
    "s3://bucket/sales",
    "gs://bucket/sales",
    "dbfs:/mnt/sales",
    " s3://bucket/sales",
    "simplecache::s3://bucket/sales",
    "file://other.example/sales",
    "nonsense+x://sales",
    "http://name:SECRET@127.0.0.1:9/sales?key=SECRET",
)


def result() -> CodeGenEvalResult:
    code = "def run(sales):\n    return sales\n"
    report = Report(name="growth", run_id="abc", prompt="…", success=True, solution=CodeSolution(code=code))
    return CodeGenEvalResult("growth", Pending.resolved(Resolution("ready", report)))


PLACES: dict[str, Callable[[str], Any]] = {
    "File": File,
    "Dir": Dir,
    "File of a Path": lambda address: File(Path(address)),
    "save of a figure": lambda address: Figure(b"png", 1, 1).save(address),
    "export": lambda address: result().export(address),
    "export of a package": lambda address: result().export(address, kind="package"),
    "save": lambda address: result().save(address),
    "load": CodeGenEvalResult.load,
    "output_dir": lambda address: result().with_options(output_dir=address),
    "log": lambda address: AutoCoderAgent(log=address),
    "packages_from": lambda address: AutoCoderAgent(packages_from=address),
    "journal_root": lambda address: AutoCoderAgent(model="m").generate("…", journal_root=address),
    "a table in a call": lambda address: read_table("sales", Path(address), None),
    "a sample": lambda address: asyncio.run(sampled({"sales": f"{address}/x.parquet"})),
    "a sample in a folder": lambda address: asyncio.run(sampled({"sales": Path(address)})),
    "over of a Path": lambda address: source_of(Path(address)),
    "over of a list": lambda address: source_of([Path(address)]),
    "to": lambda address: place_of(Path(address)),
    "skills": lambda address: _texts([Path(address)]),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in {address, address.strip()}:
        (tmp_path / str(Path(name))).mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidRequest, match=r"is an address of [\w+.:-]+, and not a path") as error:
        PLACES[place](address)
    assert "SECRET" not in error.value.what
    assert sorted(tmp_path.rglob("*")) == before


EMPTY: dict[str, Callable[[str], Any]] = {
    **{place: PLACES[place] for place in ("File", "Dir", "save of a figure", "export", "export of a package")},
    **{place: PLACES[place] for place in ("save", "load", "output_dir", "packages_from", "journal_root")},
    "load of the journal": lambda text: autocoder_jupyter.load("growth", journal_root=text),
    "a table in a call": lambda text: read_table("sales", text, None),
    "over": source_of,
    "over of a list": lambda text: source_of([text]),
    "to": place_of,
}


@pytest.mark.parametrize("place", EMPTY)
@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, text: str
) -> None:
    (tmp_path / "sales.parquet").write_bytes(b"not read")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequest, match=r"is no path|must be the path|non-empty"):
        EMPTY[place](text)
    assert [path.name for path in tmp_path.iterdir()] == ["sales.parquet"]


@pytest.mark.parametrize("address", [address for address in ADDRESSES if "s3:" not in address and "gs:" not in address])
def test_an_address_that_is_no_object_storage_is_refused(address: str) -> None:
    for place in (
        source_of,
        place_of,
        lambda address: source_of([address]),
        lambda address: read_table("a", address, None),
    ):
        with pytest.raises(InvalidRequest, match=r"is an address of [\w+.:-]+, and not a path") as error:
            place(address)
        assert "s3://" in error.value.hint


def test_what_looks_like_an_address_and_is_a_path() -> None:
    for path in ("./s3:/bucket", "sales", "C:\\sales", "c:/sales", "/data/s3://x", "a:b.csv", "~/sales"):
        assert (scheme_of(path), local_path(path)) == ("", Path(path))
    assert (
        local_path("file:///data/a%20b.csv") == local_path("file://localhost/data/a%20b.csv") == Path("/data/a b.csv")
    )
    assert File("file:///data/x.csv").path == Path("/data/x.csv")
