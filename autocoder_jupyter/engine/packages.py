"""Distributions: which ones a solution needs, which are well known, and which names are probably mistyped.

The needed ones are read from the imports, never only from a model's list.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.sandbox.environments.locking import BASE_PACKAGES
from autocoder_jupyter.types import HELPERS
from autocoder_jupyter.untrusted.parsing import parse

# Well-known distributions
#
# These are installed without asking: they are old, widely used in data work, and the name is the real one. A package
# that a model invented, and that an attacker may have registered, is not among them and needs the user's consent.

DISTRIBUTION_OF: dict[str, str] = {
    "absl": "absl-py",
    "bs4": "beautifulsoup4",
    "Bio": "biopython",
    "cairosvg": "cairosvg",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "git": "gitpython",
    "googleapiclient": "google-api-python-client",
    "igraph": "python-igraph",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "kneed": "kneed",
    "Levenshtein": "levenshtein",
    "lxml": "lxml",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "prophet": "prophet",
    "psycopg2": "psycopg2-binary",
    "pylab": "matplotlib",
    "pytz": "pytz",
    "shapefile": "pyshp",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "snappy": "python-snappy",
    "tables": "tables",
    "umap": "umap-learn",
    "ruamel": "ruamel.yaml",
    "usaddress": "usaddress",
    "wordcloud": "wordcloud",
    "Xlib": "python-xlib",
    "xlsxwriter": "xlsxwriter",
    "yaml": "pyyaml",
    "zstandard": "zstandard",
}
"""Import name to distribution, where the two differ (or differ in case)."""

_KNOWN = """
adjusttext affine altair arch arrow attrs autograd babel beautifulsoup4 biopython bokeh boltons bottleneck branca
cachetools cairosvg calamine cartopy category-encoders certifi cftime chardet charset-normalizer click cloudpickle
colorama colorcet connectorx contourpy cvxpy cycler cython dask dateparser datasets datashader deepdiff defusedxml
dill distributed duckdb ephem et-xmlfile fastparquet feather-format feature-engine fiona folium fonttools formulaic
fsspec ftfy fuzzywuzzy gensim geojson geopandas geopy gitpython gmpy2 graphviz great-tables h3 h5py holidays
holoviews html5lib hvplot hypothesis idna iniconfig imageio imbalanced-learn isodate jellyfish jinja2 joblib jsonlines
jsonpath-ng jsonschema kiwisolver kneed langdetect levenshtein lightgbm lifelines llvmlite lxml mapclassify markdown
markupsafe marshmallow matplotlib mlxtend more-itertools mpmath msgpack multidict narwhals natsort ndjson networkx
nltk numba numexpr numpy odfpy openpyxl opencv-python-headless orjson osqp packaging pandas pandas-stubs pandera
parsel passlib patsy pdfplumber peewee phonenumbers pillow pint plotly pluggy polars pooch prettytable prophet pmdarima
psutil psycopg2-binary pulp pyarrow pycountry pycryptodome pydantic pyfaidx pygments pyjwt pykalman pymupdf
pynndescent pyparsing pypdf pyproj pyreadstat pyshp pytest python-calamine python-dateutil python-docx python-dotenv
python-igraph python-pptx python-slugify python-snappy pytz pywavelets pyxlsb pyyaml qrcode rapidfuzz rasterio rdkit
regex requests rich rtree ruamel-yaml ruptures scikit-image scikit-learn scipy seaborn sentencepiece shap shapely
simplejson six sktime sniffio sortedcontainers soupsieve sparse spacy sqlalchemy sqlglot sqlparse squarify
statsforecast statsmodels sympy tables tabulate tenacity textblob texttable thefuzz threadpoolctl tiktoken
tokenizers toolz tomli tomlkit tqdm tsfresh typing-extensions tzdata tzlocal ujson umap-learn unidecode urllib3
usaddress vega-datasets wcwidth wordcloud wrapt xarray xgboost xlrd xlsxwriter xmltodict xxhash yarl zarr zipp zstandard
exceptiongroup
"""

_KNOWN_SYSTEM = """
curl ffmpeg fontconfig fonts-dejavu fonts-dejavu-core fonts-liberation gdal-bin git graphviz libcairo2 libexpat1
libfreetype6 libgdal-dev libgeos-c1v5 libgeos-dev libgl1 libgl1-mesa-glx libglib2.0-0 libgomp1 libhdf5-dev libicu-dev
libjpeg62-turbo libmagic1 libopenblas0 libpango-1.0-0 libpangocairo-1.0-0 libpng16-16 libpq5 libproj-dev libsm6
libsndfile1 libspatialindex-dev libspatialindex6 libssl3 libxext6 libxml2 libxrender1 libxslt1.1 locales pandoc
poppler-utils proj-bin proj-data tesseract-ocr tzdata unixodbc zlib1g
"""

KNOWN_SYSTEM_PACKAGES: frozenset[str] = frozenset(_KNOWN_SYSTEM.split())
"""Debian packages that wheels of these distributions need. They are installed without asking."""

KNOWN_DISTRIBUTIONS: frozenset[str] = frozenset(_KNOWN.split())
"""Normalised names (PEP 503)."""


# Needs of a solution

_OWN_MODULES = frozenset({"solution", HELPERS, "test_solution", "conftest", "__future__", "_pytest"})
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_OPTIONAL_DEPENDENCY = re.compile(r"[Mm]issing optional dependency '([\w.\-]+)'")


@dataclass(frozen=True)
class PackageNeeds:
    """The packages to install.

    Args:
        distributions: normalised names or requirements, sorted.
    """

    distributions: tuple[str, ...]
    unknown: tuple[str, ...]


def imported_modules(*sources: str, own: Collection[str] = _OWN_MODULES) -> tuple[str, ...]:
    """Top-level names of all imported modules, without the standard library and our own; sorted."""
    found: set[str] = set()
    for source in sources:
        for node in ast.walk(parse(source)):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
    return tuple(sorted(found - sys.stdlib_module_names - {*own}))


_PLOTTING = frozenset({"altair", "matplotlib", "mpl_toolkits", "plotly", "plotnine", "pylab", "seaborn"})
"""Modules that draw, or bring what draws."""


def implied_by_figures(sources: Iterable[str]) -> tuple[str, ...]:
    """The distributions that code which returns a Figure needs beside its imports: pandas plots with matplotlib."""
    try:
        modules = imported_modules(*sources)
    except SyntaxError:
        return ()
    return () if _PLOTTING.intersection(modules) else ("matplotlib",)


def distribution_of(module: str, declared: Iterable[str]) -> str:
    """The distribution that provides a module; the module's own name if nothing better is known."""
    if module in DISTRIBUTION_OF:
        return DISTRIBUTION_OF[module]
    wanted = canonicalize_name(module)
    for requirement in declared:
        name = requirement_name(requirement)
        if name and (
            name == wanted or name.removeprefix("python-") == wanted or name.removesuffix("-python") == wanted
        ):
            return requirement
    return wanted


