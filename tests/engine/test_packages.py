from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from autocoder_jupyter.engine.packages import (
    KNOWN_DISTRIBUTIONS,
    PackageNeeds,
    implied_by_figures,
    imported_modules,
    likely_meant,
    missing_packages,
    package_needs,
    refuse_lookalikes,
)
from autocoder_jupyter.errors import InvalidRequest
from tests.cases import each


def needs(
    code: str,
    declared: Sequence[str] = (),
    always: Sequence[str] = (),
    extra: Sequence[str] = (),
    approved: Collection[str] = (),
) -> PackageNeeds:
    return package_needs([code], declared=declared, always=always, extra=extra, approved=approved)


def test_imports_are_found_wherever_they_stand_and_the_standard_library_is_left_out() -> None:
    code = "import os.path, numpy.linalg\nfrom . import x\ndef f():\n    from sklearn import svm\n    import json"
    assert imported_modules(code, "from solution import run\nimport pytest") == ("numpy", "pytest", "sklearn")


@each(
    ("module", "distribution"),
    [("sklearn", "scikit-learn"), ("PIL", "pillow"), ("yaml", "pyyaml"), ("bs4", "beautifulsoup4"), ("scipy", "scipy")],
)
def test_import_names_are_mapped_to_distributions(module: str, distribution: str) -> None:
    found = needs(f"import {module}")
    assert found.distributions == (distribution,) and found.unknown == ()


def test_what_every_environment_has_is_not_asked_for() -> None:
    assert needs("import pandas as pd, numpy, pyarrow, pytest").distributions == ()


def test_an_invented_package_needs_consent() -> None:
    found = needs("import superfast_pandas_tools")
    assert found.unknown == ("superfast-pandas-tools",)
    assert found.distributions == ("superfast-pandas-tools",)


def test_a_declared_but_unknown_distribution_needs_consent_too() -> None:
    assert needs("import geo_magic", declared=["geo-magic>=2"]).unknown == ("geo-magic",)


def test_a_declared_package_that_is_not_imported_is_not_installed() -> None:
    assert needs("import math", declared=["scipy", "evil"]).distributions == ()


def test_what_a_person_named_is_installed_without_further_consent() -> None:
    found = needs("import math", always=["strange-one==1.0"])
    assert found.distributions == ("strange-one==1.0",) and found.unknown == ()


def test_an_approved_name_is_not_asked_about_again() -> None:
    assert needs("import strange_one", approved=["Strange_One"]).unknown == ()


@each(
    ("message", "wanted"),
    [
        ("E   ModuleNotFoundError: No module named 'sklearn.svm'", {"scikit-learn"}),
        ("ImportError: Missing optional dependency 'openpyxl'.  Use pip or conda", {"openpyxl"}),
        ("No module named 'solution'", set()),
        ("No module named 'json.bad'", set()),
        ("KeyError: 'x'", set()),
    ],
)
def test_a_missing_package_is_read_from_the_error(message: str, wanted: Any) -> None:
    assert missing_packages([message], ()) == wanted


@each(
    ("written", "meant"),
    [
        ("pandsa", "pandas"),
        ("skikit-learn", "scikit-learn"),
        ("scikit_lean", "scikit-learn"),
        ("requets", "requests"),
        ("matplotib", "matplotlib"),
        ("Pandass", "pandas"),
        ("nunpy", "numpy"),
        ("tensorflo", "tensorflow"),
    ],
)
def test_a_mistyped_package_is_known_by_the_one_that_is_meant(written: str, meant: str) -> None:
    assert likely_meant(written) == meant
    with pytest.raises(InvalidRequest) as caught:
        refuse_lookalikes(["tabulate", f"{written}>=1"])
    assert f"Did you mean {meant!r}?" in str(caught.value)
    assert "-p" not in str(caught.value) and "approve" not in str(caught.value)


@each("name", ["simpy", "pyaml", "toml", "geo-magic", "torch", "six", "sax", "superfast-pandas"])
def test_real_packages_and_distant_names_are_nobodys_mistake(name: str) -> None:
    assert likely_meant(name) == ""


def test_no_well_known_package_is_taken_for_a_mistake() -> None:
    assert not [name for name in KNOWN_DISTRIBUTIONS if likely_meant(name)]


def test_a_name_with_an_exact_version_was_looked_up() -> None:
    refuse_lookalikes(["pandsa==1.0"])
    with pytest.raises(InvalidRequest):
        refuse_lookalikes(["pandsa==1.*"])


@each(
    "code, needs",
    [
        ("def run(df):\n    return df.plot().figure", ("matplotlib",)),
        ("import pandas as pd\ndef run(df):\n    return df.hist()[0][0].figure", ("matplotlib",)),
        ("import plotly.express as px", ()),
        ("import altair as alt", ()),
        ("from matplotlib.figure import Figure", ()),
        ("import seaborn as sns", ()),
        ("def run(:", ()),
    ],
)
def test_code_of_a_figure_needs_matplotlib_unless_it_imports_what_draws(code: str, needs: tuple[str, ...]) -> None:
    assert implied_by_figures([code]) == needs
