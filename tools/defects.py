"""Measures what the tests notice: puts drawn defects into the package, one at a time, and runs the tests on each.

`draw` writes a list of defects. A defect is a condition that is turned, a check that is left out, a bound that is
moved, or a commit that mended something (`--mended`) and is turned back. `run` tries those that have no result yet: the
tests of `make test` that reach the function come first, then the others that reach it; a defect ends with the first
test that fails on it, and passes without it. Which test reaches what is written by `tools/reached.py`. Do not change
the tree while it runs.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

PACKAGE = Path("autocoder_jupyter")
SUITES = {"not extended": "make test", "extended": "make test-rest"}
MOVED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


@dataclass
class Defect:
    """A replacement in a file, or a commit (line 0), and the first suite and test that noticed it.

    `noticed` is "" before it was tried, and "none" if no test did.
    """

    path: str
    line: int
    kind: str
    before: str
    after: str
    noticed: str = ""
    by: str = ""


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


def turned_back(commit: str) -> Defect:
    """A commit of the past as a defect; its tests stay."""
    changed = git("show", "--format=", "--name-only", commit, "--", str(PACKAGE)).split()
    subject = git("log", "-1", "--format=%s", commit).strip()
    return Defect(changed[0], 0, "mended, turned back", commit, subject)


def git(*arguments: str, stdin: str | None = None) -> str:
    """What a git command prints."""
    return subprocess.run(["git", *arguments], input=stdin, capture_output=True, text=True, check=True).stdout


def functions(defect: Defect) -> set[tuple[str, int]]:
    """The functions around a defect, by file and first line; of a commit, all functions of its files."""
    if defect.line:
        paths = [defect.path]
    else:
        paths = git("show", "--format=", "--name-only", defect.before, "--", str(PACKAGE)).split()
    every, around = set[tuple[str, int]](), set[tuple[str, int]]()
    for path in paths:
        for node in ast.walk(ast.parse(Path(path).read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                every.add((path, first))
                if first <= defect.line <= (node.end_lineno or 0):
                    around.add((path, first))
    return around or every


@contextlib.contextmanager
def applied(defect: Defect) -> Iterator[None]:
    """The tree with a defect."""
    if not defect.line:
        back = git("diff", defect.before, f"{defect.before}~1", "--", str(PACKAGE))
        git("apply", "-", stdin=back)
        try:
            yield
        finally:
            git("apply", "--reverse", "-", stdin=back)
        return
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


def failing(tests: list[str], suite: str) -> list[str]:
    """The tests of a suite that fail, up to the first few; also those that cannot be collected."""
    if not tests:
        return []
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as chosen:
        chosen.write("\n".join(tests))
        chosen.flush()
        pytest = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-o",
            "timeout=120",
            "-n",
            str(min(3, len(tests))),
        ]
        done = subprocess.run([*pytest, "-m", suite, f"@{chosen.name}"], capture_output=True, text=True)
    if done.returncode in (0, 5):  # 5: no test of this suite
        return []
    return re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.MULTILINE) or ["pytest itself"]


def noticed_by(defect: Defect, reach: dict[tuple[str, int], set[str]]) -> tuple[str, str]:
    """The first suite in which a test fails, and that test."""
    tests = sorted({test for function in functions(defect) for test in reach.get(function, ())})
    room = str(Path("tests", *Path(defect.path).relative_to(PACKAGE).with_suffix("").parts[:1]))
    near = [one for one in tests if one.startswith(room)]
    far = [one for one in tests if not one.startswith(room)]
    for suite in SUITES:
        for chosen in (near, far):
            ignored = set[str]()
            while True:
                with applied(defect):
                    failed = failing([one for one in chosen if one not in ignored], suite)
                if not failed:
                    break
                if failed == ["pytest itself"] or not failing(failed, suite):
                    return suite, failed[0]
                ignored |= set(failed)  # they fail without the defect too, on this machine
    return "none", f"of {len(tests)} tests"


def read_reach(folder: Path) -> dict[tuple[str, int], set[str]]:
    """The tests that enter a function, by file and first line."""
    reach = defaultdict[tuple[str, int], set[str]](set)
    for part in folder.glob("*.tsv"):
        for line in part.read_text().splitlines():
            match line.split("\t"):
                case [test, path, first]:  # a test whose name has a line break is left out
                    reach[path, int(first)].add(test)
    return reach


def main() -> None:
    """Draw defects, or try them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["draw", "run"])
    parser.add_argument("file", type=Path, help="the list of defects, in JSON")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mended", nargs="*", default=[], metavar="COMMIT", help="commits that are turned back")
    parser.add_argument("--reached", type=Path, help="the folder that reached.py wrote")
    options = parser.parse_args()
    if options.do == "draw":
        defects = draw(options.count, options.seed) + [turned_back(one) for one in options.mended]
    else:
        defects = [Defect(**one) for one in json.loads(options.file.read_text())]
        reach = read_reach(options.reached)
    for defect in defects if options.do == "run" else ():
        if not defect.noticed:
            suite, defect.by = noticed_by(defect, reach)
            defect.noticed = SUITES.get(suite, suite)
            print(f"{defect.noticed:15} {defect.kind:17} {defect.path}:{defect.line}  {defect.before}", flush=True)
            options.file.write_text(json.dumps([asdict(one) for one in defects], indent=1) + "\n")
    options.file.write_text(json.dumps([asdict(one) for one in defects], indent=1) + "\n")


if __name__ == "__main__":
    main()
