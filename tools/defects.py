"""Measures what the tests notice: puts drawn defects into the package, one at a time, and runs the tests on each.

`draw` writes a list of defects, `run` tries those that have no result yet. A defect is a condition that is turned, a
check that is left out, or a bound that is moved. The tests of the room come first, then those of `make test`, then the
others; a defect ends with the first test that fails. Do not change the tree while it runs.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

PACKAGE = Path("autocoder_jupyter")
SUITES = ("room", "make test", "make test-rest")
MOVED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


@dataclass
class Defect:
    """A replacement in a file, and the first suite that noticed it: "" before it was tried, "none" if none did."""

    path: str
    line: int
    kind: str
    before: str
    after: str
    noticed: str = ""


def sites(path: Path) -> Iterator[Defect]:
    """All defects that one file can get. Only conditions and statements that stand on one line."""
    source = path.read_text()
    lines = source.splitlines()

    def site(node: ast.expr | ast.stmt, kind: str, after: str) -> Iterator[Defect]:
        before = ast.get_source_segment(source, node) or ""
        if "TYPE_CHECKING" in before or "__name__" in before:
            return
        if before and "\n" not in before and lines[node.lineno - 1].count(before) == 1:
            yield Defect(str(path), node.lineno, kind, before, after)

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.If(body=[ast.Raise()]) if not node.orelse:
                yield from site(node.test, "check left out", "False")
            case ast.If() | ast.While() | ast.IfExp():
                yield from site(node.test, "condition turned", f"(not ({ast.unparse(node.test)}))")
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in MOVED:
                yield from site(node, "bound moved", f"{ast.unparse(left)} {MOVED[type(op)]} {ast.unparse(right)}")


def draw(count: int, seed: int) -> list[Defect]:
    """Defects of rooms that are drawn at random, each room as likely as any other."""
    chance = random.Random(seed)
    rooms = defaultdict[str, list[Path]](list)
    for path in sorted(PACKAGE.rglob("*.py")):
        rooms[path.relative_to(PACKAGE).parts[0]].append(path)
    drawn: list[Defect] = []
    while len(drawn) < count:
        found = list(sites(chance.choice(rooms[chance.choice(sorted(rooms))])))
        drawn += [one for one in chance.sample(found, min(1, len(found))) if one not in drawn]
    return drawn


@contextlib.contextmanager
def applied(defect: Defect) -> Iterator[None]:
    """The tree with a defect."""
    path = Path(defect.path)
    source = path.read_text()
    lines = source.splitlines(keepends=True)
    line = lines[defect.line - 1]
    if line.count(defect.before) != 1:
        raise ValueError(f"{defect.path}:{defect.line} has changed since {defect.before!r} was drawn.")
    lines[defect.line - 1] = line.replace(defect.before, defect.after)
    try:
        path.write_text("".join(lines))
        yield
    finally:
        path.write_text(source)


def noticed_by(defect: Defect) -> str:
    """The first suite in which a test fails."""
    room = Path("tests", *Path(defect.path).relative_to(PACKAGE).with_suffix("").parts[:1])
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    chosen = {
        "room": ["-n", "2", "-m", "not extended", str(room)] if room.is_dir() else [],
        "make test": ["-n", "4", "-m", "not extended"],
        "make test-rest": ["-n", "4", "-m", "extended"],
    }
    with applied(defect):
        for suite in SUITES:
            if chosen[suite] and subprocess.run([*pytest, *chosen[suite]], capture_output=True).returncode:
                return suite
    return "none"


def main() -> None:
    """Draw defects, or try them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["draw", "run"])
    parser.add_argument("file", type=Path, help="the list of defects, in JSON")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.do == "draw":
        defects = draw(options.count, options.seed)
    else:
        defects = [Defect(**one) for one in json.loads(options.file.read_text())]
    for defect in defects if options.do == "run" else ():
        if not defect.noticed:
            defect.noticed = noticed_by(defect)
            print(f"{defect.noticed:15} {defect.kind:17} {defect.path}:{defect.line}  {defect.before}", flush=True)
            options.file.write_text(json.dumps([asdict(one) for one in defects], indent=1) + "\n")
    options.file.write_text(json.dumps([asdict(one) for one in defects], indent=1) + "\n")


if __name__ == "__main__":
    main()