def requirement_name(requirement: str) -> str:
    """The normalised name of a requirement; "" if the text is not a requirement."""
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return ""


def package_needs(
    sources: Iterable[str],
    *,
    declared: Iterable[str],
    always: Iterable[str],
    extra: Iterable[str],
    approved: Iterable[str],
) -> PackageNeeds:
    """The packages that the environment of these sources needs."""
    named = tuple(declared)
    wanted = {requirement_name(requirement): requirement for requirement in always if requirement_name(requirement)}
    for module in imported_modules(*sources):
        distribution = distribution_of(module, (*wanted.values(), *named))
        wanted.setdefault(requirement_name(distribution), distribution)
    for distribution in extra:
        wanted.setdefault(requirement_name(distribution), distribution)
    wanted = {name: requirement for name, requirement in wanted.items() if name and name not in BASE_PACKAGES}
    consented = {requirement_name(requirement) for requirement in (*always, *approved)}
    unknown = tuple(sorted(set(wanted) - KNOWN_DISTRIBUTIONS - consented))
    return PackageNeeds(tuple(sorted(wanted.values())), unknown)


def missing_packages(messages: Iterable[str], declared: Iterable[str]) -> set[str]:
    """The distributions that error messages name: failed imports, and pandas' missing optional dependencies."""
    wanted = set()
    named = tuple(declared)
    for message in messages:
        modules = {module.partition(".")[0] for module in _NO_MODULE.findall(message)}
        modules |= set(_OPTIONAL_DEPENDENCY.findall(message))
        for module in modules - _OWN_MODULES - sys.stdlib_module_names:
            wanted.add(requirement_name(distribution_of(module, named)))
    return wanted - {""}


# Typosquatting
#
# Attackers register names such as `pandsa`, `requets` and `matplotib`: one typing error away from a well-known one.

_SHORTEST = 5
"""Minimum length of a name. Too many real packages have similar shorter names."""

_OFTEN_MEANT = """
boto3 catboost django fastapi flask httpx ipython jupyterlab keras langchain modin openai optuna papermill pymongo
pyspark redis scrapy selenium streamlit tensorflow torch torchvision transformers
"""
"""Also well known, but too large or too unrelated to data to be installed without asking."""

_REAL_SIMILAR = "boto cchardet dataset markdown2 parse pyaml pycryptodomex pypdf2 pyxlsb2 simpy toml"
"""Real packages, although their names differ by one letter from another."""

_WELL_KNOWN = KNOWN_DISTRIBUTIONS | frozenset(_OFTEN_MEANT.split())


def likely_meant(name: str) -> str:
    """The well-known distribution whose name differs by one typing error; "" if there is none.

    A typing error is one letter too many, one missing, one replaced, or two adjacent ones swapped.
    """
    wanted = canonicalize_name(name)
    if wanted in _WELL_KNOWN or wanted in _REAL_SIMILAR.split():
        return ""
    return min(
        (known for known in _WELL_KNOWN if len(known) >= _SHORTEST and _is_one_slip_away(wanted, known)), default=""
    )


def refuse_lookalikes(requirements: Iterable[str]) -> None:
    """Refuse names that the user mistyped. A name with an exact version is accepted: the user has looked it up.

    Raises:
        InvalidRequest: a requirement is one typing error away from a well-known name.
    """
    for text in requirements:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        pinned = any(part.operator == "==" and "*" not in part.version for part in requirement.specifier)
        if not pinned and (meant := likely_meant(requirement.name)):
            raise InvalidRequest(
                f"{requirement.name!r} is not a well-known package, but its name is close to one.",
                why="Attackers register such names for people who mistype the real one.",
                hint=f"Did you mean {meant!r}? To install {requirement.name!r}, give its exact version.",
            )


def _is_one_slip_away(word: str, known: str) -> bool:
    if abs(len(word) - len(known)) > 1 or word == known:
        return False
    start = next((place for place, (a, b) in enumerate(zip(word, known, strict=False)) if a != b), None)
    if start is None:
        return True  # one name has one more letter than the other
    left, right = word[start:], known[start:]
    swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    return swapped or left[1:] == right[1:] or left[1:] == right or left == right[1:]
