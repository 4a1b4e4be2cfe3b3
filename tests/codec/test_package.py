"""The package is sent into the sandbox as source, under another name."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from autocoder_jupyter import codec
from autocoder_jupyter.codec import decode, encode
from tests.cases import each

SOURCES = {path.stem: path.read_text() for path in sorted(Path(codec.__file__).parent.glob("*.py"))}

SANDBOX = """
import importlib.abc, importlib.util, json, pathlib, sys
sources = json.loads(sys.stdin.readline())

class Memory(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "autocoder_codec":
            return importlib.util.spec_from_loader(name, self, is_package=name == "autocoder_codec")
    def exec_module(self, module):
        stem = module.__name__.partition(".")[2] or "__init__"
        exec(compile(sources[stem], module.__name__, "exec"), module.__dict__)

sys.meta_path.insert(0, Memory())
import autocoder_codec
message = json.loads(sys.stdin.readline())
frame = autocoder_codec.decode(
    message["header"], memoryview(bytearray.fromhex(message["payload"])), folder=pathlib.Path("x"), trusted=True
)
frame["double"] = frame["n"] * 2
answer = autocoder_codec.encode(frame, "DataFrame")
slow = sorted({"ssl", "urllib.request", "http.client"} & sys.modules.keys())
payload = b"".join(answer.buffers).hex()
print(json.dumps({"header": answer.header, "payload": payload, "digest": answer.digest(), "slow": slow}))
"""


@each("name", SOURCES)
def test_a_module_imports_nothing_but_the_four(name: Any) -> None:
    tree = ast.parse(SOURCES[name], feature_version=(3, 10))
    allowed = set(sys.stdlib_module_names) | {"numpy", "pandas", "pyarrow"}
    if name == "geometry":  # inside of functions, for values that only these libraries have
        assert not any(isinstance(node, ast.Import) and node.names[0].name not in allowed for node in tree.body)
        allowed |= {"geopandas", "pyproj", "shapely"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= allowed
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1 or (node.module or "").partition(".")[0] in allowed


def test_nothing_in_it_can_run_what_it_reads() -> None:
    for name, source in SOURCES.items():
        used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        assert not used & {"pickle", "eval", "exec", "compile", "__import__", "marshal", "shelve"}, name


def test_it_works_from_memory_under_another_name(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [1, 2], "s": ["a", None], "t": pd.to_datetime(["2024", "2025"], utc=True)}, index=[5, 6])
    encoded = encode(frame, "DataFrame")
    lines = [SOURCES, {"header": encoded.header, "payload": b"".join(encoded.buffers).hex()}]
    ended = subprocess.run(
        [sys.executable, "-I", "-c", SANDBOX],
        input="\n".join(map(json.dumps, lines)),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    answer = json.loads(ended.stdout)
    payload = memoryview(bytearray.fromhex(answer["payload"]))
    back = decode(answer["header"], payload, folder=tmp_path, trusted=False)
    pd.testing.assert_frame_equal(back, frame.assign(double=[2, 4]))
    assert encode(back, "DataFrame").digest() == answer["digest"]
    assert answer["slow"] == []  # a worker needs no network, and would import it at each start
