"""GeoDataFrames as samples, arguments and outputs, in the real sandbox with the real GeoPandas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import geopandas as gpd
import pandas as pd
import pytest
from shapely.geometry import Point, box

from autocoder_jupyter.calls.call import call
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.contracts.sample_schema import sources_of
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.tasks.export import export
from autocoder_jupyter.types import OutputSpec
from tests.runner import Generated, Runner, fenced
from tests.scripted_model import prompt_of

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

TOWNS = gpd.GeoDataFrame(
    {"name": ["Aby", "Bwy", "Cey"], "people": [10, 20, 30], "geometry": [box(0, 0, 3, 1), None, box(5, 5, 6, 7)]},
    crs="EPSG:25832",
)
OUTPUTS = (OutputSpec(name="areas", type="DataFrame"),)
PLAN = json.dumps(
    {
        "description": "The area of each town.",
        "approach": "area of the geometry",
        "outputs": [{"name": "areas", "type": "DataFrame", "meaning": "the towns with area"}],
        "assumptions": [],
    }
)
CODE = """\
import geopandas as gpd
import pandas as pd


def run(towns: pd.DataFrame) -> pd.DataFrame:
    assert isinstance(towns, gpd.GeoDataFrame) and towns.crs == "EPSG:25832"
    return towns.assign(area=towns.area, geometry=towns.centroid)"""
SECOND = CODE.replace("towns.area", "towns.geometry.area")
TESTS = '''\
import geopandas as gpd
from shapely.geometry import box
from solution import run


def test_area():
    """Area of @towns."""
    towns = gpd.GeoDataFrame({"name": ["A"], "geometry": [box(0, 0, 2, 3)]}, crs="EPSG:25832")
    areas = run(towns=towns)
    assert isinstance(areas, gpd.GeoDataFrame) and areas.area.tolist() == [0.0]
    assert areas["area"].tolist() == [6.0] and areas.geometry.x.tolist() == [1.0]'''


PLAIN = """\
import pandas as pd


def run(towns: pd.DataFrame) -> pd.DataFrame:
    return towns.assign(people=towns["people"] * 2)"""
PLAIN_TESTS = '''\
import pandas as pd
from solution import run


def test_double():
    """Double @towns."""
    assert run(towns=pd.DataFrame({"people": [1]}))["people"].tolist() == [2]'''


async def made(runner: Runner, **settings: object) -> Generated:
    script = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)], "second": [fenced(SECOND)]}
    return await runner.generate(
        script,
        prompt="Area of @towns.",
        samples={"towns": TOWNS},
        outputs=OUTPUTS,
        settings=settings,
    )


async def test_a_geodataframe_is_a_sample_an_argument_and_an_output(runner: Runner, tmp_path: Path) -> None:
    done = await made(runner, second_opinion="on", effort="normal")
    assert done.report.success, done.error
    assert done.opinion.state == "agree" and len(done.opinion.tried) == 7
    assert any(line.startswith("geopandas==") for line in done.report.lock)
    function = Function.of(done.report, {"towns": TOWNS}, runner.root)
    areas = await call(function, CallOptions(), (), {})
    assert type(areas) is gpd.GeoDataFrame and areas.crs == TOWNS.crs and areas.active_geometry_name == "geometry"
    assert areas["area"].fillna(0).tolist() == [3.0, 0.0, 2.0] and areas.geometry[0] == Point(1.5, 0.5)
    again = await call(function, CallOptions(), [TOWNS.iloc[:1]], {})
    assert again["area"].tolist() == [3.0]
    assert type(await call(function, CallOptions(tables="same"), [TOWNS], {})) is gpd.GeoDataFrame
    with pytest.raises(
        DataDrift, match=r"'geometry' is geometry\[EPSG:4326\] instead of geometry\[EPSG:25832\]"
    ) as raised:
        await call(function, CallOptions(), [TOWNS.to_crs(4326)], {})
    assert 'towns = towns.to_crs("EPSG:25832")' in raised.value.hint
    assert "'geometry': pa.Column(None, nullable=True)" in (sources_of(done.report) or {})["towns"]
    TOWNS.to_parquet(tmp_path / "towns.parquet")
    TOWNS.to_crs(4326).to_parquet(tmp_path / "other.parquet")
    TOWNS.to_file(tmp_path / "towns.gpkg")
    read = await call(function, CallOptions(), [tmp_path / "towns.parquet"], {})
    assert type(read) is gpd.GeoDataFrame and read["area"].fillna(0).tolist() == [3.0, 0.0, 2.0]
    with pytest.raises(InvalidRequest, match=r"towns\.gpkg cannot be read as a table"):
        await call(function, CallOptions(), [tmp_path / "towns.gpkg"], {})
    script = export(done.report, function, tmp_path / "growth.py")
    for file in ("towns.parquet", "towns.gpkg"):
        command = [sys.executable, str(script), "--towns", file, "--output-dir", "out"]
        subprocess.run(command, cwd=tmp_path, check=True)  # noqa: ASYNC221
        assert gpd.read_parquet(tmp_path / "out" / "areas.parquet").crs == TOWNS.crs
    command[command.index("towns.gpkg")] = "other.parquet"
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: ASYNC221
    assert "'geometry' cannot be converted to geometry[EPSG:25832]: it has EPSG:4326" in refused.stderr


@pytest.mark.parametrize("share", ["rows", "stats", "schema"])
async def test_what_the_model_is_told_of_geometries(runner: Runner, share: str) -> None:
    done = await made(runner, share=share)
    sent = "".join(map(prompt_of, done.model.requests))
    assert "a geopandas.GeoDataFrame" in sent and "'geometry' in EPSG:25832" in sent
    assert ("POLYGON ((3 0, 3 1" in sent) is (share == "rows")


@pytest.mark.parametrize(("withheld", "is_named"), [("mask", True), ("hide", False)])
async def test_a_geometry_that_is_masked_or_hidden_is_not_sent(runner: Runner, withheld: str, is_named: bool) -> None:
    done = await made(runner, **{withheld: ["geometry"]})
    sent = "".join(map(prompt_of, done.model.requests))
    assert ("'geometry' geometry" in sent) is is_named and "POLYGON" not in sent


async def test_a_function_that_was_made_without_geopandas_refuses_geometries_by_name(runner: Runner) -> None:
    script = {"plan": [PLAN], "code": [fenced(PLAIN)], "tests": [fenced(PLAIN_TESTS)]}
    plain = pd.DataFrame(TOWNS.drop(columns="geometry"))
    done = await runner.generate(script, prompt="Double @towns.", samples={"towns": plain}, outputs=OUTPUTS)
    assert done.report.success, done.error
    function = Function.of(done.report, {"towns": plain}, runner.root)
    with pytest.raises(InvalidRequest, match="towns has geometries, but growth was made without GeoPandas") as caught:
        await call(function, CallOptions(), [TOWNS], {})
    assert "towns.to_wkt()" in caught.value.hint
    assert (await call(function, CallOptions(), [TOWNS.to_wkt()], {}))["people"].tolist() == [20, 40, 60]
