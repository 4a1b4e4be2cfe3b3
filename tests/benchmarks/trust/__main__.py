"""What the layers of evidence are worth: right, wrong and ambiguous functions through the real loop and sandbox.

    python -m tests.benchmarks.trust [--family NAME …] [--task WORDS] [--half before|after]
                                     [--tests types|weak|strong …] [--second on|off] [--kind right|wrong|cheat …]

The model's words are prepared (`tasks`), so this measures the layers and not a model. Prints one table.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from tests.benchmarks.trust.run_script import Outcome, Tests, run_script
from tests.benchmarks.trust.table import Kind, Row, rows_of, settles, table
from tests.benchmarks.trust.tasks import BEFORE, FAMILIES


async def produced(
    rows: Sequence[Row], root: Path, *, at_once: int = 1, shows: bool = False
) -> list[tuple[Row, Outcome]]:
    """Run generations.

    Args:
        rows: the generations, those without a second opinion first.
        root: a folder for journals.
        at_once: how many run at the same time.
        shows: whether a sign of life is printed.
    """
    done: list[tuple[Row, Outcome]] = []
    free = asyncio.Semaphore(at_once)

    async def one(number: int, row: Row) -> None:
        async with free:
            done.append((row, settles(row, done) or await run_script(row.run_script, root / str(number))))
        if shows and len(done) % 25 == 0:
            print(f"{len(done)} of {len(rows)}", file=sys.stderr, flush=True)

    ordered = sorted(enumerate(rows), key=lambda pair: pair[1].setting[1])
    alone = [one(number, row) for number, row in ordered if not row.setting[1]]
    beside = [one(number, row) for number, row in ordered if row.setting[1]]
    await asyncio.gather(*alone)
    await asyncio.gather(*beside)
    return done


def main() -> int:
    """Run the tasks and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.trust", description=__doc__.partition("\n")[0])
    parser.add_argument("--family", nargs="+", default=list(FAMILIES), choices=list(FAMILIES), metavar="NAME")
    parser.add_argument("--task", default="", metavar="WORDS", help="only tasks whose name has these words")
    parser.add_argument("--half", choices=("before", "after"), help="the tasks that were written before or after")
    parser.add_argument(
        "--tests", nargs="+", choices=get_args(Tests), default=get_args(Tests), help="how good they are"
    )
    parser.add_argument("--second", choices=("on", "off"), help="only generations with, or without a second opinion")
    parser.add_argument("--kind", nargs="+", choices=get_args(Kind), default=get_args(Kind), help="of generations")
    parser.add_argument("--jobs", type=int, default=2, help="generations at the same time")
    options = parser.parse_args()
    rows = [
        row
        for family in options.family
        if options.half is None or (family in BEFORE) == (options.half == "before")
        for task in FAMILIES[family]
        if options.task in task.name
        for row in rows_of(family, task)
        if row.kind in options.kind
        and row.setting[0] in options.tests
        and options.second in (None, "on" if row.setting[1] else "off")
    ]
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # connections to models that have ended
    with tempfile.TemporaryDirectory() as root:
        done = asyncio.run(produced(rows, Path(root), at_once=options.jobs, shows=True))
    print(table(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
