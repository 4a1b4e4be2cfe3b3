"""Distributions that install without asking, and import names that differ from their distribution's name.

Known means: old, widely used in data work, and the name is the real one. A package that a model invented, and that an
attacker may have registered, is not in this list and needs the user's consent.
"""

from __future__ import annotations

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
