"""Measures what the tests notice: puts drawn defects into the package, one at a time, and runs the tests on each.

`draw` writes a list of defects. A defect is a condition that is turned, a check that is left out, a bound that is
moved, or a commit that mended something (`--mended`) and is turned back. `probe` runs a suite once, and writes for each
defect in which tests it would make a difference to a value. `run` tries those defects on these tests: those of `make
test` come first, then the others; a defect ends with the first test that fails on it, and passes without it. Do not
change the tree while it runs. The list of this project, with its results, is `tools/defects.json`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import os
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


def room_of(defect: Defect) -> str:
    """The folder of the tests of what is around a defect, or the tests' folder."""
    room = Path("tests", *Path(defect.path).relative_to(PACKAGE).with_suffix("").parts[:1])
    return str(room) if room.is_dir() else "tests"


PROBES = """
def _hit(number, values):
    import os
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if (number, test) not in _hits:
        _hits.add((number, test))
        try:
            with open({hits!r}, "a") as file:
                file.write(f"{{number}}\\t{{test}}\\n")
        except OSError:  # in the sandbox
            pass
    return values
_hits = set()
def _turned(number, value):
    return _hit(number, value)
def _left_out(number, value):
    return _hit(number, value) if value else value
def _moved(number, before, after, left, right):
    import operator
    value, other = getattr(operator, before)(left, right), getattr(operator, after)(left, right)
    return value if value is other else _hit(number, value)
"""
"""What is put into a module: it notes a test in which a defect would make a difference."""


def probed(number: int, defect: Defect) -> str:
    """The expression with a probe instead of the defect."""
    node = ast.parse(defect.before, mode="eval").body
    if defect.kind == "check left out":
        return f"_left_out({number}, ({defect.before}))"
    if defect.kind == "condition turned" or not isinstance(node, ast.Compare):
        return f"_turned({number}, ({defect.before}))"
    names = {ast.Lt: ("lt", "le"), ast.LtE: ("le", "lt"), ast.Gt: ("gt", "ge"), ast.GtE: ("ge", "gt")}
    before, after = names[type(node.ops[0])]
    left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
    return f"_moved({number}, {before!r}, {after!r}, {left}, {right})"


@contextlib.contextmanager
def with_probes(defects: list[Defect], hits: Path) -> Iterator[None]:
    """The tree with a probe for each defect."""
    by_path = defaultdict[str, list[int]](list)
    for number, defect in enumerate(defects):
        if defect.line:
            by_path[defect.path].append(number)
    sources = {path: Path(path).read_text() for path in by_path}
    try:
        for path, source in sources.items():
            lines = source.splitlines(keepends=True)
            for number in by_path[path]:
                defect = defects[number]
                lines[defect.line - 1] = lines[defect.line - 1].replace(defect.before, probed(number, defect))
            first = next(
                node
                for node in ast.parse(source).body
                if not isinstance(node, ast.Expr) and getattr(node, "module", None) != "__future__"
            )
            lines.insert(first.lineno - 1, PROBES.format(hits=str(hits)))
            Path(path).write_text("".join(lines))
        yield
    finally:
        for path, source in sources.items():
            Path(path).write_text(source)


def probe(defects: list[Defect], hits: Path, arguments: list[str]) -> None:
    """Run pytest with probes in the tree. `hits` gets lines of a defect and a test."""
    hits.parent.mkdir(parents=True, exist_ok=True)
    with with_probes(defects, hits):
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], check=False)


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


LIBRARIES = ("IPython", "numpy", "pandas", "pyarrow", "pydantic", "pytest")
"""They are imported once. Each run of the tests is a fork that imports the package as it is then."""


def failing(tests: list[str], suite: str) -> list[str]:
    """The tests of a suite that fail, up to the first few; also those that cannot be collected."""
    if not tests:
        return []
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as chosen, tempfile.TemporaryFile("w+") as printed:
        chosen.write("\n".join(tests))
        chosen.flush()
        arguments = ["-q", "-x", "-p", "no:cacheprovider", "-o", f"timeout={SECONDS}", "-n0", "-m", suite]
        for library in LIBRARIES:
            importlib.import_module(library)
        child = os.fork()
        if not child:
            code = 3
            with contextlib.suppress(BaseException):
                os.dup2(printed.fileno(), 1)
                os.dup2(printed.fileno(), 2)
                code = sys.modules["pytest"].main([*arguments, f"@{chosen.name}"])
                sys.stdout.flush()
            os._exit(int(code))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        printed.seek(0)
        if code in (0, 5):  # 5: no test of this suite
            return []
        return re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", printed.read(), re.MULTILINE) or ["pytest itself"]


SECONDS = 300
"""The time of one test."""


def noticed_by(defect: Defect, tests: list[str]) -> tuple[str, str]:
    """The first suite in which a test fails, and that test."""
    room = room_of(defect)
    near = [one for one in tests if one.startswith(room)]
    far = [one for one in tests if not one.startswith(room)]
    for suite in SUITES:
        for chosen in (near[:NEAR], near[NEAR:], far):
            ignored = set[str]()
            while True:
                with applied(defect):
                    failed = failing([one for one in chosen if one not in ignored], suite)
                if not failed:
                    break
                if not failing(chosen if failed == ["pytest itself"] else failed, suite):
                    return suite, failed[0]
                if failed == ["pytest itself"]:
                    break  # it cannot run these tests without the defect either
                ignored |= set(failed)  # they fail without the defect too, on this machine
    return "none", f"of {len(tests)} tests"


NEAR = 40
"""So many tests of the same room are tried first."""


def tests_of(number: int, defect: Defect, hits: list[list[str]]) -> list[str]:
    """The tests in which a defect makes a difference; if none was noted, as in the sandbox, the files of its room.

    A test whose name has a line break is left out.
    """
    noted = {hit[1] for hit in hits if len(hit) == 2 and hit[0] == str(number) and hit[1].startswith("tests/")}
    return sorted(noted) or sorted(map(str, Path(room_of(defect)).rglob("test_*.py")))


def main() -> None:
    """Draw defects, or try them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["draw", "probe", "run"])
    parser.add_argument("file", type=Path, help="the list of defects, in JSON")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mended", nargs="*", default=[], metavar="COMMIT", help="commits that are turned back")
    parser.add_argument("--hits", type=Path, default=Path("build/hits.tsv"), help="what `probe` writes and `run` reads")
    parser.add_argument("pytest", nargs="*", help="arguments of `probe` for pytest, after --")
    options = parser.parse_args()
    if options.do == "draw":
        defects = draw(options.count, options.seed) + [turned_back(one) for one in options.mended]
    else:
        defects = [Defect(**one) for one in json.loads(options.file.read_text())]
    if options.do == "probe":
        probe(defects, options.hits.resolve(), options.pytest)
        return
    hits = [line.split("\t") for line in options.hits.read_text().splitlines()] if options.do == "run" else []
    for number, defect in enumerate(defects if options.do == "run" else ()):
        if not defect.noticed:
            suite, defect.by = noticed_by(defect, tests_of(number, defect, hits))
            defect.noticed = SUITES.get(suite, suite)
            print(f"{defect.noticed:15} {defect.kind:17} {defect.path}:{defect.line}  {defect.before}", flush=True)
            options.file.write_text(json.dumps([asdict(one) for one in defects], indent=1) + "\n")
    options.file.write_text(json.dumps([asdict(one) for one in defects], indent=1) + "\n")


if __name__ == "__main__":
    main()
