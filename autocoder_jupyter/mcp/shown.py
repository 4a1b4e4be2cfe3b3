"""What an agent sees of tables, functions and values: what the sharing level allows, without hidden and masked columns.

What a function returns can carry anything of its inputs under another name. So where an input has a hidden or masked
column, or rows are not shared, an answer is described by its size, and by those names of columns that the agent may
know from elsewhere.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from autocoder_jupyter.codec.plain import to_json
from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.withheld import NOTHING_WITHHELD, WithheldColumns, shareable_tables
from autocoder_jupyter.engine.start import less_shared, shared_then, withheld_since
from autocoder_jupyter.errors import AutocodeError, ContractBroken, DataDrift, InvalidRequest, ModelError, SandboxError
from autocoder_jupyter.kinds.values import Figure
from autocoder_jupyter.mcp.answers import Counts, FunctionVerdict, Output
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.redaction.messages import Redaction, hidden_values
from autocoder_jupyter.request import AgentConfig, Share, secret_values
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import Subject, headline, verified_run
from autocoder_jupyter.run.record import HEADLINES
from autocoder_jupyter.types import Dir, File, OutputSpec, Report
from autocoder_jupyter.untrusted.parsing import parse
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions import Versions

ROWS = 20
"""The first rows of an answer."""

MOST_CHARACTERS = 20_000
"""Of the rows, or of a value."""

WITHOUT_NUMBERS: Mapping[Subject, str] = {
    "second opinion": "the second opinion differs",
    "losses": "rows or values may be lost",
    "outputs": "an output is empty or blank",
    "invariants": "something that should not matter changes the answer",
    "data": "the data differ from those it was made with",
}
"""What a question is about, without what it quotes."""

KEPT = "kept by you"

OTHER_COLUMNS = "The columns or dtypes of a table are not those with which the function was made."

WITHHELD = "The reason may quote the data, so only the person can see it."


@dataclass(frozen=True)
class AgentView:
    """What an agent may see.

    Args:
        config: the person's settings, with no more shared than the person allowed on the command line.
    """

    config: AgentConfig

    @classmethod
    def of(cls, config: AgentConfig, share: Share) -> AgentView:
        return cls(replace(config, share=less_shared(config.share, share)))

    @property
    def share(self) -> Share:
        return self.config.share

    def may_show(self, seen: AgentView | None) -> bool:
        """Whether what was shown with that view may still be: the person can withhold more at any time."""
        if seen is None or self.share != "rows":
            return False
        return set(self.config.hide) <= set(seen.config.hide) and set(self.config.mask) <= set(seen.config.mask)

    def said_of(self, output: Output, seen: AgentView | None) -> Output:
        """What was said of an output with that view, without what may not be shown any more."""
        if seen is None or self.may_show(seen):
            return output
        return output.model_copy(update={"value": None, "columns": [], "withheld": self._not_shown})

    @property
    def _not_shown(self) -> str:
        return f"With --share {self.share}, and where columns are withheld, no values are shown."

    def withheld_in(self, values: Iterable[Any]) -> WithheldColumns:
        """The hidden and the masked columns that these tables have."""
        there = {name for value in values for name in _names(value)}
        return WithheldColumns.of(there.intersection(self.config.hide), there.intersection(self.config.mask))

    def shows(self, values: Iterable[Any]) -> bool:
        """Whether rows of what is computed from these values may be shown. The columns of files are not known."""
        if self.share != "rows":
            return False
        given = list(values)
        withholds = bool(self.config.hide or self.config.mask)
        return not (withholds and any(_is_file(value) for value in given)) and not self.withheld_in(given)

    def table(self, name: str, table: Any) -> str:
        """The description that a model would get."""
        self.require_describable(name, table)
        withheld = self.withheld_in([table])
        rows = self.config.max_sample_rows
        return build_context({name: table}, share=self.share, max_sample_rows=rows, withheld=withheld).text

    def require_describable(self, name: str, table: Any) -> None:
        """Check that what is withheld can be left out of its description, without saying its name.

        Raises:
            InvalidRequest: it is a level of its columns; or it is hidden, and the index, or the whole Series.
        """
        columns = [str(label) for label in table.columns] if isinstance(table, pd.DataFrame) else []
        withheld = self.withheld_in([table])
        own = [] if isinstance(table, pd.DataFrame) else [str(table.name)]
        levels = [str(level) for level in table.index.names]
        if not withheld.hidden.issubset(columns) or not withheld.masked.issubset([*columns, *own, *levels]):
            raise InvalidRequest(
                f"{visible(name)} cannot be used.",
                why="The person withholds its index, a level of its columns, or all of it.",
                hint="waiting for the person: reset_index(), or another table.",
            )

    # Functions

    def withheld_of(self, result: CodeGenEvalResult) -> str:
        """Why the words and the code of a function are not shown; "" if they are."""
        report = result.report
        record = Versions(result.journal_root, result.name).request(report.run_id)
        plan = report.plan.model_dump_json() if report.plan is not None else ""
        return withheld_since(record, (plan, _code(report), report.prompt), self.config)

    def quotes(self, result: CodeGenEvalResult) -> bool:
        """Whether what a run found out about a function may be quoted with its numbers and values."""
        _, hidden, masked = shared_then(Versions(result.journal_root, result.name).request(result.report.run_id))
        withholds = self.config.hide or self.config.mask or hidden or masked
        return self.share == "rows" and not withholds and not self.withheld_of(result)

    def verdict(self, result: CodeGenEvalResult, run: FunctionRun, *, waiting_for: str) -> FunctionVerdict:
        """The verdict on a function, with the words of its card; of one that is being made, how that goes."""
        quotes = run.finished and self.quotes(result)
        found = verified_run(run) if run.is_ready else None
        questions = found.questions if found is not None else ()
        words = [Masker().mask(one.words) if quotes else WITHOUT_NUMBERS[one.about] for one in questions]
        rests_on = found.rests_on if found is not None else ()
        return FunctionVerdict(
            name=result.name,
            state=result.state,
            headline=headline(run),
            doing="" if result.done else run.doing,
            done=result.done,
            verified=found.start if found is not None else "",
            rests_on=[KEPT if one.startswith(KEPT) and not quotes else one for one in rests_on],
            questions=words,
            unchecked=list(found.unchecked) if found is not None else [],
            evidence=_counts(run),
            waiting_for=waiting_for,
            error=self._reason(result, run, quotes=quotes) if run.finished and not run.is_ready else "",
            cost=run.usage.cost,
        )

    def _reason(self, result: CodeGenEvalResult, run: FunctionRun, *, quotes: bool) -> str:
        """Why there is no function. What stopped it before there was one quotes no data."""
        try:
            result.wait(0)
        except (ModelError, InvalidRequest) as error:
            return Masker().mask(str(error))
        except AutocodeError as error:
            return Masker().mask(str(error)) if quotes else f"{error.what} {WITHHELD}"
        if not run.reason:
            return ""
        return Masker().mask(run.reason) if quotes else f"{HEADLINES[run.phase]}. {WITHHELD}"

    # Calls

    def failure(self, result: CodeGenEvalResult, error: AutocodeError, *, shows: bool) -> AutocodeError:
        """An error of a call, without what it quotes of the data if that is not shown."""
        if shows:
            error.what, error.why, error.hint = map(Masker().mask, (error.what, error.why, error.hint))
            return error
        if isinstance(error, SandboxError):
            names = [spec.name for spec in result.declared_inputs] + [spec.name for spec in result.declared_outputs]
            code = "" if self.withheld_of(result) else result.code
            return AutocodeError(Redaction.over("schema", code, names).error(error))
        if isinstance(error, ContractBroken):
            return AutocodeError(error.without_values)
        return AutocodeError(
            f"{result.name} cannot be called with these inputs.",
            why=OTHER_COLUMNS if isinstance(error, DataDrift) else WITHHELD,
            hint=f"describe {result.name} says which inputs it takes.",
        )

    def output(
        self, result: CodeGenEvalResult, spec: OutputSpec, value: Any, inputs: Iterable[Any], *, shows: bool
    ) -> Output:
        """A value that a function returned."""
        shown = Output(output=spec.name, kind=spec.written_type)
        if not shows:
            shown.withheld = self._not_shown
        if isinstance(value, pd.DataFrame | pd.Series):
            table = value.to_frame() if isinstance(value, pd.Series) else value
            shown.rows, shown.column_count = len(table), table.shape[1]
            if not shows:
                known = self._known_names(result, inputs)
                shown.columns = [str(label) for label in table.columns if str(label) in known]
                return shown
            hiding = _Hiding.of(result)
            few = shareable_tables({"table": table.head(ROWS)}, NOTHING_WITHHELD, hiding.masker)["table"]
            shown.columns = [hiding.text(str(label)) for label in few.columns]
            rows = json.loads(few.to_json(orient="split", date_format="iso", default_handler=str))
            while len(json.dumps(rows)) > MOST_CHARACTERS and rows["data"]:
                rows["data"].pop(), rows["index"].pop()
            shown.value = hiding.found(rows)
        elif isinstance(value, File | Dir):
            place = value.path if shows else value.path.parent  # the program chose the name
            shown.file = str(place)
        elif isinstance(value, Figure):
            shown.value = _Hiding.of(result).text(value.description) if shows else None
        elif shows and not _has_tables(value):
            plain = to_json(value, spec.name, simplify=True)
            fits = len(json.dumps(plain)) <= MOST_CHARACTERS
            shown.value = _Hiding.of(result).found(plain) if fits else None
            shown.withheld = "" if fits else "It is too long to be shown."
        return shown

    def _known_names(self, result: CodeGenEvalResult, inputs: Iterable[Any]) -> frozenset[str]:
        """Names of columns that the agent may know: those of the inputs, and those that the code has as texts."""
        names = {name for value in inputs for name in _names(value)}
        if not self.withheld_of(result):
            names |= {
                node.value
                for node in ast.walk(parse(result.code))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
        return frozenset(names).difference(self.config.hide)


@dataclass(frozen=True)
class _Hiding:
    """Removes values of secrets, which a function may return, and private values."""

    masker: Masker
    redaction: Redaction

    @classmethod
    def of(cls, result: CodeGenEvalResult) -> _Hiding:
        options = result.options
        secrets = hidden_values(secret_values(options.secrets), options.env_vars)
        return cls(Masker(), Redaction("rows", secrets=secrets))

    def text(self, text: str) -> str:
        return self.redaction.masked(text)

    def found(self, value: Any) -> Any:
        """JSON values without these."""
        if isinstance(value, dict):
            return {self.text(str(key)): self.found(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.found(part) for part in value]
        return self.text(value) if isinstance(value, str) else value


def _counts(run: FunctionRun) -> Counts:
    evidence, opinion = run.evidence, run.second_opinion
    tests = evidence.tests if evidence is not None else ()
    strength = evidence.strength if evidence is not None else None
    return Counts(
        tests_passed=sum(outcome.outcome == "passed" for outcome in tests),
        tests=len(tests),
        mutations_noticed=strength.noticed if strength is not None else 0,
        mutations=len(strength.changes) if strength is not None else 0,
        second_opinion=opinion.state if opinion is not None else "none",
    )


def _code(report: Report) -> str:
    return report.solution.code if report.solution is not None else ""


def _names(value: Any) -> list[str]:
    """The names of the columns of a table, of their levels, and of the levels of its index."""
    if not isinstance(value, pd.DataFrame | pd.Series):
        return []
    columns = [*value.columns] if isinstance(value, pd.DataFrame) else [value.name]
    parts = [part for label in columns if isinstance(label, tuple) for part in label]
    above = value.columns.names if isinstance(value, pd.DataFrame) else ()
    return [str(name) for name in (*columns, *parts, *above, *value.index.names) if name is not None]


def _is_file(value: Any) -> bool:
    return isinstance(value, File | Dir) or hasattr(value, "__fspath__")


def _has_tables(value: Any) -> bool:
    """Whether a list or dict holds tables, figures or files."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return any(isinstance(part, pd.DataFrame | pd.Series | Figure | File | Dir) for part in parts)
