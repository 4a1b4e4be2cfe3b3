"""A week with one function on two machines that share no setting. The model is asked only where the request changes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from tests.conftest import ONE_OPINION
from tests.engine.test_refine import FURTHER, REFINED, sorted_tests
from tests.engine.test_refine import PLAN as REFINED_PLAN
from tests.forked import server
from tests.magics.forked_kernels import KERNELS
from tests.magics.kernel import PATIENCE
from tests.magics.test_real_kernel import environment
from tests.magics.warm import SOURCES, WarmKernel
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced
from tests.sandbox.sandboxes import open_sandbox
from tests.scripted_model import Script, ScriptedModel, by_marker

pytestmark = [pytest.mark.local_sandbox, pytest.mark.kernel, pytest.mark.slow]

ROWS = """
import numpy as np, pandas as pd
draw = np.random.default_rng({seed})
sales = pd.DataFrame({{"price": draw.lognormal(3, 1, {rows}), "quantity": draw.poisson(2, {rows}) + 1}})
total = float((sales["price"] * sales["quantity"]).sum())
"""
CELL = '%%autocode growth -o "total: float"\nTotal revenue of @sales.'
WISH = "%%autocode growth --refine\nAlso give the mean price, and let an empty frame have a revenue of -1."
RIGHT = "abs(growth.run() - total) < 1e-6, growth.state"

WRITTEN: Mapping[str, Script] = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
REFINEMENT: Mapping[str, Script] = {
    "plan": [REFINED_PLAN],
    "code": [fenced(REFINED)],
    "tests": [fenced(FURTHER)],
    "sort_tests": [sorted_tests(("test_empty", "an empty frame have a revenue of -1"))],
}


class Machine:
    """A user with a home, settings, a model and a clone of the project. Each day begins with a kernel that is new."""

    def __init__(
        self, home: Path, origin: Path, model: ScriptedModel, settings: Mapping[str, str], kernels: WarmKernel
    ) -> None:
        home.mkdir()
        git(home, "clone", "-q", str(origin), "project")
        self.folder, self.model, self._kernels = home / "project", model, kernels
        own = {"XDG_CONFIG_HOME": str(home / "config"), "XDG_DATA_HOME": str(home / "data")}
        self._env = {**ONE_OPINION, **environment(model), **own, **settings}
        self._counted = 0

    @contextmanager
    def day(self) -> Iterator[Self]:
        """Work in a new kernel, with what others have pushed."""
        self.git("pull", "-q", "origin", "main")
        with self._kernels.lent(self.folder, self._env) as self.kernel:
            self.cell("%load_ext autocoder_jupyter")
            yield self

    def cell(self, source: str) -> None:
        answered = self.kernel.run(source)
        assert answered.status == "ok", answered.error

    def says(self, expressions: str) -> str:
        return self.kernel.printed(expressions)

    def git(self, *arguments: str) -> str:
        return git(self.folder, *arguments)

    def keep(self, message: str) -> None:
        """Commit and push the folder."""
        self.git("add", "-A", ".autocode")
        self.git("commit", "-qm", message)
        self.git("push", "-q", "origin", "HEAD:main")

    @property
    def asked(self) -> int:
        """The number of questions since it was last read."""
        before, self._counted = self._counted, len(self.model.requests)
        return self._counted - before

    def script(self, source: str, *arguments: str) -> str:
        """The output of a process of its own in the clone."""
        written = self.folder.parent / "printed"
        with written.open("wb") as out:
            env = {**os.environ, **SOURCES}
            path = f"import sys; sys.path.insert(0, {str(self.folder)!r}); "
            begun = server(KERNELS).fork(path + source, self.folder, env, [0, out.fileno(), 2], arguments)
            assert begun.wait(PATIENCE) == 0
        return written.read_text()


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_week(tmp_path: Path, warm_kernel: WarmKernel) -> None:
    open_sandbox("local")
    origin = tmp_path / "origin"
    git(tmp_path, "init", "-q", "-b", "main", "--bare", "origin")
    seed = tmp_path / "seed"
    git(tmp_path, "clone", "-q", str(origin), "seed")
    (seed / "pyproject.toml").write_text("")
    (seed / ".gitignore").write_text(".autocode/*/outputs/\n")
    git(seed, "checkout", "-qb", "main")
    git(seed, "add", "-A")
    git(seed, "commit", "-qm", "project")
    git(seed, "push", "-q", "origin", "main")
    both = {stage: [*WRITTEN.get(stage, ()), *REFINEMENT[stage]] for stage in REFINEMENT}  # type: ignore[misc]
    others = {"AUTOCODE_MODEL": "openai/another", "AUTOCODE_SHARE": "stats", "AUTOCODE_MAX_ITERATIONS": "3"}
    knows = by_marker({MARKERS[stage]: answers for stage, answers in both.items()})
    with ScriptedModel(knows) as model, ScriptedModel(by_marker({})) as mute:
        ada = Machine(tmp_path / "ada", origin, model, {}, warm_kernel)
        ben = Machine(tmp_path / "ben", origin, mute, others, warm_kernel)
        with ada.day():  # Monday: Ada asks for the function.
            ada.cell(ROWS.format(seed=0, rows=2_000))
            ada.cell(CELL)
            assert ada.says(RIGHT) == "True ready" and ada.asked == len(WRITTEN) - 1  # plan and code are one answer
            ada.keep("growth")

        with ben.day():  # Tuesday: Ben has the clone, other settings and new rows. Nothing changes on his disk.
            ben.cell(ROWS.format(seed=1, rows=3_000))
            ben.cell(CELL)
            assert ben.says(RIGHT) == "True ready" and ben.asked == 0
            assert ben.git("status", "--porcelain") == ""

            # Wednesday: he edits one line. A review shows this line, and Ada runs what he wrote.
            file = ben.folder / ".autocode" / "growth" / "solution.py"
            file.write_text(file.read_text().replace("return float(", "return 1.0 * float("))
            ben.cell("%autocode retest growth")
            ben.cell("%autocode wait growth")
            assert ben.says(RIGHT) == "True ready" and ben.asked == 0
            ben.keep("edited")
            shown = ben.git("show", "--format=", "HEAD", "--", ".autocode/growth/solution.py")
            changed = [line for line in shown.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
            assert len(changed) == 2 and "1.0 * float(" in changed[1], shown
        with ada.day():
            ada.cell(ROWS.format(seed=0, rows=2_000))
            ada.cell(CELL)
            assert ada.says(RIGHT) == "True ready" and ada.says("'1.0 * float(' in growth.code") == "True"
            assert ada.asked == 0

        with ben.day():  # Thursday: values drift, and then a column has another name. Ben is told, nobody is asked.
            ben.cell(ROWS.format(seed=1, rows=3_000))
            ben.cell("whole, sales = sales, sales.assign(price=sales['price'].where(sales.index % 5 < 2))")
            ben.cell(CELL)
            ben.cell("growth.wait()")
            assert "sales['price'] is missing in 6" in ben.says("growth.drift"), ben.says("growth.state")
            ben.cell("sales = whole.rename(columns={'price': 'unit_price'})")
            refused = ben.kernel.run(f"{CELL}\n")
            refused = ben.kernel.run("growth.wait()") if refused.status == "ok" else refused
            assert refused.status == "error" and "--rename price=unit_price" in refused.error, refused.error
            ben.cell(CELL.replace("growth ", "growth --rename price=unit_price ", 1))
            assert ben.says(RIGHT) == "True ready" and ben.asked == 0
            ben.cell("growth.export('growth.py'); sales.to_csv('sales.csv', index=False)")
            run = "import runpy; sys.argv[0] = 'growth.py'; runpy.run_path('growth.py', run_name='__main__')"
            done = ben.script(run, "--sales", "sales.csv")
            assert float(done.split("total: ")[1]) == pytest.approx(float(ben.says("total")))
            ben.keep("renamed")

        with ada.day():  # Friday: Ada wants more, which costs.
            ada.cell(ROWS.format(seed=0, rows=2_000))
            ada.cell(CELL)
            ada.cell(WISH)
            assert ada.says("growth.run().mean_price > 0, growth.state") == "True ready"
            assert ada.asked == len(REFINEMENT) - 1 and ada.model.unforeseen == []
            ada.keep("refined")
        with ben.day():  # Then Ben has it without a question, and a script imports it in one line.
            ben.cell(ROWS.format(seed=2, rows=2_000))
            ben.cell(CELL)
            ben.cell(WISH)
            assert ben.says("growth.run().mean_price > 0, growth.state") == "True ready"
        use = "import pandas as pd; from autocode_functions import growth; "
        use += "print(growth(pd.DataFrame({'price': [2.0], 'quantity': [3]})))"
        assert "6.0" in ben.script(use)
        assert ben.model.requests == []
