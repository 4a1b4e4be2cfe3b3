"""`growth.over` of a dataset of Ray in local mode, compared with plain pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.errors import DataDrift, InvalidRequest, NotSplittable
from tests.scaling.clusters.conftest import KINDS, SALES, killed_while
from tests.scaling.conftest import BY_SHOP, MERGE, ROWS, WHOLE, Build
from tests.scaling.test_over import BROKEN, BY_GROUPS, BY_ROWS, MERGED, SAMPLE, SLOW, plain
from tests.scaling.test_sources import AWAY, FUNCTIONS, KNOWN, by_values

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]


def parts(table: pd.DataFrame, rows: int = 1_000) -> list[pd.DataFrame]:
    return [table[start : start + rows] for start in range(0, len(table), rows)]


@pytest.fixture(scope="module")
def dataset(ray: Any) -> Any:
    return ray.data.from_pandas(parts(SALES))


@pytest.mark.parametrize("name", KINDS)
def test_it_gives_what_pandas_gives(built: Build, ray: Any, dataset: Any, name: str) -> None:
    kind, body = FUNCTIONS[name]
    growth = built(body, {"sales": SAMPLE}, known=KNOWN[body])
    answer = growth.over(dataset)
    assert isinstance(answer, ray.data.Dataset)
    found, expected = answer.to_pandas(), plain(body, SALES)
    if kind == "groups":
        found, expected = by_values(found), by_values(expected)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_rows_without_a_key_are_with_others(built: Build, ray: Any) -> None:
    gaps = SALES.assign(shop=SALES["shop"].where(SALES["units"] > 3))
    body = BY_GROUPS.replace("as_index=False", "as_index=False, dropna=False")
    found = built(body, {"sales": gaps.head(240)}).over(ray.data.from_pandas(parts(gaps))).to_pandas()
    pd.testing.assert_frame_equal(by_values(found), by_values(plain(body, gaps)), check_dtype=False)


def test_a_dataset_without_rows_has_the_answer_for_a_table_without_rows(built: Build, ray: Any) -> None:
    none = ray.data.from_pandas(parts(SALES)).filter(expr="units > 100")
    counted = "return pd.DataFrame({'rows': [len(sales)]})"
    assert built(MERGED, {"sales": SAMPLE}, known=MERGE).over(none).to_pandas().to_dict("list") == {"units": [0]}
    assert built(counted, {"sales": SAMPLE}).over(none).to_pandas().to_dict("list") == {"rows": [0]}
    for body in (BY_ROWS, BY_GROUPS):
        assert built(body, {"sales": SAMPLE}, known=KNOWN[body]).over(none).count() == 0


def test_what_cannot_be_right_is_refused_before_anything_is_computed(built: Build, ray: Any, dataset: Any) -> None:
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    explained = growth.over.explain(dataset)
    assert (explained.columns, explained.engine) == (("shop", "units"), "Ray")
    with pytest.raises(DataDrift, match="units"):
        growth.over(dataset.drop_columns(["units"]))
    with pytest.raises(DataDrift, match="units"):
        growth.over(ray.data.from_pandas(SALES.assign(units="many")))
    given: tuple[dict[str, Any], ...] = ({"to": "answer"}, {"workers": 2}, {"progress": print})
    for option in given:
        with pytest.raises(InvalidRequest, match="is not supported for a Ray dataset"):
            growth.over(dataset, **option)
    options = ray.data.DataContext.get_current().execution_options
    options.preserve_order = False
    try:
        for name in ("running sums", "the first row"):
            _, body = FUNCTIONS[name]
            growth = built(body, {"sales": SAMPLE}, known=KNOWN[body])
            with pytest.raises(NotSplittable, match="Ray does not keep it"):
                growth.over(ray.data.from_pandas(SALES))
    finally:
        options.preserve_order = True


def test_what_a_piece_shows_is_the_error_of_the_computation(built: Build, ray: Any, dataset: Any) -> None:
    from ray.exceptions import RayTaskError

    few = f"assert sales['units'].max() < 100, 'too many'\n    {BY_ROWS}"
    broken = built(few, {"sales": SAMPLE}, known=ROWS)
    large = ray.data.from_pandas(SALES.assign(units=SALES["units"].where(SALES.index != 100, 200)))
    with pytest.raises(RayTaskError, match=r"PieceFailed: block 0 \(3,000 rows\)(.|\n)*too many"):
        broken.over(large).to_pandas()
    with pytest.raises(RayTaskError, match=r"TooBig: (.|\n)*repartition"):
        built(BY_ROWS, {"sales": SAMPLE}, known=ROWS).over(dataset, memory=20_000).to_pandas()
    away = built(AWAY, {"sales": SAMPLE}, known=WHOLE)
    with pytest.raises(RayTaskError, match=r"NotSplittable: (.|\n)*does not fit into"):
        away.over(dataset, memory=20_000).to_pandas()
    growth = built(BROKEN["groups"], {"sales": SAMPLE}, known=BY_SHOP)
    odd = ray.data.from_pandas(SALES.assign(note="odd"))
    with pytest.raises(RayTaskError, match=r"SplitBroken: (.|\n)*a piece of groups of shop"):
        growth.over(odd).to_pandas()


def test_a_killed_worker_loses_and_doubles_nothing_and_takes_its_sandbox_with_it(built: Build, ray: Any) -> None:
    growth, table = built(SLOW + BY_ROWS, {"sales": SAMPLE}, known=ROWS), SALES.assign(units=SALES["units"] + 100)
    answer = growth.over(ray.data.from_pandas(parts(table, 200)))
    found = killed_while(answer.to_pandas, lambda process: "".join(process.cmdline()[:1]).startswith("ray::"))
    pd.testing.assert_frame_equal(by_values(found), by_values(plain(BY_ROWS, table)), check_dtype=False)
