"""Functions that conclude something, on data where the conclusion is right, and on data where it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.types import OutputSpec


@dataclass(frozen=True)
class Case:
    """A function `run(x)`.

    Args:
        body: its lines.
        conclusion: what its plan names.
        said: what is alarming: a beginning of each sentence; empty if nothing is.
        kind: the type of its output, `out`.
    """

    body: str
    conclusion: str
    data: Callable[[], Any]
    said: tuple[str, ...] = ()
    kind: str = "float"

    @property
    def code(self) -> str:
        lines = "\n".join(f"    {line}" for line in self.body.splitlines())
        return f"import numpy as np\nimport pandas as pd\n\ndef run(x):\n{lines}\n"

    @property
    def output(self) -> OutputSpec:
        return OutputSpec(name="out", type=self.kind)  # type: ignore[arg-type]


def trial(effect: float, *, rows: int = 200, seed: int = 1) -> Callable[[], Any]:
    """Two arms, with a number and a flag for each row."""

    def make() -> Any:
        random = np.random.default_rng(seed)
        arm = np.array(["a", "b"])[np.arange(rows) % 2]
        value = random.normal(size=rows)
        for one in "ab":  # exactly this difference, whatever the noise
            value[arm == one] -= value[arm == one].mean()
        return pd.DataFrame({"arm": arm, "y": value + effect * (arm == "b"), "site": random.integers(5, size=rows)})

    return make


def clustered(effect: float, *, of_group: float) -> Callable[[], Any]:
    """Twelve schools with forty pupils each. Whole schools are treated, and pupils of a school are alike."""

    def make() -> Any:
        random = np.random.default_rng(3)
        school = np.repeat(np.arange(12), 40)
        own = random.normal(size=12)
        own[:6] -= own[:6].mean()
        own[6:] -= own[6:].mean()
        y = effect * (school >= 6) + of_group * own[school] + 0.3 * random.normal(size=480)
        names = np.array([f"s{one}" for one in school])
        return pd.DataFrame({"school": names, "arm": np.where(school >= 6, "b", "a"), "y": y})

    return make


def months(top: float, *, rows: int = 240, spread: float = 10.0) -> Callable[[], Any]:
    """Sales of twelve months; June has `top` more than the others."""

    def make() -> Any:
        random = np.random.default_rng(5)
        month = np.arange(rows) % 12 + 1
        sales = 100 + spread * random.normal(size=rows) + top * (month == 6)
        category = pd.Categorical(month.astype(str), categories=[str(one) for one in range(1, 14)])
        return pd.DataFrame({"month": category, "sales": sales})

    return make


def line_with(outlier: float, slope: float) -> Callable[[], Any]:
    """Forty points; the last one may lie far from the others."""

    def make() -> Any:
        random = np.random.default_rng(7)
        t = np.arange(40.0)
        y = slope * t + random.normal(size=40)
        y[-1] += outlier
        return pd.DataFrame({"t": t, "y": y}, index=pd.date_range("2024-01-01", periods=40))

    return make


def paired(effect: float) -> Callable[[], Any]:
    """Thirty patients, each before and after."""

    def make() -> Any:
        random = np.random.default_rng(11)
        patient = np.repeat(np.arange(30), 2)
        own = 5 * random.normal(size=30)
        when = np.tile(["before", "after"], 30)
        y = own[patient] + effect * (when == "after") + random.normal(size=60)
        return pd.DataFrame({"patient": patient + 1000, "when": when, "y": y})

    return make


def simpson() -> Any:
    """Department p takes most of its many `b`; within the departments the arms are alike."""
    random = np.random.default_rng(13)
    rows = [("p", "b")] * 160 + [("p", "a")] * 40 + [("q", "b")] * 40 + [("q", "a")] * 160
    frame = pd.DataFrame(rows, columns=["dept", "arm"])
    frame["y"] = random.normal(size=400)
    frame["y"] -= frame.groupby(["dept", "arm"])["y"].transform("mean")
    frame["y"] += 3.0 * (frame["dept"] == "p")
    return frame


def years() -> Any:
    """More rows in 2024, with the same amounts."""
    random = np.random.default_rng(17)
    year = np.array([2023] * 100 + [2024] * 300)
    return pd.DataFrame({"year": year, "amount": random.integers(50, 150, size=400)})


MEANS = "m = x.groupby('arm')['y'].mean()\nreturn float(m['b'] - m['a'])"
SIGNIFICANT = """\
a, b = x.loc[x['arm'] == 'a', 'y'], x.loc[x['arm'] == 'b', 'y']
t = (b.mean() - a.mean()) / np.sqrt(a.var() / len(a) + b.var() / len(b))
return bool(abs(t) > 1.96)"""
LABEL = SIGNIFICANT.replace(
    "return bool(abs(t) > 1.96)", "return ('b is higher' if t > 0 else 'a is higher') if abs(t) > 1.96 else 'no effect'"
)
BEST = "m = x.groupby('month', observed=True)['sales'].mean().sort_values(ascending=False)\n" + "return m.reset_index()"
SLOPE = "return float(np.polyfit(x['t'], x['y'], 1)[0])"
PAIRS = "w = x.pivot(index='patient', columns='when', values='y')\nreturn float((w['after'] - w['before']).mean())"
ARM = ", outcome y"

STABLE: dict[str, Case] = {
    "an effect": Case(MEANS, "effect out" + ARM, trial(1.0)),
    "a significant effect": Case(SIGNIFICANT, "verdict out" + ARM, trial(0.8), kind="bool"),
    "no effect": Case(LABEL, "verdict out" + ARM, trial(0.02), kind="str"),
    "an effect with a label": Case(LABEL, "verdict out" + ARM, trial(0.8), kind="str"),
    "an effect on whole schools": Case(MEANS, "effect out, outcome y, groups school", clustered(2.0, of_group=0.3)),
    "an effect within patients": Case(PAIRS, "effect out, outcome y, groups patient", paired(2.0)),
    "a best month": Case(BEST, "ranking out, outcome sales, groups month", months(30), kind="DataFrame"),
    "a slope": Case(SLOPE, "effect out, outcome y", line_with(0, 0.4)),
    "a growth that follows from the number of rows": Case(
        "s = x.groupby('year')['amount'].sum()\nreturn float(s[2024] / s[2023] - 1)",
        "effect out, outcome amount",
        years,
    ),
    "a mean of all rows": Case("return float(x['amount'].mean())", "number out, outcome amount", years),
    "a threshold for all rows": Case(
        "return bool(x['amount'].mean() > 90)", "verdict out, outcome amount", years, kind="bool"
    ),
    "a difference of departments": Case(
        "m = x.groupby(['dept', 'arm'])['y'].mean().unstack()\nreturn float(m.loc['p'].mean() - m.loc['q'].mean())",
        "effect out, outcome y",
        simpson,
    ),
}

BY_SITE = "m = x.groupby('site')['y'].mean()\n"
OWN_KEY = """\
m = x.assign(m='m' + x['month'].astype(str)).groupby('m')['sales'].mean()
return m.sort_values(ascending=False)"""
OTHER_COLUMN = "m = x.groupby('arm')['site'].mean()\nreturn float(abs(m['b'] - m['a']) + 1)"
GAP = "top = x['y'].nlargest(2)\nreturn float(top.iloc[1] / (top.iloc[0] - top.iloc[1] + 1e-3))"

SIGN, AS_LARGE = "the sign of out holds in", "data with y shuffled give as large an effect in"
FIRST, WHATEVER = "the first entry of out is another one in", "out stays the same whatever y is"
WITHIN = "data with y shuffled within dept give as large an effect in"
NOISE_TOO = "data with y shuffled give the same verdict in"

NOT_STABLE: dict[str, Case] = {
    "an effect like a coin flip": Case(MEANS, "effect out" + ARM, trial(0.02), (SIGN, AS_LARGE)),
    "a verdict like a coin flip": Case(
        "m = x.groupby('arm')['y'].mean()\nreturn bool(m['b'] > m['a'])",
        "verdict out" + ARM,
        trial(0.001),
        ("out is the same in",),
        kind="bool",
    ),
    "months that are alike": Case(
        BEST, "ranking out, outcome sales, groups month", months(0), (FIRST,), kind="DataFrame"
    ),
    "months that are alike, with a key of the function": Case(
        OWN_KEY, "ranking out, outcome sales", months(0), (FIRST,), kind="Series"
    ),
    "a verdict without the outcome": Case(
        "return bool((x['arm'] == 'b').mean() > 0.4)", "verdict out" + ARM, trial(1.0), (WHATEVER,), kind="bool"
    ),
    "an effect of another column": Case(OTHER_COLUMN, "effect out" + ARM, trial(1.0), (WHATEVER,)),
    "a slope from one outlier": Case(SLOPE, "effect out, outcome y", line_with(40, -0.02), (SIGN,)),
    "an effect of some schools": Case(
        MEANS, "effect out, outcome y, groups school", clustered(0.15, of_group=1.0), (SIGN, AS_LARGE)
    ),
    "an effect that departments make": Case(MEANS, "effect out, outcome y, groups dept", simpson, (WITHIN,)),
    "a verdict that noise gives too": Case(
        BY_SITE + "return bool(m.max() - m.min() > 0.2)", "verdict out" + ARM, trial(0.3), (NOISE_TOO,), kind="bool"
    ),
    "a difference of the extremes": Case(
        BY_SITE + "return float(m.max() - m.min())", "effect out" + ARM, trial(0.0), (AS_LARGE,)
    ),
    "an estimate from two rows": Case(GAP, "number out", trial(0.0), ("out changes by less than half in",)),
}

CASES = {**STABLE, **NOT_STABLE}
